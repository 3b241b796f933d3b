/* bench/search's front door: options that make no sense, and what is missing, are told before anything is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/search/bench.h"
#include "core/coll.h"

static void defaults(void **state)
{
    (void)state;
    struct bench_options o;
    bench_options_default(&o);
    assert_string_equal(o.engine, "mpi");
    assert_int_equal(o.min_bytes, 8);
    assert_int_equal(o.max_bytes, 16 << 20);
    assert_true(o.collectives & 1u << COLL_ALLREDUCE);
    assert_false(o.collectives & 1u << COLL_REDUCE);
    assert_true(o.budget_s > 0 && o.watchdog_s > 0);
}

static void options_that_make_no_sense(void **state)
{
    (void)state;
    struct bench_options good, bad[8];
    bench_options_default(&good);
    good.results = "/nonexistent/r.jsonl";
    for (int i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].engine = "magic";
    bad[1].collectives = 0;
    bad[2].min_bytes = 0;
    bad[3].min_bytes = good.max_bytes + 1;
    bad[4].max_bytes = 2ull << 30;
    bad[5].step_factor = 1;
    bad[6].budget_s = 0;
    bad[7].watchdog_s = -1;
    for (int i = 0; i < 8; i++) {
        struct err e = {0};
        assert_int_equal(bench_run(&bad[i], NULL, NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
        assert_true(*e.text);
        assert_null(bench_plan_json(&bad[i], NULL, NULL, &e));
        assert_int_equal(e.code, ERR_USAGE);
    }
}

static void listed_sizes_ascend(void **state)
{
    (void)state;
    static const struct bench_size_list wrong[] = {{1, {0}}, {2, {8, 8}}, {2, {64, 8}}, {1, {(uint64_t)2 << 30}}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct err e = {0};
        struct bench_options o;
        bench_options_default(&o);
        o.sizes = wrong[i];
        assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
        assert_non_null(strstr(e.text, "listed sizes"));
    }
}

static void a_workload_must_call_something(void **state)
{
    (void)state;
    char path[] = "/tmp/test_bench_XXXXXX";
    static const char text[] = "{\"format\": \"nccltune-workload/1\", \"ranks\": 8, \"phases\": [{\"name\": \"step\", "
                               "\"collectives\": [{\"collective\": \"sendrecv\", \"bytes\": 64, \"count\": 1, "
                               "\"group_size\": 2}]}]}";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    struct bench_options o;
    struct err e = {0};
    bench_options_default(&o);
    o.results = "/nonexistent/r.jsonl";
    o.workload = "/nonexistent/w.json";
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/nonexistent/w.json"));
    o.workload = path;
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, NULL, NULL, &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "calls none of the collectives"));
    assert_null(bench_plan_json(&o, NULL, NULL, &e));
    assert_int_equal(e.code, ERR_USAGE);
    unlink(path);
}

static void what_is_missing_leaves_no_journal(void **state)
{
    (void)state;
    char dir[] = "/tmp/test_bench_XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/r.jsonl", dir);
    struct bench_options o;
    struct bench_summary summary;
    struct err e = {0};
    bench_options_default(&o);
    o.results = path;
    setenv("NCCLTUNE_BENCH", "/nonexistent/nccltune-bench", 1);
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, &summary, NULL, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "/nonexistent/nccltune-bench"));
    setenv("NCCLTUNE_BENCH", "/bin/true", 1);
    o.setup.mpirun = "no-such-mpirun";
    assert_int_equal(bench_run(&o, NULL, NULL, NULL, NULL, &summary, NULL, &e), ERR_LACKS);
    assert_non_null(strstr(e.text, "no-such-mpirun"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(summary.measured, 0);
    rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(options_that_make_no_sense),
        cmocka_unit_test(listed_sizes_ascend),
        cmocka_unit_test(a_workload_must_call_something),
        cmocka_unit_test(what_is_missing_leaves_no_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
