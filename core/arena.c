/* A list of growing blocks; freeing walks the list once. */
#include "core/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK   4096
#define LARGEST_BLOCK (1u << 20)

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(max_align_t) char data[];
};

struct arena {
    struct block *head;
};

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

struct arena *arena_new(void)
{
    return must(calloc(1, sizeof(struct arena)));
}

void arena_free(struct arena *a)
{
    if (!a)
        return;
    for (struct block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

void *arena_alloc(struct arena *a, size_t bytes)
{
    const size_t align = _Alignof(max_align_t);
    if (bytes > SIZE_MAX / 2)
        abort();
    bytes = (bytes + align - 1) / align * align;
    struct block *b = a->head;
    if (!b || b->size - b->used < bytes) {
        size_t size = b ? b->size * 2 : FIRST_BLOCK;
        if (size > LARGEST_BLOCK)
            size = LARGEST_BLOCK;
        if (size < bytes)
            size = bytes;
        struct block *fresh = must(calloc(1, sizeof *fresh + size));
        fresh->size = size;
        fresh->next = b;
        a->head = b = fresh;
    }
    void *p = b->data + b->used;
    b->used += bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char *copy = arena_alloc(a, len + 1);
    memcpy(copy, s, len);
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return s ? arena_strndup(a, s, strlen(s)) : NULL;
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        abort();
    char *s = arena_alloc(a, (size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

void *arena_grow(struct arena *a, void *array, size_t count, size_t size)
{
    if (count && (count & (count - 1)))
        return array;
    if (size && count > SIZE_MAX / 4 / size)
        abort();
    void *bigger = arena_alloc(a, (count ? 2 * count : 1) * size);
    if (count)
        memcpy(bigger, array, count * size);
    return bigger;
}

int arena_compare_texts(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

int arena_same_text(const char *x, const char *y)
{
    return x && y ? !strcmp(x, y) : x == y;
}
