/* nccltune-bench under a real mpirun, spoken to line by line: what it answers to requests, and to what are none. */
#include <sys/wait.h>
#include <unistd.h>

#include "bench/launch/launch.h"
#include "core/coll.h"
#include "core/locate.h"
#include "core/progress.h"
#include "tests/lib/unit.h"

#define RANKS "3"

static char worker[4096], double_of_mpi[4096];
static struct child child;
static struct err e;
static struct arena *arena;

/* Of the variant that this program is of. */
static int find_programs(void **state)
{
    ssize_t n = readlink("/proc/self/exe", worker, sizeof worker - 64);
    char *tests = NULL;
    worker[n > 0 ? n : 0] = 0;
    tests = strstr(worker, "/tests/unit/");
    if (!tests)
        return -1;
    *tests = 0;
    snprintf(double_of_mpi, sizeof double_of_mpi, "LD_PRELOAD=%.3000s/tests/doubles/wrong_allreduce.so", worker);
    strcpy(tests, "/nccltune-bench");
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 1);
    setenv("OMPI_MCA_btl", "self,vader", 1);
    arena = arena_new();
    return access(worker, X_OK);
}

static void needs_clean_mpi(void)
{
    if (strstr(worker, "/san/"))
        skip_because("MPI itself does not pass sanitizers");
}

static void begin(const char *variable)
{
    needs_clean_mpi();
    const char *argv[] = {"mpirun", "-np", RANKS, "--oversubscribe", "env", variable, worker, NULL};
    if (!locate_in_path("mpirun", arena))
        skip_because("no mpirun on this machine");
    assert_int_equal(child_start(&child, argv, NULL, &e), 0);
}

static struct protocol_answer next(void)
{
    struct protocol_answer w;
    char *line, why[BENCH_DETAIL];
    if (child_next(&child, progress_now_s() + 120, NULL, &line) != CHILD_LINE) {
        child_last_words(&child, why);
        fail_msg("%s", why);
    }
    if (protocol_answer_parse(line, strlen(line), &w, &e))
        fail_msg("%s", e.text);
    return w;
}

static struct protocol_answer expect(enum protocol_kind kind, int call, enum bench_status status, const char *text)
{
    struct protocol_answer w = next();
    if (w.kind != kind || w.call != call || w.status != status || strcmp(w.text, text) != 0)
        fail_msg("kind %d, call %d, status %d: %s", w.kind, w.call, w.status, w.text);
    return w;
}

/* Long enough for any machine, short enough for a time that is a product where it should be a quotient. */
static double expect_time(int call)
{
    double us = expect(PROTOCOL_SAMPLE, call, BENCH_OK, "").us;
    assert_true(us > 0.01 && us < 5e6);
    return us;
}

static void expect_done(void)
{
    expect(PROTOCOL_DONE, 0, BENCH_OK, "");
}

static void say(const char *line)
{
    assert_int_equal(child_say(&child, line), 0);
}

static int code_of_end(void)
{
    close(child.proc.in);
    child.proc.in = -1;
    assert_true(proc_ended(&child.proc, 60));
    int code = WIFEXITED(child.proc.status) ? WEXITSTATUS(child.proc.status) : -1;
    child_end(&child, 1);
    return code;
}

static void says_who_it_is(void)
{
    struct protocol_answer w = next();
    assert_true(w.kind == PROTOCOL_HELLO && w.nodes == 1 && w.ranks == 3);
    assert_memory_equal(w.text, "Open MPI ", 9);
    assert_true(w.text[9] >= '0' && w.text[9] <= '9');
}

/* Of everybody's slowest: one call a sample and many of them. */
static void every_collective_is_timed(void)
{
    char line[512];
    for (int coll = 0; coll < COLL_MEASURED; coll++) {
        if (coll == COLL_REDUCE)
            continue;
        snprintf(line, sizeof line,
                 "{\"collective\":\"%s\",\"bytes\":240,\"samples\":2,\"check\":true,\"calls\":[{\"iterations\":1},"
                 "{\"settings\":{},\"iterations\":500},{\"iterations\":0}]}\n",
                 coll_name(coll));
        say(line);
        for (int i = 0; i < 6; i++)
            expect_time(i % 3);
        expect_done();
    }
}

static void a_setting_is_refused_and_the_others_go_on(void)
{
    say("{\"collective\":\"allreduce\",\"bytes\":64,\"samples\":2,\"calls\":[{\"settings\":{\"none\":\"1\"},"
        "\"iterations\":2},{\"iterations\":2}]}\n");
    expect(PROTOCOL_SAMPLE, 0, BENCH_FAILED, "this MPI library has no variable none");
    expect_time(1);
    expect_time(1);
    expect_done();
}

static void what_no_rank_can_prepare_fails_for_every_call(void)
{
    say("{\"collective\":\"reduce\",\"bytes\":64,\"samples\":2,\"calls\":[{\"iterations\":2},{\"iterations\":2}]}\n");
    for (int i = 0; i < 2; i++)
        expect(PROTOCOL_SAMPLE, i, BENCH_FAILED, "the mpi engine does not measure reduce");
    expect_done();
    say("{\"collective\":\"allgather\",\"bytes\":64,\"samples\":1,\"calls\":[{\"iterations\":2}]}\n");
    expect(PROTOCOL_SAMPLE, 0, BENCH_FAILED, "64 bytes of allgather cannot be divided among 3 ranks");
    expect_done();
}

/* A pair of three ranks, where 64 bytes of AllGather can be divided; then everybody again, by the whole shape, too. */
static void groups_call_by_themselves(void)
{
    static const char *const groups[] = {
        "\"group\":{\"nodes\":1,\"ranks\":2},", "", "\"group\":{\"nodes\":1,\"ranks\":1,\"others\":2},",
        "\"group\":{\"nodes\":1,\"ranks\":3},", "\"group\":{\"nodes\":1,\"ranks\":2},"};
    static const int bytes[] = {64, 96, 64, 96, 64};
    char line[512];
    for (int i = 0; i < 5; i++)
        for (int again = 0; again < 2; again++) {
            snprintf(line, sizeof line,
                     "{\"collective\":\"allgather\",\"bytes\":%d,\"samples\":1,\"check\":true,%s\"calls\":[{"
                     "\"iterations\":3}]}\n",
                     bytes[i], groups[i]);
            say(line);
            assert_true(expect_time(0) > 0);
            expect_done();
        }
}

TEST_CASE(a_conversation)
{
    begin("NOTHING=");
    says_who_it_is();
    every_collective_is_timed();
    a_setting_is_refused_and_the_others_go_on();
    what_no_rank_can_prepare_fails_for_every_call();
    groups_call_by_themselves();
    /* Two requests at once, and the last without its end. */
    say("{\"collective\":\"broadcast\",\"bytes\":8,\"samples\":1,\"calls\":[{\"iterations\":1}]}\n{\"collective\":"
        "\"broadcast\",\"bytes\":12,\"samples\":1,\"calls\":[{\"iterations\":1}]}\n{\"collective\":");
    for (int i = 0; i < 2; i++) {
        expect_time(0);
        expect_done();
    }
    assert_int_equal(code_of_end(), 0);
}

TEST_CASE(wrong_data_is_found_and_nonsense_is_the_end)
{
    begin(double_of_mpi);
    says_who_it_is();
    for (int i = 0; i < 2; i++) {
        say("{\"collective\":\"allreduce\",\"bytes\":64,\"samples\":2,\"check\":true,\"calls\":[{\"iterations\":1}]}"
            "\n");
        struct protocol_answer w = next();
        assert_true(w.kind == PROTOCOL_SAMPLE && w.call == 0 && w.status == BENCH_WRONG);
        static const char words[] = "rank 1: element 7 is ", then[] = ", expected ";
        char *rest;
        assert_memory_equal(w.text, words, sizeof words - 1);
        long found = strtol(w.text + sizeof words - 1, &rest, 10);
        assert_memory_equal(rest, then, sizeof then - 1);
        assert_int_equal(found, strtol(rest + sizeof then - 1, NULL, 10) ^ 1);
        expect_done();
    }
    say("{\"collective\":\"allreduce\",\"bytes\":64,\"samples\":1,\"calls\":[{\"iterations\":1}]}\n");
    expect_time(0); /* unchecked */
    expect_done();
    say("{\"collective\":\"allreduce\",\"bytes\":64}\n");
    expect(PROTOCOL_ERROR, 0, BENCH_OK, "request: samples: expected a whole number from 1 to 2147483647");
    assert_int_equal(code_of_end(), ERR_FAILED);
}

/* ---- without a launch ---- */

static const char *said(const char *arguments, int *code)
{
    static char text[4096];
    FILE *p = popen(arena_printf(arena, "'%s' %s", worker, arguments), "r");
    assert_non_null(p);
    text[fread(text, 1, sizeof text - 1, p)] = 0;
    int status = pclose(p);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

TEST_CASE(what_it_says_of_itself)
{
    int code;
    needs_clean_mpi();
    assert_memory_equal(said("--version </dev/null", &code), "nccltune-bench ", 15);
    assert_int_equal(code, 0);
    assert_string_equal(said("--help </dev/null", &code),
                        "nccltune-bench is started by 'nccltune bench', one a node; see nccltune-bench(1).\n");
    assert_int_equal(code, 0);
    const char *text = said("--describe coll_tuned_allreduce_algorithm no_such_variable </dev/null", &code);
    assert_int_equal(code, 0);
    assert_memory_equal(text, "{\"library\":\"Open MPI ", 21);
    assert_non_null(strstr(text, "\"variables\":{\"coll_tuned_allreduce_algorithm\":{\"ignore\":0,"));
    assert_null(strstr(text, "no_such_variable"));
    said("--describe </dev/null >/dev/full", &code);
    assert_int_equal(code, ERR_FAILED);
}

TEST_CASES_WITHIN(test_main, find_programs, NULL)
