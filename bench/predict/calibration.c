/* From a journal to the model's factors. */
#include "bench/predict/calibration.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/candidates/nccl_plan.h"
#include "core/vars/catalogue.h"

#define NAME_DIGITS 16 /* of the class's hash */

const char *calibration_path(const struct topo_class *c, struct arena *a)
{
    char hash[SHA256_HEX];
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (!(state && *state == '/'))
        state = home && *home == '/' ? arena_printf(a, "%s/.local/state", home) : NULL;
    topo_class_hash(c, hash);
    return state ? arena_printf(a, "%s/nccltune/calibration/%.*s.jsonl", state, NAME_DIGITS, hash) : NULL;
}

/* A candidate that the model can be held against: as jobs run it, alone on its nodes. */
static int tells(const struct bench_point *p, const struct bench_candidate *c)
{
    return !p->load && !p->buffers && c->status == BENCH_OK && c->time_us.n && !c->time_us.predicted &&
           !strcmp(c->launch.label, BENCH_DEFAULT) && !nccl_requested_of(&c->call).chunk_bytes;
}

struct model_observation *calibration_observe(const struct bench_points *p, struct arena *a, int *n, int *version)
{
    struct model_observation *list = NULL;
    *n = *version = 0;
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *point = &p->items[i];
        int low, high;
        if (!point->library || env_library_release(point->library, &low, &high))
            continue;
        for (int k = 0; k < point->ncandidates; k++) {
            const struct bench_candidate *c = &point->candidates[k];
            struct nccl_requested call = nccl_requested_of(&c->call);
            if (!tells(point, c))
                continue;
            list = arena_grow(a, list, (size_t)*n, sizeof *list);
            list[(*n)++] =
                (struct model_observation){point->coll, point->nodes,  point->ranks,      point->bytes, call.algo,
                                           call.proto,  call.channels, c->time_us.median, point->others};
            *version = high;
        }
    }
    return list;
}

int calibration_fit(const struct bench_points *p, const struct topology *t, int class_index, struct calibration *c,
                    struct err *e)
{
    struct arena *a = arena_new();
    int n;
    const struct model_observation *o = calibration_observe(p, a, &n, &c->version);
    const struct model_setup s = {.nccl = {.topology = t, .class_index = class_index, .version = c->version}};
    int rc = model_calibrate(&s, o, n, &c->fit, e);
    arena_free(a);
    return rc;
}

int calibration_load(const char *path, const struct topology *t, int class_index, struct arena *a,
                     struct calibration *c, struct err *e)
{
    struct err why = {0};
    if (path && !strcmp(path, "none"))
        return 0;
    *c = (struct calibration){.path = path ? path : calibration_path(&t->classes[class_index], a)};
    if (!c->path || (!path && access(c->path, F_OK)))
        return 0;
    struct bench_results *r = bench_results_load(c->path, NULL, &why);
    int rc = r ? calibration_fit(bench_points_of(r, r->arena), t, class_index, c, &why) : why.code;
    bench_results_free(r);
    if (rc)
        err_set(e, ERR_FAILED, "%s: %s", c->path, why.text);
    return rc ? -1 : 1;
}

const char *calibration_text(const struct calibration *c, struct arena *a)
{
    return arena_printf(
        a, "calibrated by %d results of %s, which predictions missed by %.2fx before and miss by %.2fx now",
        c->fit.used, c->path, c->fit.before, c->fit.spread);
}
