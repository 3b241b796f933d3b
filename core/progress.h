/* Progress of long work: a bar with an estimate on a terminal, otherwise plain lines. */
#pragma once

#include <stdio.h>

struct progress {
    FILE *out;
    int terminal;     /* whether `out` is one */
    int width;        /* its columns */
    double started_s; /* monotonic */
    double drawn_s;   /* when something was last printed */
    int visible;      /* a bar stands on the current line */
};

/* Silent when `out` is NULL. */
void progress_start(struct progress *p, FILE *out);

/* `fraction` done, 0 to 1; `left_s` estimated seconds left, negative when unknown; `what` is being done now. */
void progress_update(struct progress *p, double fraction, double left_s, const char *what);

void progress_clear(struct progress *p); /* takes the bar off the line; NULL is fine */

double progress_now_s(void); /* CLOCK_MONOTONIC, seconds */
