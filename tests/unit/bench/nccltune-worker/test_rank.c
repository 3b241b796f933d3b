/* A worker of one GPU on two pipes, over the doubles: what it answers to every request, and how it ends. */
#include "tests/unit/bench/nccltune-worker/talk.h"

#include "core/coll.h"
#include "core/err.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

static const char law[] = "channels 8\nmemory 64000000 20000000\ncell allreduce ring simple latency=30 GBps=100\n"
                          "cell allreduce tree simple latency=20 GBps=50\n";

static struct nccl_hello hello;
static struct nccl_text why;
static struct arena *arena;

static void begin(const char *rank, const char *local)
{
    const char *words[] = {"rank", rank, local, NULL};
    talk_begin(words);
    expect(NCCL_HELLO, (int)strtol(rank, NULL, 10), &hello, sizeof hello);
}

static void expect_error(int rank, const char *text)
{
    expect(NCCL_ERROR, rank, &why, sizeof why);
    assert_string_equal(why.text, text);
}

/* Its input stays open until it has ended, or that would end it. */
static int quit(int rank)
{
    tell(NCCL_QUIT, rank, NULL, 0);
    assert_true(proc_ended(&worker, 60));
    return talk_end();
}

/* ---- what it says of itself ---- */

TEST_CASE(says_what_is_there)
{
    begin("5", "3");
    assert_int_equal(hello.gpus, 2);
    assert_int_equal(hello.rccl, 0);
    assert_true(hello.version >= 21900);
    assert_string_equal(hello.path, arena_printf(arena, "%s/libnccl.so.2", getenv("LD_LIBRARY_PATH")));
    assert_string_equal(hello.gpu, "GPU double");
    assert_int_equal(quit(5), 0);
    const char *amd[] = {
        "rank", "0", "0", "--nccl-lib", arena_printf(arena, "%s/librccl.so.1", getenv("LD_LIBRARY_PATH")), NULL};
    talk_begin(amd);
    expect(NCCL_HELLO, 0, &hello, sizeof hello);
    assert_int_equal(hello.rccl, 1);
    assert_string_equal(hello.path, amd[4]);
    assert_int_equal(quit(0), 0);
}

TEST_CASE(what_is_missing_is_said)
{
    static const struct {
        const char *library, *gpus, *why;
    } rows[] = {{"/no/such.so", "2", "/no/such.so: cannot open shared object file: No such file or directory"},
                {"libm.so.6", "2", " has no ncclGetVersion: not NCCL 2.19 or later"},
                {"libnccl.so.2", "0", "the GPU driver does not start: "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words[] = {"rank", "3", "0", "--nccl-lib", rows[i].library, NULL};
        struct frame f;
        setenv("DRIVER_DOUBLE_GPUS", rows[i].gpus, 1);
        talk_begin(words);
        expect(NCCL_ERROR, 3, &why, sizeof why);
        if (!strstr(why.text, rows[i].why))
            fail_msg("%s", why.text);
        assert_false(hear(&f));
        assert_int_equal(talk_end(), ERR_LACKS);
    }
    setenv("DRIVER_DOUBLE_GPUS", "2", 1);
}

/* ---- requests ---- */

TEST_CASE(requests_that_make_no_sense)
{
    static const struct nccl_point point = {.coll = COLL_ALLREDUCE, .bytes = 64, .type = NCCL_TYPE_FITTING};
    static const struct nccl_measure measure = {.iterations = 1};
    begin("4", "0");
    tell(NCCL_TIMES, 4, NULL, 0);
    expect_error(4, arena_printf(arena, "rank 4: unknown request %d", NCCL_TIMES));
    tell(NCCL_PREPARE, 4, &point, sizeof point); /* before it has joined */
    expect_error(4, "");
    tell(NCCL_MEASURE, 4, &measure, sizeof measure);
    expect_error(4, "");
    tell(NCCL_JOIN, 4, "short", 5);
    expect_error(4, "");
    assert_int_equal(quit(4), 0);
}

TEST_CASE(one_rank_alone)
{
    struct nccl_join join = {.nranks = 1, .control = 1};
    struct nccl_point point = {.coll = COLL_ALLREDUCE, .bytes = 64, .type = NCCL_TYPE_FITTING};
    struct nccl_measure measure = {.iterations = 2, .algo = -1, .proto = -1, .check = 1};
    struct nccl_joined joined;
    struct nccl_prepared prepared;
    struct nccl_times times;
    begin("0", "1");
    tell(NCCL_NAME, 0, NULL, 0);
    expect(NCCL_NAMED, 0, join.id, sizeof join.id);
    tell(NCCL_JOIN, 0, &join, sizeof join);
    expect(NCCL_JOINED, 0, &joined, sizeof joined);
    assert_true(joined.nodes == 0 && joined.api == 0 && !*joined.active);
    assert_true(joined.free > 40000000 && joined.free <= 44000000);
    tell(NCCL_PREPARE, 0, "short", 5);
    expect_error(0, "");
    tell(NCCL_PREPARE, 0, &point, sizeof point);
    expect(NCCL_PREPARED, 0, &prepared, sizeof prepared);
    assert_true(prepared.working_set == 8192 && prepared.group == 0);
    assert_string_equal(prepared.type, "float32");
    measure.point = point;
    tell(NCCL_MEASURE, 0, "short", 5);
    expect_error(0, "");
    tell(NCCL_MEASURE, 0, &measure, sizeof measure);
    expect(NCCL_TIMES, 0, &times, sizeof times);
    assert_int_equal(times.status, NCCL_DONE);
    assert_true(times.us > 0 && !times.choice.known);
    measure.iterations = 0;
    tell(NCCL_MEASURE, 0, &measure, sizeof measure);
    expect_error(0, "rank 0: a request without iterations or without a prepared point");
    assert_int_equal(quit(0), 0);
}

/* Steering is asked for, and there is no plugin; where it is not, the two of them go on without. */
TEST_CASE(two_without_a_plugin)
{
    for (int control = 0; control < 2; control++) {
        struct nccl_join join = {.nranks = 2, .control = control};
        struct nccl_joined joined;
        struct connection other;
        struct proc its;
        begin("1", "1");
        other = talk;
        its = worker;
        begin("0", "0");
        tell(NCCL_NAME, 0, NULL, 0);
        expect(NCCL_NAMED, 0, join.id, sizeof join.id);
        tell(NCCL_JOIN, 0, &join, sizeof join);
        assert_int_equal(connection_send(&other, NCCL_JOIN, 1, &join, sizeof join), 0);
        if (control) {
            expect(NCCL_ERROR, 0, &why, sizeof why);
            assert_non_null(strstr(why.text,
                                   " did not load the tuner plugin (none given); NCCL loads one from 2.19 on, "
                                   "this worker steers version 4 of its control interface"));
            assert_memory_equal(why.text, "NCCL 2.", 7);
        } else {
            expect(NCCL_JOINED, 0, &joined, sizeof joined);
            assert_true(joined.nodes == 0 && joined.api == 0);
        }
        assert_int_equal(quit(0), 0);
        talk = other;
        worker = its;
        assert_int_equal(quit(1), 0);
    }
}

/* ---- its end ---- */

TEST_CASE(its_end)
{
    struct frame f;
    begin("0", "0");
    assert_int_equal(talk_end(), ERR_FAILED); /* nobody there any more */
    begin("0", "0");
    assert_int_equal(write(talk.to, "this is not a frame, and long enough for one", 44), 44);
    assert_false(hear(&f));
    assert_int_equal(talk_end(), ERR_FAILED);
}

static int set_up(void **state)
{
    arena = arena_new();
    unsetenv("NCCL_TUNER_PLUGIN");
    return doubles_begin(law, "2");
}

static int tear_down(void **state)
{
    arena_free(arena);
    doubles_end();
    return 0;
}

TEST_CASES_WITHIN(test_rank, set_up, tear_down)
