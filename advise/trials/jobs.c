/* Jobs as Slurm's accounting tells them, and figures of them: a site's own, and those of captures. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advise/drift/drift.h"
#include "advise/trials/trials.h"
#include "core/coll.h"
#include "core/units.h"

enum { ID, SHOWN_ID, USER, PARTITION, START, ELAPSED, STATE, NODE_COUNT, NODES, NAME, FIELDS };

/* "1764110000", or "2026-11-25T22:00:00" of this machine's clock; 0: neither. */
static long long parse_start(const char *text)
{
    struct tm t = {.tm_isdst = -1};
    char *end;
    long long seconds = strtoll(text, &end, 10);
    if (end != text && !*end)
        return seconds > 0 ? seconds : 0;
    end = strptime(text, "%Y-%m-%dT%H:%M:%S", &t);
    return end && !*end ? (long long)mktime(&t) : 0;
}

static int is_number(const char *id)
{
    size_t n = strspn(id, "0123456789");
    return n > 0 && n < 19 && !id[n];
}

enum line { ODD, NOT_BEGUN, JOB };

static enum line parse_job(char *line, struct trials_job *job)
{
    char *fields[FIELDS] = {line};
    for (int i = 1; i < FIELDS; i++) {
        fields[i] = strchr(fields[i - 1], '|');
        if (!fields[i])
            return ODD;
        *fields[i]++ = 0;
    }
    long long start = parse_start(fields[START]);
    double elapsed_s = strtod(fields[ELAPSED], NULL);
    if (!is_number(fields[ID]))
        return ODD;
    if (start <= 0 || strchr(fields[SHOWN_ID], '+'))
        return NOT_BEGUN; /* or a part of a heterogeneous job */
    *job = (struct trials_job){.id = fields[ID],
                               .user = fields[USER],
                               .partition = fields[PARTITION],
                               .start = start,
                               .elapsed_s = elapsed_s > 0 && elapsed_s < 1e10 ? elapsed_s : 0,
                               .state = fields[STATE],
                               .node_count = (int)strtol(fields[NODE_COUNT], NULL, 10),
                               .nodes = fields[NODES],
                               .name = fields[NAME]};
    return JOB;
}

/* Numbers without leading zeros: the shorter is the smaller. */
static int by_id(const void *x, const void *y)
{
    const char *a = ((const struct trials_job *)x)->id, *b = ((const struct trials_job *)y)->id;
    size_t n = strlen(a), m = strlen(b);
    return n != m ? (n > m) - (n < m) : strcmp(a, b);
}

/* Somebody may have named a job so that it looks like another: of two with one number neither is believed. */
static void drop_twice_told(struct trials_jobs *jobs)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < jobs->count; i = end) {
        for (end = i + 1; end < jobs->count && !by_id(&jobs->list[i], &jobs->list[end]);)
            end++;
        if (end - i == 1)
            jobs->list[kept++] = jobs->list[i];
        else
            jobs->odd += end - i;
    }
    jobs->count = kept;
}

void trials_read_sacct(const char *text, struct arena *a, struct trials_jobs *jobs)
{
    size_t lines = 1;
    for (const char *end = text; (end = strchr(end, '\n')); end++)
        lines++;
    *jobs = (struct trials_jobs){.list = arena_alloc(a, lines * sizeof *jobs->list)};
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        char *copy = arena_strndup(a, line, n);
        struct trials_job job;
        line += n + (line[n] == '\n');
        if (!*copy || !strncmp(copy, "JobIDRaw|", 9))
            continue;
        enum line is = parse_job(copy, &job);
        jobs->odd += is == ODD;
        if (is != JOB)
            continue;
        jobs->list[jobs->count++] = job;
    }
    if (jobs->count)
        qsort(jobs->list, jobs->count, sizeof *jobs->list, by_id);
    drop_twice_told(jobs);
}

struct trials_job *trials_find_job(const struct trials_jobs *jobs, const char *id)
{
    struct trials_job wanted = {.id = id};
    return jobs->count ? bsearch(&wanted, jobs->list, jobs->count, sizeof wanted, by_id) : NULL;
}

int trials_read_figures(const char *text, const char *file, int is_rate, struct trials_jobs *jobs, size_t *unknown,
                        struct err *e)
{
    char id[24], *end;
    *unknown = 0;
    for (long number = 1; *text; number++) {
        size_t n = strcspn(text, "\n"), digits = strspn(text, "0123456789");
        const char *value = text + digits + strspn(text + digits, " \t,;");
        double figure = strtod(value, &end);
        int is_left_out = !n || *text == '#';
        if (!is_left_out && (!digits || digits >= sizeof id || value == text + digits))
            return err_at(e, file, number, 1, "expected the number of a job, a blank and a figure");
        if (!is_left_out && (end == value || end > text + n || strspn(end, " \t\r") < (size_t)(text + n - end) ||
                             !(figure > 1e-300) || figure > 1e300))
            return err_at(e, file, number, (long)(value - text) + 1, "expected a figure above 0");
        if (!is_left_out) {
            memcpy(id, text, digits);
            id[digits] = 0;
            struct trials_job *job = trials_find_job(jobs, id);
            if (job)
                job->figure = is_rate ? 1 / figure : figure;
            *unknown += !job;
        }
        text += n + (text[n] == '\n');
    }
    return 0;
}

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
            job = &ARENA_ADD(a, jobs->list, jobs->count);
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
        ARENA_ADD(a, calls, *ncalls) = call;
    }
    if (*ncalls)
        qsort(calls, *ncalls, sizeof *calls, by_spent);
    return calls;
}
