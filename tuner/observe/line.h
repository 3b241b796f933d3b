/* Lines of JSON as we write them: one object a line, a space behind each colon and comma, no escapes, no exponents.
 * What is not so written is not found. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Begins as {text, text}. */
struct observe_line {
    const char *at, *end;
};

/* The next one up to `end`; 0: there is none. */
int observe_next(struct observe_line *l, const char *end);

/* The value behind "key": on this line; NULL: none. */
const char *observe_value(const struct observe_line *l, const char *key);

uint64_t observe_number(const struct observe_line *l, const char *key, uint64_t otherwise);
int observe_small(const struct observe_line *l, const char *key, int most); /* 0: none, or larger */
double observe_decimal(const struct observe_line *l, const char *key);      /* below 1e15; -1: none */
uint64_t observe_hexadecimal(const struct observe_line *l, const char *key);

/* A word without escapes; its length, 0 when there is none or it does not fit. */
size_t observe_word(const struct observe_line *l, const char *key, char *to, size_t size);

/* A text that is a number without sign or exponent, "10", "0.5", ".5": read without strtod, whose decimal point depends
 * on the program's locale. -1: it is none, or has digits behind one above `most`. */
double observe_parse(const char *text, double most);

/* ---- a text that is made in memory and becomes a file, whole or not at all. No number goes through a locale. ---- */

struct observe_text {
    char *text; /* kept for the next time; not ended by 0 */
    size_t used, size;
    int error; /* errno of what went wrong; 0: nothing */
};

/* Adds up to a thousand bytes. */
__attribute__((format(printf, 2, 3))) void observe_put(struct observe_text *t, const char *fmt, ...);

/* "time_us": 12.345, with a comma before it. */
void observe_put_us(struct observe_text *t, const char *key, double us);

/* Writes it beside its name, synced, and renames it: 0 or an errno, as t->error then is. May take as long as the file
 * system likes. The calling thread blocks SIGXFSZ, which a limit on the size of files would otherwise kill the job
 * with. */
int observe_write(struct observe_text *t, const char *beside, const char *path);
