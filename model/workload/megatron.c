/* Megatron-LM: tensor, sequence, pipeline, data and expert parallelism, for the busiest stage.
 *
 * Sources: tensor parallelism, 2 AllReduce a layer and direction (Shoeybi et al. 2019, section 3); sequence
 * parallelism, which replaces them by AllGather and ReduceScatter and gathers inputs once more in backward (Korthikanti
 * et al. 2022, section 4.2.2); pipelines and the sizes of their messages (Narayanan et al. 2021, section 3.2);
 * distributed optimizer and bucket size (Megatron-LM's documentation: max(40e6, 1e6 × dp) parameters); expert dispatch
 * by all-to-all (Megatron-Core MoE documentation). Rank order: tensor, expert, data, pipeline.
 *
 * b: micro-batch, s: tokens, h: hidden, k: experts per token. A layer with experts has no dense MLP. */
#include <math.h>

#include "model/workload/parts.h"

/* The shape of one rank's share, computed once per part. */
struct share {
    const struct workload_job *job;
    const struct language_model *model;
    double layers;     /* of a stage */
    double activation; /* bytes of s × b × h */
    int size;          /* bytes of dtype */
    int sequence;      /* sequence parallelism */
    int dense; /* blocks of a layer that tensor parallelism splits: attention, and the MLP unless it is experts */
    int data_stride, stage_stride;
};

static struct share share_of(const struct workload_build *b)
{
    const struct workload_job *j = b->job;
    struct share s = {.job = j, .model = &j->model};
    s.layers = ceil((double)j->model.layers / j->pp);
    s.size = workload_dtype_bytes(j->dtype);
    s.activation = workload_tokens(j) * j->model.hidden * s.size;
    s.sequence = j->tp > 1 && !j->no_sequence_parallel;
    s.dense = j->model.experts ? 1 : 2;
    s.data_stride = j->tp;
    s.stage_stride = j->tp * j->cp * j->dp;
    return s;
}

static void over_tp(struct workload_build *b, const struct share *s, int kind, double bytes, double count,
                    const char *what)
{
    /* Overlapped, a call shares the forward compute of half a block with the other of its pair. */
    double beside_us = s->job->tp_overlap ? workload_pass_us(s->job, 2) / (2 * s->layers * s->dense) : 0;
    workload_put(b, (struct workload_spec){kind, bytes, count, s->job->tp, 1, s->job->dtype, what, fmax(0, beside_us)});
}

static void layers_forward(struct workload_build *b, const struct share *s, double passes)
{
    double n = passes * s->layers * s->dense;
    if (!s->sequence) {
        over_tp(b, s, COLL_ALLREDUCE, s->activation, n, "output of attention and MLP: s × b × h × dtype");
        return;
    }
    over_tp(b, s, COLL_ALLGATHER, s->activation, n, "input of attention and MLP: s × b × h × dtype");
    over_tp(b, s, COLL_REDUCESCATTER, s->activation, n, "output of attention and MLP: s × b × h × dtype");
}

static void layers_backward(struct workload_build *b, const struct share *s, double passes)
{
    double n = passes * s->layers * s->dense;
    if (!s->sequence) {
        over_tp(b, s, COLL_ALLREDUCE, s->activation, n, "gradient of the input: s × b × h × dtype");
        return;
    }
    over_tp(b, s, COLL_ALLGATHER, s->activation, 2 * n, "input again, and gradient of the output: s × b × h × dtype");
    over_tp(b, s, COLL_REDUCESCATTER, s->activation, n, "gradient of the input: s × b × h × dtype");
}

/* Each layer sends its tokens to their experts and back, forward and backward alike. With tensor parallelism within an
 * expert, its ranks first share the tokens that they received. */
static void experts_pass(struct workload_build *b, const struct share *s, double passes)
{
    const struct workload_job *j = s->job;
    if (!s->model->experts)
        return;
    double bytes = s->activation / j->tp * s->model->experts_per_token, n = passes * s->layers;
    double nodes = ceil((double)j->ep * j->etp / j->gpus_per_node), k = s->model->experts_per_token;
    double once = j->deepep && nodes > 1 ? nodes * (1 - pow(1 - 1 / nodes, k)) / k : 1; /* of evenly routed copies */
    double beside_us = j->ep_overlap ? fmax(0, workload_pass_us(j, 2)) / (2 * s->layers) : 0;
    workload_put(b, (struct workload_spec){j->even_experts ? COLL_ALLTOALL : COLL_ALLTOALLV, bytes * once, 2 * n, j->ep,
                                           j->etp, j->dtype, "tokens to experts and back: s × b / tp × k × h × dtype",
                                           beside_us});
    workload_put(b, (struct workload_spec){COLL_ALLGATHER, bytes * j->etp, n, j->etp, 1, j->dtype,
                                           "tokens within an expert: s × b / tp × k × h × etp × dtype"});
    workload_put(b, (struct workload_spec){COLL_REDUCESCATTER, bytes * j->etp, n, j->etp, 1, j->dtype,
                                           "results within an expert: s × b / tp × k × h × etp × dtype"});
}

/* One direction of the pipeline: a stage in the middle receives and sends, an end does one of both. */
static void stages_pass(struct workload_build *b, const struct share *s, double passes)
{
    double bytes = s->sequence ? s->activation / s->job->tp : s->activation;
    if (s->job->pp > 1)
        workload_put(b, (struct workload_spec){COLL_SENDRECV, bytes,
                                               passes * s->job->vpp * (s->job->pp > 2 || s->job->vpp > 1 ? 2 : 1), 2,
                                               s->stage_stride, s->job->dtype,
                                               s->sequence ? "between stages: s × b × h / tp × dtype"
                                                           : "between stages: s × b × h × dtype"});
}

/* Embedding and head. In a pipeline they are on different stages, and the last one, with the head and the loss, is the
 * busier of the two. */
static void ends_forward(struct workload_build *b, const struct share *s, double passes)
{
    if (s->job->pp == 1)
        over_tp(b, s, s->sequence ? COLL_REDUCESCATTER : COLL_ALLREDUCE, s->activation, passes,
                "output of the embedding: s × b × h × dtype");
    if (s->sequence)
        over_tp(b, s, COLL_ALLGATHER, s->activation, passes, "input of the head: s × b × h × dtype");
    workload_put(b, (struct workload_spec){COLL_ALLREDUCE, workload_tokens(s->job) * 4, 3 * passes, s->job->tp, 1,
                                           "float32", "maximum, target and sum of the logits: s × b × 4"});
}

static void ends_backward(struct workload_build *b, const struct share *s, double passes)
{
    double gathers = (s->sequence ? 1 : 0) + (s->sequence && s->job->pp == 1 ? 1 : 0);
    over_tp(b, s, COLL_ALLGATHER, s->activation, gathers * passes,
            "input of the head again, gradient of the embedding: s × b × h × dtype");
    over_tp(b, s, s->sequence ? COLL_REDUCESCATTER : COLL_ALLREDUCE, s->activation, passes,
            "gradient of the head's input: s × b × h × dtype");
}

/* Context parallelism as a ring (Megatron-Core's documentation): keys and values pass by every rank that shares the
 * sequence, one share at a time, behind the attention of the share before. */
static void ring_pass(struct workload_build *b, const struct share *s, double passes, double tensors)
{
    const struct workload_job *j = b->job;
    double kv = (double)j->model.kv_heads * j->model.head_dim / j->tp;
    if (j->cp > 1)
        workload_put(b, (struct workload_spec){COLL_SENDRECV, tensors * workload_tokens(j) * kv * s->size,
                                               passes * s->layers * (j->cp - 1), 2, s->data_stride, j->dtype,
                                               "keys and values along the ring: s × b / cp × kv / tp × dtype", -1});
}

static void add_forward(struct workload_build *b, double passes)
{
    struct share s = share_of(b);
    ring_pass(b, &s, passes, 2);
    layers_forward(b, &s, passes);
    experts_pass(b, &s, passes);
    ends_forward(b, &s, passes);
    stages_pass(b, &s, passes);
}

static void add_backward(struct workload_build *b, double passes)
{
    struct share s = share_of(b);
    ring_pass(b, &s, passes, b->job->recompute ? 6 : 4);
    if (b->job->recompute) {
        layers_forward(b, &s, passes);
        experts_pass(b, &s, passes);
    }
    layers_backward(b, &s, passes);
    experts_pass(b, &s, passes);
    ends_backward(b, &s, passes);
    stages_pass(b, &s, passes);
}

/* Parameters of one rank of the busiest stage, by how they are split. A stage at the end of a pipeline holds one of
 * embedding and head; without a pipeline a rank holds both. */
static double parameters_held(const struct share *s, enum workload_split split, double ranks)
{
    struct workload_tensor t[WORKLOAD_TENSORS];
    int n = language_model_tensors(s->model, t);
    double sum = 0, tables = 0;
    for (int i = 0; i < n; i++) {
        double elements = (double)t[i].elements * t[i].copies;
        if (t[i].split != split)
            continue;
        if (t[i].part == WORKLOAD_LAYER)
            sum += elements * s->layers;
        else if (t[i].part == WORKLOAD_VISION_BLOCK)
            sum += elements * s->model->vision_depth;
        else if (split == WORKLOAD_BY_TP && s->job->pp > 1)
            tables = fmax(tables, elements);
        else
            sum += elements;
    }
    return (sum + tables) / ranks;
}

/* The distributed optimizer: gradients reduce-scattered, weights gathered, in buckets. */
static void reduce_gradients(struct workload_build *b, const struct share *s, double elements, double updates, int dp,
                             int stride, const char *of)
{
    double buckets = workload_pieces(elements, fmax(40e6, 1e6 * dp)), each = ceil(elements / buckets);
    /* Overlapped: behind the last backward and the first forward pass of an update. */
    double pass_us = s->job->overlap ? fmax(0, workload_pass_us(s->job, 2)) / buckets : 0;
    workload_put(b, (struct workload_spec){COLL_REDUCESCATTER, each * workload_dtype_bytes(s->job->reduce_dtype),
                                           updates * buckets, dp, stride, s->job->reduce_dtype,
                                           arena_printf(b->out->arena, "gradients%s in buckets × reduce dtype", of),
                                           pass_us * workload_backward_flops(s->job) / 2});
    workload_put(b, (struct workload_spec){COLL_ALLGATHER, each * s->size, updates * buckets, dp, stride, s->job->dtype,
                                           arena_printf(b->out->arena, "weights%s in buckets × dtype", of), pass_us});
}

static void add_update(struct workload_build *b, double updates)
{
    struct share s = share_of(b);
    const struct workload_job *j = b->job;
    double whole = parameters_held(&s, WORKLOAD_WHOLE, 1), expert_ranks = (double)j->ep * j->etp;
    double dense = parameters_held(&s, WORKLOAD_BY_TP, j->tp) + whole,
           experts = parameters_held(&s, WORKLOAD_BY_ETP, expert_ranks);
    if (j->lora_rank) {
        dense = (double)language_model_adapters(s.model, j->lora_rank) * s.layers /
                (s.model->experts ? expert_ranks : j->tp);
        whole = experts = 0;
    }
    reduce_gradients(b, &s, dense, updates, j->dp * j->cp, s.data_stride, "");
    reduce_gradients(b, &s, experts, updates, (int)((double)j->tp * j->cp * j->dp / expert_ranks), j->etp * j->ep,
                     " of experts");
    if (s.sequence)
        workload_put(
            b, (struct workload_spec){COLL_ALLREDUCE, whole * 4, updates, j->tp, 1, "float32",
                                      "gradients of norms and router: parameters that every tensor rank holds × 4"});
    if (s.model->tied && j->pp > 1 && !j->lora_rank)
        workload_put(b, (struct workload_spec){COLL_ALLREDUCE, (double)s.model->vocab * s.model->hidden / j->tp * 4,
                                               updates, 2, (j->pp - 1) * s.stage_stride, "float32",
                                               "gradients of the tied embedding: V × h / tp × 4"});
    workload_put(b,
                 (struct workload_spec){COLL_ALLREDUCE, 4, updates, b->ranks, 1, "float32", "norm of the gradients"});
}

/* Tensor by tensor: gathered over tensor (and expert) parallelism, then broadcast from its stage to the others. */
static void add_hand_over(struct workload_build *b)
{
    struct share s = share_of(b);
    const struct workload_job *j = b->job;
    struct workload_tensor t[WORKLOAD_TENSORS];
    int n = language_model_tensors(s.model, t);
    for (int i = 0; i < n; i++) {
        const char *what = arena_printf(b->out->arena, "%s: elements × dtype", t[i].name);
        double bytes = (double)t[i].elements * s.size, repeats = language_model_repeats(s.model, t[i].part);
        double here = t[i].copies * (t[i].part == WORKLOAD_LAYER ? s.layers : repeats);
        if (t[i].split == WORKLOAD_BY_TP)
            over_tp(b, &s, COLL_ALLGATHER, bytes, here, what);
        if (t[i].split == WORKLOAD_BY_ETP) {
            workload_put(b, (struct workload_spec){COLL_ALLGATHER, bytes, here / j->ep, j->etp, 1, j->dtype, what});
            workload_put(b, (struct workload_spec){
                                COLL_ALLGATHER, bytes * j->ep, here / j->ep, j->ep, j->etp, j->dtype,
                                arena_printf(b->out->arena, "%s of ep experts: elements × ep × dtype", t[i].name)});
        }
        workload_put(b, (struct workload_spec){COLL_BROADCAST, bytes, t[i].copies * repeats, j->pp, s.stage_stride,
                                               j->dtype, what});
    }
}

const struct workload_parts workload_megatron = {add_forward, add_backward, add_update, add_hand_over};
