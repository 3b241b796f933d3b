/* What to do next: the conditions on steps and GPUs that findings are made of, and the order of all findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/diagnose/rules.h"

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

/* ---- phases ------------------------------------------------------------------------------------------------------ */

static void judge_communication(struct judge *j)
{
    const struct diag_source *s = j->s;
    const struct diag_phase *p = diag_largest(s, 1u << DIAG_COMMUNICATION);
    if (p && j->r->verdict == DIAG_IS_COMMUNICATION) {
        struct diag_finding *f = diag_found(j, "communication", s->communication_share, p->place,
                                            "communication takes %.0f %% of the step; most of it is %s",
                                            100 * s->communication_share, p->name);
        if (p->side == DIAG_ROLLOUT)
            f->advice =
                "weight sync to the inference engine is the larger part: tune broadcast and all-gather, and check "
                "the path with nccltune probe";
    } else if (p && s->ratio > DIAGNOSE_RATIO_LIMIT) {
        diag_found(j, "communication-ratio", s->communication_share, p->place, "communication is %.2f of compute%s",
                   s->ratio, s->hidden_share > s->communication_share ? ", most of it hidden behind compute" : "");
    }
}

/* Lengths of responses, and what ranks get of them: by verl's own balancing where the log has it. */
static void judge_lengths(struct judge *j)
{
    const struct diag_phase *rollout = diag_phase_named(j->s, "rollout"),
                            *longest = diag_phase_named(j->s, "response length, longest"),
                            *cut = diag_phase_named(j->s, "responses cut off"),
                            *most = diag_phase_named(j->s, "tokens of a rank after balancing, largest"),
                            *gap = diag_phase_named(j->s, "tokens of a rank, largest less smallest");
    double length = diag_metric(j->s, "response length, mean"), mean = diag_metric(j->s, "tokens of a rank, mean"),
           least = diag_metric(j->s, "tokens of a rank after balancing, smallest"), train = 0;
    double difference = most ? most->median_ms - least : gap ? gap->median_ms : 0;
    if (rollout && longest && length > 0 && rollout->share >= 0.25 && longest->median_ms > LONG_TAIL * length)
        diag_found(j, "long-tail", 0.9 * rollout->share, longest->place,
                   "the longest response has %.0f tokens, the mean %.0f", longest->median_ms, length);
    if (cut && cut->median_ms > 0.2 && cut->median_ms <= 1)
        diag_found(j, "cut-off", 0, cut->place, "%.0f %% of the responses reach the limit of their length",
                   100 * cut->median_ms);
    if (mean <= 0 && most)
        mean = (most->median_ms + least) / 2;
    for (int i = 0; j->s && i < j->s->nphases; i++)
        train += j->s->phases[i].side == DIAG_TRAIN ? j->s->phases[i].share : 0;
    if (mean > 0 && difference > SEQUENCES * mean)
        diag_found(
            j, "sequence-imbalance", fmin(1, difference / mean / 2) * train, (most ? most : gap)->place,
            "ranks get different amounts of text: %.0f tokens between the largest and the smallest, %.0f %% of the "
            "mean%s",
            difference, 100 * (difference / mean), most ? ", after balancing" : "");
}

/* By the ranks that logged steps, else by Megatron-LM's minimum and maximum over them. */
static void judge_stragglers(struct judge *j)
{
    const struct diag_source *s = j->s;
    const struct diag_phase *slow = diag_phase_named(s, "forward, slowest rank");
    double fast = diag_metric(s, "forward, fastest rank");
    char name[32] = "the slowest rank";
    int most = 0, all = 0;
    for (int i = 0; i < DIAG_VOTES; i++) {
        most = j->d->slow_votes[i] > j->d->slow_votes[most] ? i : most;
        all += j->d->slow_votes[i];
    }
    if (all && 3 * j->d->slow_votes[most] > 2 * all)
        snprintf(name, sizeof name, "rank %d", most);
    if (s && *s->slow)
        diag_found(j, "stragglers", fmax(s->waiting, 0.01), s->place,
                   "%s computes %.0f ms a step, the fastest rank %.0f ms: the others wait for it, %.0f %% of the time",
                   s->slow, s->slow_ms, s->fast_ms, 100 * s->waiting);
    else if (slow && fast > 0 && slow->median_ms > (1 + STRAGGLER) * fast)
        diag_found(j, "stragglers", fmax(s->waiting, 1 - fast / slow->median_ms), slow->place,
                   "%s computes forward in %.0f ms, the fastest in %.0f ms", name, slow->median_ms, fast);
}

/* Several jobs or restarts, which are kept apart. */
static void judge_runs(struct judge *j)
{
    char list[DIAG_SENTENCE] = "", time[DIAG_TIME];
    int n = 0;
    for (int i = 0; j->s && i < j->r->nsources; i++) {
        const struct diag_source *s = &j->r->sources[i];
        if (*s->run && !strcmp(s->format, j->s->format))
            diag_say(list, "%s%s (%ld steps of %s)", n++ ? ", " : "", s->run, s->steps,
                     diag_time_text(time, s->step_ms));
    }
    if (n > 1)
        diag_found(j, "runs", 0, j->s->place,
                   "the files hold %d runs, judged separately: %.320s; the first lines are about %s", n, list,
                   j->s->run);
}

/* The largest phase where no other finding has a word on it. */
static void judge_largest(struct judge *j)
{
    const struct diag_phase *p = diag_largest(j->s, DIAG_TIMES);
    int is_told = !p || p->kind == DIAG_COMMUNICATION;
    for (int i = 0; i < j->r->nfindings && !is_told; i++)
        is_told = j->r->findings[i].weight >= p->share - 1e-9;
    if (!is_told)
        diag_found(j, "largest-phase", p->share, p->place, "%s: %.0f %% of the step, more than any other phase",
                   p->name, 100 * p->share);
}

/* ---- changes within a run ---------------------------------------------------------------------------------------- */

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

static void judge_changes(struct judge *j)
{
    const struct diag_source *s = j->s;
    const struct diag_phase *worst = NULL;
    char text[DIAG_SENTENCE] = "";
    for (int i = 0; s && i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC &&
            (!worst || s->phases[i].growth * s->phases[i].share > worst->growth * worst->share))
            worst = &s->phases[i];
    if (s && s->shift_step) {
        diag_say_shift(s, text);
        diag_found(j, "shift", 1 - s->before_ms / s->after_ms, s->place, "%s", text);
    } else if (worst && s->growth >= GROWTH) {
        struct diag_finding *f =
            diag_found(j, "trend", s->growth / (1 + s->growth), worst->place,
                       "the step grew by %.0f %% from the first third of the run to the last; %s grew most, by %.0f %%",
                       100 * s->growth, worst->name, 100 * worst->growth);
        if (!strcmp(worst->name, "rollout"))
            f->advice = "responses grow during training: cap their length, or plan for it";
    }
    if (s && s->first_ms > FIRST_STEP * s->step_ms)
        diag_found(j, "first-step", 0, s->first_place,
                   "a step at the start, the first of its kind, took %.1f s instead of %.1f s and was left out%s%s",
                   s->first_ms / 1e3, s->step_ms / 1e3, *s->first_phase ? ": most of it " : "", s->first_phase);
}

/* ---- GPUs' samples ----------------------------------------------------------------------------------------------- */

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
    diag_say(
        to,
        "at full utilisation GPUs draw less than half of the highest power in %.0f %% of the samples, as when they "
        "wait in collectives",
        100 * others);
    if (r->ngpus > 2 && least->spins < others / 3)
        diag_say(to, "; %s only in %.0f %%: the others wait for it", least->name, 100 * least->spins);
    return others;
}

static void judge_gpus(struct judge *j)
{
    const struct diag_result *r = j->r;
    const struct diag_gpu *low = r->gpus, *high = r->gpus, *gap = r->gpus;
    double idle = 0, mean = 0;
    char text[DIAG_SENTENCE] = "";
    if (!r->ngpus)
        return;
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        low = g->mean < low->mean ? g : low;
        high = g->mean > high->mean ? g : high;
        gap = g->longest_gap_s > gap->longest_gap_s ? g : gap;
        idle += g->idle / r->ngpus;
        mean += g->mean / r->ngpus;
    }
    if (high->mean - low->mean > GPU_DEVIATION || r->gpu_spread > GPU_SPREAD)
        diag_found(j, "gpu-imbalance", r->gpu_spread / 100, low->gap_place,
                   "%s is busy %.0f %% of the time, %s %.0f %%; at one moment they differ by %.0f points", high->name,
                   high->mean, low->name, low->mean, r->gpu_spread);
    double spins = diag_say_spins(r, text);
    if (spins > 0 && !j->hangs)
        diag_found(j, "gpu-spins", spins, r->gpu_start_place, "%s", text);
    if (gap->samples > 1 && idle > GPU_IDLE && !j->hangs) /* one picture of a moment has no gaps */
        diag_found(j, "gpu-idle", idle, gap->gap_place,
                   "GPUs are idle in %.0f %% of the samples; the longest gap is %.0f s, on %s", 100 * idle,
                   gap->longest_gap_s, gap->name);
    if (mean < GPU_LOW && mean > 0 && high->mean - low->mean <= GPU_DEVIATION && !j->hangs && idle <= GPU_IDLE)
        diag_found(j, "gpu-low", 1 - mean / 100, low->tail_place, "all %d GPU%s are busy %.0f %% of the time, evenly",
                   r->ngpus, r->ngpus == 1 ? "" : "s", mean);
    if (r->gpu_start_idle_s > START_IDLE_S)
        diag_found(j, "start-stall", 0, r->gpu_start_place, "all GPUs stayed at 0 %% for %.0f s before the first work",
                   r->gpu_start_idle_s);
}

/* ---- what files leave out ---------------------------------------------------------------------------------------- */

static void judge_files(struct judge *j)
{
    const struct diagnosis *d = j->d;
    if (j->s && j->s->may_hold > 0)
        diag_found(j, "no-timer", 0, j->s->place, "no timer shows %scommunication: it counts as part of each phase",
                   j->s->visible ? "training's " : "");
    if (d->other_devices)
        diag_found(j, "trace-devices", 0, "", "a trace has several GPUs; only the first was read");
    if (d->cut_traces)
        diag_found(j, "trace-cut", 0, "", "%d trace%s cut off; earlier parts were read", d->cut_traces,
                   d->cut_traces == 1 ? " is" : "s are");
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static int by_weight(const void *a, const void *b)
{
    const struct diag_finding *x = a, *y = b;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

void diag_add_findings(struct judge *j)
{
    judge_communication(j);
    diag_add_phases(j);
    judge_lengths(j);
    judge_stragglers(j);
    judge_runs(j);
    judge_largest(j);
    if (j->hang.weight > 0)
        diag_found(j, "hang", j->hang.weight, j->hang.place, "%s", j->hang.text);
    judge_gpus(j);
    judge_changes(j);
    judge_files(j);
    diag_add_nccl(j);
    diag_add_profile(j);
    diag_add_tests(j);
    diag_add_causes(j);
    diag_add_engine(j);
    for (int i = 0; i < j->d->nsettings; i++)
        if (!j->d->settings[i].if_hung || j->hangs)
            diag_add_finding(j->r, &j->d->settings[i].finding);
    diag_add_messages(j);
    diag_add_machine(j);
    diag_add_lint(j);
    qsort(j->r->findings, (size_t)j->r->nfindings, sizeof *j->r->findings, by_weight);
}
