/* Boxes, lines and words of a picture, as SVG. */
#include "probe/format/draw.h"

#include <math.h>
#include <string.h>

#include "core/svg.h"

#define WORD_WIDTH 0.56 /* of an average letter, in its height */

const char *draw_role_colour(enum port_role role)
{
    static const char *const colours[] = {"#ffffff", "#a8cff0", "#f5d9a8", "#e3e3e3",
                                          "#d8c7f0", "#f0b8a8", "#e3e3e3", "#f4c6c6"};
    return colours[role];
}

static void reach(struct canvas *to, double x, double y)
{
    to->width = fmax(to->width, x);
    to->height = fmax(to->height, y);
}

void draw_box(struct canvas *to, double x, double y, double width, double height, const char *fill)
{
    fprintf(to->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" fill=\"%s\" stroke=\"#777777\"/>\n", x,
            y, width, height, fill);
    reach(to, x + width, y + height);
}

static double pen(double GBps)
{
    return GBps > 1 ? 0.6 + 0.4 * log2(GBps) : 1;
}

void draw_line(struct canvas *to, double x, double y, double to_x, double to_y, const char *colour, double GBps)
{
    fprintf(to->out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x,
            y, to_x, to_y, colour, pen(GBps));
    reach(to, fmax(x, to_x), fmax(y, to_y));
}

void draw_arc(struct canvas *to, double x, double to_x, double y, double depth, double GBps)
{
    fprintf(to->out,
            "<path d=\"M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" stroke=\"" COLOUR_NVLINK
            "\" stroke-width=\"%.1f\"/>\n",
            x, y, x, y + depth, to_x, y + depth, to_x, y, pen(GBps));
    reach(to, to_x, y + depth);
}

static void put_words(struct canvas *to, double x, double y, enum draw_at at, double size, double room, int bold,
                      const char *words)
{
    char attributes[96];
    snprintf(attributes, sizeof attributes, " font-size=\"%.1f\"%s%s", size,
             at == DRAW_CENTRED ? " text-anchor=\"middle\"" : "", bold ? " font-weight=\"bold\"" : "");
    svg_words(to->out, x, y, attributes, words, (int)fmax(room / (size * WORD_WIDTH), 1));
}

void draw_words(struct canvas *to, double x, double y, enum draw_at at, double size, double room, const char *words)
{
    put_words(to, x, y, at, size, room, 0, words);
    reach(to, at == DRAW_FROM ? x + fmin(room, (double)strlen(words) * size * WORD_WIDTH) : x, y + 4);
}

void draw_labelled(struct canvas *to, double x, double y, double width, double height, const char *fill,
                   const char *const words[3])
{
    const double step = 12.5;
    int n = (words[0] != NULL) + (words[1] != NULL) + (words[2] != NULL), line = 0;
    draw_box(to, x, y, width, height, fill);
    for (int i = 0; i < 3; i++)
        if (words[i])
            put_words(to, x + width / 2, y + height / 2 + (line++ - (n - 1) / 2.0) * step + 3.5, DRAW_CENTRED,
                      i ? 9.5 : 10.5, width - 4, !i, words[i]);
}

const char *draw_pcie(const struct topo_object *o, struct arena *a)
{
    static const struct {
        double GTps;
        const char *generation;
    } generations[] = {{2.5, "1.0"}, {5, "2.0"}, {8, "3.0"}, {16, "4.0"}, {32, "5.0"}, {64, "6.0"}};
    /* Idle GPUs lower the speed of their link, but keep its lanes. */
    double GTps = o->link_max_GTps > 0 ? o->link_max_GTps : o->link_GTps;
    for (size_t i = 0; i < sizeof generations / sizeof *generations && o->link_width > 0; i++)
        if (GTps > generations[i].GTps - 0.1 && GTps < generations[i].GTps + 0.1)
            return arena_printf(a, "%s x%d", generations[i].generation, o->link_width);
    return o->link_GBps > 0 ? arena_printf(a, "%.3g GB/s", o->link_GBps) : NULL;
}
