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

/* Of `micro_batches` between two times that the pipeline runs empty, a stage waits for the pp - 1 others (Narayanan et
 * al. 2021, section 2.2; with vpp pieces a stage, 1/vpp of it). ZB-H1 leaves a third (Qi et al. 2023, section 2.2). */
static double bubble_of(const struct workload_job *j, double micro_batches, int forward_only)
{
    double bubble = (j->pp - 1) / (micro_batches * j->vpp);
    return j->zero_bubble && !forward_only ? bubble / 3 : bubble;
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
    b->phase->bubble = bubble_of(b->job, passes, 1);
    parts->forward(b, passes);
}

static void add_training(struct workload_build *b, const struct workload_parts *parts, const char *who, double passes)
{
    const struct workload_job *j = b->job;
    double bubble = bubble_of(j, j->grad_accum, 0);
    passes *= j->epochs;
    begin(b, who, "forward", times(pass_us(j, 2), passes));
    b->phase->bubble = bubble;
    parts->forward(b, passes);
    begin(b, who, "backward", times(pass_us(j, workload_backward_flops(j)), passes));
    b->phase->bubble = bubble;
    parts->backward(b, passes);
    begin(b, who, "optimizer", -1);
    parts->update(b, (double)j->updates * j->epochs);
}

static void add_notes(struct workload *w, const struct workload_job *j, const struct workload_parts *parts)
{
    char text[256];
    snprintf(text, sizeof text,
             "%d × %d GPUs, tp %d, pp %d, cp %d, sp %d, dp %d, ep %d, micro-batch %d × %d × %d updates, %d + %d tokens",
             j->nodes, j->gpus_per_node, j->tp, j->pp, j->cp, j->sp, j->dp, j->ep, j->micro_batch, j->grad_accum,
             j->updates, j->prompt, j->response);
    workload_add_note(w, text);
    if (j->tflops > 0) {
        snprintf(text, sizeof text, "compute times are assumed, at %g TFLOP/s a GPU; sizes and counts are not",
                 j->tflops);
        workload_add_note(w, text);
    }
    if (j->pp > 1 && parts) {
        snprintf(text, sizeof text, "the pipeline's bubble adds %.0f %% to training: (pp - 1) / micro-batches%s%s",
                 100 * bubble_of(j, j->grad_accum, 0), j->vpp > 1 ? " / vpp" : "",
                 j->zero_bubble ? ", a third of it under ZB-H1" : "");
        workload_add_note(w, text);
    }
}

/* Copies between GPU and host as a phase of its own, of what no compute hides. */
static void add_offload(struct workload_build *b)
{
    double bytes, seconds = workload_offload_s(b->job, &bytes);
    if (bytes <= 0)
        return;
    begin(b, "", "offload", 1e6 * seconds);
    workload_add_note(b->out, arena_printf(b->out->arena,
                                           "offload moves %.2f GiB a step and rank over PCIe, beside NCCL: %.2f s that "
                                           "nothing hides, at %.3g GB/s a GPU (assumed)",
                                           bytes / 0x1p30, seconds, workload_host_GBps(b->job)));
}

struct workload *workload_generate(const struct workload_job *j)
{
    const struct workload_framework *f = workload_framework_find(j->framework);
    const struct workload_parts *parts = parts_of[f->family];
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
    if (parts)
        add_offload(&b);
    add_notes(w, j, parts);
    return w;
}
