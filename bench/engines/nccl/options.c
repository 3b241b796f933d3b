/* The nccl engine's options. */
#include "bench/engines/nccl/options.h"

const struct option_spec nccl_options[] = {
    {0, "nccl-lib", "PATH", "the NCCL library that jobs use; found where PyTorch and the loader have it", option_text,
     offsetof(struct nccl_options, library)},
    {0, "launch-prefix", "ARGS",
     "words in front of every NCCL worker, to run it in a container; split as for --mpirun-args", option_text,
     offsetof(struct nccl_options, launch_prefix)},
    {0, "graphs", NULL, "calls are captured in CUDA graphs, as inference engines run them; rules hold for such alone",
     option_flag, offsetof(struct nccl_options, graphs)},
    {0, "registered", NULL, "buffers are ncclMemAlloc's and registered with NCCL; rules hold for such alone",
     option_flag, offsetof(struct nccl_options, registered)},
    {0, "start-patience", "TIME",
     "how long a launch may take to start before it counts as hung; 60s and a quarter second a rank", option_seconds,
     offsetof(struct nccl_options, start_s)},
    {0, "first-use-patience", "TIME",
     "how much longer than others the first call of an algorithm may take; 10s and a tenth of a second a rank",
     option_seconds, offsetof(struct nccl_options, first_s)},
    {0, "share-gpus", NULL, "allow more ranks than GPUs: proves that things work, says nothing about speed",
     option_flag, offsetof(struct nccl_options, share_gpus)},
    {0},
};
