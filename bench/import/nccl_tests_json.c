/* What nccl-tests write with -J. */
#include <stdlib.h>
#include <string.h>

#include "bench/import/import_internal.h"
#include "core/json.h"

#define MOST_TIMES 100000

static const cJSON *item(const cJSON *o, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(o, key);
}

static void read_env(struct import *m, const cJSON *env)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, env)
    {
        const char *text = cJSON_IsString(one) ? one->valuestring : "";
        size_t n = strcspn(text, "=");
        if ((!strncmp(text, "NCCL_", 5) || !strncmp(text, "RCCL_", 5)) && text[n])
            import_set(m, text, n, text + n + 1, strlen(text + n + 1));
    }
}

/* Some counts come as text. */
static double number_of(const cJSON *o, const char *key)
{
    const cJSON *value = item(o, key);
    return cJSON_IsString(value) ? strtod(value->valuestring, NULL) : json_num(o, key, 0);
}

static void read_times(struct import *m, const cJSON *per_call, struct import_row *row)
{
    const cJSON *list = item(per_call, "times_us"), *one;
    int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (n < 1 || n > MOST_TIMES)
        return;
    double *times = arena_alloc(m->arena, (size_t)n * sizeof *times);
    int from = (int)json_int(per_call, "skipped_iterations", 0), i = 0;
    cJSON_ArrayForEach(one, list)
    {
        if (i++ >= from && cJSON_IsNumber(one) && one->valuedouble > 0 && one->valuedouble < 1e12)
            times[row->ntimes++] = one->valuedouble;
    }
    row->times_us = times;
}

static void read_result(struct import *m, const cJSON *result)
{
    static const char *const sides[] = {"out_of_place", "in_place"}, *const singles[] = {"out_of_place_per_iter",
                                                                                         "in_place_per_iter"};
    for (int side = 0; side < 2; side++) {
        const cJSON *o = item(result, sides[side]);
        struct import_row row = {.bytes = (uint64_t)json_int(result, "size", 0),
                                 .type = json_str(result, "type", NULL),
                                 .in_place = side,
                                 .time_us = number_of(o, "time"),
                                 .wrong = number_of(o, "nwrong") > 0};
        if (!cJSON_IsObject(o))
            continue;
        read_times(m, item(result, singles[side]), &row);
        import_row(m, &row);
    }
}

int import_json(struct import *m, const cJSON *doc, struct err *e)
{
    const cJSON *results = item(doc, "results"), *config = item(doc, "config"), *devices = item(doc, "devices"), *one;
    const cJSON *program = cJSON_GetArrayItem(item(doc, "args"), 0);
    if (!cJSON_IsArray(results))
        return err_set(e, ERR_FAILED, "%s: expected what nccl-tests write with -J: there are no \"results\"", m->path);
    if (cJSON_IsString(program))
        import_program(m, program->valuestring);
    import_version(m, (long)json_int(doc, "nccl_version", 0));
    read_env(m, item(doc, "env"));
    import_run(m)->graph = json_int(config, "graph", 0) > 0;
    cJSON_ArrayForEach(one, devices) import_host(m, json_str(one, "hostname", "?"));
    cJSON_ArrayForEach(one, results) read_result(m, one);
    return 0;
}
