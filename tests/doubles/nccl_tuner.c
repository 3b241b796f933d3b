/* Loading and asking a tuner plugin, interface versions 3 to 7 (NCCL 2.22 and later; an earlier one loads none). */
#include "tests/doubles/nccl_tuner.h"

#include <dlfcn.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INTERNAL_ERROR = 3, WARN = 2, INFO = 3, SUBSYS_TUNING = 64 };

typedef int init_old(size_t nranks, size_t nnodes, tuner_log *log, void **context);
typedef int init_new(void **context, uint64_t comm, size_t nranks, size_t nnodes, tuner_log *log, int *domains,
                     double *constants);
typedef int collinfo_v3(void *, int coll, size_t bytes, int pipe, float **table, int algos, int protos, int *channels);
typedef int collinfo_v4(void *, int coll, size_t bytes, int pipe, float **table, int algos, int protos, int reg,
                        int *channels);
typedef int chunk_v6(void *, int coll, size_t bytes, int algo, int proto, int channels, size_t *chunk);

struct v3 {
    const char *name;
    init_old *init;
    collinfo_v3 *info;
    int (*destroy)(void *);
};
struct v4 {
    const char *name;
    init_old *init;
    collinfo_v4 *info;
    int (*destroy)(void *);
};
struct v6 { /* and 7; version 5 ends before `chunk` */
    const char *name;
    init_new *init;
    collinfo_v4 *info;
    int (*finalize)(void *);
    chunk_v6 *chunk;
};

static int newest_version(int nccl) /* 0 none */
{
    return nccl >= 23100 ? 7 : nccl >= 23003 ? 6 : nccl >= 22803 ? 5 : nccl >= 22403 ? 4 : nccl >= 22203 ? 3 : 0;
}

/* The first network plugin that there is: NCCL loads it before the tuner, whose library it may be, too. */
static void *open_network(void)
{
    const char *value = getenv("NCCL_NET_PLUGIN");
    char list[512], name[600], *rest = NULL;
    snprintf(list, sizeof list, "%s", value && *value ? value : "libnccl-net.so");
    for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        snprintf(name, sizeof name, "libnccl-net-%s.so", item);
        void *lib = dlopen(item, RTLD_NOW | RTLD_LOCAL);
        lib = lib || strchr(item, '/') ? lib : dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (lib)
            return lib;
    }
    return NULL;
}

/* NCCL_TUNER_PLUGIN literally, then as libnccl-tuner-VALUE.so unless it looks like a path or a library. */
static void *open_library(void)
{
    const char *value = getenv("NCCL_TUNER_PLUGIN");
    char name[512];
    if (value && !strcasecmp(value, "none"))
        return NULL;
    if (!value || !*value) {
        void *standard = dlopen("libnccl-tuner.so", RTLD_NOW | RTLD_LOCAL);
        return standard ? standard : open_network();
    }
    void *lib = dlopen(value, RTLD_NOW | RTLD_LOCAL);
    size_t n = strlen(value);
    if (lib || strchr(value, '/') || (!strncmp(value, "lib", 3) && n > 3 && !strcmp(value + n - 3, ".so")))
        return lib;
    snprintf(name, sizeof name, "libnccl-tuner-%s.so", value);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

int tuner_load(struct tuner_double *t, int version, const struct tuner_comm *c, tuner_log *log)
{
    static double constants[159]; /* 144 before version 7 */
    int domains[3] = {c->nnodes, c->nranks / c->nnodes, (c->nranks + c->nnodes - 1) / c->nnodes};
    int newest = newest_version(version);
    open_network(); /* stays */
    void *lib = newest ? open_library() : NULL;
    char symbol[64];
    *t = (struct tuner_double){.nccl = version};
    for (int v = newest; lib && v >= 3 && !t->symbol; v--) {
        snprintf(symbol, sizeof symbol, "ncclTunerPlugin_v%d", v);
        t->symbol = dlsym(lib, symbol);
        t->version = t->symbol ? v : 0;
    }
    if (!t->symbol) {
        if (lib)
            dlclose(lib);
        log(INFO, SUBSYS_TUNING, __func__, __LINE__, "rank %d: no external tuner", c->rank);
        return SUCCESS;
    }
    log(INFO, SUBSYS_TUNING, __func__, __LINE__, "TUNER/Plugin: using interface version %d", t->version);
    if (t->version >= 5)
        return ((const struct v6 *)t->symbol)
            ->init(&t->context, c->id, (size_t)c->nranks, (size_t)c->nnodes, log, domains, constants);
    return ((const struct v4 *)t->symbol)->init((size_t)c->nranks, (size_t)c->nnodes, log, &t->context);
}

int tuner_unload(struct tuner_double *t)
{
    if (!t->version)
        return SUCCESS;
    return t->version >= 5 ? ((const struct v6 *)t->symbol)->finalize(t->context)
                           : ((const struct v4 *)t->symbol)->destroy(t->context);
}

static int ask_once(const struct tuner_double *t, int coll, size_t bytes, int registered, float **table, int *channels)
{
    int rc = SUCCESS;
    *channels = 0;
    if (t->version >= 5)
        rc = ((const struct v6 *)t->symbol)
                 ->info(t->context, coll, bytes, 1, table, ALGO_COUNT, PROTO_COUNT, registered, channels);
    else if (t->version == 4)
        rc = ((const struct v4 *)t->symbol)
                 ->info(t->context, coll, bytes, 1, table, ALGO_COUNT, PROTO_COUNT, registered, channels);
    else if (t->version == 3)
        rc = ((const struct v3 *)t->symbol)->info(t->context, coll, bytes, 1, table, ALGO_COUNT, PROTO_COUNT, channels);
    return rc;
}

/* 2.31 asks for symmetric memory first, with a table in which every cell is ignored (dev, src/tuning/tuning.cc). Of
 * equals it takes the last, and a negative cost for less than any other. */
static int ask_for_symmetric(const struct tuner_double *t, int coll, size_t bytes, int registered)
{
    float ignored[ALGO_COUNT][PROTO_COUNT];
    int channels;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        ignored[i / PROTO_COUNT][i % PROTO_COUNT] = -1;
    return ask_once(t, coll, bytes, registered, (float **)(void *)ignored, &channels);
}

int tuner_ask(const struct tuner_double *t, int coll, size_t bytes, int registered, float cost[ALGO_COUNT][PROTO_COUNT],
              int *algo, int *proto, int *channels)
{
    float given[ALGO_COUNT][PROTO_COUNT], best = FLT_MAX;
    int newest = t->nccl >= 23100, rc = newest ? ask_for_symmetric(t, coll, bytes, registered) : SUCCESS;
    memcpy(given, cost, sizeof given);
    rc = rc ? rc : ask_once(t, coll, bytes, registered, (float **)(void *)cost, channels);
    *algo = *proto = -1;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++)
            if (newest ? given[a][p] >= 0 && cost[a][p] <= best : cost[a][p] >= 0 && cost[a][p] < best) {
                best = cost[a][p];
                *algo = a;
                *proto = p;
            }
    return rc != SUCCESS ? rc : *algo < 0 ? INTERNAL_ERROR : SUCCESS;
}

int tuner_ask_chunk(const struct tuner_double *t, int coll, size_t slice_bytes, int algo, int proto,
                    size_t *chunk_bytes)
{
    const struct v6 *v = t->symbol;
    return t->version >= 6 && v->chunk ? v->chunk(t->context, coll, slice_bytes, algo, proto, 1, chunk_bytes) : SUCCESS;
}
