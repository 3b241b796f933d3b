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
#include "core/hostlist.h"
#include "core/json.h"
#include "core/locate.h"
#include "core/vars/text.h"
#include "envgen/explain/explain.h"
#include "envgen/profile/profile.h"
#include "envgen/report/report.h"

/* A path as one would type it here. */
static const char *typed(struct arena *a, const char *path)
{
    char here[PATH_MAX];
    size_t n = getcwd(here, sizeof here) ? strlen(here) : 0;
    return env_path_ok(path) && n > 1 && !strncmp(path, here, n) && path[n] == '/' ? path + n + 1
                                                                                   : env_report_word(a, path);
}

/* This program, by its name where the shell finds it by that. */
static const char *typed_self(struct arena *a)
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
            s->ranks == p->ranks && s->others == p->others && s->load == p->load && s->buffers == p->buffers)
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

/* Predictions that stand in comments are used by nobody. */
static int applies(const struct env_decisions *d)
{
    return d->predicted || !env_shape_with(d, BENCH_PREDICTED);
}

/* The default against what is used at every point. */
static void print_points(const struct tune_result *t)
{
    if (!t->points)
        return;
    if (env_shape_with(t->profile->decisions, BENCH_PREDICTED))
        printf("PREDICTED%s%s, nothing was measured; intervals are bands that hold nine of ten\n\n",
               t->machine ? " for " : "", t->machine ? t->machine : "");
    if (t->points->count)
        bench_points_print(t->points, applies(t->profile->decisions) ? used_at : NULL, t->profile->decisions, stdout);
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

/* ---- what to do with it ---- */

/* What this was about: how many nodes, and what is in one of them. */
static void print_machine(const struct env_profile *p, struct arena *a)
{
    struct topology *t = topo_load(arena_printf(a, "%s/topology.json", p->dir), NULL);
    const char **names = t ? arena_alloc(a, ((size_t)t->nhosts + 1) * sizeof *names) : NULL;
    for (int i = 0; t && i < t->nhosts; i++)
        names[i] = t->hosts[i].name;
    if (t && t->nclasses)
        printf("\nMachine: %s (%d node%s): %d GPUs, %d RDMA ports and %d network interfaces%s\n",
               hostlist_fold(names, t->nhosts, a), t->nhosts, t->nhosts == 1 ? "" : "s", t->classes[0].ngpus,
               t->classes[0].nports, t->classes[0].nnetdevs,
               t->nclasses > 1 ? " in the first, not all are alike"
               : t->nhosts > 1 ? " in each"
                               : "");
    topo_free(t);
}

static void print_lines(const char *const *lines, const struct env_decisions *d)
{
    if (!*lines && !env_shape_with(d, BENCH_PREDICTED))
        puts("Nothing is better than the library's defaults beyond doubt: a job needs no setting.");
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
    const char *self = typed_self(a), *dir = typed(a, p->dir);
    struct next rows[4];
    int n = 0, width = 0;
    rows[n++] = (struct next){arena_printf(a, "%s explain %s", self, dir), "why, and what lost"};
    if (changes_jobs && d->nshapes && !env_shape_with(d, BENCH_PREDICTED))
        rows[n++] = (struct next){arena_printf(a, "%s verify %s", self, dir), "measure it against the default again"};
    if (changes_jobs)
        rows[n++] = (struct next){arena_printf(a, "%s install-profile %s", self, dir),
                                  "every job gets it; --uninstall takes it back"};
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
    print_points(t);
    if (t->noise)
        noise_print(t->noise, stdout);
    env_print_decisions(p->decisions, stdout);
    print_machine(p, a);
    printf("Profile: %s (hash %.16s)\n", p->dir, p->manifest.hash);
    print_standing(p->decisions);
    printf("Report: %s/" ENV_REPORT "\n", env_report_word(a, p->dir));
    print_lines(lines, p->decisions);
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
