/* Which profile a job gets: the store's schedule against what all nodes of the job know alike.
 *
 *   SINCE HASH SCOPE      SINCE: seconds since 1970; HASH: a profile, or "none"
 *                         SCOPE: all | partition=NAME | nodes=LIST (a job whose nodes are all in the list)
 *
 * The last line decides whose scope has the job and whose time is not after the job's start. Lines are only ever added,
 * so a job keeps its profile for all its steps, and a change that is dated a minute ahead reaches every node's copy
 * before any job can be seen differently by two of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "slurm/hook.h"

#define SCHEDULE_BYTES (256u << 10)
#define FAR_FUTURE     (1LL << 40)

/* ---- the job ----------------------------------------------------------------------------------------------------- */

static const char *set_or_null(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* A heterogeneous job is several jobs whose tasks may share a communicator: all of their nodes count. */
static int all_lists(struct hook_job *job, struct hook_why *w)
{
    const char *size = set_or_null("SLURM_HET_SIZE");
    long long parts = 0;
    char name[64];
    if (!size) {
        job->lists[0] = set_or_null("SLURM_JOB_NODELIST");
        if (!job->lists[0])
            job->lists[0] = set_or_null("SLURM_NODELIST"); /* its name in the prolog of Slurm 22.05 */
        job->nlists = 1;
        return job->lists[0] ? 0 : hook_refuse(w, "SLURM_JOB_NODELIST is not set");
    }
    if (hook_number(size, HOOK_LISTS, &parts) || parts < 1)
        return hook_refuse(w, "SLURM_HET_SIZE=%.20s: expected 1 to %d", size, HOOK_LISTS);
    for (int i = 0; i < (int)parts; i++) {
        snprintf(name, sizeof name, "SLURM_JOB_NODELIST_HET_GROUP_%d", i);
        job->lists[i] = set_or_null(name);
        if (!job->lists[i])
            return hook_refuse(w, "%s is not set", name);
    }
    job->nlists = (int)parts;
    return 0;
}

int hook_job_from_environment(struct hook_job *job, struct hook_why *w)
{
    const char *start = set_or_null("SLURM_JOB_START_TIME");
    *job = (struct hook_job){.partition = set_or_null("SLURM_JOB_PARTITION"),
                             .node = set_or_null("SLURMD_NODENAME"),
                             .start = (long long)time(NULL)};
    if (!job->node || !hook_is_name(job->node))
        return hook_refuse(w, "SLURMD_NODENAME is not set");
    /* Slurm 22.05, for one, does not tell; then the present moment must do. */
    if (start && hook_number(start, FAR_FUTURE, &job->start))
        return hook_refuse(w, "SLURM_JOB_START_TIME=%.20s is not a time", start);
    return all_lists(job, w);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

struct hosts {
    char (*names)[HOOK_WORD];
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static int add_host(void *arg, const char *host, struct hook_why *w)
{
    struct hosts *h = arg;
    if (!(h->count & (h->count - 1))) { /* a power of two: full */
        void *more = realloc(h->names, (h->count ? 2 * h->count : 1) * sizeof *h->names);
        if (!more)
            return hook_refuse(w, "no memory");
        h->names = more;
    }
    snprintf(h->names[h->count++], HOOK_WORD, "%s", host);
    return 0;
}

#define OUTSIDE 1
static int inside(void *arg, const char *host, struct hook_why *w)
{
    const struct hosts *h = arg;
    (void)w;
    return bsearch(host, h->names, h->count, sizeof *h->names, by_name) ? 0 : OUTSIDE;
}

/* 1 when all nodes of the job are in the list, 0 when not, -1 after an error. */
static int covers(const char *list, const struct hook_job *job, struct hook_why *w)
{
    struct hosts h = {0};
    int rc = hook_nodes_each(list, add_host, &h, w);
    if (!rc)
        qsort(h.names, h.count, sizeof *h.names, by_name);
    for (int i = 0; i < job->nlists && !rc; i++)
        rc = hook_nodes_each(job->lists[i], inside, &h, w);
    free(h.names);
    return rc == OUTSIDE ? 0 : rc < 0 ? -1 : 1;
}

static int in_scope(const char *scope, const struct hook_job *job, struct hook_why *w)
{
    static const char partition[] = "partition=", nodes[] = "nodes=";
    if (!strcmp(scope, "all"))
        return 1;
    if (!strncmp(scope, partition, sizeof partition - 1))
        return job->partition && !strcmp(job->partition, scope + sizeof partition - 1);
    if (!strncmp(scope, nodes, sizeof nodes - 1))
        return covers(scope + sizeof nodes - 1, job, w);
    return hook_refuse(w, "'%.40s' is not a scope", scope);
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static int take_line(char *line, const struct hook_job *job, char hash[SHA256_HEX], struct hook_why *w)
{
    char *words[3];
    long long since;
    if (!*line || *line == '#')
        return 0;
    if (hook_words(line, words, 3) != 3 || hook_number(words[0], FAR_FUTURE, &since) ||
        (strcmp(words[1], "none") != 0 && !hook_is_hash(words[1])))
        return hook_refuse(w, "expected SINCE HASH SCOPE");
    int rc = since > job->start ? 0 : in_scope(words[2], job, w);
    if (rc > 0)
        snprintf(hash, SHA256_HEX, "%s", strcmp(words[1], "none") != 0 ? words[1] : "");
    return rc < 0 ? -1 : 0;
}

int hook_choose(const struct hook_conf *c, const struct hook_job *job, char hash[SHA256_HEX], struct hook_why *w)
{
    char path[HOOK_PATH];
    struct hook_file f;
    hash[0] = 0;
    snprintf(path, sizeof path, "%s/schedule", c->store);
    if (access(path, F_OK) && errno == ENOENT)
        return 0; /* nothing is installed, which is not a fault */
    if (hook_read(path, c->owner, SCHEDULE_BYTES, &f, w))
        return -1;
    int rc = 0, number = 0;
    char *cursor = f.text, *line;
    struct hook_why why = {""};
    /* A line without an end is one that is being written. */
    if (f.bytes && f.text[f.bytes - 1] != '\n')
        rc = hook_refuse(w, "%s ends in the middle of a line", path);
    while (!rc && (line = hook_line(&cursor))) {
        number++;
        if (take_line(line, job, hash, &why))
            rc = hook_refuse(w, "%s:%d: %s", path, number, why.text);
    }
    free(f.text);
    return rc;
}
