/* The sweep over sizes of the verbs engine's worker. */
#include "bench/engines/verbs/measure.h"
#include "bench/nccltune-bench/verbs_internal.h"

/* Enough for a curve; the bandwidths that decide anything come from the tries. */
#define SAMPLES  3
#define SAMPLE_S 0.005

/* What a pair's lead reports of one size. */
struct report {
    struct verbs_fabric_point point;
    int measured;
};

static int run_point(struct verbs_pair *pair, int lead, struct verbs_fabric_point *p)
{
    static const enum verbs_test tests[] = {VERBS_WRITE, VERBS_BOTH, VERBS_PING};
    double *const into[] = {&p->GBps, &p->both_GBps, &p->latency_us};
    for (int i = 0; i < 3; i++) {
        const struct verbs_shot shot = {tests[i], p->bytes, SAMPLES, SAMPLE_S, PATIENCE_S};
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

static void exchange(const struct worker *w, const struct report *mine, struct report *all)
{
    worker_gather(w, mine, all, sizeof *mine);
    for (int i = 0; i < w->ranks; i++)
        if (all[i].measured)
            worker_say_inside(w, "point", verbs_fabric_point_json(&all[i].point));
}

/* One number of queue pairs. Who has no partner, or fails, still takes part in the exchange. */
static void sweep(struct worker *w, const struct verbs_round *r, int qps, uint64_t most_bytes, struct report *all)
{
    struct verbs_pair_setup setup = {.qps = qps, .max_bytes = most_bytes, .patience_s = PATIENCE_S};
    struct verbs_attempt used;
    struct worker_link link;
    struct err ignored = {0};
    struct report mine = {.point = {.qps = qps}};
    int lead = 0, partner = worker_partner(w, r, &mine.point.pair, &lead), well = partner >= 0;
    w->turn++;
    if (partner >= 0)
        well = !worker_connect(&link, w, partner, lead, setup, &used, &ignored);
    for (uint64_t bytes = 2; bytes <= most_bytes; bytes *= 2) {
        mine.point = (struct verbs_fabric_point){.pair = mine.point.pair, .qps = qps, .bytes = bytes};
        well = well && !run_point(&link.pair, lead, &mine.point);
        mine.measured = well && lead;
        exchange(w, &mine, all);
    }
    if (partner >= 0)
        verbs_pair_close(&link.pair);
}

void worker_sweep(struct worker *w, const struct verbs_schedule *s, uint64_t most_bytes)
{
    static const int qps[] = {1, 2, 4};
    struct report *all = arena_alloc(w->arena, (size_t)w->ranks * sizeof *all);
    for (int i = 0; s->nrounds && i < 3; i++)
        sweep(w, &s->rounds[0], qps[i], most_bytes, all);
}
