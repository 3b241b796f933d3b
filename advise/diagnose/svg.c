/* The diagnosis as a picture: one stacked bar a source, its phases drawn to scale, with a legend. */
#include "core/svg.h"
#include "advise/diagnose/diagnose.h"
#include "core/xml.h"

#define WIDTH  960
#define LEFT   20
#define BAR    900
#define HEIGHT 44
#define ROW    22

/* A hue for each kind, so that communication is the same red in every picture. */
static const char *const colours[DIAG_KIND_COUNT] = {
    "#4878a8", "#c8452f", "#d8a33a", "#8a6fb0", "#5fa06a", "#c9c9c9", "#8c8c8c", "#ffffff",
};

static int is_shown(const struct diag_phase *p)
{
    return p->kind != DIAG_METRIC && p->share > 0;
}

/* Phases of one kind share its hue; the later ones are paler. */
static double opacity_of(const struct diag_source *s, int phase)
{
    int before = 0;
    for (int i = 0; i < phase; i++)
        before += is_shown(&s->phases[i]) && s->phases[i].kind == s->phases[phase].kind;
    return before < 5 ? 1 - 0.15 * before : 0.3;
}

/* Draw a source from `y` on; return where it ends. */
static double draw_source(struct svg *svg, const struct diag_source *s, double y, struct arena *a)
{
    double x = LEFT, sum = 0, row = y + 26 + HEIGHT + ROW;
    for (int i = 0; i < s->nphases; i++)
        sum += is_shown(&s->phases[i]) ? s->phases[i].share : 0;
    svg_words(svg->out, LEFT, y + 16, " font-weight=\"bold\"",
              arena_printf(a, "%s: %.1f ms a step, communication %.0f %%", s->format, s->step_ms,
                           100 * s->communication_share),
              XML_WHOLE);
    for (int i = 0; i < s->nphases; i++) {
        const struct diag_phase *p = &s->phases[i];
        if (!is_shown(p))
            continue;
        /* Shares are medians of each phase and need not sum to one: they are scaled to the bar. */
        double width = p->share * BAR / sum;
        const char *figures = arena_printf(a, "%.1f ms, %.1f %%", p->median_ms, 100 * p->share);
        const char *fill = arena_printf(a, " fill=\"%s\" fill-opacity=\"%.2f\"", colours[p->kind], opacity_of(s, i));
        svg_group(svg, arena_printf(a, "%s: %s", p->name, figures));
        svg_rect(svg, x, y + 26, width, HEIGHT, "%s stroke=\"#fff\"", fill);
        svg_group_end(svg);
        svg_rect(svg, LEFT, row - 11, 12, 12, "%s", fill);
        svg_words(svg->out, LEFT + 20, row, "",
                  arena_printf(a, "%s (%s): %s", p->name, diag_kind_name(p->kind), figures), XML_WHOLE);
        x += width;
        row += ROW;
    }
    return row + ROW / 2.0;
}

void diagnose_svg(const struct diag_result *r, FILE *out)
{
    struct arena *a = arena_new();
    struct svg svg;
    double y = 10;
    svg_begin(&svg);
    for (int i = 0; i < r->nsources; i++)
        y = draw_source(&svg, &r->sources[i], y, a);
    svg_reach(&svg, WIDTH, y + 10);
    svg_end(&svg, out);
    arena_free(a);
}
