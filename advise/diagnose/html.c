/* The diagnosis as one page to mail: its three sentences, the phases as a picture and as a table, GPUs, what to do. */

#include "advise/diagnose/diagnose.h"
#include "core/json.h"
#include "core/page.h"

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
