/* Shapes of groups: asked for, of a workload, or the usual ones. */
#include "bench/search/study.h"

#include <math.h>
#include <string.h>

#include "bench/search/workload_profile.h"
#include "probe/topology/topology.h"

/* Without --shapes, so much of a given budget for every shape; an open one grows by what so many shapes ask for: all
 * ranks, the whole node, one rank of each node, all ranks of two nodes. */
#define SHAPE_S     120.0
#define OPEN_SHAPES 4

/* ---- which there are ---- */

/* Takes it in where it fits, as often at once as it says; returns whether it does. */
static int take(struct bench_study *s, struct bench_shape shape)
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
        const int fits = take(s, listed->items[i]);
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

static const char *names_of(const struct bench_study *s, const struct bench_shape *shapes, int n)
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
            take(s, usual[i]);
        if (taken < n)
            log_info(s->log, "shapes of groups: %s; not for lack of time: %s (--shapes, or more --budget)",
                     names_of(s, usual, taken), names_of(s, usual + taken, n - taken));
    } else if (!listed->count && s->workload) {
        shapes = workload_profile_shapes(s->workload, s->options->collectives, s->arena, &n);
        for (int i = 0; i < n; i++)
            if (!take(s, shapes[i]))
                log_info(s->log, "the workload's groups of %dx%d do not fit %d nodes with %d ranks each",
                         shapes[i].nodes, shapes[i].ranks / shapes[i].nodes, s->nodes, s->ranks / s->nodes);
    }
    int rc = take_listed(s, e);
    if (!s->nshapes)
        s->shapes[s->nshapes++] = whole;
    return rc;
}
