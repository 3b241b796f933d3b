/* Times of the collectives of one training step, with the baseline and with a profile.
 *
 * A time is measured where the profile measured that collective on as many nodes and ranks: between two measured sizes
 * it follows a straight line in the logarithms of size and time. Where it did not, a predictor may answer; where none
 * does, the time that the job's own capture saw stands for both; else it is unknown and left out of the sums. A call
 * that hides behind compute costs the step what is longer than that. The sources are never mixed within a call, and
 * told apart everywhere. */
#pragma once

#include <stdio.h>

#include "core/call/workload.h"
#include "envgen/decide/decide.h"
#include "envgen/profile/decisions.h"

#define STEP_FORMAT "nccltune-step/1"

enum step_source {
    STEP_MEASURED,  /* on GPUs, through NCCL */
    STEP_HOST,      /* on host memory, through OpenMPI: only where the profile knows nothing of GPUs */
    STEP_PREDICTED, /* by the model engine's results, or by the predictor */
    STEP_CAPTURED,  /* in the job itself; nothing is known of what the profile changes */
    STEP_UNKNOWN,
    STEP_SOURCES,
};
const char *step_source_name(enum step_source s); /* "measured", "measured on host memory", ... */

/* The profile's measurements of a call. */
enum step_cover {
    STEP_COVERED,      /* measured at this size, or at one within a tenth of it */
    STEP_INTERPOLATED, /* between measured sizes, or within a factor of two of them */
    STEP_UNCOVERED,    /* nothing: at most a prediction */
    STEP_COVERS,
};

struct step_time {
    double us, low_us, high_us;
};

/* One call, as a predictor is asked for it. */
struct step_question {
    int kind; /* as in struct workload_call */
    uint64_t bytes;
    int nodes, ranks;
    const struct env_table_rule *rule; /* what a tuner makes of it; NULL: NCCL's own choice */
    int tuned;                         /* under the profile's settings; 0: with none */
};

/* 0 with what bounds the call in *why, or -1 with a sentence there. */
struct step_predictor {
    int (*predict)(void *arg, const struct step_question *q, struct step_time *t, const char **why);
    void *arg;
};

struct step_input {
    const struct workload *workload;
    const struct env_decisions *decisions;
    const struct step_predictor *predictor; /* NULL: nothing is predicted beyond the decisions */
};

/* Of some calls together. The interval of a sum is the sum of the intervals: errors of one kind point the same way. */
struct step_sum {
    struct step_time all;
    struct step_time waits; /* less the compute that is done meanwhile: what the step is longer for */
};

struct step_call {
    const struct workload_call *call;
    int nodes; /* that one group spans */
    enum step_source source;
    enum step_cover cover;
    struct step_time now, tuned; /* of one call */
    const char *fails;           /* no time under the profile's settings: why; `tuned` is `now`. Mostly NULL */
    const char *choice;          /* what the profile makes of it: "ring/simple", "default" */
    const char *why; /* STEP_UNKNOWN: a sentence; STEP_PREDICTED: what bounds `tuned`, "NIC mlx5_0:1", or NULL */
};

struct step_phase {
    const struct workload_phase *phase;
    struct step_call *calls;      /* as many as the phase has */
    struct step_sum now, tuned;   /* of all calls of the phase */
    double from_us[STEP_SOURCES]; /* now.all by source */
    int unknown, overlap_unknown; /* calls (entries of the file) that the sums lack; that hide nothing for want of
                                   * knowledge */
};

struct step_estimate {
    struct arena *arena;
    const struct workload *workload;
    struct step_phase *phases; /* as many as the workload has */
    struct step_sum now, tuned;
    double from_us[STEP_SOURCES];
    double cover_us[STEP_COVERS]; /* the time of all calls; what nobody knows counts as by NOMINAL_US */
    int unknown, overlap_unknown;
    double compute_us; /* of the phases that tell theirs, with a pipeline's bubble */
    double compute_low_us, compute_high_us;
    int compute_unknown;            /* phases that do not */
    const char *const *assumptions; /* about the hardware, behind predictions; a sentence each */
    int nassumptions;
    int unvalidated;      /* of some prediction, as in struct model_time */
    int predicted_unused; /* something that only was predicted, and that the profile therefore does not set, counts */
};

/* Everything in `a`, which must live no longer than what `in` points to. Error: decisions that a tuner cannot express.
 */
int env_step_of(const struct step_input *in, struct arena *a, struct step_estimate *out, struct err *e);

/* Time of the whole step, as far as known: compute and waiting. */
struct step_time env_step_whole(const struct step_estimate *s);

/* x less y, and so of their bands. */
struct step_time step_time_less(const struct step_time *x, const struct step_time *y);

/* The table for people, and as its last line "communication X ms of a Y ms step → Z ms (predicted)". */
void env_step_print(const struct step_estimate *s, FILE *out);

/* "The table covers 61 % of the communication by what was measured, 36 % between measured sizes, 3 % not at all", and
 * the calls that weigh most of what is not. */
void env_step_print_cover(const struct step_estimate *s, FILE *out);

/* Only that last line, with its newline. */
void env_step_print_line(const struct step_estimate *s, FILE *out);

/* {"format": "nccltune-step/1", ...}; cJSON_Delete frees. */
struct cJSON *env_step_json(const struct step_estimate *s);

/* A time with its band as the member `key`. */
void step_time_json(struct cJSON *o, const char *key, const struct step_time *t);
