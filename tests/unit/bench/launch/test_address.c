/* Which addresses an agent tries: on the conductor's own network stack loopback alone, elsewhere never loopback nor an
 * address that the node has itself; and what it does with whoever answers. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/launch/address.h"
#include "core/progress.h"

static uint16_t port;
static int listener = -1;
static char stack[WIRE_STACK], why[256], places[ADDRESS_PLACES];

static int begin(void **state)
{
    (void)state;
    listener = wire_listen(&port);
    wire_stack(stack);
    return listener < 0;
}

static int end(void **state)
{
    (void)state;
    return close(listener);
}

static struct sockaddr *address(const char *text)
{
    static struct sockaddr_storage all[16];
    static int n;
    struct sockaddr_in *four = (void *)&all[n % 16];
    struct sockaddr_in6 *six = (void *)&all[n++ % 16];
    memset(four, 0, sizeof all[0]);
    if (inet_pton(AF_INET, text, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &six->sin6_addr), 1);
        six->sin6_family = AF_INET6;
    }
    return (struct sockaddr *)four;
}

static void neither_loopback_nor_its_own(void **state)
{
    (void)state;
    const struct sockaddr *own[] = {address("10.0.0.2"), address("172.17.0.1"), address("fd00::2")};
    static const struct {
        const char *to;
        int leads;
    } cases[] = {{"10.0.0.1", 1},  {"10.0.0.2", 0},         {"172.17.0.1", 0}, {"127.0.0.1", 0},
                 {"127.8.8.8", 0}, {"128.0.0.1", 1},        {"::1", 0},        {"fd00::2", 0},
                 {"fd00::1", 1},   {"::ffff:127.0.0.1", 0}, {"172.17.0.2", 1}, {"fe80::1", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (address_leads_away(address(cases[i].to), own, 3) != cases[i].leads)
            fail_msg("%s: expected %d", cases[i].to, cases[i].leads);
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_false(address_leads_away(&local, own, 3));
}

struct tries {
    int count, take;
};

static int try(void *user, int fd)
{
    struct tries *t = user;
    (void)fd;
    t->count++;
    return t->take;
}

static int go(struct tries *t, int take, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(places, sizeof places, fmt, args);
    va_end(args);
    *t = (struct tries){.take = take};
    int fd = address_connect(places, 2000, try, t, why, sizeof why);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void on_the_same_machine(void **state)
{
    (void)state;
    struct tries t;
    char text[ADDRESS_PLACES];
    address_places(port, text);
    assert_int_equal(strlen(stack), WIRE_STACK - 1);
    assert_memory_equal(text, stack, strlen(stack));
    assert_true(go(&t, 1, "%s", text));
    assert_int_equal(t.count, 1);
    /* Loopback alone: nothing else is tried, though it would lead here as well. */
    if (strchr(text, ',')) {
        assert_false(go(&t, 1, "%s/%s", stack, strchr(text, ',') + 1));
        assert_int_equal(t.count, 0);
    }
    assert_false(go(&t, 1, "%s/10.255.255.1:%u", stack, port));
    assert_int_equal(t.count, 0);
}

/* The same port on the loopback address of another machine is anybody's. */
static void on_another_machine(void **state)
{
    (void)state;
    struct tries t;
    static const char *const stacks[] = {"0123456789abcdef/", "0/", "", "/"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        assert_false(go(&t, 1, "%s127.0.0.1:%u,[::1]:%u,localhost:%u", stacks[i], port, port, port));
        assert_int_equal(t.count, 0);
        assert_non_null(strstr(why, "leads away from this node"));
    }
    /* Nor any address that this machine has, which the whole text is made of. */
    address_places(port, places);
    char others[ADDRESS_PLACES];
    snprintf(others, sizeof others, "0123456789abcdef%s", strchr(places, '/'));
    assert_false(go(&t, 1, "%s", others));
    assert_int_equal(t.count, 0);
}

static void who_does_not_prove_himself_is_left(void **state)
{
    (void)state;
    struct tries t;
    assert_false(go(&t, 0, "%s/127.0.0.1:%u", stack, port));
    assert_int_equal(t.count, 1);
    assert_non_null(strstr(why, "has not proven"));
}

static void odd_places(void **state)
{
    (void)state;
    static const char *const odd[] = {"",
                                      ",",
                                      "here",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:x",
                                      ":",
                                      "[::1:1",
                                      "]:1",
                                      "[]:1",
                                      "a b:1",
                                      "127.0.0.1:99999999999999999",
                                      "127.0.0.1:-1"};
    struct tries t;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_false(go(&t, 1, "%s/%s", stack, odd[i]));
        assert_int_equal(t.count, 0);
    }
}

/* An address that swallows everything costs its time and no more. */
static void silence_has_a_limit(void **state)
{
    (void)state;
    struct tries t = {0};
    double began = progress_now_s();
    int fd = address_connect("0/192.0.2.1:9", 300, try, &t, why, sizeof why);
    assert_int_equal(fd, -1);
    assert_true(progress_now_s() - began < 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(x) cmocka_unit_test_setup_teardown(x, begin, end)
        TEST(neither_loopback_nor_its_own),       TEST(on_the_same_machine), TEST(on_another_machine),
        TEST(who_does_not_prove_himself_is_left), TEST(odd_places),          TEST(silence_has_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
