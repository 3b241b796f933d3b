/* What came of tuning, for people and as JSON. */
#include "cli/tune_report.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advise/whatif/step_profile.h"
#include "bench/noise/noise.h"
#include "bench/results/points.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/explain/explain.h"
#include "envgen/profile/profile.h"
#include "envgen/report/report.h"

/* A path as one would type it here. */
static const char *typed(struct arena *a, const char *path)
{
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    return env_shell_word(a, n > 1 && !strncmp(path, here, n) && path[n] == '/' ? path + n + 1 : path);
}

const char *tune_typed_self(struct arena *a)
{
    const char *self = locate_program("nccltune", a, NULL), *found = locate_in_path("nccltune", a);
    struct stat x, y;
    if (!self || (found && !stat(self, &x) && !stat(found, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev))
        return "nccltune";
    return typed(a, self);
}

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

/* Print the default against what is used: with --verbose at all points, else where the two differ. */
static void print_points(const struct tune_result *t, struct arena *a)
{
    const struct env_decisions *d = t->profile->decisions;
    if (!t->points)
        return;
    /* Predictions that stand in comments are used by nobody. */
    bench_used_fn *used = d->predicted || !env_shape_with(d, BENCH_PREDICTED) ? used_at : NULL;
    struct bench_points shown = {.items = arena_alloc(a, ((size_t)t->points->count + 1) * sizeof *shown.items),
                                 .confidence = t->points->confidence};
    for (int i = 0; i < t->points->count; i++) {
        const struct bench_point *p = &t->points->items[i];
        if (t->verbose || used_at(p, d) != p->untouched)
            shown.items[shown.count++] = *p;
    }
    if (shown.count && env_shape_with(d, BENCH_PREDICTED))
        printf("PREDICTED%s%s, nothing was measured; intervals have 90 %%\n\n", t->machine ? " for " : "",
               t->machine ? t->machine : "");
    if (shown.count)
        bench_points_print(&shown, used, d, stdout);
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

static const char *standing_of_predictions(const struct env_decisions *d)
{
    if (!tune_report_changes(d))
        return d->predicted ? "Predicted, not measured: nothing that --predicted may set clears the margin, so the "
                              "defaults stay."
                            : "Predicted, not measured: every interval contains 1.0x, so the defaults stay.";
    return d->predicted
               ? "Predicted, not measured: --predicted sets only kinds of predictions that measurements have proven."
               : "Predicted, not measured: written as comments.";
}

/* The headline: what was measured of the finished profile. */
static void print_delivered(const struct verify_delivery *d, struct arena *a)
{
    if (d && d->gain.n)
        printf(
            "Delivered: %s over the baseline at the %d point%s that the profile changes, in %d pairs of starts: %s\n",
            bench_gain_text(a, d->gain), d->points, d->points == 1 ? "" : "s", d->gain.n,
            verify_verdict_name(d->verdict));
    for (int i = 0; d && i < d->nlost; i++)
        printf("%s  %s\n", i ? "" : "Left out, because they were slower in starts of their own:\n", d->lost[i]);
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

static void print_nothing_proven(const struct bench_points *points, struct arena *a)
{
    int few = 0;
    for (int i = 0; points && i < points->count; i++)
        few += is_untested(&points->items[i]);
    printf("Nothing is proven to be faster than the default here: tested at %s%s%s.\n",
           points && few ? arena_printf(a, "%d of ", points->count - few) : "",
           points ? points_text(points, a) : "all measured sizes",
           few ? arena_printf(a, "; %d had too few samples to say", few) : "");
}

/* Print a line for each launch and each range of sizes that is faster than its default. */
static void print_gains(const struct env_decisions *d, struct arena *a)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (s->chosen > 0)
            printf("  %s on %s: %s\n", s->launches[s->chosen].knobs.label, env_shape_text(a, s),
                   env_gain_text(a, s->launches[s->chosen].gain));
        for (int c = 0; c < s->ncolls; c++)
            for (int r = 0; r < s->colls[c].nranges; r++) {
                const struct env_range *range = &s->colls[c].ranges[r];
                if (strcmp(range->call.label, BENCH_DEFAULT) != 0 && range->npoints)
                    printf("  %s\n",
                           env_gain_sentence(a, s, s->colls[c].coll, range->points, range->points + range->npoints - 1,
                                             env_gain_text(a, range->gain), range->call.label));
            }
    }
}

/* Print what came of it, with its caveats. */
static void print_verdict(const struct tune_result *t, struct arena *a)
{
    const struct env_decisions *d = t->profile->decisions;
    int predicted = env_shape_with(d, BENCH_PREDICTED) != NULL;
    putchar('\n');
    print_delivered(t->delivered, a);
    if (!d->nshapes)
        puts("No collective was measured: the profile holds what topology and fabric alone justify.");
    else if (predicted)
        puts(standing_of_predictions(d));
    else if (tune_report_changes(d)) {
        printf("Faster than the default:\n");
        print_gains(d, a);
        puts("Everything else stays at its default.");
    } else
        print_nothing_proven(t->points, a);
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(d, (*e)->evidence))
            puts((*e)->report);
    if (t->noise)
        noise_print(t->noise, stdout);
}

/* ---- what to do with it ---- */

/* What this was about: how many nodes, and what is in one of them. */
static void print_machine(const struct env_profile *p, struct arena *a)
{
    struct topology *t = topo_load(arena_printf(a, "%s/topology.json", p->dir), NULL);
    int n;
    if (t && t->nclasses)
        printf("\nMachine: %s (%d node%s): %d GPUs, %d RDMA ports and %d network interfaces%s\n",
               topo_hosts(t, -1, -1, a, &n), t->nhosts, t->nhosts == 1 ? "" : "s", t->classes[0].ngpus,
               t->classes[0].nports, t->classes[0].nnetdevs,
               t->nclasses > 1 ? " in the first class; classes differ"
               : t->nhosts > 1 ? " in each"
                               : "");
    topo_free(t);
}

static void print_lines(const char *const *lines)
{
    if (*lines)
        puts("\nFor a job script:");
    for (; *lines; lines++)
        printf("  %s\n", *lines);
}

struct next {
    const char *command, *why;
};

static void print_next(const struct env_profile *p, int changes_jobs, struct arena *a)
{
    const struct env_decisions *d = p->decisions;
    const char *self = tune_typed_self(a), *dir = typed(a, p->dir);
    struct next rows[4];
    int n = 0, width = 0;
    rows[n++] = (struct next){arena_printf(a, "%s explain %s", self, dir), "what was decided, and why"};
    if (changes_jobs && d->nshapes && !env_shape_with(d, BENCH_PREDICTED))
        rows[n++] = (struct next){arena_printf(a, "%s verify %s", self, dir), "measure it against the baseline again"};
    if (changes_jobs && !env_shape_with(d, BENCH_ON_HOST))
        rows[n++] = (struct next){arena_printf(a, "%s install-profile %s", self, dir),
                                  "deploy it to jobs; --uninstall removes it"};
    if (!env_shape_with(d, BENCH_ON_GPUS))
        rows[n++] = (struct next){arena_printf(a, "%s tune --hosts 'node[1-4]' -o /shared/profile", self),
                                  "measure nodes with GPUs, from here or in a job"};
    for (int i = 0; i < n; i++)
        width = (int)strlen(rows[i].command) > width ? (int)strlen(rows[i].command) : width;
    puts("\nNext:");
    for (int i = 0; i < n; i++)
        printf("  %-*s  %s\n", width, rows[i].command, rows[i].why);
}

static int print_json(const struct tune_result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    struct env_question all = {.coll = -1};
    const struct env_profile *p = t->profile;
    cJSON *doc = env_explain_json(p, &all, e);
    if (!doc)
        return e->code;
    cJSON *array = cJSON_AddArrayToObject(doc, "lines_to_paste");
    for (const char **line = env_report_lines(p, a); *line; line++)
        json_append_str(array, *line);
    if (t->noise)
        findings_add_json(doc, "noise", t->noise->list, t->noise->n);
    if (t->delivered) {
        cJSON *o = cJSON_AddObjectToObject(doc, "delivered");
        json_add_str(o, "verdict", verify_verdict_name(t->delivered->verdict));
        cJSON_AddNumberToObject(o, "gain", t->delivered->gain.median);
        cJSON_AddNumberToObject(o, "gain_low", t->delivered->gain.low);
        cJSON_AddNumberToObject(o, "gain_high", t->delivered->gain.high);
        cJSON_AddNumberToObject(o, "points", t->delivered->points);
        cJSON_AddNumberToObject(o, "pairs", t->delivered->gain.n);
        json_add_strs(o, "left_out", t->delivered->lost, t->delivered->nlost);
    }
    if (step)
        cJSON_AddItemToObject(doc, "step", env_step_json(step));
    return json_save(doc, "-", e);
}

static int print(const struct tune_result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    if (t->json)
        return print_json(t, step, a, e);
    const struct env_profile *p = t->profile;
    const char **lines = env_report_lines(p, a);
    print_points(t, a);
    if (t->verbose || tune_report_changes(p->decisions))
        env_print_decisions(p->decisions, stdout);
    print_machine(p, a);
    print_verdict(t, a);
    printf("\nProfile: %s (hash %.16s); report: %s/" ENV_REPORT "\n", p->dir, p->manifest.hash, typed(a, p->dir));
    print_lines(lines);
    print_next(p, *lines != NULL, a);
    if (step) {
        putchar('\n');
        env_step_print_line(step, stdout);
    }
    return 0;
}

static int print_for_job(const struct tune_result *t, struct arena *a, struct err *e)
{
    struct workload *w = workload_load(t->workload, e);
    struct step_estimate step;
    int rc = w ? env_step_of_profile(t->profile, w, 0, a, &step, e) : e->code;
    if (!rc)
        rc = print(t, &step, a, e);
    workload_free(w);
    return rc;
}

int tune_report(const struct tune_result *t, struct arena *a, struct err *e)
{
    return t->workload ? print_for_job(t, a, e) : print(t, NULL, a, e);
}
