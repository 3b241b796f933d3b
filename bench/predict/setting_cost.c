/* The longest range of sizes where settings make a sure difference, and how large it is. */
#include "bench/predict/setting_cost.h"

#include <math.h>
#include <stdio.h>

#include "bench/predict/launch.h"
#include "core/units.h"

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

int setting_cost_of(const struct nccl_setup *base, const struct bench_setting *setting, int coll,
                    struct setting_cost *cost)
{
    struct arena *a = arena_new();
    struct model_setup without = {.nccl = *base}, with = without;
    int rc = model_setting_apply(setting->name, setting->value, &with.nccl, a);
    const struct model *x = rc ? NULL : model_new(&without, a, NULL), *y = x ? model_new(&with, a, NULL) : NULL;
    rc = y ? between(x, y, coll, cost) : -1;
    arena_free(a);
    return rc;
}

char *setting_cost_text(const struct setting_cost *c, char text[SETTING_COST_TEXT])
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    if (c->factor == 1) {
        snprintf(text, SETTING_COST_TEXT, "changes nothing beyond doubt");
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
