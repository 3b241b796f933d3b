/* Which launches are run when.
 *
 * The untouched launch comes first, with all its calls, so that there is a table early on. What its start has taken
 * says how many launches the time is for: some are screened, each by a short session of its own; the best of them and
 * the default then take turns, session by session, because only sessions tell launches apart; and the launch that has
 * won gets the rest of the time for its calls. Where the time is not enough for that, all of it goes to the calls of
 * the untouched launch. */
#include "bench/search/conduct.h"

#include <math.h>
#include <string.h>

#include "bench/results/sessions.h"
#include "bench/search/budget.h"
#include "bench/search/screening.h"
#include "bench/search/session.h"
#include "bench/search/sizes.h"
#include "bench/search/variants.h"
#include "core/coll.h"
#include "core/units.h"

/* Pairs of sessions in all. */
#define ALL_PAIRS (8 * BUDGET_PAIRS)

/* Sessions with all calls, each a fresh start unless that is dear: so many in any case, and up to so many while
 * something is undecided. */
#define ROUNDS      3
#define MOST_ROUNDS 8

#define CALLS_ROUND (BENCH_PAIRS_ROUND + ALL_PAIRS)

static double session_s(const struct bench_study *s)
{
    return s->start_s + s->visit_s;
}

static double left_s(const struct bench_study *s)
{
    return fmax(0, s->deadline_s - progress_now_s());
}

/* The gains of calls that are proven within the default launch, over all points. */
static double found_so_far(const struct bench_study *s)
{
    struct arena *a = arena_new();
    const struct bench_points *p = bench_points_of(s->results, a);
    double sum = 0;
    for (int i = 0; i < p->count; i++) {
        double gain = 1;
        for (int k = 0; k < p->items[i].ncandidates; k++) {
            const struct bench_candidate *c = &p->items[i].candidates[k];
            if (!strcmp(c->launch.label, BENCH_DEFAULT) && c->paired.low >= 1 + s->options->margin)
                gain = fmax(gain, c->paired.median);
        }
        sum += log(gain) / p->count;
    }
    arena_free(a);
    return exp(sum);
}

static int run_session(struct bench_study *s, const struct search_session *v, struct err *e)
{
    int is_default = v->launch == &s->plan.launches[0];
    int rc = is_default || !history_dead(s->results, v->launch->label) ? search_session_run(s, v, e) : 0;
    if (v->full)
        s->found = found_so_far(s);
    return rc;
}

/* ---- launches against the default ---- */

/* The gain of a launch over another, default call by default call. */
static struct bench_interval gain_over(const struct bench_study *s, const struct bench_knobs *other,
                                       const struct bench_knobs *launch, int rivals)
{
    struct arena *a = arena_new();
    struct bench_points *p = bench_points_of(s->results, a);
    const struct bench_candidate **from = arena_alloc(a, (size_t)p->count * sizeof(struct bench_candidate *));
    const struct bench_candidate **to = arena_alloc(a, (size_t)p->count * sizeof(struct bench_candidate *));
    for (int i = 0; i < p->count; i++) {
        from[i] = bench_point_default(&p->items[i], other->label);
        to[i] = bench_point_default(&p->items[i], launch->label);
    }
    struct bench_interval gain =
        bench_sessions_gain(from, to, NULL, p->count, bench_confidence_among(s->options->confidence, rivals));
    arena_free(a);
    return gain;
}

/* One session of each, forth in one round and back in the next, so that what drifts meets all alike. */
static int run_round(struct bench_study *s, const struct screening *f, int round, int full, struct err *e)
{
    int rc = 0;
    for (int i = 0; i < f->count && !rc && !bench_stopped(s); i++) {
        int k = round % 2 ? f->count - 1 - i : i;
        struct search_session v = {.launch = f->items[k].launch,
                                   .round = round,
                                   .full = full,
                                   .least_s = s->want_visit_s,
                                   .part = full ? 1.0 / (f->count * ROUNDS) : 0.3};
        rc = run_session(s, &v, e);
    }
    return rc;
}

/* Leaves out those of which nothing can come any more. */
static void drop_futile(const struct bench_study *s, struct screening *f)
{
    int kept = 1;
    for (int i = 1; i < f->count; i++) {
        struct bench_interval gain = gain_over(s, f->items[0].launch, f->items[i].launch, BUDGET_MOST_PAIRS);
        int known = gain.n >= BENCH_FEWEST_SESSIONS;
        int behind = gain.n >= 2 * BENCH_FEWEST_SESSIONS && gain.median <= 1;
        if (!known || (!behind && gain.high >= 1 + s->options->margin))
            f->items[kept++] = f->items[i];
    }
    f->count = kept;
}

/* Whether `x` is to be preferred, as decisions do: what departs further has to be worth the margin. */
static int is_better(const struct bench_study *s, const struct bench_knobs *x, const struct bench_knobs *other)
{
    double worth = 1 + s->options->margin;
    int more = bench_departs_more(x, other);
    if (more)
        return more > 0 ? gain_over(s, other, x, 1).low >= worth : gain_over(s, x, other, 1).low < worth;
    return gain_over(s, other, x, 1).median > 1;
}

/* The best of those that have beaten the default; the default when there is none. */
static const struct bench_knobs *winner_of(const struct bench_study *s, const struct screening *f, int rivals)
{
    const struct bench_knobs *winner = f->items[0].launch;
    for (int i = 1; i < f->count; i++) {
        struct bench_interval gain = gain_over(s, f->items[0].launch, f->items[i].launch, rivals);
        log_info(s->log, "launch %s: %.2f times as fast as the default (%.2f to %.2f, %d pairs of sessions)",
                 f->items[i].launch->label, gain.median, gain.low, gain.high, gain.n);
        if (gain.n >= BENCH_FEWEST_SESSIONS && gain.low >= 1 + s->options->margin &&
            (winner == f->items[0].launch || is_better(s, f->items[i].launch, winner)))
            winner = f->items[i].launch;
    }
    return winner;
}

/* For how many more rounds of sessions with these launches there is time before `until_s`. */
static int count_rounds(const struct bench_study *s, const struct screening *f, double until_s)
{
    return (int)fmin((until_s - progress_now_s()) / session_s(s) / f->count, BUDGET_MOST_PAIRS);
}

/* Whether there is one left, and it has beaten the default whenever one might have looked: over six pairs, or fewer
 * where its calls need the time. */
static int is_settled(const struct bench_study *s, const struct screening *f, int rivals)
{
    if (f->count != 2)
        return 0;
    struct bench_interval gain = gain_over(s, f->items[0].launch, f->items[1].launch, rivals * BUDGET_MOST_PAIRS);
    int enough = gain.n >= 2 * BENCH_FEWEST_SESSIONS || left_s(s) < s->calls_s + 2 * session_s(s);
    return enough && gain.low >= 1 + s->options->margin;
}

/* Compares those in `f` with the default, which is the first, in rounds from `*round` on. What a round takes is known
 * better after the first one, and fewer than tell something are not begun; who leaves, leaves his time to the others.
 */
static int compare(struct bench_study *s, struct screening *f, double until_s, int rivals, int *round, struct err *e)
{
    int first = *round, rc = 0;
    while (f->count > 1 && !rc && !bench_stopped(s) && *round - first < BUDGET_MOST_PAIRS &&
           (*round - first < BENCH_FEWEST_SESSIONS || (count_rounds(s, f, until_s) > 0 && !is_settled(s, f, rivals)))) {
        rc = run_round(s, f, (*round)++, 0, e);
        drop_futile(s, f);
    }
    return rc;
}

/* Two at a time, the best first, until one is found or the time is over. */
static int compare_launches(struct bench_study *s, const struct screening *f, const struct bench_knobs **winner,
                            struct err *e)
{
    double until_s = s->deadline_s - budget_kept_s(left_s(s), s->calls_s);
    int rc = 0, round = BENCH_PAIRS_ROUND;
    *winner = f->items[0].launch;
    for (int next = 1, taken; next < f->count && *winner == f->items[0].launch && !rc && !bench_stopped(s);
         next += taken) {
        struct screening_launch items[1 + BUDGET_FINALISTS] = {f->items[0]};
        struct screening few = {items, 1};
        while (few.count <= BUDGET_FINALISTS && next + few.count <= f->count) {
            items[few.count] = f->items[next + few.count - 1];
            few.count++;
        }
        while (few.count > 2 && count_rounds(s, &few, until_s) < 2 * BENCH_FEWEST_SESSIONS)
            few.count--;
        if (count_rounds(s, &few, until_s) < BENCH_FEWEST_SESSIONS || round + BUDGET_MOST_PAIRS > CALLS_ROUND) {
            log_info(s->log, "%d launches could not be told from the default in time: a start takes %.1f s",
                     f->count - next, s->start_s);
            break;
        }
        taken = few.count - 1;
        rc = compare(s, &few, until_s, next + taken - 1, &round, e);
        *winner = winner_of(s, &few, next + taken - 1);
    }
    return rc;
}

/* ---- calls ---- */

/* Whether some call of the launch may be worth a setting, and has not proven it. */
static int is_undecided(const struct bench_study *s, const struct bench_knobs *launch)
{
    struct arena *a = arena_new();
    struct bench_points *p = bench_points_of(s->results, a);
    double worth = 1 + s->options->margin;
    int undecided = 0;
    for (int i = 0; i < p->count; i++)
        for (int k = 0; k < p->items[i].ncandidates; k++) {
            const struct bench_candidate *c = &p->items[i].candidates[k];
            undecided |= !strcmp(c->launch.label, launch->label) && c->status == BENCH_OK && c->paired.n &&
                         c->paired.median >= worth && c->paired.low < worth;
        }
    arena_free(a);
    return undecided;
}

/* Sizes between others where the best call changes; the untouched launch is measured there, too, in a round of its own:
 * with a session in which all calls are measured it makes no pair. */
static int add_sizes(struct bench_study *s, const struct bench_knobs *launch, int round, struct err *e)
{
    struct search_session untouched = {.launch = &s->plan.launches[0], .round = round + MOST_ROUNDS, .part = 0.3};
    int added = sizes_add(s);
    if (added > 0)
        log_info(s->log, "%d sizes more, where the best call changes", added);
    return added > 0 && launch != untouched.launch ? run_session(s, &untouched, e) : 0;
}

static int examine_calls(struct bench_study *s, const struct bench_knobs *launch, int round, struct err *e)
{
    int rc = 0;
    for (int k = 0; k < MOST_ROUNDS && !rc && !bench_stopped(s); k++) {
        /* what the first session could do this one can, though nothing be left for others */
        double part = fmax(k < ROUNDS ? 1.0 / (ROUNDS - k) : 1, fmin(1, s->calls_s / fmax(left_s(s), 1e-3)));
        struct search_session v = {
            .launch = launch, .round = round + k, .full = 1, .part = part, .spare = 1, .keep = 1};
        int first = !k && round == BENCH_FIRST_ROUND;
        if ((!first && left_s(s) < (s->kept ? s->visit_s : session_s(s))) || (k >= ROUNDS && !is_undecided(s, launch)))
            break;
        if (k == 1 && (launch == &s->plan.launches[0] || left_s(s) >= 2 * session_s(s)))
            rc = add_sizes(s, launch, round + k, e);
        if (!rc)
            rc = run_session(s, &v, e);
    }
    search_session_end(s);
    return rc;
}

/* ---- all of it ---- */

/* What the library does untouched is what everything is compared with. Where that fails, the site has something to
 * repair first: nothing is decided. */
static int check_default(const struct bench_study *s, struct err *e)
{
    for (int i = 0; i < s->results->count; i++) {
        const struct bench_result *x = &s->results->items[i];
        const struct history_place at = history_place_of(x);
        char size[UNIT_TEXT];
        int failed = x->status == BENCH_WRONG || x->status == BENCH_CRASHED || x->status == BENCH_HUNG;
        if (failed && !strcmp(x->launch.label, BENCH_DEFAULT) && !strcmp(x->call.label, BENCH_DEFAULT) &&
            !strcmp(x->engine, s->engine->name) && !(history_time_us(s->results, &at, BENCH_DEFAULT) > 0))
            return err_set(e, ERR_FAILED,
                           "%s itself fails, untouched, at %s of %s (%s: %s): there is nothing to compare with",
                           s->plan.library, coll_name(x->coll), unit_bytes(size, x->bytes),
                           bench_status_name(x->status), x->detail ? x->detail : "no reason known");
    }
    return 0;
}

/* Launches that are all to be compared. */
static int compare_all(struct bench_study *s, const struct screening *f, struct err *e)
{
    int rc = 0;
    for (int k = 0; k < ROUNDS && !rc && !bench_stopped(s); k++)
        rc = run_round(s, f, BENCH_FIRST_ROUND + k, 1, e);
    return rc;
}

static int search(struct bench_study *s, struct screening *f, struct err *e)
{
    const struct bench_knobs *winner;
    struct search_session first = {.launch = f->items[0].launch,
                                   .round = BENCH_FIRST_ROUND,
                                   .full = 1,
                                   .part = BUDGET_FIRST_PART,
                                   .spare = BUDGET_SPARE};
    int rc = run_session(s, &first, e);
    const struct budget_task task = bench_task(s);
    s->calls_s = fmax(progress_now_s() - s->started_s, s->start_s + BUDGET_POINT_SAMPLES / 2.0 * task.samples_s);
    s->want_visit_s = budget_visit_s(&task, left_s(s), s->start_s);
    if (rc || bench_stopped(s) || (rc = screening_run(s, f, e)) || bench_stopped(s))
        return rc;
    rc = compare_launches(s, f, &winner, e);
    return rc || bench_stopped(s) ? rc : examine_calls(s, winner, CALLS_ROUND, e);
}

int bench_conduct(struct bench_study *s, struct err *e)
{
    struct screening f = {0};
    variants_resume(s);
    screening_begin(s, &f);
    int rc = s->plan.keep_all ? compare_all(s, &f, e)
             : f.count > 1    ? search(s, &f, e)
                              : examine_calls(s, f.items[0].launch, BENCH_FIRST_ROUND, e);
    s->summary->interrupted = bench_stopped(s);
    return rc || s->summary->interrupted ? rc : check_default(s, e);
}
