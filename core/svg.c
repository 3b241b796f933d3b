#include "core/svg.h"

#include "core/xml.h"

void svg_begin(FILE *out, double width, double height)
{
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#222222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
}

void svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

void svg_words(FILE *out, double x, double y, const char *attributes, const char *words, int most)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
    xml_put(out, words, most);
    fputs("</text>\n", out);
}
