/* Sockets. */
#include "core/wire/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <unistd.h>

#include "core/sha256.h"

#define BACKLOG 4096

/* ---- here -------------------------------------------------------------------------------------------------------- */

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

/* ---- there ------------------------------------------------------------------------------------------------------- */

int wire_connect(const struct sockaddr *to, socklen_t bytes)
{
    int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || !connect(fd, to, bytes) || errno == EINPROGRESS)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

int wire_connected(int fd)
{
    int error = 0;
    socklen_t bytes = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) ? errno : error;
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
