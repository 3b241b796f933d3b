/* Finding libnccl.so.2 or librccl.so.1. */
#include "core/locate.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where it may be. A place that begins with '$' is looked for under that variable's value, "$PYTHON" above the python3
 * of PATH; what has neither '$' nor '/' is left to the loader. What a user has activated comes before what the system
 * has, whose NCCL PyTorch does not load. */
#define LIBRARY "libnccl.so.2"
static const char *const places[] = {
    "$VIRTUAL_ENV/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
    "$CONDA_PREFIX/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
    "$CONDA_PREFIX/lib/libnccl.so.2",
    "$PYTHON/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
    LIBRARY,
    "/usr/local/cuda/lib64/libnccl.so.2",
    "$HOME/.local/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
    "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
    "/usr/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
    "/opt/conda/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
    "librccl.so.1",
    "/opt/rocm/lib/librccl.so.1",
};

static void *open_pattern(const char *pattern)
{
    glob_t g = {0};
    void *lib = NULL;
    if (!glob(pattern, 0, NULL, &g))
        for (size_t i = 0; i < g.gl_pathc && !lib; i++)
            lib = dlopen(g.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&g);
    return lib;
}

static void *open_place(const char *place)
{
    if (*place != '$')
        return *place == '/' ? open_pattern(place) : dlopen(place, RTLD_NOW | RTLD_LOCAL);
    struct arena *a = arena_new();
    size_t n = strcspn(place + 1, "/");
    const char *name = arena_strndup(a, place + 1, n);
    const char *base = !strcmp(name, "PYTHON") ? locate_python(a) : getenv(name);
    void *lib = base && *base == '/' ? open_pattern(arena_printf(a, "%s%s", base, place + 1 + n)) : NULL;
    arena_free(a);
    return lib;
}

/* PyTorch's own search path comes behind this one. */
static int is_in_library_path(const char *file)
{
    struct arena *a = arena_new();
    const char *path = getenv("LD_LIBRARY_PATH");
    int there = path && locate_in_list(path, file, R_OK, a);
    arena_free(a);
    return there;
}

void *nccl_library_open(void)
{
    void *lib = is_in_library_path(LIBRARY) ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !lib; i++)
        lib = open_place(places[i]);
    return lib;
}
