/* Which job this is. What Slurm's variables do not tell the prolog is asked of squeue, whose fields no user can write:
 * the other parts of a heterogeneous job, and, before Slurm 23.02, when the job began. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurm/hook.h"

#define FAR_FUTURE (1LL << 40)
#define ASK_MS     5000
#define ASK_BYTES  (64u << 10)

static const char *set_or_null(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* A number as text; those of Flux have 63 bits. */
static int take_id(const char *value, char id[HOOK_WORD])
{
    long long number;
    if (!value || hook_number(value, LLONG_MAX, &number))
        return -1;
    snprintf(id, HOOK_WORD, "%lld", number);
    return 0;
}

int hook_job_id(char id[HOOK_WORD])
{
    return take_id(set_or_null("SLURM_HET_JOB_ID"), id) && take_id(set_or_null("SLURM_JOB_ID"), id) ? -1 : 0;
}

int hook_job_from_environment(struct hook_job *job, struct err *e)
{
    const char *start = set_or_null("SLURM_JOB_START_TIME");
    *job = (struct hook_job){.partition = set_or_null("SLURM_JOB_PARTITION"),
                             .node = set_or_null("SLURMD_NODENAME"),
                             .start = (long long)time(NULL)};
    if (hook_job_id(job->id) || take_id(set_or_null("SLURM_JOB_ID"), job->part))
        return hook_refuse(e, "SLURM_JOB_ID is not set");
    if (!job->node || !hook_is_name(job->node))
        return hook_refuse(e, "SLURMD_NODENAME is not set");
    if (start && hook_number(start, FAR_FUTURE, &job->start))
        return hook_refuse(e, "SLURM_JOB_START_TIME=%.20s is not a time", start);
    job->start_known = start != NULL;
    job->lists[0] = set_or_null("SLURM_JOB_NODELIST");
    if (!job->lists[0])
        job->lists[0] = set_or_null("SLURM_NODELIST"); /* its name in the prolog of Slurm 22.05 */
    job->nlists = job->lists[0] != NULL;
    return job->nlists ? 0 : hook_refuse(e, "SLURM_JOB_NODELIST is not set");
}

/* "ID PARTITION START NODES": of an array's jobs this one alone, of a heterogeneous job all parts, whose first one's
 * start and partition are the job's. */
static int take_part(struct hook_job *job, int parts, char *line, struct err *e)
{
    char *words[4];
    long long start;
    int n = hook_words(line, words, 4);
    if (n == 4 && !parts && strcmp(words[0], job->part) != 0)
        return 0;
    if (job->nlists == HOOK_LISTS || n != 4 || hook_number(words[2], FAR_FUTURE, &start))
        return hook_refuse(e, "squeue's answer about job %s cannot be read", job->id);
    if (!job->nlists) {
        job->partition = words[1];
        job->start = start;
    }
    job->lists[job->nlists++] = words[3];
    return 0;
}

int hook_job_ask(const struct hook_conf *c, struct hook_job *job, struct err *e)
{
    const char *slash = strrchr(c->scontrol, '/');
    char squeue[HOOK_ROOT + 8], none[] = "-h", jobs[] = "-j", states[] = "-tall", sorted[] = "-Si",
                                format[] = "-o%A %P %S %N", *cursor, *line;
    char *argv[] = {squeue, none, states, sorted, format, jobs, job->id, NULL};
    snprintf(squeue, sizeof squeue, "%.*s/squeue", (int)(slash - c->scontrol), c->scontrol);
    free(job->text);
    job->text = calloc(1, ASK_BYTES);
    if (!job->text)
        return hook_refuse(e, "no memory");
    if (hook_run(argv, ASK_MS, job->text, ASK_BYTES))
        return hook_refuse(e, "squeue failed for job %s", job->id);
    job->nlists = 0;
    cursor = job->text;
    while ((line = hook_line(&cursor)))
        if (take_part(job, getenv("SLURM_HET_JOB_ID") != NULL, line, e))
            return -1;
    job->start_known = 1;
    return job->nlists ? 0 : hook_refuse(e, "squeue does not know job %s", job->id);
}

void hook_job_free(struct hook_job *job)
{
    free(job->text);
    job->text = NULL;
}

static int count(void *arg, const char *host, struct err *e)
{
    (void)host;
    (void)e;
    ++*(int *)arg;
    return 0;
}

int hook_job_nodes(const struct hook_job *job, struct err *e)
{
    int nodes = 0;
    for (int i = 0; i < job->nlists; i++)
        if (hook_nodes_each(job->lists[i], count, &nodes, e))
            return -1;
    return nodes;
}
