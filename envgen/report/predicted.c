/* The model against what was measured. */

#include "core/coll.h"
#include "core/page.h"
#include "core/units.h"
#include "envgen/decide/decide.h"
#include "envgen/report/report_internal.h"
#include "model/model.h"

static int is_measured(const struct env_shape *s)
{
    return bench_evidence_of(s->engine) == BENCH_ON_GPUS && !s->others && !s->load && !s->buffers &&
           s->ranks % s->nodes == 0;
}

static int has_measured(const struct report *r)
{
    for (int i = 0; i < r->d->nshapes; i++)
        if (r->t && is_measured(&r->d->shapes[i]))
            return 1;
    return 0;
}

static struct model *model_of(struct report *r, const struct env_shape *s, struct err *e)
{
    struct model_setup with = {0};
    if (env_model_setup(r->d, r->t, 0, ENV_UNDER_NOTHING, r->a, &with.nccl)) {
        err_set(e, ERR_LACKS, "the topology has no GPU");
        return NULL;
    }
    with.nccl.nodes = s->nodes;
    with.nccl.ranks_per_node = s->ranks / s->nodes;
    return model_new(&with, r->a, e);
}

static const char *us_text(struct arena *a, double us)
{
    char text[UNIT_TEXT];
    return arena_strdup(a, unit_three_digits(text, us));
}

static void put_size(struct report *r, int coll, const struct report_size *s, const struct model *m, FILE *out)
{
    struct model_time t;
    const struct model_call call = {coll, s->point->bytes, -1, -1, 0};
    char size[UNIT_TEXT];
    if (!s->untouched.n || model_predict(m, &call, &t))
        return;
    double off = s->untouched.median / t.us;
    int inside = s->untouched.median >= t.low_us && s->untouched.median <= t.high_us;
    PAGE_ROW(out, inside ? NULL : "warning", coll_name(coll), unit_bytes(size, s->point->bytes),
             us_text(r->a, s->untouched.median), us_text(r->a, t.us), us_text(r->a, t.low_us), us_text(r->a, t.high_us),
             arena_printf(r->a, "%.2fx", off),
             inside    ? ""
             : off > 1 ? "slower than predicted"
                       : "faster than predicted",
             t.limit);
}

static void put_shape(struct report *r, const struct env_shape *s, FILE *out)
{
    struct err e = {0};
    struct model *m = model_of(r, s, &e);
    page_put(out, "h3", arena_printf(r->a, "%s on %s", s->library, env_shape_text(r->a, s)));
    if (!m) {
        page_put(out, "p", e.text);
        return;
    }
    PAGE_TABLE(out, NULL, "collective", "size", "measured (us)", "predicted (us)", "low (us)", "high (us)",
               "measured / predicted", "", "what bounds it");
    for (int c = 0; c < s->ncolls; c++) {
        int n;
        struct report_size *sizes = report_sizes(r, &s->colls[c], &n);
        for (int i = 0; i < n; i++)
            put_size(r, s->colls[c].coll, &sizes[i], m, out);
    }
    page_table_end(out);
}

static void draw_predicted(struct report *r, FILE *out)
{
    const struct model_fit *f = &r->d->fit;
    page_put(out, "p",
             "The library as it comes against what the built-in model says that this machine should do; low to high "
             "holds nine of ten. What is far slower than predicted is worth a look at the machine.");
    if (f->used)
        page_put(out, "p",
                 arena_printf(r->a,
                              "Fitted to %d results here, the model misses by a factor of %.2f in the median; as "
                              "built in, by %.2f.",
                              f->used, f->spread, f->before));
    for (int i = 0; i < r->d->nshapes; i++)
        if (is_measured(&r->d->shapes[i]))
            put_shape(r, &r->d->shapes[i], out);
}

const struct report_part report_predicted = {"predicted", "Predicted and measured", has_measured, draw_predicted};
