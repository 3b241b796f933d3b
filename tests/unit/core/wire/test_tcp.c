/* core/wire/tcp.c over loopback: who listens, who connects, and what every connection gets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/wire/tcp.h"

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
}

/* A descriptor, once it is told how the connection went. */
static int connect_to(uint16_t port, int *error)
{
    struct sockaddr_in to = loopback(port);
    int fd = wire_connect((const struct sockaddr *)&to, sizeof to);
    assert_true(fd >= 0);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    assert_int_equal(poll(&p, 1, 60000), 1);
    *error = wire_connected(fd);
    return fd;
}

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    assert_int_equal(getsockopt(fd, level, name, &value, &bytes), 0);
    return value;
}

static void meet(void **state)
{
    (void)state;
    uint16_t port = 0;
    int error, listener = wire_listen(&port);
    assert_true(listener >= 0 && port > 0);
    assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK && fcntl(listener, F_GETFD) & FD_CLOEXEC);
    int fd = connect_to(port, &error); /* by IPv4, whichever it listens on */
    assert_int_equal(error, 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC);
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

static void says_why_not(void **state)
{
    (void)state;
    struct sockaddr_in nowhere = loopback(1);
    assert_int_equal(wire_connect((const struct sockaddr *)&nowhere, 3), -1);
    assert_int_equal(errno, EINVAL);
    nowhere.sin_family = 200;
    assert_int_equal(wire_connect((const struct sockaddr *)&nowhere, sizeof nowhere), -1);
    assert_int_equal(errno, EAFNOSUPPORT);
    assert_int_equal(wire_connected(-1), EBADF);
}

static void ends_in_silence(void **state)
{
    (void)state;
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

static void knows_its_stack(void **state)
{
    (void)state;
    char stack[WIRE_STACK], again[WIRE_STACK];
    wire_stack(stack);
    wire_stack(again);
    assert_string_equal(stack, again);
    assert_int_equal(strspn(stack, "0123456789abcdef"), strlen(stack));
    assert_int_equal(strlen(stack), access("/proc/sys/kernel/random/boot_id", R_OK) ? 0 : WIRE_STACK - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(meet), cmocka_unit_test(says_why_not),
                                       cmocka_unit_test(ends_in_silence), cmocka_unit_test(knows_its_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
