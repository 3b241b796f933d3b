/* What an engine offers to the conductor: candidates to choose from, and times of them on request.
 *
 * An engine knows how to reach one library. What is tried when, how often, for how long and what is concluded is
 * decided above it, once for all engines. */
#ifndef BENCH_CANDIDATES_ENGINE_H
#define BENCH_CANDIDATES_ENGINE_H

#include <signal.h>
#include <stdio.h>

#include "bench/candidates/plan.h"
#include "bench/launch/batch.h"
#include "bench/results/history.h"
#include "core/finding.h"
#include "core/option.h"
#include "core/progress.h"

/* One running launch. Engines put it first into their own structure. */
struct bench_session {
    int nodes, ranks;
    const char *data;    /* of what was measured last, "float32, in place"; NULL: nothing to say */
    const char *active;  /* others' plugins at work: struct bench_result */
    uint64_t room_bytes; /* the largest size that there is memory for; 0: it is not known */
    const char *no_load; /* why nothing can run beside calls; NULL: it can, and */
    double slowdown;     /* of what ran beside the sample that is being told: bench_batch.shape.load; 0: nothing did */
};

/* Called for every sample as it comes: BENCH_OK with the slowest rank's time of one call and, where there is something
 * to know about it, a sentence ("" or NULL: nothing), or BENCH_WRONG or BENCH_FAILED with a sentence, and no further
 * samples of this shot. */
typedef void bench_sample_fn(void *user, int shot, enum bench_status status, double us, const char *detail);

/* A prediction: nine of ten calls lie between low and high. */
struct bench_prediction {
    double us, low_us, high_us;
    double call_us, slowdown; /* beside a load, as in struct bench_result; 0 alone */
    struct bench_doubt doubt;
    char detail[120]; /* what bounds it */
};

/* What an engine's times are evidence of: kinds that are never mixed. */
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

/* Must not reach a command's exit status: it becomes ERR_FAILED on the way. */
#define BENCH_NODES_LOST 75

/* Families of settings, after the library that reads them. */
#define BENCH_FAMILY_NCCL    "nccl"
#define BENCH_FAMILY_OPENMPI "openmpi"

/* A document of an engine's own kind, for engines that make such instead of a journal. */
struct bench_document {
    const struct bench_setup *setup;
    const char *path; /* where it goes; NULL: nowhere */
    double budget_s;  /* ended when it takes longer; what was measured by then counts */
    int resume;       /* go on with what an interrupted run has left beside it */
    double margin;    /* what counts as worse where it is compared; below 0: the engine's own */
    int json;         /* print the document on standard output, */
    FILE *out;        /* else what it says, for people, here */
    struct progress *progress;
    volatile sig_atomic_t *stop;
};

/* No published table goes further. */
#define BENCH_MOST_BYTES ((uint64_t)16 << 30)

struct bench_engine {
    const char *name, *description;
    enum bench_evidence evidence;
    const char *family;   /* of the settings that its candidates consist of */
    const char *report;   /* a sentence that goes with everything that is said of its results; NULL: none */
    uint64_t most_bytes;  /* the largest size that it takes; 0: 1 GiB */
    uint64_t usual_bytes; /* the largest one unless a user says; 0: 16 MiB */
    struct bench_sampling sampling;
    unsigned
        buffers; /* a bit for each of enum bench_buffers that it can measure beside the plan's: bench_batch.buffers */
    int seconds; /* calls of a second communicator can run beside those */

    /* What a user may say about this engine alone: a table, its title, and the bytes of the struct that it fills and
     * that setup->own points to, all zero where nothing was said. NULL: nothing. */
    const struct option_spec *options;
    const char *options_title;
    size_t options_bytes;

    /* Whether its options make sense together, and with a document for `path` (NULL: none), before anything is looked
     * at. NULL: they do. */
    int (*check)(const void *own, const char *path, struct err *e);

    /* Whether this is the engine for these nodes where nobody has named one. They may only be `described`; `topology`
     * is not looked at then. NULL: only by its name. */
    int (*suits)(const struct topology *topology, int described);

    /* Where a launcher has started this program several times: returns 0 in the one process that conducts, and in the
     * others becomes a worker and does not return. 0 too where there is nothing of the kind. */
    int (*join)(struct err *e);

    /* Finds what can be tried; starts nothing on other machines. `finish` frees what is not in `a`. */
    int (*plan)(const struct bench_setup *setup, struct arena *a, struct bench_plan *plan, struct err *e);

    /* The launch that uses what both use ("ib2,ib3"); 0 when there is no such thing. */
    int (*combine)(const struct bench_knobs *x, const struct bench_knobs *y, struct arena *a, struct bench_knobs *both);

    /* Starts a launch and waits for its first message; NULL after an error, also when *stop is set. BENCH_NODES_LOST in
     * e->code: nodes are gone, which says nothing about the launch. */
    struct bench_session *(*open)(struct bench_plan *plan, const struct bench_knobs *launch, double patience_s,
                                  volatile sig_atomic_t *stop, struct err *e);

    /* `detail` says why, unless BENCH_ANSWERED. */
    enum bench_outcome (*measure)(struct bench_session *s, const struct bench_batch *batch, volatile sig_atomic_t *stop,
                                  bench_sample_fn *report, void *user, char detail[BENCH_DETAIL]);

    /* Ends the launch and frees the session: in good order, or at once when `kill`. */
    void (*close)(struct bench_session *s, int kill);

    /* After the last session: adds what has disturbed other nodes than this one, as far as the engine sees them. The
     * function may be NULL. */
    void (*noise)(struct bench_plan *plan, struct findings *found);

    void (*finish)(struct bench_plan *plan);

    /* What the library itself predicts for a call at a point, microseconds: the promising ones are tried first. 0: it
     * does not say; below 0: it does not offer this here. The function may be NULL. */
    double (*expect_us)(struct bench_session *s, const struct history_place *at, const struct bench_knobs *call,
                        volatile sig_atomic_t *stop);

    /* Variations of a call that has come out best at a point, to be tried against it there: their knobs in `a` into
     * `out`; returns how many. The function may be NULL. */
    int (*vary)(struct bench_session *s, uint64_t bytes, const struct bench_knobs *call, struct arena *a,
                struct bench_knobs out[BENCH_VARIATIONS]);

    /* Engines that compute instead of measuring: the time of a call at a point. -1: not offered there. NULL: this one
     * measures. What has to do with sessions may be NULL in one that computes. */
    int (*predict)(struct bench_plan *plan, const struct history_place *at, const struct bench_knobs *launch,
                   const struct bench_knobs *call, struct bench_prediction *g);

    /* Engines that make a document of their own: measures, writes and prints it. What has to do with plans, sessions
     * and predictions is NULL in such a one. Returns ERR_FAILED with an empty `e` where it found something bad. */
    int (*document)(const struct bench_document *d, struct err *e);

    /* What is worth knowing of the nodes before collectives are measured there: makes the document at d->path where
     * there is something to find out, and sums it up in the log; the file is called `survey_file` in a profile.
     * `*made`: it is there. That nothing could be measured is a warning, no error; nor is *stop, after which d->resume
     * goes on. NULL: this engine has none. */
    int (*survey)(const struct bench_document *d, int *made, struct err *e);
    const char *survey_file;
};

#endif
