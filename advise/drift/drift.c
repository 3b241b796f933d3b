/* Captures of many jobs, read and judged. */
#include "advise/drift/drift.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/hash.h"

/* What is compared with one another is bounded: whoever can write into a directory of captures decides how much is
 * there. */
#define MOST_FILES  65536
#define MOST_JOBS   2048
#define MOST_POINTS 300000
#define MOST_CAUSES 512

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The captures in a directory, those of a job one behind another. Files of other kinds are passed over. */
static int list_files(struct drift_fleet *f, const char *dir, const char ***names, size_t *count, struct arena *a,
                      struct err *e)
{
    DIR *d = opendir(dir);
    if (!d)
        return err_errno(e, "%s", dir);
    for (const struct dirent *entry; f->nfiles <= MOST_FILES && (entry = readdir(d));) {
        if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".rank.") || !file_ends_with(entry->d_name, ".json"))
            continue;
        ARENA_ADD(a, *names, *count) = arena_strdup(a, entry->d_name);
        f->nfiles++;
    }
    closedir(d);
    if (f->nfiles > MOST_FILES)
        return err_set(e, ERR_FAILED, "%s: more than %d captures; move earlier ones away", dir, MOST_FILES);
    if (*count)
        qsort(*names, *count, sizeof **names, arena_compare_texts);
    return 0;
}

/* From one call to the next, by the clock of a host: of the communicator and rank that have made most of them. */
static double time_between_calls(const struct observe_job *j)
{
    double us = 0;
    uint64_t most = 0;
    for (size_t i = 0, end; i < j->nentries; i = end) {
        const struct observe_entry *first = &j->entries[i], *last = first;
        for (end = i; end < j->nentries && j->entries[end].group == first->group; end++)
            if (j->entries[end].rank == first->rank && j->entries[end].number > last->number)
                last = &j->entries[end];
        if (last->number - first->number <= most)
            continue;
        most = last->number - first->number;
        us = (double)(last->at_us - first->at_us) / (double)most;
    }
    return us;
}

/* Whatever their order, on however many ranks, and however often: that is a matter of a job's length. */
static uint64_t hash_calls(const struct observe_job *j)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < j->ncalls; i++) {
        const struct observe_call *c = &j->calls[i];
        if (c->rank)
            continue;
        uint64_t hash = hash_add(hash_add(HASH_START, (unsigned)c->kind), c->bytes);
        sum += hash_add(hash_add(hash, (unsigned)c->group_size), hash_text(c->dtype));
    }
    return sum;
}

/* What is asked of a job's calls is answered, and they go. */
static int end_job(struct drift_fleet *f, struct drift_job *job, struct err *e)
{
    job->basis = observe_basis(&job->seen);
    job->nlate = observe_late(&job->seen, job->late, DRIFT_FINDINGS);
    job->between_us = time_between_calls(&job->seen);
    job->calls = hash_calls(&job->seen);
    job->points = observe_points(&job->seen, &job->npoints);
    struct observe_point *fewer = job->npoints ? realloc(job->points, job->npoints * sizeof *fewer) : NULL;
    job->points = fewer ? fewer : job->points;
    free(job->seen.calls);
    free(job->seen.entries);
    job->seen.calls = NULL;
    job->seen.entries = NULL;
    job->seen.ncalls = job->seen.nentries = 0;
    f->npoints += job->npoints;
    return f->npoints <= MOST_POINTS ? 0
                                     : err_set(e, ERR_FAILED,
                                               "captures of more than %d calls of jobs; move earlier ones "
                                               "away",
                                               MOST_POINTS);
}

static int read_dir(struct drift_fleet *f, const char *dir, struct arena *a, struct err *e)
{
    const char **names = NULL;
    size_t count = 0;
    int rc = list_files(f, dir, &names, &count, a, e);
    for (size_t i = 0, end; i < count && !rc; i = end) {
        struct drift_job *job = arena_alloc(a, sizeof *job);
        job->dir = dir;
        size_t length = (size_t)(strstr(names[i], ".rank.") - names[i]);
        for (end = i; end < count && !strncmp(names[end], names[i], length + strlen(".rank.")); end++) {
            size_t bytes;
            char *text = observe_read(arena_printf(a, "%s/%s", dir, names[end]), &bytes);
            if (text)
                observe_add(&job->seen, text, bytes);
            free(text);
        }
        if (!job->seen.nranks)
            continue;
        if (f->njobs == MOST_JOBS)
            rc = err_set(e, ERR_FAILED, "%s: captures of more than %d jobs; move earlier ones away", dir, MOST_JOBS);
        ARENA_ADD(a, f->jobs, f->njobs) = job;
        rc = rc ? rc : end_job(f, job, e);
    }
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
    struct drift_cause *c = &ARENA_ADD(a, f->causes, f->ncauses);
    *c = (struct drift_cause){.host = host, .place = place};
    return c;
}

static void add_host(struct drift_cause *c, const char *host, struct arena *a)
{
    for (size_t i = 0; i < c->nhosts; i++)
        if (!strcmp(c->hosts[i], host))
            return;
    ARENA_ADD(a, c->hosts, c->nhosts) = host;
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
        int place = job->seen.per_node > 1 && late->rank >= 0 ? late->rank % job->seen.per_node : -1;
        int said = 0;
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
    for (size_t i = 0; i < at; i++) /* the latest first: no more are asked than observe_drifts takes */
        before[i] = (struct observe_earlier){f->jobs[at - 1 - i]->points, f->jobs[at - 1 - i]->npoints};
    job->ndrifts = observe_drifts(job->points, job->npoints, before, at, job->drifts, DRIFT_FINDINGS);
}

/* Whether a later job has the call: what that says counts. */
static int is_past(const struct drift_fleet *f, size_t job, const struct observe_call *call)
{
    for (size_t i = job + 1; i < f->njobs; i++)
        if (observe_find_point(&(struct observe_earlier){f->jobs[i]->points, f->jobs[i]->npoints}, call))
            return 1;
    return 0;
}

static int by_lost_time(const void *x, const void *y)
{
    const struct observe_drift *a = x, *b = y;
    return (a->lost_us < b->lost_us) - (a->lost_us > b->lost_us);
}

static void gather_calls(struct drift_fleet *f, struct arena *a)
{
    for (size_t i = 0; i < f->njobs; i++)
        for (size_t k = 0; k < f->jobs[i]->ndrifts; k++) {
            if (is_past(f, i, &f->jobs[i]->drifts[k].now.call))
                continue;
            ARENA_ADD(a, f->calls, f->ncalls) = f->jobs[i]->drifts[k];
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
    if (!f->njobs)
        return err_null(e, ERR_FAILED, "%s has no capture: no JOB.rank.N.json of NCCLTUNE_CAPTURE=DIR", dirs[0]);
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
