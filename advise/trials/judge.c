/* Two groups of jobs.
 *
 * The unit is a job, its figure the logarithm of a time. Jobs of one kind (name, user, number of nodes) share a mean,
 * and the trial adds the same to all kinds: least squares with one term for each kind and one for the trial. Only
 * kinds that both groups have tell anything.
 *
 * The comparison is looked at whenever somebody likes, and cron does so every few minutes. The boundary is that of
 * P. C. O'Brien and T. R. Fleming, A multiple testing procedure for clinical trials, Biometrics 35(3), 1979, with a
 * look at every job: a difference counts that is BOUNDARY * sqrt(planned / jobs) standard errors from none, which a
 * Brownian path leaves with a probability of 5 %. It is strict while jobs are few and a little wider than a single
 * test's at the planned end. */
#include <math.h>

#include "advise/trials/trials.h"
#include "core/stats.h"

#define BOUNDARY  2.2414 /* 4 * (1 - Phi(BOUNDARY)) = 0.05 */
#define POWER_Z   0.8416 /* Phi(POWER_Z) = TRIALS_POWER */
#define LEAST     8      /* jobs */
#define LEAST_DF  4
#define MOST_SURE (1 - 1e-6) /* of Student's distribution */

const char *trials_verdict_name(enum trials_verdict v)
{
    static const char *const names[] = {"undecided", "faster", "slower", "alike"};
    return names[v];
}

/* Sums of the jobs of one kind in one group. */
struct cell {
    double count, sum, squares;
};

struct kind {
    struct cell cells[2];  /* others, tried */
    double weight, effect; /* 0 without jobs in both */
};

static struct kind *sum_kinds(const struct trials_unit *units, size_t count, size_t *nkinds, struct arena *a)
{
    *nkinds = 0;
    for (size_t i = 0; i < count; i++)
        if ((size_t)units[i].kind >= *nkinds)
            *nkinds = (size_t)units[i].kind + 1;
    struct kind *kinds = arena_alloc(a, (*nkinds ? *nkinds : 1) * sizeof *kinds);
    for (size_t i = 0; i < count; i++) {
        struct cell *c = &kinds[units[i].kind].cells[units[i].is_tried != 0];
        double y = log(units[i].figure);
        c->count++;
        c->sum += y;
        c->squares += y * y;
    }
    return kinds;
}

/* What a group's jobs have beside their own mean. */
static double within(const struct cell *c)
{
    double left = c->squares - c->sum * c->sum / c->count;
    return left > 0 ? left : 0;
}

/* The interval around `effect`, and what it says. */
static void conclude(struct trials_comparison *c, double effect, double half)
{
    c->ratio = exp(effect);
    c->low = exp(effect - half);
    c->high = exp(effect + half);
    if (c->low > 1)
        c->verdict = TRIALS_SLOWER;
    else if (c->high < 1)
        c->verdict = TRIALS_FASTER;
    else if (c->low > 1 - TRIALS_ALIKE_WITHIN && c->high < 1 + TRIALS_ALIKE_WITHIN)
        c->verdict = TRIALS_ALIKE;
}

void trials_compare(const struct trials_unit *units, size_t count, size_t planned, struct trials_comparison *c,
                    struct arena *a)
{
    size_t nkinds, used = 0;
    double weight = 0, effect = 0, squares = 0, n[2] = {0, 0};
    count = count < planned ? count : planned;
    struct kind *kinds = sum_kinds(units, count, &nkinds, a);
    *c = (struct trials_comparison){.verdict = TRIALS_UNDECIDED, .counted = count};
    for (size_t i = 0; i < nkinds; i++) {
        const struct cell *others = &kinds[i].cells[0], *tried = &kinds[i].cells[1];
        if (!(others->count > 0) || !(tried->count > 0))
            continue;
        kinds[i].weight = others->count * tried->count / (others->count + tried->count);
        kinds[i].effect = tried->sum / tried->count - others->sum / others->count;
        effect += kinds[i].weight * kinds[i].effect;
        weight += kinds[i].weight;
        squares += within(others) + within(tried);
        n[0] += others->count;
        n[1] += tried->count;
        used++;
    }
    c->others = (size_t)n[0];
    c->tried = (size_t)n[1];
    effect = weight > 0 ? effect / weight : 0;
    for (size_t i = 0; i < nkinds; i++) /* kinds whose difference is another one */
        squares += kinds[i].weight * (kinds[i].effect - effect) * (kinds[i].effect - effect);
    double jobs = n[0] + n[1], df = jobs - (double)used - 1;
    if (jobs < LEAST || df < LEAST_DF)
        return;
    double deviation = sqrt(squares / df), boundary = BOUNDARY * sqrt((double)planned / jobs);
    double sure = erf(boundary / sqrt(2)), step = log(1 + TRIALS_EFFECT), z = BOUNDARY + POWER_Z;
    c->spread = deviation;
    c->jobs_needed = (size_t)ceil(z * z * deviation * deviation / (step * step) * jobs / weight);
    c->jobs_needed = c->jobs_needed > LEAST ? c->jobs_needed : LEAST;
    conclude(c, effect, stats_student_t((int)df, sure < MOST_SURE ? sure : MOST_SURE) * deviation / sqrt(weight));
}

/* ln(n over k) */
static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* Fisher's exact test, one-sided. */
double trials_failing_by_chance(size_t failed_tried, size_t tried, size_t failed_others, size_t others)
{
    double failed = (double)(failed_tried + failed_others), all = (double)(tried + others), p = 0;
    for (size_t k = failed_tried; k <= tried && (double)k <= failed; k++)
        if (failed - (double)k <= (double)others)
            p += exp(log_choose((double)tried, (double)k) + log_choose((double)others, failed - (double)k) -
                     log_choose(all, failed));
    return p < 1 ? p : 1;
}
