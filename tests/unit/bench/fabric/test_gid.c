/* bench/fabric/gid.c, gid_advise.c: made-up GID tables in the layouts that drivers give them, NCCL's choice on
 * them, and the least setting that repairs it. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include "bench/fabric/ports.h"
#include "tests/lib/unit.h"

enum { NCCL_OLD = 22005, NCCL_NOW = 22807 };

/* "10.0.0.1" or "fe80::1"; NULL an empty entry. */
static struct verbs_gid gid(const char *address, int roce, int proven)
{
    struct verbs_gid g = {.roce = roce, .proven = proven};
    if (!address)
        return (struct verbs_gid){{0}};
    if (inet_pton(AF_INET, address, g.raw + 12) == 1)
        g.raw[10] = g.raw[11] = 0xff;
    else
        assert_int_equal(inet_pton(AF_INET6, address, g.raw), 1);
    return g;
}

#define TABLE(name, ...)                            \
    struct verbs_gid name##_gids[] = {__VA_ARGS__}; \
    struct verbs_gid_table name = {"node", #name, 0, name##_gids, sizeof name##_gids / sizeof *name##_gids}

static int choice(const struct verbs_gid_table *t, int nccl)
{
    struct verbs_gid_setting unset = VERBS_GID_UNSET;
    return verbs_gid_nccl_choice(t, nccl, &unset);
}

/* What mlx5 shows for a port with one IPv4 address: each GID as v1 and as v2. */
#define MLX5(last, proven) \
    gid("fe80::" last, 1, 0), gid("fe80::" last, 2, 0), gid("10.0.0." last, 1, 0), gid("10.0.0." last, 2, proven)

TEST_CASE(kinds)
{
    static const struct {
        const char *address;
        int roce;
        enum verbs_gid_kind kind;
    } cases[] = {{"10.0.0.1", 2, VERBS_GID_V2_IPV4},      {"10.0.0.1", 1, VERBS_GID_V1_IPV4},
                 {"2001:db8::1", 2, VERBS_GID_V2_IPV6},   {"fd00::1", 1, VERBS_GID_V1_IPV6},
                 {"fe80::1", 2, VERBS_GID_V2_LINK_LOCAL}, {"fe80::1", 1, VERBS_GID_V1_LINK_LOCAL},
                 {"10.0.0.1", 0, VERBS_GID_NO_KIND},      {NULL, 2, VERBS_GID_NO_KIND}};
    char text[VERBS_GID_TEXT];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verbs_gid g = gid(cases[i].address, cases[i].roce, 0);
        assert_int_equal(verbs_gid_kind(&g), cases[i].kind);
        if (cases[i].address)
            assert_string_equal(verbs_gid_print(text, &g), cases[i].address);
    }
}

/* The rules of NCCL's walk, one a case. */
TEST_CASE(nccl_walk)
{
    TABLE(mlx5, MLX5("1", 1));
    assert_int_equal(choice(&mlx5, NCCL_NOW), 3); /* IPv4 beats link-local, then v2 beats v1 */
    assert_int_equal(choice(&mlx5, 22105), 3);
    assert_int_equal(choice(&mlx5, 22104), 0); /* no choice of its own before 2.21.5 */
    TABLE(second, gid("fe80::1", 2, 0), gid("10.0.0.1", 2, 1), gid("10.1.0.1", 2, 1));
    assert_int_equal(choice(&second, NCCL_NOW), 1); /* the first of equals stays */
    TABLE(v1_last, gid("fe80::1", 2, 0), gid("10.0.0.1", 2, 1), gid("10.0.0.1", 1, 1));
    assert_int_equal(choice(&v1_last, NCCL_NOW), 1);
    TABLE(holes, gid(NULL, 0, 0), gid(NULL, 0, 0), gid("10.0.0.1", 1, 0), gid(NULL, 0, 0), gid("10.0.0.1", 2, 1));
    assert_int_equal(choice(&holes, NCCL_NOW), 4);
    TABLE(v6_only, gid("fe80::1", 1, 0), gid("fe80::1", 2, 0), gid("fd00::1", 1, 0), gid("fd00::1", 2, 1));
    assert_int_equal(choice(&v6_only, NCCL_NOW), 0); /* family AF_INET finds nothing */
    struct verbs_gid_setting v6 = {.index = -1, .family = AF_INET6};
    assert_int_equal(verbs_gid_nccl_choice(&v6_only, NCCL_NOW, &v6), 3);
    struct verbs_gid_setting index = {.index = 7};
    assert_int_equal(verbs_gid_nccl_choice(&v6_only, NCCL_NOW, &index), 7); /* unchecked */
}

TEST_CASE(infiniband)
{
    TABLE(ib, gid("fe80::1", 0, 0), gid("fec0:0:5::1", 0, 0));
    ib.infiniband = 1;
    struct verbs_gid_setting index = {.index = 3};
    assert_int_equal(verbs_gid_nccl_choice(&ib, NCCL_NOW, &index), 1); /* bytes 4 and 5 carry a fabric-wide LID */
    ib_gids[1] = gid("fec0::1", 0, 0);
    assert_int_equal(verbs_gid_nccl_choice(&ib, NCCL_NOW, &index), 0);
    assert_int_equal(verbs_gid_nccl_choice(&ib, NCCL_OLD, &index), 3); /* obeyed before 2.22.3 */
}

TEST_CASE(range)
{
    TABLE(two, gid("fe80::1", 2, 0), gid("192.168.0.1", 2, 0), gid("10.0.0.1", 2, 1));
    struct verbs_gid_setting s = {.index = -1, .prefix = 8, .range = gid("10.0.0.0", 0, 0)};
    assert_int_equal(verbs_gid_nccl_choice(&two, NCCL_NOW, &s), 2);
    s.prefix = 32;
    assert_int_equal(verbs_gid_nccl_choice(&two, NCCL_NOW, &s), 0);
    /* Index 0 is never asked whether it is in the range. */
    s.prefix = 8;
    TABLE(first, gid("192.168.0.1", 2, 0), gid("10.0.0.1", 2, 1));
    assert_int_equal(verbs_gid_nccl_choice(&first, NCCL_NOW, &s), 0);
}

TEST_CASE(matching)
{
    TABLE(x, gid("fe80::1", 2, 0), gid("10.0.0.1", 2, 0), gid("10.1.0.1", 2, 0));
    TABLE(y, gid("10.1.0.2", 2, 0), gid("fe80::2", 2, 0));
    int ix, iy;
    assert_true(verbs_gid_match(&x, &y, VERBS_GID_V2_IPV4, &ix, &iy));
    assert_int_equal(ix, 2);
    assert_int_equal(iy, 0);
    assert_true(verbs_gid_match(&x, &y, VERBS_GID_V2_LINK_LOCAL, &ix, &iy));
    assert_int_equal(ix, 0);
    assert_int_equal(iy, 1);
    assert_false(verbs_gid_match(&x, &y, VERBS_GID_V2_IPV6, &ix, &iy));
}

static struct verbs_gid_advice advise(const struct verbs_gid_table *x, const struct verbs_gid_table *y, int nccl)
{
    struct verbs_gid_table both[] = {*x, *y};
    struct verbs_gid_advice advice;
    verbs_gid_advise(both, 2, nccl, &advice);
    assert_true(strlen(advice.why) > 20);
    assert_int_equal(advice.verdict == VERBS_GID_SET, advice.environment[0] != '\0');
    return advice;
}

TEST_CASE(left_alone)
{
    TABLE(x, MLX5("1", 1));
    TABLE(y, gid(NULL, 0, 0), MLX5("2", 1)); /* other indices: no matter */
    assert_int_equal(advise(&x, &y, NCCL_NOW).verdict, VERBS_GID_LEAVE);
    x.infiniband = y.infiniband = 1;
    assert_int_equal(advise(&x, &y, NCCL_OLD).verdict, VERBS_GID_LEAVE);
}

TEST_CASE(least_setting)
{
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("fd00::1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("fe80::3", 2, 0), gid("fd00::2", 2, 1));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment, "NCCL_IB_ADDR_FAMILY=AF_INET6");
    }
    {
        /* v2 is filtered on the way, v1 works. */
        TABLE(x, MLX5("1", 0));
        TABLE(y, MLX5("2", 0));
        x_gids[2].proven = y_gids[2].proven = 1;
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment, "NCCL_IB_ROCE_VERSION_NUM=1");
    }
    {
        /* A storage network's address comes first on one node. */
        TABLE(x, gid("fe80::1", 2, 0), gid("192.168.7.1", 2, 0), gid("10.20.0.1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("10.20.1.2", 2, 1), gid("192.168.7.2", 2, 0));
        struct verbs_gid_advice a = advise(&x, &y, NCCL_NOW);
        assert_string_equal(a.environment, "NCCL_IB_ADDR_RANGE=10.0.0.0/8");
        assert_non_null(strstr(a.why, "index 1 (192.168.7.1, RoCE v2 over IPv4) on node x"));
    }
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("fd00:7::1", 2, 0), gid("fd00:9::1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("fd00:9::2", 2, 1), gid("fd00:7::2", 2, 0));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment,
                            "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ADDR_RANGE=fd00:9::/32");
    }
}

TEST_CASE(index_only_where_it_is_right_everywhere)
{
    TABLE(x, MLX5("1", 1));
    TABLE(y, MLX5("2", 1));
    TABLE(z, gid(NULL, 0, 0), MLX5("3", 1));
    assert_string_equal(advise(&x, &y, NCCL_OLD).environment, "NCCL_IB_GID_INDEX=3");
    assert_int_equal(advise(&x, &z, NCCL_OLD).verdict, VERBS_GID_NONE); /* index 3 here, 4 there */
    assert_int_equal(advise(&x, &z, NCCL_NOW).verdict, VERBS_GID_LEAVE);
}

/* Each port's choice works with some other, and the two do not with one another. */
TEST_CASE(one_kind_everywhere)
{
    TABLE(x, gid("fe80::1", 2, 0), gid("10.0.0.1", 1, 1), gid("10.0.0.1", 2, 1));
    TABLE(y, gid("fe80::2", 2, 0), gid("10.0.0.2", 1, 1));
    struct verbs_gid_advice a = advise(&x, &y, NCCL_NOW);
    assert_string_equal(a.environment, "NCCL_IB_ROCE_VERSION_NUM=1");
    assert_string_equal(a.why,
                        "by default NCCL takes index 1 (10.0.0.2, RoCE v1 with an IPv4 GID) on node y, which does not "
                        "connect to the others; with NCCL_IB_ROCE_VERSION_NUM=1 it takes a working one on every port");
    assert_true(a.setting.roce == 1 && a.setting.index == -1 && !a.setting.family && !a.setting.prefix);
    x_gids[1].proven = 0; /* nothing is left that both have */
    a = advise(&x, &y, NCCL_NOW);
    assert_int_equal(a.verdict, VERBS_GID_NONE);
    assert_string_equal(a.why, "by default NCCL takes index 1 (10.0.0.2, RoCE v1 with an IPv4 GID) on node y, which "
                               "does not connect to the others, and no common setting helps: "
                               "give every port an address of one family in one subnet a rail");
    assert_int_equal(a.setting.index, -1);
    x_gids[1].proven = 1;
    TABLE(z, gid("fe80::3", 2, 0), gid("10.0.0.3", 1, 1), gid("10.0.0.3", 2, 1));
    assert_string_equal(advise(&x, &z, NCCL_NOW).why, "NCCL's own choice works on every port: RoCE v2 over IPv4");
    x.infiniband = z.infiniband = 1;
    assert_string_equal(advise(&x, &z, NCCL_NOW).why, "NCCL's own choice works on every port: there is no RoCE port");
}

TEST_CASE(kinds_in_words)
{
    static const char *const names[] = {"RoCE v2 over IPv4",
                                        "RoCE v2 over IPv6",
                                        "RoCE v1 with an IPv4 GID",
                                        "RoCE v1 with an IPv6 GID",
                                        "RoCE v2, link-local",
                                        "RoCE v1, link-local",
                                        "no usable GID",
                                        "unknown"};
    for (int k = 0; k < 8; k++)
        assert_string_equal(verbs_gid_kind_name((enum verbs_gid_kind)k), names[k]);
}

/* Prefixes as short as they may be: whole bytes and groups at first, all that the proven ones share at last. */
TEST_CASE(shortest_ranges)
{
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("10.21.0.1", 2, 0), gid("10.20.0.1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("10.20.1.2", 2, 1), gid("10.21.0.2", 2, 0));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment, "NCCL_IB_ADDR_RANGE=10.20.0.0/16");
    }
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("10.20.128.1", 2, 0), gid("10.20.0.1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("10.20.1.2", 2, 1));
        struct verbs_gid_advice a = advise(&x, &y, NCCL_NOW);
        assert_string_equal(a.environment, "NCCL_IB_ADDR_RANGE=10.20.0.0/23");
        assert_int_equal(a.setting.prefix, 23);
        y_gids[1] = gid("10.20.127.255", 2, 1);
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment, "NCCL_IB_ADDR_RANGE=10.20.0.0/17");
        assert_string_equal(advise(&y, &x, NCCL_NOW).environment, "NCCL_IB_ADDR_RANGE=10.20.0.0/17");
    }
    {
        /* Each has a second one that works, too, in another network: the first of each. */
        TABLE(x, gid("fe80::1", 2, 0), gid("192.168.0.1", 2, 0), gid("10.20.0.1", 2, 1), gid("172.16.0.1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("10.20.0.2", 2, 1), gid("172.16.0.2", 2, 1));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment, "NCCL_IB_ADDR_RANGE=10.0.0.0/8");
    }
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("2001:db8:8000::1", 2, 0), gid("2001:db8::1", 2, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("2001:db8:4000::2", 2, 1));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment,
                            "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ADDR_RANGE=2001:db8::/33");
    }
}

/* RoCE v1 alone works: of IPv4 and of IPv6, with and without other networks in between. */
TEST_CASE(the_older_version)
{
    {
        TABLE(x, gid("fe80::1", 1, 0), gid("192.168.7.1", 1, 0), gid("10.20.0.1", 1, 1), gid("10.20.0.1", 2, 0));
        TABLE(y, gid("fe80::2", 1, 0), gid("10.20.1.2", 1, 1), gid("10.20.1.2", 2, 0));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment,
                            "NCCL_IB_ADDR_RANGE=10.0.0.0/8 NCCL_IB_ROCE_VERSION_NUM=1");
    }
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("fd00::1", 1, 1), gid("fd00::1", 2, 0));
        TABLE(y, gid("fe80::2", 2, 0), gid("fd00::2", 1, 1), gid("fd00::2", 2, 0));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment,
                            "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ROCE_VERSION_NUM=1");
    }
    {
        TABLE(x, gid("fe80::1", 2, 0), gid("fd00:7::1", 1, 0), gid("fd00:9::1", 1, 1));
        TABLE(y, gid("fe80::2", 2, 0), gid("fd00:9::2", 1, 1), gid("fd00:7::2", 1, 0));
        assert_string_equal(advise(&x, &y, NCCL_NOW).environment,
                            "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ADDR_RANGE=fd00:9::/32 NCCL_IB_ROCE_VERSION_NUM=1");
    }
}

TEST_CASE(nothing_helps)
{
    TABLE(x, MLX5("1", 1));
    TABLE(none, gid("fe80::2", 1, 0), gid("fe80::2", 2, 0));
    assert_int_equal(advise(&x, &none, NCCL_NOW).verdict, VERBS_GID_NONE);
    /* IPv4 on one port and IPv6 on the other, each proven with others: they do not connect to one another. */
    TABLE(v6, gid("fe80::2", 2, 0), gid("fd00::2", 2, 1));
    assert_int_equal(advise(&x, &v6, NCCL_NOW).verdict, VERBS_GID_NONE);
    TABLE(empty, gid(NULL, 0, 0));
    empty.count = 0;
    assert_int_equal(advise(&x, &empty, NCCL_NOW).verdict, VERBS_GID_NONE);
}

TEST_CASES(test_gid)
