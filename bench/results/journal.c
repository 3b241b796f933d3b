/* Appending to a journal: whole lines only. */
#include "bench/results/results.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/results/known.h"
#include "core/file.h"
#include "core/json.h"
#include "core/trust.h"

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
static int begin(struct bench_journal *j, const char *topology_hash, double budget_s, struct err *e)
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
static int take_up(struct bench_journal *j, const char *topology_hash, double budget_s, struct log *log, struct err *e)
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
        rc = begin(j, topology_hash, budget_s, e);
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
        rc = begin(j, topology_hash, budget_s, e);
    else if (resume)
        rc = take_up(j, topology_hash, budget_s, log, e);
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
    if (j->fd >= 0)
        close(j->fd);
    j->fd = -1;
    bench_results_free(j->results);
    j->results = NULL;
}
