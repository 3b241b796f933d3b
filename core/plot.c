#include "core/plot.h"

#include <math.h>

#include "core/svg.h"
#include "core/units.h"
#include "core/xml.h"

#define WIDTH  560.0
#define HEIGHT 320.0
#define LEFT   62.0
#define RIGHT  12.0
#define TOP    44.0 /* two rows of names of what holds */
#define BOTTOM 62.0 /* sizes and the legend */
#define LETTER 6.0  /* the width of one */

/* Logarithms of what is drawn, and where that lies on the paper. */
struct frame {
    double x_low, x_high, y_low, y_high;
};

static double across(const struct frame *f, double x)
{
    return LEFT + (log2(x) - f->x_low) / (f->x_high - f->x_low) * (WIDTH - LEFT - RIGHT);
}

static double down(const struct frame *f, double y)
{
    return TOP + (f->y_high - log10(y)) / (f->y_high - f->y_low) * (HEIGHT - TOP - BOTTOM);
}

static int drawn(const struct plot_point *p)
{
    return p->x > 0 && p->y > 0 && isfinite(p->y) && isfinite(p->high);
}

static int has_interval(const struct plot_point *p)
{
    return drawn(p) && p->low > 0 && p->high >= p->low;
}

/* -1: there is nothing. */
static int frame_of(const struct plot *p, struct frame *f)
{
    *f = (struct frame){INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (int s = 0; s < p->nseries; s++)
        for (int i = 0; i < p->series[s].n; i++) {
            const struct plot_point *at = &p->series[s].points[i];
            if (!drawn(at))
                continue;
            f->x_low = fmin(f->x_low, log2(at->x));
            f->x_high = fmax(f->x_high, log2(at->x));
            f->y_low = fmin(f->y_low, log10(has_interval(at) ? fmin(at->low, at->y) : at->y));
            f->y_high = fmax(f->y_high, log10(fmax(at->high, at->y)));
        }
    if (p->low > 0 && p->high > 0) {
        f->y_low = fmin(f->y_low, log10(p->low));
        f->y_high = fmax(f->y_high, log10(p->high));
    }
    f->x_low -= 0.5;
    f->x_high += 0.5;
    double room = fmax(0.06 * (f->y_high - f->y_low), (0.3 - (f->y_high - f->y_low)) / 2);
    f->y_low -= room;
    f->y_high += room;
    return f->x_low < f->x_high ? 0 : -1;
}

/* ---- the axes ---- */

static void draw_axes(const struct frame *f, enum plot_unit unit, FILE *out)
{
    static const double steps[] = {1, 2, 5, 1.1, 1.2, 1.5, 3, 7, 8, 9};
    int step = (int)ceil((f->x_high - f->x_low) / 7), levels = unit == PLOT_GAIN && f->y_high - f->y_low < 0.6 ? 10
                                                               : f->y_high - f->y_low < 2.5                    ? 3
                                                                                                               : 1;
    char text[UNIT_TEXT];
    for (int power = (int)ceil(fmax(f->x_low, 0) / step) * step; power < f->x_high && power < 64; power += step) {
        double x = across(f, exp2(power));
        fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>", x, TOP, HEIGHT - BOTTOM);
        svg_words(out, x, HEIGHT - BOTTOM + 16, " text-anchor=\"middle\"", unit_bytes(text, (uint64_t)1 << power), 16);
    }
    for (int decade = (int)floor(f->y_low); decade <= f->y_high; decade++)
        for (int i = 0; i < levels; i++) {
            double v = steps[i] * pow(10, decade), y = down(f, v);
            if (y < TOP || y > HEIGHT - BOTTOM)
                continue;
            fprintf(out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, y, WIDTH - RIGHT);
            snprintf(text, sizeof text, unit == PLOT_GAIN ? "%gx" : "%g", v);
            svg_words(out, LEFT - 6, y + 4, " text-anchor=\"end\"", unit == PLOT_TIME ? unit_time_us(text, v) : text,
                      16);
        }
    if (unit == PLOT_GAIN && f->y_low < 0 && f->y_high > 0)
        fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>", LEFT, down(f, 1), WIDTH - RIGHT);
    fprintf(out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
}

/* ---- what is plotted ---- */

static void draw_intervals(const struct plot_series *s, const struct frame *f, FILE *out)
{
    for (int i = 0; i < s->n; i++)
        if (has_interval(&s->points[i]))
            fprintf(out, "M%.1f %.1fV%.1f", across(f, s->points[i].x), down(f, s->points[i].low),
                    down(f, s->points[i].high));
}

static void draw_area(const struct plot_series *s, const struct frame *f, FILE *out)
{
    char pen = 'M';
    for (int i = 0; i < 2 * s->n; i++) {
        const struct plot_point *at = &s->points[i < s->n ? i : 2 * s->n - 1 - i];
        if (!has_interval(at))
            continue;
        fprintf(out, "%c%.1f %.1f", pen, across(f, at->x), down(f, i < s->n ? at->low : at->high));
        pen = 'L';
    }
}

static void draw_series(const struct plot *p, int number, const struct frame *f, FILE *out)
{
    const struct plot_series *s = &p->series[number];
    char pen = 'M';
    fprintf(out, "<g class=\"s%d\"><path class=\"%s\" d=\"", number, p->band ? "area" : "bar");
    (p->band ? draw_area : draw_intervals)(s, f, out);
    fputs("\"/><path class=\"line\" d=\"", out);
    for (int i = 0; i < s->n; i++)
        if (drawn(&s->points[i])) {
            fprintf(out, "%c%.1f %.1f", pen, across(f, s->points[i].x), down(f, s->points[i].y));
            pen = 'L';
        }
    fputs("\"/>", out);
    for (int i = 0; i < s->n; i++)
        if (drawn(&s->points[i]))
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.5\"/>", across(f, s->points[i].x),
                    down(f, s->points[i].y));
    double x = LEFT + number * 150;
    fprintf(out, "<path class=\"line\" d=\"M%.1f %.1fh20\"/>", x, HEIGHT - 14);
    svg_words(out, x + 26, HEIGHT - 10, "", s->name, 20);
    fputs("</g>\n", out);
}

/* Names stand above what they hold for, in two rows by turns. */
static void draw_marks(const struct plot *p, const struct frame *f, FILE *out)
{
    for (int i = 0; i < p->nmarks; i++) {
        double low = p->marks[i].x > 0 ? fmax(across(f, p->marks[i].x), LEFT) : LEFT;
        double high = i + 2 < p->nmarks ? across(f, p->marks[i + 2].x) : WIDTH - RIGHT;
        if (low > LEFT && low < WIDTH - RIGHT)
            fprintf(out, "<path class=\"mark\" d=\"M%.1f %.1fV%.1f\"/>", low, TOP - 4 - (i % 2) * 14, HEIGHT - BOTTOM);
        if (high - low > 4 * LETTER)
            svg_words(out, low + 3, TOP - 8 - (i % 2) * 14, " class=\"held\"", p->marks[i].name,
                      (int)((high - low) / LETTER));
    }
}

/* From half-way to the size before to half-way to the next. */
static void draw_column(const struct plot *p, int i, const struct frame *f, FILE *out)
{
    double at = across(f, p->columns[i].x);
    double low = i && p->columns[i - 1].x > 0 ? (at + across(f, p->columns[i - 1].x)) / 2 : LEFT;
    double high = i + 1 < p->ncolumns ? (at + across(f, p->columns[i + 1].x)) / 2 : WIDTH - RIGHT;
    fputs("<g class=\"at\"><title>", out);
    xml_put(out, p->columns[i].text, XML_WHOLE);
    fprintf(out, "</title><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>", low, TOP, high - low,
            HEIGHT - TOP - BOTTOM);
}

void plot_draw(const struct plot *p, FILE *out)
{
    struct frame f;
    if (frame_of(p, &f))
        return;
    fputs("<figure class=\"plot\"><figcaption>", out);
    xml_put(out, p->title, XML_WHOLE);
    fprintf(out,
            "</figcaption><svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
            "tabindex=\"0\" aria-label=\"",
            WIDTH, HEIGHT);
    xml_put(out, p->title, XML_WHOLE);
    fputs("\">\n", out);
    draw_axes(&f, p->unit, out);
    draw_marks(p, &f, out);
    for (int i = 0; i < p->nseries; i++)
        draw_series(p, i, &f, out);
    for (int i = 0; i < p->ncolumns; i++)
        if (p->columns[i].x > 0)
            draw_column(p, i, &f, out);
    fputs("</svg><output></output></figure>\n", out);
}
