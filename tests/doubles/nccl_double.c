/* A double of libnccl.so.2 (and of librccl.so.1, whose interface is the same): ranks meet over sockets, data really
 * moves and is reduced in host memory, the tuner plugin is asked as NCCL asks it, and a call takes the time that a law
 * gives it on the driver double's clock.
 *
 *   NCCL_DOUBLE_LAW        the law's file (nccl_law.h); without one every call is offered Ring and Tree, Simple and LL
 *   NCCL_DOUBLE_VERSION    what ncclGetVersion says (default 23007)
 *   NCCL_DOUBLE_OTHER      HOST=VERSION: what it says on that host
 *   NCCL_DOUBLE_FAULT      what goes wrong (nccl_fault.h)
 *   NCCL_COMM_BLOCKING=0   calls that have to set something up say ncclInProgress, and the communicator for some looks
 *   NCCL_DEBUG, NCCL_HOSTID, NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_TUNER_PLUGIN as NCCL reads them, and so its files:
 *   NCCL_CONF_FILE or ~/.nccl.conf, /etc/nccl.conf
 *
 * Ranks that disagree about a call hang, as the kernels of the real one would. A call that repeats an earlier one whose
 * memory nobody has written since moves no data again, and one like the call before it does not wait for the others.
 * Compiles with -DREAL_HEADER against an installed <nccl.h>. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/doubles/nccl_comm.h"

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
typedef void ncclSimInfo_t;
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

/* ---- communicators ---- */

ncclResult_t ncclGetVersion(int *version)
{
    *version = comm_version();
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

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank)
{
    struct join_id j;
    *comm = NULL;
    if (nranks < 1 || rank < 0 || rank >= nranks)
        return ncclInvalidArgument;
    memcpy(&j, id.internal, sizeof j);
    return comm_create(comm, &(struct comm_place){.id = j, .rank = rank, .nranks = nranks, .world_rank = rank});
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config)
{
    (void)config;
    return ncclCommInitRank(comm, nranks, id, rank);
}

ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key, ncclComm_t *comm, ncclConfig_t *config)
{
    (void)config;
    *comm = NULL;
    return parent ? comm_split(parent, color, key, comm) : ncclInvalidArgument;
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

/* ---- send and receive: a group of them must be an all-to-all in which every rank sends any one the same, from and to
 * buffers in the ranks' order, or a shift around the ring ---- */

static struct {
    int depth, sends, recvs, to, from;
    struct ncclComm *comm;
    struct move move;
    void *stream;
    const char *out[MOVE_RANKS];
    char *in[MOVE_RANKS];
} group;

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument
              : comm_run(c, &(struct move){COLL_ALLREDUCE, type, 0, count, send, recv}, stream, group.depth);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument
              : comm_run(c, &(struct move){COLL_REDUCE, type, root, count, send, recv}, stream, group.depth);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream)
{
    return comm_run(c, &(struct move){COLL_BROADCAST, type, root, count, send, recv}, stream, group.depth);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream)
{
    return comm_run(c, &(struct move){COLL_ALLGATHER, type, 0, count, send, recv}, stream, group.depth);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument
              : comm_run(c, &(struct move){COLL_REDUCESCATTER, type, 0, count, send, recv}, stream, group.depth);
}

ncclResult_t ncclGroupStart(void)
{
    group.depth++;
    return ncclSuccess;
}

ncclResult_t ncclSend(const void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t c,
                      cudaStream_t stream)
{
    if (!group.depth || peer < 0 || peer >= MOVE_RANKS)
        return ncclInvalidUsage;
    group.comm = c;
    group.stream = stream;
    group.move.type = type;
    group.move.shares[peer] = count;
    group.out[peer] = buffer;
    group.to = peer;
    group.sends++;
    return ncclSuccess;
}

ncclResult_t ncclRecv(void *buffer, size_t count, ncclDataType_t type, int peer, ncclComm_t c, cudaStream_t stream)
{
    (void)c;
    (void)stream;
    if (!group.depth || peer < 0 || peer >= MOVE_RANKS || (group.recvs && count != group.move.own) ||
        (int)type != group.move.type)
        return ncclInvalidUsage;
    group.move.own = count;
    group.in[peer] = buffer;
    group.from = peer;
    group.recvs++;
    return ncclSuccess;
}

static int run_shift(int distance)
{
    group.move.coll = COLL_SENDRECV;
    group.move.root = distance; /* the same on all ranks */
    group.move.count = group.move.own;
    group.move.send = group.out[group.to];
    group.move.recv = group.in[group.from];
    return group.move.shares[group.to] == group.move.own ? comm_run(group.comm, &group.move, group.stream, 0)
                                                         : ncclInvalidUsage;
}

static int run_exchange(int n)
{
    struct move *m = &group.move;
    size_t size = move_type_bytes(m->type), at = 0;
    for (int r = 0; r < n; at += m->shares[r++] * size) {
        if (group.out[r] != group.out[0] + at || group.in[r] != group.in[0] + (size_t)r * m->own * size)
            return ncclInvalidUsage;
        if (m->shares[r] > m->count) {
            m->count = m->shares[r];
            m->root = r;
        }
    }
    m->coll = LAW_ALLTOALL;
    m->send = group.out[0];
    m->recv = group.in[0];
    return m->shares[group.comm->rank] == m->own ? comm_run(group.comm, m, group.stream, 0) : ncclInvalidUsage;
}

static ncclResult_t run_messages(void)
{
    int n = group.comm->nranks, shift = (group.to - group.comm->rank + n) % n, rc;
    if (group.sends == 1 && group.recvs == 1 && (group.comm->rank - group.from + n) % n == shift)
        rc = run_shift(shift);
    else
        rc = group.sends == n && group.recvs == n && n <= MOVE_RANKS ? run_exchange(n) : ncclInvalidUsage;
    memset(&group, 0, sizeof group);
    return rc;
}

/* Asks, and launches nothing. */
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    (void)info;
    if (!group.depth)
        return ncclInvalidUsage;
    return --group.depth ? ncclSuccess : comm_simulate_group();
}

ncclResult_t ncclGroupEnd(void)
{
    if (!group.depth)
        return ncclInvalidUsage;
    if (--group.depth)
        return ncclSuccess;
    ncclResult_t rc = comm_end_group();
    return rc || !group.comm ? rc : run_messages();
}
