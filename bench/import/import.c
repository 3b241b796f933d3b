/* Files of all kinds into one list of measurements; and what nccl-tests write as JSON. */

#include <stdlib.h>
#include <string.h>

#include "bench/import/import_internal.h"
#include "core/file.h"
#include "core/json.h"

#define MOST_TIMES 100000
#define BLANKS     " \t\r\n\f\v"

/* ---- JSON of nccl-tests ---- */

static const cJSON *find_item(const cJSON *o, const char *key)
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
static double read_number(const cJSON *o, const char *key)
{
    const cJSON *value = find_item(o, key);
    return cJSON_IsString(value) ? strtod(value->valuestring, NULL) : json_num(o, key, 0);
}

static void read_times(struct import *m, const cJSON *per_call, struct import_row *row)
{
    const cJSON *list = find_item(per_call, "times_us"), *one;
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
        const cJSON *o = find_item(result, sides[side]);
        struct import_row row = {.bytes = (uint64_t)json_int(result, "size", 0),
                                 .type = json_str(result, "type", NULL),
                                 .in_place = side,
                                 .time_us = read_number(o, "time"),
                                 .wrong = read_number(o, "nwrong") > 0};
        if (!cJSON_IsObject(o))
            continue;
        read_times(m, find_item(result, singles[side]), &row);
        import_row(m, &row);
    }
}

/* What nccl-tests write with -J. */
static int read_json(struct import *m, const cJSON *doc, struct err *e)
{
    const cJSON *results = find_item(doc, "results"), *config = find_item(doc, "config"),
                *devices = find_item(doc, "devices"), *one;
    const cJSON *program = cJSON_GetArrayItem(find_item(doc, "args"), 0);
    if (!cJSON_IsArray(results))
        return err_set(e, ERR_FAILED, "%s: expected what nccl-tests write with -J: there are no \"results\"", m->path);
    if (cJSON_IsString(program))
        import_program(m, program->valuestring);
    import_version(m, (long)json_int(doc, "nccl_version", 0));
    read_env(m, find_item(doc, "env"));
    import_run(m)->graph = json_int(config, "graph", 0) > 0;
    cJSON_ArrayForEach(one, devices) import_host(m, json_str(one, "hostname", "?"));
    cJSON_ArrayForEach(one, results) read_result(m, one);
    return 0;
}

/* ---- files ---- */

static int read_document(struct import *m, struct file_lines *lines, struct err *e)
{
    char *text;
    size_t bytes;
    cJSON *doc = file_lines_rest(lines, &text, &bytes, e) ? NULL : json_parse(text, bytes, m->path, 1, e);
    int rc = doc ? read_json(m, doc, e) : ERR_FAILED;
    cJSON_Delete(doc);
    return rc;
}

static int begins_journal(const char *line)
{
    return line[0] == '{' && strstr(line, "\"format\"");
}

int import_is_journal(const char *path)
{
    struct file_lines lines;
    struct err ignored;
    char *line;
    size_t n, blank = 0;
    int more, journal = 1;
    if (!file_lines_open(&lines, path, BENCH_LIMIT, &ignored)) {
        while ((more = file_lines_next(&lines, &line, &n, &ignored)) > 0 && (blank = strspn(line, BLANKS)) == n)
            ;
        journal = more <= 0 || begins_journal(line + blank);
    }
    file_lines_close(&lines);
    return journal;
}

/* What the first line that is not blank begins: a journal, nccl-tests' document, lines of anything else. */
static int read_file(struct import *m, struct file_lines *lines, struct err *e)
{
    char *line;
    size_t n;
    int more, is_document = 0;
    m->path = lines->path;
    m->line = m->left_line = 0;
    m->programs = 0;
    m->first = m->results->count;
    import_next_run(m);
    import_begin_run(m); /* whatever the file before has left */
    for (int first = 1; (more = file_lines_next(lines, &line, &n, e)) > 0 && m->results->count <= BENCH_MOST;) {
        const size_t blank = strspn(line, BLANKS);
        if (first && line[blank] == '{') {
            const int journal = begins_journal(line + blank);
            file_lines_back(lines);
            m->journals += journal;
            if (journal)
                return bench_results_take(m->results, lines, m->log, e);
            is_document = 1;
            break;
        }
        first = first && blank == n;
        m->line = lines->line;
        import_line(m, line);
    }
    if (!more && !lines->line)
        return err_set(e, ERR_FAILED, "%s: is empty", m->path);
    if (more < 0 || (is_document && read_document(m, lines, e)))
        return ERR_FAILED;
    import_tell_runs(m);
    return bench_results_check_count(m->results, m->path, e);
}

static struct bench_results *begin_import(struct import *m, const struct import_given *given, struct log *log)
{
    struct arena *a = arena_new();
    *m = (struct import){.given = given, .arena = a, .log = log, .results = ARENA_NEW(a, struct bench_results)};
    m->results->arena = a;
    return m->results;
}

static struct bench_results *finish_import(struct import *m, int rc, const char *first, struct err *e)
{
    if (m->warnings > IMPORT_WARNINGS)
        log_warn(m->log, "%ld more lines left out", m->warnings - IMPORT_WARNINGS);
    if (!rc && !m->results->count && !m->journals)
        rc = err_set(e, ERR_FAILED,
                     m->left_out ? "%s: no row could be taken: %ld left out"
                                 : "%s: neither a journal of nccltune nor a table of nccl-tests or rccl-tests",
                     first, m->left_out);
    if (rc) {
        bench_results_free(m->results);
        return NULL;
    }
    import_name_candidates(m);
    return m->results;
}

struct bench_results *import_parse(const char *path, const char *text, size_t bytes, const struct import_given *given,
                                   struct log *log, struct err *e)
{
    struct import m;
    struct file_lines lines;
    begin_import(&m, given, log);
    file_lines_of(&lines, path, text, bytes);
    int rc = read_file(&m, &lines, e);
    file_lines_close(&lines);
    return finish_import(&m, rc, path, e);
}

struct bench_results *import_load(const char *const *paths, int npaths, const struct import_given *given,
                                  struct log *log, struct err *e)
{
    struct import m;
    int rc = 0;
    begin_import(&m, given, log);
    for (int i = 0; i < npaths && !rc; i++) {
        struct file_lines lines;
        rc = file_lines_open(&lines, paths[i], BENCH_LIMIT, e);
        if (!rc)
            rc = read_file(&m, &lines, e);
        file_lines_close(&lines);
    }
    return finish_import(&m, rc, npaths ? paths[0] : "", e);
}
