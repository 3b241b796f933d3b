/* decisions.json: what of the structures is where in the document. Times are in microseconds. What does not fit
 * together is an error, so that nobody behind this file needs to check an index. */

#include "core/call/shape.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/json_fields.h"
#include "core/vars/catalogue.h"
#include "envgen/profile/decisions.h"

#define MOST_SHAPES 10000 /* answers compare each with each */
#define MOST_NODES  1000000

/* ---- kinds of members ---- */

/* The upper end of a range; -1: it is open. */
static void put_end(cJSON *o, const struct json_field *f, const void *at)
{
    uint64_t bytes = *(const uint64_t *)at;
    cJSON_AddNumberToObject(o, f->key, bytes == ENV_OPEN ? -1 : (double)bytes);
}

static int get_end(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    const int open = cJSON_IsNumber(item) && item->valuedouble == -1;
    *(uint64_t *)at = ENV_OPEN;
    return open ? 0 : json_as_bytes.get(in, f, item, at);
}

static void put_evidence(cJSON *o, const struct json_field *f, const void *engine)
{
    json_add_str(o, f->key, bench_evidence_text(bench_evidence_of(*(const char *const *)engine)));
}

static void put_version(cJSON *o, const struct json_field *f, const void *at)
{
    char text[ENV_VERSION];
    json_add_str(o, f->key, env_version_text(text, *(const int *)at));
}

static int get_version(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    int unused;
    return env_version_parse(cJSON_IsString(item) ? item->valuestring : "", at, &unused)
               ? json_wrong(in, f->key, "a release of NCCL")
               : 0;
}

static const struct json_kind end = {put_end, get_end}, evidence = {put_evidence, json_get_nothing},
                              version = {put_version, get_version};

/* ---- records, inner ones first ---- */

/* Texts that the structures always have. */
#define WORD(key, at)                      \
    {                                      \
        key, &json_as_text, at, .text = "" \
    }
#define STATUS(at)                                                            \
    {                                                                         \
        "status", &json_as_word, at, .name = bench_status_name, .required = 1 \
    }
#define COLL(at)                                                                               \
    {                                                                                          \
        "collective", &json_as_word, at, .name = coll_name, .parse = coll_parse, .required = 1 \
    }
#define KNOBS(at)                                                                                    \
    {"label", &json_as_text, (at) + offsetof(struct bench_knobs, label), .required = 1},             \
    {                                                                                                \
        "settings", &bench_json_settings, (at) + offsetof(struct bench_knobs, settings), .always = 1 \
    }

#define AT(member) offsetof(struct bench_interval, member)
static const struct json_field interval_fields[] = {
    {"median", &json_as_number, AT(median), .required = 1},
    {"low", &json_as_number, AT(low), .required = 1},
    {"high", &json_as_number, AT(high), .required = 1},
    {"n", &json_as_int, AT(n), .required = 1},
    {"predicted", &json_as_flag, AT(predicted)},
    {NULL},
};
#undef AT

static int is_measured(const void *interval)
{
    return ((const struct bench_interval *)interval)->n > 0;
}

static const struct json_record interval = {interval_fields, .known = is_measured};
#define INTERVAL(key, at)                             \
    {                                                 \
        key, &json_as_object, at, .record = &interval \
    }

static const struct json_field knobs_fields[] = {KNOBS(0), {NULL}};
static const struct json_record knobs = {knobs_fields};

#define AT(member) offsetof(struct env_option, member)
static const struct json_field option_fields[] = {
    KNOBS(AT(call)),
    STATUS(AT(status)),
    INTERVAL("time_us", AT(time_us)),
    INTERVAL("gain", AT(gain)),
    WORD("lines", AT(lines)),
    {NULL},
};
static const struct json_record option = {option_fields, sizeof(struct env_option)};
#undef AT

#define AT(member) offsetof(struct env_point, member)
static const struct json_field point_fields[] = {
    {"bytes", &json_as_bytes, AT(bytes), .required = 1},
    {"default", &json_as_int, AT(fallback), .low = -1, .required = 1},
    {"chosen", &json_as_int, AT(chosen), .low = -1, .required = 1},
    {"smoothed", &json_as_flag, AT(smoothed), .always = 1},
    {"shared", &json_as_text, AT(shared)},
    INTERVAL("untouched_us", AT(untouched_us)),
    INTERVAL("total_gain", AT(total_gain)),
    {"candidates", &json_as_array, AT(options), .required = 1, .record = &option},
    {NULL},
};
#undef AT

static int check_point(struct json_reader *in, void *record)
{
    const struct env_point *p = record;
    if (p->fallback < p->noptions && p->chosen < p->noptions)
        return 0;
    return json_wrong(in, "candidates", "those that \"default\" and \"chosen\" name");
}

static const struct json_record point = {point_fields, sizeof(struct env_point), .check = check_point};

#define AT(member) offsetof(struct env_range, member)
static const struct json_field range_fields[] = {
    {"min_bytes", &json_as_bytes, AT(min_bytes), .required = 1},
    {"max_bytes", &end, AT(max_bytes), .required = 1},
    {"call", &json_as_object, AT(call), .required = 1, .record = &knobs},
    WORD("why", AT(why)),
    INTERVAL("gain", AT(gain)),
    {"points", &json_as_array, AT(points), .required = 1, .record = &point},
    {NULL},
};
#undef AT

static int check_range(struct json_reader *in, void *record)
{
    const struct env_range *r = record;
    return r->max_bytes < r->min_bytes ? json_wrong(in, "max_bytes", "-1, or no less than \"min_bytes\"") : 0;
}

static const struct json_record range = {range_fields, sizeof(struct env_range), .check = check_range};

static const struct json_field coll_fields[] = {
    COLL(offsetof(struct env_coll, coll)),
    {"ranges", &json_as_array, offsetof(struct env_coll, ranges), .required = 1, .record = &range},
    {NULL},
};

static int check_coll(struct json_reader *in, void *record)
{
    const struct env_coll *c = record;
    for (int i = 1; i < c->nranges; i++)
        if (c->ranges[i].min_bytes <= c->ranges[i - 1].min_bytes)
            return json_wrong(in, "ranges", "them in ascending order");
    return 0;
}

static const struct json_record coll = {coll_fields, sizeof(struct env_coll), .check = check_coll};

#define AT(member) offsetof(struct env_launch, member)
static const struct json_field launch_fields[] = {
    KNOBS(AT(knobs)),           STATUS(AT(status)),   {"points", &json_as_int, AT(points), .required = 1},
    INTERVAL("gain", AT(gain)), WORD("why", AT(why)), {NULL},
};
static const struct json_record launch = {launch_fields, sizeof(struct env_launch)};
#undef AT

#define AT(member) offsetof(struct env_shape, member)
static const struct json_field shape_fields[] = {
    WORD("engine", AT(engine)),
    WORD("library", AT(library)),
    {"evidence", &evidence, AT(engine)},
    {"buffers", &json_as_word, AT(buffers), .low = 1, .name = bench_buffers_name},
    {"active", &json_as_text, AT(active)},
    {"nodes", &json_as_int, AT(nodes), .low = 1, .required = 1},
    {"ranks", &json_as_int, AT(ranks), .low = 1, .high = INT32_MAX - 1, .required = 1},
    {"groups", &bench_json_groups, AT(others)},
    {"chosen", &json_as_int, AT(chosen), .low = -1, .required = 1},
    WORD("why", AT(why)),
    INTERVAL("total_gain", AT(total_gain)),
    {"launches", &json_as_array, AT(launches), .required = 1, .record = &launch},
    {"collectives", &json_as_array, AT(colls), .required = 1, .record = &coll},
    {NULL},
};
#undef AT

static int check_shape(struct json_reader *in, void *record)
{
    const struct env_shape *s = record;
    return s->chosen < s->nlaunches ? 0 : json_wrong(in, "launches", "the one that \"chosen\" names");
}

static const struct json_record shape = {shape_fields, sizeof(struct env_shape), MOST_SHAPES, check_shape};

#define AT(member) offsetof(struct env_setting, member)
static const struct json_field setting_fields[] = {
    WORD("family", AT(family)),
    {"name", &json_as_text, AT(name), .required = 1},
    {"value", &json_as_text, AT(value)},
    WORD("source", AT(source)),
    WORD("why", AT(why)),
    {"in_profile", &json_as_flag, AT(in_profile), .always = 1},
    {"class", &json_as_text, AT(node_class)},
    {NULL},
};
static const struct json_record setting = {setting_fields, sizeof(struct env_setting)};
#undef AT

/* ---- the document ---- */

#define AT(member) offsetof(struct env_decisions, member)
static const struct json_field releases_fields[] = {
    {"low", &version, AT(nccl_low)},
    {"high", &version, AT(nccl_high)},
    WORD("source", AT(nccl_source)),
    {"rccl", &json_as_flag, AT(rccl), .always = 1},
    {NULL},
};

static int has_releases(const void *decisions)
{
    return ((const struct env_decisions *)decisions)->nccl_low;
}

static const struct json_record releases = {releases_fields, .known = has_releases};

static const struct json_field fields[] = {
    {"format", &json_as_constant, .text = ENV_FORMAT},
    WORD("tool", AT(tool)),
    WORD("topology", AT(topology)),
    {"margin", &json_as_number, AT(margin), .unknown = ENV_MARGIN, .always = 1},
    {"confidence", &json_as_number, AT(confidence), .unknown = BENCH_CONFIDENCE, .always = 1},
    {"today", &json_as_text, AT(today)},
    {"nccl", &json_as_object, .record = &releases},
    {"predictions_are_set", &json_as_flag, AT(predicted), .always = 1},
    {"host_memory", &json_as_constant, .text = BENCH_HOST_MEMORY},
    {"settings", &json_as_array, AT(settings), .required = 1, .record = &setting},
    {"shapes", &json_as_array, AT(shapes), .required = 1, .record = &shape},
    {NULL},
};
#undef AT

cJSON *env_decisions_json(const struct env_decisions *d)
{
    cJSON *doc = cJSON_CreateObject();
    json_put_fields(doc, fields, d);
    return doc;
}

struct env_decisions *env_decisions_load(const char *path, struct err *e)
{
    cJSON *doc = json_load(path, ENV_FORMAT, e);
    if (!doc)
        return NULL;
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct json_reader in = {.arena = d->arena, .file = path, .err = e};
    if (json_get_fields(&in, &(const struct json_record){fields}, doc, d)) {
        env_decisions_free(d);
        d = NULL;
    }
    cJSON_Delete(doc);
    return d;
}
