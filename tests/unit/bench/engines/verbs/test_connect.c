/* bench/engines/verbs/connect.c: which GIDs are tried, in which order. test_conduct and tests/vm connect by them. */
#include "bench/engines/verbs/verbs.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(attempts)
{
    struct verbs_gid x_gids[5] = {{{0}}}, y_gids[5] = {{{0}}};
    struct verbs_gid_table x = {"n0", "p", 0, x_gids, 5}, y = {"n1", "p", 0, y_gids, 5};
    struct verbs_attempt a[VERBS_ATTEMPTS];
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 0);
    set_gid(&x, 0, "fe80::1", 2, 0);
    set_gid(&y, 0, "fe80::2", 2, 0);
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 1); /* NCCL's own choice, and of a kind: once */
    assert_int_equal(a[0].kind, VERBS_GID_V2_LINK_LOCAL);
    set_gid(&x, 2, "10.0.0.1", 2, 0);
    set_gid(&y, 4, "10.0.0.2", 2, 0);
    set_gid(&x, 3, "fd00::1", 2, 0);
    set_gid(&y, 1, "fd00::2", 2, 0);
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_int_equal(a[0].lead, 2);
    assert_int_equal(a[0].follower, 4);
    assert_int_equal(a[1].kind, VERBS_GID_V2_IPV6);
    assert_int_equal(a[2].kind, VERBS_GID_V2_LINK_LOCAL);
    /* Before 2.21.5 NCCL takes index 0, which is tried first. */
    assert_int_equal(verbs_attempts(&x, &y, 22005, a), 3);
    assert_int_equal(a[0].kind, VERBS_GID_V2_LINK_LOCAL);
    assert_int_equal(a[1].kind, VERBS_GID_V2_IPV4);
    /* What the environment asks for comes first, and what works without it is known afterwards. */
    x.asked = "3";
    y.asked = "1";
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_true(a[0].lead == 3 && a[0].follower == 1 && a[1].kind == VERBS_GID_V2_IPV4);
    x.asked = "17"; /* of no GID */
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 3);
    assert_int_equal(a[0].kind, VERBS_GID_V2_IPV4);
    x.infiniband = y.infiniband = 1;
    assert_int_equal(verbs_attempts(&x, &y, VERBS_NCCL_NEWEST, a), 1);
    assert_int_equal(a[0].lead, 0);
}

TEST_CASES(test_connect)
