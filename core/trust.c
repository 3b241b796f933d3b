/* Paths, opened component by component. */
#include "core/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS 40
#define WALK       (O_PATH | O_DIRECTORY | O_CLOEXEC)
#define QUIET      (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* ---- whose a directory is ---------------------------------------------------------------------------------------- */

static int is_private(int dir)
{
    struct stat st;
    mode_t others = geteuid() ? S_IWOTH : S_IWOTH | S_IWGRP;
    return !fstat(dir, &st) && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & others);
}

/* A directory can hand on a group, or an access list, that somebody else has chosen. */
static mode_t mode_of_new(mode_t mode)
{
    return geteuid() ? mode : mode & ~(mode_t)(S_IWGRP | S_IWOTH);
}

static int is_procfs(int dir)
{
    struct statfs fs;
    return !fstatfs(dir, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

static int is_link(int dir, const char *name)
{
    struct stat st;
    return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode);
}

/* A sticky directory such as /tmp is refused too: somebody else may make the file before its owner does. */
static int judge_owned(const struct stat *st, uid_t owner, const char *path, int shown, struct err *e)
{
    if (st->st_uid != 0 && st->st_uid != owner)
        return err_set(e, ERR_FAILED, "%.*s belongs to user %u", shown, path, (unsigned)st->st_uid);
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return err_set(e, ERR_FAILED, "%.*s can be written by others (mode %03o)", shown, path,
                       (unsigned)st->st_mode & 0777u);
    return 0;
}

static int check_owned(int fd, uid_t owner, const char *path, int shown, struct err *e)
{
    struct stat st = {.st_uid = (uid_t)-1};
    fstat(fd, &st);
    return judge_owned(&st, owner, path, shown, e);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

struct walk {
    const char *path; /* as it was given */
    enum trust_rule rule;
    uid_t owner;
    int dir, links, make, kept;
    int missing;         /* a part of the path is not there */
    char rest[PATH_MAX]; /* what is still to be walked, from `at` on */
    size_t at;
    struct err *e;
};

static int refuse_errno(struct walk *w)
{
    w->missing = errno == ENOENT;
    return err_errno(w->e, w->rule == TRUST_WRITE ? "%s: cannot be created" : "%s: cannot be opened", w->path);
}

static int step_to(struct walk *w, int next)
{
    if (next < 0)
        return refuse_errno(w);
    close(w->dir);
    w->dir = next;
    return 0;
}

/* Where the walk begins, and again behind an absolute link. */
static int start_walk(struct walk *w)
{
    w->at = strspn(w->rest, "/");
    return step_to(w, open(w->at ? "/" : ".", WALK));
}

/* Puts what a link says in its place. */
static int follow_link(struct walk *w, const char *part, const char *target, int last)
{
    char rest[PATH_MAX];
    if (!is_private(w->dir) && (w->rule == TRUST_WRITE || geteuid() == 0))
        return err_set(w->e, ERR_FAILED,
                       "%s: '%s' is a symbolic link in a directory where others can write; name the file itself",
                       w->path, part);
    if (is_procfs(w->dir)) /* its links lead where no text can */
        return last ? 0 : step_to(w, openat(w->dir, part, WALK));
    int n = snprintf(rest, sizeof rest, "%s%s", target, w->rest + w->at);
    if (++w->links > MOST_LINKS || (size_t)n >= sizeof rest) {
        errno = ELOOP;
        return refuse_errno(w);
    }
    memcpy(w->rest, rest, (size_t)n + 1);
    w->at = 0;
    return w->rest[0] == '/' ? start_walk(w) : 0;
}

/* Whether root or the owner alone can have made this directory's entries, and can exchange them. */
static int is_kept(int dir, const char *part, uid_t owner)
{
    struct stat st, entry;
    if (fstat(dir, &st) || (st.st_uid != 0 && st.st_uid != owner))
        return 0;
    if (!(st.st_mode & (S_IWGRP | S_IWOTH)))
        return 1;
    if (!(st.st_mode & S_ISVTX))
        return 0;
    return fstatat(dir, part, &entry, AT_SYMLINK_NOFOLLOW) ? errno == ENOENT
                                                           : entry.st_uid == 0 || entry.st_uid == owner;
}

/* Enters what may be followed until the last component is reached, which is left in `place`. */
static int walk_on(struct walk *w, struct trust_place *place)
{
    char target[PATH_MAX];
    for (;;) {
        size_t n = strcspn(w->rest + w->at, "/");
        int last = !w->rest[w->at + n];
        if (n > NAME_MAX) {
            errno = ENAMETOOLONG;
            return refuse_errno(w);
        }
        memcpy(place->name, w->rest + w->at, n);
        place->name[n] = 0;
        if (!n)
            strcpy(place->name, ".");
        w->at += n;
        if (w->kept && !is_kept(w->dir, place->name, w->owner))
            return err_set(w->e, ERR_FAILED,
                           "%s: others can write where '%s' is, and exchange it; expected directories of root", w->path,
                           place->name);
        ssize_t length = readlinkat(w->dir, place->name, target, sizeof target - 1);
        if (length >= 0) {
            target[length] = 0;
            if (follow_link(w, place->name, target, last))
                return -1;
            if (last && is_procfs(w->dir)) {
                place->is_magic = 1;
                return 0;
            }
        } else {
            int next = !last || w->make ? openat(w->dir, place->name, WALK | O_NOFOLLOW) : -1;
            if (next < 0 && w->make && errno == ENOENT &&
                (!mkdirat(w->dir, place->name, mode_of_new(0777)) || errno == EEXIST))
                next = openat(w->dir, place->name, WALK | O_NOFOLLOW);
            if ((!last || w->make) && step_to(w, next))
                return -1;
            if (last)
                return 0;
        }
        w->at += strspn(w->rest + w->at, "/");
    }
}

static int refuse_owned(const struct walk *w, int dir, const char *name, int shown)
{
    if (is_link(dir, name)) /* else it says the same in errno */
        return err_set(w->e, ERR_FAILED, "%.*s is a symbolic link", shown, w->path);
    return err_errno(w->e, "%.*s", shown, w->path);
}

/* The same where nothing is followed and everything is checked. */
static int walk_owned(struct walk *w, struct trust_place *place)
{
    for (;;) {
        size_t n = strcspn(w->rest + w->at, "/");
        int last = !w->rest[w->at + n], shown = (int)(w->at + n);
        snprintf(place->name, sizeof place->name, "%.*s", (int)n, w->rest + w->at);
        if (!n || n > NAME_MAX || !strcmp(place->name, ".") || !strcmp(place->name, ".."))
            return err_set(w->e, ERR_FAILED, "'%.100s' is not a plain path", w->path);
        if (last)
            return 0;
        int next = openat(w->dir, place->name, WALK | O_NOFOLLOW);
        if (next < 0)
            return refuse_owned(w, w->dir, place->name, shown);
        close(w->dir);
        w->dir = next;
        if (check_owned(next, w->owner, w->path, shown, w->e))
            return -1;
        w->at += n + 1;
    }
}

static int begin_walk(struct walk *w)
{
    w->dir = -1;
    if (w->rule == TRUST_OWNED && (w->path[0] != '/' || !w->path[1]))
        return err_set(w->e, ERR_FAILED, "'%.100s' is not an absolute path", w->path);
    if (!w->path[0] || strlen(w->path) >= sizeof w->rest) {
        errno = w->path[0] ? ENAMETOOLONG : ENOENT;
        return refuse_errno(w);
    }
    memcpy(w->rest, w->path, strlen(w->path) + 1);
    return start_walk(w) || (w->rule == TRUST_OWNED && check_owned(w->dir, w->owner, w->path, 1, w->e)) ? -1 : 0;
}

static int find_place(struct walk *w, struct trust_place *place)
{
    *place = (struct trust_place){.dir = -1};
    if (begin_walk(w) || (w->rule == TRUST_OWNED ? walk_owned(w, place) : walk_on(w, place))) {
        trust_close(w->dir);
        return -1;
    }
    place->dir = w->dir;
    place->is_private = w->rule != TRUST_OWNED && is_private(w->dir);
    return 0;
}

int trust_find(const char *path, struct trust_place *place, struct err *e)
{
    struct walk w = {.path = path, .rule = TRUST_WRITE, .e = e};
    return find_place(&w, place);
}

void trust_close(int fd)
{
    const int why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static int open_place(struct walk *w, const struct trust_place *p, int flags, struct stat *st)
{
    int fd = openat(p->dir, p->name, flags | QUIET | (p->is_magic ? 0 : O_NOFOLLOW));
    if (fd >= 0 && !fstat(fd, st) && !S_ISLNK(st->st_mode)) /* O_PATH opens a link itself */
        return fd;
    errno = fd < 0 ? errno : ELOOP;
    trust_close(fd);
    return (w->rule == TRUST_OWNED ? refuse_owned(w, p->dir, p->name, (int)strlen(w->path)) : refuse_errno(w)), -1;
}

/* A FIFO with a silent writer would hold us, a device may do anything. */
static int check_kind(const struct walk *w, const struct trust_place *p, int flags, const struct stat *st)
{
    if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) || flags & O_PATH)
        return 0;
    if (w->rule == TRUST_OWNED)
        return err_set(w->e, ERR_FAILED, "%s is not a regular file", w->path);
    return p->is_private
               ? 0
               : err_set(w->e, ERR_FAILED,
                         "%s: is a FIFO or a device in a directory where others can write; expected a file", w->path);
}

static int open_found(struct walk *w, const struct trust_place *p, int flags, struct stat *st)
{
    int fd = open_place(w, p, flags, st);
    if (fd < 0)
        return -1;
    if (check_kind(w, p, flags, st) ||
        (w->rule == TRUST_OWNED && judge_owned(st, w->owner, w->path, (int)strlen(w->path), w->e))) {
        close(fd);
        return -1;
    }
    if (!(flags & O_PATH))
        fcntl(fd, F_SETFL, 0); /* no longer O_NONBLOCK */
    return fd;
}

int trust_open(const char *path, enum trust_rule rule, uid_t owner, int flags, struct stat *st, struct err *e)
{
    struct walk w = {.path = path, .rule = rule, .owner = owner, .e = e};
    struct trust_place p;
    if (find_place(&w, &p))
        return -1;
    int fd = open_found(&w, &p, flags, st);
    close(p.dir);
    return fd;
}

int trust_open_owned_at(int dir, const char *name, const char *path, uid_t owner, int flags, struct stat *st,
                        struct err *e)
{
    struct walk w = {.path = path, .rule = TRUST_OWNED, .owner = owner, .e = e};
    struct trust_place p = {.dir = dir};
    snprintf(p.name, sizeof p.name, "%s", name);
    return open_found(&w, &p, flags, st);
}

int trust_append(const char *path, mode_t mode, struct err *e)
{
    const int flags = O_RDWR | O_APPEND | QUIET;
    struct trust_place p;
    struct stat st;
    if (trust_find(path, &p, e))
        return -1;
    int fd = openat(p.dir, p.name, flags | O_CREAT | O_EXCL, mode_of_new(mode)), made = fd >= 0;
    if (!made && errno == EEXIST)
        fd = openat(p.dir, p.name, flags | (p.is_magic ? 0 : O_NOFOLLOW));
    /* Unless only root can have given a name of this directory to a file of root's. */
    int others = !p.is_private, kept = !fstat(p.dir, &st) && st.st_uid == 0 && st.st_mode & S_ISVTX;
    int exchangeable = others && geteuid() == 0 && !kept;
    close(p.dir);
    if (fd < 0 || fstat(fd, &st)) {
        err_errno(e, "%s: cannot be opened for writing", path);
    } else if (others && !S_ISREG(st.st_mode)) {
        err_set(e, ERR_FAILED, "%s: expected a regular file", path);
    } else if (geteuid() == 0 && st.st_uid != 0 && S_ISREG(st.st_mode)) {
        err_set(e, ERR_FAILED, "%s: belongs to user %u, who can change what root would write there; move it away", path,
                (unsigned)st.st_uid);
    } else if (exchangeable && !made) {
        err_set(e, ERR_FAILED, "%s: is there already, in a directory where others can exchange files; move it away",
                path);
    } else if (others && st.st_nlink > 1) {
        err_set(e, ERR_FAILED, "%s: has another name (a hard link), and others can write its directory", path);
    } else {
        fcntl(fd, F_SETFL, O_APPEND);
        return fd;
    }
    close(fd);
    return -1;
}

int trust_make_directory(const char *path, struct err *e)
{
    struct walk w = {.path = path, .rule = TRUST_WRITE, .make = 1, .e = e};
    struct trust_place p;
    if (find_place(&w, &p))
        return -1;
    int fd = openat(p.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_errno(e, "%s: cannot be opened", path);
    close(p.dir);
    return fd;
}

int trust_check_kept(const char *path, uid_t owner, struct err *e)
{
    struct err why = {0};
    struct walk w = {.path = path, .rule = TRUST_WRITE, .owner = owner, .kept = 1, .e = &why};
    struct trust_place p;
    struct stat st;
    if (geteuid() != 0)
        return 0;
    if (find_place(&w, &p))
        return w.missing ? 0 : err_set(e, ERR_FAILED, "%s", why.text);
    int others = !fstatat(p.dir, p.name, &st, AT_SYMLINK_NOFOLLOW) &&
                 ((st.st_uid != 0 && st.st_uid != owner) || st.st_mode & (S_IWGRP | S_IWOTH));
    close(p.dir);
    return others ? err_set(e, ERR_FAILED, "%s: others can write there; expected directories of root", path) : 0;
}

int trust_unlink(const char *path, struct err *e)
{
    struct err why = {0};
    struct walk w = {.path = path, .rule = TRUST_WRITE, .e = &why};
    struct trust_place p;
    if (find_place(&w, &p))
        return w.missing ? 0 : err_set(e, ERR_FAILED, "%s", why.text);
    int rc = unlinkat(p.dir, p.name, 0) && (errno != EISDIR || unlinkat(p.dir, p.name, AT_REMOVEDIR)) && errno != ENOENT
                 ? err_errno(e, "%s: cannot be removed", path)
                 : 0;
    close(p.dir);
    return rc;
}

/* ---- in an open directory ---------------------------------------------------------------------------------------- */

int trust_enter(int dir, const char *name, mode_t make)
{
    if (make && mkdirat(dir, name, mode_of_new(make)) && errno != EEXIST)
        return -1;
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int trust_open_at(int dir, const char *name, struct stat *st)
{
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | QUIET);
    if (fd >= 0 && !fstat(fd, st) && S_ISREG(st->st_mode))
        return fd;
    if (fd >= 0) {
        close(fd);
        errno = EINVAL;
    }
    return -1;
}

int trust_begin(int dir, const char *name, char temporary[NAME_MAX + 1])
{
    unsigned number = 0;
    if (getrandom(&number, sizeof number, 0) < 0)
        return -1;
    snprintf(temporary, NAME_MAX + 1, "%.230s.tmp%08x", name, number);
    return openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void trust_delay_end(sigset_t *before)
{
    sigset_t ending = {0};
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, before);
}

int trust_write(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        ssize_t n = write(fd, at, bytes);
        if (n < 0)
            return -1;
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int trust_fill(int fd, const void *data, size_t bytes, mode_t mode)
{
    int rc = fchmod(fd, mode_of_new(mode)) || trust_write(fd, data, bytes) || fsync(fd) ? -1 : 0;
    close(fd);
    return rc;
}

int trust_put(int dir, const char *name, const void *data, size_t bytes, mode_t mode)
{
    char temporary[NAME_MAX + 1] = "";
    sigset_t before;
    trust_delay_end(&before);
    int fd = trust_begin(dir, name, temporary), rc = fd < 0 || trust_fill(fd, data, bytes, mode) ? -1 : 0;
    if (!rc)
        rc = renameat(dir, temporary, dir, name);
    int why = errno;
    if (rc)
        unlinkat(dir, temporary, 0);
    sigprocmask(SIG_SETMASK, &before, NULL);
    trust_sync(dir);
    errno = why;
    return rc;
}

void trust_sync(int dir)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int trust_link(int dir, const char *name, const char *target)
{
    char temporary[NAME_MAX + 1];
    if (!faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) && !is_link(dir, name)) {
        errno = EEXIST;
        return -1;
    }
    snprintf(temporary, sizeof temporary, "%.240s.new", name);
    unlinkat(dir, temporary, 0);
    return symlinkat(target, dir, temporary) || renameat(dir, temporary, dir, name) ? -1 : 0;
}

int trust_lock(int dir, const char *name)
{
    for (;;) {
        struct stat st, owner;
        int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | QUIET, 0600);
        if (fd < 0)
            return -1;
        int mine = geteuid() || (!fstat(dir, &owner) && !fchown(fd, owner.st_uid, (gid_t)-1));
        int locked = mine && !flock(fd, LOCK_EX);
        if (locked && !fstat(fd, &st) && st.st_nlink)
            return fd;
        close(fd);
        if (!locked) /* else it was removed meanwhile */
            return -1;
    }
}

void trust_remove(int dir, const char *name)
{
    const struct dirent *entry;
    int fd = trust_enter(dir, name, 0);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    while (d && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            trust_remove(fd, entry->d_name);
    if (d)
        closedir(d);
    if (unlinkat(dir, name, 0))
        unlinkat(dir, name, AT_REMOVEDIR);
}

int trust_read(int fd, char *text, size_t bytes)
{
    size_t used = 0;
    ssize_t n;
    do { /* one byte more than it should have: a file that grows is not what was checked */
        n = read(fd, text + used, bytes + 1 - used);
        used += n > 0 ? (size_t)n : 0;
    } while (n > 0 && used < bytes);
    return used == bytes ? 0 : -1;
}
