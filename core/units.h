/* Sizes and times as people write them. */
#pragma once

#include <stdint.h>

#include "core/err.h"

/* "8", "64K", "64KiB", "1.5M", "4G": bytes, powers of 1024 as in nccl-tests. `what` names the option in the error. */
int unit_parse_bytes(const char *s, uint64_t *bytes, const char *what, struct err *e);

/* "90", "90s", "10m", "1.5h", "250ms": seconds. */
int unit_parse_seconds(const char *s, double *seconds, const char *what, struct err *e);

/* A whole number within [low, high]; nothing may follow it. */
int unit_parse_int(const char *s, long low, long high, long *value, const char *what, struct err *e);

#define UNIT_TEXT 32

/* "64 KiB", "1.5 MiB", "8 B"; "any larger size" of UINT64_MAX, an open end. Returns `text`. */
char *unit_bytes(char text[UNIT_TEXT], uint64_t bytes);

/* "4 KiB", "above 4 KiB to below 1 MiB", "above 1 MiB", "up to 1 MiB", "all sizes"; both ends inclusive, UINT64_MAX an
 * open end. Returns `text`. */
char *unit_range(char text[3 * UNIT_TEXT], uint64_t min_bytes, uint64_t max_bytes);

/* "850 ms", "42 s", "3 min 20 s", "2 h 5 min". Returns `text`. */
char *unit_seconds(char text[UNIT_TEXT], double seconds);

/* `utf8` where the environment's locale (the first of LC_ALL, LC_CTYPE and LANG that is set) has it, else `ascii`. */
const char *unit_symbol(const char *utf8, const char *ascii);

/* Three digits: "0.370", "4.52", "85.1", "414", "12300". Returns `text`. */
char *unit_three_digits(char text[UNIT_TEXT], double value);

/* "12.3 us", "4.50 ms", "1 s": three digits at most, in the unit that needs fewest. Returns `text`. */
char *unit_time_us(char text[UNIT_TEXT], double us);

/* "47.4 min (15.0 to 124.5)", "85.2 ms (68.2 to 106.3)": a time and its interval in one unit, without the interval
 * where both ends are the time. Returns `text`. */
char *unit_band_us(char text[3 * UNIT_TEXT], double us, double low_us, double high_us);
