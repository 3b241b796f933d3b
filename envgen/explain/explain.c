/* Answers from a profile, for people. */
#include "envgen/explain/explain.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/decide/gain.h"
#include "envgen/decide/openmpi_rules.h"
#include "envgen/explain/explain_internal.h"
#include "envgen/explain/model.h"

#define ANY_LARGER "any larger size"

static const char *range_end(const struct env_range *r, char text[UNIT_TEXT])
{
    return r->max_bytes == ENV_OPEN ? ANY_LARGER : unit_bytes(text, r->max_bytes);
}

static const char *settings_text(struct arena *a, const struct bench_knobs *k)
{
    const char *text = "";
    for (int i = 0; i < k->nsettings; i++)
        text = arena_printf(a, "%s%s%s=%s", text, i ? " " : "", k->settings[i].name, k->settings[i].value);
    return text;
}

/* What stands in the file was validated when it was written, but a profile may come from anywhere: nothing in it is
 * printed with its control characters. */
static const char *safe(struct arena *a, const char *s)
{
    return env_comment(a, s);
}

/* ---- variables ------------------------------------------------------------------------------------------------------
 */

static void print_setting(struct arena *a, const struct env_setting *s, FILE *out)
{
    if (s->value)
        fprintf(out, "  %s = %s%s\n", safe(a, s->name), s->in_profile ? "PROFILE/" : "", safe(a, s->value));
    else
        fprintf(out, "  %s is not set\n", safe(a, s->name));
    if (s->node_class)
        fprintf(out, "      on nodes of class %s, in nccl.d/%s.conf\n", safe(a, s->node_class), safe(a, s->node_class));
    fprintf(out, "      %s: %s\n", safe(a, s->source), safe(a, s->why));
    if (!strcmp(s->family, BENCH_FAMILY_OPENMPI))
        fprintf(out, "      %s\n", BENCH_HOST_MEMORY);
}

static void explain_variable(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    static const char prefix[] = "OMPI_MCA_";
    const char *name = q->variable;
    if (!strncmp(name, prefix, sizeof prefix - 1))
        name += sizeof prefix - 1;
    int found = 0;
    for (int i = 0; i < p->decisions->nsettings; i++)
        if (!strcmp(p->decisions->settings[i].name, name)) {
            print_setting(p->arena, &p->decisions->settings[i], out);
            found = 1;
        }
    if (!found)
        fprintf(out,
                "  %s is not set\n      nothing was measured and no rule speaks for it: the library's default is "
                "used\n",
                safe(p->arena, name));
    explain_catalogued(p->decisions, q, name, out);
}

/* ---- one call -------------------------------------------------------------------------------------------------------
 */

/* The measured size nearest to the one asked for, as sizes are spaced geometrically. */
static const struct env_point *nearest(const struct env_range *r, uint64_t bytes)
{
    const struct env_point *best = NULL;
    double least = 0;
    for (int i = 0; i < r->npoints; i++) {
        double distance = fabs(log((double)bytes + 1) - log((double)r->points[i].bytes + 1));
        if (!best || distance < least) {
            best = &r->points[i];
            least = distance;
        }
    }
    return best;
}

static void print_evidence(struct arena *a, const struct env_point *p, int predicted, FILE *out)
{
    char size[UNIT_TEXT];
    fprintf(out, "  %s at %s, the nearest size %s (times in us; gain over the default call):\n",
            predicted ? "PREDICTED, not measured," : "evidence", unit_bytes(size, p->bytes),
            predicted ? "predicted" : "measured");
    fprintf(out, "    %-24s %-8s %11s %11s %11s %4s  %-20s %s\n", "candidate", "status", "median", "low", "high", "n",
            "gain", "journal");
    for (int i = 0; i < p->noptions; i++) {
        const struct env_option *o = &p->options[i];
        fprintf(out, "  %s %-24s %-8s %11.2f %11.2f %11.2f %4d  %-20s %s\n", i == p->chosen ? "*" : " ",
                safe(a, o->call.label), bench_status_name(o->status), o->time_us.median, o->time_us.low,
                o->time_us.high, o->time_us.n, o->gain.n > 0 ? env_gain_text(a, o->gain) : "-", safe(a, o->lines));
    }
    if (p->smoothed)
        fprintf(out,
                "  * taken over from both neighbouring sizes, which agree; nothing measured here is clearly faster\n");
}

static const struct env_range *find_range(const struct env_coll *c, uint64_t bytes)
{
    for (int i = 0; i < c->nranges; i++)
        if (bytes >= c->ranges[i].min_bytes && bytes <= c->ranges[i].max_bytes)
            return &c->ranges[i];
    return NULL;
}

static void print_rule(struct env_profile const *p, const struct env_shape *s, const struct env_question *q, FILE *out)
{
    struct env_rules rules;
    struct err ignored;
    const char *name = NULL;
    const struct env_rule *rule = NULL;
    if (strcmp(bench_family_of(s->engine), BENCH_FAMILY_OPENMPI) != 0)
        return;
    if (!env_rules_of(p->decisions, &rules, &ignored))
        rule = env_rules_find(&rules, q->coll, s->ranks, q->bytes, &name);
    if (rule && rule->algorithm)
        fprintf(out,
                "  rule: openmpi.rules, %s, communicators of %d ranks, from %" PRIu64
                " bytes: algorithm %ld, fan-out %ld, segments of %ld bytes\n",
                name, s->ranks, rule->min_bytes, rule->algorithm, rule->fanout, rule->segment_bytes);
    else
        fprintf(out, "  rule: none in openmpi.rules for this call: OpenMPI's own choice\n");
}

static void explain_call_in(const struct env_profile *p, const struct env_shape *s, const struct env_question *q,
                            FILE *out)
{
    char size[UNIT_TEXT], from[UNIT_TEXT], to[UNIT_TEXT];
    const struct env_range *r = NULL;
    for (int i = 0; i < s->ncolls && !r; i++)
        if (s->colls[i].coll == q->coll)
            r = find_range(&s->colls[i], q->bytes);
    fprintf(out, "%s of %s on %s, %s\n", coll_name(q->coll), unit_bytes(size, q->bytes), env_shape_text(p->arena, s),
            safe(p->arena, s->library));
    if (!r) {
        fprintf(out, "  not measured: the library's own choice is used\n");
        return;
    }
    fprintf(out, "  used: %s%s%s, from %s to %s\n", safe(p->arena, r->call.label), r->call.nsettings ? ": " : "",
            safe(p->arena, settings_text(p->arena, &r->call)), unit_bytes(from, r->min_bytes), range_end(r, to));
    fprintf(out, "  why: %s\n", safe(p->arena, r->why));
    print_rule(p, s, q, out);
    if (s->chosen > 0)
        fprintf(out, "  within launch: %s (%s)\n", safe(p->arena, s->launches[s->chosen].knobs.label),
                safe(p->arena, s->why));
    const struct env_point *point = nearest(r, q->bytes);
    if (point) {
        print_evidence(p->arena, point, bench_evidence_of(s->engine) == BENCH_PREDICTED, out);
        if (point->total_gain.n > 0)
            fprintf(out, "  together with the launch: %s over the library as it comes\n",
                    env_gain_text(p->arena, point->total_gain));
    }
    const struct bench_engine *engine = bench_engine_find(s->engine);
    if (engine && engine->report)
        fprintf(out, "  %s\n", engine->report);
}

static int matches(const struct env_shape *s, const struct env_question *q)
{
    return (!q->nodes || s->nodes == q->nodes) && (!q->ranks || s->ranks == q->ranks);
}

/* NCCL's own choice for the shapes of the question that the profile knows, else for the one that it comes to. */
static void explain_own_choice(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    struct explain_model *m = explain_model_new(p, q->nccl);
    const struct env_decisions *d = p->decisions;
    int told = 0, nodes, ranks;
    for (int i = 0; i < d->nshapes; i++)
        if (explain_model_knows_first(d, i) && matches(&d->shapes[i], q)) {
            explain_model_call(m, q->coll, q->bytes, d->shapes[i].nodes, d->shapes[i].ranks, out);
            told = 1;
        }
    if (!told && !explain_model_shape(m, q, &nodes, &ranks))
        explain_model_call(m, q->coll, q->bytes, nodes, ranks, out);
    explain_model_free(m);
}

static void explain_call(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    char size[UNIT_TEXT];
    int found = 0;
    for (int i = 0; i < p->decisions->nshapes; i++) {
        if (!matches(&p->decisions->shapes[i], q))
            continue;
        fputs(found++ ? "\n" : "", out);
        explain_call_in(p, &p->decisions->shapes[i], q, out);
    }
    if (!found) {
        fprintf(out, "%s of %s on that many nodes and ranks was not measured.\n", coll_name(q->coll),
                unit_bytes(size, q->bytes));
        if (env_shape_with(p->decisions, BENCH_ON_HOST))
            fprintf(out, "No rule in openmpi.rules reaches a number of ranks that was not measured.\n");
        fprintf(out, "Measured were:%s\n", p->decisions->nshapes ? "" : " none");
        for (int i = 0; i < p->decisions->nshapes; i++)
            fprintf(out, "  %s (%s)\n", env_shape_text(p->arena, &p->decisions->shapes[i]),
                    safe(p->arena, p->decisions->shapes[i].library));
    }
    if (!explain_rules(p, q, out))
        fprintf(out, "\nNCCL: %stuner.csv holds no rule for this call: NCCL's own choice is used.\n",
                env_shape_with(p->decisions, BENCH_ON_GPUS) ? "" : "not measured, ");
    explain_own_choice(p, q, out);
}

/* ---- the whole ------------------------------------------------------------------------------------------------------
 */

/* A summary shows this many of the launches that were not chosen. */
#define RUNNERS_UP 4

static int is_runner_up(const struct env_shape *s, int launch)
{
    int better = 0;
    for (int i = 1; i < s->nlaunches; i++) {
        double ahead = s->launches[i].gain.median - s->launches[launch].gain.median;
        better += i != s->chosen && (ahead > 0 || (!(ahead < 0) && i < launch));
    }
    return better < RUNNERS_UP;
}

static void print_launches(struct arena *a, const struct env_shape *s, int summary, FILE *out)
{
    int left_out = 0;
    fprintf(out, "  launch: %s (%s)\n", s->chosen < 0 ? "none" : safe(a, s->launches[s->chosen].knobs.label),
            safe(a, s->why));
    for (int i = 0; i < s->nlaunches && s->nlaunches > 1; i++) {
        if (summary && i && i != s->chosen && !is_runner_up(s, i))
            left_out++;
        else
            fprintf(out, "  %s %-24s %s\n", i == s->chosen ? "*" : " ", safe(a, s->launches[i].knobs.label),
                    safe(a, s->launches[i].why));
    }
    if (left_out)
        fprintf(out, "    and %d more, none of them faster than these\n", left_out);
}

/* `m` adds what NCCL would do where the profile does something else; NULL nothing. */
static void print_ranges(struct arena *a, struct explain_model *m, const struct env_shape *s, const struct env_coll *c,
                         FILE *out)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    for (int i = 0; i < c->nranges; i++) {
        const struct env_range *r = &c->ranges[i];
        const char *own =
            m && r->call.nsettings && explain_model_knows(s) ? explain_model_range(m, s, c->coll, r) : NULL;
        fprintf(out, "  %-14s %10s to %-15s  %-24s %s%s%s%s%s\n", i ? "" : coll_name(c->coll),
                unit_bytes(from, r->min_bytes), range_end(r, to), safe(a, r->call.label),
                r->call.nsettings ? env_gain_text(a, r->gain) : "", own ? "  " : "",
                own ? explain_model_library(m) : "", own ? " would: " : "", own ? own : "");
    }
}

static void print_decisions(const struct env_decisions *d, struct explain_model *m, int summary, FILE *out)
{
    if (d->today && !summary) /* the report has it among what disturbed the measurement */
        fprintf(out, "\n%s\n", safe(d->arena, d->today));
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        fprintf(out, "\n%s on %s\n", safe(d->arena, s->library), env_shape_text(d->arena, s));
        if (s->active)
            fprintf(out, "  the library as it comes: with %s\n",
                    *s->active ? safe(d->arena, s->active) : "its own tuner and network");
        print_launches(d->arena, s, summary, out);
        for (int c = 0; c < s->ncolls; c++)
            print_ranges(d->arena, m, s, &s->colls[c], out);
        if (s->total_gain.n > 0)
            fprintf(out, "  altogether %s over the library as it comes, over %d size%s\n",
                    env_gain_text(d->arena, s->total_gain), s->total_gain.n, s->total_gain.n == 1 ? "" : "s");
    }
}

void env_print_decisions(const struct env_decisions *d, FILE *out)
{
    print_decisions(d, NULL, 1, out);
}

static int has_rules(const struct env_decisions *d)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, "coll_tuned_use_dynamic_rules") && d->settings[i].value)
            return 1;
    return 0;
}

/* What goes with the results of the engines. */
static void print_reports(const struct env_decisions *d, FILE *out)
{
    for (const struct bench_engine *const *e = bench_engines; *e; e++)
        if ((*e)->report && env_shape_with(d, (*e)->evidence))
            fprintf(out, "\n%s\n", (*e)->report);
}

static void explain_all(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    const struct env_decisions *d = p->decisions;
    struct explain_model *m = explain_model_new(p, q->nccl);
    fprintf(out, "%s\n  written %s by nccltune %s, hash %.16s, topology %.16s\n", safe(p->arena, p->dir),
            safe(p->arena, p->manifest.created), safe(p->arena, p->manifest.tool), p->manifest.hash,
            safe(p->arena, d->topology));
    fprintf(out, "  a setting is written where its gain clears a margin of %g %% with %g %% confidence\n\nVariables\n",
            d->margin * 100, d->confidence * 100);
    for (int i = 0; i < d->nsettings; i++)
        print_setting(p->arena, &d->settings[i], out);
    print_decisions(d, m, 0, out);
    if (explain_model_speaks(m) && (env_shape_with(d, BENCH_ON_GPUS) || env_shape_with(d, BENCH_PREDICTED)))
        fprintf(out, "\n\"%s would\" is a model: its own cost model on this topology, not a measurement.\n",
                explain_model_library(m));
    if (has_rules(d))
        fprintf(out, "\n%s\n", ENV_NON_COMMUTATIVE);
    print_reports(d, out);
    if (d->nshapes)
        fprintf(out, "\nOne call in detail: nccltune explain PROFILE --collectives C --bytes N --nodes N --ranks N\n");
    else
        fprintf(out, "\nNo collective was measured: the profile holds what topology and fabric alone justify.\n");
    explain_model_free(m);
}

int env_explain(const struct env_profile *p, const struct env_question *q, FILE *out, struct err *e)
{
    if (q->variable)
        explain_variable(p, q, out);
    else if (q->coll >= 0)
        explain_call(p, q, out);
    else
        explain_all(p, q, out);
    return ferror(out) ? err_set(e, ERR_FAILED, "the answer cannot be written") : 0;
}
