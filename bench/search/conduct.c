/* Which launches are run when.
 *
 * The baseline launch comes first: its calls are explored. What its start has taken says how many launches the time is
 * for: some are screened, each by a short session of its own; the best of them and the default then take turns, session
 * by session, because only sessions tell launches apart. Of the launch that has won each setting is left out once, and
 * what does not pay goes. Its calls are explored, and what came out best is proven in fresh starts. Where the time is
 * not enough for launches, all of it goes to the calls of the untouched one. */
#include "bench/search/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "bench/noise/noise.h"
#include "bench/search/candidates.h"
#include "core/coll.h"
#include "core/hash.h"
#include "core/units.h"

/* Sessions of each where launches are only compared with one another. */
#define ROUNDS BENCH_FEWEST

/* Starts that prove the calls of the launch that has won, at most: the last look is after 20, some calls miss a few. */
#define PROVING BUDGET_MOST_PAIRS

/* So many times what launches take leaves something for calls, too; and where there is less, a launch that seems to
 * gain as much comes before them. */
#define AMPLE     1.1
#define PROMISING 1.1

/* Of the time that is left where calls are explored, no more than this is kept for proving them: what was not explored
 * has nothing to prove. */
#define PROOF_PART 0.6

/* Of the time that is left where launches are compared, no more than this is kept for the calls of the one that wins: a
 * launch acts on all of them. */
#define CALLS_PART 0.45

/* Of the time that is left no session of a pair takes more, however slow its launch. */
#define VISIT_PART 0.3

/* What leaving out settings may take beside the budget, in parts of it. */
#define LEAST_PART 0.75 /* man pages and --plan say so */

static double session_s(const struct bench_study *s)
{
    return s->time.start_s + s->time.visit_s;
}

static double left_s(const struct bench_study *s)
{
    return fmax(0, s->time.deadline_s - progress_now_s());
}

/* What proving takes that says something: the fewest starts, with two pairs or more of a call at every point. */
static double proof_s(const struct bench_study *s)
{
    const struct budget_task task = bench_task(s);
    return BENCH_FEWEST * (s->time.start_s + CONTENDER_PAIRS * task.samples_s);
}

/* The gains of calls that are proven within the default launch, over all points. */
static double found_so_far(const struct bench_study *s)
{
    const struct bench_points *p = bench_points_so_far(s->results);
    double sum = 0;
    for (int i = 0; i < p->count; i++) {
        double gain = 1;
        for (int k = 0; k < p->items[i].ncandidates; k++) {
            const struct bench_candidate *c = &p->items[i].candidates[k];
            if (!strcmp(c->launch.label, BENCH_DEFAULT) && bench_gain_clears(c->proof, s->options->margin))
                gain = fmax(gain, c->proof.median);
        }
        sum += log(gain) / p->count;
    }
    return exp(sum);
}

static int run_session(struct bench_study *s, const struct search_session *v, struct err *e)
{
    int is_default = v->launch == &s->plan.launches[0];
    int rc = is_default || known_deaths(s->results, v->launch->label) < 2 ? search_session_run(s, v, e) : 0;
    if (v->what == SEARCH_PROVE)
        s->found = found_so_far(s);
    return rc;
}

/* ---- launches against the default ---- */

/* The gain of a launch over another, default call by default call. */
static struct bench_interval gain_over(const struct bench_study *s, const struct bench_knobs *other,
                                       const struct bench_knobs *launch, int rivals)
{
    const struct bench_points *p = bench_points_so_far(s->results);
    return bench_launch_gain(p->items, p->count, NULL, other->label, launch->label, s->options->confidence, rivals);
}

/* One session of each, forth in one round and back in the other of two, whichever comes first: neither drift nor what
 * returns meets one more than another. */
static int run_round(struct bench_study *s, const struct screening *f, int round, int full, struct err *e)
{
    int rc = 0, back = (int)((hash_add(HASH_START, (uint64_t)round / 2) >> 13 ^ (uint64_t)round) & 1);
    for (int i = 0; i < f->count && !rc; i++) {
        int k = back ? f->count - 1 - i : i;
        struct search_session v = {.launch = f->items[k].launch,
                                   .round = round,
                                   .what = full ? SEARCH_EXPLORE : SEARCH_VISIT,
                                   .part = full ? 1.0 / (f->count * ROUNDS) : VISIT_PART};
        rc = run_session(s, &v, e);
    }
    return rc;
}

/* Whether decisions will refuse the launch: it loses at a point, and no call promises to make up for that. */
static int is_refused(const struct bench_study *s, const struct bench_knobs *launch)
{
    const struct bench_points *p = bench_points_so_far(s->results);
    struct bench_interval loss;
    char size[UNIT_TEXT];
    for (int i = 0, k; i < p->count; i = k) {
        for (k = i + 1; k < p->count && bench_points_alike(&p->items[k], &p->items[i]);)
            k++;
        for (const struct bench_point *at = p->items + i; at < p->items + k; at++) {
            if (!bench_point_loses(at, launch->label, k - i, s->options->margin, s->options->confidence, &loss) ||
                candidates_promising(s, at)->promise * loss.median >= 1)
                continue;
            log_info(s->log, "launch %s: %.2f times as fast as the baseline at %s of %s (%.2f to %.2f): it is out",
                     launch->label, loss.median, coll_name(at->coll), unit_bytes(size, at->bytes), loss.low, loss.high);
            return 1;
        }
    }
    return 0;
}

/* Drop launches that further rounds tell nothing of; return whether they may tell more of the others. */
typedef int drop_fn(const struct bench_study *s, struct screening *f, int rivals);

/* Those of which nothing can come any more. Settled: one is left, and it has beaten the default whenever one might have
 * looked. */
static int drop_futile(const struct bench_study *s, struct screening *f, int rivals)
{
    int kept = 1;
    for (int i = 1; i < f->count; i++) {
        struct bench_interval gain = gain_over(s, f->items[0].launch, f->items[i].launch, BUDGET_MOST_PAIRS);
        int known = gain.n >= BENCH_FEWEST;
        int behind = gain.n >= 2 * BENCH_FEWEST && gain.median <= 1;
        if (!known || (!behind && gain.high >= 1 + s->options->margin && !is_refused(s, f->items[i].launch)))
            f->items[kept++] = f->items[i];
    }
    f->count = kept;
    return kept > 2 || (kept == 2 && !bench_gain_clears(gain_over(s, f->items[0].launch, f->items[1].launch,
                                                                  rivals * BUDGET_MOST_PAIRS),
                                                        s->options->margin));
}

/* The best of those that have beaten the default, as decisions prefer: what departs further has to be worth the margin.
 * The default when there is none. */
static const struct bench_knobs *winner_of(const struct bench_study *s, const struct screening *f, int rivals)
{
    const struct bench_knobs *untouched = f->items[0].launch, *winner = untouched;
    double worth = 1 + s->options->margin;
    for (int i = 1; i < f->count; i++) {
        const struct bench_knobs *x = f->items[i].launch;
        struct bench_interval gain = gain_over(s, untouched, x, rivals);
        log_info(s->log, "launch %s: %.2f times as fast as the baseline (%.2f to %.2f, %d pairs of sessions)", x->label,
                 gain.median, gain.low, gain.high, gain.n);
        if (!bench_gain_clears(gain, s->options->margin) || is_refused(s, x))
            continue;
        int more = bench_departs_more(x, winner);
        if (winner == untouched || (more > 0   ? gain_over(s, winner, x, 1).low >= worth
                                    : more < 0 ? gain_over(s, x, winner, 1).low < worth
                                               : gain_over(s, winner, x, 1).median > 1))
            winner = x;
    }
    return winner;
}

/* For how many more rounds of sessions with so many launches there is time before `until_s`. */
static int count_rounds(const struct bench_study *s, int launches, double until_s)
{
    return (int)fmin((until_s - progress_now_s()) / session_s(s) / launches, BUDGET_MOST_PAIRS);
}

/* Compare those in `f`, of which the default is the first, in rounds from `*round` on, until `drop` says that it is
 * enough. What a round takes is known better after the first one, and fewer than tell something are not begun; a launch
 * that leaves, leaves its time to the others. */
static int compare(struct bench_study *s, struct screening *f, double until_s, drop_fn *drop, int rivals, int *round,
                   struct err *e)
{
    int first = *round, rc = 0;
    for (int open = f->count > 1; open && !rc && *round - first < BUDGET_MOST_PAIRS &&
                                  (*round - first < BENCH_FEWEST || count_rounds(s, f->count, until_s) > 0);) {
        rc = run_round(s, f, (*round)++, 0, e);
        open = drop(s, f, rivals);
    }
    return rc;
}

/* Two at a time, the best first, until one is found or the time is over. */
static int compare_launches(struct bench_study *s, const struct screening *f, const struct bench_knobs **winner,
                            struct err *e)
{
    double until_s = s->time.deadline_s - fmin(s->time.calls_s, CALLS_PART * left_s(s));
    int rc = 0, round = BENCH_PAIRS_ROUND;
    *winner = f->items[0].launch;
    for (int next = 1, taken; next < f->count && *winner == f->items[0].launch && !rc; next += taken) {
        struct screening_launch items[1 + BUDGET_FINALISTS] = {f->items[0]};
        struct screening few = {items, 1};
        while (few.count <= BUDGET_FINALISTS && next + few.count <= f->count) {
            items[few.count] = f->items[next + few.count - 1];
            few.count++;
        }
        while (few.count > 2 && count_rounds(s, few.count, until_s) < 2 * BENCH_FEWEST)
            few.count--;
        if (count_rounds(s, few.count, until_s) < BENCH_FEWEST || round + BUDGET_MOST_PAIRS > BENCH_CALLS_ROUND) {
            log_info(s->log, "%d launches could not be distinguished from the baseline in time: a start takes %.1f s",
                     f->count - next, s->time.start_s);
            break;
        }
        taken = few.count - 1;
        rc = compare(s, &few, until_s, drop_futile, next + taken - 1, &round, e);
        *winner = winner_of(s, &few, next + taken - 1);
    }
    return rc;
}

/* ---- settings of the launch that has won ---- */

/* Whether `x` is the setting `name`, of whatever class of nodes. */
static int is_setting(const struct bench_setting *x, const char *name)
{
    size_t n = strcspn(name, "@");
    return strcspn(x->name, "@") == n && !strncmp(x->name, name, n);
}

/* Each name of the launch's settings once; returns how many. */
static int list_names(const struct bench_knobs *launch, struct arena *a, const char ***names)
{
    int n = 0;
    *names = arena_alloc(a, (size_t)launch->nsettings * sizeof(char *));
    for (int i = 0; i < launch->nsettings; i++) {
        int known = 0;
        for (int k = 0; k < i; k++)
            known |= is_setting(&launch->settings[k], launch->settings[i].name);
        if (!known)
            (*names)[n++] = launch->settings[i].name;
    }
    return n;
}

/* The number of settings that `x` has in common with the first of the `n` in `s`, if it has no others; else 0. */
static int count_covered(const struct bench_knobs *x, const struct bench_setting *s, int n)
{
    for (int i = 0; i < x->nsettings; i++)
        if (i >= n || strcmp(x->settings[i].name, s[i].name) != 0 || strcmp(x->settings[i].value, s[i].value) != 0)
            return 0;
    return x->nsettings;
}

/* The label that these settings have in the plan: launches that are tried together are joined by commas. */
static const char *label_of(const struct bench_study *s, const struct bench_setting *settings, int n)
{
    const char *label = "";
    for (int i = 0, most; i < n; i += most) {
        const char *part = arena_printf(s->arena, "%s=%s", settings[i].name, settings[i].value);
        most = 0;
        for (int k = 0; k < s->plan.nlaunches + s->plan.nbeside; k++) {
            const struct bench_knobs *x =
                k < s->plan.nlaunches ? &s->plan.launches[k] : &s->plan.beside[k - s->plan.nlaunches];
            int covered = count_covered(x, settings + i, n - i);
            part = covered > most ? x->label : part;
            most = covered > most ? covered : most;
        }
        label = arena_printf(s->arena, "%s%s%s", label, i ? "," : "", part);
        most = most ? most : 1;
    }
    return label;
}

static const struct bench_knobs *leave_out(const struct bench_study *s, const struct bench_knobs *launch,
                                           const char *name)
{
    struct bench_setting *rest = arena_alloc(s->arena, (size_t)launch->nsettings * sizeof *rest);
    struct bench_knobs *without = ARENA_NEW(s->arena, struct bench_knobs);
    int n = 0;
    for (int i = 0; i < launch->nsettings; i++)
        if (!is_setting(&launch->settings[i], name))
            rest[n++] = launch->settings[i];
    *without = (struct bench_knobs){label_of(s, rest, n), rest, n};
    return without;
}

/* Those without a setting that pays. */
static int drop_needed(const struct bench_study *s, struct screening *f, int rivals)
{
    int kept = 2, open = 0;
    for (int i = 2; i < f->count; i++) {
        struct bench_interval worth = gain_over(s, f->items[i].launch, f->items[1].launch, rivals);
        if (bench_gain_clears(worth, s->options->margin))
            continue;
        open |= worth.n < BENCH_FEWEST || worth.high >= 1 + s->options->margin;
        f->items[kept++] = f->items[i];
    }
    f->count = kept;
    return open && kept > 2;
}

/* Leaving settings out: until when, and what it has come to. */
struct leaving {
    double until_s;
    int round, rivals;
    const struct bench_knobs *launch;
};

/* Compare the launch with `n` that have fewer settings, in turns with the default, and take the best of those that are
 * as fast; `*found` says whether there is one. */
static int try_without(struct bench_study *s, struct leaving *l, const struct bench_knobs *const *fewer, int n,
                       int *found, struct err *e)
{
    struct screening f = {arena_alloc(s->arena, ((size_t)n + 2) * sizeof *f.items), n + 2};
    f.items[0].launch = &s->plan.launches[0];
    f.items[1].launch = l->launch;
    for (int i = 0; i < n; i++)
        f.items[i + 2].launch = fewer[i];
    l->rivals += n;
    int rc = compare(s, &f, l->until_s, drop_needed, 1, &l->round, e);
    f.items[1] = f.items[0];
    const struct bench_knobs *less = winner_of(s, &(struct screening){f.items + 1, f.count - 1}, l->rivals);
    *found = !rc && less != f.items[0].launch;
    if (*found)
        log_info(s->log, "launch %s is as fast as %s", less->label, l->launch->label);
    l->launch = *found ? less : l->launch;
    return rc;
}

/* Of many settings most may do nothing. A short session without each names those that seem to pay, which are then
 * compared with all. */
static int try_core(struct bench_study *s, struct leaving *l, struct err *e)
{
    const struct bench_knobs *core = l->launch;
    const char **names;
    int rc = 0, found, n = list_names(l->launch, s->arena, &names);
    for (int i = 0; i < n && !rc; i++) {
        double worth = INFINITY;
        if (count_rounds(s, 3, l->until_s) >= BENCH_FEWEST)
            rc = screening_worth(s, l->launch, leave_out(s, l->launch, names[i]), &worth, e);
        if (worth < 1 + s->options->margin / 2)
            core = leave_out(s, core, names[i]);
    }
    if (rc || core == l->launch || !core->nsettings || count_rounds(s, 3, l->until_s) < BENCH_FEWEST)
        return rc;
    return try_without(s, l, &core, 1, &found, e);
}

/* Leave out each setting of the winner once, in turns with all of them; what does not pay goes, one after another. That
 * has a time of its own. */
static int leave_out_idle(struct bench_study *s, const struct bench_knobs **winner, struct err *e)
{
    double began_s = progress_now_s(), kept_s = left_s(s);
    const char **names;
    int n = list_names(*winner, s->arena, &names), found = 1;
    double own_s = fmin(AMPLE * (BENCH_FEWEST * (n + 2 + 3) + n) * session_s(s),
                        LEAST_PART * (s->time.deadline_s - s->time.started_s));
    struct leaving l = {began_s + own_s, BENCH_LEAST_ROUND, BUDGET_FINALISTS, *winner};
    char text[UNIT_TEXT];
    if (n < 2)
        return 0;
    log_info(s->log, "launch %s: each setting is left out once, %s at most beside the budget", (*winner)->label,
             unit_seconds(text, own_s));
    s->time.deadline_s += own_s;
    int rc = try_core(s, &l, e);
    while (!rc && found && (n = list_names(l.launch, s->arena, &names)) > 1) {
        const struct bench_knobs **fewer = arena_alloc(s->arena, (size_t)n * sizeof(struct bench_knobs *));
        found = 0;
        if (count_rounds(s, n + 2, l.until_s) < BENCH_FEWEST) {
            log_info(s->log, "launch %s: there was no time to leave each setting out", l.launch->label);
            break;
        }
        for (int i = 0; i < n; i++)
            fewer[i] = leave_out(s, l.launch, names[i]);
        rc = try_without(s, &l, fewer, n, &found, e);
    }
    *winner = l.launch;
    s->time.deadline_s = progress_now_s() + kept_s;
    return rc;
}

/* ---- calls ---- */

/* At how many points something is left to prove. */
static int count_contests(const struct bench_study *s, const struct bench_knobs *launch)
{
    struct contender found[CONTENDERS];
    const struct bench_points *p = bench_points_so_far(s->results);
    int n = 0;
    for (int i = 0; i < p->count; i++)
        n += candidates_contend(s, &p->items[i], launch->label, found) > 0;
    return n;
}

/* Say what noise allows, as soon as starts tell. Return how many of them are to prove: where nobody named a budget as
 * many as a gain that is worth it takes, and there is time for those. */
static int plan_starts(struct bench_study *s, double began_s)
{
    const struct bench_noise noise = bench_noise_of(bench_points_so_far(s->results));
    double margin = s->options->margin, start_s = (progress_now_s() - began_s) / BENCH_FEWEST;
    int starts = PROVING;
    if (noise.calls && s->options->budget_open) {
        starts = (int)fmin(bench_starts_for(&noise, 1 + BENCH_WANTED * margin, margin), PROVING);
        double wanted_s = progress_now_s() + (starts - BENCH_FEWEST) * start_s + s->time.start_s;
        s->time.deadline_s = fmax(s->time.deadline_s, fmin(wanted_s, s->time.started_s + BUDGET_MOST_S));
    }
    int fit = BENCH_FEWEST + (int)fmin(left_s(s) / start_s, starts - BENCH_FEWEST);
    if (noise.calls)
        log_info(s->log, "noise: %s", noise_sentence(&noise, fit, margin, s->arena));
    return starts;
}

static int prove_calls(struct bench_study *s, const struct bench_knobs *launch, struct err *e)
{
    double began_s = progress_now_s(), least_s = proof_s(s) / BENCH_FEWEST - s->time.start_s;
    int rc = 0, most = PROVING;
    for (int k = 0; k < most && !rc && left_s(s) > s->time.start_s; k++) {
        int starts = k < BENCH_FEWEST ? BENCH_FEWEST - k : 2; /* share what is left behind them */
        double share_s = fmax(least_s, left_s(s) / starts - s->time.start_s);
        struct search_session v = {.launch = launch,
                                   .round = BENCH_PROOF_ROUND + k,
                                   .what = SEARCH_PROVE,
                                   .part = fmin(1, share_s / (left_s(s) - s->time.start_s))};
        if (!count_contests(s, launch))
            break;
        rc = run_session(s, &v, e);
        if (!rc && k + 1 == BENCH_FEWEST)
            most = plan_starts(s, began_s);
    }
    return rc;
}

/* Explores, as long as the time is left to prove what it finds, and proves. */
static int examine_calls(struct bench_study *s, const struct bench_knobs *launch, int round, struct err *e)
{
    double left = left_s(s), kept = left > 0 ? fmin(PROOF_PART, proof_s(s) / left) : 0;
    struct search_session v = {.launch = launch, .round = round, .what = SEARCH_EXPLORE, .part = 1 - kept};
    int rc = round == BENCH_FIRST_ROUND || left >= proof_s(s) + session_s(s) ? run_session(s, &v, e) : 0;
    return rc ? rc : prove_calls(s, launch, e);
}

/* ---- all of it ---- */

/* What the library does untouched is what everything is compared with. Where that fails, the site has something to
 * repair first: nothing is decided. What failed before this run was resumed may have been killed, and was tried again
 * if it is still asked for. */
static int check_default(const struct bench_study *s, struct err *e)
{
    for (int i = s->summary->resumed; i < s->results->count; i++) {
        const struct bench_result *x = &s->results->items[i];
        const struct known_place at = known_place_of(x);
        const struct known known = known_of(s->results, &at, BENCH_DEFAULT, KNOWN_ANY);
        /* Where the time was over before an answer had come that is believed the second time. */
        int failed = x->status == BENCH_WRONG || x->status == BENCH_CRASHED ||
                     (x->status == BENCH_HUNG && (known.deaths > 1 || !bench_is_over(s)));
        char size[UNIT_TEXT];
        double load;
        if (failed && !strcmp(x->launch.label, BENCH_DEFAULT) && !strcmp(x->call.label, BENCH_DEFAULT) &&
            !strcmp(x->engine, s->engine->name) && !(known.us > 0))
            return err_set(e, ERR_FAILED, "the baseline of %s fails at %s of %s (%s: %s): nothing to compare with%s",
                           s->plan.library, coll_name(x->coll), unit_bytes(size, x->bytes),
                           bench_status_name(x->status), x->detail ? x->detail : "no reason known",
                           x->status == BENCH_HUNG && getloadavg(&load, 1) == 1 && load > 2.0 * get_nprocs()
                               ? "; other programs keep this machine busy: wait for them to end"
                               : "");
    }
    return 0;
}

/* The first start tells what one takes. Where time is short launches come before calls, as long as one of them seems to
 * gain much. */
static int search(struct bench_study *s, struct screening *f, struct err *e)
{
    const struct bench_knobs *winner = f->items[0].launch;
    struct search_session first = {
        .launch = winner, .round = BENCH_FIRST_ROUND, .what = SEARCH_EXPLORE, .part = BUDGET_FIRST_PART};
    int rc = screening_default(s, f, e);
    /* Whether all launches can be tried, one be proven, and something is left for calls. */
    int ample = left_s(s) > AMPLE * (f->count + BUDGET_SPARE) * session_s(s);
    if (!rc && ample) /* other launches learn from the calls of this one */
        rc = run_session(s, &first, e);
    const struct budget_task task = bench_task(s);
    s->time.calls_s =
        fmax(progress_now_s() - s->time.started_s, s->time.start_s + BUDGET_POINT_SAMPLES / 2.0 * task.samples_s) +
        proof_s(s) / 2; /* what has won has proven some already */
    s->time.want_visit_s = budget_visit_s(&task, left_s(s), s->time.start_s);
    if (!rc && left_s(s) > BUDGET_SPARE * session_s(s)) {
        rc = screening_run(s, f, e);
        if (!rc && (ample || (f->count > 1 && 1 / f->items[1].score > PROMISING)))
            rc = compare_launches(s, f, &winner, e);
        if (!rc)
            rc = leave_out_idle(s, &winner, e);
    }
    return rc ? rc : examine_calls(s, winner, BENCH_CALLS_ROUND, e);
}

int bench_conduct(struct bench_study *s, struct err *e)
{
    struct screening f = {0};
    int rc = 0;
    variants_resume(s);
    screening_begin(s, &f);
    if (!s->plan.keep_all)
        rc = f.count > 1 ? search(s, &f, e) : examine_calls(s, f.items[0].launch, BENCH_FIRST_ROUND, e);
    /* More rounds while there is time for one, whatever the gains so far: looking at them would bias the intervals. */
    double round_s = 0;
    for (int k = 0; k < PROVING && s->plan.keep_all && !rc; k++) {
        double began_s = progress_now_s();
        if (k >= ROUNDS && left_s(s) < round_s)
            break;
        rc = run_round(s, &f, BENCH_FIRST_ROUND + k, 1, e);
        round_s = fmax(round_s, progress_now_s() - began_s);
    }
    s->summary->interrupted = bench_stopped(s);
    if (bench_is_over(s))
        s->summary->left_out = bench_task(s).left_out;
    rc = rc == SEARCH_STOPPED ? 0 : rc;
    return rc || s->summary->interrupted ? rc : check_default(s, e);
}
