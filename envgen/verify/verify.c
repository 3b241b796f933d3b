/* Judging rules, and a profile without those that do not hold. */
#include "envgen/verify/verify.h"

#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/units.h"

static const char *const verdicts[] = {"confirmed", "refuted", "undecided", "no clear difference"};

const char *verify_verdict_name(enum verify_verdict v)
{
    return verdicts[v];
}

const char *verify_verdict_text(const struct verify_rule *r, struct arena *a)
{
    const char *verdict = verdicts[r->verdict], *now = bench_gain_text(a, r->gain);
    const int is_gone = r->verdict == VERIFY_REFUTED && r->gain.n && r->promised.n;
    return is_gone     ? arena_printf(a, "%s, gone: promised %.2fx, now %s", verdict, r->promised.median, now)
           : r->gain.n ? arena_printf(a, "%s, gain %s", verdict, now)
                       : verdict;
}

/* ---- judging ---- */

const struct bench_candidate *verify_candidate(const struct bench_point *p, const char *launch)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (!strcmp(p->candidates[i].launch.label, launch) && p->candidates[i].time_us.n)
            return &p->candidates[i];
    return NULL;
}

/* Return true if the launch failed at a point, whether or not it has times there. */
static int fails_at(const struct bench_point *p, const char *launch)
{
    for (int i = 0; i < p->ncandidates; i++)
        if (!strcmp(p->candidates[i].launch.label, launch) && p->candidates[i].status > BENCH_DROPPED)
            return 1;
    return 0;
}

const void *verify_rule_at(const struct verify *v, const struct bench_point *p)
{
    struct tuner_shape shape = {p->nodes, p->ranks, TUNER_UNKNOWN};
    const char *name;
    if (v->text)
        return tuner_table_match(&v->table, v->table.rules, &shape, p->coll, p->bytes, TUNER_UNKNOWN,
                                 bench_buffers_are_told(p->buffers));
    const struct env_rule *rule = env_rules_find(&v->openmpi, p->coll, p->ranks, p->bytes, &name);
    return rule && rule->algorithm ? rule : NULL;
}

int verify_is_lost(const struct verify_rule *rule)
{
    return rule->gain.n && rule->gain.median < 1;
}

static int is_lost_at(const struct verify *v, const void *rule)
{
    for (int i = 0; i < v->nrules; i++)
        if (v->rules[i].rule == rule)
            return verify_is_lost(&v->rules[i]);
    return 0;
}

/* Whether a point is one of those that the verdict is about. */
static int concerns(const struct verify *v, const struct verify_rule *verdict, const struct bench_point *p)
{
    const void *here = verify_rule_at(v, p);
    if (verdict == &v->environment)
        return 1;
    if (verdict == &v->whole)
        return here ? !is_lost_at(v, here) : v->environment.what != NULL;
    return verdict == &v->rest ? !here && !v->environment.what : here == verdict->rule;
}

/* What the profile promises of a rule: of the ranges that it is from the one with the lowest bound. */
static void find_promise(const struct verify *v, const struct env_decisions *d, enum bench_evidence on,
                         struct verify_rule *rule)
{
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        for (int c = 0; bench_evidence_of(s->engine) == on && c < s->ncolls; c++)
            for (int k = 0; k < s->colls[c].nranges; k++) {
                const struct env_range *range = &s->colls[c].ranges[k];
                struct bench_point at = {
                    .coll = s->colls[c].coll, .nodes = s->nodes, .ranks = s->ranks, .buffers = s->buffers};
                int is_its = 0;
                for (int n = 0; n < range->npoints && !is_its; n++) {
                    at.bytes = range->points[n].bytes;
                    is_its = verify_rule_at(v, &at) == rule->rule;
                }
                if (is_its && range->gain.n && (!rule->promised.n || range->gain.low < rule->promised.low))
                    rule->promised = range->gain;
            }
    }
}

/* Compare launch `to` with the default, or with the environment where that was measured for a rule. */
static void judge_rule(struct verify *v, struct verify_rule *rule, const char *to, const struct bench_points *points)
{
    size_t bytes = (size_t)(points->count + 1) * sizeof(struct bench_candidate *);
    const struct bench_candidate **before = arena_alloc(v->arena, bytes), **after = arena_alloc(v->arena, bytes);
    int n = 0, bad = 0;
    for (int i = 0; i < points->count; i++) {
        const struct bench_point *p = &points->items[i];
        if (!concerns(v, rule, p))
            continue;
        const struct bench_candidate *environment = verify_candidate(p, VERIFY_ENVIRONMENT),
                                     *untouched = verify_candidate(p, BENCH_DEFAULT), *with = verify_candidate(p, to),
                                     *without = rule->rule && environment ? environment : untouched;
        bad |= fails_at(p, to);
        if (with && without) {
            before[n] = without;
            after[n++] = with;
        }
    }
    rule->gain = bench_sessions_gain(before, after, NULL, n, points->confidence, 1);
    rule->points = n;
    rule->fails = bad;
    const double limit = fmax(1 + v->margin, rule->promised.n ? fmin(1 + ENV_MARGIN, rule->promised.low) : 1);
    rule->verdict = bad                                                       ? VERIFY_REFUTED
                    : bench_gain_clears(rule->gain, v->margin)                ? VERIFY_CONFIRMED
                    : rule->gain.n >= BENCH_FEWEST && rule->gain.high < limit ? VERIFY_REFUTED
                                                                              : VERIFY_UNDECIDED;
}

/* ---- what there is to judge ---- */

/* Its `what` is made of the rest. */
static void add_rule(struct verify *v, struct verify_rule r)
{
    char text[3 * UNIT_TEXT];
    r.what = arena_printf(v->arena, "%s, %s%s: %s", r.coll, unit_range(text, r.min_bytes, r.max_bytes),
                          r.ranks ? arena_printf(v->arena, ", %d ranks", r.ranks) : "", r.call);
    ARENA_ADD(v->arena, v->rules, v->nrules) = r;
}

static void add_tuner_rule(struct verify *v, const struct tuner_rule *r)
{
    struct arena *a = v->arena;
    add_rule(v,
             (struct verify_rule){.rule = r,
                                  .line = r->line,
                                  .coll = coll_name(r->coll),
                                  .min_bytes = r->min_bytes,
                                  .max_bytes = r->max_bytes,
                                  .call = arena_printf(a, "%s/%s%s", r->algo < 0 ? "any" : algo_name(r->algo),
                                                       r->proto < 0 ? "any" : proto_name(r->proto),
                                                       r->channels > 0 ? arena_printf(a, "/%dch", r->channels) : "")});
}

static int read_table(struct verify *v, const struct env_profile *p, struct err *e)
{
    const char *path = arena_printf(v->arena, "%s/tuner.csv", p->dir);
    char *text;
    size_t bytes;
    int rc = file_read_text(path, TUNER_BYTES_LIMIT, v->arena, &text, &bytes, e);
    if (rc)
        return rc;
    v->text = text;
    if (tuner_table_parse(&v->table, text, bytes, NULL, NULL))
        return err_set(e, ERR_FAILED, "%s: no valid line", path);
    for (size_t i = 0; i < v->table.count; i++)
        add_tuner_rule(v, &v->table.rules[i]);
    return 0;
}

static void add_openmpi_rules(struct verify *v, const char *coll, const struct env_rule_set *set)
{
    struct arena *a = v->arena;
    for (int i = 0; i < set->nrules; i++) {
        const struct env_rule *r = &set->rules[i];
        if (r->algorithm)
            add_rule(v, (struct verify_rule){
                            .rule = r,
                            .coll = coll,
                            .ranks = set->ranks,
                            .min_bytes = r->min_bytes,
                            .max_bytes = i + 1 < set->nrules ? set->rules[i + 1].min_bytes - 1 : UINT64_MAX,
                            .call = arena_printf(
                                a, "algorithm %ld%s", r->algorithm,
                                r->segment_bytes ? arena_printf(a, ", segments of %ld bytes", r->segment_bytes) : "")});
    }
}

static int read_openmpi_rules(struct verify *v, struct env_profile *p, struct err *e)
{
    int rc = env_rules_of(p->decisions, &v->openmpi, e);
    for (int c = 0; c < v->openmpi.ncolls && !rc; c++)
        for (int s = 0; s < v->openmpi.colls[c].nsets; s++)
            add_openmpi_rules(v, v->openmpi.colls[c].name, &v->openmpi.colls[c].sets[s]);
    return rc;
}

/* Whether it was chosen for being faster, and not for what the topology alone says. */
static int launch_was_measured(const struct env_profile *p, enum bench_evidence on)
{
    for (int i = 0; i < p->decisions->nshapes; i++)
        if (bench_evidence_of(p->decisions->shapes[i].engine) == on && p->decisions->shapes[i].chosen > 0)
            return 1;
    return 0;
}

static int judge_environment(struct verify *v, const struct env_profile *p, enum bench_evidence on,
                             const struct bench_points *points, struct err *e)
{
    struct bench_knobs jobs[2];
    struct verify_rule *r = &v->environment;
    const char *what = "";
    int n = verify_jobs(p, on, "", v->arena, jobs, e);
    if (n < 0)
        return ERR_FAILED;
    if (!n || strcmp(jobs[0].label, VERIFY_ENVIRONMENT) != 0)
        return 0;
    for (int i = 0; i < jobs[0].nsettings; i++)
        what = arena_printf(v->arena, "%s%s%s=%s", what, i ? " " : "", jobs[0].settings[i].name,
                            jobs[0].settings[i].value);
    r->what = what;
    judge_rule(v, r, VERIFY_ENVIRONMENT, points);
    if (r->verdict != VERIFY_CONFIRMED && r->gain.n && r->gain.high >= 1 && !launch_was_measured(p, on))
        r->verdict = VERIFY_EVEN;
    v->failing += r->verdict == VERIFY_REFUTED;
    return 0;
}

struct verify *verify_rules(struct env_profile *p, enum bench_evidence on, const struct bench_points *points,
                            double margin, struct err *e)
{
    struct arena *a = arena_new();
    struct verify *v = ARENA_NEW(a, struct verify);
    v->arena = a;
    v->margin = margin;
    int rc = on == BENCH_ON_HOST ? read_openmpi_rules(v, p, e) : read_table(v, p, e);
    if (!rc)
        rc = judge_environment(v, p, on, points, e);
    for (int i = 0; i < v->nrules && !rc; i++) {
        find_promise(v, p->decisions, on, &v->rules[i]);
        judge_rule(v, &v->rules[i], VERIFY_PROFILE, points);
        v->failing += v->rules[i].verdict == VERIFY_REFUTED;
    }
    judge_rule(v, &v->rest, VERIFY_PROFILE, points);
    judge_rule(v, &v->whole, VERIFY_PROFILE, points);
    if (!v->whole.gain.n && v->whole.verdict != VERIFY_REFUTED)
        judge_rule(v, &v->whole, VERIFY_ENVIRONMENT, points);
    if (!rc)
        return v;
    verify_free(v);
    return NULL;
}

void verify_free(struct verify *v)
{
    if (!v)
        return;
    tuner_table_free(&v->table);
    arena_free(v->arena);
}
