/* Interface of an engine: an identity, and the functions of its kind.
 *
 * An engine knows how to reach one library. It is of one of three kinds: it measures calls, predicts them, or makes a
 * document of its own. What is tried when, how often, for how long and what is concluded is decided above, once for all
 * engines. doc/engines/ has a skeleton of each kind. */
#pragma once

#include <signal.h>
#include <stdio.h>

#include "bench/launch/launch.h"
#include "bench/results/known.h"
#include "core/finding.h"
#include "core/option.h"

/* ---- what can be tried ---- */

/* A candidate within one launch. */
struct bench_call {
    int coll;
    uint64_t min_bytes; /* pointless below */
    struct bench_knobs knobs;
    const char *refines; /* label of the call that this one varies, which stands before it and others that do: tried
                            where that one has won; NULL: on its own */
};

/* The baseline comes first in `launches`, and in `calls` for each collective. */
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
    const int *nodes; /* engines that predict: the numbers of nodes, and */
    int nnodes, ranks_per_node;
    int one_session; /* the session that `open` gives cannot be had twice: a death ends the measurement */
    void *context;   /* the engine's own */
};

/* The most variations of one call that are tried at a point. */
#define BENCH_VARIATIONS 8

/* No published table goes further. */
#define BENCH_MOST_BYTES ((uint64_t)16 << 30)

/* ---- engines that measure ---- */

/* One running launch. Engines put it first into their own structure. */
struct bench_session {
    int nodes, ranks;
    const char *data;    /* of what was measured last, "float32, in place"; NULL: nothing to say */
    const char *active;  /* others' plugins at work: struct bench_result */
    uint64_t room_bytes; /* the largest size that there is memory for; 0: it is not known */
    double until_s;      /* set by the search: progress_now_s() from which no answer is waited for; 0: no bound */
};

/* Return the time until which an answer is waited for that may come until `until_s`. */
static inline double bench_wait_until(const struct bench_session *s, double until_s)
{
    return s->until_s > 0 && s->until_s < until_s ? s->until_s : until_s;
}

/* Called for every sample as it comes: BENCH_OK with the slowest rank's time of one call and, where there is something
 * to know about it, a sentence ("" or NULL: nothing), or BENCH_WRONG or BENCH_FAILED with a sentence, and no further
 * samples of this shot. */
typedef void bench_sample_fn(void *user, int shot, enum bench_status status, double us, const char *detail);

/* Must not reach a command's exit status: it becomes ERR_FAILED on the way. */
#define BENCH_NODES_LOST 75

/* The order of calls: plan, then for each session open, measure, close; after the last session noise; finish. */
struct bench_measure_ops {
    struct bench_sampling sampling;
    unsigned buffers; /* a bit for each of enum bench_buffers that it can measure beside the plan's */

    /* Return whether this engine fits these nodes better than those before it in the table, where the user names none.
     * May be NULL: it fits every machine. */
    int (*suits)(const struct topology *topology);

    /* If a launcher has started this program several times: return 0 in the one process that conducts; in the others
     * become a worker and do not return. Return 0 where there is nothing of the kind. May be NULL: there never is. */
    int (*join)(struct err *e);

    /* Find what can be tried; start nothing on other machines. `finish` frees what is not in `a`. */
    int (*plan)(const struct bench_setup *setup, struct arena *a, struct bench_plan *plan, struct err *e);

    /* Fill `both` with the launch that uses what `x` and `y` use ("ib2,ib3"). Return 0 when there is no such thing. May
     * be NULL: there never is. */
    int (*combine)(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a, struct bench_knobs *both);

    /* Start a launch and wait for its first message. Return NULL after an error, also when *stop is set.
     * BENCH_NODES_LOST in e->code: nodes are gone, which says nothing about the launch. */
    struct bench_session *(*open)(struct bench_plan *plan, const struct bench_knobs *launch, double patience_s,
                                  volatile sig_atomic_t *stop, struct err *e);

    /* Take the samples of `batch` and report each. Fill `detail` with the reason unless BENCH_ANSWERED. */
    enum bench_outcome (*measure)(struct bench_session *s, const struct bench_batch *batch, volatile sig_atomic_t *stop,
                                  bench_sample_fn *report, void *user, char detail[BENCH_DETAIL]);

    /* End the launch and free the session: in good order, or at once when `kill`. */
    void (*close)(struct bench_session *s, int kill);

    /* After the last session: add what has disturbed other nodes than this one, as far as the engine sees them. May be
     * NULL. */
    void (*noise)(struct bench_plan *plan, struct findings *found);

    /* Free what the plan holds, also one whose making has failed. May be NULL. */
    void (*finish)(struct bench_plan *plan);

    /* Return what the library itself predicts for a call at a point, microseconds: the promising ones are tried first.
     * 0: it does not say; below 0: it does not offer this here. May be NULL. */
    double (*expect_us)(struct bench_session *s, const struct known_place *at, const struct bench_knobs *call,
                        volatile sig_atomic_t *stop);

    /* Put variations of a call that has come out best at a point, to be tried against it there, into `out`, their knobs
     * in `a`; return how many. May be NULL. */
    int (*vary)(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS]);
};

/* ---- engines that predict ---- */

/* A prediction: 90 % of calls lie between low and high. */
struct bench_prediction {
    double us, low_us, high_us;
    struct bench_doubt doubt;
    char detail[120]; /* what bounds it */
};

struct bench_predict_ops {
    /* As bench_measure_ops.plan, with the numbers of nodes. All that the plan holds is in `a`. */
    int (*plan)(const struct bench_setup *setup, struct arena *a, struct bench_plan *plan, struct err *e);

    /* Predict the time of a call at a point. Return -1 where it is not offered. */
    int (*predict)(struct bench_plan *plan, const struct known_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g);
};

/* ---- engines that make a document of their own ---- */

struct bench_document {
    const struct bench_setup *setup;
    const char *path; /* where it goes; NULL: nowhere */
    double budget_s;  /* ended when it takes longer; what was measured by then counts */
    int resume;       /* go on with what an interrupted run has left beside it */
    double margin;    /* what counts as worse where it is compared; below 0: the engine's own */
    int json;         /* print the document on standard output, */
    FILE *out;        /* else what it says, for people, here */
    volatile sig_atomic_t *stop;
};

struct bench_document_ops {
    /* Return whether the engine's options make sense together, and with a document for `path` (NULL: none), before
     * anything is looked at. */
    int (*check)(const void *own, const char *path, struct err *e);

    /* Measure, write and print the document. Return ERR_FAILED with an empty `e` where something bad was found. */
    int (*make)(const struct bench_document *d, struct err *e);

    /* Find out what is worth knowing of the nodes before collectives are measured there: make the document at d->path
     * where there is something to find out, and sum it up in the log. `*made`: it is there. That nothing could be
     * measured is a warning, no error; nor is *stop, after which d->resume goes on. May be NULL. */
    int (*survey)(const struct bench_document *d, int *made, struct err *e);
    const char *survey_file; /* its name in a profile */

    /* Return whether the engine's options leave it to the nodes what there is to measure. */
    int (*asks_nodes)(const void *own);
};

/* ---- all kinds ---- */

/* Kinds of evidence of engines, which are never mixed. */
enum bench_evidence {
    BENCH_ON_GPUS,
    BENCH_ON_HOST,
    BENCH_ON_FABRIC, /* between network ports, without a collective library */
    BENCH_PREDICTED,
    BENCH_NO_EVIDENCE, /* of an engine that this build does not know */
};

/* Goes with everything that is said of what was measured on host memory. */
#define BENCH_HOST_MEMORY \
    "Measured on host memory with OpenMPI: an OpenMPI setting, not an NCCL result and not a statement about GPUs."

/* Families of settings, after the library that reads them. */
#define BENCH_FAMILY_NCCL    "nccl"
#define BENCH_FAMILY_OPENMPI "openmpi"

struct bench_engine {
    const char *name, *description;
    enum bench_evidence evidence;
    const char *family;   /* of the settings that its candidates consist of */
    const char *report;   /* a sentence that goes with everything that is said of its results; NULL: none */
    uint64_t most_bytes;  /* the largest size that it takes; 0: 1 GiB */
    uint64_t usual_bytes; /* the largest one unless a user says; 0: 16 MiB */

    /* Options of this engine: a table, its title, and the bytes of the struct that it fills and
     * that setup->own points to, all zero where nothing was said. NULL: nothing. */
    const struct option_spec *options;
    const char *options_title;
    size_t options_bytes;

    /* Its kind: one of these; the others are NULL. */
    const struct bench_measure_ops *measures;
    const struct bench_predict_ops *predicts;
    const struct bench_document_ops *documents;
};
