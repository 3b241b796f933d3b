/* The logger that is handed down from cli/: where warnings and progress lines go. A NULL logger is silent. */
#pragma once

#include <stdio.h>

struct progress;

struct log {
    FILE *out;                 /* usually stderr */
    const char *program;       /* put in front of every line */
    int quiet;                 /* only warnings */
    struct progress *progress; /* cleared before a line is printed, drawn again by its next update */
};

void log_info(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void log_warn(struct log *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
