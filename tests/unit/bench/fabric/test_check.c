/* bench/fabric/check.c: what is worse than it was is named, what was so already is not. */
#include "bench/fabric/fabric.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

static struct verbs_check check(struct verbs_fabric *now, const struct verbs_fabric *then)
{
    struct verbs_check c;
    struct err e = {0};
    assert_int_equal(verbs_check(now, then, VERBS_CHECK_RATIO, &c, &e), 0);
    return c;
}

TEST_CASE(as_before)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 2, .slow_GBps = 3});
    struct verbs_fabric *now = make(&(struct world){.nodes = 2, .rails = 2, .slow_GBps = 2.9});
    struct verbs_check c = check(now, then);
    assert_int_equal(c.compared, 12);
    assert_int_equal(c.nworse, 0);
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

TEST_CASE(slower)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 2});
    struct verbs_fabric *now = make(&(struct world){.nodes = 2, .rails = 2, .slow_GBps = 6});
    struct verbs_check c = check(now, then);
    assert_int_equal(c.nworse, 1);
    assert_string_equal(c.worse[0],
                        "n0 mlx5_1:1, what it sends: 3 of 3 tries slower, at 25 % of the profile's bandwidth");
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

TEST_CASE(broken_now)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 2});
    struct verbs_fabric *now = make(&(struct world){.nodes = 2, .rails = 2, .bad = port_1_0_bad});
    struct verbs_check c = check(now, then);
    assert_int_equal(c.nworse, 1);
    assert_non_null(strstr(c.worse[0], "n1 mlx5_0:1, or its cable: 6 of 6 tries failed"));
    /* The other way round it is a repair. */
    c = check(then, now);
    assert_int_equal(c.nworse, 0);
    assert_int_equal(c.compared, 6);
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

/* Keeps the tries from the lower node to the higher, or the others. */
static void keep_upward(struct verbs_fabric *f, int upward)
{
    int kept = 0;
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        if (upward ? t->from.node < t->to.node : t->from.node > t->to.node)
            f->tries[kept++] = f->tries[i];
    }
    f->ntries = kept;
}

/* What had failed in one direction is not worse when it fails in the other. */
TEST_CASE(the_other_way_round)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 2, .bad = port_1_0_bad});
    struct verbs_fabric *now = make(&(struct world){.nodes = 2, .rails = 2, .bad = port_1_0_bad});
    keep_upward(then, 1);
    keep_upward(now, 0);
    struct verbs_check c = check(now, then);
    assert_int_equal(c.compared, 2);
    assert_int_equal(c.nworse, 0);
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

/* One node of the profile alone, as between two jobs: what its ports sent is what they are held against. */
TEST_CASE(one_node)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 3, .rails = 3, .slow_GBps = 6});
    struct verbs_fabric *now = make(&(struct world){.nodes = 1, .rails = 3, .slow_GBps = 6});
    int kept = 0;
    for (int i = 0; i < then->ntries; i++)
        if (then->tries[i].outcome.pair.from.node != then->tries[i].outcome.pair.to.node)
            then->tries[kept++] = then->tries[i];
    then->ntries = kept;
    struct verbs_check c = check(now, then);
    assert_int_equal(c.compared, 6);
    assert_int_equal(c.nworse, 0);
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

TEST_CASE(twice)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 2});
    struct verbs_fabric *first = make(&(struct world){.nodes = 2, .rails = 2, .slow_GBps = 6});
    struct verbs_fabric *second = make(&(struct world){.nodes = 2, .rails = 2, .bad = port_1_0_bad});
    verbs_check_better(second, first);
    struct verbs_check c = check(second, then);
    assert_int_equal(c.nworse, 1);
    /* What failed the second time had worked the first time; what both have found slow stays. */
    assert_string_equal(c.worse[0], "from n0 mlx5_1:1 to n1 mlx5_0:1: 1 of 2 tries slower, at 25 % of the profile's "
                                    "bandwidth");
    verbs_fabric_free(first);
    verbs_fabric_free(second);
    verbs_fabric_free(then);
}

TEST_CASE(rates)
{
    struct verbs_fabric *then = make(&(struct world){.nodes = 2, .rails = 1});
    struct verbs_fabric *now = make(&(struct world){.nodes = 2, .rails = 1});
    now->ports[1].rate_Gbps = 100;
    now->ports[0].mtu_bytes = 2048;
    struct verbs_check c = check(now, then);
    assert_int_equal(c.nworse, 2);
    assert_string_equal(c.worse[0], "n0 mlx5_0:1: an RDMA MTU of 2048 bytes, 4096 in the profile");
    assert_string_equal(c.worse[1], "n1 mlx5_0:1: a rate of 100 Gb/s, 200 in the profile");
    now->ports[1].name = "new_0:1"; /* which the profile does not know */
    assert_int_equal(check(now, then).nworse, 1);
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

TEST_CASE(nothing_to_compare)
{
    struct verbs_fabric *then = verbs_fabric_new(1, 1), *now = make(&(struct world){.nodes = 2, .rails = 1});
    struct verbs_check c;
    struct err e = {0};
    assert_int_equal(verbs_check(now, then, VERBS_CHECK_RATIO, &c, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "no bandwidth to compare with"));
    verbs_fabric_free(now);
    verbs_fabric_free(then);
}

TEST_CASE(ports)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2});
    assert_string_equal(verbs_check_ports(f, f->arena), "mlx5_0:1,mlx5_1:1");
    f->ports[2].name = "bnxt_re0:1";
    f->ports[5].name = NULL;
    assert_string_equal(verbs_check_ports(f, f->arena), "mlx5_0:1,mlx5_1:1/bnxt_re0:1,mlx5_1:1/mlx5_0:1");
    verbs_fabric_free(f);
}

TEST_CASES(test_check)
