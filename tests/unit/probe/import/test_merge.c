/* probe/import/merge.c: several descriptions of one node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/file.h"
#include "probe/topology/roles.h"
#include "tests/unit/probe/matrix.h"

static struct topology *load_all(const char *const *paths, int n)
{
    struct err e = {0};
    struct topology *t = probe_files(paths, n, NULL, &e);
    if (!t)
        fail_msg("%s", e.text);
    return t;
}

/* The tree from hwloc's file, NVLinks of the same machine from the matrix of nvidia-smi. */
static void tree_and_matrix(void **state)
{
    (void)state;
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
static void with_itself(void **state)
{
    (void)state;
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
static void any_order(void **state)
{
    (void)state;
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
static void contradictions(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tree_and_matrix), cmocka_unit_test(with_itself),
                                       cmocka_unit_test(any_order), cmocka_unit_test(contradictions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
