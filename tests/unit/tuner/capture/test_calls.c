/* tuner/capture/calls.c: calls from their enqueueing to their end, and what sends and receives come to, event by event.
 */
#include "tests/lib/unit.h"
#include "tuner/capture/comm.h"

static struct profiler_comm *c;

static int make(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct profiler_comm *one = calloc(1, sizeof *one);
        assert_non_null(one);
        one->index = (unsigned)i;
        one->ranks = 4;
        one->rank = 1;
        one->timed = 1;
        profiler_comms[i] = one;
    }
    c = profiler_comms[1];
    return 0;
}

static int drop(void **state)
{
    for (int i = 0; i < 2; i++) {
        free(profiler_comms[i]);
        profiler_comms[i] = NULL;
    }
    return 0;
}

static struct profiler_call reduce(uint64_t bytes, int channels)
{
    return (struct profiler_call){bytes, COLL_ALLREDUCE, 7, ALGO_RING, PROTO_LL, channels};
}

/* How often a call of this kind and size was counted; its times and their sum. */
static uint64_t counted(int kind, uint64_t bytes, uint64_t *timed, uint64_t *sum_ns)
{
    struct profiler_call call;
    uint64_t n;
    for (int slot = 0; slot < PROFILER_SLOTS; slot++)
        if (profiler_table_call(&c->table, slot, &call, &n) && call.kind == kind && call.bytes == bytes) {
            *timed = profiler_table_timed(&c->table, slot, sum_ns);
            return n;
        }
    *timed = *sum_ns = 0;
    return 0;
}

static void expect(int kind, uint64_t bytes, uint64_t n, uint64_t timed, uint64_t sum_ns)
{
    uint64_t has_timed, has_sum;
    assert_int_equal(counted(kind, bytes, &has_timed, &has_sum), n);
    assert_int_equal(has_timed, timed);
    assert_int_equal(has_sum, sum_ns);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* From the first channel's start to the last one's stop, once host and channels are through, in any order. */
TEST_CASE(time_is_of_all_channels)
{
    for (int last = 0; last < 3; last++) {
        const struct profiler_call call = reduce(64 + (uint64_t)last, 2);
        void *task = profiler_begin_call(c, &call), *a = profiler_begin_channel(task, 1000),
             *b = profiler_begin_channel(task, 900);
        assert_true(task && a && b);
        if (last != 0)
            profiler_end(task);
        if (last != 1)
            profiler_end_channel(a, 5000);
        if (last != 2)
            profiler_end_channel(b, 4900);
        expect(COLL_ALLREDUCE, call.bytes, 1, 0, 0);
        last == 0 ? profiler_end(task) : profiler_end_channel(last == 1 ? a : b, last == 1 ? 5000 : 4900);
        expect(COLL_ALLREDUCE, call.bytes, 1, 1, 4100);
        assert_null(profiler_begin_channel(task, 1)); /* it is over */
        profiler_end(task);
        profiler_end_channel(a, 9000);
        expect(COLL_ALLREDUCE, call.bytes, 1, 1, 4100);
    }
}

TEST_CASE(calls_without_a_time)
{
    struct profiler_call none = reduce(0, 2), still = reduce(64, 1), hidden = reduce(128, 0), late = reduce(256, 2);
    void *task = profiler_begin_call(c, &none);
    assert_non_null(task); /* a handle of nothing */
    assert_null(profiler_begin_channel(task, 5));
    profiler_end(task);
    assert_int_equal(c->table.used, 0);
    assert_null(profiler_begin_channel(profiler_begin_call(c, &hidden), 5));
    expect(COLL_ALLREDUCE, 128, 1, 0, 0);
    task = profiler_begin_call(c, &still);
    void *channel = profiler_begin_channel(task, 70);
    profiler_end_channel(channel, 70); /* it has stopped when it began */
    profiler_end(task);
    expect(COLL_ALLREDUCE, 64, 1, 0, 0);
    task = profiler_begin_call(c, &late);
    for (int i = 0; i < PROFILER_FLIGHTS; i++)
        profiler_begin_call(c, &still);
    assert_null(profiler_begin_channel(task, 5)); /* its place is another's */
    profiler_end(task);
    expect(COLL_ALLREDUCE, 256, 1, 0, 0);
    c->timed = 0;
    assert_null(profiler_begin_channel(profiler_begin_call(c, &late), 5));
    expect(COLL_ALLREDUCE, 256, 2, 0, 0);
}

/* What is no handle of ours, or of another kind, does nothing. */
TEST_CASE(handles_are_what_they_are)
{
    const struct profiler_call call = reduce(64, 1);
    void *task = profiler_begin_call(c, &call), *group = profiler_begin_group(c),
         *channel = profiler_begin_channel(task, 5);
    assert_null(profiler_begin_channel(group, 5));
    assert_null(profiler_begin_channel(channel, 5));
    assert_null(profiler_begin_channel(NULL, 5));
    profiler_end_channel(task, 50);
    profiler_end_channel(group, 50);
    profiler_end_channel(NULL, 50);
    profiler_end(channel);
    expect(COLL_ALLREDUCE, 64, 1, 0, 0);
    profiler_end(task);
    profiler_end_channel(channel, 50);
    expect(COLL_ALLREDUCE, 64, 1, 1, 45);
    c = profiler_comms[0]; /* the other one's handles are its own */
    assert_int_equal(c->flights_begun, 0);
    const struct profiler_peer p = {.call = {8, COLL_SENDRECV, 0, -1, -1, 1}, .is_send = 1, .peer = 2};
    assert_null(profiler_begin_peer(c, group, &p)); /* a launch of another communicator: counted by itself */
    expect(COLL_SENDRECV, 8, 1, 0, 0);
}

/* ---- sends and receives ------------------------------------------------------------------------------------------ */

static void send(void *group, int peer, uint64_t bytes)
{
    const struct profiler_peer p = {.call = {bytes, COLL_SENDRECV, 0, -1, -1, 0}, .is_send = 1, .peer = peer};
    profiler_begin_peer(c, group, &p);
}

static void receive(void *group, int peer)
{
    const struct profiler_peer p = {.call = {9, COLL_SENDRECV, 0, -1, -1, 0}, .peer = peer};
    profiler_begin_peer(c, group, &p);
}

/* Rank 1; sends of a launch as peers and bytes in turns, ended by -1. */
TEST_CASE(what_a_launch_comes_to)
{
    static const struct {
        int ranks, least, receives, sends[12], kind, bytes, count;
    } cases[] = {{4, 0, 4, {0, 8, 1, 8, 2, 8, 3, 8, -1}, COLL_ALLTOALL, 32, 1},
                 {4, 0, 3, {0, 8, 2, 8, 3, 8, -1}, COLL_ALLTOALL, 32, 1}, /* without its own share */
                 {4, 0, 3, {0, 8, 1, 8, 2, 8, 3, 8, -1}, COLL_SENDRECV, 8, 4},
                 {4, 0, 4, {0, 8, 2, 8, 3, 8, -1}, COLL_SENDRECV, 8, 3},
                 {4, 0, 3, {0, 8, 2, 8, 2, 8, -1}, COLL_SENDRECV, 8, 3},
                 {4, 0, 4, {0, 8, 1, 8, 2, 8, 2, 8, -1}, COLL_SENDRECV, 8, 4},
                 {5, 0, 4, {0, 8, 1, 8, 2, 8, 3, 8, -1}, COLL_SENDRECV, 8, 4},
                 {3, 0, 3, {0, 8, 1, 8, 2, 8, -1}, COLL_ALLTOALL, 24, 1},
                 {2, 0, 2, {0, 8, 1, 8, -1}, COLL_SENDRECV, 8, 2}, /* neighbours */
                 {0, 3, 3, {0, 8, 1, 8, 2, 8, -1}, COLL_ALLTOALL, 24, 1},
                 {0, 0, 3, {0, 8, 1, 8, 2, 8, -1}, COLL_SENDRECV, 8, 3},
                 {3, 0, 3, {0, 2, 1, 1, 2, 1, -1}, COLL_ALLTOALL, 4, 1},
                 {3, 0, 3, {0, 3, 1, 1, 2, 1, -1}, COLL_ALLTOALLV, 5, 1},
                 {3, 0, 0, {0, 8, -1}, COLL_SENDRECV, 8, 1},
                 {3, 0, 1, {-1}, COLL_SENDRECV, 9, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t timed, sum;
        drop(NULL);
        make(NULL);
        c->ranks = cases[i].ranks;
        c->least_ranks = cases[i].least;
        void *group = profiler_begin_group(c);
        for (int k = 0; cases[i].sends[k] >= 0; k += 2)
            send(group, cases[i].sends[k], (uint64_t)cases[i].sends[k + 1]);
        for (int k = 0; k < cases[i].receives; k++)
            receive(group, k);
        profiler_end(group);
        if (counted(cases[i].kind, (uint64_t)cases[i].bytes, &timed, &sum) != (uint64_t)cases[i].count)
            fail_msg("case %zu", i);
        assert_int_equal(c->table.used, cases[i].count > 0);
        profiler_end(group); /* it is over */
        assert_int_equal(c->table.used, cases[i].count > 0);
    }
}

TEST_CASE(more_than_are_followed)
{
    void *groups[PROFILER_GROUPS];
    for (int i = 0; i < PROFILER_GROUPS; i++)
        groups[i] = profiler_begin_group(c);
    void *beyond = profiler_begin_group(c);
    assert_non_null(beyond);
    for (int slot = 0; slot < PROFILER_SLOTS; slot++)
        assert_int_equal(c->table.keys[slot], 0); /* which lie behind the groups */
    send(beyond, 2, 8);                           /* at once */
    receive(beyond, 2);
    expect(COLL_SENDRECV, 8, 1, 0, 0);
    profiler_end(beyond);
    for (int i = 0; i < PROFILER_GROUPS; i++) {
        send(groups[i], 2, 16);
        expect(COLL_SENDRECV, 16, (uint64_t)i, 0, 0);
        profiler_end(groups[i]);
        expect(COLL_SENDRECV, 16, (uint64_t)i + 1, 0, 0);
    }
    void *group = profiler_begin_group(c);
    for (int i = 0; i < PROFILER_PEERS; i++)
        send(group, 2, 32);
    expect(COLL_SENDRECV, 32, 0, 0, 0);
    send(group, 2, 32);
    expect(COLL_SENDRECV, 32, 1, 0, 0);
    profiler_end(group);
    expect(COLL_SENDRECV, 32, 1 + PROFILER_PEERS, 0, 0);
}

/* The time of one send is its own; of several it is nobody's. Who sends to himself has no times from then on. */
TEST_CASE(times_of_sends)
{
    for (int sends = 1; sends <= 2; sends++) {
        void *group = profiler_begin_group(c), *tasks[2], *channels[2];
        const struct profiler_peer p = {
            .call = {8 * (uint64_t)sends, COLL_SENDRECV, 0, -1, -1, 1}, .is_send = 1, .peer = 2};
        for (int i = 0; i < sends; i++) {
            tasks[i] = profiler_begin_peer(c, group, &p);
            channels[i] = profiler_begin_channel(tasks[i], 100);
            assert_non_null(channels[i]);
        }
        profiler_end(group);
        for (int i = 0; i < sends; i++)
            profiler_end_channel(channels[i], 150);
        expect(COLL_SENDRECV, p.call.bytes, (uint64_t)sends, sends == 1, sends == 1 ? 50 : 0);
    }
    void *group = profiler_begin_group(c);
    for (int i = 0; i < 2; i++) {
        const struct profiler_peer self = {.call = {64, COLL_SENDRECV, 0, -1, -1, 1}, .is_send = !i, .peer = 1};
        assert_null(profiler_begin_peer(c, group, &self));
    }
    profiler_end(group);
    assert_true(c->timed == 0 && c->table.counters[PROFILER_DOUBTED] == 1);
    const struct profiler_call call = reduce(64, 1);
    assert_null(profiler_begin_channel(profiler_begin_call(c, &call), 5));
}

static int prepare_group(void **state)
{
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return 0;
}

TEST_GROUP(test_calls, make, drop, prepare_group, NULL)
