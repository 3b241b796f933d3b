/* What two profiles, or two releases of NCCL, make different. */
#include "envgen/explain/explain.h"

#include <string.h>

#include "core/coll.h"
#include "core/json.h"
#include "core/units.h"
#include "core/vars/catalogue.h"
#include "core/vars/text.h"

#define UNSET      "not set"
#define UNMEASURED "not measured"

static void add_change(struct env_diff *d, const char *kind, const char *what, const char *before, const char *after)
{
    if (!strcmp(before, after))
        return;
    d->changes = arena_grow(d->arena, d->changes, (size_t)d->count, sizeof *d->changes);
    d->changes[d->count++] = (struct env_change){kind, what, before, after};
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static int same_place(const struct env_setting *x, const struct env_setting *y)
{
    const char *a = x->node_class ? x->node_class : "", *b = y->node_class ? y->node_class : "";
    return !strcmp(x->family, y->family) && !strcmp(x->name, y->name) && !strcmp(a, b);
}

static const struct env_setting *counterpart(const struct env_decisions *d, const struct env_setting *s)
{
    for (int i = 0; i < d->nsettings; i++)
        if (same_place(&d->settings[i], s))
            return &d->settings[i];
    return NULL;
}

static const char *value(const struct env_setting *s)
{
    return s && s->value ? s->value : UNSET;
}

static const char *place(struct env_diff *out, const struct env_setting *s)
{
    return s->node_class ? arena_printf(out->arena, "%s on nodes of class %s", s->name, s->node_class) : s->name;
}

static void compare_settings(struct env_diff *out, const struct env_decisions *x, const struct env_decisions *y)
{
    for (int i = 0; i < x->nsettings; i++)
        add_change(out, "setting", place(out, &x->settings[i]), value(&x->settings[i]),
                   value(counterpart(y, &x->settings[i])));
    for (int i = 0; i < y->nsettings; i++)
        if (!counterpart(x, &y->settings[i]))
            add_change(out, "setting", place(out, &y->settings[i]), UNSET, value(&y->settings[i]));
}

static const char *releases(struct env_diff *out, const struct env_decisions *d)
{
    char low[ENV_VERSION], high[ENV_VERSION];
    if (!d->nccl_low)
        return "any release";
    return arena_printf(out->arena, "%s %s to %s", d->rccl ? "RCCL" : "NCCL", env_version_text(low, d->nccl_low),
                        env_version_text(high, d->nccl_high));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static const char *call_text(struct env_diff *out, const struct env_range *r)
{
    const char *text = r->call.nsettings ? "" : "the library's own choice";
    for (int i = 0; i < r->call.nsettings; i++)
        text = arena_printf(out->arena, "%s%s%s=%s", text, i ? " " : "", r->call.settings[i].name,
                            r->call.settings[i].value);
    return text;
}

static const char *shape_text(struct env_diff *out, const struct env_shape *s)
{
    return arena_printf(out->arena, "%s on %s", s->engine, env_shape_text(out->arena, s));
}

static const char *call_name(struct env_diff *out, const struct env_shape *s, int coll, uint64_t low, uint64_t high)
{
    char from[UNIT_TEXT], to[UNIT_TEXT];
    return arena_printf(out->arena, "%s of %s to %s, %s", coll_name(coll), unit_bytes(from, low),
                        high == ENV_OPEN ? "any larger size" : unit_bytes(to, high), shape_text(out, s));
}

/* Both are ascending; every stretch of sizes that both have is compared once. */
static void compare_coll(struct env_diff *out, const struct env_shape *s, const struct env_coll *x,
                         const struct env_coll *y)
{
    for (int i = 0, k = 0; i < x->nranges && k < y->nranges;) {
        const struct env_range *p = &x->ranges[i], *q = &y->ranges[k];
        uint64_t low = p->min_bytes > q->min_bytes ? p->min_bytes : q->min_bytes;
        uint64_t high = p->max_bytes < q->max_bytes ? p->max_bytes : q->max_bytes;
        if (low <= high)
            add_change(out, "call", call_name(out, s, x->coll, low, high), call_text(out, p), call_text(out, q));
        if (p->max_bytes <= q->max_bytes)
            i++;
        else
            k++;
    }
}

static const char *launch(const struct env_shape *s)
{
    return s->chosen < 0 ? "none" : s->launches[s->chosen].knobs.label;
}

static void compare_shape(struct env_diff *out, const struct env_shape *x, const struct env_shape *y)
{
    add_change(out, "launch", shape_text(out, x), launch(x), launch(y));
    for (int i = 0; i < x->ncolls; i++)
        for (int k = 0; k < y->ncolls; k++)
            if (x->colls[i].coll == y->colls[k].coll)
                compare_coll(out, x, &x->colls[i], &y->colls[k]);
}

static const struct env_shape *find_shape(const struct env_decisions *d, const struct env_shape *s)
{
    for (int i = 0; i < d->nshapes; i++)
        if (!strcmp(d->shapes[i].engine, s->engine) && d->shapes[i].nodes == s->nodes &&
            d->shapes[i].ranks == s->ranks && d->shapes[i].others == s->others && d->shapes[i].load == s->load &&
            d->shapes[i].buffers == s->buffers)
            return &d->shapes[i];
    return NULL;
}

static void compare_shapes(struct env_diff *out, const struct env_decisions *x, const struct env_decisions *y)
{
    for (int i = 0; i < x->nshapes; i++) {
        const struct env_shape *other = find_shape(y, &x->shapes[i]);
        if (other)
            compare_shape(out, &x->shapes[i], other);
        else
            add_change(out, "launch", shape_text(out, &x->shapes[i]), launch(&x->shapes[i]), UNMEASURED);
    }
    for (int i = 0; i < y->nshapes; i++)
        if (!find_shape(x, &y->shapes[i]))
            add_change(out, "launch", shape_text(out, &y->shapes[i]), UNMEASURED, launch(&y->shapes[i]));
}

struct env_diff env_diff_profiles(const struct env_profile *x, const struct env_profile *y, struct arena *a)
{
    struct env_diff d = {.arena = a, .before = x->dir, .after = y->dir};
    add_change(&d, "releases", "what the settings are for", releases(&d, x->decisions), releases(&d, y->decisions));
    add_change(&d, "topology", "hash", x->decisions->topology, y->decisions->topology);
    compare_settings(&d, x->decisions, y->decisions);
    compare_shapes(&d, x->decisions, y->decisions);
    return d;
}

/* ---- releases ---------------------------------------------------------------------------------------------------- */

static const char *default_text(struct arena *a, const struct env_var *v, int release)
{
    char text[ENV_VALUE];
    return env_default_at(v, release, text) ? arena_strdup(a, text) : "not read";
}

struct env_diff env_diff_releases(int before, int after, struct arena *a)
{
    char from[ENV_VERSION], to[ENV_VERSION];
    struct env_diff d = {.arena = a,
                         .before = arena_printf(a, "NCCL %s", env_version_text(from, before)),
                         .after = arena_printf(a, "NCCL %s", env_version_text(to, after))};
    const struct env_var *v;
    for (size_t n = 0; (v = env_var_at(n)); n++)
        if (v->scope != ENV_PLUGIN && !(v->flags & ENV_DEAD))
            add_change(&d, "default", v->name, default_text(a, v, before), default_text(a, v, after));
    return d;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

void env_diff_print(const struct env_diff *d, FILE *out)
{
    fprintf(out, "- %s\n+ %s\n", env_comment(d->arena, d->before), env_comment(d->arena, d->after));
    for (int i = 0; i < d->count; i++) {
        const struct env_change *c = &d->changes[i];
        fprintf(out, "%s: %s\n    - %s\n    + %s\n", c->kind, env_comment(d->arena, c->what),
                env_comment(d->arena, c->before), env_comment(d->arena, c->after));
    }
    if (!d->count)
        fputs("Nothing is different.\n", out);
}

cJSON *env_diff_json(const struct env_diff *d)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "format", "nccltune-diff/1");
    json_add_str(doc, "before", d->before);
    json_add_str(doc, "after", d->after);
    cJSON *array = cJSON_AddArrayToObject(doc, "changes");
    for (int i = 0; i < d->count; i++) {
        cJSON *o = json_append(array);
        json_add_str(o, "kind", d->changes[i].kind);
        json_add_str(o, "what", d->changes[i].what);
        json_add_str(o, "before", d->changes[i].before);
        json_add_str(o, "after", d->changes[i].after);
    }
    return doc;
}
