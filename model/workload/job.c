/* What a job can be, and its defaults. */
#include "model/workload/parts.h"

#include <string.h>

#include "core/tokens.h"
#include "probe/machines/hardware.h"

const struct workload_framework workload_frameworks[] = {
    {"fsdp2", "PyTorch fully_shard: all-gather per layer, reduce-scatter per layer", WORKLOAD_FSDP},
    {"fsdp", "PyTorch FullyShardedDataParallel, FULL_SHARD: the same calls as fsdp2", WORKLOAD_FSDP},
    {"zero3", "DeepSpeed ZeRO stage 3: all-gather per module, reduce-scatter per bucket", WORKLOAD_ZERO3},
    {"zero3-offload", "ZeRO stage 3 with optimizer and parameters in host memory", WORKLOAD_ZERO3},
    {"megatron", "Megatron-LM: tensor, pipeline, data and expert parallelism, distributed optimizer",
     WORKLOAD_MEGATRON},
    {"vllm-rollout", "vLLM inference alone: tensor-parallel prefill and decode", WORKLOAD_INFERENCE},
    {NULL},
};

static const char *const algorithms[] = {"train", "grpo", "ppo"};

static const struct {
    const char *name;
    int bytes;
} dtypes[] = {
    {"bfloat16", 2}, {"float16", 2}, {"float32", 4}, {"float8", 1}, {"bf16", 2}, {"fp16", 2}, {"fp32", 4}, {"fp8", 1},
};

const char *workload_algorithm_name(int a)
{
    return a >= 0 && a < (int)(sizeof algorithms / sizeof *algorithms) ? algorithms[a] : NULL;
}

const char *workload_dtype_name(int i)
{
    return i < (int)(sizeof dtypes / sizeof *dtypes) ? dtypes[i].name : NULL;
}

int workload_dtype_bytes(const char *dtype)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(dtypes[i].name, dtype))
            return dtypes[i].bytes;
    return 0;
}

const struct workload_framework *workload_framework_find(const char *name)
{
    for (const struct workload_framework *f = workload_frameworks; f->name; f++)
        if (name && !strcmp(f->name, name))
            return f;
    return NULL;
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

static int check_model(const struct language_model *m, struct err *e)
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
        return err_set(e, ERR_USAGE, "params: %llu leaves nothing for the layers after a vocabulary of %d × %d",
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
    long split = (long)j->tp * j->pp * j->cp * j->sp;
    if (!j->nodes && !j->gpus_per_node && j->dp) {
        long ranks = split * j->dp;
        j->gpus_per_node = ranks < 8 ? (int)ranks : 8;
        j->nodes = (int)((ranks + j->gpus_per_node - 1) / j->gpus_per_node);
    }
    set_default(&j->gpus_per_node, 8);
    long experts = (long)j->pp * j->ep * j->etp, least = split > experts ? split : experts;
    least = least < 1 << 26 ? least : 1 << 26; /* refused later */
    set_default(&j->nodes, (int)((least + j->gpus_per_node - 1) / j->gpus_per_node));
    long left = (long)j->nodes * j->gpus_per_node / split;
    set_default(&j->dp, left > 0 ? (int)left : 1);
}

/* A mini-batch tells how often micro-batches are accumulated, whatever the parallelism was changed to. */
static void complete_batches(struct workload_job *j)
{
    set_default(&j->micro_batch, 1);
    if (!j->grad_accum && j->mini_batch && j->mini_batch % j->dp == 0) {
        int each = j->mini_batch / j->dp;
        while (each % j->micro_batch)
            j->micro_batch--;
        j->grad_accum = each / j->micro_batch;
    }
    set_default(&j->grad_accum, j->pp);
}

/* Dense bfloat16 (V100: float16) of the data sheets that hardware.c names, and the part of it that products of training
 * reach, without waiting for the network or a pipeline: fitted to the rows "fit" of
 * tests/fixtures/workload/published_steps.tsv for A100, H100, B200 and GB200. 0: REACHED. */
static const struct {
    const char *gpus; /* "one|another" */
    double tflops, reached;
} peaks[] = {
    {"v100-sxm2|v100-sxm2-32", 125},
    {"a100-sxm|a100-sxm-80|a800-sxm", 312, 0.65},
    {"a100-pcie|a100-pcie-80", 312},
    {"a10", 125},
    {"a10g", 70},
    {"l4", 121},
    {"l40", 181},
    {"l40s", 362},
    {"rtx3090", 71},
    {"rtx4090", 165},
    {"rtx5090", 210},
    {"rtx6000ada", 364},
    {"h100-sxm|h800-sxm|h200-sxm|gh200", 989},
    {"h100-pcie", 756},
    {"h100-nvl|h200-nvl", 835},
    {"h20", 148},
    {"b200|b300", 2250},
    {"gb200", 2500},
    {"mi300x", 1307, 0.4},
    {"mi250x", 383, 0.4},
};
#define REACHED 0.50

static int complete_gpu(struct workload_job *j, struct err *e)
{
    const struct hw_gpu *g = hw_gpu_find(j->gpu);
    if (!g)
        return hw_gpu_unknown(j->gpu, e);
    j->gpu = g->name;
    if (j->memory_GiB <= 0)
        j->memory_GiB = (double)g->mem_bytes / 0x1p30;
    /* About 80 % of the link is left for data. */
    if (j->host_GBps <= 0)
        j->host_GBps = g->c2c_GBps > 0 ? g->c2c_GBps * 0.8 : g->pcie_GTps * g->pcie_width / 8 * 0.8;
    j->memory_GBps = j->memory_GBps > 0 ? j->memory_GBps : g->mem_GBps;
    for (size_t i = 0; i < sizeof peaks / sizeof *peaks && j->tflops <= 0; i++)
        if (word_in(peaks[i].gpus, WORD_IS, g->name, strlen(g->name)))
            j->tflops = peaks[i].tflops * (peaks[i].reached > 0 ? peaks[i].reached : REACHED);
    j->no_nvlink |= !g->links;
    return 0;
}

static int check_given(const struct workload_job *j, struct err *e)
{
    const struct bound given[] = {
        {"nodes", j->nodes, 0, 65536},
        {"gpus-per-node", j->gpus_per_node, 0, 1024},
        {"tp", j->tp, 0, 1024},
        {"pp", j->pp, 0, 1024},
        {"dp", j->dp, 0, 65536},
        {"cp", j->cp, 0, 1024},
        {"sp", j->sp, 0, 1024},
        {"vpp", j->vpp, 0, 1024},
        {"rollout-n", j->rollout_n, 0, 1 << 16},
        {"prefetch", j->prefetch, -1, 1024},
        {"lora-rank", j->lora_rank, 0, 1 << 14},
        {"ep", j->ep, 0, 4096},
        {"etp", j->etp, 0, 1024},
        {"ref-tp", j->ref_tp, 0, 1024},
        {"ref-pp", j->ref_pp, 0, 1024},
        {"rollout-tp", j->rollout_tp, 0, 1024},
        {"micro-batch", j->micro_batch, 0, 1 << 20},
        {"grad-accum", j->grad_accum, 0, 1 << 20},
        {"updates", j->updates, 0, 1 << 20},
        {"epochs", j->epochs, 0, 1 << 10},
        {"mini-batch", j->mini_batch, 0, 1 << 30},
        {"prompt", j->prompt, 0, 1 << 24},
        {"response", j->response, 0, 1 << 24},
    };
    return check_bounds(given, sizeof given / sizeof *given, e);
}

int workload_job_complete(struct workload_job *j, struct err *e)
{
    const struct workload_framework *f = workload_framework_find(j->framework);
    if (!f)
        return err_set(e, ERR_USAGE,
                       "framework: '%s' is none of fsdp2, fsdp, zero3, zero3-offload, megatron, "
                       "vllm-rollout",
                       j->framework ? j->framework : "");
    int rc = check_given(j, e);
    if (!rc)
        rc = check_model(&j->model, e);
    if (rc)
        return rc;
    set_default(&j->tp, 1);
    set_default(&j->pp, 1);
    set_default(&j->cp, 1);
    set_default(&j->sp, 1);
    set_default(&j->vpp, 1);
    set_default(&j->rollout_n, 1);
    set_default(&j->ep, 1);
    set_default(&j->etp, j->tp);
    complete_ranks(j);
    set_default(&j->prefetch, 1);
    set_default(&j->ref_tp, j->tp);
    set_default(&j->ref_pp, j->pp);
    set_default(&j->rollout_tp, f->family == WORKLOAD_MEGATRON || f->family == WORKLOAD_INFERENCE ? j->tp : 1);
    complete_batches(j);
    set_default(&j->updates, 1);
    set_default(&j->epochs, 1);
    if (!j->prompt && !j->response)
        j->prompt = j->response = 1024;
    if (!j->dtype)
        j->dtype = "bfloat16";
    if (!j->reduce_dtype)
        j->reduce_dtype = f->family == WORKLOAD_ZERO3 ? j->dtype : "float32";
    if (!workload_dtype_bytes(j->dtype) || !workload_dtype_bytes(j->reduce_dtype))
        return err_set(e, ERR_USAGE, "dtype: '%s' is none of bfloat16, float16, float32, float8",
                       workload_dtype_bytes(j->dtype) ? j->reduce_dtype : j->dtype);
    if (!strcmp(j->framework, "zero3-offload"))
        j->offload = j->offload_params = 1;
    if (j->gpu && (rc = complete_gpu(j, e)))
        return rc;
    if ((double)j->nodes * j->gpus_per_node > 1 << 24)
        return err_set(e, ERR_USAGE, "more than %d ranks", 1 << 24);
    return 0;
}
