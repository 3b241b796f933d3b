/* From what people know about a job (model, framework, parallelism, batch) to its workload. */
#ifndef BENCH_WORKLOAD_JOB_H
#define BENCH_WORKLOAD_JOB_H

#include <stdint.h>

#include "bench/workload/language_model.h"
#include "bench/workload/workload.h"
#include "core/err.h"
#include "core/finding.h"
#include "probe/topology/topology.h"

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
    const char *dtype;        /* of weights and activations; default bfloat16 */
    const char *reduce_dtype; /* of gradients; default float32, under ZeRO-3 as dtype */
    int offload;              /* optimizer state in host memory */
    int offload_params;       /* parameters in host memory while they are not needed */
    int prefetch;             /* layers whose shards are gathered ahead; default 1; -1: none, each is waited for */
    int lora_rank;            /* adapters of this rank on all projections are trained; 0: the whole model */
    const char *gpu;   /* as nccltune probe --gpu has it: memory, host link and default of tflops; NULL unknown */
    double memory_GiB; /* of a GPU; 0: by gpu, by the machine, else unknown */
    double host_GBps;  /* between a GPU and host memory, one direction; 0: by the machine, by gpu, else 20 */
    int no_nvlink;     /* GPUs of a node are joined by PCIe alone */
    int recompute;     /* full activation recomputation */
    int no_sequence_parallel; /* Megatron tensor parallelism with AllReduce */
    int no_custom_all_reduce; /* the inference engine leaves every AllReduce to NCCL */
    double tflops;            /* what one GPU reaches in matrix products; 0 unknown: no compute times */
};

/* How a framework spreads the job over its ranks. */
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
extern const struct workload_framework workload_frameworks[];               /* ends with a NULL name */
const struct workload_framework *workload_framework_find(const char *name); /* NULL: unknown */

int workload_dtype_bytes(const char *dtype); /* 0 for an unknown name */

struct workload_preset {
    const char *name, *description, *model;
    struct workload_job job; /* all but model and name */
};
extern const struct workload_preset workload_presets[]; /* ends with a NULL name */

/* Fills `job` from a preset. Error: unknown name. */
int workload_preset_job(const char *name, struct workload_job *job, struct err *e);

/* Fills in the defaults of `job`. Error: numbers out of range, an unknown framework or dtype. */
int workload_job_complete(struct workload_job *job, struct err *e);

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

/* What is wrong with a complete job, before anything is measured: parallelism against ranks, against the topology's
 * NVLink domain and rails (`t` NULL: only against the size of a node), batch sizes. An error: the job cannot start or
 * would crash; a warning: it runs, slower than it could. The ids: "ranks", "roles" (actor, reference, rollout),
 * "model", "batches", "memory", "machine". The findings are in `a`. */
struct findings workload_check(const struct workload_job *job, const struct topology *t, struct arena *a);

/* The GPUs that NVLink or XGMI joins with one another, in the node class that has the fewest of them so (1: it shows no
 * such link, which a topology file of NCCL's may just leave out), and the network ports that are not down. 0: the
 * topology says nothing of GPUs or of ports. */
int workload_nvlink_domain(const struct topology *t);
int workload_rails(const struct topology *t);
int workload_node_gpus(const struct topology *t); /* of the smallest node that has any */

/* Fills in what was not given and the machine tells: memory of a GPU, its link to the host as it is now and as far as
 * GPUs share it, whether NVLink joins them. Before workload_job_complete. */
void workload_take_machine(struct workload_job *job, const struct topology *t);

#endif
