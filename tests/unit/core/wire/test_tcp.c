/* core/wire/tcp.c over loopback: who listens, and what every connection gets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include "core/wire/wire.h"
#include "tests/lib/unit.h"

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
}

/* A descriptor, once it is told how the connection went. */
static int connect_to(uint16_t port, int *error)
{
    struct sockaddr_in to = loopback(port);
    socklen_t bytes = sizeof *error;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0 && (!connect(fd, (const struct sockaddr *)&to, sizeof to) || errno == EINPROGRESS));
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    assert_int_equal(poll(&p, 1, 60000), 1);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_ERROR, error, &bytes), 0);
    return fd;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

TEST_CASE(meet)
{
    uint16_t port = 0;
    int error, listener = wire_listen(&port);
    assert_true(listener >= 0 && port > 0);
    assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK && fcntl(listener, F_GETFD) & FD_CLOEXEC);
    int fd = connect_to(port, &error); /* by IPv4, whichever it listens on */
    assert_int_equal(error, 0);
    int other = accept(listener, NULL, NULL);
    assert_true(other >= 0);
    uint16_t same = port;
    assert_int_equal(wire_listen(&same), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(fd), close(other), close(listener);
    listener = wire_listen(&same); /* at once, whatever is left of the last connection */
    assert_true(listener >= 0 && same == port);
    close(listener);
    close(connect_to(port, &error));
    assert_int_equal(error, ECONNREFUSED);
}

TEST_CASE(ends_in_silence)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    wire_tune(fd);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
    assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    int silence_s = option(fd, IPPROTO_TCP, TCP_KEEPIDLE) +
                    option(fd, IPPROTO_TCP, TCP_KEEPINTVL) * option(fd, IPPROTO_TCP, TCP_KEEPCNT);
    assert_int_equal(silence_s, WIRE_SILENCE_S);
    assert_int_equal(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 1000 * WIRE_SILENCE_S);
    close(fd);
}

TEST_CASE(knows_its_stack)
{
    char stack[WIRE_STACK], again[WIRE_STACK];
    wire_stack(stack);
    wire_stack(again);
    assert_string_equal(stack, again);
    assert_int_equal(strspn(stack, "0123456789abcdef"), strlen(stack));
    assert_int_equal(strlen(stack), access("/proc/sys/kernel/random/boot_id", R_OK) ? 0 : WIRE_STACK - 1);
}

TEST_CASES(test_tcp)
