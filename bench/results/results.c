/* Reading a journal: every line that makes sense. */
#include "bench/results/results.h"

#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "core/hash.h"
#include "core/json.h"

/* Warnings about single lines before the rest is only counted. */
#define LINE_WARNINGS 20

/* That a finding takes, or more. */
#define NOISE_BYTES 2048

/* That a candidate of a point takes in points.c and in decisions, or less. */
#define CANDIDATE_BYTES 900

/* The first line: the format, and what holds for all of the journal. */
static int read_header(struct bench_results *r, const char *text, size_t bytes, const char *path, struct err *e)
{
    cJSON *doc = json_parse(text, bytes, path, 1, e);
    int rc = doc ? json_check_format(doc, BENCH_FORMAT, path, e) : ERR_FAILED;
    const char *hash = json_str(doc, "topology", "");
    if (!rc && *hash && (strlen(hash) != SHA256_HEX - 1 || strspn(hash, "0123456789abcdef") != SHA256_HEX - 1))
        rc = err_at(e, path, 1, 0, "expected \"topology\": a SHA-256 of 64 hex digits");
    if (!rc)
        snprintf(r->topology, SHA256_HEX, "%s", hash);
    r->budget_s = json_num(doc, "budget_s", 0);
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(doc, "asked"))
    {
        if (cJSON_IsString(one))
            ARENA_ADD(r->arena, r->asked.items, r->asked.count) = arena_strdup(r->arena, one->valuestring);
    }
    cJSON_Delete(doc);
    return rc;
}

/* ---- what many lines have in common is kept once ---- */

struct bench_shared {
    struct shared {
        uint64_t hash;
        const void *data; /* NULL: free */
        size_t bytes;
    } * list;
    size_t n, room; /* room: a power of two, more than twice what is there */
};

static struct shared *find_shared(const struct bench_shared *s, uint64_t hash, const void *data, size_t bytes)
{
    size_t at = (hash ^ hash >> 32) & (s->room - 1);
    while (s->list[at].data &&
           (s->list[at].hash != hash || s->list[at].bytes != bytes || memcmp(s->list[at].data, data, bytes) != 0))
        at = (at + 1) & (s->room - 1);
    return &s->list[at];
}

static void make_room(struct bench_shared *s, struct arena *a)
{
    const struct bench_shared old = *s;
    s->room = old.room ? 2 * old.room : 128;
    s->list = arena_alloc(a, s->room * sizeof *s->list);
    for (size_t i = 0; i < old.room; i++)
        if (old.list[i].data)
            *find_shared(s, old.list[i].hash, old.list[i].data, old.list[i].bytes) = old.list[i];
}

/* A copy that is the same for the same bytes. */
static const void *share(struct bench_results *r, const void *data, size_t bytes)
{
    uint64_t hash = HASH_START;
    if (!data || !bytes)
        return NULL;
    for (size_t i = 0; i < bytes; i++)
        hash = hash_add(hash, ((const unsigned char *)data)[i]);
    if (!r->shared)
        r->shared = ARENA_NEW(r->arena, struct bench_shared);
    if (r->shared->room <= 2 * r->shared->n)
        make_room(r->shared, r->arena);
    struct shared *s = find_shared(r->shared, hash, data, bytes);
    if (!s->data) {
        void *copy = arena_alloc(r->arena, bytes);
        memcpy(copy, data, bytes);
        *s = (struct shared){hash, copy, bytes};
        r->shared->n++;
        r->stored += bytes + 4 * sizeof *s;
    }
    return s->data;
}

static const char *share_text(struct bench_results *r, const char *text)
{
    return share(r, text, text ? strlen(text) + 1 : 0);
}

/* `settings` was read into memory of this call. */
static void share_knobs(struct bench_results *r, struct bench_knobs *k)
{
    struct bench_setting *settings = (struct bench_setting *)k->settings;
    for (int i = 0; i < k->nsettings; i++)
        settings[i] = (struct bench_setting){share_text(r, settings[i].name), share_text(r, settings[i].value)};
    k->label = share_text(r, k->label);
    k->settings = share(r, settings, (size_t)k->nsettings * sizeof *settings);
}

/* Counts what a candidate takes when it is compared and decided on, the first time that it is seen. */
static void count_candidate(struct bench_results *r, const struct bench_result *item)
{
    const uint64_t words[] = {item->bytes,           (uint64_t)item->coll,   (uint64_t)item->nodes,
                              (uint64_t)item->ranks, (uint64_t)item->others, (uint64_t)item->buffers};
    uint64_t hash = hash_add(hash_text(item->launch.label), hash_text(item->call.label));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = hash_add(hash, words[i]);
    struct shared *s = find_shared(r->shared, hash, "", 0);
    if (!s->data) {
        *s = (struct shared){hash, "", 0};
        r->shared->n++;
        r->stored += CANDIDATE_BYTES;
    }
}

static const void *keep(struct bench_results *r, const void *data, size_t bytes)
{
    void *copy = data && bytes ? arena_alloc(r->arena, bytes) : NULL;
    if (copy)
        memcpy(copy, data, bytes);
    r->stored += copy ? bytes : 0;
    return copy;
}

/* ---- lines ---- */

void bench_results_push(struct bench_results *r, const struct bench_result *item)
{
    if (r->count == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->items = realloc(r->items, (size_t)r->room * sizeof *r->items);
        if (!r->items)
            abort();
    }
    r->items[r->count++] = *item;
    r->stored += sizeof *item;
}

int bench_results_add(struct bench_results *r, const cJSON *doc, const char *path, long line, struct err *e)
{
    struct bench_result item;
    const cJSON *noise = cJSON_GetObjectItemCaseSensitive(doc, "noise"), *finding;
    r->noise.arena = r->arena;
    if (cJSON_IsArray(noise)) {
        cJSON_ArrayForEach(finding, noise) finding_take(&r->noise, finding);
        r->stored += NOISE_BYTES * (size_t)cJSON_GetArraySize(noise);
        return 0;
    }
    if (cJSON_HasObjectItem(doc, "load")) /* a journal of 0.1.0: what a step lost by a call beside compute */
        return 0;
    struct arena *scratch = arena_new();
    int rc = bench_result_read(doc, path, line, scratch, &item, e);
    if (!rc) {
        item.engine = share_text(r, item.engine);
        item.library = share_text(r, item.library);
        item.data = share_text(r, item.data);
        item.active = share_text(r, item.active);
        item.detail = share_text(r, item.detail);
        share_knobs(r, &item.launch);
        share_knobs(r, &item.call);
        item.times_us = keep(r, item.times_us, (size_t)item.ntimes * sizeof *item.times_us);
        item.beside_us = keep(r, item.beside_us, (size_t)item.nbeside * sizeof *item.beside_us);
        item.doubt = keep(r, item.doubt, sizeof *item.doubt);
        count_candidate(r, &item);
        bench_results_push(r, &item);
    }
    arena_free(scratch);
    return rc;
}

int bench_results_check_count(const struct bench_results *r, const char *path, struct err *e)
{
    if (r->count > BENCH_MOST)
        return err_set(e, ERR_FAILED, "%s: more than %d results, the most that are read together", path, BENCH_MOST);
    if (r->stored > BENCH_STORED)
        return err_set(e, ERR_FAILED, "%s: results of more than %zu MiB, the most that are read together", path,
                       BENCH_STORED >> 20);
    return 0;
}

int bench_results_take(struct bench_results *r, struct file_lines *lines, struct log *log, struct err *e)
{
    long skipped = 0;
    struct err broken;
    char *line;
    size_t n;
    int more;
    while ((more = file_lines_next(lines, &line, &n, e)) > 0) {
        if (lines->line == 1 && read_header(r, line, n, lines->path, e))
            return ERR_FAILED;
        if (lines->line > 1 && strspn(line, " \t\r") < n) {
            cJSON *doc = json_parse(line, n, lines->path, lines->line, &broken);
            int rc = doc ? bench_results_add(r, doc, lines->path, lines->line, &broken) : ERR_FAILED;
            if (rc && ++skipped <= LINE_WARNINGS)
                log_warn(log, "%s; line skipped", broken.text);
            cJSON_Delete(doc);
        }
        if (bench_results_check_count(r, lines->path, e))
            return ERR_FAILED;
    }
    if (skipped > LINE_WARNINGS)
        log_warn(log, "%s: %ld more broken lines skipped", lines->path, skipped - LINE_WARNINGS);
    if (!more && !lines->line)
        return err_set(e, ERR_FAILED, "%s: is empty", lines->path);
    r->lines = lines->line;
    return more ? ERR_FAILED : 0;
}

static struct bench_results *read_journal(struct file_lines *lines, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct bench_results *r = ARENA_NEW(a, struct bench_results);
    r->arena = a;
    int rc = bench_results_take(r, lines, log, e);
    file_lines_close(lines);
    if (!rc)
        return r;
    bench_results_free(r);
    return NULL;
}

struct bench_results *bench_results_parse(const char *path, const char *text, size_t bytes, struct log *log,
                                          struct err *e)
{
    struct file_lines lines;
    file_lines_of(&lines, path, text, bytes);
    return read_journal(&lines, log, e);
}

struct bench_results *bench_results_load(const char *path, struct log *log, struct err *e)
{
    struct file_lines lines;
    return file_lines_open(&lines, path, BENCH_LIMIT, e) ? NULL : read_journal(&lines, log, e);
}

void bench_results_free(struct bench_results *r)
{
    if (!r)
        return;
    if (r->room)
        free(r->items);
    arena_free(r->points_arena);
    arena_free(r->arena);
}
