/* Which profile a job gets: the store's schedule against what all nodes of the job know alike.
 *
 *   SINCE HASH SCOPE      SINCE: seconds since 1970; HASH: a profile, or "none"
 *                         SCOPE: all | partition=NAME | nodes=LIST (a job whose nodes are all in the list)
 *
 * The last line decides whose scope has the job and whose time is not after the job's start. Lines are added, and go
 * only when later ones decide for every job that can still run, so a job keeps its profile for all its steps, and a
 * change that is dated a minute ahead reaches every node's copy before any job can be seen differently by two of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slurm/hook.h"

#define FAR_FUTURE (1LL << 40)
#define NEAR_S     3600 /* a job's prologs are over by then, and clocks do not differ that much */

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

static int take_line(char *line, const struct hook_job *job, char hash[SHA256_HEX], int *near, struct hook_why *w)
{
    char *words[3];
    long long since;
    if (!*line || *line == '#')
        return 0;
    if (hook_words(line, words, 3) != 3 || hook_number(words[0], FAR_FUTURE, &since) ||
        (strcmp(words[1], "none") != 0 && !hook_is_hash(words[1])))
        return hook_refuse(w, "expected SINCE HASH SCOPE");
    *near |= !job->start_known && llabs(since - job->start) < NEAR_S;
    int rc = since > job->start ? 0 : in_scope(words[2], job, w);
    if (rc > 0)
        snprintf(hash, SHA256_HEX, "%s", strcmp(words[1], "none") != 0 ? words[1] : "");
    return rc < 0 ? -1 : 0;
}

int hook_choose(const struct hook_conf *c, const struct hook_job *job, char hash[SHA256_HEX], int *near,
                struct hook_why *w)
{
    char path[HOOK_PATH];
    struct hook_file f;
    hash[0] = 0;
    *near = 0;
    snprintf(path, sizeof path, "%s/schedule", c->store);
    /* Nothing is installed, which is not a fault, unless the site has said that every node has a store. */
    if (c->policy != HOOK_FAIL && access(path, F_OK) && errno == ENOENT)
        return 0;
    if (hook_read(path, c->owner, HOOK_SCHEDULE_BYTES, &f, w))
        return -1;
    int rc = 0, number = 0;
    char *cursor = f.text, *line;
    struct hook_why why = {""};
    /* A line without an end is one that is being written. */
    if (f.bytes && f.text[f.bytes - 1] != '\n')
        rc = hook_refuse(w, "%s ends in the middle of a line", path);
    while (!rc && (line = hook_line(&cursor))) {
        number++;
        if (take_line(line, job, hash, near, &why))
            rc = hook_refuse(w, "%s:%d: %s", path, number, why.text);
    }
    free(f.text);
    return rc;
}
