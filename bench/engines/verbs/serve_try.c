/* What two ports measure of one another: a try, the sweep over sizes, the memory of GPUs. */
#include <stdio.h>
#include <string.h>

#include "bench/engines/verbs/measure.h"
#include "bench/engines/verbs/serve_internal.h"
#include "bench/fabric/fabric.h"

#define QPS 2

/* Messages large enough for the rate of any link on two queue pairs, small enough for a slow one. */
static const struct verbs_shot full[] = {{VERBS_WRITE, 65536, 5, 0.05, VERBS_PATIENCE_S},
                                         {VERBS_BOTH, 65536, 3, 0.05, VERBS_PATIENCE_S},
                                         {VERBS_PING, 8, 3, 0.01, VERBS_PATIENCE_S},
                                         {VERBS_WRITE, 8, 3, 0.01, VERBS_PATIENCE_S}};
static const struct verbs_shot brief[] = {{VERBS_WRITE, 65536, 3, 0.005, VERBS_PATIENCE_S}};

static void fail(struct verbs_answer *a, const char *why)
{
    a->verdict = VERBS_FAILED;
    snprintf(a->why, sizeof a->why, "%.*s", (int)sizeof a->why - 1, why);
}

/* ---- a try ------------------------------------------------------------------------------------------------------- */

static int measure(struct verbs_pair *pair, int brief_only, int lead, struct verbs_answer *a, struct err *e)
{
    const struct verbs_shot *shots = brief_only ? brief : full;
    double *const into[] = {&a->GBps, &a->both_GBps, &a->latency_us, &a->messages_per_s};
    int n = brief_only ? (int)(sizeof brief / sizeof *brief) : (int)(sizeof full / sizeof *full);
    for (int i = 0; i < n; i++) {
        struct verbs_figures f;
        int code = verbs_measure(pair, &shots[i], lead, &f, e);
        if (code)
            return code;
        *into[i] = i < 2 ? f.GBps : i == 2 ? f.time_us.median : 1e6 / f.time_us.median;
    }
    return 0;
}

void verbs_serve_try(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    struct verbs_pair_setup setup = {
        .qps = QPS, .max_bytes = full[0].bytes, .patience_s = VERBS_PATIENCE_S, .hasty = o->brief};
    struct verbs_attempt used = {.kind = VERBS_GID_NO_KIND};
    struct verbs_link link;
    struct err e = {0};
    int code = verbs_link_open(&link, s, o, setup, &used, &e);
    if (!code && !s->port->gids.infiniband) {
        snprintf(a->gid, sizeof a->gid, "%s", verbs_gid_kind_name(used.kind));
        a->gid_index[0] = used.lead + 1;
        a->gid_index[1] = used.follower + 1;
    }
    if (!code)
        code = measure(&link.pair, o->brief, o->lead, a, &e);
    verbs_pair_close(&link.pair);
    if (code)
        fail(a, e.text);
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

/* Enough for a curve; the bandwidths that decide anything come from the tries. */
#define SAMPLES  3
#define SAMPLE_S 0.005

static int run_point(struct verbs_pair *pair, int lead, struct verbs_fabric_point *p)
{
    static const enum verbs_test tests[] = {VERBS_WRITE, VERBS_BOTH, VERBS_PING};
    double *const into[] = {&p->GBps, &p->both_GBps, &p->latency_us};
    for (int i = 0; i < 3; i++) {
        const struct verbs_shot shot = {tests[i], p->bytes, SAMPLES, SAMPLE_S, VERBS_PATIENCE_S};
        struct verbs_figures f;
        struct err ignored = {0};
        /* A ping uses one queue pair, however many there are. */
        if (tests[i] == VERBS_PING && pair->nqps > 1)
            continue;
        if (verbs_measure(pair, &shot, lead, &f, &ignored))
            return -1;
        *into[i] = tests[i] == VERBS_PING ? f.time_us.median : f.GBps;
    }
    return 0;
}

void verbs_serve_sweep(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    struct verbs_pair_setup setup = {.qps = o->qps, .max_bytes = o->bytes, .patience_s = VERBS_PATIENCE_S};
    struct verbs_attempt used;
    struct verbs_link link;
    struct err e = {0};
    int well = !verbs_link_open(&link, s, o, setup, &used, &e);
    for (uint64_t bytes = 2; well && bytes <= o->bytes; bytes *= 2) {
        struct verbs_fabric_point p = {.pair = {o->mine, o->peer}, .qps = o->qps, .bytes = bytes};
        well = !run_point(&link.pair, o->lead, &p);
        if (well && o->lead)
            verbs_serve_line(s, "point", verbs_fabric_json(VERBS_PART_POINT, &p));
    }
    verbs_pair_close(&link.pair);
    if (!well)
        fail(a, e.text);
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

static const struct verbs_shot gpu_shot = {VERBS_WRITE, 65536, 5, 0.02, VERBS_PATIENCE_S};

void verbs_serve_gpus(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    (void)o;
    if (s->gpus < 0)
        s->gpus = verbs_gpu_load(&s->driver, &s->hip);
    a->count = s->gpus;
}

/* Both ways between this port and its partner's; `gpu` NULL: the memory here is the host's. Both sides write in turn,
 * the owner of the GPU first. */
static int run_both(struct verbs_server *s, const struct verbs_order *o, struct verbs_gpu *gpu, double GBps[2],
                    struct err *e)
{
    struct verbs_memory memory = {0};
    struct verbs_pair_setup setup = {.qps = QPS, .max_bytes = gpu_shot.bytes, .patience_s = VERBS_PATIENCE_S};
    struct verbs_attempt used;
    struct verbs_link link;
    struct verbs_figures f;
    if (gpu) {
        memory = verbs_gpu_memory(gpu);
        setup.memory = &memory;
    }
    int code = verbs_link_open(&link, s, o, setup, &used, e);
    for (int turn = 0; turn < 2 && !code; turn++) {
        code = verbs_measure(&link.pair, &gpu_shot, o->owns ? !turn : turn, &f, e);
        GBps[turn] = code ? 0 : f.GBps;
    }
    verbs_pair_close(&link.pair);
    return code;
}

/* A side without that GPU lends its host memory. */
void verbs_serve_try_gpu(struct verbs_server *s, const struct verbs_order *o, struct verbs_answer *a)
{
    struct verbs_gpu gpu;
    char why[VERBS_FAILURE_TEXT] = "";
    double GBps[2] = {0};
    struct err e = {0};
    int has = o->owns && o->number < s->gpus && !verbs_gpu_take(&gpu, &s->driver, s->hip, o->number, why);
    run_both(s, o, has ? &gpu : NULL, GBps, &e);
    if (has)
        snprintf(a->pci, sizeof a->pci, "%s", gpu.pci);
    if (has && GBps[1] > 0) {
        snprintf(a->via, sizeof a->via, "%s", gpu.via);
        a->GBps = GBps[0];
        a->both_GBps = GBps[1];
    } else {
        fail(a, *why ? why : e.text);
    }
}
