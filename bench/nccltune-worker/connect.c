/* Connecting with a time limit. */
#include "bench/nccltune-worker/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/nccltune-worker/number.h"

#define PATIENCE_MS 5000

static int connect_one(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, error = 0;
    socklen_t len = sizeof error;
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) && errno != EINPROGRESS)
        goto fail;
    if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, PATIENCE_MS) < 1) {
        errno = ETIMEDOUT;
        goto fail;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) || error) {
        errno = error;
        goto fail;
    }
    fcntl(fd, F_SETFL, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    /* A node that vanishes says nothing: keep-alive ends the agent and its workers within about a minute. */
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){20}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &(int){10}, sizeof(int));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
    return fd;
fail:
    close(fd);
    return -1;
}

int agent_connect(const char *places)
{
    char copy[1024], *save = NULL;
    int fd = -1;
    snprintf(copy, sizeof copy, "%s", places);
    for (char *place = strtok_r(copy, ",", &save); place && fd < 0; place = strtok_r(NULL, ",", &save)) {
        char *colon = strrchr(place, ':');
        struct sockaddr_in to = {.sin_family = AF_INET};
        long port = colon ? worker_number(colon + 1, 65535) : -1;
        errno = EINVAL;
        if (port < 1)
            continue;
        *colon = 0;
        to.sin_port = htons((uint16_t)port);
        if (inet_pton(AF_INET, place, &to.sin_addr) == 1)
            fd = connect_one(&to);
    }
    return fd;
}
