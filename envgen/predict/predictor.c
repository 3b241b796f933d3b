/* What people and other directories ask of the model beyond a time: the best call, what a setting costs, the order of
 * launches. */
#include <math.h>
#include <stdio.h>

#include "core/coll.h"
#include "core/units.h"
#include "envgen/predict/predict.h"

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

/* Logarithm of with over without, and its standard deviation; 0: there is no such pair. */
static int quotient(const struct model *without, const struct model *with, int coll, uint64_t bytes, double *log_ratio,
                    double *sd)
{
    const struct model_call call = {coll, bytes, -1, -1, 0};
    struct model_time x, y;
    if (model_predict(without, &call, &x) || model_predict(with, &call, &y))
        return 0;
    *log_ratio = log(y.us / x.us);
    *sd = bench_doubt_of_quotient(&x.doubt, &y.doubt);
    return 1;
}

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

/* -1: there is no size at which both are predicted. */
static int between(const struct model *without, const struct model *with, int coll, struct setting_cost *cost)
{
    double log_ratios[SIZES] = {0}, sds[SIZES];
    int slower_from = 0, faster_from = 0, pairs = 0;
    for (int i = 0; i < SIZES; i++)
        if (quotient(without, with, coll, SMALLEST << i, &log_ratios[i], &sds[i]))
            pairs++;
        else
            sds[i] = INFINITY;
    int slower = longest(log_ratios, sds, 1, &slower_from), faster = longest(log_ratios, sds, -1, &faster_from);
    int n = slower >= faster ? slower : faster, from = slower >= faster ? slower_from : faster_from;
    double most = 0;
    for (int i = from; i < from + n; i++)
        most = fabs(log_ratios[i]) > fabs(most) ? log_ratios[i] : most;
    *cost = (struct setting_cost){.factor = exp(most)};
    if (n && from)
        cost->from_bytes = SMALLEST << from;
    if (n && from + n < SIZES)
        cost->to_bytes = SMALLEST << (from + n - 1);
    return pairs ? 0 : -1;
}

int predict_setting_cost(const struct nccl_setup *base, const struct bench_setting *setting, int coll,
                         struct setting_cost *cost)
{
    struct arena *a = arena_new();
    struct model_setup without = {.nccl = *base}, with = without;
    int rc = model_apply(&(struct bench_knobs){"", setting, 1}, &with.nccl, a);
    const struct model *x = rc ? NULL : model_new(&without, a, NULL), *y = x ? model_new(&with, a, NULL) : NULL;
    rc = y ? between(x, y, coll, cost) : -1;
    arena_free(a);
    return rc;
}

char *predict_setting_cost_text(const struct setting_cost *c, char text[SETTING_COST_TEXT])
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    if (c->factor == 1) {
        snprintf(text, SETTING_COST_TEXT, "makes no clear difference");
        return text;
    }
    int n = c->factor > 1 ? snprintf(text, SETTING_COST_TEXT, "costs up to %.1fx", c->factor)
                          : snprintf(text, SETTING_COST_TEXT, "is up to %.1fx faster", 1 / c->factor);
    size_t room = SETTING_COST_TEXT - (size_t)n;
    if (c->from_bytes && c->to_bytes)
        snprintf(text + n, room, " from %s to %s", unit_bytes(from, c->from_bytes), unit_bytes(to, c->to_bytes));
    else if (c->from_bytes)
        snprintf(text + n, room, " from %s up", unit_bytes(from, c->from_bytes));
    else
        snprintf(text + n, room, c->to_bytes ? " up to %s" : " at all sizes", unit_bytes(to, c->to_bytes));
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

/* All hosts of the class, two where the topology is of one node. */
static int set_jobs_machine(struct model_setup *s, const struct topology *t, int nccl)
{
    if (set_machine(s, t, 0, 0))
        return -1;
    int hosts = topo_class_hosts(t, s->nccl.class_index);
    s->nccl.nodes = hosts > 1 ? hosts : 2;
    s->nccl.version = nccl;
    return 0;
}

static int lint_setting_cost(const struct topology *t, int nccl, const struct bench_setting *setting,
                             struct predicted_cost *cost)
{
    struct model_setup s;
    struct setting_cost c = {.factor = 1};
    if (set_jobs_machine(&s, t, nccl))
        return -1;
    int rc = predict_setting_cost(&s.nccl, setting, COLL_ALLREDUCE, &c);
    *cost = (struct predicted_cost){.factor = c.factor, .nodes = s.nccl.nodes};
    predict_setting_cost_text(&c, cost->text);
    return rc;
}

static int predict_channels(const struct topology *t, int nccl, int *nodes)
{
    struct arena *a = arena_new();
    struct model_setup s;
    const struct model *m = set_jobs_machine(&s, t, nccl) ? NULL : model_new(&s, a, NULL);
    int channels = m ? m->nccl->nchannels : 0;
    *nodes = m ? s.nccl.nodes : 0;
    arena_free(a);
    return channels;
}

const struct predictor predict_predictor = {predict_launch_log_us, lint_setting_cost, predict_channels};
