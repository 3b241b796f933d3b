/* The diagnosis for people: the verdict, the phases, the GPUs, what to do next. */
#include <string.h>

#include "envgen/diagnose/diagnose.h"

/* File names and words of logs come from anywhere. */
static void put(FILE *out, const char *s)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, out);
}

static void print_time(FILE *out, double ms)
{
    if (ms >= 9999.5)
        fprintf(out, "%9.1f s ", ms / 1e3);
    else
        fprintf(out, "%9.1f ms", ms);
}

/* Columns that a name takes on a terminal: characters, and Chinese ones are two wide. */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        if (((unsigned char)*s & 0xc0) != 0x80)
            n += (unsigned char)*s >= 0xe3 ? 2 : 1;
    return n;
}

static void print_phase(FILE *out, const struct diag_phase *p)
{
    static const char bar[] = "########################################";
    int length = (int)(p->share * 40 + 0.5);
    fputs("  ", out);
    put(out, p->name);
    fprintf(out, "%*s", width_of(p->name) < 26 ? 26 - width_of(p->name) : 1, "");
    print_time(out, p->median_ms);
    fprintf(out, " %5.1f %%  %-13s %-40.*s ", 100 * p->share, diag_kind_name(p->kind), length < 40 ? length : 40, bar);
    put(out, p->place);
    fputc('\n', out);
}

static void print_source(FILE *out, const struct diag_source *s, int primary)
{
    fprintf(out, "\n%s: %ld step%s", s->format, s->steps, s->steps == 1 ? "" : "s");
    if (s->left_out)
        fprintf(out, ", %ld at the start left out", s->left_out);
    fputs(", median step", out);
    print_time(out, s->step_ms);
    fputs(primary ? "\n" : " (for comparison)\n", out);
    for (int i = 0; i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC)
            print_phase(out, &s->phases[i]);
    double rollout = 0, train = 0;
    for (int i = 0; i < s->nphases; i++) {
        rollout += s->phases[i].side == DIAG_ROLLOUT ? s->phases[i].share : 0;
        train += s->phases[i].side == DIAG_TRAIN ? s->phases[i].share : 0;
    }
    if (rollout > 0 && train > 0)
        fprintf(out, "  rollout and its weight sync %.0f %%, training %.0f %%\n", 100 * rollout, 100 * train);
    if (s->hidden_share > 0)
        fprintf(out, "  NCCL kernels that compute hides: %.1f %% of the time\n", 100 * s->hidden_share);
    if (s->ratio >= 0)
        fprintf(out, "  communication / compute: %.2f (limit %.1f)\n", s->ratio, DIAGNOSE_RATIO_LIMIT);
}

static void print_gpus(FILE *out, const struct diag_result *r)
{
    if (!r->ngpus)
        return;
    fputs("\nGPU utilisation (nvidia-smi):\n", out);
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        fputs("  ", out);
        put(out, g->name);
        fprintf(out, ": mean %.0f %%, deviation %.0f, idle %.0f %% of %ld samples, longest gap %.0f s\n", g->mean,
                g->deviation, 100 * g->idle, g->samples, g->longest_gap_s);
    }
    fprintf(out, "  busiest and idlest GPU differ by %.0f points on average\n", r->gpu_spread);
}

static void print_verdict(FILE *out, const struct diag_result *r)
{
    const struct diag_source *s = r->primary >= 0 ? &r->sources[r->primary] : NULL;
    if (!s) {
        fputs("No steps in these files: the share of communication is unknown.\n", out);
        return;
    }
    if (r->verdict == DIAG_UNKNOWN)
        fputs("This log cannot tell: it has no timer of communication, and too much of the step may hold some.\n", out);
    else if (r->verdict == DIAG_IS_COMMUNICATION)
        fprintf(out, "Communication is the problem: %.0f %% of the step (limit %.0f %%).\n",
                100 * s->communication_share, 100 * DIAGNOSE_SHARE_LIMIT);
    else
        fprintf(out, "Communication is not the problem: %.0f %% of the step%s (limit %.0f %%).\n",
                100 * s->communication_share, s->visible ? "" : " by this log's timers", 100 * DIAGNOSE_SHARE_LIMIT);
}

void diagnose_text(const struct diag_result *r, FILE *out)
{
    print_verdict(out, r);
    if (r->primary >= 0)
        print_source(out, &r->sources[r->primary], 1);
    for (int i = 0; i < r->nsources; i++)
        if (i != r->primary)
            print_source(out, &r->sources[i], 0);
    print_gpus(out, r);
    if (r->nfindings)
        fputs("\nNext, by what is at stake:\n", out);
    for (int i = 0; i < r->nfindings; i++) {
        const struct diag_finding *f = &r->findings[i];
        fprintf(out, "  %d. ", i + 1);
        put(out, f->text);
        fputs("\n     -> ", out);
        put(out, f->advice);
        fputc('\n', out);
        if (*f->place) {
            fputs("     ", out);
            put(out, f->place);
            fputc('\n', out);
        }
    }
}
