/* NCCL's variables as a job sets them: "export NCCL_IB_HCA=mlx5_0", "NCCL_IB_HCA set by environment to mlx5_0". */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

static struct diag_variable *variable(struct diagnosis *d, const char *name, size_t len)
{
    for (int i = 0; i < d->nvariables; i++)
        if (strlen(d->variables[i].name) == len && !strncmp(d->variables[i].name, name, len))
            return &d->variables[i];
    if (d->nvariables == DIAG_VARIABLES || len >= sizeof d->variables->name)
        return NULL;
    struct diag_variable *v = &d->variables[d->nvariables++];
    snprintf(v->name, sizeof v->name, "%.*s", (int)len, name);
    return v;
}

int diag_read_variables(struct diagnosis *d, const char *line)
{
    static const char said[] = " set by environment to ";
    int before = d->nvariables;
    d->by_rank |= strstr(line, "LOCAL_RANK") != NULL || strstr(line, "SLURM_LOCALID") != NULL;
    for (const char *p = line; (p = strstr(p, "NCCL_"));) {
        size_t len = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
        const char *name = p, *value = NULL;
        int starts = p == line || !strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_#", p[-1]);
        p += len;
        int said_so = !strncmp(p, said, sizeof said - 1);
        if (said_so)
            value = p + sizeof said - 1;
        else if (*p == '=')
            value = p + 1;
        if (!value || !starts || line[strspn(line, " ")] == '#')
            continue;
        value += *value == '"' || *value == '\'';
        size_t n = strcspn(value, " \"';");
        n -= n && value[n - 1] == '.'; /* of a sentence */
        struct diag_variable *v = *value != '$' ? variable(d, name, len) : NULL;
        if (!v)
            continue;
        /* Ranks of a log should have the same; a script may set a variable several times, but this one not by rank. */
        if ((said_so && !strstr(v->name, "FILE") && !strstr(v->name, "HOSTID")) ||
            (d->by_rank && !strcmp(v->name, "NCCL_IB_HCA")))
            diag_note_fact(d, v->name, strlen(v->name), value, n);
        snprintf(v->value, sizeof v->value, "%.*s", (int)(n < sizeof v->value ? n : sizeof v->value - 1), value);
        diag_here(d, v->place);
    }
    return d->nvariables > before;
}
