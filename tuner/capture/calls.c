/* Calls from their enqueueing to their end on the GPU.
 *
 * The end of a collective's event means that it was enqueued. Its time is that of its kernel channels: from the first
 * start to the last stop, on the GPU's own clock. All of this runs in NCCL's launching and proxy threads: a few atomic
 * operations on memory that is there, and handles that are checked before they are believed. */
#include "tuner/capture/comm.h"

#include <stdatomic.h>

#include "core/clock.h"
#include "tuner/capture/abi.h"

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* From the low end: what it is (never 0), the communicator, the ticket. */
enum { TASK_CALL = 1, TASK_PEER, CHANNEL, GROUP }; /* and PROFILER_IN_GRAPH */
enum { TYPE_BITS = 3, COMM_BITS = 10 };
_Static_assert(PROFILER_COMMS == 1 << COMM_BITS, "every communicator has a number");

static void *handle_of(int type, const struct profiler_comm *c, uint64_t ticket)
{
    uint64_t number = (ticket << COMM_BITS | c->index) << TYPE_BITS | (unsigned)type;
    return (void *)(uintptr_t)number; // NOLINT(performance-no-int-to-ptr)
}

static int type_of(const void *handle)
{
    return (int)((uintptr_t)handle & ((1 << TYPE_BITS) - 1));
}

static struct profiler_comm *comm_of(const void *handle)
{
    return atomic_load_explicit(&profiler_comms[(uintptr_t)handle >> TYPE_BITS & (PROFILER_COMMS - 1)],
                                memory_order_acquire);
}

static uint64_t ticket_of(const void *handle)
{
    return (uintptr_t)handle >> (TYPE_BITS + COMM_BITS);
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

static struct profiler_flight *flight(struct profiler_comm *c, uint64_t ticket)
{
    struct profiler_flight *f = &c->flights[ticket % PROFILER_FLIGHTS];
    return ticket && atomic_load_explicit(&f->ticket, memory_order_acquire) == ticket ? f : NULL;
}

static uint64_t take_off(struct profiler_comm *c, int slot, int pending)
{
    uint64_t ticket = atomic_fetch_add_explicit(&c->flights_begun, 1, memory_order_relaxed) + 1;
    struct profiler_flight *f = &c->flights[ticket % PROFILER_FLIGHTS];
    atomic_store_explicit(&f->ticket, 0, memory_order_relaxed);
    atomic_store_explicit(&f->pending, pending, memory_order_relaxed);
    atomic_store_explicit(&f->slot, slot, memory_order_relaxed);
    atomic_store_explicit(&f->first_ns, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&f->last_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&f->since_ns, atomic_load_explicit(&c->launched_ns, memory_order_relaxed),
                          memory_order_relaxed);
    atomic_store_explicit(&f->ticket, ticket, memory_order_release);
    return ticket;
}

/* A kernel cannot take longer than what has passed since the launch before it; two clocks differ a little. */
#define CLOCKS_DIFFER_NS UINT64_C(100000000)
static int is_possible(const struct profiler_flight *f, uint64_t ns)
{
    return ns <= clock_now_ns() - atomic_load_explicit(&f->since_ns, memory_order_relaxed) + CLOCKS_DIFFER_NS;
}

/* One of the things it waited for has come; the last one closes it. */
static void land(struct profiler_comm *c, struct profiler_flight *f)
{
    if (!f || atomic_fetch_sub(&f->pending, 1) != 1)
        return;
    uint64_t first = atomic_load_explicit(&f->first_ns, memory_order_relaxed);
    uint64_t last = atomic_load_explicit(&f->last_ns, memory_order_relaxed);
    int slot = atomic_load_explicit(&f->slot, memory_order_relaxed), possible = is_possible(f, last - first);
    atomic_store_explicit(&f->ticket, 0, memory_order_relaxed);
    if (slot < 0 || first >= last)
        return;
    if (possible)
        profiler_table_time(&c->table, slot, last - first);
    else
        atomic_fetch_add_explicit(&c->table.counters[PROFILER_IMPOSSIBLE], 1, memory_order_relaxed);
}

void *profiler_begin_channel(void *task, uint64_t start_ns)
{
    int type = type_of(task);
    struct profiler_comm *c = type == TASK_CALL || type == TASK_PEER ? comm_of(task) : NULL;
    struct profiler_flight *f = c ? flight(c, ticket_of(task)) : NULL;
    if (!f)
        return NULL;
    uint64_t first = atomic_load_explicit(&f->first_ns, memory_order_relaxed);
    while (start_ns < first && !atomic_compare_exchange_weak(&f->first_ns, &first, start_ns))
        ;
    return handle_of(CHANNEL, c, ticket_of(task));
}

void profiler_end_channel(void *channel, uint64_t stop_ns)
{
    struct profiler_comm *c = type_of(channel) == CHANNEL ? comm_of(channel) : NULL;
    struct profiler_flight *f = c ? flight(c, ticket_of(channel)) : NULL;
    if (!f)
        return;
    uint64_t last = atomic_load_explicit(&f->last_ns, memory_order_relaxed);
    while (stop_ns > last && !atomic_compare_exchange_weak(&f->last_ns, &last, stop_ns))
        ;
    land(c, f);
}

/* Calls of nothing are made, and cost nothing worth a record. */
static int count_call(struct profiler_comm *c, const struct profiler_call *call)
{
    return call->bytes ? profiler_table_count(&c->table, call) : -1;
}

/* ---- the host's times ----------------------------------------------------------------------------------------------
 */

/* Finalizer of MurmurHash3 (Appleby): what is kept of a call must not depend on its place in a step. */
static uint64_t scatter_number(uint64_t n)
{
    n = (n ^ n >> 33) * UINT64_C(0xff51afd7ed558ccd);
    n = (n ^ n >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return n ^ n >> 33;
}

/* Of all numbers that scatter to a place the lowest stays, so that what is kept is spread over the run and the same on
 * all ranks, and the clock is read ever more rarely. */
void profiler_enter(struct profiler_comm *c)
{
    uint64_t number = atomic_fetch_add_explicit(&c->entered, 1, memory_order_relaxed) + 1;
    uint64_t scattered = scatter_number(number);
    struct profiler_entry *e = &c->entries[scattered % PROFILER_ENTRIES];
    uint64_t kept = atomic_load_explicit(&e->number, memory_order_relaxed);
    if (kept && scatter_number(kept) <= scattered)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_store(&e->number, 0);
    atomic_store(&e->at_ns, (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
    atomic_store(&e->number, number);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static int is_timed(const struct profiler_comm *c)
{
    return atomic_load_explicit(&c->timed, memory_order_relaxed);
}

static int awaited_channels(const struct profiler_comm *c, const struct profiler_call *call)
{
    return is_timed(c) && call->bytes ? call->channels : 0;
}

void *profiler_begin_call(struct profiler_comm *c, const struct profiler_call *call)
{
    int slot = count_call(c, call), channels = awaited_channels(c, call);
    if (c->api < 5) /* later ones tell of calls as they are made */
        profiler_enter(c);
    return handle_of(TASK_CALL, c, slot >= 0 && channels ? take_off(c, slot, 1 + channels) : 0);
}

/* ---- sends and receives ------------------------------------------------------------------------------------------ */

static struct profiler_group *group_of(struct profiler_comm *c, const void *handle)
{
    if (type_of(handle) != GROUP || comm_of(handle) != c)
        return NULL;
    struct profiler_group *g = &c->groups[ticket_of(handle) % PROFILER_GROUPS];
    uint64_t ticket = ticket_of(handle);
    return ticket && atomic_load_explicit(&g->ticket, memory_order_acquire) == ticket ? g : NULL;
}

/* Where all places are taken the launch gets a handle of none: its sends are then counted one by one. */
void *profiler_begin_group(struct profiler_comm *c)
{
    uint64_t begun = atomic_fetch_add_explicit(&c->groups_begun, 1, memory_order_relaxed) + 1;
    for (unsigned i = 0; i < PROFILER_GROUPS; i++) {
        struct profiler_group *g = &c->groups[i];
        uint64_t ticket = begun * PROFILER_GROUPS + i, none = 0;
        if (atomic_load_explicit(&g->ticket, memory_order_relaxed) ||
            !atomic_compare_exchange_strong(&g->ticket, &none, ticket))
            continue;
        g->flight = g->peers = g->bytes = 0;
        g->sends = g->receives = 0;
        return handle_of(GROUP, c, ticket);
    }
    return handle_of(GROUP, c, 0);
}

void *profiler_begin_peer(struct profiler_comm *c, void *group, const struct profiler_peer *p)
{
    struct profiler_group *g = group_of(c, group);
    /* NCCL's proxy numbers the kernels of a communicator, so do the kernels, and a message of a rank to itself has no
     * proxy (2.27 to 2.31, addP2pToPlan: nProxyOps): from the first one on the times are those of other calls. */
    if (p->peer == c->rank && atomic_exchange_explicit(&c->timed, 0, memory_order_relaxed))
        atomic_fetch_add_explicit(&c->table.counters[PROFILER_DOUBTED], 1, memory_order_relaxed);
    if (!g || (p->is_send && g->sends >= PROFILER_PEERS)) {
        if (p->is_send)
            count_call(c, &p->call);
        return NULL;
    }
    if (p->is_send) {
        g->send[g->sends++] = p->call;
        g->peers += (uint64_t)(unsigned)p->peer;
        g->bytes += p->call.bytes;
    } else {
        g->receives++;
    }
    int channels = awaited_channels(c, &p->call);
    if (!channels)
        return NULL;
    if (!g->flight)
        g->flight = take_off(c, -1, 1);
    struct profiler_flight *f = flight(c, g->flight);
    if (f)
        atomic_fetch_add(&f->pending, channels);
    return handle_of(TASK_PEER, c, g->flight);
}

/* An all-to-all is a launch that sends to every rank, with or without the own one, and receives as often. Of two ranks
 * it cannot be told from an exchange between neighbours. Where NCCL does not tell the ranks they are those that were
 * ever named, and the own one has to be among those that are sent to: neighbours are not sent to that way. */
static int is_alltoall(const struct profiler_comm *c, const struct profiler_group *g, int ranks)
{
    uint64_t n = (uint64_t)(unsigned)ranks, all = n * (n - 1) / 2;
    if (ranks < 3 || g->receives != g->sends)
        return 0;
    return (g->sends == n && g->peers == all) ||
           (g->sends == n - 1 && c->rank >= 0 && g->peers + (unsigned)c->rank == all);
}

/* Tokens for experts, of which one is hot: above a share that lies between an even one and what a hot rank gets. */
static int is_uneven(const struct profiler_group *g)
{
    uint64_t most = 0;
    for (unsigned i = 0; i < g->sends; i++)
        most = g->send[i].bytes > most ? g->send[i].bytes : most;
    return 2 * most * g->sends > 3 * g->bytes;
}

static void end_group(struct profiler_comm *c, struct profiler_group *g)
{
    int ranks = atomic_load_explicit(&c->ranks, memory_order_relaxed), slot = -1;
    if (!ranks)
        ranks = atomic_load_explicit(&c->least_ranks, memory_order_relaxed);
    if (g->sends && is_alltoall(c, g, ranks)) {
        struct profiler_call whole = g->send[0];
        whole.kind = is_uneven(g) ? COLL_ALLTOALLV : COLL_ALLTOALL;
        whole.bytes = g->sends == (unsigned)ranks ? g->bytes : g->bytes + g->bytes / g->sends; /* with its own share */
        slot = count_call(c, &whole);
    } else {
        for (unsigned i = 0; i < g->sends; i++)
            slot = count_call(c, &g->send[i]);
        if (g->sends != 1)
            slot = -1; /* one time for many messages is no message's time */
    }
    struct profiler_flight *f = flight(c, g->flight);
    if (f)
        atomic_store_explicit(&f->slot, is_timed(c) ? slot : -1, memory_order_relaxed);
    land(c, f);
    if (is_timed(c))
        atomic_store_explicit(&c->launched_ns, clock_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&g->ticket, 0, memory_order_release);
}

/* ---- the end of an event ----------------------------------------------------------------------------------------- */

void profiler_end(void *handle)
{
    int type = type_of(handle);
    struct profiler_comm *c = type == TASK_CALL || type == GROUP ? comm_of(handle) : NULL;
    if (!c)
        return;
    if (type == TASK_CALL) {
        land(c, flight(c, ticket_of(handle)));
        return;
    }
    struct profiler_group *g = group_of(c, handle);
    if (g)
        end_group(c, g);
    if (__builtin_expect(atomic_load_explicit(&profiler_unsaid, memory_order_relaxed), 0))
        profiler_say();
}
