/* Steps as they come in, thinned out evenly once there are many: medians and trends in constant memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/stats.h"

/* A leading step this much slower than the median is warm-up: compilation, allocation, first connections. */
#define WARM_UP       1.5
#define WARM_UP_STEPS 10
#define TREND_STEPS   9 /* fewer say nothing about a trend */

/* ---- putting a step together ---- */

void diag_step_open(struct diagnosis *d, enum diag_format f, long number)
{
    struct diag_series *s = &d->series[f];
    diag_step_close(d, f);
    memset(&s->open, 0, sizeof s->open);
    s->open.number = number;
    s->open.line = d->in->line;
    s->open.file = d->result.nfiles - 1;
    s->open.total_ms = -1;
    s->is_open = 1;
    d->progress_s = d->clock_s;
}

/* The label's index; the last place stands for everything that has no place left. */
static int label_of(struct diag_series *s, const struct diag_word *w)
{
    int i = 0;
    while (i < s->nlabels && strcmp(s->labels[i].name, w->phase) != 0)
        i++;
    if (i < s->nlabels)
        return i;
    struct diag_word other = {NULL, "other", DIAG_OTHER, DIAG_NEITHER, NULL, 1};
    if (i == DIAG_PHASES)
        return DIAG_PHASES - 1;
    if (i == DIAG_PHASES - 1)
        w = &other;
    struct diag_label *l = &s->labels[s->nlabels++];
    snprintf(l->name, sizeof l->name, "%s", w->phase);
    snprintf(l->parent, sizeof l->parent, "%s", w->parent ? w->parent : "");
    l->kind = w->kind;
    l->side = w->side;
    l->guessed = w->guessed;
    return i;
}

void diag_step_add(struct diagnosis *d, enum diag_format f, const struct diag_word *w, double ms)
{
    struct diag_series *s = &d->series[f];
    if (!s->is_open || !w->phase)
        return;
    if (w->phase == DIAG_TOTAL)
        s->open.total_ms = ms;
    else
        s->open.ms[label_of(s, w)] += ms;
}

static int find_label(const struct diag_series *s, const char *name, size_t len)
{
    for (int i = 0; i < s->nlabels; i++)
        if (strlen(s->labels[i].name) == len && !strncmp(s->labels[i].name, name, len))
            return i;
    return -1;
}

/* A timer that runs within another one is taken out of it, by what both said. What does not fit the first parent runs
 * within the next: TRL takes log-probabilities while it prepares a batch and within the loss, under one name. */
static void carve_out_children(const struct diag_series *s, struct diag_step *step)
{
    const struct diag_step said = *step;
    for (int i = 0; i < s->nlabels; i++) {
        double left = said.ms[i];
        for (const char *p = s->labels[i].parent; *p && left > 0; p += strspn(p, "|")) {
            size_t n = strcspn(p, "|");
            int k = find_label(s, p, n);
            double taken = k >= 0 ? fmin(left, step->ms[k]) : 0;
            if (taken > 0)
                step->ms[k] -= taken;
            left -= taken;
            p += n;
        }
    }
}

static double sum_of(const struct diag_series *s, const struct diag_step *step)
{
    double sum = 0;
    for (int i = 0; i < s->nlabels; i++)
        if (s->labels[i].kind != DIAG_METRIC)
            sum += step->ms[i];
    return sum;
}

static void keep_step(struct diag_series *s, const struct diag_step *step)
{
    if (!s->steps) {
        s->steps = malloc(DIAG_STEPS * sizeof *s->steps);
        s->stride = 1;
        if (!s->steps)
            abort();
    }
    if (s->seen++ % s->stride)
        return;
    if (s->nsteps == DIAG_STEPS) {
        for (int i = 0; i < DIAG_STEPS / 2; i++)
            s->steps[i] = s->steps[2 * i];
        s->nsteps = DIAG_STEPS / 2;
        s->stride *= 2;
    }
    s->steps[s->nsteps++] = *step;
}

void diag_step_close(struct diagnosis *d, enum diag_format f)
{
    struct diag_series *s = &d->series[f];
    if (!s->is_open)
        return;
    s->is_open = 0;
    carve_out_children(s, &s->open);
    double sum = sum_of(s, &s->open);
    if (s->open.total_ms < 0)
        s->open.total_ms = sum;
    if (s->open.total_ms <= 0)
        return;
    keep_step(s, &s->open);
}

/* ---- from steps to numbers ---- */

/* Phases of the kept steps [from, n) as columns that quantiles can be taken of. */
struct column {
    const struct diag_series *series;
    int from, n;
    double *buffer; /* DIAG_STEPS */
};

static double step_value(const struct diag_step *s, int phase)
{
    return phase < 0 ? s->total_ms : s->ms[phase];
}

/* Median of a phase (-1: of the step) over [from, to). */
static double median_of(const struct column *c, int phase, int from, int to)
{
    for (int i = from; i < to; i++)
        c->buffer[i - from] = step_value(&c->series->steps[i], phase);
    return stats_median(c->buffer, to - from);
}

static double median_share(const struct column *c, int phase)
{
    for (int i = c->from; i < c->n; i++)
        c->buffer[i - c->from] = fmin(1, c->series->steps[i].ms[phase] / c->series->steps[i].total_ms);
    return stats_median(c->buffer, c->n - c->from);
}

static double growth_of(const struct column *c, int phase)
{
    int third = (c->n - c->from) / 3;
    if (c->n - c->from < TREND_STEPS)
        return 0;
    double first = median_of(c, phase, c->from, c->from + third), last = median_of(c, phase, c->n - third, c->n);
    return first > 0 ? last / first - 1 : 0;
}

static int warm_up_steps(const struct column *c, double *slowest, int *where)
{
    double typical = median_of(c, -1, 0, c->n);
    int most = c->n / 3 < WARM_UP_STEPS ? c->n / 3 : WARM_UP_STEPS, k = 0;
    while (k < most && c->series->steps[k].total_ms > WARM_UP * typical) {
        if (c->series->steps[k].total_ms > *slowest) {
            *slowest = c->series->steps[k].total_ms;
            *where = k;
        }
        k++;
    }
    return k;
}

static void place_of(const struct diagnosis *d, const struct diag_step *s, char place[DIAG_PLACE])
{
    diag_place(place, d->result.files[s->file].name, s->line);
}

static const struct diag_step *closest(const struct column *c, int phase, double value)
{
    const struct diag_step *best = &c->series->steps[c->from];
    for (int i = c->from; i < c->n; i++)
        if (fabs(step_value(&c->series->steps[i], phase) - value) < fabs(step_value(best, phase) - value))
            best = &c->series->steps[i];
    return best;
}

/* Per step: communication over the step, hidden communication over the step, all communication over compute. */
static void communication(const struct column *c, struct diag_source *out)
{
    static const int share = 0, hidden = 1, ratio = 2;
    double result[3] = {0};
    for (int what = share; what <= ratio; what++) {
        int n = 0;
        for (int i = c->from; i < c->n; i++) {
            const struct diag_step *s = &c->series->steps[i];
            double comm = 0, compute = 0;
            for (int k = 0; k < c->series->nlabels; k++) {
                comm += c->series->labels[k].kind == DIAG_COMMUNICATION ? s->ms[k] : 0;
                compute += c->series->labels[k].kind == DIAG_COMPUTE ? s->ms[k] : 0;
            }
            if (what == ratio && compute <= 0)
                continue;
            c->buffer[n++] = what == share    ? fmin(1, comm / s->total_ms)
                             : what == hidden ? fmin(1, s->hidden_ms / s->total_ms)
                                              : (comm + s->hidden_ms) / compute;
        }
        result[what] = n ? stats_median(c->buffer, n) : -1;
    }
    out->communication_share = result[share];
    out->hidden_share = result[hidden];
    out->ratio = out->visible ? result[ratio] : -1;
}

/* What the step's timer covers and no phase does. */
static void add_untimed(const struct column *c, struct diag_source *out)
{
    for (int i = c->from; i < c->n; i++) {
        const struct diag_step *s = &c->series->steps[i];
        c->buffer[i - c->from] = fmax(0, 1 - sum_of(c->series, s) / s->total_ms);
    }
    double share = stats_median(c->buffer, c->n - c->from);
    if (share < 0.01 || out->nphases == DIAG_PHASES)
        return;
    struct diag_phase *p = &out->phases[out->nphases++];
    *p =
        (struct diag_phase){.name = "not timed", .kind = DIAG_OTHER, .share = share, .median_ms = share * out->step_ms};
    memcpy(p->place, out->place, sizeof p->place);
}

int diag_may_hold(const struct diag_phase *p)
{
    return p->kind == DIAG_COMPUTE ? p->side == DIAG_TRAIN
                                   : p->kind == DIAG_OTHER && (p->guessed || !strcmp(p->name, "not timed"));
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

static void summarise(const struct diagnosis *d, const struct diag_series *s, double *buffer, struct diag_source *out)
{
    struct column c = {s, 0, s->nsteps, buffer};
    int slowest = 0;
    c.from = warm_up_steps(&c, &out->first_ms, &slowest);
    out->format = s->format;
    out->steps = s->seen;
    out->left_out = c.from;
    if (c.from)
        place_of(d, &s->steps[slowest], out->first_place);
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
        p->share = p->kind == DIAG_METRIC ? 0 : median_share(&c, i);
        p->growth = growth_of(&c, i);
        place_of(d, closest(&c, i, p->median_ms), p->place);
        out->visible |= p->kind == DIAG_COMMUNICATION;
    }
    communication(&c, out);
    add_untimed(&c, out);
    out->may_hold = may_hold(out);
}

void diag_summarise(struct diagnosis *d)
{
    struct diag_result *r = &d->result;
    double *buffer = malloc(DIAG_STEPS * sizeof *buffer);
    if (!buffer)
        abort();
    /* Micro-steps only count where no line says what a whole step took. */
    if (d->series[DIAG_DEEPSPEED].nsteps)
        d->series[DIAG_MICROSTEP].nsteps = 0;
    for (int f = 0; f < DIAG_FORMATS; f++)
        if (d->series[f].nsteps)
            summarise(d, &d->series[f], buffer, &r->sources[r->nsources++]);
    free(buffer);
}
