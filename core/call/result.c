/* A measurement as JSON; settings and doubts. */
#include "core/call/result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/call/shape.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/json_fields.h"

/* A run of a day at one sample a millisecond stays below. */
#define TIMES_LIMIT 100000000
#define MOST_DOUBT  10 /* of a log time */

static const char *const statuses[BENCH_STATUS_COUNT] = {"ok", "dropped", "wrong", "failed", "crashed", "hung"};

const char *bench_status_name(int status)
{
    return (unsigned)status < BENCH_STATUS_COUNT ? statuses[status] : NULL;
}

static const char *const buffers_names[BENCH_BUFFERS] = {NULL,           "bfloat16", "in place",
                                                         "out of place", "graph",    "registered"};

const char *bench_buffers_name(int buffers)
{
    return (unsigned)buffers < BENCH_BUFFERS ? buffers_names[buffers] : NULL;
}

int bench_buffers_parse(const char *name)
{
    for (int i = 1; name && i < BENCH_BUFFERS; i++)
        if (!strcmp(name, buffers_names[i]))
            return i;
    return name ? -1 : BENCH_USUAL;
}

int bench_buffers_are_told(int buffers)
{
    return buffers >= BENCH_GRAPH;
}

/* ---- members ---- */

static void put_settings(cJSON *o, const struct json_field *f, const void *at)
{
    const struct bench_setting *settings = *(const struct bench_setting *const *)at;
    const int n = *json_count((void *)at);
    cJSON *object = n || f->always ? cJSON_AddObjectToObject(o, f->key) : NULL;
    for (int i = 0; i < n; i++)
        json_add_str(object, settings[i].name, settings[i].value);
}

static int get_settings(struct json_reader *in, const struct json_field *f, const cJSON *object, void *at)
{
    const cJSON *item;
    struct bench_setting *list = arena_alloc(in->arena, (size_t)cJSON_GetArraySize(object) * sizeof *list);
    int n = 0;
    if (object && !cJSON_IsObject(object))
        return json_wrong(in, f->key, "an object of names and strings");
    cJSON_ArrayForEach(item, object)
    {
        if (!cJSON_IsString(item) || !item->string || !*item->string)
            return json_wrong(in, f->key, "an object of names and strings");
        list[n++] =
            (struct bench_setting){arena_strdup(in->arena, item->string), arena_strdup(in->arena, item->valuestring)};
    }
    *(const struct bench_setting **)at = list;
    *json_count(at) = n;
    return 0;
}

static void put_groups(cJSON *o, const struct json_field *f, const void *others)
{
    if (*(const int *)others)
        cJSON_AddNumberToObject(o, f->key, *(const int *)others + 1);
}

static int get_groups(struct json_reader *in, const struct json_field *f, const cJSON *item, void *others)
{
    const struct json_field whole = {f->key, .low = 1, .high = BENCH_SHAPE_MOST, .unknown = 1};
    int rc = json_as_int.get(in, &whole, item, others);
    *(int *)others -= 1;
    return rc;
}

const struct json_kind bench_json_settings = {put_settings, get_settings}, bench_json_groups = {put_groups, get_groups};

/* Nanoseconds are finer than any clock here; more digits would only make the file longer. */
static double to_ns(double us)
{
    return round(us * 1e3) / 1e3;
}

static void put_times(cJSON *o, const struct json_field *f, const void *at)
{
    const double *us = *(const double *const *)at;
    cJSON *times = us || f->always ? cJSON_AddArrayToObject(o, f->key) : NULL;
    for (int i = 0; us && i < *json_count((void *)at); i++)
        cJSON_AddItemToArray(times, cJSON_CreateNumber(to_ns(us[i])));
}

static int get_times(struct json_reader *in, const struct json_field *f, const cJSON *times, void *at)
{
    const cJSON *item;
    int n = cJSON_GetArraySize(times);
    if (times && (!cJSON_IsArray(times) || n > TIMES_LIMIT))
        return json_wrong(in, f->key, "an array of positive numbers");
    double *out = times ? arena_alloc(in->arena, (size_t)n * sizeof *out) : NULL;
    *(double **)at = out;
    *json_count(at) = n;
    cJSON_ArrayForEach(item, times)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || !isfinite(item->valuedouble))
            return json_wrong(in, f->key, "an array of positive numbers");
        *out++ = item->valuedouble;
    }
    return 0;
}

static const struct json_kind times = {put_times, get_times};

/* ---- the line ---- */

static const struct json_field knobs_fields[] = {
    {"label", &json_as_text, offsetof(struct bench_knobs, label), .required = 1},
    {"settings", &bench_json_settings, offsetof(struct bench_knobs, settings)},
    {NULL},
};
static const struct json_record knobs = {knobs_fields};

#define AT(member) offsetof(struct bench_result, member)
static const struct json_field fields[] = {
    {"engine", &json_as_text, AT(engine), .required = 1},
    {"collective", &json_as_word, AT(coll), .required = 1, .name = coll_name, .parse = coll_parse},
    {"bytes", &json_as_bytes, AT(bytes), .low = 1, .required = 1},
    {"nodes", &json_as_int, AT(nodes), .low = 1, .required = 1},
    {"ranks", &json_as_int, AT(ranks), .low = 1, .required = 1},
    {"groups", &bench_json_groups, AT(others)},
    {"library", &json_as_text, AT(library)},
    {"launch", &json_as_object, AT(launch), .required = 1, .record = &knobs},
    {"call", &json_as_object, AT(call), .required = 1, .record = &knobs},
    {"buffers", &json_as_word, AT(buffers), .low = 1, .name = bench_buffers_name},
    {"data", &json_as_text, AT(data)},
    {"active", &json_as_text, AT(active)},
    {"round", &json_as_int, AT(round), .always = 1},
    {"status", &json_as_word, AT(status), .required = 1, .name = bench_status_name},
    {"times_us", &times, AT(times_us), .always = 1},
    {"beside_us", &times, AT(beside_us)},
    {"over_default", &json_as_number, AT(over_default)},
    {"left_s", &json_as_number, AT(left_s)},
    {NULL},
};
#undef AT

static int check_result(struct json_reader *in, void *record)
{
    const struct bench_result *r = record;
    if (!r->library)
        return json_wrong(in, "library", "text");
    if (r->ranks < r->nodes)
        return json_wrong(in, "ranks", "at least as many as \"nodes\"");
    if (r->status == BENCH_OK && !r->ntimes)
        return json_wrong(in, "times_us", "a sample, the status is ok");
    return r->nbeside > r->ntimes ? json_wrong(in, "beside_us", "no more numbers than \"times_us\"") : 0;
}

static int read_doubt(const cJSON *o, struct bench_result *r, struct json_reader *in)
{
    const cJSON *shared = cJSON_GetObjectItemCaseSensitive(o, "shared"), *item;
    struct bench_doubt *d = ARENA_NEW(in->arena, struct bench_doubt);
    int n = 0;
    if (!o)
        return 0;
    cJSON_ArrayForEach(item, shared)
    {
        if (n == BENCH_DOUBTS || !cJSON_IsNumber(item) || !(fabs(item->valuedouble) < MOST_DOUBT))
            return json_wrong(in, "doubt.shared", "six numbers at most");
        d->shared[n++] = item->valuedouble;
    }
    d->rest = json_num(o, "rest", 0);
    d->way = (int)json_int(o, "way", -1);
    d->detail = (int)json_int(o, "detail", -1);
    if (!(d->rest >= 0 && d->rest < MOST_DOUBT))
        return json_wrong(in, "doubt.rest", "0 or more");
    r->doubt = d;
    return 0;
}

/* The band of a prediction, around its one time, and what it is made of. */
static int read_band(const cJSON *o, struct bench_result *r, struct json_reader *in)
{
    if (!cJSON_HasObjectItem(o, "low_us") && !cJSON_HasObjectItem(o, "high_us"))
        return 0;
    r->low_us = json_num(o, "low_us", 0);
    r->high_us = json_num(o, "high_us", 0);
    if (r->ntimes == 1 && r->low_us > 0 && r->low_us <= r->times_us[0] && r->high_us >= r->times_us[0] &&
        isfinite(r->high_us))
        return read_doubt(cJSON_GetObjectItemCaseSensitive(o, "doubt"), r, in);
    return json_wrong(in, "low_us", "it and \"high_us\" around the one time of a prediction");
}

int bench_result_read(const cJSON *o, const char *path, long line, struct arena *a, struct bench_result *r,
                      struct err *e)
{
    struct json_reader in = {.arena = a, .file = path, .line = line, .err = e};
    memset(r, 0, sizeof *r);
    r->line = line;
    r->detail = arena_strdup(a, json_str(o, "detail", NULL));
    int rc = json_get_fields(&in, &(const struct json_record){fields, .check = check_result}, o, r);
    return rc ? rc : read_band(o, r, &in);
}

static double to_digits(double log)
{
    return round(log * 1e4) / 1e4;
}

static void add_doubt(cJSON *doc, const struct bench_doubt *d)
{
    cJSON *o = cJSON_AddObjectToObject(doc, "doubt"), *shared = cJSON_AddArrayToObject(o, "shared");
    for (int i = 0; i < BENCH_DOUBTS; i++)
        cJSON_AddItemToArray(shared, cJSON_CreateNumber(to_digits(d->shared[i])));
    cJSON_AddNumberToObject(o, "rest", to_digits(d->rest));
    cJSON_AddNumberToObject(o, "way", d->way);
    cJSON_AddNumberToObject(o, "detail", d->detail);
}

cJSON *bench_result_json(const struct bench_result *r)
{
    cJSON *doc = cJSON_CreateObject();
    json_put_fields(doc, fields, r);
    if (r->low_us > 0) {
        cJSON_AddNumberToObject(doc, "low_us", to_ns(r->low_us));
        cJSON_AddNumberToObject(doc, "high_us", to_ns(r->high_us));
    }
    if (r->doubt)
        add_doubt(doc, r->doubt);
    json_add_str(doc, "detail", r->detail);
    return doc;
}

/* ---- settings ---- */

const int nccl_plan_channels[] = {1, 2, 4, 8, 12, 16, 24, 32, 0};

struct nccl_requested nccl_requested_of(const struct bench_knobs *call)
{
    struct nccl_requested w = {.algo = -1, .proto = -1};
    for (int i = 0; i < call->nsettings; i++) {
        const struct bench_setting *s = &call->settings[i];
        if (!strcmp(s->name, NCCL_SET_ALGO))
            w.algo = algo_parse(s->value, strlen(s->value));
        else if (!strcmp(s->name, NCCL_SET_PROTO))
            w.proto = proto_parse(s->value, strlen(s->value));
        else if (!strcmp(s->name, NCCL_SET_CHANNELS))
            w.channels = (int)strtol(s->value, NULL, 10);
        else if (!strcmp(s->name, NCCL_SET_CHUNK))
            w.chunk_bytes = (uint32_t)strtoul(s->value, NULL, 10);
    }
    return w;
}

const char *bench_node_class(const char *name)
{
    const char *at = strchr(name, '@');
    return at ? at + 1 : NULL;
}

const char *bench_plain_name(const char *name, struct arena *a)
{
    return strchr(name, '@') ? arena_strndup(a, name, strcspn(name, "@")) : name;
}

const char *bench_local_name(const char *name, const char *node_class, struct arena *a)
{
    return arena_printf(a, "%s@%s", name, node_class);
}

int bench_is_for(const char *name, const char *node_class)
{
    const char *only = bench_node_class(name);
    return !only || (node_class && !strcmp(only, node_class));
}

/* ---- doubt ---- */

/* The share of the rest's variance that two calls by the same algorithm and protocol have in common: with other
 * channels or by other NICs they do the same in other amounts. Assumed; published results do not vary them alone. */
#define SAME_WAY 0.8

/* The same of two calls by other algorithms or protocols: where NCCL changes its way from one size of a published run
 * to the next, the quotient of the two times is nearer than two calls of their own would be; with a half of the
 * variance in common its interval holds 82 % of 56 such pairs on machines left out (build/perf/perf_model_truth). */
#define OTHER_WAY 0.5

double bench_doubt_of_time(const struct bench_doubt *d)
{
    double sum = d->rest * d->rest;
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += d->shared[i] * d->shared[i];
    return sqrt(sum);
}

double bench_doubt_of_quotient(const struct bench_doubt *a, const struct bench_doubt *b)
{
    double common = a->way != b->way ? OTHER_WAY : a->detail == b->detail ? 1 : SAME_WAY;
    double sum = (1 - common) * (a->rest * a->rest + b->rest * b->rest);
    for (int i = 0; i < BENCH_DOUBTS; i++)
        sum += (a->shared[i] - b->shared[i]) * (a->shared[i] - b->shared[i]);
    return sqrt(sum);
}
