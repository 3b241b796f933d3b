/* probe/source/netdev.c in a network namespace of its own, with a bridge and both ends of a veth pair. */
#include <sched.h>
#include <sys/mount.h>

#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

/* 0, or why there can be no such namespace here. */
static const char *enter_namespace(void)
{
    if (unshare(CLONE_NEWNET | CLONE_NEWNS))
        return "network namespaces need root";
    /* /sys shows the interfaces of the namespace that it was mounted in. */
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL))
        return "/sys cannot be mounted again";
    if (system("ip link set lo up && ip link add br9 type bridge && ip link add veth9 type veth peer name rail9 &&"
               " ip link set veth9 master br9 up && ip link set br9 up && ip link set rail9 mtu 4200 up &&"
               " ip addr add 10.99.0.1/20 dev rail9 && ip addr add fd99::1/64 dev rail9 nodad &&"
               " ip link add away9 type veth peer name gone9"))
        return "ip cannot make a bridge and veth pairs";
    return NULL;
}

static const struct topo_netdev *netdev(const struct topo_class *c, const char *name)
{
    for (int i = 0; i < c->nnetdevs; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return &c->netdevs[i];
    fail_msg("%s is not there", name);
    return NULL;
}

TEST_CASE(kinds)
{
    const char *why = enter_namespace();
    if (why) {
        print_message("%s\n", why);
        skip();
    }
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    source_netdev(t, c);
    assert_int_equal(c->nnotes, 0);
    assert_int_equal(netdev(c, "lo")->kind, TOPO_NET_LOOPBACK);
    assert_int_equal(netdev(c, "br9")->kind, TOPO_NET_BRIDGE);
    assert_int_equal(netdev(c, "veth9")->kind, TOPO_NET_VIRTUAL);
    assert_string_equal(netdev(c, "veth9")->master, "br9");
    assert_int_equal(netdev(c, "away9")->state, TOPO_STATE_DOWN);
    const struct topo_netdev *rail = netdev(c, "rail9");
    assert_int_equal(rail->kind, TOPO_NET_VIRTUAL);
    assert_int_equal(rail->state, TOPO_STATE_ACTIVE);
    assert_null(rail->master);
    assert_int_equal(rail->object, -1);
    assert_int_equal(rail->mtu_bytes, 4200);
    assert_float_equal(rail->speed_Gbps, 10, 0); /* what the kernel says of every veth */
    assert_true(rail->naddresses >= 2);
    assert_string_equal(rail->addresses[0], "10.99.0.1/20");
    int v6 = 0;
    for (int i = 1; i < rail->naddresses; i++)
        v6 += !strcmp(rail->addresses[i], "fd99::1/64");
    assert_int_equal(v6, 1);

    /* A container that hides /sys/class: names, states and addresses remain. */
    assert_int_equal(mount("none", "/sys", "tmpfs", 0, NULL), 0);
    struct topo_class *hidden = build_class(t, NULL);
    source_netdev(t, hidden);
    assert_note(hidden, "/sys/class/net is not there");
    rail = netdev(hidden, "rail9");
    assert_int_equal(rail->kind, TOPO_NET_UNKNOWN);
    assert_int_equal(rail->state, TOPO_STATE_ACTIVE);
    assert_string_equal(rail->addresses[0], "10.99.0.1/20");
    topo_free(t);
}

TEST_CASES(test_netdev)
