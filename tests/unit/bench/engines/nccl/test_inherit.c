/* bench/engines/nccl/inherit.c: which names of the environment stay, which go, and what is said of them. */
#include "bench/engines/nccl/worker_pool.h"
#include "tests/lib/bare_env.h"
#include "tests/lib/unit.h"

static int forget_everything(void **state)
{
    bare_env();
    return 0;
}

/* Candidates get nothing that would choose for them. */
TEST_CASE(what_a_launch_does_not_get)
{
    struct arena *a = arena_new();
    struct words w = {0};
    const char *text = "";
    inherit_clear(&w, a);
    for (int i = 0; i < w.count; i++)
        text = arena_printf(a, "%s%s%s", text, i ? " " : "", w.items[i]);
    assert_string_equal(text, "NCCL_ALGO NCCL_PROTO NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS NCCL_NTHREADS "
                              "NCCL_TUNER_PLUGIN NCCL_TUNER_CONFIG_FILE NCCL_TOPO_DUMP_FILE");
    arena_free(a);
}

TEST_CASE(what_jobs_have_pinned)
{
    struct arena *a = arena_new();
    assert_null(inherit_pins(a));
    setenv("NCCL_PROTO", "", 1);
    assert_null(inherit_pins(a));
    setenv("NCCL_PROTO", "LL", 1);
    assert_string_equal(inherit_pins(a), "NCCL_PROTO=LL");
    setenv("NCCL_ALGO", "Ring", 1);
    setenv("NCCL_NTHREADS", "64", 1);
    assert_string_equal(inherit_pins(a), "NCCL_ALGO=Ring, NCCL_PROTO=LL, NCCL_NTHREADS=64");
    arena_free(a);
}

static void assert_said(const char *expected)
{
    char *text = NULL;
    size_t bytes = 0;
    struct log log = {.out = open_memstream(&text, &bytes), .program = "test"};
    inherit_log(&log);
    fclose(log.out);
    assert_string_equal(text, expected);
    free(text);
}

/* Not what an image says of its NCCL, nor what is taken away anyway. */
TEST_CASE(what_is_said_of_the_rest)
{
    setenv("NCCL_VERSION", "2.19.3-1", 1);
    setenv("NCCL_TUNER_PLUGIN", "none", 1);
    setenv("NCCLX", "1", 1);
    setenv("HOME", "/", 1);
    assert_said("");
    setenv("NCCL_IB_HCA", "mlx5_0", 1);
    assert_said("test: set in this environment, for every candidate: NCCL_IB_HCA\n");
    setenv("NCCL_PROTOX", "1", 1);
    setenv("NCCL_ALGO", "Tree", 1);
    assert_said("test: set in this environment, for every candidate: NCCL_IB_HCA, NCCL_PROTOX\n"
                "test: set in this environment, for the baseline only: NCCL_ALGO=Tree\n");
}

TEST_CASES_EACH(test_inherit, forget_everything, NULL)
