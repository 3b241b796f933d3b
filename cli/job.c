/* What a job has, from where people keep it. */
#include "cli/job.h"

#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "envgen/profile/profile.h"
#include "lint/lint.h"

static void add_setting(struct cli_job *j, const char *name, const char *value, struct arena *a)
{
    j->settings = arena_grow(a, j->settings, (size_t)j->nsettings, sizeof *j->settings);
    j->settings[j->nsettings++] = (struct bench_setting){arena_strdup(a, name), arena_strdup(a, value)};
}

static void take_in_force(struct cli_job *j, const struct lint *l, struct arena *a, struct log *log)
{
    size_t n;
    const struct lint_value *values = lint_in_force(l, a, &n);
    for (size_t i = 0; i < n; i++)
        if (values[i].value)
            add_setting(j, values[i].name, values[i].value, a);
        else
            log_warn(log, "%s: the value of %s is only known when it runs: left out", j->label, values[i].name);
}

int cli_job_of_file(struct cli_job *j, const char *path, struct arena *a, struct log *log, struct err *e)
{
    const char *slash = strrchr(path, '/');
    struct lint *l = lint_new(&(struct lint_options){.rccl = -1});
    j->label = arena_strdup(a, slash && slash[1] ? slash + 1 : path);
    int rc = lint_read_file(l, path, NULL, e);
    if (!rc)
        take_in_force(j, l, a, log);
    lint_free(l);
    return rc;
}

int cli_job_of_process(struct cli_job *j, int pid, struct arena *a, struct log *log, struct err *e)
{
    struct lint *l = lint_new(&(struct lint_options){.rccl = -1});
    j->label = arena_printf(a, "process %d", pid);
    int rc = lint_read_process(l, pid, e);
    if (!rc)
        take_in_force(j, l, a, log);
    lint_free(l);
    return rc;
}

int cli_read_table(const char *dir, struct tuner_table *t, struct arena *a, struct err *e)
{
    const char *path = arena_printf(a, "%s/tuner.csv", dir);
    char *text;
    size_t bytes;
    if (access(path, F_OK))
        return 0;
    if (file_read(path, TUNER_BYTES_LIMIT, a, &text, &bytes, e))
        return e->code;
    return tuner_table_parse(t, text, bytes, NULL, NULL) ? err_set(e, ERR_FAILED, "%s: is no tuner table", path) : 0;
}

int cli_job_of_profile(struct cli_job *j, const char *dir, const char *node_class, struct arena *a, struct err *e)
{
    struct env_profile *p = env_profile_open(dir, e);
    if (!p)
        return e->code;
    j->label = arena_strdup(a, dir);
    for (int i = 0; i < p->decisions->nsettings; i++) {
        const struct env_setting *s = &p->decisions->settings[i];
        if (!strcmp(s->family, BENCH_FAMILY_NCCL) && s->value && (!s->node_class || !strcmp(s->node_class, node_class)))
            add_setting(j, s->name, s->value, a);
    }
    int rc = cli_read_table(p->dir, &j->table, a, e);
    env_profile_free(p);
    return rc;
}
