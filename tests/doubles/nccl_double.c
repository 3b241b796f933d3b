/* A double of libnccl.so.2 (and of librccl.so.1, whose interface is the same): ranks meet over sockets, data really
 * moves and is reduced in host memory, the tuner plugin is asked as NCCL asks it, and a call takes the time that a law
 * gives it on the driver double's clock.
 *
 *   NCCL_DOUBLE_LAW        the law's file (nccl_law.h); without one every call is offered Ring and Tree, Simple and LL
 *   NCCL_DOUBLE_VERSION    what ncclGetVersion says (default 23007)
 *   NCCL_DOUBLE_OTHER      HOST=VERSION: what it says on that host
 *   NCCL_DOUBLE_FAULT      what goes wrong (nccl_fault.h)
 *   NCCL_COMM_BLOCKING=0   calls that have to set something up say ncclInProgress, and the communicator for some looks
 *   NCCL_DEBUG, NCCL_HOSTID, NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_TUNER_PLUGIN as NCCL reads them
 *
 * Ranks that disagree about a call hang, as the kernels of the real one would. A call that repeats an earlier one whose
 * memory nobody has written since moves no data again, and one like the call before it does not wait for the others.
 * Compiles with -DREAL_HEADER against an installed <nccl.h>. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/nccl_comm.h"
#include "tests/doubles/nccl_fault.h"

#ifdef REAL_HEADER
#include <nccl.h>
#else
typedef struct ncclComm *ncclComm_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;
typedef void *cudaStream_t;
typedef struct ncclConfig ncclConfig_t;
enum {
    ncclSuccess,
    ncclUnhandledCudaError,
    ncclSystemError,
    ncclInternalError,
    ncclInvalidArgument,
    ncclInvalidUsage,
    ncclRemoteError,
    ncclInProgress,
};
#endif

static const char default_law[] =
    "cell allreduce ring simple latency=25 GBps=100\ncell allreduce tree simple latency=20 "
    "GBps=80\ncell allreduce ring ll latency=9 GBps=20\ncell allreduce tree ll latency=7 "
    "GBps=15\ncell allgather ring simple latency=20 GBps=100\ncell allgather ring ll "
    "latency=8 GBps=20\ncell reducescatter ring simple latency=20 GBps=100\ncell "
    "reducescatter ring ll latency=8 GBps=20\ncell broadcast ring simple latency=15 "
    "GBps=100\ncell reduce ring simple latency=15 GBps=100\ncell alltoall ring simple "
    "latency=30 GBps=50\n";

/* What each rank says of itself at init. */
struct peer_info {
    char host[128];
    int device, version;
    double factor; /* of its GPU */
};

/* ---- communicators ---- */

static int own_version(void)
{
    const char *s = getenv("NCCL_DOUBLE_VERSION"), *other = getenv("NCCL_DOUBLE_OTHER");
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    size_t n = other ? strcspn(other, "=") : 0;
    if (n && other[n] && !strncmp(other, host, n) && !host[n])
        s = other + n + 1;
    return s ? (int)strtol(s, NULL, 10) : 23007;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = own_version();
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    struct join_id j;
    memset(id, 0, sizeof *id);
    if (join_listen(&j)) {
        WARN("Bootstrap : no socket interface found");
        return ncclSystemError;
    }
    memcpy(id->internal, &j, sizeof j);
    return ncclSuccess;
}

/* Whether all ranks may work together, and on how many nodes they are. */
static int compare_peers(const struct peer_info *all, int nranks, int rank, int *nnodes)
{
    *nnodes = 0;
    for (int i = 0; i < nranks; i++) {
        int first = 1;
        for (int k = 0; k < i; k++) {
            first &= strcmp(all[k].host, all[i].host) != 0;
            if (!strcmp(all[k].host, all[i].host) && all[k].device == all[i].device) {
                WARN("Duplicate GPU detected : rank %d and rank %d both on CUDA device %d", k, i, all[i].device);
                return -1;
            }
        }
        *nnodes += first;
        if (all[i].version != all[rank].version) {
            WARN("Mismatched NCCL version detected : rank %d version %d rank %d version %d", i, all[i].version, rank,
                 all[rank].version);
            return -1;
        }
    }
    return 0;
}

static int exchange_peers(struct ncclComm *c, int device, uint64_t hash)
{
    struct peer_info mine = {
        .device = device, .version = own_version(), .factor = c->law.gpus[device % LAW_GPUS].factor};
    struct peer_info *all = calloc((size_t)c->nranks, sizeof *all);
    struct join_blob *got = calloc((size_t)c->nranks, sizeof *got), *same = calloc((size_t)c->nranks, sizeof *same);
    const char *host = getenv("NCCL_HOSTID");
    int rc = -1;
    if (host)
        snprintf(mine.host, sizeof mine.host, "%s", host);
    else
        gethostname(mine.host, sizeof mine.host);
    if (!all || !got || !same || join_gather(&c->join, &mine, sizeof mine, got))
        goto out;
    for (int i = 0; !c->rank && i < c->nranks; i++) {
        memcpy(&all[i], got[i].data, sizeof *all);
        same[i] = (struct join_blob){all, (size_t)c->nranks * sizeof *all};
    }
    struct peer_info *copy = calloc((size_t)c->nranks, sizeof *copy);
    if (copy && !join_scatter(&c->join, same, copy, (size_t)c->nranks * sizeof *copy))
        rc = compare_peers(copy, c->nranks, c->rank, &c->nnodes);
    for (int i = 0; !rc && i < c->nranks; i++) /* all go as fast as the slowest */
        c->factor = fmax(c->factor, copy[i].factor);
    c->factor *= law_session(&c->law, hash);
    free(copy);
out:
    for (int i = 0; got && i < c->nranks; i++)
        free(got[i].data);
    free(got);
    free(same);
    free(all);
    return rc;
}

static uint64_t hash_of(const struct join_id *j)
{
    return (uint64_t)j->address.sin_port * 2654435761u;
}

static void hang(void)
{
    for (;;)
        pause();
}

static int fault_at_init(int rank)
{
    double factor = 1;
    enum fault_kind kind = fault_of(&(struct fault_call){.rank = rank, .coll = -1, .algo = -1, .proto = -1}, &factor);
    if (kind == FAULT_ERROR_INIT)
        WARN("NET/IB : no device found for the HCAs in NCCL_IB_HCA");
    if (kind == FAULT_HANG_INIT)
        hang();
    return kind == FAULT_ERROR_INIT;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    struct join_id j;
    char why[256];
    const char *law = getenv("NCCL_DOUBLE_LAW");
    *comm = NULL;
    if (nranks < 1 || rank < 0 || rank >= nranks)
        return ncclInvalidArgument;
    if (fault_at_init(rank) || comm_find_driver())
        return ncclSystemError;
    struct ncclComm *c = calloc(1, sizeof *c);
    memcpy(&j, id.internal, sizeof j);
    c->rank = rank;
    c->nranks = nranks;
    if (law ? law_load(&c->law, law, why) : law_parse(&c->law, default_law, "default law", why)) {
        WARN("%s", why);
        free(c);
        return ncclSystemError;
    }
    if (nranks > 1 && join_meet(&c->join, &j, rank, nranks)) {
        WARN("socketStartConnect: Connect failed : rank %d", rank);
        free(c);
        return ncclSystemError;
    }
    c->nnodes = 1;
    c->factor = 1;
    if (c->law.init_s > 0)
        usleep((useconds_t)(1e6 * c->law.init_s * nranks));
    if (nranks > 1 && (exchange_peers(c, comm_driver.current_device(), hash_of(&j)) || comm_meet(c))) {
        join_leave(&c->join);
        free(c);
        return ncclInvalidUsage;
    }
    int rc = nranks > 1 ? tuner_load(&c->tuner, own_version(), rank, nranks, c->nnodes, comm_say) : 0;
    if (!c->tuner.version && c->law.untuned > 0)
        c->factor *= c->law.untuned;
    const char *blocking = getenv("NCCL_COMM_BLOCKING");
    c->nonblocking = blocking && !strcmp(blocking, "0");
    c->busy = c->nonblocking ? 4 : 0;
    c->profiler = nranks > 1 ? profiler_attach(rank, nranks, c->nnodes, comm_say) : NULL;
    INFO("Init COMPLETE rank %d nranks %d nNodes %d hcas %s", rank, nranks, c->nnodes, c->law.in_use);
    *comm = c;
    return rc == SUCCESS && c->busy ? IN_PROGRESS : rc;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    (void)config;
    return ncclCommInitRank(comm, nranks, id, rank);
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    if (c) {
        tuner_unload(&c->tuner);
        profiler_detach(c->profiler);
        join_leave(&c->join);
        free(c);
    }
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    return ncclCommDestroy(c);
}

ncclResult_t ncclCommFinalize(ncclComm_t c)
{
    return c ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error)
{
    c->busy -= c->busy > 0;
    *error = c->busy ? ncclInProgress : c->async;
    return ncclSuccess;
}

/* ---- memory ---- */

ncclResult_t ncclMemAlloc(void **memory, size_t bytes)
{
    return comm_driver.alloc(memory, bytes) ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t ncclMemFree(void *memory)
{
    return comm_driver.release(memory) ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t ncclCommRegister(const ncclComm_t c, void *start, size_t bytes, void **handle)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (!c->registered[i].start) {
            c->registered[i].start = start;
            c->registered[i].bytes = bytes;
            *handle = &c->registered[i];
            return ncclSuccess;
        }
    return ncclInvalidUsage;
}

ncclResult_t ncclCommDeregister(const ncclComm_t c, void *handle)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if (handle == &c->registered[i]) {
            memset(handle, 0, sizeof c->registered[i]);
            return ncclSuccess;
        }
    return ncclInvalidArgument;
}

ncclResult_t ncclCommCount(const ncclComm_t c, int *count)
{
    *count = c->nranks;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t c, int *rank)
{
    *rank = c->rank;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t code)
{
    static const char *const texts[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error",
                                        "NCCL operation in progress"};
    return (unsigned)code < sizeof texts / sizeof *texts ? texts[code] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return comm_last_error;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument : comm_run(c, &(struct move){COLL_ALLREDUCE, type, 0, count, send, recv}, stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument : comm_run(c, &(struct move){COLL_REDUCE, type, root, count, send, recv}, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream)
{
    return comm_run(c, &(struct move){COLL_BROADCAST, type, root, count, send, recv}, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream)
{
    return comm_run(c, &(struct move){COLL_ALLGATHER, type, 0, count, send, recv}, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument
              : comm_run(c, &(struct move){COLL_REDUCESCATTER, type, 0, count, send, recv}, stream);
}

/* ---- send and receive: a group of them must be an all-to-all of equal parts ---- */

static struct {
    int depth, sends, recvs;
    struct ncclComm *comm;
    struct move move;
    void *stream;
} group;

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                      cudaStream_t stream)
{
    if (!group.depth)
        return ncclInvalidUsage;
    group.comm = c;
    group.stream = stream;
    group.move.coll = LAW_ALLTOALL;
    group.move.type = type;
    group.move.count = count;
    if (peer == 0)
        group.move.send = buffer;
    group.sends++;
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
    (void)c;
    (void)stream;
    if (!group.depth || count != group.move.count || (int)type != group.move.type)
        return ncclInvalidUsage;
    if (peer == 0)
        group.move.recv = buffer;
    group.recvs++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t rc = ncclSuccess;
    if (!group.depth)
        return ncclInvalidUsage;
    if (--group.depth || !group.comm)
        return rc;
    if (group.sends == group.comm->nranks && group.recvs == group.comm->nranks)
        rc = comm_run(group.comm, &group.move, group.stream);
    else
        rc = ncclInvalidUsage;
    memset(&group, 0, sizeof group);
    return rc;
}
