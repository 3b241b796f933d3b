/* The one way to files: every component of a path is opened by hand, and what was checked is what is used.
 *
 * Root works in directories where others can write: /tmp, a user's results. There a name proves nothing, because
 * somebody else may have made it, as a link, a FIFO or with a mode of their choice, and may exchange it at any moment.
 * So a directory is *private* when it belongs to root or to this user and nobody else can write it (nor the group, for
 * root). Symbolic links and special files are followed and used in private directories alone. A file that replaces
 * another is always a new one; it takes the mode of the old one only where that is this user's own, in a private
 * directory. What root makes only root can write, whatever umask, group or access list it would inherit.
 *
 * libc and core/err.h alone. Functions return 0 or a descriptor, or -1 with a sentence unless said otherwise. */
#pragma once

#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/err.h"

enum trust_rule {
    TRUST_READ,  /* a path that a person named, to read: who is not root may follow all links */
    TRUST_WRITE, /* the same, to write */
    TRUST_OWNED, /* every directory on the way and the file itself belong to root or to the owner that is given, nobody
                    else can write them, and none is a link: what hooks believe */
};

/* Directory of a path's last component. */
struct trust_place {
    int dir; /* descriptor, O_PATH; close() */
    char name[NAME_MAX + 1];
    int is_private; /* the directory is */
    int is_magic;   /* a link of /proc/PID/fd, which leads to what a descriptor is open on */
};

/* Walks to the directory of `path`, by TRUST_WRITE. Its last component may be missing; it is no link unless it is a
 * magic one. */
int trust_find(const char *path, struct trust_place *place, struct err *e);

/* Opens a file or directory for reading (O_RDONLY, O_PATH, O_DIRECTORY), without blocking. A FIFO or a device is opened
 * in a private directory alone, with TRUST_OWNED not at all. */
int trust_open(const char *path, enum trust_rule rule, uid_t owner, int flags, struct stat *st, struct err *e);

/* The same of a name in a directory that has been opened by TRUST_OWNED; `path` is what sentences call it. */
int trust_open_owned_at(int dir, const char *name, const char *path, uid_t owner, int flags, struct stat *st,
                        struct err *e);

/* Opens a file for appending and reading, and makes it with `mode` less the umask. Refuses what is not a regular file
 * in a directory where others can write and, for root, a file of somebody else's, and one that is there already where
 * others can exchange names: it may be another file of root's. */
int trust_append(const char *path, mode_t mode, struct err *e);

/* Closes a descriptor unless it is negative, for what could not be opened. errno stays. */
void trust_close(int fd);

/* Opens a directory, and makes it and its missing parents, mode 0777 less the umask. */
int trust_make_directory(const char *path, struct err *e);

/* Removes a file or an empty directory; one that is not there is no error. 0 or ERR_FAILED. */
int trust_unlink(const char *path, struct err *e);

/* Checks for root a directory whose path is opened more than once: 0 where nobody but root and this owner can exchange
 * a part of the path or write into it. Parts that are not there yet are no error; check again when they are made. */
int trust_check_kept(const char *path, uid_t owner, struct err *e);

/* ---- in an open directory: names without '/', no link is followed ------------------------------------------------ */

/* Opens a directory in a directory; `make`: after making it with this mode less the umask, unless it is there. -1 with
 * errno. */
int trust_enter(int dir, const char *name, mode_t make);

/* Opens a regular file for reading. -1 with errno; EINVAL: something else has that name. */
int trust_open_at(int dir, const char *name, struct stat *st);

/* A name for a new file beside `name`, and its descriptor, which only this process has. -1 with errno. */
int trust_begin(int dir, const char *name, char temporary[NAME_MAX + 1]);

/* Delays signals that end a program while there are files that it would leave behind; `before`, unless NULL,
 * gets what to go back to. */
void trust_delay_end(sigset_t *before);

/* Writes all of `data`: 0, or -1 with errno. */
int trust_write(int fd, const void *data, size_t bytes);

/* The same to a new file, which gets `mode`, is on disk and closed when it returns. */
int trust_fill(int fd, const void *data, size_t bytes, mode_t mode);

/* Replaces `name` by a new file of this mode in one step: 0, or -1 with errno. A signal leaves no other file. */
int trust_put(int dir, const char *name, const void *data, size_t bytes, mode_t mode);

/* So that the names in a directory survive a power cut; what cannot be synced is no worse than before. */
void trust_sync(int dir);

/* Points the link `name` at `target` in one step; EEXIST: something that is no link has that name. */
int trust_link(int dir, const char *name, const char *target);

/* Opens the file `name`, which it makes for the directory's owner, and waits for its lock, which goes with the
 * descriptor or the process. Only where nobody else can write in `dir`. -1 with errno. */
int trust_lock(int dir, const char *name);

/* Removes a file, or a directory with all that is in it. What cannot be removed stays. */
void trust_remove(int dir, const char *name);

/* Reads `bytes` bytes, all that the file has, into `text`, with room for one more: -1 where it has grown or shrunk. */
int trust_read(int fd, char *text, size_t bytes);
