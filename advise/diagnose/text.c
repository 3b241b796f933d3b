/* The diagnosis for people: the verdict, the phases, the GPUs, what to do next. */

#include <string.h>

#include "advise/diagnose/diagnose_internal.h"
#include "core/units.h"

/* File names and words of logs come from anywhere. */
static void put_text(FILE *out, const char *s)
{
    for (; *s; s++)
        fputc((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s, out);
}

static void put_line(FILE *out, const char *before, const char *text)
{
    fputs(before, out);
    put_text(out, text);
    fputc('\n', out);
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

/* The first column of a row. */
static void put_name(FILE *out, const char *name)
{
    fputs("  ", out);
    put_text(out, name);
    fprintf(out, "%*s", width_of(name) < 28 ? 28 - width_of(name) : 1, "");
}

/* One unit a table: seconds where a step takes ten. */
static void print_phase(FILE *out, const struct diag_phase *p, double unit_ms)
{
    static const char bar[] = "##############################";
    char time[UNIT_TEXT];
    int length = (int)(p->share * 30 + 0.5);
    unit_three_digits(time, p->median_ms / unit_ms);
    put_name(out, p->name);
    fprintf(out, "%9s %5.1f  %-13s %-30.*s ", time, 100 * p->share, p->guessed ? "(unknown)" : diag_kind_names[p->kind],
            length < 30 ? length : 30, bar);
    put_text(out, p->place);
    if (p->period)
        fprintf(out, ", every %d steps", p->period);
    fputc('\n', out);
}

static void print_sides(FILE *out, const struct diag_source *s)
{
    double side[3] = {0}, guessed = 0;
    for (int i = 0; i < s->nphases; i++) {
        side[s->phases[i].side] += s->phases[i].share;
        guessed += s->phases[i].guessed ? s->phases[i].share : 0;
    }
    if (side[DIAG_ROLLOUT] <= 0 || side[DIAG_TRAIN] <= 0)
        return;
    fprintf(out, "  rollout and its weight sync %.0f %%, training %.0f %%", 100 * side[DIAG_ROLLOUT],
            100 * side[DIAG_TRAIN]);
    fprintf(out, guessed > 0 ? ", unknown timers %.0f %%\n" : "\n", 100 * guessed);
}

static void print_source(FILE *out, const struct diag_source *s, int primary)
{
    double unit_ms = s->step_ms >= 9999.5 ? 1e3 : 1;
    char time[DIAG_TIME];
    fprintf(out, "\n%s: ", s->format);
    put_text(out, s->run);
    fprintf(out, "%s%ld step%s", *s->run ? ", " : "", s->steps, s->steps == 1 ? "" : "s");
    if (s->ranks > 1)
        fprintf(out, " of %d ranks", s->ranks);
    if (s->left_out)
        fprintf(out, ", %ld at the start left out", s->left_out);
    fprintf(out, ", median step %s%s\n", diag_time_beside(time, s->step_ms, unit_ms > 1 ? s->step_ms : 0),
            primary ? "" : " (for comparison)");
    if (s->nphases)
        fprintf(out, "  %-28s%9s %5s  %s\n", "phase", unit_ms > 1 ? "s" : "ms", "%", "kind");
    for (int i = 0; i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC && s->phases[i].median_ms > 0)
            print_phase(out, &s->phases[i], unit_ms);
    print_sides(out, s);
    fprintf(out, "  communication is %.0f to %.0f %% of wall time\n", 100 * s->communication_low,
            100 * s->communication_high);
    if (s->hidden_share > 0)
        fprintf(out, "  NCCL kernels that compute hides: %.1f %% of the time\n", 100 * s->hidden_share);
    /* Beside an interval that holds the limit it would read as an all-clear. */
    if (s->ratio >= 0 && (s->communication_low > DIAGNOSE_SHARE_LIMIT || s->communication_high <= DIAGNOSE_SHARE_LIMIT))
        fprintf(out, "  communication / compute: %.2f (limit %.1f)\n", s->ratio, DIAGNOSE_RATIO_LIMIT);
}

static void print_gpus(FILE *out, const struct diag_result *r)
{
    if (!r->ngpus)
        return;
    fprintf(out, "\nGPU utilisation (nvidia-smi):\n  %-28s%7s%11s%7s%9s%9s%7s\n", "GPU", "mean %", "deviation",
            "idle %", "samples", "gap s", "W");
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        put_name(out, g->name);
        fprintf(out, "%7.0f%11.0f%7.0f%9ld%9.0f", g->mean, g->deviation, 100 * g->idle, g->samples, g->longest_gap_s);
        fprintf(out, g->power_W > 0 ? "%7.0f\n" : "      -\n", g->power_W);
    }
    if (r->ngpus > 1)
        fprintf(out, "  busiest and idlest GPU differ by %.0f points on average\n", r->gpu_spread);
}

static void print_finding(FILE *out, int number, const struct diag_finding *f)
{
    fprintf(out, "  %d. ", number);
    put_text(out, f->text);
    fprintf(out, " (%s)\n", diag_confidence_names[f->confidence]);
    put_line(out, "     -> ", f->advice);
    if (*f->command)
        put_line(out, "     ", f->command);
    if (*f->place)
        put_line(out, "     ", f->place);
}

static void print_failure(FILE *out, const struct diag_failure *f)
{
    char sure[DIAG_NAME * 2];
    snprintf(sure, sizeof sure, f->echoes ? "%s; lines that follow from it: %ld" : "%s",
             diag_confidence_names[f->confidence], f->echoes);
    put_line(out, "What:  ", f->what);
    put_line(out, "Where: ", f->where);
    put_line(out, "Why:   ", f->why);
    put_line(out, "Do:    ", f->remedy);
    put_line(out, "Check: ", f->check);
    put_line(out, "Sure:  ", sure);
    fputs("Evidence:\n", out);
    for (int i = 0; i < f->nevidence; i++) {
        fputs("  ", out);
        put_text(out, f->evidence[i].place);
        put_line(out, "  ", f->evidence[i].text);
    }
}

static void print_files(FILE *out, const struct diag_result *r)
{
    if (r->nfiles < 2)
        return;
    fputs("\nFiles:\n", out);
    for (int i = 0; i < r->nfiles; i++) {
        const struct diag_file *f = &r->files[i];
        if (!*f->formats && !f->problem)
            continue;
        fputs("  ", out);
        put_text(out, f->name);
        put_line(out, ": ", f->problem ? "not read" : f->formats);
    }
}

void diagnose_text(const struct diag_result *r, FILE *out)
{
    if (r->failure.id)
        print_failure(out, &r->failure);
    if (r->failure.id && r->primary >= 0)
        fputc('\n', out);
    for (int i = 0; i < 3 && (!r->failure.id || r->primary >= 0); i++)
        if (*r->opening[i])
            put_line(out, "", r->opening[i]);
    if (r->primary >= 0)
        print_source(out, &r->sources[r->primary], 1);
    for (int i = 0; i < r->nsources; i++)
        if (i != r->primary)
            print_source(out, &r->sources[i], 0);
    print_gpus(out, r);
    /* The failure's own finding stands above. */
    int number = 0;
    for (int i = 0; i < r->nfindings; i++) {
        if (r->failure.id && !strcmp(r->findings[i].id, r->failure.id))
            continue;
        if (!number)
            fputs("\nNext, the largest savings first:\n", out);
        print_finding(out, ++number, &r->findings[i]);
    }
    print_files(out, r);
}
