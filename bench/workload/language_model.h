/* Models by name: their shape as in the public config.json, and the tensors that follow from it.
 *
 * Everything else (parameters, shard units, messages) is counted from the tensors, so a named model is exact to the
 * parameter. */
#ifndef BENCH_WORKLOAD_LANGUAGE_MODEL_H
#define BENCH_WORKLOAD_LANGUAGE_MODEL_H

#include <stdint.h>

/* A decoder-only transformer with grouped-query attention and a gated MLP, and perhaps a vision tower. The members are
 * those of Hugging Face's config.json. */
struct language_model {
    const char *name;
    int layers, hidden, heads, kv_heads, head_dim, intermediate, vocab;
    int tied;     /* tie_word_embeddings: one matrix is embedding and output head */
    int qkv_bias; /* biases on q, k and v (Qwen2 family) */
    int qk_norm;  /* a norm over each head's q and k (Qwen3 family) */
    int experts, experts_per_token, expert_intermediate; /* 0: dense */
    /* Vision tower of the Qwen2-VL family; depth 0: none. Its input is 3 × 2 × 14 × 14 per patch, its merger joins 2 ×
     * 2 patches. `vision_gated`: gated MLP with biases and RMSNorm (Qwen2.5-VL), else two layers and LayerNorm. */
    int vision_depth, vision_hidden, vision_intermediate, vision_gated;
    uint64_t parameters; /* given by the user in place of the shape of the layers; 0: counted */
};

/* How Megatron-LM splits a tensor. */
enum workload_split {
    WORKLOAD_WHOLE,  /* every rank of the tensor-parallel group holds all of it: norms, router */
    WORKLOAD_BY_TP,  /* over the tensor-parallel group */
    WORKLOAD_BY_ETP, /* an expert's: over expert parallelism, then expert tensor parallelism */
};

enum workload_part { WORKLOAD_LAYER, WORKLOAD_ROOT, WORKLOAD_VISION_BLOCK };

struct workload_tensor {
    const char *name;
    enum workload_part part; /* what FSDP wraps: one unit a layer, one a vision block, the rest is the root unit */
    enum workload_split split;
    uint64_t elements;
    int copies; /* in one layer, in one vision block, or in the root */
};
#define WORKLOAD_TENSORS 40 /* room that language_model_tensors needs at most */

/* The models known by name, ended by a NULL name; and one of them, or NULL. */
extern const struct language_model language_models[];
const struct language_model *language_model_find(const char *name);

/* Lists the tensors of one layer, one vision block and the root; returns how many. */
int language_model_tensors(const struct language_model *m, struct workload_tensor out[WORKLOAD_TENSORS]);

/* How often `part` stands in the model: layers, vision blocks, 1. */
int language_model_repeats(const struct language_model *m, enum workload_part part);

/* All parameters, and those that a token passes through (experts_per_token of the experts). A tied head counts once. */
uint64_t language_model_parameters(const struct language_model *m);
uint64_t language_model_active(const struct language_model *m);

/* Parameters of the adapters of one layer: LoRA of that rank on all its projections (rank × (in + out) each; Hu et al.
 * 2021, section 4.1). */
uint64_t language_model_adapters(const struct language_model *m, int rank);

/* Parameters of one layer, one vision block or the root. */
uint64_t language_model_part(const struct language_model *m, enum workload_part part);

#endif
