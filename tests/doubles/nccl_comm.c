/* One call of the NCCL double, and what it needs: the log and the driver double. */
#include "tests/doubles/nccl_comm.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/doubles/nccl_fault.h"

#define MAX_PEERS 1024

struct proposal {
    struct header header;
    int must_move;
};
enum verdict { VERDICT_SKIP, VERDICT_MOVE, VERDICT_HANG };

/* ---- log ---- */

char comm_last_error[512];

static int debug_level(void)
{
    static const char *const levels[] = {"NONE", "VERSION", "WARN", "INFO", "ABORT", "TRACE"};
    const char *wanted = getenv("NCCL_DEBUG");
    for (int i = 0; wanted && i < 6; i++)
        if (!strcasecmp(wanted, levels[i]))
            return i;
    return 0;
}

void comm_say(int level, unsigned long flags, const char *file, int line, const char *fmt, ...)
{
    char host[64], text[512];
    va_list ap;
    (void)flags;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (level == 2)
        snprintf(comm_last_error, sizeof comm_last_error, "%s", text);
    if (level > debug_level())
        return;
    gethostname(host, sizeof host);
    if (level == 2)
        printf("\n%s:%d:%d [0] %s:%d NCCL WARN %s\n", host, getpid(), getpid(), file, line, text);
    else
        printf("%s:%d:%d [0] NCCL INFO %s\n", host, getpid(), getpid(), text);
    fflush(stdout);
}

/* ---- the driver double ---- */

struct comm_driver comm_driver;

int comm_find_driver(void)
{
    struct comm_driver *d = &comm_driver;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD); /* whichever the program itself has loaded */
    if (!lib)
        lib = dlopen("libamdhip64.so", RTLD_NOW | RTLD_NOLOAD);
    if (lib) {
        *(void **)&d->put_work = dlsym(lib, "double_put_work");
        *(void **)&d->stick = dlsym(lib, "double_stick");
        *(void **)&d->record = dlsym(lib, "double_record");
        *(void **)&d->count_writes = dlsym(lib, "double_count_writes");
        *(void **)&d->current_device = dlsym(lib, "double_current_device");
    }
    if (d->put_work && d->stick && d->record && d->count_writes && d->current_device)
        return 0;
    WARN("this is a double: it needs the driver double as libcuda.so.1");
    return -1;
}

/* ---- one call ---- */

static int repeats(struct ncclComm *c, const struct done_call *d)
{
    if (c->writes != comm_driver.count_writes()) {
        c->writes = comm_driver.count_writes();
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

static int lost_peer(struct ncclComm *c, void *stream)
{
    WARN("socketProgress: Connection closed by remote peer, rank %d", c->rank);
    c->async = REMOTE_ERROR;
    c->stuck = 1;
    comm_driver.stick(stream);
    return SUCCESS;
}

/* Faults before the data moves: 1 when the call ends here with *rc. */
static int misbehave(struct ncclComm *c, enum fault_kind kind, void *stream, int *rc)
{
    *rc = SUCCESS;
    switch (kind) {
    case FAULT_CRASH:
        abort();
    case FAULT_ERROR:
        WARN("NET/IB : Got completion with error 12, opcode 0, len 0, vendor err 129");
        *rc = SYSTEM_ERROR;
        return 1;
    case FAULT_ASYNC_ERROR:
        WARN("NET/IB : Got async event : port error");
        c->async = SYSTEM_ERROR;
        break;
    case FAULT_HANG:
        break;
    default:
        return 0;
    }
    c->stuck = 1;
    comm_driver.stick(stream);
    return 1;
}

/* A call whose algorithm and protocol are chosen. */
struct chosen {
    struct ncclComm *comm;
    struct move move;
    struct header header;
    uint64_t chunk, bytes;
    double launch_us;
};

/* Everything behind the choice: agreement, data, time. */
static int perform(const struct chosen *x, void *stream)
{
    struct ncclComm *c = x->comm;
    const struct move *m = &x->move;
    const struct header *h = &x->header;
    uint64_t bytes = x->bytes;
    double factor = 1;
    int rc;
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
        comm_driver.stick(stream);
        return SUCCESS;
    }
    if (verdict == VERDICT_MOVE) {
        if (move_data(&c->join, m))
            return lost_peer(c, stream);
        if (!in_place(m, c->nranks))
            remember(c, &d);
    }
    if (kind == FAULT_WRONG)
        ((unsigned char *)m->recv)[move_recv_bytes(m, c->nranks) / 2] ^= 0x5a;
    double us = factor * law_noise(&c->law, c->calls) *
                law_time_us(&c->law, h->coll, h->algo, h->proto, h->channels, x->chunk, bytes);
    us += x->launch_us;
    comm_driver.put_work(stream, us);
    profiler_tell(c->profiler, h->coll, m->count, m->type, h->algo, h->proto, h->channels, us);
    return SUCCESS;
}

static void perform_from_graph(void *stream, const void *work)
{
    struct chosen x = *(const struct chosen *)work;
    x.launch_us = 0;
    perform(&x, stream); /* what goes wrong the communicator remembers */
}

static void offer(const struct ncclComm *c, int coll, uint64_t bytes, float cost[ALGO_COUNT][PROTO_COUNT])
{
    double unused;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            struct fault_call f = {c->rank, coll, a, p, bytes, c->calls};
            int withheld = fault_of(&f, &unused) == FAULT_WITHHOLD;
            cost[a][p] = withheld ? -1 : (float)law_predict_us(&c->law, coll, a, p, bytes);
        }
}

int comm_run(struct ncclComm *c, const struct move *m, void *stream)
{
    static const char *const names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AlltoAll"};
    size_t send = move_send_bytes(m, c->nranks), recv = move_recv_bytes(m, c->nranks);
    size_t bytes = send > recv ? send : recv, chunk = (size_t)512 << 10;
    struct header h = {m->count, m->coll, m->type, m->root, 1, 2, 0};
    if (!move_type_bytes(m->type) || m->root < 0 || m->root >= c->nranks)
        return INVALID_ARGUMENT;
    if (c->stuck)
        return SUCCESS;
    if (c->nranks == 1) {
        if (m->recv != m->send)
            memcpy(m->recv, m->send, recv);
        comm_driver.put_work(stream, 5);
        return SUCCESS;
    }
    if (m->coll != LAW_ALLTOALL) {
        float cost[ALGO_COUNT][PROTO_COUNT];
        offer(c, m->coll, bytes, cost);
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
    struct chosen x = {c, *m, h, chunk, bytes, c->law.launch_us};
    if (rc || comm_driver.record(stream, perform_from_graph, &x, sizeof x))
        return rc;
    return perform(&x, stream);
}
