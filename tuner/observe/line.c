/* Facts on a line; texts in memory, and their files. */
#include "tuner/observe/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/coll.h"

int observe_next(struct observe_line *l, const char *end)
{
    l->at = l->end;
    if (l->at >= end)
        return 0;
    const char *newline = memchr(l->at, '\n', (size_t)(end - l->at));
    l->end = newline ? newline + 1 : end;
    return 1;
}

const char *observe_value(const struct observe_line *l, const char *key)
{
    size_t n = strlen(key);
    for (const char *c = l->at; c + n + 4 < l->end; c++)
        if (c[0] == '"' && !memcmp(c + 1, key, n) && !memcmp(c + 1 + n, "\": ", 3))
            return c + n + 4;
    return NULL;
}

uint64_t observe_number(const struct observe_line *l, const char *key, uint64_t otherwise)
{
    const char *c = observe_value(l, key);
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

int observe_small(const struct observe_line *l, const char *key, int most)
{
    uint64_t n = observe_number(l, key, 0);
    return n <= (uint64_t)most ? (int)n : 0;
}

double observe_decimal(const struct observe_line *l, const char *key)
{
    const char *c = observe_value(l, key);
    double n = 0, digit = 1;
    if (!c || c >= l->end || *c < '0' || *c > '9')
        return -1;
    for (; c < l->end && *c >= '0' && *c <= '9' && n < 1e15; c++)
        n = 10 * n + (*c - '0');
    if (c < l->end && *c == '.')
        for (c++; c < l->end && *c >= '0' && *c <= '9'; c++)
            n += (*c - '0') * (digit /= 10);
    return n < 1e15 ? n : -1;
}

uint64_t observe_hexadecimal(const struct observe_line *l, const char *key)
{
    const char *c = observe_value(l, key);
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

size_t observe_word(const struct observe_line *l, const char *key, char *to, size_t size)
{
    const char *c = observe_value(l, key);
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

double observe_parse(const char *text, double most)
{
    double value = 0, digit = 1;
    int behind = 0;
    for (const char *c = text; *c; c++) {
        if (*c == '.' && !behind)
            behind = 1;
        else if (*c < '0' || *c > '9' || value > most)
            return -1;
        else
            value = behind ? value + (*c - '0') * (digit /= 10) : value * 10 + (*c - '0');
    }
    return *text ? value : -1;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

#define LIMIT ((size_t)64 << 20) /* more than any job's calls take, and what the reader of workloads reads */

void observe_put(struct observe_text *t, const char *fmt, ...)
{
    char line[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    size_t length = n < 0 ? 0 : n < (int)sizeof line ? (size_t)n : sizeof line - 1;
    if (t->used + length > t->size) {
        size_t size = t->size ? 2 * t->size : 65536;
        char *text = size <= LIMIT ? realloc(t->text, size) : NULL;
        if (!text) {
            t->error = ENOMEM;
            return;
        }
        t->text = text;
        t->size = size;
    }
    memcpy(t->text + t->used, line, length);
    t->used += length;
}

void observe_put_us(struct observe_text *t, const char *key, double us)
{
    uint64_t whole = (uint64_t)us;
    observe_put(t, ", \"%s\": %llu.%03u", key, (unsigned long long)whole, (unsigned)((us - (double)whole) * 1000));
}

void observe_put_call(struct observe_text *t, const struct observe_call *c, int is_first)
{
    observe_put(t, "%s\n        {\"collective\": \"%s\", \"bytes\": %llu, \"count\": %llu, \"group_size\": %d",
                is_first ? "" : ",", coll_name(c->kind), (unsigned long long)c->bytes, (unsigned long long)c->count,
                c->group_size);
    observe_put(t, ", \"placement\": \"%s\", \"stride\": %d", c->crosses_nodes ? "cluster" : "node", c->stride);
    if (c->dtype[0])
        observe_put(t, ", \"dtype\": \"%s\"", c->dtype);
    if (c->median_us >= 0)
        observe_put_us(t, "time_us", c->median_us);
    if (c->steady_us >= 0)
        observe_put_us(t, "steady_us", c->steady_us);
    if (c->timed)
        observe_put(t, ", \"timed\": %llu", (unsigned long long)c->timed);
    if (c->total_us >= 0)
        observe_put_us(t, "total_us", c->total_us);
    if (c->algo >= 0)
        observe_put(t, ", \"algorithm\": \"%s\"", algo_name(c->algo));
    if (c->proto >= 0)
        observe_put(t, ", \"protocol\": \"%s\"", proto_name(c->proto));
    if (c->channels > 0)
        observe_put(t, ", \"channels\": %d", c->channels);
    if (c->group)
        observe_put(t, ", \"group\": \"%016llx\"", (unsigned long long)c->group);
    observe_put(t, "}");
}

static int write_all(int fd, const char *text, size_t length)
{
    for (size_t done = 0; done < length;) {
        ssize_t n = write(fd, text + done, length - done);
        if (n > 0)
            done += (size_t)n;
        else if (!n || errno != EINTR)
            return n < 0 ? errno : ENOSPC;
    }
    return 0;
}

/* What lies there under that name is of a dead process that had our number, or nobody's business: it goes, and nothing
 * that is put in its place meanwhile is followed or written to. */
static int write_beside(const struct observe_text *t, const char *beside)
{
    unlink(beside);
    int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return errno;
    int error = write_all(fd, t->text, t->used);
    if (!error && fsync(fd))
        error = errno;
    if (close(fd) && !error)
        error = errno;
    return error;
}

int observe_write(struct observe_text *t, const char *beside, const char *path)
{
    if (t->error)
        return t->error;
    t->error = write_beside(t, beside);
    if (!t->error && rename(beside, path))
        t->error = errno;
    if (t->error)
        unlink(beside);
    return t->error;
}
