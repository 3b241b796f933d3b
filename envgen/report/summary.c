/* What the reader wants first, what is set, and what to do with it. */
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "core/xml.h"
#include "envgen/decide/decide.h"
#include "envgen/report/page.h"
#include "envgen/report/report.h"
#include "envgen/report/report_internal.h"
#include "model/model.h"
#include "tuner/table/table.h"

/* ---- what a job script needs of a profile, to be pasted ---------------------------------------------------------- */

static int sets(const struct env_decisions *d, const char *family)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].family, family) && d->settings[i].value)
            return 1;
    return 0;
}

/* Whether tuner.csv says anything, so that a job needs the plugin. */
static int has_rules(struct arena *a, const struct env_profile *p)
{
    struct tuner_table table = {0};
    char *text;
    size_t bytes;
    int found = !file_read_text(arena_printf(a, "%s/tuner.csv", p->dir), TUNER_BYTES_LIMIT, a, &text, &bytes, NULL) &&
                !tuner_table_parse(&table, text, bytes, NULL, NULL) && table.count;
    tuner_table_free(&table);
    return found;
}

const char **env_report_lines(const struct env_profile *p, struct arena *a)
{
    const char **lines = arena_alloc(a, 5 * sizeof *lines), *plugin = locate_program(LOCATE_PLUGIN, a, NULL);
    int n = 0;
    if (sets(p->decisions, BENCH_FAMILY_NCCL))
        lines[n++] = arena_printf(a, "source %s", env_shell_word(a, arena_printf(a, "%s/nccl.sh", p->dir)));
    if (sets(p->decisions, BENCH_FAMILY_OPENMPI))
        lines[n++] = arena_printf(a, "source %s", env_shell_word(a, arena_printf(a, "%s/openmpi.sh", p->dir)));
    if (plugin && has_rules(a, p)) {
        lines[n++] = arena_printf(a, "export NCCLTUNE_PROFILE=%s", env_shell_word(a, p->dir));
        lines[n++] = arena_printf(a, "export NCCL_TUNER_PLUGIN=%s", env_shell_word(a, plugin));
    }
    return lines;
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/* A range of sizes whose call is not the library's own. */
struct gained {
    const struct env_shape *shape;
    const struct env_coll *coll;
    const struct env_range *range;
};

static int by_gain(const void *x, const void *y)
{
    const struct gained *a = x, *b = y;
    return (b->range->gain.median > a->range->gain.median) - (b->range->gain.median < a->range->gain.median);
}

/* The ranges of sizes with another call than the baseline's, the largest gain first; in r->a. */
static struct gained *gains_of(struct report *r, int *n)
{
    struct gained *all = NULL;
    *n = 0;
    for (int i = 0; i < r->d->nshapes; i++)
        for (int c = 0; c < r->d->shapes[i].ncolls; c++)
            for (int k = 0; k < r->d->shapes[i].colls[c].nranges; k++) {
                const struct env_coll *coll = &r->d->shapes[i].colls[c];
                if (!coll->ranges[k].call.nsettings || !coll->ranges[k].gain.n || !coll->ranges[k].npoints)
                    continue;
                ARENA_ADD(r->a, all, *n) = (struct gained){&r->d->shapes[i], coll, &coll->ranges[k]};
            }
    if (*n)
        qsort(all, (size_t)*n, sizeof *all, by_gain);
    return all;
}

/* The launch with the largest gain; NULL: no shape uses another one than the baseline's. */
static const struct env_shape *best_launch(const struct env_decisions *d)
{
    const struct env_shape *best = NULL;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (s->chosen > 0 && (!best || s->launches[s->chosen].gain.median > best->launches[best->chosen].gain.median))
            best = s;
    }
    return best;
}

/* Warnings about the measurement, each kind once: every node of a busy cluster has the same. */
static void put_cautions(struct report *r, FILE *out)
{
    const struct findings none = {0}, *noise = r->measured ? &r->measured->noise : &none;
    for (int i = 0; i < noise->n; i++) {
        int before = 0, alike = 0;
        for (int k = 0; k < noise->n; k++) {
            int same = !strcmp(noise->list[k].id, noise->list[i].id);
            before += same && k < i;
            alike += same;
        }
        if (noise->list[i].severity <= FINDING_NOTE || before)
            continue;
        const char *about = noise->list[i].subject;
        const char *text =
            arena_printf(r->a, "Caution: %s%s%s", about ? about : "", about ? ": " : "", noise->list[i].text);
        page_put(out, "p",
                 alike > 1 ? arena_printf(r->a, "%s (and %d more like it, below).", text, alike - 1)
                           : arena_printf(r->a, "%s.", text));
    }
}

static const char *verdict_text(struct report *r, const struct gained *all, int n)
{
    const struct env_shape *launch = best_launch(r->d);
    const char *text = "";
    if (env_shape_with(r->d, BENCH_PREDICTED))
        text = "PREDICTED for a machine that was not measured; intervals have 90 %. ";
    if (!r->d->nshapes)
        text = "No collective was measured: the profile holds what topology and fabric alone justify.";
    else if (!launch && !n)
        text = arena_printf(r->a, "%s%s", text,
                            *text ? "No predicted gain is clear of 1.0x, so the defaults stay."
                                  : "Nothing is proven to be faster than the baseline here.");
    const struct env_shape *whole = launch ? launch : n ? all[0].shape : NULL;
    if (whole && whole->total_gain.n)
        text = arena_printf(r->a, "%sAltogether %s over the baseline on %s. ", text,
                            env_gain_text(r->a, whole->total_gain), env_shape_text(r->a, whole));
    if (launch)
        text = arena_printf(r->a, "%s%s on %s is %s over the baseline. ", text,
                            launch->launches[launch->chosen].knobs.label, env_shape_text(r->a, launch),
                            env_gain_text(r->a, launch->launches[launch->chosen].gain));
    if (n) {
        const struct env_range *best = all[0].range;
        text = arena_printf(r->a, "%sThe largest gain of a call%s: %s. ", text, launch ? ", on top of that" : "",
                            env_gain_sentence(r->a, all[0].shape, all[0].coll->coll, best->points,
                                              best->points + best->npoints - 1, env_gain_text(r->a, best->gain),
                                              best->call.label));
        if (n > 1)
            text = arena_printf(r->a, "%s%d other size range%s faster calls, too. ", text, n - 1,
                                n > 2 ? "s have" : " has");
    }
    if (launch || n)
        text = arena_printf(r->a, "%s%s", text,
                            env_shape_with(r->d, BENCH_PREDICTED) && !r->d->predicted
                                ? "Predictions are written as comments: the defaults stay."
                                : "Everything else stays at its default.");
    return text;
}

const char *env_report_verdict(const struct env_profile *p, struct arena *a)
{
    struct report r = {.p = p, .d = p->decisions, .a = a};
    int n;
    const struct gained *all = gains_of(&r, &n);
    return verdict_text(&r, all, n);
}

/* What came of it, and what limits that. */
static void put_verdict(struct report *r, const struct gained *all, int n, FILE *out)
{
    page_put(out, "p class=\"verdict\"", verdict_text(r, all, n));
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(r->d, (*e)->evidence))
            page_put(out, "p", (*e)->report);
    put_cautions(r, out);
    if (r->d->today)
        page_put(out, "p", arena_printf(r->a, "Note: %s.", r->d->today));
}

int env_report_next(const struct env_profile *p, const char *self, const char *dir, struct env_next *rows,
                    struct arena *a)
{
    const struct env_decisions *d = p->decisions;
    const int predicted = env_shape_with(d, BENCH_PREDICTED) != NULL, gpus = env_shape_with(d, BENCH_ON_GPUS) != NULL;
    const int changes = *env_report_lines(p, a) != NULL;
    int n = 0;
    rows[n++] = (struct env_next){arena_printf(a, "%s explain %s", self, dir), "what was decided, and why"};
    if (changes && d->nshapes && !predicted)
        rows[n++] =
            (struct env_next){arena_printf(a, "%s verify %s", self, dir), "measure it against the baseline again"};
    if (changes && !env_shape_with(d, BENCH_ON_HOST))
        rows[n++] = (struct env_next){arena_printf(a, "%s install-profile %s", self, dir),
                                      "deploy it to jobs; --uninstall removes it"};
    if (!gpus && n < ENV_NEXT)
        rows[n++] = (struct env_next){arena_printf(a, "%s tune --hosts 'node[1-4]' -o /shared/profile", self),
                                      "measure nodes with GPUs, from here or in a job"};
    if (gpus && !changes)
        rows[n++] = (struct env_next){arena_printf(a, "%s tune --force --budget 1h -o %s", self, dir),
                                      "measure longer, which proves smaller gains"};
    if (n < ENV_NEXT)
        rows[n++] = (struct env_next){gpus ? arena_printf(a, "%s whatif --topology %s/topology.json", self, dir)
                                           : arena_printf(a, "%s whatif --machine dgx-h100", self),
                                      "predict other settings and more nodes"};
    return n;
}

/* Beside the plots, where a first screen has room. */
static void put_next(struct report *r, FILE *out)
{
    struct env_next rows[ENV_NEXT];
    const char *text = "";
    int n = env_report_next(r->p, "nccltune", env_shell_word(r->a, r->p->dir), rows, r->a);
    for (int i = 0; i < n; i++)
        text = arena_printf(r->a, "%s%s# %s\n%s", text, i ? "\n" : "", rows[i].why, rows[i].command);
    fputs("<div>\n", out);
    page_put(out, "h3", "Next");
    page_put(out, "pre", text);
    fputs("</div>\n", out);
}

/* The bandwidth of AllReduce, or of the first collective, where there is no gain to draw. */
static void draw_baseline(struct report *r, FILE *out)
{
    const struct env_shape *s = &r->d->shapes[0];
    const struct env_coll *c = s->colls;
    for (int i = 0; i < s->ncolls; i++)
        c = s->colls[i].coll == COLL_ALLREDUCE ? &s->colls[i] : c;
    if (s->ncolls)
        report_draw_sizes(r, s, c, out);
}

static void put_gains(struct report *r, const struct gained *all, int n, FILE *out)
{
    const int most = 8, plots = 2;
    const struct env_shape *launch = best_launch(r->d);
    fputs("<div class=\"plots\">\n", out);
    for (int i = 0; !n && launch && i < launch->ncolls && i < plots; i++)
        report_draw_sizes(r, launch, &launch->colls[i], out);
    if (!n && !launch && r->d->nshapes)
        draw_baseline(r, out);
    for (int i = 0, drawn = 0; i < n && drawn < plots; i++) {
        int before = 0;
        for (int k = 0; k < i; k++)
            before |= all[k].coll == all[i].coll;
        if (!before) {
            report_draw_sizes(r, all[i].shape, all[i].coll, out);
            drawn++;
        }
    }
    put_next(r, out);
    fputs("</div>\n", out);
    if (!n)
        return;
    PAGE_TABLE(out, NULL, "gain of the call", "used", "collective", "sizes", "on");
    for (int i = 0; i < n && i < most; i++) {
        char sizes[3 * UNIT_TEXT];
        PAGE_ROW(out, NULL, env_gain_text(r->a, all[i].range->gain), all[i].range->call.label,
                 coll_name(all[i].coll->coll), unit_range(sizes, all[i].range->min_bytes, all[i].range->max_bytes),
                 env_shape_text(r->a, all[i].shape));
    }
    page_table_end(out);
}

/* Return the model of the baseline on the first class, in r->a; NULL: no GPU, or more than it knows. */
static struct model *model_of(struct report *r, int nodes, int ranks_per_node)
{
    struct model_setup with = {0};
    if (env_model_setup(r->d, r->t, 0, ENV_UNDER_NOTHING, r->a, &with.nccl))
        return NULL;
    with.nccl.nodes = nodes;
    with.nccl.ranks_per_node = ranks_per_node;
    return model_new(&with, r->a, NULL);
}

/* What struct model_time calls a limit, by how it begins. */
static struct picture_mark mark_of(const char *limit)
{
    static const struct {
        const char *begins;
        enum picture_limit what;
    } limits[] = {{"NIC ", PICTURE_NIC},        {"PCIe of ", PICTURE_PCIE},  {"NVLink", PICTURE_GPU_LINKS},
                  {"XGMI", PICTURE_GPU_LINKS},  {"GPU memory", PICTURE_GPU}, {"thread blocks", PICTURE_GPU},
                  {"host memory", PICTURE_CPU}, {"TCP of the", PICTURE_CPU}, {"the link between sockets", PICTURE_CPU}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (!strncmp(limit, limits[i].begins, strlen(limits[i].begins)))
            return (struct picture_mark){limits[i].what, limit + strlen(limits[i].begins), NULL};
    return (struct picture_mark){0};
}

/* The machine's picture; what limits its largest AllReduce is marked. */
static void put_machine(struct report *r, FILE *out)
{
    struct model_time t;
    const struct topo_class *c = r->t && r->t->nclasses ? &r->t->classes[0] : NULL;
    if (!report_has_picture(r))
        return;
    const struct model_call call = {COLL_ALLREDUCE, (uint64_t)1 << 30, -1, -1, 0};
    const struct model *m = model_of(r, r->t->nhosts, c->ngpus);
    if (!m || model_predict(m, &call, &t)) {
        report_draw_picture(r->t, NULL, out);
        return;
    }
    struct picture_mark mark = mark_of(t.limit);
    const char *others = (mark.what == PICTURE_NIC || mark.what == PICTURE_PCIE) && c->nports > 1 ? " and those as fast"
                         : mark.what == PICTURE_GPU_LINKS && c->ngpus > 1 ? " and of the other GPUs"
                                                                          : "";
    mark.words = arena_printf(r->a, "bottleneck: %s%s", t.limit, others);
    page_put(out, "p",
             arena_printf(r->a, "An AllReduce of 1 GiB among all GPUs is limited by %s (predicted)%s.", t.limit,
                          mark.what ? ", marked in red" : ""));
    report_draw_picture(r->t, mark.what ? &mark : NULL, out);
}

static void draw_summary(struct report *r, FILE *out)
{
    int n;
    const struct gained *all = gains_of(r, &n);
    put_verdict(r, all, n, out);
    put_gains(r, all, n, out);
    put_machine(r, out);
    report_draw_findings(r, out);
    page_put(out, "p",
             arena_printf(r->a, "Profile %s, hash %.16s, written %s by nccltune %s.", r->p->dir, r->p->manifest.hash,
                          r->p->manifest.created, r->p->manifest.tool));
}

const struct report_part report_summary = {"summary", "Summary", NULL, draw_summary};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void put_settings(struct report *r, int written, FILE *out)
{
    for (int i = 0; i < r->d->nsettings; i++) {
        const struct env_setting *s = &r->d->settings[i];
        if (written == (s->value != NULL))
            PAGE_ROW(out, written ? "used" : NULL, s->name, s->value ? s->value : "not set",
                     s->node_class ? s->node_class : "all", s->why, s->source);
    }
}

static void draw_settings(struct report *r, FILE *out)
{
    PAGE_TABLE(out, NULL, "variable", "value", "nodes", "why", "source");
    put_settings(r, 1, out);
    put_settings(r, 0, out);
    page_table_end(out);
    if (!r->d->nsettings)
        page_put(out, "p", "No variables.");
}

const struct report_part report_settings = {"settings", "Settings", NULL, draw_settings};

/* ---- install and undo -------------------------------------------------------------------------------------------- */

static void draw_install(struct report *r, FILE *out)
{
    static const struct {
        const char *what, *command, *of_profile;
    } steps[] = {
        {"Measure baseline and profile again", "verify", ""},
        {"For jobs of one partition first", "install-profile", " --partition NAME"},
        {"For all jobs of a site with Slurm hooks", "install-profile", ""},
        {"For all jobs of nodes without hooks, through NCCL's own file", "install-profile", " --hosts LIST --no-hooks"},
        {"Explain it in a terminal", "explain", ""},
    };
    const char *profile = env_shell_word(r->a, r->p->dir);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        page_put(out, "p", steps[i].what);
        page_put(out, "pre", arena_printf(r->a, "nccltune %s %s%s", steps[i].command, profile, steps[i].of_profile));
    }
    const char *text = NULL;
    for (const char **line = env_report_lines(r->p, r->a); *line; line++)
        text = text ? arena_printf(r->a, "%s\n%s", text, *line) : *line;
    if (text) {
        page_put(out, "p", "For one job only, in its script");
        page_put(out, "pre", text);
    }
    page_put(out, "p", "Undo: previous profile; or nothing for jobs that start from now on");
    page_put(out, "pre", "nccltune install-profile --previous\nnccltune install-profile --uninstall");
}

const struct report_part report_install = {"install", "Install and undo", NULL, draw_install};
