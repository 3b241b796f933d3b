/* The workload document. */
#include "core/call/workload.h"

#include <string.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/json_fields.h"

/* Far beyond any real job, near enough that sums cannot overflow. */
#define PHASES_LIMIT 4096
#define CALLS_LIMIT  1000000
#define COUNT_LIMIT  1e15
#define TIME_LIMIT   1e15

struct workload *workload_new(void)
{
    struct arena *a = arena_new();
    struct workload *w = ARENA_NEW(a, struct workload);
    w->arena = a;
    w->ranks = w->ranks_per_node = 1;
    return w;
}

void workload_free(struct workload *w)
{
    for (int i = 0; w && i < w->nchanges; i++)
        workload_free(w->changes[i].workload);
    if (w)
        arena_free(w->arena);
}

struct workload_phase *workload_add_phase(struct workload *w, const char *name)
{
    struct workload_phase *p = &ARENA_ADD(w->arena, w->phases, w->nphases);
    *p = (struct workload_phase){.name = arena_strdup(w->arena, name), .compute_us = -1};
    return p;
}

struct workload_call *workload_add_call(struct workload *w, struct workload_phase *phase, struct workload_call call)
{
    call.dtype = arena_strdup(w->arena, call.dtype);
    call.what = arena_strdup(w->arena, call.what);
    struct workload_call *added = &ARENA_ADD(w->arena, phase->calls, phase->ncalls);
    *added = call;
    return added;
}

struct workload *workload_of_call(int coll, uint64_t bytes, int ranks, int ranks_per_node)
{
    struct workload *w = workload_new();
    w->ranks = ranks;
    w->ranks_per_node = ranks_per_node;
    workload_add_call(w, workload_add_phase(w, "one call"),
                      (struct workload_call){.kind = coll,
                                             .bytes = bytes,
                                             .count = 1,
                                             .group_size = ranks,
                                             .place = ranks > ranks_per_node ? WORKLOAD_CLUSTER : WORKLOAD_NODE,
                                             .stride = 1,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
    return w;
}

void workload_add_note(struct workload *w, const char *note)
{
    ARENA_ADD(w->arena, w->notes, w->nnotes) = arena_strdup(w->arena, note);
}

int workload_call_nodes(const struct workload *w, const struct workload_call *call)
{
    int64_t per_node = w->ranks_per_node > 0 ? w->ranks_per_node : 1;
    if (call->place == WORKLOAD_NODE)
        return 1;
    if (call->stride >= per_node)
        return call->group_size;
    int64_t nodes = ((int64_t)call->group_size * call->stride + per_node - 1) / per_node;
    return nodes < 2 ? 2 : (int)nodes;
}

static double phase_bytes(const struct workload_phase *p, int kind)
{
    double sum = 0;
    for (int i = 0; i < p->ncalls; i++)
        if (kind < 0 || p->calls[i].kind == kind)
            sum += (double)p->calls[i].bytes * p->calls[i].count;
    return sum;
}

double workload_bytes(const struct workload *w, const struct workload_phase *phase, int kind)
{
    if (phase)
        return phase_bytes(phase, kind);
    double sum = 0;
    for (int i = 0; i < w->nphases; i++)
        sum += phase_bytes(&w->phases[i], kind);
    return sum;
}

/* ---- the document ---- */

static const char *const places[] = {[WORKLOAD_NODE] = "node", [WORKLOAD_CLUSTER] = "cluster", NULL};
static const char *const counts_per[] = {"step", "run", NULL};
#define OF_ALL offsetof(struct workload, ranks) /* no more than the job has */
#define TIME(key, at)                                               \
    {                                                               \
        key, &json_as_number, at, .high = TIME_LIMIT, .unknown = -1 \
    }

#define AT(member) offsetof(struct workload_call, member)
static const struct json_field call_fields[] = {
    {"collective", &json_as_word, AT(kind), .required = 1, .name = coll_name, .parse = coll_parse},
    {"bytes", &json_as_bytes, AT(bytes), .low = 1, .required = 1},
    {"count", &json_as_number, AT(count), .high = COUNT_LIMIT, .required = 1},
    {"group_size", &json_as_int, AT(group_size), .low = 2, .count = OF_ALL, .required = 1},
    {"placement", &json_as_word, AT(place), .always = 1, .words = places},
    {"stride", &json_as_int, AT(stride), .low = 1, .count = OF_ALL, .unknown = 1, .always = 1},
    {"dtype", &json_as_text, AT(dtype)},
    TIME("overlap_us", AT(overlap_us)),
    TIME("time_us", AT(time_us)),
    {"algorithm", &json_as_word, AT(algo), .unknown = -1, .name = algo_name, .parse = algo_parse},
    {"protocol", &json_as_word, AT(proto), .unknown = -1, .name = proto_name, .parse = proto_parse},
    {"channels", &json_as_int, AT(channels), .high = 1024},
    {"what", &json_as_text, AT(what)},
    {NULL},
};
#undef AT

static int check_call(struct json_reader *in, void *record)
{
    return ((const struct workload_call *)record)->count > 0 ? 0 : json_wrong(in, "count", "a number above 0");
}

static const struct json_record call = {call_fields, sizeof(struct workload_call), CALLS_LIMIT, check_call};

#define AT(member) offsetof(struct workload_phase, member)
static const struct json_field phase_fields[] = {
    {"name", &json_as_text, AT(name), .required = 1},
    TIME("compute_us", AT(compute_us)),
    {"compute_factor", &json_as_number, AT(compute_factor), .high = 1000},
    {"bubble", &json_as_number, AT(bubble), .high = TIME_LIMIT},
    {"collectives", &json_as_array, AT(calls), .required = 1, .record = &call},
    {NULL},
};
static const struct json_record phase = {phase_fields, sizeof(struct workload_phase), PHASES_LIMIT};
#undef AT

#define AT(member) offsetof(struct workload, member)
static const struct json_field fields[] = {
    {"format", &json_as_constant, .text = WORKLOAD_FORMAT},
    {"name", &json_as_text, AT(name)},
    {"source", &json_as_text, AT(source)},
    {"tool", &json_as_constant, .text = NCCLTUNE_VERSION},
    {"model", &json_as_text, AT(model)},
    {"parameters", &json_as_bytes, AT(parameters)},
    {"framework", &json_as_text, AT(framework)},
    {"ranks", &json_as_int, AT(ranks), .low = 1, .high = 1 << 24, .required = 1},
    {"ranks_per_node", &json_as_int, AT(ranks_per_node), .low = 1, .high = 1 << 24, .always = 1},
    {"counts_per", &json_as_word, AT(per_run), .always = 1, .words = counts_per},
    {"phases", &json_as_array, AT(phases), .required = 1, .record = &phase},
    {"notes", &json_as_texts, AT(notes)},
    {NULL},
};
#undef AT

int workload_save(const struct workload *w, const char *path, struct err *e)
{
    cJSON *doc = cJSON_CreateObject();
    json_put_fields(doc, fields, w);
    return json_save(doc, path, e);
}

struct workload *workload_parse(const char *text, size_t bytes, const char *path, struct err *e)
{
    struct workload *w = workload_new();
    struct json_reader in = {.arena = w->arena, .file = path, .more = w, .err = e};
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    if (!doc || json_check_format(doc, WORKLOAD_FORMAT, path, e) ||
        json_get_fields(&in, &(const struct json_record){fields}, doc, w)) {
        workload_free(w);
        w = NULL;
    } else if (!w->ranks_per_node) {
        w->ranks_per_node = w->ranks;
    }
    cJSON_Delete(doc);
    return w;
}

struct workload *workload_load(const char *path, struct err *e)
{
    struct arena *a = arena_new();
    char *text;
    size_t bytes;
    struct workload *w = NULL;
    if (!file_read_text(path, FILE_LIMIT, a, &text, &bytes, e)) {
        w = workload_parse(text, bytes, path, e);
        if (!w && e && text[strspn(text, " \t\r\n")] != '{')
            err_set(e, e->code, "%s; of a launch script, 'nccltune workload --from-launch %s -o FILE' makes a workload",
                    arena_strdup(a, e->text), path);
    }
    arena_free(a);
    return w;
}

/* ---- one workload out of many ---- */

static int same_call(const struct workload_call *a, const struct workload_call *b)
{
    return a->kind == b->kind && a->bytes == b->bytes && a->group_size == b->group_size && a->place == b->place &&
           a->stride == b->stride && a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
           arena_same_text(a->dtype, b->dtype) && arena_same_text(a->what, b->what);
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
    to->compute_factor = longer(to->compute_factor, from->compute_factor);
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
    if (i == m->nindexes)
        ARENA_ADD(m->out->arena, m->indexes, m->nindexes) =
            (struct index){.arena = m->out->arena, .name = workload_add_phase(m->out, name)->name};
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
           arena_same_text(a->name, b->name);
}

static const char *describe_workload(struct arena *a, const struct workload *w)
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
                    describe_workload(m.out->arena, parts[i]), describe_workload(m.out->arena, m.out));
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
