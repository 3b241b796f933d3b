/* The picture of variations: a plot each, busbw over size, all of one scale. */
#include <math.h>

#include "advise/whatif/whatif.h"
#include "core/coll.h"
#include "core/plot.h"

/* Below this, times differ by little and busbw says nothing to the eye. */
#define SMALLEST_DRAWN ((uint64_t)32 << 10)

/* Points of a case, the default's with its band. */
static struct plot_series series_of(const struct whatif *w, const struct whatif_case *c, const char *name, int tuned)
{
    struct plot_series s = {name, arena_alloc(w->arena, (size_t)w->nsizes * sizeof *s.points), 0};
    for (int i = 0; i < w->nsizes; i++) {
        const struct whatif_cell *cell = &c->cells[i];
        const uint64_t bytes = cell->bytes;
        if (bytes < SMALLEST_DRAWN || !(cell->untouched.us > 0))
            continue;
        s.points[s.n++] = tuned
                              ? (struct plot_point){.x = (double)bytes, .y = whatif_busbw(w, c, bytes, cell->tuned.us)}
                              : (struct plot_point){(double)bytes, whatif_busbw(w, c, bytes, cell->untouched.us),
                                                    whatif_busbw(w, c, bytes, cell->untouched.high_us),
                                                    whatif_busbw(w, c, bytes, cell->untouched.low_us)};
    }
    return s;
}

static struct plot plot_of(const struct whatif *w, int index)
{
    const struct whatif_case *c = &w->cases[index];
    struct plot p = {.title = c->label, .band = 1, .unit = PLOT_RATE};
    p.series[p.nseries++] = series_of(w, c, "default", 0);
    if (w->coll < COLL_COUNT) /* of others nothing can be tuned */
        p.series[p.nseries++] = series_of(w, c, "tuned", 1);
    if (index) {
        p.series[p.nseries] = series_of(w, &w->cases[0], "as it is", 0);
        for (int i = 0; i < p.series[p.nseries].n; i++)
            p.series[p.nseries].points[i].low = 0;
        p.nseries++;
    }
    return p;
}

/* So that plots can be compared. */
static void give_one_scale(struct plot *plots, int n)
{
    double low = INFINITY, high = 0;
    for (int i = 0; i < n; i++)
        for (int s = 0; s < plots[i].nseries; s++)
            for (int k = 0; k < plots[i].series[s].n; k++) {
                const struct plot_point *p = &plots[i].series[s].points[k];
                low = fmin(low, p->low > 0 ? p->low : p->y);
                high = fmax(high, fmax(p->high, p->y));
            }
    for (int i = 0; i < n; i++) {
        plots[i].low = low;
        plots[i].high = high;
    }
}

void whatif_draw(const struct whatif *w, FILE *out)
{
    const struct nccl_model *m = w->cases[0].model->nccl;
    struct plot *plots = arena_alloc(w->arena, (size_t)w->ncases * sizeof *plots);
    int n = 0, nodes = w->cases[0].setup.nccl.nodes;
    for (int i = 0; i < w->ncases; i++)
        if (w->cases[i].model)
            plots[n++] = plot_of(w, i);
    give_one_scale(plots, n);
    plot_sheet(plots, n,
               arena_printf(w->arena, "PREDICTED busbw (GB/s; bands: 90 %%) of %s, %d rank%s on %d node%s of %s",
                            coll_name(w->coll), m->ranks, m->ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s",
                            w->machine),
               out);
}
