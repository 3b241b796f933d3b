/* Which points there are, what each is worth, and the few that tell launches apart. */
#include "bench/search/study.h"

#include <string.h>

#include "bench/search/workload_profile.h"
#include "core/coll.h"

/* Cost of a point whose time nobody knows yet: a latency and a bandwidth of everyday hardware. */
#define GUESS_LATENCY_US 30.0
#define GUESS_GBPS       1.0

int bench_stopped(const struct bench_study *s)
{
    return *s->stop != 0;
}

double bench_guess_us(uint64_t bytes)
{
    return GUESS_LATENCY_US + (double)bytes / (GUESS_GBPS * 1e3);
}

uint64_t bench_fitting_bytes(int coll, uint64_t bytes, int ranks)
{
    int blocks = coll == COLL_ALLGATHER || coll == COLL_REDUCESCATTER || coll == COLL_ALLTOALL;
    return blocks ? bytes - bytes % (uint64_t)ranks : bytes;
}

struct history_place bench_place_of(const struct bench_study *s, int coll, int size, const char *launch)
{
    return (struct history_place){.coll = coll,
                                  .bytes = bench_fitting_bytes(coll, s->sizes[size], s->ranks),
                                  .nodes = s->nodes,
                                  .ranks = s->ranks,
                                  .launch = launch,
                                  .engine = s->engine->name,
                                  .buffers = s->plan.buffers};
}

void bench_weigh(struct bench_study *s)
{
    if (!s->workload)
        return;
    if (!workload_profile_has_group(s->workload, s->nodes, s->ranks))
        log_warn(s->log,
                 "the workload calls nothing over groups of %d ranks on %d node%s: its sizes and counts are taken "
                 "from all its groups",
                 s->ranks, s->nodes, s->nodes == 1 ? "" : "s");
    s->calls = arena_alloc(s->arena, (size_t)s->nsizes * COLL_MEASURED * sizeof *s->calls);
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        workload_profile_calls(s->workload, coll, s->nodes, s->ranks, s->sizes, s->nsizes, s->calls + coll * s->nsizes);
}

double bench_calls(const struct bench_study *s, int coll, int size)
{
    if (!(s->options->collectives & 1u << coll))
        return 0;
    return s->calls ? s->calls[coll * s->nsizes + size] : 1;
}

int bench_count_points(const struct bench_study *s)
{
    int n = 0;
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        for (int i = 0; i < s->nsizes; i++)
            n += bench_calls(s, coll, i) > 0;
    return n;
}

/* ---- screening ---- */

/* AllReduce where it is asked for. AllToAll goes other ways through the network, and is asked besides. */
static int first_coll(const struct bench_study *s)
{
    int coll = COLL_ALLREDUCE;
    while (coll > 0 && !(s->options->collectives & 1u << coll))
        coll--;
    return s->options->collectives & 1u << coll ? coll : COLL_ALLTOALL;
}

/* Spread over the sizes: the smallest, the largest, two between; of AllToAll the last two of those. */
static int spread_out(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    int n = 0, coll = first_coll(s), last = s->nsizes - 1;
    for (int k = 0, before = -1; k < 4; k++) {
        int i = (last * k + 1) / 3;
        if (i > before)
            places[n++] = (struct bench_place){coll, before = i};
    }
    for (int k = n > 2 ? n - 2 : 0, own = n; k < own && coll != COLL_ALLTOALL; k++)
        if (s->options->collectives & 1u << COLL_ALLTOALL)
            places[n++] = (struct bench_place){COLL_ALLTOALL, places[k].size};
    return n;
}

/* Those that take most of a step, the smaller ones first. */
static int heaviest(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    double worth[BENCH_SCREENING_POINTS] = {0};
    int n = 0;
    for (int i = 0; i < s->nsizes; i++)
        for (int coll = 0; coll < COLL_MEASURED; coll++) {
            double own = bench_calls(s, coll, i) * bench_guess_us(s->sizes[i]);
            if (!(own > 0))
                continue;
            int least = 0;
            for (int k = 1; k < n; k++)
                if (worth[k] < worth[least])
                    least = k;
            if (n == BENCH_SCREENING_POINTS) {
                if (own <= worth[least])
                    continue;
                memmove(places + least, places + least + 1, (size_t)(n - least - 1) * sizeof *places);
                memmove(worth + least, worth + least + 1, (size_t)(n - least - 1) * sizeof *worth);
                n--;
            }
            worth[n] = own;
            places[n++] = (struct bench_place){coll, i};
        }
    return n;
}

int bench_screening_points(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    return s->calls ? heaviest(s, places) : spread_out(s, places);
}
