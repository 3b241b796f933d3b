/* The best call that the model knows of. */
#include "core/coll.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

/* Nothing that can be asked for is faster, and the default stands where it is as fast. */
TEST_CASE(nothing_is_faster)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    struct model_setup s = {.nccl = {.topology = t, .nodes = 4}};
    struct model *m = model_new(&s, a, &e);
    assert_non_null(m);
    for (uint64_t bytes = 8; bytes <= (uint64_t)1 << 30; bytes *= 16) {
        struct model_call call = {COLL_ALLREDUCE, bytes, -1, -1, 0};
        struct model_time best, other;
        assert_int_equal(predict_best(m, COLL_ALLREDUCE, bytes, &best), 0);
        assert_int_equal(model_predict(m, &call, &other), 0);
        assert_true(best.us <= other.us);
        if (best.us == other.us)
            assert_int_equal(best.algo, other.algo);
        for (call.algo = 0; call.algo < ALGO_COUNT; call.algo++)
            for (call.proto = 0; call.proto < PROTO_COUNT; call.proto++)
                for (call.channels = 0; call.channels <= 32; call.channels += 8)
                    assert_true(model_predict(m, &call, &other) || best.us <= other.us);
    }
    arena_free(a);
    topo_free(t);
}

/* Of an AllToAll there is nothing to choose. */
TEST_CASE(alltoall)
{
    struct err e = {0};
    struct arena *a = arena_new();
    struct topology *t = machine_topology("dgx-h100", 2, &e);
    struct model_setup s = {.nccl = {.topology = t, .nodes = 2}};
    struct model_time best;
    struct model *m = model_new(&s, a, &e);
    assert_non_null(m);
    assert_int_equal(predict_best(m, COLL_ALLTOALL, 1 << 20, &best), 0);
    assert_int_equal(best.algo, -1);
    assert_true(best.us > 0);
    arena_free(a);
    topo_free(t);
}

TEST_CASES(test_best)
