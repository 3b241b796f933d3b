/* A few calls with the usual data and with other data, in turns. */
#include "bench/search/turns.h"

#include <math.h>
#include <string.h>

#include "bench/search/rounds.h"
#include "core/stats.h"

/* How many times slower than the usual a sample may be before it counts as hung, on top of the watchdog's time. */
#define PATIENCE 10.0

/* ---- who takes part ---- */

/* The algorithm with its protocol; what else there is refines it. */
static int same_kind(const struct bench_knobs *x, const struct bench_knobs *y)
{
    int n = x->nsettings < 2 ? x->nsettings : 2, same = n == (y->nsettings < 2 ? y->nsettings : 2);
    for (int i = 0; i < n && same; i++)
        same = !strcmp(x->settings[i].value, y->settings[i].value);
    return n ? same : same && !strcmp(x->label, y->label);
}

static int has_kind(const struct comparison *c, const struct bench_knobs *k)
{
    for (int i = 0; i < c->nlanes; i++)
        if (same_kind(c->lanes[i].knobs, k))
            return 1;
    return 0;
}

static int is_measured(const struct bench_candidate *x)
{
    return x->status <= BENCH_DROPPED && x->time_us.n && !strcmp(x->launch.label, BENCH_DEFAULT);
}

static void add_lane(struct comparison *c, const struct bench_candidate *x)
{
    c->lanes[c->nlanes++] = (struct lane){.knobs = &x->call, .before_us = x->time_us.median};
}

const struct bench_candidate *turns_choice(const struct bench_study *s, const struct bench_point *p)
{
    const struct bench_candidate *best = bench_point_default(p, BENCH_DEFAULT);
    double most = 1 + s->options->margin;
    for (int i = 0; i < p->ncandidates && best; i++) {
        const struct bench_candidate *x = &p->candidates[i];
        if (is_measured(x) && x->status == BENCH_OK && x->promise > most) {
            best = x;
            most = x->promise;
        }
    }
    return best;
}

/* The fastest of a kind that is not there yet; NULL: there is none that could ever win. */
static const struct bench_candidate *next_kind(const struct comparison *c, const struct bench_point *p)
{
    const struct bench_candidate *next = NULL;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *x = &p->candidates[i];
        if (is_measured(x) && strcmp(x->call.label, BENCH_DEFAULT) != 0 && !has_kind(c, &x->call) &&
            x->time_us.median < ROUNDS_HOPELESS * c->lanes[c->chosen].before_us &&
            (!next || x->time_us.median < next->time_us.median))
            next = x;
    }
    return next;
}

void turns_pick(struct comparison *c, const struct bench_point *p)
{
    const struct bench_candidate *choice = turns_choice(c->study, p), *x;
    if (!choice)
        return;
    add_lane(c, bench_point_default(p, BENCH_DEFAULT));
    if (strcmp(choice->call.label, BENCH_DEFAULT) != 0) {
        c->chosen = c->nlanes;
        add_lane(c, choice);
    }
    while ((x = next_kind(c, p)) && c->nlanes < TURNS_LANES)
        add_lane(c, x);
    c->rest_us = x ? x->time_us.median : INFINITY;
}

/* ---- turns ---- */

static void on_sample(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct comparison *c = user;
    c->told = shot;
    if (status == BENCH_OK) {
        c->lanes[shot].us[c->half][c->turns] = us;
    } else if (c->status == BENCH_OK) {
        c->status = status;
        c->failed = shot;
        snprintf(c->why, sizeof c->why, "%s", detail ? detail : "");
    }
}

double turns_sample_us(const struct comparison *c)
{
    double us = 0;
    for (int i = 0; i < c->nlanes; i++)
        us += bench_sample_us(&c->study->engine->measures->sampling, c->lanes[i].before_us);
    return us;
}

/* One sample of each lane, its data checked in the first turn. */
static enum bench_outcome run_half(struct comparison *c, int half)
{
    const struct bench_study *s = c->study;
    struct bench_shot shots[TURNS_LANES];
    for (int i = 0; i < c->nlanes; i++) {
        double us = c->lanes[i].before_us;
        shots[i] =
            (struct bench_shot){.knobs = c->lanes[i].knobs,
                                .iterations = bench_sample_calls(&s->engine->measures->sampling, us),
                                .patience_s = s->options->watchdog_s +
                                              PATIENCE * 1e-6 * bench_sample_us(&s->engine->measures->sampling, us)};
    }
    const struct bench_batch b = {.coll = c->at.coll,
                                  .bytes = c->at.bytes,
                                  .samples = 1,
                                  .check = half && !c->turns,
                                  .shots = shots,
                                  .nshots = c->nlanes,
                                  .shape = {c->at.nodes, c->at.ranks, c->at.others, c->at.load},
                                  .buffers = half ? c->other : BENCH_USUAL};
    char detail[BENCH_DETAIL] = "";
    c->half = half;
    c->told = -1;
    enum bench_outcome outcome = s->engine->measures->measure(c->session, &b, s->stop, on_sample, c, detail);
    if (outcome == BENCH_DIED || outcome == BENCH_SILENT) {
        c->status = outcome == BENCH_DIED ? BENCH_CRASHED : BENCH_HUNG;
        c->failed = (c->told + 1) % c->nlanes;
        snprintf(c->why, sizeof c->why, "%s", detail);
    }
    return outcome;
}

struct bench_interval turns_gain(const struct comparison *c, int lane, int half)
{
    double gains[TURNS_MOST];
    for (int i = 0; i < c->turns; i++)
        gains[i] = c->lanes[c->chosen].us[half][i] / c->lanes[lane].us[half][i];
    return bench_gain_of(gains, c->turns, c->study->options->confidence);
}

struct bench_interval turns_factor(const struct comparison *c, int lane)
{
    double factors[TURNS_MOST];
    for (int i = 0; i < c->turns; i++)
        factors[i] = c->lanes[lane].us[1][i] / c->lanes[lane].us[0][i];
    return bench_gain_of(factors, c->turns, c->study->options->confidence);
}

double turns_over_default(const struct comparison *c, int lane)
{
    double over[TURNS_MOST];
    for (int i = 0; i < c->turns; i++)
        over[i] = c->lanes[lane].us[1][i] / c->lanes[0].us[1][i];
    return stats_median(over, c->turns);
}

/* Whether the lane is better than the choice with the other data: 1, 0, or -1 not yet known. What is so with the usual
 * data as well is nothing that the data does. */
static int is_better(const struct comparison *c, int lane)
{
    struct bench_interval other = turns_gain(c, lane, 1);
    double worth = 1 + c->study->options->margin;
    if (other.n < BENCH_FEWEST)
        return -1;
    if (other.high < worth || turns_gain(c, lane, 0).low >= worth)
        return 0;
    return other.low >= worth ? 1 : -1;
}

/* The lane that is better by most; -1: none is. `*open`: more turns would tell more. */
static int better_lane(const struct comparison *c, int *open)
{
    int better = -1, unknown = 0;
    for (int i = 0; i < c->nlanes; i++) {
        int is = i == c->chosen ? 0 : is_better(c, i);
        unknown |= is < 0;
        if (is > 0 && (better < 0 || turns_gain(c, i, 1).median > turns_gain(c, better, 1).median))
            better = i;
    }
    *open = unknown && better < 0;
    return better;
}

enum bench_outcome turns_run(struct comparison *c)
{
    double began_s = progress_now_s(), turn_s = 0;
    int open = 1, wanted = TURNS_LEAST;
    while (c->turns < TURNS_MOST && open && progress_now_s() + (wanted - c->turns) * turn_s <= c->until_s) {
        enum bench_outcome outcome = BENCH_ANSWERED;
        for (int half = 0; half < 2 && outcome == BENCH_ANSWERED && c->status == BENCH_OK; half++)
            outcome = run_half(c, half);
        if (outcome != BENCH_ANSWERED || c->status != BENCH_OK)
            return outcome;
        c->turns++;
        better_lane(c, &open);
        turn_s = (progress_now_s() - began_s) / c->turns;
        wanted = c->turns < TURNS_LEAST ? TURNS_LEAST : c->turns + 1;
    }
    return BENCH_ANSWERED;
}

int turns_change(const struct comparison *c)
{
    int open, better = better_lane(c, &open);
    double least = INFINITY, worth = 1 + c->study->options->margin;
    for (int i = 0; i < c->nlanes; i++) {
        least = fmin(least, turns_factor(c, i).median);
        if (open && i != c->chosen && is_better(c, i) < 0 && turns_gain(c, i, 1).median >= worth)
            better = i;
    }
    int rest = c->rest_us * least * worth < c->lanes[c->chosen].before_us * turns_factor(c, c->chosen).low;
    return better >= 0 ? better : rest ? c->nlanes : -1;
}
