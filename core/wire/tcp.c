/* TCP between nodes: listening, where the conductor can be reached, and getting there. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/wire/wire.h"

#define BACKLOG  4096
#define MOST_OWN 256

static int listen_on(int family, const struct sockaddr *any, socklen_t bytes)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){0}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    if (!bind(fd, any, bytes) && !listen(fd, BACKLOG))
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int wire_listen(uint16_t *port)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT, .sin6_port = htons(*port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY), .sin_port = htons(*port)};
    struct sockaddr_in6 got = {0}; /* the smaller one of IPv4 fits in, its port at the same place */
    socklen_t bytes = sizeof got;
    int fd = listen_on(AF_INET6, (struct sockaddr *)&six, sizeof six);
    if (fd < 0)
        fd = listen_on(AF_INET, (struct sockaddr *)&four, sizeof four);
    if (fd < 0 || getsockname(fd, (struct sockaddr *)&got, &bytes))
        return -1;
    *port = ntohs(got.sin6_port);
    return fd;
}

void wire_stack(char stack[WIRE_STACK])
{
    char boot[64] = "", net[64], hex[SHA256_HEX];
    struct sha256 h;
    *stack = 0;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof boot);
    if (fd >= 0)
        close(fd);
    ssize_t name = readlink("/proc/self/ns/net", net, sizeof net);
    if (n <= 0 || name <= 0)
        return;
    sha256_init(&h);
    sha256_update(&h, boot, (size_t)n);
    sha256_update(&h, net, (size_t)name);
    sha256_hex(&h, hex);
    snprintf(stack, WIRE_STACK, "%.16s", hex);
}

void wire_tune(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){WIRE_SILENCE_S - 1}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){WIRE_SILENCE_S * 1000}, sizeof(unsigned));
}

/* ---- the conductor's side ---- */

/* The address within: 4 or 16 bytes. */
static const void *host_of(const struct sockaddr *a)
{
    const void *whole = a;
    return a->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)whole)->sin6_addr
                                    : (const void *)&((const struct sockaddr_in *)whole)->sin_addr;
}

static int is_inet(const struct sockaddr *a)
{
    return a && (a->sa_family == AF_INET || a->sa_family == AF_INET6);
}

void address_places(uint16_t port, char places[ADDRESS_PLACES])
{
    struct ifaddrs *list = NULL;
    char text[INET6_ADDRSTRLEN], stack[WIRE_STACK];
    wire_stack(stack);
    size_t used = (size_t)snprintf(places, ADDRESS_PLACES, "%s/127.0.0.1:%u", *stack ? stack : "0", port);
    if (getifaddrs(&list))
        list = NULL;
    for (struct ifaddrs *i = list; i && used < ADDRESS_PLACES - sizeof text - 16; i = i->ifa_next) {
        /* Without loopback, and without addresses that mean something on one link only. */
        int six = i->ifa_addr && i->ifa_addr->sa_family == AF_INET6;
        if (!is_inet(i->ifa_addr) || !(i->ifa_flags & IFF_RUNNING) || i->ifa_flags & IFF_LOOPBACK ||
            (six && IN6_IS_ADDR_LINKLOCAL((const struct in6_addr *)host_of(i->ifa_addr))))
            continue;
        inet_ntop(i->ifa_addr->sa_family, host_of(i->ifa_addr), text, sizeof text);
        used += (size_t)snprintf(places + used, ADDRESS_PLACES - used, six ? ",[%s]:%u" : ",%s:%u", text, port);
    }
    freeifaddrs(list);
}

/* ---- the agent's side ---- */

static int is_loopback(const struct sockaddr *a)
{
    const struct in6_addr *six = host_of(a);
    if (a->sa_family == AF_INET)
        return *(const unsigned char *)host_of(a) == 127;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static int same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    return a->sa_family == b->sa_family && !memcmp(host_of(a), host_of(b), a->sa_family == AF_INET6 ? 16 : 4);
}

int address_leads_away(const struct sockaddr *to, const struct sockaddr *const *own, int nown)
{
    if (!is_inet(to) || is_loopback(to))
        return 0;
    for (int i = 0; i < nown; i++)
        if (same_host(to, own[i]))
            return 0;
    return 1;
}

static int leads_away_from_here(const struct sockaddr *to)
{
    const struct sockaddr *own[MOST_OWN];
    struct ifaddrs *list = NULL;
    int n = 0;
    if (getifaddrs(&list))
        list = NULL;
    for (struct ifaddrs *i = list; i && n < MOST_OWN; i = i->ifa_next)
        if (is_inet(i->ifa_addr))
            own[n++] = i->ifa_addr;
    int leads = address_leads_away(to, own, n);
    freeifaddrs(list);
    return leads;
}

/* Return a connected, non-blocking descriptor, or -1 with errno. */
static int connect_one(const struct sockaddr *to, socklen_t bytes, int patience_ms)
{
    int error = 0, fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof error;
    if (fd < 0)
        return -1;
    int failed = connect(fd, to, bytes) && errno != EINPROGRESS;
    if (!failed && poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, patience_ms) < 1)
        error = ETIMEDOUT;
    else if (failed || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
        error = errno;
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

/* "address:port" or "[address]:port", in place, into *host and *port. */
static int split_place(char *place, char **host, char **port)
{
    char *colon = strrchr(place, ':');
    if (!colon)
        return -1;
    *colon = 0;
    *port = colon + 1;
    *host = place;
    if (*place == '[' && colon[-1] == ']') {
        colon[-1] = 0;
        *host = place + 1;
    }
    return 0;
}

struct attempt {
    int here; /* the conductor is on this very network stack */
    int patience_ms;
    address_try *try;
    void *user;
    char *why;
    size_t bytes;
};

/* One place, which may be a name with several addresses: a descriptor that was taken, or -1. */
static int try_place(const struct attempt *t, char *place)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *list = NULL;
    char *host, *port;
    int taken = -1;
    if (split_place(place, &host, &port) || getaddrinfo(host, port, &hints, &list)) {
        snprintf(t->why, t->bytes, "%s is no address", place);
        return -1;
    }
    for (struct addrinfo *a = list; a && taken < 0; a = a->ai_next) {
        /* Loopback is right on the conductor's own machine, and only there. */
        if (t->here ? !is_loopback(a->ai_addr) : !leads_away_from_here(a->ai_addr))
            continue;
        int fd = connect_one(a->ai_addr, a->ai_addrlen, t->patience_ms);
        if (fd < 0) {
            snprintf(t->why, t->bytes, "%s: %s", host, strerror(errno));
        } else if (t->try(t->user, fd)) {
            wire_tune(fd);
            taken = fd;
        } else {
            snprintf(t->why, t->bytes, "%s: the listener has not proven to be the conductor", host);
            close(fd);
        }
    }
    freeaddrinfo(list);
    return taken;
}

int address_connect(const char *places, int patience_ms, address_try *try, void *user, char *why, size_t bytes)
{
    char copy[ADDRESS_PLACES], stack[WIRE_STACK], *save = NULL;
    struct attempt t = {0, patience_ms, try, user, why, bytes};
    int fd = -1;
    const char *slash = strchr(places, '/');
    wire_stack(stack);
    t.here = slash && *stack && (size_t)(slash - places) == strlen(stack) && !strncmp(places, stack, strlen(stack));
    snprintf(why, bytes, "none of its addresses leads away from this node");
    snprintf(copy, sizeof copy, "%s", slash ? slash + 1 : places);
    for (char *p = strtok_r(copy, ",", &save); p && fd < 0; p = strtok_r(NULL, ",", &save))
        fd = try_place(&t, p);
    return fd;
}
