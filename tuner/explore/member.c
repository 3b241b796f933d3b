/* Counting calls, waiting at the gate, and taking back what was asked and not called. */
#include "tuner/explore/member.h"

#include <string.h>
#include <time.h>

#include "core/clock.h"

#define PATIENCE_NS \
    UINT64_C(60000000000) /* for an outcome: then the coordinator is lost, and whoever promised with it */

static void *self(void)
{
    return __builtin_thread_pointer();
}

/* Of a number that one thread alone changes: no bus is locked for it. */
#define ADD(number, n) \
    atomic_store_explicit(&(number), atomic_load_explicit(&(number), memory_order_relaxed) + (n), memory_order_release)
#define SET(number, to) atomic_store_explicit(&(number), to, memory_order_release)

static void end(struct explore_member *m, enum explore_end why)
{
    int none = EXPLORE_GOES_ON;
    atomic_compare_exchange_strong(&m->ended, &none, (int)why);
}

void explore_member_init(struct explore_member *m)
{
    m->clock = clock_now_ns;
    atomic_store(&m->gate, UINT64_MAX);
    pthread_mutex_init(&m->mutex, NULL);
    pthread_cond_init(&m->news, NULL);
    for (int i = 0; i < EXPLORE_KINDS; i++) {
        m->keys[i].hold.cell = -1;
        atomic_init(&m->keys[i].rule, explore_nothing);
        atomic_store(&m->keys[i].offered, ~0U);
    }
}

/* ---- plans, under the mutex -------------------------------------------------------------------------------------- */

static void set_gate(struct explore_member *m)
{
    uint64_t pending = m->is_pending ? m->agent.from : UINT64_MAX; /* beside which nothing is promised */
    atomic_store(&m->gate, m->agent.promise.word ? m->agent.promise.from : pending);
}

static void set_left(struct explore_member *m, struct explore_key *k, uint32_t left)
{
    m->trials += (left > 0) - (k->left > 0);
    k->left = left;
}

/* The call is the first that has the plan. */
static void apply(struct explore_member *m)
{
    struct explore_plan p;
    m->is_pending = 0;
    if (explore_unpack(m->agent.plan, &p))
        return; /* it was never promised */
    struct explore_key *k = &m->keys[p.kind];
    m->before = (struct explore_before){p.kind, m->agent.from, k->hold, k->trial, k->left};
    if (m->nasked <= EXPLORE_ASKED)
        m->asked[m->nasked - 1].changed = 1;
    set_left(m, k, p.is_trial ? explore_span(&p) : 0);
    if (p.is_trial)
        k->trial = p;
    else
        k->hold = p.cell;
}

/* A second of the clock that a wait goes by, whatever is done to that meanwhile. */
static void wait_for_news(struct explore_member *m)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&m->news, &m->mutex, &until);
}

/* Until the outcome is known. 0: call `n` may go on. */
static int pass(struct explore_member *m, uint64_t n)
{
    uint32_t plan;
    enum online_turn turn;
    uint64_t began = clock_now_ns();
    pthread_mutex_lock(&m->mutex);
    for (;;) {
        m->agent.next = n;
        turn = online_agent_call(&m->agent, &plan);
        if (turn != ONLINE_WAIT)
            break;
        wait_for_news(m);
        if (clock_now_ns() - began > PATIENCE_NS)
            online_agent_lose(&m->agent);
    }
    if (turn == ONLINE_GO && m->is_pending && n >= m->agent.from)
        apply(m);
    set_gate(m);
    pthread_mutex_unlock(&m->mutex);
    return turn == ONLINE_GO ? 0 : -1;
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

static unsigned available(const struct tuner_call *call)
{
    unsigned cells = 1U << EXPLORE_LIBRARY;
    for (int i = 0; i < EXPLORE_CELLS; i++)
        cells |= (unsigned)tuner_has_cell(call, i / PROTO_COUNT, i % PROTO_COUNT) << i;
    return cells;
}

static void note(struct explore_key *k, const struct tuner_call *call, struct explore_cell rule, unsigned cells)
{
    if (!atomic_load_explicit(&k->calls, memory_order_relaxed)) {
        for (int i = 0; i < EXPLORE_CELLS; i++)
            if (cells >> i & 1)
                k->predicted_us[i] = call->cost[i / PROTO_COUNT * call->protos + i % PROTO_COUNT];
        atomic_store_explicit(&k->bytes, call->bytes, memory_order_relaxed);
        atomic_store_explicit(&k->rule, rule, memory_order_relaxed);
    }
    if (atomic_load_explicit(&k->offered, memory_order_relaxed) & ~cells)
        atomic_fetch_and(&k->offered, cells);
    ADD(k->calls, 1);
}

static struct explore_cell take_turn(struct explore_member *m, struct explore_key *k)
{
    m->arm = EXPLORE_HOLD;
    if (!k->left)
        return k->hold;
    m->arm = explore_turn(&k->trial, explore_span(&k->trial) - k->left);
    set_left(m, k, k->left - 1);
    if (!k->left) {
        atomic_store_explicit(&k->ended, atomic_load_explicit(&k->calls, memory_order_relaxed), memory_order_relaxed);
        atomic_fetch_add_explicit(&k->trials, 1, memory_order_release);
    }
    int is_tried = m->arm == EXPLORE_TRIED || m->arm == EXPLORE_TRIED_FIRST;
    return is_tried && !m->is_captured ? k->trial.cell : k->hold; /* a graph would have it for ever */
}

/* The host's time from here to the launch counts: NCCL connects between its question and that. */
static void hold_up(struct explore_member *m, enum explore_stall why)
{
    m->held_ns = m->held_ns ? m->held_ns : m->clock();
    m->why = why;
}

static void watch_connection(struct explore_member *m, struct explore_cell cell)
{
    unsigned algo = 1U << cell.cell / PROTO_COUNT;
    if (!(m->connected & algo))
        hold_up(m, EXPLORE_CONNECTED);
    m->connected |= algo;
}

int explore_ask(struct explore_member *m, const struct tuner_call *call, struct explore_cell *cell)
{
    int kind = explore_kind(call->coll, call->bytes);
    struct explore_cell rule = *cell;
    *cell = explore_nothing;
    if (m->failed)
        return -1;
    if (!m->is_asked && m->called == 1) /* or something else has connected before */
        hold_up(m, EXPLORE_BEGINNING);
    m->is_asked = 1;
    if (kind < 0)
        return 0;
    if (m->launched) {
        SET(m->nasked, 0);
        SET(m->launched, 0);
    }
    if (m->caller != self())
        end(m, EXPLORE_OTHER_THREAD);
    struct explore_key *k = &m->keys[kind];
    if (m->nasked < EXPLORE_ASKED)
        m->asked[m->nasked] = (struct explore_asked){kind, k->left, 0};
    ADD(m->nasked, 1);
    m->kind = kind;
    uint64_t n = atomic_fetch_add(&m->next, 1);
    if (n >= atomic_load(&m->gate)) {
        hold_up(m, EXPLORE_WAITED);
        m->failed = pass(m, n) != 0;
    }
    if (m->failed)
        return -1;
    unsigned cells = available(call);
    note(k, call, rule, cells);
    *cell = m->told = take_turn(m, k);
    if (cell->cell < 0)
        return 0;
    watch_connection(m, *cell);
    if (cells >> cell->cell & 1)
        return 0;
    m->failed = 1;
    return -1;
}

uint32_t explore_chunk(struct explore_member *m, int coll, int algo, int proto, uint64_t own_bytes, uint32_t ruled)
{
    struct explore_cell told = m->told;
    if (!m->nasked || coll != explore_coll(m->kind))
        return ruled;
    if (m->arm <= EXPLORE_HOLD_FIRST)
        SET(m->keys[m->kind].chunk_bytes, (uint32_t)own_bytes);
    if (explore_is_cell(told) && told.chunk && told.cell == algo * PROTO_COUNT + proto)
        return EXPLORE_CHUNK(told.chunk);
    return told.cell == EXPLORE_LIBRARY ? 0 : ruled;
}

/* ---- what was asked and not called ------------------------------------------------------------------------------- */

static void take_back(struct explore_member *m, const struct explore_asked *q)
{
    struct explore_key *k = &m->keys[q->kind];
    const struct explore_before *b = &m->before;
    if (q->changed && (m->agent.promise.word || m->agent.from != b->from)) {
        m->failed = 1; /* another plan rests on it */
    } else if (q->changed) {
        m->keys[b->kind].hold = b->hold;
        m->keys[b->kind].trial = b->trial;
        set_left(m, &m->keys[b->kind], b->left);
        m->is_pending = 1;
    }
    if (q->left == 1 && !k->left)
        atomic_fetch_sub(&k->trials, 1);
    set_left(m, k, q->left);
    atomic_fetch_sub(&k->calls, 1);
}

/* Ranks count what they launch: the next call has the number that the first of these had. */
static void take_all_back(struct explore_member *m)
{
    pthread_mutex_lock(&m->mutex);
    if (m->nasked > EXPLORE_ASKED && (m->agent.from || m->is_pending))
        m->failed = 1;
    for (unsigned i = m->nasked < EXPLORE_ASKED ? m->nasked : EXPLORE_ASKED; i > 0; i--)
        take_back(m, &m->asked[i - 1]);
    atomic_fetch_sub(&m->next, m->nasked);
    set_gate(m);
    m->nasked = 0;
    pthread_mutex_unlock(&m->mutex);
}

void explore_called(struct explore_member *m, int is_captured)
{
    if (m->ended == EXPLORE_OTHER_THREAD)
        return;
    if (m->nasked && !m->launched && !m->is_captured) {
        end(m, EXPLORE_SIMULATED);
        take_all_back(m);
    }
    m->caller = self();
    m->called += m->called < 2;
    m->held_ns = 0;
    m->is_captured = is_captured;
    if (is_captured)
        end(m, EXPLORE_CAPTURED);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

#define IDLE_SAMPLES 128

enum { NS_BITS = 40, CHANNEL_BITS = 7, PROTO_BITS = 2, ALGO_BITS = 3, TAG_BITS = 12 };
_Static_assert(NS_BITS + CHANNEL_BITS + PROTO_BITS + ALGO_BITS + TAG_BITS == 64, "one word");
_Static_assert(EXPLORE_KINDS * 4 < 1 << TAG_BITS, "kind and arm, and 0 for none");

static void release(struct explore_member *m)
{
    atomic_fetch_add(&m->stalled_ns[m->why], m->clock() - m->held_ns);
    m->held_ns = 0;
}

/* One call of one question: of more than one that were merged, the time is not the question's. */
uint32_t explore_launched(struct explore_member *m, int coll, uint64_t bytes)
{
    int kind = explore_kind(coll, bytes);
    if (m->held_ns)
        release(m);
    if (kind < 0)
        return 0;
    ADD(m->launched, 1);
    int is_alone = m->nasked == 1 && m->launched == 1 && kind == m->kind && !m->is_captured;
    return is_alone ? 1 + (uint32_t)kind * 4 + m->arm : 0;
}

void explore_timed(struct explore_member *m, uint32_t tag, int algo, int proto, int channels, uint64_t ns)
{
    unsigned waiting = m->nsamples - m->drained;
    if (!tag || algo < 0 || proto < 0 || ns >> NS_BITS || waiting >= (m->trials ? EXPLORE_SAMPLES : IDLE_SAMPLES))
        return;
    uint64_t word = tag;
    word = word << ALGO_BITS | (unsigned)algo;
    word = word << PROTO_BITS | (unsigned)proto;
    word = word << CHANNEL_BITS | (channels < 127 ? (unsigned)channels : 127);
    unsigned at = atomic_fetch_add_explicit(&m->nsamples, 1, memory_order_relaxed) % EXPLORE_SAMPLES;
    atomic_store_explicit(&m->samples[at], word << NS_BITS | ns, memory_order_release);
}

static struct explore_sample sample_of(uint64_t word)
{
    struct explore_sample s = {.us = (double)(word & ((UINT64_C(1) << NS_BITS) - 1)) / 1e3};
    word >>= NS_BITS;
    s.channels = (int)(word & 127);
    s.proto = (int)(word >> CHANNEL_BITS & 3);
    s.algo = (int)(word >> (CHANNEL_BITS + PROTO_BITS) & 7);
    uint32_t tag = (uint32_t)(word >> (CHANNEL_BITS + PROTO_BITS + ALGO_BITS)) - 1;
    s.arm = (enum explore_arm)(tag % 4);
    s.kind = (int)(tag / 4);
    return s;
}

void explore_drain(struct explore_member *m, struct explore_decider *d)
{
    unsigned end_at = atomic_load(&m->nsamples), at = m->drained;
    for (; at != end_at; at++) {
        uint64_t word = atomic_exchange(&m->samples[at % EXPLORE_SAMPLES], 0);
        struct explore_sample s = sample_of(word);
        if (word)
            explore_sampled(d, &s);
    }
    m->drained = end_at;
    for (int i = 0; i < EXPLORE_STALLS; i++) {
        uint64_t ns = atomic_exchange(&m->stalled_ns[i], 0);
        if (ns)
            explore_stalled(d, (enum explore_stall)i, (double)ns / 1e3);
    }
}

void explore_see(const struct explore_member *m, int kind, struct explore_seen *seen)
{
    const struct explore_key *k = &m->keys[kind];
    *seen = (struct explore_seen){.calls = k->calls, .bytes = k->bytes, .offered = k->offered};
    seen->rule = k->rule;
    seen->chunk_bytes = k->chunk_bytes;
    seen->trials = k->trials;
    seen->ended = k->ended;
    for (int i = 0; i < EXPLORE_CELLS; i++)
        seen->predicted_us[i] = k->predicted_us[i];
    if (!seen->calls)
        seen->offered = 0;
}

/* ---- the carrier's thread ---------------------------------------------------------------------------------------- */

static int can(const struct explore_member *m, const struct online_message *prepare)
{
    struct explore_plan p;
    if (m->ended || m->failed || m->is_pending || explore_unpack(prepare->plan, &p))
        return 0;
    const struct explore_key *k = &m->keys[p.kind];
    return k->calls && (p.cell.cell < 0 || k->offered >> p.cell.cell & 1);
}

int explore_is_open(struct explore_member *m)
{
    pthread_mutex_lock(&m->mutex);
    int is_open = !m->is_pending && !m->agent.promise.word && !m->ended && !m->failed;
    pthread_mutex_unlock(&m->mutex);
    return is_open;
}

struct online_message explore_hear(struct explore_member *m, const struct online_message *word)
{
    struct online_message w = *word;
    pthread_mutex_lock(&m->mutex);
    int is_promised = m->agent.promise.word && m->agent.promise.round == w.round && !m->agent.lost;
    if (w.word == ONLINE_PREPARE && w.from < m->gate)
        atomic_store(&m->gate, w.from); /* before it looks at `next`: see explore_ask */
    m->agent.next = atomic_load(&m->next);
    if (w.word == ONLINE_PREPARE && !can(m, &w))
        w.from = 0; /* which is always too late */
    struct online_message answer = online_agent_hear(&m->agent, &w);
    m->is_pending |= is_promised && w.word == ONLINE_COMMIT;
    set_gate(m);
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->mutex);
    return answer;
}

void explore_lose(struct explore_member *m)
{
    pthread_mutex_lock(&m->mutex);
    online_agent_lose(&m->agent);
    pthread_cond_broadcast(&m->news);
    pthread_mutex_unlock(&m->mutex);
}
