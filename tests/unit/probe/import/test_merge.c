/* probe/import/merge.c: several descriptions of one node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tree_and_matrix), cmocka_unit_test(with_itself)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
