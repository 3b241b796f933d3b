/* A journal: reading every line that makes sense, and appending whole lines only. */
#include "bench/results/results.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/results/known.h"
#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"

/* Warnings about single lines before the rest is only counted. */
#define LINE_WARNINGS 20

/* That a finding takes, or more. */
#define NOISE_BYTES 2048

/* That a candidate of a point takes in points.c and in decisions, or less. */
#define CANDIDATE_BYTES 900

/* That a text that many results have takes beside itself, or less. */
#define SHARED_BYTES 96

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

struct shared {
    const void *data;
    size_t bytes;
};

static int by_content(const void *px, const void *py)
{
    const struct shared *x = px, *y = py;
    return x->bytes != y->bytes ? (x->bytes > y->bytes) - (x->bytes < y->bytes) : memcmp(x->data, y->data, x->bytes);
}

static const void *keep(struct bench_results *r, const void *data, size_t bytes)
{
    void *copy = data && bytes ? arena_alloc(r->arena, bytes) : NULL;
    if (copy)
        memcpy(copy, data, bytes);
    r->stored += copy ? bytes : 0;
    return copy;
}

/* A copy that is the same for the same bytes; the first time that they are seen they cost `more` than their number. */
static const void *share(struct bench_results *r, const void *data, size_t bytes, size_t more)
{
    const struct shared key = {data, bytes}, *const *known = tfind(&key, &r->shared, by_content);
    if (known || !data || !bytes)
        return known ? (*known)->data : NULL;
    struct shared *own = malloc(sizeof *own);
    if (!own)
        abort();
    *own = (struct shared){keep(r, data, bytes), bytes};
    r->stored += more;
    if (!tsearch(own, &r->shared, by_content))
        abort();
    return own->data;
}

static const char *share_text(struct bench_results *r, const char *text)
{
    return share(r, text, text ? strlen(text) + 1 : 0, SHARED_BYTES);
}

/* `settings` was read into memory of this call. */
static void share_knobs(struct bench_results *r, struct bench_knobs *k)
{
    struct bench_setting *settings = (struct bench_setting *)k->settings;
    for (int i = 0; i < k->nsettings; i++)
        settings[i] = (struct bench_setting){share_text(r, settings[i].name), share_text(r, settings[i].value)};
    k->label = share_text(r, k->label);
    k->settings = share(r, settings, (size_t)k->nsettings * sizeof *settings, SHARED_BYTES);
}

/* Counts what a candidate takes when it is compared and decided on, the first time that it is seen. */
static void count_candidate(struct bench_results *r, const struct bench_result *item)
{
    const uint64_t words[] = {(uintptr_t)item->launch.label, (uintptr_t)item->call.label, item->bytes,
                              (uint64_t)item->coll,          (uint64_t)item->nodes,       (uint64_t)item->ranks,
                              (uint64_t)item->others,        (uint64_t)item->buffers};
    share(r, words, sizeof words, CANDIDATE_BYTES);
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
    tdestroy(r->shared, free);
    arena_free(r->points_arena);
    arena_free(r->arena);
}

/* ---- writing ---- */

/* What `lines` holds: one write and a sync, or the file as it was before. */
static int put_lines(struct bench_journal *j, struct file_out *lines, struct err *e)
{
    struct stat before, there;
    int known = !fstat(j->fd, &before) && S_ISREG(before.st_mode), rc = 0;
    ssize_t written;
    file_out_flush(lines);
    if (known && (stat(j->path, &there) || there.st_ino != before.st_ino || there.st_dev != before.st_dev)) {
        rc = err_set(e, ERR_FAILED, "%s: was removed or replaced while it was being written", j->path);
        goto out;
    }
    do
        written = write(j->fd, lines->data, lines->bytes);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && (size_t)written < lines->bytes)
        errno = ENOSPC;
    if (written < 0 || (size_t)written < lines->bytes || (known && fdatasync(j->fd)))
        rc = err_errno(e, "%s: cannot be written", j->path);
    if (rc && known && ftruncate(j->fd, before.st_size))
        rc = err_errno(e, "%s: holds a broken last line that cannot be removed", j->path);
out:
    file_out_abandon(lines);
    return rc;
}

static int put_header(struct bench_journal *j, struct err *e)
{
    const struct bench_results *r = j->results;
    struct file_out line;
    file_out_begin(&line);
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", BENCH_FORMAT);
    if (*r->topology)
        cJSON_AddStringToObject(doc, "topology", r->topology);
    cJSON_AddStringToObject(doc, "tool", NCCLTUNE_VERSION);
    if (r->budget_s > 0)
        cJSON_AddNumberToObject(doc, "budget_s", r->budget_s);
    if (r->asked.count)
        cJSON_AddItemToObject(doc, "asked", cJSON_CreateStringArray(r->asked.items, r->asked.count));
    json_print_line(doc, line.stream);
    cJSON_Delete(doc);
    return put_lines(j, &line, e);
}

/* A journal of nothing but its header. */
static int begin_journal(struct bench_journal *j, const char *topology_hash, double budget_s, struct err *e)
{
    struct arena *a = arena_new();
    j->results = ARENA_NEW(a, struct bench_results);
    *j->results = (struct bench_results){.arena = a, .budget_s = budget_s, .lines = 1};
    snprintf(j->results->topology, SHA256_HEX, "%s", topology_hash ? topology_hash : "");
    return put_header(j, e);
}

int bench_journal_ask(struct bench_journal *j, const struct option_list *asked, struct err *e)
{
    struct stat st;
    if (j->results->lines > 1 || !asked->count || fstat(j->fd, &st) || !S_ISREG(st.st_mode))
        return 0;
    j->results->asked = *asked;
    return ftruncate(j->fd, 0) ? err_errno(e, "%s: cannot be written", j->path) : put_header(j, e);
}

/* Checks what is there, leaves it ending in a whole line, and reads it. */
static int resume_journal(struct bench_journal *j, const char *topology_hash, double budget_s, struct log *log,
                          struct err *e)
{
    static const char beginning[] = "{\"format\":";
    struct arena *a = arena_new();
    char *text;
    size_t bytes, whole;
    int rc = file_read_text(j->path, BENCH_LIMIT, a, &text, &bytes, e);
    for (whole = rc ? 0 : bytes; whole && text[whole - 1] != '\n';)
        whole--;
    if (!rc && (whole || strncmp(text, beginning, sizeof beginning - 1) != 0)) { /* else cut off in its first line */
        j->results = bench_results_parse(j->path, text, whole ? whole : bytes, log, e);
        rc = j->results ? 0 : ERR_FAILED;
    }
    const char *found = j->results ? j->results->topology : "";
    if (!rc && topology_hash && *topology_hash && *found && strcmp(found, topology_hash) != 0)
        rc = err_at(e, j->path, 1, 0, "was measured on another topology (%.12s, this one is %.12s)", found,
                    topology_hash);
    if (!rc && ftruncate(j->fd, (off_t)whole))
        rc = err_errno(e, "%s: a broken last line cannot be removed", j->path);
    if (!rc && !whole) {
        bench_results_free(j->results);
        rc = begin_journal(j, topology_hash, budget_s, e);
    }
    if (!rc)
        known_add(j->results);
    arena_free(a);
    return rc;
}

double bench_left_s(const struct bench_results *r)
{
    return r->count ? r->items[r->count - 1].left_s : r->budget_s;
}

double bench_journal_left_s(const char *path)
{
    struct err e;
    struct bench_results *r = bench_results_load(path, NULL, &e);
    double left_s = r ? bench_left_s(r) : 0;
    bench_results_free(r);
    return left_s;
}

int bench_journal_open(struct bench_journal *j, const char *path, const char *topology_hash, double budget_s,
                       int resume, struct log *log, struct err *e)
{
    *j = (struct bench_journal){.path = path, .fd = trust_append(path, 0666, e)};
    if (j->fd < 0)
        return ERR_FAILED;
    struct stat st;
    int rc;
    if (fstat(j->fd, &st))
        rc = err_errno(e, "%s: cannot be examined", path);
    else if (S_ISFIFO(st.st_mode)) /* reading it back would wait for ever */
        rc = err_set(e, ERR_FAILED, "%s: is a pipe: expected a file, which is read again", path);
    else if (S_ISREG(st.st_mode) && flock(j->fd, LOCK_EX | LOCK_NB))
        rc = err_set(e, ERR_FAILED, "%s: another run is writing to this journal", path);
    else if (!S_ISREG(st.st_mode) || st.st_size == 0)
        rc = begin_journal(j, topology_hash, budget_s, e);
    else if (resume)
        rc = resume_journal(j, topology_hash, budget_s, log, e);
    else
        rc = err_set(e, ERR_FAILED, "%s: exists already; --resume goes on with it, or choose another name", path);
    if (rc)
        bench_journal_close(j);
    return rc;
}

/* A line that no reader would take joins nothing. */
int bench_journal_append(struct bench_journal *j, const struct bench_result *r, int n, struct err *e)
{
    int before = j->results->count;
    struct err unread;
    struct file_out lines;
    file_out_begin(&lines);
    for (int i = 0; i < n; i++) {
        cJSON *doc = bench_result_json(&r[i]);
        json_print_line(doc, lines.stream);
        bench_results_add(j->results, doc, j->path, j->results->lines + 1 + i, &unread);
        cJSON_Delete(doc);
    }
    int rc = put_lines(j, &lines, e);
    if (rc)
        j->results->count = before;
    else
        j->results->lines += n;
    known_add(j->results);
    return rc;
}

int bench_journal_append_noise(struct bench_journal *j, const struct findings *noise, struct err *e)
{
    struct file_out line;
    if (!noise->n)
        return 0;
    file_out_begin(&line);
    cJSON *doc = cJSON_CreateObject();
    findings_add_json(doc, "noise", noise->list, noise->n);
    json_print_line(doc, line.stream);
    int rc = put_lines(j, &line, e);
    if (!rc)
        bench_results_add(j->results, doc, j->path, ++j->results->lines, NULL);
    cJSON_Delete(doc);
    return rc;
}

void bench_journal_close(struct bench_journal *j)
{
    trust_close(j->fd);
    j->fd = -1;
    bench_results_free(j->results);
    j->results = NULL;
}
