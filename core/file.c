/* Whole files in, whole files out. */
#include "core/file.h"

#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/trust.h"

static int open_for_reading(const char *path, struct err *e)
{
    struct stat st;
    if (!strcmp(path, "-")) {
        int in = dup(STDIN_FILENO);
        if (in < 0)
            err_errno(e, "standard input cannot be read");
        return in;
    }
    int fd = trust_open(path, TRUST_READ, 0, O_RDONLY, &st, e);
    if (fd < 0 || !S_ISDIR(st.st_mode))
        return fd;
    close(fd);
    err_set(e, ERR_FAILED, "%s: is a directory, expected a file", path);
    return -1;
}

/* What a file of `size` bytes has; one that grows meanwhile is read as far as it went. */
static char *read_sized(int fd, size_t size, struct arena *a, size_t *bytes)
{
    char *text = arena_alloc(a, size + 1);
    ssize_t n = 1;
    for (*bytes = 0; *bytes < size && n > 0; *bytes += n > 0 ? (size_t)n : 0)
        n = read(fd, text + *bytes, size - *bytes);
    text[*bytes] = 0;
    return n < 0 ? NULL : text;
}

/* A pipe, a device or a file of /proc, which tells no size. */
static char *read_stream(int fd, size_t limit, struct arena *a, size_t *bytes)
{
    size_t room = 1 << 16;
    char *text = malloc(room), *copy = NULL;
    ssize_t n = text ? 1 : -1;
    for (*bytes = 0; n > 0 && *bytes <= limit; *bytes += n > 0 ? (size_t)n : 0) {
        char *bigger = *bytes + 1 < room ? text : realloc(text, room *= 2);
        if (!bigger)
            break;
        text = bigger;
        n = read(fd, text + *bytes, room - *bytes - 1);
    }
    if (!n) {
        copy = arena_alloc(a, *bytes + 1);
        memcpy(copy, text, *bytes);
    }
    free(text);
    return copy;
}

int file_read(const char *path, size_t limit, struct arena *a, char **data, size_t *bytes, struct err *e)
{
    struct stat st = {0};
    int fd = open_for_reading(path, e);
    if (fd < 0)
        return ERR_FAILED;
    int sized = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 && strcmp(path, "-") != 0;
    *bytes = sized ? (size_t)st.st_size : 0;
    char *text = NULL;
    if (*bytes <= limit)
        text = sized ? read_sized(fd, *bytes, a, bytes) : read_stream(fd, limit, a, bytes);
    if (*bytes > limit)
        err_set(e, ERR_FAILED, "%s: larger than the %zu MiB that are read of such a file", path, limit >> 20);
    else if (!text)
        err_errno(e, "%s: cannot be read", path);
    close(fd);
    *data = text;
    return text ? 0 : ERR_FAILED;
}

int file_read_text(const char *path, size_t limit, struct arena *a, char **data, size_t *bytes, struct err *e)
{
    int rc = file_read(path, limit, a, data, bytes, e);
    if (rc)
        return rc;
    if (!*bytes)
        return err_set(e, ERR_FAILED, "%s: is empty", path);
    const char *nul = memchr(*data, 0, *bytes);
    if (!nul)
        return 0;
    return err_at(e, path, 1 + err_lines_before(*data, nul), 0,
                  "contains a NUL byte: expected text, this is a binary file");
}

/* ---- line by line ---- */

int file_lines_open(struct file_lines *l, const char *path, size_t limit, struct err *e)
{
    *l = (struct file_lines){.path = path, .limit = limit, .fd = open_for_reading(path, e)};
    return l->fd < 0 ? ERR_FAILED : 0;
}

void file_lines_of(struct file_lines *l, const char *path, const char *text, size_t bytes)
{
    *l = (struct file_lines){
        .path = path, .fd = -1, .text = malloc(bytes + 1), .to = bytes, .room = bytes + 1, .limit = bytes};
    if (!l->text)
        abort();
    memcpy(l->text, text, bytes);
}

/* Reads a block more, behind what was not given yet; 0 at the end. */
static int read_more(struct file_lines *l, struct err *e)
{
    enum { BLOCK = 1 << 16 };
    if (l->from) {
        memmove(l->text, l->text + l->from, l->to - l->from);
        l->to -= l->from;
        l->from = 0;
    }
    if (l->to > l->limit || l->seen > FILE_LINES_MOST) {
        size_t most = l->to > l->limit ? l->limit : FILE_LINES_MOST;
        int is_small = most < (size_t)1 << 20;
        err_set(e, ERR_FAILED, "%s: larger than the %zu %s that are read of such a %s", l->path,
                most >> (is_small ? 10 : 20), is_small ? "KiB" : "MiB",
                l->to > l->limit && (l->line || l->seen > l->to) ? "line" : "file");
        return -1;
    }
    if (l->fd >= 0 && l->room < l->to + BLOCK + 1) {
        l->room = 2 * (l->to + BLOCK);
        l->text = realloc(l->text, l->room);
        if (!l->text)
            abort();
    }
    ssize_t n = l->fd < 0 ? 0 : read(l->fd, l->text + l->to, BLOCK);
    if (n < 0)
        err_errno(e, "%s: cannot be read", l->path);
    l->to += n > 0 ? (size_t)n : 0;
    l->seen += n > 0 ? (size_t)n : 0;
    return n < 0 ? -1 : n > 0;
}

int file_lines_next(struct file_lines *l, char **line, size_t *bytes, struct err *e)
{
    char *end = NULL;
    int more = 1;
    for (size_t at = 0; !end && more > 0;) {
        end = l->to - l->from > at ? memchr(l->text + l->from + at, '\n', l->to - l->from - at) : NULL;
        at = l->to - l->from;
        more = end ? 1 : read_more(l, e);
    }
    if (more < 0 || l->from == l->to)
        return more < 0 ? -1 : 0;
    l->line++;
    *line = l->text + l->from;
    *bytes = end ? (size_t)(end - *line) : l->to - l->from;
    l->last = l->from;
    l->length = *bytes;
    l->from = end ? l->from + *bytes + 1 : l->to;
    (*line)[*bytes] = 0;
    if (!memchr(*line, 0, *bytes))
        return 1;
    err_at(e, l->path, l->line, 0, "contains a NUL byte: expected text, this is a binary file");
    return -1;
}

void file_lines_back(struct file_lines *l)
{
    if (l->last + l->length < l->from)
        l->text[l->last + l->length] = '\n';
    l->from = l->last;
    l->line--;
}

int file_lines_rest(struct file_lines *l, char **text, size_t *bytes, struct err *e)
{
    int more;
    while ((more = read_more(l, e)) > 0)
        ;
    *text = l->text + l->from;
    *bytes = l->to - l->from;
    (*text)[*bytes] = 0;
    l->from = l->to;
    return more < 0 ? ERR_FAILED : 0;
}

void file_lines_close(struct file_lines *l)
{
    trust_close(l->fd);
    free(l->text);
    *l = (struct file_lines){.fd = -1};
}

/* A pipe, a device, what standard output is: nothing that could be replaced. */
static int write_in_place(const struct trust_place *p, const char *path, const void *data, size_t bytes, struct err *e)
{
    if (!p->is_private)
        return err_set(e, ERR_FAILED, "%s: not a regular file, in a directory where others can write", path);
    int fd = openat(p->dir, p->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | (p->is_magic ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return err_errno(e, "%s: cannot be opened for writing", path);
    int rc = trust_write(fd, data, bytes) ? err_errno(e, "%s: cannot be written", path) : 0;
    if (close(fd) && !rc)
        rc = err_errno(e, "%s: cannot be written", path);
    return rc;
}

mode_t file_new_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

int file_write(const char *path, const void *data, size_t bytes, struct err *e)
{
    struct trust_place p;
    struct stat st;
    if (trust_find(path, &p, e))
        return ERR_FAILED;
    int exists = !fstatat(p.dir, p.name, &st, p.is_magic ? 0 : AT_SYMLINK_NOFOLLOW), rc = 0;
    if (exists && S_ISDIR(st.st_mode))
        rc = err_set(e, ERR_FAILED, "%s: is a directory, expected a file name", path);
    else if (exists && (p.is_magic || !S_ISREG(st.st_mode)))
        rc = write_in_place(&p, path, data, bytes, e);
    else {
        /* The mode of the file that it replaces, where nobody else can have chosen it. */
        int is_own = exists && p.is_private && st.st_uid == geteuid();
        if (trust_put(p.dir, p.name, data, bytes, is_own ? st.st_mode & 0777 : file_new_mode()))
            rc = err_errno(e, "%s: cannot be written", path);
    }
    close(p.dir);
    return rc;
}

void file_out_begin(struct file_out *o)
{
    *o = (struct file_out){0};
    o->stream = open_memstream(&o->data, &o->bytes);
    if (!o->stream)
        abort();
}

void file_out_flush(struct file_out *o)
{
    if (fflush(o->stream))
        abort();
}

int file_out_commit(struct file_out *o, const char *path, struct err *e)
{
    int rc = 0;
    if (fclose(o->stream))
        abort();
    if (!path || !strcmp(path, "-")) {
        if (fwrite(o->data, 1, o->bytes, stdout) != o->bytes || fflush(stdout)) {
            rc = err_errno(e, "standard output cannot be written");
            __fpurge(stdout); /* once is enough */
            clearerr(stdout);
        }
    } else {
        rc = file_write(path, o->data, o->bytes, e);
    }
    free(o->data);
    *o = (struct file_out){0};
    return rc;
}

void file_out_abandon(struct file_out *o)
{
    fclose(o->stream);
    free(o->data);
    *o = (struct file_out){0};
}

int file_out_end(struct file_out *o, const char *path, int rc, struct err *e)
{
    if (!rc)
        return file_out_commit(o, path, e);
    file_out_abandon(o);
    return rc;
}

int file_ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && !strcasecmp(name + n - m, end);
}

int file_mkdirs(const char *path, struct err *e)
{
    int fd = trust_make_directory(path, e);
    if (fd < 0)
        return ERR_FAILED;
    close(fd);
    return 0;
}

int file_copy(const char *path, int to, uint64_t *bytes, char hex[SHA256_HEX], struct err *e)
{
    char part[1 << 16];
    struct sha256 s;
    ssize_t n = 1;
    int fd = open_for_reading(path, e), rc = 0;
    if (fd < 0)
        return ERR_FAILED;
    sha256_init(&s);
    for (*bytes = 0; !rc && (n = read(fd, part, sizeof part)) > 0 && *bytes + (size_t)n <= FILE_LINES_MOST;) {
        *bytes += (size_t)n;
        sha256_update(&s, part, (size_t)n);
        if (to >= 0 && trust_write(to, part, (size_t)n))
            rc = err_errno(e, "a copy of %s cannot be written", path);
    }
    if (!rc)
        rc = n < 0   ? err_errno(e, "%s: cannot be read", path)
             : n > 0 ? err_set(e, ERR_FAILED, "%s: larger than 1 GiB", path)
                     : 0;
    close(fd);
    if (!rc)
        sha256_hex(&s, hex);
    return rc;
}

int file_sha256(const char *path, char hex[SHA256_HEX], struct err *e)
{
    uint64_t bytes;
    return file_copy(path, -1, &bytes, hex, e);
}
