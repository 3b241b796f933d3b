/* What was decided and on what evidence, and what was tried and lost. */
#include <string.h>

#include "core/coll.h"
#include "core/page.h"
#include "core/units.h"
#include "core/xml.h"
#include "envgen/decide/decide.h"
#include "envgen/report/report_internal.h"

static int has_shapes(const struct report *r)
{
    return r->d->nshapes > 0;
}

static void put_shape(struct report *r, const struct env_shape *s, FILE *out)
{
    page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
    if (s->active)
        page_put(out, "p",
                 arena_printf(r->a, "The library as it comes: with %s.",
                              *s->active ? s->active : "its own tuner and network"));
    if (bench_evidence_of(s->engine) == BENCH_PREDICTED)
        page_put(out, "p", "PREDICTED, not measured: intervals are bands that hold nine of ten.");
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
static const char *us_text(struct arena *a, const struct bench_interval *us)
{
    char text[UNIT_TEXT];
    return us->n ? arena_strdup(a, unit_three_digits(text, us->median)) : "-";
}

static void put_size(struct report *r, const struct report_size *s, int shape, int coll, FILE *out)
{
    char size[UNIT_TEXT];
    int changed = s->used && s->range->call.nsettings, few = s->gain.n && bench_few(&s->gain);
    fprintf(out, "<tr class=\"%s\"><td class=\"n\"><button type=\"button\" data-of=\"%d %d %llu\">%s</button></td>",
            few       ? "few"
            : changed ? "used"
                      : "",
            shape, coll, (unsigned long long)s->point->bytes, unit_bytes(size, s->point->bytes));
    fprintf(out, "<td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">", us_text(r->a, &s->untouched),
            s->used ? us_text(r->a, &s->used->time_us) : "-");
    fprintf(out, "%s</td><td>", s->gain.n ? bench_gain_text(r->a, s->gain) : "-");
    xml_put(out, s->used ? s->used->call.label : "nothing was measured", XML_WHOLE);
    xml_put(out, s->point->smoothed ? ", as its neighbours" : "", XML_WHOLE);
    fputs("</td></tr>\n", out);
}

static void put_sizes(struct report *r, int shape, int coll, FILE *out)
{
    int n;
    struct report_size *sizes = report_sizes(r, &r->d->shapes[shape].colls[coll], &n);
    fputs("<details><summary>Size by size; a size opens to all that was tried there</summary>", out);
    PAGE_TABLE(out, NULL, "size", "as it comes (us)", "used (us)", "gain", "used");
    for (int i = 0; i < n; i++)
        put_size(r, &sizes[i], shape, coll, out);
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
            put_sizes(r, i, c, out);
        }
    }
}

const struct report_part report_decisions = {"decisions", "Decisions", has_shapes, draw_decisions};

/* ---- tried and lost ---------------------------------------------------------------------------------------------- */

/* A call over all sizes at which it was tried. */
struct attempt {
    const char *label;
    int sizes, chosen, failed;
    const struct env_option *best; /* by its gain */
    uint64_t best_bytes;
};

static struct attempt *attempt_of(struct report *r, struct attempt **all, int *n, const char *label)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp((*all)[i].label, label))
            return &(*all)[i];
    *all = arena_grow(r->a, *all, (size_t)*n, sizeof **all);
    (*all)[*n] = (struct attempt){.label = label};
    return &(*all)[(*n)++];
}

static struct attempt *attempts_of(struct report *r, const struct env_coll *c, int *n)
{
    struct attempt *all = NULL;
    *n = 0;
    for (int i = 0; i < c->nranges; i++)
        for (int k = 0; k < c->ranges[i].npoints; k++)
            for (int o = 0; o < c->ranges[i].points[k].noptions; o++) {
                const struct env_point *p = &c->ranges[i].points[k];
                const struct env_option *option = &p->options[o];
                struct attempt *t = attempt_of(r, &all, n, option->call.label);
                t->sizes++;
                t->chosen += o == p->chosen;
                t->failed += option->status > BENCH_DROPPED;
                if (option->gain.n && (!t->best || option->gain.median > t->best->gain.median)) {
                    t->best = option;
                    t->best_bytes = p->bytes;
                }
            }
    return all;
}

static void put_attempts(struct report *r, const struct env_coll *c, FILE *out)
{
    int n;
    struct attempt *all = attempts_of(r, c, &n);
    page_put(out, "h4", coll_name(c->coll));
    PAGE_TABLE(out, NULL, "call", "tried at", "used at", "failed at", "best gain", "there");
    for (int i = 0; i < n; i++) {
        char size[UNIT_TEXT];
        const struct attempt *t = &all[i];
        PAGE_ROW(out, t->chosen ? "used" : NULL, t->label, arena_printf(r->a, "%d", t->sizes),
                 arena_printf(r->a, "%d", t->chosen), arena_printf(r->a, "%d", t->failed),
                 t->best ? bench_gain_text(r->a, t->best->gain) : "-",
                 t->best ? unit_bytes(size, t->best_bytes) : NULL);
    }
    page_table_end(out);
}

static void put_launches(struct report *r, const struct env_shape *s, FILE *out)
{
    PAGE_TABLE(out, NULL, "launch", "gain", "measured at", "what became of it");
    for (int i = 0; i < s->nlaunches; i++) {
        const struct env_launch *l = &s->launches[i];
        PAGE_ROW(out, i == s->chosen ? "used" : NULL, l->knobs.label, l->gain.n ? env_gain_text(r->a, l->gain) : "-",
                 arena_printf(r->a, "%d size%s", l->points, l->points == 1 ? "" : "s"), l->why);
    }
    page_table_end(out);
}

static void draw_tried(struct report *r, FILE *out)
{
    page_put(out, "p",
             "Everything that was tried; green is what is used. Gains of calls are over the launch's default call.");
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        put_shape(r, s, out);
        put_launches(r, s, out);
        for (int c = 0; c < s->ncolls; c++)
            put_attempts(r, &s->colls[c], out);
    }
}

const struct report_part report_tried = {"tried", "Tried and lost", has_shapes, draw_tried};
