/* Intervals, gains over starts, and launches against one another. */
#include "bench/results/points.h"

#include <math.h>
#include <string.h>

#include "core/stats.h"

/* The rank k, counted from 1, for which [x(k), x(n+1-k)] covers the median with at least 95 %: the largest k with
 * 2 P(Bin(n, 1/2) < k) <= 0.05. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2. Past 500 samples its
 * normal approximation, rounded outwards. */
static int interval_rank(int n)
{
    if (n > 500)
        return (int)floor(n / 2.0 - 0.98 * sqrt(n));
    double term = pow(0.5, n), below = term;
    int k = 0;
    while (2 * below <= 0.05) {
        k++;
        term *= (double)(n - k + 1) / k;
        below += term;
    }
    return k > 0 ? k : 1;
}

struct bench_interval bench_interval_of(const double *samples, int n, double *scratch)
{
    struct bench_interval v = {0};
    if (n < 1)
        return v;
    memcpy(scratch, samples, (size_t)n * sizeof *scratch);
    stats_sort(scratch, n);
    int k = interval_rank(n);
    v.n = n;
    v.median = stats_quantile_sorted(scratch, n, 0.5);
    v.low = scratch[k - 1];
    v.high = scratch[n - k];
    return v;
}

double bench_result_us(const struct bench_result *r)
{
    struct arena *a = arena_new();
    double us = bench_interval_of(r->times_us, r->ntimes, arena_alloc(a, (size_t)r->ntimes * sizeof(double))).median;
    arena_free(a);
    return us;
}

struct bench_interval bench_gain(struct bench_interval from, struct bench_interval to)
{
    struct bench_interval v = {0};
    if (!from.n || !to.n || !(to.low > 0))
        return v;
    v.n = from.n < to.n ? from.n : to.n;
    v.median = from.median / to.median;
    if (from.predicted && to.predicted) {
        v.predicted = 1;
        double below = hypot(log(from.median / from.low), log(to.high / to.median));
        double above = hypot(log(from.high / from.median), log(to.median / to.low));
        if (from.doubt && to.doubt)
            below = above = BENCH_NINE_OF_TEN * bench_doubt_of_quotient(from.doubt, to.doubt);
        v.low = v.median / exp(below);
        v.high = v.median * exp(above);
        return v;
    }
    v.low = from.low / to.high;
    v.high = from.high / to.low;
    return v;
}

int bench_count_equal(const double *samples, int n, double *scratch)
{
    int equal = 0;
    memcpy(scratch, samples, (size_t)n * sizeof *scratch);
    stats_sort(scratch, n);
    for (int i = 1; i < n; i++)
        equal += scratch[i] == scratch[i - 1];
    return equal;
}

/* More pairs than a search makes. */
#define MOST_PAIRS  256
#define MOST_PASSES 64

/* Of several points none counts for more than this factor, either way: on a busy machine the smallest sizes take a
 * hundred times as long for a whole visit, which would outweigh all others. A larger gain is understated. */
#define MOST_FACTOR 4.0
#define SEVERAL     4

/* Return whether it is of a session after screening. */
static int is_visit(const struct bench_result *r)
{
    return r->round >= 1 && r->ntimes && r->status <= BENCH_DROPPED && !(r->low_us > 0);
}

/* What was measured in a round, in order of time; returns how often. */
static int visits_us(const struct bench_candidate *c, int round, double us[MOST_PASSES])
{
    int n = 0;
    for (int i = 0; c && i < c->nresults && n < MOST_PASSES; i++)
        if (c->results[i]->round == round && is_visit(c->results[i]))
            us[n++] = bench_result_us(c->results[i]);
    return n;
}

/* The logarithm of a gain in a pair of sessions; NAN: one of them has no time. The lower quartiles are compared, for a
 * session that went over its points several times may have met what passes on some of these ways; of as many passes on
 * both sides, for the quartile of one is its median, and of four it is lower by two thirds of their deviation. */
static double log_gain_at(const struct bench_candidate *from, const struct bench_candidate *to, int round)
{
    double x[MOST_PASSES], y[MOST_PASSES];
    int nx = visits_us(from, round, x), ny = visits_us(to, round, y), n = nx < ny ? nx : ny;
    return n ? log(stats_quantile(x, n, 0.25) / stats_quantile(y, n, 0.25)) : NAN;
}

/* The mean logarithm of gains in a pair of sessions; `*points` counts them. */
static double gain_of_pair(const struct bench_candidate *const *from, const struct bench_candidate *const *to,
                           const double *weights, int n, int round, int *points)
{
    double sum = 0, weight = 0;
    *points = 0;
    for (int i = 0; i < n; i++) {
        double gain = log_gain_at(from[i], to[i], round), w = weights ? weights[i] : 1;
        if (isnan(gain) || !(w > 0))
            continue;
        sum += w * (n < SEVERAL ? gain : fmax(-log(MOST_FACTOR), fmin(log(MOST_FACTOR), gain)));
        weight += w;
        ++*points;
    }
    return weight > 0 ? sum / weight : 0;
}

/* Half of what correlations add to the variance of a mean of `n`, in parts of it. */
static double sum_correlations(int n, double alike)
{
    double sum = 0, power = 1;
    for (int k = 1; k < n; k++)
        sum += (1 - (double)k / n) * (power *= alike);
    return sum;
}

/* Of the two sides together, so that one alone is wrong as often as may be. */
static double confidence_among(int rivals)
{
    return 1 - 2 * BENCH_FALSE / BENCH_LOOKS / fmax(rivals, 1);
}

struct bench_interval bench_gain_over_starts(const double *logs, int n, double alike, double confidence, int rivals)
{
    double mean = 0, squares = 0, low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) {
        mean += logs[i] / n;
        low = fmin(low, logs[i]);
        high = fmax(high, logs[i]);
    }
    for (int i = 0; i < n; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    struct bench_interval v = {.median = exp(mean), .low = exp(low), .high = exp(high), .n = n};
    if (n > 2) {
        double sum = sum_correlations(n, alike), variance = squares / (n - 1) / (1 - 2 * sum / (n - 1));
        v.worth = n / (1 + 2 * sum);
        v.error = sqrt(variance / v.worth);
        double half = stats_student_t(v.worth - 1, confidence) * v.error;
        v.low = exp(mean - half);
        v.high = exp(mean + half);
        /* Starts that are worth less than two independent ones prove nothing. */
        if (v.worth >= 2)
            v.sure = v.median * exp(-stats_student_t(v.worth - 1, confidence_among(rivals)) * v.error);
    }
    return n ? v : (struct bench_interval){0};
}

/* Starts that deviate by less are as good as equal: what they have in common is rounding. */
#define STILL 1e-4

/* Squares of the steps from one start to the next over those of all deviations: 1 in the mean where starts are
 * independent (J. von Neumann), less where neighbours are alike. */
static double steps_over_squares(const struct bench_starts *c)
{
    double mean = 0, steps = 0, squares = 0;
    for (int i = 0; i < c->n; i++)
        mean += c->logs[i] / c->n;
    for (int i = 0; i < c->n; i++) {
        squares += (c->logs[i] - mean) * (c->logs[i] - mean);
        steps += i ? (c->logs[i] - c->logs[i - 1]) * (c->logs[i] - c->logs[i - 1]) : 0;
    }
    return squares > (c->n - 1) * STILL * STILL ? steps / squares / 2 : 1;
}

/* Chance makes starts look alike: half a standard deviation of that is left out. */
#define SURE 0.5

/* Few calls say little: as if there were so many more, whose starts are independent. */
#define INDEPENDENT 2

/* More is not told from a drift. */
#define MOST_ALIKE 0.9

/* What steps over squares are in the mean for `n` starts that correlate so. */
static double expect_steps(int n, double alike)
{
    return (1 - alike) / (1 - 2 * sum_correlations(n, alike) / (n - 1));
}

double bench_starts_alike(const struct bench_starts *calls, int n)
{
    double found = 0, variance = 0, weights = 0, low = 0, high = MOST_ALIKE;
    int known = 0;
    for (int i = 0; i < n; i++) {
        double m = calls[i].n;
        if (m < 3)
            continue;
        found += (m - 1) * steps_over_squares(&calls[i]);
        variance += (m - 1) * (m - 1) * (m - 2) / (m * m - 1);
        weights += m - 1;
        known++;
    }
    double independent = known ? INDEPENDENT * weights / known : 0;
    int usual = known ? 1 + (int)(weights / known) : 0;
    found += SURE * sqrt(variance) + independent;
    for (int k = 0; k < 20 && known; k++) {
        double alike = (low + high) / 2, expected = independent * expect_steps(usual, alike);
        for (int i = 0; i < n; i++)
            expected += calls[i].n < 3 ? 0 : (calls[i].n - 1) * expect_steps(calls[i].n, alike);
        if (expected > found)
            low = alike;
        else
            high = alike;
    }
    return low;
}

int bench_gain_clears(struct bench_interval gain, double margin)
{
    int holds = gain.predicted || (gain.n >= BENCH_FEWEST && gain.sure > 1 && !gain.lost);
    return holds && gain.n > 0 && gain.low >= 1 + margin;
}

struct bench_noise bench_noise_of(const struct bench_points *p)
{
    struct arena *a = arena_new();
    struct bench_noise x = {.confidence = p->confidence};
    double *spreads = NULL;
    int contested = 0;
    for (int i = 0; i < p->count; i++) {
        int before = x.calls;
        for (int k = 0; k < p->items[i].ncandidates; k++) {
            const struct bench_interval *g = &p->items[i].candidates[k].proof;
            if (g->n < BENCH_FEWEST || g->predicted)
                continue;
            ARENA_ADD(a, spreads, x.calls) = g->error * sqrt(g->n);
        }
        contested += x.calls > before;
    }
    if (x.calls) {
        x.spread = stats_median(spreads, x.calls);
        x.rivals = (int)lround((double)x.calls / contested);
    }
    arena_free(a);
    return x;
}

double bench_smallest_gain(const struct bench_noise *x, int n, double margin)
{
    double error = x->spread / sqrt(n);
    return exp(fmax(log(1 + margin) + stats_student_t(n - 1, x->confidence) * error,
                    stats_student_t(n - 1, confidence_among(x->rivals)) * error));
}

int bench_starts_for(const struct bench_noise *x, double gain, double margin)
{
    int n = BENCH_FEWEST;
    while (n < BENCH_MANY_STARTS && bench_smallest_gain(x, n, margin) > gain)
        n++;
    return n;
}

struct bench_interval bench_sessions_gain(const struct bench_candidate *const *from,
                                          const struct bench_candidate *const *to, const double *weights, int n,
                                          double confidence, int rivals)
{
    double gains[MOST_PAIRS];
    int counts[MOST_PAIRS] = {0}, pairs = 0, most = 0, kept = 0, last = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; to[i] && k < to[i]->nresults; k++)
            if (is_visit(to[i]->results[k]) && to[i]->results[k]->round > last)
                last = to[i]->results[k]->round;
    for (int round = 1; round <= last && pairs < MOST_PAIRS; round++) {
        gains[pairs] = gain_of_pair(from, to, weights, n, round, &counts[pairs]);
        most = counts[pairs] > most ? counts[pairs] : most;
        pairs += counts[pairs] > 0;
    }
    for (int i = 0; i < pairs; i++) /* sessions that were cut short compare other points */
        if (2 * counts[i] >= most)
            gains[kept++] = gains[i];
    struct bench_interval v =
        bench_gain_over_starts(gains, kept, 0, 1 - (1 - confidence) / (rivals > 1 ? rivals : 1), 1);
    v.sure = v.low; /* of few launches one is chosen, of many calls many are */
    return v;
}

/* Whether setting `i` is that of another class of nodes than the one before it, which stands for both. */
static int is_repeated(const struct bench_knobs *k, int i)
{
    const char *name = k->settings[i].name;
    size_t plain = strcspn(name, "@");
    return i && name[plain] && !strncmp(k->settings[i - 1].name, name, plain + 1);
}

static int count_settings(const struct bench_knobs *k)
{
    int n = 0;
    for (int i = 0; i < k->nsettings; i++)
        n += !is_repeated(k, i);
    return n;
}

static int count_commas(const char *list)
{
    int n = 0;
    while ((list = strchr(list, ',')))
        list++, n++;
    return n;
}

int bench_departs_more(const struct bench_knobs *x, const struct bench_knobs *y)
{
    int more = count_settings(x) - count_settings(y), shorter = 0;
    for (int i = 0; i < x->nsettings; i++)
        for (int k = 0; k < y->nsettings && !is_repeated(x, i); k++)
            if (!strcmp(x->settings[i].name, y->settings[k].name))
                shorter += count_commas(y->settings[k].value) - count_commas(x->settings[i].value);
    return more ? more : shorter;
}
