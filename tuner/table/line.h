/* One line of a tuner table: its fields, and the rule they make. */
#pragma once

#include <stddef.h>

#include "tuner/table/rule.h"

/* Where a line went wrong. */
struct tuner_fault {
    long column; /* 1-based */
    char text[192];
};

enum {
    TUNER_LINE_RULE,
    TUNER_LINE_HEADER, /* column names, ours or those of NVIDIA's example */
    TUNER_LINE_BROKEN,
};

/* Parses s[0..len), one line without its end, neither blank nor a comment, into `*r` (all but r->line). */
int tuner_line_parse(struct tuner_rule *r, const char *s, size_t len, struct tuner_fault *f);

/* A word without blanks at either end. */
struct tuner_word {
    const char *s;
    size_t len;
};
struct tuner_word tuner_trim(const char *s, size_t len);

/* Decimal digits alone, at most `high`: 0, or -1. */
int tuner_parse_number(struct tuner_word w, uint64_t high, uint64_t *value);
