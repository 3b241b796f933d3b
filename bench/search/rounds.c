/* Exploring and proving at one point. */
#include "bench/search/rounds.h"

#include <math.h>
#include <string.h>

#include "core/hash.h"
#include "core/progress.h"

/* Who is refined: all within this factor of the best call that stands on its own. */
#define CLOSE 1.6

/* Turns between two halvings, as a median needs three; and as many candidates are left at least: those that will
 * contend, and one more. */
#define HEAT_SAMPLES 3
#define HEAT_LEAST   4

/* Candidates that have their first sample between two of the default: as in the last turns. */
#define BESIDE_EVERY HEAT_LEAST

/* How many times slower than expected a sample may be before it counts as hung, on top of the watchdog's time. */
#define PATIENCE 10.0

/* Default and candidate in each order once, behind a sample that only stands before them. */
#define QUINTET 5

/* Samples that count for nothing where a call has not run in this session, with a quarter of the calls: first uses take
 * longer, some a while. */
#define COLD_SAMPLES 8
#define COLD_SHORTER 4.0
#define COLD_S       0.25 /* at most */

/* So many times as long are samples where a clock cuts them off. */
#define COARSE 3

struct listener {
    struct rounds *rounds;
    const int *lanes; /* candidate of each shot */
    int nlanes, next; /* the shot whose sample is to come */
    double *told;     /* of each shot, in place of the candidates' own samples; NULL */
};

static void take_sample(struct rounds *r, struct candidate *x, double us)
{
    if (x->n < ROUNDS_SAMPLES) {
        x->us[x->n] = us;
        x->beside_us[x->n++] = x == r->candidates ? us : r->beside_us;
    }
    if (x == r->candidates)
        r->beside_us = us;
}

static void on_sample(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct listener *l = user;
    struct rounds *r = l->rounds;
    struct candidate *x = &r->candidates[l->lanes[shot]];
    if (detail && *detail && !x->detail)
        x->detail = arena_strdup(r->arena, detail);
    if (status != BENCH_OK)
        x->status = status;
    else if (l->told)
        l->told[shot] = us;
    else
        take_sample(r, x, us);
    /* Whose call has failed is passed over from then on, and cannot be who kills the session. */
    l->next = shot;
    do
        l->next = (l->next + 1) % l->nlanes;
    while (l->next != shot && r->candidates[l->lanes[l->next]].status != BENCH_OK);
}

/* ---- what is known ---- */

static int is_running(const struct candidate *x)
{
    return x->status == BENCH_OK && x->n > 0 && !x->out;
}

static double default_us(const struct rounds *r)
{
    double scratch[ROUNDS_SAMPLES];
    return bench_interval_of(r->candidates[0].us, r->candidates[0].n, scratch).median;
}

double rounds_over_default(const struct candidate *x)
{
    double over[ROUNDS_SAMPLES], scratch[ROUNDS_SAMPLES], own = 0, beside = 0;
    int n = 0;
    for (int i = 0; i < x->n; i++)
        if (x->beside_us[i] > 0) {
            over[n++] = x->us[i] / x->beside_us[i];
            own += x->us[i];
            beside += x->beside_us[i];
        }
    int is_coarse = n > 2 && 2 * bench_count_equal(x->us, x->n, scratch) > x->n;
    return is_coarse ? own / beside : bench_interval_of(over, n, scratch).median;
}

/* That, brought back to a time. */
static double time_of(const struct rounds *r, const struct candidate *x)
{
    double over = rounds_over_default(x), scratch[ROUNDS_SAMPLES];
    return over > 0 ? over * default_us(r) : bench_interval_of(x->us, x->n, scratch).median;
}

/* The least time of all that were measured; 0: nothing was. */
static double best_us(const struct rounds *r)
{
    double best = 0;
    for (int i = 0; i < r->ncandidates; i++) {
        const struct candidate *x = &r->candidates[i];
        double us = x->n && x->status == BENCH_OK ? time_of(r, x) : 0;
        best = us > 0 && (best == 0 || us < best) ? us : best;
    }
    return best;
}

static double expected_us(const struct rounds *r, int i)
{
    if (r->candidates[i].n)
        return time_of(r, &r->candidates[i]);
    return r->candidates[0].n ? ROUNDS_HOPELESS * default_us(r) : r->expect_us;
}

static double sample_s(const struct rounds *r, int i)
{
    return 1e-6 * bench_sample_us(&r->engine->sampling, expected_us(r, i));
}

/* ---- batches ---- */

/* `samples` of each of the `n` candidates in `lanes`, all with as many calls as `calls` (0: each with its own). */
static enum bench_outcome run_batch(struct listener *l, int samples, int check, int calls, char *detail)
{
    struct rounds *r = l->rounds;
    struct arena *a = arena_new();
    struct bench_shot *shots = arena_alloc(a, (size_t)l->nlanes * sizeof *shots);
    for (int i = 0; i < l->nlanes; i++) {
        const struct candidate *x = &r->candidates[l->lanes[i]];
        double us = expected_us(r, l->lanes[i]), sample_us = bench_sample_us(&r->engine->sampling, us);
        int own = x->n ? bench_sample_calls(&r->engine->sampling, us) : 0;
        shots[i] = (struct bench_shot){.knobs = x->knobs,
                                       .iterations = calls ? calls : own,
                                       .patience_s = r->watchdog_s + PATIENCE * sample_us * 1e-6};
    }
    struct bench_batch b = {.coll = r->at.coll,
                            .bytes = r->at.bytes,
                            .samples = samples,
                            .check = check,
                            .shots = shots,
                            .nshots = l->nlanes,
                            .shape = {r->at.nodes, r->at.ranks, r->at.others},
                            .buffers = r->at.buffers};
    enum bench_outcome outcome = r->engine->measure(r->session, &b, r->stop, on_sample, l, detail);
    r->failed = l->lanes[l->next];
    arena_free(a);
    return outcome;
}

static enum bench_outcome run_lanes(struct rounds *r, const int *lanes, int n, int samples, char *detail)
{
    return run_batch(&(struct listener){r, lanes, n, 0, NULL}, samples, 0, 0, detail);
}

/* The first sample of candidate `i`, its data checked. What that takes beside the call (the first use of an algorithm
 * makes connections) is not taken from this point's time. */
static enum bench_outcome first_sample(struct rounds *r, int i, char *detail)
{
    double before_s = progress_now_s();
    enum bench_outcome outcome = run_batch(&(struct listener){r, &i, 1, 0, NULL}, 1, 1, 0, detail);
    double us = r->candidates[i].n ? r->candidates[i].us[0] : 0;
    r->until_s += fmax(0, progress_now_s() - before_s - 1e-6 * (us + bench_sample_us(&r->engine->sampling, us)));
    r->until_s = r->deadline_s > 0 ? fmin(r->until_s, r->deadline_s) : r->until_s;
    return outcome;
}

/* ---- exploring ---- */

static int is_hopeless(const struct rounds *r, int i)
{
    const struct candidate *x = &r->candidates[i];
    return i && is_running(x) && time_of(r, x) > ROUNDS_HOPELESS * best_us(r);
}

/* Whether candidate `i` has yet to run, and may: it stands on its own, or refines one that takes no more than that. */
static int joins_now(const struct rounds *r, int i, double limit_us)
{
    const struct candidate *x = &r->candidates[i];
    if (x->n || x->status != BENCH_OK || !x->refines)
        return !x->n && x->status == BENCH_OK;
    for (int k = 1; k < r->ncandidates; k++) {
        const struct candidate *base = &r->candidates[k];
        if (base->n && base->status == BENCH_OK && !strcmp(base->knobs->label, x->refines))
            return time_of(r, base) <= limit_us;
    }
    return 0;
}

/* One sample of everybody who joins, one after another, so that time is not spent on what is already hopeless. */
static enum bench_outcome take_first_turn(struct rounds *r, const int *joining, int n, char *detail)
{
    static const int lone = 0;
    for (int k = 0; k < n; k++) {
        int i = joining[k];
        enum bench_outcome outcome = BENCH_ANSWERED;
        if (i && progress_now_s() >= r->until_s)
            break;
        if (k && k % BESIDE_EVERY == 0)
            outcome = run_lanes(r, &lone, 1, 1, detail);
        if (outcome == BENCH_ANSWERED)
            outcome = first_sample(r, i, detail);
        if (outcome == BENCH_ANSWERED && is_hopeless(r, i) && r->candidates[i].us[0] < ROUNDS_SHORT_US)
            outcome = run_lanes(r, (int[]){0, i}, 2, 1, detail);
        if (outcome != BENCH_ANSWERED)
            return outcome;
        r->candidates[i].out = is_hopeless(r, i);
    }
    return BENCH_ANSWERED;
}

/* Those that go on: the default, and behind it the better half of the others, the fastest first. */
static int halve(struct rounds *r, int *lanes)
{
    int n = 1;
    lanes[0] = 0;
    for (int i = 1; i < r->ncandidates; i++) {
        if (!is_running(&r->candidates[i]))
            continue;
        int k = n++;
        for (; k > 1 && time_of(r, &r->candidates[lanes[k - 1]]) > time_of(r, &r->candidates[i]); k--)
            lanes[k] = lanes[k - 1];
        lanes[k] = i;
    }
    int keep = 1 + (n > 2 * HEAT_LEAST ? n / 2 : HEAT_LEAST);
    for (int i = keep; i < n; i++)
        r->candidates[lanes[i]].out = 1;
    return n < keep ? n : keep;
}

/* Those who may join now, and turns until everybody who goes on has enough samples, or the time is over. `*joined` says
 * how many came. */
static enum bench_outcome run_heat(struct rounds *r, int *joined, char *detail)
{
    int *lanes = arena_alloc(r->arena, (size_t)r->ncandidates * sizeof *lanes);
    double limit_us = CLOSE * best_us(r);
    int joining = 0;
    for (int i = 0; i < r->ncandidates; i++)
        if (joins_now(r, i, limit_us))
            lanes[joining++] = i;
    enum bench_outcome outcome = take_first_turn(r, lanes, joining, detail);
    *joined = 0;
    for (int k = 0; k < joining; k++)
        *joined += r->candidates[lanes[k]].n > 0;
    while (*joined && outcome == BENCH_ANSWERED && is_running(&r->candidates[0])) {
        int n = halve(r, lanes), lack = 1, least = r->candidates[0].n;
        double turn_s = sample_s(r, 0);
        for (int i = 1; i < n; i++) {
            if (r->candidates[lanes[i]].n >= r->samples)
                continue;
            least = r->candidates[lanes[i]].n < least ? r->candidates[lanes[i]].n : least;
            turn_s += sample_s(r, lanes[i]);
            lanes[lack++] = lanes[i];
        }
        double turns = (r->until_s - progress_now_s()) / turn_s;
        if ((lack == 1 && r->candidates[0].n >= r->samples) || turns < 1)
            break;
        outcome = run_lanes(r, lanes, lack, turns < HEAT_SAMPLES || least == 1 ? 1 : HEAT_SAMPLES, detail);
    }
    return outcome;
}

static const struct candidate *winner_of(const struct rounds *r)
{
    const struct candidate *winner = NULL;
    for (int i = 1; i < r->ncandidates; i++) {
        const struct candidate *x = &r->candidates[i];
        if (is_running(x) && (!winner || time_of(r, x) < time_of(r, winner)))
            winner = x;
    }
    return winner;
}

enum bench_outcome rounds_explore(struct rounds *r, char detail[BENCH_DETAIL])
{
    int joined = 1, varied = 0;
    enum bench_outcome outcome = BENCH_ANSWERED;
    while (outcome == BENCH_ANSWERED && joined) {
        outcome = run_heat(r, &joined, detail);
        const struct candidate *winner = r->vary && !joined && !varied++ ? winner_of(r) : NULL;
        if (winner && outcome == BENCH_ANSWERED)
            joined = r->vary(r->user, r, winner->knobs);
    }
    return outcome;
}

/* ---- proving ---- */

/* Two pairs of candidate `i` with the default, of so many calls a sample, which is once before it and once behind it. A
 * call may slow who comes next: both of a pair come behind the same. As many calls in each sample: a coarse clock cuts
 * them off alike. */
static enum bench_outcome take_pairs(struct rounds *r, int i, int calls, char *detail)
{
    r->seed = hash_add(r->seed, (uint64_t)i);
    int first = r->seed >> 17 & 1 ? i : 0, second = i - first;
    const int lanes[QUINTET] = {first, first, second, second, first};
    double told[QUINTET] = {0};
    enum bench_outcome outcome = run_batch(&(struct listener){r, lanes, QUINTET, 0, told}, 1, 0, calls, detail);
    for (int k = 1; k < QUINTET && outcome == BENCH_ANSWERED; k += 2) {
        int own = lanes[k] == i ? k : k + 1, beside = 2 * k + 1 - own;
        if (!(told[own] > 0) || !(told[beside] > 0))
            continue;
        take_sample(r, &r->candidates[0], told[beside]);
        take_sample(r, &r->candidates[i], told[own]);
    }
    return outcome;
}

/* Samples of everybody that count for nothing, the first of them checked, the others short. */
static enum bench_outcome warm_up(struct rounds *r, double *warm, char *detail)
{
    enum bench_outcome outcome = BENCH_ANSWERED;
    for (int i = 0; i < r->ncandidates && outcome == BENCH_ANSWERED; i++) {
        outcome = run_batch(&(struct listener){r, &i, 1, 0, warm + i}, 1, 1, 0, detail);
        if (outcome != BENCH_ANSWERED || !r->candidates[i].cold || r->candidates[i].status != BENCH_OK)
            continue;
        int calls = (int)ceil(bench_sample_calls(&r->engine->sampling, warm[i]) / COLD_SHORTER);
        int samples = (int)fmin(COLD_SAMPLES, COLD_S * 1e6 / (calls * warm[i]));
        if (samples > 0)
            outcome = run_batch(&(struct listener){r, &i, 1, 0, warm + i}, samples, 0, calls, detail);
    }
    return outcome;
}

/* Drop what a coarse clock has cut off, which shows by equal times; return whether it was. */
static int drop_coarse(struct rounds *r)
{
    double scratch[ROUNDS_SAMPLES];
    int samples = 0, equal = 0;
    for (int i = 0; i < r->ncandidates; i++) {
        samples += r->candidates[i].n;
        equal += bench_count_equal(r->candidates[i].us, r->candidates[i].n, scratch);
    }
    for (int i = 0; i < r->ncandidates && 3 * equal > samples; i++)
        r->candidates[i].n = 0;
    return 3 * equal > samples;
}

enum bench_outcome rounds_prove(struct rounds *r, char detail[BENCH_DETAIL])
{
    double *warm = arena_alloc(r->arena, (size_t)r->ncandidates * sizeof *warm);
    enum bench_outcome outcome = warm_up(r, warm, detail);
    for (int pairs = 0, longer = 1; pairs < r->samples && outcome == BENCH_ANSWERED; pairs += 2) {
        if (pairs == 2 && longer == 1 && drop_coarse(r)) {
            pairs = 0;
            longer = COARSE;
        }
        if (pairs && progress_now_s() >= r->until_s)
            break;
        r->seed = hash_add(r->seed, (uint64_t)pairs);
        int turn = (int)(r->seed >> 20 & 0xff);
        for (int k = 1; k < r->ncandidates && outcome == BENCH_ANSWERED; k++) {
            int i = 1 + (k + turn) % (r->ncandidates - 1);
            if (r->candidates[i].status == BENCH_OK && r->candidates[0].status == BENCH_OK)
                outcome =
                    take_pairs(r, i, longer * bench_sample_calls(&r->engine->sampling, fmin(warm[0], warm[i])), detail);
        }
    }
    return outcome;
}
