/* From the steps of a run to numbers: medians, shares of wall time, periods, trends, warm-up. */
#include <math.h>
#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "advise/diagnose/rules.h"
#include "core/stats.h"

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

/* What of a step may be communication: an interval, by timers, waiting, overlap, MFU and parallelism; and the facts
 * about the job that logs say in passing. */

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

/* ---- facts ------------------------------------------------------------------------------------------------------- */

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

static void keep_number(int *to, const char *line, const char *key)
{
    double value = diag_number_behind(line, key);
    *to = value >= 1 && value < 1e5 ? (int)value : *to;
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
    keep_number(strstr(line, "_size ..") ? &x->train_tp : &x->rollout_tp, line, "tensor_model_parallel_size");
    keep_number(&x->train_tp, line, "tensor-model-parallel size");
    keep_number(&x->rollout_tp, line, "tensor_parallel_size");
    keep_number(&x->rollout_tp, line, "rollout-num-gpus-per-engine");
    keep_number(&x->experts, line, "expert_model_parallel_size");
    keep_number(&x->context, line, "context_parallel_size");
    if (strstr(line, "zero"))
        keep_number(&x->zero_stage, line, "stage'");
    keep_number(&x->zero_stage, line, "zero_stage");
    x->is_slow_link |= strstr(line, "Custom allreduce is disabled because") != NULL;
    x->is_async |=
        strstr(line, "partial_rollout") || strstr(line, "fully_async/") || strstr(line, "staleness_threshold");
}

/* ---- the interval ------------------------------------------------------------------------------------------------ */

int diag_may_hold(const struct diag_phase *p)
{
    return p->kind == DIAG_COMPUTE ? p->side == DIAG_TRAIN
                                   : p->kind == DIAG_OTHER && (p->guessed || !strcmp(p->name, "not timed"));
}

/* MFU by the log's own number, by Swift's (which reckons H100 and H800 with A100's peak), or by TFLOP/s; 0 unknown. */
static double mfu_of(const struct diag_shape *x, const struct diag_source *s, const char *mfu, const char *tflops)
{
    double own = diag_metric(s, mfu), rate = diag_metric(s, tflops);
    if (own <= 0 && rate > 0)
        own = rate / (x->peak_TFLOPs > 0 ? x->peak_TFLOPs : LARGEST_PEAK);
    return own > 0 && own < ATTAINABLE ? own : 0;
}

static double swift_mfu_of(const struct diag_shape *x, const struct diag_source *s)
{
    double own = diag_metric(s, "MFU by Swift") * (x->is_hopper ? 312.0 / 989 : 1);
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
    for (int i = 0; i < s->nphases; i++)
        s->communication_high += s->phases[i].guessed ? s->phases[i].share : 0; /* rows that were cut off */
    if (s->communication_low < DIAGNOSE_SHARE_LIMIT)
        diag_say(s->bound, "sums of kernels do not show what compute hides");
}

/* The interval of what may be communication, and what bounds it. */
static void bound_communication(const struct diagnosis *d, enum diag_format f, struct diag_source *s)
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
    int is_rate = diag_metric(s, "MFU") <= 0 && diag_metric(s, "MFU by Swift") <= 0 && mfu <= 0;
    if ((whole_mfu > 0 || mfu > 0) && (x->peak_TFLOPs > 0 || !is_rate))
        diag_say(s->bound, "MFU is %.0f %%, so compute takes at least %.0f %% of %s", 100 * fmax(whole_mfu, mfu),
                 100 * (1 - room_of(fmax(whole_mfu, mfu))), whole_mfu > 0 ? "the time" : "the actor update");
    else if (excess > 0.01)
        diag_say(s->bound, "phases sum to %.0f %% of the step, so some overlap", 100 * (1 + excess));
    else if (x->is_async && sync > 0.01)
        diag_say(s->bound, "weight sync of an asynchronous job includes waiting for rollouts to end");
    else if (shown && unseen > 0 && inside > 0)
        diag_say(s->bound, "%s has no timer and counts as forward and backward",
                 f == DIAG_MEGATRON ? "tensor, context and expert parallelism" : "ZeRO-3's gathering of parameters");
    if (rollout * rollout_part(x, f) > 0.05)
        diag_say(s->bound, "%sthe rollout's tensor parallelism communicates%s: at most %.0f %% of it",
                 *s->bound ? "; " : "", x->is_slow_link ? " without custom all-reduce" : "", 100 * rollout_part(x, f));
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/* A leading step this much slower than the median is warm-up: compilation, allocation, first connections. */
#define WARM_UP       1.5
#define WARM_UP_STEPS 10
#define SHIFT         1.3 /* times, between the slowest step before and the fastest after */
#define SHIFT_STEPS   3   /* on either side */
#define TREND_STEPS   9   /* fewer say nothing about a trend */

/* The merged steps [from, n) of a run as columns. */
struct column {
    const struct diag_series *series;
    const struct diag_step *steps;
    int from, n;
    double *buffer; /* DIAG_STEPS */
    double wall_ms; /* of all of them */
};

static double step_value(const struct diag_step *s, int phase)
{
    return phase < 0 ? s->total_ms : s->ms[phase];
}

/* Median of a phase (-1: of the step) over those of [from, to) that have it. */
static double median_of(const struct column *c, int phase, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        if (phase < 0 || c->steps[i].ms[phase] > 0)
            c->buffer[n++] = step_value(&c->steps[i], phase);
    return n ? stats_median(c->buffer, n) : 0;
}

static double sum_over(const struct column *c, int phase)
{
    double sum = 0;
    for (int i = c->from; i < c->n; i++)
        sum += step_value(&c->steps[i], phase);
    return sum;
}

static double growth_of(const struct column *c, int phase)
{
    int third = (c->n - c->from) / 3;
    if (c->n - c->from < TREND_STEPS)
        return 0;
    double first = median_of(c, phase, c->from, c->from + third), last = median_of(c, phase, c->n - third, c->n);
    return first > 0 && last > 0 ? last / first - 1 : 0;
}

/* The step from which on all are slower than all before; 0: there is none. */
static int shift_of(const struct column *c)
{
    double before = 0, widest = SHIFT;
    int at = 0;
    for (int i = c->n - 1; i >= c->from; i--)
        c->buffer[i] = i + 1 < c->n ? fmin(c->buffer[i + 1], c->steps[i].total_ms) : c->steps[i].total_ms;
    for (int i = c->from; i <= c->n - SHIFT_STEPS; i++) {
        if (i - c->from >= SHIFT_STEPS && c->buffer[i] > widest * before) {
            widest = c->buffer[i] / before;
            at = i;
        }
        before = fmax(before, c->steps[i].total_ms);
    }
    return at;
}

static double times_of(const struct column *c, int phase, int at)
{
    double before = at ? median_of(c, phase, c->from, at) : 0;
    return before > 0 ? median_of(c, phase, at, c->n) / before : 0;
}

/* Every so many steps a phase happens; 0: in at least half of them, or in too few to say. */
static int period_of(const struct column *c, int phase)
{
    long first = -1, last = -1, n = 0;
    for (int i = c->from; i < c->n; i++)
        if (c->steps[i].ms[phase] > 0.02 * c->steps[i].total_ms) {
            first = first < 0 ? c->steps[i].number : first;
            last = c->steps[i].number;
            n++;
        }
    return n >= 2 && 2 * n <= c->n - c->from ? (int)lround((double)(last - first) / (double)(n - 1)) : 0;
}

static int warm_up_steps(const struct column *c)
{
    double typical = median_of(c, -1, 0, c->n);
    int most = c->n / 3 < WARM_UP_STEPS ? c->n / 3 : WARM_UP_STEPS, k = 0;
    while (k < most && c->steps[k].total_ms > WARM_UP * typical)
        k++;
    return k;
}

static void place_of(const struct diagnosis *d, const struct diag_step *s, char place[DIAG_PLACE])
{
    diag_place(place, d->result.files[s->file].name, s->line);
}

static const struct diag_step *closest(const struct column *c, int phase, double value)
{
    const struct diag_step *best = &c->steps[c->from];
    for (int i = c->from; i < c->n; i++)
        if (fabs(step_value(&c->steps[i], phase) - value) < fabs(step_value(best, phase) - value))
            best = &c->steps[i];
    return best;
}

/* Sums over the run: communication over wall time, hidden communication over it, all communication over compute. */
static void add_communication(const struct column *c, struct diag_source *out)
{
    double comm = 0, compute = 0, hidden = 0;
    for (int i = c->from; i < c->n; i++)
        hidden += c->steps[i].hidden_ms;
    for (int k = 0; k < c->series->nlabels; k++) {
        comm += c->series->labels[k].kind == DIAG_COMMUNICATION ? sum_over(c, k) : 0;
        compute += c->series->labels[k].kind == DIAG_COMPUTE ? sum_over(c, k) : 0;
        out->waiting += !strcmp(c->series->labels[k].phase, DIAG_WAIT_SLOWEST) ? sum_over(c, k) / c->wall_ms : 0;
    }
    out->communication_share = fmin(1, comm / c->wall_ms);
    out->hidden_share = fmin(1, hidden / c->wall_ms);
    out->ratio = out->visible && compute > 0 ? (comm + hidden) / compute : -1;
}

/* What the step's timer covers and no phase does. */
static void add_untimed(const struct column *c, struct diag_source *out)
{
    double untimed = 0;
    for (int i = c->from; i < c->n; i++)
        untimed += fmax(0, c->steps[i].total_ms - diag_sum(c->series, &c->steps[i], DIAG_METRIC));
    double share = untimed / c->wall_ms;
    if (share < 0.01 || out->nphases == DIAG_PHASES)
        return;
    struct diag_phase *p = &out->phases[out->nphases++];
    *p =
        (struct diag_phase){.name = "not timed", .kind = DIAG_OTHER, .share = share, .median_ms = share * out->step_ms};
    memcpy(p->place, out->place, sizeof p->place);
}

/* Collectives of training run within its phases unless a timer takes them out. A timer of the weights' way to the
 * inference engine says nothing of them. */
static double may_hold(const struct diag_source *out)
{
    double sum = 0;
    for (int i = 0; i < out->nphases; i++) {
        const struct diag_phase *p = &out->phases[i];
        if (p->kind == DIAG_COMMUNICATION && p->side != DIAG_ROLLOUT)
            return 0;
        sum += diag_may_hold(p) ? p->share : 0;
    }
    return fmin(1, sum);
}

/* The slowest step of the warm-up, and the phase that exceeds its own median most. */
static void add_warm_up(const struct diagnosis *d, const struct column *c, struct diag_source *out)
{
    const struct diag_step *slowest = NULL;
    double most = 0;
    for (int i = 0; i < c->from; i++)
        slowest = !slowest || c->steps[i].total_ms > slowest->total_ms ? &c->steps[i] : slowest;
    if (!slowest)
        return;
    out->first_ms = slowest->total_ms;
    place_of(d, slowest, out->first_place);
    for (int k = 0; k < c->series->nlabels; k++) {
        double excess = slowest->ms[k] - median_of(c, k, c->from, c->n);
        if (c->series->labels[k].kind != DIAG_METRIC && excess > most) {
            most = excess;
            out->first_phase = c->series->labels[k].phase;
        }
    }
}

/* Drop steps without timers where others have them: Megatron-LM may print timers less often than iterations. */
static int keep_timed(const struct diag_series *s, struct diag_step *steps, int n)
{
    int timed = 0;
    for (int i = 0; i < n; i++)
        if (diag_sum(s, &steps[i], DIAG_METRIC) > 0)
            steps[timed++] = steps[i];
    return timed ? timed : n;
}

static void summarise(struct diagnosis *d, enum diag_format f, int run, struct diag_step *steps, double *buffer)
{
    struct diag_series *s = &d->series[f];
    struct diag_source *out = &d->result.sources[d->result.nsources];
    struct column c = {.series = s, .steps = steps, .buffer = buffer};
    memset(out, 0, sizeof *out);
    out->first_phase = "";
    c.n = diag_merge_run(d, s, run, steps, out);
    if (f == DIAG_MEGATRON)
        c.n = keep_timed(s, steps, c.n);
    if (!c.n)
        return;
    d->result.nsources++;
    c.from = warm_up_steps(&c);
    c.wall_ms = sum_over(&c, -1);
    out->format = diag_format_names[f];
    out->left_out = c.from;
    out->step_ms = median_of(&c, -1, c.from, c.n);
    out->growth = growth_of(&c, -1);
    int shift = shift_of(&c);
    if (shift) {
        out->shift_step = steps[shift].number;
        out->before_ms = median_of(&c, -1, c.from, shift);
        out->after_ms = median_of(&c, -1, shift, c.n);
    }
    place_of(d, closest(&c, -1, out->step_ms), out->place);
    for (int i = 0; i < s->nlabels; i++) {
        struct diag_phase *p = &out->phases[out->nphases++];
        p->name = s->labels[i].phase;
        p->kind = s->labels[i].kind;
        p->side = s->labels[i].side;
        p->guessed = s->labels[i].guessed;
        p->median_ms = median_of(&c, i, c.from, c.n);
        p->share = p->kind == DIAG_METRIC ? 0 : fmin(1, sum_over(&c, i) / c.wall_ms);
        p->period = p->kind == DIAG_METRIC ? 0 : period_of(&c, i);
        p->growth = p->period ? 0 : growth_of(&c, i);
        p->times = times_of(&c, i, shift);
        place_of(d, closest(&c, i, p->median_ms), p->place);
        out->visible |= p->kind == DIAG_COMMUNICATION;
    }
    add_warm_up(d, &c, out);
    add_communication(&c, out);
    add_untimed(&c, out);
    out->may_hold = may_hold(out);
    bound_communication(d, f, out);
}

void diag_summarise(struct diagnosis *d)
{
    double *buffer = arena_alloc(d->arena, DIAG_STEPS * sizeof *buffer);
    struct diag_step *steps = arena_alloc(d->arena, DIAG_STEPS * sizeof *steps);
    /* Micro-steps only count where no line says what a whole step took. */
    if (d->series[DIAG_DEEPSPEED].nsteps)
        d->series[DIAG_MICROSTEP].nsteps = 0;
    for (int f = 0; f < DIAG_FORMATS; f++) {
        int runs = d->series[f].nsteps ? diag_runs(d, &d->series[f]) : 0;
        /* The last runs, where there are too many: a job that restarts is judged by its present state. */
        for (int run = runs > 4 ? runs - 4 : 0; run < runs && d->result.nsources < DIAG_SOURCES; run++)
            summarise(d, (enum diag_format)f, run, steps, buffer);
    }
}
