/* model/flows.c and what is below it: loads that can be worked out by hand. */
#include "model/links.h"
#include "model/nccl/model.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

struct bed {
    struct topology *t;
    struct arena *a;
    struct nccl_setup s;
    struct model_switches switches;
    struct model_notes notes;
    struct model_links *l;
    struct model_flow flows[MODEL_PATTERNS];
};

static void make_up(struct bed *b, const char *machine, int nodes)
{
    struct err e = {0};
    memset(b, 0, sizeof *b);
    b->a = arena_new();
    b->t = machine_topology(machine, nodes, &e);
    if (!b->t)
        fail_msg("%s", e.text);
    b->s = (struct nccl_setup){.topology = b->t, .nodes = nodes};
    b->notes.arena = b->a;
}

static void lay(struct bed *b)
{
    struct err e = {0};
    const char *assumed;
    const struct nccl_model *m = nccl_model_new(&b->s, b->a, &e);
    if (!m)
        fail_msg("%s", e.text);
    b->l = model_links_new(m, model_gpu_of(&b->t->classes[0], &assumed), b->a, &b->notes);
    model_flows(b->l, NULL, 0, &b->switches, b->flows, b->a);
}

static void clear(struct bed *b)
{
    arena_free(b->a);
    topo_free(b->t);
}

/* Within 1 %. */
static int about(double got, double want)
{
    return fabs(got - want) <= 0.01 * want;
}

/* Microseconds a byte at so many GB/s. */
static double us_at(double GBps)
{
    return 1 / GBps / 1e3;
}

static const struct model_load *load(const struct bed *b, enum model_pattern p, int channels)
{
    assert_non_null(b->flows[p].loads);
    return &b->flows[p].loads[channels - 1];
}

/* A ring leaves every GPU once: all its NVLinks at most. Twelve links of 25 GB/s, 80 % of them. */
TEST_CASE(ring_in_a_node)
{
    struct bed b;
    make_up(&b, "dgx-a100", 1);
    lay(&b);
    const struct model_load *one = load(&b, MODEL_RING, 1), *all = load(&b, MODEL_RING, 24);
    assert_true(about(one->node_us, us_at(12 * 25 * 0.8)) && about(all->node_us, one->node_us));
    assert_true(one->net_us == 0);
    assert_true(b.flows[MODEL_RING].node_way == MODEL_WAY_LINKS);
    /* Up and down a chain is twice a ring's, less what two streams cost. */
    assert_true(about(load(&b, MODEL_TREE, 24)->node_us, 2 * all->node_us / model_common.tree_efficiency));
    assert_null(b.flows[MODEL_NVLS].loads);
    /* Seven of eight parts leave every GPU, three of ten of all seven others' come to a hot one. */
    assert_true(about(load(&b, MODEL_ALLTOALL, 1)->node_us, 7.0 / 8 * us_at(240)));
    assert_true(about(load(&b, MODEL_ALLTOALLV, 1)->node_us, 21.0 / 10 * us_at(240)));
    clear(&b);
}

static double link_GBps(const struct bed *b, const char *name)
{
    for (int i = 0; i < b->l->n; i++)
        if (!strcmp(b->l->links[i].name, name))
            return b->l->links[i].GBps;
    fail_msg("there is no link %s", name);
    return 0;
}

/* RCCL's rings leave a GPU of a full mesh by all of its links at once. */
TEST_CASE(ring_in_a_mesh)
{
    struct bed b;
    make_up(&b, "mi300x", 1);
    lay(&b);
    assert_true(about(load(&b, MODEL_RING, 1)->node_us, us_at(7 * b.l->links[b.l->direct[1]].GBps)));
    clear(&b);
}

TEST_CASE(nvls_in_a_node)
{
    struct bed b;
    make_up(&b, "dgx-h100", 1);
    lay(&b);
    assert_true(about(load(&b, MODEL_NVLS, 16)->node_us, (1 + 1.0 / 8) * us_at(18 * 25 * b.l->gpu->nvls_efficiency)));
    clear(&b);
}

/* Eight NICs carry an eighth each, one carries all; a tree's busiest node sends more with every child. */
TEST_CASE(nics)
{
    static const double sends[] = {1, 1.5, 2, 2};
    struct bed b;
    make_up(&b, "azure-ndv4", 2);
    lay(&b);
    double nic = us_at(25 * model_nets[MODEL_NET_INFINIBAND].efficiency);
    assert_true(about(load(&b, MODEL_RING, 8)->net_us, nic / 8));
    assert_true(about(load(&b, MODEL_RING, 1)->net_us, nic));
    assert_true(about(load(&b, MODEL_ALLTOALL, 1)->net_us, 8.0 / 16 * nic));
    assert_true(about(load(&b, MODEL_ALLTOALLV, 1)->net_us, 24.0 / 18 * nic));
    assert_true(b.flows[MODEL_RING].kind == MODEL_NET_INFINIBAND && b.flows[MODEL_RING].net_way == MODEL_WAY_PCIE);
    clear(&b);
    for (int i = 0; i < 4; i++) {
        make_up(&b, "azure-ndv4", 2 + i);
        lay(&b);
        assert_true(about(load(&b, MODEL_TREE, 8)->net_us, sends[i] * nic / 8));
        clear(&b);
    }
    const char *hcas[] = {"mlx5_ib2"};
    make_up(&b, "azure-ndv4", 2);
    b.s.hcas = hcas;
    b.s.nhcas = 1;
    lay(&b);
    assert_true(about(load(&b, MODEL_RING, 2)->net_us, nic));
    assert_true(about(load(&b, MODEL_ALLTOALL, 1)->net_us, 8 * 8.0 / 16 * nic));
    clear(&b);
}

static double on(const struct bed *b, const double *loads, const char *link)
{
    double most = -1;
    for (int i = 0; i < b->l->n; i++)
        if (!strcmp(b->l->links[i].name, link) && loads[i] > most)
            most = loads[i];
    return most;
}

/* To a NIC of the other socket: by the NVLink peer beside it; without PXN through memory and between the sockets. */
TEST_CASE(far_nic)
{
    struct bed b;
    for (int no_pxn = 0; no_pxn < 2; no_pxn++) {
        make_up(&b, "azure-ndv5", 2);
        b.s.no_pxn = no_pxn;
        lay(&b);
        int last = b.l->nccl->nnets - 1;
        double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
        enum model_way way = model_way_out(b.l, 0, last, 1, loads);
        assert_int_equal(way, no_pxn ? MODEL_WAY_MEMORY : MODEL_WAY_PCIE);
        assert_true(on(&b, loads, "NVLink of GPU0") == !no_pxn);
        assert_true(on(&b, loads, "PCIe of GPU0") == no_pxn);
        assert_true(on(&b, loads, "PCIe of GPU7") == !no_pxn);
        assert_true(on(&b, loads, "the link between sockets") == no_pxn);
        assert_true(on(&b, loads, "host memory") == 2 * no_pxn);
        assert_true(on(&b, loads, "NIC mlx5_ib7:1") == 1);
        /* The other way there is no PXN. */
        assert_int_equal(model_way_in(b.l, last, 0, 1, loads), MODEL_WAY_MEMORY);
        clear(&b);
    }
}

/* Without NVLink: over the switch that two GPUs share, through memory where they do not. */
TEST_CASE(pcie_boxes)
{
    struct bed b;
    make_up(&b, "8xa100-pcie", 1);
    lay(&b);
    double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    assert_int_equal(model_way_gpus(b.l, 0, 1, 1, loads), MODEL_WAY_PCIE);
    assert_true(on(&b, loads, "PCIe of GPU0") == 1 && on(&b, loads, "host memory") == 0);
    assert_true(about(link_GBps(&b, "PCIe of GPU0"), 31.5 * model_common.pcie_efficiency));
    assert_int_equal(model_way_gpus(b.l, 0, 7, 1, loads), MODEL_WAY_MEMORY);
    assert_true(on(&b, loads, "host memory") == 2 && on(&b, loads, "the link between sockets") == 1);
    clear(&b);
    make_up(&b, "4x4090", 1);
    lay(&b);
    loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    assert_int_equal(model_way_gpus(b.l, 0, 1, 1, loads), MODEL_WAY_MEMORY);
    clear(&b);
    make_up(&b, "dgx-spark", 2); /* no copy is slower than the memory that CPU and GPU share */
    lay(&b);
    assert_true(about(link_GBps(&b, "host memory"), hw_gpu_find("gb10")->mem_GBps));
    clear(&b);
}

/* RCCL's channels: a NIC for each, and no copy through host memory, whatever NCCL's search would do. */
TEST_CASE(gates)
{
    static const char *const machines[] = {"mi300x", "mi325x", "azure-ndv5-mi300x"};
    struct bed b;
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        make_up(&b, machines[i], 2);
        lay(&b);
        double nic = us_at(50 * model_nets[b.l->kinds[0]].efficiency);
        assert_int_equal(b.l->ngates, 8);
        assert_int_equal(b.flows[MODEL_RING].net_way, MODEL_WAY_PCIE);
        assert_int_equal(b.flows[MODEL_TREE].net_way, MODEL_WAY_PCIE);
        assert_true(about(load(&b, MODEL_RING, 8)->net_us, nic / 8));
        assert_true(about(load(&b, MODEL_TREE, 8)->net_us, nic / 8));
        assert_true(about(load(&b, MODEL_RING, 1)->net_us, nic));
        clear(&b);
    }
    /* Those that are left take turns; of one alone no ring can come and go. */
    for (int n = 1; n <= 3; n++) {
        const char *hcas[] = {"mlx5_0", "mlx5_5", "mlx5_7"};
        make_up(&b, "mi300x", 2);
        b.s.hcas = hcas;
        b.s.nhcas = n;
        lay(&b);
        assert_int_equal(b.l->ngates, n > 1 ? n : 0);
        assert_true(n < 3 || (b.l->gates[1].gpu == 5 && b.l->gates[1].net == 1));
        clear(&b);
    }
    make_up(&b, "dgx-h100", 2);
    lay(&b);
    assert_int_equal(b.l->ngates, 0);
    clear(&b);
}

/* The nodes of a rack with one NVLink domain are one node, which uses no NIC; two racks have a NIC for each GPU. */
TEST_CASE(one_domain)
{
    struct bed b;
    make_up(&b, "gb200-nvl72", 18);
    lay(&b);
    assert_true(load(&b, MODEL_RING, 16)->net_us == 0 && load(&b, MODEL_ALLTOALL, 1)->net_us == 0);
    clear(&b);
    make_up(&b, "gb200-nvl72", 36);
    lay(&b);
    assert_true(about(load(&b, MODEL_ALLTOALL, 1)->net_us, us_at(50 * 0.95) / 2)); /* half of a GPU's bytes leave */
    assert_int_equal(b.flows[MODEL_RING].net_way, MODEL_WAY_PCIE);                 /* over C2C, by GPUDirect */
    clear(&b);
}

/* Four adapters that count as one NIC share what goes through it, but no PCIe link. */
TEST_CASE(cards_of_one_nic)
{
    struct bed b;
    make_up(&b, "aws-p5", 2);
    lay(&b);
    const struct nccl_net *net = &b.l->nccl->nets[0];
    double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    model_way_out(b.l, 0, 0, 1, loads);
    model_way_in(b.l, 0, 0, 1, loads);
    assert_int_equal(net->devices, 4);
    assert_true(loads[b.l->nic_out[0]] == 1 && loads[b.l->nic_in[0]] == 1);
    assert_true(loads[b.l->pcie_down[net->object]] == 0.25 && loads[b.l->pcie_up[net->object]] == 0.25);
    clear(&b);
}

TEST_CASE(rates)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    for (int i = 0; i < b.t->classes[0].nports; i++)
        b.t->classes[0].ports[i].rate_Gbps = 0;
    lay(&b);
    assert_true(about(b.l->links[b.l->nic_out[0]].GBps, 12.5 * model_nets[MODEL_NET_INFINIBAND].efficiency));
    assert_int_equal(b.notes.n, 1);
    clear(&b);
    /* Clouds' adapters get more sockets for each connection. */
    make_up(&b, "gcp-a2-ultra", 2);
    lay(&b);
    assert_true(link_GBps(&b, "TCP of the host") == model_common.tcp_cloud_GBps);
    clear(&b);
    make_up(&b, "dgx-a100", 2);
    b.s.sockets = 1;
    lay(&b);
    assert_true(link_GBps(&b, "TCP of the host") == model_common.tcp_GBps);
    clear(&b);
}

/* All-to-all of 4 nodes, 2 to a leaf: two of three partners are on the other leaf. */
TEST_CASE(uplinks)
{
    struct bed b;
    make_up(&b, "azure-ndv4", 4);
    b.switches = (struct model_switches){2, 6, 1};
    lay(&b);
    double nics_us = us_at(8 * 25 * model_nets[MODEL_NET_INFINIBAND].efficiency);
    assert_int_equal(load(&b, MODEL_ALLTOALL, 1)->net_link, MODEL_UPLINKS);
    assert_true(about(load(&b, MODEL_ALLTOALL, 1)->net_us, 8 * 24.0 / 32 * (2.0 / 3) * 6 * nics_us));
    /* A ring leaves each leaf once: half of what its nodes send. */
    assert_true(about(load(&b, MODEL_RING, 8)->net_us, 0.5 * 6 * nics_us));
    clear(&b);
    /* A ring that goes on by another rail leaves the leaf of its rail every time, and no leaf that holds all rails of
     * both nodes. */
    for (int mixed = 0; mixed < 2; mixed++) {
        make_up(&b, "mi300x", 4);
        b.switches = (struct model_switches){2, 6, mixed};
        lay(&b);
        nics_us = us_at(8 * 50 * model_nets[MODEL_NET_INFINIBAND].efficiency);
        assert_true(about(load(&b, MODEL_RING, 8)->net_us, (mixed ? 0.5 : 1) * 6 * nics_us));
        assert_true(about(load(&b, MODEL_TREE, 8)->net_us, 0.5 * 2 * 6 * nics_us));
        clear(&b);
    }
}

/* ---- what is known of bundled machines -------------------------------------------------------------------------- */

TEST_CASE(kinds_of_networks)
{
    static const struct {
        const char *machine;
        enum model_net_kind kind;
    } cases[] = {
        {"dgx-a100", MODEL_NET_INFINIBAND},  {"oci-h100", MODEL_NET_ROCE},
        {"aws-p4d", MODEL_NET_EFA},          {"aws-p5", MODEL_NET_EFA_2},
        {"aws-p5en", MODEL_NET_EFA_2},       {"gcp-a3-high", MODEL_NET_TCPX},
        {"gcp-a3-mega", MODEL_NET_TCPXO},    {"gcp-a3-ultra", MODEL_NET_ROCE_VIRTUAL},
        {"gcp-a2-ultra", MODEL_NET_SOCKETS}, {"mi250x", MODEL_NET_SLINGSHOT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed b;
        make_up(&b, cases[i].machine, 2);
        lay(&b);
        for (int k = 0; k < b.l->nccl->ring.nchannels; k++)
            if (b.l->kinds[b.l->nccl->ring.nets[2 * k]] != cases[i].kind)
                fail_msg("%s: %s", cases[i].machine, model_nets[b.l->kinds[b.l->nccl->ring.nets[2 * k]]].name);
        if (b.flows[MODEL_RING].kind != cases[i].kind)
            fail_msg("%s's rings are over %s", cases[i].machine, model_nets[b.flows[MODEL_RING].kind].name);
        clear(&b);
    }
}

/* Every GPU of the table of hardware belongs to a generation. */
TEST_CASE(generations)
{
    for (const struct hw_gpu *hw = hw_gpus; hw->name; hw++) {
        struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .model = hw->model};
        struct topo_gpu g = {.sm = hw->sm, .arch = hw->arch};
        struct topo_class c = {.objects = &o, .gpus = &g, .nobjects = 1, .ngpus = 1};
        const char *assumed;
        assert_non_null(model_gpu_of(&c, &assumed));
        if (assumed)
            fail_msg("%s: %s", hw->name, assumed);
    }
}

TEST_CASES(test_flows)
