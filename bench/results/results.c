/* The journal: reading every line that makes sense, appending whole lines only. */
#include "bench/results/results.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/coll.h"
#include "core/file.h"
#include "core/json.h"

/* Warnings about single lines before the rest is only counted. */
#define LINE_WARNINGS 20

/* A run of a day at one sample a millisecond stays below. */
#define TIMES_LIMIT 100000000

static const char *const statuses[BENCH_STATUS_COUNT] = {"ok", "dropped", "wrong", "failed", "crashed", "hung"};

const char *bench_status_name(enum bench_status s)
{
    return (unsigned)s < BENCH_STATUS_COUNT ? statuses[s] : NULL;
}

/* ---- reading ---- */

/* Where a line stands, for errors about its content. */
struct place {
    const char *file;
    long line;
    struct err *err;
};

static int bad(const struct place *at, const char *what)
{
    return err_at(at->err, at->file, at->line, 0, "expected %s", what);
}

static int read_knobs(const cJSON *o, struct arena *a, struct bench_knobs *k, const struct place *at, const char *what)
{
    const char *label = json_str(o, "label", NULL);
    if (!label || !*label)
        return bad(at, what);
    k->label = arena_strdup(a, label);
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(o, "settings");
    if (settings && !cJSON_IsObject(settings))
        return bad(at, "\"settings\" as an object of names and strings");
    struct bench_setting *list = NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, settings)
    {
        if (!cJSON_IsString(item) || !item->string || !*item->string)
            return bad(at, "\"settings\" as an object of names and strings");
        list = arena_grow(a, list, (size_t)k->nsettings, sizeof *list);
        list[k->nsettings].name = arena_strdup(a, item->string);
        list[k->nsettings++].value = arena_strdup(a, item->valuestring);
    }
    k->settings = list;
    return 0;
}

static int read_times(const cJSON *times, struct arena *a, struct bench_result *r, const struct place *at)
{
    if (times && !cJSON_IsArray(times))
        return bad(at, "\"times_us\" as an array of positive numbers");
    int n = times ? cJSON_GetArraySize(times) : 0;
    if (n > TIMES_LIMIT)
        return bad(at, "fewer samples in \"times_us\"");
    double *out = arena_alloc(a, (size_t)n * sizeof *out);
    const cJSON *item;
    cJSON_ArrayForEach(item, times)
    {
        if (!cJSON_IsNumber(item) || !(item->valuedouble > 0) || !isfinite(item->valuedouble))
            return bad(at, "\"times_us\" as an array of positive numbers");
        out[r->ntimes++] = item->valuedouble;
    }
    r->times_us = out;
    if (r->status == BENCH_OK && !n)
        return bad(at, "\"times_us\" with a sample, the status is ok");
    return 0;
}

/* The band of a prediction, around its one time. */
static int read_band(const cJSON *o, struct bench_result *r, const struct place *at)
{
    if (!cJSON_HasObjectItem(o, "low_us") && !cJSON_HasObjectItem(o, "high_us"))
        return 0;
    r->low_us = json_num(o, "low_us", 0);
    r->high_us = json_num(o, "high_us", 0);
    if (r->ntimes == 1 && r->low_us > 0 && r->low_us <= r->times_us[0] && r->high_us >= r->times_us[0] &&
        isfinite(r->high_us))
        return 0;
    return bad(at, "\"low_us\" and \"high_us\" around the one time of a prediction");
}

static int read_status(const char *word, enum bench_status *status)
{
    for (int i = 0; word && i < BENCH_STATUS_COUNT; i++)
        if (!strcmp(word, statuses[i])) {
            *status = (enum bench_status)i;
            return 0;
        }
    return -1;
}

static int read_result(const cJSON *o, struct arena *a, struct bench_result *r, const struct place *at)
{
    memset(r, 0, sizeof *r);
    r->line = at->line;
    r->engine = arena_strdup(a, json_str(o, "engine", NULL));
    r->library = arena_strdup(a, json_str(o, "library", NULL));
    r->detail = arena_strdup(a, json_str(o, "detail", NULL));
    if (!r->engine || !*r->engine || !r->library)
        return bad(at, "\"engine\" and \"library\"");
    const char *coll = json_str(o, "collective", "");
    r->coll = coll_parse(coll, strlen(coll));
    if (r->coll < 0)
        return bad(at, "\"collective\": one of " COLL_NAMES);
    int64_t bytes = json_int(o, "bytes", -1), nodes = json_int(o, "nodes", -1), ranks = json_int(o, "ranks", -1);
    int64_t round = json_int(o, "round", 0);
    if (bytes < 1)
        return bad(at, "\"bytes\" of 1 or more");
    if (nodes < 1 || ranks < nodes || ranks > INT32_MAX)
        return bad(at, "\"nodes\" of 1 or more and at least as many \"ranks\"");
    if (round < 0 || round > INT32_MAX)
        return bad(at, "\"round\" of 0 or more");
    r->bytes = (uint64_t)bytes;
    r->nodes = (int)nodes;
    r->ranks = (int)ranks;
    r->round = (int)round;
    if (read_status(json_str(o, "status", NULL), &r->status))
        return bad(at, "\"status\": ok, dropped, wrong, failed, crashed or hung");
    int rc = read_knobs(cJSON_GetObjectItemCaseSensitive(o, "launch"), a, &r->launch, at, "\"launch\" with a label");
    if (!rc)
        rc = read_knobs(cJSON_GetObjectItemCaseSensitive(o, "call"), a, &r->call, at, "\"call\" with a label");
    if (!rc)
        rc = read_times(cJSON_GetObjectItemCaseSensitive(o, "times_us"), a, r, at);
    return rc ? rc : read_band(o, r, at);
}

/* The first line: format, and the topology's hash into `topology`. */
static int read_header(const char *text, size_t bytes, const char *path, char topology[SHA256_HEX], struct err *e)
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

static int read_line(struct bench_results *r, const char *text, size_t bytes, const struct place *at)
{
    cJSON *doc = json_parse(text, bytes, at->file, at->line, at->err);
    struct bench_result result;
    int rc = doc ? read_result(doc, r->arena, &result, at) : ERR_FAILED;
    if (!rc) {
        r->items = arena_grow(r->arena, r->items, (size_t)r->count, sizeof *r->items);
        r->items[r->count++] = result;
    }
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

struct bench_results *bench_results_load(const char *path, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct bench_results *r = ARENA_NEW(a, struct bench_results);
    r->arena = a;
    char *text;
    size_t bytes;
    long skipped = 0;
    if (file_read_text(path, FILE_LIMIT, a, &text, &bytes, e))
        goto fail;
    struct err broken;
    struct place at = {path, 1, &broken};
    for (const char *p = text, *end = text + bytes; p < end; at.line++) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)((eol ? eol : end) - p);
        if (at.line == 1) {
            if (read_header(p, n, path, r->topology, e))
                goto fail;
        } else if (!is_blank(p, n) && read_line(r, p, n, &at) && ++skipped <= LINE_WARNINGS) {
            log_warn(log, "%s; line skipped", broken.text);
        }
        p += n + 1;
    }
    if (skipped > LINE_WARNINGS)
        log_warn(log, "%s: %ld more broken lines skipped", path, skipped - LINE_WARNINGS);
    return r;
fail:
    bench_results_free(r);
    return NULL;
}

void bench_results_free(struct bench_results *r)
{
    if (r)
        arena_free(r->arena);
}

/* ---- appending ---- */

/* One write and a sync, or the file as it was before. */
static int put_lines(struct bench_journal *j, const char *text, size_t n, struct err *e)
{
    struct stat before;
    int known = !fstat(j->fd, &before) && S_ISREG(before.st_mode);
    ssize_t written;
    do
        written = write(j->fd, text, n);
    while (written < 0 && errno == EINTR);
    if (written >= 0 && (size_t)written < n)
        errno = ENOSPC;
    int rc = written < 0 || (size_t)written < n || (known && fdatasync(j->fd))
                 ? err_errno(e, "%s: cannot be written", j->path)
                 : 0;
    if (rc && known && ftruncate(j->fd, before.st_size))
        rc = err_errno(e, "%s: holds a broken last line that cannot be cut off", j->path);
    return rc;
}

/* Prints a line to `out` and frees its document. */
static int print_line(FILE *out, cJSON *doc, struct err *e)
{
    char *text = cJSON_PrintUnformatted(doc);
    cJSON_Delete(doc);
    int rc = text && fprintf(out, "%s\n", text) > 0 ? 0 : err_set(e, ERR_FAILED, "out of memory");
    cJSON_free(text);
    return rc;
}

/* Writes what `lines` holds unless `rc` says that something went wrong with it. */
static int finish_lines(struct bench_journal *j, struct file_out *lines, int rc, struct err *e)
{
    if (!rc)
        rc = fflush(lines->stream) ? err_set(e, ERR_FAILED, "out of memory")
                                   : put_lines(j, lines->data, lines->bytes, e);
    file_out_abandon(lines);
    return rc;
}

static int write_header(struct bench_journal *j, const char *topology_hash, struct err *e)
{
    struct file_out line;
    int rc = file_out_begin(&line, e);
    if (rc)
        return rc;
    cJSON *doc = cJSON_CreateObject();
    cJSON_AddStringToObject(doc, "format", BENCH_FORMAT);
    if (topology_hash && *topology_hash)
        cJSON_AddStringToObject(doc, "topology", topology_hash);
    cJSON_AddStringToObject(doc, "tool", NCCLTUNE_VERSION);
    return finish_lines(j, &line, print_line(line.stream, doc, e), e);
}

/* Checks what is there and leaves it ending in a whole line; `*fresh` when nothing is left. */
static int take_up(struct bench_journal *j, const char *topology_hash, int *fresh, struct err *e)
{
    static const char beginning[] = "{\"format\":";
    struct arena *a = arena_new();
    char *text, found[SHA256_HEX] = "";
    size_t bytes;
    int rc = file_read_text(j->path, FILE_LIMIT, a, &text, &bytes, e);
    if (rc)
        goto out;
    const char *eol = memchr(text, '\n', bytes);
    if (!eol && !strncmp(text, beginning, sizeof beginning - 1)) {
        *fresh = 1;
        bytes = 0;
    } else {
        rc = read_header(text, eol ? (size_t)(eol - text) : bytes, j->path, found, e);
        if (!rc && topology_hash && *topology_hash && *found && strcmp(found, topology_hash) != 0)
            rc = err_at(e, j->path, 1, 0, "was measured on another topology (%.12s, this one is %.12s)", found,
                        topology_hash);
    }
    while (bytes && text[bytes - 1] != '\n')
        bytes--;
    if (!rc && ftruncate(j->fd, (off_t)bytes))
        rc = err_errno(e, "%s: a broken last line cannot be cut off", j->path);
out:
    arena_free(a);
    return rc;
}

int bench_journal_open(struct bench_journal *j, const char *path, const char *topology_hash, int resume, struct err *e)
{
    j->path = path;
    j->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0)
        return err_errno(e, "%s: cannot be opened for writing", path);
    struct stat st;
    int rc = 0, fresh = 1;
    if (fstat(j->fd, &st))
        rc = err_errno(e, "%s: cannot be examined", path);
    else if (S_ISFIFO(st.st_mode)) /* reading it back would wait for ever */
        rc = err_set(e, ERR_FAILED, "%s: is a pipe, expected a file: the journal is read again", path);
    else if (S_ISREG(st.st_mode) && flock(j->fd, LOCK_EX | LOCK_NB))
        rc = err_set(e, ERR_FAILED, "%s: another run is writing to this journal", path);
    else if (S_ISREG(st.st_mode) && st.st_size > 0) {
        fresh = 0;
        rc = resume
                 ? take_up(j, topology_hash, &fresh, e)
                 : err_set(e, ERR_FAILED, "%s: exists already; --resume goes on with it, or choose another name", path);
    }
    if (!rc && fresh)
        rc = write_header(j, topology_hash, e);
    if (rc)
        bench_journal_close(j);
    return rc;
}

static void add_knobs(cJSON *doc, const char *key, const struct bench_knobs *k)
{
    cJSON *o = cJSON_AddObjectToObject(doc, key);
    json_add_str(o, "label", k->label);
    if (!k->nsettings)
        return;
    cJSON *settings = cJSON_AddObjectToObject(o, "settings");
    for (int i = 0; i < k->nsettings; i++)
        json_add_str(settings, k->settings[i].name, k->settings[i].value);
}

/* Nanoseconds are finer than any clock here; more digits would only make the file longer. */
static double to_ns(double us)
{
    return round(us * 1e3) / 1e3;
}

static cJSON *result_json(const struct bench_result *r)
{
    cJSON *doc = cJSON_CreateObject();
    json_add_str(doc, "engine", r->engine);
    json_add_str(doc, "collective", coll_name(r->coll));
    cJSON_AddNumberToObject(doc, "bytes", (double)r->bytes);
    cJSON_AddNumberToObject(doc, "nodes", r->nodes);
    cJSON_AddNumberToObject(doc, "ranks", r->ranks);
    json_add_str(doc, "library", r->library);
    add_knobs(doc, "launch", &r->launch);
    add_knobs(doc, "call", &r->call);
    cJSON_AddNumberToObject(doc, "round", r->round);
    json_add_str(doc, "status", bench_status_name(r->status));
    cJSON *times = cJSON_AddArrayToObject(doc, "times_us");
    for (int i = 0; i < r->ntimes; i++)
        cJSON_AddItemToArray(times, cJSON_CreateNumber(to_ns(r->times_us[i])));
    if (r->low_us > 0) {
        cJSON_AddNumberToObject(doc, "low_us", to_ns(r->low_us));
        cJSON_AddNumberToObject(doc, "high_us", to_ns(r->high_us));
    }
    json_add_str(doc, "detail", r->detail);
    return doc;
}

int bench_journal_append_all(struct bench_journal *j, const struct bench_result *r, int n, struct err *e)
{
    struct file_out lines;
    int rc = file_out_begin(&lines, e);
    if (rc)
        return rc;
    for (int i = 0; i < n && !rc; i++)
        rc = print_line(lines.stream, result_json(&r[i]), e);
    return finish_lines(j, &lines, rc, e);
}

int bench_journal_append(struct bench_journal *j, const struct bench_result *r, struct err *e)
{
    return bench_journal_append_all(j, r, 1, e);
}

void bench_journal_close(struct bench_journal *j)
{
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
}
