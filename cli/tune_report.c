/* What came of tuning, for people and as JSON. */
#include "cli/tune_report.h"

#include <stdio.h>
#include <string.h>

#include "bench/engines/nccl/engine.h"
#include "bench/noise/noise.h"
#include "bench/results/points.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/vars/text.h"
#include "envgen/explain/explain.h"
#include "envgen/profile/profile.h"
#include "envgen/step/profile.h"

static const char *word(struct arena *a, const char *path)
{
    const char *quoted = env_path_ok(path) ? path : env_shell_quote(a, path);
    return quoted ? quoted : path;
}

static int sets_nccl(const struct env_decisions *d)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].family, BENCH_FAMILY_NCCL) && d->settings[i].value)
            return 1;
    return 0;
}

/* The lines for a job script; ends with NULL. */
static const char **lines_to_paste(struct arena *a, const struct env_profile *p)
{
    const char **lines = arena_alloc(a, 5 * sizeof *lines), *plugin = locate_plugin(a, NULL);
    int n = 0;
    if (sets_nccl(p->decisions))
        lines[n++] = arena_printf(a, "source %s", word(a, arena_printf(a, "%s/nccl.sh", p->dir)));
    if (env_shape_with(p->decisions, BENCH_ON_HOST))
        lines[n++] = arena_printf(a, "source %s", word(a, arena_printf(a, "%s/openmpi.sh", p->dir)));
    lines[n++] = arena_printf(a, "export NCCLTUNE_PROFILE=%s", word(a, p->dir));
    if (plugin)
        lines[n++] = arena_printf(a, "export NCCL_TUNER_PLUGIN=%s", word(a, plugin));
    return lines;
}

/* The default against the best at every point. */
static void print_points(const struct tune_result *t)
{
    if (!t->points)
        return;
    if (env_shape_with(t->profile->decisions, BENCH_PREDICTED))
        printf("PREDICTED%s%s, nothing was measured; intervals are bands that hold nine of ten\n\n",
               t->machine ? " for " : "", t->machine ? t->machine : "");
    if (t->points->count)
        bench_points_print(t->points, stdout);
}

/* Whether a launch or a call was chosen that is not the library's own. */
static int changes(const struct env_decisions *d)
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
    if (!changes(d))
        return "Predicted, not measured: no gain is larger than the doubt about it, so the defaults stay.";
    return d->predicted ? "Predicted, not measured: written as settings because --predicted asked for it."
                        : "Predicted, not measured: written as comments; --predicted would make settings of it.";
}

/* What the numbers are worth. */
static void print_standing(const struct env_decisions *d)
{
    if (!d->nshapes)
        puts("No collective was measured: it holds what topology and fabric alone justify.");
    if (env_shape_with(d, BENCH_PREDICTED))
        puts(standing_of_predictions(d));
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(d, (*e)->evidence))
            puts((*e)->report);
}

static void print_lines(const struct env_profile *p, struct arena *a)
{
    const struct env_decisions *d = p->decisions;
    if (env_shape_with(d, BENCH_PREDICTED) && !sets_nccl(d) && !(d->predicted && changes(d)))
        return; /* comments do nothing in a job */
    puts("\nFor a job script:\n");
    for (const char **line = lines_to_paste(a, p); *line; line++)
        printf("  %s\n", *line);
    putchar('\n');
}

static int print_json(const struct tune_result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    struct env_question all = {.coll = -1};
    const struct env_profile *p = t->profile;
    cJSON *doc = env_explain_json(p, &all, e);
    if (!doc)
        return e->code;
    cJSON *array = cJSON_AddArrayToObject(doc, "lines_to_paste");
    for (const char **line = lines_to_paste(a, p); *line; line++)
        cJSON_AddItemToArray(array, cJSON_CreateString(*line));
    if (t->noise)
        cJSON_AddItemToObject(doc, "noise", findings_json(t->noise->list, t->noise->n));
    if (step)
        cJSON_AddItemToObject(doc, "step", env_step_json(step));
    int rc = json_save(doc, "-", e);
    cJSON_Delete(doc);
    return rc;
}

static int print_text(const struct tune_result *t, const struct step_estimate *step, struct arena *a, struct err *e)
{
    const struct env_profile *p = t->profile;
    print_points(t);
    if (t->noise)
        noise_print(t->noise, stdout);
    env_print_decisions(p->decisions, stdout);
    printf("\nProfile: %s (hash %.16s)\n", p->dir, p->manifest.hash);
    print_standing(p->decisions);
    printf("Why: nccltune explain %s\n", word(a, p->dir));
    print_lines(p, a);
    if (step) {
        putchar('\n');
        env_step_print_line(step, stdout);
    }
    return fflush(stdout) ? err_errno(e, "standard output cannot be written") : 0;
}

static int print_for_job(const struct tune_result *t, struct arena *a, struct err *e)
{
    struct workload *w = workload_load(t->workload, e);
    struct step_estimate step;
    int rc = w ? env_step_of_profile(t->profile, w, 0, a, &step, e) : e->code;
    if (!rc)
        rc = t->json ? print_json(t, &step, a, e) : print_text(t, &step, a, e);
    workload_free(w);
    return rc;
}

int tune_report(const struct tune_result *t, struct arena *a, struct err *e)
{
    return t->workload ? print_for_job(t, a, e) : t->json ? print_json(t, NULL, a, e) : print_text(t, NULL, a, e);
}
