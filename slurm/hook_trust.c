/* Files that only root or the configured owner can have written: every directory on the way is opened by hand, so that
 * what was checked is what is read. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slurm/hook.h"

/* A sticky directory such as /tmp is refused too: somebody else may make the file before its owner does. */
static int trusted(const struct stat *st, uid_t owner, const char *path, int length, struct hook_why *w)
{
    if (st->st_uid != 0 && st->st_uid != owner)
        return hook_refuse(w, "%.*s belongs to user %u", length, path, (unsigned)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return hook_refuse(w, "%.*s can be written by others (mode %03o)", length, path, (unsigned)st->st_mode & 0777u);
    return 0;
}

static int cannot(const char *path, int length, struct hook_why *w)
{
    int why = errno;
    struct stat st;
    char part[HOOK_PATH];
    memcpy(part, path, (size_t)length);
    part[length] = 0;
    if ((why == ELOOP || why == ENOTDIR) && !lstat(part, &st) && S_ISLNK(st.st_mode))
        return hook_refuse(w, "%s is a symbolic link", part);
    return hook_refuse(w, "%s: %s", part, strerror(why));
}

/* Opens the last component of an absolute path with `flags`, after a walk through trusted directories. */
static int open_trusted(const char *path, uid_t owner, int flags, struct stat *st, struct hook_why *w)
{
    char part[HOOK_PATH];
    size_t length = strlen(path), at = 1;
    if (path[0] != '/' || length < 2 || length >= sizeof part)
        return hook_refuse(w, "'%.100s' is not an absolute path", path);
    int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, st))
        hook_refuse(w, "/: %s", strerror(errno));
    else if (!trusted(st, owner, path, 1, w))
        for (;;) {
            size_t n = strcspn(path + at, "/");
            int last = !path[at + n], shown = (int)(at + n);
            memcpy(part, path + at, n);
            part[n] = 0;
            if (!n || !strcmp(part, ".") || !strcmp(part, "..")) {
                hook_refuse(w, "'%.100s' is not a plain path", path);
                break;
            }
            int next = openat(dir, part, O_NOFOLLOW | O_CLOEXEC | (last ? flags : O_PATH | O_DIRECTORY));
            if (next < 0) {
                cannot(path, shown, w);
                break;
            }
            close(dir);
            dir = next;
            if (fstat(dir, st)) {
                cannot(path, shown, w);
                break;
            }
            if (trusted(st, owner, path, shown, w))
                break;
            if (last)
                return dir;
            at += n + 1;
        }
    if (dir >= 0)
        close(dir);
    return -1;
}

static int read_whole(int fd, size_t size, struct hook_file *f)
{
    f->text = malloc(size + 1);
    if (!f->text)
        return -1;
    /* One byte more than it should have: a file that grows is not what was checked. */
    while (f->bytes <= size) {
        ssize_t n = read(fd, f->text + f->bytes, size + 1 - f->bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        f->bytes += (size_t)n;
    }
    if (f->bytes != size)
        return -1;
    f->text[size] = 0;
    return 0;
}

static int read_trusted(const char *path, uid_t owner, int is_secret, size_t limit, struct hook_file *f,
                        struct hook_why *w)
{
    struct stat st = {0};
    int rc = -1;
    *f = (struct hook_file){0};
    /* O_NONBLOCK: a FIFO in the file's place must not hold us. */
    int fd = open_trusted(path, owner, O_RDONLY | O_NONBLOCK | O_NOCTTY, &st, w);
    if (fd < 0)
        return -1;
    if (!S_ISREG(st.st_mode))
        hook_refuse(w, "%s is not a regular file", path);
    else if (is_secret && st.st_mode & (S_IRWXG | S_IRWXO))
        hook_refuse(w, "%s can be read by others (mode %03o)", path, (unsigned)st.st_mode & 0777u);
    else if ((uint64_t)st.st_size > limit)
        hook_refuse(w, "%s is larger than %zu bytes", path, limit);
    else if (read_whole(fd, (size_t)st.st_size, f))
        hook_refuse(w, "%s cannot be read whole", path);
    else if (!is_secret && memchr(f->text, 0, f->bytes))
        hook_refuse(w, "%s is not text", path);
    else
        rc = 0;
    close(fd);
    if (rc) {
        free(f->text);
        *f = (struct hook_file){0};
    }
    return rc;
}

int hook_read(const char *path, uid_t owner, size_t limit, struct hook_file *f, struct hook_why *w)
{
    return read_trusted(path, owner, 0, limit, f, w);
}

int hook_read_secret(const char *path, size_t limit, struct hook_file *f, struct hook_why *w)
{
    return read_trusted(path, 0, 1, limit, f, w);
}

int hook_check(const char *path, uid_t owner, struct hook_why *w)
{
    struct stat st = {0};
    int fd = open_trusted(path, owner, O_PATH, &st, w);
    if (fd < 0)
        return -1;
    close(fd);
    /* With O_PATH, O_NOFOLLOW opens a symbolic link itself. */
    return S_ISREG(st.st_mode) ? 0 : hook_refuse(w, "%s is not a regular file", path);
}

int hook_check_directory(const char *path, uid_t owner, struct hook_why *w)
{
    struct stat st = {0};
    int fd = open_trusted(path, owner, O_PATH | O_DIRECTORY, &st, w);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}
