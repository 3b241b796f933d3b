/* Interfaces and addresses. */
#include "tuner/online/place.h"

#include <dirent.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/tcp.h"

#define NET "/sys/class/net"

struct online_place online_place_at(const struct sockaddr *a, uint16_t port)
{
    static const unsigned char four[12] = {[10] = 0xff, [11] = 0xff};
    struct online_place p = {.port = port};
    memcpy(p.ip, four, sizeof four);
    if (a->sa_family == AF_INET)
        memcpy(p.ip + sizeof four, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
    else if (a->sa_family == AF_INET6)
        memcpy(p.ip, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, sizeof p.ip);
    return p;
}

int online_place_equal(const struct online_place *a, const struct online_place *b)
{
    return a->port == b->port && !memcmp(a->ip, b->ip, sizeof a->ip);
}

/* ---- which interface --------------------------------------------------------------------------------------------- */

static int exists(const char *net, const char *name, const char *what)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s/%s", net, name, what);
    return !access(path, F_OK);
}

/* Its own device, or one of those that a bond or VLAN is made of. */
static int has_rdma(const char *net, const char *name)
{
    char path[512], below[300];
    int found = exists(net, name, "device/infiniband");
    snprintf(path, sizeof path, "%s/%s", net, name);
    DIR *dir = found ? NULL : opendir(path);
    for (const struct dirent *e; dir && !found && (e = readdir(dir));) {
        snprintf(below, sizeof below, "%s/device/infiniband", e->d_name);
        found = !strncmp(e->d_name, "lower_", 6) && exists(net, name, below);
    }
    if (dir)
        closedir(dir);
    return found;
}

/* NCCL's words: a list of beginnings of names, "=" in front: of names, "^": of what is left out. */
static int is_listed(const char *name, const char *list)
{
    int out = *list == '^', exact, listed = 0;
    list += out;
    exact = *list == '=';
    list += exact;
    while (*list) {
        size_t all = strcspn(list, ","), n = strcspn(list, ",:");
        listed |= n && !strncmp(name, list, n) && (!exact || !name[n]);
        list += all + (list[all] == ',');
    }
    return listed != out;
}

int online_interface_fits(const char *name, const char *wanted, const char *net)
{
    if (wanted && *wanted)
        return is_listed(name, wanted);
    return !is_listed(name, "docker,virbr,veth,cni,flannel") && !has_rdma(net, name);
}

/* Of a machine's addresses one that others can be told. */
static int can_be_told(const struct ifaddrs *i)
{
    const struct sockaddr *a = i->ifa_addr;
    return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6) && (i->ifa_flags & IFF_RUNNING) &&
           !(i->ifa_flags & IFF_LOOPBACK) &&
           !(a->sa_family == AF_INET6 &&
             IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr));
}

struct online_place online_place_seen(int fd, uint16_t port)
{
    struct sockaddr_in6 own = {0};
    socklen_t bytes = sizeof own;
    getsockname(fd, (struct sockaddr *)(void *)&own, &bytes);
    return online_place_at((const struct sockaddr *)(const void *)&own, port);
}

/* A connection's address that is no interface's (loopback, or addresses are translated on the way) stays, too: it is
 * the one that is known to work. */
struct online_place online_place_of(int fd, uint16_t port)
{
    struct ifaddrs *list = NULL;
    const char *wanted = getenv("NCCL_SOCKET_IFNAME");
    struct online_place here = online_place_seen(fd, port), best = here;
    int is_unfit = 0;
    if (getifaddrs(&list))
        return here;
    for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
        struct online_place p = can_be_told(i) ? online_place_at(i->ifa_addr, port) : here;
        int fits = can_be_told(i) && online_interface_fits(i->ifa_name, wanted, NET);
        if (can_be_told(i) && online_place_equal(&p, &here))
            is_unfit = !fits;
        else if (fits && online_place_equal(&best, &here))
            best = p;
    }
    freeifaddrs(list);
    return is_unfit ? best : here;
}

int online_connect(const struct online_place *to)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(to->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(to->port)};
    memcpy(&six.sin6_addr, to->ip, sizeof to->ip);
    memcpy(&four.sin_addr, to->ip + 12, 4);
    return IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)
               ? wire_connect((const struct sockaddr *)(const void *)&four, sizeof four)
               : wire_connect((const struct sockaddr *)(const void *)&six, sizeof six);
}
