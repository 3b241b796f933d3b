/* What people and other directories ask of the model beyond a time: the best call, what a setting costs, the order of
 * launches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"
#include "envgen/predict/predict.h"
#include "model/workload/job.h"

/* ---- the best call ---- */

/* With as many channels as NCCL would take, and with each number that a tuner asks for. */
static void try_channels(const struct model *m, struct model_call *call, struct model_time *best)
{
    struct model_time t;
    call->channels = 0;
    if (model_predict(m, call, &t))
        return;
    for (const int *channels = nccl_plan_channels;; channels++) {
        if (t.us < best->us)
            *best = t;
        call->channels = *channels;
        if (!*channels || model_predict(m, call, &t))
            return;
    }
}

int predict_best(const struct model *m, int coll, uint64_t bytes, struct model_time *t)
{
    struct model_call call = {coll, bytes, -1, -1, 0};
    if (model_predict(m, &call, t))
        return -1;
    for (call.algo = 0; call.algo < ALGO_COUNT && coll < COLL_COUNT; call.algo++)
        for (call.proto = 0; call.proto < PROTO_COUNT; call.proto++)
            try_channels(m, &call, t);
    return 0;
}

/* ---- what a setting costs: the longest range of sizes where it makes a sure difference, and how large it is ---- */

#define SMALLEST ((uint64_t)1 << 10)
#define SIZES    21 /* to 1 GiB, each twice the one before */

/* What is worth a word: the interval is clear of this. */
#define MARGIN log(1.05)

/* Of a job that are looked at. */
#define MOST_SETTINGS 16

/* The longest run of sizes at which `sign` × the difference is sure; its length, 0 none. */
static int longest(const double *log_ratios, const double *sds, int sign, int *from)
{
    int best = 0;
    for (int i = 0, n = 0; i < SIZES; i++) {
        n = sign * log_ratios[i] - BENCH_NINE_OF_TEN * sds[i] > MARGIN ? n + 1 : 0;
        if (n > best) {
            best = n;
            *from = i - n + 1;
        }
    }
    return best;
}

/* Of more settings that the model knows only the order in which they are given counts. */
#define MOST_SHARED 5

/* A default with some of the settings, bit by bit; made when it is first asked for. */
struct subsets {
    const struct nccl_setup *base;
    const struct bench_setting *settings[MOST_SETTINGS];
    int n, coll;
    struct arena *arena;
    struct model_time *times[1 << MOST_SHARED]; /* by bits, SIZES each; us 0: not predicted */
    struct model_time *prefix[MOST_SETTINGS + 1];
};

static struct model_time *predict_sizes(struct subsets *s, const struct bench_setting *settings, int n)
{
    struct model_setup *with = ARENA_NEW(s->arena, struct model_setup);
    struct model_time *times = arena_alloc(s->arena, SIZES * sizeof *times);
    *with = (struct model_setup){.nccl = *s->base};
    int rc = model_apply(&(struct bench_knobs){"", settings, n}, &with->nccl, s->arena);
    const struct model *m = rc ? NULL : model_new(with, s->arena, NULL);
    for (int i = 0; i < SIZES; i++) {
        const struct model_call call = {s->coll, SMALLEST << i, -1, -1, 0};
        if (!m || model_predict(m, &call, &times[i]))
            times[i].us = 0;
    }
    return times;
}

/* The default with those settings whose bits are set. */
static const struct model_time *times_of(struct subsets *s, unsigned bits)
{
    struct bench_setting some[MOST_SETTINGS];
    int n = 0;
    for (int i = 0; i < s->n; i++)
        if (bits >> i & 1)
            some[n++] = *s->settings[i];
    struct model_time **slot = s->n <= MOST_SHARED ? &s->times[bits] : &s->prefix[n];
    if (!*slot)
        *slot = predict_sizes(s, some, n);
    return *slot;
}

/* A setting's part of log (with all / without any) at a size: its mean over all orders of adding them (L. Shapley, A
 * value for n-person games, 1953), so that parts add up. NAN: not predicted. */
static double share_of(struct subsets *s, int which, int size)
{
    const unsigned own = 1u << which;
    double sum = 0, orders = 1;
    if (s->n > MOST_SHARED)
        return log(times_of(s, 2 * own - 1)[size].us / times_of(s, own - 1)[size].us);
    for (int i = 2; i <= s->n; i++)
        orders *= i;
    for (unsigned bits = 0; bits < 1u << s->n; bits++) {
        double before = 1, after = 1;
        if (bits & own)
            continue;
        int k = __builtin_popcount(bits);
        for (int i = 2; i <= k; i++)
            before *= i;
        for (int i = 2; i < s->n - k; i++)
            after *= i;
        const double x = times_of(s, bits)[size].us, y = times_of(s, bits | own)[size].us;
        sum += x > 0 && y > 0 ? before * after / orders * log(y / x) : NAN;
    }
    return sum;
}

/* Those that the model knows; where one is set twice, the last. `which` becomes its place, -1 where it is none. */
static void take_known(struct subsets *s, const struct bench_setting *settings, int n, int *which)
{
    int place = -1;
    for (int i = 0; i < n && s->n < MOST_SETTINGS; i++) {
        struct nccl_setup with = *s->base;
        int again = 0;
        for (int k = i + 1; k < n; k++)
            again |= !strcmp(settings[k].name, settings[i].name);
        if (again || model_apply(&(struct bench_knobs){"", &settings[i], 1}, &with, s->arena))
            continue;
        place = i == *which ? s->n : place;
        s->settings[s->n++] = &settings[i];
    }
    *which = place;
}

int predict_setting_share(const struct nccl_setup *base, const struct bench_setting *settings, int n, int which,
                          int coll, struct setting_cost *cost)
{
    struct subsets s = {.base = base, .coll = coll, .arena = arena_new()};
    double log_ratios[SIZES] = {0}, sds[SIZES], most = 0;
    int slower_from = 0, faster_from = 0, known = 0;
    *cost = (struct setting_cost){.factor = 1, .unsure = 1, .elsewhere = 1, .share = 1, .of_all = 1};
    take_known(&s, settings, n, &which);
    const unsigned all = (1u << s.n) - 1;
    for (int i = 0; i < SIZES && which >= 0; i++) {
        const struct model_time *x = &times_of(&s, 0)[i], *y = &times_of(&s, all)[i];
        double share = share_of(&s, which, i);
        sds[i] = isfinite(share) && x->us > 0 && y->us > 0 ? bench_doubt_of_quotient(&x->doubt, &y->doubt) : INFINITY;
        log_ratios[i] = isfinite(sds[i]) ? share : 0;
        known += isfinite(sds[i]);
        if (fabs(isfinite(sds[i]) ? log(y->us / x->us) : 0) > fabs(most)) {
            most = log(y->us / x->us);
            cost->at_bytes = SMALLEST << i;
            cost->of_all = exp(most);
            cost->share = exp(share);
        }
    }
    arena_free(s.arena);
    if (!known)
        return -1;
    for (int k = 0; k < 2; k++) { /* the longest range, and the longest of the others */
        int slower = longest(log_ratios, sds, 1, &slower_from), faster = longest(log_ratios, sds, -1, &faster_from);
        int run = slower >= faster ? slower : faster, from = slower >= faster ? slower_from : faster_from;
        double worst = 0;
        for (int i = from; i < from + run; i++) {
            sds[i] = INFINITY; /* has been told */
            if (fabs(log_ratios[i]) <= fabs(worst))
                continue;
            worst = log_ratios[i];
            cost->worst_bytes = k ? cost->worst_bytes : SMALLEST << i;
        }
        *(k ? &cost->elsewhere : &cost->factor) = exp(worst);
        *(k ? &cost->elsewhere_from : &cost->from_bytes) = run && from ? SMALLEST << from : 0;
        *(k ? &cost->elsewhere_to : &cost->to_bytes) = run && from + run < SIZES ? SMALLEST << (from + run - 1) : 0;
    }
    for (int i = 0; i < SIZES; i++)
        if (isfinite(sds[i]) && fabs(log_ratios[i]) > fabs(log(cost->unsure))) {
            cost->unsure = exp(log_ratios[i]);
            cost->unsure_bytes = SMALLEST << i;
        }
    return 0;
}

/* ---- what leaving out gains ---- */

#define MOST_PAIRED 12 /* settings of a job of which every two are tried */

/* Return 0 and the time of a call under all settings but two, which may be the same one, or -1 for none. */
static int predict_without(const struct nccl_setup *base, const struct bench_setting *settings, int n,
                           const struct model_call *call, const struct setting_gain *without, struct model_time *t)
{
    struct arena *a = arena_new();
    struct model_setup setup = {.nccl = *base};
    int rc = 0;
    for (int i = 0; i < n && !rc; i++)
        if (i != without->first && i != without->second)
            rc = model_apply(&(struct bench_knobs){"", &settings[i], 1}, &setup.nccl, a);
    const struct model *m = rc ? NULL : model_new(&setup, a, NULL);
    rc = m ? model_predict(m, call, t) : -1;
    arena_free(a);
    return rc;
}

static int by_factor(const void *x, const void *y)
{
    const struct setting_gain *a = x, *b = y;
    return a->factor != b->factor ? (a->factor < b->factor ? 1 : -1) : a->first - b->first;
}

void predict_gains(const struct nccl_setup *base, const struct bench_setting *settings, int n,
                   const struct model_call *call, struct setting_gain *gains)
{
    struct model_time all, t;
    const int known = !predict_without(base, settings, n, call, &(struct setting_gain){-1, -1, 0, 0}, &all);
    gains[n].factor = 0;
    for (int apart = 0; apart < (n <= MOST_PAIRED ? n : 1); apart++) /* 0: each alone; then every two */
        for (int i = 0; i + apart < n; i++) {
            struct setting_gain g = {i, i + apart, 0, 0};
            if (known && !predict_without(base, settings, n, call, &g, &t)) {
                g.factor = all.us / t.us;
                g.sure =
                    fabs(log(g.factor)) - BENCH_NINE_OF_TEN * bench_doubt_of_quotient(&all.doubt, &t.doubt) > MARGIN;
            }
            double more = apart ? g.factor / fmax(1, gains[i].factor) / fmax(1, gains[i + apart].factor) : 0;
            if (!apart)
                gains[i] = g;
            else if (more > exp(MARGIN) && g.factor > gains[n].factor)
                gains[n] = g;
        }
    qsort(gains, (size_t)n, sizeof *gains, by_factor);
}

/* Append one range. Return the length of the text then. */
static int add_range_text(char text[SETTING_COST_TEXT], int n, double factor, uint64_t from_bytes, uint64_t to_bytes)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    size_t room = SETTING_COST_TEXT - (size_t)n;
    const char *many = from_bytes && from_bytes == to_bytes ? " at %s"
                       : from_bytes && to_bytes             ? " from %s to %s"
                       : from_bytes                         ? " from %s up"
                                                            : " up to %s";
    unit_bytes(from, from_bytes ? from_bytes : to_bytes);
    n += factor > 1 ? snprintf(text + n, room, "costs up to %.1fx", factor)
                    : snprintf(text + n, room, "is up to %.1fx faster", 1 / factor);
    room = SETTING_COST_TEXT - (size_t)n;
    if (!from_bytes && !to_bytes)
        return n + snprintf(text + n, room, " at all sizes");
    return n + snprintf(text + n, room, many, from, unit_bytes(to, to_bytes));
}

char *predict_setting_cost_text(const struct setting_cost *c, char text[SETTING_COST_TEXT])
{
    const int two = c->elsewhere && c->elsewhere != 1, cost_last = two && c->elsewhere > 1 && c->factor < 1;
    int n = 0;
    snprintf(text, SETTING_COST_TEXT, "makes no clear difference");
    if (c->factor == 1)
        return text;
    if (!cost_last)
        n = add_range_text(text, n, c->factor, c->from_bytes, c->to_bytes);
    if (two && n)
        n += snprintf(text + n, SETTING_COST_TEXT - (size_t)n, " and ");
    if (two)
        n = add_range_text(text, n, c->elsewhere, c->elsewhere_from, c->elsewhere_to);
    if (cost_last) {
        n += snprintf(text + n, SETTING_COST_TEXT - (size_t)n, " and ");
        add_range_text(text, n, c->factor, c->from_bytes, c->to_bytes);
    }
    return text;
}

/* ---- for measuring and lint ---- */

/* Launches are told apart by AllReduce, at a size where latency counts, one where bandwidth does, and one between. */
static const uint64_t launch_sizes[] = {(uint64_t)64 << 10, (uint64_t)4 << 20, (uint64_t)256 << 20};
#define LAUNCH_SIZES ((int)(sizeof launch_sizes / sizeof *launch_sizes))

/* -1: the topology has no GPU. */
static int set_machine(struct model_setup *s, const struct topology *t, int nodes, int ranks_per_node)
{
    *s = (struct model_setup){.nccl = {.topology = t, .nodes = nodes, .ranks_per_node = ranks_per_node}};
    s->nccl.class_index = t ? topo_gpu_class(t) : -1;
    return s->nccl.class_index < 0 ? -1 : 0;
}

static double predict_launch_log_us(const struct topology *t, int nodes, int ranks_per_node,
                                    const struct bench_knobs *launch)
{
    struct arena *a = arena_new();
    struct model_setup s;
    int known = !set_machine(&s, t, nodes, ranks_per_node) && !model_apply(launch, &s.nccl, a);
    const struct model *m = known ? model_new(&s, a, NULL) : NULL;
    double sum = m ? 0 : NAN;
    for (int i = 0; m && i < LAUNCH_SIZES; i++) {
        struct model_call call = {COLL_ALLREDUCE, launch_sizes[i], -1, -1, 0};
        struct model_time time;
        sum += model_predict(m, &call, &time) ? NAN : log(time.us);
    }
    arena_free(a);
    return sum / LAUNCH_SIZES;
}

/* `nodes` 0: all hosts of the class, two where the topology is of one node. */
static int set_jobs_machine(struct model_setup *s, const struct topology *t, int nccl, int nodes)
{
    if (set_machine(s, t, nodes, 0))
        return -1;
    int hosts = topo_class_hosts(t, s->nccl.class_index);
    s->nccl.nodes = nodes ? nodes : hosts > 1 ? hosts : 2;
    s->nccl.version = nccl;
    return 0;
}

static int lint_setting_cost(const struct topology *t, int nccl, const struct bench_setting *settings, int n, int which,
                             struct predicted_cost *cost)
{
    struct model_setup s;
    struct setting_cost c = {.factor = 1};
    char text[SETTING_COST_TEXT];
    if (set_jobs_machine(&s, t, nccl, cost->nodes))
        return -1;
    int rc = predict_setting_share(&s.nccl, settings, n, which, COLL_ALLREDUCE, &c), alone = rc && n > 1;
    if (alone)
        rc = predict_setting_share(&s.nccl, &settings[which], 1, 0, COLL_ALLREDUCE, &c);
    *cost = (struct predicted_cost){.factor = fmax(c.factor, c.elsewhere), .nodes = s.nccl.nodes, .alone = alone};
    predict_setting_cost_text(&c, text);
    if (strlen(text) >= sizeof cost->text)
        *strstr(text, " and ") = 0; /* what it costs is said first */
    snprintf(cost->text, sizeof cost->text, "%.*s", (int)sizeof cost->text - 1, text);
    return rc;
}

static int predict_channels(const struct topology *t, int nccl, int *nodes)
{
    struct arena *a = arena_new();
    struct model_setup s;
    const struct model *m = set_jobs_machine(&s, t, nccl, *nodes) ? NULL : model_new(&s, a, NULL);
    int channels = m ? m->nccl->nchannels : 0;
    *nodes = m ? s.nccl.nodes : 0;
    arena_free(a);
    return channels;
}

const struct predictor predict_predictor = {predict_launch_log_us, lint_setting_cost, predict_channels,
                                            workload_launch_nodes};
