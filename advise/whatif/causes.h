/* Why a step communicates longer than it should: faults that are usual, each with what the model says it costs. */
#pragma once

#include "advise/whatif/step.h"
#include "model/model.h"

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
