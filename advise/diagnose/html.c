/* The diagnosis as one page to mail: its three sentences, the phases as a picture and as a table, GPUs, what to do. */

#include "advise/diagnose/diagnose.h"
#include "core/json.h"
#include "core/page.h"
#include "core/svg.h"
#include "core/xml.h"

/* ---- the picture ------------------------------------------------------------------------------------------------- */

/* The diagnosis as a picture: one stacked bar a source, its phases drawn to scale, with a legend. */

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

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void put_phases(const struct diag_source *s, struct arena *a, FILE *out)
{
    page_put(out, "h3",
             arena_printf(a, "%s: %ld step%s of %.4g ms", s->format, s->steps, s->steps == 1 ? "" : "s", s->step_ms));
    PAGE_TABLE(out, NULL, "phase", "ms", "%", "kind", "grew by %", "where");
    for (int i = 0; i < s->nphases; i++) {
        const struct diag_phase *p = &s->phases[i];
        if (p->kind == DIAG_METRIC)
            continue;
        PAGE_ROW(out, NULL, p->name, arena_printf(a, "%.4g", p->median_ms), arena_printf(a, "%.1f", 100 * p->share),
                 p->guessed ? "unknown" : diag_kind_name(p->kind), arena_printf(a, "%.0f", 100 * p->growth), p->place);
    }
    page_table_end(out);
}

static void put_gpus(const struct diag_result *r, struct arena *a, FILE *out)
{
    page_part(out, "gpus", "GPUs");
    PAGE_TABLE(out, NULL, "GPU", "busy %", "idle %", "samples", "longest gap s", "W");
    for (int i = 0; i < r->ngpus; i++) {
        const struct diag_gpu *g = &r->gpus[i];
        PAGE_ROW(out, NULL, g->name, arena_printf(a, "%.0f", g->mean), arena_printf(a, "%.0f", 100 * g->idle),
                 arena_printf(a, "%ld", g->samples), arena_printf(a, "%.0f", g->longest_gap_s),
                 g->power_W > 0 ? arena_printf(a, "%.0f", g->power_W) : "");
    }
    page_table_end(out);
}

static void put_findings(const struct diag_result *r, struct arena *a, FILE *out)
{
    page_part(out, "next", "What to do next");
    PAGE_TABLE(out, NULL, "at stake %", "what", "how sure", "what to do", "run next", "where");
    for (int i = 0; i < r->nfindings; i++) {
        const struct diag_finding *f = &r->findings[i];
        PAGE_ROW(out, NULL, arena_printf(a, "%.0f", 100 * f->weight), f->text, diag_confidence_name(f->confidence),
                 f->advice, f->command, f->place);
    }
    page_table_end(out);
}

static void put_files(const struct diag_result *r, FILE *out)
{
    page_part(out, "files", "Files");
    PAGE_TABLE(out, NULL, "file", "what is in it");
    for (int i = 0; i < r->nfiles; i++) {
        const struct diag_file *f = &r->files[i];
        if (*f->formats || f->problem)
            PAGE_ROW(out, NULL, f->name, f->problem ? f->problem : f->formats);
    }
    page_table_end(out);
}

void diagnose_html(const struct diag_result *r, FILE *out)
{
    struct arena *a = arena_new();
    cJSON *doc = diagnose_json(r);
    page_begin(out, "Where the steps go");
    page_part(out, "opening", "In three sentences");
    for (int i = 0; i < 3; i++)
        page_put(out, "p", r->opening[i]);
    if (r->nsources) {
        page_part(out, "phases", "Phases");
        page_paper(out);
        diagnose_svg(r, out);
        page_paper_end(out);
    }
    for (int i = 0; i < r->nsources; i++)
        put_phases(&r->sources[i], a, out);
    if (r->nfindings)
        put_findings(r, a, out);
    if (r->ngpus)
        put_gpus(r, a, out);
    put_files(r, out);
    page_island(out, "diagnosis", doc);
    page_end(out);
    cJSON_Delete(doc);
    arena_free(a);
}
