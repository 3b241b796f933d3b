/* Reading what captures wrote: a line a call, a line a fact. */
#include "tuner/observe/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/coll.h"

/* ---- a line ------------------------------------------------------------------------------------------------------ */

struct line {
    const char *at, *end;
};

static int next_line(struct line *l, const char *end)
{
    l->at = l->end;
    if (l->at >= end)
        return 0;
    const char *newline = memchr(l->at, '\n', (size_t)(end - l->at));
    l->end = newline ? newline + 1 : end;
    return 1;
}

/* The value behind "key": on this line; NULL: none. */
static const char *value_of(const struct line *l, const char *key)
{
    size_t n = strlen(key);
    for (const char *c = l->at; c + n + 4 < l->end; c++)
        if (c[0] == '"' && !memcmp(c + 1, key, n) && !memcmp(c + 1 + n, "\": ", 3))
            return c + n + 4;
    return NULL;
}

static uint64_t number(const struct line *l, const char *key, uint64_t otherwise)
{
    const char *c = value_of(l, key);
    uint64_t n = 0;
    if (!c || *c < '0' || *c > '9')
        return otherwise;
    for (; c < l->end && *c >= '0' && *c <= '9'; c++) {
        if (n > UINT64_MAX / 10 - 1)
            return otherwise;
        n = 10 * n + (uint64_t)(*c - '0');
    }
    return n;
}

static int small(const struct line *l, const char *key, int most)
{
    uint64_t n = number(l, key, 0);
    return n <= (uint64_t)most ? (int)n : 0;
}

/* Up to 15 digits before the point; no number of ours has an exponent. */
static double decimal(const struct line *l, const char *key)
{
    const char *c = value_of(l, key);
    double n = 0, digit = 1;
    if (!c || *c < '0' || *c > '9')
        return -1;
    for (; c < l->end && *c >= '0' && *c <= '9' && n < 1e15; c++)
        n = 10 * n + (*c - '0');
    if (c < l->end && *c == '.')
        for (c++; c < l->end && *c >= '0' && *c <= '9'; c++)
            n += (*c - '0') * (digit /= 10);
    return n < 1e15 ? n : -1;
}

static uint64_t hexadecimal(const struct line *l, const char *key)
{
    const char *c = value_of(l, key);
    uint64_t n = 0;
    if (!c || *c != '"')
        return 0;
    for (c++; c < l->end && *c != '"'; c++) {
        int digit = *c >= '0' && *c <= '9' ? *c - '0' : *c >= 'a' && *c <= 'f' ? *c - 'a' + 10 : -1;
        if (digit < 0 || n >> 60)
            return 0;
        n = n << 4 | (unsigned)digit;
    }
    return n;
}

/* A word without escapes; its length, 0 when there is none or it does not fit. */
static size_t word(const struct line *l, const char *key, char *to, size_t size)
{
    const char *c = value_of(l, key);
    size_t n = 0;
    if (!c || *c++ != '"')
        return 0;
    while (c + n < l->end && c[n] != '"' && c[n] >= ' ' && c[n] < 127 && c[n] != '\\')
        n++;
    if (c + n >= l->end || c[n] != '"' || n >= size)
        return 0;
    memcpy(to, c, n);
    to[n] = 0;
    return n;
}

/* ---- a file ------------------------------------------------------------------------------------------------------ */

int observe_head(const char *text, size_t bytes, struct observe_head *h)
{
    struct line l = {text, text};
    char format[32] = "", rank[OBSERVE_WORD] = "";
    *h = (struct observe_head){.rank = -1};
    for (int i = 0; i < 16 && next_line(&l, text + bytes) && !value_of(&l, "phases"); i++) {
        if (!format[0])
            word(&l, "format", format, sizeof format);
        if (!h->name[0])
            word(&l, "name", h->name, sizeof h->name);
        if (!h->host[0])
            word(&l, "host", h->host, sizeof h->host);
        if (!rank[0] && word(&l, "rank", rank, sizeof rank) && strspn(rank, "0123456789") == strlen(rank) &&
            strlen(rank) < 9)
            h->rank = (int)strtol(rank, NULL, 10);
        if (value_of(&l, "ranks"))
            h->size = small(&l, "ranks", 1 << 24);
        if (value_of(&l, "ranks_per_node"))
            h->per_node = small(&l, "ranks_per_node", 1 << 24);
        h->began = number(&l, "began", h->began);
        const char *ended = value_of(&l, "ended");
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

static int parse_call(const struct line *l, struct observe_call *c)
{
    char text[24], place[16];
    size_t n = word(l, "collective", text, sizeof text);
    *c = (struct observe_call){.kind = n ? coll_parse(text, n) : -1};
    c->bytes = number(l, "bytes", 0);
    c->count = number(l, "count", 0);
    c->timed = number(l, "timed", 0);
    c->group = hexadecimal(l, "group");
    c->total_us = decimal(l, "total_us");
    c->median_us = time_us(decimal(l, "time_us"), c->total_us, c->timed);
    c->group_size = small(l, "group_size", 1 << 24);
    c->stride = small(l, "stride", 1 << 24);
    c->channels = small(l, "channels", 1024);
    c->crosses_nodes = word(l, "placement", place, sizeof place) && !strcmp(place, "cluster");
    c->algo = (n = word(l, "algorithm", text, sizeof text)) ? algo_parse(text, n) : -1;
    c->proto = (n = word(l, "protocol", text, sizeof text)) ? proto_parse(text, n) : -1;
    word(l, "dtype", c->dtype, sizeof c->dtype);
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
    j->ranks[j->nranks].rank = h->rank;
    memcpy(j->ranks[j->nranks++].host, h->host, sizeof h->host);
    return 0;
}

int observe_add(struct observe_job *j, const char *text, size_t bytes)
{
    struct observe_head h;
    struct observe_call c;
    struct line l = {text, text};
    if (observe_head(text, bytes, &h) || (j->name[0] && strcmp(j->name, h.name) != 0))
        return -1;
    memcpy(j->name, h.name, sizeof j->name);
    int rc = add_rank(j, &h);
    if (rc)
        return rc < 0 ? -1 : 0;
    j->size = h.size > j->size ? h.size : j->size;
    j->per_node = h.per_node ? h.per_node : j->per_node;
    j->began = j->began && j->began < h.began ? j->began : h.began;
    while (!rc && next_line(&l, text + bytes))
        if (!parse_call(&l, &c)) {
            c.rank = (unsigned)j->nranks - 1;
            rc = add_call(j, &c);
        }
    return rc;
}

void observe_free(struct observe_job *j)
{
    free(j->ranks);
    free(j->calls);
    *j = (struct observe_job){0};
}

char *observe_read(const char *path, size_t *bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    off_t end = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    char *text = end > 0 && end <= (off_t)OBSERVE_BYTES && !lseek(fd, 0, SEEK_SET) ? malloc((size_t)end + 1) : NULL;
    size_t used = 0;
    while (text && used < (size_t)end) {
        ssize_t n = read(fd, text + used, (size_t)end - used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    if (fd >= 0)
        close(fd);
    if (text)
        text[used] = 0;
    *bytes = used;
    return text;
}
