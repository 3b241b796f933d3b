/* Captures of many jobs, read and judged. */
#include "advise/drift/drift.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"

/* What is compared with one another is bounded: whoever can write into a directory of captures decides how much is
 * there. */
#define MOST_FILES  65536
#define MOST_JOBS   2048
#define MOST_CAUSES 512

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static struct drift_job *job_of(struct drift_fleet *f, const char *dir, const char *name, struct arena *a)
{
    for (size_t i = f->njobs; i-- > 0;)
        if (f->jobs[i]->dir == dir && !strcmp(f->jobs[i]->seen.name, name))
            return f->jobs[i];
    if (f->njobs == MOST_JOBS)
        return NULL;
    f->jobs = arena_grow(a, f->jobs, f->njobs, sizeof *f->jobs);
    struct drift_job *job = arena_alloc(a, sizeof *job);
    job->dir = dir;
    return f->jobs[f->njobs++] = job;
}

/* Files of other kinds are passed over: a directory of captures has records of jobs, too. */
static int read_file(struct drift_fleet *f, const char *dir, const char *name, struct arena *a, struct err *e)
{
    size_t bytes;
    struct observe_head head;
    char *text = observe_read(arena_printf(a, "%s/%s", dir, name), &bytes);
    struct drift_job *job = text && !observe_head(text, bytes, &head) ? job_of(f, dir, head.name, a) : NULL;
    int full = !job && text && !observe_head(text, bytes, &head);
    if (job)
        observe_add(&job->seen, text, bytes);
    free(text);
    return !full ? 0
                 : err_set(e, ERR_FAILED, "%s: captures of more than %d jobs; move earlier ones away", dir, MOST_JOBS);
}

static int read_dir(struct drift_fleet *f, const char *dir, struct arena *a, struct err *e)
{
    DIR *d = opendir(dir);
    int files = 0, rc = 0;
    if (!d)
        return err_errno(e, "%s", dir);
    for (const struct dirent *entry = readdir(d); entry && !rc; entry = readdir(d)) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".rank.") || !file_ends_with(entry->d_name, ".json"))
            continue;
        rc = ++files > MOST_FILES
                 ? err_set(e, ERR_FAILED, "%s: more than %d captures; move earlier ones away", dir, MOST_FILES)
                 : read_file(f, dir, entry->d_name, a, e);
    }
    closedir(d);
    return rc;
}

static int by_time(const void *x, const void *y)
{
    const struct drift_job *const *a = x, *const *b = y;
    if ((*a)->seen.began != (*b)->seen.began)
        return (*a)->seen.began < (*b)->seen.began ? -1 : 1;
    return strverscmp((*a)->seen.name, (*b)->seen.name);
}

/* ---- who keeps the others waiting -------------------------------------------------------------------------------- */

static struct drift_cause *cause_of(struct drift_fleet *f, const char *host, int place, struct arena *a)
{
    for (size_t i = 0; i < f->ncauses; i++) {
        struct drift_cause *c = &f->causes[i];
        if (host ? c->host && !strcmp(c->host, host) : !c->host && c->place == place)
            return c;
    }
    if (f->ncauses == MOST_CAUSES)
        return NULL;
    f->causes = arena_grow(a, f->causes, f->ncauses, sizeof *f->causes);
    f->causes[f->ncauses] = (struct drift_cause){.host = host, .place = place};
    return &f->causes[f->ncauses++];
}

static int place_of(const struct observe_job *j, int rank)
{
    return j->per_node > 1 && rank >= 0 ? rank % j->per_node : -1;
}

static void add_host(struct drift_cause *c, const char *host, struct arena *a)
{
    for (size_t i = 0; i < c->nhosts; i++)
        if (!strcmp(c->hosts[i], host))
            return;
    c->hosts = arena_grow(a, c->hosts, c->nhosts, sizeof *c->hosts);
    c->hosts[c->nhosts++] = host;
}

static void count_late(struct drift_cause *c, const struct observe_late *late)
{
    if (!c)
        return;
    c->late++;
    c->by_hosts += (size_t)late->by_hosts;
    *(late->by_hosts ? &c->behind_us : &c->waited_us) += late->waited_us;
}

static void blame(struct drift_fleet *f, const struct drift_job *job, struct arena *a)
{
    for (size_t i = 0; i < job->nlate; i++) {
        const struct observe_late *late = &job->late[i];
        int place = place_of(&job->seen, late->rank), said = 0;
        for (size_t k = 0; k < i; k++)
            said |= !strcmp(job->late[k].host, late->host);
        if (late->host[0] && !said) { /* its worst rank */
            struct drift_cause *c = cause_of(f, late->host, -1, a);
            count_late(c, late);
        }
        if (place >= 0) {
            struct drift_cause *c = cause_of(f, NULL, place, a);
            count_late(c, late);
            if (c)
                add_host(c, late->host, a);
        }
    }
}

/* How many jobs had each of those that were waited for; a place is on all nodes. */
static void count_jobs(struct drift_fleet *f)
{
    for (size_t i = 0; i < f->ncauses; i++)
        for (size_t k = 0; k < f->njobs; k++) {
            const struct observe_job *j = &f->jobs[k]->seen;
            int has = !f->causes[i].host && f->causes[i].place < j->per_node;
            for (size_t r = 0; r < j->nranks && f->causes[i].host && !has; r++)
                has = !strcmp(j->ranks[r].host, f->causes[i].host);
            f->causes[i].jobs += (size_t)has;
        }
}

static int by_waiting(const void *x, const void *y)
{
    const struct drift_cause *a = x, *b = y;
    if (!a->host != !b->host)
        return a->host ? -1 : 1;
    return (a->waited_us < b->waited_us) - (a->waited_us > b->waited_us);
}

/* ---- what has become slower -------------------------------------------------------------------------------------- */

static void judge(struct drift_fleet *f, size_t at, struct observe_earlier *before)
{
    struct drift_job *job = f->jobs[at];
    job->points = observe_points(&job->seen, &job->npoints);
    job->nlate = observe_late(&job->seen, job->late, DRIFT_FINDINGS);
    for (size_t i = 0; i < at; i++) /* the latest first: no more are asked than observe_drifts takes */
        before[i] = (struct observe_earlier){f->jobs[at - 1 - i]->points, f->jobs[at - 1 - i]->npoints};
    job->ndrifts = observe_drifts(job->points, job->npoints, before, at, job->drifts, DRIFT_FINDINGS);
}

static int same_call(const struct observe_call *a, const struct observe_call *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->group_size == b->group_size &&
           a->crosses_nodes == b->crosses_nodes && a->stride == b->stride && !strcmp(a->dtype, b->dtype);
}

/* Whether a later job has the call: what that says counts. */
static int is_past(const struct drift_fleet *f, size_t job, const struct observe_call *call)
{
    for (size_t i = job + 1; i < f->njobs; i++)
        for (size_t k = 0; k < f->jobs[i]->npoints; k++)
            if (same_call(&f->jobs[i]->points[k].call, call))
                return 1;
    return 0;
}

static int by_lost_time(const void *x, const void *y)
{
    const struct observe_drift *a = x, *b = y;
    double lost[2] = {(a->now.call.median_us - a->before.call.median_us) * (double)a->now.call.count,
                      (b->now.call.median_us - b->before.call.median_us) * (double)b->now.call.count};
    return (lost[0] < lost[1]) - (lost[0] > lost[1]);
}

static void gather_calls(struct drift_fleet *f, struct arena *a)
{
    for (size_t i = 0; i < f->njobs; i++)
        for (size_t k = 0; k < f->jobs[i]->ndrifts; k++) {
            if (is_past(f, i, &f->jobs[i]->drifts[k].now.call))
                continue;
            f->calls = arena_grow(a, f->calls, f->ncalls, sizeof *f->calls);
            f->calls[f->ncalls++] = f->jobs[i]->drifts[k];
        }
    if (f->ncalls)
        qsort(f->calls, f->ncalls, sizeof *f->calls, by_lost_time);
}

struct drift_fleet *drift_read(const char *const *dirs, size_t ndirs, struct arena *a, struct err *e)
{
    struct drift_fleet *f = arena_alloc(a, sizeof *f);
    for (size_t i = 0; i < ndirs; i++)
        if (read_dir(f, dirs[i], a, e)) {
            drift_free(f);
            return NULL;
        }
    if (!f->njobs) {
        err_set(e, ERR_FAILED, "%s holds no capture: no JOB.rank.N.json, as NCCLTUNE_CAPTURE=DIR leaves them", dirs[0]);
        return NULL;
    }
    qsort(f->jobs, f->njobs, sizeof *f->jobs, by_time);
    struct observe_earlier *before = arena_alloc(a, f->njobs * sizeof *before);
    for (size_t i = 0; i < f->njobs; i++) {
        judge(f, i, before);
        blame(f, f->jobs[i], a);
    }
    count_jobs(f);
    if (f->ncauses)
        qsort(f->causes, f->ncauses, sizeof *f->causes, by_waiting);
    gather_calls(f, a);
    return f;
}

void drift_free(struct drift_fleet *f)
{
    for (size_t i = 0; f && i < f->njobs; i++) {
        free(f->jobs[i]->points);
        observe_free(&f->jobs[i]->seen);
    }
}
