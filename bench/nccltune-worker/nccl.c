/* Finding libnccl.so.2 or librccl.so.1, and its functions. */
#include "bench/nccltune-worker/nccl.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/locate.h"

static const struct {
    const char *name;
    size_t offset;
    int optional;
} functions[] = {
    {"ncclGetVersion", offsetof(struct nccl, get_version)},
    {"ncclGetUniqueId", offsetof(struct nccl, get_unique_id)},
    {"ncclCommInitRank", offsetof(struct nccl, comm_init_rank)},
    {"ncclCommDestroy", offsetof(struct nccl, comm_destroy)},
    {"ncclCommCount", offsetof(struct nccl, comm_count)},
    {"ncclCommUserRank", offsetof(struct nccl, comm_user_rank)},
    {"ncclCommGetAsyncError", offsetof(struct nccl, comm_async_error)},
    {"ncclGetErrorString", offsetof(struct nccl, error_string)},
    {"ncclGetLastError", offsetof(struct nccl, last_error)},
    {"ncclAllReduce", offsetof(struct nccl, all_reduce)},
    {"ncclReduce", offsetof(struct nccl, reduce)},
    {"ncclBroadcast", offsetof(struct nccl, broadcast)},
    {"ncclAllGather", offsetof(struct nccl, all_gather)},
    {"ncclReduceScatter", offsetof(struct nccl, reduce_scatter)},
    {"ncclSend", offsetof(struct nccl, send)},
    {"ncclRecv", offsetof(struct nccl, recv)},
    {"ncclGroupStart", offsetof(struct nccl, group_start)},
    {"ncclGroupEnd", offsetof(struct nccl, group_end)},
    {"ncclCommSplit", offsetof(struct nccl, comm_split), 1},
    {"ncclMemAlloc", offsetof(struct nccl, mem_alloc), 1},
    {"ncclMemFree", offsetof(struct nccl, mem_free), 1},
    {"ncclCommRegister", offsetof(struct nccl, comm_register), 1},
    {"ncclCommDeregister", offsetof(struct nccl, comm_deregister), 1},
};

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
    int there = 0;
    for (const char *p = path ? path : ""; *p && !there;) {
        size_t n = strcspn(p, ":");
        there = n && !access(arena_printf(a, "%.*s/%s", (int)n, p, file), R_OK);
        p += n + (p[n] == ':');
    }
    arena_free(a);
    return there;
}

static void *search(void)
{
    void *lib = is_in_library_path(LIBRARY) ? dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !lib; i++)
        lib = open_place(places[i]);
    return lib;
}

int nccl_load(struct nccl *n, const char *wanted, char *why, size_t bytes)
{
    void *lib = wanted ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : search();
    struct link_map *map = NULL;
    if (!lib) {
        if (wanted)
            snprintf(why, bytes, "%s", dlerror());
        else
            snprintf(
                why, bytes,
                "neither libnccl.so.2 nor librccl.so.1 was found; --nccl-lib PATH names the library that jobs use");
        return -1;
    }
    if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
        snprintf(n->path, sizeof n->path, "%s", map->l_name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(lib, functions[i].name);
        if (!f && !functions[i].optional) {
            snprintf(why, bytes, "%s has no %s: it is no NCCL of version 2.19 or later", n->path, functions[i].name);
            return -1;
        }
        *(void **)((char *)n + functions[i].offset) = f;
    }
    /* RCCL alone has MSCCL, and keeps its own file name. */
    n->rccl = dlsym(lib, "mscclLoadAlgo") != NULL || strstr(n->path, "librccl") != NULL;
    return 0;
}

int nccl_settled(const struct nccl *n, void *comm, int code)
{
    while (code == NCCL_IN_PROGRESS && !n->comm_async_error(comm, &code) && code == NCCL_IN_PROGRESS)
        sched_yield();
    return code;
}

const char *nccl_error(const struct nccl *n, void *comm, int code, char *text, size_t bytes)
{
    const char *kind = n->error_string(code), *last = n->last_error(comm);
    snprintf(text, bytes, "%s%s%s", kind ? kind : "unknown error", last && *last ? ": " : "", last ? last : "");
    return text;
}
