/* A running launch of the nccl engine, and asking it. */
#pragma once

#include "bench/candidates/engine.h"
#include "bench/engines/nccl/worker_pool.h"
#include "core/coll.h"

/* NCCL's cost table at one point, once known. */
struct algorithm_table {
    struct nccl_point point;
    struct nccl_choice choice;
};

/* At how many points the default is held against what jobs take today. */
#define NCCL_SITE_POINTS 3

/* State with the plan's lifetime. */
struct nccl_context {
    struct bench_setup setup;
    struct nccl_options own;
    int buffers; /* of the plan */
    const char *plugin;
    struct nccl_pool *pool;
    struct arena *arena;
    double start_s;                                /* how long the first launch took; 0 none yet */
    char lost[BENCH_DETAIL];                       /* who is gone and has not come back; "" nobody */
    const char *active;                            /* others' plugins in the last launch; NULL: none yet */
    int inherited;                                 /* the environment's NCCL variables have been logged */
    int killed;                                    /* the launch before this one did not end by itself */
    int compared;                                  /* the default was held against the site's, which costs a start */
    struct bench_interval today[NCCL_SITE_POINTS]; /* what a job takes now over what the baseline takes */
    int ntoday;
    uint64_t beside[COLL_COUNT]; /* cells whose data was checked with other types and places */
};

/* Times of NCCL's own choice at one point, to be held against the library without our plugin. */
#define DEFAULT_SAMPLES 32
struct default_point {
    struct nccl_point point;
    double us[DEFAULT_SAMPLES];
    int n;
};

/* What a call has connected among the ranks that call together now. */
struct used_cell {
    int coll, algo, proto;
    uint64_t bytes; /* of calls that leave the choice to NCCL; else 0 */
};

struct nccl_session {
    struct bench_session base;
    struct nccl_context *context;
    struct arena *arena;
    const struct bench_knobs *launch;
    struct nccl_times *times;       /* by rank */
    struct nccl_prepared *prepared; /* by rank */
    struct algorithm_table *tables;
    struct used_cell *used;
    struct default_point *defaults;
    int ntables, nused, ndefaults;
    struct nccl_point point;     /* the prepared one */
    struct bench_shape groups;   /* of the ranks that call together; all zero: everybody */
    char data[48], remark[200];  /* of that */
    char active[NCCL_ACTIVE];    /* others' plugins at work */
    int samples, odd, odd_said;  /* samples of which two clocks were read, and in which they disagreed */
    volatile sig_atomic_t *stop; /* of the caller that opened it */
    int api;                     /* version of the tuner interface that NCCL uses; 0 unknown */
};

struct nccl_request {
    struct nccl_session *session;
    volatile sig_atomic_t *stop;
    double patience_s;
    char *detail; /* BENCH_DETAIL */
};

/* Contents of a request, without the call: BENCH_USUAL buffers are the plan's, and as jobs have it gradients are
 * reduced in place, other collectives go from one buffer to another. */
struct nccl_measure nccl_session_question(const struct nccl_session *s, int coll, uint64_t bytes,
                                          struct bench_shape shape, int buffers);

int nccl_same_point(const struct nccl_point *a, const struct nccl_point *b);

/* All ranks get ready for a point. BENCH_ANSWERED with *refusals: none of them can have it. */
enum bench_outcome nccl_session_prepare(const struct nccl_request *r, const struct nccl_point *p, int *refusals);

/* One request to all ranks. `*status` and `*us`, the slowest rank's, are set when it was answered. A first use of an
 * algorithm gets more time than r->patience_s. */
enum bench_outcome nccl_session_ask(const struct nccl_request *r, const struct nccl_measure *q,
                                    enum bench_status *status, double *us);

/* bench_measure_ops.measure: candidates in turn, each told as it comes. */
enum bench_outcome nccl_session_measure(struct bench_session *base, const struct bench_batch *b,
                                        volatile sig_atomic_t *stop, bench_sample_fn *report, void *user,
                                        char detail[BENCH_DETAIL]);

/* Starts the launch anew without our plugin, as jobs run it, once for the default one, and says where NCCL takes
 * another time then. After this the session is of no further use. */
void nccl_session_compare_with_site(struct nccl_session *s);

/* Adds what came of it for the baseline launch: one finding, BENCH_TODAY. */
void nccl_session_judge_site(const struct nccl_context *c, struct findings *found);

/* A GPU's clock ramps and NCCL's proxies are threads on the host: 2 ms are worth more than the samples of a search on
 * host memory. */
#define NCCL_SAMPLING ((struct bench_sampling){.least_us = 2000, .most_us = 5000, .calls = 5})
