/* What the bench room offers to those above it: measure collectives over everything that can be chosen, into a journal.
 */
#ifndef BENCH_SEARCH_BENCH_H
#define BENCH_SEARCH_BENCH_H

#include <signal.h>
#include <stdio.h>

#include "bench/launch/setup.h"
#include "core/log.h"
#include "core/progress.h"

#define BENCH_SIZES 64

/* Sizes that a user has listed, ascending; none: `count` 0. */
struct bench_size_list {
    int count;
    uint64_t bytes[BENCH_SIZES];
};

struct bench_options {
    const char *engine;   /* a name of bench_engines */
    const char *results;  /* the journal */
    unsigned collectives; /* a bit for each enum coll */
    uint64_t min_bytes;   /* sizes go from here, */
    uint64_t max_bytes;   /* by `step_factor`, to here, which is the last one */
    double step_factor;
    struct bench_size_list sizes; /* these instead */
    const char *workload; /* nccltune-workload.json: its sizes within those bounds instead, its collectives among those,
                             time and launches by what a step calls; NULL: all points are alike */
    double budget_s;      /* an upper bound; ends earlier when there is nothing left to learn */
    double watchdog_s;    /* the least time after which a measurement without answer is killed */
    int resume;           /* go on with an existing journal */
    struct bench_setup setup; /* `topology` and `log` are filled by bench_run */
};

/* mpi; allreduce, allgather, reducescatter and broadcast from 8 B to 16 MiB by 4; 60 s. No `results`. */
void bench_options_default(struct bench_options *o);

struct bench_summary {
    int measured;    /* journal lines written */
    int resumed;     /* journal lines found, with `resume` */
    int troubled;    /* of the written: wrong data, crashed, hung; and launches that would not start */
    int left_out;    /* points without a measurement for lack of time */
    int interrupted; /* *stop was set */
};

/* Runs the measurement that `o` describes, on `topology` (NULL unknown; its hash goes into the journal). `log`,
 * `progress` and `summary` may be NULL. Once *stop is set it ends within about two seconds, all children gone and the
 * journal ready for `resume`; that is no error. A candidate that crashes, hangs or computes wrong data is none either:
 * both are told through `summary`. Errors: options that make no sense (ERR_USAGE), what the engine needs is not there
 * (ERR_LACKS), the default cannot be run, the journal cannot be written. */
int bench_run(const struct bench_options *o, const struct topology *topology, struct log *log,
              struct progress *progress, volatile sig_atomic_t *stop, struct bench_summary *summary, struct err *e);

/* Says what bench_run would do: launches, calls, sizes, time. Runs nothing on other machines. */
int bench_print_plan(const struct bench_options *o, const struct topology *topology, struct log *log, FILE *out,
                     struct err *e);

/* To be called before anything else is done: under an mpirun or srun that started this program on every rank, returns
 * in the one that conducts and turns the others into workers. */
int bench_join(const struct bench_options *o, struct err *e);

#endif
