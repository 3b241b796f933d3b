/* One call of the NCCL double, and what it needs: the log and the driver double. */
#include "tests/doubles/nccl_comm.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tests/doubles/nccl_fault.h"

#define MAX_PEERS 1024
#define BFLOAT16  9 /* ncclDataType_t */

struct proposal {
    struct header header;
    int must_move;
    double arrival_us, host_us;
};
struct agreement {
    int verdict;
    double latest_us, host_us; /* the latest arrival and host */
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
    const struct {
        const char *name;
        void **to;
    } functions[] = {
        {"double_spend", (void **)&d->spend},
        {"double_host_us", (void **)&d->host_us},
        {"double_set_host", (void **)&d->set_host},
        {"double_arrive", (void **)&d->arrive},
        {"double_finish", (void **)&d->finish},
        {"double_captured", (void **)&d->captured},
        {"double_stick", (void **)&d->stick},
        {"double_record", (void **)&d->record},
        {"double_beside", (void **)&d->beside},
        {"double_slow", (void **)&d->slow},
        {"double_count_writes", (void **)&d->count_writes},
        {"double_count_waits", (void **)&d->count_waits},
        {"double_current_device", (void **)&d->current_device},
        {"gpu_alloc", (void **)&d->alloc},
        {"gpu_free", (void **)&d->release},
    };
    int missing = !lib;
    for (size_t i = 0; lib && i < sizeof functions / sizeof *functions; i++) {
        *functions[i].to = dlsym(lib, functions[i].name);
        missing |= !*functions[i].to;
    }
    if (!missing)
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
static int agree(struct ncclComm *c, const struct header *h, int must_move, double arrival_us, struct agreement *all)
{
    struct proposal mine = {*h, must_move, arrival_us, comm_driver.host_us()};
    struct join_blob got[MAX_PEERS], answer[MAX_PEERS];
    *all = (struct agreement){VERDICT_SKIP, 0, 0};
    if (c->nranks > MAX_PEERS || join_gather(&c->join, &mine, sizeof mine, got))
        return -1;
    for (int r = 0; !c->rank && r < c->nranks; r++) {
        const struct proposal *p = got[r].data;
        if (memcmp(&p->header, h, sizeof *h) != 0)
            all->verdict = VERDICT_HANG;
        else if (p->must_move && all->verdict == VERDICT_SKIP)
            all->verdict = VERDICT_MOVE;
        all->latest_us = fmax(all->latest_us, p->arrival_us);
        all->host_us = fmax(all->host_us, p->host_us);
        free(got[r].data);
        answer[r] = (struct join_blob){all, sizeof *all};
    }
    struct agreement copy = *all;
    int rc = join_scatter(&c->join, answer, &copy, sizeof copy);
    *all = copy;
    return rc;
}

int comm_meet(struct ncclComm *c)
{
    static const struct header none;
    struct agreement all;
    int rc = agree(c, &none, 0, 0, &all);
    if (!rc)
        comm_driver.set_host(all.host_us);
    return rc;
}

/* ---- time ---- */

/* Who only sends does not wait for the others before its buffers are full. */
static int runs_ahead(const struct ncclComm *c, const struct header *h)
{
    return (h->coll == COLL_BROADCAST && c->rank == h->root) || (h->coll == COLL_REDUCE && c->rank != h->root);
}
#define AHEAD 8 /* calls */

/* When the call begins on this rank. With an agreement the ranks have met; without one the call repeats what they have
 * done together before, and all of them know how the others go on. */
static double begin_us(struct ncclComm *c, const struct header *h, double arrival_us, const struct agreement *all)
{
    if (all) {
        c->pace_us = all->host_us;
        c->over_us = fmax(c->over_us, all->latest_us);
        c->run = 0;
    } else {
        c->pace_us += c->law.launch_us;
        c->over_us = fmax(c->over_us, c->pace_us);
        c->run++;
    }
    return runs_ahead(c, h) && c->run < AHEAD ? arrival_us : fmax(arrival_us, c->over_us);
}

static struct touched *place_of(struct ncclComm *c, const void *start)
{
    struct touched *oldest = &c->touched[0];
    for (int i = 0; i < TOUCHED; i++) {
        if (c->touched[i].start == start)
            return &c->touched[i];
        oldest = c->touched[i].until < oldest->until ? &c->touched[i] : oldest;
    }
    return oldest;
}

/* Whether a buffer is still in the GPU's cache, where it is from now on. */
static int touch(struct ncclComm *c, const void *start, size_t bytes)
{
    struct touched *t = place_of(c, start);
    uint64_t since = c->touched_bytes - t->until + bytes;
    int hot = t->start == start && (double)since <= c->law.cache_bytes;
    c->touched_bytes += bytes;
    *t = (struct touched){start, c->touched_bytes};
    return hot;
}

/* What a call takes, beyond its law, for its place among the others. */
static double overhead_us(struct ncclComm *c, const struct header *h)
{
    uint64_t cell = (uint64_t)1 << (h->algo * PROTO_COUNT + h->proto);
    int fresh = !(c->used_cells[h->coll] & cell), since = c->since_switch++;
    double us = fresh ? c->law.first_us : 0;
    c->used_cells[h->coll] |= cell;
    return us + (since < 2 ? c->law.switch_us / (since + 1) : 0);
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
    int registered;
};

static double time_us(struct ncclComm *c, const struct chosen *x, double factor)
{
    const struct header *h = &x->header;
    const struct move *m = &x->move;
    double us = law_time_us(&c->law, h->coll, h->algo, h->proto, h->channels, x->chunk, x->bytes);
    us *= factor * c->factor * law_noise(&c->law, c->calls);
    us *= 1 + c->law.beside[h->algo] * c->others;
    us *= law_data(&c->law, h->coll, h->algo, h->proto, h->type == BFLOAT16, in_place(m, c->nranks));
    us *= x->registered ? law_registered(&c->law, h->coll, h->algo, h->proto) : 1;
    if (c->law.cache_bytes > 0) {
        int hot = touch(c, m->send, move_send_bytes(m, c->nranks));
        hot &= touch(c, m->recv, move_recv_bytes(m, c->nranks)) || m->recv == m->send;
        us *= hot ? c->law.cache : 1;
    }
    return us;
}

/* The data: moved, unless this very call has been made before and nobody has written since. What was reduced in place
 * is another sum each time: who looks at it without having filled it anew finds something else. */
static int move(struct ncclComm *c, const struct chosen *x, const struct done_call *d, int verdict,
                enum fault_kind kind)
{
    const struct move *m = &x->move;
    int reduces = m->coll == COLL_ALLREDUCE || m->coll == COLL_REDUCE || m->coll == COLL_REDUCESCATTER;
    if (kind == FAULT_NOTHING)
        return 0;
    if (verdict == VERDICT_MOVE) {
        if (move_data(&c->join, m))
            return -1;
        remember(c, d);
    } else if (reduces && in_place(m, c->nranks)) {
        ((unsigned char *)m->recv)[move_recv_bytes(m, c->nranks) / 2]++;
    }
    return 0;
}

/* How many times longer a call takes for what this GPU does beside it, and what it does to that. */
static double contend(const struct ncclComm *c, const struct header *h, void *stream, double begin, double *slowdown)
{
    double sms = c->law.sms, channels = h->channels < sms / 2 ? h->channels : sms / 2;
    switch (comm_driver.beside(stream, begin)) {
    case DOUBLE_COMPUTES:
        *slowdown = sms / (sms - channels);
        return 1 + c->law.loaded[h->algo];
    case DOUBLE_CALLS:
        *slowdown = 1 + c->law.shared;
        return *slowdown;
    default:
        *slowdown = 1;
        return 1;
    }
}

/* Everything behind the choice: agreement, data, time. */
static int perform(const struct chosen *x, void *stream)
{
    struct ncclComm *c = x->comm;
    const struct move *m = &x->move;
    const struct header *h = &x->header;
    uint64_t bytes = x->bytes;
    double factor = 1, slowdown;
    int rc;
    struct done_call d = {*h, m->send, m->recv};
    struct agreement all = {VERDICT_SKIP, 0, 0};
    struct fault_call f = {c->world_rank, h->coll, h->algo, h->proto, h->type, bytes, c->calls++};
    enum fault_kind kind = fault_of(&f, &factor);
    if (misbehave(c, kind, stream, &rc))
        return rc;
    double arrival = comm_driver.arrive(stream);
    int again = repeats(c, &d),
        alone = again && !memcmp(&c->last, h, sizeof *h) && c->waits == comm_driver.count_waits();
    c->waits = comm_driver.count_waits();
    if (!alone && agree(c, h, !again, arrival, &all))
        return lost_peer(c, stream);
    if (c->last.coll != h->coll || c->last.algo != h->algo || c->last.proto != h->proto ||
        c->last.channels != h->channels)
        c->since_switch = 0;
    c->last = *h;
    if (all.verdict == VERDICT_HANG) {
        c->stuck = 1;
        comm_driver.stick(stream);
        return SUCCESS;
    }
    if (move(c, x, &d, all.verdict, kind))
        return lost_peer(c, stream);
    if (kind == FAULT_WRONG || kind == FAULT_WRONG_LAST) {
        size_t n = move_recv_bytes(m, c->nranks);
        ((unsigned char *)m->recv)[kind == FAULT_WRONG ? n / 2 : n - 1] ^= 0x5a;
    }
    double begin = begin_us(c, h, arrival, alone ? NULL : &all), extra = overhead_us(c, h);
    double us = (time_us(c, x, factor) + extra) * contend(c, h, stream, begin, &slowdown);
    comm_driver.slow(stream, begin, begin + us, slowdown);
    c->over_us += us;
    comm_driver.finish(stream, begin + us);
    profiler_tell(c->profiler, m, h->algo, h->proto, h->channels, us);
    return SUCCESS;
}

static void perform_from_graph(void *stream, const void *work)
{
    struct ncclComm *c = ((const struct chosen *)work)->comm;
    c->pace_us -= c->law.launch_us; /* no host has to launch it */
    perform(work, stream);          /* what goes wrong the communicator remembers */
}

static void offer(const struct ncclComm *c, int coll, uint64_t bytes, int registered,
                  float cost[ALGO_COUNT][PROTO_COUNT])
{
    const char *pinned = getenv("NCCL_ALGO"); /* one name */
    double unused = 1;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            struct fault_call f = {
                .rank = c->world_rank, .coll = coll, .algo = a, .proto = p, .bytes = bytes, .number = c->calls};
            int withheld =
                fault_of(&f, &unused) == FAULT_WITHHOLD || (pinned && *pinned && strcasecmp(pinned, algo_name(a)) != 0);
            cost[a][p] = withheld ? -1 : (float)law_predict_us(&c->law, coll, a, p, bytes, registered);
        }
}

static int within(const struct ncclComm *c, const void *start, size_t bytes)
{
    for (int i = 0; i < REGISTRATIONS; i++)
        if ((const char *)start >= c->registered[i].start &&
            (const char *)start + bytes <= c->registered[i].start + c->registered[i].bytes)
            return 1;
    return 0;
}

/* As NCCL: a captured call's buffers are registered by itself. */
static int is_registered(const struct ncclComm *c, const struct move *m, void *stream)
{
    return comm_driver.captured(stream) ||
           (within(c, m->send, move_send_bytes(m, c->nranks)) && within(c, m->recv, move_recv_bytes(m, c->nranks)));
}

/* For CollNet and, over nodes, NVLS NCCL takes what the tuner says as it is. */
static void check_channels(const struct ncclComm *c, const struct header *h)
{
    int unchecked = h->algo == ALGO_COLLNET_DIRECT || h->algo == ALGO_COLLNET_CHAIN || h->algo == ALGO_NVLS_TREE ||
                    (h->algo == ALGO_NVLS && c->nnodes > 1);
    if (unchecked && c->law.connected[h->algo] && h->channels > c->law.connected[h->algo]) {
        WARN("%d channels of %s are asked for and %d connected", h->channels, algo_name(h->algo),
             c->law.connected[h->algo]);
        abort();
    }
}

/* The first use of a cell connects, which takes real time on every rank. */
static void connect_cell(struct ncclComm *c, const struct header *h)
{
    if (c->used_cells[h->coll] & (uint64_t)1 << (h->algo * PROTO_COUNT + h->proto))
        return;
    if (c->law.first_s > 0)
        usleep((useconds_t)(1e6 * c->law.first_s * c->nranks));
    c->busy = c->nonblocking ? 4 : 0;
}

static uint64_t variable(const char *name, uint64_t otherwise)
{
    const char *value = getenv(name);
    return value ? strtoull(value, NULL, 10) : otherwise;
}

/* As NCCL: eight steps share a buffer, Ring with Simple takes four at a time, flags are not data. */
static uint64_t longest_chunk(const struct header *h)
{
    if (h->proto == PROTO_LL)
        return variable("NCCL_LL_BUFFSIZE", 524288) / 16;
    if (h->proto == PROTO_LL128)
        return variable("NCCL_LL128_BUFFSIZE", 4915200) / 128 * 15;
    return variable("NCCL_BUFFSIZE", 4194304) / (h->algo == ALGO_RING ? 2 : 8);
}

static int choose(struct ncclComm *c, const struct move *m, size_t bytes, int registered, struct chosen *x)
{
    static const char *const names[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "AlltoAll", "SendRecv"};
    struct header *h = &x->header;
    if (m->coll < COLL_COUNT) {
        float cost[ALGO_COUNT][PROTO_COUNT];
        offer(c, m->coll, bytes, registered, cost);
        int rc = tuner_ask(&c->tuner, m->coll, bytes, registered, cost, &h->algo, &h->proto, &h->channels);
        if (rc) {
            WARN("No algorithm/protocol available for function %s", names[m->coll]);
            return rc;
        }
    }
    check_channels(c, h);
    h->channels = h->channels <= 0 ? law_channels(&c->law, bytes) : h->channels;
    h->channels = h->channels > c->law.channels ? c->law.channels : h->channels;
    INFO("%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", names[m->coll], bytes, algo_name(h->algo),
         proto_name(h->proto), h->channels - 1);
    uint64_t longest = longest_chunk(h);
    x->chunk = x->chunk < longest ? x->chunk : longest;
    int rc = tuner_ask_chunk(&c->tuner, m->coll, bytes / (size_t)h->channels, h->algo, h->proto, &x->chunk);
    x->chunk = x->chunk < longest ? x->chunk : longest;
    return rc;
}

int comm_run(struct ncclComm *c, const struct move *m, void *stream)
{
    size_t send = move_send_bytes(m, c->nranks), recv = move_recv_bytes(m, c->nranks);
    size_t bytes = send > recv ? send : recv;
    if (m->coll == LAW_ALLTOALL) /* of the rank that waits longest */
        bytes = m->count * move_type_bytes(m->type) * (size_t)c->nranks;
    if (!move_type_bytes(m->type) || m->root < 0 || m->root >= c->nranks)
        return INVALID_ARGUMENT;
    if (c->busy) {
        WARN("Attempt to use communicator before the previous operation returned ncclSuccess");
        return INVALID_USAGE;
    }
    if (c->stuck)
        return SUCCESS;
    if (c->nranks == 1) {
        double begin = comm_driver.arrive(stream);
        if (m->recv != m->send)
            memcpy(m->recv, m->send, recv);
        comm_driver.finish(stream, begin + 5);
        return SUCCESS;
    }
    int registered = is_registered(c, m, stream);
    struct chosen x = {c, *m, {m->count, m->coll, m->type, m->root, 1, 2, 0}, (size_t)512 << 10, bytes, registered};
    profiler_say(c->profiler, m, comm_driver.captured(stream));
    int rc = choose(c, m, bytes, registered, &x);
    if (rc || comm_driver.record(stream, perform_from_graph, &x, sizeof x))
        return rc;
    connect_cell(c, &x.header);
    comm_driver.spend(c->law.launch_us);
    rc = perform(&x, stream);
    return rc == SUCCESS && c->busy ? IN_PROGRESS : rc;
}
