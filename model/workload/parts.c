/* What generators build on: adding calls, the quantities behind sizes and times, and what a job keeps in the memory of
 * a GPU and copies to the host's.
 *
 * Bytes of a parameter: weights in 16 bits, gradients in the reduce dtype, master weights and both Adam moments in 32
 * bits (ZeRO, Rajbhandari et al. 2020, section 3.1). Activations of a layer: 34 bytes per token and hidden element
 * without the scores of attention, which FlashAttention does not keep (Korthikanti et al. 2022, section 4.1); with full
 * recomputation 2 bytes a layer and one layer in whole. Logits: in 16 bits, and in 32 with their gradient. */
#include "model/workload/parts.h"

#include <math.h>

#define MASTER      12.0 /* bytes: weights and two moments in float32 */
#define LAYER_BYTES 34.0
#define HOST_GBPS   20.0 /* PCIe 4.0 × 16 with pageable traffic around it */

double workload_tokens(const struct workload_job *j)
{
    return (double)j->micro_batch * ((double)j->prompt + j->response) / ((double)j->cp * j->sp);
}

/* Fitted to the rows "fit" of tests/fixtures/workload/published_steps.tsv. */
#define DENSE_FACTOR  1.3
#define UNEVEN_FACTOR 2.0 /* with experts, or responses of any length */
#define DECODE_READS  0.6 /* of the memory's bandwidth that a decoder reaches, */
#define DECODE_LAYER_US                                                                                            \
    60.0                  /* and what a layer of it takes besides: kernels, the engine's own all-reduces, sampling \
                           */
#define FP8_GAIN     1.6  /* of dense products in 8 bits, casts included; attention and experts gain nothing */
#define GROUPED      0.6  /* of a dense product's speed that an expert's reaches */
#define DENSE_PASSES 12.0 /* of a layer's activations through memory, forward: norms, residuals, rotation, gate */
#define TOKEN_PASSES 8.0  /* of the tokens sent to experts: permutation, gate, sum */

/* Products: 2 FLOPs per parameter that a token meets; the embedding is looked up. Attention, causal: 2 × s × q a layer
 * (Korthikanti et al. 2022, appendix A, halved by the mask). Beside them what waits for memory alone. */
double workload_pass_us(const struct workload_job *j, double per_parameter)
{
    const struct language_model *m = &j->model;
    double tokens = workload_tokens(j) / ((double)j->tp * j->pp), layers = m->layers, h = m->hidden;
    double expert = m->experts ? (double)language_model_experts(m) / m->experts * m->experts_per_token : 0;
    double dense = (double)language_model_active(m) - expert - (m->tied ? 0 : (double)m->vocab * h);
    double scores = layers * ((double)j->prompt + j->response) * m->heads * m->head_dim;
    double products = dense / (j->fp8 ? FP8_GAIN : 1) + expert / GROUPED + scores;
    double moved = layers * workload_dtype_bytes(j->dtype) *
                   (DENSE_PASSES * h + TOKEN_PASSES * m->experts_per_token * (h + m->expert_intermediate));
    double memory_us = j->memory_GBps > 0 ? moved * per_parameter / 2 / (j->memory_GBps * 1e3) : 0;
    return j->tflops > 0 ? tokens * (per_parameter * products / (j->tflops * 1e6) + memory_us) : -1;
}

double workload_pass_factor(const struct workload_job *j)
{
    return j->model.experts || j->algorithm != WORKLOAD_TRAIN ? UNEVEN_FACTOR : DENSE_FACTOR;
}

/* A pass of the decoder reads the weights that its tokens meet and the cache of the sequences that are not finished, at
 * half of their length, and takes a while to start; the longest response decides how many there are. Prompts go through
 * once for all their responses. */
double workload_rollout_us(const struct workload_job *j, double sequences, double running)
{
    const struct language_model *m = &j->model;
    if (j->tflops <= 0 || j->memory_GBps <= 0)
        return -1;
    double active = (double)language_model_active(m), all = (double)language_model_parameters(m);
    double longest = fmax(j->response, j->longest), prompts = ceil(sequences / j->rollout_n) * j->prompt;
    double passes = longest * ceil(sequences / running);
    running *= j->response / longest;
    double met = m->experts ? fmin(1, running * m->experts_per_token / m->experts) : 1;
    double cache = (double)m->layers * (m->cache ? m->cache : 2.0 * m->kv_heads * m->head_dim) *
                   (j->prompt + j->response / 2.0) * running;
    double read_us =
        2 * (active + (all - active) * met + cache) / j->rollout_tp / (DECODE_READS * j->memory_GBps * 1e3);
    double products_us = 2 * active * running / j->rollout_tp / (j->tflops * 1e6);
    return passes * (fmax(read_us, products_us) + m->layers * DECODE_LAYER_US) +
           2 * active * prompts / j->rollout_tp / (j->tflops * 1e6);
}

double workload_backward_flops(const struct workload_job *j)
{
    return 2 + (j->lora_rank ? 0 : 2) + (j->recompute ? 2 : 0);
}

double workload_pieces(double total, double largest)
{
    double n = ceil(total / largest);
    return n < 1 ? 1 : n;
}

void workload_put(struct workload_build *b, struct workload_spec s)
{
    if (s.group < 2 || !(s.bytes >= 1) || !(s.count > 0))
        return;
    int per_node = b->job->gpus_per_node;
    /* Groups tile the node only where its size is a multiple of their span; one node holds them all. */
    int inside = per_node % ((long)s.group * s.stride) == 0 || b->ranks <= per_node;
    workload_add_call(b->out, b->phase,
                      (struct workload_call){.kind = s.kind,
                                             .bytes = (uint64_t)ceil(s.bytes),
                                             .count = s.count,
                                             .group_size = s.group,
                                             .place = inside ? WORKLOAD_NODE : WORKLOAD_CLUSTER,
                                             .stride = s.stride,
                                             .dtype = s.dtype,
                                             .what = s.what,
                                             .overlap_us = s.overlap_us,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
}

/* ---- memory ---- */

static int is_sharded(const struct workload_job *j)
{
    enum workload_family f = workload_framework_find(j->framework)->family;
    return f == WORKLOAD_FSDP || f == WORKLOAD_ZERO3;
}

static double trained_parameters(const struct workload_job *j)
{
    return j->lora_rank ? (double)language_model_adapters(&j->model, j->lora_rank) * j->model.layers
                        : (double)language_model_parameters(&j->model);
}

/* Ranks that one copy of the weights is split over. */
static double count_pieces(const struct workload_job *j, const struct language_model *m)
{
    if (is_sharded(j))
        return (double)j->nodes * j->gpus_per_node;
    /* Experts are spread over more ranks than the rest. */
    double all = (double)language_model_parameters(m);
    double experts = (double)language_model_experts(m);
    double per_rank = (all - experts) / j->tp + (m->experts ? experts / ((double)j->ep * j->etp) : 0);
    return all / per_rank * j->pp;
}

static double activations_of(const struct workload_job *j)
{
    double token = (double)j->model.hidden * workload_tokens(j), layers = ceil((double)j->model.layers / j->pp);
    double layer = LAYER_BYTES * token / j->tp;
    double one = j->recompute ? 2 * token * layers / j->tp + layer : layer * layers;
    /* The first stage of a pipeline keeps as many micro-batches as there are stages. */
    return one * fmin(j->pp, j->grad_accum);
}

struct workload_memory workload_memory_of(const struct workload_job *j)
{
    const struct language_model *m = &j->model;
    double parameters = (double)language_model_parameters(m), split = count_pieces(j, m),
           models = j->algorithm == WORKLOAD_PPO ? 2 : 1;
    double size = workload_dtype_bytes(j->dtype), over = is_sharded(j) ? 1 : (double)j->dp * j->cp;
    struct workload_memory out = {0};
    if (workload_framework_find(j->framework)->family != WORKLOAD_INFERENCE) {
        out.weights = j->offload_params ? 0 : models * parameters * size / split;
        out.gradients = models * trained_parameters(j) * workload_dtype_bytes(j->reduce_dtype) / split;
        out.optimizer = j->offload ? 0 : models * trained_parameters(j) * MASTER / split / over;
        out.activations = activations_of(j);
        out.logits = workload_tokens(j) * m->vocab * 6 / j->tp;
        out.gathered = is_sharded(j)
                           ? size * ((1 + fmax(0, j->prefetch)) * (double)language_model_part(m, WORKLOAD_LAYER) +
                                     (double)language_model_part(m, WORKLOAD_ROOT))
                           : 0;
        if (j->algorithm != WORKLOAD_TRAIN && !j->offload_params && !j->lora_rank)
            out.reference = parameters * size / split;
    }
    if (j->algorithm != WORKLOAD_TRAIN || out.activations <= 0)
        out.engine = parameters * size / j->rollout_tp;
    return out;
}

double workload_memory_states(const struct workload_memory *m)
{
    return m->weights + m->gradients + m->optimizer + m->reference;
}

double workload_memory_peak(const struct workload_memory *m)
{
    return workload_memory_states(m) + m->gathered + m->activations + m->logits;
}

double workload_host_GBps(const struct workload_job *j)
{
    return j->host_GBps > 0 ? j->host_GBps : HOST_GBPS;
}

/* ZeRO-Offload (Ren et al. 2021): gradients out and weights in, in 16 bits, at every update; ZeRO-Infinity's parameters
 * come in again for every pass, fetched ahead behind compute. FSDP's offload as RL trainers use it moves master weights
 * and moments in before the updates of a step and out after them, and the shards in and out for each role that
 * computes.
 */
double workload_offload_s(const struct workload_job *j, double *bytes)
{
    int zero = workload_framework_find(j->framework)->family == WORKLOAD_ZERO3, rl = j->algorithm != WORKLOAD_TRAIN;
    double models = j->algorithm == WORKLOAD_PPO ? 2 : 1, updates = (double)j->updates * j->epochs,
           passes = updates * j->grad_accum;
    double shard = (double)language_model_parameters(&j->model) / count_pieces(j, &j->model) * models;
    double adapted = trained_parameters(j) / count_pieces(j, &j->model) * models;
    double held = adapted / (is_sharded(j) ? 1 : (double)j->dp * j->cp); /* by the distributed optimizer */
    double sent = workload_dtype_bytes(j->reduce_dtype) + workload_dtype_bytes(j->dtype);
    double optimizer = !j->offload       ? 0
                       : zero            ? 4.0 * adapted * updates
                       : j->offload == 2 ? sent * held * updates
                                         : 2 * MASTER * held;
    double fetched = j->offload_params && zero ? 2.0 * shard * passes * (rl ? 4 : 2) : 0;
    double moved = j->offload_params && !zero ? 8.0 * shard * (rl ? 2 : 1) : 0;
    double rate = workload_host_GBps(j) * 1e9;
    double compute_us = passes * workload_pass_us(j, 2 + workload_backward_flops(j) + (rl ? 4 : 0));
    *bytes = optimizer + fetched + moved;
    return (optimizer + moved) / rate + fmax(0, fetched / rate - fmax(0, compute_us) / 1e6);
}
