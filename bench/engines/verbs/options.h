/* What a user may say about the verbs engine alone. */
#ifndef BENCH_ENGINES_VERBS_OPTIONS_H
#define BENCH_ENGINES_VERBS_OPTIONS_H

#include <stdint.h>

#include "core/option.h"

struct verbs_options {
    const char *ports;    /* as in bench/engines/verbs/run.h; NULL: the topology's active ports */
    const char *schedule; /* "rails", "reach", "matrix"; NULL: matrix on one node, rails on several */
    uint64_t sweep_bytes; /* also all sizes from 2 bytes to here on a few pairs, 2 to 1 GiB; 0 not */
    const char *svg;      /* the heat map as a picture; NULL none */
    const char *check;    /* a profile to compare with, or its fabric.json; NULL none */
};

extern const struct option_spec verbs_options[];

#endif
