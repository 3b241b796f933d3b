/* What the pool and its workers can do beyond what the engine asks of them: all-to-all, in place, other data types,
 * chunk sizes; over the doubles. */
#include "bench/engines/nccl/engine.h"
#include "bench/engines/nccl/worker_pool.h"
#include "core/coll.h"
#include "core/locate.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

#define RANKS 4

static const char law[] = "channels 8\n"
                          "cell allreduce ring simple latency=30 GBps=100 chunk_best=131072 chunk_loss=0.5\n"
                          "cell allgather ring simple latency=20 GBps=80\n"
                          "cell reducescatter ring simple latency=20 GBps=80\n"
                          "cell broadcast ring simple latency=15 GBps=80\n"
                          "cell reduce ring simple latency=15 GBps=80\n"
                          "cell alltoall ring simple latency=40 GBps=50\n";

static struct bench_setup setup;
static const struct nccl_options own;
static struct nccl_pool *pool;
static struct arena *arena;

static int begin(void **state)
{
    struct err e = {0};
    struct nccl_hello hello;
    struct nccl_joined joined;
    arena = arena_new();
    if (doubles_begin(law, "4"))
        return -1;
    struct nccl_start start = {.plugin = locate_program(LOCATE_PLUGIN, arena, &e), .control = 1};
    pool = nccl_pool_open(&setup, &own, 10, NULL, &e);
    if (pool && !nccl_pool_look(pool, &hello, 10, NULL, &e) && !nccl_pool_start(pool, &start, &joined, 10, NULL, &e))
        return 0;
    fprintf(stderr, "%s\n", e.text);
    return -1;
}

static int end(void **state)
{
    nccl_pool_close(pool);
    arena_free(arena);
    doubles_end();
    return 0;
}

/* How many ranks refuse the point; *outcome: what became of the question. */
static int prepare(struct nccl_point *p, double patience_s, enum bench_outcome *outcome, char *detail)
{
    struct nccl_prepared prepared[RANKS];
    struct nccl_question q = {.message = NCCL_PREPARE,
                              .body = p,
                              .body_bytes = sizeof *p,
                              .wanted = NCCL_PREPARED,
                              .answers = prepared,
                              .bytes = sizeof *prepared,
                              .deadline_s = progress_now_s() + patience_s};
    *outcome = nccl_pool_ask(pool, &q, NULL, detail);
    return q.refusals;
}

/* Prepares and measures; the slowest rank's time. Fails the test unless all ranks got the right data. */
static int iterations = 3;

static double measure(struct nccl_point p, uint32_t chunk)
{
    struct nccl_times times[RANKS];
    struct nccl_measure q = {
        .point = p, .algo = ALGO_RING, .proto = PROTO_SIMPLE, .iterations = iterations, .check = 1};
    char detail[BENCH_DETAIL];
    enum bench_outcome outcome;
    double us = 0;
    q.chunk_bytes = chunk;
    q.channels = chunk ? 2 : 0;
    if (prepare(&p, 20, &outcome, detail) || outcome != BENCH_ANSWERED)
        fail_msg("%s", detail);
    struct nccl_question asked = {.message = NCCL_MEASURE,
                                  .body = &q,
                                  .body_bytes = sizeof q,
                                  .wanted = NCCL_TIMES,
                                  .answers = times,
                                  .bytes = sizeof *times,
                                  .deadline_s = progress_now_s() + 20};
    if (nccl_pool_ask(pool, &asked, NULL, detail) != BENCH_ANSWERED || asked.refusals)
        fail_msg("%s", detail);
    for (int r = 0; r < RANKS; r++) {
        if (times[r].status != NCCL_DONE)
            fail_msg("collective %d, type %d: %s", p.coll, p.type, times[r].detail);
        us = times[r].us > us ? times[r].us : us;
    }
    return us;
}

static void assert_about(double value, double expected)
{
    if (!(value > expected * 0.999 && value < expected * 1.001))
        fail_msg("%g is not about %g", value, expected);
}

TEST_CASE(all_to_all)
{
    struct nccl_point p = {.coll = COLL_ALLTOALL, .type = NCCL_TYPE_FITTING, .bytes = 1 << 20};
    assert_about(measure(p, 0), 40 + (1 << 20) / 50e3);
}

/* Three of six blocks go to rank 0, which receives twice as much as the others of an even one: the slowest. */
TEST_CASE(a_hot_rank_is_waited_for)
{
    struct nccl_point p = {.coll = COLL_ALLTOALLV, .type = NCCL_TYPE_FITTING, .bytes = 6 << 18};
    assert_about(measure(p, 0), 40 + 2 * (6 << 18) / 50e3);
    p.bytes = 6; /* of single bytes */
    assert_about(measure(p, 0), 40 + 2 * 6 / 50e3);
    p.bytes = 6 << 19; /* so often that all buffers have had their turn, on every rank as many */
    iterations = 200;
    assert_about(measure(p, 0), 40 + 2 * (6 << 19) / 50e3);
    iterations = 3;
}

TEST_CASE(in_place_and_every_type)
{
    static const int types[] = {0, 2, 7, 9}; /* int8, int32, float32, bfloat16 */
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++)
            for (int in_place = 0; in_place < 2; in_place++)
                measure((struct nccl_point){.coll = coll, .in_place = in_place, .type = types[t], .bytes = 4800}, 0);
}

TEST_CASE(chunk_size_reaches_nccl)
{
    struct nccl_point p = {.coll = COLL_ALLREDUCE, .type = NCCL_TYPE_FITTING, .bytes = 1 << 20};
    double best = 30 + (1 << 20) / 100e3;
    assert_about(measure(p, 1 << 17), best);
    assert_about(measure(p, 1 << 16), best * 1.5);
}

TEST_CASE(a_size_too_small_is_refused_by_all)
{
    struct nccl_point p = {.coll = COLL_ALLGATHER, .type = NCCL_TYPE_FITTING, .bytes = 3};
    enum bench_outcome outcome;
    char detail[BENCH_DETAIL];
    assert_int_equal(prepare(&p, 20, &outcome, detail), RANKS);
    assert_int_equal(outcome, BENCH_ANSWERED);
    assert_non_null(strstr(detail, "leave no element for each of 4 ranks"));
}

/* Somebody else may have asked when a rank died, and kept it to himself: whoever asks next is told the same. */
TEST_CASE(a_death_is_told_to_all_who_ask)
{
    struct nccl_point p = {.coll = COLL_ALLREDUCE, .type = NCCL_TYPE_FITTING, .bytes = 1 << 20};
    enum bench_outcome outcome;
    char detail[2][BENCH_DETAIL] = {"", ""};
    assert_int_equal(system("for p in $(pgrep -P $(pgrep -P $PPID -f 'nccltune-worker [a]gent') | head -n 1); do "
                            "kill -KILL $p; done"),
                     0);
    for (int i = 0; i < 2; i++) {
        prepare(&p, 10, &outcome, detail[i]);
        assert_int_equal(outcome, BENCH_DIED);
    }
    assert_non_null(strstr(detail[0], "was killed by signal 9"));
    assert_string_equal(detail[0], detail[1]);
}

TEST_CASES_WITHIN(test_worker_pool, begin, end)
