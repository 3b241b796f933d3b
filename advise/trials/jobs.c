/* Jobs as Slurm's accounting tells them, and figures that a site has of them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advise/trials/trials.h"

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
