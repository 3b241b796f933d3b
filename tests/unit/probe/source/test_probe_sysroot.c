/* probe_sysroot on the archives of the corpus, where it is there, and on what is no copied tree. */
#include "core/proc.h"
#include "probe/source/probe.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

/* Unpacks an archive of the corpus into a new tree and probes its only folder, or skips the test. */
static struct topology *unpacked(const char *archive, const char *folder)
{
    struct arena *a = arena_new();
    struct tree tree;
    struct err e = {0};
    struct proc p;
    struct topology *t = NULL;
    const char *path = corpus_file(a, archive);
    tree_begin(&tree);
    sysfs_set_root(NULL);
    const char *const argv[] = {"tar", "xjf", path, "-C", tree.root, NULL};
    if (path && !proc_spawn(&p, argv, NULL, &e)) {
        int done = proc_ended(&p, 60) && p.status == 0;
        proc_stop(&p, 1);
        if (done)
            t = probe_sysroot(arena_printf(a, "%s/%s", tree.root, folder), NULL, &e);
        if (done && !t)
            fail_msg("%s", e.text);
    }
    tree_end(&tree);
    arena_free(a);
    if (!t)
        skip_because(NEEDS_CORPUS);
    return t;
}

/* A PowerEdge with four sockets and one InfiniBand card. */
TEST_CASE(xeon)
{
    struct topology *t = unpacked("hwloc/40intel64-2g2n4c+pcilocality.tar.bz2", "40intel64-2g2n4c+pci");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(c->product, "Dell Inc. PowerEdge R910");
    assert_non_null(strstr(c->cpu, "E7- 4870"));
    assert_int_equal(c->nports, 1);
    assert_string_equal(c->ports[0].hca, "qib0");
    assert_int_equal(c->ports[0].layer, TOPO_LINK_INFINIBAND);
    assert_int_equal(c->ports[0].lid, 298);
    assert_string_equal(c->ports[0].subnet_prefix, "0xfe80000000000000");
    assert_string_equal(c->objects[c->ports[0].object].pci, "0000:43:00.0");
    topo_free(t);
}

/* A POWER9 with six V100 on two nodes, whose memory is NUMA nodes too. */
TEST_CASE(power9)
{
    struct topology *t = unpacked("hwloc/nvidiagpunumanodes.tar.bz2", "nvidiagpunumanodes");
    const struct topo_class *c = &t->classes[0];
    assert_non_null(strstr(c->cpu, "POWER9"));
    assert_int_equal(c->ngpus, 6);
    assert_int_equal(c->objects[c->gpus[2].object].numa, 0);
    assert_int_equal(c->objects[c->gpus[3].object].numa, 8);
    assert_string_equal(c->objects[c->gpus[3].object].pci, "0007:00:00.0");
    topo_free(t);
}

TEST_CASE(no_tree)
{
    struct err e = {0};
    assert_null(probe_sysroot("/nowhere", NULL, &e));
    assert_string_equal(e.text, "/nowhere: expected a directory with sys and proc below it");
    assert_null(probe_sysroot("", NULL, &e));
    assert_null(sysfs_root());
}

TEST_CASES(test_probe_sysroot)
