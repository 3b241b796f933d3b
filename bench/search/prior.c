/* What is predicted of all that will be tried, and the order in which launches are. */
#include "bench/search/prior.h"

#include <math.h>

#include "bench/predict/best.h"
#include "bench/predict/launch.h"
#include "bench/predict/model.h"
#include "bench/search/budget.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"

/* Launches are told apart by AllReduce, at a size where latency counts, one where bandwidth does, and one between. */
static const uint64_t sizes[] = {(uint64_t)64 << 10, (uint64_t)4 << 20, (uint64_t)256 << 20};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

/* The mean of log(time) under a launch; NAN: the model is silent. */
static double score(const struct model_setup *base, const struct bench_knobs *launch)
{
    struct arena *a = arena_new();
    struct model_setup s = *base;
    double sum = NAN;
    const struct model *m = model_launch_apply(launch, &s.nccl, a) ? NULL : model_new(&s, a, NULL);
    for (int i = 0; m && i < SIZES; i++) {
        struct model_call call = {COLL_ALLREDUCE, sizes[i], -1, -1, 0};
        struct model_time t;
        double us = model_predict(m, &call, &t) ? NAN : log(t.us);
        sum = i ? sum + us : us;
    }
    arena_free(a);
    return sum / SIZES;
}

int search_prior_launches(const struct topology *t, int nodes, int ranks_per_node, struct arena *a,
                          struct bench_plan *p)
{
    struct model_setup s = {.nccl = {.topology = t, .nodes = nodes, .ranks_per_node = ranks_per_node}};
    s.nccl.class_index = t ? model_class_of(t) : -1;
    if (s.nccl.class_index < 0 || p->nlaunches < 2)
        return 0;
    double untouched = score(&s, &p->launches[0]);
    if (isnan(untouched))
        return 0;
    double *scores = arena_alloc(a, (size_t)p->nlaunches * sizeof *scores);
    double *gains = p->expected = arena_alloc(a, (size_t)p->nlaunches * sizeof *gains);
    int known = 0;
    scores[0] = untouched;
    gains[0] = 1;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_knobs launch = p->launches[i];
        double mine = score(&s, &launch);
        double gain = isnan(mine) ? 0 : exp(untouched - mine);
        known += !isnan(mine);
        mine = isnan(mine) ? untouched : mine;
        int k = i;
        for (; k > 1 && scores[k - 1] > mine; k--) {
            scores[k] = scores[k - 1];
            gains[k] = gains[k - 1];
            p->launches[k] = p->launches[k - 1];
        }
        scores[k] = mine;
        gains[k] = gain;
        p->launches[k] = launch;
    }
    return known;
}

/* ---- for the plan ---- */

/* How many times as fast as NCCL's choice the best call is. */
static double best_gain(const struct model *m, int coll, uint64_t bytes)
{
    const struct model_call own = {coll, bytes, -1, -1, 0};
    struct model_time t, best;
    return model_predict(m, &own, &t) || model_best(m, coll, bytes, &best) ? 0 : t.us / best.us;
}

/* Into `items`, which are sorted: the most gain per second first. */
static void insert(cJSON **items, int *count, cJSON *o, double gain, double part, double time_s)
{
    double per_s = part * log(gain) / time_s;
    int at = (*count)++;
    cJSON_AddNumberToObject(o, "gain", gain);
    cJSON_AddNumberToObject(o, "time_s", time_s);
    cJSON_AddNumberToObject(o, "gain_per_s", per_s);
    for (; at && json_num(items[at - 1], "gain_per_s", 0) < per_s; at--)
        items[at] = items[at - 1];
    items[at] = o;
}

/* cJSON_InsertItemInArray of cJSON 1.7.15 loses items. */
static cJSON *list_of(cJSON *const *items, int count)
{
    cJSON *list = count ? cJSON_CreateArray() : NULL;
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, items[i]);
    return list;
}

cJSON *search_prior_json(const struct topology *t, const struct bench_plan *p, int ranks_per_node, unsigned collectives,
                         const uint64_t *bytes, int n, double start_s)
{
    struct model_setup s = {.nccl = {.topology = t, .nodes = p->prior_nodes, .ranks_per_node = ranks_per_node}};
    struct arena *a = arena_new();
    cJSON **items = arena_alloc(a, (size_t)(n * COLL_COUNT + p->nlaunches) * sizeof(cJSON *));
    int count = 0;
    s.nccl.class_index = t ? model_class_of(t) : -1;
    const struct model *m = p->prior_nodes && s.nccl.class_index >= 0 ? model_new(&s, a, NULL) : NULL;
    double part = 1.0 / (n * __builtin_popcount(collectives));
    for (int i = 0; i < n * COLL_COUNT && m; i++) {
        int coll = i % COLL_COUNT, at = i / COLL_COUNT;
        uint64_t size = bytes[at];
        double gain = collectives >> coll & 1 ? best_gain(m, coll, size) : 0;
        if (gain > 0) {
            cJSON *o = cJSON_CreateObject();
            json_add_str(o, "collective", coll_name(coll));
            cJSON_AddNumberToObject(o, "bytes", (double)size);
            insert(items, &count, o, gain, part, BUDGET_POINT_S);
        }
    }
    for (int i = 1; i < p->nlaunches && p->expected; i++)
        if (p->expected[i] > 0) {
            cJSON *o = cJSON_CreateObject();
            json_add_str(o, "launch", p->launches[i].label);
            insert(items, &count, o, p->expected[i], 1, (1 + BUDGET_LEAST_VISIT) * start_s);
        }
    cJSON *list = list_of(items, count);
    arena_free(a);
    return list;
}

void search_prior_print(const cJSON *expected, FILE *out)
{
    const cJSON *o;
    char size[UNIT_TEXT], time[UNIT_TEXT];
    int left = 8;
    cJSON_ArrayForEach(o, expected)
    {
        const char *launch = json_str(o, "launch", NULL);
        double gain = json_num(o, "gain", 0);
        if (!left-- || gain <= 1)
            break;
        fprintf(out, "  %s %s: %.2fx in %s, %.2g %% of all a second\n",
                launch ? "launch" : json_str(o, "collective", ""),
                launch ? launch : unit_bytes(size, (uint64_t)json_num(o, "bytes", 0)), gain,
                unit_seconds(time, json_num(o, "time_s", 0)), 100 * json_num(o, "gain_per_s", 0));
    }
}
