/* Several files of one directory, replaced together. */
#include "envgen/profile/staged_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"

void env_staged_write_begin(struct env_staged_write *s, const char *dir, struct arena *a)
{
    *s = (struct env_staged_write){.arena = a, .dir = dir};
}

static struct env_staged *add(struct env_staged_write *s, const char *name)
{
    s->files = arena_grow(s->arena, s->files, (size_t)s->count, sizeof *s->files);
    struct env_staged *f = &s->files[s->count++];
    *f = (struct env_staged){.name = arena_strdup(s->arena, name)};
    return f;
}

static const char *path_of(const struct env_staged_write *s, const char *name)
{
    return arena_printf(s->arena, "%s/%s", s->dir, name);
}

int env_staged_write_add(struct env_staged_write *s, const char *name, const void *data, size_t bytes, struct err *e)
{
    const char *path = path_of(s, name);
    char *temporary = arena_printf(s->arena, "%s.tmpXXXXXX", path);
    const char *slash = strrchr(name, '/');
    if (slash && file_mkdirs(arena_printf(s->arena, "%s/%.*s", s->dir, (int)(slash - name), name), e))
        return ERR_FAILED;
    int fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return err_errno(e, "%s: cannot be created", path);
    struct env_staged *f = add(s, name);
    f->temporary = temporary;
    f->bytes = bytes;
    int rc = file_put(fd, data, bytes, 0) ? err_errno(e, "%s: cannot be written", path) : 0;
    if (close(fd) && !rc)
        rc = err_errno(e, "%s: cannot be written", path);
    struct sha256 hash;
    sha256_init(&hash);
    sha256_update(&hash, data, bytes);
    sha256_hex(&hash, f->sha256);
    return rc;
}

int env_staged_write_keep(struct env_staged_write *s, const char *name, struct err *e)
{
    const char *path = path_of(s, name);
    struct stat st;
    struct env_staged *f = add(s, name);
    int rc = file_sha256(path, f->sha256, e);
    if (rc)
        return rc;
    if (stat(path, &st))
        return err_errno(e, "%s: cannot be read", path);
    f->bytes = (uint64_t)st.st_size;
    return 0;
}

/* So that the names survive a power cut, too; what cannot be synced is no worse than before. */
static void sync_directory_of(const char *path, struct arena *a)
{
    const char *dir = arena_strndup(a, path, (size_t)(strrchr(path, '/') - path) + 1);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int env_staged_write_commit(struct env_staged_write *s, const char *last, struct err *e)
{
    if (unlink(path_of(s, last)) && errno != ENOENT)
        return err_errno(e, "%s/%s: cannot be replaced", s->dir, last);
    for (int i = 0; i < s->count; i++) {
        if (!s->files[i].temporary)
            continue;
        if (rename(s->files[i].temporary, path_of(s, s->files[i].name)))
            return err_errno(e, "%s/%s: cannot be replaced", s->dir, s->files[i].name);
        s->files[i].temporary = NULL;
    }
    for (int i = 0; i < s->count; i++)
        if (strchr(s->files[i].name, '/'))
            sync_directory_of(path_of(s, s->files[i].name), s->arena);
    sync_directory_of(path_of(s, ""), s->arena);
    return 0;
}

/* With the directory that was made for it, unless something else lies there. */
static void remove_temporary(const struct env_staged_write *s, const struct env_staged *f)
{
    const char *slash = strrchr(f->name, '/');
    unlink(f->temporary);
    if (slash)
        rmdir(arena_printf(s->arena, "%s/%.*s", s->dir, (int)(slash - f->name), f->name));
}

void env_staged_write_abandon(struct env_staged_write *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->files[i].temporary)
            remove_temporary(s, &s->files[i]);
    s->count = 0;
}
