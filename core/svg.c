#include "core/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/xml.h"

#define WORD_WIDTH 0.56 /* of an average letter, in its height */

void svg_begin(struct svg *s)
{
    *s = (struct svg){0};
    s->out = open_memstream(&s->elements, &s->bytes);
    if (!s->out)
        abort();
}

void svg_end(struct svg *s, FILE *out)
{
    if (fclose(s->out))
        abort();
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
            s->width, s->height, s->width, s->height, s->elements);
    free(s->elements);
}

void svg_reach(struct svg *s, double x, double y)
{
    s->width = fmax(s->width, x);
    s->height = fmax(s->height, y);
}

void svg_words(FILE *out, double x, double y, const char *attributes, const char *words, int most)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    xml_put(out, words, most);
    fputs("</text>\n", out);
}

void svg_line(struct svg *s, double x, double y, double to_x, double to_y, const char *colour, double pen)
{
    fprintf(s->out, "<line x1=\"%g\" y1=\"%g\" x2=\"%g\" y2=\"%g\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x, y, to_x,
            to_y, colour, pen);
    svg_reach(s, fmax(x, to_x), fmax(y, to_y));
}

static int letters_in(double room, double size)
{
    return (int)fmax(room / (size * WORD_WIDTH), 1);
}

void svg_label(struct svg *s, double x, double y, enum svg_at at, double size, double room, const char *words)
{
    char attributes[64];
    snprintf(attributes, sizeof attributes, " font-size=\"%g\"%s", size,
             at == SVG_CENTRED ? " text-anchor=\"middle\"" : "");
    svg_words(s->out, x, y, attributes, words, letters_in(room, size));
    svg_reach(s, at == SVG_FROM ? x + fmin(room, (double)strlen(words) * size * WORD_WIDTH) : x, y + 4);
}

void svg_box(struct svg *s, double x, double y, double width, double height, const char *fill, const char *lines)
{
    const double step = 12.5;
    char line[512], attributes[96];
    int n = 1;
    fprintf(s->out, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"3\" fill=\"%s\" stroke=\"#777777\"/>\n", x,
            y, width, height, fill);
    svg_reach(s, x + width, y + height);
    for (const char *c = lines; (c = strchr(c, '\n')); c++)
        n++;
    for (int i = 0; *lines; i++) {
        size_t length = strcspn(lines, "\n");
        double size = i ? 9.5 : 10.5;
        snprintf(line, sizeof line, "%.*s", (int)length, lines);
        snprintf(attributes, sizeof attributes, " font-size=\"%g\" text-anchor=\"middle\"%s", size,
                 i ? "" : " font-weight=\"bold\"");
        svg_words(s->out, x + width / 2, y + height / 2 + (i - (n - 1) / 2.0) * step + 3.5, attributes, line,
                  letters_in(width - 4, size));
        lines += length + (lines[length] == '\n');
    }
}
