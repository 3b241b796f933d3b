/* The workload document in memory, and its reader. */
#include "bench/workload/workload.h"

#include <math.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"

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
    if (w)
        arena_free(w->arena);
}

struct workload_phase *workload_add_phase(struct workload *w, const char *name)
{
    w->phases = arena_grow(w->arena, w->phases, (size_t)w->nphases, sizeof *w->phases);
    struct workload_phase *p = &w->phases[w->nphases++];
    *p = (struct workload_phase){.name = arena_strdup(w->arena, name), .compute_us = -1};
    return p;
}

struct workload_call *workload_add_call(struct workload *w, struct workload_phase *phase, struct workload_call call)
{
    call.dtype = arena_strdup(w->arena, call.dtype);
    call.what = arena_strdup(w->arena, call.what);
    phase->calls = arena_grow(w->arena, phase->calls, (size_t)phase->ncalls, sizeof *phase->calls);
    phase->calls[phase->ncalls] = call;
    return &phase->calls[phase->ncalls++];
}

void workload_add_note(struct workload *w, const char *note)
{
    w->notes = arena_grow(w->arena, w->notes, (size_t)w->nnotes, sizeof *w->notes);
    w->notes[w->nnotes++] = arena_strdup(w->arena, note);
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

/* ---- reading ---- */

/* Where the reader stands, for errors about its content. */
struct place {
    const char *file;
    int phase, call; /* -1: not inside one */
    struct err *err;
};

static int bad(const struct place *at, const char *key, const char *expected)
{
    if (at->phase < 0)
        return err_at(at->err, at->file, 0, 0, "%s: expected %s", key, expected);
    if (at->call < 0)
        return err_at(at->err, at->file, 0, 0, "phases[%d].%s: expected %s", at->phase, key, expected);
    return err_at(at->err, at->file, 0, 0, "phases[%d].collectives[%d].%s: expected %s", at->phase, at->call, key,
                  expected);
}

/* A whole number within [low, high]; absent gives `otherwise`, unless that is below `low`. */
static int read_int(const cJSON *o, const char *key, int64_t low, int64_t high, int64_t otherwise, int64_t *value,
                    const struct place *at)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    char expected[96];
    snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low, (long long)high);
    if (!item && otherwise < low)
        return bad(at, key, expected);
    *value = item ? json_int(o, key, low - 1) : otherwise;
    if (item &&
        (!cJSON_IsNumber(item) || *value < low || *value > high || item->valuedouble != floor(item->valuedouble)))
        return bad(at, key, expected);
    return 0;
}

/* A number within [0, high]; absent gives -1. */
static int read_time(const cJSON *o, const char *key, double *value, const struct place *at)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    *value = item ? json_num(o, key, NAN) : -1;
    if (item && !(*value >= 0 && *value <= TIME_LIMIT))
        return bad(at, key, "microseconds, 0 or more");
    return 0;
}

static int read_text(const cJSON *o, const char *key, struct arena *a, const char **value, const struct place *at)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
    if (item && !cJSON_IsString(item) && !cJSON_IsNull(item))
        return bad(at, key, "text");
    *value = arena_strdup(a, json_str(o, key, NULL));
    return 0;
}

/* An algorithm or protocol by its word; absent gives -1. */
static int read_word(const cJSON *o, const char *key, int (*parse)(const char *, size_t), int *value,
                     const struct place *at)
{
    const char *word = json_str(o, key, NULL);
    *value = word ? parse(word, strlen(word)) : -1;
    if (cJSON_GetObjectItemCaseSensitive(o, key) && *value < 0)
        return bad(at, key, "a word as in tuner tables (\"ring\", \"ll128\")");
    return 0;
}

static int read_place(const cJSON *o, enum workload_place *place, const struct place *at)
{
    const char *word = json_str(o, "placement", "node");
    *place = strcmp(word, "node") != 0 ? WORKLOAD_CLUSTER : WORKLOAD_NODE;
    if (*place == WORKLOAD_CLUSTER && strcmp(word, "cluster") != 0)
        return bad(at, "placement", "\"node\" or \"cluster\"");
    return 0;
}

static int read_call(struct workload *w, struct workload_phase *phase, const cJSON *o, const struct place *at)
{
    struct workload_call c = {0};
    int64_t bytes = 0, group = 0, stride = 0, channels = 0;
    const char *kind = json_str(o, "collective", "");
    c.kind = coll_parse(kind, strlen(kind));
    if (c.kind < 0)
        return bad(at, "collective", COLL_NAMES);
    c.count = json_num(o, "count", NAN);
    if (!(c.count > 0 && c.count <= COUNT_LIMIT))
        return bad(at, "count", "a number above 0");
    if (read_int(o, "bytes", 1, INT64_C(1) << 53, -1, &bytes, at) ||
        read_int(o, "group_size", 2, w->ranks, -1, &group, at) || read_int(o, "stride", 1, w->ranks, 1, &stride, at) ||
        read_int(o, "channels", 0, 1024, 0, &channels, at) || read_place(o, &c.place, at) ||
        read_text(o, "dtype", w->arena, &c.dtype, at) || read_text(o, "what", w->arena, &c.what, at) ||
        read_time(o, "overlap_us", &c.overlap_us, at) || read_time(o, "time_us", &c.time_us, at) ||
        read_word(o, "algorithm", algo_parse, &c.algo, at) || read_word(o, "protocol", proto_parse, &c.proto, at))
        return ERR_FAILED;
    c.bytes = (uint64_t)bytes;
    c.group_size = (int)group;
    c.stride = (int)stride;
    c.channels = (int)channels;
    workload_add_call(w, phase, c);
    return 0;
}

static int read_phase(struct workload *w, const cJSON *o, struct place *at)
{
    const char *name = NULL;
    at->call = -1;
    if (!cJSON_IsObject(o) || read_text(o, "name", w->arena, &name, at) || !name || !*name)
        return bad(at, "name", "text");
    struct workload_phase *p = workload_add_phase(w, name);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "collectives"), *item;
    double bubble = -1;
    if (read_time(o, "compute_us", &p->compute_us, at) || read_time(o, "bubble", &bubble, at))
        return ERR_FAILED;
    p->bubble = bubble > 0 ? bubble : 0;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > CALLS_LIMIT)
        return bad(at, "collectives", "an array");
    cJSON_ArrayForEach(item, list)
    {
        at->call++;
        if (read_call(w, p, item, at))
            return ERR_FAILED;
    }
    return 0;
}

static int read_header(struct workload *w, const cJSON *doc, const struct place *at)
{
    int64_t ranks = 0, per_node = 0, parameters = 0;
    if (read_text(doc, "name", w->arena, &w->name, at) || read_text(doc, "source", w->arena, &w->source, at) ||
        read_text(doc, "model", w->arena, &w->model, at) || read_text(doc, "framework", w->arena, &w->framework, at) ||
        read_int(doc, "parameters", 0, INT64_C(1) << 53, 0, &parameters, at) ||
        read_int(doc, "ranks", 1, 1 << 24, -1, &ranks, at) ||
        read_int(doc, "ranks_per_node", 1, 1 << 24, ranks, &per_node, at))
        return ERR_FAILED;
    w->parameters = (uint64_t)parameters;
    w->ranks = (int)ranks;
    w->ranks_per_node = (int)per_node;
    const char *per = json_str(doc, "counts_per", "step");
    w->per_run = !strcmp(per, "run");
    if (!w->per_run && strcmp(per, "step") != 0)
        return bad(at, "counts_per", "\"step\" or \"run\"");
    const cJSON *note;
    cJSON_ArrayForEach(note, cJSON_GetObjectItemCaseSensitive(doc, "notes"))
    {
        if (cJSON_IsString(note))
            workload_add_note(w, note->valuestring);
    }
    return 0;
}

static int read_workload(struct workload *w, const cJSON *doc, const char *path, struct err *e)
{
    struct place at = {path, -1, -1, e};
    if (json_check_format(doc, WORKLOAD_FORMAT, path, e) || read_header(w, doc, &at))
        return ERR_FAILED;
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, "phases"), *item;
    if (!cJSON_IsArray(list) || cJSON_GetArraySize(list) > PHASES_LIMIT)
        return bad(&at, "phases", "an array");
    cJSON_ArrayForEach(item, list)
    {
        at.phase++;
        if (read_phase(w, item, &at))
            return ERR_FAILED;
    }
    return 0;
}

struct workload *workload_parse(const char *text, size_t bytes, const char *path, struct err *e)
{
    struct workload *w = workload_new();
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    if (!doc || read_workload(w, doc, path, e)) {
        workload_free(w);
        w = NULL;
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
    if (!file_read_text(path, FILE_LIMIT, a, &text, &bytes, e))
        w = workload_parse(text, bytes, path, e);
    arena_free(a);
    return w;
}
