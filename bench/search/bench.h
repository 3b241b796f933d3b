/* Public interface of bench/: measure collectives over all choices, into a journal. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/candidates/engine.h"
#include "core/log.h"

/* ---- options of a measurement ---- */

#define BENCH_SIZES 64

/* Sizes that a user has listed, ascending; none: `count` 0. */
struct bench_size_list {
    int count;
    uint64_t bytes[BENCH_SIZES];
};

/* Shapes of groups that are to be measured; none: everybody together, or the workload's. */
struct bench_shape_list {
    int usual;      /* those that jobs usually make, before */
    int if_fitting; /* what does not fit the nodes is left out, and no error */
    int count;
    struct bench_shape items[BENCH_SHAPES];
};

struct bench_options {
    const char *engine;   /* a name of bench_engines */
    const char *results;  /* the journal */
    unsigned collectives; /* a bit for each enum coll */
    uint64_t min_bytes;   /* sizes go from here, */
    uint64_t max_bytes;   /* by `step_factor`, to here, which is the last one */
    int to_memory;        /* nobody has said max_bytes: no further than there is memory for */
    double step_factor;
    struct bench_size_list sizes; /* these instead */
    struct bench_shape_list shapes;
    const char *workload; /* nccltune-workload.json: its sizes within those bounds instead, its collectives among those,
                             time and launches by what a step calls; NULL: all points are alike */
    double budget_s;      /* an upper bound; ends earlier when there is nothing left to learn */
    int budget_open;      /* nobody has said budget_s: more, if starts and points ask for it (bench/search/budget.h) */
    double margin;        /* the gain that is worth a setting */
    double confidence;    /* of the intervals that have to clear it */
    double watchdog_s;    /* the least time after which a measurement without answer is killed */
    int resume;           /* go on with an existing journal */
    struct option_group *what;      /* the options that say what to measure; NULL: there are none */
    const struct option_group *own; /* from bench_engine_groups; NULL: no engine's own options were said */
    struct bench_setup setup;       /* `own`, `topology` and `log` are filled by bench_run */
};

/* mpi; allreduce, allgather, reducescatter and broadcast from 8 B to 16 MiB by 4; 60 s. No `results`. */
void bench_options_default(struct bench_options *o);

/* The sizes of `o`: its bounds and what lies between. Allocated in `a`. */
uint64_t *bench_sizes(const struct bench_options *o, struct arena *a, int *count);

/* Check `o` (ERR_USAGE), before anything else; find the engine. */
int bench_options_check(const struct bench_options *o, const struct bench_engine **engine, struct err *e);

struct bench_summary {
    int measured;    /* journal lines written */
    int resumed;     /* journal lines found, with `resume` */
    int troubled;    /* of the written: wrong data, crashed, hung; and launches that would not start */
    int left_out;    /* points without a measurement for lack of time */
    int interrupted; /* *stop was set */
};

/* ---- a measurement ---- */

/* Runs the measurement that `o` describes, on `topology` (NULL unknown; its hash goes into the journal). `log`,
 * which has the progress, and `summary` may be NULL. Once *stop is set it ends within about two seconds, all children
 * gone and the journal ready for `resume`; that is no error. A candidate that crashes, hangs or computes wrong data is
 * none either: both are told through `summary`. `measured` (NULL: not wanted) replaces *measured (NULL or results) by
 * all that the journal now holds, for bench_results_free; left alone after an error. Errors: options that make no sense
 * (ERR_USAGE), what the engine needs is not there (ERR_LACKS), the default cannot be run, the journal cannot be
 * written. */
int bench_run(const struct bench_options *o, const struct topology *topology, struct log *log,
              volatile sig_atomic_t *stop, struct bench_summary *summary, struct bench_results **measured,
              struct err *e);

/* The plan of bench_run, as {engine, library, description, launches, beside, collectives: {NAME: {calls,
 * refinements}}, sizes, shapes, time}: launches and calls by their labels, sizes in bytes, shapes where the
 * number of ranks is known, time (nothing is measured: none) as in bench/search/budget.h. Runs nothing on other
 * machines. cJSON_Delete frees; NULL after an error, as in bench_run. */
struct cJSON *bench_plan_json(const struct bench_options *o, const struct topology *topology, struct log *log,
                              struct err *e);

/* The same for people. */
void bench_plan_print(const struct cJSON *plan, FILE *out);

/* To be called before anything else is done: under an mpirun or srun that started this program on every rank, returns
 * in the one that conducts and turns the others into workers. */
int bench_join(const struct bench_options *o, struct err *e);
