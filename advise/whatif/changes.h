/* The changes that would shorten a job's step most: the caller's, and variations of the job itself. */
#pragma once

#include "advise/whatif/step.h"

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
