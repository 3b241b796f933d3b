/* probe/topology/rails.c: compute ports by network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "probe/topology/build.h"
#include "probe/topology/rails.h"
#include "tests/unit/probe/matrix.h"

static int add_port(struct topology *t, const char *hca, const char *netdev, const char *prefix)
{
    struct topo_port p = {.object = -1, .hca = hca, .port = 1, .netdev = netdev, .subnet_prefix = prefix};
    p.layer = prefix ? TOPO_LINK_INFINIBAND : TOPO_LINK_ETHERNET;
    p.state = TOPO_STATE_ACTIVE;
    return build_port(t, &t->classes[0], p);
}

static void add_netdev(struct topology *t, const char *name, const char *address)
{
    struct topo_netdev d = {.object = -1, .name = name};
    build_text(t, &d.addresses, &d.naddresses, "fe80::1/64");
    build_text(t, &d.addresses, &d.naddresses, address);
    build_netdev(t, &t->classes[0], d);
}

static void networks(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    struct rail *rails;
    build_class(t, NULL);
    add_netdev(t, "eth0", "10.1.2.3/20");
    add_netdev(t, "eth1", "10.1.15.9/20");
    add_netdev(t, "eth2", "10.1.16.9/20");
    add_netdev(t, "eth3", "nonsense");
    add_port(t, "mlx5_0", "eth0", NULL);
    add_port(t, "mlx5_1", "eth1", NULL);
    add_port(t, "mlx5_2", "eth2", NULL);
    add_port(t, "mlx5_3", "eth3", NULL);
    add_port(t, "mlx5_4", NULL, NULL);
    int n = rails_of(&t->classes[0], roles_of(&t->classes[0], t->arena), t->arena, &rails);
    assert_int_equal(n, 2);
    assert_string_equal(rails[0].network, "10.1.0.0/20");
    assert_int_equal(rails[0].nports, 2);
    assert_string_equal(rails[1].network, "10.1.16.0/20");
    assert_int_equal(rails[1].ports[0], 2);
    topo_free(t);
}

static void subnets(void **state)
{
    (void)state;
    struct topology *t = topo_new();
    struct rail *rails;
    build_class(t, NULL);
    add_port(t, "mlx5_0", NULL, "0xfe80000000000000");
    add_port(t, "mlx5_1", NULL, "0xfe80000000000001");
    int third = add_port(t, "mlx5_2", NULL, "0xfe80000000000002");
    t->classes[0].ports[third].state = TOPO_STATE_DOWN;
    int n = rails_of(&t->classes[0], roles_of(&t->classes[0], t->arena), t->arena, &rails);
    assert_int_equal(n, 2);
    assert_string_equal(rails[1].network, "0xfe80000000000001");
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks), cmocka_unit_test(subnets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
