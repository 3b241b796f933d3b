/* The rounds at one point. */
#include "bench/search/rounds.h"

#include <math.h>
#include <string.h>

#include "core/progress.h"

/* Samples before an interval is believed enough to drop somebody; with five it is the range. */
#define TRUSTED_SAMPLES 5

/* Samples in one round; between rounds somebody may drop out. */
#define ROUND_SAMPLES 3

/* Candidates that have their first sample between two of the default. */
#define BESIDE_EVERY 4

/* The part of a point's time that is kept for the proof, and the fewest pairs that prove anything at 95 %: where they
 * take longer that is on account of the other points, for what is not proven is lost. */
#define PROOF_PART  0.3
#define PROOF_PAIRS 7

/* How many times slower than expected a sample may be before it counts as hung, on top of the watchdog's time. */
#define PATIENCE 10.0

struct listener {
    struct rounds *rounds;
    const int *lanes; /* candidate of each shot */
    int nlanes, next; /* the shot whose sample is to come */
};

static void on_sample(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct listener *l = user;
    struct candidate *x = &l->rounds->candidates[l->lanes[shot]];
    double slowdown = l->rounds->shape.load ? fmax(1, l->rounds->session->slowdown) : 0;
    if (slowdown > 0)
        us = bench_lost_us(us, slowdown);
    if (status != BENCH_OK) {
        x->status = status;
        x->detail = arena_strdup(l->rounds->arena, detail);
    } else if (x->n < ROUNDS_SAMPLES) {
        x->slowdown += (slowdown - x->slowdown) / (x->n + 1);
        x->us[x->n] = us;
        x->beside_us[x->n++] = x == l->rounds->candidates ? us : l->rounds->beside_us;
        if (detail && *detail && !x->detail)
            x->detail = arena_strdup(l->rounds->arena, detail);
    }
    if (status == BENCH_OK && x == l->rounds->candidates)
        l->rounds->beside_us = us;
    /* Whose call has failed is passed over from then on, and cannot be who kills the session. */
    l->next = shot;
    do
        l->next = (l->next + 1) % l->nlanes;
    while (l->next != shot && l->rounds->candidates[l->lanes[l->next]].status != BENCH_OK);
}

/* The default's median. */
static double default_us(const struct rounds *r)
{
    double scratch[ROUNDS_SAMPLES];
    return bench_interval_of(r->candidates[0].us, r->candidates[0].n, scratch).median;
}

/* Of the times over the default's right before them, brought back to times. */
static struct bench_interval interval_of(const struct rounds *r, const struct candidate *x)
{
    double scratch[ROUNDS_SAMPLES], us[ROUNDS_SAMPLES], scale = default_us(r);
    for (int i = 0; i < x->n; i++)
        us[i] = x->beside_us[i] > 0 ? x->us[i] / x->beside_us[i] * scale : x->us[i];
    return bench_interval_of(us, x->n, scratch);
}

static int is_running(const struct candidate *x)
{
    return x->status == BENCH_OK && x->n > 0;
}

/* The lowest median of all that run; n is 0 when nobody does. */
static struct bench_interval best_of(const struct rounds *r)
{
    struct bench_interval best = {0};
    for (int i = 0; i < r->ncandidates; i++) {
        if (!is_running(&r->candidates[i]))
            continue;
        struct bench_interval v = interval_of(r, &r->candidates[i]);
        if (!best.n || v.median < best.median)
            best = v;
    }
    return best;
}

static double expected_us(const struct rounds *r, int i)
{
    if (r->candidates[i].n)
        return interval_of(r, &r->candidates[i]).median;
    return r->candidates[0].n ? ROUNDS_HOPELESS * interval_of(r, &r->candidates[0]).median : r->expect_us;
}

/* The call's own time, where what it costs is a part of that. */
static double call_us(const struct rounds *r, int i)
{
    double us = expected_us(r, i), slowdown = r->candidates[i].slowdown;
    return r->shape.load ? bench_call_us(us, slowdown) : us;
}

/* What a sample takes; under load as much again beforehand, to know how much there is to run beside. */
static double sample_s(const struct rounds *r, int i)
{
    return (r->shape.load ? 2e-6 : 1e-6) * bench_sample_us(&r->engine->sampling, call_us(r, i));
}

static struct bench_shot shot_of(const struct rounds *r, int i)
{
    double us = call_us(r, i), sample_us = bench_sample_us(&r->engine->sampling, us);
    struct bench_shot s = {.knobs = r->candidates[i].knobs, .patience_s = r->watchdog_s + PATIENCE * sample_us * 1e-6};
    if (r->candidates[i].n)
        s.iterations = bench_sample_calls(&r->engine->sampling, us);
    return s;
}

/* `samples` of each of the `n` candidates in `lanes`. */
static enum bench_outcome run_lanes(struct rounds *r, const int *lanes, int n, int samples, int check, char *detail)
{
    struct arena *a = arena_new();
    struct bench_shot *shots = arena_alloc(a, (size_t)n * sizeof *shots);
    for (int i = 0; i < n; i++)
        shots[i] = shot_of(r, lanes[i]);
    struct bench_batch b = {.coll = r->coll,
                            .bytes = r->bytes,
                            .samples = samples,
                            .check = check,
                            .shots = shots,
                            .nshots = n,
                            .shape = r->shape,
                            .buffers = r->buffers};
    struct listener l = {.rounds = r, .lanes = lanes, .nlanes = n};
    enum bench_outcome outcome = r->engine->measure(r->session, &b, r->stop, on_sample, &l, detail);
    r->failed = lanes[l.next];
    arena_free(a);
    return outcome;
}

/* Whether candidate `i` starts in this round. */
static int starts_now(const struct rounds *r, int i)
{
    const struct candidate *x = &r->candidates[i];
    int wanted = !x->refines || (r->refined && !strcmp(x->refines, r->refined));
    return wanted && x->status == BENCH_OK && !x->n;
}

static int is_hopeless(const struct rounds *r, int i)
{
    const struct candidate *x = &r->candidates[i];
    struct bench_interval best = best_of(r);
    return i && is_running(x) && interval_of(r, x).low > (x->refines ? ROUNDS_REFINED : ROUNDS_HOPELESS) * best.median;
}

/* When the proof has to begin. */
static double explore_until(const struct rounds *r)
{
    return r->until_s - PROOF_PART * (r->until_s - r->began_s);
}

/* The first sample of candidate `i`, its data checked. What that takes beside the call (the first use of an algorithm
 * makes connections) is not taken from this point's time. */
static enum bench_outcome first_sample(struct rounds *r, int i, char *detail)
{
    double before_s = progress_now_s();
    enum bench_outcome outcome = run_lanes(r, &i, 1, 1, 1, detail);
    double us = r->candidates[i].n ? r->candidates[i].us[0] : 0;
    double beside_s = progress_now_s() - before_s - 1e-6 * (us + bench_sample_us(&r->engine->sampling, us));
    r->began_s += fmax(0, beside_s);
    r->until_s += fmax(0, beside_s);
    return outcome;
}

/* One sample of everybody, one after another, so that time is not spent on what is already hopeless. */
static enum bench_outcome first_round(struct rounds *r, char *detail)
{
    static const int lone = 0;
    for (int i = 0, since = 0; i < r->ncandidates; i++) {
        if (!starts_now(r, i))
            continue;
        if (i && progress_now_s() >= explore_until(r))
            break;
        enum bench_outcome outcome = BENCH_ANSWERED;
        if (i && ++since % BESIDE_EVERY == 0)
            outcome = run_lanes(r, &lone, 1, 1, 0, detail);
        if (outcome == BENCH_ANSWERED)
            outcome = first_sample(r, i, detail);
        if (outcome == BENCH_ANSWERED && is_hopeless(r, i) && r->candidates[i].us[0] < ROUNDS_SHORT_US)
            outcome = run_lanes(r, (int[]){0, i}, 2, 1, 0, detail);
        if (outcome != BENCH_ANSWERED)
            return outcome;
        if (is_hopeless(r, i))
            r->candidates[i].status = BENCH_DROPPED;
    }
    return BENCH_ANSWERED;
}

static int is_refined(const struct rounds *r, const struct candidate *x)
{
    return r->refined && !strcmp(x->knobs->label, r->refined);
}

/* The time of what is being refined. */
static double refined_us(const struct rounds *r)
{
    for (int i = 1; i < r->ncandidates; i++)
        if (is_refined(r, &r->candidates[i]))
            return interval_of(r, &r->candidates[i]).median;
    return INFINITY;
}

/* What is being refined is not beaten by its own refinements: at other sizes they depend on it. */
static void drop_beaten(struct rounds *r)
{
    struct bench_interval best = best_of(r);
    for (int i = 1; i < r->ncandidates; i++) {
        struct candidate *x = &r->candidates[i];
        if (!is_running(x) || is_refined(r, x))
            continue;
        double low = interval_of(r, x).low; /* the lowest, of few samples */
        int trusted = x->n >= TRUSTED_SAMPLES;
        int beaten = trusted && low > best.high;
        int clearly = x->n > 1 && low > ROUNDS_CLEAR * best.high;
        int pointless = trusted && x->refines && r->refined && low > ROUNDS_PROMISE * refined_us(r);
        if (beaten || clearly || pointless)
            x->status = BENCH_DROPPED;
    }
}

/* Those that still need samples, into `lanes`; their count. */
static int lanes_left(const struct rounds *r, int *lanes, double *round_s)
{
    int n = 1, default_lacks = is_running(&r->candidates[0]) && r->candidates[0].n < r->samples;
    lanes[0] = 0; /* whoever has enough: the others are compared with it */
    *round_s = sample_s(r, 0);
    for (int i = 1; i < r->ncandidates; i++)
        if (is_running(&r->candidates[i]) && r->candidates[i].n < r->samples) {
            lanes[n++] = i;
            *round_s += sample_s(r, i);
        }
    return n > 1 || default_lacks ? n : 0;
}

/* Whether somebody has but one sample: a second one may be enough to leave him behind. */
static int has_newcomer(const struct rounds *r, const int *lanes, int n)
{
    int newcomer = 0;
    for (int i = 0; i < n; i++)
        newcomer |= lanes[i] && r->candidates[lanes[i]].n == 1;
    return newcomer;
}

static enum bench_outcome run_round_of(struct rounds *r, char *detail)
{
    enum bench_outcome outcome = first_round(r, detail);
    int *lanes = arena_alloc(r->arena, (size_t)r->ncandidates * sizeof *lanes), n;
    double round_s;
    while (outcome == BENCH_ANSWERED && (n = lanes_left(r, lanes, &round_s)) > 0) {
        double left_s = explore_until(r) - progress_now_s();
        if (left_s < round_s)
            break;
        int few = left_s < ROUND_SAMPLES * round_s || has_newcomer(r, lanes, n);
        int samples = few ? 1 : ROUND_SAMPLES;
        outcome = run_lanes(r, lanes, n, samples, 0, detail);
        drop_beaten(r);
    }
    return outcome;
}

/* The fastest call that stands on its own and takes more than `after`; -1 none. `*time` is its time over the default's,
 * which stays while all get slower. */
static int next_to_refine(const struct rounds *r, double after, double *time)
{
    int next = -1;
    double best = INFINITY, scale = r->candidates[0].n ? default_us(r) : 1;
    for (int i = 1; i < r->ncandidates; i++) {
        const struct candidate *x = &r->candidates[i];
        if (x->refines || !x->n || x->status > BENCH_DROPPED)
            continue;
        double own = interval_of(r, x).median / scale;
        if (own > after && own < best) {
            best = own;
            next = i;
        }
    }
    *time = best;
    return next;
}

static const struct candidate *winner_of(const struct rounds *r)
{
    const struct candidate *winner = NULL;
    for (int i = 1; i < r->ncandidates; i++)
        if (is_running(&r->candidates[i]) &&
            (!winner || interval_of(r, &r->candidates[i]).median < interval_of(r, winner).median))
            winner = &r->candidates[i];
    return winner;
}

static struct candidate *candidate_of(struct rounds *r, const char *label)
{
    for (int i = 1; i < r->ncandidates && label; i++)
        if (!strcmp(r->candidates[i].knobs->label, label))
            return &r->candidates[i];
    return NULL;
}

/* A call whose refinement has won is not left behind: at other sizes its refinements depend on it. */
static void honour_refined(struct rounds *r)
{
    const struct candidate *winner = winner_of(r);
    struct candidate *x = candidate_of(r, winner ? winner->refines : NULL);
    for (; x; x = candidate_of(r, x->refines))
        if (x->status == BENCH_DROPPED)
            x->status = BENCH_OK;
}

/* The fastest that refines `x`, beaten or not; NULL none. */
static const struct candidate *best_refinement(const struct rounds *r, const struct candidate *x)
{
    const struct candidate *best = NULL;
    for (int i = 1; i < r->ncandidates; i++) {
        const struct candidate *y = &r->candidates[i];
        if (y->refines && !strcmp(y->refines, x->knobs->label) && y->n && y->status <= BENCH_DROPPED &&
            (!best || interval_of(r, y).median < interval_of(r, best).median))
            best = y;
    }
    return best;
}

/* The winner has variations, or what refines it has and is hardly slower. */
static enum bench_outcome run_variations(struct rounds *r, char *detail)
{
    const struct candidate *x = r->vary ? winner_of(r) : NULL;
    int n = x ? r->vary(r->user, r, x->knobs) : 0;
    if (x && !n) {
        double us = interval_of(r, x).median;
        x = best_refinement(r, x);
        n = x && interval_of(r, x).median < ROUNDS_REFINED * us ? r->vary(r->user, r, x->knobs) : 0;
    }
    if (!n)
        return BENCH_ANSWERED;
    r->refined = x->knobs->label;
    return run_round_of(r, detail);
}

/* The gain over the default, from the samples that prove it. */
static struct bench_interval proof_of(const struct rounds *r, const struct candidate *x)
{
    double gains[ROUNDS_SAMPLES];
    for (int i = x->proof; i < x->n; i++)
        gains[i - x->proof] = x->beside_us[i] / x->us[i];
    return bench_gain_of(gains, x->n - x->proof, r->confidence);
}

/* The winner, if it is ahead by as much as a decision asks for, side by side with the default until that is beyond
 * doubt, or wrong. */
static enum bench_outcome prove(struct rounds *r, char *detail)
{
    struct candidate *x = candidate_of(r, winner_of(r) ? winner_of(r)->knobs->label : NULL);
    enum bench_outcome outcome = BENCH_ANSWERED;
    double worth = 1 + r->margin;
    if (!x || !r->candidates[0].n || default_us(r) < worth * interval_of(r, x).median)
        return outcome;
    int lanes[] = {0, (int)(x - r->candidates)};
    double pair_s = sample_s(r, 0) + sample_s(r, lanes[1]);
    x->proof = x->n;
    while (x->n - x->proof + ROUND_SAMPLES <= ROUNDS_SETTLED && x->n + ROUND_SAMPLES <= ROUNDS_SAMPLES &&
           x->status == BENCH_OK) {
        struct bench_interval gain = proof_of(r, x);
        int pairs = gain.n < PROOF_PAIRS ? PROOF_PAIRS - gain.n : ROUND_SAMPLES;
        double until_s = gain.n ? r->until_s : fmax(r->until_s, r->all_until_s);
        if ((gain.n >= BENCH_FEWEST && (gain.low >= worth || gain.high < worth)) ||
            until_s - progress_now_s() < pairs * pair_s)
            break;
        outcome = run_lanes(r, lanes, 2, pairs, 0, detail);
        if (outcome != BENCH_ANSWERED)
            break;
    }
    return outcome;
}

enum bench_outcome rounds_run(struct rounds *r, char detail[BENCH_DETAIL])
{
    r->began_s = progress_now_s();
    enum bench_outcome outcome = run_round_of(r, detail);
    double time = 0, limit = INFINITY;
    for (int i; outcome == BENCH_ANSWERED && (i = next_to_refine(r, time, &time)) >= 0;) {
        if (limit == INFINITY)
            limit = ROUNDS_CLOSE * time;
        if (time > limit)
            break;
        r->refined = r->candidates[i].knobs->label;
        outcome = run_round_of(r, detail);
    }
    if (outcome == BENCH_ANSWERED)
        outcome = run_variations(r, detail);
    honour_refined(r);
    return outcome == BENCH_ANSWERED ? prove(r, detail) : outcome;
}
