/* Requests to a launch: how many calls make a sample, and the lines that nccltune-bench is spoken to in. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/launch/launch.h"
#include "core/coll.h"
#include "core/json.h"

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

char *protocol_request_print(const struct bench_batch *b)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "collective", coll_name(b->coll));
    cJSON_AddNumberToObject(doc, "bytes", (double)b->bytes);
    cJSON_AddNumberToObject(doc, "samples", b->samples);
    cJSON_AddBoolToObject(doc, "check", b->check);
    if (b->shape.nodes) {
        cJSON *group = cJSON_AddObjectToObject(doc, "group");
        cJSON_AddNumberToObject(group, "nodes", b->shape.nodes);
        cJSON_AddNumberToObject(group, "ranks", b->shape.ranks);
        cJSON_AddNumberToObject(group, "others", b->shape.others);
    }
    cJSON *calls = cJSON_AddArrayToObject(doc, "calls");
    for (int i = 0; i < b->nshots; i++) {
        cJSON *call = json_append(calls);
        cJSON *settings = cJSON_AddObjectToObject(call, "settings");
        for (int k = 0; k < b->shots[i].knobs->nsettings; k++)
            json_add_str(settings, b->shots[i].knobs->settings[k].name, b->shots[i].knobs->settings[k].value);
        cJSON_AddNumberToObject(call, "iterations", b->shots[i].iterations);
    }
    return to_line(doc);
}

static int parse_shot(const cJSON *call, struct arena *a, struct bench_shot *shot)
{
    struct bench_knobs *knobs = ARENA_NEW(a, struct bench_knobs);
    struct bench_setting *list = NULL;
    int64_t iterations = json_int(call, "iterations", -1);
    const cJSON *item, *settings = cJSON_GetObjectItemCaseSensitive(call, "settings");
    if (iterations < 0 || iterations > INT_MAX)
        return -1;
    cJSON_ArrayForEach(item, settings)
    {
        if (!cJSON_IsString(item) || !item->string)
            return -1;
        ARENA_ADD(a, list, knobs->nsettings) =
            (struct bench_setting){arena_strdup(a, item->string), arena_strdup(a, item->valuestring)};
    }
    knobs->settings = list;
    shot->knobs = knobs;
    shot->iterations = (int)iterations;
    return 0;
}

static int parse_group(const cJSON *group, struct bench_shape *s)
{
    int64_t nodes = json_int(group, "nodes", 0), ranks = json_int(group, "ranks", 0),
            others = json_int(group, "others", 0);
    int sensible =
        nodes >= 1 && ranks >= nodes && ranks <= BENCH_SHAPE_MOST && others >= 0 && others < BENCH_SHAPE_MOST;
    *s = sensible ? (struct bench_shape){(int)nodes, (int)ranks, (int)others} : (struct bench_shape){0};
    return group && !sensible ? -1 : 0;
}

int protocol_request_parse(const char *text, size_t bytes, struct arena *a, struct bench_batch *b, struct err *e)
{
    memset(b, 0, sizeof *b);
    cJSON *doc = json_parse(text, bytes, "request", 1, e);
    if (!doc)
        return ERR_FAILED;
    int rc = 0;
    const char *coll = json_str(doc, "collective", "");
    int64_t size = json_int(doc, "bytes", -1), samples = json_int(doc, "samples", -1);
    const cJSON *call, *calls = cJSON_GetObjectItemCaseSensitive(doc, "calls");
    int n = cJSON_IsArray(calls) ? cJSON_GetArraySize(calls) : 0;
    struct bench_shot *shots = arena_alloc(a, (size_t)n * sizeof *shots);
    b->coll = coll_parse(coll, strlen(coll));
    b->bytes = (uint64_t)size;
    b->samples = (int)samples;
    b->check = json_bool(doc, "check", 0);
    b->shots = shots;
    if (parse_group(cJSON_GetObjectItemCaseSensitive(doc, "group"), &b->shape))
        rc = err_set(e, ERR_FAILED, "request: expected nodes, ranks and others in group");
    if (b->coll < 0 || size < 1 || samples < 1 || samples > INT_MAX || n < 1)
        rc = err_set(e, ERR_FAILED, "request: expected collective, bytes, samples and calls");
    cJSON_ArrayForEach(call, calls)
    {
        if (!rc && parse_shot(call, a, &shots[b->nshots++]))
            rc = err_set(e, ERR_FAILED, "request: expected settings and iterations in every call");
    }
    cJSON_Delete(doc);
    return rc;
}

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
