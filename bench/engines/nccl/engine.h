/* The nccl engine: collectives on device memory through NCCL or RCCL. */
#pragma once

#include "bench/candidates/engine.h"

/* Options of this engine: bench_setup.own. */
struct nccl_options {
    const char *library;       /* the one that jobs use; NULL: search */
    const char *launch_prefix; /* words in front of every worker ("enroot start image"), split without a shell */
    int graphs;                /* calls are captured in CUDA graphs, as inference engines do */
    int registered;            /* buffers are registered with NCCL */
    double start_s,
        first_s;    /* patience for a launch and for the first use of an algorithm; 0: by the number of ranks */
    int share_gpus; /* more ranks than GPUs; proves mechanics, never gains */
};

extern const struct bench_engine bench_engine_nccl;
