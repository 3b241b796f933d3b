/* A session in one launch: the rounds of every point that is not done, the journal, and what dies is replaced. */

#include <math.h>
#include <string.h>

#include "bench/search/budget.h"
#include "bench/search/candidates.h"
#include "core/coll.h"
#include "core/hash.h"
#include "core/units.h"

/* The first word of a launch: processes on thousands of nodes take a while. */
#define START_S 60.0

/* Points in a row at which a launch is hopeless before it is left; one where calls are long, for what disturbs the
 * machine passes for slowness at the smallest ones. */
#define LOST_FOR_GOOD 2

/* Deaths in one session before the launch is left for later. */
#define DEATHS_LIMIT 4

/* Times in a run that agents are started anew after nodes were lost. */
#define LOSSES_LIMIT 3

/* Samples of each candidate: enough for an interval of 95 % inside the range; where points have less time than they
 * usually need, as many as say who is ahead, for who wins has to prove it with others; a few where only launches are
 * told apart. */
#define ROUNDS_ENOUGH 9
#define ROUNDS_AHEAD  BENCH_FEWEST
#define SCREEN_ENOUGH 3

/* A session that tells launches apart goes over its points so many times, with as many samples as makes it last as long
 * as was wanted: what comes and goes within seconds has to meet all launches alike. */
#define VISIT_PASSES 8

/* A point gets this many times the time of an average one at most, and this part of it at least: none starves. */
#define CLAIM_LIMIT 4.0

struct session {
    struct arena *arena;
    struct bench_study *study;
    const struct search_session *want;
    struct bench_session *session;
    int deaths;
    const char **warm; /* the calls that it has run, by note_cold */
    int nwarm;
};

/* Points that a session goes over for one purpose. */
struct pass {
    enum search_what what;
    const struct bench_points *known; /* what was known before; for proving and comparing */
    int enough;                       /* samples of each candidate */
    double until_s;
    struct study_point *points; /* in the session's launch */
    int npoints, done;          /* points that it has; and has gone over */
};

/* ---- points ---- */

static void add_point(struct session *v, struct pass *p, const struct study_point *x)
{
    const struct bench_study *s = v->study;
    struct study_point own = *x;
    struct contender found[CONTENDERS] = {0};
    int known = 0;
    own.at.launch = v->want->launch->label;
    if (p->what == SEARCH_PROVE) { /* nothing is left to prove, or this start has */
        const struct bench_point *before = candidates_point(p->known, &own.at);
        known = !before || !candidates_contend(s, before, own.at.launch, found) ||
                known_of(s->results, &own.at, found[0].candidate->call.label, v->want->round).samples;
    } else if (p->what != SEARCH_COMPARE) {
        known = known_of(s->results, &own.at, BENCH_DEFAULT, v->want->round).samples;
    }
    if (!known)
        ARENA_ADD(v->arena, p->points, p->npoints) = own;
}

/* What a start does first meets another machine than what it does last: every start has an order of its own. */
static void shuffle_points(const struct session *v, struct pass *p)
{
    uint64_t drawn = hash_add(hash_text(v->want->launch->label), (uint64_t)v->want->round);
    for (int i = p->npoints - 1; i > 0; i--) {
        drawn = hash_add(drawn, (uint64_t)i);
        int k = (int)((drawn ^ drawn >> 32) % (uint64_t)(i + 1));
        struct study_point x = p->points[i];
        p->points[i] = p->points[k];
        p->points[k] = x;
    }
}

static void list_points(struct session *v, struct pass *p)
{
    const struct bench_study *s = v->study;
    const struct study_point *list = p->what == SEARCH_SCREEN ? s->screening : s->points;
    int n = p->what == SEARCH_SCREEN    ? s->nscreening
            : p->what == SEARCH_COMPARE ? variants_list(s, p->known, v->arena, &list)
                                        : s->npoints;
    p->npoints = 0;
    for (int i = 0; i < n; i++)
        if (p->what != SEARCH_VISIT || list[i].at.buffers == s->plan.buffers)
            add_point(v, p, &list[i]);
    if (p->what == SEARCH_PROVE)
        shuffle_points(v, p);
}

/* ---- the journal ---- */

static struct bench_result result_of(const struct session *v, const struct pass *p, const struct candidate *x)
{
    int proof = p->what == SEARCH_PROVE && x->beside_us[0] > 0 && strcmp(x->knobs->label, BENCH_DEFAULT) != 0;
    return (struct bench_result){.launch = *v->want->launch,
                                 .call = *x->knobs,
                                 .data = v->session ? v->session->data : NULL,
                                 .active = v->session ? v->session->active : NULL,
                                 .round = v->want->round,
                                 .status = x->status,
                                 .times_us = x->us,
                                 .ntimes = x->n,
                                 .beside_us = x->beside_us,
                                 .nbeside = proof ? x->n : 0,
                                 .over_default =
                                     proof || !strcmp(x->knobs->label, BENCH_DEFAULT) ? 0 : rounds_over_default(x),
                                 .detail = x->detail};
}

/* The default last: its line says that the point is done. A visit has that line before it proves, where calls may slow
 * the default: those times tell nothing of the launch. */
static int write_rounds(struct session *v, const struct pass *p, const struct rounds *r, struct err *e)
{
    struct bench_result *lines = arena_alloc(r->arena, (size_t)r->ncandidates * sizeof *lines);
    int n = 0, had = p->what == SEARCH_PROVE && v->want->what == SEARCH_VISIT;
    for (int i = r->ncandidates - 1; i >= 0; i--) {
        const struct candidate *x = &r->candidates[i];
        if ((x->n && (i || !had)) || x->status > BENCH_DROPPED)
            lines[n++] = result_of(v, p, x);
    }
    return bench_write(v->study, &r->at, lines, n, e);
}

/* ---- a point ---- */

/* What the default takes, in the baseline launch where this one has not been there. */
static double expect_us(const struct session *v, const struct known_place *at)
{
    struct known_place untouched = *at;
    double us = known_expect_us(v->study->results, at, BENCH_DEFAULT);
    untouched.launch = BENCH_DEFAULT;
    us = us > 0 ? us : known_expect_us(v->study->results, &untouched, BENCH_DEFAULT);
    return us > 0 ? us : bench_guess_us(at->bytes);
}

/* When point `i` has had its share of the time that is left for the session: by where a step of the workload spends its
 * own, else by what samples take, within bounds. What it does not need goes to those behind it. */
static double point_until(const struct session *v, struct pass *p, int i)
{
    const struct bench_study *s = v->study;
    double now = progress_now_s(), sum = 0, claims = 0;
    for (struct study_point *x = p->points + i; x < p->points + p->npoints; x++) {
        x->us = p->what > SEARCH_VISIT ? expect_us(v, &x->at) : x->us;
        x->claim = s->workload ? x->calls * x->us : bench_sample_us(&s->engine->measures->sampling, x->us);
        sum += x->claim;
    }
    for (struct study_point *x = p->points + i; x < p->points + p->npoints; x++) {
        double part = x->claim * (p->npoints - i) / sum;
        claims += x->claim = fmin(fmax(part, 1 / CLAIM_LIMIT), CLAIM_LIMIT);
    }
    return now + fmax(0, p->until_s - now) * p->points[i].claim / claims;
}

static void show_progress(struct session *v, const struct known_place *at)
{
    struct bench_study *s = v->study;
    double now = progress_now_s(), whole = s->time.deadline_s - s->time.started_s;
    double fraction = whole > 0 ? fmin(1, (now - s->time.started_s) / whole) : 1;
    char what[128], size[UNIT_TEXT], found[48] = "";
    if (s->found > 1)
        snprintf(found, sizeof found, "%.2fx so far; ", s->found);
    snprintf(what, sizeof what, "%s%s, %s, launch %s", found, coll_name(at->coll), unit_bytes(size, at->bytes),
             at->launch);
    progress_update(s->progress, fraction, fmax(0, s->time.deadline_s - now), what);
}

/* ---- sessions ---- */

static void close_session(struct session *v, int kill)
{
    if (v->session)
        v->study->engine->measures->close(v->session, kill);
    v->session = NULL;
    v->nwarm = 0;
}

/* How long the whole run is to take, now that it is known what a start takes, or samples: said
 * where it is more than before, or `tell`. */
static void take_time(struct bench_study *s, int tell)
{
    const struct budget_task task = bench_task(s);
    double usual_s = budget_usual_s(&task, s->time.start_s);
    char text[BUDGET_TEXT];
    int more = s->options->budget_open && s->time.started_s + usual_s > s->time.deadline_s;
    if (!more && !tell)
        return;
    if (more)
        s->time.deadline_s = s->time.started_s + usual_s;
    budget_text(&task, s->time.deadline_s - s->time.started_s, s->time.start_s, text);
    log_info(s->log, "%s", text);
}

/* Leaves out what there is no room for, unless a user asked for it; `room_bytes` 0: unknown. */
static void fit_sizes(struct bench_study *s, uint64_t room_bytes)
{
    char most[UNIT_TEXT], text[UNIT_TEXT];
    int n = s->nsizes;
    while (s->options->to_memory && room_bytes && n > 1 && s->sizes[n - 1] > room_bytes)
        n--;
    if (n < s->nsizes)
        log_info(s->log, "sizes go up to %s: the free GPU memory has room for %s", unit_bytes(most, s->sizes[n - 1]),
                 unit_bytes(text, room_bytes));
    s->nsizes = n;
}

static int open_session(struct session *v, struct err *e)
{
    struct bench_study *s = v->study;
    double before_s = progress_now_s();
    v->session = s->engine->measures->open(&s->plan, v->want->launch, START_S, s->stop, e);
    /* Where nodes were lost on the way, agents are started anew, which brings back what was only killed. */
    if (!v->session && e->code == BENCH_NODES_LOST && !bench_stopped(s) && ++s->losses <= LOSSES_LIMIT) {
        log_warn(s->log, "%s; trying once more", e->text);
        v->session = s->engine->measures->open(&s->plan, v->want->launch, START_S, s->stop, e);
    }
    if (!v->session)
        return e->code;
    s->time.start_s = fmax(s->time.start_s, progress_now_s() - before_s);
    v->session->until_s = bench_last_s(s);
    if (!s->nodes) {
        s->nodes = v->session->nodes;
        s->ranks = v->session->ranks;
        fit_sizes(s, v->session->room_bytes);
        int rc = search_shapes_take(s, e);
        if (rc) {
            close_session(v, 0);
            return rc;
        }
        study_list_points(s);
        take_time(s, 1);
    }
    if (s->nodes == v->session->nodes && s->ranks == v->session->ranks)
        return 0;
    int rc = err_set(e, ERR_FAILED, "this launch has %d ranks on %d nodes, an earlier one had %d on %d",
                     v->session->ranks, v->session->nodes, s->ranks, s->nodes);
    close_session(v, 0);
    return rc;
}

/* In place of a session that has died. That it does not start again costs the launch the rest of this session, unless
 * nodes are gone for good. */
static int reopen_session(struct session *v, struct err *e)
{
    struct err why = {0};
    if (!open_session(v, &why) || bench_stopped(v->study))
        return 0;
    if (why.code == BENCH_NODES_LOST)
        return err_set(e, ERR_FAILED, "%s", why.text);
    log_warn(v->study->log, "launch %s does not start again: %s", v->want->launch->label, why.text);
    return 0;
}

/* After a death: who did it goes to the journal, the session is replaced. */
static int record_failure(struct session *v, const struct pass *p, const struct rounds *r, enum bench_outcome outcome,
                          const char *detail, struct err *e)
{
    close_session(v, 1);
    v->deaths++;
    if (p->what == SEARCH_COMPARE)
        v->study->matters[r->at.coll] |= 1u << r->at.buffers;
    enum bench_status status = outcome == BENCH_SILENT ? BENCH_HUNG : BENCH_CRASHED;
    struct bench_result dead = result_of(
        v, p, &(struct candidate){.knobs = r->candidates[r->failed].knobs, .status = status, .detail = detail});
    int rc = bench_write(v->study, &r->at, &dead, 1, e);
    if (!rc && v->study->plan.one_session)
        return err_set(e, ERR_FAILED, "the launch that this program runs under has died: %s", detail);
    if (rc || v->deaths >= DEATHS_LIMIT || bench_stopped(v->study) || bench_is_over(v->study))
        return rc;
    return reopen_session(v, e);
}

/* Nodes are gone, or their agents: the launch is innocent, and goes on where it was. */
static int replace_lost(struct session *v, const char *detail, struct err *e)
{
    struct bench_study *s = v->study;
    close_session(v, 1);
    if (bench_stopped(s))
        return 0;
    if (++s->losses > LOSSES_LIMIT)
        return err_set(e, ERR_FAILED, "%s, after agents were started again %d times", detail, LOSSES_LIMIT);
    return reopen_session(v, e);
}

/* Note which candidates the session has not run yet; from now on it has. Each collective makes connections of its own,
 * and the default may be another algorithm at every size. */
static void note_cold(struct session *v, struct rounds *r)
{
    for (int i = 0; i < r->ncandidates; i++) {
        const char *label = r->candidates[i].knobs->label;
        int known = 0;
        label = arena_printf(v->arena, "%s %d %llu", label, r->at.coll, i ? 0 : (unsigned long long)r->at.bytes);
        for (int k = 0; k < v->nwarm; k++)
            known |= !strcmp(v->warm[k], label);
        r->candidates[i].cold = !known;
        if (known)
            continue;
        ARENA_ADD(v->arena, v->warm, v->nwarm) = label;
    }
}

/* One point, again after a death. */
static int run_point(struct session *v, struct pass *p, int i, struct err *e)
{
    struct bench_study *s = v->study;
    const struct known_place *at = &p->points[i].at;
    struct known_place usual = *at;
    usual.buffers = p->what == SEARCH_COMPARE ? s->plan.buffers : at->buffers;
    const struct bench_point *known = p->what < SEARCH_COMPARE ? NULL : candidates_point(p->known, &usual);
    char detail[BENCH_DETAIL] = "";
    int rc = 0, again = 1;
    while (again && v->session && !rc && !bench_stopped(s)) {
        struct rounds r = {.engine = s->engine->measures,
                           .session = v->session,
                           .stop = s->stop,
                           .arena = arena_new(),
                           .at = *at,
                           .expect_us = expect_us(v, at),
                           .samples = p->enough,
                           .until_s = point_until(v, p, i),
                           .deadline_s = s->time.deadline_s,
                           .watchdog_s = s->options->watchdog_s,
                           .seed = hash_add((uint64_t)v->want->round, at->bytes),
                           .vary = s->engine->measures->vary && p->what == SEARCH_EXPLORE ? candidates_vary : NULL,
                           .user = s};
        if (p->what == SEARCH_PROVE)
            candidates_list_contenders(s, known, &r);
        else if (p->what == SEARCH_COMPARE)
            variants_candidates(s, known, &r);
        else
            candidates_list(s, p->what == SEARCH_EXPLORE, &r);
        note_cold(v, &r);
        show_progress(v, at);
        v->session->until_s = bench_last_s(s);
        enum bench_outcome outcome = p->what == SEARCH_PROVE ? rounds_prove(&r, detail) : rounds_explore(&r, detail);
        int died = outcome == BENCH_DIED || outcome == BENCH_SILENT;
        again = died || outcome == BENCH_LOST;
        if (again && outcome != BENCH_DIED && bench_is_over(s)) { /* says nothing about the call: keep what there is */
            close_session(v, 1);
            rc = r.candidates[0].n ? write_rounds(v, p, &r, e) : 0;
        } else if (died)
            rc = record_failure(v, p, &r, outcome, detail, e);
        else if (outcome == BENCH_LOST)
            rc = replace_lost(v, detail, e);
        else if (outcome == BENCH_ANSWERED && (p->what != SEARCH_COMPARE || variants_change(s, known, &r)))
            rc = write_rounds(v, p, &r, e);
        arena_free(r.arena);
    }
    return rc;
}

/* A launch that does not start at all is written down once, so that a resumed run leaves it alone. */
static int give_up_launch(struct session *v, struct pass *p, const struct err *why, struct err *e)
{
    struct bench_study *s = v->study;
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    if (bench_stopped(s))
        return 0;
    if (v->want->launch == &s->plan.launches[0] || !s->nodes || why->code == BENCH_NODES_LOST)
        return err_set(e, why->code == BENCH_NODES_LOST ? ERR_FAILED : why->code, "%s", why->text);
    struct bench_result dead =
        result_of(v, p, &(struct candidate){.knobs = &untouched, .status = BENCH_CRASHED, .detail = why->text});
    return bench_write(s, &p->points[0].at, &dead, 1, e);
}

/* How many points in a row the launch has lost with this one, `before` it so many: what NCCL chooses there takes three
 * times what it chooses in another launch. A single short sample tells nothing. */
static int lost_in_a_row(const struct session *v, const struct known_place *at, int before)
{
    struct known_place any = *at;
    any.launch = NULL;
    const struct known own = known_of(v->study->results, at, BENCH_DEFAULT, KNOWN_ANY),
                       all = known_of(v->study->results, &any, BENCH_DEFAULT, KNOWN_ANY);
    int is_short = own.least_us < ROUNDS_SHORT_US;
    if (own.least_us <= ROUNDS_HOPELESS * all.least_us || (is_short && own.samples < 2))
        return 0;
    return before + (is_short ? 1 : LOST_FOR_GOOD);
}

/* Whether an earlier run has left this launch at one of the screening points. */
static int lost_before(const struct session *v)
{
    const struct bench_study *s = v->study;
    int lost = 0;
    for (int i = 0; i < s->nscreening && lost < LOST_FOR_GOOD; i++) {
        struct known_place at = s->screening[i].at;
        at.launch = v->want->launch->label;
        lost = lost_in_a_row(v, &at, lost);
    }
    return lost >= LOST_FOR_GOOD;
}

/* When a session that has started now is to end. */
static double end_of(const struct session *v, double now_s)
{
    return now_s + fmax(0, v->study->time.deadline_s - now_s) * v->want->part;
}

/* All points in turn. */
static int run_points(struct session *v, struct pass *p, struct err *e)
{
    /* Each point gets its first samples, or two pairs in a start that proves: what is left out of one needs another. */
    double end_s = p->what <= SEARCH_EXPLORE || v->want->what == SEARCH_PROVE ? v->study->time.deadline_s : p->until_s;
    int rc = 0, lost = 0, i = 0;
    for (; i < p->npoints && v->session && !rc && !bench_stopped(v->study); i++) {
        if (progress_now_s() >= end_s || lost >= LOST_FOR_GOOD)
            break;
        rc = run_point(v, p, i, e);
        lost = p->what == SEARCH_SCREEN ? lost_in_a_row(v, &p->points[i].at, lost) : 0;
    }
    p->done = i;
    return rc;
}

/* The points again, with as many samples as makes it last as long as it takes to be sure of this session. */
static int go_over_again(struct session *v, struct pass *p, double began_s, struct err *e)
{
    double least_s = v->study->time.want_visit_s, pass_s = fmax(progress_now_s() - began_s, 1e-3);
    double samples = p->enough * least_s / pass_s, until_s = began_s + least_s - pass_s / 2;
    int rc = 0;
    p->enough = (int)fmin(fmax(samples / VISIT_PASSES, p->enough), ROUNDS_SAMPLES);
    while (!rc && p->done == p->npoints && progress_now_s() < until_s && v->session && !v->deaths)
        rc = run_points(v, p, e);
    return rc;
}

/* Further points of the session. */
static int run_pass(struct session *v, struct pass *p, struct err *e)
{
    list_points(v, p);
    return run_points(v, p, e);
}

/* What comparing types and places of the data may take behind exploring. */
static double variants_s(const struct session *v)
{
    const struct bench_study *s = v->study;
    int wanted = v->want->launch == &s->plan.launches[0] && !s->compared && s->engine->measures->buffers;
    return wanted ? VARIANTS_PART * (s->time.deadline_s - s->time.started_s) : 0;
}

/* Types and places of the data, once there is a first choice everywhere. */
static int compare_variants(struct session *v, struct err *e)
{
    struct bench_study *s = v->study;
    struct pass compare = {.what = SEARCH_COMPARE,
                           .known = bench_points_so_far(s->results),
                           .enough = ROUNDS_ENOUGH,
                           .until_s = fmin(progress_now_s() + variants_s(v), s->time.deadline_s)};
    int points = s->npoints;
    if (v->want->launch != &s->plan.launches[0] || s->compared)
        return 0;
    int rc = run_pass(v, &compare, e);
    if (!rc && !bench_stopped(s))
        rc = variants_finish(s, compare.done, compare.npoints, e);
    study_list_variants(s);
    if (rc || s->npoints == points)
        return rc;
    take_time(s, 1);
    return run_pass(
        v, &(struct pass){.what = SEARCH_EXPLORE, .enough = ROUNDS_AHEAD, .until_s = end_of(v, progress_now_s())}, e);
}

/* Samples of each candidate. Where all calls are measured: few where points have less time than they usually need.
 * Where launches are told apart: of pairs of sessions a sample of every point tells more than several of some; what
 * that goes over again and again is known beforehand. */
static int samples_of(const struct session *v, struct pass *p)
{
    double pass_s = 0;
    if (p->what == SEARCH_PROVE)
        return CONTENDER_PAIRS;
    if (p->what == SEARCH_EXPLORE) {
        const struct budget_task task = bench_task(v->study);
        double need_s = budget_points_s(&task) / 2 * p->npoints / task.points;
        return p->until_s - progress_now_s() < need_s ? ROUNDS_AHEAD : ROUNDS_ENOUGH;
    }
    for (int i = 0; i < p->npoints; i++)
        pass_s += 1e-6 * (p->points[i].us = expect_us(v, &p->points[i].at));
    return p->what == SEARCH_SCREEN ? SCREEN_ENOUGH
                                    : (int)fmin(fmax(v->study->time.want_visit_s / pass_s, 1), SCREEN_ENOUGH);
}

/* The points, and what comes behind. Where launches are told apart these again, with the calls that have something to
 * prove: every start counts for both. */
static int run_visit(struct session *v, struct pass *p, struct err *e)
{
    struct bench_study *s = v->study;
    double began_s = progress_now_s(), end_s = end_of(v, began_s);
    p->until_s = p->what == SEARCH_EXPLORE ? fmax(began_s, end_s - variants_s(v)) : end_s;
    p->enough = samples_of(v, p);
    int rc = run_points(v, p, e);
    if (v->want->round == BENCH_FIRST_ROUND) {
        s->summary->left_out += p->npoints - p->done;
        take_time(s, 0);
    }
    if (rc || p->done < p->npoints || !v->session || p->what == SEARCH_PROVE)
        return rc;
    if (p->what == SEARCH_EXPLORE)
        return compare_variants(v, e);
    if (p->what == SEARCH_VISIT)
        rc = run_pass(v,
                      &(struct pass){.what = SEARCH_PROVE,
                                     .known = p->known,
                                     .enough = CONTENDER_PAIRS,
                                     .until_s = began_s + s->time.want_visit_s},
                      e);
    if (!rc && v->session)
        rc = go_over_again(v, p, began_s, e);
    if (v->want->launch == &s->plan.launches[0])
        s->time.visit_s = fmax(s->time.visit_s, progress_now_s() - began_s);
    return rc;
}

int search_session_run(struct bench_study *s, const struct search_session *want, struct err *e)
{
    struct session v = {.arena = arena_new(), .study = s, .want = want};
    struct pass p = {.what = want->what};
    struct err why = {0};
    int rc = 0, is_first = !s->nodes, too_late = s->nodes && progress_now_s() >= s->time.deadline_s;
    if (want->what == SEARCH_VISIT || want->what == SEARCH_PROVE)
        p.known = bench_points_so_far(s->results);
    list_points(&v, &p);
    if ((!is_first && !p.npoints) || (p.what == SEARCH_SCREEN && lost_before(&v)))
        goto out;
    if (!too_late && open_session(&v, &why)) {
        rc = give_up_launch(&v, &p, &why, e);
        goto out;
    }
    if (is_first)
        list_points(&v, &p);
    rc = run_visit(&v, &p, e);
out:
    rc = rc || !bench_stopped(s) ? rc : SEARCH_STOPPED;
    close_session(&v, rc != 0);
    arena_free(v.arena);
    return rc;
}
