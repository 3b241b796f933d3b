/* An abstract Unix socket: nobody answers before the end, so that the working process need not look at it. */
#include "bench/launch/siblings.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/progress.h"

#define BACKLOG      4096 /* ranks of a node; the kernel's own limit is often this */
#define RETRY_NS     50000000
#define LATECOMER_MS 200

static socklen_t address(struct sockaddr_un *to, const char *job)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "nccltune-%u-%s", (unsigned)geteuid(), job);
    size_t most = sizeof to->sun_path - 2;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + ((size_t)n < most ? (size_t)n : most));
}

int siblings_open(const char *job, struct err *e)
{
    struct sockaddr_un to;
    socklen_t bytes = address(&to, job);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !bind(fd, (struct sockaddr *)&to, bytes) && !listen(fd, BACKLOG))
        return fd;
    if (errno == EADDRINUSE)
        err_set(e, ERR_FAILED, "another nccltune of the job '%s' runs on this node", job);
    else
        err_errno(e, "the other processes of this node cannot be met");
    if (fd >= 0)
        close(fd);
    return -1;
}

void siblings_tell(int fd, int word)
{
    unsigned char byte = (unsigned char)word;
    while (fd >= 0 && poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, LATECOMER_MS) > 0) {
        int one = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (one < 0)
            break;
        send(one, &byte, 1, MSG_NOSIGNAL);
        close(one);
    }
    if (fd >= 0)
        close(fd);
}

static int same_user(int fd)
{
    struct ucred other;
    socklen_t bytes = sizeof other;
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &bytes) && other.uid == geteuid();
}

int siblings_wait(const char *job, double patience_s)
{
    struct sockaddr_un to;
    socklen_t bytes = address(&to, job);
    double until_s = progress_now_s() + patience_s;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), word = SIBLINGS_NONE;
    unsigned char byte;
    while (fd >= 0 && connect(fd, (struct sockaddr *)&to, bytes)) {
        if (progress_now_s() > until_s) {
            close(fd);
            return SIBLINGS_NONE;
        }
        nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    }
    if (fd >= 0 && same_user(fd)) {
        ssize_t n;
        do
            n = recv(fd, &byte, 1, 0);
        while (n < 0 && errno == EINTR);
        word = n == 1 ? byte : SIBLINGS_LOST;
    }
    if (fd >= 0)
        close(fd);
    return word;
}
