/* A busy file system: preloaded, every openat of a path takes SLOW_OPEN_MS milliseconds, or with SLOW_OPEN_SPIN a
 * second of CPU time. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int slowly(int dir, const char *path, int flags, unsigned mode)
{
    static int (*real)(int, const char *, int, ...);
    const char *ms = getenv("SLOW_OPEN_MS");
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "openat");
    for (clock_t begin = clock(); getenv("SLOW_OPEN_SPIN") && clock() - begin < CLOCKS_PER_SEC;)
        ;
    usleep(ms ? (useconds_t)strtoul(ms, NULL, 10) * 1000 : 0);
    return real(dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    unsigned mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;
    va_end(args);
    return slowly(dir, path, flags, mode);
}

/* What a fortified program calls. */
int __openat_2(int dir, const char *path, int flags);
int __openat_2(int dir, const char *path, int flags)
{
    return slowly(dir, path, flags, 0);
}
