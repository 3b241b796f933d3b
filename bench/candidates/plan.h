/* Everything that can be tried. */
#ifndef BENCH_CANDIDATES_PLAN_H
#define BENCH_CANDIDATES_PLAN_H

#include "bench/launch/setup.h"

/* A candidate within one launch. */
struct bench_call {
    int coll;
    uint64_t min_bytes; /* pointless below */
    struct bench_knobs knobs;
    const char *refines; /* label of the call that this one varies, which stands before it and others that do: tried
                            where that one has won; NULL: on its own */
};

/* The untouched default comes first in `launches`, and in `calls` for each collective. */
struct bench_plan {
    const char *library;
    int buffers; /* enum bench_buffers */
    struct bench_call *calls;
    struct bench_knobs *launches;
    int ncalls, nlaunches;
    struct bench_knobs *beside; /* what is tried together with the best of the launches, whatever that is */
    int nbeside;
    int keep_all;     /* launches are compared with one another: none is left behind */
    int prior_nodes;  /* a model may be asked about so many, and the order of launches goes by that where they are
                       * several;  0: of these calls it knows nothing */
    double *expected; /* of each launch, how many times as fast as the default it is by prediction; 0: the model is
                       * silent; NULL: nothing was predicted */
    const int *nodes; /* engines that compute: the numbers of nodes, and */
    int nnodes, ranks_per_node;
    int one_session; /* the session that `open` gives cannot be had twice: a death ends the measurement */
    void *context;   /* the engine's own */
};

/* One more: the default of a collective, for whoever calls this to fill. */
struct bench_call *bench_plan_add_call(struct bench_plan *p, struct arena *a, int coll);
void bench_plan_add_launch(struct bench_plan *p, struct arena *a, struct bench_knobs knobs);

/* For setup->jobs: these launches and the default, and of the calls of `p` the library's own choice alone. */
void bench_plan_jobs(struct bench_plan *p, struct arena *a, const struct bench_setup *s);

/* A single setting, in `a`. */
struct bench_knobs bench_plan_knob(struct arena *a, const char *label, const char *name, const char *value);

/* Whether both have the same settings, in whatever order. */
int bench_plan_same(const struct bench_knobs *x, const struct bench_knobs *y);

/* The most variations of one call that are tried at a point. */
#define BENCH_VARIATIONS 8

#endif
