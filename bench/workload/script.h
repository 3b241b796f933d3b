/* Jobs as people start them: launch scripts and configurations of verl, Swift, Megatron-LM, TRL and Accelerate,
 * DeepSpeed and torchtitan.
 *
 * A file becomes a list of settings, whatever its syntax (hydra overrides, "--key value", YAML, JSON, TOML); a table
 * per framework says what they mean for a job. Nothing is evaluated: of shell scripts, variables that are set in the
 * script are put in, and what comes from elsewhere stays unknown. */
#ifndef BENCH_WORKLOAD_SCRIPT_H
#define BENCH_WORKLOAD_SCRIPT_H

#include "bench/workload/job.h"

struct workload_setting {
    const char *name;  /* "actor_rollout_ref.rollout.n", without dashes in front, '-' as '_' */
    const char *value; /* "true" for an option without a value */
    long line;
};

struct workload_script {
    const char *path;
    struct arena *arena;
    struct workload_setting *list;
    int n;
};

/* Reads a file of any of those syntaxes; strings are in `a`. The last of several settings of a name counts. */
int workload_script_read(const char *path, struct arena *a, struct workload_script *out, struct err *e);

/* The same from text in memory. */
int workload_script_parse(const char *text, size_t bytes, const char *path, struct arena *a,
                          struct workload_script *out, struct err *e);

/* The last setting of that name, or whose name ends in "." and it; NULL: none, or its value is not known. */
const struct workload_setting *workload_script_find(const struct workload_script *s, const char *name);

/* What was read, what had to be assumed, and what cannot be meant so, a sentence each: room for one of every name and
 * question that the tables of script_job.c have. */
enum { WORKLOAD_READ = 128 };
struct workload_reading {
    const char *read[WORKLOAD_READ], *assumed[32], *odd[8]; /* odd: settings that contradict one another */
    int nread, nassumed, nodd;
};

/* The job that a script starts. Error: no framework is recognised, or the model is not known by name (`job` is filled
 * otherwise, so that a caller who knows the model may go on). */
int workload_script_job(const struct workload_script *s, struct workload_job *job, struct workload_reading *out,
                        struct err *e);

#endif
