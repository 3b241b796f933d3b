/* Which points there are, what each is worth, and the few that tell launches apart. */
#include "bench/search/study.h"

#include <math.h>
#include <string.h>

#include "bench/search/workload_profile.h"
#include "core/coll.h"
#include "core/units.h"

/* Cost of a point whose time nobody knows yet: a latency and a bandwidth of everyday hardware. */
#define GUESS_LATENCY_US 30.0
#define GUESS_GBPS       1.0

/* What is under way when the time is over may end within this, or what a start takes: seconds. */
#define LEAST_OVER_S 1.0

int bench_stopped(const struct bench_study *s)
{
    return *s->stop != 0;
}

int bench_is_over(const struct bench_study *s)
{
    return progress_now_s() >= s->time.deadline_s;
}

double bench_last_s(const struct bench_study *s)
{
    return s->options->budget_open ? 0 : s->time.deadline_s + fmax(s->time.start_s, LEAST_OVER_S);
}

double bench_guess_us(uint64_t bytes)
{
    return GUESS_LATENCY_US + (double)bytes / (GUESS_GBPS * 1e3);
}

uint64_t bench_fitting_bytes(int coll, uint64_t bytes, int ranks)
{
    return bytes - bytes % (uint64_t)coll_blocks(coll, ranks);
}

int bench_count_shapes(const struct bench_study *s)
{
    return s->nshapes ? s->nshapes : 1;
}

static struct bench_shape shape_of(const struct bench_study *s, int shape)
{
    return s->nshapes ? s->shapes[shape] : (struct bench_shape){s->nodes, s->ranks, 0};
}

struct known_place bench_place_of(const struct bench_study *s, struct bench_place p, const char *launch)
{
    struct bench_shape shape = shape_of(s, p.shape);
    return (struct known_place){.coll = p.coll,
                                .bytes = bench_fitting_bytes(p.coll, s->sizes[p.size], shape.ranks),
                                .nodes = shape.nodes,
                                .ranks = shape.ranks,
                                .others = shape.others,
                                .launch = launch,
                                .engine = s->engine->name,
                                .buffers = p.buffers ? p.buffers : s->plan.buffers};
}

void bench_place_result(const struct bench_study *s, const struct known_place *at, struct bench_result *r)
{
    r->engine = s->engine->name;
    r->library = s->plan.library;
    r->coll = at->coll;
    r->bytes = at->bytes;
    r->nodes = at->nodes;
    r->ranks = at->ranks;
    r->others = at->others;
    r->buffers = at->buffers;
}

int bench_write(struct bench_study *s, const struct known_place *at, struct bench_result *r, int n, struct err *e)
{
    char size[UNIT_TEXT];
    for (struct bench_result *x = r; x < r + n; x++) {
        int troubled = x->status == BENCH_WRONG || x->status == BENCH_CRASHED || x->status == BENCH_HUNG;
        bench_place_result(s, at, x);
        if (s->engine->measures && !s->options->budget_open)
            x->left_s = fmax(1, floor(s->time.deadline_s - progress_now_s()));
        if (troubled && (!x->detail || !*x->detail))
            x->detail = "no reason known";
        s->summary->measured++;
        s->summary->troubled += troubled;
        if (troubled)
            log_warn(s->log, "%s, %s%s%s, launch %s, call %s: %s: %s", coll_name(x->coll), unit_bytes(size, x->bytes),
                     x->buffers ? ", " : "", x->buffers ? bench_buffers_name(x->buffers) : "", x->launch.label,
                     x->call.label, bench_status_name(x->status), x->detail);
    }
    return bench_journal_append(s->journal, r, n, e);
}

/* ---- what a workload calls ---- */

void bench_weigh(struct bench_study *s)
{
    if (!s->workload)
        return;
    int n = bench_count_shapes(s), of_one = s->nsizes * COLL_MEASURED;
    s->calls = arena_alloc(s->arena, (size_t)n * (size_t)of_one * sizeof *s->calls);
    for (int i = 0; i < n; i++) {
        struct bench_shape shape = shape_of(s, i);
        if (!workload_profile_has(s->workload, shape.nodes, shape.ranks))
            log_warn(s->log,
                     "the workload calls nothing over groups of %d ranks on %d node%s: its sizes and counts are taken "
                     "from all its groups",
                     shape.ranks, shape.nodes, shape.nodes == 1 ? "" : "s");
        for (int coll = 0; coll < COLL_MEASURED; coll++)
            workload_profile_calls(s->workload, coll, &shape, s->sizes, s->nsizes,
                                   s->calls + i * of_one + coll * s->nsizes);
    }
}

double bench_calls(const struct bench_study *s, struct bench_place p)
{
    if (!(s->options->collectives & 1u << p.coll))
        return 0;
    return s->calls ? s->calls[(p.shape * COLL_MEASURED + p.coll) * s->nsizes + p.size] : 1;
}

struct budget_task bench_task(const struct bench_study *s)
{
    struct budget_task t = {.launches = s->plan.nlaunches - 1 + s->plan.nbeside, .all = s->plan.keep_all};
    double sum_us = 0;
    int known = 0;
    for (int shape = 0; shape < bench_count_shapes(s); shape++)
        for (int coll = 0; coll < COLL_MEASURED; coll++)
            for (int i = 0; i < s->nsizes; i++) {
                struct bench_place place = {coll, i, shape};
                if (!(bench_calls(s, place) > 0))
                    continue;
                t.points += 1 + __builtin_popcount(s->matters[coll]);
                if (!s->nodes)
                    continue;
                struct known_place at = bench_place_of(s, place, BENCH_DEFAULT);
                double us = known_of(s->results, &at, BENCH_DEFAULT, KNOWN_ANY).us;
                sum_us += us > 0 ? bench_sample_us(&s->engine->measures->sampling, us) : 0;
                known += us > 0;
                t.left_out += at.bytes && !(us > 0);
            }
    t.samples_s = known ? 1e-6 * sum_us / known * t.points : 0; /* those that were measured stand for the others */
    return t;
}

/* ---- screening ---- */

/* AllToAll, even or not, whichever is asked for; 0: neither. */
static int exchange_of(const struct bench_study *s)
{
    return s->options->collectives & 1u << COLL_ALLTOALL    ? COLL_ALLTOALL
           : s->options->collectives & 1u << COLL_ALLTOALLV ? COLL_ALLTOALLV
                                                            : 0;
}

/* Spread over the sizes of AllReduce, where it is asked for: the smallest, the largest, two between. AllToAll goes
 * other ways through the network, and is asked besides: the last two of those. */
static int spread_out(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    int n = 0, coll = COLL_ALLREDUCE, exchange = exchange_of(s), last = s->nsizes - 1;
    while (coll > 0 && !(s->options->collectives & 1u << coll))
        coll--;
    if (!(s->options->collectives & 1u << coll))
        coll = exchange ? exchange : COLL_SENDRECV;
    for (int k = 0, before = -1; k < 4; k++) {
        int i = (last * k + 1) / 3;
        if (i > before)
            places[n++] = (struct bench_place){coll, before = i, 0};
    }
    for (int k = n > 2 ? n - 2 : 0, own = n; k < own && exchange && coll != exchange; k++)
        places[n++] = (struct bench_place){exchange, places[k].size, 0};
    return n;
}

/* Takes `place` in where it is worth more than one of those that are there. */
static int insert(struct bench_place *places, double *worth, int n, struct bench_place place, double own)
{
    int least = 0;
    for (int k = 1; k < n; k++)
        if (worth[k] < worth[least])
            least = k;
    if (n == BENCH_SCREENING_POINTS) {
        if (own <= worth[least])
            return n;
        memmove(places + least, places + least + 1, (size_t)(n - least - 1) * sizeof *places);
        memmove(worth + least, worth + least + 1, (size_t)(n - least - 1) * sizeof *worth);
        n--;
    }
    worth[n] = own;
    places[n] = place;
    return n + 1;
}

/* Those that take most of a step, the smaller ones first. */
static int heaviest(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    double worth[BENCH_SCREENING_POINTS] = {0};
    int n = 0;
    for (int i = 0; i < s->nsizes; i++)
        for (int shape = 0; shape < bench_count_shapes(s); shape++)
            for (int coll = 0; coll < COLL_MEASURED; coll++) {
                struct bench_place place = {coll, i, shape};
                double own = bench_calls(s, place) * bench_guess_us(s->sizes[i]);
                if (own > 0)
                    n = insert(places, worth, n, place, own);
            }
    return n;
}

int bench_screening_points(const struct bench_study *s, struct bench_place places[BENCH_SCREENING_POINTS])
{
    return s->calls ? heaviest(s, places) : spread_out(s, places);
}
