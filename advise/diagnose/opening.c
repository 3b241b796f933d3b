/* The verdict and the first three sentences: the largest phase, communication, what these files cannot tell. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "advise/diagnose/rules.h"

#define ENOUGH_STEPS 3 /* of a run, to be judged by */

/* ---- the source and its verdict ---------------------------------------------------------------------------------- */

static int is_trace(const struct diag_source *s)
{
    return !strcmp(s->format, diag_format_names[DIAG_TRACE]);
}

static int is_sums(const struct diag_source *s)
{
    return !strcmp(s->format, diag_format_names[DIAG_TABLE]);
}

/* Whole steps with communication of their own first, then kernels, then what has phases, then what there is. */
static int rank_of(const struct diag_source *s)
{
    int phases = 0;
    for (int i = 0; i < s->nphases; i++)
        phases += s->phases[i].kind != DIAG_METRIC && strcmp(s->phases[i].name, "not timed") != 0;
    return s->visible ? (is_sums(s) ? 2 : is_trace(s) ? 3 : 4) : phases ? 2 : 1;
}

/* A later run of the same format took its place: it restarted, and has steps enough. */
static int is_superseded(const struct diag_result *r, int i)
{
    for (int k = i + 1; k < r->nsources; k++)
        if (!strcmp(r->sources[k].format, r->sources[i].format) && strstr(r->sources[k].run, "restart") &&
            r->sources[k].steps >= ENOUGH_STEPS)
            return 1;
    return 0;
}

static int choose_primary(const struct diag_result *r)
{
    int best = -1;
    for (int i = 0; i < r->nsources; i++) {
        int more = best < 0 ? 1 : rank_of(&r->sources[i]) - rank_of(&r->sources[best]);
        if (!is_superseded(r, i) && (more > 0 || (!more && r->sources[i].steps > r->sources[best].steps)))
            best = i;
    }
    return best;
}

/* Both ends of the interval must agree. */
static enum diag_verdict judge_source(const struct diag_source *s)
{
    double low = s->communication_low;
    const struct diag_phase *other = diag_largest(s, DIAG_TIMES & ~(1u << DIAG_COMMUNICATION));
    if (low > DIAGNOSE_SHARE_LIMIT ||
        (low >= DIAGNOSE_LARGEST_LIMIT && low >= (other ? other->share : 0) - DIAGNOSE_TIE))
        return DIAG_IS_COMMUNICATION;
    return s->communication_high > DIAGNOSE_SHARE_LIMIT ? DIAG_UNKNOWN : DIAG_NOT_COMMUNICATION;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

static void say_gpus(const struct diag_result *r, char to[DIAG_SENTENCE])
{
    double mean = 0, idle = 0;
    for (int i = 0; i < r->ngpus; i++) {
        mean += r->gpus[i].mean / r->ngpus;
        idle += r->gpus[i].idle / r->ngpus;
    }
    diag_say(to, "%d GPU%s busy %.0f %% of the time on average and idle in %.0f %% of the samples.", r->ngpus,
             r->ngpus == 1 ? " is" : "s are", mean, 100 * idle);
    char spins[DIAG_SENTENCE] = "";
    if (diag_say_spins(r, spins) > 0)
        diag_say(to, " But %s.", spins);
}

static const char *whole_of(const struct diag_source *s)
{
    return is_sums(s) ? "all kernels' time" : "the step";
}

/* The phase, and those that tie with it. */
static void say_largest(const struct diag_source *s, char to[DIAG_SENTENCE])
{
    const struct diag_phase *p = diag_largest(s, DIAG_TIMES);
    char time[2][DIAG_TIME];
    if (!p || !strcmp(p->name, "not timed")) {
        diag_say(to, "A step takes %s; %s.", diag_time_text(time[0], s->step_ms),
                 p ? "this log has too few phases" : "this log has no more of it");
        return;
    }
    int ties = 0;
    for (int i = 0; i < s->nphases; i++)
        ties += &s->phases[i] != p && s->phases[i].kind != DIAG_METRIC && s->phases[i].share >= p->share - DIAGNOSE_TIE;
    diag_say(to, ties ? "The largest phases are %s" : "The largest phase is %s", p->name);
    for (int i = 0; ties && i < s->nphases; i++)
        if (&s->phases[i] != p && s->phases[i].kind != DIAG_METRIC && s->phases[i].share >= p->share - DIAGNOSE_TIE)
            diag_say(to, " and %s", s->phases[i].name);
    if (p->period)
        diag_say(to, ": %.0f %% of wall time (%s, every %d steps).", 100 * p->share,
                 diag_time_text(time[0], p->median_ms), p->period);
    else if (s->shift_step) /* no step takes the median */
        diag_say(to, ": %.0f %% of all steps' time.", 100 * p->share);
    else if (fabs(p->median_ms / s->step_ms - p->share) > 0.01) /* the share is of all steps together */
        diag_say(to, ": %.0f %% of %s%s (median %s).", 100 * p->share, whole_of(s), ties ? " each" : "",
                 diag_time_text(time[0], p->median_ms));
    else
        diag_say(to, ": %.0f %% of %s%s (%s of %s).", 100 * p->share, whole_of(s), ties ? " each" : "",
                 diag_time_beside(time[0], p->median_ms, s->step_ms), diag_time_text(time[1], s->step_ms));
}

/* The names of the phases that may hold communication, the largest three first. */
static void say_holders(const struct diag_source *s, char to[DIAG_SENTENCE])
{
    double below = INFINITY;
    for (int n = 0; n < 3; n++) {
        const struct diag_phase *next = NULL;
        for (int i = 0; i < s->nphases; i++)
            if (diag_may_hold(&s->phases[i]) && s->phases[i].share > 0.01 && s->phases[i].share < below &&
                (!next || s->phases[i].share > next->share))
                next = &s->phases[i];
        if (!next)
            return;
        diag_say(to, "%s%s", n ? ", " : "", next->name);
        below = next->share;
    }
}

static void say_communication(const struct diag_result *r, const struct diag_source *s, char to[DIAG_SENTENCE])
{
    const double share = 100 * s->communication_share, limit = 100 * DIAGNOSE_SHARE_LIMIT;
    const char *whole = whole_of(s);
    if (r->verdict == DIAG_IS_COMMUNICATION && s->communication_low > DIAGNOSE_SHARE_LIMIT)
        diag_say(to, "Communication is the problem: %.0f %% of %s (limit %.0f %%)", share, whole, limit);
    else if (r->verdict == DIAG_IS_COMMUNICATION)
        diag_say(to, "Communication is the problem: %.0f %% of %s, and no phase is larger", share, whole);
    else if (r->verdict == DIAG_NOT_COMMUNICATION && s->visible)
        diag_say(to, "Communication is not the problem: it is %.0f %% to %.0f %% of %s (limit %.0f %%)",
                 100 * s->communication_low, 100 * s->communication_high, whole, limit);
    else if (r->verdict == DIAG_NOT_COMMUNICATION)
        diag_say(to, "Communication is not the problem: it is at most %.0f %% of the step (limit %.0f %%)",
                 100 * s->communication_high, limit);
    else
        diag_say(to, "This log cannot show whether communication is the bottleneck: it is %.0f %% to %.0f %% of %s",
                 100 * s->communication_low, 100 * s->communication_high, whole);
    if (r->verdict == DIAG_UNKNOWN && s->may_hold > 0) {
        diag_say(to, ", and no timer shows it within ");
        say_holders(s, to);
    }
    if (*s->bound)
        diag_say(to, "; %s", s->bound);
    if (*s->slow && s->waiting > 0.01)
        diag_say(to, "; another %.0f %% is waiting for %s", 100 * s->waiting, s->slow);
    else if (s->waiting > 0.01)
        diag_say(to, "; another %.0f %% is waiting for slower ranks", 100 * s->waiting);
    if (s->hidden_share > 0.005)
        diag_say(to, "; another %.0f %% is hidden behind compute", 100 * s->hidden_share);
    diag_say(to, ".");
}

/* What a kind of file leaves open, and what would tell; the first that holds. */
static const char *left_open(const struct judge *j)
{
    const struct diag_source *s = j->s;
    if (!s && j->r->ngpus)
        return "These samples cannot show which phase runs while GPUs wait; the job's console log would, given "
               "together with them.";
    if (!s && j->d->engine.lines)
        return "The engine's log cannot show what part of a step the rollout is; the trainer's console log would.";
    if (!s && j->d->tests.rows && !j->d->tests.is_inspector && !diag_is_below(&j->d->tests))
        return "";
    if (!s && j->d->tests.rows)
        return "A table of nccl-tests cannot show which link limits it; NCCL_DEBUG=INFO of the same run would.";
    if (!s && j->d->nccl.lines)
        return "NCCL's log cannot show how long the collectives take; a torch.profiler trace or the job's console log "
               "would.";
    if (!s)
        return "These files cannot show where a step goes; the console log with timers, or a torch.profiler trace, "
               "would.";
    if (is_trace(s))
        return "One trace cannot show whether a collective moves data or waits for the slowest rank; the trace of "
               "another rank of the same steps would.";
    if (is_sums(s))
        return "Sums of kernels cannot show what compute hides, nor how long the GPU was idle; the trace itself would.";
    if (s->may_hold > 0)
        return "Timers cannot show how much of those phases is communication; a torch.profiler trace of a few steps "
               "would (Megatron-LM: --timing-log-level 2, DeepSpeed: wall_clock_breakdown).";
    if (!j->r->ngpus)
        return "Timers cannot show what compute hides, nor which GPUs wait; a torch.profiler trace, and nvidia-smi "
               "--query-gpu=timestamp,index,utilization.gpu,power.draw --format=csv -l 1 beside the job, would.";
    return "Timers cannot show what compute hides; a torch.profiler trace of a few steps would.";
}

static void say_facts(const struct judge *j, char to[DIAG_SENTENCE])
{
    if (j->r->ngpus)
        say_gpus(j->r, to);
    else if (j->d->engine.lines)
        diag_say_engine(&j->d->engine, to);
    else if (j->d->tests.rows)
        diag_say_tests(j->d, to);
    else if (j->d->nccl.lines)
        diag_say_nccl(&j->d->nccl, to);
    else if (j->d->clean_kernel_lines)
        diag_say(to, "%ld kernel lines were read, and none has a known message that concerns NCCL.",
                 j->d->clean_kernel_lines);
    else
        diag_say(to, "These files have no steps of a job.");
}

/* Without its full stop. */
static size_t sentence_length(const char *s)
{
    size_t n = strlen(s);
    return n && s[n - 1] == '.' ? n - 1 : n;
}

void diag_judge(struct diagnosis *d)
{
    struct diag_result *r = &d->result;
    diag_judge_tests(d);
    r->primary = choose_primary(r);
    struct judge j = {.d = d, .r = r, .s = r->primary >= 0 ? &r->sources[r->primary] : NULL};
    j.hangs = diag_hangs(&j, &j.hang) && j.hang.weight >= 0.5;
    if (j.s) {
        r->verdict = judge_source(j.s);
        if (j.s->shift_step) {
            diag_say_shift(j.s, r->opening[0]);
            *r->opening[0] = (char)toupper((unsigned char)*r->opening[0]);
            diag_say(r->opening[0], ". ");
        }
        say_largest(j.s, r->opening[0]);
        say_communication(r, j.s, r->opening[1]);
    } else {
        say_facts(&j, r->opening[0]);
        if (!d->tests.rows || d->tests.is_inspector)
            diag_say(r->opening[1], "The share of communication is unknown: there are no steps in these files.");
    }
    if (j.hangs) {
        /* What stands still has no steps to speak of. */
        r->opening[0][0] = 0;
        diag_say(r->opening[0], "%c%s.", toupper((unsigned char)j.hang.text[0]), j.hang.text + 1);
    }
    diag_say(r->opening[2], "%s", left_open(&j));
    diag_judge_failure(&j);
    if (r->failure.id && !j.s) {
        /* A failure is the answer; of steps there is nothing to say. */
        memset(r->opening, 0, sizeof r->opening);
        diag_say(r->opening[0], "%s Where: %s.", r->failure.what, r->failure.where);
        diag_say(r->opening[1], "Why: %s", r->failure.why);
        diag_say(r->opening[2], "Do: %s", r->failure.remedy);
    }
    if (!r->failure.id && !j.s && !d->tests.rows && !d->nccl.lines && !r->ngpus && !j.hangs)
        diag_say_machine(&j);
    diag_add_findings(&j);
    if (!j.s && !r->failure.id && !j.hangs && r->nfindings && r->findings[0].weight > 0.1 && !r->ngpus) {
        r->opening[1][0] = 0;
        const struct diag_finding *f = &r->findings[0];
        diag_say(r->opening[1], "%c%.*s. Do: %.*s.", toupper((unsigned char)*f->text),
                 (int)sentence_length(f->text + 1), f->text + 1, (int)sentence_length(f->advice), f->advice);
    }
}
