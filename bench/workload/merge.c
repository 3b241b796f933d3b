/* One workload out of many. */
#include <string.h>

#include "bench/workload/workload.h"
#include "core/hash.h"

static int same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static int same_call(const struct workload_call *a, const struct workload_call *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->group_size == b->group_size && a->place == b->place &&
           a->stride == b->stride && a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
           same_text(a->dtype, b->dtype) && same_text(a->what, b->what);
}

/* Open-addressed index of the merged calls by content, so that thousands of ranks with thousands of sizes merge in one
 * pass. The table doubles when it is half full. */
struct index {
    struct arena *arena;
    const char *name; /* of the phase */
    int *slots;       /* position + 1 within the phase; 0 empty */
    size_t size, used;
};

static size_t hash_call(const struct workload_call *c)
{
    uint64_t h = HASH_START;
    const uint64_t words[] = {c->bytes,           (uint64_t)c->kind,    (uint64_t)c->group_size,
                              (uint64_t)c->place, (uint64_t)c->stride,  (uint64_t)c->algo,
                              (uint64_t)c->proto, (uint64_t)c->channels};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = hash_add(h, words[i]);
    return (size_t)(h ^ h >> 32);
}

static int *find_slot(struct index *x, const struct workload_phase *p, const struct workload_call *c)
{
    for (size_t i = hash_call(c);; i++) {
        int *slot = &x->slots[i & (x->size - 1)];
        if (!*slot || same_call(&p->calls[*slot - 1], c))
            return slot;
    }
}

static void make_room(struct index *x, const struct workload_phase *p)
{
    if (2 * (x->used + 1) <= x->size)
        return;
    x->size = x->size ? 2 * x->size : 64;
    x->slots = arena_alloc(x->arena, x->size * sizeof *x->slots);
    for (int i = 0; i < p->ncalls; i++)
        *find_slot(x, p, &p->calls[i]) = i + 1;
}

static double shorter(double a, double b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static double longer(double a, double b)
{
    return a > b ? a : b;
}

static double sum(double a, double b)
{
    return a + b;
}

static void merge_phase(struct workload *out, struct workload_phase *to, struct index *x,
                        const struct workload_phase *from, double (*combine)(double, double))
{
    to->compute_us = longer(to->compute_us, from->compute_us);
    to->bubble = longer(to->bubble, from->bubble);
    for (int i = 0; i < from->ncalls; i++) {
        const struct workload_call *c = &from->calls[i];
        make_room(x, to);
        int *slot = find_slot(x, to, c);
        if (!*slot) {
            workload_add_call(out, to, *c);
            *slot = to->ncalls;
            x->used++;
            continue;
        }
        struct workload_call *have = &to->calls[*slot - 1];
        have->count = combine(have->count, c->count);
        have->time_us = shorter(have->time_us, c->time_us);
        have->overlap_us = shorter(have->overlap_us, c->overlap_us);
    }
}

/* A workload that grows by others, with an index for each of its phases. */
struct merger {
    struct workload *out;
    struct index *indexes;
    int nindexes;
};

/* The index of the phase of that name, which is the phase's number too; a new phase where there is none. */
static int index_of(struct merger *m, const char *name)
{
    int i = 0;
    while (i < m->nindexes && strcmp(m->indexes[i].name, name) != 0)
        i++;
    if (i == m->nindexes) {
        m->indexes = arena_grow(m->out->arena, m->indexes, (size_t)i, sizeof *m->indexes);
        m->indexes[m->nindexes++] =
            (struct index){.arena = m->out->arena, .name = workload_add_phase(m->out, name)->name};
    }
    return i;
}

static void merge_in(struct merger *m, const struct workload *part, double (*combine)(double, double))
{
    for (int i = 0; i < part->nphases; i++) {
        int at = index_of(m, part->phases[i].name);
        merge_phase(m->out, &m->out->phases[at], &m->indexes[at], &part->phases[i], combine);
    }
}

static struct workload *copy_header(const struct workload *from)
{
    struct workload *w = workload_new();
    w->name = arena_strdup(w->arena, from->name);
    w->source = "merged";
    w->model = arena_strdup(w->arena, from->model);
    w->framework = arena_strdup(w->arena, from->framework);
    w->parameters = from->parameters;
    w->ranks = from->ranks;
    w->ranks_per_node = from->ranks_per_node;
    w->per_run = from->per_run;
    for (int i = 0; i < from->nnotes; i++)
        workload_add_note(w, from->notes[i]);
    return w;
}

static int same_job(const struct workload *a, const struct workload *b)
{
    return a->ranks == b->ranks && a->ranks_per_node == b->ranks_per_node && a->per_run == b->per_run &&
           same_text(a->name, b->name);
}

static const char *describe(struct arena *a, const struct workload *w)
{
    return arena_printf(a, "%s with %d ranks, %d a node, counts per %s", w->name ? w->name : "(no name)", w->ranks,
                        w->ranks_per_node, w->per_run ? "run" : "step");
}

struct workload *workload_merge(struct workload *const *parts, int nparts, struct err *e)
{
    struct merger m = {.out = copy_header(parts[0])};
    for (int i = 0; i < nparts; i++) {
        if (!same_job(parts[i], m.out)) {
            err_set(e, ERR_FAILED, "file %d of %d is of another job than the first: %s, against %s", i + 1, nparts,
                    describe(m.out->arena, parts[i]), describe(m.out->arena, m.out));
            workload_free(m.out);
            return NULL;
        }
        /* A rank that makes the same call in two entries makes it that often in all. */
        struct merger one = {.out = workload_new()};
        merge_in(&one, parts[i], sum);
        merge_in(&m, one.out, longer);
        workload_free(one.out);
    }
    return m.out;
}
