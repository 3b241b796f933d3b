/* core/coll.c: names both ways, and nccl-tests' factors. */
#include "core/coll.h"
#include "tests/lib/unit.h"

static int algo(const char *s)
{
    return algo_parse(s, strlen(s));
}

TEST_CASE(names_round_trip)
{
    for (int i = 0; i < COLL_MEASURED; i++)
        assert_int_equal(coll_parse(coll_name(i), strlen(coll_name(i))), i);
    for (int i = 0; i < ALGO_COUNT; i++)
        assert_int_equal(algo(algo_name(i)), i);
    for (int i = 0; i < PROTO_COUNT; i++)
        assert_int_equal(proto_parse(proto_name(i), strlen(proto_name(i))), i);
    assert_null(coll_name(COLL_MEASURED));
    assert_null(algo_name(-1));
    assert_null(algo_name(ALGO_COUNT));
}

TEST_CASE(spellings)
{
    assert_int_equal(algo("NVLSTree"), ALGO_NVLS_TREE);
    assert_int_equal(algo("nvls_tree"), ALGO_NVLS_TREE);
    assert_int_equal(algo("COLLNET_DIRECT"), ALGO_COLLNET_DIRECT);
    assert_int_equal(algo("CollNetChain"), ALGO_COLLNET_CHAIN);
    assert_int_equal(coll_parse("ReduceScatter", 13), COLL_REDUCESCATTER);
    assert_int_equal(coll_parse("all-reduce", 10), COLL_ALLREDUCE);
    assert_int_equal(coll_parse("AllToAll", 8), COLL_ALLTOALL);
    assert_int_equal(proto_parse("LL128", 5), PROTO_LL128);
}

TEST_CASE(other_words)
{
    static const char *const wrong[] = {"",      "rin", "rings",    "nvls tree", "_ring",
                                        "ring_", "1",   "r_i_n_g?", "nvlstreee"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(algo(wrong[i]), -1);
    assert_int_equal(proto_parse("LL12", 4), -1);
    assert_int_equal(proto_parse("LL128", 2), PROTO_LL);
    assert_int_equal(coll_parse("AlltoAllv", 9), COLL_ALLTOALLV);
    assert_int_equal(coll_parse("alltoallw", 9), -1);
}

TEST_CASE(bandwidth)
{
    assert_near(coll_algbw_GBps(1e9, 1e6), 1.0, 1e-12);
    assert_near(coll_algbw_GBps(8, 0), 0, 0);
    assert_near(coll_busbw_factor(COLL_ALLREDUCE, 4), 1.5, 1e-12);
    assert_near(coll_busbw_factor(COLL_ALLGATHER, 4), 0.75, 1e-12);
    assert_near(coll_busbw_factor(COLL_REDUCESCATTER, 8), 0.875, 1e-12);
    assert_near(coll_busbw_factor(COLL_ALLTOALL, 8), 0.875, 1e-12);
    assert_near(coll_busbw_factor(COLL_BROADCAST, 8), 1, 0);
    assert_near(coll_busbw_factor(COLL_ALLREDUCE, 0), 0, 0);
}

TEST_CASES(test_coll)
