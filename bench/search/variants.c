/* Which types and places of the data are compared with the usual ones at which sizes, and what is said of it. */
#include "bench/search/candidates.h"

#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"

#define SIZES 3
#define LANES 4 /* calls of a comparison */
#define ID    "types-and-places"

/* Beyond this, buffers take longer to fill than calls take, and times are in proportion to the size. */
#define MOST_BYTES ((uint64_t)256 << 20)

/* Those that a job may have instead. A call that both sends to and receives from others needs two buffers. */
static unsigned others_of(int coll)
{
    switch (coll) {
    case COLL_ALLREDUCE:
        return 1u << BENCH_BFLOAT16 | 1u << BENCH_OUT_OF_PLACE;
    case COLL_REDUCESCATTER:
    case COLL_REDUCE:
        return 1u << BENCH_BFLOAT16 | 1u << BENCH_IN_PLACE;
    case COLL_ALLGATHER:
    case COLL_BROADCAST:
        return 1u << BENCH_IN_PLACE;
    default:
        return 0;
    }
}

/* ---- which points ---- */

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
        count[coll] = others_of(coll) & s->engine->measures->buffers ? list_sizes(s, known, coll, sizes[coll]) : 0;
        most = count[coll] > most ? count[coll] : most;
    }
    for (int i = 0; i < most; i++)
        for (int coll = COLL_MEASURED - 1; coll >= 0; coll--)
            for (int other = 1; other < BENCH_BUFFERS; other++) {
                if (i >= count[coll] || !(others_of(coll) & s->engine->measures->buffers & 1u << other) ||
                    !study_has_variants(&sizes[coll][i]->at))
                    continue;
                ARENA_ADD(a, list, n) = *sizes[coll][i];
                list[n - 1].at.buffers = other;
            }
    *points = list;
    return n;
}

/* ---- which calls ---- */

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
        r->candidates[r->ncandidates++] = (struct candidate){.knobs = &bench_point_default(p, BENCH_DEFAULT)->call};
    for (; next && r->ncandidates < LANES;) {
        r->candidates[r->ncandidates++] = (struct candidate){.knobs = &next->call};
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

/* ---- what comes of it ---- */

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
        if (!strcmp(x->engine, s->engine->name) && x->coll < COLL_MEASURED && others_of(x->coll) >> x->buffers & 1)
            s->matters[x->coll] |= 1u << x->buffers;
    }
}
