/* A step's communication: for people a table by phase, what is not in it, and the sentence that it comes to; for
 * programs all of it. */

#include "advise/whatif/step.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/text.h"
#include "model/model.h"

#define NUMBER         32
#define MOST_UNKNOWN   8
#define MOST_UNCOVERED 3

static const char *ms(char text[NUMBER], double us)
{
    double v = us / 1e3;
    snprintf(text, NUMBER, v < 10 ? "%.2f" : v < 1000 ? "%.1f" : "%.0f", v);
    return text;
}

static void print_row(const char *name, const char *compute, const struct step_sum *s, const char *from, FILE *out)
{
    char all[NUMBER], hidden[NUMBER], waits[NUMBER], low[NUMBER], high[NUMBER], interval[2 * NUMBER + 8];
    snprintf(interval, sizeof interval, "(%s to %s)", ms(low, s->waits.low_us), ms(high, s->waits.high_us));
    fprintf(out, "%-26s %11s %11s %11s %11s %-24s%s\n", name, compute, ms(all, s->all.us),
            ms(hidden, s->all.us - s->waits.us), ms(waits, s->waits.us), interval, from);
}

/* Of a phase or of all of them; `unknown` calls are not in it. */
static void print_rows(const char *name, const char *compute, const struct step_sum *now, const struct step_sum *tuned,
                       int unknown, const char *from, FILE *out)
{
    if (unknown && !(now->all.us > 0)) {
        fprintf(out, "%-26s %11s %11s %11s %11s %-24s%s\n", name, compute, "?", "?", "?", "", "unknown");
        return;
    }
    print_row(name, compute, now, from, out);
    if (now->all.us != tuned->all.us || now->waits.us != tuned->waits.us)
        print_row("  with the profile", "", tuned, "", out);
}

/* "measured", or "measured 60 %, predicted 40 %, 2 calls unknown". */
static const char *from_text(struct arena *a, const double from_us[STEP_SOURCES], int unknown)
{
    const char *text = "";
    double sum = 0;
    for (int i = 0; i < STEP_SOURCES; i++)
        sum += from_us[i];
    for (int i = 0; i < STEP_SOURCES; i++)
        if (from_us[i] >= sum && sum > 0)
            text = step_source_name(i);
        else if (from_us[i] > 0)
            text =
                arena_printf(a, "%s%s%s %.0f %%", text, *text ? ", " : "", step_source_name(i), 100 * from_us[i] / sum);
    if (!unknown)
        return text;
    return arena_printf(a, "%s%s%d call%s unknown", text, *text ? ", " : "", unknown, unknown == 1 ? "" : "s");
}

static void print_table(const struct step_estimate *s, FILE *out)
{
    char compute[NUMBER];
    fprintf(out, "%-26s %11s %11s %11s %11s %-24s%s\n", "phase", "compute", "all calls", "hidden", "waited for",
            "(low to high)", "from");
    for (int i = 0; i < s->workload->nphases; i++) {
        const struct step_phase *p = &s->phases[i];
        print_rows(env_comment(s->arena, p->phase->name),
                   p->phase->compute_us < 0 ? "?" : ms(compute, p->phase->compute_us), &p->now, &p->tuned, p->unknown,
                   from_text(s->arena, p->from_us, p->unknown), out);
    }
    int known = s->compute_us > 0 || !s->compute_unknown;
    print_rows("all phases", known ? ms(compute, s->compute_us) : "?", &s->now, &s->tuned, s->unknown,
               from_text(s->arena, s->from_us, s->unknown), out);
}

static int same_call(const struct step_call *x, const struct step_call *y)
{
    return x->call->kind == y->call->kind && x->call->bytes == y->call->bytes && x->nodes == y->nodes &&
           x->call->group_size == y->call->group_size;
}

/* What is unknown, each call once, in whatever phases it is. */
static void print_unknown(const struct step_estimate *s, FILE *out)
{
    const struct step_call *told[MOST_UNKNOWN];
    char size[UNIT_TEXT];
    int n = 0;
    for (int i = 0; i < s->workload->nphases; i++)
        for (int k = 0; k < s->phases[i].phase->ncalls && n < MOST_UNKNOWN; k++) {
            const struct step_call *c = &s->phases[i].calls[k];
            int known = c->source != STEP_UNKNOWN;
            for (int t = 0; t < n && !known; t++)
                known = same_call(told[t], c);
            if (known)
                continue;
            told[n++] = c;
            fprintf(out, "unknown: %s of %s, %d ranks on %d node%s: %s\n", coll_name(c->call->kind),
                    unit_bytes(size, c->call->bytes), c->call->group_size, c->nodes, c->nodes == 1 ? "" : "s", c->why);
        }
    if (n == MOST_UNKNOWN)
        fprintf(out, "unknown: --json has them all\n");
}

/* What a reader must know about the sums. */
static void print_remarks(const struct step_estimate *s, FILE *out)
{
    if (s->unknown)
        fprintf(out, "What is unknown is not in the sums: they are the least that it can be.\n");
    if (s->from_us[STEP_PREDICTED] > 0)
        fprintf(out, "PREDICTED times come from a model, and other groups that communicate at the same moment are not "
                     "in it.\n");
    for (int i = 0; i < s->nassumptions && s->from_us[STEP_PREDICTED] > 0; i++)
        fprintf(out, "Assumed: %s\n", env_comment(s->arena, s->assumptions[i]));
    if (s->unvalidated)
        fprintf(out,
                "UNVALIDATED: no published result covers all sizes of this: more than %d nodes, groups side by side, "
                "pairs of ranks, other GPUs or other NICs.\n",
                MODEL_VALIDATED_NODES);
    if (s->predicted_unused)
        fprintf(out, "What was only predicted is not set by the profile unless it was generated with --predicted.\n");
    if (s->from_us[STEP_HOST] > 0)
        fprintf(out, "%s\n", BENCH_HOST_MEMORY);
    if (s->from_us[STEP_CAPTURED] > 0)
        fprintf(out, "Captured times are the job's own, and stand for both: what the profile changes there is not "
                     "known.\n");
    if (s->overlap_unknown)
        fprintf(out, "%d call%s of the file say nothing of the compute that hides them: nothing was taken as hidden.\n",
                s->overlap_unknown, s->overlap_unknown == 1 ? "" : "s");
    if (s->compute_unknown && s->compute_us > 0)
        fprintf(out, "The step lacks the compute of %d phase%s, which the file does not tell (?).\n",
                s->compute_unknown, s->compute_unknown == 1 ? "" : "s");
}

/* ---- coverage ---- */

static double weight_of(const struct step_call *c)
{
    return c->cover == STEP_UNCOVERED ? (double)c->call->bytes * c->call->count : 0;
}

/* The heaviest uncovered call that is lighter than `before` and another one than those; NULL none. */
static const struct step_call *next_uncovered(const struct step_estimate *s, const struct step_call *before)
{
    const struct step_call *next = NULL;
    for (int i = 0; i < s->workload->nphases; i++)
        for (int k = 0; k < s->phases[i].phase->ncalls; k++) {
            const struct step_call *c = &s->phases[i].calls[k];
            int later = !before || (weight_of(c) < weight_of(before) && !same_call(c, before));
            if (weight_of(c) > 0 && later && (!next || weight_of(c) > weight_of(next)))
                next = c;
        }
    return next;
}

void env_step_print_cover(const struct step_estimate *s, FILE *out)
{
    char size[UNIT_TEXT];
    double sum = 0;
    for (int i = 0; i < STEP_COVERS; i++)
        sum += s->cover_us[i];
    if (!(sum > 0))
        return;
    fprintf(out,
            "coverage: %.0f %% of the communication as it was measured, %.0f %% between measured sizes, %.0f %% not at "
            "all\n",
            100 * s->cover_us[STEP_COVERED] / sum, 100 * s->cover_us[STEP_INTERPOLATED] / sum,
            100 * s->cover_us[STEP_UNCOVERED] / sum);
    const struct step_call *c = NULL;
    for (int n = 0; n < MOST_UNCOVERED && (c = next_uncovered(s, c)); n++)
        fprintf(out, "  not measured: %s of %s, %d ranks on %d node%s, %g times\n", coll_name(c->call->kind),
                unit_bytes(size, c->call->bytes), c->call->group_size, c->nodes, c->nodes == 1 ? "" : "s",
                c->call->count);
}

void env_step_print_line(const struct step_estimate *s, FILE *out)
{
    char now[NUMBER], tuned[NUMBER], step[NUMBER], low[NUMBER], high[NUMBER];
    struct step_time whole = env_step_whole(s);
    const char *what = s->workload->per_run ? "run" : "step", *from = from_text(s->arena, s->from_us, s->unknown);
    if (s->unknown && !(s->now.all.us > 0)) {
        fprintf(out, "communication unknown: none of the calls was measured, and nothing predicts them\n");
        return;
    }
    fprintf(out, "communication %s ms of a ", ms(now, s->now.waits.us));
    if (s->compute_us > 0 && s->compute_high_us > s->compute_us)
        fprintf(out, "%s ms %s (%s to %s)", ms(step, whole.us), what, ms(low, whole.low_us), ms(high, whole.high_us));
    else if (s->compute_us > 0)
        fprintf(out, "%s ms %s", ms(step, whole.us), what);
    else
        fprintf(out, "%s of unknown length", what);
    fprintf(out, " %s %s ms%s%s%s\n", unit_symbol("→", "->"), ms(tuned, s->tuned.waits.us), *from ? " (" : "", from,
            *from ? ")" : "");
}

void env_step_print(const struct step_estimate *s, FILE *out)
{
    const struct workload *w = s->workload;
    fprintf(out, "%s: %d ranks, %d a node; milliseconds of one %s\n\n",
            w->name ? env_comment(s->arena, w->name) : "workload", w->ranks, w->ranks_per_node,
            w->per_run ? "run" : "step");
    print_table(s, out);
    fputc('\n', out);
    print_unknown(s, out);
    print_remarks(s, out);
    env_step_print_cover(s, out);
    env_step_print_line(s, out);
}

/* ---- JSON ---- */

cJSON *step_time_json(cJSON *o, const char *key, const struct step_time *t)
{
    cJSON *time = cJSON_AddObjectToObject(o, key);
    cJSON_AddNumberToObject(time, "time_us", t->us);
    cJSON_AddNumberToObject(time, "low_us", t->low_us);
    cJSON_AddNumberToObject(time, "high_us", t->high_us);
    return time;
}

static void add_sum(cJSON *o, const char *key, const struct step_sum *s)
{
    cJSON *sum = cJSON_AddObjectToObject(o, key);
    step_time_json(sum, "all", &s->all);
    step_time_json(sum, "waited_for", &s->waits);
}

static void add_sources(cJSON *o, const double from_us[STEP_SOURCES])
{
    cJSON *sources = cJSON_AddObjectToObject(o, "from_us");
    for (int i = 0; i < STEP_SOURCES; i++)
        if (from_us[i] > 0)
            cJSON_AddNumberToObject(sources, step_source_name(i), from_us[i]);
}

static const char *const covers[STEP_COVERS] = {"measured", "interpolated", "none"};

static void put_call(cJSON *o, const void *call)
{
    const struct step_call *c = call;
    json_add_str(o, "collective", coll_name(c->call->kind));
    cJSON_AddNumberToObject(o, "bytes", (double)c->call->bytes);
    cJSON_AddNumberToObject(o, "count", c->call->count);
    cJSON_AddNumberToObject(o, "nodes", c->nodes);
    cJSON_AddNumberToObject(o, "ranks", c->call->group_size);
    json_add_str(o, "from", step_source_name(c->source));
    json_add_str(o, "covered", covers[c->cover]);
    if (c->source == STEP_UNKNOWN) {
        json_add_str(o, "why", c->why);
        return;
    }
    step_time_json(o, "now", &c->now);
    step_time_json(o, "tuned", &c->tuned);
    json_add_str(o, "choice", c->choice);
}

static void put_phase(cJSON *o, const void *phase)
{
    const struct step_phase *p = phase;
    json_add_str(o, "name", p->phase->name);
    if (p->phase->compute_us >= 0)
        cJSON_AddNumberToObject(o, "compute_us", p->phase->compute_us);
    add_sum(o, "now", &p->now);
    add_sum(o, "tuned", &p->tuned);
    add_sources(o, p->from_us);
    cJSON_AddNumberToObject(o, "unknown", p->unknown);
    json_add_each(o, "calls", p->calls, p->phase->ncalls, sizeof *p->calls, put_call);
}

cJSON *env_step_json(const struct step_estimate *s)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", STEP_FORMAT);
    json_add_str(doc, "workload", s->workload->name);
    cJSON_AddNumberToObject(doc, "ranks", s->workload->ranks);
    cJSON_AddNumberToObject(doc, "ranks_per_node", s->workload->ranks_per_node);
    json_add_str(doc, "times_per", s->workload->per_run ? "run" : "step");
    add_sum(doc, "now", &s->now);
    add_sum(doc, "tuned", &s->tuned);
    add_sources(doc, s->from_us);
    cJSON *cover = cJSON_AddObjectToObject(doc, "cover_us");
    for (int i = 0; i < STEP_COVERS; i++)
        cJSON_AddNumberToObject(cover, covers[i], s->cover_us[i]);
    cJSON_AddNumberToObject(doc, "compute_us", s->compute_us);
    struct step_time whole = env_step_whole(s);
    step_time_json(doc, "step", &whole);
    cJSON_AddNumberToObject(doc, "compute_unknown", s->compute_unknown);
    cJSON_AddNumberToObject(doc, "unknown", s->unknown);
    cJSON_AddNumberToObject(doc, "overlap_unknown", s->overlap_unknown);
    cJSON_AddBoolToObject(doc, "predicted_unused", s->predicted_unused);
    cJSON_AddBoolToObject(doc, "unvalidated", s->unvalidated);
    json_add_strs(doc, "assumed", s->assumptions, s->nassumptions);
    json_add_each(doc, "phases", s->phases, s->workload->nphases, sizeof *s->phases, put_phase);
    return doc;
}
