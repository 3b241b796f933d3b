/* Several files of one directory, replaced together. */
#include "envgen/profile/staged_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/trust.h"

void env_staged_write_begin(struct env_staged_write *s, const char *dir, struct arena *a)
{
    struct stat st;
    *s = (struct env_staged_write){.arena = a, .dir = dir};
    s->fd = trust_open(dir, TRUST_WRITE, 0, O_RDONLY | O_DIRECTORY, &st, &s->failed);
}

static struct env_staged *add_file(struct env_staged_write *s, const char *name)
{
    struct env_staged *f = &ARENA_ADD(s->arena, s->files, s->count);
    f->name = arena_strdup(s->arena, name);
    return f;
}

static const char *path_of(const struct env_staged_write *s, const char *name)
{
    return arena_printf(s->arena, "%s/%s", s->dir, name);
}

/* The directory of a name, and what follows its last '/'; `make`: missing ones are made. -1 with errno. */
static int open_directory_of(const struct env_staged_write *s, const char **name, int make)
{
    const char *slash = strchr(*name, '/');
    if (!slash)
        return fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    int fd = trust_enter(s->fd, arena_strndup(s->arena, *name, (size_t)(slash - *name)), make ? 0777 : 0);
    *name = slash + 1;
    return fd;
}

/* Opens a temporary file for dir/name, which joins the list. -1 after an error. */
static int begin_file(struct env_staged_write *s, const char *name, struct err *e)
{
    char temporary[NAME_MAX + 1];
    const char *base = name;
    if (s->fd < 0)
        return err_set(e, ERR_FAILED, "%s", s->failed.text), -1;
    if (!s->delays_end)
        trust_delay_end(&s->signals);
    s->delays_end = 1;
    int dir = open_directory_of(s, &base, 1), fd = dir < 0 ? -1 : trust_begin(dir, base, temporary);
    trust_close(dir);
    if (fd < 0)
        return err_errno(e, "%s: cannot be created", path_of(s, name)), -1;
    add_file(s, name)->temporary = arena_printf(s->arena, "%.*s%s", (int)(base - name), name, temporary);
    return fd;
}

int env_staged_write_add(struct env_staged_write *s, const char *name, const void *data, size_t bytes, struct err *e)
{
    int fd = begin_file(s, name, e);
    if (fd < 0)
        return ERR_FAILED;
    struct env_staged *f = &s->files[s->count - 1];
    f->bytes = bytes;
    sha256_of(data, bytes, f->sha256);
    return trust_fill(fd, data, bytes, file_new_mode()) ? err_errno(e, "%s: cannot be written", path_of(s, name)) : 0;
}

int env_staged_write_copy(struct env_staged_write *s, const char *name, const char *path, struct err *e)
{
    int fd = begin_file(s, name, e);
    if (fd < 0)
        return ERR_FAILED;
    struct env_staged *f = &s->files[s->count - 1];
    int rc = file_copy(path, fd, &f->bytes, f->sha256, e);
    if (trust_fill(fd, "", 0, file_new_mode()) && !rc)
        rc = err_errno(e, "%s: cannot be written", path_of(s, name));
    return rc;
}

int env_staged_write_keep(struct env_staged_write *s, const char *name, struct err *e)
{
    const char *path = path_of(s, name);
    struct stat st;
    struct env_staged *f = add_file(s, name);
    int rc = file_sha256(path, f->sha256, e);
    if (rc)
        return rc;
    if (stat(path, &st))
        return err_errno(e, "%s: cannot be read", path);
    f->bytes = (uint64_t)st.st_size;
    return 0;
}

/* No temporary file is left. */
static void allow_end(struct env_staged_write *s)
{
    if (s->delays_end)
        sigprocmask(SIG_SETMASK, &s->signals, NULL);
    s->delays_end = 0;
}

/* Moves one file into place; its directory is on disk then, too. */
static int move_into_place(const struct env_staged_write *s, const struct env_staged *f)
{
    const char *name = f->name, *temporary = f->temporary;
    int dir = open_directory_of(s, &name, 0);
    if (dir < 0)
        return -1;
    int rc = renameat(dir, temporary + (name - f->name), dir, name);
    if (name != f->name)
        trust_sync(dir);
    close(dir);
    return rc;
}

int env_staged_write_commit(struct env_staged_write *s, const char *last, struct err *e)
{
    if (s->fd < 0)
        return err_set(e, ERR_FAILED, "%s", s->failed.text);
    if (unlinkat(s->fd, last, 0) && errno != ENOENT)
        return err_errno(e, "%s/%s: cannot be replaced", s->dir, last);
    for (int i = 0; i < s->count; i++) {
        if (!s->files[i].temporary)
            continue;
        if (move_into_place(s, &s->files[i]))
            return err_errno(e, "%s/%s: cannot be replaced", s->dir, s->files[i].name);
        s->files[i].temporary = NULL;
    }
    trust_sync(s->fd);
    allow_end(s);
    return 0;
}

/* With the directory that was made for it, unless something else lies there. */
static void remove_temporary(const struct env_staged_write *s, const struct env_staged *f)
{
    const char *name = f->name;
    int dir = open_directory_of(s, &name, 0);
    if (dir < 0)
        return;
    unlinkat(dir, f->temporary + (name - f->name), 0);
    close(dir);
    if (name != f->name)
        unlinkat(s->fd, arena_strndup(s->arena, f->name, (size_t)(name - f->name) - 1), AT_REMOVEDIR);
}

void env_staged_write_abandon(struct env_staged_write *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->files[i].temporary)
            remove_temporary(s, &s->files[i]);
    trust_close(s->fd);
    s->fd = -1;
    s->count = 0;
    allow_end(s);
}
