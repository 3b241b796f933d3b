/* Files that only root or the configured owner can have written: core/trust.h with the hooks' sentences. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/trust.h"
#include "slurm/hook.h"

static int open_owned(const char *path, uid_t owner, int flags, struct stat *st, struct err *e)
{
    return strlen(path) < HOOK_PATH ? trust_open(path, TRUST_OWNED, owner, flags, st, e)
                                    : hook_refuse(e, "'%.100s' is not an absolute path", path);
}

/* Reads all of an open file and closes it. */
static int read_opened(int fd, const struct stat *st, const char *path, size_t limit, struct hook_file *f,
                       struct err *e)
{
    int rc = -1;
    if (!S_ISREG(st->st_mode))
        err_set(e, ERR_FAILED, "%s is not a regular file", path);
    else if ((uint64_t)st->st_size > limit)
        err_set(e, ERR_FAILED, "%s is larger than %zu bytes", path, limit);
    else if (!(f->text = calloc(1, (size_t)st->st_size + 1)) || trust_read(fd, f->text, (size_t)st->st_size))
        err_set(e, ERR_FAILED, "%s cannot be read whole", path);
    else
        rc = 0;
    close(fd);
    f->bytes = (size_t)st->st_size;
    if (rc) {
        free(f->text);
        *f = (struct hook_file){0};
    }
    return rc;
}

int hook_read(const char *path, uid_t owner, size_t limit, struct hook_file *f, struct err *e)
{
    struct stat st = {0};
    *f = (struct hook_file){0};
    int fd = open_owned(path, owner, O_RDONLY, &st, e);
    if (fd < 0 || read_opened(fd, &st, path, limit, f, e))
        return -1;
    if (!memchr(f->text, 0, f->bytes))
        return 0;
    free(f->text);
    *f = (struct hook_file){0};
    return hook_refuse(e, "%s is not text", path);
}

int hook_read_at(int dir, const char *name, const char *path, uid_t owner, size_t limit, struct hook_file *f,
                 struct err *e)
{
    struct stat st = {0};
    *f = (struct hook_file){0};
    int fd = trust_open_owned_at(dir, name, path, owner, O_RDONLY, &st, e);
    return fd < 0 ? -1 : read_opened(fd, &st, path, limit, f, e);
}

int hook_check(const char *path, uid_t owner, struct err *e)
{
    struct stat st = {0};
    int fd = open_owned(path, owner, O_PATH, &st, e);
    if (fd < 0)
        return -1;
    close(fd);
    return S_ISREG(st.st_mode) ? 0 : hook_refuse(e, "%s is not a regular file", path);
}

int hook_open_directory(const char *path, uid_t owner, struct err *e)
{
    struct stat st = {0};
    return open_owned(path, owner, O_RDONLY | O_DIRECTORY, &st, e);
}
