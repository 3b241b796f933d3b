/* Meeting and exchanging over TCP, with rank 0 in the middle. */
#include "tests/doubles/nccl_join.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6e63636c2d646f75ULL

static int listener = -1; /* of the process that made the unique id */

static int send_all(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(fd, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (n <= 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int receive_all(int fd, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = recv(fd, (char *)data + done, bytes - done, MSG_WAITALL);
        if (n == 0 || (n < 0 && errno != EINTR))
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

/* NCCL's order: the named interface, else anything but loopback, else loopback. */
static struct in_addr own_address(void)
{
    const char *wanted = getenv("NCCL_SOCKET_IFNAME");
    struct in_addr best = {htonl(INADDR_LOOPBACK)};
    struct ifaddrs *list = NULL;
    int exact = wanted && *wanted == '=';
    wanted = wanted && strlen(wanted) > 1 ? wanted + exact : NULL;
    if (getifaddrs(&list))
        return best;
    for (struct ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_RUNNING))
            continue;
        int fits = !wanted ? !(i->ifa_flags & IFF_LOOPBACK)
                   : exact ? !strcmp(i->ifa_name, wanted)
                           : !strncmp(i->ifa_name, wanted, strlen(wanted));
        if (fits) {
            best = ((struct sockaddr_in *)(void *)i->ifa_addr)->sin_addr;
            break;
        }
    }
    freeifaddrs(list);
    return best;
}

int join_listen(struct join_id *id)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = own_address()};
    socklen_t len = sizeof a;
    if (listener >= 0)
        close(listener);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof a) || listen(listener, 128) ||
        getsockname(listener, (struct sockaddr *)&a, &len))
        return -1;
    *id = (struct join_id){MAGIC, a};
    return 0;
}

static void no_delay(int fd)
{
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int accept_peers(struct join *j)
{
    for (int i = 1; i < j->nranks; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC), rank = -1;
        if (fd < 0 || receive_all(fd, &rank, sizeof rank) || rank < 1 || rank >= j->nranks || j->peers[rank] >= 0) {
            if (fd >= 0)
                close(fd);
            return -1;
        }
        no_delay(fd);
        j->peers[rank] = fd;
    }
    close(listener);
    listener = -1;
    return 0;
}

static int connect_root(struct join *j, const struct join_id *id)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&id->address, sizeof id->address) ||
        send_all(fd, &j->rank, sizeof j->rank)) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    no_delay(fd);
    j->peers[0] = fd;
    return 0;
}

int join_meet(struct join *j, const struct join_id *id, int rank, int nranks)
{
    *j = (struct join){.rank = rank, .nranks = nranks, .peers = malloc((size_t)nranks * sizeof *j->peers)};
    if (!j->peers || id->magic != MAGIC)
        return -1;
    for (int i = 0; i < nranks; i++)
        j->peers[i] = -1;
    return rank == 0 ? accept_peers(j) : connect_root(j, id);
}

void join_leave(struct join *j)
{
    for (int i = 0; j->peers && i < j->nranks; i++)
        if (j->peers[i] >= 0)
            close(j->peers[i]);
    free(j->peers);
    j->peers = NULL;
}

int join_gather(struct join *j, const void *mine, size_t bytes, struct join_blob *all)
{
    if (j->rank)
        return send_all(j->peers[0], &bytes, sizeof bytes) || send_all(j->peers[0], mine, bytes) ? -1 : 0;
    for (int r = 0; r < j->nranks; r++) {
        size_t n = bytes;
        if (r && receive_all(j->peers[r], &n, sizeof n))
            return -1;
        all[r] = (struct join_blob){malloc(n + 1), n};
        if (!all[r].data)
            return -1;
        if (!r)
            memcpy(all[r].data, mine, n);
        else if (receive_all(j->peers[r], all[r].data, n))
            return -1;
    }
    return 0;
}

int join_scatter(struct join *j, const struct join_blob *each, void *mine, size_t bytes)
{
    if (j->rank)
        return receive_all(j->peers[0], mine, bytes);
    for (int r = 1; r < j->nranks; r++)
        if (send_all(j->peers[r], each[r].data, each[r].bytes))
            return -1;
    memcpy(mine, each[0].data, bytes);
    return 0;
}
