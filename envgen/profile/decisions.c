/* Decisions in memory. */
#include "envgen/profile/decisions.h"

#include <string.h>

#include "core/coll.h"

struct env_decisions *env_decisions_new(double margin)
{
    struct arena *a = arena_new();
    struct env_decisions *d = ARENA_NEW(a, struct env_decisions);
    d->arena = a;
    d->margin = margin;
    d->confidence = BENCH_CONFIDENCE;
    d->tool = NCCLTUNE_VERSION;
    d->topology = "";
    return d;
}

void env_decisions_free(struct env_decisions *d)
{
    if (d)
        arena_free(d->arena);
}

const struct env_range *env_range_of(const struct env_coll *c, uint64_t bytes)
{
    for (int i = 0; i < c->nranges; i++)
        if (bytes >= c->ranges[i].min_bytes && bytes <= c->ranges[i].max_bytes)
            return &c->ranges[i];
    return NULL;
}

const struct env_range *env_range_at(const struct env_shape *s, int coll, uint64_t bytes)
{
    for (int i = 0; i < s->ncolls; i++)
        if (s->colls[i].coll == coll)
            return env_range_of(&s->colls[i], bytes);
    return NULL;
}

struct env_setting *env_find_setting(const struct env_decisions *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name))
            return &d->settings[i];
    return NULL;
}

void env_add_setting(struct env_decisions *d, struct env_setting s)
{
    ARENA_ADD(d->arena, d->settings, d->nsettings) = s;
}

int env_find_option(const struct env_point *p, const char *label)
{
    int i = p->noptions - 1;
    while (i >= 0 && strcmp(p->options[i].call.label, label) != 0)
        i--;
    return i;
}

int env_find_launch(const struct env_shape *s, const char *label)
{
    int i = s->nlaunches - 1;
    while (i >= 0 && strcmp(s->launches[i].knobs.label, label) != 0)
        i--;
    return i;
}

int env_shape_follows(const struct env_shape *s)
{
    return s->buffers && !bench_buffers_are_told(s->buffers);
}

int env_shapes_alike(const struct env_shape *x, const struct env_shape *y)
{
    int same = x->buffers == y->buffers || (!bench_buffers_are_told(x->buffers) && !bench_buffers_are_told(y->buffers));
    return same && !strcmp(x->engine, y->engine) && x->nodes == y->nodes && x->ranks == y->ranks;
}

const struct env_shape *env_shape_with(const struct env_decisions *d, enum bench_evidence evidence)
{
    for (int i = 0; i < d->nshapes; i++)
        if (bench_evidence_of(d->shapes[i].engine) == evidence)
            return &d->shapes[i];
    return NULL;
}

const char *env_shape_text(struct arena *a, const struct env_shape *s)
{
    const char *text =
        arena_printf(a, "%d node%s, %d rank%s", s->nodes, s->nodes == 1 ? "" : "s", s->ranks, s->ranks == 1 ? "" : "s");
    if (s->others)
        text = arena_printf(a, "%s, %d such groups at once", text, s->others + 1);
    return s->buffers ? arena_printf(a, "%s, buffers: %s", text, bench_buffers_name(s->buffers)) : text;
}
