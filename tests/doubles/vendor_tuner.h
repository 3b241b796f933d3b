/* What the vendor-like tuner double has seen: the symbol `vendor_tuner_seen` of its library. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where the last array of NCCL's constants begins, by the version of the interface. */
#define VENDOR_TUNER_LAST(api) ((api) >= 7 ? 144 : 132)

struct vendor_tuner_seen {
    _Atomic int inits, destroys, calls;
    _Atomic int wrong; /* contexts that it did not make, or that were gone */
    /* The last init; and, unless VENDOR_TUNER_QUIET is set, the last call. */
    int api;
    size_t ranks, nodes;
    uint64_t comm;
    int domains, min_ranks, max_ranks;
    double constants; /* the first of them, which it then sets to 42, ... */
    double last;      /* ... and the first of the last array, to 43 */
    int coll, pipe_ops, reg_buff, collnet, nvls;
    size_t bytes;
};
