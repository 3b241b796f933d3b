/* probe/cluster/cluster.c inside a job: the processes of a job, played one after the other; rank 0 comes last and waits
 * for one that never does.
 */
#include "core/progress.h"
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

static struct topology *own(int rank)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    c->cpu = rank == 2 ? "other" : "one";
    build_host(t, arena_printf(t->arena, "node%d", rank), 0);
    return t;
}

static struct topology *play(const char *dir, int rank, int local, struct err *e)
{
    char text[16];
    snprintf(text, sizeof text, "%d", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "5", 1);
    snprintf(text, sizeof text, "%d", local);
    setenv("OMPI_COMM_WORLD_LOCAL_RANK", text, 1);
    setenv("PMIX_NAMESPACE", "prterun/../x@1", 1);
    assert_int_equal(ranks_first_on_node(), local == 0);
    return ranks_gather(own(rank), dir, 0.3, NULL, e);
}

TEST_CASE(gather)
{
    struct tree tree;
    struct err e = {0};
    tree_begin(&tree);
    const char *dir = arena_printf(tree.a, "%s/shared", tree.root);
    for (int rank = 1; rank < 4; rank++) {
        struct topology *t = play(dir, rank, rank == 3, &e);
        assert_non_null(t);
        assert_int_equal(t->nhosts, 0);
        topo_free(t);
    }
    struct topology *t = play(dir, 0, 0, &e);
    assert_int_equal(t->nhosts, 3); /* rank 3 is the second of its node */
    assert_int_equal(t->nclasses, 2);
    assert_int_equal(t->nmissing, 1);
    assert_string_equal(t->missing[0].name, "rank 4");
    assert_string_equal(t->missing[0].why, "no answer in time");
    topo_free(t);
    /* Nothing is left behind. */
    sysfs_set_root(NULL);
    const char **names;
    assert_int_equal(sysfs_list(tree.a, &names, "%s", dir), 0);
    tree_end(&tree);
}

TEST_CASE(no_launcher)
{
    struct err e = {0};
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("SLURM_PROCID");
    unsetenv("PMI_RANK");
    assert_int_equal(ranks_first_on_node(), 1);
    assert_null(ranks_gather(own(0), "/tmp", 0, NULL, &e));
    assert_int_equal(e.code, ERR_USAGE);
}

TEST_CASES(test_ranks)
