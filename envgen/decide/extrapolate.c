/* Gains where nothing was measured, by the fitted model. */
#include "envgen/decide/decide.h"

#include <math.h>
#include <string.h>

#include "core/call/result.h"
#include "core/vars/catalogue.h"
#include "model/model.h"

/* The fitted model carries gains from measured numbers of nodes to the two ends of a box of others. */
struct carrier {
    struct env_decisions *d;
    struct arena *arena;
    struct model_setup setup;
    const struct env_shape *from[2]; /* the measured neighbours below and above; NULL: there is none above */
    struct model *at_from[2];
    int gpus; /* of a node */
    int per_node, low, high;
    struct model *at[2]; /* low, high */
};

static int is_series(const struct env_shape *s)
{
    return bench_evidence_of(s->engine) == BENCH_ON_GPUS && s->ranks % s->nodes == 0 && !s->load &&
           !env_shape_follows(s);
}

/* ---- fitting --------------------------------------------------------------------------------------------------------
 */

struct gathered {
    struct arena *arena;
    struct model_observation *items;
    int count;
};

/* A median of measurements as the model takes it; chunk sizes it knows nothing of. */
static void observe(struct gathered *g, const struct env_shape *s, int coll, const struct env_point *p,
                    const struct env_option *o)
{
    struct nccl_requested call = nccl_requested_of(&o->call);
    if (o->status != BENCH_OK || !(o->time_us.median > 0) || call.chunk_bytes)
        return;
    g->items = arena_grow(g->arena, g->items, (size_t)g->count, sizeof *g->items);
    g->items[g->count++] = (struct model_observation){coll,       s->nodes,      s->ranks,          p->bytes, call.algo,
                                                      call.proto, call.channels, o->time_us.median, s->others};
}

static void gather(struct gathered *g, const struct env_shape *s)
{
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            for (int p = 0; p < s->colls[c].ranges[r].npoints; p++) {
                const struct env_point *point = &s->colls[c].ranges[r].points[p];
                for (int i = 0; i < point->noptions; i++)
                    observe(g, s, s->colls[c].coll, point, &point->options[i]);
            }
}

/* The largest shapes' launch is common to all; what the model is silent on is left to its factors. */
static void set_up(struct carrier *r, const struct topology *t, const struct env_shape *s)
{
    struct nccl_setup with = {.topology = t, .class_index = topo_gpu_class(t)};
    int low, high;
    if (!env_library_release(s->library, &low, &high))
        with.version = high;
    r->setup.nccl = with;
    if (s->chosen > 0 && !model_apply(&s->launches[s->chosen].knobs, &with, r->arena))
        r->setup.nccl = with;
}

static int fit(struct carrier *r, const struct topology *t, struct log *log)
{
    struct env_decisions *d = r->d;
    struct gathered g = {.arena = r->arena};
    struct err why;
    for (int i = 0; i < d->nshapes; i++) {
        if (!is_series(&d->shapes[i]))
            continue;
        set_up(r, t, &d->shapes[i]);
        gather(&g, &d->shapes[i]);
    }
    if (!g.count || topo_gpu_class(t) < 0)
        return -1;
    if (model_calibrate(&r->setup, g.items, g.count, &d->fit, &why)) {
        log_warn(log, "the model cannot be fitted: %s; rules are extrapolated by agreement alone", why.text);
        d->fit = (struct model_fit){0};
        return -1;
    }
    /* One number of nodes proves nothing about others: single calls are doubted as on machines that were never seen. */
    if (!(d->fit.left_out > 0))
        d->fit.factors.rest = fmax(d->fit.factors.rest, 1);
    r->setup.factors = &d->fit.factors;
    if (d->fit.left_out > 0)
        log_info(log,
                 "model fitted to %d results: median factor %.2f between the two (%.2f before), %.2f for a number of "
                 "nodes that is left out",
                 d->fit.used, d->fit.spread, d->fit.before, d->fit.left_out);
    else
        log_info(log,
                 "model fitted to %d results of one number of nodes: median factor %.2f between the two "
                 "(%.2f before)",
                 d->fit.used, d->fit.spread, d->fit.before);
    return 0;
}

/* ---- gains ----------------------------------------------------------------------------------------------------------
 */

/* The model's gain of a call over NCCL's own choice; n 0: it has none. */
static struct bench_interval model_gain(const struct model *m, int coll, uint64_t bytes, const struct bench_knobs *call)
{
    struct nccl_requested asks = nccl_requested_of(call);
    struct model_call own = {coll, bytes, -1, -1, 0}, asked = {coll, bytes, asks.algo, asks.proto, asks.channels};
    struct model_time x, y;
    if (!m || asks.chunk_bytes || model_predict(m, &own, &x) || model_predict(m, &asked, &y))
        return (struct bench_interval){0};
    return bench_gain((struct bench_interval){x.us, x.low_us, x.high_us, 1, 1, &x.doubt},
                      (struct bench_interval){y.us, y.low_us, y.high_us, 1, 1, &y.doubt});
}

/* A measured gain where the model has gain `there` instead of `here`: distances from the median, as logarithms, add up
 * in squares. */
static struct bench_interval carry(struct bench_interval measured, struct bench_interval here,
                                   struct bench_interval there)
{
    double middle = measured.median * there.median / here.median;
    double below = hypot(log(measured.median / measured.low), log(there.median / there.low));
    double above = hypot(log(measured.high / measured.median), log(there.high / there.median));
    return (struct bench_interval){middle, middle / exp(below), middle * exp(above), measured.n, 1};
}

/* The option of the same call at the same size of another shape; NULL: it was not measured there. */
static const struct env_option *counterpart(const struct env_shape *s, int coll, uint64_t bytes, const char *label)
{
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; s->colls[c].coll == coll && r < s->colls[c].nranges; r++)
            for (int p = 0; p < s->colls[c].ranges[r].npoints; p++) {
                const struct env_point *point = &s->colls[c].ranges[r].points[p];
                for (int i = 0; point->bytes == bytes && i < point->noptions; i++)
                    if (i != point->fallback && !strcmp(point->options[i].call.label, label))
                        return &point->options[i];
            }
    return NULL;
}

static int usable(const struct env_option *o)
{
    return o && o->status == BENCH_OK && o->gain.n >= BENCH_FEWEST && o->gain.sure > 0;
}

/* The least gain of a call at either end of the box, carried from each neighbour; n 0: it cannot be said. */
static struct bench_interval least_gain(const struct carrier *r, int coll, uint64_t bytes, const struct env_option *o)
{
    struct bench_interval worst = {0};
    for (int n = 0; n < 2 && r->from[n]; n++) {
        const struct env_option *own = n ? counterpart(r->from[n], coll, bytes, o->call.label) : o;
        struct bench_interval here = model_gain(r->at_from[n], coll, bytes, &o->call);
        if (!usable(own) || !here.n)
            return (struct bench_interval){0};
        for (int end = 0; end < 2; end++) {
            struct bench_interval there = model_gain(r->at[end], coll, bytes, &o->call);
            if (!there.n)
                return there;
            struct bench_interval g = carry(own->gain, here, there);
            if (!worst.n || g.low < worst.low)
                worst = g;
        }
    }
    return worst;
}

/* The best call at a size; NULL: none is sure enough. */
static const struct env_option *best(const struct carrier *r, int coll, const struct env_point *p,
                                     struct bench_interval *gain)
{
    const struct env_option *found = NULL;
    for (int i = 0; i < p->noptions && p->fallback >= 0; i++) {
        const struct env_option *o = &p->options[i];
        if (i == p->fallback || !usable(o))
            continue;
        struct bench_interval g = least_gain(r, coll, p->bytes, o);
        if (!g.n || !bench_gain_clears(g, r->d->margin) || (found && g.median <= gain->median))
            continue;
        found = o;
        *gain = g;
    }
    return found;
}

/* ---- boxes ----------------------------------------------------------------------------------------------------------
 */

static const char *reason(const struct carrier *r, const struct env_extrapolation *x)
{
    struct arena *a = r->d->arena;
    const char *from = r->from[1] ? arena_printf(a, "%d and %d", r->from[0]->nodes, r->from[1]->nodes)
                                  : arena_printf(a, "%d", r->from[0]->nodes);
    return arena_printf(a,
                        "%s would be at least %s over the default, carried on from %s nodes by the model fitted to %d "
                        "results",
                        x->call.label, env_gain_text(a, x->gain), from, r->d->fit.used);
}

/* Appends a size to the extrapolation before it, when that ends where this one begins and says the same, or as its
 * own. */
static void append(struct carrier *r, int coll, uint64_t min, uint64_t max, const struct env_option *o,
                   struct bench_interval gain)
{
    struct env_decisions *d = r->d;
    struct env_extrapolation *last = d->nextrapolations ? &d->extrapolations[d->nextrapolations - 1] : NULL;
    if (last && last->coll == coll && last->nodes_low == r->low && last->ranks_per_node == r->per_node &&
        last->max_bytes + 1 == min && !strcmp(last->call.label, o->call.label)) {
        last->max_bytes = max;
        if (gain.low < last->gain.low)
            last->gain = gain;
    } else {
        d->extrapolations =
            arena_grow(d->arena, d->extrapolations, (size_t)d->nextrapolations, sizeof *d->extrapolations);
        last = &d->extrapolations[d->nextrapolations++];
        *last = (struct env_extrapolation){coll, min, max, r->low, r->high, r->per_node, o->call, gain, ""};
    }
    last->why = reason(r, last);
}

/* Every size holds half the way to its neighbours; the range's own bounds hold at its ends. */
static void carry_range(struct carrier *r, int coll, const struct env_range *range)
{
    for (int i = 0; i < range->npoints; i++) {
        const struct env_point *p = &range->points[i];
        struct bench_interval gain = {0};
        const struct env_option *o = best(r, coll, p, &gain);
        uint64_t min = i ? (uint64_t)ceil(sqrt((double)p[-1].bytes) * sqrt((double)p->bytes)) : range->min_bytes;
        uint64_t max = i + 1 < range->npoints ? (uint64_t)ceil(sqrt((double)p->bytes) * sqrt((double)p[1].bytes)) - 1
                                              : range->max_bytes;
        if (o && min <= max)
            append(r, coll, min, max, o, gain);
    }
}

static struct model *fitted(const struct carrier *r, int nodes, struct arena *a)
{
    struct model_setup *s = ARENA_NEW(a, struct model_setup);
    *s = r->setup;
    s->nccl.nodes = nodes;
    s->nccl.ranks_per_node = r->per_node;
    s->others = r->from[0]->others;
    return model_new(s, a, NULL);
}

/* The nodes behind the lower neighbour up to `end`, in boxes below a factor of two: see envgen/decide/decide.h. */
static void carry_to(struct carrier *r, int64_t end)
{
    const struct env_shape *below = r->from[0];
    struct arena *own = arena_new();
    for (int n = 0; n < 2; n++)
        r->at_from[n] = r->from[n] && end > below->nodes ? fitted(r, r->from[n]->nodes, own) : NULL;
    for (int64_t from = (int64_t)below->nodes + 1, to; from <= end; from = to + 1) {
        struct arena *a = arena_new();
        to = 2 * from - 1 < end ? 2 * from - 1 : end;
        r->low = (int)from;
        r->high = (int)to;
        r->at[0] = fitted(r, r->low, a);
        r->at[1] = fitted(r, r->high, a);
        for (int c = 0; c < below->ncolls; c++)
            for (int i = 0; i < below->colls[c].nranges; i++)
                carry_range(r, below->colls[c].coll, &below->colls[c].ranges[i]);
        arena_free(a);
    }
    arena_free(own);
}

/* A tuner cannot tell it from another that was measured with more groups at once, as jobs have them: that one is
 * carried. */
static int has_twin(const struct env_decisions *d, const struct env_shape *s)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *o = &d->shapes[i];
        if (is_series(o) && o->nodes == s->nodes && o->ranks == s->ranks && o->others > s->others)
            return 1;
    }
    return 0;
}

/* How many groups at once share a node: the others are on other nodes. */
static int groups_on_node(const struct carrier *r, const struct env_shape *s)
{
    int most = r->gpus * s->nodes / s->ranks;
    return s->others < most ? s->others + 1 : most;
}

/* The measured shape with as many ranks a node, as many groups on one and the next larger number of nodes; NULL: there
 * is none. */
static const struct env_shape *next_larger(const struct carrier *r, const struct env_shape *s)
{
    const struct env_decisions *d = r->d;
    const struct env_shape *next = NULL;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *o = &d->shapes[i];
        if (is_series(o) && o->ranks / o->nodes == s->ranks / s->nodes &&
            groups_on_node(r, o) == groups_on_node(r, s) && o->nodes > s->nodes && (!next || o->nodes < next->nodes))
            next = o;
    }
    return next;
}

static const char *launch(const struct env_shape *s)
{
    return s->chosen < 0 ? "" : s->launches[s->chosen].knobs.label;
}

static void carry_from(struct carrier *r, const struct topology *t, const struct env_shape *s)
{
    const struct env_shape *next = next_larger(r, s);
    int64_t end = next ? next->nodes - 1 : r->d->extrapolate_nodes;
    r->per_node = s->ranks / s->nodes;
    r->from[0] = s;
    r->from[1] = next;
    if (s->nodes < 2 || end * r->per_node > INT32_MAX)
        return;
    if (next && s->nlaunches && next->nlaunches && strcmp(launch(s), launch(next)) != 0)
        return; /* gains within different launches say nothing about one in between */
    set_up(r, t, s);
    carry_to(r, end);
}

void env_extrapolate(struct env_decisions *d, const struct topology *t, struct log *log)
{
    struct carrier r = {.d = d, .arena = d->arena};
    if (d->extrapolate_nodes < 1 || fit(&r, t, log))
        return;
    r.gpus = t->classes[topo_gpu_class(t)].ngpus;
    for (int i = 0; i < d->nshapes; i++)
        if (is_series(&d->shapes[i]) && !has_twin(d, &d->shapes[i]))
            carry_from(&r, t, &d->shapes[i]);
}
