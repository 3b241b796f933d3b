/* Whole files in, whole files out. */
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_for_reading(const char *path, struct err *e)
{
    if (!strcmp(path, "-"))
        return dup(STDIN_FILENO);
    /* O_NONBLOCK: a FIFO without a writer must not hang us; it is taken off again below. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    if (fd < 0 || fstat(fd, &st)) {
        err_errno(e, "%s: cannot be opened", path);
    } else if (S_ISDIR(st.st_mode)) {
        err_set(e, ERR_FAILED, "%s: is a directory, expected a file", path);
    } else {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* All of `fd`, at most `limit` bytes, in memory from malloc with room for one more byte; NULL after an error. */
static char *slurp(int fd, const char *path, size_t limit, size_t *bytes, struct err *e)
{
    struct stat st;
    size_t used = 0, size = 1 << 16;
    if (!fstat(fd, &st) && st.st_size > 0 && (size_t)st.st_size <= limit)
        size = (size_t)st.st_size + 2;
    char *buf = malloc(size);
    if (!buf)
        goto no_memory;
    for (;;) {
        if (used + 1 >= size) {
            char *bigger = realloc(buf, size * 2);
            if (!bigger)
                goto no_memory;
            buf = bigger;
            size *= 2;
        }
        ssize_t n = read(fd, buf + used, size - used - 1);
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            err_errno(e, "%s: cannot be read", path);
            goto fail;
        }
        used += (size_t)n;
        if (used > limit) {
            err_set(e, ERR_FAILED, "%s: larger than the %zu MiB that are read of such a file", path, limit >> 20);
            goto fail;
        }
    }
    *bytes = used;
    return buf;
no_memory:
    err_set(e, ERR_FAILED, "%s: out of memory", path);
fail:
    free(buf);
    return NULL;
}

int file_read(const char *path, size_t limit, struct arena *a, char **data, size_t *bytes, struct err *e)
{
    int fd = open_for_reading(path, e);
    if (fd < 0)
        return ERR_FAILED;
    char *buf = slurp(fd, path, limit, bytes, e);
    close(fd);
    if (!buf)
        return ERR_FAILED;
    *data = arena_alloc(a, *bytes + 1);
    memcpy(*data, buf, *bytes);
    free(buf);
    return 0;
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
    long line = 1;
    for (const char *p = *data; p < nul; p++)
        line += *p == '\n';
    return err_at(e, path, line, 0, "holds a NUL byte: expected text, this is a binary file");
}

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static int write_in_place(const char *path, const void *data, size_t bytes, struct err *e)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "%s: cannot be opened for writing", path);
    int rc = write_all(fd, data, bytes) ? err_errno(e, "%s: cannot be written", path) : 0;
    if (close(fd) && !rc)
        rc = err_errno(e, "%s: cannot be written", path);
    return rc;
}

int file_put(int fd, const void *data, size_t bytes, mode_t mode)
{
    mode_t mask = umask(0);
    umask(mask);
    return fchmod(fd, mode ? mode : 0666 & ~mask) || write_all(fd, data, bytes) || fsync(fd) ? -1 : 0;
}

static void sync_directory_of(const char *path)
{
    char *copy = strdup(path);
    if (!copy)
        return;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(copy);
}

int file_write(const char *path, const void *data, size_t bytes, struct err *e)
{
    struct stat st;
    int exists = !stat(path, &st);
    if (exists && S_ISDIR(st.st_mode))
        return err_set(e, ERR_FAILED, "%s: is a directory, expected a file name", path);
    if (exists && !S_ISREG(st.st_mode))
        return write_in_place(path, data, bytes, e);
    /* A symbolic link keeps pointing where it does: the file behind it is the one replaced. */
    char *real = exists ? realpath(path, NULL) : NULL;
    const char *target = real ? real : path;
    size_t room = strlen(target) + 16;
    char *tmp = malloc(room);
    int rc = 0, fd = -1;
    if (!tmp) {
        rc = err_set(e, ERR_FAILED, "%s: out of memory", path);
        goto out;
    }
    snprintf(tmp, room, "%s.tmpXXXXXX", target);
    fd = mkostemp(tmp, O_CLOEXEC);
    if (fd < 0) {
        rc = err_errno(e, "%s: cannot be created", path);
        goto out;
    }
    if (file_put(fd, data, bytes, exists ? st.st_mode & 07777 : 0))
        rc = err_errno(e, "%s: cannot be written", path);
    if (close(fd) && !rc)
        rc = err_errno(e, "%s: cannot be written", path);
    if (!rc && rename(tmp, target))
        rc = err_errno(e, "%s: cannot be replaced", path);
    if (rc)
        unlink(tmp);
    else
        sync_directory_of(target);
out:
    free(tmp);
    free(real);
    return rc;
}

int file_out_begin(struct file_out *o, struct err *e)
{
    memset(o, 0, sizeof *o);
    o->stream = open_memstream(&o->data, &o->bytes);
    return o->stream ? 0 : err_errno(e, "out of memory");
}

int file_out_commit(struct file_out *o, const char *path, struct err *e)
{
    int rc = fclose(o->stream) ? err_errno(e, "out of memory") : 0;
    if (!rc && (!path || !strcmp(path, "-"))) {
        if (fflush(stdout) || write_all(STDOUT_FILENO, o->data, o->bytes))
            rc = err_errno(e, "standard output cannot be written");
    } else if (!rc) {
        rc = file_write(path, o->data, o->bytes, e);
    }
    free(o->data);
    memset(o, 0, sizeof *o);
    return rc;
}

void file_out_abandon(struct file_out *o)
{
    if (o->stream)
        fclose(o->stream);
    free(o->data);
    memset(o, 0, sizeof *o);
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
    char *copy = strdup(path);
    if (!copy)
        return err_set(e, ERR_FAILED, "%s: out of memory", path);
    int rc = 0;
    for (char *p = copy + 1; !rc && *copy; p++) {
        char c = *p;
        if (c != '/' && c)
            continue;
        *p = 0;
        struct stat st;
        if (mkdir(copy, 0777) && errno != EEXIST)
            rc = err_errno(e, "%s: cannot be made", copy);
        else if (stat(copy, &st) || !S_ISDIR(st.st_mode))
            rc = err_set(e, ERR_FAILED, "%s: exists and is no directory", copy);
        *p = c;
        if (!c)
            break;
    }
    free(copy);
    return rc;
}

int file_sha256(const char *path, char hex[SHA256_HEX], struct err *e)
{
    struct arena *a = arena_new();
    char *data;
    size_t bytes;
    int rc = file_read(path, (size_t)1 << 30, a, &data, &bytes, e);
    if (!rc) {
        struct sha256 s;
        sha256_init(&s);
        sha256_update(&s, data, bytes);
        sha256_hex(&s, hex);
    }
    arena_free(a);
    return rc;
}
