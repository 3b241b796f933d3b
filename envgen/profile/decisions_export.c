/* Decisions as rows for other programs: a range of sizes each. */
#include <math.h>

#include "core/coll.h"
#include "envgen/profile/decisions.h"

static double figure(const struct bench_interval *v, double value)
{
    return v->n ? value : NAN;
}

static void add_range(const struct env_shape *s, int coll, const struct env_range *r, struct records *out)
{
    const struct record_cell cells[] = {
        {"engine", s->engine, 0, NULL},
        {"library", s->library, 0, NULL},
        {"nodes", NULL, s->nodes, NULL},
        {"ranks", NULL, s->ranks, NULL},
        {"groups", NULL, s->others + 1, NULL},
        {"load", bench_load_name(s->load), NAN, NULL},
        {"buffers", bench_buffers_name(s->buffers), NAN, NULL},
        {"launch", s->chosen >= 0 ? s->launches[s->chosen].knobs.label : "", 0, NULL},
        {"collective", coll_name(coll), 0, NULL},
        {"min_bytes", NULL, (double)r->min_bytes, NULL},
        {"max_bytes", NULL, r->max_bytes == ENV_OPEN ? NAN : (double)r->max_bytes, NULL},
        {"call", r->call.label, 0, NULL},
        {"decision_gain_ratio", NULL, figure(&r->gain, r->gain.median), "Default time over that of what was chosen."},
        {"decision_gain_low_ratio", NULL, figure(&r->gain, r->gain.low), "Lower end of the gain's interval."},
        {"decision_gain_high_ratio", NULL, figure(&r->gain, r->gain.high), "Upper end of the gain's interval."},
        {"decision_sizes", NULL, r->gain.n, "Sizes that the gain was measured at."},
    };
    records_add(out, cells, sizeof cells / sizeof *cells);
}

void env_decisions_records(const struct env_decisions *d, struct records *r)
{
    for (int i = 0; i < d->nshapes; i++)
        for (int c = 0; c < d->shapes[i].ncolls; c++)
            for (int k = 0; k < d->shapes[i].colls[c].nranges; k++)
                add_range(&d->shapes[i], d->shapes[i].colls[c].coll, &d->shapes[i].colls[c].ranges[k], r);
}
