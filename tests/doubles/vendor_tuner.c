/* A vendor's tuner: answers by size as region tuners do, forces cells, penalises and forbids others, wants channels and
 * chunks, keeps a context per communicator, and notices what a real one would crash on. Exports every version of the
 * interface; vendor_tuner_vN.so, linked from the same object, exports version N alone. It passes for the network
 * plugin's library, too.
 *
 *   AllReduce below 64 KiB      Tree/LL, 2 channels
 *   AllReduce below 4 MiB       Ring/LL128 where that is available, else Ring/Simple; 8 channels
 *   AllReduce from there on     Tree at four times its cost (versions 1 and 2: nothing)
 *   AllGather                   no LL128 (versions 1 and 2: nothing)
 *   other collectives           nothing
 *   chunks (version 6)          128 KiB for Ring/Simple slices of 64 KiB or more
 *
 * VENDOR_TUNER_FAULT: init (fails), crash, abort (in init), second (the second init fails), call (each call fails),
 * thread, thread-crash (a thread of its own raises SIGSEGV, or crashes, in init), empty (success, and NULL for a
 * context), wild (a cell that is not available made the cheapest). */
#include "tests/doubles/vendor_tuner.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "tuner/plugin/abi.h"

#define MAGIC 0x76656e646f72ULL
#define KIB64 ((size_t)64 << 10)
#define MIB4  ((size_t)4 << 20)

struct context {
    uint64_t magic;
    size_t ranks, nodes;
};

PLUGIN_EXPORT struct vendor_tuner_seen vendor_tuner_seen;
PLUGIN_EXPORT const struct {
    const char *name;
} ncclNetPlugin_v8 = {"vendor network"};
static struct vendor_tuner_seen *const seen = &vendor_tuner_seen;

static int fault(const char *kind)
{
    const char *wanted = getenv("VENDOR_TUNER_FAULT");
    return wanted && !strcmp(wanted, kind);
}

static volatile int *volatile nowhere;

static void crash(void)
{
    *nowhere = 1;
}

static void *raise_elsewhere(void *unused)
{
    if (fault("thread-crash"))
        crash();
    raise(SIGSEGV);
    return unused;
}

/* ---- opening ------------------------------------------------------------------------------------------------------
 */

static int open_context(int api, size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    int nth = atomic_fetch_add(&seen->inits, 1);
    seen->api = api;
    seen->ranks = ranks;
    seen->nodes = nodes;
    if (fault("crash"))
        crash();
    if (fault("abort"))
        abort();
    pthread_t thread;
    if ((fault("thread") || fault("thread-crash")) && !pthread_create(&thread, NULL, raise_elsewhere, NULL))
        pthread_join(thread, NULL);
    if (fault("init") || (fault("second") && nth > 0))
        return 3;
    if (log)
        log(NCCLTUNE_LOG_INFO, NCCLTUNE_SUBSYS_TUNING, __FILE__, __LINE__, "vendor double: %zu ranks, version %d",
            ranks, api);
    if (!context || fault("empty"))
        return 0;
    struct context *c = calloc(1, sizeof *c);
    if (!c)
        return 3;
    *c = (struct context){MAGIC, ranks, nodes};
    *context = c;
    return 0;
}

static int close_context(void *context)
{
    struct context *c = context;
    atomic_fetch_add(&seen->destroys, 1);
    if (c && c->magic != MAGIC)
        atomic_fetch_add(&seen->wrong, 1);
    if (c)
        c->magic = 0;
    free(c);
    return 0;
}

static void note(const void *context, int coll, size_t bytes, int pipe_ops)
{
    const struct context *c = context;
    atomic_fetch_add(&seen->calls, 1);
    if (c && c->magic != MAGIC)
        atomic_fetch_add(&seen->wrong, 1);
    if (getenv("VENDOR_TUNER_QUIET"))
        return;
    seen->coll = coll;
    seen->bytes = bytes;
    seen->pipe_ops = pipe_ops;
}

/* ---- answering ----------------------------------------------------------------------------------------------------
 */

static int costs(const void *context, int coll, size_t bytes, int pipe_ops, float *cost, int algos, int protos,
                 int *channels)
{
    note(context, coll, bytes, pipe_ops);
    if (fault("call"))
        return 3;
    if (fault("wild"))
        cost[(size_t)ALGO_NVLS * (size_t)protos + PROTO_SIMPLE] = 0;
    if (coll == COLL_ALLGATHER)
        for (int a = 0; a < algos; a++)
            cost[(size_t)a * (size_t)protos + PROTO_LL128] = -1;
    if (coll != COLL_ALLREDUCE)
        return 0;
    if (bytes >= MIB4) {
        for (int p = 0; p < protos; p++)
            if (cost[p] >= 0)
                cost[p] *= 4;
        return 0;
    }
    int algo = bytes < KIB64 ? ALGO_TREE : ALGO_RING, proto = bytes < KIB64 ? PROTO_LL : PROTO_LL128;
    if (cost[algo * protos + proto] < 0)
        proto = PROTO_SIMPLE;
    if (cost[algo * protos + proto] >= 0)
        cost[algo * protos + proto] = 0;
    *channels = bytes < KIB64 ? 2 : 8;
    return 0;
}

static int names(const void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo,
                 int *proto, int *channels)
{
    note(context, coll, bytes, pipe_ops);
    seen->collnet = collnet;
    seen->nvls = nvls;
    if (fault("call"))
        return 3;
    if (coll != COLL_ALLREDUCE || bytes >= MIB4)
        return 0;
    *algo = bytes < KIB64 ? ALGO_TREE : ALGO_RING;
    *proto = bytes < KIB64 ? PROTO_LL : PROTO_SIMPLE;
    *channels = bytes < KIB64 ? 2 : 8;
    return 0;
}

/* ---- interfaces ---------------------------------------------------------------------------------------------------
 */

static int init_v1(size_t ranks, size_t nodes, nccl_logger log)
{
    return open_context(1, ranks, nodes, log, NULL);
}

static int info_v1(int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto, int *channels)
{
    return names(NULL, coll, bytes, collnet, nvls, pipe_ops, algo, proto, channels);
}

static int destroy_v1(void)
{
    return close_context(NULL);
}

static int init_v2(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(2, ranks, nodes, log, context);
}

static int info_v2(void *context, int coll, size_t bytes, int collnet, int nvls, int pipe_ops, int *algo, int *proto,
                   int *channels)
{
    return names(context, coll, bytes, collnet, nvls, pipe_ops, algo, proto, channels);
}

static int init_v3(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(3, ranks, nodes, log, context);
}

static int info_v3(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos, int protos,
                   int *channels)
{
    return costs(context, coll, bytes, pipe_ops, (float *)cost, algos, protos, channels);
}

static int init_v4(size_t ranks, size_t nodes, nccl_logger log, void **context)
{
    return open_context(4, ranks, nodes, log, context);
}

static int info_v4(void *context, int coll, size_t bytes, int pipe_ops, float **cost, int algos, int protos,
                   int reg_buff, int *channels)
{
    if (!getenv("VENDOR_TUNER_QUIET"))
        seen->reg_buff = reg_buff;
    return costs(context, coll, bytes, pipe_ops, (float *)cost, algos, protos, channels);
}

/* A tuner may read what it is handed: domains and constants are never absent. */
static int open_new(int api, void **context, uint64_t comm, size_t ranks, size_t nodes, nccl_logger log,
                    const struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    seen->comm = comm;
    seen->domains = domains->domains;
    seen->min_ranks = domains->min_ranks;
    seen->max_ranks = domains->max_ranks;
    double *first = (double *)constants, *last = first + VENDOR_TUNER_LAST(api);
    seen->constants = *first;
    seen->last = *last;
    *first = 42;
    *last = 43;
    return open_context(api, ranks, nodes, log, context);
}

static int init_v5(void **context, uint64_t comm, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    return open_new(5, context, comm, ranks, nodes, log, domains, constants);
}

static int init_v6(void **context, uint64_t comm, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    return open_new(6, context, comm, ranks, nodes, log, domains, constants);
}

static int init_v7(void **context, uint64_t comm, size_t ranks, size_t nodes, nccl_logger log,
                   struct nccl_nvl_domains *domains, struct nccl_constants *constants)
{
    return open_new(7, context, comm, ranks, nodes, log, domains, constants);
}

static int chunk_v6(void *context, int coll, size_t bytes, int algo, int proto, int channels, size_t *chunk)
{
    (void)coll, (void)channels;
    const struct context *c = context;
    if (c && c->magic != MAGIC)
        atomic_fetch_add(&seen->wrong, 1);
    if (algo == ALGO_RING && proto == PROTO_SIMPLE && bytes >= KIB64)
        *chunk = (size_t)128 << 10;
    return 0;
}

#define NAME "vendor double"
PLUGIN_EXPORT const struct nccl_tuner_v1 ncclTunerPlugin_v1 = {NAME, init_v1, info_v1, destroy_v1};
PLUGIN_EXPORT const struct nccl_tuner_v2 ncclTunerPlugin_v2 = {NAME, init_v2, info_v2, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v3 ncclTunerPlugin_v3 = {NAME, init_v3, info_v3, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v4 ncclTunerPlugin_v4 = {NAME, init_v4, info_v4, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v5 ncclTunerPlugin_v5 = {NAME, init_v5, info_v4, close_context};
PLUGIN_EXPORT const struct nccl_tuner_v6 ncclTunerPlugin_v6 = {NAME, init_v6, info_v4, close_context, chunk_v6};
PLUGIN_EXPORT const struct nccl_tuner_v6 ncclTunerPlugin_v7 = {NAME, init_v7, info_v4, close_context, chunk_v6};
