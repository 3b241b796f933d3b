/* Shared by the files of this directory: the tensors of a model, the memory of a job, and building its workload. */
#pragma once

#include "model/workload/job.h"

/* ---- a model's tensors ---- */

/* Megatron-LM's ways of splitting a tensor. */
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

/* Lists the tensors of one layer, one vision block and the root; returns how many. */
int language_model_tensors(const struct language_model *m, struct workload_tensor out[WORKLOAD_TENSORS]);

/* Number of `part`s in the model: layers, vision blocks, 1. */
int language_model_repeats(const struct language_model *m, enum workload_part part);

/* Parameters of all experts; 0 without. */
uint64_t language_model_experts(const struct language_model *m);

/* Parameters that a token passes through: experts_per_token of the experts. */
uint64_t language_model_active(const struct language_model *m);

/* Parameters of the adapters of one layer: LoRA of that rank on all its projections (rank × (in + out) each; Hu et al.
 * 2021, section 4.1). */
uint64_t language_model_adapters(const struct language_model *m, int rank);

/* Parameters of one layer, one vision block or the root. */
uint64_t language_model_part(const struct language_model *m, enum workload_part part);

/* ---- a job ---- */

const struct workload_framework *workload_framework_find(const char *name); /* NULL: unknown */

int workload_dtype_bytes(const char *dtype); /* 0 for an unknown name */

/* Memory of one GPU while it trains, in bytes. */
struct workload_memory {
    double weights, gradients, optimizer; /* of what is trained, critic included */
    double reference, gathered;           /* the reference model; the units that are whole at one time */
    double activations, logits;
    double engine; /* the inference engine's weights, while responses are generated */
};
struct workload_memory workload_memory_of(const struct workload_job *job);
double workload_memory_states(const struct workload_memory *m); /* what stays there through a step */
double workload_memory_peak(const struct workload_memory *m);   /* states, activations, logits, gathered units */

/* Seconds of a step that copies between GPU and host take, and no compute hides; `bytes` of one rank, both directions.
 */
double workload_offload_s(const struct workload_job *job, double *bytes);

double workload_host_GBps(const struct workload_job *job); /* between a GPU and host memory, one direction */

/* ---- building a workload ---- */

struct workload_build {
    const struct workload_job *job;
    struct workload *out;
    struct workload_phase *phase; /* where calls go; NULL while only the time is asked for */
    int ranks;
};

/* Calls over groups of `group` ranks `stride` apart. */
struct workload_spec {
    int kind;
    double bytes, count;
    int group, stride;
    const char *dtype, *what;
    double overlap_us; /* compute that hides it; -1 unknown */
};

/* Adds them; nothing when there is nothing to say (one rank, no bytes). */
void workload_put(struct workload_build *b, struct workload_spec s);

/* Microseconds of one micro-batch through one stage on one GPU, at that many FLOPs per parameter and token (forward 2);
 * -1 when the job does not say how fast a GPU is. */
double workload_pass_us(const struct workload_job *job, double per_parameter);

/* Microseconds that an inference engine takes for the responses of `sequences` of these lengths, `running` at a time;
 * -1 when the speed of a GPU or of its memory is not known. */
double workload_rollout_us(const struct workload_job *job, double sequences, double running);

/* Factor of the 80 % interval of a trainer's phase. */
double workload_pass_factor(const struct workload_job *job);
#define WORKLOAD_ROLLOUT_FACTOR 2.0 /* of a rollout */

/* FLOPs of a backward pass per parameter and token: 2 for the inputs' gradients, 2 for the weights' unless they are
 * frozen below adapters, and 2 to recompute. */
double workload_backward_flops(const struct workload_job *job);

/* Tokens of one micro-batch of one rank: its share of the sequences. */
double workload_tokens(const struct workload_job *job);

/* Whole pieces that `total` is cut into so that none is larger than `largest`, 1 or more. */
double workload_pieces(double total, double largest);

/* Communication of a framework. Each function adds to build->phase; `passes` counts micro-batches, `updates` optimizer
 * steps. */
struct workload_parts {
    void (*forward)(struct workload_build *b, double passes);
    void (*backward)(struct workload_build *b, double passes);
    void (*update)(struct workload_build *b, double updates);
    void (*hand_over)(struct workload_build *b); /* weights from trainer to inference engine */
};
extern const struct workload_parts workload_sharded, workload_zero3, workload_megatron;
