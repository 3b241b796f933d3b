/* Reading a journal: every line that makes sense. */
#include "bench/results/results.h"

#include <string.h>

#include "core/file.h"
#include "core/json.h"

/* Warnings about single lines before the rest is only counted. */
#define LINE_WARNINGS 20

int bench_results_read_header(const char *text, size_t bytes, const char *path, char topology[SHA256_HEX],
                              struct err *e)
{
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    int rc = doc ? json_check_format(doc, BENCH_FORMAT, path, e) : ERR_FAILED;
    const char *hash = json_str(doc, "topology", "");
    if (!rc && *hash && (strlen(hash) != SHA256_HEX - 1 || strspn(hash, "0123456789abcdef") != SHA256_HEX - 1))
        rc = err_at(e, path, 1, 0, "expected \"topology\": a SHA-256 of 64 hex digits");
    if (!rc)
        snprintf(topology, SHA256_HEX, "%s", hash);
    cJSON_Delete(doc);
    return rc;
}

int bench_results_add(struct bench_results *r, const cJSON *doc, const char *path, long line, struct err *e)
{
    struct bench_result result;
    const cJSON *noise = cJSON_GetObjectItemCaseSensitive(doc, "noise"), *finding;
    r->noise.arena = r->arena;
    if (cJSON_IsArray(noise)) {
        cJSON_ArrayForEach(finding, noise) finding_take(&r->noise, finding);
        return 0;
    }
    int rc = bench_result_read(doc, path, line, r->arena, &result, e);
    if (rc)
        return rc;
    r->items = arena_grow(r->arena, r->items, (size_t)r->count, sizeof *r->items);
    r->items[r->count] = result;
    if (r->index || !r->count)
        r->index = bench_index_add(r->index, &result, r->arena);
    r->count++;
    return 0;
}

static int read_line(struct bench_results *r, const char *text, size_t bytes, const char *path, long line,
                     struct err *e)
{
    cJSON *doc = json_parse(text, bytes, path, line, e);
    int rc = doc ? bench_results_add(r, doc, path, line, e) : ERR_FAILED;
    cJSON_Delete(doc);
    return rc;
}

static int is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r", s[i]))
            return 0;
    return 1;
}

int bench_results_check_count(const struct bench_results *r, const char *path, struct err *e)
{
    return r->count <= BENCH_MOST
               ? 0
               : err_set(e, ERR_FAILED, "%s: more than %d results, the most that are read together", path, BENCH_MOST);
}

int bench_results_take(struct bench_results *r, const char *path, const char *text, size_t bytes, struct log *log,
                       struct err *e)
{
    long skipped = 0, line = 1;
    struct err broken;
    for (const char *p = text, *end = text + bytes; p < end; line++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        if (line == 1 && bench_results_read_header(p, n, path, r->topology, e))
            return ERR_FAILED;
        if (line > 1 && !is_blank(p, n) && read_line(r, p, n, path, line, &broken) && ++skipped <= LINE_WARNINGS)
            log_warn(log, "%s; line skipped", broken.text);
        if (bench_results_check_count(r, path, e))
            return ERR_FAILED;
        p += n + 1;
    }
    if (skipped > LINE_WARNINGS)
        log_warn(log, "%s: %ld more broken lines skipped", path, skipped - LINE_WARNINGS);
    return 0;
}

struct bench_results *bench_results_parse(const char *path, const char *text, size_t bytes, struct log *log,
                                          struct err *e)
{
    struct arena *a = arena_new();
    struct bench_results *r = ARENA_NEW(a, struct bench_results);
    r->arena = a;
    if (!bench_results_take(r, path, text, bytes, log, e))
        return r;
    bench_results_free(r);
    return NULL;
}

struct bench_results *bench_results_load(const char *path, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    char *text;
    size_t bytes;
    int rc = file_read_text(path, BENCH_LIMIT, a, &text, &bytes, e);
    struct bench_results *r = rc ? NULL : bench_results_parse(path, text, bytes, log, e);
    arena_free(a);
    return r;
}

void bench_results_free(struct bench_results *r)
{
    if (r)
        arena_free(r->arena);
}
