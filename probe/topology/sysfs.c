/* Small files and links under /sys and /proc. */
#include "probe/topology/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/topology/topology.h"

static char root[PATH_MAX / 2];

void sysfs_set_root(const char *dir)
{
    snprintf(root, sizeof root, "%s", dir ? dir : "");
}

const char *sysfs_root(void)
{
    return *root ? root : NULL;
}

static void make_path(char path[PATH_MAX], const char *fmt, va_list ap)
{
    int n = snprintf(path, PATH_MAX, "%s", root);
    vsnprintf(path + n, (size_t)(PATH_MAX - n), fmt, ap);
}

#define PATH_FROM(path, fmt)       \
    do {                           \
        va_list ap_;               \
        va_start(ap_, fmt);        \
        make_path(path, fmt, ap_); \
        va_end(ap_);               \
    } while (0)

/* Number of bytes read, 0 when there are none. */
static size_t read_line(const char *path, char *line, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a copied tree may have FIFOs */
    ssize_t n = fd < 0 ? -1 : read(fd, line, room - 1);
    if (fd >= 0)
        close(fd);
    line[n > 0 ? n : 0] = 0;
    return strcspn(line, "\n");
}

char *sysfs_line(struct arena *a, const char *fmt, ...)
{
    char path[PATH_MAX], line[4096];
    PATH_FROM(path, fmt);
    size_t n = read_line(path, line, sizeof line);
    return n ? arena_strndup(a, line, n) : NULL;
}

long sysfs_int(long otherwise, const char *fmt, ...)
{
    char path[PATH_MAX], line[64], *end;
    PATH_FROM(path, fmt);
    line[read_line(path, line, sizeof line)] = 0;
    errno = 0;
    long value = strtol(line, &end, 0);
    return end == line || *end || errno ? otherwise : value;
}

char *sysfs_link(struct arena *a, const char *fmt, ...)
{
    char path[PATH_MAX], target[PATH_MAX];
    PATH_FROM(path, fmt);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0)
        return NULL;
    target[n] = 0;
    const char *slash = strrchr(target, '/');
    return arena_strdup(a, slash ? slash + 1 : target);
}

const char *sysfs_pci(struct arena *a, const char *fmt, ...)
{
    char path[PATH_MAX], real[PATH_MAX];
    PATH_FROM(path, fmt);
    if (!realpath(path, real))
        return NULL;
    const char *found = NULL;
    for (char *slash = strrchr(real, '/'); slash && !found; slash = strrchr(real, '/')) {
        /* "pci0000:00" is a root bus, "0000:00:03.0" a function. */
        found = strchr(slash, '.') ? pci_address(a, slash + 1) : NULL;
        *slash = 0;
    }
    return found;
}

int sysfs_exists(const char *fmt, ...)
{
    char path[PATH_MAX];
    PATH_FROM(path, fmt);
    return !access(path, F_OK);
}

static int by_name(const void *x, const void *y)
{
    return strverscmp(*(const char *const *)x, *(const char *const *)y);
}

int sysfs_list(struct arena *a, const char ***names, const char *fmt, ...)
{
    char path[PATH_MAX];
    int n = 0;
    *names = NULL;
    PATH_FROM(path, fmt);
    DIR *folder = opendir(path);
    for (const struct dirent *d; folder && (d = readdir(folder));) {
        if (*d->d_name == '.')
            continue;
        ARENA_ADD(a, *names, n) = arena_strdup(a, d->d_name);
    }
    if (folder)
        closedir(folder);
    if (n)
        qsort(*names, (size_t)n, sizeof **names, by_name);
    return n;
}

size_t sysfs_bytes(unsigned char *bytes, size_t room, const char *fmt, ...)
{
    char path[PATH_MAX];
    size_t used = 0;
    PATH_FROM(path, fmt);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    for (ssize_t n = 1; fd >= 0 && used < room && n > 0; used += n > 0 ? (size_t)n : 0)
        n = read(fd, bytes + used, room - used);
    if (fd >= 0)
        close(fd);
    return used;
}
