/* What is to be captured, and whose it is: the capture's own variables and those of launchers. */
#include "tuner/capture/job.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/launcher.h"
#include "tuner/observe/record.h"

#define DEFAULT_MINUTES 10
#define FIT             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

static const char *variable(const char *name)
{
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

static uint64_t minutes_ns(const char *text)
{
    double minutes = text ? observe_parse(text, 1e6) : DEFAULT_MINUTES;
    return (uint64_t)((minutes < 0 ? DEFAULT_MINUTES : minutes) * 6e10);
}

/* Copies what a file's name can hold; everything else becomes '_'. */
static void fit(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    for (char *c = to; *c; c++)
        if (!strchr(FIT, *c))
            *c = '_';
}

/* The first that is set tells the job. */
static void read_name(struct profiler_job *job)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "TORCHELASTIC_RUN_ID"};
    const char *name = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !name; i++)
        name = variable(names[i]);
    fit(job->name, sizeof job->name, name ? name : "job");
    if (job->name[0] == '.')
        job->name[0] = '_';
}

static void read_rank(struct profiler_job *job)
{
    struct launcher_rank r;
    if (!launcher_find(NULL, NULL, &r)) {
        profiler_job_doubt(job, INT_MAX);
        return;
    }
    snprintf(job->rank, sizeof job->rank, "%d", r.rank);
    job->ranks = r.ranks;
    job->per_node = r.per_node;
}

void profiler_job_doubt(struct profiler_job *job, int comm_ranks)
{
    if (comm_ranks <= job->ranks)
        return;
    snprintf(job->rank, sizeof job->rank, "%s-%d", job->host, job->pid);
    job->ranks = job->per_node = 0;
}

/* Return 1 if the job is observed. `why` gets the sentence when a variable asks for what is not done. */
static int read_observe(const char *dir, char *why, size_t size)
{
    const char *observe = variable("NCCLTUNE_OBSERVE");
    int is_wanted = observe && !strcmp(observe, "1");
    if (observe && !is_wanted && strcmp(observe, "0") != 0)
        snprintf(why, size, "NCCLTUNE_OBSERVE=%.40s: expected 1 or 0; nothing is observed", observe);
    else if (is_wanted && !dir)
        snprintf(why, size,
                 "NCCLTUNE_OBSERVE=1 needs NCCLTUNE_CAPTURE=DIR to leave its record in; nothing is observed");
    return is_wanted && dir;
}

/* From 2.29 on, the first to have version 6 of the interface, grouped broadcasts of several roots become an AllGatherV,
 * which kernels count and NCCL's proxy does not (2.29.2 to 2.30.7, scheduler/allgatherv_sched.cc): times of other calls
 * come from then on, and ncclCommDestroy waits for ever. */
int profiler_job_refuse_times(struct profiler_job *job, int api, char *why, size_t size)
{
    const char *gathers = variable("NCCL_ALLGATHERV_ENABLE");
    int is_wrong = api >= 6 && !(gathers && !strcmp(gathers, "0"));
    if (!job->times || !is_wrong)
        return 0;
    job->times = 0;
    job->refused_times = 1;
    snprintf(why, size,
             "NCCLTUNE_CAPTURE_TIMES=1: NCCL 2.29 and later report wrong times, and hang at the end, after grouped "
             "broadcasts of several roots; calls are counted without times (NCCL_ALLGATHERV_ENABLE=0 corrects them)");
    return 1;
}

int profiler_job_read(struct profiler_job *job, char *why, size_t size)
{
    const char *dir = variable("NCCLTUNE_CAPTURE"), *times = variable("NCCLTUNE_CAPTURE_TIMES"),
               *mode = variable("NCCLTUNE");
    struct timespec now;
    char host[64] = "";
    why[0] = 0;
    if (mode && !strcmp(mode, "off"))
        return 0;
    int observed = read_observe(dir, why, size);
    if (!dir)
        return 0;
    if (times && strcmp(times, "0") != 0 && strcmp(times, "1") != 0)
        snprintf(why, size, "NCCLTUNE_CAPTURE_TIMES=%.40s: expected 1 or 0; calls are counted without times", times);
    if (*dir != '/' || strlen(dir) > sizeof job->dir - 512) {
        snprintf(why, size, "NCCLTUNE_CAPTURE=%.200s is not an absolute path that files fit in; nothing is captured",
                 dir);
        return 0;
    }
    clock_gettime(CLOCK_REALTIME, &now);
    *job = (struct profiler_job){.pid = getpid(),
                                 .times = times && !strcmp(times, "1"),
                                 .interval_ns = minutes_ns(variable("NCCLTUNE_CAPTURE_MINUTES")),
                                 .began = (uint64_t)now.tv_sec,
                                 .observed = observed};
    snprintf(job->dir, sizeof job->dir, "%s", dir);
    if (gethostname(host, sizeof host - 1))
        host[0] = 0;
    fit(job->host, sizeof job->host, host);
    read_name(job);
    read_rank(job);
    return 1;
}
