/* Options of a measurement, and its callbacks. */
#pragma once

#include <stdint.h>

#include "bench/candidates/engine.h"
#include "bench/launch/launch.h"
#include "core/option.h"

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
