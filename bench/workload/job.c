/* A job's defaults, and its workload put together from the parts of its framework. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/workload/workload_internal.h"

const struct workload_framework workload_frameworks[] = {
    {"fsdp2", "PyTorch fully_shard: all-gather per layer, reduce-scatter per layer"},
    {"fsdp", "PyTorch FullyShardedDataParallel, FULL_SHARD: the same calls as fsdp2"},
    {"zero3", "DeepSpeed ZeRO stage 3: all-gather per module, reduce-scatter per bucket"},
    {"zero3-offload", "ZeRO stage 3 with the optimizer in host memory"},
    {"megatron", "Megatron-LM: tensor, pipeline, data and expert parallelism, distributed optimizer"},
    {"vllm-rollout", "vLLM inference alone: tensor-parallel prefill and decode"},
    {NULL, NULL},
};

/* The row of workload_frameworks -> how it communicates; NULL: it does not train. */
static const struct workload_parts *const parts_of[] = {
    &workload_sharded, &workload_sharded, &workload_zero3, &workload_zero3, &workload_megatron, NULL,
};

static const char *const algorithms[] = {"train", "grpo", "ppo"};

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
    {"bfloat16", 2}, {"float16", 2}, {"float32", 4}, {"float8", 1}, {"bf16", 2}, {"fp16", 2}, {"fp32", 4}, {"fp8", 1},
};

const char *workload_algorithm_name(enum workload_algorithm a)
{
    return algorithms[a];
}

int workload_algorithm_parse(const char *name)
{
    for (int i = 0; i < (int)(sizeof algorithms / sizeof *algorithms); i++)
        if (!strcmp(algorithms[i], name))
            return i;
    return -1;
}

int workload_dtype_bytes(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, dtype))
            return dtypes[i].bytes;
    return 0;
}

static int framework_index(const char *name)
{
    for (int i = 0; workload_frameworks[i].name; i++)
        if (name && !strcmp(workload_frameworks[i].name, name))
            return i;
    return -1;
}

/* ---- defaults ---- */

struct bound {
    const char *what;
    long value, low, high;
};

static int check_bounds(const struct bound *list, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].value < list[i].low || list[i].value > list[i].high)
            return err_set(e, ERR_USAGE, "%s: %ld is not from %ld to %ld", list[i].what, list[i].value, list[i].low,
                           list[i].high);
    return 0;
}

static int check_model(const struct workload_model *m, struct err *e)
{
    const struct bound bounds[] = {
        {"layers", m->layers, 1, 10000},
        {"hidden", m->hidden, 1, 1 << 20},
        {"heads", m->heads, 1, 1 << 16},
        {"kv-heads", m->kv_heads, 1, m->heads},
        {"head-dim", m->head_dim, 1, 1 << 16},
        {"intermediate", m->intermediate, 1, 1 << 24},
        {"vocab", m->vocab, 1, 1 << 28},
        {"experts", m->experts, 0, 1 << 16},
        {"experts-per-token", m->experts_per_token, m->experts ? 1 : 0, m->experts},
        {"expert-intermediate", m->expert_intermediate, m->experts ? 1 : 0, 1 << 24},
    };
    int rc = check_bounds(bounds, sizeof bounds / sizeof *bounds, e);
    if (rc)
        return rc;
    double per_layer = 4.0 * m->hidden * m->heads * m->head_dim + 3.0 * m->hidden * m->intermediate +
                       3.0 * m->hidden * m->experts * m->expert_intermediate;
    double tables = 2.0 * m->vocab * m->hidden;
    if (per_layer * m->layers + tables > 1e15)
        return err_set(e, ERR_USAGE, "the model has more than 1e15 parameters");
    if (m->parameters && ((double)m->parameters < tables + m->hidden || m->parameters > UINT64_C(1000000000000000)))
        return err_set(e, ERR_USAGE, "params: %llu leaves nothing for the layers beside a vocabulary of %d × %d",
                       (unsigned long long)m->parameters, m->vocab, m->hidden);
    return 0;
}

static void set_default(int *value, int otherwise)
{
    if (!*value)
        *value = otherwise;
}

/* Ranks from what was given of nodes, GPUs and parallelism; what contradicts is left for workload_check to say. */
static void complete_ranks(struct workload_job *j)
{
    long split = (long)j->tp * j->pp;
    if (!j->nodes && !j->gpus_per_node && j->dp) {
        long ranks = split * j->dp;
        j->gpus_per_node = ranks < 8 ? (int)ranks : 8;
        j->nodes = (int)((ranks + j->gpus_per_node - 1) / j->gpus_per_node);
    }
    set_default(&j->gpus_per_node, 8);
    set_default(&j->nodes, 1);
    long left = (long)j->nodes * j->gpus_per_node / split;
    set_default(&j->dp, left > 0 ? (int)left : 1);
}

int workload_job_complete(struct workload_job *j, struct err *e)
{
    int framework = framework_index(j->framework);
    if (framework < 0)
        return err_set(e, ERR_USAGE,
                       "framework: '%s' is none of fsdp2, fsdp, zero3, zero3-offload, megatron, "
                       "vllm-rollout",
                       j->framework ? j->framework : "");
    const struct workload_parts *parts = parts_of[framework];
    const struct bound given[] = {
        {"nodes", j->nodes, 0, 65536},
        {"gpus-per-node", j->gpus_per_node, 0, 1024},
        {"tp", j->tp, 0, 1024},
        {"pp", j->pp, 0, 1024},
        {"dp", j->dp, 0, 65536},
        {"ep", j->ep, 0, 4096},
        {"etp", j->etp, 0, 1024},
        {"ref-tp", j->ref_tp, 0, 1024},
        {"ref-pp", j->ref_pp, 0, 1024},
        {"rollout-tp", j->rollout_tp, 0, 1024},
        {"micro-batch", j->micro_batch, 0, 1 << 20},
        {"grad-accum", j->grad_accum, 0, 1 << 20},
        {"updates", j->updates, 0, 1 << 20},
        {"mini-batch", j->mini_batch, 0, 1 << 30},
        {"prompt", j->prompt, 0, 1 << 24},
        {"response", j->response, 0, 1 << 24},
    };
    int rc = check_bounds(given, sizeof given / sizeof *given, e);
    if (!rc)
        rc = check_model(&j->model, e);
    if (rc)
        return rc;
    set_default(&j->tp, 1);
    set_default(&j->pp, 1);
    complete_ranks(j);
    set_default(&j->ep, 1);
    set_default(&j->etp, j->tp);
    set_default(&j->ref_tp, j->tp);
    set_default(&j->ref_pp, j->pp);
    set_default(&j->rollout_tp, parts == &workload_megatron || !parts ? j->tp : 1);
    set_default(&j->micro_batch, 1);
    set_default(&j->grad_accum, j->pp);
    set_default(&j->updates, 1);
    if (!j->prompt && !j->response)
        j->prompt = j->response = 1024;
    if (!j->dtype)
        j->dtype = "bfloat16";
    if (!j->reduce_dtype)
        j->reduce_dtype = parts == &workload_zero3 ? j->dtype : "float32";
    if (!workload_dtype_bytes(j->dtype) || !workload_dtype_bytes(j->reduce_dtype))
        return err_set(e, ERR_USAGE, "dtype: '%s' is none of bfloat16, float16, float32, float8",
                       workload_dtype_bytes(j->dtype) ? j->reduce_dtype : j->dtype);
    if (!strcmp(j->framework, "zero3-offload"))
        j->offload = 1;
    if ((double)j->nodes * j->gpus_per_node > 1 << 24)
        return err_set(e, ERR_USAGE, "more than %d ranks", 1 << 24);
    return 0;
}

/* ---- building blocks of the generators ---- */

double workload_tokens(const struct workload_job *j)
{
    return (double)j->micro_batch * ((double)j->prompt + j->response);
}

double workload_compute_us(const struct workload_job *j, double flops)
{
    return j->tflops > 0 ? flops / (j->tflops * 1e6) : -1;
}

double workload_pieces(double total, double largest)
{
    double n = ceil(total / largest);
    return n < 1 ? 1 : n;
}

void workload_put(struct workload_build *b, int kind, double bytes, double count, int group, int stride,
                  const char *dtype, double overlap_us, const char *what)
{
    if (group < 2 || !(bytes >= 1) || !(count > 0))
        return;
    int per_node = b->job->gpus_per_node;
    long span = (long)group * stride, reach = (long)(group - 1) * stride + 1;
    /* Groups tile the node only where its size is a multiple of their span; a pair far apart has a span of its own. */
    int inside = reach <= per_node && (per_node % span == 0 || b->ranks <= per_node);
    workload_add_call(b->out, b->phase,
                      (struct workload_call){.kind = kind,
                                             .bytes = (uint64_t)ceil(bytes),
                                             .count = count,
                                             .group_size = group,
                                             .place = inside ? WORKLOAD_NODE : WORKLOAD_CLUSTER,
                                             .stride = stride,
                                             .dtype = dtype,
                                             .what = what,
                                             .overlap_us = overlap_us,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
}

/* ---- the step ---- */

/* FLOPs of one token through the model: 2 per active parameter forward, 4 backward (Kaplan et al. 2020, section 2.1;
 * the share of attention scores, small at these lengths, is left out). */
static double pass_us(const struct workload_job *j, double per_parameter)
{
    double active = (double)workload_model_active(&j->model);
    return workload_compute_us(j, per_parameter * active * workload_tokens(j) / ((double)j->tp * j->pp));
}

static void begin(struct workload_build *b, const char *who, const char *what, double compute_us)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s%s", who, *who ? " " : "", what);
    b->phase = workload_add_phase(b->out, name);
    b->phase->compute_us = compute_us;
}

static double times(double us, double n)
{
    return us < 0 ? us : us * n;
}

static void add_forward(struct workload_build *b, const struct workload_parts *parts, const char *name, double passes)
{
    begin(b, "", name, times(pass_us(b->job, 2), passes));
    parts->forward(b, passes);
}

static void add_training(struct workload_build *b, const struct workload_parts *parts, const char *who, double passes)
{
    const struct workload_job *j = b->job;
    begin(b, who, "forward", times(pass_us(j, 2), passes));
    parts->forward(b, passes);
    begin(b, who, "backward", times(pass_us(j, j->recompute ? 6 : 4), passes));
    parts->backward(b, passes);
    begin(b, who, "optimizer", -1);
    parts->update(b, j->updates);
}

static void add_notes(struct workload *w, const struct workload_job *j, const struct workload_parts *parts)
{
    char text[256];
    snprintf(text, sizeof text,
             "%d × %d GPUs, tp %d, pp %d, dp %d, ep %d, micro-batch %d × %d × %d updates, %d + %d tokens", j->nodes,
             j->gpus_per_node, j->tp, j->pp, j->dp, j->ep, j->micro_batch, j->grad_accum, j->updates, j->prompt,
             j->response);
    workload_add_note(w, text);
    if (j->tflops > 0) {
        snprintf(text, sizeof text, "compute times are assumed, at %g TFLOP/s a GPU; sizes and counts are not",
                 j->tflops);
        workload_add_note(w, text);
    }
    if (!j->offload || !parts)
        return;
    /* ZeRO-Offload (Ren et al. 2021): gradients out, weights in, in 16 bits, at every update. FSDP's offload as RL
     * trainers use it moves master weights and both Adam moments, 12 bytes a parameter, in before the updates of a step
     * and out after them. A critic does the same. */
    double bytes = parts == &workload_zero3 ? 4.0 * j->updates : 24, shard = (double)w->parameters / w->ranks;
    int trained = j->algorithm == WORKLOAD_PPO ? 2 : 1;
    snprintf(text, sizeof text, "offload moves %.2f GiB a step and rank over PCIe, beside NCCL",
             bytes * shard * trained / 0x1p30);
    workload_add_note(w, text);
}

struct workload *workload_generate(const struct workload_job *j)
{
    int framework = framework_index(j->framework);
    const struct workload_parts *parts = framework >= 0 ? parts_of[framework] : NULL;
    struct workload *w = workload_new();
    struct workload_build b = {.job = j, .out = w, .ranks = j->nodes * j->gpus_per_node};
    double passes = (double)j->grad_accum * j->updates;
    w->name = arena_strdup(w->arena, j->name ? j->name : j->framework);
    w->source = "generated";
    w->model = arena_strdup(w->arena, j->model.name);
    w->framework = arena_strdup(w->arena, j->framework);
    w->parameters = workload_model_parameters(&j->model);
    w->ranks = b.ranks;
    w->ranks_per_node = j->gpus_per_node;
    int rl = j->algorithm != WORKLOAD_TRAIN;
    if (rl || !parts) {
        begin(&b, "", "rollout", -1);
        workload_add_rollout(&b);
    }
    if (rl && parts) {
        add_forward(&b, parts, "logprob", passes);
        add_forward(&b, parts, "reference", passes);
    }
    if (j->algorithm == WORKLOAD_PPO && parts) {
        add_forward(&b, parts, "values", passes);
        add_training(&b, parts, "critic", passes);
    }
    if (parts)
        add_training(&b, parts, rl ? "actor" : "", passes);
    if (rl && parts) {
        begin(&b, "", "weight sync", -1);
        parts->hand_over(&b);
    }
    add_notes(w, j, parts);
    return w;
}
