/* probe/topology/build.c: GPUs by their index, the rest by PCI address; ports by name; PCI ports become switches, what
 * is empty goes, indices follow. */
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static void add_gpu(struct topology *t, const char *pci, int index)
{
    struct topo_class *c = &t->classes[0];
    int object = build_object(t, c, (struct topo_object){.kind = TOPO_GPU, .parent = -1, .numa = -1, .pci = pci});
    build_gpu(t, c, (struct topo_gpu){.object = object, .index = index, .gdr = -1});
}

static void assert_gpu(const struct topology *t, int at, const char *pci, int index, const char *name)
{
    const struct topo_gpu *g = &t->classes[0].gpus[at];
    assert_string_equal(t->classes[0].objects[g->object].pci, pci);
    assert_int_equal(g->index, index);
    assert_string_equal(t->classes[0].objects[g->object].name, name);
}

TEST_CASE(gpus)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    add_gpu(t, "10000:01:00.0", -1);
    add_gpu(t, "0000:c0:00.0", 0);
    add_gpu(t, "0000:a0:00.0", 3);
    add_gpu(t, "0000:b0:00.0", -1);
    add_gpu(t, "0000:90:00.0", 3); /* the same index twice: the second gets a free one */
    build_link(t, c, (struct topo_link){.gpu = 0, .peer_gpu = 1, .peer_object = -1, .count = 1});
    build_link(t, c, (struct topo_link){.gpu = 3, .peer_gpu = -1, .peer_object = -1, .count = 1});
    build_order_devices(t, c);
    assert_gpu(t, 0, "0000:c0:00.0", 0, "GPU0");
    assert_gpu(t, 1, "0000:a0:00.0", 1, "GPU1");
    assert_gpu(t, 2, "0000:b0:00.0", 2, "GPU2");
    assert_gpu(t, 3, "0000:90:00.0", 3, "GPU3");
    assert_gpu(t, 4, "10000:01:00.0", 4, "GPU4");
    assert_int_equal(c->links[0].gpu, 4);
    assert_int_equal(c->links[0].peer_gpu, 0);
    assert_int_equal(c->links[1].gpu, 2);
    assert_int_equal(c->links[1].peer_gpu, -1);
    topo_free(t);
}

TEST_CASE(ports)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    static const struct {
        const char *hca;
        int port;
    } in[] = {{"mlx5_10", 1}, {"mlx5_2", 2}, {"mlx5_2", 1}, {"bnxt_re0", 1}},
      out[] = {{"bnxt_re0", 1}, {"mlx5_2", 1}, {"mlx5_2", 2}, {"mlx5_10", 1}};
    build_order_devices(t, c);
    for (int i = 0; i < 4; i++)
        build_port(t, c, (struct topo_port){.object = -1, .hca = in[i].hca, .port = in[i].port});
    build_order_devices(t, c);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(c->ports[i].hca, out[i].hca);
        assert_int_equal(c->ports[i].port, out[i].port);
    }
    topo_free(t);
}

/* ---- pci_tree ---- */

static struct topo_object function(const char *pci, uint32_t class_code, uint16_t vendor)
{
    return (struct topo_object){.pci = pci, .pci_class = class_code, .vendor = vendor};
}

TEST_CASE(ports_become_switches)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    struct pci_place empty = pci_tree_host_bridge(t, c, 0, "pci0000:00");
    pci_tree_device(t, c, empty, function("0000:00:1f.0", 0x010802, 0x144d), TOPO_KIND_COUNT);
    struct pci_place at = pci_tree_host_bridge(t, c, 1, "pci0000:80");
    for (int i = 0; i < 5; i++) /* root port, upstream, downstream, upstream, downstream */
        at = pci_tree_bridge(t, c, at, function(arena_printf(t->arena, "0000:%02x:00.0", 0x80 + i), 0x060400, 0x1000));
    int gpu = pci_tree_device(t, c, at, function("0000:90:00.0", 0x030200, 0x10de), TOPO_KIND_COUNT);
    int nic = pci_tree_device(t, c, at, function("0000:91:00.0", 0x088000, 0x17db), TOPO_NIC);
    int vf = pci_tree_device(t, c, at, function("0000:91:00.1", 0x020000, 0x17db), TOPO_KIND_COUNT);
    int claimed = pci_tree_device(t, c, at, function("0000:92:00.0", 0x0b4000, 0x1234), TOPO_GPU);
    assert_true(gpu >= 0 && nic >= 0 && vf >= 0 && claimed >= 0);
    build_port(t, c, (struct topo_port){.object = nic, .hca = "cxi0", .port = 1});
    build_link(t, c, (struct topo_link){.gpu = 0, .peer_gpu = -1, .peer_object = c->objects[empty.parent].parent});
    pci_tree_prune(c);
    pci_tree_drop_unused_nics(t, c);
    static const enum topo_kind kinds[] = {TOPO_NUMA,   TOPO_NUMA, TOPO_HOST_BRIDGE, TOPO_SWITCH,
                                           TOPO_SWITCH, TOPO_GPU,  TOPO_NIC,         TOPO_GPU};
    static const int parents[] = {-1, -1, 1, 2, 3, 4, 4, 4};
    assert_int_equal(c->nobjects, 8);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(c->objects[i].kind, kinds[i]);
        assert_int_equal(c->objects[i].parent, parents[i]);
    }
    assert_string_equal(c->objects[3].pci, "0000:81:00.0");
    assert_string_equal(c->objects[4].pci, "0000:83:00.0");
    assert_int_equal(c->ports[0].object, 6);
    assert_int_equal(c->gpus[1].object, 7);
    assert_int_equal(c->links[0].peer_object, 0);
    assert_note(c, "1 network function without a driver left out (0000:91:00.1)");
    topo_free(t);
}

/* A source that shows no operating system devices shows NICs nonetheless. */
TEST_CASE(nics_without_names)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    struct pci_place at = pci_tree_host_bridge(t, c, -1, NULL);
    pci_tree_device(t, c, at, function("0000:01:00.0", 0x020000, 0x8086), TOPO_KIND_COUNT);
    pci_tree_drop_unused_nics(t, c);
    assert_int_equal(c->nobjects, 2);
    assert_int_equal(c->objects[0].parent, -1);
    assert_int_equal(c->nnotes, 0);
    topo_free(t);
}

TEST_CASE(building)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    assert_string_equal(c->name, "class0");
    assert_int_equal(build_numa(t, c, 3), build_numa(t, c, 3));
    int nic = build_nic(t, c, "0000:01:00.0", "mlx5_0");
    assert_int_equal(build_nic(t, c, "0000:01:00.0", "eth0"), nic);
    assert_string_equal(c->objects[nic].name, "mlx5_0");
    int without = build_nic(t, c, NULL, "rxe0");
    assert_int_not_equal(without, nic);
    assert_int_equal(build_nic(t, c, NULL, "rxe0"), without);
    assert_int_not_equal(build_nic(t, c, NULL, "rxe1"), without);
    assert_int_equal(build_find_pci(c, "0000:01:00.0"), nic);
    assert_int_equal(build_find_pci(c, NULL), -1);
    for (int i = 0; i < 1000; i++)
        build_note(t, c, "fault %d", i % 500);
    assert_int_equal(c->nnotes, 101);
    assert_string_equal(c->notes[100], "more of the kind");
    topo_free(t);
    topo_free(NULL);
}

/* AMD pads the names of its processors. */
TEST_CASE(names_of_processors)
{
    struct topology *t = topo_new();
    assert_string_equal(build_cpu_name(t, "AuthenticAMD", "25", "1", "AMD EPYC 7V13 64-Core Processor                "),
                        "AuthenticAMD 25/1, AMD EPYC 7V13 64-Core Processor");
    assert_string_equal(build_cpu_name(t, NULL, "25", "1", "POWER8 "), "POWER8");
    assert_string_equal(build_cpu_name(t, "GenuineIntel", "6", "79", NULL), "GenuineIntel 6/79");
    assert_null(build_cpu_name(t, NULL, NULL, NULL, "  "));
    topo_free(t);
}

TEST_CASES(test_build)
