/* The findings, each with its advice, and what their conditions look at. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "advise/diagnose/rules.h"

#define TUNE                                                        \
    "nccltune workload --from-launch train.sh -o workload.json && " \
    "nccltune tune --workload workload.json -o profile"
#define TRAINER "\"$(pgrep -n python)\""

/* A phase, or all phases of a kind, that take more than a limit are a finding. */
static const struct diag_rule {
    const char *id;
    enum diag_confidence confidence;
    const char *advice, *command; /* command NULL or "": none */
    double limit;                 /* part of the step; 0: other conditions */
    const char *phase;            /* its name; of a kind the start of the sentence */
    enum diag_kind kind;          /* DIAG_COMPUTE: the phase alone */
} rules[] = {
    {"communication", DIAG_MEASURED,
     "derive the job's collectives and tune the cluster for them; check the environment with nccltune lint", TUNE},
    {"communication-ratio", DIAG_MEASURED,
     "tune after the larger items, and only if a trace shows that the job waits for it", TUNE},
    {"rollout", DIAG_MEASURED,
     "not the network: raise the inference engine's memory fraction (gpu_memory_utilization) and batch, use the "
     "smallest tensor parallelism that fits the model, CUDA graphs, or asynchronous rollout",
     "curl -s http://localhost:8000/metrics | nccltune diagnose -", 0.35, "rollout"},
    {"long-tail", DIAG_LIKELY,
     "not the network: GPUs wait for the longest responses: over-sample and cut off, roll out asynchronously, or "
     "balance by length"},
    {"cut-off", DIAG_POSSIBLE,
     "not the network: responses run into max_response_length: raise it, or penalise length; endless responses set the "
     "rollout's time"},
    {"reward", DIAG_MEASURED,
     "not the network: rewards run on the CPU or on a server: more workers (reward_model.launch_reward_fn_async, "
     "num_workers), overlap them with the rollout, time-limit each",
     "py-spy dump --pid " TRAINER " | nccltune diagnose -", 0.15, "reward"},
    {"log-probabilities", DIAG_MEASURED,
     "a forward pass of the trainer: raise log_prob_micro_batch_size, skip it where one update follows one rollout, "
     "try use_dynamic_bsz and no padding in a short run (jobs have stalled with them); its collectives count as part "
     "of it",
     "", 0.30, "log-probabilities"},
    {"reference", DIAG_MEASURED,
     "a forward pass of the reference model: larger micro-batches, no offload of its parameters, or no KL term", "",
     0.25, "reference"},
    {"actor-update", DIAG_MEASURED,
     "larger micro-batches, recompute only if memory requires it, no offload; try use_dynamic_bsz and no padding in a "
     "short run (jobs have stalled with them); a trace separates compute from its collectives",
     "nccltune diagnose rank0.pt.trace.json", 0.45, "actor update"},
    {"critic-update", DIAG_MEASURED,
     "larger micro-batches for the critic, a smaller critic, or an algorithm without one (GRPO)", "", 0.25,
     "critic update"},
    {"weight-sync", DIAG_MEASURED, "weight sync: bucketed updates, the same layout on both sides, GPUDirect RDMA", TUNE,
     0.20, "weight sync"},
    {"data-loader", DIAG_MEASURED, "not the network: more data loader workers, pinned memory, prefetch, faster storage",
     "", 0.10, "waiting for data takes", DIAG_DATA},
    {"offload", DIAG_MEASURED,
     "not the network: switch offload of parameters or optimizer off if they fit, or shard further", "", 0.05,
     "copies between GPU and host that nothing hides take", DIAG_OFFLOAD},
    {"checkpoint", DIAG_MEASURED, "not the network: save and validate less often, or asynchronously", "", 0.10,
     "checkpoints and validation take", DIAG_SAVE},
    {"idle", DIAG_MEASURED,
     "not the network: launch-bound or waiting for the host: torch.compile or CUDA graphs, larger micro-batches, less "
     "synchronisation in the training loop",
     "", 0.20, "the GPU is idle for", DIAG_IDLE},
    {"waiting-for-rollout", DIAG_MEASURED,
     "not the network: the trainer idles until rollouts come: give the rollout more GPUs or the trainer fewer, allow "
     "more staleness, or cut long responses",
     "", 0.20, DIAG_WAIT_ROLLOUT},
    {"not-timed", DIAG_MEASURED, "profile a few steps with torch.profiler, or switch the framework's timers on",
     "nccltune diagnose rank0.pt.trace.json", 0.25, "not timed"},
    {"sequence-imbalance", DIAG_LIKELY,
     "not the network: ranks wait for the one with the most text: trainer.balance_batch=True; try "
     "use_dynamic_bsz=True or packing in a short run (jobs have stalled with them)"},
    {"stragglers", DIAG_MEASURED,
     "collectives wait for the slowest rank: balance pipeline stages and sequence lengths, and compare the GPUs' "
     "clocks",
     "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw --format=csv -l 1"},
    {"runs", DIAG_MEASURED, "pass the files of one job to see only that job"},
    {"largest-phase", DIAG_MEASURED, "look here first: profile a few steps with torch.profiler",
     "nccltune diagnose rank0.pt.trace.json"},
    {"hang", DIAG_LIKELY,
     "by frequency: one rank died or runs another collective (its log, out of memory), one node cannot be reached "
     "(wrong HCA, GID or interface, a dark port), a data loader or reward worker waits, peer access between two GPUs "
     "is broken (PCIe ACS): compare the stacks of all ranks, and the first rank's log that ends",
     "nccltune doctor --job; nccltune lint --pid " TRAINER "; py-spy dump --pid " TRAINER " | nccltune diagnose -"},
    {"gpu-imbalance", DIAG_MEASURED,
     "balance work between ranks: sequence lengths, pipeline stages, experts; a waiting GPU shows as idle"},
    {"gpu-spins", DIAG_LIKELY,
     "one rank or GPU computes longer, or the network is slow: compare clocks, temperatures and the ranks' data",
     "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw --format=csv -l 1"},
    {"gpu-idle", DIAG_MEASURED,
     "find the phase that runs then: checkpoints, rewards on the CPU, data, or waiting for the slowest rollout",
     "nccltune diagnose console.log gpus.csv"},
    {"gpu-low", DIAG_LIKELY,
     "all wait equally: small batches, a host that launches too slowly, data, rewards, or collectives of all ranks; "
     "the console log with timers shows which",
     "nccltune diagnose console.log gpus.csv"},
    {"shift", DIAG_MEASURED,
     "something changed at that step: longer sequences, throttled or lost GPUs, another job on the network or the file "
     "system; look at the lines and at the nodes' logs of that time",
     "dmesg -T | grep -i -e nvrm -e mlx5; nvidia-smi -q -d PERFORMANCE"},
    {"trend", DIAG_MEASURED, "check for growing sequences, fragmented memory, or throttled clocks"},
    {"first-step", DIAG_MEASURED,
     "not the network: compilation, remove-padding kernels or graph capture at the start; cache the compiled kernels "
     "if jobs are short"},
    {"start-stall", DIAG_MEASURED,
     "not the network: weights are loaded or kernels compiled on the host; look there first if jobs are short"},
    {"no-timer", DIAG_MEASURED,
     "profile a few steps with torch.profiler and read the trace with nccltune diagnose, or switch the framework's "
     "timers on (Megatron-LM --timing-log-level 2, DeepSpeed wall_clock_breakdown)"},
    {"trace-devices", DIAG_MEASURED, "profile one rank a file"},
    {"trace-cut", DIAG_MEASURED, "let the profiler finish writing"},
    {"sockets", DIAG_MEASURED,
     "install or load the RDMA stack in the container, name the HCAs (NCCL_IB_HCA) and the GID, and check for a plugin "
     "that failed to load",
     "nccltune lint --env; nccltune probe"},
    {"no-gdr", DIAG_MEASURED,
     "load nvidia-peermem or use an open kernel driver with DMA-BUF, and check that GPU and HCA share a PCIe switch "
     "(NCCL_NET_GDR_LEVEL)",
     "nccltune probe"},
    {"no-peer-access", DIAG_MEASURED,
     "PCIe ACS, a container without --ipc=host, or NCCL_P2P_DISABLE keep GPUs apart; without NVLink this may be the "
     "best possible",
     "nvidia-smi topo -p2p r"},
    {"few-channels", DIAG_POSSIBLE, "NVLink needs 16 or more: check NCCL_MAX_CTAS and NCCL_MAX_NCHANNELS",
     "nccltune lint --env"},
    {"nccl-versions", DIAG_MEASURED, "use one container image for all ranks; two frameworks in one job may be correct",
     "nccltune doctor --job"},
    {"no-nvlink", DIAG_MEASURED, "keep the rollout's tensor parallelism at two, or tune small all-reduces",
     "nccltune workload --from-launch train.sh --no-custom-all-reduce -o workload.json"},
    {"plugin-not-loaded", DIAG_MEASURED,
     "NCCL_TUNER_PLUGIN and LD_LIBRARY_PATH inside the container must reach libnccl-tuner-nccltune.so (NCCL 2.19 or "
     "newer)",
     "nccltune doctor --job"},
    {"table-not-used", DIAG_MEASURED,
     "check that the Slurm hooks or the container deliver the profile: nccltune doctor --job", "nccltune doctor --job"},
    {"other-release", DIAG_MEASURED, "measure again with this NCCL, or start jobs with the profile's",
     "nccltune tune -o profile"},
    {"other-values", DIAG_MEASURED,
     "remove them from the script to use the profile's; nccltune explain PROFILE NAME shows why"},
    {"unused-hcas", DIAG_MEASURED, "check NCCL_IB_HCA in the job, and the ports' state in the container",
     "nccltune lint --env; nccltune probe"},
    {"slow-variable", DIAG_LIKELY,
     "unset it for all ranks (NCCL uses all HCAs of the network by itself), and run again", "nccltune lint FILE"},
    {"below-expected", DIAG_LIKELY,
     "the command lists what would, nearest first: GPUDirect RDMA off, NICs missing or slow, sockets; run again with "
     "NCCL_DEBUG=INFO"},
    {"wrong-values", DIAG_MEASURED,
     "a defect of hardware or driver: run with one GPU pair, one HCA and one protocol (NCCL_PROTO=Simple) at a time to "
     "find where; PCIe ACS, a GPU or a link that flips bits",
     "NCCL_P2P_DISABLE=1, NCCL_NET_GDR_LEVEL=LOC, NCCL_PROTO=Simple, one at a time"},
    {"separate-runs", DIAG_LIKELY,
     "build nccl-tests with MPI=1 and the MPI_HOME of the mpirun that starts it, and check that every node has the "
     "same program",
     "ldd ./build/all_reduce_perf | grep mpi"},
    {"half-a-port", DIAG_LIKELY,
     "name both HCAs of the port that has the cable (NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0), give both interfaces an "
     "address and MTU 9000, and use a release of NCCL from 2.28.9 on",
     "ibdev2netdev; ip -br link"},
    {"late-rank", DIAG_LIKELY,
     "check what that rank does before: its share of the work, data loading, clocks and the processors of its node",
     "nccltune probe on its node; py-spy dump of that rank"},
    {"one-gpu-a-node", DIAG_LIKELY,
     "start one rank on every GPU of the nodes to use all HCAs; one GPU per node cannot fill more than its own HCA",
     "mpirun -np GPUS -N GPUS_PER_NODE ... -g 1"},
    {"nccl-tests", DIAG_MEASURED, "compare with other runs, and tune from them"},
    {"engine-full", DIAG_MEASURED,
     "more memory for the cache: gpu_memory_utilization, a smaller max_model_len, FP8 cache, or more engines"},
    {"engine-preempts", DIAG_MEASURED, "lower max_num_seqs or give the cache more memory"},
    {"engine-starves", DIAG_LIKELY,
     "it could run more: a larger batch of prompts, more concurrent requests, or fewer engines; at the end of a "
     "rollout this is the long tail"},
};

static void fill_finding(struct diag_finding *f, double weight, const char *place, const char *fmt, va_list ap)
{
    f->weight = fmin(1, fmax(0, weight));
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    snprintf(f->place, sizeof f->place, "%s", place);
}

int diag_hit(struct diag_finding *f, double weight, const char *place, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill_finding(f, weight, place, fmt, ap);
    va_end(ap);
    return 1;
}

void diag_add_finding(struct diag_result *r, const struct diag_finding *f)
{
    if (r->nfindings < DIAG_FINDINGS)
        r->findings[r->nfindings++] = *f;
}

struct diag_finding *diag_found(struct judge *j, const char *id, double weight, const char *place, const char *fmt, ...)
{
    struct diag_finding *f = j->r->nfindings < DIAG_FINDINGS ? &j->r->findings[j->r->nfindings++] : &j->spare;
    const struct diag_rule *rule = rules;
    va_list ap;
    while (strcmp(rule->id, id) != 0)
        rule++;
    *f = (struct diag_finding){rule->id, rule->confidence, rule->advice, rule->command ? rule->command : ""};
    va_start(ap, fmt);
    fill_finding(f, weight, place, fmt, ap);
    va_end(ap);
    return f;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

void diag_say(char to[DIAG_SENTENCE], const char *fmt, ...)
{
    size_t n = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to + n, DIAG_SENTENCE - n, fmt, ap);
    va_end(ap);
}

const struct diag_variable *diag_find_variable(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nvariables; i++)
        if (!strcmp(d->variables[i].name, name))
            return &d->variables[i];
    return NULL;
}

/* ---- phases ------------------------------------------------------------------------------------------------------ */

const struct diag_phase *diag_phase_named(const struct diag_source *s, const char *name)
{
    for (int i = 0; s && i < s->nphases; i++)
        if (!strcmp(s->phases[i].name, name))
            return &s->phases[i];
    return NULL;
}

double diag_metric(const struct diag_source *s, const char *name)
{
    const struct diag_phase *p = diag_phase_named(s, name);
    return p ? p->median_ms : 0;
}

const struct diag_phase *diag_largest(const struct diag_source *s, unsigned kinds)
{
    const struct diag_phase *best = NULL;
    for (int i = 0; s && i < s->nphases; i++)
        if (kinds >> s->phases[i].kind & 1 && (!best || s->phases[i].share > best->share))
            best = &s->phases[i];
    return best;
}

void diag_add_phases(struct judge *j)
{
    const struct diag_source *s = j->s;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const struct diag_rule *rule = &rules[i];
        const int is_kind = rule->kind != DIAG_COMPUTE;
        const struct diag_phase *p = rule->limit <= 0 ? NULL
                                     : is_kind        ? diag_largest(s, 1u << rule->kind)
                                                      : diag_phase_named(s, rule->phase);
        double sum = 0;
        for (int k = 0; p && is_kind && k < s->nphases; k++)
            sum += s->phases[k].kind == rule->kind ? s->phases[k].share : 0;
        if (p && !is_kind && p->share >= rule->limit)
            diag_found(j, rule->id, p->share, p->place, "%s: %.0f %% of the step", p->name, 100 * p->share);
        else if (p && sum > rule->limit && p->period)
            diag_found(j, rule->id, sum, p->place, "%s %.0f %% of wall time: %s every %d steps", rule->phase, 100 * sum,
                       p->name, p->period);
        else if (p && sum > rule->limit)
            diag_found(j, rule->id, sum, p->place, "%s %.0f %% of the step", rule->phase, 100 * sum);
    }
}
