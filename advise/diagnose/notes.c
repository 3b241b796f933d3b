/* Lines that say a cause in so many words. */
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"

#define MIG_TEXT   "GPUs are cut into MIG instances: neither peer access nor NVLink between them"
#define MIG_ADVICE "switch MIG off for jobs of several GPUs: NCCL goes through host memory between instances"

static const struct {
    const char *id, *mark;
    double weight;
    const char *text, *advice;
} notes[] = {
    {"custom-all-reduce-off", "Custom allreduce is disabled because", 0.1,
     "vLLM's own all-reduce is off: every layer's all-reduce of the rollout goes through NCCL",
     "without NVLink keep the rollout's tensor parallelism at two, or tune small all-reduces (nccltune workload "
     "--no-custom-all-reduce)"},
    {"preempted", " is preempted by ", 0.2, "the inference engine preempts requests: their tokens are computed twice",
     "lower max_num_seqs or give the cache more memory"},
    {"cache-flushes", "pytorch allocator cache flushes since last step", 0.15,
     "the allocator's cache is flushed within steps: memory is nearly full, and each flush waits for the GPU",
     "smaller micro-batches, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
    {"mig", "| MIG devices:", 0.3, MIG_TEXT, MIG_ADVICE},
    {"mig", "(UUID: MIG-", 0.3, MIG_TEXT, MIG_ADVICE},
    {"flash-attention-off", "flash_attn is not installed", 0.1, "attention runs without FlashAttention",
     "install flash-attn, or use sdpa"},
};

int diag_read_notes(struct diagnosis *d, const char *line)
{
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
        if (strstr(line, notes[i].mark)) {
            diag_keep(d,
                      &(struct diag_setting){notes[i].id, notes[i].text, notes[i].advice, notes[i].weight, 0, "", ""});
            return 1;
        }
    return 0;
}
