/* Answers from a profile, for people. */
#include "envgen/explain/explain.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/coll.h"
#include "core/edit_distance.h"
#include "core/finding.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "core/vars/parse.h"
#include "core/vars/text.h"
#include "envgen/decide/decide.h"
#include "envgen/explain/explain_internal.h"

/* ---- what the catalogue knows about a variable: what it is, and its default release by release ------------------- */

/* The release that was asked for, else the oldest and the newest that the profile is for. */
struct releases {
    int low, high;
};

static struct releases releases_of(const struct env_decisions *d, const struct env_question *q)
{
    if (q->nccl)
        return (struct releases){q->nccl, q->nccl};
    if (d->nccl_low)
        return (struct releases){d->nccl_low, d->nccl_high};
    return (struct releases){ENV_OLDEST_IN_USE, ENV_NEWEST};
}

static const char *variable_name(int i)
{
    const struct env_var *v = env_var_at((size_t)i);
    return v ? v->name : NULL;
}

/* Return true for what looks like a variable of the environment and is not in the catalogue. */
static int is_unknown_variable(const char *name)
{
    return !env_var_find(name) && !env_other_find(name) && !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

/* What happens by itself: of "A if VARIABLE else B" only B, in a release without that variable. */
static const char *automatic_text(const struct env_var *v, int release)
{
    char name[64], unused[ENV_VALUE];
    const char *without = strstr(v->effective, " else ");
    if (!without || sscanf(v->effective, "%*s if %50[A-Z0-9_]", name + snprintf(name, sizeof name, "NCCL_")) != 1 ||
        !env_var_find(name) || env_default_at(env_var_find(name), release, unused))
        return v->effective;
    return without + strlen(" else ");
}

static const char *default_text(const struct env_var *v, int release, char text[ENV_VALUE])
{
    if (!env_default_at(v, release, text))
        return "nothing, the release has no such variable";
    const char *own = v->effective && !strcmp(text, "-2") ? v->effective : text; /* -2 is NCCL's "not set" */
    return own == text || strncmp(own, "-2", 2) != 0 ? own : own + 2 + strspn(own + 2, " =");
}

/* The catalogue's "config" is what the program asks for when it creates a communicator. */
static const char *program_field(const char *text)
{
    return strncmp(text, "config, ", 8) ? "" : "the program's ncclConfig_t";
}

/* The default of the oldest release, and each that differs from the one before. */
static void print_defaults(const struct env_var *v, const struct releases *r, FILE *out)
{
    char text[2][ENV_VALUE], from[ENV_VERSION], to[ENV_VERSION];
    const char *last = default_text(v, r->low, text[0]);
    int since, now = 1;
    /* 2.30.99 is any 2.30. */
    fprintf(out, "      without it, NCCL %.*s", (int)strlen(env_version_text(from, r->low)) - 3 * (r->low % 100 == 99),
            from);
    if (r->high != r->low)
        fprintf(out, " to %s", env_version_text(to, r->high));
    fprintf(out, " takes: %s", last);
    for (size_t n = 0; env_default_change(v, n, &since, text[now]); n++) {
        const char *next = since > r->low && since <= r->high ? default_text(v, since, text[now]) : last;
        if (strcmp(next, last) != 0) {
            fprintf(out, "; from %s on %s", env_version_text(from, since), next);
            last = next;
            now = !now;
        }
    }
    if (v->last > r->low && v->last < r->high)
        fprintf(out, "; after %s nothing, releases have no such variable", env_version_text(from, v->last));
    const int says = v->effective && (!env_default_at(v, r->high, text[now]) || strcmp(text[now], "-2") != 0);
    const char *automatic = says ? automatic_text(v, r->high) : "", *field = program_field(automatic);
    fprintf(out, "%s%s%s%s\n", says ? " (" : "", field, automatic + (*field ? strlen("config") : 0), says ? ")" : "");
}

/* What a variable takes: words, or the range of a number; NULL: any. */
static const char *env_values(const struct env_var *v, char text[ENV_LIMIT_TEXT])
{
    const struct env_limit range = {.low = v->low, .high = v->high};
    if (env_syntax(v) || v->grammar != ENV_G_INT)
        return env_syntax(v);
    return v->low == ENV_ANY_LOW ? "a number" : env_limit_text(&range, text);
}

static void print_values(const char *values, FILE *out)
{
    if (!values)
        return;
    fputs("      values: ", out);
    finding_put_wrapped(out, values, 14, 14, 110, "");
    fputc('\n', out);
}

/* What the catalogue knows about a variable: what it does, its default in the release that was asked for, else in those
 * of the profile. Nothing for names that are not there. */
static void explain_catalogued(const struct env_decisions *d, const struct env_question *q, const char *name, FILE *out)
{
    const struct env_var *v = env_var_find(name);
    const struct env_other *o = env_other_find(name);
    const struct env_limit *limit = env_limit_find(name);
    char values[ENV_LIMIT_TEXT];
    const struct releases r = releases_of(d, q);
    char newest[ENV_VERSION];
    if (v) {
        fprintf(out, "      what it is: %s\n", v->meaning);
        print_values(env_values(v, values), out);
        print_defaults(v, &r, out);
        if (r.high / 100 > ENV_NEWEST / 100)
            fprintf(out, "      (the newest known release is %s)\n", env_version_text(newest, ENV_NEWEST));
        if (v->interacts)
            fprintf(out, "      see also: %s\n", v->interacts);
    }
    if (limit && limit->meaning)
        fprintf(out, "      what it is: %s\n", limit->meaning);
    if (limit)
        print_values(env_limit_text(limit, values), out);
    if (o)
        fprintf(out, "      %s%s%s%s%s%s\n", strcmp(o->owner, "nobody") ? "belongs to " : "read by ", o->owner,
                o->note ? ": " : "", o->note ? o->note : "", o->use ? "; instead: " : "", o->use ? o->use : "");
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

static void add_release(cJSON *o, const char *key, int release)
{
    char text[ENV_VERSION];
    if (release)
        json_add_str(o, key, env_version_text(text, release));
}

static void add_range(cJSON *o, const struct env_var *v)
{
    int number = v->grammar == ENV_G_INT || v->grammar == ENV_G_FLAG;
    if (number && v->low != ENV_ANY_LOW)
        cJSON_AddNumberToObject(o, "low", (double)v->low);
    if (number && v->high != ENV_ANY_HIGH)
        cJSON_AddNumberToObject(o, "high", (double)v->high);
}

static void add_defaults(cJSON *o, const struct env_var *v)
{
    cJSON *array = cJSON_AddArrayToObject(o, "defaults");
    char text[ENV_VALUE];
    int since;
    for (size_t n = 0; env_default_change(v, n, &since, text); n++) {
        cJSON *change = json_append(array);
        add_release(change, "since", since);
        json_add_str(change, "value", text);
    }
}

static void add_default_in(cJSON *array, const struct env_var *v, int release)
{
    char text[ENV_VALUE];
    cJSON *o = json_append(array);
    int read = env_default_at(v, release, text);
    add_release(o, "nccl", release);
    cJSON_AddBoolToObject(o, "read", read);
    json_add_str(o, "default", read ? text : NULL);
}

static void add_catalogued(cJSON *o, const struct env_var *v, const struct releases *r)
{
    static const char *const kinds[] = {"bool", "int", "string", "enum", "list"};
    static const char *const scopes[] = {"process", "communicator", "plugin"};
    static const char *const agrees[] = {"no", "yes", "advised", "unknown"};
    json_add_str(o, "kind", kinds[v->kind]);
    json_add_str(o, "scope", scopes[v->scope]);
    json_add_str(o, "same_on_all_ranks", agrees[v->agree]);
    json_add_str(o, "meaning", v->meaning);
    json_add_str(o, "syntax", env_syntax(v));
    add_release(o, "since", v->flags & ENV_OLDER ? 0 : v->since);
    add_release(o, "last", v->last);
    cJSON_AddBoolToObject(o, "documented", (v->flags & ENV_DOCUMENTED) != 0);
    cJSON_AddBoolToObject(o, "effective", !(v->flags & ENV_DEAD));
    add_range(o, v);
    add_defaults(o, v);
    json_add_str(o, "automatic", v->effective);
    json_add_str(o, "config_field", v->field);
    json_add_str(o, "see_also", v->interacts);
    cJSON *array = cJSON_AddArrayToObject(o, "in_releases");
    add_default_in(array, v, r->low);
    if (r->high != r->low)
        add_default_in(array, v, r->high);
}

cJSON *explain_catalogued_json(const struct env_decisions *d, const struct env_question *q)
{
    const char *name = q->variable;
    const struct env_var *v = env_var_find(name);
    const struct env_other *other = env_other_find(name);
    const struct releases r = releases_of(d, q);
    if (!v && !other && !is_unknown_variable(name))
        return NULL;
    cJSON *o = cJSON_CreateObject();
    json_add_str(o, "name", name);
    cJSON_AddBoolToObject(o, "known", v || other);
    if (!v && !other)
        json_add_str(o, "did_you_mean", edit_distance_nearest(name, variable_name, NULL));
    if (v)
        add_catalogued(o, v, &r);
    if (other) {
        json_add_str(o, "belongs_to", other->owner);
        json_add_str(o, "instead", other->use);
        json_add_str(o, "note", other->note);
    }
    return o;
}

/* What stands in the file was validated when it was written, but a profile may come from anywhere: nothing in it is
 * printed with its control characters. */
static const char *safe(struct arena *a, const char *s)
{
    return env_comment(a, s);
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

static int same_reason(const struct env_setting *x, const struct env_setting *y)
{
    return !x->value && !y->value && !strcmp(x->source, y->source) && !strcmp(x->why, y->why);
}

static void print_reason(struct arena *a, const struct env_setting *s, FILE *out)
{
    if (s->node_class)
        fprintf(out, "      on nodes of class %s, in nccl.d/%s.conf\n", safe(a, s->node_class), safe(a, s->node_class));
    fprintf(out, "      %s: %s\n", safe(a, s->source), safe(a, s->why));
}

static void print_setting(struct arena *a, const struct env_setting *s, FILE *out)
{
    if (s->value)
        fprintf(out, "  %s = %s%s\n", safe(a, s->name), s->in_profile ? "PROFILE/" : "", safe(a, s->value));
    else
        fprintf(out, "  %s is not set\n", safe(a, s->name));
    print_reason(a, s, out);
}

/* What is set first; those that are left alone for one reason together. */
static void print_settings(const struct env_decisions *d, FILE *out)
{
    for (int i = 0; i < d->nsettings; i++)
        if (d->settings[i].value)
            print_setting(d->arena, &d->settings[i], out);
    for (int i = 0, before = 0; i < d->nsettings; i++, before = 0) {
        const struct env_setting *s = &d->settings[i];
        const char *names = s->name;
        for (int k = 0; k < i && !before; k++)
            before = same_reason(&d->settings[k], s);
        for (int k = i + 1; k < d->nsettings; k++)
            if (same_reason(s, &d->settings[k]))
                names = arena_printf(d->arena, "%s, %s", names, d->settings[k].name);
        if (s->value || before)
            continue;
        fprintf(out, "  %s %s not set\n", safe(d->arena, names), strchr(names, ',') ? "are" : "is");
        print_reason(d->arena, s, out);
    }
}

static const char *without_prefix(const char *name)
{
    static const char prefix[] = "OMPI_MCA_";
    return name + (strncmp(name, prefix, sizeof prefix - 1) ? 0 : sizeof prefix - 1);
}

static void explain_variable(const struct env_profile *p, const struct env_question *q, FILE *out)
{
    const char *name = without_prefix(q->variable);
    int found = 0;
    for (int i = 0; i < p->decisions->nsettings; i++)
        if (!strcmp(p->decisions->settings[i].name, name)) {
            print_setting(p->arena, &p->decisions->settings[i], out);
            if (!strcmp(p->decisions->settings[i].family, BENCH_FAMILY_OPENMPI))
                fprintf(out, "      %s\n", BENCH_HOST_MEMORY);
            found = 1;
        }
    if (!found)
        fprintf(out,
                "  %s is not set\n"
                "      no measurement and no rule for it: the library's default is used\n",
                safe(p->arena, name));
    explain_catalogued(p->decisions, q, name, out);
}

/* What can be asked of a profile beside its own settings. */
static const char *known_word(int i)
{
    return i < COLL_MEASURED ? coll_name(i) : variable_name(i - COLL_MEASURED);
}

int env_explain_check(const struct env_profile *p, const char *variable, struct err *e)
{
    const char *name = without_prefix(variable);
    if (env_var_find(name) || env_other_find(name) ||
        (p ? env_find_setting(p->decisions, name) != NULL
           : !is_unknown_variable(name) && (!strchr(name, '_') || strpbrk(name, "/.-"))))
        return 0;
    char prefixed[EDIT_DISTANCE_LENGTH];
    const char *near = edit_distance_nearest(name, p ? known_word : variable_name, NULL);
    snprintf(prefixed, sizeof prefixed, "NCCL_%s", name);
    near = near ? near : edit_distance_nearest(prefixed, variable_name, NULL);
    for (int i = 0; p && !near && i < p->decisions->nsettings; i++)
        near = edit_distance_nearest(name, NULL, (const char *[]){p->decisions->settings[i].name, NULL});
    return err_set(e, ERR_USAGE, "'%.64s' is not a known variable of NCCL%s%s%s%s", variable,
                   p ? " or the profile" : "", near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

const char *env_explain_name(const char *word)
{
    const struct env_var *v;
    const struct env_other *o;
    char distance[8] = "";
    for (size_t i = 0; i + 1 < sizeof distance && word[i]; i++)
        distance[i] = (char)toupper((unsigned char)word[i]);
    if (isalpha((unsigned char)*distance) && env_parse_level(distance, ENV_NEWEST))
        return "NCCL_P2P_LEVEL";
    /* The whole name, then one without NCCL_; UCX_TLS and NCCL_UCX_TLS are two variables. */
    for (size_t skipped = 0; skipped == 0 || (skipped == 5 && !env_prefix_find(word)); skipped += 5) {
        for (size_t n = 0; (v = env_var_at(n)); n++)
            if (!strncmp(v->name, "NCCL_", skipped) && !strcasecmp(v->name + skipped, word))
                return v->name;
        for (size_t n = 0; (o = env_other_at(n)); n++)
            if (!strncmp(o->name, "NCCL_", skipped) && !strcasecmp(o->name + skipped, word))
                return o->name;
    }
    return NULL;
}

int env_explain_variable(const char *variable, int nccl, int json, FILE *out, struct err *e)
{
    const struct env_question q = {.variable = variable, .coll = -1, .nccl = nccl};
    int rc = env_explain_check(NULL, variable, e);
    if (rc)
        return rc;
    const struct env_decisions none = {0};
    if (json) {
        json_print(explain_catalogued_json(&none, &q), out);
    } else {
        fprintf(out, "  %s\n", variable);
        explain_catalogued(&none, &q, variable, out);
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* A summary shows this many of the launches that were not chosen. */
#define RUNNERS_UP 4

static int by_gain(const void *x, const void *y)
{
    const struct env_launch *a = *(const struct env_launch *const *)x, *b = *(const struct env_launch *const *)y;
    return (b->gain.median > a->gain.median) - (b->gain.median < a->gain.median);
}

/* Those that were not chosen, the fastest first, in `out`. */
static int losers_of(const struct env_shape *s, const struct env_launch **out)
{
    int n = 0;
    for (int i = 0; i < s->nlaunches; i++)
        if (i && i != s->chosen)
            out[n++] = &s->launches[i];
    if (n)
        qsort(out, (size_t)n, sizeof(struct env_launch *), by_gain);
    return n;
}

static void print_launch(struct arena *a, const char *mark, const char *labels, const char *why, FILE *out)
{
    fprintf(out, "  %s %-24s %s\n", mark, safe(a, labels), safe(a, why));
}

/* Launches of which the same is said stand together. */
static void print_launches(struct arena *a, const struct env_shape *s, int summary, FILE *out)
{
    const struct env_launch **losers = arena_alloc(a, ((size_t)s->nlaunches + 1) * sizeof *losers);
    int n = losers_of(s, losers), shown = 0, i = 0;
    fprintf(out, "  launch: %s (%s)\n", s->chosen < 0 ? "none" : safe(a, s->launches[s->chosen].knobs.label),
            safe(a, s->why));
    if (s->nlaunches < 2)
        return;
    if (s->chosen > 0)
        print_launch(a, "*", s->launches[s->chosen].knobs.label, s->launches[s->chosen].why, out);
    print_launch(a, s->chosen ? " " : "*", s->launches[0].knobs.label, s->launches[0].why, out);
    while (i < n && (!summary || shown++ < RUNNERS_UP)) {
        const struct env_launch *l = losers[i++];
        const char *labels = l->knobs.label;
        for (; i < n && !strcmp(losers[i]->why, l->why); i++)
            labels = arena_printf(a, "%s, %s", labels, losers[i]->knobs.label);
        print_launch(a, " ", labels, l->why, out);
    }
    if (i < n)
        fprintf(out, "    and %d more, none of them faster than these\n", n - i);
}

/* " at 1 MiB to 4 MiB": what was measured. */
static const char *sizes_text(struct arena *a, const struct env_range *r)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    if (!r->npoints)
        return "";
    unit_bytes(from, r->points[0].bytes);
    unit_bytes(to, r->points[r->npoints - 1].bytes);
    return r->npoints == 1 ? arena_printf(a, " at %s", from) : arena_printf(a, " at %s to %s", from, to);
}

/* `m` adds what NCCL would do where the profile does something else; NULL nothing. */
static void print_ranges(struct arena *a, struct explain_model *m, const struct env_shape *s, const struct env_coll *c,
                         FILE *out)
{
    char sizes[3 * UNIT_TEXT];
    for (int i = 0; i < c->nranges; i++) {
        const struct env_range *r = &c->ranges[i];
        const char *own =
            m && r->call.nsettings && explain_model_knows(s) ? explain_model_range(m, s, c->coll, r) : NULL;
        fprintf(out, "  %-14s %-29s  %-24s %s%s%s%s%s%s\n", i ? "" : coll_name(c->coll),
                unit_range(sizes, r->min_bytes, r->max_bytes), safe(a, r->call.label),
                r->call.nsettings ? env_gain_text(a, r->gain)
                : r->npoints      ? safe(a, r->why)
                                  : "",
                r->call.nsettings ? sizes_text(a, r) : "", own ? "  " : "", own ? explain_model_library(m) : "",
                own ? " would: " : "", own ? own : "");
    }
}

/* Sizes of all collectives at which the choice was compared with the baseline. */
static int count_points(const struct env_shape *s)
{
    int n = 0;
    for (int c = 0; c < s->ncolls; c++)
        for (int r = 0; r < s->colls[c].nranges; r++)
            for (int i = 0; i < s->colls[c].ranges[r].npoints; i++)
                n += s->colls[c].ranges[r].points[i].total_gain.n > 0;
    return n;
}

static void print_decisions(const struct env_decisions *d, struct explain_model *m, int summary, FILE *out)
{
    if (d->today && !summary) /* the report has it among what disturbed the measurement */
        fprintf(out, "\n%s\n", safe(d->arena, d->today));
    for (int i = 0; i < d->nshapes; i++) {
        const struct env_shape *s = &d->shapes[i];
        fprintf(out, "\n%s on %s\n", safe(d->arena, s->library), env_shape_text(d->arena, s));
        if (s->active)
            fprintf(out, "  the baseline: with %s\n",
                    *s->active ? safe(d->arena, s->active) : "its own tuner and network");
        print_launches(d->arena, s, summary, out);
        for (int c = 0; c < s->ncolls; c++)
            print_ranges(d->arena, m, s, &s->colls[c], out);
        int points = count_points(s);
        if (s->total_gain.n > 0)
            fprintf(out, "  altogether %s over the baseline, at %d point%s\n", env_gain_text(d->arena, s->total_gain),
                    points, points == 1 ? "" : "s");
    }
}

void env_print_decisions(const struct env_decisions *d, FILE *out)
{
    print_decisions(d, NULL, 1, out);
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
    print_settings(d, out);
    print_decisions(d, m, 0, out);
    if (explain_model_speaks(m) && (env_shape_with(d, BENCH_ON_GPUS) || env_shape_with(d, BENCH_PREDICTED)))
        fprintf(out, "\n\"%s would\" is predicted by its own cost model on this topology, not measured.\n",
                explain_model_library(m));
    const struct env_setting *rules = env_find_setting(d, "coll_tuned_use_dynamic_rules");
    if (rules && rules->value)
        fprintf(out, "\n%s\n", ENV_NON_COMMUTATIVE);
    for (const struct bench_engine *const *engine = bench_engines; *engine; engine++)
        if ((*engine)->report && env_shape_with(d, (*engine)->evidence))
            fprintf(out, "\n%s\n", (*engine)->report);
    if (d->nshapes)
        fprintf(out, "\nOne call in detail: nccltune explain PROFILE COLLECTIVE BYTES --nodes N --ranks N\n");
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
    return ferror(out) ? err_set(e, ERR_FAILED, "cannot write the answer") : 0;
}
