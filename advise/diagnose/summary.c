/* From the steps of a run to numbers: medians, shares of wall time, periods, trends, warm-up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/stats.h"

/* A leading step this much slower than the median is warm-up: compilation, allocation, first connections. */
#define WARM_UP       1.5
#define WARM_UP_STEPS 10
#define TREND_STEPS   9 /* fewer say nothing about a trend */

/* The merged steps [from, n) of a run as columns. */
struct column {
    const struct diag_series *series;
    const struct diag_step *steps;
    int from, n;
    double *buffer; /* DIAG_STEPS */
    double wall_ms; /* of all of them */
};

static double step_value(const struct diag_step *s, int phase)
{
    return phase < 0 ? s->total_ms : s->ms[phase];
}

/* Median of a phase (-1: of the step) over those of [from, to) that have it. */
static double median_of(const struct column *c, int phase, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        if (phase < 0 || c->steps[i].ms[phase] > 0)
            c->buffer[n++] = step_value(&c->steps[i], phase);
    return n ? stats_median(c->buffer, n) : 0;
}

static double sum_over(const struct column *c, int phase)
{
    double sum = 0;
    for (int i = c->from; i < c->n; i++)
        sum += step_value(&c->steps[i], phase);
    return sum;
}

static double growth_of(const struct column *c, int phase)
{
    int third = (c->n - c->from) / 3;
    if (c->n - c->from < TREND_STEPS)
        return 0;
    double first = median_of(c, phase, c->from, c->from + third), last = median_of(c, phase, c->n - third, c->n);
    return first > 0 && last > 0 ? last / first - 1 : 0;
}

/* Every so many steps a phase happens; 0: in at least half of them, or in too few to say. */
static int period_of(const struct column *c, int phase)
{
    long first = -1, last = -1, n = 0;
    for (int i = c->from; i < c->n; i++)
        if (c->steps[i].ms[phase] > 0.02 * c->steps[i].total_ms) {
            first = first < 0 ? c->steps[i].number : first;
            last = c->steps[i].number;
            n++;
        }
    return n >= 2 && 2 * n <= c->n - c->from ? (int)lround((double)(last - first) / (double)(n - 1)) : 0;
}

static int warm_up_steps(const struct column *c)
{
    double typical = median_of(c, -1, 0, c->n);
    int most = c->n / 3 < WARM_UP_STEPS ? c->n / 3 : WARM_UP_STEPS, k = 0;
    while (k < most && c->steps[k].total_ms > WARM_UP * typical)
        k++;
    return k;
}

static void place_of(const struct diagnosis *d, const struct diag_step *s, char place[DIAG_PLACE])
{
    diag_place(place, d->result.files[s->file].name, s->line);
}

static const struct diag_step *closest(const struct column *c, int phase, double value)
{
    const struct diag_step *best = &c->steps[c->from];
    for (int i = c->from; i < c->n; i++)
        if (fabs(step_value(&c->steps[i], phase) - value) < fabs(step_value(best, phase) - value))
            best = &c->steps[i];
    return best;
}

/* Sums over the run: communication over wall time, hidden communication over it, all communication over compute. */
static void add_communication(const struct column *c, struct diag_source *out)
{
    double comm = 0, compute = 0, hidden = 0;
    for (int i = c->from; i < c->n; i++)
        hidden += c->steps[i].hidden_ms;
    for (int k = 0; k < c->series->nlabels; k++) {
        comm += c->series->labels[k].kind == DIAG_COMMUNICATION ? sum_over(c, k) : 0;
        compute += c->series->labels[k].kind == DIAG_COMPUTE ? sum_over(c, k) : 0;
        out->waiting += !strcmp(c->series->labels[k].name, DIAG_WAIT_SLOWEST) ? sum_over(c, k) / c->wall_ms : 0;
    }
    out->communication_share = fmin(1, comm / c->wall_ms);
    out->hidden_share = fmin(1, hidden / c->wall_ms);
    out->ratio = out->visible && compute > 0 ? (comm + hidden) / compute : -1;
}

/* What the step's timer covers and no phase does. */
static void add_untimed(const struct column *c, struct diag_source *out)
{
    double untimed = 0;
    for (int i = c->from; i < c->n; i++)
        untimed += fmax(0, c->steps[i].total_ms - diag_sum(c->series, &c->steps[i], DIAG_METRIC));
    double share = untimed / c->wall_ms;
    if (share < 0.01 || out->nphases == DIAG_PHASES)
        return;
    struct diag_phase *p = &out->phases[out->nphases++];
    *p =
        (struct diag_phase){.name = "not timed", .kind = DIAG_OTHER, .share = share, .median_ms = share * out->step_ms};
    memcpy(p->place, out->place, sizeof p->place);
}

/* Collectives of training run within its phases unless a timer takes them out. A timer of the weights' way to the
 * inference engine says nothing of them. */
static double may_hold(const struct diag_source *out)
{
    double sum = 0;
    for (int i = 0; i < out->nphases; i++) {
        const struct diag_phase *p = &out->phases[i];
        if (p->kind == DIAG_COMMUNICATION && p->side != DIAG_ROLLOUT)
            return 0;
        sum += diag_may_hold(p) ? p->share : 0;
    }
    return fmin(1, sum);
}

/* The slowest step of the warm-up, and the phase that exceeds its own median most. */
static void add_warm_up(const struct diagnosis *d, const struct column *c, struct diag_source *out)
{
    const struct diag_step *slowest = NULL;
    double most = 0;
    for (int i = 0; i < c->from; i++)
        slowest = !slowest || c->steps[i].total_ms > slowest->total_ms ? &c->steps[i] : slowest;
    if (!slowest)
        return;
    out->first_ms = slowest->total_ms;
    place_of(d, slowest, out->first_place);
    for (int k = 0; k < c->series->nlabels; k++) {
        double excess = slowest->ms[k] - median_of(c, k, c->from, c->n);
        if (c->series->labels[k].kind != DIAG_METRIC && excess > most) {
            most = excess;
            memcpy(out->first_phase, c->series->labels[k].name, sizeof out->first_phase);
        }
    }
}

static void summarise(struct diagnosis *d, enum diag_format f, int run, struct diag_step *steps, double *buffer)
{
    struct diag_series *s = &d->series[f];
    struct diag_source *out = &d->result.sources[d->result.nsources];
    struct column c = {.series = s, .steps = steps, .buffer = buffer};
    memset(out, 0, sizeof *out);
    c.n = diag_merge_run(d, s, run, steps, out);
    if (!c.n)
        return;
    d->result.nsources++;
    c.from = warm_up_steps(&c);
    c.wall_ms = sum_over(&c, -1);
    out->format = s->format;
    out->left_out = c.from;
    out->step_ms = median_of(&c, -1, c.from, c.n);
    out->growth = growth_of(&c, -1);
    place_of(d, closest(&c, -1, out->step_ms), out->place);
    for (int i = 0; i < s->nlabels; i++) {
        struct diag_phase *p = &out->phases[out->nphases++];
        memcpy(p->name, s->labels[i].name, sizeof p->name);
        p->kind = s->labels[i].kind;
        p->side = s->labels[i].side;
        p->guessed = s->labels[i].guessed;
        p->median_ms = median_of(&c, i, c.from, c.n);
        p->share = p->kind == DIAG_METRIC ? 0 : fmin(1, sum_over(&c, i) / c.wall_ms);
        p->period = p->kind == DIAG_METRIC ? 0 : period_of(&c, i);
        p->growth = p->period ? 0 : growth_of(&c, i);
        place_of(d, closest(&c, i, p->median_ms), p->place);
        out->visible |= p->kind == DIAG_COMMUNICATION;
    }
    add_warm_up(d, &c, out);
    add_communication(&c, out);
    add_untimed(&c, out);
    out->may_hold = may_hold(out);
    diag_bound(d, f, out);
}

void diag_summarise(struct diagnosis *d)
{
    double *buffer = malloc(DIAG_STEPS * sizeof *buffer);
    struct diag_step *steps = malloc(DIAG_STEPS * sizeof *steps);
    if (!buffer || !steps)
        abort();
    /* Micro-steps only count where no line says what a whole step took. */
    if (d->series[DIAG_DEEPSPEED].nsteps)
        d->series[DIAG_MICROSTEP].nsteps = 0;
    for (int f = 0; f < DIAG_FORMATS; f++) {
        int runs = d->series[f].nsteps ? diag_runs(d, &d->series[f]) : 0;
        /* The last runs, where there are too many: a job that restarts is judged by its present state. */
        for (int run = runs > 4 ? runs - 4 : 0; run < runs && d->result.nsources < DIAG_SOURCES; run++)
            summarise(d, (enum diag_format)f, run, steps, buffer);
    }
    free(buffer);
    free(steps);
}
