/* What came of tuning, for people and as JSON. */
#include <stdio.h>
#include <string.h>

#include "advise/whatif/step.h"
#include "bench/noise/noise.h"
#include "cli/cli.h"
#include "cli/tune.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"
#include "envgen/explain/explain.h"
#include "envgen/report/report.h"

/* What came of tuning. */
struct result {
    const struct tune *tune;
    const struct env_profile *profile;
    const struct bench_points *points; /* it was decided from them; NULL: nothing was measured */
};

static const struct env_shape *shape_of(const struct env_decisions *d, const struct bench_point *p)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (!strcmp(s->engine, p->engine) && !strcmp(s->library, p->library) && s->nodes == p->nodes &&
            s->ranks == p->ranks && s->others == p->others && s->buffers == p->buffers)
            return s;
    }
    return NULL;
}

static int used_at(const struct bench_point *p, const void *decisions)
{
    const struct env_shape *s = shape_of(decisions, p);
    const struct env_range *r = s && s->chosen >= 0 ? env_range_at(s, p->coll, p->bytes) : NULL;
    for (int i = 0; i < p->ncandidates && r; i++)
        if (!strcmp(p->candidates[i].launch.label, s->launches[s->chosen].knobs.label) &&
            !strcmp(p->candidates[i].call.label, r->call.label))
            return i;
    return p->untouched;
}

/* Print the default against what is used, at all points. */
static void print_points(const struct result *t)
{
    const struct env_decisions *d = t->profile->decisions;
    const char *machine = t->tune->machine.name;
    int predicted = env_shape_with(d, BENCH_PREDICTED) != NULL;
    if (t->points && t->points->count && predicted)
        printf("PREDICTED%s%s, nothing was measured; intervals have 90 %%\n\n", machine ? " for " : "",
               machine ? machine : "");
    /* Predictions that stand in comments are used by nobody. */
    if (t->points && t->points->count)
        bench_points_print(t->points, d->predicted || !predicted ? used_at : NULL, d, stdout);
}

int tune_report_changes(const struct env_decisions *d)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (s->chosen > 0)
            return 1;
        for (int c = 0; c < s->ncolls; c++)
            for (int r = 0; r < s->colls[c].nranges; r++)
                if (strcmp(s->colls[c].ranges[r].call.label, BENCH_DEFAULT) != 0)
                    return 1;
    }
    return 0;
}

/* The headline: what was measured of the finished profile. */
static void print_delivered(const struct verify_delivery *d, struct arena *a)
{
    if (d->gain.n)
        printf(
            "Delivered: %s over the baseline at the %d point%s that the profile changes, in %d pairs of starts: %s\n",
            bench_gain_text(a, d->gain), d->points, d->points == 1 ? "" : "s", d->gain.n,
            verify_verdict_name(d->verdict));
    for (int i = 0; i < d->nlost; i++)
        printf("Left out, because it was slower in starts of its own: %s\n", d->lost[i]);
}

/* "48 points (4 collectives, 8 B to 16 MiB)" */
static const char *points_text(const struct bench_points *points, struct arena *a)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    unsigned colls = 0;
    uint64_t low = UINT64_MAX, high = 0;
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        colls |= 1u << p->coll;
        low = p->bytes < low ? p->bytes : low;
        high = p->bytes > high ? p->bytes : high;
    }
    int n = __builtin_popcount(colls);
    return arena_printf(a, "%d point%s (%d collective%s, %s to %s)", points->count, points->count == 1 ? "" : "s", n,
                        n == 1 ? "" : "s", unit_bytes(from, low), unit_bytes(to, high));
}

/* As explain has it: of the call that is nearest to a gain, or of the launch where no call was tried, there are too few
 * samples, or none. */
static int is_untested(const struct bench_point *p)
{
    struct bench_interval near = {0};
    int calls = 0;
    for (int i = 0; i < p->ncandidates; i++) {
        const struct bench_candidate *c = &p->candidates[i];
        const struct bench_interval gain = c->proof.n ? c->proof : c->gain;
        int call = strcmp(c->call.label, BENCH_DEFAULT) != 0;
        if (i == p->untouched || c->status != BENCH_OK || gain.n <= 0 || call < calls)
            continue;
        if (call > calls || gain.median > near.median)
            near = gain;
        calls = call;
    }
    return bench_few(&near);
}

/* Print the worst of what disturbed the measurement in a sentence, and the first words of the other warnings. Of equals
 * the last: it is about gains, the first about the machine. */
static void print_caution(const struct findings *noise, struct arena *a)
{
    const struct finding *worst = NULL;
    const char *also = "";
    for (int i = 0; i < noise->n; i++)
        if (noise->list[i].severity > FINDING_NOTE && (!worst || noise->list[i].severity >= worst->severity))
            worst = &noise->list[i];
    for (int i = 0; i < noise->n; i++) {
        const struct finding *f = &noise->list[i];
        const char *words = arena_printf(a, "%s%s%.*s", f->subject ? f->subject : "", f->subject ? ": " : "",
                                         (int)strcspn(f->text, ":;,"), f->text);
        if (f->severity > FINDING_NOTE && f != worst && !strstr(also, words))
            also = arena_printf(a, "%s%s %s", also, *also ? ";" : ". Also (--verbose):", words);
    }
    if (worst)
        printf("Caution: %s.\n", err_mask_controls(arena_printf(a, "%s%s", finding_sentence(worst, a), also)));
}

/* Print what came of it, with its caveats. */
static void print_verdict(const struct result *t, struct arena *a)
{
    const struct env_decisions *d = t->profile->decisions;
    int few = 0;
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(d, (*e)->evidence))
            puts((*e)->report);
    print_delivered(&t->tune->delivered, a);
    for (int i = 0; t->points && i < t->points->count && !tune_report_changes(d); i++)
        few += is_untested(&t->points->items[i]);
    printf("%s%s\n", env_report_verdict(t->profile, a),
           few ? arena_printf(a, " %d of %d points had too few samples to say.", few, t->points->count) : "");
    if (t->points && t->tune->verbose)
        noise_print(&t->tune->noise, stdout);
    else if (t->points)
        print_caution(&t->tune->noise, a);
}

/* ---- what to do with it ---- */

/* What this was about: how many nodes, and what is in one of them. */
static void print_machine(const struct env_profile *p, struct arena *a)
{
    struct topology *t = topo_load(arena_printf(a, "%s/topology.json", p->dir), NULL);
    int n;
    if (t && t->nclasses)
        printf("Machine: %s (%d node%s): %d GPUs, %d RDMA ports and %d network interfaces%s\n",
               topo_hosts(t, -1, -1, a, &n), t->nhosts, t->nhosts == 1 ? "" : "s", t->classes[0].ngpus,
               t->classes[0].nports, t->classes[0].nnetdevs,
               t->nclasses > 1 ? " in the first class; classes differ"
               : t->nhosts > 1 ? " in each"
                               : "");
    topo_free(t);
}

static void print_measured(const struct result *t, struct arena *a)
{
    const struct env_decisions *d = t->profile->decisions;
    const char *what = env_shape_with(d, BENCH_PREDICTED) ? "Predicted" : "Measured";
    if (t->points && t->points->count && d->nshapes)
        printf("%s: %s with %s on %s%s\n", what, points_text(t->points, a),
               err_mask_controls(arena_strdup(a, d->shapes->library)), env_shape_text(a, d->shapes),
               d->nshapes > 1 ? arena_printf(a, " and %d other shape%s", d->nshapes - 1, d->nshapes > 2 ? "s" : "")
                              : "");
}

static void print_lines(const char *const *lines)
{
    if (*lines)
        puts("\nFor a job script:");
    for (; *lines; lines++)
        printf("  %s\n", *lines);
}

static void print_next(const struct env_profile *p, struct arena *a)
{
    struct env_next rows[ENV_NEXT];
    int width = 0, n = env_report_next(p, cli_typed_self(a), cli_typed_path(a, p->dir), rows, a);
    for (int i = 0; i < n; i++)
        width = (int)strlen(rows[i].command) > width ? (int)strlen(rows[i].command) : width;
    puts("\nNext:");
    for (int i = 0; i < n; i++)
        printf("  %-*s  %s\n", width, rows[i].command, rows[i].why);
}

static int print_json(const struct result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    struct env_question all = {.coll = -1};
    const struct env_profile *p = t->profile;
    const struct verify_delivery *delivered = &t->tune->delivered;
    cJSON *doc = env_explain_json(p, &all, e);
    if (!doc)
        return e->code;
    cJSON *array = cJSON_AddArrayToObject(doc, "lines_to_paste");
    for (const char **line = env_report_lines(p, a); *line; line++)
        json_append_str(array, *line);
    if (t->points)
        findings_add_json(doc, "noise", t->tune->noise.list, t->tune->noise.n);
    if (delivered->gain.n || delivered->nlost) {
        cJSON *o = cJSON_AddObjectToObject(doc, "delivered");
        json_add_str(o, "verdict", verify_verdict_name(delivered->verdict));
        cJSON_AddNumberToObject(o, "gain", delivered->gain.median);
        cJSON_AddNumberToObject(o, "gain_low", delivered->gain.low);
        cJSON_AddNumberToObject(o, "gain_high", delivered->gain.high);
        cJSON_AddNumberToObject(o, "points", delivered->points);
        cJSON_AddNumberToObject(o, "pairs", delivered->gain.n);
        json_add_strs(o, "left_out", delivered->lost, delivered->nlost);
    }
    if (step)
        cJSON_AddItemToObject(doc, "step", env_step_json(step));
    return json_save(doc, "-", e);
}

static int print_result(const struct result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    if (t->tune->json)
        return print_json(t, step, a, e);
    const struct env_profile *p = t->profile;
    if (t->tune->verbose) {
        print_points(t);
        env_print_decisions(p->decisions, stdout);
        putchar('\n');
    }
    print_machine(p, a);
    print_measured(t, a);
    print_verdict(t, a);
    printf("Profile: %s (hash %.16s); report: %s/" ENV_REPORT "\n", p->dir, p->manifest.hash,
           cli_typed_path(a, p->dir));
    print_lines(env_report_lines(p, a));
    print_next(p, a);
    if (step) {
        putchar('\n');
        env_step_print_line(step, stdout);
    }
    return 0;
}

int tune_report(struct tune *t, const struct env_profile *profile, const struct bench_points *points, struct err *e)
{
    const struct result r = {t, profile, points};
    struct err unwritten = {0};
    struct step_estimate step;
    if (env_report_save(profile, NULL, &unwritten))
        log_warn(&t->log, "%s", unwritten.text);
    if (!t->bench.workload)
        return print_result(&r, NULL, t->arena, e);
    struct workload *w = workload_load(t->bench.workload, e);
    int rc = w ? env_step_of_profile(profile, w, 0, t->arena, &step, e) : e->code;
    if (!rc)
        rc = print_result(&r, &step, t->arena, e);
    workload_free(w);
    return rc;
}
