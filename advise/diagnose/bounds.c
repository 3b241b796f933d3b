/* What of a step may be communication: an interval, by timers, waiting, overlap, MFU and parallelism; and the facts
 * about the job that logs say in passing. */
#include <math.h>
#include <string.h>

#include "advise/diagnose/rules.h"

/* No large transformer computes at more of the dense bf16 peak than this: the best matrix products of cuBLAS reach
 * about three quarters of it on A100 and H100 (published MFU of whole jobs stays below 0.65). MFU counts no
 * recomputation, so compute takes at least MFU / ATTAINABLE of the time. */
#define ATTAINABLE 0.75

/* MFU of one phase holds for another of the same model within this factor of the rest. */
#define OTHER_PHASE 1.5

/* Even training that gathers all parameters over PCIe computes for part of the time. Assumed. */
#define AT_MOST 0.90

/* Parts of a rollout that tensor parallelism may take: over NVLink, over PCIe without custom all-reduce, and where no
 * log says how many GPUs an engine has: more of verl's, whose default is two, than of TRL's, Swift's, OpenRLHF's,
 * slime's and NeMo-RL's, whose default is one. Assumed, on the large side. */
#define ROLLOUT_NVLINK  0.20
#define ROLLOUT_PCIE    0.60
#define ROLLOUT_UNKNOWN 0.08
#define ROLLOUT_ONE     0.05

/* Parts of forward and backward that collectives without a timer may take: tensor, context or expert parallelism,
 * ZeRO-3. Assumed, on the large side. */
#define UNSEEN_PARALLEL 0.60
#define UNSEEN_UNKNOWN  0.25

/* ---- facts ---- */

/* Dense bf16 peaks, TFLOP/s, of NVIDIA's and AMD's data sheets. The longer name first. */
static const struct {
    const char *name;
    double peak_TFLOPs;
    int is_hopper;
} gpus[] = {
    {"GB200", 2500, 0}, {"B200", 2250, 0}, {"H100", 989, 1},    {"H800", 989, 1}, {"H200", 989, 0}, {"H20", 148, 0},
    {"A100", 312, 0},   {"A800", 312, 0},  {"MI300X", 1307, 0}, {"L40S", 362, 0}, {"V100", 125, 0},
};
#define LARGEST_PEAK 2500

static int number_behind(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    double value;
    if (!at)
        return 0;
    at += strlen(key);
    at += strspn(at, " '\":=.");
    return diag_number(at, &value) && value >= 1 && value < 1e5 ? (int)value : 0;
}

static void keep_number(int *to, int value)
{
    *to = value > 0 ? value : *to;
}

void diag_read_shape(struct diagnosis *d, const char *line)
{
    struct diag_shape *x = &d->shape;
    const char *gpu = strstr(line, "NVIDIA ");
    gpu = gpu ? gpu : strstr(line, "AMD Instinct ");
    for (size_t i = 0; gpu && i < sizeof gpus / sizeof *gpus; i++)
        if (strstr(gpu, gpus[i].name)) {
            x->peak_TFLOPs = gpus[i].peak_TFLOPs;
            x->is_hopper = gpus[i].is_hopper;
            break;
        }
    /* Megatron-LM prints its arguments before dots; in dictionaries the key is the rollout's. */
    if (strstr(line, "tensor_model_parallel_size"))
        keep_number(strstr(line, "_size ..") ? &x->train_tp : &x->rollout_tp,
                    number_behind(line, "tensor_model_parallel_size"));
    keep_number(&x->train_tp, number_behind(line, "tensor-model-parallel size"));
    keep_number(&x->rollout_tp, number_behind(line, "tensor_parallel_size"));
    keep_number(&x->rollout_tp, number_behind(line, "rollout-num-gpus-per-engine"));
    keep_number(&x->experts, number_behind(line, "expert_model_parallel_size"));
    keep_number(&x->context, number_behind(line, "context_parallel_size"));
    if (strstr(line, "zero"))
        keep_number(&x->zero_stage, number_behind(line, "stage'"));
    keep_number(&x->zero_stage, number_behind(line, "zero_stage"));
    x->is_slow_link |= strstr(line, "Custom allreduce is disabled because") != NULL;
    x->is_async |=
        strstr(line, "partial_rollout") || strstr(line, "fully_async/") || strstr(line, "staleness_threshold");
}

/* ---- the interval ---- */

int diag_may_hold(const struct diag_phase *p)
{
    return p->kind == DIAG_COMPUTE ? p->side == DIAG_TRAIN
                                   : p->kind == DIAG_OTHER && (p->guessed || !strcmp(p->name, "not timed"));
}

static double metric_of(const struct diag_source *s, const char *name)
{
    const struct diag_phase *p = diag_phase_named(s, name);
    return p ? p->median_ms : 0;
}

/* MFU by the log's own number, by Swift's (which reckons H100 and H800 with A100's peak), or by TFLOP/s; 0 unknown. */
static double mfu_of(const struct diag_shape *x, const struct diag_source *s, const char *mfu, const char *tflops)
{
    double own = metric_of(s, mfu), rate = metric_of(s, tflops);
    if (own <= 0 && rate > 0)
        own = rate / (x->peak_TFLOPs > 0 ? x->peak_TFLOPs : LARGEST_PEAK);
    return own > 0 && own < ATTAINABLE ? own : 0;
}

static double swift_mfu_of(const struct diag_shape *x, const struct diag_source *s)
{
    double own = metric_of(s, "MFU by Swift") * (x->is_hopper ? 312.0 / 989 : 1);
    return x->peak_TFLOPs > 0 && own < ATTAINABLE ? own : 0;
}

static double room_of(double mfu)
{
    return mfu > 0 ? 1 - mfu / ATTAINABLE : 1;
}

/* The part of forward and backward that no timer of the format shows. */
static double unseen_of(const struct diag_shape *x, enum diag_format f)
{
    if (f == DIAG_MEGATRON)
        return x->train_tp > 1 || x->experts > 1 || x->context > 1 ? UNSEEN_PARALLEL : x->train_tp ? 0 : UNSEEN_UNKNOWN;
    if (f == DIAG_DEEPSPEED || f == DIAG_MICROSTEP)
        return x->zero_stage == 3 ? 1 : x->zero_stage ? 0 : UNSEEN_UNKNOWN;
    return 0;
}

static double rollout_part(const struct diag_shape *x, enum diag_format f)
{
    if (x->rollout_tp || x->is_slow_link)
        return x->rollout_tp == 1 ? 0 : x->is_slow_link ? ROLLOUT_PCIE : ROLLOUT_NVLINK;
    return f == DIAG_JSONL || f == DIAG_BULLETS ? ROLLOUT_ONE : ROLLOUT_UNKNOWN;
}

/* What waits for a rollout waits for other GPUs: their tensor parallelism counts where a log speaks of it. */
static int is_rollout(const struct diag_shape *x, const struct diag_phase *p)
{
    return p->side == DIAG_ROLLOUT &&
           (p->kind == DIAG_COMPUTE || (p->kind == DIAG_WAITING && (x->rollout_tp > 1 || x->is_slow_link)));
}

/* Sums of kernels say nothing of overlap: at best all of it is hidden behind the other kernels. */
static void bound_sums(struct diag_source *s)
{
    double comm = s->communication_share, other = 1 - comm;
    s->communication_low = comm > other ? (comm - other) / comm : 0;
    s->communication_high = comm;
    if (s->communication_low < DIAGNOSE_SHARE_LIMIT)
        diag_say(s->bound, "sums of kernels do not show what compute hides");
}

void diag_bound(const struct diagnosis *d, enum diag_format f, struct diag_source *s)
{
    const struct diag_shape *x = &d->shape;
    double excess = -1, rollout = 0, inside = 0, actor = 0, low = s->communication_share, high = low, sync = 0;
    int shown = s->may_hold <= 0 && s->visible;
    if (f == DIAG_TABLE) {
        bound_sums(s);
        return;
    }
    double whole_mfu = mfu_of(x, s, "MFU", "TFLOP/s"), mfu = mfu_of(x, s, "MFU, actor update", "TFLOP/s, actor update");
    whole_mfu = whole_mfu > 0 ? whole_mfu : swift_mfu_of(x, s);
    for (int i = 0; i < s->nphases; i++) {
        const struct diag_phase *p = &s->phases[i];
        excess += p->kind != DIAG_METRIC ? p->share : 0;
        rollout += is_rollout(x, p) ? p->share : 0;
        sync += p->kind == DIAG_COMMUNICATION && p->side == DIAG_ROLLOUT ? p->share : 0;
        int is_actor = mfu > 0 && !strcmp(p->name, "actor update");
        actor += is_actor ? p->share : 0;
        inside += diag_may_hold(p) && !is_actor ? p->share : 0;
    }
    /* In asynchronous jobs the weights wait for rollouts to end; phases beside one another hide one another. */
    low -= x->is_async ? sync : 0;
    low -= excess > 0.01 ? excess : 0;
    double unseen = shown ? unseen_of(x, f) : AT_MOST;
    high += unseen * (actor * room_of(mfu) + inside * (mfu > 0 ? fmin(1, OTHER_PHASE * room_of(mfu)) : 1));
    high += rollout * rollout_part(x, f);
    high = fmin(high, 1);
    if (whole_mfu > 0 && room_of(whole_mfu) < high)
        high = fmax(s->communication_share, room_of(whole_mfu));
    s->communication_low = fmax(0, low);
    s->communication_high = fmax(high, s->communication_low);
    int is_rate = metric_of(s, "MFU") <= 0 && metric_of(s, "MFU by Swift") <= 0 && mfu <= 0;
    if ((whole_mfu > 0 || mfu > 0) && (x->peak_TFLOPs > 0 || !is_rate))
        diag_say(s->bound, "MFU is %.0f %%, so compute takes at least %.0f %% of %s", 100 * fmax(whole_mfu, mfu),
                 100 * (1 - room_of(fmax(whole_mfu, mfu))), whole_mfu > 0 ? "the time" : "the actor update");
    else if (excess > 0.01)
        diag_say(s->bound, "phases sum to %.0f %% of the step, so some run beside others", 100 * (1 + excess));
    else if (x->is_async && sync > 0.01)
        diag_say(s->bound, "weight sync of an asynchronous job includes waiting for rollouts to end");
    else if (shown && unseen > 0 && inside > 0)
        diag_say(s->bound, "%s has no timer and counts as forward and backward",
                 f == DIAG_MEGATRON ? "tensor, context and expert parallelism" : "ZeRO-3's gathering of parameters");
    if (rollout * rollout_part(x, f) > 0.05)
        diag_say(s->bound, "%sthe rollout's tensor parallelism communicates%s: at most %.0f %% of it",
                 *s->bound ? "; " : "", x->is_slow_link ? " without custom all-reduce" : "", 100 * rollout_part(x, f));
}
