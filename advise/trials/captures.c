/* What captures have of the jobs of a trial. */
#include <stdlib.h>
#include <string.h>

#include "advise/drift/drift.h"
#include "advise/trials/trials.h"
#include "core/coll.h"
#include "core/hash.h"
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

/* From one call to the next, by the clock of a host: of the communicator and rank that have made most of them. */
static double time_between_calls(const struct drift_job *j)
{
    const struct observe_entry *entries = j->seen.entries;
    double us = 0;
    uint64_t most = 0;
    for (size_t i = 0, end; i < j->seen.nentries; i = end) {
        const struct observe_entry *first = &entries[i], *last = first;
        for (end = i; end < j->seen.nentries && entries[end].group == entries[i].group; end++)
            if (entries[end].rank == first->rank && entries[end].number > last->number)
                last = &entries[end];
        if (last->number - first->number <= most)
            continue;
        most = last->number - first->number;
        us = (double)(last->at_us - first->at_us) / (double)most;
    }
    return us;
}

/* ---- jobs that are known by their captures alone ------------------------------------------------------------------
 */

/* Jobs that make the same calls are of one kind; how often they make them is a matter of their length. */
static const char *kind_by_calls(const struct observe_job *j, struct arena *a)
{
    uint64_t sum = 0; /* whatever their order, and on however many ranks */
    for (size_t i = 0; i < j->ncalls; i++) {
        const struct observe_call *c = &j->calls[i];
        if (c->rank)
            continue;
        uint64_t hash = hash_add(hash_add(HASH_START, (unsigned)c->kind), c->bytes);
        sum += hash_add(hash_add(hash, (unsigned)c->group_size), hash_text(c->dtype));
    }
    return arena_printf(a, "calls %016llx", (unsigned long long)sum);
}

static const char *nodes_of(const struct observe_job *j, struct arena *a, int *count)
{
    const char *nodes = "";
    *count = 0;
    for (size_t i = 0; i < j->nranks; i++) {
        int is_known = 0;
        for (size_t k = 0; k < i && !is_known; k++)
            is_known = !strcmp(j->ranks[k].host, j->ranks[i].host);
        if (is_known || !j->ranks[i].host[0])
            continue;
        nodes = arena_printf(a, "%s%s%s", nodes, *nodes ? "," : "", j->ranks[i].host);
        ++*count;
    }
    return nodes;
}

static struct trials_job job_of_capture(const struct drift_job *j, struct arena *a)
{
    struct trials_job job = {.id = j->seen.name,
                             .name = kind_by_calls(&j->seen, a),
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
        job->figure = is_timed ? time_of_calls(f->jobs[i]) : time_between_calls(f->jobs[i]);
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
            all = arena_grow(a, all, n, sizeof *all);
            all[n++] = (struct timed_call){name_call(c, a), i, c->median_us, c->median_us * (double)c->count,
                                           placed[i].is_tried};
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
