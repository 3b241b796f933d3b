/* Reading what captures wrote: a line a call, a line a fact. */
#include "tuner/observe/record.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "tuner/libc/read.h"

/* ---- a file ------------------------------------------------------------------------------------------------------ */

int observe_head(const char *text, size_t bytes, struct observe_head *h)
{
    struct observe_line l = {text, text};
    char format[32] = "", rank[OBSERVE_WORD] = "";
    *h = (struct observe_head){.rank = -1};
    for (int i = 0; i < 16 && observe_next(&l, text + bytes) && !observe_value(&l, "phases"); i++) {
        if (!format[0])
            observe_word(&l, "format", format, sizeof format);
        if (!h->name[0])
            observe_word(&l, "name", h->name, sizeof h->name);
        if (!h->host[0])
            observe_word(&l, "host", h->host, sizeof h->host);
        if (!rank[0] && observe_word(&l, "rank", rank, sizeof rank) && strspn(rank, "0123456789") == strlen(rank) &&
            strlen(rank) < 9)
            h->rank = (int)strtol(rank, NULL, 10);
        if (observe_value(&l, "ranks"))
            h->size = observe_small(&l, "ranks", 1 << 24);
        if (observe_value(&l, "ranks_per_node"))
            h->per_node = observe_small(&l, "ranks_per_node", 1 << 24);
        h->began = observe_number(&l, "began", h->began);
        h->seconds = observe_number(&l, "seconds", h->seconds);
        const char *ended = observe_value(&l, "ended");
        h->ended |= ended && l.end - ended > 4 && !memcmp(ended, "true", 4);
    }
    return !strcmp(format, "nccltune-workload/1") && h->name[0] ? 0 : -1;
}

/* A median is known to its class, an eighth of an octave; the mean is exact, and where it lies in that class, which it
 * does but for outliers, it is the better word. */
static double time_us(double median_us, double total_us, uint64_t timed)
{
    double mean_us = timed && total_us > 0 ? total_us / (double)timed : -1;
    return mean_us > 0.93 * median_us && mean_us < 1.07 * median_us ? mean_us : median_us;
}

static int parse_call(const struct observe_line *l, struct observe_call *c)
{
    char text[24], place[16];
    size_t n = observe_word(l, "collective", text, sizeof text);
    *c = (struct observe_call){.kind = n ? coll_parse(text, n) : -1};
    c->bytes = observe_number(l, "bytes", 0);
    c->count = observe_number(l, "count", 0);
    c->timed = observe_number(l, "timed", 0);
    c->group = observe_hexadecimal(l, "group");
    c->total_us = observe_decimal(l, "total_us");
    c->steady_us = observe_decimal(l, "steady_us");
    c->median_us = time_us(observe_decimal(l, "time_us"), c->total_us, c->timed);
    c->group_size = observe_small(l, "group_size", 1 << 24);
    c->stride = observe_small(l, "stride", 1 << 24);
    c->channels = observe_small(l, "channels", 1024);
    c->crosses_nodes = observe_word(l, "placement", place, sizeof place) && !strcmp(place, "cluster");
    c->algo = (n = observe_word(l, "algorithm", text, sizeof text)) ? algo_parse(text, n) : -1;
    c->proto = (n = observe_word(l, "protocol", text, sizeof text)) ? proto_parse(text, n) : -1;
    observe_word(l, "dtype", c->dtype, sizeof c->dtype);
    return c->kind >= 0 && c->bytes && c->count && c->group_size > 1 ? 0 : -1;
}

/* Room for one more in an array that doubles; NULL: no memory. */
static void *room(void *array, size_t count, size_t size)
{
    if (count & (count - 1) || (count && count < 16))
        return array;
    return count ? realloc(array, 2 * count * size) : malloc(16 * size);
}

static int add_call(struct observe_job *j, const struct observe_call *c)
{
    if (j->ncalls >= OBSERVE_CALLS) {
        j->cut = 1;
        return 0;
    }
    struct observe_call *calls = room(j->calls, j->ncalls, sizeof *calls);
    if (!calls)
        return -1;
    j->calls = calls;
    j->calls[j->ncalls++] = *c;
    return 0;
}

static int add_rank(struct observe_job *j, const struct observe_head *h)
{
    for (size_t i = 0; i < j->nranks; i++)
        if (h->rank >= 0 && j->ranks[i].rank == h->rank)
            return 1;
    if (j->nranks >= OBSERVE_RANKS) {
        j->cut = 1;
        return 1;
    }
    struct observe_rank *ranks = room(j->ranks, j->nranks, sizeof *ranks);
    if (!ranks)
        return -1;
    j->ranks = ranks;
    j->ranks[j->nranks] = (struct observe_rank){.rank = h->rank, .seconds = (double)h->seconds, .clock_error_us = -1};
    memcpy(j->ranks[j->nranks++].host, h->host, sizeof h->host);
    return 0;
}

static int add_entry(struct observe_job *j, const struct observe_entry *e)
{
    struct observe_entry *entries = room(j->entries, j->nentries, sizeof *entries);
    if (!entries)
        return -1;
    j->entries = entries;
    j->entries[j->nentries++] = *e;
    return 0;
}

/* "number:time number:time", times in microseconds since the rank's job began. */
static int add_entries(struct observe_job *j, const struct observe_line *l, uint64_t began)
{
    const char *at = observe_value(l, "entered");
    struct observe_entry e = {.group = observe_hexadecimal(l, "group"), .rank = (unsigned)j->nranks - 1};
    while (at && e.group && ++at < l->end && *at >= '0' && *at <= '9') { /* from a quote or blank to a digit */
        uint64_t numbers[2] = {0, 0};
        for (int i = 0; i < 2; i++) {
            for (; at < l->end && *at >= '0' && *at <= '9' && numbers[i] < UINT64_C(1) << 50; at++)
                numbers[i] = 10 * numbers[i] + (uint64_t)(*at - '0');
            if (i == 0 && (at >= l->end || *at++ != ':'))
                return 0;
        }
        e.number = numbers[0];
        e.at_us = began * 1000000 + numbers[1];
        j->cut |= j->nentries >= OBSERVE_ENTRIES;
        if (j->nentries < OBSERVE_ENTRIES && add_entry(j, &e))
            return -1;
        if (at >= l->end || *at != ' ')
            return 0;
    }
    return 0;
}

int observe_add(struct observe_job *j, const char *text, size_t bytes)
{
    struct observe_head h;
    struct observe_call c;
    struct observe_line l = {text, text};
    if (observe_head(text, bytes, &h) || (j->name[0] && strcmp(j->name, h.name) != 0))
        return -1;
    memcpy(j->name, h.name, sizeof j->name);
    int rc = add_rank(j, &h);
    if (rc)
        return rc < 0 ? -1 : 0;
    j->size = h.size > j->size ? h.size : j->size;
    j->per_node = h.per_node ? h.per_node : j->per_node;
    j->began = j->began && j->began < h.began ? j->began : h.began;
    while (!rc && observe_next(&l, text + bytes)) {
        double error_us = observe_decimal(&l, "clock_error_us");
        if (error_us >= 0)
            j->ranks[j->nranks - 1].clock_error_us = error_us;
        if (observe_value(&l, "entered")) {
            rc = add_entries(j, &l, h.began);
        } else if (!parse_call(&l, &c)) {
            c.rank = (unsigned)j->nranks - 1;
            rc = add_call(j, &c);
        }
    }
    return rc;
}

void observe_free(struct observe_job *j)
{
    free(j->ranks);
    free(j->calls);
    free(j->entries);
    *j = (struct observe_job){0};
}

char *observe_read(const char *path, size_t *bytes)
{
    char *text;
    plugin_read_file(path, OBSERVE_BYTES, &text, bytes);
    return text;
}

static int is_of(const char *name, const char *job)
{
    size_t n = strlen(job);
    return n && !strncmp(name, job, n) && name[n] == '.';
}

size_t observe_latest(const char *dir, const char *pattern, const char *own, char (*names)[OBSERVE_NAME], size_t most)
{
    size_t count = 0;
    DIR *d = opendir(dir);
    for (const struct dirent *entry = d ? readdir(d) : NULL; entry; entry = readdir(d)) {
        size_t at = count;
        if (fnmatch(pattern, entry->d_name, FNM_PERIOD) || is_of(entry->d_name, own))
            continue;
        while (at && strverscmp(names[at - 1], entry->d_name) < 0)
            at--;
        if (at == most)
            continue;
        count = count < most ? count + 1 : most;
        memmove(names[at + 1], names[at], (count - at - 1) * sizeof *names);
        snprintf(names[at], sizeof *names, "%s", entry->d_name);
    }
    if (d)
        closedir(d);
    return count;
}
