/* Several files of one directory, replaced together: all are written beside their targets first, and nothing that was
 * there changes before every byte of the new ones is on disk. */
#pragma once

#include <signal.h>

#include <stddef.h>
#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/hash.h"

struct env_staged {
    const char *name;
    const char *temporary; /* NULL: the file is kept as it is */
    char sha256[SHA256_HEX];
    uint64_t bytes;
};

struct env_staged_write {
    struct arena *arena;
    const char *dir;
    int fd;            /* of dir: where it leads does not change underway */
    struct err failed; /* why it is -1 */
    struct env_staged *files;
    int count;
    int delays_end;   /* there are temporary files: signals that end a program wait until they are gone */
    sigset_t signals; /* which were blocked before */
};

/* `dir` exists and outlives the staged write; so does `a`. */
void env_staged_write_begin(struct env_staged_write *s, const char *dir, struct arena *a);

/* A new content for dir/name, on disk when this returns. Directories in `name` are made. */
int env_staged_write_add(struct env_staged_write *s, const char *name, const void *data, size_t bytes, struct err *e);

/* The same of what the file `path` holds, 1 GiB at most. */
int env_staged_write_copy(struct env_staged_write *s, const char *name, const char *path, struct err *e);

/* A file that lies in the directory already and stays as it is. */
int env_staged_write_keep(struct env_staged_write *s, const char *name, struct err *e);

/* Moves everything into place in the order it was added. The file `last` (the one that vouches for the others) is taken
 * away first, so that a machine that dies in between leaves a set that is visibly incomplete, not a wrong one. */
int env_staged_write_commit(struct env_staged_write *s, const char *last, struct err *e);

/* Removes what was written so far and closes the directory. To be called after a commit, too. */
void env_staged_write_abandon(struct env_staged_write *s);
