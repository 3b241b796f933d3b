/* RCCL's own rules: rings by hand and their channels, tuning models, protocols by size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/predict/nccl/cost.h"
#include "bench/predict/nccl/model.h"
#include "bench/predict/nccl/rccl.h"
#include "probe/machines/machines.h"

struct fixture {
    struct arena *arena;
    struct topology *topology;
    struct nccl_model *model;
};

static struct fixture begin(const char *machine, int nodes, int ranks_per_node, int version)
{
    struct err e = {0};
    struct fixture f = {arena_new(), machine_topology(machine, nodes, &e), NULL};
    assert_non_null(f.topology);
    struct nccl_setup s = {
        .topology = f.topology, .nodes = nodes, .ranks_per_node = ranks_per_node, .version = version};
    f.model = nccl_model_new(&s, f.arena, &e);
    assert_non_null(f.model);
    return f;
}

static void end(struct fixture *f)
{
    topo_free(f->topology);
    arena_free(f->arena);
}

/* Models 79 and 81 of rome_models.cc by release; what is in no table is searched for and copied. */
static void channels(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        int nodes, ranks_per_node, version, rings, channels;
    } cases[] = {
        {"mi300x", 1, 8, 21803, 14, 28},  {"mi300x", 1, 8, 21806, 28, 56},  {"mi300x", 1, 8, 22707, 28, 56},
        {"mi300x", 2, 8, 21803, 16, 32},  {"mi300x", 4, 8, 21806, 16, 32},  {"mi300x", 2, 8, 22005, 64, 64},
        {"mi355x", 1, 8, 22606, 28, 112}, {"mi355x", 2, 8, 22707, 64, 64},  {"mi355x", 2, 8, 22803, 64, 48},
        {"mi300x", 1, 2, 22707, 0, 32},   {"dgx-h100", 2, 8, 22707, 0, 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = begin(cases[i].machine, cases[i].nodes, cases[i].ranks_per_node, cases[i].version);
        assert_int_equal(f.model->rccl_rings, cases[i].rings);
        if (cases[i].rings || cases[i].ranks_per_node < 8)
            assert_int_equal(f.model->nchannels, cases[i].channels);
        assert_int_equal(f.model->rccl != NULL, strcmp(cases[i].machine, "dgx-h100") != 0);
        end(&f);
    }
}

/* Choices over sizes: trees until the network's rings pay (128 MiB on two nodes since ROCm 7), LL128 where the tables
 * have it, none of it before. */
static void choices(void **state)
{
    (void)state;
    static const struct {
        int nodes, version, coll;
        uint64_t bytes;
        int algo, proto;
    } cases[] = {
        {2, 22803, COLL_ALLREDUCE, 4096, ALGO_TREE, PROTO_LL},
        {2, 22803, COLL_ALLREDUCE, 4 << 20, ALGO_TREE, PROTO_LL128},
        {2, 22803, COLL_ALLREDUCE, 64 << 20, ALGO_TREE, PROTO_SIMPLE},
        {2, 22803, COLL_ALLREDUCE, 256 << 20, ALGO_RING, PROTO_SIMPLE},
        {2, 22803, COLL_ALLGATHER, 32 << 20, ALGO_RING, PROTO_LL128},
        {2, 22803, COLL_ALLGATHER, 1 << 20, ALGO_RING, PROTO_LL},
        {2, 22803, COLL_BROADCAST, 1 << 30, ALGO_RING, PROTO_SIMPLE},
        {2, 22005, COLL_ALLGATHER, 64 << 20, ALGO_RING, PROTO_SIMPLE},
        {1, 22803, COLL_REDUCESCATTER, 352128 * 8, ALGO_RING, PROTO_LL},
        {1, 22803, COLL_REDUCESCATTER, 352136 * 8, ALGO_RING, PROTO_SIMPLE},
        {1, 22803, COLL_ALLREDUCE, 1 << 30, ALGO_RING, PROTO_SIMPLE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = begin("mi300x", cases[i].nodes, 8, cases[i].version);
        struct nccl_choice c;
        assert_int_equal(nccl_model_choose(f.model, cases[i].coll, cases[i].bytes, &c), 0);
        assert_int_equal(c.algo, cases[i].algo);
        assert_int_equal(c.proto, cases[i].proto);
        end(&f);
    }
}

/* No LL128 before the tables have it, no trees with Simple on one node, nothing of NVIDIA's. */
static void what_is_not_offered(void **state)
{
    (void)state;
    struct fixture old = begin("mi300x", 2, 8, 22105), one = begin("mi300x", 1, 8, 22803);
    assert_true(nccl_cost_us(old.model, COLL_ALLREDUCE, ALGO_RING, PROTO_LL128, 1 << 20) < 0);
    assert_true(nccl_cost_us(one.model, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 1 << 20) < 0);
    assert_true(nccl_cost_us(one.model, COLL_ALLREDUCE, ALGO_TREE, PROTO_LL, 1 << 20) > 0);
    assert_true(nccl_cost_us(one.model, COLL_ALLREDUCE, ALGO_NVLS, PROTO_SIMPLE, 1 << 20) < 0);
    assert_null(one.model->assumed);
    end(&old);
    end(&one);
}

/* MSCCL's files by release, the DDA kernels after them; never between nodes, nor where RCCL searches. */
static void other_kernels(void **state)
{
    (void)state;
    static const struct {
        const char *machine;
        int nodes, version, coll;
        uint64_t most; /* 0: not even a byte */
        const char *who;
    } cases[] = {{"mi300x", 1, 21803, COLL_ALLREDUCE, 20971519, "MSCCL"},
                 {"mi300x", 1, 21806, COLL_ALLREDUCE, 11534336, "MSCCL"},
                 {"mi300x", 1, 22105, COLL_ALLREDUCE, 16777216, "MSCCL"},
                 {"mi300x", 1, 22803, COLL_ALLREDUCE, 134217728, "DDA"},
                 {"mi300x", 1, 22005, COLL_ALLGATHER, 41943040, "MSCCL"},
                 {"mi300x", 1, 22105, COLL_ALLGATHER, 0, NULL},
                 {"mi300x", 1, 22803, COLL_BROADCAST, 0, NULL},
                 {"mi300x", 2, 22803, COLL_ALLREDUCE, 0, NULL},
                 {"dgx-h100", 1, 22803, COLL_ALLREDUCE, 0, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f = begin(cases[i].machine, cases[i].nodes, 8, cases[i].version);
        struct nccl_choice at, above;
        assert_int_equal(nccl_model_choose(f.model, cases[i].coll, cases[i].most + !cases[i].most, &at), 0);
        assert_int_equal(nccl_model_choose(f.model, cases[i].coll, cases[i].most + 1, &above), 0);
        assert_null(above.taken_by);
        if (cases[i].who)
            assert_string_equal(at.taken_by, cases[i].who);
        else
            assert_null(at.taken_by);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(channels), cmocka_unit_test(choices),
                                       cmocka_unit_test(what_is_not_offered), cmocka_unit_test(other_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
