/* Which profile a job gets: the store's schedule against what all nodes of the job know alike.
 *
 *   SINCE HASH SCOPE                           SINCE: seconds since 1970; HASH: a profile, or "none"
 *                                              SCOPE: all | partition=NAME | nodes=LIST (all nodes of the job)
 *   SINCE HASH trial=NAME,SHARE,JOBS,SCOPE     a trial: SHARE percent of the jobs in SCOPE
 *   SINCE none trial=NAME                      its end
 *
 * The last line decides whose scope has the job and whose time is not after the job's start. A trial decides for its
 * share of jobs alone, and until it ends or a later line has the job. Lines are added, and go
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

static int add_host(void *arg, const char *host, struct err *e)
{
    struct hosts *h = arg;
    if (!(h->count & (h->count - 1))) { /* a power of two: full */
        void *more = realloc(h->names, (h->count ? 2 * h->count : 1) * sizeof *h->names);
        if (!more)
            return hook_refuse(e, "no memory");
        h->names = more;
    }
    snprintf(h->names[h->count++], HOOK_WORD, "%s", host);
    return 0;
}

#define OUTSIDE 1
static int inside(void *arg, const char *host, struct err *e)
{
    const struct hosts *h = arg;
    (void)e;
    return bsearch(host, h->names, h->count, sizeof *h->names, by_name) ? 0 : OUTSIDE;
}

/* 1 when all nodes of the job are in the list, 0 when not, -1 after an error. */
static int covers(const char *list, const struct hook_job *job, struct err *e)
{
    struct hosts h = {0};
    int rc = hook_nodes_each(list, add_host, &h, e);
    if (!rc)
        qsort(h.names, h.count, sizeof *h.names, by_name);
    for (int i = 0; i < job->nlists && !rc; i++)
        rc = hook_nodes_each(job->lists[i], inside, &h, e);
    free(h.names);
    return rc == OUTSIDE ? 0 : rc < 0 ? -1 : 1;
}

static int in_scope(const char *scope, const struct hook_job *job, struct err *e)
{
    static const char partition[] = "partition=", nodes[] = "nodes=";
    if (!strcmp(scope, "all"))
        return 1;
    if (!strncmp(scope, partition, sizeof partition - 1))
        return job->partition && !strcmp(job->partition, scope + sizeof partition - 1);
    if (!strncmp(scope, nodes, sizeof nodes - 1))
        return covers(scope + sizeof nodes - 1, job, e);
    return hook_refuse(e, "'%.40s' is not a scope", scope);
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

int hook_trial_parse(char *scope, struct hook_trial *t, struct err *e)
{
    static const char trial[] = "trial=";
    long long numbers[2] = {0, 0};
    if (strncmp(scope, trial, sizeof trial - 1) != 0)
        return 0;
    *t = (struct hook_trial){.name = scope + sizeof trial - 1};
    char *words[3] = {strchr(scope, ',')};
    for (int i = 1; i < 3 && words[i - 1]; i++)
        words[i] = strchr(words[i - 1] + 1, ',');
    for (int i = 0; i < 3 && words[i]; i++)
        *words[i]++ = 0;
    int is_end = !words[0];
    if (!hook_is_name(t->name) || (!is_end && (!words[2] || hook_number(words[0], 99, &numbers[0]) || numbers[0] < 1 ||
                                               hook_number(words[1], HOOK_TRIAL_JOBS, &numbers[1]) || numbers[1] < 1)))
        return hook_refuse(e, "expected trial=NAME,SHARE,JOBS,SCOPE or trial=NAME");
    t->share = (int)numbers[0];
    t->jobs = (int)numbers[1];
    t->scope = words[2];
    return 1;
}

/* The same for a job and a trial wherever it is asked, and evenly spread over jobs. */
static int is_in_share(const char *trial, const char *job, int share)
{
    struct sha256 sha;
    unsigned char digest[SHA256_BYTES];
    sha256_init(&sha);
    sha256_update(&sha, trial, strlen(trial) + 1);
    sha256_update(&sha, job, strlen(job));
    sha256_end(&sha, digest);
    uint64_t lot = (uint64_t)digest[0] << 24 | (uint64_t)digest[1] << 16 | (uint64_t)digest[2] << 8 | digest[3];
    return lot * 100 >> 32 < (uint64_t)share;
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static void copy_hash(char to[SHA256_HEX], const char *hash)
{
    snprintf(to, SHA256_HEX, "%s", strcmp(hash, "none") != 0 ? hash : "");
}

static int take_trial(const struct hook_trial *t, const char *hash, const struct hook_job *job, struct hook_choice *c,
                      struct err *e)
{
    int rc = t->scope ? in_scope(t->scope, job, e) : 0;
    if (rc < 0)
        return -1;
    if (rc || !strcmp(c->trial, t->name))
        c->trial[0] = 0;
    if (!rc)
        return 0;
    snprintf(c->trial, sizeof c->trial, "%s", t->name);
    copy_hash(c->tried, hash);
    c->is_tried = is_in_share(t->name, job->id, t->share);
    return 0;
}

static int take_line(char *line, const struct hook_job *job, struct hook_choice *c, struct err *e)
{
    char *words[3];
    long long since;
    struct hook_trial t;
    if (!*line || *line == '#')
        return 0;
    if (hook_words(line, words, 3) != 3 || hook_number(words[0], FAR_FUTURE, &since) ||
        (strcmp(words[1], "none") != 0 && !hook_is_hash(words[1])))
        return hook_refuse(e, "expected SINCE HASH SCOPE");
    c->near |= !job->start_known && llabs(since - job->start) < NEAR_S;
    int rc = since > job->start ? 0 : hook_trial_parse(words[2], &t, e);
    if (since > job->start || rc < 0)
        return rc;
    if (rc)
        return take_trial(&t, words[1], job, c, e);
    rc = in_scope(words[2], job, e);
    if (rc > 0) {
        copy_hash(c->hash, words[1]);
        c->trial[0] = 0;
    }
    return rc < 0 ? -1 : 0;
}

int hook_choose(const char *schedule, const char *path, const struct hook_job *job, struct hook_choice *c,
                struct err *e)
{
    int rc = 0, number = 0;
    size_t bytes = schedule ? strlen(schedule) : 0;
    char *copy = schedule ? strdup(schedule) : NULL, *cursor = copy, *line;
    struct err why = {0};
    *c = (struct hook_choice){.near = 0};
    if (schedule && !copy)
        return hook_refuse(e, "no memory");
    /* A line without an end is one that is being written. */
    if (bytes && schedule[bytes - 1] != '\n')
        rc = hook_refuse(e, "%s ends in the middle of a line", path);
    while (!rc && copy && (line = hook_line(&cursor))) {
        number++;
        if (take_line(line, job, c, &why))
            rc = hook_refuse(e, "%s:%d: %s", path, number, why.text);
    }
    free(copy);
    c->is_tried = c->is_tried && c->trial[0];
    if (c->is_tried)
        memcpy(c->hash, c->tried, sizeof c->hash);
    return rc;
}

int hook_schedule_read(const struct hook_conf *conf, int *store, struct hook_file *f, struct err *e)
{
    char path[HOOK_PATH];
    struct err why = {0};
    *f = (struct hook_file){0};
    snprintf(path, sizeof path, "%s/schedule", conf->store);
    *store = hook_open_directory(conf->store, conf->owner, &why);
    if (*store >= 0 && !hook_read_at(*store, "schedule", path, conf->owner, HOOK_SCHEDULE_BYTES, f, &why))
        return strlen(f->text) == f->bytes ? 0 : hook_refuse(e, "%s is not text", path);
    /* Nothing is installed, which is not a fault, unless the site has said that every node has a store. */
    return conf->policy != HOOK_FAIL && access(path, F_OK) && errno == ENOENT ? 0 : hook_refuse(e, "%s", why.text);
}
