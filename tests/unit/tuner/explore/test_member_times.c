/* tuner/explore/member: times and chunks of calls, what holds up the host, and the samples on their way to who decides,
 * which is this file. */
#define explore_sampled heard_sample
#define explore_stalled heard_stall
#include "tests/unit/tuner/explore/alone.h"
#include "tuner/explore/member.c"

static struct explore_sample got[EXPLORE_SAMPLES];
static size_t ngot;
static double stalled[EXPLORE_STALLS];

void explore_sampled(struct explore_decider *d, const struct explore_sample *s)
{
    assert_null(d);
    got[ngot++ % EXPLORE_SAMPLES] = *s;
}

void explore_stalled(struct explore_decider *d, enum explore_stall reason, double us)
{
    assert_null(d);
    assert_true(us > 0);
    stalled[reason] += us;
}

static int make_listener(void **state)
{
    ngot = 0;
    memset(stalled, 0, sizeof stalled);
    return make_alone(state);
}

static void times_are_of_calls_that_were_alone(void **state)
{
    (void)state;
    int kind = explore_kind(COLL_ALLREDUCE, 1 << 20);
    alone_asks(0);
    uint32_t tag = explore_launched(alone, COLL_ALLREDUCE, 1 << 20);
    assert_int_equal(tag, 1 + 4 * kind + EXPLORE_HOLD);
    assert_int_equal(explore_launched(alone, COLL_ALLREDUCE, 1 << 20), 0); /* one question, two calls */
    alone_asks(0);
    assert_int_equal(explore_launched(alone, COLL_ALLREDUCE, 1 << 10), 0); /* merged: of another size */
    alone_asks(0);
    alone_asks(0);
    explore_timed(alone, tag, ALGO_RING, PROTO_SIMPLE, 200, 12345);
    explore_timed(alone, tag, ALGO_RING, PROTO_SIMPLE, 8, UINT64_C(1) << 41); /* no time */
    assert_int_equal(alone->nsamples, 1);
}

/* What was agreed on is for the latest question, and for what NCCL runs it with; else the table's holds. */
static void chunks_are_of_the_latest_question(void **state)
{
    (void)state;
    struct explore_seen seen;
    struct explore_plan p = {.kind = explore_kind(sizes[0].coll, sizes[0].bytes), .cell = {5, 4, 6}};
    struct online_message m = {ONLINE_PREPARE, 1, explore_pack(&p), 1};
    assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 524288, 77), 77);
    alone_asks(0);
    assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 524288, 77), 77);
    explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    explore_see(alone, p.kind, &seen);
    assert_int_equal(seen.chunk_bytes, 524288);
    m.from = 2;
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_PROMISE);
    m.word = ONLINE_COMMIT;
    explore_hear(alone, &m);
    alone_asks(1);
    alone_asks(0);
    assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 524288, 77), 131072);
    assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 524288, 77), 77);
    assert_int_equal(explore_chunk(alone, COLL_ALLGATHER, ALGO_RING, PROTO_SIMPLE, 524288, 77), 77);
    explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    m.plan = explore_pack(&(struct explore_plan){.kind = p.kind, .cell = {.cell = EXPLORE_LIBRARY}});
    m = (struct online_message){ONLINE_PREPARE, 2, m.plan, 4};
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_PROMISE);
    m.word = ONLINE_COMMIT;
    explore_hear(alone, &m);
    alone_asks(1);
    alone_asks(0);
    assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 524288, 77), 0);
}

/* As they were, to the nanosecond; channels above 127 are 127. */
static void times_come_as_they_were(void **state)
{
    (void)state;
    static const struct {
        int kind, arm, algo, proto, channels, shown;
        uint64_t ns;
    } times[] = {{0, EXPLORE_HOLD, ALGO_TREE, PROTO_LL, 0, 0, 1},
                 {EXPLORE_KINDS - 1, EXPLORE_TRIED, ALGO_COUNT - 1, PROTO_SIMPLE, 126, 126, (UINT64_C(1) << 40) - 1},
                 {1, EXPLORE_HOLD_FIRST, ALGO_RING, PROTO_LL128, 127, 127, 12345},
                 {4, EXPLORE_TRIED_FIRST, ALGO_RING, PROTO_LL128, 128, 127, 0}};
    const size_t n = sizeof times / sizeof *times;
    for (size_t i = 0; i < n; i++)
        explore_timed(alone, 1 + (uint32_t)(4 * times[i].kind + times[i].arm), times[i].algo, times[i].proto,
                      times[i].channels, times[i].ns);
    explore_timed(alone, 0, 0, 0, 1, 1); /* nobody wants them */
    explore_timed(alone, 1, -1, 0, 1, 1);
    explore_timed(alone, 1, 0, -1, 1, 1);
    explore_timed(alone, 1, 0, 0, 1, UINT64_C(1) << 40);
    explore_drain(alone, NULL);
    assert_int_equal(ngot, n);
    for (size_t i = 0; i < n; i++) {
        assert_true(got[i].kind == times[i].kind && (int)got[i].arm == times[i].arm && got[i].algo == times[i].algo);
        assert_true(got[i].proto == times[i].proto && got[i].channels == times[i].shown);
        assert_true(got[i].us == (double)times[i].ns / 1e3);
    }
    explore_drain(alone, NULL);
    assert_int_equal(ngot, n);
}

/* Between trials they give way to those of trials; what was taken makes room. */
static void as_many_times_as_there_is_room_for(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        ngot = 0;
        alone->trials = round == 1;
        for (int i = 0; i < 2000; i++)
            explore_timed(alone, 1 + 4 * 7, ALGO_RING, PROTO_LL, 2, (uint64_t)i);
        explore_drain(alone, NULL);
        assert_int_equal(ngot, round == 1 ? EXPLORE_SAMPLES : 128);
        for (size_t i = 0; i < ngot; i++)
            assert_true(got[i].kind == 7 && got[i].us == (double)i / 1e3);
    }
}

static uint64_t told_ns = 1;

static uint64_t told_clock(void)
{
    return told_ns;
}

/* NCCL connects between its question and the launch. */
static void what_holds_up_the_host_is_counted(void **state)
{
    (void)state;
    alone->clock = told_clock;
    asks_for(&sizes[2]); /* a broadcast may be the first */
    told_ns += 100;
    explore_launched(alone, sizes[2].coll, sizes[2].bytes);
    assert_int_equal(alone->stalled_ns[EXPLORE_BEGINNING], 100);
    alone_asks(1);
    told_ns += 50; /* between calls */
    commit(1, 2, 5);
    alone_asks(1);
    for (int call = 0; call < 3; call++) { /* a ring, which no plan has asked for before */
        alone_asks(0);
        told_ns += 1000;
        explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    }
    assert_int_equal(alone->stalled_ns[EXPLORE_CONNECTED], 1000);
    commit(2, alone->next + 1, 4);
    alone_asks(1);
    alone_asks(0);
    told_ns += 7;
    explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    assert_int_equal(alone->stalled_ns[EXPLORE_CONNECTED], 1000);
    assert_int_equal(alone->stalled_ns[EXPLORE_WAITED], 7);
    assert_int_equal(alone->stalled_ns[EXPLORE_BEGINNING], 100);
}

/* Not where the first question comes behind other calls: something has connected before. */
static void only_the_very_first_call_is_a_beginning(void **state)
{
    (void)state;
    alone->clock = told_clock;
    for (int i = 0; i < 3; i++)
        explore_called(alone, 0);
    question(&sizes[0]);
    told_ns += 100;
    explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    explore_drain(alone, NULL);
    assert_true(stalled[EXPLORE_BEGINNING] == 0);
}

/* They are told once, in microseconds. */
static void stalls_come_with_the_times(void **state)
{
    (void)state;
    alone->stalled_ns[EXPLORE_BEGINNING] = 1500;
    alone->stalled_ns[EXPLORE_WAITED] = 1;
    for (int i = 0; i < 2; i++)
        explore_drain(alone, NULL);
    assert_true(stalled[EXPLORE_BEGINNING] == 1.5 && stalled[EXPLORE_CONNECTED] == 0);
    assert_true(stalled[EXPLORE_WAITED] == 0.001);
}

#define HEARD(name) cmocka_unit_test_setup_teardown(name, make_listener, free_alone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        HEARD(times_are_of_calls_that_were_alone),
        HEARD(chunks_are_of_the_latest_question),
        HEARD(times_come_as_they_were),
        HEARD(as_many_times_as_there_is_room_for),
        HEARD(what_holds_up_the_host_is_counted),
        HEARD(only_the_very_first_call_is_a_beginning),
        HEARD(stalls_come_with_the_times),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
