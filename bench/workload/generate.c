/* A step put together from the parts of its framework. */
#include "bench/workload/generate.h"

#include <stdio.h>

#include "bench/workload/workload_internal.h"

/* NULL: it does not train. */
static const struct workload_parts *const parts_of[WORKLOAD_FAMILY_COUNT] = {
    [WORKLOAD_FSDP] = &workload_sharded,
    [WORKLOAD_ZERO3] = &workload_zero3,
    [WORKLOAD_MEGATRON] = &workload_megatron,
};

/* FLOPs of one token through the model: 2 per active parameter forward, 4 backward (Kaplan et al. 2020, section 2.1;
 * the share of attention scores, small at these lengths, is left out). */
static double pass_us(const struct workload_job *j, double per_parameter)
{
    double active = (double)language_model_active(&j->model);
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
    const struct workload_framework *f = workload_framework_find(j->framework);
    const struct workload_parts *parts = f ? parts_of[f->family] : NULL;
    struct workload *w = workload_new();
    struct workload_build b = {.job = j, .out = w, .ranks = j->nodes * j->gpus_per_node};
    double passes = (double)j->grad_accum * j->updates;
    w->name = arena_strdup(w->arena, j->name ? j->name : j->framework);
    w->source = "generated";
    w->model = arena_strdup(w->arena, j->model.name);
    w->framework = arena_strdup(w->arena, j->framework);
    w->parameters = language_model_parameters(&j->model);
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
