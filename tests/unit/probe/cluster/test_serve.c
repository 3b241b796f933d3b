/* probe/cluster/serve.c: nodes join the class that they equal, or are named with what sets them apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "probe/cluster/serve.h"
#include "probe/topology/select.h"
#include "tests/unit/probe/made_up_nodes.h"

#define H100 .gpus = 8, .hcas = 2

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

static void joined(void **state)
{
    (void)state;
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
static void replaced(void **state)
{
    (void)state;
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
static void alike_in_sickness(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    struct topology *t = topo_new(), *probed = topo_new();
    made_up_node(t, "n0", (struct made_up){H100, .error = "memlock-low: 64 KiB"});
    made_up_node(probed, "n1", (struct made_up){H100, .error = "memlock-low: 65 KiB"});
    assert_int_equal(cluster_serve(t, probed, a).joined, 1);
    topo_free(probed);
    topo_free(t);
    arena_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined),
        cmocka_unit_test(replaced),
        cmocka_unit_test(alike_in_sickness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
