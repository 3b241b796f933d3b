/* Inference with tensor parallelism, as vLLM does it.
 *
 * Every forward pass reduces the output of the embedding, and of attention and MLP of every layer (2 L + 1 AllReduce,
 * as in Shoeybi et al. 2019), and gathers the logits of the tokens to sample. Prompts go through in passes of at most
 * max_num_batched_tokens tokens, then every pass yields one token of each running sequence, of which there are at most
 * max_num_seqs (vLLM's documentation, defaults 8192 and 256). Sequences are taken to be of full length.
 *
 * Within a node vLLM has an all-reduce kernel of its own (vLLM's API documentation, CustomAllreduce: 2, 4, 6 or 8
 * ranks, less than 8 MiB, over NVLink unless they are two). NCCL never sees those calls, so no profile changes them. */
#include <math.h>

#include "bench/workload/workload_internal.h"
#include "core/units.h"

#define BATCHED_TOKENS 8192
#define RUNNING        256
#define CUSTOM_BYTES   (8.0 * 1024 * 1024)
#define CUSTOM_RANKS   8

static int is_custom(const struct workload_job *j, double bytes)
{
    int inside = j->rollout_tp <= CUSTOM_RANKS && j->gpus_per_node % j->rollout_tp == 0;
    int joined = !j->no_nvlink || j->rollout_tp == 2;
    return !j->no_custom_all_reduce && joined && inside && j->rollout_tp % 2 == 0 && bytes < CUSTOM_BYTES;
}

static void reduce(struct workload_build *b, double bytes, double count, const char *what)
{
    char size[UNIT_TEXT];
    if (is_custom(b->job, bytes))
        workload_add_note(b->out, arena_printf(b->out->arena,
                                               "%.10g AllReduces of %s (%s) are not in here: vLLM does them without "
                                               "NCCL unless disable_custom_all_reduce is set (--no-custom-all-reduce)",
                                               count, unit_bytes(size, (uint64_t)bytes), what));
    else
        workload_put(b, COLL_ALLREDUCE, bytes, count, b->job->rollout_tp, 1, b->job->dtype, 0, what);
}

void workload_add_rollout(struct workload_build *b)
{
    const struct workload_job *j = b->job;
    const struct language_model *m = &j->model;
    double size = workload_dtype_bytes(j->dtype), per_pass = 2.0 * m->layers + 1;
    double engines = fmax(1, floor((double)b->ranks / j->rollout_tp));
    double sequences = ceil((double)j->micro_batch * j->grad_accum * j->updates * j->dp / engines);
    double running = fmin(sequences, RUNNING), rounds = ceil(sequences / running);
    /* Responses of one prompt share its cache. */
    double prompts = ceil(sequences / j->rollout_n), prefills = workload_pieces(prompts * j->prompt, BATCHED_TOKENS);
    reduce(b, prompts * j->prompt / prefills * m->hidden * size, prefills * per_pass,
           "prefill: tokens of a pass × h × dtype, 2 L + 1 a pass");
    reduce(b, running * m->hidden * size, rounds * j->response * per_pass,
           "decode: running sequences × h × dtype, 2 L + 1 a token");
    workload_put(b, COLL_ALLGATHER, running * m->vocab * size, rounds * j->response, j->rollout_tp, 1, j->dtype, 0,
                 "logits: running sequences × V × dtype, one a token");
}
