/* The nccl engine's options. */
#include "bench/engines/nccl/options.h"

const struct option_spec nccl_options[] = {
    {0, "nccl-lib", "PATH", "the NCCL library that jobs use; found where PyTorch and the loader have it", option_text,
     offsetof(struct nccl_options, library)},
    {0, "launch-prefix", "ARGS",
     "words in front of every NCCL worker, to run it in a container; split as for --mpirun-args", option_text,
     offsetof(struct nccl_options, launch_prefix)},
    {0, "graphs", NULL, "calls up to 1M are captured in CUDA graphs, as inference engines run them", option_flag,
     offsetof(struct nccl_options, graphs)},
    {0, "share-gpus", NULL, "allow more ranks than GPUs: proves that things work, says nothing about speed",
     option_flag, offsetof(struct nccl_options, share_gpus)},
    {0},
};
