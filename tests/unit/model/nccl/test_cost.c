/* NCCL's cost model: cells worked out by hand from the formulas of 2.28, and what differs between releases. */
#include "model/nccl/cost_constants.h"
#include "model/nccl/model.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

/* Two nodes of eight A100 with eight NICs on AMD processors, as the search finds them: rings at 24 GB/s a channel. */
static struct nccl_model two_nodes(int version)
{
    struct nccl_graph ring = {
        .nchannels = 8, .bw_intra = 24, .bw_inter = 24, .type_intra = PATH_NVL, .type_inter = PATH_PIX};
    struct nccl_graph tree = ring;
    tree.bw_intra = 30;
    return (struct nccl_model){
        .version = version,
        .nodes = 2,
        .ranks = 16,
        .ranks_per_node = 8,
        .sm = 80,
        .sm_most = 80,
        .cpu = NCCL_CPU_AMD,
        .ring = ring,
        .tree = tree,
        .nchannels = 16,
    };
}

/* One node of eight H100 on NVSwitches. */
static struct nccl_model one_node(int version)
{
    struct nccl_graph ring = {.nchannels = 12, .bw_intra = 30, .bw_inter = 30, .type_intra = PATH_NVL};
    struct nccl_graph nvls = {.nchannels = 8, .bw_intra = 40, .bw_inter = 60, .type_intra = PATH_NVL};
    return (struct nccl_model){
        .version = version,
        .nodes = 1,
        .ranks = 8,
        .ranks_per_node = 8,
        .sm = 90,
        .sm_most = 90,
        .cpu = NCCL_CPU_INTEL,
        .ring = ring,
        .tree = ring,
        .nvls = nvls,
        .nchannels = 24,
        .nvls_channels = 16,
    };
}

static void cell(const struct nccl_model *m, int coll, int algo, int proto, double bw, double us)
{
    assert_float_equal(m->bw[coll][algo][proto], bw, 1e-4 * bw);
    assert_float_equal(m->latency[coll][algo][proto], us, 1e-3);
}

TEST_CASE(rings_of_two_nodes)
{
    struct nccl_model m = two_nodes(22809);
    nccl_cost_fill(&m);
    /* 28 steps within nodes cost at least 3 × 2 µs of net overhead on AMD, 2 go between nodes */
    cell(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 8 * 24 * 16.0 / 30, 8.4 + 28 * 6 + 2 * 14);
    /* LL: 22.5 GB/s on two nodes with AMD processors; 2 µs of overhead */
    cell(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_LL, 22.5 * 16 / 30, 6.6 + 28 * 2 + 2 * 2.7);
    /* LL128: 20 GB/s a channel at most */
    cell(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_LL128, 8 * 20 * 16.0 / 30, 14 + 28 * 2 + 2 * 4.0);
    cell(&m, COLL_ALLGATHER, ALGO_RING, PROTO_SIMPLE, 8 * 24 * 16.0 / 15, 8.4 + 14 * 6 + 14);
    /* channels differ: every rank adds a step over the net, at the tree's latency */
    cell(&m, COLL_BROADCAST, ALGO_RING, PROTO_SIMPLE, 8 * 24, 8.4 + 16 * 14);
    m.ring.same_channels = 1;
    nccl_cost_fill(&m);
    cell(&m, COLL_REDUCE, ALGO_RING, PROTO_SIMPLE, 8 * 24, 8.4 + 14);
}

TEST_CASE(trees_of_two_nodes)
{
    struct nccl_model m = two_nodes(22809);
    nccl_cost_fill(&m);
    cell(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 8 * 23.6 / 2, 8.4 + 2 * (7 * 4.0 + 14));
    cell(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_LL, 22.5 / 2, 6.8 + 2 * (7 * 0.6 + 5));
    cell(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_LL128, 8 * 20 / 2.0, 14 + 2 * (7 * 1.25 + 8.5));
    assert_true(m.bw[COLL_BROADCAST][ALGO_TREE][PROTO_LL] == 0);
    m.tree.pattern = GRAPH_TREE;
    nccl_cost_fill(&m);
    cell(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 8 * 23.6 / 2 * .85, 92.4);
}

TEST_CASE(time_of_a_call)
{
    struct nccl_model m = two_nodes(22809);
    nccl_cost_fill(&m);
    /* a ring's latency counts 1.4 times from 64 bytes a rank and channel on */
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 1 << 20),
                       1.4 * 204.4 + 1048576 / 102400.0, 0.01);
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 16383), 204.4 + 16383 / 102400.0,
                       0.01);
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 16384), 1.4 * 204.4 + 16384 / 102400.0,
                       0.01);
    /* a tree's bandwidth is 0.6 of itself at 1 MiB in LL128 */
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_LL128, 1 << 20),
                       48.5 + 1048576 / (80000 * 0.6), 0.01);
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_LL128, 0), 48.5, 0.01);
    assert_true(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_PAT, PROTO_SIMPLE, 1 << 20) < 0);
    assert_true(nccl_cost_us(&m, COLL_COUNT, ALGO_RING, PROTO_SIMPLE, 1) < 0);
    assert_true(nccl_cost_us(&m, 0, ALGO_COUNT, PROTO_SIMPLE, 1) < 0);
    assert_true(nccl_cost_us(&m, 0, ALGO_RING, -1, 1) < 0);
}

TEST_CASE(nvls)
{
    struct nccl_model m = one_node(22809);
    nccl_cost_fill(&m);
    double intra = 40 * .85 * 7 / 8; /* a channel's share at the switches */
    cell(&m, COLL_ALLREDUCE, ALGO_NVLS, PROTO_SIMPLE, 8 * intra * 2 * 8 / 14, 25);
    cell(&m, COLL_ALLGATHER, ALGO_NVLS, PROTO_SIMPLE, 8 * intra * 7 / 8, 25);
    assert_true(m.bw[COLL_ALLREDUCE][ALGO_NVLS_TREE][PROTO_SIMPLE] == 0);
    assert_true(m.bw[COLL_ALLREDUCE][ALGO_NVLS][PROTO_LL] == 0);
    /* before 2.28 the lesser of both bandwidths, and 5/6 of it */
    struct nccl_model old = one_node(22602);
    nccl_cost_fill(&old);
    cell(&old, COLL_ALLREDUCE, ALGO_NVLS, PROTO_SIMPLE, 8 * 40 * 5.0 / 6, 25);
}

TEST_CASE(pat_with_one_rank_a_node)
{
    struct nccl_model m = two_nodes(22809);
    m.nodes = m.ranks = 16;
    m.ranks_per_node = 1;
    nccl_cost_fill(&m);
    cell(&m, COLL_ALLGATHER, ALGO_PAT, PROTO_SIMPLE, 8 * 24 * .75, 8 + 4 * (14 / 3.5) + 16 * 2.8);
    struct nccl_model old = m;
    memset(old.bw, 0, sizeof old.bw);
    old.version = 22203;
    nccl_cost_fill(&old);
    assert_true(old.bw[COLL_ALLGATHER][ALGO_PAT][PROTO_SIMPLE] == 0);
}

static double ll128_bw(struct nccl_model m)
{
    nccl_cost_fill(&m);
    return m.bw[COLL_ALLREDUCE][ALGO_RING][PROTO_LL128];
}

TEST_CASE(ll128_only_where_it_is_safe)
{
    struct nccl_model m = two_nodes(22809);
    m.sm = m.sm_most = 86;
    assert_true(ll128_bw(m) > 0);
    m.version = 22700;
    assert_true(ll128_bw(m) > 0);
    m.version = 22699; /* named generations only */
    assert_true(ll128_bw(m) == 0);
    m.sm = m.sm_most = 100;
    m.version = 22500;
    assert_true(ll128_bw(m) > 0);
    m.version = 22499;
    assert_true(ll128_bw(m) == 0);
    static const int proven[] = {70, 80, 90};
    for (int i = 0; i < 3; i++) {
        m.sm = m.sm_most = proven[i];
        assert_true(ll128_bw(m) > 0);
    }
    m.sm = m.sm_most = 69;
    m.version = 22700;
    assert_true(ll128_bw(m) == 0);
    m = two_nodes(22809);
    m.ring.type_inter = PATH_PXN;
    assert_true(ll128_bw(m) == 0);
    m.sm = m.sm_most = 90;
    assert_true(ll128_bw(m) > 0);
    m.ring.type_intra = PATH_PHB;
    assert_true(ll128_bw(m) == 0);
    m = two_nodes(22809);
    m.sm = 90; /* GPUs of two generations */
    m.sm_most = 100;
    assert_true(ll128_bw(m) == 0);
    m.version = 23000;
    assert_true(ll128_bw(m) > 0);
    m.sm = 89;
    assert_true(ll128_bw(m) == 0);
}

TEST_CASE(constants_by_release)
{
    assert_float_equal((*nccl_constants_of(22809).ring_ll128)[NCCL_BLACKWELL][NCCL_TWO_NODES], 34.6, 0);
    assert_float_equal((*nccl_constants_of(22902).ring_ll128)[NCCL_BLACKWELL][NCCL_TWO_NODES], 40.0, 0);
    assert_float_equal((*nccl_constants_of(22907).nvls_tree)[NCCL_BLACKWELL][NCCL_MORE_NODES], 43.8, 0);
    assert_float_equal((*nccl_constants_of(23007).nvls_tree)[NCCL_BLACKWELL][NCCL_MORE_NODES], 80.0, 0);
    assert_float_equal((*nccl_constants_of(99999).nvls_tree)[NCCL_BLACKWELL][NCCL_MORE_NODES], 80.0, 0);
    assert_float_equal((*nccl_constants_of(22005).ll)[NCCL_HOPPER][NCCL_ONE_NODE], 87.7, 0);
    assert_float_equal(nccl_constants_of(22203).hop[NCCL_LINK_NET][ALGO_TREE][PROTO_SIMPLE], 28.0, 0);
    assert_float_equal(nccl_constants_of(22304).hop[NCCL_LINK_NET][ALGO_TREE][PROTO_SIMPLE], 14.0, 0);
    assert_int_equal(nccl_least_channel_traffic(22809), 16384);
    assert_int_equal(nccl_least_channel_traffic(0), 512);
}

TEST_CASE(a_single_rank)
{
    struct nccl_model m = one_node(23007);
    m.ranks = m.ranks_per_node = 1;
    nccl_cost_fill(&m);
    assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 1 << 20), 0, 0);
    assert_true(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 1 << 20) < 0);
}

/* Machines that differ in all that a formula asks for. */
static struct nccl_model machine(int i, int version)
{
    struct nccl_model m = i % 2 ? one_node(version) : two_nodes(version);
    m.setup = (struct nccl_setup){.nodes = m.nodes};
    switch (i) {
    case 2: /* more nodes with switches */
        m = one_node(version);
        m.nodes = 3;
        m.ranks = 24;
        break;
    case 3: /* Blackwell, of which more than 32 share the switches */
        m.sm = m.sm_most = 100;
        m.ranks = m.ranks_per_node = 36;
        break;
    case 4: /* the same on two nodes with Arm's processors, where it is the network that is narrow */
        m = one_node(version);
        m.sm = m.sm_most = 100;
        m.nodes = 2;
        m.ranks = 16;
        m.nvls.bw_inter = 9;
        m.nvls.nchannels = 3;
        m.cpu = NCCL_CPU_ARM;
        break;
    case 5: /* Volta on one node, over PCIe */
        m.sm = m.sm_most = 70;
        m.ring.type_intra = m.tree.type_intra = PATH_PHB;
        m.nvls.nchannels = 0;
        break;
    case 6: /* one rank a node, with a slow NIC that waits; POWER */
        m.nodes = m.ranks = 9;
        m.ranks_per_node = 1;
        m.cpu = NCCL_CPU_POWER;
        m.ring.latency_inter = m.tree.latency_inter = 1.5;
        m.ring.type_intra = m.tree.type_intra = PATH_PIX;
        break;
    case 7: /* one channel alone at the switches, and a plain tree */
        m.nvls.nchannels = 1;
        m.tree.pattern = GRAPH_TREE;
        m.ring.same_channels = 1;
        break;
    case 8: /* Blackwell on many nodes, Intel's processors */
        m = one_node(version);
        m.sm = m.sm_most = 100;
        m.nodes = 16;
        m.ranks = 128;
        m.nvls.bw_inter = 90;
        break;
    case 9: /* two ranks on two nodes */
        m.nodes = m.ranks = 2;
        m.ranks_per_node = 1;
        m.sm = m.sm_most = 60;
        break;
    default:
        break;
    }
    return m;
}

/* Every cell that exists, bandwidth and latency, and the time of a few calls. What is expected was found once; the rows
 * that are worked out by hand are above. */
TEST_CASE(cells)
{
    static const int versions[] = {21806, 21900, 22005, 22105, 22203, 22304, 22400,
                                   22501, 22602, 22700, 22809, 22907, 23007};
    static const uint64_t sizes[] = {63, 64, 127, 1 << 13, 1 << 20, (1 << 20) + 1, 400 << 20, 512 << 20, 1 << 30};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (int i = 0; i < 10; i++)
        for (size_t v = 0; v < sizeof versions / sizeof *versions; v++) {
            struct nccl_model m = machine(i, versions[v]);
            nccl_cost_fill(&m);
            fprintf(out, "%d %d:", i, versions[v]);
            for (int cell = 0; cell < COLL_COUNT * ALGO_COUNT * PROTO_COUNT; cell++) {
                int coll = cell / (ALGO_COUNT * PROTO_COUNT), algo = cell / PROTO_COUNT % ALGO_COUNT,
                    proto = cell % PROTO_COUNT;
                if (coll == COLL_REDUCE || coll == COLL_REDUCESCATTER || m.bw[coll][algo][proto] <= 0)
                    continue;
                uint64_t size = sizes[(size_t)cell % (sizeof sizes / sizeof *sizes)];
                fprintf(out, " %.4g+%.4g=%.4g", (double)m.bw[coll][algo][proto], (double)m.latency[coll][algo][proto],
                        nccl_cost_us(&m, coll, algo, proto, size));
            }
            fputc('\n', out);
        }
    fclose(out);
    assert_whole(text, "tests/fixtures/nccl/cells.txt");
    free(text);
}

/* A tree's bandwidth by size: each column counts for what is as large as it says, up to twice that. */
TEST_CASE(columns_of_sizes)
{
    struct nccl_model m = two_nodes(22907), tree = machine(4, 22907);
    tree.cpu = NCCL_CPU_INTEL;
    nccl_cost_fill(&m);
    nccl_cost_fill(&tree);
    for (int i = 0; i < 25; i++)
        for (int proto = 0; proto < PROTO_COUNT; proto++)
            for (int last = 0; last < 2; last++) {
                uint64_t bytes = last ? ((uint64_t)128 << i) - 1 : (uint64_t)64 << i;
                float part = i < 23 ? nccl_tree_size[proto][i] : 1;
                double us = m.latency[COLL_ALLREDUCE][ALGO_TREE][proto] +
                            (float)bytes / (1000 * m.bw[COLL_ALLREDUCE][ALGO_TREE][proto] * part);
                assert_float_equal(nccl_cost_us(&m, COLL_ALLREDUCE, ALGO_TREE, proto, bytes), us, 1e-6 * us);
                if (proto != PROTO_SIMPLE)
                    continue;
                part = i < 24 ? nccl_tree_size[proto][i] : 1;
                us = tree.latency[COLL_ALLREDUCE][ALGO_NVLS_TREE][proto] +
                     (float)bytes / (1000 * tree.bw[COLL_ALLREDUCE][ALGO_NVLS_TREE][proto] * part);
                assert_float_equal(nccl_cost_us(&tree, COLL_ALLREDUCE, ALGO_NVLS_TREE, proto, bytes), us, 1e-6 * us);
            }
}

TEST_CASES(test_cost)
