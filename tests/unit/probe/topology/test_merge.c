/* probe/topology/merge.c and differences.c: identical nodes become one class, what sets others apart is told; several
 * descriptions of one node become one. */
#include "core/file.h"
#include "probe/topology/build.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
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

TEST_CASE(identical)
{
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

TEST_CASE(different)
{
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
TEST_CASE(most_like)
{
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
TEST_CASE(never_silent)
{
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
TEST_CASE(refused_p2p)
{
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

/* ---- merge ---- */

static struct topology *load_all(const char *const *paths, int n)
{
    struct err e = {0};
    struct topology *t = probe_files(paths, n, NULL, &e);
    if (!t)
        fail_msg("%s", e.text);
    return t;
}

/* The tree from hwloc's file, NVLinks of the same machine from the matrix of nvidia-smi. */
TEST_CASE(tree_and_matrix)
{
    char path[] = "/tmp/nccltune-merge.XXXXXX";
    int fd = mkstemp(path);
    static const char smi[] = "GPU0 GPU1 mlx5_0\nGPU0 X NV18 PIX\nGPU1 NV18 X SYS\nmlx5_0 PIX SYS X\n";
    assert_true(fd >= 0 && write(fd, smi, sizeof smi - 1) == sizeof smi - 1);
    close(fd);
    struct topology *t = load_all((const char *const[]){FIXTURE "small.json", path}, 2);
    t->classes[0].nlinks = 0;
    t->classes[0].ports[0].rate_Gbps = 0;
    assert_int_equal(t->nclasses, 2);
    merge_nodes(t);
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(t->nclasses, 1);
    assert_int_equal(t->nhosts, 1);
    assert_string_equal(t->hosts[0].name, "node1");
    assert_int_equal(c->ngpus, 2);
    assert_int_equal(c->nports, 1);
    assert_int_equal(c->nlinks, 2);
    assert_int_equal(c->links[0].count, 18);
    /* GPU1 had no place in the first; the second gives it one, apart from the NIC. */
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV18 PIX\nGPU1 NV18 X SYS\nmlx5_0 PIX SYS X\n");
    assert_string_equal(c->objects[c->gpus[0].object].model, "NVIDIA H100");
    for (int i = 0; i < c->nobjects; i++)
        assert_true(c->objects[i].parent < i);
    topo_free(t);
    unlink(path);
}

/* What the first file says stands; a file merged with itself changes nothing. */
TEST_CASE(with_itself)
{
    static const char *const files[] = {FIXTURE "nccl_nvswitch.xml", FIXTURE "hwloc2_dgx1v.xml", FIXTURE "small.json"};
    for (int i = 0; i < 3; i++) {
        char before[SHA256_HEX], after[SHA256_HEX];
        struct topology *once = load_one(files[i]);
        struct topology *twice = load_all((const char *const[]){files[i], files[i]}, 2);
        once->nclasses = 1;
        topo_class_hash(&once->classes[0], before);
        merge_nodes(twice);
        topo_class_hash(&twice->classes[0], after);
        assert_string_equal(before, after);
        topo_free(once);
        topo_free(twice);
    }
}

/* The hash of what these files make together, in that order; and the list of HCAs. */
static const char *merged(struct arena *a, const char *const *paths, int n, const char **list)
{
    struct topology *t = load_all(paths, n);
    merge_nodes(t);
    char hash[SHA256_HEX];
    topo_class_hash(&t->classes[0], hash);
    const struct topo_class *c = &t->classes[0];
    const char *own = roles_hca_list(c, roles_of(c, a), a);
    *list = own ? arena_strdup(a, own) : NULL;
    const char *all = arena_printf(a, "%s %s\n%s", hash, t->hosts[0].name, matrix_words(c, a));
    topo_free(t);
    return all;
}

/* The matrix of nvidia-smi, the ports of ibdev2netdev, the functions of lspci: six orders, one result. */
TEST_CASE(any_order)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const char *const texts[] = {
        "GPU0 GPU1 NIC0 NIC1 CPU Affinity NUMA Affinity\nGPU0 X NV18 PIX SYS 0-7 0\nGPU1 NV18 X SYS PIX 8-15 1\n"
        "NIC0 PIX SYS X SYS\nNIC1 SYS PIX SYS X\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n",
        "mlx5_0 port 1 ==> eth0 (Up)\nmlx5_1 port 1 ==> eth1 (Up)\nmlx5_2 port 1 ==> eno1 (Down)\n",
        "18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]\n\tNUMA node: 0\n"
        "81:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]\n\tNUMA node: 1\n"
        "82:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n\tNUMA node: 1\n"};
    struct arena *a = arena_new();
    const char *paths[3], *first = NULL, *list;
    struct err e = {0};
    for (int i = 0; i < 3; i++) {
        paths[i] = arena_printf(a, "/tmp/nccltune-merge-%d-%d", (int)getpid(), i);
        assert_int_equal(file_write(paths[i], texts[i], strlen(texts[i]), &e), 0);
    }
    for (size_t i = 0; i < 6; i++) {
        const char *const order[] = {paths[orders[i][0]], paths[orders[i][1]], paths[orders[i][2]]};
        const char *all = merged(a, order, 3, &list);
        first = first ? first : all;
        assert_string_equal(all, first);
        assert_string_equal(list, "=mlx5_0:1,mlx5_1:1");
    }
    assert_non_null(strstr(first, "GPU0 X NV18 PIX SYS ?\nGPU1 NV18 X SYS PIX ?\n"));
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    arena_free(a);
}

/* Two matrices that cannot be of one node: said, not swallowed. */
TEST_CASE(contradictions)
{
    static const char *const texts[] = {"GPU0 GPU1 mlx5_0\nGPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx5_0 PIX SYS X\n",
                                        "GPU0 GPU1 mlx5_0\nGPU0 X SYS SYS\nGPU1 SYS X PIX\nmlx5_0 SYS PIX X\n"};
    struct arena *a = arena_new();
    const char *paths[2];
    struct err e = {0};
    for (int i = 0; i < 2; i++) {
        paths[i] = arena_printf(a, "/tmp/nccltune-merge-%d-%d", (int)getpid(), i);
        assert_int_equal(file_write(paths[i], texts[i], strlen(texts[i]), &e), 0);
    }
    struct topology *t = load_all(paths, 2);
    merge_nodes(t);
    assert_note(&t->classes[0], "contradict one another about 2 ways between GPUs and NICs (GPU0 and mlx5_0: ");
    topo_free(t);
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    arena_free(a);
}

TEST_CASES(test_merge)
