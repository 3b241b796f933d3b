/* One run: everything about it, which points it has and what each is worth. */
#pragma once

#include <signal.h>

#include "bench/results/known.h"
#include "bench/results/results.h"
#include "bench/search/bench.h"
#include "bench/search/budget.h"
#include "core/call/workload.h"
#include "core/coll.h"
#include "core/progress.h"

/* When a run is to end, and what its parts take: seconds. */
struct study_time {
    double started_s, deadline_s; /* progress_now_s() */
    double start_s;               /* the longest start so far */
    double visit_s;               /* what a session takes behind its start that tells launches apart: the longest of
                                   * the default launch, for who is slower goes no further */
    double want_visit_s;          /* what it is to take: what passes over the machine meanwhile is averaged out */
    double calls_s;               /* what exploring all calls takes, as the first session or longer where that was cut;
                                   * and proving them */
};

#define STUDY_SCREENING 6

/* A collective at a size on a shape of group, in the baseline launch. */
struct study_point {
    struct known_place at;
    int size, shape; /* indices */
    double calls;    /* per step of the workload; without one 1 */
    double us;       /* what its default is expected to take, and */
    double claim;    /* how much of a session's time it may claim, 1 on average: while that goes over it */
};

/* Everything about one run. */
struct bench_study {
    const struct bench_options *options;
    const struct bench_engine *engine;
    struct bench_plan plan;
    struct bench_journal *journal;
    struct bench_results *results; /* those of the journal, growing */
    struct arena *arena;
    struct log *log;
    struct progress *progress;
    volatile sig_atomic_t *stop;
    struct bench_summary *summary;

    struct workload *workload; /* says what points are worth; NULL: all the same */
    uint64_t *sizes;           /* bytes, ascending */
    int nsizes;
    int nodes, ranks;           /* of everybody; 0 until the first session has said so, and from then on: */
    struct bench_shape *shapes; /* of the groups that are measured, the first is what launches are told apart by */
    int nshapes;
    struct study_point *points; /* of all shapes, in the order in which they are explored */
    int npoints;
    /* The few that tell launches apart, smaller ones first: those that take most of a step; without a workload,
     * AllReduce (or what else is asked for) at four sizes from the smallest to the largest, and AllToAll at two large
     * ones. */
    struct study_point screening[STUDY_SCREENING];
    int nscreening;
    unsigned matters[COLL_MEASURED]; /* a bit for each enum bench_buffers that is measured everywhere, too */
    int compared;                    /* that has been looked into (bench/search/candidates.h), */
    struct findings found_types;     /* with these findings */
    int losses;                      /* times that agents were started anew after nodes were lost */
    double found;                    /* how many times as fast the points are by what was proven so far, as a mean */
    struct study_time time;
};

/* Rounds are numbers in the journal: screening, the first session, the default screened again, and from then on pairs
 * of sessions, those that explore calls, those that prove them, and those that leave a setting out. */
enum {
    BENCH_SCREENING_ROUND,
    BENCH_FIRST_ROUND,
    BENCH_AGAIN_ROUND,
    BENCH_PAIRS_ROUND,
    BENCH_PROBE_ROUND = 99, /* the very first start */
    BENCH_CALLS_ROUND,
    BENCH_PROOF_ROUND = 120,
    BENCH_LEAST_ROUND = 160,
};

int bench_stopped(const struct bench_study *s);

/* Nonzero if the time is over; and from when on no answer is waited for, a start later: 0 where nobody has named a
 * budget, which then grows with what samples take. */
int bench_is_over(const struct bench_study *s);
double bench_last_s(const struct bench_study *s);

/* Says in a result where it was measured, and with what. */
void bench_place_result(const struct bench_study *s, const struct known_place *at, struct bench_result *r);

/* `n` lines of the journal, of that place: all of them or, where the disk is full, none. What is wrong is counted and
 * said. */
int bench_write(struct bench_study *s, const struct known_place *at, struct bench_result *r, int n, struct err *e);

/* Microseconds that a call might take while nobody knows. */
double bench_guess_us(uint64_t bytes);

/* Run everything, by an engine that measures; what the journal holds already is not measured again. */
int bench_conduct(struct bench_study *s, struct err *e);

/* Write the predictions of an engine that computes to the journal: of every launch its default calls and its best ones,
 * and of the baseline launch and the best one every call. What the journal holds already is not written again. Errors:
 * the journal cannot be written; the engine predicts nothing for the untouched library. */
int bench_predict(struct bench_study *s, struct err *e);

/* Fill points, once nodes, ranks and shapes are known: what is asked for, and called by the workload where there is
 * one. Bytes are those that make equal blocks for all ranks, where a collective has such; sizes that come to as many
 * are one point. */
void study_list_points(struct bench_study *s);

/* Add those with other data that change choices (`matters`), unless they are there. */
void study_list_variants(struct bench_study *s);

/* Nonzero if a rank has an element for each other one there, as other types and places of the data need. */
int study_has_variants(const struct known_place *at);

/* Return the point of a size, by its index, on the first shape; NULL: there is none. */
const struct study_point *study_find_point(const struct bench_study *s, int coll, int size);

/* What to measure, and its duration by the baseline launch. */
struct budget_task bench_task(const struct bench_study *s);

/* ---- a session in one launch ---- */

/* What it does with the points. */
enum search_what {
    SEARCH_SCREEN,  /* the default call at the few points that tell launches apart, */
    SEARCH_VISIT,   /* at all of them, and what is to be proven there; */
    SEARCH_EXPLORE, /* all calls, and once a run */
    SEARCH_COMPARE, /* other types and places of the data at a few points; */
    SEARCH_PROVE,   /* what was explored */
};

struct search_session {
    const struct bench_knobs *launch;
    int round;
    enum search_what what; /* not SEARCH_COMPARE */
    double part;           /* of the time that is left once it has started */
};

#define SEARCH_STOPPED (-1)

/* Run it. What crashes or hangs is journalled, killed and replaced. Errors: the journal cannot be written; the default
 * launch does not start. SEARCH_STOPPED, in place of 0, once *stop is set. */
int search_session_run(struct bench_study *s, const struct search_session *v, struct err *e);

/* ---- screening: which launches are worth examining, told at a few points with the library's own algorithm ---- */

struct screening_launch {
    const struct bench_knobs *launch;
    double score; /* its time over the default's, weighted geometric mean over the screening points; INFINITY: out */
};

struct screening {
    struct screening_launch *items; /* the default first */
    int count;
};

/* Adds every launch of the plan to `f`, which is empty. */
void screening_begin(const struct bench_study *s, struct screening *f);

/* The default alone, only to learn what a start takes. */
int screening_default(struct bench_study *s, const struct screening *f, struct err *e);

/* Screens them, each alone and the best ones together, while there is time, and leaves in `f` the default and behind it
 * those that may be faster, the best first. */
int screening_run(struct bench_study *s, struct screening *f, struct err *e);

/* Screen both, unless that was done; `*worth` is the time of `without` over that of `launch`; INFINITY unknown. */
int screening_worth(struct bench_study *s, const struct bench_knobs *launch, const struct bench_knobs *without,
                    double *worth, struct err *e);

/* ---- shapes of groups ---- */

/* Fills shapes and nshapes once nodes and ranks are known: those that were asked for, else the workload's groups, else
 * the usual ones as far as the budget goes, else everybody together; what is left out is said. Error: one that was
 * asked for does not fit. */
int search_shapes_take(struct bench_study *s, struct err *e);

/* The same beforehand, where options and the topology (NULL: unknown) say how many ranks there will be: return how many
 * shapes, 0 where nobody knows. */
int search_shapes_plan(const struct bench_options *o, const struct topology *t, struct bench_shape out[BENCH_SHAPES]);

/* ---- the order of launches, by prediction ---- */

/* Sorts the launches of `p` behind the default, which stays first, so that the promising ones are screened while there
 * is time: predicted faster than the default, then those that the model is silent on, in their order, then predicted
 * slower. Of sets of HCAs and the like NCCL's own cost table says nothing. Returns the number of launches that the
 * model had a word on; 0, and nothing is moved, where s->predictor is NULL or does not know the machine. */
int search_prior_launches(const struct bench_setup *s, int nodes, struct arena *a, struct bench_plan *p);
