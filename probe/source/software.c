/* Software that jobs meet on this machine: NCCL and RCCL libraries with their versions, limits, /dev/shm. */
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/locate.h"
#include "probe/source/source.h"

/* Where packages, toolkits and Python wheels put the libraries. */
static const char *const places[] = {
    "/usr/lib/*-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/local/lib",
    "/usr/local/cuda*/lib64",
    "/usr/local/nccl*/lib",
    "/opt/nccl*/lib",
    "/opt/nccl*/build/lib",
    "/opt/rocm*/lib",
    "/usr/lib/python3*/dist-packages/nvidia/nccl/lib",
    "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib",
    "/usr/local/lib/python3*/*-packages/torch/lib",
    "/opt/conda/lib/python3*/site-packages/nvidia/nccl/lib",
    "/opt/conda/lib/python3*/site-packages/torch/lib",
    "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib",
};
static const struct {
    const char *file, *name, *mark;
} kinds[] = {{"libnccl.so*", "NCCL", "NCCL version "}, {"librccl.so*", "RCCL", "RCCL version "}};

#define MOST_LIBRARIES 32

/* The version that the library would print, "2.21.5"; NULL when its file does not hold it. */
static const char *version_inside(struct arena *a, const char *path, const char *mark)
{
    struct stat st;
    const char *version = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t bytes = fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size : 0;
    char *text = bytes ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (text != MAP_FAILED) {
        const char *end = text + bytes, *at = text;
        size_t n = strlen(mark);
        while (!version && (at = memmem(at, (size_t)(end - at), mark, n))) {
            at += n;
            size_t digits = 0;
            while (at + digits < end && digits < 16 && strchr("0123456789.", at[digits]) && at[digits])
                digits++;
            version = digits >= 3 ? arena_strndup(a, at, digits) : NULL;
        }
        munmap(text, bytes);
    }
    if (fd >= 0)
        close(fd);
    return version;
}

/* "libnccl.so.2.21.5": "2.21.5"; NULL when the name tells less than three parts. */
static const char *version_in_name(const char *path)
{
    const char *so = strstr(path, ".so."), *version = so ? so + 4 : "";
    const char *dot = strchr(version, '.');
    return dot && strchr(dot + 1, '.') ? version : NULL;
}

static void add_library(struct topology *t, struct topo_class *c, const char *path, int kind)
{
    char real[PATH_MAX];
    if (c->nlibraries >= MOST_LIBRARIES || !realpath(path, real))
        return;
    for (int i = 0; i < c->nlibraries; i++) {
        const char *known = strrchr(c->libraries[i], ' ');
        if (known && !strcmp(known + 1, real))
            return;
    }
    const char *version = version_in_name(real);
    if (!version)
        version = version_inside(t->arena, real, kinds[kind].mark);
    build_text(t, &c->libraries, &c->nlibraries,
               arena_printf(t->arena, "%s %s %s", kinds[kind].name, version ? version : "?", real));
}

static void find_libraries(struct topology *t, struct topo_class *c, const char *place)
{
    for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++) {
        glob_t found;
        if (!glob(arena_printf(t->arena, "%s/%s", place, kinds[kind].file), 0, NULL, &found))
            for (size_t i = 0; i < found.gl_pathc; i++)
                add_library(t, c, found.gl_pathv[i], kind);
        globfree(&found);
    }
}

static uint64_t limit_of(int resource)
{
    struct rlimit l;
    if (getrlimit((__rlimit_resource_t)resource, &l))
        return 0;
    return l.rlim_cur == RLIM_INFINITY || l.rlim_cur > TOPO_UNLIMITED ? TOPO_UNLIMITED : l.rlim_cur;
}

void source_software(struct topology *t, struct topo_class *c)
{
    struct statvfs shm;
    const char *path = getenv("LD_LIBRARY_PATH");
    char *own = arena_strdup(t->arena, path ? path : ""), *rest = NULL;
    for (char *dir = strtok_r(own, ":", &rest); dir; dir = strtok_r(NULL, ":", &rest))
        find_libraries(t, c, dir);
    const char *python = locate_python(t->arena);
    if (python)
        find_libraries(t, c, arena_printf(t->arena, "%s/lib/python3*/*-packages/nvidia/nccl/lib", python));
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        find_libraries(t, c, places[i]);
    c->memlock_bytes = limit_of(RLIMIT_MEMLOCK);
    c->nofile = limit_of(RLIMIT_NOFILE);
    if (!statvfs("/dev/shm", &shm))
        c->shm_bytes = (uint64_t)shm.f_blocks * shm.f_frsize;
}
