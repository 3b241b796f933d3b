/* Trials: a share of jobs has another profile (install-profile --trial), and what both groups took is compared.
 *
 * Which group a job is in follows from its number and the store's schedule, as the hooks decided it: a job counts
 * where it was put, whatever became of it there. */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"

struct cJSON;
struct drift_fleet;
struct drift_job;

#define TRIALS_FORMAT "nccltune-trials/1"

/* ---- jobs.c: what is known of jobs ------------------------------------------------------------------------------- */

struct trials_job {
    const char *id, *name, *user, *partition, *nodes; /* nodes: a list as Slurm writes it */
    const char *state;                                /* "" unknown */
    long long start;                                  /* seconds since 1970 */
    double elapsed_s;
    int node_count;
    double figure;                    /* what is compared, larger is slower; 0 unknown */
    const struct drift_job *captured; /* NULL: there is no capture */
};

struct trials_jobs {
    struct trials_job *list; /* by number, each once */
    size_t count;
    size_t odd; /* lines that were not understood, and jobs that were told twice */
};

/* Fields of sacct -P, in this order; a job's name may hold anything and comes last. */
#define TRIALS_SACCT_FIELDS "JobIDRaw,JobID,User,Partition,Start,ElapsedRaw,State,NNodes,NodeList,JobName"

/* Jobs of that form, which began. Whatever a user calls a job cannot make it an error: an odd line is counted. Parts
 * of heterogeneous jobs are left out. */
void trials_read_sacct(const char *text, struct arena *a, struct trials_jobs *jobs);

/* Figures of jobs, lines "JOBID VALUE"; "#" begins a comment. `is_rate`: larger is faster. Jobs without a figure keep
 * 0. *unknown: figures of jobs that are not among these. */
int trials_read_figures(const char *text, const char *file, int is_rate, struct trials_jobs *jobs, size_t *unknown,
                        struct err *e);

struct trials_job *trials_find_job(const struct trials_jobs *jobs, const char *id); /* NULL: none */

/* ---- judge.c: two groups of jobs ----------------------------------------------------------------------------------
 */

/* A job as the comparison sees it: those of one kind are compared with one another. */
struct trials_unit {
    double figure; /* above 0 */
    int kind, is_tried;
};

enum trials_verdict { TRIALS_UNDECIDED, TRIALS_FASTER, TRIALS_SLOWER, TRIALS_ALIKE };
const char *trials_verdict_name(enum trials_verdict v);

#define TRIALS_ALIKE_WITHIN 0.03 /* no difference that matters is larger */
#define TRIALS_EFFECT       0.05 /* that a trial should be able to see, with ... */
#define TRIALS_POWER        0.8

struct trials_comparison {
    enum trials_verdict verdict;
    size_t counted;          /* jobs, of the planned ones */
    size_t tried, others;    /* of these, those that are compared: of kinds that both groups have */
    double ratio, low, high; /* time under the trial over that of the others; 0: unknown */
    double spread;           /* between jobs of one kind and group, relative */
    size_t jobs_needed;      /* of both groups, to see TRIALS_EFFECT with TRIALS_POWER; 0 unknown */
};

/* Compares units in the order in which their jobs began, no more than `planned` of them. However often it is asked
 * while jobs come in, it says faster or slower of a profile that is neither in one trial of twenty. */
void trials_compare(const struct trials_unit *units, size_t count, size_t planned, struct trials_comparison *c,
                    struct arena *a);

/* The probability of so many failures or more in the trial, if it has no part in them. */
double trials_failing_by_chance(size_t failed_tried, size_t tried, size_t failed_others, size_t others);
#define TRIALS_FAILING 0.001 /* below it the trial breaks jobs */

/* ---- figures from captures -------------------------------------------------------------------------------------- */

/* Gives jobs the time of their calls as figure, or, where not all captures have times, from one call to the next by the
 * hosts' clocks. A job that is not known otherwise is added: on the hosts of its ranks, of a kind with those that make
 * the same calls, of no partition. Returns what the figure is called. */
const char *trials_take_captures(const struct drift_fleet *f, struct arena *a, struct trials_jobs *jobs);

/* One kind of call in both groups, where captures have its times. */
struct trials_call {
    const char *name; /* "allreduce 16 MiB, 8 ranks, cluster" */
    double spent_us;  /* in it, of all jobs */
    struct trials_comparison comparison;
};

/* Each kind of call of jobs that are placed: those that cost most first. */
struct trials_placed {
    const struct trials_job *job;
    int is_tried;
};
struct trials_call *trials_compare_calls(const struct trials_placed *placed, size_t count, size_t planned,
                                         struct arena *a, size_t *ncalls);

/* ---- trials.c: the trials of a store ------------------------------------------------------------------------------
 */

struct trial {
    const char *name, *scope;
    char hash[SHA256_HEX];          /* of its profile; "" none */
    int share;                      /* percent */
    size_t planned;                 /* jobs */
    long long since, until;         /* until: 0 goes on */
    size_t kinds, running, without; /* kinds of jobs; jobs that have not ended, or have no figure */
    size_t failed_tried, ended_tried, failed_others, ended_others;
    struct trials_comparison comparison;
    int breaks; /* jobs fail more often under it than by chance */
    struct trials_call *calls;
    size_t ncalls;
};

struct trials {
    struct trial *list;
    size_t count;
    const char *figure; /* what is compared: "elapsed time" */
    size_t odd, unknown;
};

/* The trials of a schedule's text, those that a later line of the same name replaces left out. */
int trials_list(const char *schedule, const char *path, struct arena *a, struct trials *t, struct err *e);

/* The comparison of the jobs. */
void trials_judge(const char *schedule, const struct trials_jobs *jobs, struct arena *a, struct trials *t);

void trials_print(const struct trials *t, FILE *out);
struct cJSON *trials_json(const struct trials *t);
