/* What is predicted of all that will be tried, and the order in which launches are. */
#include "bench/search/prior.h"

#include <math.h>

#include "bench/search/budget.h"
#include "core/call/result.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"

static double launch_log_us(const struct bench_setup *s, int nodes, const struct bench_knobs *launch)
{
    return s->predictor ? s->predictor->launch_log_us(s->topology, nodes, s->ranks_per_node, launch) : NAN;
}

int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p)
{
    double untouched = p->nlaunches < 2 ? NAN : launch_log_us(s, nodes, &p->launches[0]);
    if (isnan(untouched))
        return 0;
    double *scores = arena_alloc(a, (size_t)p->nlaunches * sizeof *scores);
    double *gains = p->expected = arena_alloc(a, (size_t)p->nlaunches * sizeof *gains);
    int known = 0;
    scores[0] = untouched;
    gains[0] = 1;
    for (int i = 1; i < p->nlaunches; i++) {
        struct bench_knobs launch = p->launches[i];
        double mine = launch_log_us(s, nodes, &launch);
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

cJSON *search_prior_json(const struct bench_setup *s, const struct bench_plan *p, unsigned collectives,
                         const uint64_t *bytes, int n, double start_s)
{
    const struct predictor *m = p->prior_nodes ? s->predictor : NULL;
    struct arena *a = arena_new();
    cJSON **items = arena_alloc(a, (size_t)(n * COLL_COUNT + p->nlaunches) * sizeof(cJSON *));
    int count = 0;
    double part = 1.0 / (n * __builtin_popcount(collectives));
    for (int i = 0; i < n * COLL_COUNT && m; i++) {
        int coll = i % COLL_COUNT, at = i / COLL_COUNT;
        uint64_t size = bytes[at];
        double gain =
            !(collectives >> coll & 1) ? 0 : m->best_gain(s->topology, p->prior_nodes, s->ranks_per_node, coll, size);
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
