/* probe/source/verbs.c on a hand-made tree. */
#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

#define DEVICE "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/mlx5_2"
#define PORT   DEVICE "/ports/1"

static void make_device(struct tree *t)
{
    tree_link(t, "/sys/class/infiniband/mlx5_2",
              "../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/infiniband/mlx5_2");
    tree_link(t, DEVICE "/device", "../../../0000:16:00.0");
    tree_file(t, DEVICE "/node_guid", "506b:4b03:00ca:1f2e\n");
    tree_file(t, DEVICE "/fw_ver", "28.43.2566\n");
    tree_file(t, DEVICE "/board_id", "MT_0000000834\n");
    tree_file(t, PORT "/state", "4: ACTIVE\n");
    tree_file(t, PORT "/rate", "400 Gb/sec (4X NDR)\n");
    tree_file(t, PORT "/lid", "0x1f\n");
    tree_file(t, PORT "/gids/0", "fe80:0000:0000:0000:526b:4bff:feca:1f2e\n");
    tree_file(t, PORT "/gids/1", "fe80:0000:0000:0000:526b:4bff:feca:1f2e\n");
    tree_file(t, PORT "/gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    tree_file(t, PORT "/gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    tree_file(t, PORT "/gids/10", "0000:0000:0000:0000:0000:0000:0000:0000\n");
    for (int i = 0; i < 4; i++) {
        tree_file(t, arena_printf(t->a, PORT "/gid_attrs/types/%d", i), i % 2 ? "RoCE v2\n" : "IB/RoCE v1\n");
        tree_file(t, arena_printf(t->a, PORT "/gid_attrs/ndevs/%d", i), "eth2\n");
    }
}

static struct topology *read_tree(void)
{
    struct topology *t = topo_new();
    source_verbs(t, build_class(t, NULL));
    return t;
}

TEST_CASE(ethernet)
{
    struct tree tree;
    tree_begin(&tree);
    make_device(&tree);
    tree_file(&tree, PORT "/link_layer", "Ethernet\n");
    struct topology *t = read_tree();
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->nports, 1);
    const struct topo_port *p = &c->ports[0];
    assert_string_equal(p->hca, "mlx5_2");
    assert_int_equal(p->port, 1);
    assert_int_equal(p->state, TOPO_STATE_ACTIVE);
    assert_int_equal(p->layer, TOPO_LINK_ETHERNET);
    assert_true(p->rate_Gbps > 399 && p->rate_Gbps < 401);
    assert_string_equal(p->guid, "0x506b4b0300ca1f2e");
    assert_string_equal(p->firmware, "28.43.2566");
    assert_string_equal(p->board_id, "MT_0000000834");
    assert_string_equal(p->netdev, "eth2");
    assert_int_equal(p->lid, 0);
    assert_null(p->subnet_prefix);
    assert_string_equal(c->objects[p->object].pci, "0000:16:00.0");
    assert_int_equal(c->ngids, 4);
    assert_int_equal(c->gids[0].type, TOPO_GID_ROCE_V1);
    assert_string_equal(c->gids[0].gid, "fe80::526b:4bff:feca:1f2e");
    assert_int_equal(c->gids[3].index, 3);
    assert_int_equal(c->gids[3].type, TOPO_GID_ROCE_V2);
    assert_string_equal(c->gids[3].gid, "::ffff:10.0.0.1");
    assert_string_equal(c->gids[3].netdev, "eth2");
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(infiniband)
{
    struct tree tree;
    tree_begin(&tree);
    make_device(&tree);
    tree_file(&tree, PORT "/link_layer", "InfiniBand\n");
    struct topology *t = read_tree();
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->ports[0].lid, 0x1f);
    assert_string_equal(c->ports[0].subnet_prefix, "0xfe80000000000000");
    assert_int_equal(c->gids[0].type, TOPO_GID_IB);
    topo_free(t);
    tree_end(&tree);
}

/* A software device has no PCI function of its own: its interface has. */
TEST_CASE(software_device)
{
    struct tree tree;
    tree_begin(&tree);
    tree_link(&tree, "/sys/class/infiniband/rxe0", "../../devices/virtual/infiniband/rxe0");
    tree_file(&tree, "/sys/devices/virtual/infiniband/rxe0/parent", "rail0\n");
    tree_file(&tree, "/sys/devices/virtual/infiniband/rxe0/ports/1/state", "1: DOWN\n");
    tree_link(&tree, "/sys/class/net/rail0/device", "../../../devices/pci0000:10/0000:13:00.0/virtio0");
    tree_file(&tree, "/sys/devices/pci0000:10/0000:13:00.0/virtio0/x", "");
    struct topology *t = read_tree();
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->nports, 1);
    assert_string_equal(c->objects[c->ports[0].object].pci, "0000:13:00.0");
    assert_string_equal(c->ports[0].netdev, "rail0");
    assert_int_equal(c->ports[0].state, TOPO_STATE_DOWN);
    assert_int_equal(c->ports[0].layer, TOPO_LINK_UNKNOWN);
    topo_free(t);
    tree_end(&tree);
}

TEST_CASES(test_verbs)
