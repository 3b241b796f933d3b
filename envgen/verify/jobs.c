/* A profile as jobs run it: the launches that a verification compares. */
#include <string.h>

#include "core/file.h"
#include "envgen/verify/verify.h"

static void add_setting(struct bench_knobs *k, struct arena *a, const char *name, const char *value)
{
    struct bench_setting *list = arena_alloc(a, (size_t)(k->nsettings + 1) * sizeof *list);
    if (k->nsettings)
        memcpy(list, k->settings, (size_t)k->nsettings * sizeof *list);
    list[k->nsettings++] = (struct bench_setting){name, value};
    k->settings = list;
}

/* ---- NCCL ---- */

/* `node_class`: only for nodes of that class; NULL all. */
static int add_file(struct bench_knobs *k, const char *path, const char *node_class, struct arena *a, struct err *e)
{
    char *text, *rest = NULL;
    size_t bytes;
    int rc = file_read_text(path, FILE_LIMIT, a, &text, &bytes, e);
    for (char *line = rc ? NULL : strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *equals = *line == '#' ? NULL : strchr(line, '=');
        if (!equals)
            continue;
        *equals = 0;
        add_setting(k, a, node_class ? arena_printf(a, "%s@%s", line, node_class) : line, equals + 1);
    }
    return rc;
}

/* Of one class alone all nodes are, known by name or not. */
static int add_classes(struct bench_knobs *k, const struct env_profile *p, struct arena *a, struct err *e)
{
    const size_t before = strlen(ENV_CLASSES), after = strlen(".conf");
    int rc = 0, classes = 0;
    for (int i = 0; i < p->manifest.nfiles; i++)
        classes += !strncmp(p->manifest.files[i].name, ENV_CLASSES, before);
    for (int i = 0; i < p->manifest.nfiles && !rc; i++) {
        const char *name = p->manifest.files[i].name;
        if (strncmp(name, ENV_CLASSES, before) != 0)
            continue;
        const char *class = arena_strndup(a, name + before, strlen(name) - before - after);
        rc = add_file(k, arena_printf(a, "%s/%s", p->dir, name), classes > 1 ? class : NULL, a, e);
    }
    return rc;
}

static const struct env_manifest_file *file_of(const struct env_profile *p, const char *name)
{
    for (int i = 0; i < p->manifest.nfiles; i++)
        if (!strcmp(p->manifest.files[i].name, name))
            return &p->manifest.files[i];
    return NULL;
}

static int nccl_jobs(const struct env_profile *p, const char *plugin, struct arena *a, struct bench_knobs jobs[2],
                     struct err *e)
{
    struct bench_knobs environment = {.label = VERIFY_ENVIRONMENT};
    int n = 0;
    const struct env_manifest_file *table = file_of(p, "tuner.csv");
    if (!table) {
        err_set(e, ERR_FAILED, "%s: has no tuner.csv", p->dir);
        return -1;
    }
    /* The class's file last: of two values the later one counts. */
    if (add_file(&environment, arena_printf(a, "%s/nccl.conf", p->dir), NULL, a, e) ||
        add_classes(&environment, p, a, e))
        return -1;
    if (environment.nsettings)
        jobs[n++] = environment;
    jobs[n] = environment;
    jobs[n].label = VERIFY_PROFILE;
    add_setting(&jobs[n], a, "NCCL_TUNER_PLUGIN", plugin);
    add_setting(&jobs[n], a, "NCCLTUNE_PROFILE", p->dir);
    /* A table that does not load is to be an error here, not a comparison of the default with itself. */
    add_setting(&jobs[n], a, "NCCLTUNE_HASH", table->sha256);
    return n + 1;
}

/* ---- OpenMPI ---- */

#define RULES "coll_tuned_" /* the settings that have it take its rules file, and nothing else that is tuned */

static int openmpi_jobs(const struct env_profile *p, struct arena *a, struct bench_knobs jobs[2])
{
    struct bench_knobs environment = {.label = VERIFY_ENVIRONMENT}, all = {.label = VERIFY_PROFILE};
    int n = 0;
    for (int i = 0; i < p->decisions->nsettings; i++) {
        const struct env_setting *s = &p->decisions->settings[i];
        if (strcmp(s->family, BENCH_FAMILY_OPENMPI) != 0 || !s->value)
            continue;
        const char *value = s->in_profile ? arena_printf(a, "%s/%s", p->dir, s->value) : s->value;
        add_setting(&all, a, s->name, value);
        if (strncmp(s->name, RULES, strlen(RULES)) != 0)
            add_setting(&environment, a, s->name, value);
    }
    if (environment.nsettings)
        jobs[n++] = environment;
    if (all.nsettings > environment.nsettings)
        jobs[n++] = all;
    return n;
}

/* ---- either ---- */

const struct bench_engine *verify_engine(const struct env_profile *p)
{
    const struct env_shape *s = env_shape_with(p->decisions, BENCH_ON_GPUS);
    if (!s)
        s = env_shape_with(p->decisions, BENCH_ON_HOST);
    return s ? bench_engine_find(s->engine) : bench_engine_with(BENCH_ON_GPUS);
}

int verify_jobs(const struct env_profile *p, enum bench_evidence on, const char *plugin, struct arena *a,
                struct bench_knobs jobs[2], struct err *e)
{
    return on == BENCH_ON_HOST ? openmpi_jobs(p, a, jobs) : nccl_jobs(p, plugin, a, jobs, e);
}
