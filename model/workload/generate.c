/* The workload of a job: inference, and a step put together from the parts of its framework. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "model/workload/parts.h"

/* ---- inference ---- */

/* Inference with tensor parallelism, as vLLM does it.
 *
 * Every forward pass reduces the output of the embedding, and of attention and MLP of every layer (2 L + 1 AllReduce,
 * as in Shoeybi et al. 2019), and gathers the logits of the tokens to sample. Prompts go through in passes of at most
 * max_num_batched_tokens tokens, then every pass yields one token of each running sequence, of which there are at most
 * max_num_seqs (vLLM's documentation, defaults 8192 and 256). Sequences are taken to be of full length.
 *
 * Within a node vLLM has an all-reduce kernel of its own (vLLM's API documentation, CustomAllreduce: 2, 4, 6 or 8
 * ranks, less than 8 MiB, over NVLink unless they are two). NCCL never sees those calls, so no profile changes them. */
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

static void add_reduction(struct workload_build *b, double bytes, double count, const char *what)
{
    char size[UNIT_TEXT];
    if (is_custom(b->job, bytes))
        workload_add_note(b->out, arena_printf(b->out->arena,
                                               "%.10g AllReduces of %s (%s) are not included: vLLM does them without "
                                               "NCCL unless disable_custom_all_reduce is set (--no-custom-all-reduce)",
                                               count, unit_bytes(size, (uint64_t)bytes), what));
    else
        workload_put(b,
                     (struct workload_spec){COLL_ALLREDUCE, bytes, count, b->job->rollout_tp, 1, b->job->dtype, what});
}

static void add_rollout(struct workload_build *b)
{
    const struct workload_job *j = b->job;
    const struct language_model *m = &j->model;
    double size = workload_dtype_bytes(j->dtype), per_pass = 2.0 * m->layers + 1;
    double engines = fmax(1, floor((double)b->ranks / j->rollout_tp));
    double sequences = ceil((double)j->micro_batch * j->grad_accum * j->updates * j->dp / engines);
    double running = fmin(sequences, RUNNING), rounds = ceil(sequences / running);
    /* Responses of one prompt share its cache. */
    b->phase->compute_us = workload_rollout_us(j, sequences, running);
    b->phase->compute_factor = b->phase->compute_us < 0 ? 0 : WORKLOAD_ROLLOUT_FACTOR;
    double prompts = ceil(sequences / j->rollout_n), prefills = workload_pieces(prompts * j->prompt, BATCHED_TOKENS);
    add_reduction(b, prompts * j->prompt / prefills * m->hidden * size, prefills * per_pass,
                  "prefill: tokens of a pass × h × dtype, 2 L + 1 a pass");
    add_reduction(b, running * m->hidden * size, rounds * j->response * per_pass,
                  "decode: running sequences × h × dtype, 2 L + 1 a token");
    workload_put(b,
                 (struct workload_spec){COLL_ALLGATHER, running * m->vocab * size, rounds * j->response, j->rollout_tp,
                                        1, j->dtype, "logits: running sequences × V × dtype, one a token"});
}

/* ---- a step ---- */

/* NULL: it does not train. */
static const struct workload_parts *const parts_of[WORKLOAD_FAMILY_COUNT] = {
    [WORKLOAD_FSDP] = &workload_sharded,
    [WORKLOAD_ZERO3] = &workload_zero3,
    [WORKLOAD_MEGATRON] = &workload_megatron,
};

/* Of `micro_batches` between two times that the pipeline runs empty, a stage waits for the pp - 1 others (Narayanan et
 * al. 2021, section 2.2; with vpp pieces a stage, 1/vpp of it). ZB-H1 leaves a third (Qi et al. 2023, section 2.2). */
static double bubble_of(const struct workload_job *j, double micro_batches, int forward_only)
{
    double bubble = (j->pp - 1) / (micro_batches * j->vpp);
    return j->zero_bubble && !forward_only ? bubble / 3 : bubble;
}

static void begin_phase(struct workload_build *b, const char *who, const char *what, double compute_us)
{
    b->phase = workload_add_phase(b->out, arena_printf(b->out->arena, "%s%s%s", who, *who ? " " : "", what));
    b->phase->compute_us = compute_us;
    b->phase->compute_factor = compute_us < 0 ? 0 : workload_pass_factor(b->job);
}

static double scale_us(double us, double n)
{
    return us < 0 ? us : us * n;
}

static void add_forward(struct workload_build *b, const struct workload_parts *parts, const char *name, double passes)
{
    begin_phase(b, "", name, scale_us(workload_pass_us(b->job, 2), passes));
    b->phase->bubble = bubble_of(b->job, passes, 1);
    parts->forward(b, passes);
}

static void add_training(struct workload_build *b, const struct workload_parts *parts, const char *who, double passes)
{
    const struct workload_job *j = b->job;
    double bubble = bubble_of(j, j->grad_accum, 0);
    passes *= j->epochs;
    begin_phase(b, who, "forward", scale_us(workload_pass_us(j, 2), passes));
    b->phase->bubble = bubble;
    parts->forward(b, passes);
    begin_phase(b, who, "backward", scale_us(workload_pass_us(j, workload_backward_flops(j)), passes));
    b->phase->bubble = bubble;
    parts->backward(b, passes);
    begin_phase(b, who, "optimizer", -1);
    parts->update(b, (double)j->updates * j->epochs);
}

static void add_notes(struct workload *w, const struct workload_job *j, const struct workload_parts *parts)
{
    struct arena *a = w->arena;
    workload_add_note(
        w,
        arena_printf(
            a,
            "%d × %d GPUs, tp %d, pp %d, cp %d, sp %d, dp %d, ep %d, micro-batch %d × %d × %d updates, %d + %d tokens",
            j->nodes, j->gpus_per_node, j->tp, j->pp, j->cp, j->sp, j->dp, j->ep, j->micro_batch, j->grad_accum,
            j->updates, j->prompt, j->response));
    if (j->tflops > 0)
        workload_add_note(
            w, arena_printf(a, "compute times are assumed, at %g TFLOP/s a GPU; sizes and counts are not", j->tflops));
    if (j->pp > 1 && parts)
        workload_add_note(
            w, arena_printf(a, "the pipeline's bubble adds %.0f %% to training: (pp - 1) / micro-batches%s%s",
                            100 * bubble_of(j, j->grad_accum, 0), j->vpp > 1 ? " / vpp" : "",
                            j->zero_bubble ? ", a third of it under ZB-H1" : ""));
}

/* Copies between GPU and host as a phase of its own, of what no compute hides. */
static void add_offload(struct workload_build *b)
{
    double bytes, seconds = workload_offload_s(b->job, &bytes);
    if (bytes <= 0)
        return;
    begin_phase(b, "", "offload", 1e6 * seconds);
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
        begin_phase(&b, "", "rollout", -1);
        add_rollout(&b);
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
        begin_phase(&b, "", "weight sync", -1);
        parts->hand_over(&b);
    }
    if (parts)
        add_offload(&b);
    add_notes(w, j, parts);
    return w;
}

/* ---- what a launch script could do otherwise ---- */

/* Each changes a complete job, and says how the script does, where %d is the layers of a piece of a stage; NULL: there
 * is nothing to change. */
typedef const char *change_job(struct workload_job *j);

static int is_megatron(const struct workload_job *j)
{
    return !j->is_stand_in && workload_framework_find(j->framework)->family == WORKLOAD_MEGATRON;
}

static const char *overlap_gradients(struct workload_job *j)
{
    if (!is_megatron(j) || j->overlap)
        return NULL;
    j->overlap = 1;
    return "gradients and weights behind compute (--overlap-grad-reduce --overlap-param-gather)";
}

static const char *reduce_in_16_bits(struct workload_job *j)
{
    if (j->is_stand_in || strcmp(j->reduce_dtype, "float32") != 0)
        return NULL;
    j->reduce_dtype = "bfloat16";
    return is_megatron(j) ? "gradients reduced in 16 bits (--grad-reduce-in-bf16)"
                          : "gradients reduced in 16 bits (mixed_precision.reduce_dtype=bf16)";
}

static const char *split_stages(struct workload_job *j)
{
    int pieces = j->pp * j->vpp * 2;
    if (!is_megatron(j) || j->pp == 1 || j->model.layers % pieces || j->grad_accum % j->pp)
        return NULL;
    j->vpp *= 2;
    return "half the pipeline's bubble (--num-layers-per-virtual-pipeline-stage %d)";
}

static const char *no_offload(struct workload_job *j)
{
    if (!j->offload && !j->offload_params)
        return NULL;
    j->offload = j->offload_params = 0;
    return "no offload, if the memory suffices (not the network)";
}

void workload_add_changes(struct workload *w, const struct workload_job *job)
{
    static change_job *const changes[] = {overlap_gradients, reduce_in_16_bits, split_stages, no_offload};
    w->changes = arena_alloc(w->arena, sizeof changes / sizeof *changes * sizeof *w->changes);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct workload_job j = *job;
        const char *what = changes[i](&j);
        if (what)
            w->changes[w->nchanges++] = (struct workload_change){
                arena_printf(w->arena, what, j.model.layers / (j.pp * j.vpp)), workload_generate(&j)};
    }
}
