/* Arguments of options that several commands have. */
#pragma once

#include "core/call/result.h"
#include "core/option.h"
#include "tuner/table/table.h"

/* Releases of NCCL, as version * 10000 …; 0: not said. */
struct cli_releases {
    int low, high;
};

option_take cli_take_releases;        /* struct cli_releases, from 2.28.9, 2.28 or 2.19-2.28 */
option_take cli_take_release;         /* int: of a minor release the newest */
int cli_collective(const char *word); /* as coll_parse, and "bcast"; -1: no collective */
option_take cli_take_collective;      /* int */
option_take cli_take_collectives;     /* unsigned: a bit for each of a list */

/* The names of collectives, for a table of options. */
const char *cli_collective_word(int i);

/* The settings that a job has: of a script or file, of a process that runs, of a profile. */
struct cli_job {
    const char *label; /* "job.sbatch", "process 4711", the profile's directory */
    struct bench_setting *settings;
    int nsettings;
    struct bench_setting *lost; /* names that do not reach the ranks, by what keeps them from it */
    int nlost;
    struct tuner_table table; /* of a profile; without rules where it has none. tuner_table_free frees */
};

/* In the formats of nccltune lint; what a shell would have to work out first is left out, with a warning. */
int cli_job_of_file(struct cli_job *j, const char *path, struct arena *a, struct log *log, struct err *e);
int cli_job_of_process(struct cli_job *j, int pid, struct arena *a, struct log *log, struct err *e);
/* Its settings for nodes of that class, and its table. */
int cli_job_of_profile(struct cli_job *j, const char *dir, const char *node_class, struct arena *a, struct err *e);

/* A file of nccltune workload, or the workload of a launch script as nccltune workload --from-launch reads it, with
 * compute times of the GPUs of `t`. `nodes`: of a script that does not say; 0: its own. Error: the job has another
 * number of them. What is wrong with the job goes to standard error, as of `command`. workload_free frees. */
struct workload *cli_workload_open(const char *command, const char *path, const struct topology *t, int nodes,
                                   struct err *e);

/* The table that the profile `dir` brings; one without rules where it has none. */
int cli_read_table(const char *dir, struct tuner_table *t, struct arena *a, struct err *e);
