/* A job's calls beside what a profile expects of them. */
#pragma once

#include "advise/drift/drift.h"
#include "envgen/profile/profile.h"

/* A call that takes OBSERVE_SLOWER times what was measured for the profile, or what the model predicts at most; or that
 * ran another way than the table asks for. */
struct drift_unexpected {
    struct observe_point now;
    double expected_us, times; /* of the call as the profile has it; expected_us 0: it is about the way alone */
    int is_predicted;
    const char *choice; /* "tree/simple"; NULL: as the table asks for, or the table asks for nothing */
};

struct drift_expectation {
    const struct drift_job *job;         /* the latest */
    size_t known, calls;                 /* of its calls the profile or the model knows so many */
    struct drift_unexpected *unexpected; /* the dearest first */
    size_t count;
};

/* Everything in `a`, which must not outlive `f` and `p`. */
int drift_expect(const struct drift_fleet *f, const struct env_profile *p, struct arena *a, struct drift_expectation *x,
                 struct err *e);

void drift_expect_print(const struct drift_expectation *x, FILE *out);
struct cJSON *drift_expect_json(const struct drift_expectation *x);
