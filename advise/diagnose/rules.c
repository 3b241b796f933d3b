/* What to do next: a table of rules, each of which looks for one cause and says where it saw it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"

/* Limits that several rules or none but one function need. */
#define ROLLOUT_TAIL  0.25 /* of the step, from which long responses matter */
#define LONG_TAIL     3.0  /* longest over mean response */
#define STRAGGLER     0.15 /* slowest over fastest rank */
#define SEQUENCES     0.20 /* of the mean, between the ranks' tokens */
#define GROWTH        0.15
#define SHIFT         1.2  /* times as long from a step on, of a phase */
#define FIRST_STEP    3.0  /* times a typical step */
#define GPU_SPREAD    25.0 /* percent points between GPUs at one time */
#define GPU_DEVIATION 10.0 /* percent points between the means of GPUs */
#define GPU_IDLE      0.20
#define GPU_LOW       60.0 /* percent */
#define START_IDLE_S  30.0
#define GPU_SPINS     0.20 /* of the samples */

/* The largest phase of a kind, and the sum of all of them. */
static const struct diag_phase *largest_of(const struct diag_source *s, enum diag_kind kind, double *sum)
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

double diag_metric(const struct diag_source *s, const char *name)
{
    const struct diag_phase *p = diag_phase_named(s, name);
    return p ? p->median_ms : 0;
}

/* ---- conditions on a step ---------------------------------------------------------------------------------------- */

/* The phases called `j->rule->phase`, or all of `j->rule->kind`, take more than `j->rule->limit`. */
static int phase_is_large(const struct judge *j, struct diag_hit *h)
{
    const struct diag_phase *p = diag_phase_named(j->s, j->rule->phase);
    return p && p->share >= j->rule->limit &&
           diag_hit(h, p->share, p->place, "%s: %.0f %% of the step", p->name, 100 * p->share);
}

static int kind_is_large(const struct judge *j, struct diag_hit *h)
{
    double sum;
    const struct diag_phase *p = largest_of(j->s, j->rule->kind, &sum);
    if (!p || sum <= j->rule->limit)
        return 0;
    if (p->period)
        return diag_hit(h, sum, p->place, "%s %.0f %% of wall time: %s every %d steps", j->rule->phase, 100 * sum,
                        p->name, p->period);
    return diag_hit(h, sum, p->place, "%s %.0f %% of the step", j->rule->phase, 100 * sum);
}

/* The largest phase where no other rule has a word on it. */
static int largest_phase(const struct judge *j, struct diag_hit *h)
{
    const struct diag_phase *p = diag_largest(j->s);
    if (!p || p->share < j->rule->limit || p->kind == DIAG_COMMUNICATION)
        return 0;
    for (int i = 0; i < j->r->nfindings; i++)
        if (j->r->findings[i].weight >= p->share - 1e-9)
            return 0;
    return diag_hit(h, p->share, p->place, "%s: %.0f %% of the step, more than any other phase", p->name,
                    100 * p->share);
}

static int communication(const struct judge *j, struct diag_hit *h)
{
    double sum;
    const struct diag_phase *p = largest_of(j->s, DIAG_COMMUNICATION, &sum);
    int to_engine = p && p->side == DIAG_ROLLOUT;
    return p && j->r->verdict == DIAG_IS_COMMUNICATION && to_engine == (j->rule->phase != NULL) &&
           diag_hit(h, j->s->communication_share, p->place, "communication takes %.0f %% of the step; most of it is %s",
                    100 * j->s->communication_share, p->name);
}

static int communication_ratio(const struct judge *j, struct diag_hit *h)
{
    double sum;
    const struct diag_phase *p = largest_of(j->s, DIAG_COMMUNICATION, &sum);
    return p && j->r->verdict != DIAG_IS_COMMUNICATION && j->s->ratio > j->rule->limit &&
           diag_hit(h, j->s->communication_share, p->place, "communication is %.2f of compute%s", j->s->ratio,
                    j->s->hidden_share > j->s->communication_share ? ", most of it hidden behind compute" : "");
}

static int no_timer(const struct judge *j, struct diag_hit *h)
{
    return j->s && j->s->may_hold > 0 &&
           diag_hit(h, 0, j->s->place, "no timer shows %scommunication: it counts as part of each phase",
                    j->s->visible ? "training's " : "");
}

static int long_tail(const struct judge *j, struct diag_hit *h)
{
    const struct diag_phase *p = diag_phase_named(j->s, "rollout"),
                            *longest = diag_phase_named(j->s, "response length, longest");
    double mean = diag_metric(j->s, "response length, mean");
    return p && longest && mean > 0 && p->share >= j->rule->limit && longest->median_ms > LONG_TAIL * mean &&
           diag_hit(h, 0.9 * p->share, longest->place, "the longest response has %.0f tokens, the mean %.0f",
                    longest->median_ms, mean);
}

static int cut_off(const struct judge *j, struct diag_hit *h)
{
    const struct diag_phase *p = diag_phase_named(j->s, "responses cut off");
    return p && p->median_ms > j->rule->limit && p->median_ms <= 1 &&
           diag_hit(h, 0, p->place, "%.0f %% of the responses reach the limit of their length", 100 * p->median_ms);
}

/* By verl's own balancing where the log has it. */
static int sequences(const struct judge *j, struct diag_hit *h)
{
    const struct diag_phase *most = diag_phase_named(j->s, "tokens of a rank after balancing, largest"),
                            *gap = diag_phase_named(j->s, "tokens of a rank, largest less smallest");
    double mean = diag_metric(j->s, "tokens of a rank, mean");
    double least = diag_metric(j->s, "tokens of a rank after balancing, smallest");
    double difference = most ? most->median_ms - least : gap ? gap->median_ms : 0;
    if (mean <= 0 && most)
        mean = (most->median_ms + least) / 2;
    double train = 0;
    for (int i = 0; j->s && i < j->s->nphases; i++)
        train += j->s->phases[i].side == DIAG_TRAIN ? j->s->phases[i].share : 0;
    return mean > 0 && difference > j->rule->limit * mean &&
           diag_hit(h, fmin(1, difference / mean / 2) * train, (most ? most : gap)->place,
                    "ranks get different amounts of text: %.0f tokens between the largest and the smallest, %.0f %% of "
                    "the mean%s",
                    difference, 100 * (difference / mean), most ? ", after balancing" : "");
}

/* By the ranks that logged steps, else by Megatron-LM's minimum and maximum over them. */
static int stragglers(const struct judge *j, struct diag_hit *h)
{
    if (j->s && *j->s->slow)
        return diag_hit(h, fmax(j->s->waiting, 0.01), j->s->place,
                        "%s computes %.0f ms a step, the fastest rank %.0f ms: the others wait for it, %.0f %% of the "
                        "time",
                        j->s->slow, j->s->slow_ms, j->s->fast_ms, 100 * j->s->waiting);
    const struct diag_phase *slow = diag_phase_named(j->s, "forward, slowest rank");
    double fast = diag_metric(j->s, "forward, fastest rank");
    if (!slow || fast <= 0 || slow->median_ms <= (1 + j->rule->limit) * fast)
        return 0;
    int most = 0, all = 0;
    for (int i = 0; i < DIAG_VOTES; i++) {
        most = j->d->slow_votes[i] > j->d->slow_votes[most] ? i : most;
        all += j->d->slow_votes[i];
    }
    char name[32] = "the slowest rank";
    if (all && 3 * j->d->slow_votes[most] > 2 * all)
        snprintf(name, sizeof name, "rank %d", most);
    return diag_hit(h, fmax(j->s->waiting, 1 - fast / slow->median_ms), slow->place,
                    "%s computes forward in %.0f ms, the fastest in %.0f ms", name, slow->median_ms, fast);
}

/* Several jobs or restarts, which are kept apart. */
static int several_runs(const struct judge *j, struct diag_hit *h)
{
    char list[320] = "";
    int n = 0;
    size_t bytes = 0;
    for (int i = 0; j->s && i < j->r->nsources && bytes < sizeof list - 120; i++) {
        const struct diag_source *s = &j->r->sources[i];
        char time[DIAG_TIME];
        if (!*s->run || strcmp(s->format, j->s->format) != 0)
            continue;
        bytes += (size_t)snprintf(list + bytes, sizeof list - bytes, "%s%s (%ld steps of %s)", n ? ", " : "", s->run,
                                  s->steps, diag_time_text(time, s->step_ms));
        n++;
    }
    return n > 1 &&
           diag_hit(h, 0, j->s->place, "the files hold %d runs, judged separately: %s; the first lines are about %s", n,
                    list, j->s->run);
}

static int first_step(const struct judge *j, struct diag_hit *h)
{
    return j->s && j->s->first_ms > j->rule->limit * j->s->step_ms &&
           diag_hit(h, 0, j->s->first_place,
                    "a step at the start, the first of its kind, took %.1f s instead of %.1f s and was left out%s%s",
                    j->s->first_ms / 1e3, j->s->step_ms / 1e3, *j->s->first_phase ? ": most of it " : "",
                    j->s->first_phase);
}

static int trend(const struct judge *j, struct diag_hit *h)
{
    const struct diag_source *s = j->s;
    const struct diag_phase *worst = NULL;
    if (s && s->shift_step)
        return 0; /* which is told first */
    for (int i = 0; s && i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC &&
            (!worst || s->phases[i].growth * s->phases[i].share > worst->growth * worst->share))
            worst = &s->phases[i];
    return worst && s->growth >= j->rule->limit && (!strcmp(worst->name, "rollout")) == (j->rule->phase != NULL) &&
           diag_hit(h, s->growth / (1 + s->growth), worst->place,
                    "the step grew by %.0f %% from the first third of the run to the last; %s grew most, by %.0f %%",
                    100 * s->growth, worst->name, 100 * worst->growth);
}

void diag_say_shift(const struct diag_source *s, char to[DIAG_SENTENCE])
{
    char time[2][DIAG_TIME];
    int n = 0;
    diag_say(to, "from step %ld on a step takes %s instead of %s", s->shift_step, diag_time_text(time[0], s->after_ms),
             diag_time_text(time[1], s->before_ms));
    for (int i = 0; i < s->nphases && n < 4; i++)
        if (s->phases[i].kind != DIAG_METRIC && s->phases[i].times >= SHIFT && s->phases[i].share > 0.02)
            diag_say(to, "%s%s %.1f times", n++ ? ", " : ": ", s->phases[i].name, s->phases[i].times);
}

static int shift(const struct judge *j, struct diag_hit *h)
{
    char text[DIAG_SENTENCE] = "";
    if (!j->s || !j->s->shift_step)
        return 0;
    diag_say_shift(j->s, text);
    return diag_hit(h, 1 - j->s->before_ms / j->s->after_ms, j->s->place, "%s", text);
}

/* ---- conditions on GPUs' samples --------------------------------------------------------------------------------- */

struct gpus {
    const struct diag_gpu *low, *high, *gap;
    double idle, mean;
};

static struct gpus look_at_gpus(const struct diag_result *r)
{
    struct gpus all = {0};
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        all.low = !all.low || g->mean < all.low->mean ? g : all.low;
        all.high = !all.high || g->mean > all.high->mean ? g : all.high;
        all.gap = !all.gap || g->longest_gap_s > all.gap->longest_gap_s ? g : all.gap;
        all.idle += g->idle / r->ngpus;
        all.mean += g->mean / r->ngpus;
    }
    return all;
}

double diag_say_spins(const struct diag_result *r, char to[DIAG_SENTENCE])
{
    const struct diag_gpu *least = NULL;
    double sum = 0;
    for (int i = 0; i < r->ngpus; i++) {
        sum += r->gpus[i].spins;
        least = !least || r->gpus[i].spins < least->spins ? &r->gpus[i] : least;
    }
    double others = r->ngpus > 1 ? (sum - least->spins) / (r->ngpus - 1) : 0;
    if (others < GPU_SPINS)
        return 0;
    int late = r->ngpus > 2 && least->spins < others / 3;
    diag_say(
        to,
        "at full utilisation GPUs draw less than half of the highest power in %.0f %% of the samples, as when they "
        "wait in collectives",
        100 * others);
    if (late)
        diag_say(to, "; %s only in %.0f %%: the others wait for it", least->name, 100 * least->spins);
    return others;
}

static int gpu_spins(const struct judge *j, struct diag_hit *h)
{
    char text[DIAG_SENTENCE] = "";
    double part = diag_say_spins(j->r, text);
    return part > 0 && !j->hangs && diag_hit(h, part, j->r->gpu_start_place, "%s", text);
}

static int start_stall(const struct judge *j, struct diag_hit *h)
{
    return j->r->gpu_start_idle_s > j->rule->limit &&
           diag_hit(h, 0, j->r->gpu_start_place, "all GPUs stayed at 0 %% for %.0f s before the first work",
                    j->r->gpu_start_idle_s);
}

static int gpu_imbalance(const struct judge *j, struct diag_hit *h)
{
    struct gpus g = look_at_gpus(j->r);
    return j->r->ngpus > 1 && (g.high->mean - g.low->mean > GPU_DEVIATION || j->r->gpu_spread > j->rule->limit) &&
           diag_hit(h, j->r->gpu_spread / 100, g.low->gap_place,
                    "%s is busy %.0f %% of the time, %s %.0f %%; at one moment they differ by %.0f points",
                    g.high->name, g.high->mean, g.low->name, g.low->mean, j->r->gpu_spread);
}

static int gpu_idle(const struct judge *j, struct diag_hit *h)
{
    struct gpus g = look_at_gpus(j->r);
    /* One picture of a moment has no gaps. */
    return g.gap && g.gap->samples > 1 && g.idle > j->rule->limit && !j->hangs &&
           diag_hit(h, g.idle, g.gap->gap_place,
                    "GPUs are idle in %.0f %% of the samples; the longest gap is %.0f s, on %s", 100 * g.idle,
                    g.gap->longest_gap_s, g.gap->name);
}

static int gpu_low(const struct judge *j, struct diag_hit *h)
{
    struct gpus g = look_at_gpus(j->r);
    return g.low && g.mean < j->rule->limit && g.mean > 0 && g.high->mean - g.low->mean <= GPU_DEVIATION && !j->hangs &&
           g.idle <= GPU_IDLE &&
           diag_hit(h, 1 - g.mean / 100, g.low->tail_place, "all %d GPU%s are busy %.0f %% of the time, evenly",
                    j->r->ngpus, j->r->ngpus == 1 ? "" : "s", g.mean);
}

/* ---- conditions on files ----------------------------------------------------------------------------------------- */

static int trace_devices(const struct judge *j, struct diag_hit *h)
{
    return j->d->other_devices && diag_hit(h, 0, "", "a trace has several GPUs; only the first was read");
}

static int trace_cut(const struct judge *j, struct diag_hit *h)
{
    return j->d->cut_traces && diag_hit(h, 0, "", "%d trace%s cut off; earlier parts were read", j->d->cut_traces,
                                        j->d->cut_traces == 1 ? " is" : "s are");
}

#define NOT "not the network: "
#define TUNE                                                        \
    "nccltune workload --from-launch train.sh -o workload.json && " \
    "nccltune tune --workload workload.json -o profile"
#define TRAINER "\"$(pgrep -n python)\""

static const struct diag_rule rules[] = {
    {"communication", communication, DIAG_MEASURED,
     "derive the job's collectives and tune the cluster for them; check the environment with nccltune lint", TUNE},
    {"communication", communication, DIAG_MEASURED,
     "weight sync to the inference engine is the larger part: tune broadcast and all-gather, and check the path with "
     "nccltune probe",
     TUNE, 0, "rollout"},
    {"communication-ratio", communication_ratio, DIAG_MEASURED,
     "tune after the larger items, and only if a trace shows that the job waits for it", TUNE, DIAGNOSE_RATIO_LIMIT},
    {"rollout", phase_is_large, DIAG_MEASURED,
     NOT "raise the inference engine's memory fraction (gpu_memory_utilization) and batch, use the smallest tensor "
         "parallelism that fits the model, CUDA graphs, or asynchronous rollout",
     "curl -s http://localhost:8000/metrics | nccltune diagnose -", 0.35, "rollout"},
    {"long-tail", long_tail, DIAG_LIKELY,
     NOT "GPUs wait for the longest responses: over-sample and cut off, roll out asynchronously, or balance by length",
     "", ROLLOUT_TAIL},
    {"cut-off", cut_off, DIAG_POSSIBLE,
     NOT
     "responses run into max_response_length: raise it, or penalise length; endless responses set the rollout's time",
     "", 0.2},
    {"reward", phase_is_large, DIAG_MEASURED,
     NOT "rewards run on the CPU or on a server: more workers (reward_model.launch_reward_fn_async, num_workers), "
         "overlap them with the rollout, time-limit each",
     "py-spy dump --pid " TRAINER " | nccltune diagnose -", 0.15, "reward"},
    {"log-probabilities", phase_is_large, DIAG_MEASURED,
     "a forward pass of the trainer: raise log_prob_micro_batch_size, skip it where one update follows one rollout, "
     "try use_dynamic_bsz and no padding in a short run (jobs have stalled with them); its collectives count as part "
     "of it",
     "", 0.30, "log-probabilities"},
    {"reference", phase_is_large, DIAG_MEASURED,
     "a forward pass of the reference model: larger micro-batches, no offload of its parameters, or no KL term", "",
     0.25, "reference"},
    {"actor-update", phase_is_large, DIAG_MEASURED,
     "larger micro-batches, recompute only if memory requires it, no offload; try use_dynamic_bsz and no padding in a "
     "short run (jobs have stalled with them); a trace separates compute from its collectives",
     "nccltune diagnose rank0.pt.trace.json", 0.45, "actor update"},
    {"critic-update", phase_is_large, DIAG_MEASURED,
     "larger micro-batches for the critic, a smaller critic, or an algorithm without one (GRPO)", "", 0.25,
     "critic update", DIAG_COMPUTE},
    {"weight-sync", phase_is_large, DIAG_MEASURED,
     "weight sync: bucketed updates, the same layout on both sides, GPUDirect RDMA", TUNE, 0.20, "weight sync"},
    {"data-loader", kind_is_large, DIAG_MEASURED,
     NOT "more data loader workers, pinned memory, prefetch, faster storage", "", 0.10, "waiting for data takes",
     DIAG_DATA},
    {"offload", kind_is_large, DIAG_MEASURED,
     NOT "switch offload of parameters or optimizer off if they fit, or shard further", "", 0.05,
     "copies between GPU and host that nothing hides take", DIAG_OFFLOAD},
    {"checkpoint", kind_is_large, DIAG_MEASURED, NOT "save and validate less often, or asynchronously", "", 0.10,
     "checkpoints and validation take", DIAG_SAVE},
    {"idle", kind_is_large, DIAG_MEASURED,
     NOT
     "launch-bound or waiting for the host: torch.compile or CUDA graphs, larger micro-batches, less synchronisation "
     "in the training loop",
     "", 0.20, "the GPU is idle for", DIAG_IDLE},
    {"waiting-for-rollout", phase_is_large, DIAG_MEASURED,
     NOT
     "the trainer idles until rollouts come: give the rollout more GPUs or the trainer fewer, allow more staleness, or "
     "cut long responses",
     "", 0.20, DIAG_WAIT_ROLLOUT},
    {"not-timed", phase_is_large, DIAG_MEASURED,
     "profile a few steps with torch.profiler, or switch the framework's timers on",
     "nccltune diagnose rank0.pt.trace.json", 0.25, "not timed"},
    {"sequence-imbalance", sequences, DIAG_LIKELY,
     NOT "ranks wait for the one with the most text: trainer.balance_batch=True; try "
         "use_dynamic_bsz=True or packing in a short run (jobs have stalled with them)",
     "", SEQUENCES},
    {"stragglers", stragglers, DIAG_MEASURED,
     "collectives wait for the slowest rank: balance pipeline stages and sequence lengths, and compare the GPUs' "
     "clocks",
     "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw --format=csv -l 1", STRAGGLER},
    {"runs", several_runs, DIAG_MEASURED, "pass the files of one job to see only that job", ""},
    {"largest-phase", largest_phase, DIAG_MEASURED, "look here first: profile a few steps with torch.profiler",
     "nccltune diagnose rank0.pt.trace.json"},
    {"hang", diag_hangs, DIAG_LIKELY, diag_hang_advice,
     "nccltune doctor --job; nccltune lint --pid " TRAINER "; py-spy dump --pid " TRAINER " | nccltune diagnose -"},
    {"gpu-imbalance", gpu_imbalance, DIAG_MEASURED,
     "balance work between ranks: sequence lengths, pipeline stages, experts; a waiting GPU shows as idle", "",
     GPU_SPREAD},
    {"gpu-spins", gpu_spins, DIAG_LIKELY,
     "one rank or GPU computes longer, or the network is slow: compare clocks, temperatures and the ranks' data",
     "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,clocks.sm,power.draw --format=csv -l 1"},
    {"gpu-idle", gpu_idle, DIAG_MEASURED,
     "find the phase that runs then: checkpoints, rewards on the CPU, data, or waiting for the slowest rollout",
     "nccltune diagnose console.log gpus.csv", GPU_IDLE},
    {"gpu-low", gpu_low, DIAG_LIKELY,
     "all wait equally: small batches, a host that launches too slowly, data, rewards, or collectives of all ranks; "
     "the console log with timers shows which",
     "nccltune diagnose console.log gpus.csv", GPU_LOW},
    {"shift", shift, DIAG_MEASURED,
     "something changed at that step: longer sequences, throttled or lost GPUs, another job on the network or the file "
     "system; look at the lines and at the nodes' logs of that time",
     "dmesg -T | grep -i -e nvrm -e mlx5; nvidia-smi -q -d PERFORMANCE"},
    {"trend", trend, DIAG_MEASURED, "responses grow during training: cap their length, or plan for it", "", GROWTH,
     "rollout"},
    {"trend", trend, DIAG_MEASURED, "check for growing sequences, fragmented memory, or throttled clocks", "", GROWTH},
    {"first-step", first_step, DIAG_MEASURED,
     NOT
     "compilation, remove-padding kernels or graph capture at the start; cache the compiled kernels if jobs are short",
     "", FIRST_STEP},
    {"start-stall", start_stall, DIAG_MEASURED,
     NOT "weights are loaded or kernels compiled on the host; look there first if jobs are short", "", START_IDLE_S},
    {"no-timer", no_timer, DIAG_MEASURED,
     "profile a few steps with torch.profiler and read the trace with nccltune diagnose, or switch the framework's "
     "timers "
     "on (Megatron-LM --timing-log-level 2, DeepSpeed wall_clock_breakdown)",
     ""},
    {"trace-devices", trace_devices, DIAG_MEASURED, "profile one rank a file", ""},
    {"trace-cut", trace_cut, DIAG_MEASURED, "let the profiler finish writing", ""},
    {0},
};

/* ---- applying them ----------------------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const struct diag_finding *x = a, *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

static void apply(struct judge *j, const struct diag_rule *rule)
{
    for (; rule->id; rule++) {
        struct diag_hit h = {.place = ""};
        j->rule = rule;
        if (rule->holds(j, &h))
            diag_add_finding(j->r, rule, &h);
    }
}

static void add_settings(struct judge *j)
{
    for (int i = 0; i < j->d->nsettings; i++) {
        const struct diag_setting *s = &j->d->settings[i];
        struct diag_hit h;
        if (s->if_hung && !j->hangs)
            continue;
        if (*s->value)
            diag_hit(&h, s->weight, s->place, "%s (%s: %s)", s->text, s->id, s->value);
        else
            diag_hit(&h, s->weight, s->place, "%s", s->text);
        const struct diag_rule rule = {s->id, NULL, *s->value ? DIAG_POSSIBLE : DIAG_LIKELY, s->advice, ""};
        diag_add_finding(j->r, &rule, &h);
    }
}

void diag_apply_rules(struct judge *j)
{
    apply(j, rules);
    apply(j, diag_nccl_rules);
    apply(j, diag_profile_rules);
    apply(j, diag_tests_rules);
    diag_add_causes(j);
    apply(j, diag_engine_rules);
    add_settings(j);
    diag_add_messages(j);
    diag_add_machine(j);
    diag_add_lint(j);
    qsort(j->r->findings, (size_t)j->r->nfindings, sizeof *j->r->findings, by_weight);
}
