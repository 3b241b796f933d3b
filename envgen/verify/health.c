/* What a verification has found, for a monitor: metrics that go into a file which node_exporter collects. */
#include "envgen/verify/verify.h"

#include <math.h>
#include <time.h>

#include "core/file.h"
#include "core/records.h"

static void add_rule(struct records *r, const char *profile, const struct verify_rule *v)
{
    const struct record_cell cells[] = {
        {"profile", profile, 0, NULL},
        {"rule", v->what, 0, NULL},
        {"verify_rule_holds", NULL, v->verdict == VERIFY_UNDECIDED ? NAN : v->verdict != VERIFY_REFUTED,
         "Whether the rule is still proven to be faster than the baseline."},
        {"verify_gain_ratio", NULL, v->gain.n ? v->gain.median : NAN, "Time without the rule over that with it."},
        {"verify_gain_low_ratio", NULL, v->gain.n ? v->gain.low : NAN, "Lower end of the gain's interval."},
        {"verify_gain_high_ratio", NULL, v->gain.n ? v->gain.high : NAN, "Upper end of the gain's interval."},
    };
    records_add(r, cells, sizeof cells / sizeof *cells);
}

int verify_health_write(const char *profile, const struct verify *v, const char *path, struct err *e)
{
    struct file_out out;
    int rc = file_out_begin(&out, e);
    if (rc)
        return rc;
    struct records r = {.arena = arena_new()};
    const struct record_cell whole[] = {
        {"profile", profile, 0, NULL},
        {"verify_success", NULL, v != NULL, "Whether the profile could be measured at all."},
        {"verify_failing", NULL, v ? v->failing : NAN, "Rules that do not hold, with the environment."},
        {"verify_timestamp_seconds", NULL, (double)time(NULL), "When it was measured, in seconds since 1970."},
    };
    records_add(&r, whole, sizeof whole / sizeof *whole);
    if (v && v->environment.what)
        add_rule(&r, profile, &v->environment);
    for (int i = 0; v && i < v->nrules; i++)
        add_rule(&r, profile, &v->rules[i]);
    records_openmetrics(&r, out.stream);
    arena_free(r.arena);
    return file_out_commit(&out, path, e);
}
