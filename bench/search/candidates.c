/* The candidates of a point; and which types and places of the data are compared with the usual ones at which sizes,
 * and what is said of it. */
#include "bench/search/candidates.h"

#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"

static void add_candidate(struct rounds *r, const struct bench_knobs *knobs, const char *refines)
{
    r->candidates[r->ncandidates++] = (struct candidate){.knobs = knobs, .refines = refines, .status = BENCH_OK};
}

/* What was measured near there, else what the library predicts; INFINITY unknown, below 0 not offered. */
static double expect_us(const struct bench_study *s, const struct rounds *r, const struct bench_knobs *call)
{
    double us = r->engine->expect_us ? r->engine->expect_us(r->session, &r->at, call, s->stop) : 0;
    double near_us = us < 0 ? 0 : known_expect_us(s->results, &r->at, call->label);
    return near_us > 0 ? near_us : us == 0 ? INFINITY : us;
}

void candidates_list(const struct bench_study *s, int full, struct rounds *r)
{
    const struct known_place *at = &r->at;
    int n = 0;
    struct ranked {
        const struct bench_knobs *knobs;
        const char *refines;
        double expect_us;
    } *ranked = arena_alloc(r->arena, (size_t)s->plan.ncalls * sizeof *ranked);
    r->candidates = arena_alloc(r->arena, (size_t)(s->plan.ncalls + BENCH_VARIATIONS) * sizeof *r->candidates);
    for (int i = 0; i < s->plan.ncalls; i++) {
        const struct bench_call *c = &s->plan.calls[i];
        if (c->coll != at->coll)
            continue;
        double us = 0;
        if (!strcmp(c->knobs.label, BENCH_DEFAULT))
            add_candidate(r, &c->knobs, NULL);
        else if (full && at->bytes >= c->min_bytes && !known_hopeless(s->results, at, c->knobs.label) &&
                 (us = expect_us(s, r, &c->knobs)) >= 0) {
            int k = n++;
            for (; k > 0 && ranked[k - 1].expect_us > us; k--)
                ranked[k] = ranked[k - 1];
            ranked[k] = (struct ranked){&c->knobs, c->refines, us};
        }
    }
    for (int i = 0; i < n; i++)
        add_candidate(r, ranked[i].knobs, ranked[i].refines);
}

int candidates_vary(void *user, struct rounds *r, const struct bench_knobs *winner)
{
    const struct bench_study *s = user;
    struct bench_knobs *out = arena_alloc(s->arena, BENCH_VARIATIONS * sizeof *out);
    int n = r->engine->vary(r->session, r->at.bytes, winner, s->arena, out), added = 0;
    for (int i = 0; i < n; i++) {
        if (known_hopeless(s->results, &r->at, out[i].label))
            continue;
        add_candidate(r, &out[i], winner->label);
        added++;
    }
    return added;
}

/* ---- what is to be proven ---- */

/* Further behind the best than this nobody contends: exploring tells so much. */
#define CONTEND_WITHIN 1.05

/* Starts after which a proof is looked at. */
static const int looks[BENCH_LOOKS] = {BENCH_FEWEST, 8, 12, 20};

const struct bench_point *candidates_point(const struct bench_points *p, const struct known_place *at)
{
    for (int i = 0; i < p->count; i++) {
        const struct bench_point *x = &p->items[i];
        if (x->coll == at->coll && x->bytes == at->bytes && x->nodes == at->nodes && x->ranks == at->ranks &&
            x->others == at->others && x->buffers == at->buffers && (!at->engine || !strcmp(x->engine, at->engine)))
            return x;
    }
    return NULL;
}

/* The best by what was explored, within reach of one another. */
static int list_promising(const struct bench_study *s, const struct bench_point *p, const char *launch,
                          struct contender found[CONTENDERS])
{
    const char *explored = BENCH_DEFAULT;
    int n = 0;
    for (int i = 0; i < p->ncandidates; i++)
        if (p->candidates[i].promise > 0 && !strcmp(p->candidates[i].launch.label, launch))
            explored = launch;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *x = &p->candidates[i], *own = NULL;
        for (int j = 0; j < p->ncandidates && !own; j++)
            if (!strcmp(p->candidates[j].launch.label, launch) && !strcmp(p->candidates[j].call.label, x->call.label))
                own = &p->candidates[j];
        if (strcmp(x->launch.label, explored) != 0 || x->status != BENCH_OK || (own && own->status != BENCH_OK) ||
            x->promise < 1 + s->options->margin / 2)
            continue;
        int k = n < CONTENDERS ? n++ : CONTENDERS;
        for (; k > 0 && found[k - 1].candidate->promise < x->promise; k--)
            if (k < CONTENDERS)
                found[k] = found[k - 1];
        if (k < CONTENDERS)
            found[k] = (struct contender){x, own ? own->proof : (struct bench_interval){0}};
    }
    while (n && found[n - 1].candidate->promise * CONTEND_WITHIN < found[0].candidate->promise)
        n--;
    return n;
}

const struct bench_candidate *candidates_promising(const struct bench_study *s, const struct bench_point *p)
{
    const struct bench_candidate *usual = p ? bench_point_default(p, BENCH_DEFAULT) : NULL;
    struct contender found[CONTENDERS];
    return usual && list_promising(s, p, BENCH_DEFAULT, found) ? found[0].candidate : usual;
}

int candidates_contend(const struct bench_study *s, const struct bench_point *p, const char *launch,
                       struct contender found[CONTENDERS])
{
    int n = list_promising(s, p, launch, found), kept = 0, is_look = 0, starts = 0;
    for (int i = 0; i < n; i++)
        starts = found[i].proof.n > starts ? found[i].proof.n : starts;
    for (int i = 0; i < BENCH_LOOKS; i++)
        is_look |= starts == looks[i];
    if (!is_look)
        return starts < looks[BENCH_LOOKS - 1] ? n : 0;
    for (int i = 0; i < n; i++) {
        if (bench_gain_clears(found[i].proof, s->options->margin))
            return 0;
        const struct bench_interval *proof = &found[i].proof;
        if (proof->n < BENCH_FEWEST || (!proof->lost && proof->high >= 1 + s->options->margin))
            found[kept++] = found[i];
    }
    return starts < looks[BENCH_LOOKS - 1] ? kept : 0;
}

void candidates_list_contenders(const struct bench_study *s, const struct bench_point *p, struct rounds *r)
{
    static const struct bench_knobs untouched = {.label = BENCH_DEFAULT};
    struct contender found[CONTENDERS];
    int n = p ? candidates_contend(s, p, r->at.launch, found) : 0;
    r->candidates = arena_alloc(r->arena, (CONTENDERS + 1) * sizeof *r->candidates);
    add_candidate(r, &untouched, NULL);
    for (int i = 0; i < n; i++)
        add_candidate(r, &found[i].candidate->call, NULL);
}

/* ---- types and places of the data ---- */

#define SIZES 3
#define LANES 4 /* calls of a comparison */
#define ID    "types-and-places"

/* Beyond this, buffers take longer to fill than calls take, and times are in proportion to the size. */
#define MOST_BYTES ((uint64_t)256 << 20)

/* Those that a job may have instead. A call that both sends to and receives from others needs two buffers. */
static const unsigned others_of[COLL_MEASURED] = {
    [COLL_ALLREDUCE] = 1u << BENCH_BFLOAT16 | 1u << BENCH_OUT_OF_PLACE,
    [COLL_REDUCESCATTER] = 1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE,
    [COLL_REDUCE] = 1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE,
    [COLL_ALLGATHER] = 1u << BENCH_IN_PLACE,
    [COLL_BROADCAST] = 1u << BENCH_IN_PLACE,
};

/* The sizes of a collective: the middle one, the last and the first of those where a choice is to lose, else of all. */
static int list_sizes(const struct bench_study *s, const struct bench_points *known, int coll,
                      const struct study_point *sizes[SIZES])
{
    const struct study_point *list[BENCH_SIZES];
    int n = 0;
    for (int decided = 1; decided >= 0 && n < SIZES; decided--) {
        int count = 0;
        for (int i = 0; i < s->nsizes && count < BENCH_SIZES; i++) {
            const struct study_point *p = study_find_point(s, coll, i);
            const struct bench_candidate *choice = p ? candidates_promising(s, candidates_point(known, &p->at)) : NULL;
            if (choice && p->at.bytes <= MOST_BYTES && (!decided || strcmp(choice->call.label, BENCH_DEFAULT) != 0))
                list[count++] = p;
        }
        const int wanted[SIZES] = {count / 2, count - 1, 0};
        for (int i = 0; i < SIZES && count && n < SIZES; i++) {
            int is_there = 0;
            for (int k = 0; k < n; k++)
                is_there |= sizes[k] == list[wanted[i]];
            if (!is_there)
                sizes[n++] = list[wanted[i]];
        }
    }
    return n;
}

int variants_list(const struct bench_study *s, const struct bench_points *known, struct arena *a,
                  const struct study_point **points)
{
    const struct study_point *sizes[COLL_MEASURED][SIZES];
    struct study_point *list = NULL;
    int n = 0, most = 0, count[COLL_MEASURED] = {0};
    if (s->compared || s->plan.buffers || s->plan.keep_all)
        return 0;
    for (int coll = 0; coll < COLL_MEASURED; coll++) {
        count[coll] = others_of[coll] & s->engine->measures->buffers ? list_sizes(s, known, coll, sizes[coll]) : 0;
        most = count[coll] > most ? count[coll] : most;
    }
    for (int i = 0; i < most; i++)
        for (int coll = COLL_MEASURED - 1; coll >= 0; coll--)
            for (int other = 1; other < BENCH_BUFFERS; other++) {
                if (i >= count[coll] || !(others_of[coll] & s->engine->measures->buffers & 1u << other) ||
                    !study_has_variants(&sizes[coll][i]->at))
                    continue;
                ARENA_ADD(a, list, n) = *sizes[coll][i];
                list[n - 1].at.buffers = other;
            }
    *points = list;
    return n;
}

/* The call that it refines, or itself. */
static const char *kind_of(const struct bench_plan *p, int coll, const char *label)
{
    for (int i = 0; i < p->ncalls; i++)
        if (p->calls[i].coll == coll && p->calls[i].refines && !strcmp(p->calls[i].knobs.label, label))
            return p->calls[i].refines;
    return label;
}

void variants_candidates(const struct bench_study *s, const struct bench_point *p, struct rounds *r)
{
    const struct bench_candidate *next = candidates_promising(s, p);
    r->candidates = arena_alloc(r->arena, LANES * sizeof *r->candidates);
    if (next && strcmp(next->call.label, BENCH_DEFAULT) != 0)
        add_candidate(r, &bench_point_default(p, BENCH_DEFAULT)->call, NULL);
    for (; next && r->ncandidates < LANES;) {
        add_candidate(r, &next->call, NULL);
        next = NULL;
        for (int i = 0; i < p->ncandidates; i++) {
            const struct bench_candidate *x = &p->candidates[i];
            int known = x->status > BENCH_DROPPED || !(x->promise > 1 / ROUNDS_HOPELESS);
            for (int k = 0; k < r->ncandidates && !known; k++)
                known = !strcmp(kind_of(&s->plan, p->coll, x->call.label),
                                kind_of(&s->plan, p->coll, r->candidates[k].knobs->label));
            if (!known && !strcmp(x->launch.label, BENCH_DEFAULT) && (!next || x->promise > next->promise))
                next = x;
        }
    }
}

/* How many times as fast as the choice another candidate is, turn by turn. */
static struct bench_interval gain_over(const struct candidate *choice, const struct candidate *x)
{
    double gains[ROUNDS_SAMPLES], scratch[ROUNDS_SAMPLES];
    int n = choice->n < x->n ? choice->n : x->n;
    for (int i = 0; i < n; i++)
        gains[i] = choice->us[i] / choice->beside_us[i] / (x->us[i] / x->beside_us[i]);
    return bench_interval_of(gains, n, scratch);
}

int variants_change(struct bench_study *s, const struct bench_point *p, const struct rounds *r)
{
    const struct known_place *at = &r->at;
    const struct bench_candidate *known = candidates_promising(s, p);
    char size[UNIT_TEXT];
    int choice = 0, better = -1, failed = 0;
    double most = 0;
    for (int i = 1; i < r->ncandidates && known; i++)
        choice = strcmp(r->candidates[i].knobs->label, known->call.label) ? choice : i;
    for (int i = 0; i < r->ncandidates; i++) {
        failed |= r->candidates[i].status > BENCH_DROPPED && r->candidates[i].status != BENCH_FAILED;
        struct bench_interval gain = gain_over(&r->candidates[choice], &r->candidates[i]);
        if (i != choice && gain.n > BENCH_FEWEST && gain.low >= 1 + s->options->margin && gain.median > most) {
            better = i;
            most = gain.median;
        }
    }
    if (better >= 0) {
        struct finding *f = finding_add(
            &s->found_types, FINDING_NOTE, ID, bench_buffers_name(at->buffers),
            "%s of %s: another choice than for the usual data, which is %s: %s is %.2fx as fast; one rule serves both, "
            "and what time there is measures that at all sizes",
            coll_name(at->coll), unit_bytes(size, at->bytes), r->candidates[choice].knobs->label,
            r->candidates[better].knobs->label, most);
        log_info(s->log, "%s", finding_sentence(f, s->arena));
    }
    s->matters[at->coll] |= (unsigned)(better >= 0 || failed) << at->buffers;
    return better >= 0 || failed;
}

int variants_finish(struct bench_study *s, int compared, int wanted, struct err *e)
{
    s->compared = 1;
    if (!wanted)
        return 0;
    struct finding *f =
        !compared
            ? finding_add(&s->found_types, FINDING_NOTE, ID, NULL,
                          "not compared for lack of time: rules rest on float32, AllReduce in place, others not")
            : finding_add(&s->found_types, FINDING_OK, ID, NULL, "types and places of the data %s: %d comparisons%s",
                          s->found_types.n    ? "change no other choice"
                          : compared < wanted ? "change no choice that was compared"
                                              : "do not matter here",
                          compared,
                          compared < wanted ? arena_printf(s->arena, ", %d left out", wanted - compared) : "");
    f->advice = compared < wanted ? "a larger --budget compares more" : NULL;
    log_info(s->log, "%s", finding_sentence(f, s->arena));
    return bench_journal_append_noise(s->journal, &s->found_types, e);
}

void variants_resume(struct bench_study *s)
{
    const struct findings *before = &s->results->noise;
    s->found_types.arena = s->arena;
    for (int i = 0; i < before->n; i++)
        s->compared |= before->list[i].id && !strcmp(before->list[i].id, ID);
    for (int i = 0; i < s->results->count; i++) {
        const struct bench_result *x = &s->results->items[i];
        if (!strcmp(x->engine, s->engine->name) && x->coll < COLL_MEASURED && others_of[x->coll] >> x->buffers & 1)
            s->matters[x->coll] |= 1u << x->buffers;
    }
}
