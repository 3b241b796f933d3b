/* The models and their tensors.
 *
 * Shapes are those of the models' public config.json files on the Hugging Face hub; the resulting parameter counts are
 * checked in the tests against the counts published with the weights. */
#include "model/workload/parts.h"

#include <string.h>

/* clang-format off */
const struct language_model language_models[] = {
    /* name            layers hidden heads kv  dim  inter  vocab   tied bias norm */
    {"qwen2.5-0.5b",      24,   896,  14,  2,  64,  4864, 151936,  1,   1},
    {"qwen2.5-1.5b",      28,  1536,  12,  2, 128,  8960, 151936,  1,   1},
    {"qwen2.5-3b",        36,  2048,  16,  2, 128, 11008, 151936,  1,   1},
    {"qwen2.5-7b",        28,  3584,  28,  4, 128, 18944, 152064,  0,   1},
    {"qwen2.5-14b",       48,  5120,  40,  8, 128, 13824, 152064,  0,   1},
    {"qwen2.5-32b",       64,  5120,  40,  8, 128, 27648, 152064,  0,   1},
    {"qwen2.5-72b",       80,  8192,  64,  8, 128, 29568, 152064,  0,   1},
    {"qwen2-7b",          28,  3584,  28,  4, 128, 18944, 152064,  0,   1},
    {"llama3-8b",         32,  4096,  32,  8, 128, 14336, 128256},
    {"llama3-70b",        80,  8192,  64,  8, 128, 28672, 128256},
    {"llama3.2-1b",       16,  2048,  32,  8,  64,  8192, 128256,  1},
    {"llama3.2-3b",       28,  3072,  24,  8, 128,  8192, 128256,  1},
    {"qwen3-0.6b",        28,  1024,  16,  8, 128,  3072, 151936,  1,   0,   1},
    {"qwen3-1.7b",        28,  2048,  16,  8, 128,  6144, 151936,  1,   0,   1},
    {"qwen3-4b",          36,  2560,  32,  8, 128,  9728, 151936,  1,   0,   1},
    {"qwen3-8b",          36,  4096,  32,  8, 128, 12288, 151936,  0,   0,   1},
    {"qwen3-14b",         40,  5120,  40,  8, 128, 17408, 151936,  0,   0,   1},
    {"qwen3-32b",         64,  5120,  64,  8, 128, 25600, 151936,  0,   0,   1},
    {"qwen3-30b-a3b",     48,  2048,  32,  4, 128,  6144, 151936,  0,   0,   1,  128, 8,  768},
    {"qwen3-235b-a22b",   94,  4096,  64,  4, 128, 12288, 151936,  0,   0,   1,  128, 8, 1536},
    {"deepseek-llm-7b",   30,  4096,  32, 32, 128, 11008, 102400},
    {"r1-distill-1.5b",   28,  1536,  12,  2, 128,  8960, 151936,  0,   1}, /* of DeepSeek-R1: Qwen2.5's with a head of its own */
    {"mistral-7b",        32,  4096,  32,  8, 128, 14336,  32000},
    {"mistral-nemo",      40,  5120,  32,  8, 128, 14336, 131072},
    {"mixtral-8x7b",      32,  4096,  32,  8, 128, 14336,  32000,  0,   0,   0,    8, 2, 14336},
    /*                                                                           vision: depth hidden inter gated */
    {"qwen2-vl-2b",       28,  1536,  12,  2, 128,  8960, 151936,  1,   1,   0,  0, 0, 0,  32, 1280, 5120, 0},
    {"qwen2-vl-7b",       28,  3584,  28,  4, 128, 18944, 152064,  0,   1,   0,  0, 0, 0,  32, 1280, 5120, 0},
    {"qwen2.5-vl-3b",     36,  2048,  16,  2, 128, 11008, 151936,  1,   1,   0,  0, 0, 0,  32, 1280, 3420, 1},
    {"qwen2.5-vl-7b",     28,  3584,  28,  4, 128, 18944, 152064,  0,   1,   0,  0, 0, 0,  32, 1280, 3420, 1},
    /* Layers of several kinds, by their totals: latent attention, dense layers first, shared experts, biases, linear
     * attention. Shapes: Megatron arguments of THUDM/slime's scripts/models, gpt-oss its model card; totals: counted from
     * the tensors of their config.json, without vision tower and extra prediction layers.    total, dense layers, cache */
    {"deepseek-v3",       61,  7168, 128, 128, 160, 18432, 129280,  0,   0,   0,  256, 8, 2048,  0, 0, 0, 0,  671026419200, 3, 576},
    {"deepseek-v2-lite",  27,  2048,  16, 16, 160, 10944, 102400,  0,   0,   0,   64, 6, 1408,  0, 0, 0, 0,   15706484224, 1, 576},
    {"moonlight-16b-a3b", 27,  2048,  16, 16, 160, 11264, 163840,  0,   0,   0,   64, 6, 1408,  0, 0, 0, 0,   15960110208, 1, 576},
    {"kimi-k2",           61,  7168,  64, 64, 160, 18432, 163840,  0,   0,   0,  384, 8, 2048,  0, 0, 0, 0, 1026408232448, 1, 576},
    {"glm-4.5-air",       46,  4096,  96,  8, 128, 10944, 151552,  0,   0,   0,  128, 8, 1408,  0, 0, 0, 0,  106852251264, 1, 0},
    {"glm-4.5",           92,  5120,  96,  8, 128, 12288, 151552,  0,   0,   0,  160, 8, 1536,  0, 0, 0, 0,  352797829024, 3, 0},
    {"glm-4-9b",          40,  4096,  32,  2, 128, 13696, 151552,  0,   0,   0,    0, 0,    0,  0, 0, 0, 0,    9400094720, 0, 0},
    {"gpt-oss-20b",       24,  2880,  64,  8,  64,  2880, 201088,  0,   0,   0,   32, 4, 2880,  0, 0, 0, 0,   20914757184, 0, 0},
    {"gpt-oss-120b",      36,  2880,  64,  8,  64,  2880, 201088,  0,   0,   0,  128, 4, 2880,  0, 0, 0, 0,  116829156672, 0, 0},
    {"qwen3-next-80b-a3b", 48, 2048,  16,  2, 256,  5120, 151936,  0,   0,   0,  512, 10, 512,  0, 0, 0, 0,   79674391296, 0, 256},
    {"qwen3.5-0.8b",      24,  1024,   8,  2, 256,  3584, 248320,  1,   0,   0,    0, 0,    0,  0, 0, 0, 0,     752393024, 0, 256},
    {"qwen3.5-4b",        32,  2560,  16,  4, 256,  9216, 248320,  1,   0,   0,    0, 0,    0,  0, 0, 0, 0,    4205751296, 0, 512},
    {"qwen3.5-9b",        32,  4096,  16,  4, 256, 12288, 248320,  0,   0,   0,    0, 0,    0,  0, 0, 0, 0,    8953803264, 0, 512},
    {"qwen3.5-27b",       64,  5120,  24,  4, 256, 17408, 248320,  0,   0,   0,    0, 0,    0,  0, 0, 0, 0,   26895998464, 0, 512},
    {"qwen3.5-35b-a3b",   40,  2048,  16,  2, 256,   512, 248320,  0,   0,   0,  256, 8,  512,  0, 0, 0, 0,   34660610688, 0, 256},
    {NULL},
};
/* clang-format on */

const struct language_model *language_model_find(const char *name)
{
    for (const struct language_model *m = language_models; m->name; m++)
        if (!strcmp(m->name, name))
            return m;
    return NULL;
}

int language_model_repeats(const struct language_model *m, enum workload_part part)
{
    return part == WORKLOAD_LAYER ? m->layers : part == WORKLOAD_VISION_BLOCK ? m->vision_depth : 1;
}

struct tensor_list {
    struct workload_tensor *out;
    int count;
};

static void add_tensor(struct tensor_list *l, const char *name, enum workload_part part, enum workload_split split,
                       uint64_t elements, int copies)
{
    if (elements)
        l->out[l->count++] = (struct workload_tensor){name, part, split, elements, copies};
}

static void add_layer(struct tensor_list *l, const struct language_model *m)
{
    uint64_t h = (uint64_t)m->hidden, d = (uint64_t)m->head_dim;
    uint64_t q = (uint64_t)m->heads * d, kv = (uint64_t)m->kv_heads * d;
    add_tensor(l, "q", WORKLOAD_LAYER, WORKLOAD_BY_TP, h * q, 1);
    add_tensor(l, "k, v", WORKLOAD_LAYER, WORKLOAD_BY_TP, h * kv, 2);
    add_tensor(l, "o", WORKLOAD_LAYER, WORKLOAD_BY_TP, q * h, 1);
    if (m->qkv_bias) {
        add_tensor(l, "q bias", WORKLOAD_LAYER, WORKLOAD_BY_TP, q, 1);
        add_tensor(l, "k, v bias", WORKLOAD_LAYER, WORKLOAD_BY_TP, kv, 2);
    }
    if (m->qk_norm)
        add_tensor(l, "q, k norm", WORKLOAD_LAYER, WORKLOAD_WHOLE, d, 2);
    add_tensor(l, "layer norm", WORKLOAD_LAYER, WORKLOAD_WHOLE, h, 2);
    if (m->experts) {
        add_tensor(l, "router", WORKLOAD_LAYER, WORKLOAD_WHOLE, h * (uint64_t)m->experts, 1);
        add_tensor(l, "expert gate, up, down", WORKLOAD_LAYER, WORKLOAD_BY_ETP, h * (uint64_t)m->expert_intermediate,
                   3 * m->experts);
    } else {
        add_tensor(l, "gate, up, down", WORKLOAD_LAYER, WORKLOAD_BY_TP, h * (uint64_t)m->intermediate, 3);
    }
}

/* The vision tower stays whole under tensor parallelism: it is small, and Megatron-LM recipes replicate it. */
static void add_vision(struct tensor_list *l, const struct language_model *m)
{
    const enum workload_part block = WORKLOAD_VISION_BLOCK;
    uint64_t h = (uint64_t)m->vision_hidden, inter = (uint64_t)m->vision_intermediate, merged = 4 * h;
    uint64_t norm = m->vision_gated ? h : 2 * h; /* LayerNorm has a bias too */
    add_tensor(l, "vision norm", block, WORKLOAD_WHOLE, norm, 2);
    add_tensor(l, "vision qkv", block, WORKLOAD_WHOLE, 3 * h * h + 3 * h, 1);
    add_tensor(l, "vision o", block, WORKLOAD_WHOLE, h * h + h, 1);
    add_tensor(l, m->vision_gated ? "vision gate, up" : "vision up", block, WORKLOAD_WHOLE, h * inter + inter,
               m->vision_gated ? 2 : 1);
    add_tensor(l, "vision down", block, WORKLOAD_WHOLE, inter * h + h, 1);
    add_tensor(l, "vision patches", WORKLOAD_ROOT, WORKLOAD_WHOLE, 3u * 2u * 14u * 14u * h, 1);
    add_tensor(l, "merger norm", WORKLOAD_ROOT, WORKLOAD_WHOLE, norm, 1);
    add_tensor(l, "merger in", WORKLOAD_ROOT, WORKLOAD_WHOLE, merged * merged + merged, 1);
    add_tensor(l, "merger out", WORKLOAD_ROOT, WORKLOAD_WHOLE, merged * (uint64_t)m->hidden + (uint64_t)m->hidden, 1);
}

uint64_t language_model_experts(const struct language_model *m)
{
    int layers = m->layers > m->dense_layers ? m->layers - m->dense_layers : 0; /* a script may cut a model short */
    return (uint64_t)m->experts * 3 * (uint64_t)m->hidden * (uint64_t)m->expert_intermediate * (uint64_t)layers;
}

int language_model_tensors(const struct language_model *m, struct workload_tensor out[WORKLOAD_TENSORS])
{
    struct tensor_list l = {out, 0};
    uint64_t table = (uint64_t)m->vocab * (uint64_t)m->hidden;
    add_tensor(&l, "embedding", WORKLOAD_ROOT, WORKLOAD_BY_TP, table, 1);
    if (!m->tied)
        add_tensor(&l, "head", WORKLOAD_ROOT, WORKLOAD_BY_TP, table, 1);
    add_tensor(&l, "final norm", WORKLOAD_ROOT, WORKLOAD_WHOLE, (uint64_t)m->hidden, 1);
    if (m->vision_depth)
        add_vision(&l, m);
    if (!m->parameters) {
        add_layer(&l, m);
        return l.count;
    }
    /* Only the total is known: equal layers, experts apart, and the root takes what does not divide. */
    uint64_t known = table * (m->tied ? 1 : 2) + (uint64_t)m->hidden, layers = (uint64_t)m->layers;
    uint64_t expert = language_model_experts(m) / layers / (3 * (uint64_t)m->experts + !m->experts);
    known += layers * 3 * (uint64_t)m->experts * expert;
    uint64_t rest = m->parameters > known ? m->parameters - known : 0;
    add_tensor(&l, "layer", WORKLOAD_LAYER, WORKLOAD_BY_TP, rest / layers, 1);
    add_tensor(&l, "expert gate, up, down", WORKLOAD_LAYER, WORKLOAD_BY_ETP, expert, 3 * m->experts);
    add_tensor(&l, "remainder", WORKLOAD_ROOT, WORKLOAD_WHOLE, rest % layers, 1);
    return l.count;
}

uint64_t language_model_part(const struct language_model *m, enum workload_part part)
{
    struct workload_tensor t[WORKLOAD_TENSORS];
    int n = language_model_tensors(m, t);
    uint64_t sum = 0;
    for (int i = 0; i < n; i++)
        if (t[i].part == part)
            sum += t[i].elements * (uint64_t)t[i].copies;
    return sum;
}

uint64_t language_model_parameters(const struct language_model *m)
{
    static const enum workload_part parts[] = {WORKLOAD_LAYER, WORKLOAD_ROOT, WORKLOAD_VISION_BLOCK};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        sum += language_model_part(m, parts[i]) * (uint64_t)language_model_repeats(m, parts[i]);
    return sum;
}

uint64_t language_model_active(const struct language_model *m)
{
    uint64_t all = language_model_experts(m), experts = (uint64_t)m->experts + !m->experts;
    return language_model_parameters(m) - all / experts * (experts - (uint64_t)(m->experts ? m->experts_per_token : 1));
}

uint64_t language_model_adapters(const struct language_model *m, int rank)
{
    uint64_t h = (uint64_t)m->hidden, d = (uint64_t)m->head_dim;
    uint64_t q = (uint64_t)m->heads * d, kv = (uint64_t)m->kv_heads * d;
    uint64_t mlp =
        m->experts ? (uint64_t)m->experts * (h + (uint64_t)m->expert_intermediate) : h + (uint64_t)m->intermediate;
    return (uint64_t)rank * (2 * (h + q) + 2 * (h + kv) + 3 * mlp);
}
