/* What captures have of the jobs of a trial. */
#include <stdlib.h>
#include <string.h>

#include "advise/drift/drift.h"
#include "advise/trials/trials.h"
#include "core/coll.h"
#include "core/units.h"

/* ---- a job's figure ---------------------------------------------------------------------------------------------- */

/* The time of a call on average, by the GPUs. */
static double time_of_calls(const struct drift_job *j)
{
    double us = 0, count = 0;
    for (size_t i = 0; i < j->npoints; i++) {
        us += j->points[i].call.median_us * (double)j->points[i].call.count;
        count += (double)j->points[i].call.count;
    }
    return count > 0 ? us / count : 0;
}

/* ---- jobs that are known by their captures alone ----------------------------------------------------------------- */

static const char *nodes_of(const struct observe_job *j, struct arena *a, int *count)
{
    const char **hosts = arena_alloc(a, (j->nranks + 1) * sizeof *hosts);
    char *nodes = arena_alloc(a, j->nranks * OBSERVE_WORD + 1), *end = nodes;
    for (size_t i = 0; i < j->nranks; i++)
        hosts[i] = j->ranks[i].host;
    if (j->nranks)
        qsort(hosts, j->nranks, sizeof *hosts, arena_compare_texts);
    *count = 0;
    for (size_t i = 0; i < j->nranks; i++)
        if (hosts[i][0] && (!i || strcmp(hosts[i], hosts[i - 1]) != 0))
            end += sprintf(end, "%s%s", (*count)++ ? "," : "", hosts[i]);
    return nodes;
}

static struct trials_job job_of_capture(const struct drift_job *j, struct arena *a)
{
    struct trials_job job = {.id = j->seen.name,
                             .name = arena_printf(a, "calls %016llx", (unsigned long long)j->calls),
                             .user = "",
                             .partition = NULL,
                             .state = "",
                             .start = (long long)j->seen.began};
    job.nodes = nodes_of(&j->seen, a, &job.node_count);
    return job;
}

const char *trials_take_captures(const struct drift_fleet *f, struct arena *a, struct trials_jobs *jobs)
{
    size_t known = jobs->count;
    int is_timed = 1;
    for (size_t i = 0; i < f->njobs; i++)
        is_timed = is_timed && f->jobs[i]->npoints;
    for (size_t i = 0; i < f->njobs; i++) {
        struct trials_jobs told = {jobs->list, known, 0};
        const char *id = f->jobs[i]->seen.name;
        struct trials_job *job = trials_find_job(&told, id);
        if (id[strspn(id, "0123456789")]) /* another launcher's: no hook knows it */
            continue;
        if (!job) {
            jobs->list = arena_grow(a, jobs->list, jobs->count, sizeof *jobs->list);
            job = &jobs->list[jobs->count++];
            *job = job_of_capture(f->jobs[i], a);
        }
        job->captured = f->jobs[i];
        job->figure = is_timed ? time_of_calls(f->jobs[i]) : f->jobs[i]->between_us;
    }
    return is_timed ? "time of a call, by the GPUs" : "time from call to call, by the hosts";
}

/* ---- call by call ------------------------------------------------------------------------------------------------ */

struct timed_call {
    const char *name;
    size_t order; /* of its job */
    double us, spent_us;
    int is_tried;
};

static int by_name(const void *x, const void *y)
{
    const struct timed_call *a = x, *b = y;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

static int by_spent(const void *x, const void *y)
{
    const struct trials_call *a = x, *b = y;
    return (a->spent_us < b->spent_us) - (a->spent_us > b->spent_us);
}

static const char *name_call(const struct observe_call *c, struct arena *a)
{
    char bytes[UNIT_TEXT];
    unit_bytes(bytes, c->bytes);
    return arena_printf(a, "%s %s%s%s, %d ranks, %s", coll_name(c->kind), bytes, c->dtype[0] ? " " : "", c->dtype,
                        c->group_size, c->crosses_nodes ? "cluster" : "node");
}

struct trials_call *trials_compare_calls(const struct trials_placed *placed, size_t count, size_t planned,
                                         struct arena *a, size_t *ncalls)
{
    struct timed_call *all = NULL;
    struct trials_call *calls = NULL;
    size_t n = 0;
    *ncalls = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < placed[i].job->captured->npoints; k++) {
            const struct observe_call *c = &placed[i].job->captured->points[k].call;
            ARENA_ADD(a, all, n) = (struct timed_call){name_call(c, a), i, c->median_us,
                                                       c->median_us * (double)c->count, placed[i].is_tried};
        }
    if (n)
        qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0, end; i < n; i = end) {
        struct trials_unit *units = arena_alloc(a, count * sizeof *units);
        struct trials_call call = {.name = all[i].name};
        size_t nunits = 0;
        for (end = i; end < n && !strcmp(all[end].name, all[i].name); end++) {
            call.spent_us += all[end].spent_us;
            if (nunits < count)
                units[nunits++] = (struct trials_unit){all[end].us, 0, all[end].is_tried};
        }
        trials_compare(units, nunits, planned, &call.comparison, a);
        calls = arena_grow(a, calls, *ncalls, sizeof *calls);
        calls[(*ncalls)++] = call;
    }
    if (*ncalls)
        qsort(calls, *ncalls, sizeof *calls, by_spent);
    return calls;
}
