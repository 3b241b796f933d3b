/* Which rules of a profile's tuner table hold when they are measured again, and the profile without the others. */
#ifndef ENVGEN_VERIFY_VERIFY_H
#define ENVGEN_VERIFY_VERIFY_H

#include "bench/results/points.h"
#include "envgen/profile/profile.h"
#include "tuner/table/table.h"

/* The launches that a verification measures besides the untouched default: the environment of the profile, and the
 * same with the plugin and its table, as a job would have them. */
#define VERIFY_ENVIRONMENT "environment"
#define VERIFY_PROFILE     "profile"

enum verify_verdict {
    VERIFY_HOLDS,   /* faster with the rule than without, beyond doubt */
    VERIFY_FAILS,   /* not so */
    VERIFY_UNKNOWN, /* no size within it was measured */
};
const char *verify_verdict_name(enum verify_verdict v);

struct verify_rule {
    const struct tuner_rule *rule;
    struct bench_interval gain; /* geometric mean over its sizes of environment alone / profile; n: sizes */
    enum verify_verdict verdict;
};

struct verify {
    struct arena *arena;
    struct tuner_table table;
    const char *text; /* of tuner.csv */
    struct verify_rule *rules;
    int nrules, failing;
    double margin; /* by which a rule has to be faster */
};

/* The launches for bench_setup's jobs, in `a`: one or two. Reads nccl.conf of the profile; `plugin` is the path of the
 * tuner plugin. Returns their number, -1 after an error. */
int verify_jobs(const struct env_profile *p, const char *plugin, struct arena *a, struct bench_knobs jobs[2],
                struct err *e);

/* Judges every rule of the table by `points`: it holds where it is faster by more than `margin` beyond doubt. NULL
 * after an error. */
struct verify *verify_rules(const struct env_profile *p, const struct bench_points *points, double margin,
                            struct err *e);
void verify_free(struct verify *v); /* NULL is fine */

/* The candidate of a point that ran under that launch; NULL. */
const struct bench_candidate *verify_candidate(const struct bench_point *p, const char *launch);

/* Writes the profile to the new directory `dir` with the failing rules turned into comments. */
int verify_write(const struct env_profile *p, const struct verify *v, const char *dir, struct err *e);

#endif
