/* decisions.json: the structures, and from the document back to the structures. What does not fit together is an error,
 * so that nobody behind this file needs to check an index. */
#include <math.h>
#include <string.h>

#include "core/coll.h"
#include "core/vars/catalogue.h"
#include "envgen/profile/decisions.h"

#define MOST_SHAPES         10000 /* answers compare each with each */
#define MOST_EXTRAPOLATIONS 100000
#define MOST_NODES          1000000

struct reader {
    struct arena *arena;
    const char *file;
    struct err *err;
};

static int bad(const struct reader *in, const char *what)
{
    return err_at(in->err, in->file, 0, 0, "expected %s", what);
}

/* A list in the document and the array that it becomes: `size` of an element, which `read_one` fills. */
typedef int reader_fn(const struct reader *in, const cJSON *o, void *out);

static int list(const struct reader *in, const cJSON *o, const char *key, size_t size, reader_fn *read_one, void *array,
                int *count)
{
    const cJSON *items = cJSON_GetObjectItemCaseSensitive(o, key);
    const cJSON *item;
    if (!cJSON_IsArray(items))
        return bad(in, arena_printf(in->arena, "\"%s\" as an array", key));
    char *out = arena_alloc(in->arena, ((size_t)cJSON_GetArraySize(items) + 1) * size);
    int rc = 0;
    *(void **)array = out;
    *count = 0;
    cJSON_ArrayForEach(item, items)
    {
        if (!rc && !cJSON_IsObject(item))
            rc = bad(in, arena_printf(in->arena, "objects in \"%s\"", key));
        if (!rc)
            rc = read_one(in, item, out + (size_t)(*count)++ * size);
    }
    return rc;
}

static const char *word(const struct reader *in, const cJSON *o, const char *key)
{
    return arena_strdup(in->arena, json_str(o, key, ""));
}

static struct bench_interval interval(const cJSON *o, const char *key)
{
    const cJSON *i = cJSON_GetObjectItemCaseSensitive(o, key);
    struct bench_interval v = {json_num(i, "median", 0), json_num(i, "low", 0), json_num(i, "high", 0), 0};
    int64_t n = json_int(i, "n", 0);
    if (n > 0 && n <= INT32_MAX && isfinite(v.median) && isfinite(v.low) && isfinite(v.high))
        v.n = (int)n;
    v.predicted = json_bool(i, "predicted", 0);
    v.slowdown = json_num(i, "slowdown", 0);
    v.slowdown = v.slowdown >= 1 && isfinite(v.slowdown) ? v.slowdown : 0;
    return v;
}

/* A whole number within [low, high]. */
static int whole(const struct reader *in, const cJSON *o, const char *key, int64_t low, int64_t high, int *value)
{
    int64_t v = json_int(o, key, low - 1);
    if (v < low || v > high)
        return bad(in, arena_printf(in->arena, "\"%s\" as a whole number from %lld to %lld", key, (long long)low,
                                    (long long)high));
    *value = (int)v;
    return 0;
}

static int knobs(const struct reader *in, const cJSON *o, struct bench_knobs *k)
{
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(o, "settings");
    const cJSON *item;
    struct bench_setting *out = NULL;
    k->label = word(in, o, "label");
    if (!*k->label)
        return bad(in, "a candidate with a \"label\"");
    cJSON_ArrayForEach(item, settings)
    {
        if (!cJSON_IsString(item) || !item->string)
            return bad(in, "\"settings\" as an object of names and strings");
        out = arena_grow(in->arena, out, (size_t)k->nsettings, sizeof *out);
        out[k->nsettings].name = arena_strdup(in->arena, item->string);
        out[k->nsettings++].value = arena_strdup(in->arena, item->valuestring);
    }
    k->settings = out;
    return 0;
}

static int status(const struct reader *in, const cJSON *o, enum bench_status *out)
{
    const char *name = json_str(o, "status", "");
    for (int i = 0; i < BENCH_STATUS_COUNT; i++)
        if (!strcmp(name, bench_status_name((enum bench_status)i))) {
            *out = (enum bench_status)i;
            return 0;
        }
    return bad(in, "\"status\": ok, dropped, wrong, failed, crashed or hung");
}

static int read_option(const struct reader *in, const cJSON *o, void *to)
{
    struct env_option *out = to;
    out->time_us = interval(o, "time_us");
    out->gain = interval(o, "gain");
    out->lines = word(in, o, "lines");
    int rc = knobs(in, o, &out->call);
    return rc ? rc : status(in, o, &out->status);
}

static int read_point(const struct reader *in, const cJSON *o, void *to)
{
    struct env_point *out = to;
    int64_t bytes = json_int(o, "bytes", -1);
    if (bytes < 0)
        return bad(in, "\"bytes\" of a point, 0 or more");
    out->bytes = (uint64_t)bytes;
    out->smoothed = json_bool(o, "smoothed", 0);
    out->shared = arena_strdup(in->arena, json_str(o, "shared", NULL));
    out->untouched_us = interval(o, "untouched_us");
    out->total_gain = interval(o, "total_gain");
    int rc = list(in, o, "candidates", sizeof *out->options, read_option, &out->options, &out->noptions);
    if (!rc)
        rc = whole(in, o, "default", -1, out->noptions - 1, &out->fallback);
    return rc ? rc : whole(in, o, "chosen", -1, out->noptions - 1, &out->chosen);
}

static int read_range(const struct reader *in, const cJSON *o, void *to)
{
    struct env_range *out = to;
    int64_t low = json_int(o, "min_bytes", -1), high = json_int(o, "max_bytes", -2);
    if (low < 0 || high < -1 || (high >= 0 && high < low))
        return bad(in, "\"min_bytes\" of 0 or more, and \"max_bytes\" not below it or -1");
    out->min_bytes = (uint64_t)low;
    out->max_bytes = high < 0 ? ENV_OPEN : (uint64_t)high;
    out->why = word(in, o, "why");
    out->gain = interval(o, "gain");
    int rc = knobs(in, cJSON_GetObjectItemCaseSensitive(o, "call"), &out->call);
    return rc ? rc : list(in, o, "points", sizeof *out->points, read_point, &out->points, &out->npoints);
}

static int read_coll(const struct reader *in, const cJSON *o, void *to)
{
    struct env_coll *out = to;
    const char *name = json_str(o, "collective", "");
    out->coll = coll_parse(name, strlen(name));
    if (out->coll < 0)
        return bad(in, "\"collective\": one of " COLL_NAMES);
    int rc = list(in, o, "ranges", sizeof *out->ranges, read_range, &out->ranges, &out->nranges);
    for (int i = 1; i < out->nranges && !rc; i++)
        if (out->ranges[i].min_bytes <= out->ranges[i - 1].min_bytes)
            rc = bad(in, "\"ranges\" in ascending order");
    return rc;
}

static int read_launch(const struct reader *in, const cJSON *o, void *to)
{
    struct env_launch *out = to;
    out->gain = interval(o, "gain");
    out->why = word(in, o, "why");
    int rc = knobs(in, o, &out->knobs);
    if (!rc)
        rc = status(in, o, &out->status);
    return rc ? rc : whole(in, o, "points", 0, INT32_MAX, &out->points);
}

static int read_shape(const struct reader *in, const cJSON *o, void *to)
{
    struct env_shape *out = to;
    out->engine = word(in, o, "engine");
    out->library = word(in, o, "library");
    out->active = arena_strdup(in->arena, json_str(o, "active", NULL));
    out->why = word(in, o, "why");
    out->total_gain = interval(o, "total_gain");
    int rc = whole(in, o, "nodes", 1, INT32_MAX, &out->nodes);
    if (!rc)
        rc = whole(in, o, "ranks", 1, INT32_MAX - 1, &out->ranks);
    if (!rc && cJSON_HasObjectItem(o, "groups")) {
        rc = whole(in, o, "groups", 1, BENCH_SHAPE_MOST, &out->others);
        out->others--;
    }
    if (!rc && cJSON_HasObjectItem(o, "load") && (out->load = bench_load_parse(json_str(o, "load", ""))) < 0)
        rc = bad(in, "\"load\": compute or calls");
    out->buffers = bench_buffers_parse(json_str(o, "buffers", NULL));
    if (!rc && out->buffers < 0)
        rc = bad(in, "\"buffers\": bfloat16, in place, out of place, graph or registered");
    if (!rc)
        rc = list(in, o, "launches", sizeof *out->launches, read_launch, &out->launches, &out->nlaunches);
    if (!rc)
        rc = whole(in, o, "chosen", -1, out->nlaunches - 1, &out->chosen);
    return rc ? rc : list(in, o, "collectives", sizeof *out->colls, read_coll, &out->colls, &out->ncolls);
}

static int read_setting(const struct reader *in, const cJSON *o, void *to)
{
    struct env_setting *out = to;
    out->family = word(in, o, "family");
    out->name = word(in, o, "name");
    out->value = arena_strdup(in->arena, json_str(o, "value", NULL));
    out->source = word(in, o, "source");
    out->why = word(in, o, "why");
    out->in_profile = json_bool(o, "in_profile", 0);
    out->node_class = arena_strdup(in->arena, json_str(o, "class", NULL));
    return *out->name ? 0 : bad(in, "a setting with a \"name\"");
}

static int read_releases(const struct reader *in, const cJSON *o, struct env_decisions *d)
{
    int unused;
    if (!o)
        return 0;
    d->nccl_source = word(in, o, "source");
    d->rccl = json_bool(o, "rccl", 0);
    if (env_version_parse(json_str(o, "low", ""), &d->nccl_low, &unused) ||
        env_version_parse(json_str(o, "high", ""), &d->nccl_high, &unused))
        return bad(in, "\"nccl\" with the releases \"low\" and \"high\"");
    return 0;
}

/* What the model carries on; the fit itself is for people. */
static int read_extrapolation(const struct reader *in, const cJSON *o, void *to)
{
    struct env_extrapolation *out = to;
    const char *name = json_str(o, "collective", "");
    int64_t low = json_int(o, "min_bytes", -1), high = json_int(o, "max_bytes", -1);
    out->coll = coll_parse(name, strlen(name));
    if (out->coll < 0 || out->coll >= COLL_COUNT || low < 0 || (high >= 0 && high < low))
        return bad(in, "a \"collective\" with \"min_bytes\" and \"max_bytes\" in \"beyond\"");
    out->min_bytes = (uint64_t)low;
    out->max_bytes = high < 0 ? ENV_OPEN : (uint64_t)high;
    out->gain = interval(o, "gain");
    out->why = word(in, o, "why");
    int rc = whole(in, o, "nodes_low", 2, MOST_NODES, &out->nodes_low);
    if (!rc)
        rc = whole(in, o, "nodes_high", out->nodes_low, MOST_NODES, &out->nodes_high);
    if (!rc)
        rc = whole(in, o, "ranks_per_node", 1, INT32_MAX / MOST_NODES, &out->ranks_per_node);
    return rc ? rc : knobs(in, cJSON_GetObjectItemCaseSensitive(o, "call"), &out->call);
}

static int read_fit(const struct reader *in, const cJSON *doc, struct env_decisions *d)
{
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(doc, "model_fit"), *factors;
    if (!o)
        return 0;
    factors = cJSON_GetObjectItemCaseSensitive(o, "factors");
    d->fit = (struct model_fit){
        .before = json_num(o, "before", 0),
        .spread = json_num(o, "spread", 0),
        .left_out = json_num(o, "left_out", 0),
        .bounded = json_int(o, "bounded", 0) > 0 ? (int)fmin(json_num(o, "bounded", 0), MODEL_PARTS) : 0,
        .factors = {.rest = json_num(o, "rest", 0)}};
    for (int k = 0; k < MODEL_PARTS; k++)
        d->fit.factors.time[k] = json_num(factors, model_part_name(k), 1);
    int rc = whole(in, o, "results", 1, INT32_MAX, &d->fit.used);
    if (!rc)
        rc = list(in, doc, "beyond", sizeof *d->extrapolations, read_extrapolation, &d->extrapolations,
                  &d->nextrapolations);
    if (!rc && d->nextrapolations > MOST_EXTRAPOLATIONS)
        rc = bad(in, "at most 100000 entries in \"beyond\"");
    return rc;
}

static int read_all(const struct reader *in, const cJSON *doc, struct env_decisions *d)
{
    d->tool = word(in, doc, "tool");
    d->topology = word(in, doc, "topology");
    d->margin = json_num(doc, "margin", ENV_MARGIN);
    d->confidence = json_num(doc, "confidence", BENCH_CONFIDENCE);
    d->today = arena_strdup(in->arena, json_str(doc, "today", NULL));
    d->predicted = json_bool(doc, "predictions_are_set", json_bool(doc, "predicted", 0)); /* its name of old */
    int64_t most = json_int(doc, "extrapolate_nodes", 0);
    d->extrapolate_nodes = most > 0 && most < INT32_MAX ? (int)most : 0;
    if (read_releases(in, cJSON_GetObjectItemCaseSensitive(doc, "nccl"), d))
        return ERR_FAILED;
    int rc = list(in, doc, "settings", sizeof *d->settings, read_setting, &d->settings, &d->nsettings);
    if (!rc)
        rc = list(in, doc, "shapes", sizeof *d->shapes, read_shape, &d->shapes, &d->nshapes);
    if (!rc && d->nshapes > MOST_SHAPES)
        rc = bad(in, "at most 10000 \"shapes\"");
    return rc ? rc : read_fit(in, doc, d);
}

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

const struct env_range *env_range_at(const struct env_shape *s, int coll, uint64_t bytes)
{
    for (int i = 0; i < s->ncolls; i++)
        for (int k = 0; k < s->colls[i].nranges && s->colls[i].coll == coll; k++)
            if (bytes >= s->colls[i].ranges[k].min_bytes && bytes <= s->colls[i].ranges[k].max_bytes)
                return &s->colls[i].ranges[k];
    return NULL;
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

struct env_decisions *env_decisions_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, ENV_FORMAT, e);
    if (!doc)
        return NULL;
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct reader in = {d->arena, path, e};
    if (read_all(&in, doc, d)) {
        env_decisions_free(d);
        d = NULL;
    }
    cJSON_Delete(doc);
    return d;
}

const char *env_shape_text(struct arena *a, const struct env_shape *s)
{
    const char *text = arena_printf(a, "%d node%s, %d ranks", s->nodes, s->nodes == 1 ? "" : "s", s->ranks);
    if (s->others)
        text = arena_printf(a, "%s, %d such groups at once", text, s->others + 1);
    if (s->load)
        text = arena_printf(a, "%s, beside %s", text, bench_load_name(s->load));
    return s->buffers ? arena_printf(a, "%s, buffers: %s", text, bench_buffers_name(s->buffers)) : text;
}
