/* The diagnosis as a picture: one stacked bar a source, its phases drawn to scale, with a legend. */
#include "core/svg.h"
#include "core/xml.h"
#include "envgen/diagnose/diagnose.h"

#define WIDTH  960
#define LEFT   20
#define BAR    900
#define HEIGHT 44
#define ROW    22

/* A hue for each kind, so that communication is the same red in every picture. */
static const char *const colours[DIAG_KIND_COUNT] = {
    "#4878a8", "#c8452f", "#d8a33a", "#8a6fb0", "#5fa06a", "#c9c9c9", "#8c8c8c", "#ffffff",
};

static int shown(const struct diag_phase *p)
{
    return p->kind != DIAG_METRIC && p->share > 0;
}

/* Shares are medians of each phase and need not sum to one: they are scaled to the bar. */
static double sum_of(const struct diag_source *s)
{
    double sum = 0;
    for (int i = 0; i < s->nphases; i++)
        sum += shown(&s->phases[i]) ? s->phases[i].share : 0;
    return sum > 0 ? sum : 1;
}

static int rows_of(const struct diag_source *s)
{
    int n = 0;
    for (int i = 0; i < s->nphases; i++)
        n += shown(&s->phases[i]);
    return n;
}

/* Phases of one kind share its hue; the later ones are paler. */
static double opacity_of(const struct diag_source *s, int phase)
{
    int before = 0;
    for (int i = 0; i < phase; i++)
        before += shown(&s->phases[i]) && s->phases[i].kind == s->phases[phase].kind;
    return before < 5 ? 1 - 0.15 * before : 0.3;
}

static int draw_source(FILE *out, const struct diag_source *s, int y)
{
    double x = LEFT, scale = BAR / sum_of(s);
    fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", LEFT, y + 16);
    xml_put(out, s->format, XML_WHOLE);
    fprintf(out, ": %.1f ms a step, communication %.0f %%</text>\n", s->step_ms, 100 * s->communication_share);
    int row = y + 26 + HEIGHT + ROW;
    for (int i = 0; i < s->nphases; i++) {
        const struct diag_phase *p = &s->phases[i];
        if (!shown(p))
            continue;
        double width = p->share * scale, opacity = opacity_of(s, i);
        fprintf(out,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\" fill-opacity=\"%.2f\" "
                "stroke=\"#fff\"><title>",
                x, y + 26, width, HEIGHT, colours[p->kind], opacity);
        xml_put(out, p->name, XML_WHOLE);
        fprintf(out, ": %.1f ms, %.1f %%</title></rect>\n", p->median_ms, 100 * p->share);
        fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\" fill-opacity=\"%.2f\"/>\n", LEFT,
                row - 11, colours[p->kind], opacity);
        fprintf(out, "<text x=\"%d\" y=\"%d\">", LEFT + 20, row);
        xml_put(out, p->name, XML_WHOLE);
        fprintf(out, " (%s): %.1f ms, %.1f %%</text>\n", diag_kind_name(p->kind), p->median_ms, 100 * p->share);
        x += width;
        row += ROW;
    }
    return row + ROW / 2;
}

void diagnose_svg(const struct diag_result *r, FILE *out)
{
    int height = 20, y = 10;
    for (int i = 0; i < r->nsources; i++)
        height += 26 + HEIGHT + ROW + ROW * rows_of(&r->sources[i]) + ROW / 2;
    svg_begin(out, WIDTH, height);
    for (int i = 0; i < r->nsources; i++)
        y = draw_source(out, &r->sources[i], y);
    svg_end(out);
}
