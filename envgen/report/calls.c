/* Every collective of every shape of job as a plot: the library as it comes against what is used now. */
#include "core/coll.h"
#include "core/page.h"
#include "core/plot.h"
#include "core/units.h"
#include "envgen/report/report_internal.h"

/* "812 us (790 to 840, 30 samples)"; "-" not measured. */
static const char *time_text(struct arena *a, const struct bench_interval *us)
{
    char time[UNIT_TEXT], low[UNIT_TEXT], high[UNIT_TEXT];
    if (!us->n)
        return "-";
    unit_time_us(time, us->median);
    if (us->predicted)
        return arena_printf(a, "%s (nine of ten within %s to %s)", time, unit_time_us(low, us->low),
                            unit_time_us(high, us->high));
    if (bench_few(us))
        return arena_printf(a, "%s (%d sample%s)", time, us->n, us->n == 1 ? "" : "s");
    return arena_printf(a, "%s (%s to %s, %d samples)", time, unit_time_us(low, us->low), unit_time_us(high, us->high),
                        us->n);
}

struct report_size *report_sizes(struct report *r, const struct env_coll *c, int *n)
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
            sizes = arena_grow(r->a, sizes, (size_t)*n, sizeof *sizes);
            sizes[(*n)++] = s;
        }
    return sizes;
}

static struct plot_point point_of(const struct report_size *s, const struct bench_interval *us)
{
    int sure = us->n && (us->predicted || !bench_few(us));
    return (struct plot_point){(double)s->point->bytes, us->median, sure ? us->low : 0, sure ? us->high : us->median};
}

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

static void draw_coll(struct report *r, const struct env_shape *shape, const struct env_coll *c, FILE *out)
{
    int n;
    struct report_size *sizes = report_sizes(r, c, &n);
    size_t room = (size_t)n + 1;
    struct plot_point *before = arena_alloc(r->a, room * sizeof *before),
                      *after = arena_alloc(r->a, room * sizeof *after);
    struct plot_column *columns = arena_alloc(r->a, room * sizeof *columns);
    struct plot_mark *marks = arena_alloc(r->a, ((size_t)c->nranges + 1) * sizeof *marks);
    for (int i = 0; i < n; i++) {
        before[i] = point_of(&sizes[i], &sizes[i].untouched);
        if (sizes[i].used)
            after[i] = point_of(&sizes[i], &sizes[i].used->time_us);
        columns[i] = (struct plot_column){(double)sizes[i].point->bytes, text_of(r, &sizes[i])};
    }
    for (int i = 0; i < c->nranges; i++)
        marks[i] = (struct plot_mark){(double)c->ranges[i].min_bytes, c->ranges[i].call.label};
    int predicted = bench_evidence_of(shape->engine) == BENCH_PREDICTED;
    const struct plot p = {.title = arena_printf(r->a, "%s%s", coll_name(c->coll), predicted ? ", PREDICTED" : ""),
                           .series = {{"as it comes", before, n}, {"with this profile", after, n}},
                           .nseries = 2,
                           .marks = marks,
                           .nmarks = c->nranges,
                           .columns = columns,
                           .ncolumns = n,
                           .band = predicted};
    plot_draw(&p, out);
}

static void draw_calls(struct report *r, FILE *out)
{
    page_put(out, "p",
             "Time over size, both logarithmic. Bars are intervals that hold the median with 95 % confidence (areas: "
             "bands of a prediction that hold nine of ten); dashed lines are where another way to make the call takes "
             "over, named above the plot. Figures: the pointer, or Tab and the arrow keys.");
    for (int i = 0; i < r->d->nshapes; i++) {
        const struct env_shape *s = &r->d->shapes[i];
        page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
        fputs("<div class=\"plots\">\n", out);
        for (int c = 0; c < s->ncolls; c++)
            draw_coll(r, s, &s->colls[c], out);
        fputs("</div>\n", out);
    }
}

static int has_shapes(const struct report *r)
{
    return r->d->nshapes > 0;
}

const struct report_part report_calls = {"collectives", "Collectives", has_shapes, draw_calls};
