/* A document's memory: everything is allocated from one arena and freed at once.
 *
 * An allocation that cannot be had ends the program through abort(): there is no way to go on with half a document,
 * and every reader bounds its input long before that. Memory is zeroed. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is fine */

void *arena_alloc(struct arena *a, size_t bytes);   /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *s); /* NULL gives NULL */
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* Room for one more element behind `count` elements of `size` bytes: returns the array, moved and doubled when `count`
 * has reached a power of two (the old copy stays in the arena until it is freed). Start with array NULL, count 0. */
void *arena_grow(struct arena *a, void *array, size_t count, size_t size);

/* The new last element of a list in `a`, zeroed, to assign to: ARENA_ADD(a, list, count) = element. */
#define ARENA_ADD(a, list, count) \
    (*((list) = arena_grow((a), (void *)(list), (size_t)(count), sizeof *(list)), (list) + (count)++))

/* Compare elements of an array of strings, for qsort and bsearch. */
int arena_compare_texts(const void *x, const void *y);

/* Nonzero if two strings, which may be NULL, say the same. */
int arena_same_text(const char *x, const char *y);

#define ARENA_NEW(a, type) ((type *)arena_alloc((a), sizeof(type)))
