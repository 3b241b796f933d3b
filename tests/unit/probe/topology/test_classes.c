/* probe/topology/classes.c and probe/topology/differences.c: identical nodes become one class, the rest is said in
 * words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/topology/build.h"
#include "probe/topology/classes.h"
#include "probe/topology/differences.h"
#include "tests/unit/probe/matrix.h"

/* Two GPUs, two HCAs. */
static struct topo_class *add_node(struct topology *t, const char *name)
{
    struct topo_class *c = build_class(t, NULL);
    build_host(t, name, t->nclasses - 1);
    int numa = build_numa(t, c, 0);
    c->cpu = "GenuineIntel 6/143";
    c->memlock_bytes = TOPO_UNLIMITED;
    for (int i = 0; i < 2; i++) {
        struct topo_object gpu = {.kind = TOPO_GPU, .parent = numa, .pci = i ? "0000:20:00.0" : "0000:10:00.0"};
        struct topo_object nic = {.kind = TOPO_NIC, .parent = numa, .pci = i ? "0000:21:00.0" : "0000:11:00.0"};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, gpu), .index = i, .gdr = -1, .uuid = name});
        build_port(t, c,
                   (struct topo_port){.object = build_object(t, c, nic),
                                      .hca = i ? "mlx5_1" : "mlx5_0",
                                      .port = 1,
                                      .state = TOPO_STATE_ACTIVE,
                                      .layer = TOPO_LINK_ETHERNET,
                                      .rate_Gbps = 400,
                                      .guid = name,
                                      .firmware = "28.43"});
        build_gid(t, c, (struct topo_gid){.port = i, .index = 3, .type = TOPO_GID_ROCE_V2, .gid = "::ffff:10.0.0.1"});
    }
    return c;
}

static void identical(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    for (int i = 0; i < 3; i++)
        add_node(t, arena_printf(t->arena, "node%d", i));
    t->classes[2].ports[1].firmware = "28.41";
    t->classes[2].memlock_bytes = 65536;
    t->classes[2].gids[0].index = 1;
    classes_merge(t);
    assert_int_equal(t->nclasses, 1);
    assert_int_equal(t->nhosts, 3);
    assert_int_equal(t->hosts[1].ndiffers, 0);
    assert_int_equal(t->hosts[2].class_index, 0);
    assert_int_equal(t->hosts[2].ndiffers, 3);
    assert_string_equal(t->hosts[2].differs[0], "mlx5_0:1: GIDs 1 RoCE v2 IPv4 instead of 3 RoCE v2 IPv4");
    assert_string_equal(t->hosts[2].differs[1], "mlx5_1:1: firmware 28.41 instead of 28.43");
    assert_string_equal(t->hosts[2].differs[2], "memlock 64 KiB instead of unlimited");
    topo_free(t);
}

static void different(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    for (int i = 0; i < 5; i++)
        add_node(t, arena_printf(t->arena, "node%d", i));
    struct topo_class *c = &t->classes[3];
    c->ports[1].hca = "mlx5_10";
    c->ports[1].netdev = "bond0";
    build_netdev(t, c, (struct topo_netdev){.object = -1, .name = "bond0", .kind = TOPO_NET_BOND});
    t->classes[4].ports[0].state = TOPO_STATE_DOWN;
    t->classes[4].ports[0].rate_Gbps = 200;
    t->classes[4].cpu = "AuthenticAMD 25/17";
    classes_merge(t);
    assert_int_equal(t->nclasses, 3);
    assert_string_equal(t->classes[2].name, "class2");
    assert_int_equal(t->hosts[2].class_index, 0);
    assert_int_equal(t->hosts[4].class_index, 2);
    const char **said;
    assert_int_equal(differences_of(&t->classes[0], &t->classes[1], t->arena, &said), 3);
    assert_string_equal(said[0], "mlx5_1:1 is missing");
    assert_string_equal(said[1], "mlx5_10:1 is there in addition, a bond");
    assert_string_equal(said[2], "interface bond0 is there in addition");
    assert_int_equal(differences_of(&t->classes[0], &t->classes[2], t->arena, &said), 2);
    assert_string_equal(said[0], "CPU AuthenticAMD 25/17 instead of GenuineIntel 6/143");
    assert_string_equal(said[1], "mlx5_0:1 is down instead of active");
    topo_free(t);
}

/* The first node is the odd one: the others are not told from it. One dark rail of another is one sentence. */
static void most_like(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    for (int i = 0; i < 6; i++)
        add_node(t, arena_printf(t->arena, "node%d", i));
    t->classes[0].cpu = "AuthenticAMD 25/17";
    t->classes[5].cpu = "AuthenticAMD 25/17";
    for (int i = 0; i < 2; i++) { /* class0 and class 5 of the four others */
        struct topo_class *c = &t->classes[i ? 5 : 1];
        build_netdev(t, c, (struct topo_netdev){.object = c->ports[1].object, .name = "eth1", .state = i ? 1 : 2});
        c->ports[1].netdev = "eth1";
    }
    for (int i = 2; i < 5; i++) {
        struct topo_class *c = &t->classes[i];
        build_netdev(t, c, (struct topo_netdev){.object = c->ports[1].object, .name = "eth1", .state = 2});
        c->ports[1].netdev = "eth1";
    }
    t->classes[4].ports[1].state = TOPO_STATE_DOWN;
    t->classes[4].ports[1].rate_Gbps = 10;
    t->classes[4].ports[1].mtu_bytes = 1024;
    t->classes[4].netdevs[0].state = TOPO_STATE_DOWN;
    classes_merge(t);
    assert_int_equal(t->nclasses, 4);
    struct differences_like like = differences_nearest(t, 1, t->arena);
    assert_int_equal(like.class_index, -1); /* three hosts */
    like = differences_nearest(t, 2, t->arena);
    assert_int_equal(like.class_index, 1);
    assert_int_equal(like.n, 1);
    assert_string_equal(like.sentences[0], "mlx5_1:1 is down instead of active");
    like = differences_nearest(t, 0, t->arena);
    assert_int_equal(like.class_index, 1);
    like = differences_nearest(t, 3, t->arena);
    assert_int_equal(like.class_index, 0); /* the other with AMD's CPU */
    topo_free(t);
}

/* Whatever makes the hash differ is told, be it only that something is another. */
static void never_silent(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    add_node(t, "a");
    add_node(t, "b");
    t->classes[1].objects[1].device = 7;
    classes_merge(t);
    assert_int_equal(t->nclasses, 2);
    const char **said;
    assert_int_equal(differences_of(&t->classes[0], &t->classes[1], t->arena, &said), 1);
    assert_string_equal(said[0], "the PCI tree is another");
    topo_free(t);
}

/* A GPU that the driver keeps from its peer makes another class, and it is said why. */
static void refused_p2p(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    add_node(t, "node0");
    struct topo_gpu *g = &add_node(t, "node1")->gpus[0];
    build_text(t, &g->p2p_problems, &g->np2p_problems, "GPU1: write: not supported");
    classes_merge(t);
    assert_int_equal(t->nclasses, 2);
    const char **sentences;
    assert_int_equal(differences_of(&t->classes[0], &t->classes[1], t->arena, &sentences), 1);
    assert_string_equal(sentences[0], "GPU0: P2P refused with GPU1: write: not supported instead of nothing");
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(identical), cmocka_unit_test(different),
                                       cmocka_unit_test(never_silent), cmocka_unit_test(most_like),
                                       cmocka_unit_test(refused_p2p)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
