/* Jobs as people start them: launch scripts and configurations of verl, Swift, Megatron-LM, TRL and Accelerate,
 * DeepSpeed and torchtitan.
 *
 * A file becomes a list of settings, whatever its syntax (hydra overrides, "--key value", YAML, JSON, TOML); a table
 * per framework says what they mean for a job. Nothing is evaluated: of shell scripts, variables that are set in the
 * script are put in, and what comes from elsewhere stays unknown. */
#pragma once

#include "model/workload/job.h"

struct workload_setting {
    const char *name;  /* "actor_rollout_ref.rollout.n", without dashes in front, '-' as '_' */
    const char *value; /* "true" for an option without a value */
    const char *path;  /* the file that it stands in */
    long line;
    int substituted; /* a variable of the shell that others are made of */
    int launch;      /* the number of the training command that has it; 0: none has */
};

struct workload_script {
    const char *path;
    struct arena *arena;
    struct workload_setting *list;
    int n, sourced; /* files that it sourced */
    int launch, nlaunches;
    const char *left_out; /* "lines 5 and 9": of the training commands that are not read; NULL */
    long launch_line;     /* of the one that is */
};

/* Reads text of any of those syntaxes, by the ending of `path`; strings are in `a`. The last of several settings of a
 * name counts; of several training commands the one with the most of them, the last where they are equal. */
int workload_script_parse(const char *text, size_t bytes, const char *path, struct arena *a,
                          struct workload_script *out, struct err *e);

/* The last setting of that name, or whose name ends in "." and it; NULL: none, or its value is not known. */
const struct workload_setting *workload_script_find(const struct workload_script *s, const char *name);

/* The job that a script starts, as workload_read_launch has it. */
int workload_script_job(const struct workload_script *s, struct workload_job *job, struct workload_reading *out,
                        struct err *e);
