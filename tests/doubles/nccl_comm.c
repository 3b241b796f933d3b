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

static double time_us(struct ncclComm *c, const struct comm_call *x, double factor)
{
    const struct header *h = &x->header;
    const struct move *m = &x->move;
    double us = law_time_us(&c->law, h->coll, h->algo, h->proto, h->channels, h->chunk, x->bytes);
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
static int move(struct ncclComm *c, const struct comm_call *x, const struct done_call *d, int verdict,
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

/* How long the ranks wait for one of them, before they begin. */
static double lateness_us(const struct ncclComm *c)
{
    return c->law.late_every >= 1 && c->calls % (uint64_t)c->law.late_every == 0 ? c->law.late_us : 0;
}

/* Everything behind the choice: agreement, data, time. */
static int perform(const struct comm_call *x, void *stream)
{
    struct ncclComm *c = x->comm;
    const struct move *m = &x->move;
    const struct header *h = &x->header;
    uint64_t bytes = x->bytes;
    double factor = 1;
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
    double late = lateness_us(c), waited = c->world_rank == (int)c->law.late_rank ? 0 : late;
    double begin = begin_us(c, h, arrival, alone ? NULL : &all) + late, extra = overhead_us(c, h);
    double us = time_us(c, x, factor) + extra;
    c->over_us += late + us;
    comm_driver.finish(stream, begin + us);
    profiler_tell(c->profiler, m, h->algo, h->proto, h->channels, waited + us);
    return SUCCESS;
}

static void perform_from_graph(void *stream, const void *work)
{
    struct ncclComm *c = ((const struct comm_call *)work)->comm;
    c->pace_us -= c->law.launch_us; /* no host has to launch it */
    perform(work, stream);          /* what goes wrong the communicator remembers */
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

/* The first use of an algorithm: ranks that come to it with different ones wait for one another until they are killed
 * (NCCL 2.28.9, src/group.cc, ncclCollPreconnect). */
static int connect_algorithm(struct ncclComm *c, const struct header *h)
{
    const struct header meet = {.coll = -1, .algo = h->algo};
    struct agreement all;
    if (c->connected >> h->algo & 1)
        return SUCCESS;
    c->connected |= 1U << h->algo;
    if (agree(c, &meet, 0, 0, &all))
        return REMOTE_ERROR;
    while (all.verdict == VERDICT_HANG)
        pause();
    return SUCCESS;
}

/* The first use of a cell takes real time on every rank. */
static void begin_cell(struct ncclComm *c, const struct header *h)
{
    if (c->used_cells[h->coll] & (uint64_t)1 << (h->algo * PROTO_COUNT + h->proto))
        return;
    if (c->law.first_s > 0)
        usleep((useconds_t)(1e6 * c->law.first_s * c->nranks));
    c->busy = c->nonblocking ? 4 : 0;
}

static void copy_alone(struct ncclComm *c, const struct move *m, void *stream)
{
    double begin = comm_driver.arrive(stream);
    if (m->recv != m->send)
        memcpy(m->recv, m->send, move_recv_bytes(m, c->nranks));
    comm_driver.finish(stream, begin + 5);
}

int comm_begin(struct ncclComm *c, const struct move *m, void *stream, struct comm_call *x, int *rc)
{
    size_t send = move_send_bytes(m, c->nranks), recv = move_recv_bytes(m, c->nranks);
    size_t bytes = send > recv ? send : recv;
    *rc = SUCCESS;
    if (m->coll == LAW_ALLTOALL) /* of the rank that waits longest */
        bytes = m->count * move_type_bytes(m->type) * (size_t)c->nranks;
    if (!move_type_bytes(m->type) || m->root < 0 || m->root >= c->nranks) {
        *rc = INVALID_ARGUMENT;
    } else if (c->busy) {
        WARN("Attempt to use communicator before the previous operation returned ncclSuccess");
        *rc = INVALID_USAGE;
    } else if (!c->stuck && c->nranks == 1) {
        copy_alone(c, m, stream);
    }
    if (*rc || c->stuck || c->nranks == 1)
        return 0;
    *x = (struct comm_call){.comm = c, .move = *m, .stream = stream, .bytes = bytes};
    x->header = (struct header){m->count, (uint64_t)512 << 10, m->coll, m->type, m->root, 1, 2, 0};
    x->registered = is_registered(c, m, stream);
    profiler_say(c->profiler, m, comm_driver.captured(stream));
    return 1;
}

int comm_launch(struct comm_call *x)
{
    struct ncclComm *c = x->comm;
    int rc = connect_algorithm(c, &x->header);
    rc = rc ? rc : comm_choose_chunk(x);
    if (rc || comm_driver.record(x->stream, perform_from_graph, x, sizeof *x))
        return rc;
    begin_cell(c, &x->header);
    comm_driver.spend(c->law.launch_us);
    rc = perform(x, x->stream);
    return rc == SUCCESS && c->busy ? IN_PROGRESS : rc;
}
