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
#include "envgen/profile/profile.h"
#include "model/model.h"

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
    const char **assumptions; /* about the hardware so far, a sentence each */
    int nassumptions;
    int unvalidated; /* some prediction lies beyond what the model was held against */
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

/* A time with its band as the member `key`, which is returned. */
struct cJSON *step_time_json(struct cJSON *o, const char *key, const struct step_time *t);

/* ---- a step under a finished profile, or under two setups of the model ---- */

/* Predicted times, where nothing was measured. NULL: the topology has no GPU. Everything in `a`; decisions and topology
 * must live as long. */
struct step_predictor *step_predictor_new(const struct env_decisions *d, const struct topology *t, int nccl,
                                          struct arena *a);

/* env_step_of with the profile's decisions, and with a predictor for NCCL `nccl` (0: the newest that the profile is
 * for) where its topology has GPUs. Everything in `a`; `p` and `w` must live as long. Error: a topology that cannot be
 * read, decisions that a tuner cannot express. */
int env_step_of_profile(const struct env_profile *p, const struct workload *w, int nccl, struct arena *a,
                        struct step_estimate *out, struct err *e);

/* The same by predictions alone: `now` under `before`, `tuned` under `after`. Of those only topology, settings and
 * factors count, which must live as long as `a`. */
int env_step_between(const struct model_setup *before, const struct model_setup *after, const struct workload *w,
                     struct arena *a, struct step_estimate *out, struct err *e);

/* env_step_print_cover for the job in the file `workload`. */
int env_step_cover_job(const struct env_profile *p, const char *workload, FILE *out, struct err *e);

/* ---- the changes that would shorten a job's step most: the caller's, and variations of the job itself ---- */

struct step_change {
    const char *what;
    struct step_time saves; /* of a step */
};

/* The largest saving first. */
struct step_changes {
    struct arena *arena;
    const char *of; /* what the job runs with, "job.sh"; NULL: as it is */
    double step_us; /* of the whole step: step_changes_of_job knows it */
    struct step_change *list;
    int n;
};

/* Not what saves nothing, nor another name of what is there. `what` must live as long. */
void step_changes_add(struct step_changes *c, const char *what, struct step_time saves);

/* The step of another workload under what the caller's estimate stands for; 0 or an error's code. */
typedef int (*step_estimator)(void *arg, const struct workload *w, struct step_estimate *out, struct err *e);

/* Adds what the job could do otherwise: the changes of its launch script, or without one 16 bits instead of 32. Each is
 * a workload that is estimated again. `now` is the job as it is. */
int step_changes_of_job(struct step_changes *c, const struct step_estimate *now, step_estimator f, void *arg,
                        struct err *e);

/* The first three, with their bands; and all of them as the member "changes". */
void step_changes_print(const struct step_changes *c, FILE *out);
void step_changes_json(const struct step_changes *c, struct cJSON *doc);

/* The largest savings in the step of env_step_of_profile: the profile itself, and changes of the job. */
int env_step_changes(const struct env_profile *p, int nccl, const struct step_estimate *s, struct step_changes *out,
                     struct err *e);

/* ---- why a step communicates longer than it should: usual faults, each with what the model says it costs ---- */

struct step_cause {
    const char *id;         /* of the finding that a log has on it: "no-gdr", "sockets", "unused-hcas", "slow-hca" */
    const char *what;       /* "GPUDirect RDMA is off" */
    const char *check;      /* how to see whether it is so */
    struct step_time waits; /* what a step's communication then takes, beyond what compute hides */
};

#define STEP_CAUSES 7
struct step_causes {
    struct step_time sound; /* without any of them */
    struct step_cause list[STEP_CAUSES];
    int n;
};

/* Those that are possible on the machine of `job`, under the job's settings; `measured_us` above 0: those that come
 * nearest to it first, else the dearest first. `w` NULL: one AllReduce of 256 MiB over two of its nodes stands for the
 * step. All in `a`. Error: the machine has no GPU, or the step has nothing that can be predicted. */
int step_causes_of(const struct model_setup *job, const struct workload *w, double measured_us, struct arena *a,
                   struct step_causes *out, struct err *e);

/* Nonzero if a time lies within the band of the prediction. */
int step_time_holds(const struct step_time *t, double us);

/* The list for people, beside what was measured (0: nothing was); and as the member "causes". */
void step_causes_print(const struct step_causes *c, double measured_us, FILE *out);
void step_causes_json(const struct step_causes *c, double measured_us, struct cJSON *doc);
