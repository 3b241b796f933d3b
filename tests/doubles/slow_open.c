/* A busy file system: preloaded, every open of a path takes SLOW_OPEN_MS milliseconds. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

int openat(int dir, const char *path, int flags, ...)
{
    static int (*real)(int, const char *, int, ...);
    const char *ms = getenv("SLOW_OPEN_MS");
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "openat");
    usleep(ms ? (useconds_t)atoi(ms) * 1000 : 0);
    return real(dir, path, flags, mode);
}
