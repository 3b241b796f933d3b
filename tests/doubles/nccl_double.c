/* A double of libnccl.so.2 (and of librccl.so.1, whose interface is the same): ranks meet over sockets, data really
 * moves and is reduced in host memory, the tuner plugin is asked as NCCL asks it, and a call takes the time that a law
 * gives it on the driver double's clock.
 *
 *   NCCL_DOUBLE_LAW        the law's file (nccl_law.h); without one every call is offered Ring and Tree, Simple and LL
 *   NCCL_DOUBLE_VERSION    what ncclGetVersion says (default 23007)
 *   NCCL_DOUBLE_FAULT      what goes wrong (nccl_fault.h)
 *   NCCL_DEBUG, NCCL_HOSTID, NCCL_SOCKET_IFNAME, NCCL_IB_HCA, NCCL_TUNER_PLUGIN as NCCL reads them
 *
 * Ranks that disagree about a call hang, as the kernels of the real one would. A call that repeats an earlier one whose
 * memory nobody has written since moves no data again, and one like the call before it does not wait for the others.
 * Compiles with -DREAL_HEADER against an installed <nccl.h>. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/nccl_driver.h"
#include "tests/doubles/nccl_fault.h"
#include "tests/doubles/nccl_law.h"
#include "tests/doubles/nccl_move.h"
#include "tests/doubles/nccl_tuner.h"

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
};
#endif

#define REMEMBERED 64 /* calls whose result still stands */
#define MAX_PEERS  1024

static const char default_law[] =
    "cell allreduce ring simple latency=25 GBps=100\ncell allreduce tree simple latency=20 "
    "GBps=80\ncell allreduce ring ll latency=9 GBps=20\ncell allreduce tree ll latency=7 "
    "GBps=15\ncell allgather ring simple latency=20 GBps=100\ncell allgather ring ll "
    "latency=8 GBps=20\ncell reducescatter ring simple latency=20 GBps=100\ncell "
    "reducescatter ring ll latency=8 GBps=20\ncell broadcast ring simple latency=15 "
    "GBps=100\ncell reduce ring simple latency=15 GBps=100\ncell alltoall ring simple "
    "latency=30 GBps=50\n";

/* What all ranks must say of a call; compared byte by byte. */
struct header {
    uint64_t count;
    int coll, type, root, algo, proto, channels;
};
struct proposal {
    struct header header;
    int must_move;
};
enum verdict { VERDICT_SKIP, VERDICT_MOVE, VERDICT_HANG };

struct done_call {
    struct header header;
    const void *send;
    void *recv;
};

struct ncclComm {
    struct join join;
    struct law law;
    struct tuner_double tuner;
    int rank, nranks, nnodes, stuck, async;
    uint64_t calls, writes;
    struct header last; /* what the ranks have agreed on last */
    struct done_call done[REMEMBERED];
    int ndone;
};

/* What each rank says of itself at init. */
struct peer_info {
    char host[128];
    int device, version;
};

/* ---- log ------------------------------------------------------------------------------------------------------------
 */

static char last_error[512];

static int debug_level(void)
{
    static const char *const levels[] = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    const char *wanted = getenv("NCCL_DEBUG");
    for (int i = 0; wanted && i < 6; i++)
        if (!strcasecmp(wanted, levels[i]))
            return i;
    return 0;
}

static tuner_log say;
static void say(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
    char host[64], text[512];
    va_list ap;
    (void)flags;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (level == 2)
        snprintf(last_error, sizeof last_error, "%s", text);
    if (level > debug_level())
        return;
    gethostname(host, sizeof host);
    if (level == 2)
        printf("\n%s:%d:%d [0] %s:%d NCCL WARN %s\n", host, getpid(), getpid(), file, line, text);
    else
        printf("%s:%d:%d [0] NCCL INFO %s\n", host, getpid(), getpid(), text);
    fflush(stdout);
}
#define WARN(...) say(2, ~0UL, __FILE__, __LINE__, __VA_ARGS__)
#define INFO(...) say(3, ~0UL, __FILE__, __LINE__, __VA_ARGS__)

/* ---- the driver double ----------------------------------------------------------------------------------------------
 */

static double_stream_work *put_work;
static double_stream_stick *stick;
static double_writes *count_writes;
static double_device *current_device;

static int find_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* whichever the program itself has loaded */
    if (!lib)
        lib = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD);
    if (lib) {
        *(void **)&put_work = dlsym(lib, "double_put_work");
        *(void **)&stick = dlsym(lib, "double_stick");
        *(void **)&count_writes = dlsym(lib, "double_count_writes");
        *(void **)&current_device = dlsym(lib, "double_current_device");
    }
    if (put_work && stick && count_writes && current_device)
        return 0;
    WARN("this is a double: it needs the driver double as libcuda.so.1");
    return -1;
}

/* ---- communicators --------------------------------------------------------------------------------------------------
 */

static int own_version(void)
{
    const char *s = getenv("NCCL_DOUBLE_VERSION");
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

static int exchange_peers(struct ncclComm *c, int device)
{
    struct peer_info mine = {.device = device, .version = own_version()};
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
    free(copy);
out:
    for (int i = 0; got && i < c->nranks; i++)
        free(got[i].data);
    free(got);
    free(same);
    free(all);
    return rc;
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
    if (fault_at_init(rank) || find_driver())
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
    if (nranks > 1 && exchange_peers(c, current_device())) {
        join_leave(&c->join);
        free(c);
        return ncclInvalidUsage;
    }
    int rc = nranks > 1 ? tuner_load(&c->tuner, own_version(), rank, nranks, c->nnodes, say) : 0;
    INFO("Init COMPLETE rank %d nranks %d nNodes %d hcas %s", rank, nranks, c->nnodes, c->law.in_use);
    *comm = c;
    return rc;
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
    *error = c->async;
    return ncclSuccess;
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
                                        "remote process exited or there was a network error"};
    return (unsigned)code < sizeof texts / sizeof *texts ? texts[code] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return last_error;
}

/* ---- one call -------------------------------------------------------------------------------------------------------
 */

static int repeats(struct ncclComm *c, const struct done_call *d)
{
    if (c->writes != count_writes()) {
        c->writes = count_writes();
        c->ndone = 0;
    }
    for (int i = 0; i < c->ndone; i++)
        if (!memcmp(&c->done[i], d, sizeof *d))
            return 1;
    return 0;
}

/* Whether a rank's two buffers overlap: such a call does not give the same result twice. */
static int in_place(const struct move *m, int nranks)
{
    const char *send = m->send, *recv = m->recv;
    return send < recv + move_recv_bytes(m, nranks) && recv < send + move_send_bytes(m, nranks);
}

/* The result of `d` stands until something else is written over it or over what it came from. */
static void remember(struct ncclComm *c, const struct done_call *d)
{
    int kept = 0;
    for (int i = 0; i < c->ndone; i++)
        if (c->done[i].recv != d->recv && c->done[i].send != d->recv)
            c->done[kept++] = c->done[i];
    c->ndone = kept < REMEMBERED ? kept : 0;
    c->done[c->ndone++] = *d;
}

/* Rank 0 compares what all ranks propose and decides for all. -1: a peer is gone. */
static int agree(struct ncclComm *c, const struct header *h, int must_move)
{
    struct proposal mine = {*h, must_move};
    struct join_blob got[MAX_PEERS], answer[MAX_PEERS];
    int verdict = VERDICT_SKIP;
    if (c->nranks > MAX_PEERS || join_gather(&c->join, &mine, sizeof mine, got))
        return -1;
    for (int r = 0; !c->rank && r < c->nranks; r++) {
        const struct proposal *p = got[r].data;
        if (memcmp(&p->header, h, sizeof *h) != 0)
            verdict = VERDICT_HANG;
        else if (p->must_move && verdict == VERDICT_SKIP)
            verdict = VERDICT_MOVE;
        free(got[r].data);
        answer[r] = (struct join_blob){&verdict, sizeof verdict};
    }
    int mine_too = verdict;
    return join_scatter(&c->join, answer, &mine_too, sizeof mine_too) ? -1 : mine_too;
}

static ncclResult_t lost_peer(struct ncclComm *c, void *stream)
{
    WARN("socketProgress: Connection closed by remote peer, rank %d", c->rank);
    c->async = ncclRemoteError;
    c->stuck = 1;
    stick(stream);
    return ncclSuccess;
}

/* Faults before the data moves: 1 when the call ends here with *rc. */
static int misbehave(struct ncclComm *c, enum fault_kind kind, void *stream, ncclResult_t *rc)
{
    *rc = ncclSuccess;
    switch (kind) {
    case FAULT_CRASH:
        abort();
    case FAULT_ERROR:
        WARN("NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129");
        *rc = ncclSystemError;
        return 1;
    case FAULT_ASYNC_ERROR:
        WARN("NET/IB : Got async event : port error");
        c->async = ncclSystemError;
        break;
    case FAULT_HANG:
        break;
    default:
        return 0;
    }
    c->stuck = 1;
    stick(stream);
    return 1;
}

/* Everything behind the choice of algorithm and protocol: agreement, data, time. */
static ncclResult_t perform(struct ncclComm *c, const struct move *m, const struct header *h, uint64_t chunk,
                            uint64_t bytes, void *stream)
{
    double factor = 1;
    ncclResult_t rc;
    struct done_call d = {*h, m->send, m->recv};
    struct fault_call f = {c->rank, h->coll, h->algo, h->proto, bytes, c->calls++};
    enum fault_kind kind = fault_of(&f, &factor);
    if (misbehave(c, kind, stream, &rc))
        return rc;
    int again = repeats(c, &d);
    int verdict = again && !memcmp(&c->last, h, sizeof *h) ? VERDICT_SKIP : agree(c, h, !again);
    c->last = *h;
    if (verdict < 0)
        return lost_peer(c, stream);
    if (verdict == VERDICT_HANG) {
        c->stuck = 1;
        stick(stream);
        return ncclSuccess;
    }
    if (verdict == VERDICT_MOVE) {
        if (move_data(&c->join, m))
            return lost_peer(c, stream);
        if (!in_place(m, c->nranks))
            remember(c, &d);
    }
    if (kind == FAULT_WRONG)
        ((unsigned char *)m->recv)[move_recv_bytes(m, c->nranks) / 2] ^= 0x5a;
    put_work(stream, factor * law_noise(&c->law, c->calls) *
                         law_time_us(&c->law, h->coll, h->algo, h->proto, h->channels, chunk, bytes));
    return ncclSuccess;
}

static ncclResult_t run(struct ncclComm *c, const struct move *m, void *stream)
{
    static const char *const names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AlltoAll"};
    size_t send = move_send_bytes(m, c->nranks), recv = move_recv_bytes(m, c->nranks);
    size_t bytes = send > recv ? send : recv, chunk = (size_t)512 << 10;
    struct header h = {m->count, m->coll, m->type, m->root, 1, 2, 0};
    if (!move_type_bytes(m->type) || m->root < 0 || m->root >= c->nranks)
        return ncclInvalidArgument;
    if (c->stuck)
        return ncclSuccess;
    if (c->nranks == 1) {
        if (m->recv != m->send)
            memcpy(m->recv, m->send, recv);
        put_work(stream, 5);
        return ncclSuccess;
    }
    if (m->coll != LAW_ALLTOALL) {
        float cost[ALGO_COUNT][PROTO_COUNT];
        for (int a = 0; a < ALGO_COUNT; a++)
            for (int p = 0; p < PROTO_COUNT; p++)
                cost[a][p] = (float)law_predict_us(&c->law, m->coll, a, p, bytes);
        int rc = tuner_ask(&c->tuner, m->coll, bytes, cost, &h.algo, &h.proto, &h.channels);
        if (rc) {
            WARN("No algorithm/protocol available for function %s", names[m->coll]);
            return rc;
        }
    }
    h.channels = h.channels <= 0 ? law_channels(&c->law, bytes) : h.channels;
    h.channels = h.channels > c->law.channels ? c->law.channels : h.channels;
    int rc = tuner_ask_chunk(&c->tuner, m->coll, bytes / (size_t)h.channels, h.algo, h.proto, &chunk);
    INFO("%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", names[m->coll], bytes, algo_name(h.algo),
         proto_name(h.proto), h.channels - 1);
    return rc ? rc : perform(c, m, &h, chunk, bytes, stream);
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument : run(c, &(struct move){COLL_ALLREDUCE, type, 0, count, send, recv}, stream);
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument : run(c, &(struct move){COLL_REDUCE, type, root, count, send, recv}, stream);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t c,
                           cudaStream_t stream)
{
    return run(c, &(struct move){COLL_BROADCAST, type, root, count, send, recv}, stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t c,
                           cudaStream_t stream)
{
    return run(c, &(struct move){COLL_ALLGATHER, type, 0, count, send, recv}, stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t c, cudaStream_t stream)
{
    return op ? ncclInvalidArgument : run(c, &(struct move){COLL_REDUCESCATTER, type, 0, count, send, recv}, stream);
}

/* ---- send and receive: a group of them must be an all-to-all of equal parts
 * ------------------------------------------ */

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
        rc = run(group.comm, &group.move, group.stream);
    else
        rc = ncclInvalidUsage;
    memset(&group, 0, sizeof group);
    return rc;
}
