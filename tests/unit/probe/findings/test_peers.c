/* probe/findings/peers.c: what is not like its peers. */
#include "probe/findings/findings.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"

/* Eight H100 behind NVSwitches, each with an HCA. */
static struct topology *well(void)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    build_host(t, "node1", 0);
    c->product = "Maker M1";
    int nvswitch = build_object(t, c, (struct topo_object){.kind = TOPO_NVSWITCH, .parent = -1, .numa = -1});
    for (int i = 0; i < 8; i++) {
        struct topo_object o = {.kind = TOPO_GPU,
                                .parent = -1,
                                .numa = -1,
                                .model = "NVIDIA H100 80GB HBM3",
                                .pci = arena_printf(t->arena, "0000:%02x:00.0", i + 1),
                                .link_max_GTps = 32,
                                .link_max_width = 16};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1, .vbios = "96.00.74"});
        build_link(t, c, (struct topo_link){.gpu = i, .peer_gpu = -1, .peer_object = nvswitch, .count = 18});
        build_port(t, c,
                   (struct topo_port){.object = -1,
                                      .hca = arena_printf(t->arena, "mlx5_%d", i),
                                      .port = 1,
                                      .firmware = "28.43.1014",
                                      .board_id = "MT_0838"});
    }
    return t;
}

static const char *evidence(struct topology *t, const char *id)
{
    findings_attach(t);
    for (int i = 0; i < t->nfindings; i++)
        if (!strcmp(t->findings[i].id, id))
            return t->findings[i].evidence;
    return NULL;
}

TEST_CASE(is_well)
{
    static const char *const kinds[] = {"gpu-missing",      "gpu-models-differ",  "vbios-differs",
                                        "firmware-differs", "pcie-unlike-others", "address-twice"};
    struct topology *t = well();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_null(evidence(t, kinds[i]));
    topo_free(t);
}

TEST_CASE(within_a_node)
{
    struct topology *t = well();
    struct topo_class *c = &t->classes[0];
    c->gpus[3].vbios = "96.00.61";
    c->gpus[5].vbios = NULL; /* not known */
    assert_string_equal(evidence(t, "vbios-differs"), "GPU3: 96.00.61 instead of 96.00.74");
    c->ports[7].firmware = "28.39.1002";
    assert_string_equal(evidence(t, "firmware-differs"), "mlx5_7:1: 28.39.1002 instead of 28.43.1014");
    c->ports[7].board_id = "MT_0123"; /* another board has firmware of its own */
    assert_null(evidence(t, "firmware-differs"));
    c->objects[c->gpus[6].object].link_max_width = 8;
    assert_string_equal(evidence(t, "pcie-unlike-others"), "GPU6: 32 GT/s x8 instead of 32 GT/s x16");
    c->objects[c->gpus[6].object].link_max_GTps = 2.5; /* made up by a hypervisor */
    assert_null(evidence(t, "pcie-unlike-others"));
    c->objects[c->gpus[1].object].model = "NVIDIA H200";
    assert_string_equal(evidence(t, "gpu-models-differ"), "NVIDIA H100 80GB HBM3 and NVIDIA H200");
    topo_free(t);
}

/* Two kinds of slots, four each: nobody is odd. */
TEST_CASE(half_and_half)
{
    struct topology *t = well();
    struct topo_class *c = &t->classes[0];
    for (int i = 4; i < 8; i++)
        c->objects[c->gpus[i].object].link_max_width = 8;
    assert_null(evidence(t, "pcie-unlike-others"));
    topo_free(t);
}

TEST_CASE(a_gpu_is_missing)
{
    struct topology *t = well();
    t->classes[0].ngpus = t->classes[0].nlinks = 7;
    assert_string_equal(evidence(t, "gpu-missing"), "7 GPUs behind NVSwitches");
    t->classes[0].container = "docker"; /* was given seven */
    assert_null(evidence(t, "gpu-missing"));
    t->classes[0].container = "none";
    t->classes[0].nlinks = 0; /* a workstation */
    for (int i = 0; i < t->classes[0].nobjects; i++)
        if (t->classes[0].objects[i].kind == TOPO_NVSWITCH)
            t->classes[0].objects[i].kind = TOPO_FUNCTION;
    assert_null(evidence(t, "gpu-missing"));
    topo_free(t);

    t = well();
    struct topo_class *c = build_class(t, NULL);
    const char *name = c->name;
    *c = t->classes[0];
    c->name = name;
    c->ngpus = c->nlinks = 4;
    build_host(t, "node2", 1);
    assert_string_equal(evidence(t, "gpu-missing"), "class1: 4 of 8");
    c->product = "Maker M2";
    assert_null(evidence(t, "gpu-missing"));
    topo_free(t);
}

static void address(struct topology *t, int host, const char *text)
{
    build_text(t, &t->hosts[host].addresses, &t->hosts[host].naddresses, text);
}

TEST_CASE(addresses)
{
    struct topology *t = well();
    build_netdev(t, &t->classes[0], (struct topo_netdev){.object = -1, .name = "eth0", .kind = TOPO_NET_PHYSICAL});
    build_netdev(t, &t->classes[0], (struct topo_netdev){.object = -1, .name = "docker0", .kind = TOPO_NET_BRIDGE});
    build_host(t, "node2", 0);
    build_host(t, "node3", 0);
    for (int i = 0; i < 3; i++) { /* what all nodes have alike by right */
        address(t, i, "docker0 172.17.0.1/16");
        address(t, i, "eth0 169.254.3.1/24");
        address(t, i, "eth0 fe80::1/64");
        address(t, i, arena_printf(t->arena, "eth0 10.0.0.%d/24", i));
        address(t, i, arena_printf(t->arena, "mlx5_0 0x506b4b030000000%d", i));
    }
    assert_null(evidence(t, "address-twice"));
    t->hosts[2].addresses[3] = "eth0 10.0.0.1/16";
    assert_string_equal(evidence(t, "address-twice"), "10.0.0.1 on node2 and node3");
    t->hosts[2].addresses[3] = "eth0 10.0.0.2/24";
    t->hosts[2].addresses[4] = "mlx5_4 0x506b4b0300000000";
    assert_string_equal(evidence(t, "address-twice"), "0x506b4b0300000000 on node1 and node3");
    t->hosts[2].addresses = t->hosts[0].addresses; /* one machine under two names */
    assert_null(evidence(t, "address-twice"));
    topo_free(t);
}

TEST_CASES(test_peers)
