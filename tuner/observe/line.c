/* Facts on a line. */
#include "tuner/observe/record.h"

#include <string.h>

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
