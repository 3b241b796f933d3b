/* RCCL's own rules: rings by hand and their channels, tuning models, protocols by size. */
#include "model/nccl/model.h"
#include "model/nccl/rccl.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

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
TEST_CASE(channels)
{
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
TEST_CASE(choices)
{
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
TEST_CASE(what_is_not_offered)
{
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
TEST_CASE(other_kernels)
{
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

/* A model of which only what the rules ask for is there. */
struct bare {
    struct topo_gpu gpu;
    struct topo_class c;
    struct topology t;
    struct nccl_model m;
};

static struct nccl_model *bare(struct bare *b, const char *arch, int nodes, int ranks, int version)
{
    *b = (struct bare){.gpu = {.arch = arch}};
    b->c = (struct topo_class){.gpus = &b->gpu, .ngpus = 1};
    b->t = (struct topology){.classes = &b->c, .nclasses = 1};
    b->m = (struct nccl_model){.c = &b->c,
                               .nodes = nodes,
                               .ranks = ranks,
                               .version = version,
                               .rccl_rings = 64,
                               .ring = {.type_intra = PATH_NVL, .type_inter = PATH_PXB}};
    b->m.rccl = rccl_tuning_of(&b->m);
    return &b->m;
}

/* Rings are copied: twice, or as often as the architecture has it, as far as there are channels. */
TEST_CASE(copies)
{
    static const struct {
        const char *arch;
        int nodes, ranks, version, rings, channels;
    } cases[] = {
        {"gfx908", 1, 4, 22606, 1, 4},    {"gfx908", 1, 4, 22606, 2, 4},    {"gfx908", 1, 4, 22606, 16, 32},
        {"gfx908", 1, 4, 22606, 17, 17},  {"gfx908", 1, 4, 22606, 40, 32},  {"gfx90a", 1, 8, 22606, 4, 16},
        {"gfx90a", 2, 16, 22606, 4, 8},   {"gfx90a", 2, 16, 22606, 1, 4},   {"gfx90a", 2, 16, 22606, 2, 4},
        {"gfx942", 1, 2, 22606, 2, 32},   {"gfx942", 1, 4, 22606, 3, 12},   {"gfx942", 1, 8, 22606, 3, 6},
        {"gfx942", 1, 3, 22606, 3, 6},    {"gfx942", 1, 2, 22606, 20, 120}, {"gfx942", 1, 8, 22606, 64, 128},
        {"gfx942", 1, 8, 22606, 65, 65},  {"gfx950", 1, 8, 22606, 5, 112},  {"gfx950", 1, 7, 22606, 5, 10},
        {"gfx950", 2, 16, 22803, 30, 48}, {"gfx950", 2, 16, 22802, 30, 60}, {"gfx942", 2, 16, 22803, 30, 60},
        {"gfx950", 2, 8, 22606, 5, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bare b;
        int n =
            rccl_channels(bare(&b, cases[i].arch, cases[i].nodes, cases[i].ranks, cases[i].version), cases[i].rings);
        if (n != cases[i].channels)
            fail_msg("%s, %d rings: %d", cases[i].arch, cases[i].rings, n);
    }
}

/* Protocols by size since ROCm 7, at both sides of each limit. */
TEST_CASE(protocols)
{
    enum { OTHER = 7 }; /* what the cost model says is left alone */
    static const struct {
        const char *arch;
        int nodes, version, coll;
        uint64_t bytes;
        int proto;
    } cases[] = {
        {"gfx942", 2, 22605, COLL_ALLREDUCE, 64, OTHER},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 0, PROTO_SIMPLE},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 1, PROTO_LL},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 524288, PROTO_LL},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 524289, PROTO_LL128},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 4415057, PROTO_LL128},
        {"gfx942", 2, 22606, COLL_ALLREDUCE, 4415058, PROTO_SIMPLE},
        {"gfx942", 3, 22606, COLL_ALLREDUCE, 16777216, PROTO_LL128},
        {"gfx942", 3, 22606, COLL_ALLREDUCE, 16777217, PROTO_SIMPLE},
        {"gfx942", 2, 22606, COLL_ALLGATHER, 98304 * 16, PROTO_LL},
        {"gfx942", 2, 22606, COLL_ALLGATHER, 98305 * 16, PROTO_LL128},
        {"gfx942", 3, 22606, COLL_ALLGATHER, 5046272 * 24, PROTO_LL128},
        {"gfx942", 3, 22606, COLL_ALLGATHER, 5046273 * 24, PROTO_SIMPLE},
        {"gfx90a", 2, 22606, COLL_ALLREDUCE, 64, OTHER}, /* of which there are no ranges */
        {"gfx942", 1, 22606, COLL_REDUCESCATTER, 352128 * 8, PROTO_LL},
        {"gfx942", 1, 22606, COLL_REDUCESCATTER, 352129 * 8, OTHER},
        {"gfx942", 1, 22606, COLL_ALLGATHER, 8, OTHER},
        {"gfx950", 1, 22606, COLL_ALLGATHER, 88448 * 8, PROTO_LL},
        {"gfx950", 1, 22606, COLL_ALLGATHER, 88449 * 8, OTHER},
        {"gfx950", 1, 22606, COLL_REDUCESCATTER, 131072 * 8, PROTO_LL},
        {"gfx950", 1, 22606, COLL_REDUCESCATTER, 131073 * 8, OTHER},
        {"gfx950", 1, 22606, COLL_ALLREDUCE, 8, OTHER},
    };
    struct bare b;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nccl_model *m = bare(&b, cases[i].arch, cases[i].nodes, 8 * cases[i].nodes, cases[i].version);
        int proto = rccl_protocol(m, cases[i].coll, cases[i].bytes, OTHER);
        if (proto != cases[i].proto)
            fail_msg("case %zu: %d", i, proto);
    }
    struct nccl_model *m = bare(&b, "gfx942", 2, 16, 22606);
    m->setup.protos[COLL_ALLREDUCE] = 1u << PROTO_LL;
    assert_int_equal(rccl_protocol(m, COLL_ALLREDUCE, 64, OTHER), OTHER);
    assert_int_equal(rccl_protocol(m, COLL_REDUCE, 64, OTHER), PROTO_LL);
}

TEST_CASE(where_ll128_is_safe)
{
    struct bare b;
    assert_int_equal(rccl_ll128(bare(&b, "gfx942", 2, 16, 22606)), 1);
    b.m.version = 22605;
    assert_int_equal(rccl_ll128(&b.m), 0);
    b.m.version = 22606;
    b.m.ring.type_intra = PATH_NVB;
    assert_int_equal(rccl_ll128(&b.m), 0);
    b.m.ring.type_intra = PATH_NVL;
    b.m.ring.type_inter = PATH_P2C;
    assert_int_equal(rccl_ll128(&b.m), 0);
    b.m.ring.type_inter = PATH_LOC;
    b.m.rccl_rings = 0;
    assert_int_equal(rccl_ll128(&b.m), 0);
}

/* Rings by hand are for a mesh whose links are all as wide, of eight, on RDMA. */
TEST_CASE(what_is_no_mesh)
{
    for (int i = 0; i < 4; i++) {
        struct err e = {0};
        struct fixture f = {arena_new(), machine_topology("mi300x", 2, &e), NULL};
        struct topo_class *c = &f.topology->classes[0];
        struct nccl_setup s = {.topology = f.topology, .nodes = 2, .version = 22707};
        const struct topo_link last = c->links[c->nlinks - 1];
        for (int k = c->nlinks - 1; k >= 0 && i == 1; k--) /* told from both ends */
            if ((c->links[k].gpu == last.gpu && c->links[k].peer_gpu == last.peer_gpu) ||
                (c->links[k].gpu == last.peer_gpu && c->links[k].peer_gpu == last.gpu))
                c->links[k] = c->links[--c->nlinks];
        c->links[3].count += i == 2;
        s.sockets = i == 3;
        f.model = nccl_model_new(&s, f.arena, &e);
        assert_int_equal(f.model->rccl_rings, i ? 0 : 64);
        end(&f);
    }
}

TEST_CASES(test_rccl)
