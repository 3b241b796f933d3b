/* A store on a far server: preloaded, every call that asks for something below SLOW_STORE, by a path or by a
 * descriptor, takes SLOW_STORE_MS milliseconds and is a line in SLOW_STORE_LOG. What a client would keep in a cache is
 * asked again. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REAL(name)                   \
    static __typeof__(&(name)) real; \
    if (!real)                       \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

/* The path of a descriptor, AT_FDCWD among them. */
static void path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, fd == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    path[n > 0 ? n : 0] = 0;
}

/* `path` NULL: of the descriptor itself. */
static void ask(const char *call, int dir, const char *path)
{
    const char *store = getenv("SLOW_STORE"), *ms = getenv("SLOW_STORE_MS"), *log = getenv("SLOW_STORE_LOG");
    char whole[2 * PATH_MAX] = "";
    int why = errno;
    if (!path || path[0] != '/')
        path_of(dir, whole);
    if (path)
        snprintf(whole + strlen(whole), PATH_MAX, "%s%s", path[0] == '/' ? "" : "/", path);
    size_t n = store ? strlen(store) : 0;
    if (n && !strncmp(whole, store, n) && (!whole[n] || whole[n] == '/')) {
        FILE *out = log ? fopen(log, "ae") : NULL;
        if (out) {
            fprintf(out, "%s %s\n", call, whole + n);
            fclose(out);
        }
        usleep(ms ? (useconds_t)strtoul(ms, NULL, 10) * 1000 : 0);
    }
    errno = why;
}

static unsigned mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, unsigned) : 0;
}

int openat(int dir, const char *path, int flags, ...)
{
    REAL(openat);
    va_list args;
    va_start(args, flags);
    unsigned mode = mode_of(flags, args);
    va_end(args);
    ask("openat", dir, path);
    return real(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    REAL(open);
    va_list args;
    va_start(args, flags);
    unsigned mode = mode_of(flags, args);
    va_end(args);
    ask("open", AT_FDCWD, path);
    return real(path, flags, mode);
}

int fstat(int fd, struct stat *st)
{
    REAL(fstat);
    ask("fstat", fd, NULL);
    return real(fd, st);
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
    REAL(fstatat);
    ask("fstatat", dir, path);
    return real(dir, path, st, flags);
}

int access(const char *path, int mode)
{
    REAL(access);
    ask("access", AT_FDCWD, path);
    return real(path, mode);
}

ssize_t read(int fd, void *data, size_t bytes)
{
    REAL(read);
    ask("read", fd, NULL);
    return real(fd, data, bytes);
}

ssize_t readlinkat(int dir, const char *path, char *target, size_t bytes)
{
    REAL(readlinkat);
    ask("readlinkat", dir, path);
    return real(dir, path, target, bytes);
}

/* What fortified programs call. */
int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
    return openat(dir, path, flags);
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room);
ssize_t __read_chk(int fd, void *data, size_t bytes, size_t room)
{
    (void)room;
    return read(fd, data, bytes);
}
