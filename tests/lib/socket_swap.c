/* Swapping fixed numbers of bytes over a socket, with a deadline. */
#include "tests/lib/socket_swap.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/progress.h"

int socket_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    int fd = *(const int *)user;
    size_t sent = 0, received = 0;
    while (sent < bytes || received < bytes) {
        double left_s = deadline_s - progress_now_s();
        if (left_s <= 0)
            return ETIMEDOUT;
        struct pollfd p = {.fd = fd, .events = (short)((sent < bytes ? POLLOUT : 0) | (received < bytes ? POLLIN : 0))};
        int ready = poll(&p, 1, left_s > 3600 ? 3600 * 1000 : (int)(left_s * 1000) + 1);
        if (ready < 0 && errno != EINTR)
            return errno;
        if (ready <= 0)
            continue;
        if (sent < bytes && p.revents & (POLLOUT | POLLERR | POLLHUP)) {
            ssize_t n = send(fd, (const char *)mine + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0 && errno != EAGAIN && errno != EINTR)
                return errno;
            sent += n > 0 ? (size_t)n : 0;
        }
        if (received < bytes && p.revents & (POLLIN | POLLERR | POLLHUP)) {
            ssize_t n = recv(fd, (char *)theirs + received, bytes - received, MSG_DONTWAIT);
            if (n == 0)
                return EPIPE;
            if (n < 0 && errno != EAGAIN && errno != EINTR)
                return errno;
            received += n > 0 ? (size_t)n : 0;
        }
    }
    return 0;
}
