/* Which points there are, what each is worth, and the few that tell launches apart; and the shapes of groups: asked
 * for, of a workload, or the usual ones. */
#include "bench/search/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/search/workload_profile.h"
#include "core/coll.h"
#include "core/units.h"
#include "probe/topology/topology.h"

/* Cost of a point whose time nobody knows yet: a latency and a bandwidth of everyday hardware. */
#define GUESS_LATENCY_US 30.0
#define GUESS_GBPS       1.0

/* What is under way when the time is over may end within this, or what a start takes: seconds. */
#define LEAST_OVER_S 1.0

/* Of other data a rank has this many bytes at least: below, there are not as many elements as ranks. */
#define FEW_BYTES 4

/* Without --shapes, so much of a given budget for every shape; an open one grows by what so many shapes ask for: all
 * ranks, the whole node, one rank of each node, all ranks of two nodes. */
#define SHAPE_S     120.0
#define OPEN_SHAPES 4

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

/* ---- points ---- */

static void add_point(struct bench_study *s, struct study_point p)
{
    int same = !p.at.bytes || !(p.calls > 0);
    for (int i = 0; i < s->npoints && !same; i++) {
        struct study_point *x = &s->points[i];
        same = x->at.bytes == p.at.bytes && known_same(&x->at, &p.at);
        x->calls += same && s->workload ? p.calls : 0;
    }
    if (!same)
        ARENA_ADD(s->arena, s->points, s->npoints) = p;
}

/* Calls per step of each collective at each size, on a shape. */
static double *count_calls(const struct bench_study *s, const struct bench_shape *shape)
{
    int n = s->nsizes * COLL_MEASURED;
    double *calls = arena_alloc(s->arena, (size_t)n * sizeof *calls);
    for (int i = 0; i < n; i++)
        calls[i] = 1;
    if (s->workload && !workload_profile_has(s->workload, shape->nodes, shape->ranks))
        log_warn(s->log,
                 "the workload calls nothing over groups of %d ranks on %d node%s: its sizes and counts are taken "
                 "from all its groups",
                 shape->ranks, shape->nodes, shape->nodes == 1 ? "" : "s");
    for (int coll = 0; coll < COLL_MEASURED && s->workload; coll++)
        workload_profile_calls(s->workload, coll, shape, s->sizes, s->nsizes, calls + coll * s->nsizes);
    return calls;
}

const struct study_point *study_find_point(const struct bench_study *s, int coll, int size)
{
    for (int i = 0; i < s->npoints; i++) {
        const struct study_point *p = &s->points[i];
        if (p->at.coll == coll && p->size == size && !p->shape && p->at.buffers == s->plan.buffers)
            return p;
    }
    return NULL;
}

/* ---- screening ---- */

static void add_screening(struct bench_study *s, int coll, int size)
{
    const struct study_point *p = study_find_point(s, coll, size);
    for (int i = 0; i < s->nscreening; i++)
        if (s->screening[i].size == size && s->screening[i].at.coll == coll)
            return;
    if (p)
        s->screening[s->nscreening++] = *p;
}

/* Spread over the sizes of AllReduce, where it is asked for: the smallest, the largest, two between. AllToAll, even or
 * not, goes other ways through the network, and is asked besides: the last two of those. */
static void spread_out(struct bench_study *s)
{
    const unsigned asked = s->options->collectives;
    const int exchange = asked & 1u << COLL_ALLTOALL    ? COLL_ALLTOALL
                         : asked & 1u << COLL_ALLTOALLV ? COLL_ALLTOALLV
                                                        : 0;
    int coll = COLL_ALLREDUCE;
    while (coll > 0 && !(asked & 1u << coll))
        coll--;
    if (!(asked & 1u << coll))
        coll = exchange ? exchange : COLL_SENDRECV;
    for (int k = 0; k < 4; k++)
        add_screening(s, coll, ((s->nsizes - 1) * k + 1) / 3);
    for (int n = s->nscreening, k = n > 2 ? n - 2 : 0; k < n && exchange && coll != exchange; k++)
        add_screening(s, exchange, s->screening[k].size);
}

static int by_size(const void *a, const void *b)
{
    const struct study_point *x = a, *y = b;
    int c = x->size - y->size;
    if (!c)
        c = x->shape - y->shape;
    return c ? c : x->at.coll - y->at.coll;
}

/* The heaviest first. */
static int by_worth(const void *a, const void *b)
{
    const struct study_point *x = a, *y = b;
    double own = x->calls * bench_guess_us(x->at.bytes), other = y->calls * bench_guess_us(y->at.bytes);
    return own != other ? (own < other) - (own > other) : by_size(a, b);
}

/* Those that take most of a step, the smaller ones first. */
static void choose_heaviest(struct bench_study *s)
{
    const size_t n = (size_t)s->npoints, kept = n < STUDY_SCREENING ? n : STUDY_SCREENING;
    struct study_point *order = arena_alloc(s->arena, (n + 1) * sizeof *order);
    memcpy(order, s->points, n * sizeof *order);
    qsort(order, n, sizeof *order, by_worth);
    qsort(order, kept, sizeof *order, by_size);
    memcpy(s->screening, order, kept * sizeof *order);
    s->nscreening = (int)kept;
}

/* ---- the list ---- */

/* Every second size first, then those between: the latter have a neighbour on either side to learn from. The small half
 * comes first, so that it is done when large sizes take longer than they should. */
void study_list_points(struct bench_study *s)
{
    int half = s->nsizes / 2 & ~1, bounds[] = {0, half, s->nsizes};
    s->npoints = s->nscreening = 0;
    for (int shape = 0; shape < s->nshapes; shape++) {
        const struct bench_shape *of = &s->shapes[shape];
        double *calls = count_calls(s, of);
        for (int turn = 0; turn < 4; turn++)
            for (int i = bounds[turn / 2] + turn % 2; i < bounds[turn / 2 + 1]; i += 2)
                for (int coll = COLL_MEASURED - 1; coll >= 0; coll--) {
                    struct known_place at = {.coll = coll,
                                             .bytes =
                                                 s->sizes[i] - s->sizes[i] % (uint64_t)coll_blocks(coll, of->ranks),
                                             .nodes = of->nodes,
                                             .ranks = of->ranks,
                                             .others = of->others,
                                             .launch = BENCH_DEFAULT,
                                             .engine = s->engine->name,
                                             .buffers = s->plan.buffers};
                    if (s->options->collectives & 1u << coll)
                        add_point(s, (struct study_point){at, i, shape, calls[coll * s->nsizes + i]});
                }
    }
    if (s->workload && s->npoints)
        choose_heaviest(s);
    else
        spread_out(s);
    study_list_variants(s);
}

int study_has_variants(const struct known_place *at)
{
    return at->bytes >= FEW_BYTES * (uint64_t)at->ranks;
}

void study_list_variants(struct bench_study *s)
{
    for (int i = 0; i < s->npoints; i++)
        for (int buffers = 1; buffers < BENCH_BUFFERS; buffers++) {
            struct study_point p = s->points[i];
            if (p.at.buffers == s->plan.buffers && s->matters[p.at.coll] >> buffers & 1 && study_has_variants(&p.at)) {
                p.at.buffers = buffers;
                add_point(s, p);
            }
        }
}

struct budget_task bench_task(const struct bench_study *s)
{
    struct budget_task t = {
        .points = s->npoints, .launches = s->plan.nlaunches - 1 + s->plan.nbeside, .all = s->plan.keep_all};
    double sum_us = 0;
    int known = 0;
    for (int i = 0; i < s->npoints; i++) {
        const struct study_point *p = &s->points[i];
        double us = known_of(s->results, &p->at, BENCH_DEFAULT, KNOWN_ANY).us;
        if (p->at.buffers != s->plan.buffers)
            continue;
        sum_us += us > 0 ? bench_sample_us(&s->engine->measures->sampling, us) : 0;
        known += us > 0;
        t.left_out += !(us > 0);
    }
    t.samples_s = known ? 1e-6 * sum_us / known * t.points : 0; /* those that were measured stand for the others */
    return t;
}

/* ---- shapes of groups ---- */

/* Takes it in where it fits, as often at once as it says; returns whether it does. */
static int take_shape(struct bench_study *s, struct bench_shape shape)
{
    const struct bench_shape whole = {s->nodes, s->ranks, 0};
    int room = bench_shape_room(&shape, &whole);
    if (!room || shape.others >= room)
        return 0;
    if (shape.others == BENCH_SHAPE_ALL)
        shape.others = room - 1;
    for (int i = 0; i < s->nshapes; i++)
        if (bench_shape_same(&s->shapes[i], &shape))
            return 1;
    if (s->nshapes < BENCH_SHAPES)
        s->shapes[s->nshapes++] = shape;
    return 1;
}

/* Those that a user has listed. */
static int take_listed(struct bench_study *s, struct err *e)
{
    const struct bench_shape_list *listed = &s->options->shapes;
    int fitting = 0;
    for (int i = 0; i < listed->count; i++) {
        const int fits = take_shape(s, listed->items[i]);
        fitting += fits;
        if (fits)
            continue;
        const char *text = bench_shape_text(&listed->items[i], s->arena);
        if (!listed->if_fitting)
            return err_set(e, ERR_USAGE, "--shapes: %s does not fit: there are %d nodes with %d ranks each", text,
                           s->nodes, s->ranks / s->nodes);
        log_info(s->log, "groups of %s are left out: they do not fit %d nodes with %d ranks each", text, s->nodes,
                 s->ranks / s->nodes);
    }
    if (listed->count && !fitting)
        return err_set(e, ERR_LACKS,
                       "the profile is for other nodes: it was measured on groups of %s (nodes x ranks of a node), and "
                       "there are %dx%d here; --hosts names its nodes",
                       bench_shape_text(&listed->items[0], s->arena), s->nodes, s->ranks / s->nodes);
    return 0;
}

static const char *name_shapes(const struct bench_study *s, const struct bench_shape *shapes, int n)
{
    const char *text = "";
    for (int i = 0; i < n; i++)
        text = arena_printf(s->arena, "%s%s%s", text, i ? ", " : "", bench_shape_text(&shapes[i], s->arena));
    return text;
}

/* List the usual shapes in the order in which a run takes them: all ranks, the whole node, one rank of each node, all
 * ranks of two nodes, then the rest. Return their number; `*taken` of them are for this run. */
static int list_usual(const struct bench_options *o, const struct bench_shape *whole, int all,
                      struct bench_shape usual[BENCH_SHAPES], int *taken)
{
    int n = bench_shapes_usual(whole, usual), open = o->budget_open;
    int most = open ? OPEN_SHAPES : 1 + (int)fmin(o->budget_s / SHAPE_S, BENCH_SHAPES);
    for (int i = OPEN_SHAPES; i < n; i++) {
        const struct bench_shape two = usual[i];
        if (two.nodes != 2 || two.ranks / 2 != whole->ranks / whole->nodes)
            continue;
        memmove(usual + OPEN_SHAPES, usual + OPEN_SHAPES - 1, (size_t)(i - OPEN_SHAPES + 1) * sizeof *usual);
        usual[OPEN_SHAPES - 1] = two;
        break;
    }
    *taken = all || n < most ? n : most;
    return n;
}

int search_shapes_plan(const struct bench_options *o, const struct topology *t, struct bench_shape out[BENCH_SHAPES])
{
    const struct bench_shape_list *listed = &o->shapes;
    struct bench_shape whole = {0};
    int taken = 0;
    if (listed->count || o->workload) {
        memcpy(out, listed->items, (size_t)listed->count * sizeof *out);
        return listed->count;
    }
    for (int i = 0; t && i < t->nhosts; i++)
        whole.nodes += !t->hosts[i].served;
    whole.ranks = whole.nodes * (o->setup.ranks_per_node ? o->setup.ranks_per_node
                                 : t && t->nclasses      ? t->classes[0].ngpus
                                                         : 0);
    if (whole.ranks >= 2)
        list_usual(o, &whole, listed->usual, out, &taken);
    return taken;
}

int search_shapes_take(struct bench_study *s, struct err *e)
{
    const struct bench_shape_list *listed = &s->options->shapes;
    const struct bench_shape whole = {s->nodes, s->ranks}, *shapes;
    struct bench_shape usual[BENCH_SHAPES];
    int unasked = !listed->count && !s->workload && !s->plan.keep_all && !s->engine->predicts, n, taken;
    s->shapes = arena_alloc(s->arena, BENCH_SHAPES * sizeof *s->shapes);
    if (listed->usual || unasked) {
        n = list_usual(s->options, &whole, listed->usual, usual, &taken);
        for (int i = 0; i < taken; i++)
            take_shape(s, usual[i]);
        if (taken < n)
            log_info(s->log, "shapes of groups: %s; not for lack of time: %s (--shapes, or more --budget)",
                     name_shapes(s, usual, taken), name_shapes(s, usual + taken, n - taken));
    } else if (!listed->count && s->workload) {
        shapes = workload_profile_shapes(s->workload, s->options->collectives, s->arena, &n);
        for (int i = 0; i < n; i++)
            if (!take_shape(s, shapes[i]))
                log_info(s->log, "the workload's groups of %dx%d do not fit %d nodes with %d ranks each",
                         shapes[i].nodes, shapes[i].ranks / shapes[i].nodes, s->nodes, s->ranks / s->nodes);
    }
    int rc = take_listed(s, e);
    if (!s->nshapes)
        s->shapes[s->nshapes++] = whole;
    return rc;
}
