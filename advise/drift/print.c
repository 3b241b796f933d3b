/* A fleet's captures for people and for programs. */
#include <time.h>

#include "advise/drift/drift.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"

#define MOST 20 /* lines of a table for people */

static void print_day(uint64_t began, char to[32])
{
    time_t t = (time_t)began;
    struct tm day;
    if (!began || !gmtime_r(&t, &day) || !strftime(to, 32, "%Y-%m-%d %H:%M", &day))
        snprintf(to, 32, "-");
}

static void print_jobs(const struct drift_fleet *f, FILE *out)
{
    fprintf(out, "%-16s  %-16s  %11s  %5s  %5s  %6s\n", "job", "began (UTC)", "ranks read", "calls", "late", "slower");
    size_t first = f->njobs > MOST ? f->njobs - MOST : 0;
    for (size_t i = first; i < f->njobs; i++) {
        const struct drift_job *j = f->jobs[i];
        char day[32], ranks[32];
        print_day(j->seen.began, day);
        snprintf(ranks, sizeof ranks, "%zu of %d", j->seen.nranks, j->seen.size);
        fprintf(out, "%-16s  %-16s  %11s  %5zu  %5zu  %6zu%s\n", j->seen.name, day, ranks, j->npoints, j->nlate,
                j->ndrifts, j->seen.cut ? "  (partly read)" : "");
    }
    if (first)
        fprintf(out, "(%zu earlier ones)\n", first);
}

static void print_cause(const struct drift_cause *c, FILE *out)
{
    char waited[UNIT_TEXT];
    unit_time_us(waited, c->waited_us);
    if (c->host && c->by_hosts == c->late) {
        unit_time_us(waited, c->behind_us / (double)c->late);
        fprintf(out, "  node %s enters calls late in %zu of %zu jobs, by its clock %s behind the others\n", c->host,
                c->late, c->jobs, waited);
    } else if (c->host)
        fprintf(out, "  node %s comes last in %zu of %zu jobs; the others waited %s for it\n", c->host, c->late,
                c->jobs, waited);
    else
        fprintf(out,
                "  rank %d of a node (its rail, where each GPU has a port) comes last %zu times on %zu nodes: %s\n",
                c->place, c->late, c->nhosts, waited);
}

/* What the jobs' times can show at all. */
static void print_basis(const struct drift_fleet *f, FILE *out)
{
    size_t jobs[3] = {0};
    for (size_t i = 0; i < f->njobs; i++)
        jobs[f->jobs[i]->basis]++;
    if (jobs[OBSERVE_HOSTS])
        fprintf(
            out,
            "\n"
            "%zu of %zu jobs have the hosts' times and no times of GPUs (NCCLTUNE_CAPTURE_TIMES=1): they show hosts "
            "that are more than 5 ms late, for example behind a data loader, but neither slow GPUs nor slower calls.\n",
            jobs[OBSERVE_HOSTS], f->njobs);
    if (jobs[OBSERVE_NOTHING])
        fprintf(out, "\n%zu of %zu jobs have no times of either kind and cannot be judged.\n", jobs[OBSERVE_NOTHING],
                f->njobs);
}

void drift_print(const struct drift_fleet *f, FILE *out)
{
    char sentence[OBSERVE_SENTENCE];
    print_jobs(f, out);
    if (f->ncauses)
        fputs("\nRanks that others wait for\n", out);
    for (size_t i = 0; i < f->ncauses && i < MOST; i++)
        print_cause(&f->causes[i], out);
    if (f->ncalls)
        fputs("\nCalls that have become slower\n", out);
    for (size_t i = 0; i < f->ncalls && i < MOST; i++) {
        observe_say_drift(&f->calls[i], sentence);
        fprintf(out, "  job %s: %s\n", f->calls[i].now.job->name, sentence);
    }
    if (!f->ncauses && !f->ncalls)
        fputs("\nNo rank is late, and no call has become slower.\n", out);
    print_basis(f, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_drift(cJSON *array, const struct observe_drift *d)
{
    cJSON *o = json_append(array);
    json_add_str(o, "collective", coll_name(d->now.call.kind));
    cJSON_AddNumberToObject(o, "bytes", (double)d->now.call.bytes);
    cJSON_AddNumberToObject(o, "group_size", d->now.call.group_size);
    json_add_str(o, "placement", d->now.call.crosses_nodes ? "cluster" : "node");
    json_add_str(o, "job", d->now.job->name);
    json_add_str(o, "before_job", d->before.job->name);
    cJSON_AddNumberToObject(o, "time_us", d->now.call.median_us);
    cJSON_AddNumberToObject(o, "before_us", d->before.call.median_us);
    cJSON_AddNumberToObject(o, "times", d->times);
    json_add_str(o, "algorithm", algo_name(d->now.call.algo));
    json_add_str(o, "before_algorithm", algo_name(d->before.call.algo));
}

static void add_job(cJSON *array, const struct drift_job *j)
{
    cJSON *o = json_append(array), *late = NULL;
    json_add_str(o, "name", j->seen.name);
    json_add_str(o, "directory", j->dir);
    cJSON_AddNumberToObject(o, "began", (double)j->seen.began);
    cJSON_AddNumberToObject(o, "ranks", j->seen.size);
    cJSON_AddNumberToObject(o, "ranks_read", (double)j->seen.nranks);
    json_add_str(o, "basis", observe_basis_name(j->basis));
    late = cJSON_AddArrayToObject(o, "late");
    for (size_t i = 0; i < j->nlate; i++) {
        cJSON *l = json_append(late);
        if (j->late[i].rank >= 0)
            cJSON_AddNumberToObject(l, "rank", j->late[i].rank);
        json_add_str(l, "host", j->late[i].host);
        cJSON_AddNumberToObject(l, j->late[i].by_hosts ? "behind_us" : "waited_us", j->late[i].waited_us);
        cJSON_AddNumberToObject(l, "share", j->late[i].share);
    }
}

cJSON *drift_json(const struct drift_fleet *f)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", DRIFT_FORMAT);
    cJSON *jobs = cJSON_AddArrayToObject(doc, "jobs"), *causes = cJSON_AddArrayToObject(doc, "waited_for"),
          *calls = cJSON_AddArrayToObject(doc, "slower");
    for (size_t i = 0; i < f->njobs; i++)
        add_job(jobs, f->jobs[i]);
    for (size_t i = 0; i < f->ncauses; i++) {
        const struct drift_cause *c = &f->causes[i];
        cJSON *o = json_append(causes);
        json_add_str(o, "host", c->host);
        if (!c->host)
            cJSON_AddNumberToObject(o, "rank_of_node", c->place);
        if (!c->host)
            json_add_strs(o, "nodes", c->hosts, (int)c->nhosts);
        cJSON_AddNumberToObject(o, "jobs", (double)c->jobs);
        cJSON_AddNumberToObject(o, "late", (double)c->late);
        cJSON_AddNumberToObject(o, "waited_us", c->waited_us);
    }
    for (size_t i = 0; i < f->ncalls; i++)
        add_drift(calls, &f->calls[i]);
    return doc;
}
