/* NCCL's search on described machines. What is expected was found by NCCL's own search on the same machines (its
 * sources built for the purpose, or its logs). */
#include "model/nccl/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static struct arena *arena;
static struct topology *topology;
static struct err error;

static int begin(void **state)
{
    arena = arena_new();
    topology = NULL;
    error = (struct err){0};
    return 0;
}

static int end(void **state)
{
    topo_free(topology);
    arena_free(arena);
    return 0;
}

static const struct nccl_model *model(const char *machine, int nodes, int version)
{
    topo_free(topology);
    topology = machine_topology(machine, nodes, &error);
    assert_non_null(topology);
    struct nccl_setup s = {.topology = topology, .nodes = nodes, .version = version};
    const struct nccl_model *m = nccl_model_new(&s, arena, &error);
    assert_non_null(m);
    return m;
}

static void same_order(const struct nccl_model *m, const struct nccl_graph *g, int channel, const char *order)
{
    const struct topo_class *c = &topology->classes[0];
    char text[256] = "";
    size_t at = 0;
    for (int i = 0; i < m->ranks_per_node; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? " " : "",
                               c->gpus[g->gpus[channel * m->ranks_per_node + i]].index);
    assert_string_equal(text, order);
}

static void graph(const struct nccl_graph *g, int channels, double intra, double inter)
{
    assert_int_equal(g->nchannels, channels);
    assert_float_equal(g->bw_intra, intra, 1e-3);
    assert_float_equal(g->bw_inter, inter, 1e-3);
}

TEST_CASE(one_node_of_a100)
{
    const struct nccl_model *m = model("azure-ndv4", 1, 22809);
    graph(&m->ring, 12, 20, 20);
    graph(&m->tree, 12, 20, 20);
    assert_int_equal(m->nvls.nchannels, 0);
    assert_int_equal(m->nchannels, 24);
    for (int c = 0; c < 12; c++)
        same_order(m, &m->ring, c, "0 1 2 3 4 5 6 7");
    assert_null(m->ring.nets);
}

TEST_CASE(two_nodes_of_a100)
{
    const struct nccl_model *m = model("azure-ndv4", 2, 22809);
    graph(&m->ring, 8, 24, 24);
    graph(&m->tree, 8, 30, 24);
    assert_int_equal(m->nchannels, 16);
    same_order(m, &m->ring, 0, "0 7 6 5 4 3 2 1");
    same_order(m, &m->ring, 1, "1 2 3 4 5 6 7 0");
    same_order(m, &m->ring, 6, "6 5 4 3 2 1 0 7");
    same_order(m, &m->tree, 1, "1 0 7 6 5 4 3 2");
    for (int c = 0; c < 8; c++) {
        assert_int_equal(m->ring.nets[2 * c], c);
        assert_int_equal(m->ring.nets[2 * c + 1], c);
    }
}

TEST_CASE(rings_in_pairs)
{
    const struct nccl_model *m = model("dgx-h100", 2, 22809);
    graph(&m->ring, 8, 48, 48);
    assert_int_equal(m->ring.cross_nic, 2);
    for (int c = 0; c < 8; c += 2) {
        assert_int_equal(m->ring.nets[2 * c], m->ring.nets[2 * c + 3]);
        assert_int_equal(m->ring.nets[2 * c + 1], m->ring.nets[2 * c + 2]);
    }
    assert_int_equal(m->nchannels, 16);
    assert_int_equal(m->nvls_channels, 16);
    /* NCCL_CROSS_NIC=0 leaves in and out the same */
    struct nccl_setup s = {.topology = topology, .nodes = 2, .version = 22809, .cross_nic = 3};
    m = nccl_model_new(&s, arena, &error);
    assert_non_null(m);
    for (int c = 0; c < m->ring.nchannels; c++)
        assert_int_equal(m->ring.nets[2 * c], m->ring.nets[2 * c + 1]);
}

TEST_CASE(heads_of_nvls)
{
    const struct nccl_model *m = model("hgx-h100", 1, 22809);
    graph(&m->nvls, 8, 40, 60);
    for (int c = 0; c < 8; c++)
        assert_int_equal(m->nvls.gpus[c * 8], c);
    same_order(m, &m->nvls, 2, "2 0 1 3 4 5 6 7");
    struct nccl_setup s = {.topology = topology, .nodes = 1, .version = 22809, .no_nvls = 1};
    m = nccl_model_new(&s, arena, &error);
    assert_int_equal(m->nvls.nchannels, 0);
    assert_int_equal(m->nvls_channels, 0);
}

TEST_CASE(blackwell_by_release)
{
    assert_int_equal(model("hgx-b200", 1, 22501)->nvls_channels, 32);
    assert_int_equal(model("hgx-b200", 1, 22809)->nvls_channels, 24);
    assert_int_equal(model("hgx-b200", 2, 22809)->nvls_channels, 32);
    assert_int_equal(model("hgx-b200", 1, 22501)->nchannels, 32);
}

TEST_CASE(nvlink_without_switches)
{
    const struct nccl_model *m = model("dgx-1v", 1, 22809);
    assert_int_equal(m->switches, 0);
    assert_int_equal(m->ring.type_intra, PATH_NVL);
    assert_int_equal(m->nchannels, 12);
    /* two nodes with one NIC: one channel's worth of network */
    m = model("aws-p3dn", 2, 22809);
    assert_int_equal(m->ring.nchannels, 1);
    assert_int_equal(m->nchannels, 2);
}

static void parts(struct nccl_setup s, int expected)
{
    s.topology = topology;
    const struct nccl_model *m = nccl_model_new(&s, arena, &error);
    assert_non_null(m);
    assert_int_equal(m->nodes, s.nodes * expected);
    assert_int_equal(m->ranks, s.nodes * (s.ranks_per_node ? s.ranks_per_node : 8));
    assert_true((m->ring.nets != NULL) == (m->nodes > 1));
    assert_true((m->assumed && strstr(m->assumed, "treats each node as 2")) == (expected > 1));
}

/* Two sockets that pass 16 GB/s between them, a NIC of 25 GB/s beside the four GPUs of each: NCCL (2.14.3 and later)
 * refuses P2P and SHM from one to the other, by ncclTopoCheckNet, and takes the node for two. */
TEST_CASE(a_fast_nic_cuts_a_node)
{
    static const char *const slow[] = {"no such HCA"};
    const struct nccl_model *m = model("8xa100-pcie", 1, 22809);
    assert_int_equal(m->ranks_per_node, 4);
    for (int i = 0; i < m->ring.nchannels * 2; i++)
        assert_true(m->ring.nets[i] == 0);
    parts((struct nccl_setup){.nodes = 1}, 2);
    parts((struct nccl_setup){.nodes = 3}, 2);
    parts((struct nccl_setup){.nodes = 1, .version = 21212}, 1);
    parts((struct nccl_setup){.nodes = 1, .no_net_intra = 1}, 1);
    parts((struct nccl_setup){.nodes = 1, .sockets = 1}, 2); /* IPoIB says that it is as fast */
    parts((struct nccl_setup){.nodes = 1, .ranks_per_node = 4}, 1);
    parts((struct nccl_setup){.nodes = 1, .ranks_per_node = 6}, 1); /* parts that are not alike: as one node */
    parts((struct nccl_setup){.nodes = 1, .ranks_per_node = 4, .first_gpu = 2}, 2);
    parts((struct nccl_setup){.nodes = 1, .hcas = slow, .nhcas = 1}, 1);
    model("dgx-a100", 1, 22809);
    parts((struct nccl_setup){.nodes = 1}, 1);
}

/* Trays that share their NVSwitches are one node to NCCL (ncclTopoGetSystem in src/graph/topo.cc), in which a channel
 * comes back to the NIC that it came in by; NVLS has 32 heads (NCCL_MAX_NVLS_ARITY). */
TEST_CASE(racks)
{
    static const struct {
        const char *machine;
        int trays, nodes, ranks_per_node;
    } racks[] = {{"gb200-nvl72", 4, 1, 16},
                 {"gb200-nvl72", 18, 1, 72},
                 {"gb200-nvl72", 20, 2, 40},
                 {"gb300-nvl72", 36, 2, 72},
                 {"gb300-nvl72", 72, 4, 72}};
    for (size_t i = 0; i < sizeof racks / sizeof *racks; i++) {
        const struct nccl_model *m = model(racks[i].machine, racks[i].trays, 22809);
        int gpus = racks[i].ranks_per_node;
        assert_int_equal(m->nodes, racks[i].nodes);
        assert_int_equal(m->ranks_per_node, gpus);
        assert_int_equal(m->ranks, racks[i].trays * 4);
        assert_int_equal(m->nvls.nchannels, gpus < 32 ? gpus : 32);
        assert_int_equal(m->ring.type_intra, PATH_NVL);
        for (int c = 0; c < m->ring.nchannels; c++) {
            uint64_t seen[2] = {0};
            for (int k = 0; k < gpus; k++)
                seen[m->ring.gpus[c * gpus + k] / 64] |= 1ull << m->ring.gpus[c * gpus + k] % 64;
            assert_int_equal(__builtin_popcountll(seen[0]) + __builtin_popcountll(seen[1]), gpus);
            assert_true(!m->ring.nets || m->ring.cross_nic || m->ring.nets[2 * c] == m->ring.nets[2 * c + 1]);
        }
        if (m->nodes > 1)
            assert_true(m->ring.nchannels * m->ring.bw_inter >= 0.9 * 18 * 40.1); /* as wide as a GPU's NVLinks */
    }
}

/* What the topology tells of its domains counts before the size of a rack; a group of one GPU a tray is one node, too;
 * without MNNVL, or before it, each tray is on its own. */
TEST_CASE(parts_of_racks)
{
    static const struct {
        struct nccl_setup s;
        int domain; /* trays */
        int nodes, ranks_per_node;
    } all[] = {{{.nodes = 8}, 4, 2, 16},
               {{.nodes = 4}, 4, 1, 16},
               {{.nodes = 8}, 8, 1, 32},
               {{.nodes = 8, .ranks_per_node = 1, .first_gpu = 2}, 8, 1, 8},
               {{.nodes = 8, .no_mnnvl = 1}, 8, 8, 4},
               {{.nodes = 8, .p2p_within = PATH_LOC + 1}, 8, 8, 4},
               {{.nodes = 8, .version = 22005}, 8, 8, 4}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct nccl_setup s = all[i].s;
        model("gb200-nvl72", 8, 22809);
        for (int h = 0; h < 8; h++)
            topology->hosts[h].clique = arena_printf(topology->arena, "rack.%d", h / all[i].domain);
        s.topology = topology;
        const struct nccl_model *m = nccl_model_new(&s, arena, &error);
        assert_int_equal(m->nodes, all[i].nodes);
        assert_int_equal(m->ranks_per_node, all[i].ranks_per_node);
        for (int k = 0; k < m->ranks_per_node && s.first_gpu; k++)
            assert_int_equal(m->c->gpus[m->gpus[k]].index, 2);
    }
}

TEST_CASE(as_many_nodes_as_one_likes)
{
    const struct nccl_model *few = model("azure-ndv5", 3, 23007);
    int channels = few->nchannels;
    const struct nccl_model *many = model("azure-ndv5", 100000, 23007);
    assert_int_equal(many->nchannels, channels);
    assert_int_equal(many->ranks, 800000);
    struct nccl_choice c;
    assert_int_equal(nccl_model_choose(many, COLL_ALLREDUCE, 1 << 30, &c), 0);
    assert_true(c.us > 0);
}

TEST_CASES_EACH(test_graph, begin, end)
