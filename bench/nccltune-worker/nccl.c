/* NCCL's or RCCL's functions. */
#include "bench/nccltune-worker/nccl.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/nccl_library.h"

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

int nccl_load(struct nccl *n, const char *wanted, char *why, size_t bytes)
{
    void *lib = wanted ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : nccl_library_open();
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
