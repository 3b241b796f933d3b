/* model/links.c: the links of a small node by hand, one by one, what is assumed of those nobody
 * knows, and which of them every copy loads. */
#include "model/links.h"
#include "probe/machines/hardware.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"

enum { NUMA0, NUMA1, SWITCH, GPU0, GPU1, GPU2, NIC, NVSWITCH, OBJECTS };

/* Two Ampere GPUs on a switch, joined; a GPU that nobody knows on an NVSwitch; one NIC, another port, an interface. */
struct bed {
    struct arena *a;
    struct topo_object objects[OBJECTS];
    struct topo_gpu gpus[3];
    struct topo_port ports[2];
    struct topo_link links[7];
    struct topo_class c;
    struct topology t;
    struct nccl_net nets[3];
    struct nccl_model nccl;
    struct model_notes notes;
    struct model_links *l;
};

static void make(struct bed *b)
{
    static const int all[] = {0, 1, 2};
    *b = (struct bed){
        .a = arena_new(),
        .objects = {[NUMA0] = {.kind = TOPO_NUMA, .parent = -1},
                    [NUMA1] = {.kind = TOPO_NUMA, .parent = -1, .numa = 1},
                    [SWITCH] = {.kind = TOPO_SWITCH,
                                .parent = NUMA0,
                                .pci = "0000:01:00.0",
                                .link_GBps = 30,
                                .link_GTps = 8,
                                .link_max_GTps = 16,
                                .link_width = 16},
                    [GPU0] = {.kind = TOPO_GPU,
                              .parent = SWITCH,
                              .name = "GPU0",
                              .link_GBps = 2,
                              .link_GTps = 2.5,
                              .link_max_GTps = 16,
                              .link_width = 8},
                    [GPU1] = {.kind = TOPO_GPU, .parent = SWITCH, .name = "GPU1", .link_GBps = 0.25},
                    [GPU2] = {.kind = TOPO_GPU, .parent = NUMA1, .numa = 1},
                    [NIC] = {.kind = TOPO_NIC, .parent = NUMA1, .numa = 1, .name = "ib0", .link_GBps = 0.3},
                    [NVSWITCH] = {.kind = TOPO_NVSWITCH, .parent = NUMA0}},
        .gpus = {{.object = GPU0, .index = 0, .sm = 80, .gdr = 1},
                 {.object = GPU1, .index = 1, .sm = 80, .gdr = 1},
                 {.object = GPU2, .index = 2, .gdr = 1}},
        .ports = {{.object = NIC, .hca = "mlx5_0", .port = 1, .layer = TOPO_LINK_INFINIBAND, .rate_Gbps = 200},
                  {.object = -1, .hca = "mlx5_1", .port = 1, .layer = TOPO_LINK_UNKNOWN}},
        .links = {{.link_kind = TOPO_NVLINK, .gpu = 0, .peer_gpu = 1, .peer_object = -1, .count = 2, .GBps = 50},
                  {.link_kind = TOPO_NVLINK, .gpu = 1, .peer_gpu = 0, .peer_object = -1, .GBps = 80},
                  {.link_kind = TOPO_C2C, .gpu = 0, .peer_gpu = -1, .peer_object = NUMA0, .GBps = 400},
                  {.link_kind = TOPO_NVLINK, .gpu = 2, .peer_gpu = -1, .peer_object = NVSWITCH, .count = 3},
                  {.link_kind = TOPO_NVLINK, .gpu = 2, .peer_gpu = -1, .peer_object = NVSWITCH, .GBps = 25},
                  {.link_kind = TOPO_XGMI, .gpu = 1, .peer_gpu = 2, .peer_object = -1},
                  {.link_kind = TOPO_NVLINK, .gpu = 0, .peer_gpu = -1, .peer_object = NUMA1, .GBps = 9}},
        .nets = {{.name = "mlx5_0:1", .object = NIC, .port = 0, .GBps = 25, .gdr = 1, .devices = 1},
                 {.name = "eth0", .object = -1, .port = -1, .devices = 1},
                 {.name = "mlx5_1:1", .object = -1, .port = 1, .GBps = 1.25, .gdr = 1, .devices = 1}},
    };
    b->c = (struct topo_class){.cpu = "AuthenticAMD 25/1",
                               .objects = b->objects,
                               .gpus = b->gpus,
                               .ports = b->ports,
                               .links = b->links,
                               .nobjects = OBJECTS,
                               .ngpus = 3,
                               .nports = 2,
                               .nlinks = 7};
    b->t = (struct topology){.classes = &b->c, .nclasses = 1};
    b->nccl = (struct nccl_model){.setup = {.topology = &b->t, .nodes = 2},
                                  .nodes = 2,
                                  .ranks = 6,
                                  .ranks_per_node = 3,
                                  .trays = 1,
                                  .c = &b->c,
                                  .gpus = all,
                                  .nets = b->nets,
                                  .nnets = 3};
    b->notes.arena = b->a;
    const char *assumed;
    b->l = model_links_new(&b->nccl, model_gpu_of(&b->c, &assumed), b->a, &b->notes);
}

static void expect(const struct bed *b, int link, const char *name, double GBps, int between_nodes)
{
    assert_true(link >= 0 && link < b->l->n);
    const struct model_link *k = &b->l->links[link];
    if (strcmp(k->name, name) != 0 || fabs(k->GBps - GBps) > 1e-9 || k->between_nodes != between_nodes)
        fail_msg("%s of %g GB/s in place of %s of %g", k->name, k->GBps, name, GBps);
}

struct load {
    int link;
    double load;
};

/* Those links carry that much, and no others anything; clears what they carry. */
static void carried(const struct bed *b, double *loads, const struct load *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fabs(loads[want[i].link] - want[i].load) > 1e-9)
            fail_msg("%s carries %g", b->l->links[want[i].link].name, loads[want[i].link]);
        loads[want[i].link] = 0;
    }
    for (int i = 0; i < b->l->n; i++)
        if (loads[i] != 0)
            fail_msg("%s (%d) carries %g", b->l->links[i].name, i, loads[i]);
}
#define CARRIED(...) \
    carried(&b, loads, (struct load[]){__VA_ARGS__}, sizeof((struct load[]){__VA_ARGS__}) / sizeof(struct load))

/* Payload is 85 % of what PCIe carries; a GPU's link that sleeps is taken at its full speed, lanes as they are. */
TEST_CASE(pcie)
{
    struct bed b;
    make(&b);
    const struct hw_gpu *hw = hw_gpu_of(&b.c, &b.gpus[1]);
    const struct {
        int object;
        const char *name;
        double GBps;
    } want[] = {{SWITCH, "PCIe of 0000:01:00.0", 30},
                {GPU0, "PCIe of GPU0", pci_GBps(16, 8)},
                {GPU1, "PCIe of GPU1", pci_GBps(hw->pcie_GTps, hw->pcie_width)},
                {NIC, "PCIe of mlx5_0", 0.3}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        expect(&b, b.l->pcie_up[want[i].object], want[i].name, want[i].GBps * 0.85, 0);
        expect(&b, b.l->pcie_down[want[i].object], want[i].name, want[i].GBps * 0.85, 0);
        assert_int_not_equal(b.l->pcie_up[want[i].object], b.l->pcie_down[want[i].object]);
        assert_int_equal(b.l->memory[want[i].object], -1);
        assert_int_equal(b.l->socket_out[want[i].object], -1);
    }
    for (int i = NUMA0; i <= NUMA1; i++) {
        assert_int_equal(b.l->pcie_up[i], -1);
        expect(&b, b.l->memory[i], "host memory", 58, 0);
        expect(&b, b.l->socket_out[i], "the link between sockets", 16, 0);
        expect(&b, b.l->socket_in[i], "the link between sockets", 16, 0);
    }
    assert_int_equal(b.l->pcie_down[GPU2], -1);
    b.objects[GPU0].link_width = 1;
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    expect(&b, b.l->pcie_up[GPU0], "PCIe of GPU0", pci_GBps(16, 1) * 0.85, 0);
    b.objects[GPU0].link_GTps = 16; /* awake */
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    expect(&b, b.l->pcie_up[GPU0], "PCIe of GPU0", 2 * 0.85, 0);
    arena_free(b.a);
}

/* Of Ampere 80 % of what links are specified for; those of one end alone count both ways, the widest of several. */
TEST_CASE(between_gpus)
{
    struct bed b;
    make(&b);
    const int *direct = b.l->direct;
    expect(&b, direct[1], "NVLink of GPU0", 40, 0);
    expect(&b, direct[3], "NVLink of GPU0", 64, 0);
    expect(&b, direct[5], "XGMI of GPU1", 20, 0);
    expect(&b, direct[7], "XGMI of GPU1", 20, 0);
    assert_int_equal(direct[0] + direct[2] + direct[4] + direct[6] + direct[8], -5);
    expect(&b, b.l->nvlink_out[2], "NVLink of a switch", (3 * 25 + 25) * 0.8, 0);
    expect(&b, b.l->nvlink_in[2], "NVLink of a switch", (3 * 25 + 25) * 0.8, 0);
    assert_int_equal(b.l->nvlink_out[0] + b.l->nvlink_in[0] + b.l->nvlink_out[1] + b.l->nvlink_in[1], -4);
    assert_int_equal(b.l->even_mesh + b.l->ngates, 0);
    arena_free(b.a);
}

TEST_CASE(between_nodes)
{
    struct bed b;
    make(&b);
    static const enum model_net_kind kinds[] = {MODEL_NET_INFINIBAND, MODEL_NET_SOCKETS, MODEL_NET_INFINIBAND};
    static const char *const names[] = {"NIC mlx5_0:1", "NIC eth0", "NIC mlx5_1:1"};
    static const double GBps[] = {25 * 0.95, 12.5 * 0.90, 12.5 * 0.95};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(b.l->kinds[i], kinds[i]);
        expect(&b, b.l->nic_out[i], names[i], GBps[i], 1);
        expect(&b, b.l->nic_in[i], names[i], GBps[i], 1);
        assert_int_not_equal(b.l->nic_out[i], b.l->nic_in[i]);
    }
    expect(&b, b.l->tcp_out, "TCP of the host", 1.7, 1);
    expect(&b, b.l->tcp_in, "TCP of the host", 1.7, 1);
    assert_int_equal(model_class_to_net(b.l, 0, 0), PATH_SYS);
    assert_int_equal(model_class_to_net(b.l, 2, 0), PATH_PHB);
    assert_int_equal(model_class_to_net(b.l, 2, 1), PATH_UNKNOWN);
    b.nccl.setup.sockets = 1;
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    expect(&b, b.l->nic_out[0], "NIC mlx5_0:1", 25 * 0.90, 1);
    arena_free(b.a);
}

TEST_CASE(what_is_assumed)
{
    static const char *const want[] = {
        "the bandwidth of NVLink is unknown: 25 GB/s per link was assumed",
        "the bandwidth of XGMI is unknown: 25 GB/s per link was assumed",
        "the kind of network of mlx5_1:1 is unknown: InfiniBand was assumed (ibstat with --merge tells it)",
        "the rate of eth0 and 1 more is unknown: 100 Gb/s was assumed (--link-rate sets it)",
    };
    struct bed b;
    make(&b);
    assert_int_equal(b.notes.n, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(b.notes.texts[i], want[i]);
    assert_int_equal(b.notes.parts, 1u << MODEL_LINKS | MODEL_NET_PARTS);
    arena_free(b.a);
}

/* Each sentence once, and no more than there is room for; the doubt of those that are left out stays. */
TEST_CASE(notes)
{
    struct model_notes n = {.arena = arena_new()};
    for (int i = 0; i < 40; i++)
        model_note(&n, i < 39 ? 1 : 4, "number %d", i / 2);
    assert_int_equal(n.n, MODEL_MOST_NOTES);
    assert_string_equal(n.texts[15], "number 15");
    assert_int_equal(n.parts, 5);
    arena_free(n.arena);
}

TEST_CASE(ways_between_gpus)
{
    struct bed b;
    make(&b);
    struct nccl_setup *setup = &b.nccl.setup;
    const int *up = b.l->pcie_up, *down = b.l->pcie_down;
    double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    assert_int_equal(model_way_gpus(b.l, 0, 1, 3, loads), MODEL_WAY_LINKS);
    CARRIED({b.l->direct[1], 3});
    assert_int_equal(model_way_gpus(b.l, 2, 1, 1, loads), MODEL_WAY_LINKS);
    CARRIED({b.l->direct[7], 1});
    setup->p2p_within = PATH_NVL + 1;
    assert_int_equal(model_way_gpus(b.l, 0, 1, 1, loads), MODEL_WAY_LINKS);
    CARRIED({b.l->direct[1], 1});
    setup->p2p_within = PATH_LOC + 1; /* off: once to memory, once from it */
    assert_int_equal(model_way_gpus(b.l, 0, 1, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {down[SWITCH], 1}, {down[GPU1], 1}, {b.l->memory[NUMA0], 2});
    setup->p2p_within = 0;
    assert_int_equal(model_way_gpus(b.l, 0, 2, 1, loads),
                     MODEL_WAY_MEMORY); /* a link of nobody knows how many leads no further */
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {b.l->socket_out[NUMA0], 1}, {b.l->socket_in[NUMA1], 1},
            {b.l->memory[NUMA0], 2});
    b.links[5].count = 1;
    b.links[5].link_kind = TOPO_NVLINK; /* by GPU1, which both are joined to */
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    assert_int_equal(model_way_gpus(b.l, 0, 2, 1, loads), MODEL_WAY_LINKS);
    CARRIED({b.l->direct[1], 1}, {b.l->direct[5], 1});
    assert_int_equal(model_way_mesh(b.l, 0, 1, loads), MODEL_WAY_LINKS);
    CARRIED({b.l->direct[1], 1}, {b.l->direct[5], 0.5});
    b.c.nlinks = 0; /* over PCIe: below the switch, and between sockets by memory */
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    up = b.l->pcie_up;
    down = b.l->pcie_down;
    assert_int_equal(model_way_gpus(b.l, 0, 1, 1, loads), MODEL_WAY_PCIE);
    CARRIED({up[GPU0], 1}, {down[GPU1], 1});
    assert_int_equal(model_way_gpus(b.l, 2, 1, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({down[SWITCH], 1}, {down[GPU1], 1}, {b.l->socket_out[NUMA1], 1}, {b.l->socket_in[NUMA0], 1},
            {b.l->memory[NUMA1], 2});
    setup->p2p_within = PATH_SYS + 1;
    assert_int_equal(model_way_gpus(b.l, 0, 2, 1, loads), MODEL_WAY_PCIE);
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {b.l->socket_out[NUMA0], 1}, {b.l->socket_in[NUMA1], 1});
    arena_free(b.a);
}

/* GPUDirect as far as PCI switches reach, or as the level says; through memory otherwise. */
TEST_CASE(ways_to_nics)
{
    struct bed b;
    make(&b);
    struct nccl_setup *setup = &b.nccl.setup;
    const int *up = b.l->pcie_up, *down = b.l->pcie_down;
    double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    assert_int_equal(model_way_out(b.l, 2, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({down[NIC], 1}, {b.l->memory[NUMA1], 2}, {b.l->nic_out[0], 1});
    assert_int_equal(model_way_in(b.l, 0, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[NIC], 1}, {b.l->socket_out[NUMA1], 1}, {b.l->socket_in[NUMA0], 1}, {down[SWITCH], 1}, {down[GPU0], 1},
            {b.l->memory[NUMA1], 2}, {b.l->nic_in[0], 1});
    setup->gdr_within = PATH_PHB; /* one less than that */
    assert_int_equal(model_way_out(b.l, 2, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({down[NIC], 1}, {b.l->memory[NUMA1], 2}, {b.l->nic_out[0], 1});
    setup->gdr_within = PATH_PHB + 1;
    assert_int_equal(model_way_out(b.l, 2, 0, 1, loads), MODEL_WAY_PCIE);
    CARRIED({down[NIC], 1}, {b.l->nic_out[0], 1});
    assert_int_equal(model_way_in(b.l, 0, 2, 1, loads), MODEL_WAY_PCIE);
    CARRIED({up[NIC], 1}, {b.l->nic_in[0], 1});
    b.gpus[2].gdr = 0; /* the GPU cannot, */
    assert_int_equal(model_way_in(b.l, 0, 2, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[NIC], 1}, {b.l->nic_in[0], 1}, {b.l->memory[NUMA1], 2});
    b.gpus[2].gdr = -1; /* nobody knows whether it can, */
    assert_int_equal(model_way_in(b.l, 0, 2, 1, loads), MODEL_WAY_PCIE);
    CARRIED({up[NIC], 1}, {b.l->nic_in[0], 1});
    b.nets[0].gdr = 0; /* the NIC cannot */
    assert_int_equal(model_way_in(b.l, 0, 2, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[NIC], 1}, {b.l->nic_in[0], 1}, {b.l->memory[NUMA1], 2});
    /* An interface that nobody knows the place of: through memory and the kernel. */
    assert_int_equal(model_way_out(b.l, 0, 1, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {b.l->memory[NUMA0], 2}, {b.l->nic_out[1], 1}, {b.l->tcp_out, 1});
    assert_int_equal(model_way_in(b.l, 1, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({down[GPU0], 1}, {down[SWITCH], 1}, {b.l->memory[NUMA0], 2}, {b.l->nic_in[1], 1}, {b.l->tcp_in, 1});
    /* Four adapters that are one NIC. */
    b.nets[0].devices = 4;
    b.l->kinds[0] = MODEL_NET_EFA_2;
    model_way_out(b.l, 2, 0, 1, loads);
    CARRIED({down[NIC], 0.25}, {b.l->nic_out[0], 1}, {b.l->memory[NUMA1], 2});
    model_way_in(b.l, 0, 2, 1, loads);
    CARRIED({up[NIC], 0.25}, {b.l->nic_in[0], 1}, {b.l->memory[NUMA1], 2});
    arena_free(b.a);
}

/* By the peer that is beside the NIC, over NVLink alone, unless that is forbidden; between nodes of a domain no NIC. */
TEST_CASE(ways_by_others)
{
    struct bed b;
    make(&b);
    struct nccl_setup *setup = &b.nccl.setup;
    b.objects[NIC].parent = SWITCH;
    b.objects[NIC].numa = 0;
    b.l = model_links_new(&b.nccl, b.l->gpu, b.a, &b.notes);
    const int *up = b.l->pcie_up, *down = b.l->pcie_down;
    double *loads = arena_alloc(b.a, (size_t)b.l->n * sizeof *loads);
    assert_int_equal(model_way_out(b.l, 0, 0, 1, loads), MODEL_WAY_PCIE);
    CARRIED({up[GPU0], 1}, {down[NIC], 1}, {b.l->nic_out[0], 1});
    b.gpus[0].gdr = 0; /* GPU1 can */
    assert_int_equal(model_way_out(b.l, 0, 0, 1, loads), MODEL_WAY_PCIE);
    CARRIED({b.l->direct[1], 1}, {up[GPU1], 1}, {down[NIC], 1}, {b.l->nic_out[0], 1});
    setup->no_pxn = 1;
    assert_int_equal(model_way_out(b.l, 0, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {down[SWITCH], 1}, {down[NIC], 1}, {b.l->memory[NUMA0], 2},
            {b.l->nic_out[0], 1});
    setup->no_pxn = 0;
    setup->p2p_within = PATH_LOC + 1;
    assert_int_equal(model_way_out(b.l, 0, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({up[GPU0], 1}, {up[SWITCH], 1}, {down[SWITCH], 1}, {down[NIC], 1}, {b.l->memory[NUMA0], 2},
            {b.l->nic_out[0], 1});
    setup->p2p_within = 0;
    b.gpus[2].gdr = 0; /* XGMI is no way there */
    assert_int_equal(model_way_out(b.l, 2, 0, 1, loads), MODEL_WAY_MEMORY);
    CARRIED({b.l->socket_out[NUMA1], 1}, {b.l->socket_in[NUMA0], 1}, {down[SWITCH], 1}, {down[NIC], 1},
            {b.l->memory[NUMA1], 2}, {b.l->nic_out[0], 1});
    arena_free(b.a);
}

TEST_CASES(test_links)
