/* bench/engines/verbs/net.c: an interface that answers, one that does not, and one that is only seemingly another node.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <unistd.h>

#include "bench/engines/verbs/order.h"
#include "tests/lib/unit.h"

/* The loopback, which verbs_net_listen leaves out, as if it were a network: 127.0.0.N is node N. */
static struct verbs_net at(const char *address, in_port_t port)
{
    struct verbs_net net = {.name = "lo"};
    struct sockaddr_in *in = (struct sockaddr_in *)&net.address;
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    assert_int_equal(inet_pton(AF_INET, address, &in->sin_addr), 1);
    return net;
}

static int listen_at(struct verbs_net *net)
{
    socklen_t length = sizeof net->address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&net->address, sizeof(struct sockaddr_in)), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&net->address, &length), 0);
    return fd;
}

TEST_CASE(who_answers)
{
    struct verbs_net_list mine = {.nets = {at("127.0.0.1", 0)}, .n = 1}, others[4] = {{.n = 1}, {.n = 1}, {.n = 1}};
    int reached[VERBS_NETS] = {0};
    others[0].nets[0] = at("127.0.0.2", 0); /* answers */
    int fd = listen_at(&others[0].nets[0]);
    others[1].nets[0] = at("127.0.0.3", 9); /* refuses */
    others[2].nets[0] = at("127.0.0.1", 0); /* the same address as here: a bridge of every node */
    int own = listen_at(&others[2].nets[0]);
    verbs_net_try(&mine, others, 4, 2, reached); /* the last has no such interface */
    assert_int_equal(reached[0], 1);
    close(fd);
    close(own);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir))
        n++;
    closedir(dir);
    return n;
}

/* ---- which interfaces there are ---------------------------------------------------------------------------------- */

/* In the place of libc's, where there are any: so many, of which each has an address. */
static struct ifaddrs interfaces[24];
static int ninterfaces;

int getifaddrs(struct ifaddrs **all)
{
    for (int i = 0; i + 1 < ninterfaces; i++)
        interfaces[i].ifa_next = &interfaces[i + 1];
    *all = ninterfaces ? interfaces : NULL;
    return ninterfaces ? 0 : -1;
}

void freeifaddrs(struct ifaddrs *all)
{
    assert_ptr_equal(all, interfaces);
}

static void has(const char *name, unsigned flags, int family, const char *address)
{
    static char names[24][32];
    static struct sockaddr_storage addresses[24];
    struct ifaddrs *i = &interfaces[ninterfaces];
    struct sockaddr_storage *a = &addresses[ninterfaces];
    *a = (struct sockaddr_storage){.ss_family = (sa_family_t)family};
    if (family == AF_INET)
        inet_pton(family, address, &((struct sockaddr_in *)a)->sin_addr);
    if (family == AF_INET6)
        inet_pton(family, address, &((struct sockaddr_in6 *)a)->sin6_addr);
    snprintf(names[ninterfaces], sizeof *names, "%s", name);
    *i = (struct ifaddrs){.ifa_name = names[ninterfaces], .ifa_flags = flags};
    i->ifa_addr = family ? (struct sockaddr *)a : NULL;
    ninterfaces++;
}

static int has_ipv6(void)
{
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0),
        can = fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof a);
    close(fd);
    return can;
}

/* Those that run and lead somewhere, IPv4 first, each once. */
TEST_CASE(which_listen)
{
    struct verbs_net_list mine;
    int fds[VERBS_NETS];
    char text[VERBS_NET_TEXT];
    ninterfaces = 0;
    has("t-lo", IFF_RUNNING | IFF_LOOPBACK, AF_INET, "127.0.0.1");
    has("t-down", 0, AF_INET, "127.0.0.2");
    has("t-none", IFF_RUNNING, 0, "");
    has("t-packet", IFF_RUNNING, AF_PACKET, "");
    has("t-local", IFF_RUNNING, AF_INET6, "fe80::1");
    has("t-six", IFF_RUNNING, AF_INET6, "::1");
    has("t-both", IFF_RUNNING, AF_INET6, "::1");
    has("t-both", IFF_RUNNING, AF_INET, "127.0.0.3");
    has("t-both", IFF_RUNNING, AF_INET, "127.0.0.4");
    has("t-nobodys", IFF_RUNNING, AF_INET, "203.0.113.9");
    has("t-of-sixteen-ch", IFF_RUNNING, AF_INET, "127.0.0.5");
    has("t-of-sixteen-chr", IFF_RUNNING, AF_INET, "127.0.0.6");
    verbs_net_listen(&mine, fds);
    const struct {
        const char *name, *address;
    } rows[] = {{"t-both", "127.0.0.3"}, {"t-of-sixteen-ch", "127.0.0.5"}, {"t-six", "::1"}};
    assert_int_equal(mine.n, has_ipv6() ? 3 : 2);
    for (int i = 0; i < mine.n; i++) {
        assert_string_equal(mine.nets[i].name, rows[i].name);
        assert_string_equal(verbs_net_address(text, &mine.nets[i]), rows[i].address);
        int accepts = 0;
        socklen_t length = sizeof accepts;
        assert_int_equal(getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length), 0);
        assert_true(accepts && ((struct sockaddr_in *)&mine.nets[i].address)->sin_port);
        close(fds[i]);
    }
    struct verbs_net none = {.name = "x"};
    assert_string_equal(verbs_net_address(text, &none), "");
}

TEST_CASE(no_more_than_nccl_looks_at)
{
    struct verbs_net_list mine;
    int fds[VERBS_NETS];
    ninterfaces = 0;
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        has(name, IFF_RUNNING, AF_INET, "127.0.0.1");
    }
    verbs_net_listen(&mine, fds);
    assert_int_equal(mine.n, VERBS_NETS);
    assert_string_equal(mine.nets[VERBS_NETS - 1].name, "t15");
    for (int i = 0; i < mine.n; i++)
        close(fds[i]);
    ninterfaces = 0; /* none that could be asked for */
    mine.n = 7;
    verbs_net_listen(&mine, fds);
    assert_int_equal(mine.n, 0);
}

/* Each interface by itself: found by name and family, and never by an address that is here, too. */
TEST_CASE(each_by_itself)
{
    struct verbs_net_list mine = {.nets = {at("127.0.0.1", 0), at("127.0.0.5", 0)}, .n = 2}, others[3] = {{.n = 1}};
    int reached[VERBS_NETS] = {7, 7, 7}, fds[4];
    strcpy(mine.nets[1].name, "t-other");
    others[0].n = others[1].n = 2;
    others[2].n = 1;
    for (int o = 0; o < 2; o++)
        for (int i = 0; i < 2; i++) {
            others[o].nets[i] = at(o ? "127.0.0.2" : "127.0.0.3", 0);
            strcpy(others[o].nets[i].name, i ? "t-other" : "lo");
            fds[2 * o + i] = listen_at(&others[o].nets[i]);
        }
    others[2].nets[0] = at("127.0.0.2", 9);
    others[2].nets[0].address.ss_family = AF_INET6; /* of another family */
    others[2].nets[1] = others[0].nets[1];          /* behind its list */
    int open = open_descriptors();
    verbs_net_try(&mine, others, 3, 5, reached);
    assert_int_equal(reached[0], 2);
    assert_int_equal(reached[1], 2);
    assert_int_equal(reached[2], 7);
    assert_int_equal(open_descriptors(), open);
    close(fds[0]);
    verbs_net_try(&mine, others, 3, 5, reached);
    assert_int_equal(reached[0], 1);
    assert_int_equal(reached[1], 2);
    ((struct sockaddr_in *)&others[1].nets[0].address)->sin_addr.s_addr =
        ((struct sockaddr_in *)&mine.nets[1].address)->sin_addr.s_addr; /* this node's, though of another interface */
    verbs_net_try(&mine, others, 3, 5, reached);
    assert_int_equal(reached[0], 0);
    open = open_descriptors();
    verbs_net_try(&mine, others, 3, 0, reached); /* without patience */
    assert_int_equal(reached[1], 0);
    strcpy(others[2].nets[0].name, "t-other"); /* an address that nothing leads to at once */
    others[2].nets[0] = at("255.255.255.255", 9);
    verbs_net_try(&mine, others, 3, 5, reached);
    assert_int_equal(open_descriptors(), open);
    verbs_net_try(&mine, others, 0, 5, reached);
    assert_true(!reached[0] && !reached[1]);
    for (int i = 1; i < 4; i++)
        close(fds[i]);
}

TEST_CASES(main)
