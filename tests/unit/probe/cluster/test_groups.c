/* probe/cluster/groups.c: nodes that are measured together, those that are left out for what reason, and those that
 * join the class that they equal. */
#include "probe/cluster/groups.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/made_up_nodes.h"

#define H100 .gpus = 8, .hcas = 2

/* "n0 n1 | n4 n5; n2: memlock-low: …; …" */
static const char *said(struct topology *t, struct arena *a)
{
    struct cluster_groups g = cluster_groups_of(t, a);
    const char *text = "";
    for (int i = 0; i < g.n; i++)
        for (int k = 0; k < g.list[i].nhosts; k++)
            text = arena_printf(a, "%s%s%s", text, k ? " " : i ? " | " : "", t->hosts[g.list[i].hosts[k]].name);
    for (int i = 0; i < g.left.n; i++)
        text = arena_printf(a, "%s; %s: %s", text, g.left.list[i].name, g.left.list[i].why);
    for (int i = 0; i < g.nshared; i++)
        text = arena_printf(a, "%s; all: %s", text, g.shared[i]);
    return text;
}

static void assert_groups(struct topology *t, const char *expected)
{
    struct arena *a = arena_new();
    classes_merge(t);
    assert_string_equal(said(t, a), expected);
    arena_free(a);
    topo_free(t);
}

/* Names and places of HCAs make classes, and are no reason to part them. */
TEST_CASE(two_classes_and_a_sick_node)
{
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){H100});
    made_up_node(t, "n1", (struct made_up){H100});
    made_up_node(t, "n2", (struct made_up){H100, .first_hca = 2});
    made_up_node(t, "n3", (struct made_up){H100, .first_hca = 2});
    made_up_node(t, "n4", (struct made_up){H100, .error = "no-gpudirect: NICs cannot reach GPU memory"});
    build_missing(t, "n5", "no answer within 30 s");
    assert_groups(t, "n0 n1 n2 n3; n5: no answer within 30 s; n4: no-gpudirect: NICs cannot reach GPU memory");
}

/* The first node of a class does not speak for the others, whatever the class was read from. */
TEST_CASE(the_first_is_sick)
{
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){H100, .error = "memlock-low: 64 KiB"});
    made_up_node(t, "n1", (struct made_up){H100});
    made_up_node(t, "n2", (struct made_up){H100});
    assert_groups(t, "n1 n2; n0: memlock-low: 64 KiB");
}

TEST_CASE(all_are_sick)
{
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){H100, .error = "memlock-low: 64 KiB"});
    made_up_node(t, "n1", (struct made_up){H100, .error = "memlock-low: 65 KiB"});
    made_up_node(t, "n2", (struct made_up){H100});
    assert_groups(t, "n0 n1 n2; all: memlock-low: 64 KiB");
}

TEST_CASE(what_does_not_go_together)
{
    struct topology *t = topo_new();
    made_up_node(t, "a0", (struct made_up){H100, .model = "NVIDIA A100"});
    made_up_node(t, "a1", (struct made_up){H100, .model = "NVIDIA A100"});
    made_up_node(t, "h0", (struct made_up){H100});
    made_up_node(t, "h1", (struct made_up){H100});
    made_up_node(t, "h2", (struct made_up){H100});
    made_up_node(t, "login", (struct made_up){.hcas = 2});
    made_up_node(t, "lost", (struct made_up){.gpus = 7, .hcas = 2});
    made_up_node(t, "half", (struct made_up){.gpus = 8, .hcas = 1});
    made_up_node(t, "new", (struct made_up){H100, .driver = "560.28"});
    made_up_node(t, "old", (struct made_up){H100, .nccl = "NCCL 2.18.3"});
    /* A100 and H100 differ here by the length of their names: a device number that nobody has. */
    t->classes[0].objects[0].device = 1;
    t->classes[1].objects[0].device = 1;
    assert_groups(t, "h0 h1 h2 | a0 a1"
                     "; login: has no GPU to measure: no GPU instead of 8 x NVIDIA H100"
                     "; lost: goes with no other node: 7 x NVIDIA H100 instead of 8 x NVIDIA H100"
                     "; half: goes with no other node: active ports: 1 x 400 Gb/s instead of 2 x 400 Gb/s"
                     "; new: goes with no other node: GPU driver 560.28 instead of 550.54"
                     "; old: goes with no other node: NCCL 2.18.3 instead of NCCL 2.21.5");
}

TEST_CASE(without_gpus)
{
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){.hcas = 1});
    made_up_node(t, "n1", (struct made_up){.hcas = 1, .driver = "560.28"});
    assert_groups(t, "n0 n1");
    t = topo_new();
    build_missing(t, "n0", "gone");
    assert_groups(t, "; n0: gone");
}

/* A selection has its own hosts and classes, under their names. */
TEST_CASE(selected)
{
    const int which[] = {2, 0};
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){H100});
    made_up_node(t, "n1", (struct made_up){.gpus = 1});
    made_up_node(t, "n2.site", (struct made_up){H100, .first_hca = 2});
    classes_merge(t);
    struct topology *some = topo_select(t, which, 2);
    assert_int_equal(some->nhosts, 2);
    assert_int_equal(some->nclasses, 2);
    assert_string_equal(some->hosts[0].name, "n2.site");
    assert_string_equal(some->classes[some->hosts[0].class_index].name, "class2");
    assert_string_equal(some->classes[some->hosts[1].class_index].name, "class0");
    assert_int_equal(topo_find_host(some, "n2"), 0);
    assert_int_equal(topo_find_host(some, "n1"), -1);
    topo_free(some);
    topo_free(t);
}

/* ---- serve ---- */

static struct topology *measured(void)
{
    struct topology *t = topo_new();
    made_up_node(t, "n0", (struct made_up){H100});
    made_up_node(t, "n1", (struct made_up){H100});
    made_up_node(t, "n2", (struct made_up){H100, .first_hca = 2});
    classes_merge(t);
    return t;
}

static const char *class_of(const struct topology *t, const char *name)
{
    int host = topo_find_host(t, name);
    return host < 0 ? "none" : t->classes[t->hosts[host].class_index].name;
}

TEST_CASE(joined)
{
    char before[SHA256_HEX], after[SHA256_HEX];
    struct arena *a = arena_new();
    struct topology *t = measured(), *probed = topo_new();
    topo_hash(t, before);
    made_up_node(probed, "n7", (struct made_up){H100, .first_hca = 2});
    made_up_node(probed, "n8", (struct made_up){H100});
    made_up_node(probed, "odd", (struct made_up){.gpus = 8, .hcas = 1});
    made_up_node(probed, "sick", (struct made_up){H100, .error = "memlock-low: 64 KiB"});
    build_missing(probed, "gone", "no answer");
    classes_merge(probed);
    struct cluster_served s = cluster_serve(t, probed, a);
    assert_int_equal(s.joined, 2);
    assert_string_equal(class_of(t, "n7"), "class1");
    assert_string_equal(class_of(t, "n8"), "class0");
    assert_int_equal(t->hosts[topo_find_host(t, "n8")].served, 1);
    assert_int_equal(t->hosts[topo_find_host(t, "n0")].served, 0);
    assert_int_equal(t->nhosts, 5);
    assert_int_equal(s.out.n, 3);
    assert_string_equal(s.out.list[0].name, "odd");
    assert_string_equal(s.out.list[0].why, "not as class0: mlx5_1:1 is missing");
    assert_string_equal(s.out.list[1].why, "memlock-low: 64 KiB");
    assert_string_equal(s.out.list[2].name, "gone");
    topo_hash(t, after);
    assert_string_equal(before, after);
    topo_free(probed);
    topo_free(t);
    arena_free(a);
}

/* A replaced node: what was measured there was another machine, but it is the same class, or it is none of ours. */
TEST_CASE(replaced)
{
    struct arena *a = arena_new();
    struct topology *t = measured(), *probed = topo_new();
    made_up_node(probed, "n1", (struct made_up){H100, .first_hca = 2});
    made_up_node(probed, "n2", (struct made_up){.gpus = 4});
    classes_merge(probed);
    struct cluster_served s = cluster_serve(t, probed, a);
    assert_int_equal(s.joined, 1);
    assert_string_equal(class_of(t, "n1"), "class1");
    assert_string_equal(class_of(t, "n2"), "none");
    assert_string_equal(s.out.list[0].name, "n2");
    topo_free(probed);
    topo_free(t);
    arena_free(a);
}

/* What was wrong with the measured nodes, too, keeps nobody out. */
TEST_CASE(alike_in_sickness)
{
    struct arena *a = arena_new();
    struct topology *t = topo_new(), *probed = topo_new();
    made_up_node(t, "n0", (struct made_up){H100, .error = "memlock-low: 64 KiB"});
    made_up_node(probed, "n1", (struct made_up){H100, .error = "memlock-low: 65 KiB"});
    assert_int_equal(cluster_serve(t, probed, a).joined, 1);
    topo_free(probed);
    topo_free(t);
    arena_free(a);
}

TEST_CASES(test_groups)
