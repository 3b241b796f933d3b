/* probe/cluster/ibnetdiscover.c: which switch every port hangs on. */
#include "probe/cluster/cluster.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

TEST_CASE(leaves)
{
    struct topology *t = load_one(FIXTURE "small.json");
    struct err e = {0};
    build_text(t, &t->hosts[0].addresses, &t->hosts[0].naddresses, "mlx5_0 0x506b4b0300ca1f2e");
    build_text(t, &t->hosts[0].addresses, &t->hosts[0].naddresses, "eth0 10.0.0.1/24");
    t->classes[0].ports[0].guid = "0x506b4b0300ca1f3e";
    assert_int_equal(ibnetdiscover_read(t, FIXTURE "ibnetdiscover.txt", NULL, &e), 0);
    assert_int_equal(t->hosts[0].nleaves, 2);
    assert_string_equal(t->hosts[0].leaves[0], "mlx5_0:1 leaf-1 port 3");
    assert_string_equal(t->hosts[0].leaves[1], "mlx5_0:2 0xb8cef60300bb0001 port 9");
    /* A host without addresses: by the GUIDs of its class. */
    assert_int_equal(t->hosts[1].nleaves, 1);
    assert_string_equal(t->hosts[1].leaves[0], "mlx5_0:1 leaf-1 port 4");
    topo_free(t);
}

TEST_CASE(wrong)
{
    struct topology *t = load_one(FIXTURE "small.json");
    struct err e = {0};
    assert_int_equal(ibnetdiscover_read(t, FIXTURE "small.json", NULL, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "found no line that begins with Switch"));
    assert_int_equal(ibnetdiscover_read(t, "/nowhere", NULL, &e), ERR_FAILED);
    topo_free(t);
}

TEST_CASES(test_ibnetdiscover)
