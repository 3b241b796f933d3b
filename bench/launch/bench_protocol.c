/* Requests to a launch: how many calls make a sample, and the lines that nccltune-bench is spoken to in. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch/launch.h"
#include "core/coll.h"
#include "core/json.h"
#include "core/json_fields.h"

#define LEAST_US         200.0
#define ITERATIONS_LIMIT 100000

int bench_sample_calls(const struct bench_sampling *s, double us)
{
    double least_us = s->least_us > 0 ? s->least_us : LEAST_US;
    if (!(us > least_us / ITERATIONS_LIMIT))
        return ITERATIONS_LIMIT;
    double n = ceil(least_us / us), few = floor(s->most_us / us);
    few = few < s->calls ? few : s->calls;
    n = n > few ? n : few;
    return n < 1 ? 1 : (int)n;
}

double bench_sample_us(const struct bench_sampling *s, double us)
{
    return us > 0 ? us * bench_sample_calls(s, us) : s->least_us > 0 ? s->least_us : LEAST_US;
}

#define PEER "worker" /* stands for the file in errors about what the other side said */

/* The object as a line for free(); NULL when it does not fit one. */
static char *to_line(cJSON *doc)
{
    char *text = json_line(doc), *line = NULL;
    cJSON_Delete(doc);
    if (strlen(text) + 1 < PROTOCOL_LINE && asprintf(&line, "%s\n", text) < 0)
        abort();
    free(text);
    return line;
}

/* ---- requests ---- */

static void put_settings(cJSON *o, const struct json_field *f, const void *at)
{
    bench_json_settings.put(o, f, &(*(const struct bench_knobs *const *)at)->settings);
}

static int get_settings(struct json_reader *in, const struct json_field *f, const cJSON *item, void *at)
{
    struct bench_knobs *knobs = ARENA_NEW(in->arena, struct bench_knobs);
    *(const struct bench_knobs **)at = knobs;
    return bench_json_settings.get(in, f, item, &knobs->settings);
}

static const struct json_kind settings = {put_settings, get_settings};

static const struct json_field shot_fields[] = {
    {"settings", &settings, offsetof(struct bench_shot, knobs), .always = 1},
    {"iterations", &json_as_int, offsetof(struct bench_shot, iterations), .required = 1},
    {NULL},
};
static const struct json_record shot = {shot_fields, sizeof(struct bench_shot)};

#define AT(member) offsetof(struct bench_shape, member)
static const struct json_field shape_fields[] = {
    {"nodes", &json_as_int, AT(nodes), .low = 1, .required = 1},
    {"ranks", &json_as_int, AT(ranks), .low = 1, .high = BENCH_SHAPE_MOST, .required = 1},
    {"others", &json_as_int, AT(others), .high = BENCH_SHAPE_MOST - 1, .always = 1},
    {NULL},
};
#undef AT

static int has_groups(const void *shape)
{
    return ((const struct bench_shape *)shape)->nodes;
}

static int check_shape(struct json_reader *in, void *record)
{
    const struct bench_shape *s = record;
    return s->ranks < s->nodes ? json_wrong(in, "ranks", "at least as many as \"nodes\"") : 0;
}

static const struct json_record shape = {shape_fields, .check = check_shape, .known = has_groups};

#define AT(member) offsetof(struct bench_batch, member)
static const struct json_field request_fields[] = {
    {"collective", &json_as_word, AT(coll), .required = 1, .name = coll_name, .parse = coll_parse},
    {"bytes", &json_as_bytes, AT(bytes), .low = 1, .required = 1},
    {"samples", &json_as_int, AT(samples), .low = 1, .required = 1},
    {"check", &json_as_flag, AT(check), .always = 1},
    {"group", &json_as_object, AT(shape), .record = &shape},
    {"calls", &json_as_array, AT(shots), .required = 1, .record = &shot},
    {NULL},
};
#undef AT

static int check_request(struct json_reader *in, void *record)
{
    return ((const struct bench_batch *)record)->nshots ? 0 : json_wrong(in, "calls", "a call at least");
}

char *protocol_request_print(const struct bench_batch *b)
{
    cJSON *doc = cJSON_CreateObject();
    json_put_fields(doc, request_fields, b);
    return to_line(doc);
}

int protocol_request_parse(const char *text, size_t bytes, struct arena *a, struct bench_batch *b, struct err *e)
{
    static const struct json_record request = {request_fields, .check = check_request};
    struct json_reader in = {.arena = a, .file = "request", .err = e};
    cJSON *doc = json_parse(text, bytes, in.file, 1, e);
    memset(b, 0, sizeof *b);
    int rc = doc ? json_get_fields(&in, &request, doc, b) : ERR_FAILED;
    cJSON_Delete(doc);
    return rc;
}

/* ---- answers ---- */

char *protocol_answer_print(const struct protocol_answer *w)
{
    cJSON *doc = cJSON_CreateObject();
    switch (w->kind) {
    case PROTOCOL_HELLO: {
        cJSON *hello = cJSON_AddObjectToObject(doc, "hello");
        json_add_str(hello, "library", w->text);
        cJSON_AddNumberToObject(hello, "nodes", w->nodes);
        cJSON_AddNumberToObject(hello, "ranks", w->ranks);
        break;
    }
    case PROTOCOL_SAMPLE:
        cJSON_AddNumberToObject(doc, "call", w->call);
        if (w->status == BENCH_OK) {
            cJSON_AddNumberToObject(doc, "us", w->us);
        } else {
            json_add_str(doc, "status", bench_status_name(w->status));
            json_add_str(doc, "detail", w->text);
        }
        break;
    case PROTOCOL_DONE:
        cJSON_AddBoolToObject(doc, "done", 1);
        break;
    case PROTOCOL_ERROR:
        json_add_str(doc, "error", w->text);
        break;
    }
    return to_line(doc);
}

static int parse_sample(const cJSON *doc, struct protocol_answer *w)
{
    const char *status = json_str(doc, "status", NULL);
    int64_t call = json_int(doc, "call", -1);
    w->kind = PROTOCOL_SAMPLE;
    w->call = (int)call;
    w->us = json_num(doc, "us", NAN);
    w->status = !status                     ? BENCH_OK
                : !strcmp(status, "wrong")  ? BENCH_WRONG
                : !strcmp(status, "failed") ? BENCH_FAILED
                                            : BENCH_STATUS_COUNT;
    int plausible = w->status != BENCH_OK || (w->us > 0 && isfinite(w->us));
    return call < 0 || call > INT_MAX || w->status == BENCH_STATUS_COUNT || !plausible ? -1 : 0;
}

int protocol_answer_parse(const char *text, size_t bytes, struct protocol_answer *w, struct err *e)
{
    memset(w, 0, sizeof *w);
    cJSON *doc = json_parse(text, bytes, PEER, 0, e);
    if (!doc)
        return ERR_FAILED;
    int rc = 0;
    const cJSON *hello = cJSON_GetObjectItemCaseSensitive(doc, "hello");
    const char *say = json_str(doc, "detail", NULL);
    if (hello) {
        int64_t nodes = json_int(hello, "nodes", -1), ranks = json_int(hello, "ranks", -1);
        w->kind = PROTOCOL_HELLO;
        say = json_str(hello, "library", NULL);
        w->nodes = (int)nodes;
        w->ranks = (int)ranks;
        rc = nodes < 1 || ranks < nodes || ranks > INT_MAX || !say ? -1 : 0;
    } else if (json_str(doc, "error", NULL)) {
        w->kind = PROTOCOL_ERROR;
        say = json_str(doc, "error", NULL);
    } else if (json_bool(doc, "done", 0)) {
        w->kind = PROTOCOL_DONE;
    } else {
        rc = parse_sample(doc, w);
    }
    snprintf(w->text, sizeof w->text, "%s", say ? say : "");
    if (rc)
        rc = err_set(e, ERR_FAILED, PEER ": expected an answer, found: %.*s", (int)(bytes < 200 ? bytes : 200), text);
    cJSON_Delete(doc);
    return rc;
}
