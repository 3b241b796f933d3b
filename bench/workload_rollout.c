/* Inference with tensor parallelism, as vLLM does it.
 *
 * Every forward pass reduces the output of the embedding, and of attention and MLP of every layer (2 L + 1 AllReduce,
 * as in Shoeybi et al. 2019), and gathers the logits of the tokens to sample. Prompts go through in passes of at most
 * max_num_batched_tokens tokens, then every pass yields one token of each running sequence, of which there are at most
 * max_num_seqs (vLLM's documentation, defaults 8192 and 256). Sequences are taken to be of full length. */
#include <math.h>

#include "bench/workload_parts.h"

#define BATCHED_TOKENS 8192
#define RUNNING        256

void workload_add_rollout(struct workload_build *b)
{
    const struct workload_job *j = b->job;
    const struct workload_model *m = &j->model;
    double size = workload_dtype_bytes(j->dtype), per_pass = 2.0 * m->layers + 1;
    double engines = fmax(1, floor((double)b->ranks / j->rollout_tp));
    double sequences = ceil((double)j->micro_batch * j->grad_accum * j->updates * j->dp / engines);
    double running = fmin(sequences, RUNNING), rounds = ceil(sequences / running);
    double prefills = workload_pieces(sequences * j->prompt, BATCHED_TOKENS);
    workload_put(b, COLL_ALLREDUCE, sequences * j->prompt / prefills * m->hidden * size, prefills * per_pass,
                 j->rollout_tp, 1, j->dtype, 0, "prefill: tokens of a pass × h × dtype, 2 L + 1 a pass");
    workload_put(b, COLL_ALLREDUCE, running * m->hidden * size, rounds * j->response * per_pass, j->rollout_tp, 1,
                 j->dtype, 0, "decode: running sequences × h × dtype, 2 L + 1 a token");
    workload_put(b, COLL_ALLGATHER, running * m->vocab * size, rounds * j->response, j->rollout_tp, 1, j->dtype, 0,
                 "logits: running sequences × V × dtype, one a token");
}
