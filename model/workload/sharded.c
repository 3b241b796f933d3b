/* Fully sharded data parallelism: FSDP and ZeRO-3.
 *
 * Sources: ZeRO (Rajbhandari et al. 2020, section 7.2.2: weights are gathered in forward and again in backward,
 * gradients reduce-scattered, 3 Ψ in all); PyTorch's FSDP and fully_shard documentation (a unit a layer; the root unit
 * stays gathered between forward and backward; gradients are reduced after every micro-batch, in `reduce_dtype`);
 * DeepSpeed's configuration reference (reduce_bucket_size 5e8, stage3_prefetch_bucket_size 5e7 elements). */
#include <math.h>

#include "model/workload/parts.h"

#define ZERO3_REDUCE_BUCKET   5e8
#define ZERO3_PREFETCH_BUCKET 5e7

static const enum workload_part units[] = {WORKLOAD_VISION_BLOCK, WORKLOAD_LAYER, WORKLOAD_ROOT};
#define UNITS ((int)(sizeof units / sizeof *units))

/* Elements of a unit, padded so that every rank gets an equal shard. */
static double unit_elements(const struct workload_build *b, enum workload_part part)
{
    return ceil((double)language_model_part(&b->job->model, part) / b->ranks) * b->ranks;
}

/* Elements of a unit that have gradients. */
static double trained_elements(const struct workload_build *b, enum workload_part part)
{
    if (!b->job->lora_rank)
        return unit_elements(b, part);
    double adapters = (double)language_model_adapters(&b->job->model, b->job->lora_rank);
    return part == WORKLOAD_LAYER ? ceil(adapters / b->ranks) * b->ranks : 0;
}

/* Compute of one unit in one micro-batch, which is what the gather of the next unit hides behind. */
static double unit_us(const struct workload_build *b, enum workload_part part, double flops_per_parameter)
{
    double whole = workload_pass_us(b->job, flops_per_parameter);
    return whole < 0 ? whole
                     : whole * (double)language_model_part(&b->job->model, part) /
                           (double)language_model_parameters(&b->job->model);
}

/* `first`: calls of a pass in front of which nothing is computed. */
static void add_gather(struct workload_build *b, enum workload_part part, double passes, double largest,
                       double hides_us, double first, const char *what)
{
    double elements = unit_elements(b, part), pieces = workload_pieces(elements, largest);
    double calls = pieces * language_model_repeats(&b->job->model, part);
    hides_us = b->job->prefetch < 0 ? 0 : hides_us; /* each is waited for */
    first = hides_us > 0 ? fmin(first, calls) : 0;
    struct workload_spec s = {COLL_ALLGATHER,
                              elements / pieces * workload_dtype_bytes(b->job->dtype),
                              passes * first,
                              b->ranks,
                              1,
                              b->job->dtype,
                              what,
                              0};
    workload_put(b, s);
    s.count = passes * (calls - first);
    s.overlap_us = hides_us < 0 ? hides_us : hides_us / pieces;
    workload_put(b, s);
}

/* A backward pass has one gather and one reduction a unit, which share the unit's compute. */
static double backward_half_us(const struct workload_build *b, enum workload_part part)
{
    return unit_us(b, part, workload_backward_flops(b->job) / 2);
}

/* Ulysses (DeepSpeed-Ulysses, Jacobs et al. 2023, section 3.2): around attention the shards of a sequence are exchanged
 * for shards of the heads, q, k and v before and the output after it; gradients go the same ways back. */
static void share_sequences(struct workload_build *b, double passes)
{
    const struct workload_job *j = b->job;
    double tokens = workload_tokens(j) * workload_dtype_bytes(j->dtype), n = passes * j->model.layers;
    double q = (double)j->model.heads * j->model.head_dim, kv = (double)j->model.kv_heads * j->model.head_dim;
    workload_put(b, (struct workload_spec){COLL_ALLTOALL, tokens * q, 2 * n, j->sp, 1, j->dtype,
                                           "queries and outputs, sequence for heads: s × b / sp × q × dtype"});
    workload_put(b, (struct workload_spec){COLL_ALLTOALL, tokens * kv, 2 * n, j->sp, 1, j->dtype,
                                           "keys and values, sequence for heads: s × b / sp × kv × dtype"});
}

static void add_forward(struct workload_build *b, double passes)
{
    const int has_vision = language_model_repeats(&b->job->model, WORKLOAD_VISION_BLOCK) > 0;
    share_sequences(b, passes);
    for (int i = 0; i < UNITS; i++) /* the root, and the first unit behind its embedding, which computes nothing */
        add_gather(b, units[i], passes, INFINITY, unit_us(b, units[i], 2), units[i] != WORKLOAD_LAYER || !has_vision,
                   units[i] == WORKLOAD_ROOT ? "root unit: parameters outside the layers × dtype"
                                             : "one unit: parameters of a layer × dtype");
}

static void add_backward(struct workload_build *b, double passes)
{
    share_sequences(b, b->job->recompute ? 2 * passes : passes);
    for (int i = 0; i < UNITS; i++) {
        if (units[i] != WORKLOAD_ROOT)
            add_gather(b, units[i], passes, INFINITY, backward_half_us(b, units[i]), 0,
                       "one unit again: parameters of a layer × dtype");
        workload_put(b,
                     (struct workload_spec){
                         COLL_REDUCESCATTER, trained_elements(b, units[i]) * workload_dtype_bytes(b->job->reduce_dtype),
                         passes * language_model_repeats(&b->job->model, units[i]), b->ranks, 1, b->job->reduce_dtype,
                         "gradients of one unit × reduce dtype, every micro-batch", backward_half_us(b, units[i])});
    }
}

static void add_update(struct workload_build *b, double updates)
{
    workload_put(b,
                 (struct workload_spec){COLL_ALLREDUCE, 4, updates, b->ranks, 1, "float32", "norm of the gradients"});
}

/* Every tensor is gathered by itself and handed on to the inference engine. FSDP keeps its shards as float32 master
 * weights, and verl gathers them as they are. */
static void add_hand_over(struct workload_build *b)
{
    int zero3 = workload_framework_find(b->job->framework)->family == WORKLOAD_ZERO3;
    const char *dtype = zero3 ? b->job->dtype : "float32";
    struct workload_tensor t[WORKLOAD_TENSORS];
    int n = language_model_tensors(&b->job->model, t);
    for (int i = 0; i < n; i++)
        workload_put(b, (struct workload_spec){COLL_ALLGATHER, (double)t[i].elements * workload_dtype_bytes(dtype),
                                               (double)t[i].copies * language_model_repeats(&b->job->model, t[i].part),
                                               b->ranks, 1, dtype,
                                               arena_printf(b->out->arena, "%s: elements × %s", t[i].name, dtype)});
}

const struct workload_parts workload_sharded = {add_forward, add_backward, add_update, add_hand_over};

static void add_zero3_forward(struct workload_build *b, double passes)
{
    share_sequences(b, passes);
    for (int i = 0; i < UNITS; i++)
        add_gather(b, units[i], passes, ZERO3_PREFETCH_BUCKET, unit_us(b, units[i], 2), units[i] == WORKLOAD_ROOT,
                   "parameters × dtype, at most one prefetch bucket a call");
}

static void add_zero3_backward(struct workload_build *b, double passes)
{
    double total = 0;
    share_sequences(b, b->job->recompute ? 2 * passes : passes);
    for (int i = 0; i < UNITS; i++) {
        add_gather(b, units[i], passes, ZERO3_PREFETCH_BUCKET, backward_half_us(b, units[i]), 0,
                   "parameters again × dtype, at most one prefetch bucket a call");
        total += trained_elements(b, units[i]) * language_model_repeats(&b->job->model, units[i]);
    }
    double buckets = workload_pieces(total, ZERO3_REDUCE_BUCKET);
    double half_us = workload_pass_us(b->job, workload_backward_flops(b->job) / 2);
    workload_put(
        b, (struct workload_spec){COLL_REDUCESCATTER, total / buckets * workload_dtype_bytes(b->job->reduce_dtype),
                                  passes * buckets, b->ranks, 1, b->job->reduce_dtype,
                                  "gradients × reduce dtype in equal buckets", half_us < 0 ? -1 : half_us / buckets});
}

const struct workload_parts workload_zero3 = {add_zero3_forward, add_zero3_backward, add_update, add_hand_over};
