/* From what people know about a job (model, framework, parallelism, batch), or from the script that launches it, to its
 * workload. */
#pragma once

#include <stdint.h>

#include "core/call/workload.h"
#include "core/err.h"
#include "core/finding.h"
#include "probe/topology/topology.h"

/* ---- models ---- */

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
    uint64_t parameters; /* in place of the shape of the layers, experts apart; 0: counted */
    int dense_layers;    /* the first layers of a model with experts that have none */
    int cache;           /* elements of the cache a layer and token; 0: 2 × kv_heads × head_dim */
};

/* The models known by name, with the shapes of their public config.json, ended by a NULL name; and one of them, or
 * NULL. */
extern const struct language_model language_models[];
const struct language_model *language_model_find(const char *name);

/* All parameters, counted from the tensors, so that a named model is exact to the parameter. A tied head counts once.
 */
uint64_t language_model_parameters(const struct language_model *m);

/* ---- jobs ---- */

enum workload_algorithm {
    WORKLOAD_TRAIN, /* forward, backward, optimizer: pre-training and fine-tuning */
    WORKLOAD_GRPO,  /* rollout, log-probabilities of actor and reference, actor update, weight sync */
    WORKLOAD_PPO,   /* GRPO and a critic of the actor's size */
};
const char *workload_algorithm_name(int a); /* NULL beyond the last */

/* The words for data types, up to a NULL. */
const char *workload_dtype_name(int i);

/* A job. Zero means the default that workload_job_complete fills in. */
struct workload_job {
    const char *name;
    struct language_model model;
    const char *framework; /* a name of workload_frameworks */
    enum workload_algorithm algorithm;
    int nodes, gpus_per_node; /* default: as many as tp × pp × dp asks for, else one node of 8 */
    int tp, pp, dp;           /* of the trainer (actor); default 1, 1, what is left of the ranks */
    int cp, sp;               /* ranks that share a sequence: Megatron-LM's ring, Ulysses' all-to-all; default 1 */
    int vpp;                  /* pieces of the model on a pipeline stage (interleaved schedule); default 1 */
    int uneven_stages;        /* the layers need not divide by pp */
    int zero_bubble;          /* a schedule that splits backward (ZB-H1) */
    int even_experts;         /* every expert's tokens are filled up to as many; else one is hot */
    int ep, etp;              /* expert parallelism, tensor parallelism within an expert; default 1, tp */
    int ref_tp, ref_pp;       /* of the reference model; default as the actor's */
    int rollout_tp;           /* of the inference engine; default tp under megatron and vllm-rollout, else 1 */
    int micro_batch;          /* sequences of one forward pass of one rank; default 1 */
    int grad_accum;           /* micro-batches per optimizer step; default by mini_batch, else as many as stages */
    int updates;              /* optimizer steps per step over its sequences; default 1 */
    int epochs;               /* times that a step trains on them; default 1 */
    int mini_batch;           /* sequences per optimizer step over all ranks; default unknown */
    int rollout_n;            /* responses of a prompt, which the inference engine reads once; default 1 */
    int prompt, response;     /* tokens of a sequence; default 1024 and 1024 */
    int longest;              /* tokens of the longest response, which a rollout waits for; default response */
    const char *dtype;        /* of weights and activations; default bfloat16 */
    const char *reduce_dtype; /* of gradients; default float32, under ZeRO-3 as dtype */
    int offload;              /* optimizer state in host memory; 2: the optimizer runs there too */
    int offload_params;       /* parameters in host memory while they are not needed */
    int prefetch;             /* layers whose shards are gathered ahead; default 1; -1: none, each is waited for */
    int lora_rank;            /* adapters of this rank on all projections are trained; 0: the whole model */
    const char *gpu;    /* as nccltune probe --gpu has it: memory, host link and default of tflops; NULL unknown */
    double memory_GiB;  /* of a GPU; 0: by gpu, by the machine, else unknown */
    double host_GBps;   /* between a GPU and host memory, one direction; 0: by the machine, by gpu, else 20 */
    int no_nvlink;      /* GPUs of a node are joined by PCIe alone */
    double memory_GBps; /* of a GPU's own memory; by gpu, 0 unknown */
    int recompute;      /* full activation recomputation */
    int fp8;            /* matrix products in 8 bits; what is sent stays as dtype says */
    int is_stand_in;    /* Megatron-LM's data parallelism stands for that of another program */
    int overlap;        /* Megatron-LM's gradients and weights travel behind compute, */
    int tp_overlap;     /* and what tensor parallelism sends, */
    int ep_overlap;     /* and tokens on their way to experts */
    int deepep;         /* a token goes to each node once, whatever experts it has there (DeepEP, HybridEP) */
    int no_sequence_parallel; /* Megatron tensor parallelism with AllReduce */
    int no_custom_all_reduce; /* the inference engine leaves every AllReduce to NCCL */
    double tflops;            /* what one GPU reaches in dense 16-bit matrix products; 0 unknown: no compute times */
};

/* A framework's distribution of the job over its ranks. */
enum workload_family {
    WORKLOAD_FSDP,
    WORKLOAD_ZERO3,
    WORKLOAD_MEGATRON,
    WORKLOAD_INFERENCE, /* it does not train */
    WORKLOAD_FAMILY_COUNT,
};
struct workload_framework {
    const char *name, *description;
    enum workload_family family;
};
extern const struct workload_framework workload_frameworks[]; /* ends with a NULL name */

/* Fills in the defaults of `job`. Error: numbers out of range, an unknown framework or dtype. */
int workload_job_complete(struct workload_job *job, struct err *e);

/* Check a complete job before anything is measured: parallelism against ranks, against the topology's
 * NVLink domain and rails (`t` NULL: only against the size of a node), batch sizes. An error: the job cannot start or
 * would crash; a warning: it runs, slower than it could. The ids: "ranks", "roles" (actor, reference, rollout),
 * "model", "batches", "memory", "machine". The findings are in `a`. */
struct findings workload_check(const struct workload_job *job, const struct topology *t, struct arena *a);

/* Fills in what was not given and the machine tells: memory of a GPU, its link to the host as it is now and as far as
 * GPUs share it, whether NVLink joins them. Before workload_job_complete. */
void workload_take_machine(struct workload_job *job, const struct topology *t);

/* The workload of a complete job that workload_check found no error in. Sizes and counts are those that the framework's
 * published algorithm implies; every call says its formula. Free with workload_free. */
struct workload *workload_generate(const struct workload_job *job);

/* Adds what the launch script of its job could do otherwise, as far as workload_read_launch would read it. */
void workload_add_changes(struct workload *w, const struct workload_job *job);

/* ---- launch scripts ---- */

/* Settings read, assumptions, and contradictions, a sentence each: room for one of every name and
 * question that the tables of script_job.c have. */
enum { WORKLOAD_READ = 128 };
struct workload_reading {
    const char *read[WORKLOAD_READ], *assumed[32], *odd[9]; /* odd: settings that contradict one another */
    const char *unused[64]; /* that concern the step, and have no part in the job: "name=value (line 3)" */
    int nread, nassumed, nodd, nunused;
    const char *nodes; /* "job.sh:5: NNODES=16", where it says how many there are; NULL */
};

/* Return how many nodes a launch script asks for, of Slurm or of its launcher; 0: it does not say. `text` NULL: that of
 * the file. */
int workload_launch_nodes(const char *path, const char *text, size_t bytes);

/* Return "3, 5 and 9", where a launch script has several training commands, in `a`; NULL: it has not. */
const char *workload_launch_lines(const char *path, struct arena *a);

/* Fill `job` from a launch script or a configuration of verl, Swift, Megatron-LM, TRL and Accelerate, DeepSpeed or
 * torchtitan, in the arena `a`. ERR_USAGE: the model is not known by name, and the rest of `job` is filled, for a
 * caller who knows it. Other errors: unreadable, or no framework is recognised. */
int workload_read_launch(const char *path, struct arena *a, struct workload_job *job, struct workload_reading *out,
                         struct err *e);
