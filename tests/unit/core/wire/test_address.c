/* Which addresses an agent tries: on the conductor's own network stack loopback alone, elsewhere never loopback nor an
 * address that the node has itself; and what it does with whoever answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/progress.h"
#include "core/wire/wire.h"
#include "tests/lib/unit.h"

static uint16_t port;
static int listener = -1;
static char stack[WIRE_STACK], why[256], places[ADDRESS_PLACES];

static int begin(void **state)
{
    listener = wire_listen(&port);
    wire_stack(stack);
    return listener < 0;
}

static int end(void **state)
{
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

/* ---- interfaces that this test makes up, in the place of the machine's ---- */

#define MOST 300

static struct ifaddrs interfaces[MOST];
static int no_interfaces, lists;

int getifaddrs(struct ifaddrs **list)
{
    *list = interfaces;
    lists += !no_interfaces;
    return -no_interfaces;
}

void freeifaddrs(struct ifaddrs *list)
{
    lists -= list != NULL;
}

/* The first `n`; an empty address is none. */
static void have(int n, const char *const *addresses, const unsigned *flags)
{
    memset(interfaces, 0, sizeof interfaces);
    for (int i = 0; i < n; i++)
        interfaces[i] = (struct ifaddrs){.ifa_next = i + 1 < n ? &interfaces[i + 1] : NULL,
                                         .ifa_addr = *addresses[i] ? address(addresses[i]) : NULL,
                                         .ifa_flags = flags[i]};
}

#define UP (IFF_UP | IFF_RUNNING)
static const char *const usual[] = {"127.0.0.1", "::1",      "10.0.0.2", "fe80::5",
                                    "fd00::2",   "10.1.0.2", "",         "2001:db8::7"};
static const unsigned usual_flags[] = {UP | IFF_LOOPBACK, UP | IFF_LOOPBACK, UP, UP, UP, IFF_UP, UP, UP};

TEST_CASE(what_is_told_of_this_machine)
{
    char text[ADDRESS_PLACES], want[ADDRESS_PLACES];
    struct sockaddr other = {.sa_family = AF_UNIX};
    have(8, usual, usual_flags);
    address_places(4711, text);
    snprintf(want, sizeof want, "%s/127.0.0.1:4711,10.0.0.2:4711,[fd00::2]:4711,[2001:db8::7]:4711", stack);
    assert_string_equal(text, want);
    interfaces[2].ifa_addr = &other;
    interfaces[4].ifa_flags = UP | IFF_LOOPBACK;
    interfaces[7].ifa_flags = IFF_UP;
    address_places(65535, text);
    snprintf(want, sizeof want, "%s/127.0.0.1:65535", stack);
    assert_string_equal(text, want);
    no_interfaces = 1;
    address_places(1, text);
    no_interfaces = 0;
    snprintf(want, sizeof want, "%s/127.0.0.1:1", stack);
    assert_string_equal(text, want);
    assert_int_equal(lists, 0);
}

/* As many as there is room for; those behind them are left out, not cut off. */
TEST_CASE(more_than_there_is_room_for)
{
    static const char *names[MOST];
    static unsigned flags[MOST];
    char text[ADDRESS_PLACES];
    for (int i = 0; i < MOST; i++) {
        names[i] = "10.20.30.40";
        flags[i] = UP;
    }
    have(MOST, names, flags);
    for (int i = 1; i < MOST; i++)
        interfaces[i].ifa_addr = interfaces[0].ifa_addr;
    address_places(12345, text);
    size_t used = strlen(stack) + strlen("/127.0.0.1:12345"), each = strlen(",10.20.30.40:12345");
    while (used < ADDRESS_PLACES - INET6_ADDRSTRLEN - 16)
        used += each;
    assert_int_equal(strlen(text), used);
    assert_string_equal(text + used - each, ",10.20.30.40:12345");
}

TEST_CASE(neither_loopback_nor_its_own)
{
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
    if (fd < 0)
        return 0;
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK && fcntl(fd, F_GETFD) & FD_CLOEXEC);
    close(fd);
    return 1;
}

TEST_CASE(on_the_same_machine)
{
    struct tries t;
    char text[ADDRESS_PLACES];
    have(8, usual, usual_flags);
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
TEST_CASE(on_another_machine)
{
    struct tries t;
    static const char *const stacks[] = {"0123456789abcdef/", "0/", "", "/"};
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        assert_false(go(&t, 1, "%s127.0.0.1:%u,[::1]:%u,localhost:%u", stacks[i], port, port, port));
        assert_int_equal(t.count, 0);
        assert_non_null(strstr(why, "leads away from this node"));
    }
    have(8, usual, usual_flags);
    /* Nor any address that this machine has, which the whole text is made of. */
    address_places(port, places);
    char others[ADDRESS_PLACES];
    snprintf(others, sizeof others, "0123456789abcdef%s", strchr(places, '/'));
    assert_false(go(&t, 1, "%s", others));
    assert_int_equal(t.count, 0);
}

TEST_CASE(who_does_not_prove_himself_is_left)
{
    struct tries t;
    assert_false(go(&t, 0, "%s/127.0.0.1:%u", stack, port));
    assert_int_equal(t.count, 1);
    assert_non_null(strstr(why, "has not proven"));
}

TEST_CASE(odd_places)
{
    static const struct {
        const char *place, *called;
    } odd[] = {{"", NULL},
               {",", NULL},
               {"here", "here"},
               {"127.0.0.1", "127.0.0.1"},
               {"127.0.0.1:", "?"},
               {"127.0.0.1:x", "127.0.0.1"},
               {":", ""},
               {"[::1:1", "[::1"},
               {"]:1", "]"},
               {"[]:1", "["},
               {"a b:1", "a b"},
               {"127.0.0.1:99999999999999999", "?"},
               {"127.0.0.1:-1", "?"},
               {",here,", "here"}};
    char want[64];
    struct tries t;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        assert_false(go(&t, 1, "%s/%s", stack, odd[i].place));
        assert_int_equal(t.count, 0);
        snprintf(want, sizeof want, "%s is no address", odd[i].called);
        if (!odd[i].called || *odd[i].called != '?') /* whatever port that may be */
            assert_string_equal(why, odd[i].called ? want : "none of its addresses leads away from this node");
    }
}

/* The number that a descriptor would get now. */
static int next_descriptor(void)
{
    int fd = dup(STDIN_FILENO);
    close(fd);
    return fd;
}

/* One place after the other until one is taken; what was not taken is closed, what was is ready for frames. */
TEST_CASE(one_after_the_other)
{
    struct tries t = {.take = 1};
    uint16_t closed = 0;
    int before = next_descriptor(), one = 0;
    socklen_t bytes = sizeof one;
    close(wire_listen(&closed));
    assert_false(go(&t, 1, "%s/127.0.0.1:%u", stack, closed));
    assert_string_equal(why, "127.0.0.1: Connection refused");
    assert_int_equal(t.count, 0);
    assert_false(go(&t, 0, "%s/127.0.0.1:%u,127.0.0.1:%u", stack, port, port));
    assert_string_equal(why, "127.0.0.1: the listener has not proven to be the conductor");
    assert_int_equal(t.count, 2);
    assert_int_equal(next_descriptor(), before);
    t = (struct tries){.take = 1};
    snprintf(places, sizeof places, "%s/127.0.0.1:%u,127.0.0.1:%u,127.0.0.1:%u", stack, closed, port, port);
    int fd = address_connect(places, 2000, try, &t, why, sizeof why);
    assert_true(fd >= 0 && t.count == 1);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, &bytes), 0);
    assert_true(one);
    close(fd);
    assert_true(go(&t, 1, "%s/localhost:%u", stack, port));
    assert_int_equal(t.count, 1);
    int six = socket(AF_INET6, SOCK_STREAM, 0);
    if (six >= 0 && !connect(six, address("::1"), sizeof(struct sockaddr_in6)))
        fail_msg("somebody listens at port 0");
    if (six >= 0 && errno == ECONNREFUSED)
        assert_true(go(&t, 1, "%s/[::1]:%u", stack, port));
    if (six >= 0)
        close(six);
}

/* Of more addresses than 256 the first are known as its own. */
TEST_CASE(own_addresses)
{
    static char text[MOST][16];
    static struct sockaddr_in all[MOST];
    struct tries t;
    memset(interfaces, 0, sizeof interfaces);
    for (int i = 0; i < MOST; i++) {
        snprintf(text[i], sizeof text[i], "0.%d.%d.1", i / 200, i % 200 + 1);
        all[i].sin_family = AF_INET;
        assert_int_equal(inet_pton(AF_INET, text[i], &all[i].sin_addr), 1);
        interfaces[i] = (struct ifaddrs){.ifa_next = i + 1 < MOST ? &interfaces[i + 1] : NULL,
                                         .ifa_addr = (struct sockaddr *)&all[i]};
    }
    for (int i = 0; i <= 256; i += i ? 1 : 254) {
        go(&t, 0, "0/%s:9", text[i]);
        int known = !strcmp(why, "none of its addresses leads away from this node");
        assert_int_equal(known, i < 256);
    }
    no_interfaces = 1;
    go(&t, 0, "0/%s:9", text[0]);
    assert_string_not_equal(why, "none of its addresses leads away from this node");
    no_interfaces = 0;
    assert_int_equal(lists, 0);
}

/* An address that swallows everything costs its time and no more. */
TEST_CASE(silence_has_a_limit)
{
    struct tries t = {0};
    double began = progress_now_s();
    int fd = address_connect("0/192.0.2.1:9", 300, try, &t, why, sizeof why);
    assert_int_equal(fd, -1);
    assert_true(progress_now_s() - began < 5);
}

TEST_CASES_EACH(main, begin, end)
