/* The verdict, and what to do next: a list of rules, each of which looks for one cause and says where it saw it. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "envgen/diagnose/diagnose_internal.h"

/* Shares of a step from which a cause is worth a sentence. */
#define ROLLOUT_SHARE 0.45
#define DATA_SHARE    0.10
#define OFFLOAD_SHARE 0.05
#define SAVE_SHARE    0.10
#define IDLE_SHARE    0.20
#define UNTIMED_SHARE 0.25
#define STRAGGLER     0.15 /* slowest over fastest rank */
#define GROWTH        0.15
#define FIRST_STEP    3.0  /* times a typical step */
#define LONG_TAIL     3.0  /* longest over mean response */
#define GPU_SPREAD    25.0 /* percent points between GPUs at one time */
#define GPU_DEVIATION 10.0 /* percent points between the means of GPUs */
#define GPU_IDLE      0.20
#define START_IDLE_S  30.0

struct judge {
    struct diagnosis *d;
    struct diag_result *r;
    const struct diag_source *s; /* the primary source; NULL: GPU samples only */
};

__attribute__((format(printf, 6, 7))) static void find(struct judge *j, const char *id, double weight,
                                                       const char *place, const char *advice, const char *fmt, ...)
{
    if (j->r->nfindings == DIAG_FINDINGS)
        return;
    struct diag_finding *f = &j->r->findings[j->r->nfindings++];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, ap);
    va_end(ap);
    snprintf(f->advice, sizeof f->advice, "%s", advice);
    snprintf(f->place, sizeof f->place, "%s", place);
    f->id = id;
    f->weight = fmin(1, fmax(0, weight));
}

static const struct diag_phase *phase(const struct diag_source *s, const char *name)
{
    for (int i = 0; s && i < s->nphases; i++)
        if (!strcmp(s->phases[i].name, name))
            return &s->phases[i];
    return NULL;
}

/* The largest phase of a kind, and the sum of all of them. */
static const struct diag_phase *largest(const struct diag_source *s, enum diag_kind kind, double *sum)
{
    const struct diag_phase *best = NULL;
    *sum = 0;
    for (int i = 0; s && i < s->nphases; i++)
        if (s->phases[i].kind == kind) {
            *sum += s->phases[i].share;
            if (!best || s->phases[i].share > best->share)
                best = &s->phases[i];
        }
    return best;
}

static double percent(double share)
{
    return 100 * share;
}

/* ---- rules ---- */

static void communication(struct judge *j)
{
    const struct diag_source *s = j->s;
    double sum;
    const struct diag_phase *p = largest(s, DIAG_COMMUNICATION, &sum);
    if (!p)
        return;
    if (s->communication_share > DIAGNOSE_SHARE_LIMIT)
        find(j, "communication", s->communication_share, p->place,
             p->side == DIAG_ROLLOUT
                 ? "the weights' way to the inference engine is the larger part: tune broadcast and all-gather "
                   "(nccltune tune --workload, with what nccltune workload says of the job), and look at the path with "
                   "nccltune probe"
                 : "see which collectives the job makes (nccltune workload -o workload.json) and tune the cluster for "
                   "them "
                   "(nccltune tune --workload workload.json); check the environment with nccltune lint --env",
             "communication takes %.0f %% of the step; most of it is %s, %.0f ms", percent(s->communication_share),
             p->name, p->median_ms);
    else if (s->ratio > DIAGNOSE_RATIO_LIMIT)
        find(j, "communication-ratio", s->communication_share, p->place,
             "worth tuning after what weighs more: nccltune tune --workload", "communication is %.2f of compute%s",
             s->ratio, s->hidden_share > s->communication_share ? ", most of it hidden behind compute" : "");
}

static void blind(struct judge *j)
{
    if (j->s && !j->s->visible)
        find(j, "no-timer", 0, j->s->place,
             "to see it, profile a few steps with torch.profiler and read the trace with nccltune diagnose, or switch "
             "the framework's timers on (Megatron-LM --timing-log-level 2, DeepSpeed wall_clock_breakdown)",
             "this log has no timer of communication: what runs within a phase is counted as that phase");
}

static void rollout(struct judge *j)
{
    const struct diag_phase *p = phase(j->s, "rollout");
    if (!p || p->share < ROLLOUT_SHARE)
        return;
    const struct diag_phase *mean = phase(j->s, "response length, mean"),
                            *longest = phase(j->s, "response length, longest");
    if (mean && longest && longest->median_ms > LONG_TAIL * mean->median_ms)
        find(j, "long-tail", 0.9 * p->share, longest->place,
             "GPUs wait for the longest responses: over-sample and cut off, roll out asynchronously, or balance by "
             "length",
             "the longest response has %.0f tokens, the mean %.0f", longest->median_ms, mean->median_ms);
    find(j, "rollout", p->share, p->place,
         "not the network: raise the inference engine's memory fraction (gpu_memory_utilization) and batch, use the "
         "smallest tensor parallelism that holds the model, CUDA graphs, or asynchronous rollout",
         "the rollout takes %.0f %% of the step, %.0f ms", percent(p->share), p->median_ms);
}

/* A kind of phase that costs more than `limit` of the step. */
static void kind_of(struct judge *j, enum diag_kind kind, double limit, const char *id, const char *what,
                    const char *advice)
{
    double sum;
    const struct diag_phase *p = largest(j->s, kind, &sum);
    if (p && sum > limit)
        find(j, id, sum, p->place, advice, "%s %.0f %% of the step, %.0f ms", what, percent(sum), sum * j->s->step_ms);
}

static void kinds(struct judge *j)
{
    kind_of(j, DIAG_DATA, DATA_SHARE, "data-loader", "waiting for data takes",
            "not the network: more data loader workers, pinned memory, prefetch, faster storage");
    kind_of(j, DIAG_OFFLOAD, OFFLOAD_SHARE, "offload", "copies between GPU and host that nothing hides take",
            "not the network: switch offload of parameters or optimizer off if they fit, or shard further");
    kind_of(j, DIAG_SAVE, SAVE_SHARE, "checkpoint", "checkpoints and validation take",
            "not the network: save and validate less often, or asynchronously");
    kind_of(j, DIAG_IDLE, IDLE_SHARE, "idle", "the GPU is idle for",
            "not the network: launch-bound or waiting for the host: torch.compile or CUDA graphs, larger "
            "micro-batches, less synchronisation in the training loop");
    const struct diag_phase *p = phase(j->s, "not timed");
    if (p && p->share > UNTIMED_SHARE)
        find(j, "not-timed", p->share, p->place,
             "profile a few steps with torch.profiler and read the trace with nccltune diagnose",
             "%.0f %% of the step belongs to no timer", percent(p->share));
}

static void stragglers(struct judge *j)
{
    const struct diag_phase *slow = phase(j->s, "forward, slowest rank"), *fast = phase(j->s, "forward, fastest rank");
    if (slow && fast && slow->median_ms > (1 + STRAGGLER) * fast->median_ms)
        find(j, "stragglers", 1 - fast->median_ms / slow->median_ms, slow->place,
             "collectives wait for the slowest rank: balance pipeline stages and sequence lengths, and compare the "
             "GPUs' clocks",
             "the slowest rank computes forward in %.0f ms, the fastest in %.0f ms", slow->median_ms, fast->median_ms);
}

static void first_step(struct judge *j)
{
    const struct diag_source *s = j->s;
    double smi = j->r->gpu_start_idle_s;
    if (s && s->first_ms > FIRST_STEP * s->step_ms)
        find(j, "first-step", 0, s->first_place,
             "not the network: compilation, remove-padding kernels or graph capture at the start; cache the compiled "
             "kernels if jobs are short",
             "a step at the start took %.1f s instead of %.1f s and was left out", s->first_ms / 1e3, s->step_ms / 1e3);
    if (smi > START_IDLE_S)
        find(j, "start-stall", 0, j->r->gpu_start_place,
             "not the network: weights are loaded or kernels compiled on the host; look there if jobs are short",
             "all GPUs stayed at 0 %% for %.0f s before the first work", smi);
}

static void trend(struct judge *j)
{
    const struct diag_source *s = j->s;
    const struct diag_phase *worst = NULL;
    if (!s || s->growth < GROWTH)
        return;
    for (int i = 0; i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC &&
            (!worst || s->phases[i].growth * s->phases[i].share > worst->growth * worst->share))
            worst = &s->phases[i];
    if (worst)
        find(j, "trend", s->growth / (1 + s->growth), worst->place,
             !strcmp(worst->name, "rollout") ? "responses grow during training: cap their length, or plan for it"
                                             : "look for growing sequences, fragmented memory, or throttled clocks",
             "the step grew by %.0f %% from the first third of the run to the last; %s grew most, by %.0f %%",
             percent(s->growth), worst->name, percent(worst->growth));
}

static void gpus(struct judge *j)
{
    struct diag_result *r = j->r;
    const struct diag_gpu *low = NULL, *high = NULL, *gap = NULL;
    double idle = 0;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        low = !low || g->mean < low->mean ? g : low;
        high = !high || g->mean > high->mean ? g : high;
        gap = !gap || g->longest_gap_s > gap->longest_gap_s ? g : gap;
        idle += g->idle / r->ngpus;
    }
    if (r->ngpus > 1 && (high->mean - low->mean > GPU_DEVIATION || r->gpu_spread > GPU_SPREAD))
        find(j, "gpu-imbalance", r->gpu_spread / 100, low->gap_place,
             "balance work between ranks: sequence lengths, pipeline stages, experts; a GPU that waits shows as one "
             "that is idle",
             "%s is busy %.0f %% of the time, %s %.0f %%; at one moment they differ by %.0f points", high->name,
             high->mean, low->name, low->mean, r->gpu_spread);
    if (gap && idle > GPU_IDLE)
        find(j, "gpu-idle", idle, gap->gap_place,
             "see which phase runs then: checkpoints, rewards on the CPU, data, or waiting for the slowest rollout",
             "GPUs are idle in %.0f %% of the samples; the longest gap is %.0f s, on %s", percent(idle),
             gap->longest_gap_s, gap->name);
}

static void settings(struct judge *j)
{
    for (int i = 0; i < j->d->nsettings; i++) {
        const struct diag_setting *s = &j->d->settings[i];
        find(j, s->id, s->weight, s->place, s->advice, "%s (%s: %s)", s->text, s->id, s->value);
    }
}

static void traces(struct judge *j)
{
    if (j->d->other_devices)
        find(j, "trace-devices", 0, "", "profile one rank a file",
             "a trace holds several GPUs; only the first of each was read");
    if (j->d->cut_traces)
        find(j, "trace-cut", 0, "", "let the profiler finish writing",
             "%d trace%s cut off; what came before that was read", j->d->cut_traces,
             j->d->cut_traces == 1 ? " is" : "s are");
}

static void (*const rules[])(struct judge *) = {
    communication, rollout, kinds, stragglers, gpus, trend, settings, first_step, blind, traces,
};

/* ---- the verdict ---- */

/* Whole steps with communication of their own first, then a trace, then what there is. */
static int choose_primary(const struct diag_result *r)
{
    int best = -1, best_rank = 0;
    for (int i = 0; i < r->nsources; i++) {
        int kernels = !strncmp(r->sources[i].format, "PyTorch", 7);
        int rank = r->sources[i].visible ? (kernels ? 2 : 3) : 1;
        if (rank > best_rank || (rank == best_rank && r->sources[i].steps > r->sources[best].steps)) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* Without a timer of its own, communication may be anywhere in training and in what no timer covers. */
static enum diag_verdict judge_source(const struct diag_source *s)
{
    const struct diag_phase *p = phase(s, "rollout"), *untimed = phase(s, "not timed");
    if (s->visible)
        return s->communication_share > DIAGNOSE_SHARE_LIMIT ? DIAG_IS_COMMUNICATION : DIAG_NOT_COMMUNICATION;
    double left = untimed ? untimed->share : 0;
    for (int i = 0; i < s->nphases; i++)
        left += s->phases[i].kind == DIAG_COMPUTE && s->phases[i].side == DIAG_TRAIN ? s->phases[i].share : 0;
    return left > DIAGNOSE_SHARE_LIMIT && !(p && p->share >= ROLLOUT_SHARE) ? DIAG_UNKNOWN : DIAG_NOT_COMMUNICATION;
}

static int by_weight(const void *a, const void *b)
{
    const struct diag_finding *x = a, *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

void diag_judge(struct diagnosis *d)
{
    struct diag_result *r = &d->result;
    r->primary = choose_primary(r);
    struct judge j = {d, r, r->primary >= 0 ? &r->sources[r->primary] : NULL};
    if (j.s)
        r->verdict = judge_source(j.s);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        rules[i](&j);
    qsort(r->findings, (size_t)r->nfindings, sizeof *r->findings, by_weight);
}
