/* What was measured: plots, what was decided and on what evidence. */
#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/svg.h"
#include "core/units.h"
#include "core/xml.h"
#include "envgen/decide/decide.h"
#include "envgen/report/page.h"
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
            ARENA_ADD(r->a, sizes, *n) = s;
        }
    return sizes;
}

/* Under the pointer and by the arrow keys the page shows the figures of a size. */
#define WIDTH  560.0
#define HEIGHT 286.0
#define LEFT   62.0
#define RIGHT  12.0
#define TOP    44.0 /* two rows of names of what is used */
#define BOTTOM 28.0 /* sizes */
#define LETTER 6.0  /* the width of one */

struct plot {
    struct plot_point {
        double x, y, low, high; /* bytes; gain or bandwidth with its interval, low 0: none */
        const char *text;
    } * points;
    int n;
    const char *unit, *legend;
    double x_low, x_high, y_low, y_high; /* logarithms of what is drawn */
    FILE *out;
};

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

/* The gain of what is used over the baseline: 1 where that is the baseline itself; y 0: nothing is known. */
static struct plot_point point_of(struct report *r, const struct report_size *s)
{
    const struct bench_interval *g = &s->gain;
    struct plot_point p = {.x = (double)s->point->bytes, .text = text_of(r, s)};
    if (g->n) {
        int sure = g->predicted || !bench_few(g);
        p.y = g->median;
        p.low = sure ? g->low : 0;
        p.high = sure ? g->high : g->median;
    } else {
        p.y = s->used && !s->used->call.nsettings;
    }
    return p;
}

/* The bus bandwidth in GB/s of what is used, of the baseline where that is not known. */
static struct plot_point busbw_point_of(struct report *r, const struct env_shape *shape, int coll,
                                        const struct report_size *s)
{
    const struct bench_interval *us = s->used && s->used->time_us.n ? &s->used->time_us : &s->untouched;
    struct plot_point p = {.x = (double)s->point->bytes, .text = text_of(r, s)};
    double of_1us = p.x * coll_busbw_factor(coll, shape->ranks) / 1e3;
    if (us->n && us->median > 0) {
        int sure = (us->predicted || !bench_few(us)) && us->low > 0;
        p.y = of_1us / us->median;
        p.low = sure ? of_1us / us->high : 0;
        p.high = sure ? of_1us / us->low : p.y;
    }
    return p;
}

static double across(const struct plot *p, double x)
{
    return LEFT + (log2(x) - p->x_low) / (p->x_high - p->x_low) * (WIDTH - LEFT - RIGHT);
}

static double down(const struct plot *p, double y)
{
    return TOP + (p->y_high - log10(y)) / (p->y_high - p->y_low) * (HEIGHT - TOP - BOTTOM);
}

static int drawn(const struct plot_point *at)
{
    return at->x > 0 && at->y > 0 && isfinite(at->y) && isfinite(at->high);
}

static int has_interval(const struct plot_point *at)
{
    return drawn(at) && at->low > 0 && at->high >= at->low;
}

/* All points, and 1.0. -1: there are none. */
static int frame_points(struct plot *p)
{
    p->x_low = INFINITY;
    p->x_high = -INFINITY;
    for (int i = 0; i < p->n; i++) {
        const struct plot_point *at = &p->points[i];
        if (!drawn(at))
            continue;
        p->x_low = fmin(p->x_low, log2(at->x));
        p->x_high = fmax(p->x_high, log2(at->x));
        p->y_low = fmin(p->y_low, log10(has_interval(at) ? fmin(at->low, at->y) : at->y));
        p->y_high = fmax(p->y_high, log10(fmax(at->high, at->y)));
    }
    p->x_low -= 0.5;
    p->x_high += 0.5;
    double room = fmax(0.06 * (p->y_high - p->y_low), (0.3 - (p->y_high - p->y_low)) / 2);
    p->y_low -= room;
    p->y_high += room;
    return p->x_low < p->x_high ? 0 : -1;
}

static void draw_axes(const struct plot *p)
{
    static const double steps[] = {1, 2, 5, 1.1, 1.2, 1.5, 3, 7, 8, 9};
    double height = p->y_high - p->y_low;
    int step = (int)ceil((p->x_high - p->x_low) / 7), levels = height < 0.6 ? 10 : height < 2.5 ? 3 : 1;
    char text[UNIT_TEXT];
    for (int power = (int)ceil(fmax(p->x_low, 0) / step) * step; power < p->x_high && power < 64; power += step) {
        double x = across(p, exp2(power));
        fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP, HEIGHT - BOTTOM);
        svg_words(p->out, x, HEIGHT - BOTTOM + 16, " text-anchor=\"middle\"", unit_bytes(text, (uint64_t)1 << power),
                  16);
    }
    for (int decade = (int)floor(p->y_low); decade <= p->y_high; decade++)
        for (int i = 0; i < levels; i++) {
            double v = steps[i] * pow(10, decade), y = down(p, v);
            if (y < TOP || y > HEIGHT - BOTTOM)
                continue;
            fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, WIDTH - RIGHT);
            snprintf(text, sizeof text, "%g%s", v, p->unit);
            svg_words(p->out, LEFT - 6, y + 4, " text-anchor=\"end\"", text, 16);
        }
    if (*p->unit)
        fprintf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, down(p, 1), WIDTH - RIGHT);
    fprintf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
}

static void draw_bars(const struct plot *p)
{
    for (int i = 0; i < p->n; i++)
        if (has_interval(&p->points[i]))
            fprintf(p->out, "M%.1f %.1fV%.1f", across(p, p->points[i].x), down(p, p->points[i].low),
                    down(p, p->points[i].high));
}

static void draw_area(const struct plot *p)
{
    char pen = 'M';
    for (int i = 0; i < 2 * p->n; i++) {
        const struct plot_point *at = &p->points[i < p->n ? i : 2 * p->n - 1 - i];
        if (!has_interval(at))
            continue;
        fprintf(p->out, "%c%.1f %.1f", pen, across(p, at->x), down(p, i < p->n ? at->low : at->high));
        pen = 'L';
    }
}

static void draw_points(const struct plot *p, int predicted)
{
    char pen = 'M';
    fprintf(p->out, "<path class=\"%s\" d=\"", predicted ? "area" : "bar");
    (predicted ? draw_area : draw_bars)(p);
    fputs("\"/><path class=\"line\" d=\"", p->out);
    for (int i = 0; i < p->n; i++)
        if (drawn(&p->points[i])) {
            fprintf(p->out, "%c%.1f %.1f", pen, across(p, p->points[i].x), down(p, p->points[i].y));
            pen = 'L';
        }
    fputs("\"/>", p->out);
    for (int i = 0; i < p->n; i++)
        if (drawn(&p->points[i]))
            fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>", across(p, p->points[i].x),
                    down(p, p->points[i].y));
}

/* A line where another call begins. */
static void draw_borders(const struct plot *p, const struct env_coll *c)
{
    for (int i = 1; i < c->nranges; i++) {
        const struct env_range *range = &c->ranges[i];
        double x = across(p, (double)range->min_bytes);
        if (x > LEFT && x < WIDTH - RIGHT && (range->call.nsettings || range->npoints))
            fprintf(p->out, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP - 4 - (i % 2) * 14, HEIGHT - BOTTOM);
    }
}

/* What is used from a size on stands above it, in two rows by turns; the default has no name where it holds no size.
 */
static void draw_ranges(const struct plot *p, const struct env_coll *c)
{
    for (int i = 0; i < c->nranges; i++) {
        const struct env_range *range = &c->ranges[i];
        double low = i ? fmax(across(p, (double)range->min_bytes), LEFT) : LEFT;
        double high = i + 2 < c->nranges ? across(p, (double)c->ranges[i + 2].min_bytes) : WIDTH;
        double room = LETTER * (double)strlen(range->call.label) + 3;
        if (low >= WIDTH - RIGHT || (!range->call.nsettings && !range->npoints))
            continue;
        if (high >= WIDTH && low + room > WIDTH)
            svg_words(p->out, low - 3, TOP - 8 - (i % 2) * 14, " class=\"held\" text-anchor=\"end\"", range->call.label,
                      XML_WHOLE);
        else if (high - low > 4 * LETTER)
            svg_words(p->out, low + 3, TOP - 8 - (i % 2) * 14, " class=\"held\"", range->call.label,
                      (int)((high - low) / LETTER));
    }
}

/* From half-way to the size before to half-way to the next. */
static void draw_column(const struct plot *p, int i)
{
    double at = across(p, p->points[i].x);
    double low = i && p->points[i - 1].x > 0 ? (at + across(p, p->points[i - 1].x)) / 2 : LEFT;
    double high = i + 1 < p->n ? (at + across(p, p->points[i + 1].x)) / 2 : WIDTH - RIGHT;
    fputs("<g class=\"at\"><title>", p->out);
    xml_put(p->out, p->points[i].text, XML_WHOLE);
    fprintf(p->out, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>", low, TOP, high - low,
            HEIGHT - TOP - BOTTOM);
}

static void draw_plot(struct report *r, struct plot *p, const struct env_shape *shape, const struct env_coll *c)
{
    int predicted = bench_evidence_of(shape->engine) == BENCH_PREDICTED;
    const char *title = arena_printf(r->a, "%s on %s%s: %s", coll_name(c->coll), env_shape_text(r->a, shape),
                                     predicted ? ", PREDICTED" : "", p->legend);
    if (frame_points(p))
        return;
    fputs("<figure class=\"plot\"><figcaption>", p->out);
    xml_put(p->out, title, XML_WHOLE);
    fprintf(p->out,
            "</figcaption><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "tabindex=\"0\" aria-label=\"",
            WIDTH, HEIGHT);
    xml_put(p->out, title, XML_WHOLE);
    fputs("\">\n", p->out);
    draw_axes(p);
    draw_borders(p, c);
    draw_ranges(p, c);
    draw_points(p, predicted);
    for (int i = 0; i < p->n; i++)
        if (p->points[i].x > 0)
            draw_column(p, i);
    fputs("</svg><output></output></figure>\n", p->out);
}

void report_draw_sizes(struct report *r, const struct env_shape *shape, const struct env_coll *c, FILE *out)
{
    int is_busbw = shape->chosen <= 0;
    for (int i = 0; i < c->nranges; i++)
        is_busbw &= !c->ranges[i].call.nsettings;
    struct plot p = {.out = out, .unit = is_busbw ? "" : "x"};
    p.legend = is_busbw ? "bus bandwidth (GB/s)" : "gain over baseline";
    const struct report_size *sizes = sizes_of(r, c, &p.n);
    p.points = arena_alloc(r->a, ((size_t)p.n + 1) * sizeof *p.points);
    for (int i = 0; i < p.n; i++)
        p.points[i] = is_busbw ? busbw_point_of(r, shape, c->coll, &sizes[i]) : point_of(r, &sizes[i]);
    draw_plot(r, &p, shape, c);
}

static void draw_calls(struct report *r, FILE *out)
{
    page_put(out, "p",
             "Gain over the baseline by size, or the bus bandwidth where nothing is changed. Bars are 95 % "
             "intervals of measurements, areas 90 % intervals of predictions. Dashed lines show where another "
             "algorithm is used, with its name above. For times, point at a size, or press Tab and the arrow keys.");
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
        fputs("<div class=\"plots\">\n", out);
        for (int c = 0; c < s->ncolls; c++)
            report_draw_sizes(r, s, &s->colls[c], out);
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
    char text[3 * UNIT_TEXT];
    return arena_strdup(r->a, unit_range(text, range->min_bytes, range->max_bytes));
}

/* ---- decisions --------------------------------------------------------------------------------------------------- */

static void put_ranges(struct report *r, const struct env_shape *s, const struct env_coll *c, FILE *out)
{
    int nccl = explain_model_speaks(r->model) && explain_model_knows(s);
    PAGE_TABLE(out, "facts", "sizes", "used", "gain of the call", "why", nccl ? "NCCL by itself" : NULL);
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
static const char *us_text(struct arena *a, const struct bench_interval *us)
{
    char text[UNIT_TEXT];
    return us->n ? arena_strdup(a, unit_three_digits(text, us->median)) : "-";
}

static void put_size(struct report *r, const struct report_size *s, FILE *out)
{
    char size[UNIT_TEXT];
    int changed = s->used && s->range->call.nsettings, few = s->gain.n && bench_few(&s->gain);
    PAGE_ROW(out,
             few       ? "few"
             : changed ? "used"
                       : NULL,
             unit_bytes(size, s->point->bytes), us_text(r->a, &s->untouched),
             s->used ? us_text(r->a, &s->used->time_us) : "-", s->gain.n ? bench_gain_text(r->a, s->gain) : "-",
             arena_printf(r->a, "%s%s", s->used ? s->used->call.label : "nothing was measured",
                          s->point->smoothed ? ", as its neighbours" : ""));
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
                          "confidence; green rows differ from the baseline. Pale rows have too few samples.",
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
