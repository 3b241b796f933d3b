/* Arguments of options that several commands have. */
#include "cli/arguments.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/vars/catalogue.h"
#include "envgen/profile/profile.h"
#include "lint/lint.h"

int cli_take_releases(const struct option_value *v, void *out, struct err *e)
{
    struct cli_releases *r = out;
    if (env_version_parse(v->text, &r->low, &r->high))
        return err_set(e, ERR_USAGE, "%s: invalid release '%s' (expected e.g. 2.28.9, 2.28 or 2.19-2.28)", v->what,
                       v->text);
    if (r->high / 100 <= ENV_NEWEST / 100)
        return 0;
    char newest[ENV_VERSION];
    log_warn(v->log, "%s: '%s' is later than the newest known release: using %s", v->what, v->text,
             env_version_text(newest, ENV_CATALOGUED));
    r->high = ENV_CATALOGUED;
    if (r->low > r->high)
        r->low = r->high;
    return 0;
}

int cli_take_release(const struct option_value *v, void *out, struct err *e)
{
    struct cli_releases r = {0};
    int rc = cli_take_releases(v, &r, e);
    *(int *)out = r.high;
    return rc;
}

const char *cli_collective_word(int i)
{
    return i < COLL_MEASURED ? coll_name(i) : NULL;
}

int cli_collective(const char *word)
{
    return strcasecmp(word, "bcast") ? coll_parse(word, strlen(word)) : COLL_BROADCAST;
}

int cli_take_collective(const struct option_value *v, void *out, struct err *e)
{
    int coll = cli_collective(v->text);
    *(int *)out = coll;
    return coll < 0 ? option_not_a_word(v, e) : 0;
}

static int add_collective(const struct option_value *v, void *out, struct err *e)
{
    int coll, rc = cli_take_collective(v, &coll, e);
    if (!rc)
        *(unsigned *)out |= 1u << coll;
    return rc;
}

int cli_take_collectives(const struct option_value *v, void *out, struct err *e)
{
    *(unsigned *)out = 0;
    return option_each(v, add_collective, out, e);
}

/* ---- what a job has, from where people keep it ------------------------------------------------------------------- */

static void add_setting(struct cli_job *j, const char *name, const char *value, struct arena *a)
{
    ARENA_ADD(a, j->settings, j->nsettings) = (struct bench_setting){arena_strdup(a, name), arena_strdup(a, value)};
}

/* One entry for what is lost in the same place: "srun in line 3 does not pass" "NCCL_ALGO, NCCL_PROTO". */
static void add_lost(struct cli_job *j, const struct lint_value *v, struct arena *a)
{
    for (int i = 0; i < j->nlost; i++)
        if (!strcmp(j->lost[i].name, v->lost)) {
            j->lost[i].value = arena_printf(a, "%s, %s", j->lost[i].value, v->name);
            return;
        }
    ARENA_ADD(a, j->lost, j->nlost) = (struct bench_setting){arena_strdup(a, v->lost), arena_strdup(a, v->name)};
}

static void take_in_force(struct cli_job *j, const struct lint *l, struct arena *a, struct log *log)
{
    size_t n;
    const struct lint_value *values = lint_in_force(l, a, &n);
    const char *branches = NULL;
    for (size_t i = 0; i < n; i++)
        if (values[i].branch && values[i].value && !values[i].lost)
            branches = arena_printf(a, "%s%s%s", branches ? branches : "", branches ? ", " : "", values[i].name);
    if (branches)
        log_warn(log, "%s: %s set in a branch (if, case, &&, while): taken as if every branch ran", j->label, branches);
    for (size_t i = 0; i < n; i++)
        if (values[i].lost)
            add_lost(j, &values[i], a);
        else if (values[i].value)
            add_setting(j, values[i].name, values[i].value, a);
        else
            log_warn(log, "%s: the value of %s is only known at run time, or has quotes or a comment in it: left out",
                     j->label, values[i].name);
    for (int i = 0; i < j->nlost; i++)
        log_warn(log, "%s: %s %s: left out", j->label, j->lost[i].name, j->lost[i].value);
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
    return tuner_table_parse(t, text, bytes, NULL, NULL) ? err_set(e, ERR_FAILED, "%s: not a tuner table", path) : 0;
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
