/* One call: what is used, on what evidence, and what NCCL would choose by itself. Of several shapes of job a line for
 * each way that is used; of one what was tried there. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "envgen/decide/decide.h"
#include "envgen/explain/explain.h"
#include "envgen/explain/explain_internal.h"

/* ---- the rules of tuner.csv that a call meets -------------------------------------------------------------------- */

static int matches(const struct env_table_rule *r, const struct env_question *q)
{
    return r->coll == q->coll && q->bytes >= r->min_bytes && q->bytes <= r->max_bytes &&
           (!q->nodes || (q->nodes >= r->nodes_low && q->nodes <= r->nodes_high)) &&
           (!q->ranks || (q->ranks >= r->ranks_low && q->ranks <= r->ranks_high));
}

static void print_table_rule(const struct env_profile *p, const struct env_table_rule *r, FILE *out)
{
    const char *algorithm = algo_name(r->algorithm), *protocol = proto_name(r->protocol);
    int written = r->basis != ENV_PREDICTED || p->decisions->predicted;
    fprintf(out, "  %s: algorithm %s, protocol %s", written ? "tuner.csv" : "not written",
            algorithm ? algorithm : "any", protocol ? protocol : "any");
    if (r->channels > 0)
        fprintf(out, ", %ld channels", r->channels);
    if (r->chunk_bytes > 0)
        fprintf(out, ", chunks of %ld bytes", r->chunk_bytes);
    fprintf(out, "\n    %s: %s\n", env_table_rule_basis(r, p->arena), env_comment(p->arena, r->why));
}

int explain_rules(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    struct env_table_rules rules = {0};
    struct err ignored = {0};
    char size[UNIT_TEXT];
    int found = 0;
    if (env_table_rules_of(p->decisions, p->arena, &rules, &ignored))
        return 0;
    for (int i = 0; i < rules.count; i++) {
        if (!matches(rules.items[i], q))
            continue;
        if (!found++)
            fprintf(out, "\nNCCL's tuner plugin, %s of %s:\n", coll_name(q->coll), unit_bytes(size, q->bytes));
        print_table_rule(p, rules.items[i], out);
    }
    return found;
}

static void add_count(cJSON *o, const char *low_key, const char *high_key, int low, int high)
{
    cJSON_AddNumberToObject(o, low_key, low);
    cJSON_AddNumberToObject(o, high_key, high);
}

cJSON *explain_rules_json(const struct env_profile *p, const struct env_question *q)
{
    static const char *const bases[] = {"measured", "agreed", "predicted"};
    struct env_table_rules rules = {0};
    struct err ignored = {0};
    cJSON *array = cJSON_CreateArray();
    if (env_table_rules_of(p->decisions, p->arena, &rules, &ignored))
        rules.count = 0;
    for (int i = 0; i < rules.count; i++) {
        const struct env_table_rule *r = rules.items[i];
        if (!matches(r, q))
            continue;
        cJSON *o = json_append(array);
        json_add_str(o, "basis", bases[r->basis]);
        cJSON_AddBoolToObject(o, "written", r->basis != ENV_PREDICTED || p->decisions->predicted);
        add_count(o, "nodes_low", "nodes_high", r->nodes_low, r->nodes_high);
        add_count(o, "ranks_low", "ranks_high", r->ranks_low, r->ranks_high);
        json_add_str(o, "algorithm", algo_name(r->algorithm));
        json_add_str(o, "protocol", proto_name(r->protocol));
        cJSON_AddNumberToObject(o, "channels", (double)r->channels);
        cJSON_AddNumberToObject(o, "chunk_bytes", (double)r->chunk_bytes);
        json_add_str(o, "why", r->why);
    }
    return array;
}

#define CANDIDATES 6 /* of one call, that are told one by one */
#define SAME_SIZE  0.1

static const char *settings_text(struct arena *a, const struct bench_knobs *k)
{
    const char *text = "";
    for (int i = 0; i < k->nsettings; i++)
        text = arena_printf(a, "%s%s%s=%s", text, i ? " " : "", k->settings[i].name, k->settings[i].value);
    return text;
}

const struct env_point *explain_nearest(const struct env_range *r, uint64_t bytes)
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

/* The measured size at `bytes` or so near to it that the time is the same. */
static const struct env_point *point_about(const struct env_shape *s, int coll, uint64_t bytes)
{
    const struct env_range *r = env_range_at(s, coll, bytes);
    const struct env_point *p = r ? explain_nearest(r, bytes) : NULL;
    return p && fabs(log((double)p->bytes / ((double)bytes + 1))) < SAME_SIZE && p->untouched_us.n ? p : NULL;
}

double explain_skew(const struct env_shape *s, uint64_t bytes, double *even_us)
{
    const struct env_point *even = point_about(s, COLL_ALLTOALL, bytes),
                           *uneven = even ? point_about(s, COLL_ALLTOALLV, even->bytes) : NULL;
    *even_us = even ? even->untouched_us.median : 0;
    return uneven && *even_us > 0 ? uneven->untouched_us.median / *even_us : 0;
}

/* ---- the evidence ------------------------------------------------------------------------------------------------ */

static int by_gain(const void *x, const void *y)
{
    const struct env_option *a = *(const struct env_option *const *)x, *b = *(const struct env_option *const *)y;
    int failed = (a->status > BENCH_DROPPED) - (b->status > BENCH_DROPPED);
    return failed ? failed : (b->gain.median > a->gain.median) - (b->gain.median < a->gain.median);
}

static void print_option(struct arena *a, const struct env_point *p, const struct env_option *o, FILE *out)
{
    char median[UNIT_TEXT] = "-", low[UNIT_TEXT] = "-", high[UNIT_TEXT] = "-";
    if (o->time_us.n) {
        unit_three_digits(median, o->time_us.median);
        unit_three_digits(low, o->time_us.low);
        unit_three_digits(high, o->time_us.high);
    }
    fprintf(out, "  %s %-24s %-8s %9s %9s %9s %4d  %-21s %s\n",
            p->chosen >= 0 && o == &p->options[p->chosen] ? "*" : " ", env_comment(a, o->call.label),
            bench_status_name(o->status), median, low, high, o->time_us.n,
            o->gain.n > 0 ? bench_gain_text(a, o->gain) : "-", env_comment(a, o->lines));
}

int explain_told(const struct env_point *p, const struct env_option **sorted)
{
    int told = 0;
    for (int i = 0; i < p->noptions; i++)
        sorted[i] = &p->options[i];
    if (p->noptions)
        qsort(sorted, (size_t)p->noptions, sizeof *sorted, by_gain);
    for (int i = 0; i < p->noptions; i++) {
        const struct env_option *o = sorted[i];
        long at = o - p->options;
        if (i >= CANDIDATES && at != p->chosen && at != p->fallback)
            continue;
        memmove(&sorted[told + 1], &sorted[told], (size_t)(i - told) * sizeof *sorted);
        sorted[told++] = o;
    }
    return told;
}

/* The fastest first; those behind them on one line. */
static void print_options(struct arena *a, const struct env_point *p, FILE *out)
{
    const struct env_option **sorted = arena_alloc(a, ((size_t)p->noptions + 1) * sizeof(struct env_option *));
    int told = explain_told(p, sorted);
    const char *rest = "";
    for (int i = 0; i < told; i++)
        print_option(a, p, sorted[i], out);
    for (int i = told; i < p->noptions; i++)
        rest = arena_printf(a, "%s%s%s", rest, i > told ? ", " : "", env_comment(a, sorted[i]->call.label));
    if (told < p->noptions)
        fprintf(out, "    and %d more, at best %.2fx: %s\n", p->noptions - told, sorted[told]->gain.median, rest);
}

static void print_evidence(struct arena *a, const struct env_point *p, int predicted, FILE *out)
{
    char size[UNIT_TEXT];
    fprintf(out, "  %s at %s, the nearest size %s (times in us; gain over the baseline call):\n",
            predicted ? "PREDICTED, not measured," : "evidence", unit_bytes(size, p->bytes),
            predicted ? "predicted" : "measured");
    fprintf(out, "    %-24s %-8s %9s %9s %9s %4s  %-21s %s\n", "candidate", "status", "median", "low", "high", "n",
            "gain", "journal");
    print_options(a, p, out);
    if (p->smoothed)
        fprintf(out, "  * as both neighbouring sizes; nothing measured here is clearly faster\n");
}

/* ---- one shape of job -------------------------------------------------------------------------------------------- */

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
        fprintf(out, "  rule: none in openmpi.rules: OpenMPI's own choice\n");
}

static void print_shape(const struct env_profile *p, const struct env_shape *s, const struct env_question *q, FILE *out)
{
    char size[UNIT_TEXT], sizes[3 * UNIT_TEXT];
    const struct env_range *r = env_range_at(s, q->coll, q->bytes);
    fprintf(out, "%s of %s on %s, %s\n", coll_name(q->coll), unit_bytes(size, q->bytes), env_shape_text(p->arena, s),
            env_comment(p->arena, s->library));
    if (!r) {
        fprintf(out, "  not measured: the library's own choice is used\n");
        return;
    }
    fprintf(out, "  used: %s%s%s (%s)\n", env_comment(p->arena, r->call.label), r->call.nsettings ? ": " : "",
            env_comment(p->arena, settings_text(p->arena, &r->call)), unit_range(sizes, r->min_bytes, r->max_bytes));
    fprintf(out, "  why%s: %s\n",
            r->npoints > 1 ? arena_printf(p->arena, ", of the %d sizes of that range", r->npoints) : "",
            env_comment(p->arena, r->why));
    print_rule(p, s, q, out);
    if (s->chosen > 0)
        fprintf(out, "  within launch: %s (%s)\n", env_comment(p->arena, s->launches[s->chosen].knobs.label),
                env_comment(p->arena, s->why));
    const struct env_point *point = explain_nearest(r, q->bytes);
    if (point) {
        print_evidence(p->arena, point, bench_evidence_of(s->engine) == BENCH_PREDICTED, out);
        if (point->total_gain.n > 0)
            fprintf(out, "  together with the launch: %s over the baseline\n",
                    bench_gain_text(p->arena, point->total_gain));
    }
    double even_us = 0, skew = q->coll == COLL_ALLTOALLV ? explain_skew(s, q->bytes, &even_us) : 0;
    if (skew > 0)
        fprintf(out, "  an even alltoall takes %.3g us here: the hot rank makes it %.2f times as long\n", even_us,
                skew);
    const struct bench_engine *engine = bench_engine_find(s->engine);
    if (engine && engine->report)
        fprintf(out, "  %s\n", engine->report);
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

/* What is used alike on several shapes. */
struct alike {
    const char *call, *shapes, *sizes; /* "" or lists */
    const char *own;                   /* what NCCL would do; "" unknown */
    double low, high;                  /* gains */
    int n;
};

/* "64 MiB, 128 MiB": each once. */
static const char *listed(struct arena *a, const char *list, const char *more, const char *between)
{
    return strstr(list, more) ? list : *list ? arena_printf(a, "%s%s%s", list, between, more) : more;
}

static struct alike *alike_of(struct arena *a, struct alike **all, int *n, const char *call)
{
    for (int i = 0; i < *n; i++)
        if (!strcmp((*all)[i].call, call))
            return &(*all)[i];
    *all = arena_grow(a, *all, (size_t)*n, sizeof **all);
    (*all)[*n] = (struct alike){.call = call, .shapes = "", .sizes = "", .own = "", .low = INFINITY};
    return &(*all)[(*n)++];
}

static void add_shape(struct arena *a, struct alike *to, const struct env_shape *s, const struct env_range *r,
                      const struct env_point *p)
{
    char size[UNIT_TEXT];
    to->shapes = arena_printf(a, "%s%s%s", to->shapes, to->n++ ? "; " : "", env_shape_text(a, s));
    if (!p)
        return;
    to->sizes = listed(a, to->sizes, arena_strdup(a, unit_bytes(size, p->bytes)), ", ");
    double gain = r->call.nsettings && p->chosen >= 0 ? p->options[p->chosen].gain.median : 1;
    to->low = fmin(to->low, gain);
    to->high = fmax(to->high, gain);
}

static int by_most(const void *x, const void *y)
{
    const struct alike *a = x, *b = y;
    return (b->high > a->high) - (b->high < a->high);
}

static void print_alike(struct arena *a, const struct alike *g, FILE *out)
{
    const char *gain = !(g->high > 0)             ? "-"
                       : g->high - g->low < 0.005 ? arena_printf(a, "%.2fx", g->high)
                                                  : arena_printf(a, "%.2fx to %.2fx", g->low, g->high);
    fprintf(out, "  %-24s %-16s %-10s %-16s %s\n", env_comment(a, g->call), gain, g->sizes, g->own, g->shapes);
}

static void print_shapes(const struct env_profile *p, const struct env_question *q, struct explain_model *m, FILE *out)
{
    const struct env_decisions *d = p->decisions;
    struct alike *all = NULL;
    char size[UNIT_TEXT];
    int n = 0;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        const struct env_range *r = explain_matches(s, q) ? env_range_at(s, q->coll, q->bytes) : NULL;
        if (!explain_matches(s, q))
            continue;
        struct alike *to = alike_of(p->arena, &all, &n, r ? r->call.label : "not measured");
        add_shape(p->arena, to, s, r, r ? explain_nearest(r, q->bytes) : NULL);
        const char *own = explain_model_knows(s) ? explain_model_cell(m, q->coll, q->bytes, s->nodes, s->ranks) : NULL;
        to->own = own ? listed(p->arena, to->own, own, ", ") : to->own;
    }
    if (n)
        qsort(all, (size_t)n, sizeof *all, by_most);
    fprintf(out, "%s of %s, by choice, the largest gain over the baseline call first\n  %-24s %-16s %-10s %-16s %s\n",
            coll_name(q->coll), unit_bytes(size, q->bytes), "used", "gain", "evidence",
            arena_printf(p->arena, "%s would", explain_model_library(m)), "on");
    for (int i = 0; i < n; i++)
        print_alike(p->arena, &all[i], out);
    fprintf(out, "\nThe evidence of one: --nodes N --ranks N\n");
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static void print_unmeasured(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    char size[UNIT_TEXT];
    fprintf(out, "%s of %s on that many nodes and ranks was not measured.\n", coll_name(q->coll),
            unit_bytes(size, q->bytes));
    if (env_shape_with(p->decisions, BENCH_ON_HOST))
        fprintf(out, "No rule in openmpi.rules applies to a number of ranks that was not measured.\n");
    fprintf(out, "Measured were:%s\n", p->decisions->nshapes ? "" : " none");
    for (int i = 0; i < p->decisions->nshapes; i++)
        fprintf(out, "  %s (%s)\n", env_shape_text(p->arena, &p->decisions->shapes[i]),
                env_comment(p->arena, p->decisions->shapes[i].library));
}

/* One number of nodes and ranks, which may have been measured as well as predicted, or in several ways at once. */
static void print_one(const struct env_profile *p, const struct env_question *q, struct explain_model *m, FILE *out)
{
    int found = 0;
    for (int i = 0; i < p->decisions->nshapes; i++)
        if (explain_matches(&p->decisions->shapes[i], q)) {
            fputs(found++ ? "\n" : "", out);
            print_shape(p, &p->decisions->shapes[i], q, out);
        }
    if (!found)
        print_unmeasured(p, q, out);
    if (!explain_rules(p, q, out))
        fprintf(out, "\nNCCL: %stuner.csv has no rule for this call: NCCL's own choice is used.\n",
                env_shape_with(p->decisions, BENCH_ON_GPUS) ? "" : "not measured, ");
    struct explain_shape *own = arena_alloc(p->arena, ((size_t)p->decisions->nshapes + 1) * sizeof *own);
    for (int i = 0, n = explain_model_shapes(m, p->decisions, q, own); i < n; i++)
        explain_model_call(m, q->coll, q->bytes, own[i].nodes, own[i].ranks, out);
}

static int is_of_several(const struct env_decisions *d, const struct env_question *q)
{
    const struct env_shape *first = NULL;
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        if (!explain_matches(s, q))
            continue;
        if (first && (s->nodes != first->nodes || s->ranks != first->ranks))
            return 1;
        first = s;
    }
    return 0;
}

void explain_call(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    struct explain_model *m = explain_model_new(p, q->nccl);
    if (is_of_several(p->decisions, q))
        print_shapes(p, q, m, out);
    else
        print_one(p, q, m, out);
    explain_model_free(m);
}
