/* Listening on and connecting through single network interfaces. */
#include "bench/engines/verbs/order.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/progress.h"

#define BACKLOG 1024

static socklen_t size_of(const struct sockaddr_storage *s)
{
    return s->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static int is_usable(const struct ifaddrs *i)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_RUNNING) || i->ifa_flags & IFF_LOOPBACK ||
        strlen(i->ifa_name) >= IF_NAMESIZE)
        return 0;
    if (i->ifa_addr->sa_family == AF_INET6)
        return !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)i->ifa_addr)->sin6_addr);
    return i->ifa_addr->sa_family == AF_INET;
}

static int is_known(const struct verbs_net_list *l, const char *name)
{
    for (int i = 0; i < l->n; i++)
        if (!strcmp(l->nets[i].name, name))
            return 1;
    return 0;
}

/* Without the right to bind to a device, routing decides by the address alone, as it does for NCCL. */
static int open_on(const struct verbs_net *net)
{
    int fd = socket(net->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, net->name, (socklen_t)strlen(net->name));
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&net->address, size_of(&net->address))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void add_interface(struct verbs_net_list *mine, const struct ifaddrs *i, int fds[VERBS_NETS])
{
    struct verbs_net net = {{0}};
    socklen_t length = sizeof net.address;
    memcpy(net.name, i->ifa_name, strlen(i->ifa_name));
    memcpy(&net.address, i->ifa_addr,
           i->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    int fd = open_on(&net);
    if (fd < 0)
        return;
    if (listen(fd, BACKLOG) || getsockname(fd, (struct sockaddr *)&net.address, &length)) {
        close(fd);
        return;
    }
    fds[mine->n] = fd;
    mine->nets[mine->n++] = net;
}

void verbs_net_listen(struct verbs_net_list *mine, int fds[VERBS_NETS])
{
    static const int families[] = {AF_INET, AF_INET6};
    struct ifaddrs *all = NULL;
    *mine = (struct verbs_net_list){.n = 0};
    if (getifaddrs(&all))
        return;
    for (int f = 0; f < 2; f++)
        for (const struct ifaddrs *i = all; i; i = i->ifa_next)
            if (is_usable(i) && i->ifa_addr->sa_family == families[f] && mine->n < VERBS_NETS &&
                !is_known(mine, i->ifa_name))
                add_interface(mine, i, fds);
    freeifaddrs(all);
}

static int same_host(const struct sockaddr_storage *x, const struct sockaddr_storage *y)
{
    if (x->ss_family != y->ss_family)
        return 0;
    if (x->ss_family == AF_INET)
        return ((const struct sockaddr_in *)x)->sin_addr.s_addr == ((const struct sockaddr_in *)y)->sin_addr.s_addr;
    return !memcmp(&((const struct sockaddr_in6 *)x)->sin6_addr, &((const struct sockaddr_in6 *)y)->sin6_addr,
                   sizeof(struct in6_addr));
}

static int is_mine(const struct verbs_net_list *mine, const struct verbs_net *peer)
{
    for (int i = 0; i < mine->n; i++)
        if (same_host(&mine->nets[i].address, &peer->address))
            return 1;
    return 0;
}

/* A connection under way from `from` to `to`; -1 when it cannot even begin. */
static int begin_connection(const struct verbs_net *from, const struct verbs_net *to)
{
    struct verbs_net any_port = *from;
    if (from->address.ss_family == AF_INET)
        ((struct sockaddr_in *)&any_port.address)->sin_port = 0;
    else
        ((struct sockaddr_in6 *)&any_port.address)->sin6_port = 0;
    int fd = open_on(&any_port);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&to->address, size_of(&to->address)) && errno != EINPROGRESS) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static const struct verbs_net *find_same_interface(const struct verbs_net_list *l, const struct verbs_net *like)
{
    for (int i = 0; i < l->n && i < VERBS_NETS; i++)
        if (!strncmp(l->nets[i].name, like->name, IF_NAMESIZE) &&
            l->nets[i].address.ss_family == like->address.ss_family)
            return &l->nets[i];
    return NULL;
}

/* Counts those that connect before the deadline, and closes all. */
static int count_connections(struct pollfd *fds, int n, double deadline_s)
{
    int open = n, reached = 0;
    for (double left_s; open > 0 && (left_s = deadline_s - progress_now_s()) > 0;) {
        if (poll(fds, (nfds_t)n, (int)(left_s * 1e3) + 1) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < n; i++) {
            int error = 0;
            socklen_t length = sizeof error;
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            reached += !getsockopt(fds[i].fd, SOL_SOCKET, SO_ERROR, &error, &length) && !error;
            close(fds[i].fd);
            fds[i].fd = -1;
            open--;
        }
    }
    for (int i = 0; i < n; i++)
        if (fds[i].fd >= 0)
            close(fds[i].fd);
    return reached;
}

void verbs_net_try(const struct verbs_net_list *mine, const struct verbs_net_list *others, int n, double patience_s,
                   int reached[VERBS_NETS])
{
    struct pollfd *fds = calloc((size_t)n + 1, sizeof *fds);
    for (int i = 0; i < mine->n; i++) {
        int begun = 0;
        for (int o = 0; o < n && fds; o++) {
            const struct verbs_net *peer = find_same_interface(&others[o], &mine->nets[i]);
            int fd = peer && !is_mine(mine, peer) ? begin_connection(&mine->nets[i], peer) : -1;
            if (fd >= 0)
                fds[begun++] = (struct pollfd){.fd = fd, .events = POLLOUT};
        }
        reached[i] = count_connections(fds, begun, progress_now_s() + patience_s);
    }
    free(fds);
}

char *verbs_net_address(char text[VERBS_NET_TEXT], const struct verbs_net *net)
{
    if (getnameinfo((const struct sockaddr *)&net->address, size_of(&net->address), text, VERBS_NET_TEXT, NULL, 0,
                    NI_NUMERICHOST))
        text[0] = '\0';
    return text;
}
