/* Lines of JSON as we write them: one object a line, a space behind each colon and comma, no escapes, no exponents.
 * What is not so written is not found. */
#ifndef TUNER_OBSERVE_LINE_H
#define TUNER_OBSERVE_LINE_H

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

/* Of [1.5, 2]: how many, at most `most`; 0 where one is no number. */
size_t observe_decimals(const struct observe_line *l, const char *key, float *to, size_t most);

/* A word without escapes; its length, 0 when there is none or it does not fit. */
size_t observe_word(const struct observe_line *l, const char *key, char *to, size_t size);

/* A text that is a number without sign or exponent, "10", "0.5", ".5": read without strtod, whose decimal point depends
 * on the program's locale. -1: it is none, or has digits behind one above `most`. */
double observe_parse(const char *text, double most);

#endif
