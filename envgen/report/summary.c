/* What the reader wants first, what is set, and what to do with it. */
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/locate.h"
#include "core/page.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "core/xml.h"
#include "envgen/decide/decide.h"
#include "envgen/report/report.h"
#include "envgen/report/report_internal.h"
#include "probe/format/format.h"
#include "tuner/table/table.h"

/* ---- what a job script needs of a profile, to be pasted ---------------------------------------------------------- */

const char *env_report_word(struct arena *a, const char *path)
{
    const char *quoted = env_path_ok(path) ? path : env_shell_quote(a, path);
    return quoted ? quoted : path;
}

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
    const char **lines = arena_alloc(a, 5 * sizeof *lines), *plugin = locate_plugin(a, NULL);
    int n = 0;
    if (sets(p->decisions, BENCH_FAMILY_NCCL))
        lines[n++] = arena_printf(a, "source %s", env_report_word(a, arena_printf(a, "%s/nccl.sh", p->dir)));
    if (sets(p->decisions, BENCH_FAMILY_OPENMPI))
        lines[n++] = arena_printf(a, "source %s", env_report_word(a, arena_printf(a, "%s/openmpi.sh", p->dir)));
    if (plugin && has_rules(a, p)) {
        lines[n++] = arena_printf(a, "export NCCLTUNE_PROFILE=%s", env_report_word(a, p->dir));
        lines[n++] = arena_printf(a, "export NCCL_TUNER_PLUGIN=%s", env_report_word(a, plugin));
    }
    return lines;
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

static void put_card(FILE *out, const char *figure, const char *words)
{
    fputs("<li><b>", out);
    xml_put(out, figure, XML_WHOLE);
    fputs("</b>", out);
    xml_put(out, words, XML_WHOLE);
    fputs("</li>\n", out);
}

/* What changes: settings that are written, and ranges of sizes for which a call is not the library's own. */
static int count_settings(const struct env_decisions *d)
{
    int n = 0;
    for (int i = 0; i < d->nsettings; i++)
        n += d->settings[i].value != NULL;
    return n;
}

static int count_calls(const struct env_decisions *d)
{
    int n = 0;
    for (int i = 0; i < d->nshapes; i++)
        for (int c = 0; c < d->shapes[i].ncolls; c++)
            for (int k = 0; k < d->shapes[i].colls[c].nranges; k++)
                n += d->shapes[i].colls[c].ranges[k].call.nsettings > 0;
    return n;
}

static void put_gains(struct report *r, FILE *out)
{
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        const char *on = arena_printf(r->a, "%s, %s, %s", s->library, env_shape_text(r->a, s),
                                      bench_evidence_text(bench_evidence_of(s->engine)));
        put_card(out, s->total_gain.n ? arena_printf(r->a, "%.2fx", s->total_gain.median) : "baseline",
                 s->total_gain.n ? arena_printf(r->a, "(%.2f to %.2f) over %d sizes: %s", s->total_gain.low,
                                                s->total_gain.high, s->total_gain.n, on)
                                 : on);
    }
}

static void put_counts(struct report *r, FILE *out)
{
    int settings = count_settings(r->d), calls = count_calls(r->d);
    put_card(out, arena_printf(r->a, "%d", settings), settings == 1 ? "variable is set" : "variables are set");
    put_card(out, arena_printf(r->a, "%d", calls),
             calls == 1 ? "range of sizes has a call of its own" : "ranges of sizes have a call of their own");
    if (!r->t)
        return;
    int errors = finding_count(r->t->findings, r->t->nfindings, FINDING_ERROR),
        warnings = finding_count(r->t->findings, r->t->nfindings, FINDING_WARNING);
    put_card(out, arena_printf(r->a, "%d / %d", errors, warnings), "errors and warnings about the machine");
    if (r->fabric)
        put_card(out, arena_printf(r->a, "%d", r->verdict.nfaults), "faults of the fabric");
}

/* A range of sizes whose call is not the library's own. */
struct gained {
    const struct env_shape *shape;
    int coll;
    const struct env_range *range;
};

static int by_gain(const void *x, const void *y)
{
    const struct gained *a = x, *b = y;
    return (b->range->gain.median > a->range->gain.median) - (b->range->gain.median < a->range->gain.median);
}

static void put_largest(struct report *r, FILE *out)
{
    const int most = 8;
    struct gained *all = NULL;
    int n = 0;
    for (int i = 0; i < r->d->nshapes; i++)
        for (int c = 0; c < r->d->shapes[i].ncolls; c++)
            for (int k = 0; k < r->d->shapes[i].colls[c].nranges; k++) {
                const struct env_coll *coll = &r->d->shapes[i].colls[c];
                if (!coll->ranges[k].call.nsettings || !coll->ranges[k].gain.n)
                    continue;
                all = arena_grow(r->a, all, (size_t)n, sizeof *all);
                all[n++] = (struct gained){&r->d->shapes[i], coll->coll, &coll->ranges[k]};
            }
    if (!n)
        return;
    qsort(all, (size_t)n, sizeof *all, by_gain);
    page_put(out, "h3", "The largest gains");
    PAGE_TABLE(out, NULL, "gain of the call", "used", "collective", "from", "on");
    for (int i = 0; i < n && i < most; i++) {
        char size[UNIT_TEXT];
        PAGE_ROW(out, NULL, env_gain_text(r->a, all[i].range->gain), all[i].range->call.label, coll_name(all[i].coll),
                 unit_bytes(size, all[i].range->min_bytes), env_shape_text(r->a, all[i].shape));
    }
    page_table_end(out);
}

/* What goes with the results of the engines. */
static void put_standing(struct report *r, FILE *out)
{
    if (!r->d->nshapes)
        page_put(out, "p", "No collective was measured: the profile holds what topology and fabric alone justify.");
    if (env_shape_with(r->d, BENCH_PREDICTED))
        page_put(out, "p", "PREDICTED for a machine that was not measured; intervals have 90 %.");
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(r->d, (*e)->evidence))
            page_put(out, "p", (*e)->report);
}

static void draw_summary(struct report *r, FILE *out)
{
    const int most = 8; /* classes */
    fputs("<ul class=\"cards\">\n", out);
    put_gains(r, out);
    put_counts(r, out);
    fputs("</ul>\n", out);
    put_standing(r, out);
    if (r->d->today)
        page_put(out, "p", r->d->today);
    put_largest(r, out);
    for (int i = 0; r->t && i < r->t->nclasses && i < most; i++) {
        const struct topo_class *c = &r->t->classes[i];
        const char *gpu = c->ngpus ? c->objects[c->gpus[0].object].model : NULL;
        page_put(out, "p",
                 arena_printf(r->a, "%s: %d GPU%s%s%s%s, %d network port%s, %s", text_hosts(r->t, i, r->a), c->ngpus,
                              c->ngpus == 1 ? "" : "s", gpu ? " (" : "", gpu ? gpu : "", gpu ? ")" : "", c->nports,
                              c->nports == 1 ? "" : "s", c->cpu ? c->cpu : "processors not known"));
    }
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
        page_put(out, "p", "No variable was considered.");
}

const struct report_part report_settings = {"settings", "Settings", NULL, draw_settings};

/* ---- install and undo -------------------------------------------------------------------------------------------- */

static void draw_install(struct report *r, FILE *out)
{
    static const struct {
        const char *what, *command, *of_profile;
    } steps[] = {
        {"Try it: default against profile, once more", "verify", ""},
        {"For jobs of one partition first", "install-profile", " --partition NAME"},
        {"For all jobs of a site with Slurm hooks", "install-profile", ""},
        {"For all jobs of nodes without them, through NCCL's own file", "install-profile", " --hosts LIST --no-hooks"},
        {"What it says and why, in a terminal", "explain", ""},
    };
    const char *profile = env_report_word(r->a, r->p->dir);
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
    page_put(out, "p", "Undo: back to the profile before; or no job that starts from now on gets anything");
    page_put(out, "pre", "nccltune install-profile --previous\nnccltune install-profile --uninstall");
}

const struct report_part report_install = {"install", "Install and undo", NULL, draw_install};
