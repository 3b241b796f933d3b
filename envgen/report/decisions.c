/* What was measured: plots, what was decided and on what evidence. */
#include <string.h>

#include "core/coll.h"
#include "core/page.h"
#include "core/plot.h"
#include "core/units.h"
#include "core/xml.h"
#include "envgen/decide/decide.h"
#include "envgen/report/report_internal.h"

/* ---- every collective of every shape of job as a plot: the gain over size ---------------------------------------- */

/* What can be said of one size of a collective: the baseline's time, and what is used now. An interval
 * with n 0: not measured. */
struct report_size {
    const struct env_range *range;
    const struct env_point *point;
    const struct env_option *used; /* NULL: nothing was measured */
    struct bench_interval untouched, gain;
};

/* "812 us (790 to 840, 30 samples)"; "-" not measured. */
static const char *time_text(struct arena *a, const struct bench_interval *us)
{
    char time[UNIT_TEXT], low[UNIT_TEXT], high[UNIT_TEXT];
    if (!us->n)
        return "-";
    unit_time_us(time, us->median);
    if (us->predicted)
        return arena_printf(a, "%s (90 %%: %s to %s)", time, unit_time_us(low, us->low), unit_time_us(high, us->high));
    if (bench_few(us))
        return arena_printf(a, "%s (%d sample%s)", time, us->n, us->n == 1 ? "" : "s");
    return arena_printf(a, "%s (%s to %s, %d samples)", time, unit_time_us(low, us->low), unit_time_us(high, us->high),
                        us->n);
}

/* All sizes of a collective, ascending; in r->a. */
static struct report_size *sizes_of(struct report *r, const struct env_coll *c, int *n)
{
    struct report_size *sizes = NULL;
    *n = 0;
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++) {
            const struct env_point *p = &c->ranges[i].points[k];
            struct report_size s = {.range = &c->ranges[i],
                                    .point = p,
                                    .used = p->chosen >= 0 ? &p->options[p->chosen] : NULL,
                                    .untouched = p->untouched_us,
                                    .gain = p->total_gain};
            if (!s.untouched.n && p->fallback >= 0)
                s.untouched = p->options[p->fallback].time_us;
            if (!s.gain.n && s.used)
                s.gain = s.used->gain;
            sizes = arena_grow(r->a, sizes, (size_t)*n, sizeof *sizes);
            sizes[(*n)++] = s;
        }
    return sizes;
}

/* The gain of what is used over the baseline: 1 where that is the baseline itself; y 0: nothing is known. */
static struct plot_point point_of(const struct report_size *s)
{
    const struct bench_interval *g = &s->gain;
    if (!g->n)
        return (struct plot_point){(double)s->point->bytes, s->used && !s->used->call.nsettings, 0, 0};
    int sure = g->predicted || !bench_few(g);
    return (struct plot_point){(double)s->point->bytes, g->median, sure ? g->low : 0, sure ? g->high : g->median};
}

static const char *text_of(struct report *r, const struct report_size *s)
{
    char size[UNIT_TEXT];
    const char *text =
        arena_printf(r->a, "%s: default %s", unit_bytes(size, s->point->bytes), time_text(r->a, &s->untouched));
    if (!s->used)
        return text;
    text = arena_printf(r->a, "%s; used: %s %s", text, s->used->call.label, time_text(r->a, &s->used->time_us));
    return s->gain.n ? arena_printf(r->a, "%s; %s", text, bench_gain_text(r->a, s->gain)) : text;
}

void report_draw_gain(struct report *r, const struct env_shape *shape, const struct env_coll *c, FILE *out)
{
    int n;
    struct report_size *sizes = sizes_of(r, c, &n);
    struct plot_point *gains = arena_alloc(r->a, ((size_t)n + 1) * sizeof *gains);
    struct plot_column *columns = arena_alloc(r->a, ((size_t)n + 1) * sizeof *columns);
    struct plot_mark *marks = arena_alloc(r->a, ((size_t)c->nranges + 1) * sizeof *marks);
    for (int i = 0; i < n; i++) {
        gains[i] = point_of(&sizes[i]);
        columns[i] = (struct plot_column){(double)sizes[i].point->bytes, text_of(r, &sizes[i])};
    }
    for (int i = 0; i < c->nranges; i++)
        marks[i] = (struct plot_mark){(double)c->ranges[i].min_bytes, c->ranges[i].call.label};
    int predicted = bench_evidence_of(shape->engine) == BENCH_PREDICTED;
    const struct plot p = {.title = arena_printf(r->a, "%s on %s%s", coll_name(c->coll), env_shape_text(r->a, shape),
                                                 predicted ? ", PREDICTED" : ""),
                           .series = {{"gain over baseline", gains, n}},
                           .nseries = 1,
                           .marks = marks,
                           .nmarks = c->nranges,
                           .columns = columns,
                           .ncolumns = n,
                           .band = predicted,
                           .unit = PLOT_GAIN,
                           .low = 1,
                           .high = 1};
    plot_draw(&p, out);
}

static void draw_calls(struct report *r, FILE *out)
{
    page_put(
        out, "p",
        "Gain over the baseline by size; at 1.0x the call is NCCL's default, or no faster. Bars are 95 % intervals "
        "of what was measured, areas 90 % intervals of predictions. Dashed lines show where another algorithm is "
        "used, with its name above. For times, point at a size, or press Tab and the arrow keys.");
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
        fputs("<div class=\"plots\">\n", out);
        for (int c = 0; c < s->ncolls; c++)
            report_draw_gain(r, s, &s->colls[c], out);
        fputs("</div>\n", out);
    }
}

static int has_shapes(const struct report *r)
{
    return r->d->nshapes > 0;
}

const struct report_part report_calls = {"collectives", "Collectives", has_shapes, draw_calls};

static void put_shape(struct report *r, const struct env_shape *s, FILE *out)
{
    page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
    if (s->active)
        page_put(out, "p",
                 arena_printf(r->a, "The baseline: with %s.", *s->active ? s->active : "its own tuner and network"));
    if (bench_evidence_of(s->engine) == BENCH_PREDICTED)
        page_put(out, "p", "PREDICTED, not measured; intervals have 90 %.");
}

static const char *range_text(struct report *r, const struct env_range *range)
{
    char low[UNIT_TEXT], high[UNIT_TEXT];
    return arena_printf(r->a, "%s to %s", unit_bytes(low, range->min_bytes),
                        range->max_bytes == ENV_OPEN ? "any larger size" : unit_bytes(high, range->max_bytes));
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static void put_ranges(struct report *r, const struct env_shape *s, const struct env_coll *c, FILE *out)
{
    int nccl = explain_model_speaks(r->model) && explain_model_knows(s);
    PAGE_TABLE(out, NULL, "sizes", "used", "gain of the call", "why", nccl ? "NCCL by itself" : NULL);
    for (int i = 0; i < c->nranges; i++) {
        const struct env_range *range = &c->ranges[i];
        int changed = range->call.nsettings > 0;
        const char *own = nccl ? explain_model_range(r->model, s, c->coll, range) : NULL;
        const char *cells[] = {range_text(r, range), range->call.label,
                               changed && range->gain.n ? env_gain_text(r->a, range->gain) : NULL, range->why, own};
        page_row(out, changed ? "used" : NULL, cells, 4 + nccl);
    }
    page_table_end(out);
}

/* Figures without their unit, which stands above the column. */
static const char *three_digits(struct arena *a, double us)
{
    char text[UNIT_TEXT];
    return arena_strdup(a, unit_three_digits(text, us));
}

static const char *us_text(struct arena *a, const struct bench_interval *us)
{
    return us->n ? three_digits(a, us->median) : "-";
}

static void put_size(struct report *r, const struct report_size *s, FILE *out)
{
    char size[UNIT_TEXT];
    int changed = s->used && s->range->call.nsettings, few = s->gain.n && bench_few(&s->gain);
    fprintf(out, "<tr class=\"%s\"><td class=\"n\">%s</td>",
            few       ? "few"
            : changed ? "used"
                      : "",
            unit_bytes(size, s->point->bytes));
    fprintf(out, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">", us_text(r->a, &s->untouched),
            s->used ? us_text(r->a, &s->used->time_us) : "-");
    fprintf(out, "%s</td><td>", s->gain.n ? bench_gain_text(r->a, s->gain) : "-");
    xml_put(out, s->used ? s->used->call.label : "nothing was measured", XML_WHOLE);
    xml_put(out, s->point->smoothed ? ", as its neighbours" : "", XML_WHOLE);
    fputs("</td></tr>\n", out);
}

static void put_sizes(struct report *r, const struct env_coll *c, FILE *out)
{
    int n;
    struct report_size *sizes = sizes_of(r, c, &n);
    fputs("<details><summary>Size by size</summary>", out);
    PAGE_TABLE(out, NULL, "size", "baseline (us)", "used (us)", "gain", "used");
    for (int i = 0; i < n; i++)
        put_size(r, &sizes[i], out);
    page_table_end(out);
    fputs("</details>\n", out);
}

static void draw_decisions(struct report *r, FILE *out)
{
    page_put(out, "p",
             arena_printf(r->a,
                          "A setting is written where the lower end of its gain's interval clears %g %% with %g %% "
                          "confidence; green rows are what differs from the library's own choice. Pale rows have too "
                          "few samples to say.",
                          100 * r->d->margin, 100 * r->d->confidence));
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        put_shape(r, s, out);
        page_put(
            out, "p",
            arena_printf(r->a, "Launch: %s: %s", s->chosen < 0 ? "none" : s->launches[s->chosen].knobs.label, s->why));
        for (int c = 0; c < s->ncolls; c++) {
            page_put(out, "h4", coll_name(s->colls[c].coll));
            put_ranges(r, s, &s->colls[c], out);
            put_sizes(r, &s->colls[c], out);
        }
    }
}

const struct report_part report_decisions = {"decisions", "Decisions", has_shapes, draw_decisions};
