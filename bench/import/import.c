/* Files of all kinds into one list of measurements. */
#include "bench/import/import.h"

#include <ctype.h>
#include <string.h>

#include "bench/import/import_internal.h"
#include "core/file.h"
#include "core/json.h"

#define TEXT_LIMIT ((size_t)256 << 20)

static void read_lines(struct import *m, const char *text, size_t bytes)
{
    for (const char *p = text, *end = text + bytes; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        struct arena *scratch = arena_new();
        m->line++;
        import_line(m, arena_strndup(scratch, p, n));
        arena_free(scratch);
        p += n + 1;
    }
}

/* Whether the first line says so. */
static int is_journal(const char *text, size_t bytes)
{
    static const char key[] = "\"format\"";
    const char *eol = memchr(text, '\n', bytes);
    return memmem(text, eol ? (size_t)(eol - text) : bytes, key, sizeof key - 1) != NULL;
}

static int read_text(struct import *m, const char *path, const char *text, size_t bytes, struct err *e)
{
    size_t blank = 0;
    while (blank < bytes && isspace((unsigned char)text[blank]))
        blank++;
    m->path = path;
    m->line = 0;
    import_next_run(m);
    import_begin_run(m); /* whatever the file before has left */
    if (blank == bytes || text[blank] != '{') {
        read_lines(m, text, bytes);
        return 0;
    }
    if (is_journal(text, bytes)) {
        m->journals++;
        return bench_results_take(m->results, path, text, bytes, m->log, e);
    }
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    int rc = doc ? import_json(m, doc, e) : ERR_FAILED;
    cJSON_Delete(doc);
    return rc;
}

static struct bench_results *begin(struct import *m, const struct import_given *given, struct log *log)
{
    struct arena *a = arena_new();
    *m = (struct import){.given = given, .arena = a, .log = log, .results = ARENA_NEW(a, struct bench_results)};
    m->results->arena = a;
    return m->results;
}

static struct bench_results *finish(struct import *m, int rc, const char *first, struct err *e)
{
    if (m->left_out > IMPORT_WARNINGS)
        log_warn(m->log, "%ld more lines left out", m->left_out - IMPORT_WARNINGS);
    if (!rc && !m->results->count && !m->journals)
        rc = err_set(e, ERR_FAILED,
                     m->left_out ? "%s: no row could be taken: %ld left out"
                                 : "%s: neither a journal of nccltune nor a table of nccl-tests, rccl-tests, OSU's "
                                   "benchmarks or PARAM",
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
    begin(&m, given, log);
    return finish(&m, read_text(&m, path, text, bytes, e), path, e);
}

struct bench_results *import_load(const char *const *paths, int npaths, const struct import_given *given,
                                  struct log *log, struct err *e)
{
    struct import m;
    struct arena *a = begin(&m, given, log)->arena;
    int rc = 0;
    for (int i = 0; i < npaths && !rc; i++) {
        char *text;
        size_t bytes;
        rc = file_read_text(paths[i], TEXT_LIMIT, a, &text, &bytes, e);
        if (!rc)
            rc = read_text(&m, paths[i], text, bytes, e);
    }
    return finish(&m, rc, npaths ? paths[0] : "", e);
}
