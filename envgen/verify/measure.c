/* A profile as jobs get it, measured beside the baseline in starts of its own. */
#include "envgen/verify/verify.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/search/bench.h"
#include "core/coll.h"
#include "core/locate.h"

/* ---- what is measured again is what a profile was made for ---- */

static void take_collectives(struct bench_options *o, const struct env_shape *s)
{
    for (int c = 0; c < s->ncolls; c++)
        o->collectives |= 1u << s->colls[c].coll;
}

static int ascending(const void *x, const void *y)
{
    const uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void add_size(struct bench_size_list *list, uint64_t bytes)
{
    for (int i = 0; i < list->count; i++)
        if (list->bytes[i] == bytes)
            return;
    if (list->count < BENCH_SIZES)
        list->bytes[list->count++] = bytes;
}

static void take_sizes(struct bench_options *o, const struct env_shape *s)
{
    struct bench_size_list *list = &o->sizes;
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            for (int i = 0; i < s->colls[c].ranges[r].npoints; i++)
                add_size(list, s->colls[c].ranges[r].points[i].bytes);
    if (list->count)
        qsort(list->bytes, (size_t)list->count, sizeof *list->bytes, ascending);
}

/* OpenMPI is started with as many ranks as there were; NCCL has one for each GPU. */
static void take_ranks(struct bench_options *o, const struct env_shape *s)
{
    if (bench_evidence_of(s->engine) == BENCH_ON_HOST && s->ranks / s->nodes > o->setup.ranks_per_node)
        o->setup.ranks_per_node = s->ranks / s->nodes;
}

static void take_shape(struct bench_options *o, const struct env_shape *s)
{
    struct bench_shape_list *shapes = &o->shapes;
    if (shapes->count < BENCH_SHAPES)
        shapes->items[shapes->count++] = (struct bench_shape){s->nodes, s->ranks, s->others};
    shapes->if_fitting = 1;
}

/* Take what was not said in `o`, once its engine is known, over from the profile: collectives, sizes, shapes of groups,
 * as far as they fit, and for OpenMPI the ranks a node. */
static void measure_like(struct bench_options *o, const struct env_profile *p)
{
    struct bench_options usual;
    bench_options_default(&usual);
    const struct {
        int wanted;
        void (*take)(struct bench_options *o, const struct env_shape *s);
    } parts[] = {
        {!o->collectives, take_collectives},
        {!o->sizes.count && !o->workload && o->min_bytes == usual.min_bytes &&
             (!o->max_bytes || o->max_bytes == usual.max_bytes) && o->step_factor == usual.step_factor,
         take_sizes},
        {!o->setup.ranks_per_node, take_ranks},
        {!o->shapes.count && !o->shapes.usual, take_shape},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        for (int i = 0; i < p->decisions->nshapes && parts[k].wanted; i++)
            if (bench_evidence_of(p->decisions->shapes[i].engine) == bench_evidence_of(o->engine))
                parts[k].take(o, &p->decisions->shapes[i]);
    if (!o->collectives)
        o->collectives = 1u << COLL_ALLREDUCE;
}

int verify_measure(const struct verify_request *q, struct bench_summary *summary, struct bench_results **measured,
                   struct err *e)
{
    const enum bench_evidence on = bench_evidence_of(q->bench->engine);
    struct arena *a = q->profile->arena;
    struct bench_options how = *q->bench;
    struct bench_knobs jobs[2];
    int fd = -1;
    const char *plugin = on == BENCH_ON_HOST ? "" : locate_program(LOCATE_PLUGIN, a, e);
    if (!plugin)
        return ERR_LACKS;
    int njobs = verify_jobs(q->profile, on, plugin, a, jobs, e);
    if (njobs <= 0)
        return njobs ? ERR_FAILED : 0;
    how.setup.jobs = jobs + (q->whole ? njobs - 1 : 0);
    how.setup.njobs = q->whole ? 1 : njobs;
    measure_like(&how, q->profile);
    if (!how.results) {
        fd = memfd_create("verify", MFD_CLOEXEC); /* a journal that nobody keeps */
        if (fd < 0)
            return err_errno(e, "no journal can be made");
        how.results = arena_printf(a, "/proc/%d/fd/%d", (int)getpid(), fd);
    }
    int rc = bench_run(&how, q->topology, q->log, q->stop, summary, measured, e);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The part of a run's budget that its check has, and seconds that it has at least. */
#define CHECK_PART    0.5
#define CHECK_LEAST_S 30.0

double verify_check_s(double budget_s)
{
    return fmax(CHECK_LEAST_S, CHECK_PART * budget_s);
}

/* ---- the verdict on a finished profile ---- */

/* A rule that has lost, and where it is told. */
struct refuting {
    struct verify_delivery *d;
    const struct verify *v;
    const struct verify_rule *rule;
    const struct env_decisions *decisions;
    const char *gain, *why;
    struct arena *a;
};

/* Adds a line for each call that would be chosen at that point: that another one takes the place of the one that has
 * lost would be nothing that was delivered. */
static void refute_point(struct refuting *r, const struct env_shape *s, int coll, const struct env_point *p)
{
    for (int i = 0; i < p->noptions; i++) {
        if (i == p->fallback || !bench_gain_clears(p->options[i].gain, r->decisions->margin))
            continue;
        ARENA_ADD(r->a, r->d->lines, r->d->nlines) = (struct bench_result){.engine = s->engine,
                                                                           .library = s->library,
                                                                           .coll = coll,
                                                                           .bytes = p->bytes,
                                                                           .nodes = s->nodes,
                                                                           .ranks = s->ranks,
                                                                           .others = s->others,
                                                                           .buffers = s->buffers,
                                                                           .launch = s->launches[s->chosen].knobs,
                                                                           .call = p->options[i].call,
                                                                           .round = 1,
                                                                           .status = BENCH_DROPPED,
                                                                           .detail = r->why};
    }
}

/* The range's points that the rule is for. */
static void refute_range(struct refuting *r, const struct env_shape *s, int coll, const struct env_range *range)
{
    const struct env_point *first = NULL, *last = NULL;
    for (int i = 0; i < range->npoints; i++) {
        const struct env_point *p = &range->points[i];
        struct bench_point at = {
            .coll = coll, .bytes = p->bytes, .nodes = s->nodes, .ranks = s->ranks, .buffers = s->buffers};
        if (verify_rule_at(r->v, &at) != r->rule->rule)
            continue;
        refute_point(r, s, coll, p);
        first = first ? first : p;
        last = p;
    }
    if (!first)
        return;
    ARENA_ADD(r->a, r->d->lost, r->d->nlost) =
        env_gain_sentence(r->a, s, coll, first, last, r->gain, range->call.label);
}

static void refute_rule(struct refuting *r, enum bench_evidence on)
{
    r->gain = bench_gain_text(r->a, r->rule->gain);
    r->why = arena_printf(r->a, "%s in %d pairs of starts of the finished profile", r->gain, r->rule->gain.n);
    for (int i = 0; i < r->decisions->nshapes; i++) {
        const struct env_shape *s = &r->decisions->shapes[i];
        for (int c = 0; bench_evidence_of(s->engine) == on && s->chosen >= 0 && c < s->ncolls; c++)
            for (int k = 0; k < s->colls[c].nranges; k++)
                refute_range(r, s, s->colls[c].coll, &s->colls[c].ranges[k]);
    }
}

/* To set nothing, a loss need not be proven as a gain has to be. */
static int is_slower(const struct verify_rule *r)
{
    return r->gain.n > 2 && r->gain.high < 1;
}

void verify_judge_delivery(struct env_profile *p, enum bench_evidence on, const struct bench_points *points,
                           struct arena *a, struct verify_delivery *d, struct err *e)
{
    struct verify *v = verify_rules(p, on, points, 0, e);
    if (!v)
        return;
    d->gain = v->whole.gain;
    d->verdict = v->whole.verdict;
    d->points = v->whole.points;
    for (int i = 0; i < v->nrules; i++)
        if (v->rules[i].fails)
            d->refuted = arena_printf(a, "%s fails", v->rules[i].what);
        else if (verify_is_lost(&v->rules[i]))
            refute_rule(&(struct refuting){.d = d, .v = v, .rule = &v->rules[i], .decisions = p->decisions, .a = a},
                        on);
    if (is_slower(&v->rest))
        d->refuted = arena_printf(a, "other calls became slower: %s", bench_gain_text(a, v->rest.gain));
    if (d->refuted || is_slower(&v->whole))
        d->verdict = VERIFY_REFUTED;
    verify_free(v);
}

int verify_deliver(const struct verify_request *q, struct arena *a, struct verify_delivery *d, struct err *e)
{
    struct bench_summary summary = {0};
    struct bench_results *measured = NULL;
    *d = (struct verify_delivery){0};
    int rc = verify_measure(q, &summary, &measured, e);
    if (!rc && measured)
        verify_judge_delivery(q->profile, bench_evidence_of(q->bench->engine),
                              bench_points_of(measured, measured->arena), a, d, e);
    d->interrupted = summary.interrupted;
    bench_results_free(measured);
    return rc ? rc : e->code;
}
