/* bench/engines/engines.c: what every engine says of itself, and which is chosen. */
#include "bench/engines/engines.h"
#include "envgen/predict/predict.h"
#include "tests/lib/unit.h"

TEST_CASE(all_say_what_they_are)
{
    int n = 0;
    for (; bench_engines[n]; n++) {
        const struct bench_engine *e = bench_engines[n];
        assert_string_equal(bench_engine_name(n), e->name);
        assert_ptr_equal(bench_engine_find(e->name), e);
        assert_non_null(e->description);
        assert_non_null(e->family);
        assert_int_equal(e->options != NULL, e->options_bytes > 0);
        assert_int_equal(e->options != NULL, e->options_title != NULL);
        assert_int_equal((e->documents != NULL) + (e->predicts != NULL) + (e->measures != NULL), 1);
        if (e->documents)
            assert_int_equal(e->documents->survey != NULL, e->documents->survey_file != NULL);
        assert_int_equal(bench_engine_has_ranks(e), !strcmp(e->name, "mpi"));
        assert_int_equal(bench_evidence_of(e->name), e->evidence);
        assert_string_equal(bench_family_of(e->name), e->family);
    }
    assert_null(bench_engine_name(n));
}

TEST_CASE(unknown_ones_are_evidence_of_nothing)
{
    assert_null(bench_engine_find("cuda"));
    assert_int_equal(bench_evidence_of("cuda"), BENCH_NO_EVIDENCE);
    assert_string_equal(bench_family_of("cuda"), "");
}

TEST_CASE(the_machine_chooses)
{
    struct topo_class c = {.ngpus = 1};
    struct topo_host hosts[] = {{.name = "n0"}, {.name = "n1"}};
    struct topology t = {.classes = &c, .nclasses = 1, .hosts = hosts, .nhosts = 1};
    assert_int_equal(bench_engine_for(&t, 0)->evidence, BENCH_ON_HOST);
    t.nhosts = 2; /* one GPU on each of two nodes have somebody to talk to */
    assert_int_equal(bench_engine_for(&t, 0)->evidence, BENCH_ON_GPUS);
    hosts[1].served = 1; /* but not where the other node is only to be served */
    assert_int_equal(bench_engine_for(&t, 0)->evidence, BENCH_ON_HOST);
    t.nhosts = 1;
    c.ngpus = 2;
    assert_int_equal(bench_engine_for(&t, 0)->evidence, BENCH_ON_GPUS);
    assert_int_equal(bench_engine_for(NULL, 1)->evidence, BENCH_PREDICTED);
    assert_string_equal(bench_engine_with(BENCH_ON_GPUS)->name, "nccl");
    assert_string_equal(bench_engine_with(BENCH_ON_HOST)->name, "mpi");
}

/* Every group has a target of its own, all zero, and says whose it is once an option was given. */
TEST_CASE(options_belong_to_their_engine)
{
    struct arena *a = arena_new();
    const struct bench_engine *nccl = bench_engine_find("nccl"), *verbs = bench_engine_find("verbs");
    const char *option = NULL;
    struct option_group *g = bench_engine_groups(0, a);
    assert_null(bench_engine_own(g, verbs));
    assert_non_null(bench_engine_own(g, nccl));
    assert_null(bench_engine_own(NULL, nccl));
    g = bench_engine_groups(1, a);
    assert_non_null(bench_engine_own(g, verbs));
    assert_null(bench_engine_given(g, NULL, &option));
    struct err e = {0};
    char *argv[] = {"bench", "--graphs", "--check=x", NULL};
    assert_int_equal(option_parse(g, 3, argv, a, NULL, &e), 3);
    assert_ptr_equal(bench_engine_given(g, NULL, &option), nccl);
    assert_string_equal(option, "--graphs");
    assert_ptr_equal(bench_engine_given(g, nccl, &option), verbs);
    assert_string_equal(option, "--check");
    arena_free(a);
}

static int prepare_group(void **state)
{
    bench_engine_register(&bench_engine_model);
    return 0;
}

TEST_CASES_WITHIN(test_engines, prepare_group, NULL)
