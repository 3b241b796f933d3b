/* NCCL's or RCCL's functions, the plugins that it has loaded, and communicators of groups. */
#include "bench/nccltune-worker/nccl.h"

#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/locate.h"
#include "tuner/plugin/control.h"

#define OBJECTS  512
#define NAME     60
#define NO_COLOR (-1) /* NCCL_SPLIT_NOCOLOR */

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

int nccl_load(struct nccl *n, const char *wanted, struct err *e)
{
    void *lib = wanted ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : nccl_library_open();
    struct link_map *map = NULL;
    if (!lib)
        return err_set(e, ERR_FAILED, "%s",
                       wanted ? dlerror()
                              : "neither libnccl.so.2 nor librccl.so.1 was found; --nccl-lib PATH names the library "
                                "that jobs use");
    if (!dlinfo(lib, RTLD_DI_LINKMAP, &map) && map)
        snprintf(n->path, sizeof n->path, "%s", map->l_name);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(lib, functions[i].name);
        if (!f && !functions[i].optional)
            return err_set(e, ERR_FAILED, "%s has no %s: not NCCL 2.19 or later", n->path, functions[i].name);
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

const char *nccl_error(const struct nccl *n, void *comm, int code)
{
    static char text[NCCL_TEXT];
    const char *kind = n->error_string(code), *last = n->last_error(comm);
    snprintf(text, sizeof text, "%s%s%s", kind ? kind : "unknown error", last && *last ? ": " : "", last ? last : "");
    return text;
}

/* ---- plugins ---- */

/* They are told by what they export for NCCL; their names are the first member of that. A network plugin that finds
 * none of its devices is unloaded by NCCL, so what is there is in use. */
struct objects {
    char *names[OBJECTS];
    int count;
};

static int note_object(struct dl_phdr_info *o, size_t size, void *arg)
{
    (void)size;
    struct objects *all = arg;
    if (o->dlpi_name && *o->dlpi_name == '/' && all->count < OBJECTS)
        all->names[all->count++] = strdup(o->dlpi_name);
    return 0;
}

/* What `path` itself exports under PREFIX and a version, and not a library that it needs. */
static const char *read_exported_name(const char *path, void *lib, const char *prefix, int newest)
{
    for (int v = newest; v > 0; v--) {
        char symbol[64];
        Dl_info info;
        snprintf(symbol, sizeof symbol, "%s%d", prefix, v);
        const char *const *plugin = dlsym(lib, symbol);
        if (plugin && dladdr(plugin, &info) && !strcmp(info.dli_fname, path) && *plugin)
            return *plugin;
    }
    return NULL;
}

static void read_plugin_names(const char *path, char tuner[NAME], char network[NAME])
{
    void *lib = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        return;
    const char *name = read_exported_name(path, lib, "ncclTunerPlugin_v", 9);
    if (name && !dlsym(lib, "nccltune_control_version"))
        snprintf(tuner, NAME, "%s", name);
    name = read_exported_name(path, lib, "ncclNetPlugin_v", 15);
    if (name)
        snprintf(network, NAME, "%s", name);
    dlclose(lib);
}

/* Our plugin knows which tuner it asks; a library that is loaded for its network may have one that is not in use. */
static void read_next_tuner(char tuner[NAME])
{
    const char *path = getenv("NCCL_TUNER_PLUGIN");
    void *lib = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void (*next)(struct nccltune_next *) = NULL;
    struct nccltune_next n;
    if (path && !strcasecmp(path, "none"))
        *tuner = 0;
    if (!lib)
        return;
    *(void **)&next = dlsym(lib, "nccltune_control_next");
    if (next) {
        next(&n);
        snprintf(tuner, NAME, "%.59s", n.name);
    }
    dlclose(lib);
}

void active_plugins(char *text, size_t size)
{
    struct objects all = {.count = 0};
    char tuner[NAME] = "", network[NAME] = "";
    dl_iterate_phdr(note_object, &all);
    for (int i = 0; i < all.count; i++) {
        if (all.names[i])
            read_plugin_names(all.names[i], tuner, network);
        free(all.names[i]);
    }
    read_next_tuner(tuner);
    snprintf(text, size, "%s%s%s%s%s", *tuner ? "tuner " : "", tuner, *tuner && *network ? ", " : "",
             *network ? "network " : "", network);
    for (char *c = text; *c; c++) /* a name is somebody else's text */
        *c = (char)(*c < ' ' || *c > '~' ? '?' : *c);
}

/* ---- groups: one at a time is kept, each costs memory on the GPU ---- */

void group_leave(struct group *g, const struct nccl *n, const struct group *whole)
{
    if (g->comm && g->comm != whole->comm)
        n->comm_destroy(g->comm);
    *g = *whole;
}

/* Split `whole` by g->number, below 0: no group for this rank; all ranks of `whole` have to. A communicator that does
 * not block says first that the parent is done with it, then that it is there itself. Return a code of NCCL's. */
static int group_split(struct group *g, const struct nccl *n, const struct group *whole)
{
    int rc = nccl_settled(
        n, whole->comm, n->comm_split(whole->comm, g->number < 0 ? NO_COLOR : g->number, whole->rank, &g->comm, NULL));
    if (rc || g->number < 0)
        return rc;
    if (!rc && g->comm)
        n->comm_async_error(g->comm, &rc);
    rc = nccl_settled(n, g->comm, rc);
    rc = rc ? rc : n->comm_count(g->comm, &g->nranks);
    return rc ? rc : n->comm_user_rank(g->comm, &g->rank);
}

int group_enter(struct group *g, const struct nccl *n, const struct group *whole, const struct nccl_groups *wanted,
                struct err *e)
{
    const struct bench_shape everybody = {.nodes = wanted->whole_nodes, .ranks = whole->nranks};
    if (bench_shape_same(&g->of.shape, &wanted->shape))
        return 0;
    group_leave(g, n, whole);
    if (!wanted->shape.nodes)
        return 0;
    if (!n->comm_split)
        return err_set(e, ERR_FAILED, "rank %d: this NCCL has no ncclCommSplit", whole->rank);
    *g = (struct group){.of = *wanted, .number = bench_shape_group(&wanted->shape, &everybody, whole->rank)};
    int rc = group_split(g, n, whole);
    if (rc)
        rc =
            err_set(e, ERR_FAILED, "rank %d: cannot split groups off: %s", whole->rank, nccl_error(n, whole->comm, rc));
    else if (g->comm && g->nranks != wanted->shape.ranks)
        rc = err_set(e, ERR_FAILED, "rank %d: NCCL has made a group of %d ranks, not of %d", whole->rank, g->nranks,
                     wanted->shape.ranks);
    if (rc)
        group_leave(g, n, whole);
    return rc;
}
