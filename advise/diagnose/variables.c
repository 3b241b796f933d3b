/* NCCL's variables as a job sets them: "export NCCL_IB_HCA=mlx5_0", "NCCL_IB_HCA set by environment to mlx5_0". */
#include <string.h>

#include "advise/diagnose/rules.h"
#include "core/vars/catalogue.h"
#include "lint/lint.h"

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

/* ---- what lint makes of them ---- */

/* A reader that has its own word on a variable needs none of lint's. */
static int is_told(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].id, name))
            return 1;
    return 0;
}

static const char *place_of(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nvariables; i++)
        if (!strcmp(d->variables[i].name, name))
            return d->variables[i].place;
    return "";
}

void diag_add_lint(struct judge *j)
{
    struct diagnosis *d = j->d;
    struct lint_options o = {.rccl = -1, .topology = d->expected.topology};
    struct finding f;
    /* "2.21.5+cuda12.4" */
    env_version_parse(arena_strndup(d->arena, d->nccl.version, strcspn(d->nccl.version, "+-")), &o.nccl_low,
                      &o.nccl_high);
    struct lint *l = d->nvariables ? lint_new(&o) : NULL;
    for (int i = 0; i < d->nvariables; i++)
        lint_add(l, d->variables[i].name, d->variables[i].value);
    if (l)
        lint_check(l);
    for (size_t n = 0; l && lint_finding(l, n, &f); n++) {
        struct diag_hit h;
        const struct diag_rule rule = {arena_strdup(d->arena, f.id), NULL, DIAG_MEASURED,
                                       arena_strdup(d->arena, f.advice ? f.advice : ""), "nccltune lint FILE"};
        if (f.severity < FINDING_WARNING || is_told(d, f.subject))
            continue;
        diag_hit(&h, f.severity == FINDING_ERROR ? 0.35 : 0.12, place_of(d, f.subject), "%s=%s: %s", f.subject,
                 f.value ? f.value : "?", f.text);
        diag_add_finding(j->r, &rule, &h);
    }
    lint_free(l);
}
