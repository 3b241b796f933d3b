/* A measurement as JSON. */
#include "bench/results/result.h"

#include <math.h>
#include <string.h>

#include "bench/results/shape.h"
#include "core/coll.h"
#include "core/json.h"

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

/* ---- reading ---- */

/* Where a line stands, for errors about its content. */
struct place {
    const char *file;
    long line;
    struct err *err;
};

static int bad(const struct place *at, const char *what)
{
    return err_at(at->err, at->file, at->line, 0, "expected %s", what);
}

static int read_knobs(const cJSON *o, struct arena *a, struct bench_knobs *k, const struct place *at, const char *what)
{
    const char *label = json_str(o, "label", NULL);
    if (!label || !*label)
        return bad(at, what);
    k->label = arena_strdup(a, label);
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(o, "settings");
    if (settings && !cJSON_IsObject(settings))
        return bad(at, "\"settings\" as an object of names and strings");
    struct bench_setting *list = NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, settings)
    {
        if (!cJSON_IsString(item) || !item->string || !*item->string)
            return bad(at, "\"settings\" as an object of names and strings");
        list = arena_grow(a, list, (size_t)k->nsettings, sizeof *list);
        list[k->nsettings].name = arena_strdup(a, item->string);
        list[k->nsettings++].value = arena_strdup(a, item->valuestring);
    }
    k->settings = list;
    return 0;
}

static int read_times(const cJSON *times, struct arena *a, struct bench_result *r, const struct place *at)
{
    if (times && !cJSON_IsArray(times))
        return bad(at, "\"times_us\" as an array of positive numbers");
    int n = times ? cJSON_GetArraySize(times) : 0;
    if (n > TIMES_LIMIT)
        return bad(at, "fewer samples in \"times_us\"");
    double *out = arena_alloc(a, (size_t)n * sizeof *out);
    const cJSON *item;
    cJSON_ArrayForEach(item, times)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || !isfinite(item->valuedouble))
            return bad(at, "\"times_us\" as an array of positive numbers");
        out[r->ntimes++] = item->valuedouble;
    }
    r->times_us = out;
    if (r->status == BENCH_OK && !n)
        return bad(at, "\"times_us\" with a sample, the status is ok");
    return 0;
}

static int read_beside(const cJSON *times, struct arena *a, struct bench_result *r, const struct place *at)
{
    int n = cJSON_GetArraySize(times);
    if (!times)
        return 0;
    if (!cJSON_IsArray(times) || n > r->ntimes)
        return bad(at, "\"beside_us\" as an array of no more numbers than \"times_us\" has");
    double *out = arena_alloc(a, (size_t)n * sizeof *out);
    const cJSON *item;
    cJSON_ArrayForEach(item, times)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || !isfinite(item->valuedouble))
            return bad(at, "\"beside_us\" as an array of positive numbers");
        out[r->nbeside++] = item->valuedouble;
    }
    r->beside_us = out;
    return 0;
}

static int read_doubt(const cJSON *o, struct arena *a, struct bench_result *r, const struct place *at)
{
    const cJSON *shared = cJSON_GetObjectItemCaseSensitive(o, "shared"), *item;
    struct bench_doubt *d = ARENA_NEW(a, struct bench_doubt);
    int n = 0;
    if (!o)
        return 0;
    cJSON_ArrayForEach(item, shared)
    {
        if (n == BENCH_DOUBTS || !cJSON_IsNumber(item) || !(fabs(item->valuedouble) < MOST_DOUBT))
            return bad(at, "numbers in \"shared\" of \"doubt\", six at most");
        d->shared[n++] = item->valuedouble;
    }
    d->rest = json_num(o, "rest", 0);
    d->way = (int)json_int(o, "way", -1);
    d->detail = (int)json_int(o, "detail", -1);
    if (!(d->rest >= 0 && d->rest < MOST_DOUBT))
        return bad(at, "a \"rest\" of 0 or more in \"doubt\"");
    r->doubt = d;
    return 0;
}

/* The band of a prediction, around its one time, and what it is made of. */
static int read_band(const cJSON *o, struct arena *a, struct bench_result *r, const struct place *at)
{
    if (!cJSON_HasObjectItem(o, "low_us") && !cJSON_HasObjectItem(o, "high_us"))
        return 0;
    r->low_us = json_num(o, "low_us", 0);
    r->high_us = json_num(o, "high_us", 0);
    if (r->ntimes == 1 && r->low_us > 0 && r->low_us <= r->times_us[0] && r->high_us >= r->times_us[0] &&
        isfinite(r->high_us))
        return read_doubt(cJSON_GetObjectItemCaseSensitive(o, "doubt"), a, r, at);
    return bad(at, "\"low_us\" and \"high_us\" around the one time of a prediction");
}

/* What ran beside, and how the two of them fared. */
static int read_load(const cJSON *o, struct bench_result *r, const struct place *at)
{
    const char *load = json_str(o, "load", NULL);
    if (!load)
        return 0;
    r->load = bench_load_parse(load);
    r->call_us = json_num(o, "call_us", 0);
    r->slowdown = json_num(o, "slowdown", r->ntimes ? 0 : 1);
    if (r->load > 0 && r->call_us >= 0 && r->slowdown >= 1 && isfinite(r->slowdown) && isfinite(r->call_us))
        return 0;
    return bad(at, "\"load\": compute or calls, with a \"call_us\" of 0 or more and a \"slowdown\" of 1 or more");
}

static int read_status(const char *word, enum bench_status *status)
{
    for (int i = 0; word && i < BENCH_STATUS_COUNT; i++)
        if (!strcmp(word, statuses[i])) {
            *status = (enum bench_status)i;
            return 0;
        }
    return -1;
}

int bench_result_read(const cJSON *o, const char *path, long line, struct arena *a, struct bench_result *r,
                      struct err *e)
{
    const struct place place = {path, line, e}, *at = &place;
    memset(r, 0, sizeof *r);
    r->line = at->line;
    r->engine = arena_strdup(a, json_str(o, "engine", NULL));
    r->library = arena_strdup(a, json_str(o, "library", NULL));
    r->detail = arena_strdup(a, json_str(o, "detail", NULL));
    r->data = arena_strdup(a, json_str(o, "data", NULL));
    r->active = arena_strdup(a, json_str(o, "active", NULL));
    r->buffers = bench_buffers_parse(json_str(o, "buffers", NULL));
    if (r->buffers < 0)
        return bad(at, "\"buffers\": bfloat16, in place, out of place, graph or registered");
    if (!r->engine || !*r->engine || !r->library)
        return bad(at, "\"engine\" and \"library\"");
    const char *coll = json_str(o, "collective", "");
    r->coll = coll_parse(coll, strlen(coll));
    if (r->coll < 0)
        return bad(at, "\"collective\": one of " COLL_NAMES);
    int64_t bytes = json_int(o, "bytes", -1), nodes = json_int(o, "nodes", -1), ranks = json_int(o, "ranks", -1);
    int64_t round = json_int(o, "round", 0), groups = json_int(o, "groups", 1);
    if (bytes < 1)
        return bad(at, "\"bytes\" of 1 or more");
    if (nodes < 1 || ranks < nodes || ranks > INT32_MAX)
        return bad(at, "\"nodes\" of 1 or more and at least as many \"ranks\"");
    if (groups < 1 || groups > BENCH_SHAPE_MOST)
        return bad(at, "\"groups\" of 1 or more, and fewer than a million");
    if (round < 0 || round > INT32_MAX)
        return bad(at, "\"round\" of 0 or more");
    r->bytes = (uint64_t)bytes;
    r->nodes = (int)nodes;
    r->ranks = (int)ranks;
    r->others = (int)groups - 1;
    r->round = (int)round;
    if (read_status(json_str(o, "status", NULL), &r->status))
        return bad(at, "\"status\": ok, dropped, wrong, failed, crashed or hung");
    int rc = read_knobs(cJSON_GetObjectItemCaseSensitive(o, "launch"), a, &r->launch, at, "\"launch\" with a label");
    if (!rc)
        rc = read_knobs(cJSON_GetObjectItemCaseSensitive(o, "call"), a, &r->call, at, "\"call\" with a label");
    if (!rc)
        rc = read_times(cJSON_GetObjectItemCaseSensitive(o, "times_us"), a, r, at);
    if (!rc)
        rc = read_beside(cJSON_GetObjectItemCaseSensitive(o, "beside_us"), a, r, at);
    if (!rc)
        rc = read_load(o, r, at);
    return rc ? rc : read_band(o, a, r, at);
}

/* ---- writing ---- */

static void add_knobs(cJSON *doc, const char *key, const struct bench_knobs *k)
{
    cJSON *o = cJSON_AddObjectToObject(doc, key);
    json_add_str(o, "label", k->label);
    if (!k->nsettings)
        return;
    cJSON *settings = cJSON_AddObjectToObject(o, "settings");
    for (int i = 0; i < k->nsettings; i++)
        json_add_str(settings, k->settings[i].name, k->settings[i].value);
}

/* Nanoseconds are finer than any clock here; more digits would only make the file longer. */
static double to_ns(double us)
{
    return round(us * 1e3) / 1e3;
}

static void add_times(cJSON *doc, const char *key, const double *us, int n)
{
    cJSON *times = cJSON_AddArrayToObject(doc, key);
    for (int i = 0; i < n; i++)
        cJSON_AddItemToArray(times, cJSON_CreateNumber(to_ns(us[i])));
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
    json_add_str(doc, "engine", r->engine);
    json_add_str(doc, "collective", coll_name(r->coll));
    cJSON_AddNumberToObject(doc, "bytes", (double)r->bytes);
    cJSON_AddNumberToObject(doc, "nodes", r->nodes);
    cJSON_AddNumberToObject(doc, "ranks", r->ranks);
    if (r->others)
        cJSON_AddNumberToObject(doc, "groups", r->others + 1);
    json_add_str(doc, "load", bench_load_name(r->load));
    json_add_str(doc, "library", r->library);
    add_knobs(doc, "launch", &r->launch);
    add_knobs(doc, "call", &r->call);
    json_add_str(doc, "buffers", bench_buffers_name(r->buffers));
    json_add_str(doc, "data", r->data);
    json_add_str(doc, "active", r->active);
    cJSON_AddNumberToObject(doc, "round", r->round);
    json_add_str(doc, "status", bench_status_name(r->status));
    add_times(doc, "times_us", r->times_us, r->ntimes);
    if (r->beside_us)
        add_times(doc, "beside_us", r->beside_us, r->nbeside);
    if (r->slowdown > 0) {
        cJSON_AddNumberToObject(doc, "call_us", to_ns(r->call_us));
        cJSON_AddNumberToObject(doc, "slowdown", to_digits(r->slowdown));
    }
    if (r->low_us > 0) {
        cJSON_AddNumberToObject(doc, "low_us", to_ns(r->low_us));
        cJSON_AddNumberToObject(doc, "high_us", to_ns(r->high_us));
    }
    if (r->doubt)
        add_doubt(doc, r->doubt);
    json_add_str(doc, "detail", r->detail);
    return doc;
}
