/* Which types and places of the data are compared with the usual ones at which sizes, and what is said of it. */
#include "bench/search/variants.h"

#include <math.h>
#include <string.h>

#include "bench/search/candidates.h"
#include "bench/search/turns.h"
#include "core/coll.h"
#include "core/units.h"

#define SIZES     3
#define ID        "types-and-places"
#define ID_TOLD   "captured-and-registered"
#define UNTOLD    (1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE | 1u << BENCH_OUT_OF_PLACE)
#define TOLD      (1u << BENCH_GRAPH | 1u << BENCH_REGISTERED)
#define FEW_BYTES 4 /* a rank: below, there are not as many elements as ranks */

/* Beyond this, buffers take longer to fill than calls take, and times are in proportion to the size. */
#define MOST_BYTES ((uint64_t)256 << 20)

/* What filling buffers takes, before it has been seen. */
#define FILL_BASE_S   2e-3
#define FILL_PER_BYTE 2e-10

/* All comparisons of a run. */
struct tally {
    struct bench_study *study;
    struct findings found;
    double until_s, turn_s; /* the longest turn so far beyond its samples */
    int compared, skipped, changed;
    unsigned unavailable; /* a bit for each enum bench_buffers */
    double worst;
    const char *where;
    struct bench_points *points;
};

/* Those that a job may have instead. A call that both sends to and receives from others needs two buffers. */
static unsigned others_of(int coll)
{
    switch (coll) {
    case COLL_ALLREDUCE:
        return TOLD | 1u << BENCH_BFLOAT16 | 1u << BENCH_OUT_OF_PLACE;
    case COLL_REDUCESCATTER:
    case COLL_REDUCE:
        return TOLD | 1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE;
    case COLL_ALLGATHER:
    case COLL_BROADCAST:
        return TOLD | 1u << BENCH_IN_PLACE;
    default:
        return 0;
    }
}

/* ---- what comes of it ---- */

static const char *place_text(const struct tally *t, const struct comparison *c)
{
    char size[UNIT_TEXT];
    return arena_printf(t->study->arena, "%s of %s", coll_name(c->at.coll), unit_bytes(size, c->at.bytes));
}

/* Of what a job may get: the default and the choice. */
static void take_worst(struct tally *t, const struct comparison *c)
{
    for (int i = 0; i <= c->chosen; i++) { /* the choice stands behind the default */
        double apart = turns_factor(c, i).median - 1;
        if (t->where && fabs(apart) <= fabs(t->worst))
            continue;
        t->worst = apart;
        t->where = arena_printf(t->study->arena, "%s, %s, by %s", bench_buffers_name(c->other), place_text(t, c),
                                c->lanes[i].knobs->label);
    }
}

static void say_change(struct tally *t, const struct comparison *c, int to)
{
    struct arena *a = t->study->arena;
    int told = bench_buffers_are_told(c->other);
    const char *what =
        to < c->nlanes ? arena_printf(a, "%s is %.2fx as fast", c->lanes[to].knobs->label, turns_gain(c, to, 1).median)
                       : arena_printf(a, "it takes %.2fx, and others may not", turns_factor(c, c->chosen).median);
    struct finding *f =
        finding_add(&t->found, FINDING_NOTE, told ? ID_TOLD : ID, bench_buffers_name(c->other),
                    "%s: another choice than for the usual data, which is %s: %s%s", place_text(t, c),
                    c->lanes[c->chosen].knobs->label, what,
                    told ? "" : "; one rule serves both, and what time there is measures that at all sizes");
    if (told)
        f->advice = c->other == BENCH_GRAPH ? "a second run with --graphs finds rules for captured calls alone"
                                            : "a second run with --registered finds rules for such buffers alone";
    log_info(t->study->log, "%s", finding_sentence(f, t->study->arena));
    t->changed += !told;
    if (!told)
        t->study->matters[c->at.coll] |= 1u << c->other;
}

/* What has changed a choice was explored, and proves nothing. The default last. */
static int write_lanes(const struct tally *t, const struct comparison *c, struct err *e)
{
    struct history_place at = c->at;
    int rc = 0;
    at.buffers = c->other;
    for (int i = c->nlanes - 1; i >= 0 && !rc; i--) {
        const struct bench_result r = {.launch = t->study->plan.launches[0],
                                       .call = *c->lanes[i].knobs,
                                       .active = c->session->active,
                                       .data = c->session->data,
                                       .times_us = c->lanes[i].us[1],
                                       .ntimes = c->turns,
                                       .over_default = i ? turns_over_default(c, i) : 0};
        rc = bench_write(t->study, &at, r, e);
    }
    return rc;
}

/* Wrong data, or a death: what shares its rule with the usual data is a result like any other. */
static int say_trouble(struct tally *t, const struct comparison *c, struct err *e)
{
    struct bench_study *s = t->study;
    struct history_place at = c->at;
    const struct bench_result r = {
        .launch = s->plan.launches[0], .call = *c->lanes[c->failed].knobs, .status = c->status, .detail = c->why};
    if (c->half && bench_buffers_are_told(c->other)) {
        finding_add(&t->found, FINDING_WARNING, ID_TOLD, bench_buffers_name(c->other), "%s, call %s: %s: %s",
                    place_text(t, c), r.call.label, bench_status_name(c->status), c->why);
        return 0;
    }
    at.buffers = c->half ? c->other : BENCH_USUAL;
    s->matters[at.coll] |= c->half ? 1u << c->other : 0;
    return bench_write(s, &at, r, e);
}

static int judge(struct tally *t, const struct comparison *c, struct err *e)
{
    t->unavailable |= c->status == BENCH_FAILED ? 1u << c->other : 0;
    if (c->status == BENCH_FAILED)
        return 0;
    if (c->status != BENCH_OK)
        return say_trouble(t, c, e);
    if (c->turns < TURNS_LEAST) {
        t->skipped++;
        return 0;
    }
    t->compared++;
    int to = turns_change(c);
    if (to < 0) {
        take_worst(t, c);
        return 0;
    }
    say_change(t, c, to);
    return bench_buffers_are_told(c->other) ? 0 : write_lanes(t, c, e);
}

/* ---- all of them ---- */

static enum bench_outcome compare(struct tally *t, struct bench_session *session, struct bench_place place, int *rc,
                                  struct err *e)
{
    struct bench_study *s = t->study;
    struct comparison c = {.study = s, .session = session, .other = place.buffers, .until_s = t->until_s};
    place.buffers = BENCH_USUAL;
    c.at = bench_place_of(s, place, BENCH_DEFAULT);
    const struct bench_point *p = candidates_point(t->points, &c.at);
    if (p)
        turns_pick(&c, p);
    if (c.nlanes < 2 || !variants_fit(s, place))
        return BENCH_ANSWERED;
    double fill_s = fmax(t->turn_s, FILL_BASE_S + FILL_PER_BYTE * (double)c.at.bytes), began_s = progress_now_s();
    if (began_s + TURNS_LEAST * 2 * (1e-6 * turns_sample_us(&c) + fill_s) > t->until_s) {
        t->skipped++;
        return BENCH_ANSWERED;
    }
    enum bench_outcome outcome = turns_run(&c);
    int over = outcome == BENCH_SILENT && bench_is_over(s);
    if (outcome != BENCH_STOPPED && outcome != BENCH_LOST && !over)
        *rc = judge(t, &c, e);
    if (c.turns)
        t->turn_s = fmax(0, (progress_now_s() - began_s) / c.turns / 2 - 1e-6 * turns_sample_us(&c));
    return outcome;
}

/* Whether something else than the default is chosen there. */
static int is_decided(const struct tally *t, int coll, int size)
{
    const struct history_place at = bench_place_of(t->study, (struct bench_place){coll, size, 0}, BENCH_DEFAULT);
    const struct bench_point *p = candidates_point(t->points, &at);
    const struct bench_candidate *choice = p ? turns_choice(t->study, p) : NULL;
    return choice && strcmp(choice->call.label, BENCH_DEFAULT) != 0;
}

/* Adds one in the middle of the list, its last and its first, unless they are there. */
static int add_sizes(int sizes[SIZES], int n, const int *list, int count)
{
    const int wanted[SIZES] = {count / 2, count - 1, 0};
    for (int i = 0; i < SIZES && count; i++) {
        int known = n == SIZES;
        for (int k = 0; k < n; k++)
            known |= sizes[k] == list[wanted[i]];
        if (!known)
            sizes[n++] = list[wanted[i]];
    }
    return n;
}

/* The sizes of a collective by their turn: those where a choice is to lose come first. */
static int sizes_of(const struct tally *t, int coll, int sizes[SIZES])
{
    const struct bench_study *s = t->study;
    int *list = arena_alloc(s->arena, (size_t)s->nsizes * sizeof *list), n = 0;
    for (int decided = 1; decided >= 0; decided--) {
        int count = 0;
        for (int i = 0; i < s->nsizes; i++)
            if (s->sizes[i] <= MOST_BYTES && (!decided || is_decided(t, coll, i)))
                list[count++] = i;
        n = add_sizes(sizes, n, list, count);
    }
    return n;
}

/* Those of `kinds`; a collective that changes its choice anyhow is not asked again. */
static enum bench_outcome compare_all(struct tally *t, struct bench_session *session, unsigned kinds, int *rc,
                                      struct err *e)
{
    struct bench_study *s = t->study;
    int sizes[COLL_MEASURED][SIZES], n[COLL_MEASURED];
    unsigned said[COLL_MEASURED] = {0};
    enum bench_outcome outcome = BENCH_ANSWERED;
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        n[coll] = others_of(coll) ? sizes_of(t, coll, sizes[coll]) : 0;
    for (int i = 0; i < SIZES; i++)
        for (int coll = COLL_MEASURED - 1; coll >= 0; coll--)
            for (int other = 1; other < BENCH_BUFFERS && outcome == BENCH_ANSWERED && !*rc; other++) {
                struct bench_place place = {coll, i < n[coll] ? sizes[coll][i] : 0, 0, other};
                unsigned bit = 1u << other,
                         open = kinds & s->engine->measures->buffers & others_of(coll) & ~t->unavailable;
                if (i >= n[coll] || !(open & ~said[coll] & ~s->matters[coll] & bit) || !(bench_calls(s, place) > 0))
                    continue;
                int findings = t->found.n;
                outcome = compare(t, session, place, rc, e);
                said[coll] |= t->found.n > findings ? bit : 0;
            }
    return outcome;
}

static void sum_up(struct tally *t)
{
    struct finding *f = NULL;
    if (!t->compared && t->skipped)
        f = finding_add(&t->found, FINDING_NOTE, ID, NULL,
                        "not compared for lack of time: rules rest on float32, AllReduce in place, others not");
    else if (t->compared)
        f = finding_add(&t->found, FINDING_OK, ID, NULL, "types and places of the data %s: %s%d comparisons%s",
                        t->changed   ? "change no other choice"
                        : t->skipped ? "change no choice where there was time to compare"
                                     : "do not matter here",
                        t->where ? arena_printf(t->study->arena, "times differ by %.1f %% at worst (%s); ",
                                                100 * t->worst, t->where)
                                 : "",
                        t->compared, t->skipped ? arena_printf(t->study->arena, ", %d left out", t->skipped) : "");
    if (!f)
        return;
    f->advice = t->skipped ? "a larger --budget compares more" : NULL;
    log_info(t->study->log, "%s", finding_sentence(f, t->study->arena));
}

enum bench_outcome variants_compare(struct bench_study *s, struct bench_session *session, int *rc, struct err *e)
{
    *rc = 0;
    if (s->compared || !(s->engine->measures->buffers & UNTOLD) || s->plan.buffers || s->plan.keep_all ||
        (s->nshapes && s->shapes[0].load))
        return BENCH_ANSWERED;
    s->compared = 1;
    double now_s = progress_now_s(), part_s = VARIANTS_PART * (s->deadline_s - s->started_s);
    struct tally t = {.study = s, .found = {.arena = s->arena}, .until_s = fmin(now_s + part_s, s->deadline_s)};
    struct arena *a = arena_new();
    t.points = bench_points_of(s->results, a);
    enum bench_outcome outcome = compare_all(&t, session, UNTOLD, rc, e);
    sum_up(&t);
    if (outcome == BENCH_ANSWERED && !*rc)
        outcome = compare_all(&t, session, TOLD, rc, e);
    if (!*rc)
        *rc = bench_journal_append_noise(s->journal, &t.found, e);
    arena_free(a);
    return outcome;
}

int variants_fit(const struct bench_study *s, struct bench_place place)
{
    struct history_place at = bench_place_of(s, place, BENCH_DEFAULT);
    return at.bytes >= FEW_BYTES * (uint64_t)at.ranks;
}

void variants_resume(struct bench_study *s)
{
    for (int i = 0; i < s->results->noise.n; i++)
        s->compared |= s->results->noise.list[i].id && !strcmp(s->results->noise.list[i].id, ID);
    for (int i = 0; i < s->results->count; i++) {
        const struct bench_result *x = &s->results->items[i];
        if (!strcmp(x->engine, s->engine->name) && x->coll < COLL_MEASURED && (UNTOLD >> x->buffers & 1))
            s->matters[x->coll] |= 1u << x->buffers;
    }
}
