/* Candidates of a kind of calls: the order, the tests, and what they may cost. */
#include "tuner/explore/decide_internal.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_FEW  8   /* of these before anything is tried */
#define STRAGGLERS 32  /* calls behind a trial's end within which the times of its own come */
#define AGAIN      512 /* calls behind a change until it is held against the default; then twice as many, ... */
#define CONNECT_US 5e4 /* for connecting an algorithm, where nobody has seen what that takes */

/* Of a trial: the first tells what would be a disaster, the others have 8, 24 and 48 pairs. */
static const struct explore_plan stages[] = {{.is_trial = 1, .windows = 0, .gap = 1, .block = 1},
                                             {.is_trial = 1, .windows = 3, .gap = 2, .block = 1},
                                             {.is_trial = 1, .windows = 3, .gap = 2, .block = 2},
                                             {.is_trial = 1, .windows = 4, .gap = 2, .block = 2}};
enum { STAGES = sizeof stages / sizeof *stages, RECHECK = 2 };

struct explore_decider *explore_decider_new(double regret)
{
    struct explore_decider *d = calloc(1, sizeof *d);
    if (d)
        d->regret = regret;
    if (d)
        d->connect_us = CONNECT_US;
    return d;
}

void explore_decider_free(struct explore_decider *d)
{
    for (int i = 0; d && i < d->count; i++)
        free(d->topics[i]);
    if (d)
        free(d->hints);
    free(d);
}

static struct topic *topic_of(struct explore_decider *d, int kind)
{
    for (int i = 0; i < d->count; i++)
        if (d->topics[i]->kind == kind)
            return d->topics[i];
    struct topic *t = d->count < EXPLORE_KNOWN ? calloc(1, sizeof *t) : NULL;
    if (!t)
        return NULL;
    t->kind = kind;
    t->hold.cell = t->rule.cell = -1;
    t->running = t->own_cell = -1;
    d->topics[d->count++] = t;
    return t;
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static int by_value(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;
    return (a > b) - (a < b);
}

double explore_median(const float *values, unsigned n)
{
    float sorted[HOLDS];
    n = n < HOLDS ? n : HOLDS;
    if (!n)
        return 0;
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_value);
    return (double)sorted[n / 2];
}

static void keep(float *values, unsigned *n, double us)
{
    values[(*n)++ % HOLDS] = (float)us;
}

static int cell_of(int algo, int proto)
{
    return algo >= 0 && algo < 2 && proto >= 0 && proto < PROTO_COUNT ? algo * PROTO_COUNT + proto : -1;
}

static void hold_sample(struct topic *t, const struct explore_sample *s)
{
    t->last_hold_us = s->us;
    keep(t->holds, &t->nholds, s->us);
    if (t->hold.cell >= 0)
        return;
    keep(t->defaults, &t->ndefaults, s->us);
    t->own_cell = cell_of(s->algo, s->proto);
    t->own_channels = s->channels;
}

/* NCCL may round the number of channels down. */
static int is_as_asked(const struct explore_cell *c, const struct explore_sample *s)
{
    return !explore_is_cell(*c) || (cell_of(s->algo, s->proto) == c->cell &&
                                    (!c->channels || s->channels == c->channels || s->channels == c->channels - 1));
}

/* Now it is known which of the cells that is, under which nobody has to try it once more. */
static void name_library(struct topic *t, const struct explore_sample *s)
{
    for (int i = 1; i < t->ncandidates; i++) {
        struct explore_candidate *c = &t->candidates[i];
        if (c->fate == EXPLORE_UNTRIED && !c->cell.channels && c->cell.cell == cell_of(s->algo, s->proto))
            c->fate = EXPLORE_LOST;
    }
}

static void tried_sample(struct topic *t, const struct explore_sample *s)
{
    if (t->running < 0)
        return;
    struct explore_candidate *c = &t->candidates[t->running];
    t->tried++;
    t->tried_us += s->us;
    if (!is_as_asked(&c->cell, s)) {
        c->unlike++;
        return;
    }
    if (c->cell.cell == EXPLORE_LIBRARY)
        name_library(t, s);
    if (s->arm != EXPLORE_TRIED || !(t->last_hold_us > 0))
        return;
    c->us[c->pairs % EXPLORE_PAIRS] = (float)s->us;
    c->beside_us[c->pairs++ % EXPLORE_PAIRS] = (float)t->last_hold_us;
}

void explore_sampled(struct explore_decider *d, const struct explore_sample *s)
{
    struct topic *t = s->us > 0 ? topic_of(d, s->kind) : NULL;
    if (!t)
        return;
    d->connected |= 1U << s->algo;
    t->widest = s->channels > t->widest ? s->channels : t->widest;
    if (s->arm == EXPLORE_HOLD) {
        hold_sample(t, s);
    } else if (s->arm == EXPLORE_HOLD_FIRST) {
        t->behind++;
        t->behind_us += s->us;
    } else {
        tried_sample(t, s);
    }
}

void explore_stalled(struct explore_decider *d, enum explore_stall why, double us)
{
    if (why == EXPLORE_BEGINNING || (why == EXPLORE_CONNECTED && us > d->connect_us))
        d->connect_us = us;
    if (why != EXPLORE_BEGINNING)
        d->stalled_us += us;
}

/* ---- quotients --------------------------------------------------------------------------------------------------- */

struct interval {
    double low, high;
};

/* Of the median of a candidate's quotients, by order: about 99 of 100 times, of few never narrower than their range. */
static struct interval quotients(const struct explore_candidate *c)
{
    float q[EXPLORE_PAIRS] = {0};
    unsigned n = c->pairs < EXPLORE_PAIRS ? c->pairs : EXPLORE_PAIRS, cut = 0;
    if (!n)
        return (struct interval){0, 1e9};
    for (unsigned i = 0; i < n; i++)
        q[i] = c->us[i] / c->beside_us[i];
    qsort(q, n, sizeof *q, by_value);
    while (2 * (cut + 1) < n && (double)((n - 2 * (cut + 1)) * (n - 2 * (cut + 1))) >= 6.7 * n)
        cut++;
    return (struct interval){(double)q[cut], (double)q[n - 1 - cut]};
}

/* ---- what may be tried ------------------------------------------------------------------------------------------- */

static double hold_us(const struct topic *t)
{
    return explore_median(t->holds, t->nholds);
}

/* The next of a candidate. */
static struct explore_plan trial_of(const struct topic *t, int i)
{
    const struct explore_candidate *c = &t->candidates[i];
    struct explore_plan p = stages[i ? c->stage : RECHECK];
    p.kind = t->kind;
    p.cell = c->cell;
    return p;
}

static int needs_connection(const struct explore_decider *d, const struct explore_candidate *c)
{
    if (!explore_is_cell(c->cell))
        return c->cell.cell == EXPLORE_LIBRARY && !c->pairs; /* whatever it is */
    return !(d->connected >> c->cell.cell / PROTO_COUNT & 1);
}

/* Within the share of the time of calls of its kind, and of all calls. */
static int is_affordable(const struct explore_decider *d, const struct topic *t, int i)
{
    const struct explore_candidate *c = &t->candidates[i];
    struct explore_plan trial = trial_of(t, i);
    double us = c->risk > 1 ? (c->risk - 1) * explore_tried(&trial) * hold_us(t) : 0, calls_us = 0;
    double spent_us = us + d->stalled_us + (needs_connection(d, c) ? d->connect_us : 0);
    for (int k = 0; k < d->count; k++) {
        calls_us += d->topics[k]->calls_us;
        spent_us += d->topics[k]->spent_us;
    }
    return t->spent_us + us <= d->regret * t->calls_us && spent_us <= d->regret * calls_us;
}

/* The first that is open; -1: none. Those that wait for a connection hold nobody else up. */
static int first_open(const struct explore_decider *d, const struct topic *t, int connected)
{
    for (int i = 1; i < t->ncandidates; i++)
        if (t->candidates[i].fate <= EXPLORE_RUNNING && needs_connection(d, &t->candidates[i]) != connected)
            return i;
    return -1;
}

/* What is to be tried next, if it may be; -1: nothing. */
static int next_candidate(const struct explore_decider *d, struct topic *t, const struct explore_seen *seen)
{
    if (!t->is_listed)
        explore_list(d, t, seen);
    if (t->hold.cell >= 0 && seen->calls >= t->again)
        return is_affordable(d, t, 0) ? 0 : -1;
    int connected = first_open(d, t, 1), other = first_open(d, t, 0);
    if (connected < 0) {
        explore_list_channels(t);
        connected = first_open(d, t, 1);
    }
    if (connected < 0) {
        explore_list_chunks(t, seen);
        connected = first_open(d, t, 1);
    }
    if (other >= 0 && (connected < 0 || other < connected) && is_affordable(d, t, other))
        return other;
    return connected >= 0 && is_affordable(d, t, connected) ? connected : -1;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* A time that never came was as dear as those that did, or as was feared. */
static double excess(double sum_us, unsigned n, unsigned expected, double hold, double feared)
{
    double each = n ? sum_us / n - hold : feared;
    unsigned missing = n < expected ? expected - n : 0;
    double all = sum_us - n * hold + missing * (each > 0 ? each : 0);
    return all > 0 ? all : 0;
}

static void lose(struct explore_candidate *c)
{
    c->fate = EXPLORE_LOST;
}

static void judge(struct explore_candidate *c)
{
    struct interval q = quotients(c);
    if (c->unlike || (!c->pairs && c->stage > 1) || c->stage >= STAGES)
        lose(c);
    if (c->pairs >= 8 && q.high < 1 - EXPLORE_MARGIN)
        c->fate = EXPLORE_WON;
    else if (q.low > (c->pairs >= 8 ? 1 - EXPLORE_MARGIN : 3)) /* one call may have bad luck, but not that much */
        lose(c);
    if (c->pairs)
        c->risk = c->pairs < 8 ? q.high * 1.2 : (q.low + q.high) / 2;
}

/* The default is the faster one again, by however little. */
static void judge_default(struct topic *t, struct explore_candidate *c)
{
    struct interval q = quotients(c);
    c->fate = c->pairs >= 8 && q.high < 1 ? EXPLORE_WON : EXPLORE_UNTRIED;
    t->pause *= 2;
    t->again = t->calls + t->pause;
}

static void settle(struct topic *t)
{
    struct explore_candidate *c = &t->candidates[t->running];
    double hold = hold_us(t), feared = hold * (c->risk > 1 ? c->risk - 1 : 0);
    t->spent_us += excess(t->tried_us, t->tried, explore_tried(&t->trial), hold, feared);
    t->spent_us += excess(t->behind_us, t->behind, 0, hold, 0);
    c->stage++;
    if (t->running)
        judge(c);
    else
        judge_default(t, c);
    t->running = -1;
}

static int winner(const struct topic *t)
{
    for (int i = 0; i < t->ncandidates; i++)
        if (t->candidates[i].fate == EXPLORE_WON)
            return i;
    return -1;
}

/* What is to be said of this kind, if anything: a change before a trial. */
static uint32_t propose(struct explore_decider *d, struct topic *t, const struct explore_seen *seen)
{
    t->bytes = seen->bytes;
    t->calls = seen->calls;
    t->calls_us = (double)seen->calls * hold_us(t);
    t->rule = seen->rule;
    if (t->running >= 0 && (seen->trials == t->trials || seen->calls < seen->ended + STRAGGLERS))
        return 0;
    if (t->running >= 0)
        settle(t);
    t->trials = seen->trials;
    int i = winner(t);
    d->asked = t;
    d->asked_candidate = i;
    if (i >= 0)
        return explore_pack(&(struct explore_plan){.kind = t->kind, .cell = t->candidates[i].cell});
    i = t->nholds >= FIRST_FEW ? next_candidate(d, t, seen) : -1;
    if (i < 0)
        return 0;
    struct explore_plan p = trial_of(t, i);
    d->asked_candidate = i;
    return explore_pack(&p);
}

uint32_t explore_next(struct explore_decider *d, explore_look *look, void *arg)
{
    for (int i = 0; i < d->count; i++) {
        struct topic *t = d->topics[d->turn++ % d->count];
        struct explore_seen seen;
        look(arg, t->kind, &seen);
        uint32_t plan = propose(d, t, &seen);
        if (plan)
            return plan;
    }
    return 0;
}

static void begin_trial(struct topic *t, int i, const struct explore_plan *p)
{
    t->running = i;
    t->trial = *p;
    t->tried_us = t->behind_us = t->last_hold_us = 0;
    t->tried = t->behind = 0;
    if (i)
        t->candidates[i].fate = EXPLORE_RUNNING;
    else
        t->candidates[i].pairs = 0;
    t->candidates[i].beside_default = t->hold.cell < 0;
}

/* All that had been tried beside what was is open again only for channels: those are listed anew. */
static void hold(struct topic *t, int i)
{
    struct explore_candidate *c = &t->candidates[i];
    if (!i)
        for (int k = 1; k < t->ncandidates; k++)
            lose(&t->candidates[k]); /* nothing is what it was */
    t->hold = c->cell;
    c->fate = i ? EXPLORE_LOST : EXPLORE_UNTRIED; /* it runs */
    t->nholds = 0;
    t->pause = AGAIN;
    t->again = t->calls + AGAIN;
}

void explore_decided(struct explore_decider *d, uint32_t plan, int committed)
{
    struct explore_plan p;
    struct topic *t = d->asked;
    d->asked = NULL;
    if (!committed || !t || explore_unpack(plan, &p))
        return;
    if (p.is_trial)
        begin_trial(t, d->asked_candidate, &p);
    else
        hold(t, d->asked_candidate);
}

const struct topic *explore_topic(const struct explore_decider *d, int i)
{
    return i < d->count ? d->topics[i] : NULL;
}
