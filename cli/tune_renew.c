/* tune --renew: after an upgrade, what may have changed is measured again. */
#include <string.h>
#include <unistd.h>

#include "cli/tune.h"
#include "core/json.h"
#include "envgen/explain/explain.h"
#include "envgen/verify/verify.h"
#include "probe/topology/topology.h"

static const char *file_of(const struct tune *t, const char *name)
{
    return arena_printf(t->arena, "%s/%s", t->before->dir, name);
}

static struct topology *old_topology(const struct tune *t, struct err *e)
{
    return topo_load(file_of(t, "topology.json"), e);
}

int tune_renew_begin(struct tune *t, struct err *e)
{
    struct bench_setup *setup = &t->bench.setup;
    int n;
    t->before = env_profile_open(t->renew, e);
    struct topology *then = t->before ? old_topology(t, e) : NULL;
    if (!then)
        return e->code;
    t->bench.earlier = file_of(t, "results.jsonl");
    if (access(t->bench.earlier, F_OK)) {
        topo_free(then);
        return err_set(e, ERR_FAILED, "--renew: nothing was measured for %s; tune it without --renew", t->renew);
    }
    if (t->choose)
        t->bench.engine = verify_engine(t->before)->name;
    t->choose = 0;
    if (!setup->hosts && !setup->hostfile && then->nhosts > 1)
        setup->hosts = tune_hosts(then, 0, t->arena, &n);
    verify_measure_like(&t->bench, t->before);
    topo_free(then);
    return 0;
}

/* ---- what has changed since ---- */

static int log_change(struct tune *t, const char *what)
{
    log_info(&t->log, "changed: %s", what);
    return 1;
}

static const char *or_unknown(const char *s)
{
    return s ? s : "unknown";
}

static int changed_class(struct tune *t, const struct topo_class *then, const struct topo_class *now)
{
    const char **sentences;
    char before[SHA256_HEX], after[SHA256_HEX];
    topo_class_hash(then, before);
    topo_class_hash(now, after);
    int n = strcmp(before, after) ? differences_of(then, now, t->arena, &sentences) : 0, changed = 0;
    for (int i = 0; i < n; i++)
        changed |= log_change(t, sentences[i]);
    n = differences_within(then, now, t->arena, &sentences);
    for (int i = 0; i < n; i++)
        changed |= log_change(t, sentences[i]);
    if (strcmp(or_unknown(then->driver), or_unknown(now->driver)) != 0)
        changed |= log_change(t, arena_printf(t->arena, "GPU driver %s instead of %s", or_unknown(now->driver),
                                              or_unknown(then->driver)));
    return changed;
}

/* The library that measures: what it was, as the profile's manifest has it. */
static int changed_library(struct tune *t, const struct tune_part *p)
{
    const char *now = json_str(p->plan, "library", NULL), *then = NULL;
    for (int i = 0; i < t->before->decisions->nshapes; i++)
        if (!strcmp(t->before->decisions->shapes[i].engine, p->bench.engine))
            then = t->before->decisions->shapes[i].library;
    return now && then && strcmp(now, then) != 0 ? log_change(t, arena_printf(t->arena, "%s instead of %s", now, then))
                                                 : 0;
}

int tune_renew_changes(struct tune *t, struct err *e)
{
    struct tune_part *p = t->parts;
    struct topology *then = old_topology(t, e);
    int changed = 0, hardware = 0;
    if (!then)
        return -1;
    if (t->nparts > 1) {
        topo_free(then);
        err_set(e, ERR_FAILED, "--renew: these nodes do not go together any more; tune them without --renew");
        return -1;
    }
    if (then->nclasses && p->topology->nclasses)
        hardware = changed_class(t, &then->classes[0], &p->topology->classes[0]);
    changed = changed_library(t, p) | hardware;
    if (!hardware && !access(file_of(t, "fabric.json"), F_OK))
        p->generate.fabric = file_of(t, "fabric.json");
    topo_free(then);
    return changed;
}

void tune_renew_print(const struct tune *t, const struct env_profile *after)
{
    struct env_diff d = env_diff_profiles(t->before, after, t->arena);
    printf("\nWhat that changes:\n");
    env_diff_print(&d, stdout);
}
