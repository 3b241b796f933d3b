/* tuner/online/place.c: which of its addresses a node tells others, on made-up interfaces, and how one is connected to.
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int made_up_addresses(struct ifaddrs **list);
static void made_up_end(struct ifaddrs *list);
static int made_up_name(int fd, struct sockaddr *restrict to, socklen_t *restrict bytes);

#define getifaddrs   made_up_addresses
#define freeifaddrs  made_up_end
#define getsockname  made_up_name
#define wire_connect made_up_connection
#include "tuner/online/place.c"

/* ---- in the place of the machine's --------------------------------------------------------------------------------
 */

#define MOST 6

struct interface {
    const char *name, *address; /* "-": a link's; NULL: none */
    unsigned flags;             /* beside IFF_RUNNING, which they take away */
};

static const struct interface *interfaces; /* NULL: the system does not tell */
static const char *own;                    /* address of the connection */
static struct sockaddr_storage connected;
static socklen_t connected_bytes;

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage to = {.ss_family = AF_PACKET};
    struct sockaddr_in *four = (struct sockaddr_in *)(void *)&to;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)(void *)&to;
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1)
        to.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &six->sin6_addr) == 1)
        to.ss_family = AF_INET6;
    return to;
}

static int getifaddrs(struct ifaddrs **list)
{
    static struct ifaddrs all[MOST];
    static struct sockaddr_storage addresses[MOST];
    *list = NULL;
    if (!interfaces)
        return -1;
    for (int i = 0; i < MOST && interfaces[i].name; i++) {
        addresses[i] = address_of(interfaces[i].address ? interfaces[i].address : "-");
        all[i] = (struct ifaddrs){.ifa_name = (char *)(uintptr_t)interfaces[i].name,
                                  .ifa_flags = IFF_RUNNING ^ interfaces[i].flags};
        all[i].ifa_addr = interfaces[i].address ? (struct sockaddr *)(void *)&addresses[i] : NULL;
        if (i)
            all[i - 1].ifa_next = &all[i];
        *list = all;
    }
    return 0;
}

static void freeifaddrs(struct ifaddrs *list)
{
    (void)list;
}

static int getsockname(int fd, struct sockaddr *restrict to, socklen_t *restrict bytes)
{
    struct sockaddr_storage a = address_of(own);
    assert_int_equal(fd, 7);
    assert_true(*bytes >= sizeof(struct sockaddr_in6));
    memcpy(to, &a, *bytes);
    return 0;
}

int wire_connect(const struct sockaddr *to, socklen_t bytes)
{
    memset(&connected, 0, sizeof connected);
    memcpy(&connected, to, bytes);
    connected_bytes = bytes;
    return 5;
}

/* ---- what is asked ------------------------------------------------------------------------------------------------
 */

static struct online_place at(const char *text, uint16_t port)
{
    struct sockaddr_storage a = address_of(text);
    return online_place_at((const struct sockaddr *)(void *)&a, port);
}

static void addresses_of_both_kinds(void **state)
{
    (void)state;
    struct online_place p = at("1.2.3.4", 9), q = at("::ffff:1.2.3.4", 9);
    static const unsigned char bytes[16] = {[10] = 0xff, [11] = 0xff, 1, 2, 3, 4};
    assert_memory_equal(p.ip, bytes, 16);
    assert_int_equal(p.port, 9);
    assert_true(online_place_equal(&p, &q));
    q = at("1.2.3.4", 8);
    assert_false(online_place_equal(&p, &q));
    q = at("1.2.3.5", 9);
    assert_false(online_place_equal(&p, &q));
    p = at("fd00::1", 1);
    assert_true(p.ip[0] == 0xfd && p.ip[15] == 1 && !p.ip[10] && !p.ip[11]);
}

static void connects_by_the_address_s_kind(void **state)
{
    (void)state;
    struct online_place p = at("1.2.3.4", 0x1234);
    const struct sockaddr_in *four = (const struct sockaddr_in *)(void *)&connected;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(void *)&connected;
    assert_int_equal(online_connect(&p), 5);
    assert_true(connected_bytes == sizeof *four && four->sin_family == AF_INET && four->sin_port == htons(0x1234));
    assert_int_equal(ntohl(four->sin_addr.s_addr), 0x01020304);
    p = at("fd00::1:2", 0x4321);
    assert_int_equal(online_connect(&p), 5);
    assert_true(connected_bytes == sizeof *six && six->sin6_family == AF_INET6 && six->sin6_port == htons(0x4321));
    assert_memory_equal(&six->sin6_addr, p.ip, 16);
}

#define LO                              \
    {                                   \
        "lo", "127.0.0.1", IFF_LOOPBACK \
    }

/* The connection's own where that is on an interface to be used, or on none; else the first that fits. */
static void tells_where_others_reach_it(void **state)
{
    (void)state;
    static const struct {
        const char *own, *wanted, *told;
        struct interface all[MOST];
    } cases[] = {
        {"10.0.0.1", NULL, "10.0.0.1", {LO, {"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}},
        {"10.1.0.1", NULL, "10.1.0.1", {LO, {"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}},
        {"172.17.0.1",
         NULL,
         "10.0.0.1",
         {{"docker0", "172.17.0.1", 0}, {"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}},
        {"172.17.0.1",
         NULL,
         "10.0.0.1",
         {{"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}, {"docker0", "172.17.0.1", 0}}},
        {"172.17.0.1", NULL, "172.17.0.1", {{"docker0", "172.17.0.1", 0}, LO}}, /* there is no other */
        {"10.0.0.1", "zz1", "10.1.0.1", {{"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}},
        {"10.0.0.1", "zz9", "10.0.0.1", {{"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}},
        {"10.9.0.1", NULL, "10.9.0.1", {{"zz0", "10.0.0.1", 0}, {"zz1", "10.1.0.1", 0}}}, /* translated on the way */
        {"127.0.0.1", NULL, "127.0.0.1", {LO, {"zz0", "10.0.0.1", 0}}},
        {"fd00::7", NULL, "fd00::8", {{"veth1", "fd00::7", 0}, {"zz0", "fe80::1", 0}, {"zz0", "fd00::8", 0}}},
        {"172.17.0.1",
         NULL,
         "10.2.0.1",
         {{"docker0", "172.17.0.1", 0},
          {"zza", NULL, 0},
          {"zzb", "-", 0},
          {"zzc", "10.1.0.1", IFF_RUNNING},
          LO,
          {"zzd", "10.2.0.1", 0}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        own = cases[i].own;
        interfaces = cases[i].all;
        if (cases[i].wanted)
            setenv("NCCL_SOCKET_IFNAME", cases[i].wanted, 1);
        else
            unsetenv("NCCL_SOCKET_IFNAME");
        struct online_place expected = at(cases[i].told, 77), seen = at(own, 77), p = online_place_of(7, 77);
        if (!online_place_equal(&p, &expected))
            fail_msg("case %zu: %d.%d.%d.%d", i, p.ip[12], p.ip[13], p.ip[14], p.ip[15]);
        p = online_place_seen(7, 77);
        assert_true(online_place_equal(&p, &seen));
    }
    interfaces = NULL;
    struct online_place p = online_place_of(7, 1), seen = at(own, 1);
    assert_true(online_place_equal(&p, &seen));
}

/* ---- interfaces -------------------------------------------------------------------------------------------------- */

static char net[] = "/tmp/test_place_net_XXXXXX";

static void make(const char *path)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", net, path);
    assert_int_equal(mkdir(whole, 0777), 0);
}

static void not_the_network_of_the_data(void **state)
{
    (void)state;
    char clean[64];
    assert_non_null(mkdtemp(net));
    make("eth0"), make("eth0/device");
    make("ib0"), make("ib0/device"), make("ib0/device/infiniband");
    make("bond0"), make("bond0/lower_eth1"), make("bond0/lower_eth1/device"),
        make("bond0/lower_eth1/device/infiniband");
    make("bond1"), make("bond1/lower_eth2"), make("bond1/lower_eth2/device");
    assert_true(online_interface_fits("eth0", NULL, net));
    assert_false(online_interface_fits("ib0", NULL, net));
    assert_false(online_interface_fits("bond0", NULL, net));
    assert_true(online_interface_fits("bond1", "", net));
    assert_false(online_interface_fits("docker0", NULL, net));
    assert_true(online_interface_fits("ib0", "ib", net)); /* who names it gets it */
    assert_true(online_interface_fits("ib0", "eth,ib0:1", net));
    assert_false(online_interface_fits("ib01", "=ib0", net));
    assert_false(online_interface_fits("eth0", "^eth", net));
    assert_true(online_interface_fits("ib0", "^=eth,eth0", net));
    snprintf(clean, sizeof clean, "rm -r %s", net);
    assert_int_equal(system(clean), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_both_kinds),
        cmocka_unit_test(connects_by_the_address_s_kind),
        cmocka_unit_test(tells_where_others_reach_it),
        cmocka_unit_test(not_the_network_of_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
