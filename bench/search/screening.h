/* Screening: which launches are worth examining, told at a few points with the library's own algorithm. */
#pragma once

#include "bench/search/study.h"

struct screening_launch {
    const struct bench_knobs *launch;
    double score; /* weighted geometric mean over the screening points of its time over the best; INFINITY: out */
};

struct screening {
    struct screening_launch *items; /* the default first */
    int count;
    double
        spread; /* by what two sessions of a launch differ, known once they were screened: a logarithm, 0.1 at most */
};

/* Adds every launch of the plan to `f`, which is empty. */
void screening_begin(const struct bench_study *s, struct screening *f);

/* The default alone, only to learn what a start takes. */
int screening_default(struct bench_study *s, const struct screening *f, struct err *e);

/* Screens them, each alone and the best ones together, while there is time, and leaves in `f` the default and behind it
 * those that may be faster, the best first. */
int screening_run(struct bench_study *s, struct screening *f, struct err *e);

/* Best observed gain of those over the baseline; 0: none. */
double screening_best(const struct screening *f);

/* Screen both, unless that was done; `*worth` is the time of `without` over that of `launch`; NAN unknown. */
int screening_worth(struct bench_study *s, const struct bench_knobs *launch, const struct bench_knobs *without,
                    double *worth, struct err *e);
