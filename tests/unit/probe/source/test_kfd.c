/* probe/source/kfd.c on a hand-made tree: two CPUs and eight MI300X, every pair joined by XGMI. */
#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

#define NODE "/sys/class/kfd/kfd/topology/nodes/%d/%s"

static void put_gpu(struct tree *t, int node)
{
    tree_file(t, arena_printf(t->a, NODE, node, "gpu_id"), "28851\n");
    tree_file(t, arena_printf(t->a, NODE, node, "properties"),
              arena_printf(t->a,
                           "cpu_cores_count 0\nsimd_count 1216\nlocation_id %d\ndomain %d\ngfx_target_version 90402\n"
                           "unique_id 81985529216486895\ndevice_id 29857\n",
                           (0x10 * (node - 1)) << 8, 0));
    tree_file(t, arena_printf(t->a, NODE, node, "mem_banks/0/properties"), "heap_type 1\nsize_in_bytes 206141652992\n");
    for (int i = 0, peer = 0; peer < 10; peer++) {
        if (peer == node)
            continue;
        /* Type 2 is PCIe, 11 XGMI; nodes 0 and 1 are the CPUs. */
        tree_file(t, arena_printf(t->a, NODE, node, arena_printf(t->a, "io_links/%d/properties", i++)),
                  arena_printf(t->a, "type %d\nnode_from %d\nnode_to %d\nmin_bandwidth 50000\nmax_bandwidth 64000\n",
                               peer < 2 ? 2 : 11, node, peer));
    }
}

TEST_CASE(mi300x)
{
    struct tree tree;
    tree_begin(&tree);
    for (int node = 0; node < 2; node++)
        tree_file(&tree, arena_printf(tree.a, NODE, node, "gpu_id"), "0\n");
    for (int node = 2; node < 10; node++)
        put_gpu(&tree, node);
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    source_kfd(t, c);
    build_order_devices(t, c);
    assert_int_equal(c->ngpus, 8);
    assert_int_equal(c->nlinks, 8 * 7);
    assert_string_equal(c->gpus[0].arch, "gfx942");
    assert_string_equal(c->gpus[0].uuid, "GPU-0123456789abcdef");
    assert_true(c->gpus[7].mem_bytes == 206141652992);
    assert_string_equal(c->objects[c->gpus[0].object].pci, "0000:10:00.0");
    assert_string_equal(c->objects[c->gpus[7].object].pci, "0000:80:00.0");
    assert_int_equal(c->objects[c->gpus[7].object].device, 0x74a1);
    const struct path_matrix *m = path_matrix(c, t->arena);
    char word[PATH_WORD];
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++)
            assert_string_equal(path_word(word, path_between(m, i, k)), i == k ? "X" : "XGMI1");
    assert_true(path_between(m, 0, 7)->GBps > 63.9);
    assert_note(c, "its place is unknown");
    topo_free(t);
    tree_end(&tree);
}

/* Numbers out of range, links to nowhere, files without lines. */
TEST_CASE(hostile)
{
    struct tree tree;
    tree_begin(&tree);
    tree_file(&tree, "/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "7\n");
    tree_file(&tree, "/sys/class/kfd/kfd/topology/nodes/0/properties", "gfx_target_version 99999999999\nsimd_count");
    tree_file(&tree, "/sys/class/kfd/kfd/topology/nodes/0/io_links/0/properties", "type 11\nnode_to 4294967295\n");
    tree_file(&tree, "/sys/class/kfd/kfd/topology/nodes/0/io_links/1/properties", "type 11\nnode_to 0\n");
    tree_file(&tree, "/sys/class/kfd/kfd/topology/nodes/99999999999/gpu_id", "7\n");
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    source_kfd(t, c);
    assert_int_equal(c->ngpus, 1);
    assert_null(c->gpus[0].arch);
    assert_int_equal(c->nlinks, 0);
    topo_free(t);
    tree_end(&tree);
}

TEST_CASES(test_kfd)
