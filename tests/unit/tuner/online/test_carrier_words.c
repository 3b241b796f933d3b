/* tuner/online/carrier.c: where the coordinator is looked for, what is said where nothing comes of it, and when the
 * thread ends. Names, threads and settings are this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/online_rank.h"

#define getaddrinfo          told_addresses
#define freeaddrinfo         told_end
#define online_settings_read told_settings
#define plugin_thread_start  told_thread
#include "tuner/online/carrier.c"

static struct addrinfo addresses[12];
static struct sockaddr_in6 at[12];
static int naddresses, failures, asked, thread_error, threads;
static const char *settings_why = "";

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **list)
{
    assert_string_equal(host, "head");
    assert_true(!service && hints->ai_socktype == SOCK_STREAM);
    *list = naddresses ? addresses : NULL;
    return asked++ < failures ? EAI_AGAIN : 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

int online_settings_read(struct online_settings *s, char *why, size_t size)
{
    *s = (struct online_settings){.rank = 1, .ranks = 4, .port = 77, .host = "head"};
    snprintf(why, size, "%s", settings_why);
    return *settings_why ? -1 : 0;
}

int plugin_thread_start(void *(*start_of)(void *), void *arg)
{
    assert_true(start_of == run && !arg);
    threads++;
    return thread_error;
}

static int begin(void **state)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    (void)state;
    memset(&carrier, 0, sizeof carrier);
    memcpy(&carrier.mutex, &fresh, sizeof fresh);
    carrier.settings = (struct online_settings){.rank = 1, .ranks = 4, .port = 77, .host = "head"};
    carrier.tree.listener = -1;
    carrier.wake = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    naddresses = failures = asked = thread_error = threads = 0;
    settings_why = "";
    setenv("NCCLTUNE_KEY", "sixteen bytes at least", 1);
    return carrier.wake < 0;
}

static int end(void **state)
{
    (void)state;
    close(carrier.wake);
    if (carrier.tree.listener >= 0)
        close(carrier.tree.listener);
    memset(&carrier, 0, sizeof carrier);
    return 0;
}

static void have(int n, const int *families)
{
    naddresses = n;
    for (int i = 0; i < n; i++) {
        at[i] =
            (struct sockaddr_in6){.sin6_family = (sa_family_t)families[i], .sin6_addr = {{{[15] = (uint8_t)(i + 1)}}}};
        addresses[i] = (struct addrinfo){.ai_family = families[i],
                                         .ai_addr = (struct sockaddr *)&at[i],
                                         .ai_next = i + 1 < n ? &addresses[i + 1] : NULL};
    }
}

/* Those of IP, as many as there is room for; asked again until somebody knows. */
static void addresses_of_a_name(void **state)
{
    (void)state;
    struct online_place to[ONLINE_ADDRESSES + 1];
    static const int some[] = {AF_UNIX, AF_INET6, AF_UNIX, AF_INET, AF_INET6},
                     many[] = {AF_INET6, AF_INET6, AF_INET6, AF_INET6, AF_INET6, AF_INET6,
                               AF_INET6, AF_INET6, AF_INET6, AF_INET6, AF_INET6, AF_INET6};
    have(5, some);
    assert_int_equal(resolve(to), 3);
    assert_true(to[0].port == 77 && to[0].ip[15] == 2 && to[2].ip[15] == 5 && asked == 1);
    have(12, many);
    assert_int_equal(resolve(to), ONLINE_ADDRESSES);
    assert_int_equal(to[7].ip[15], 8);
    failures = 1, asked = 0;
    assert_int_equal(resolve(to), ONLINE_ADDRESSES);
    assert_int_equal(asked, 2);
    carrier.is_stopping = 1;
    asked = 0;
    assert_int_equal(resolve(to), 0);
    assert_int_equal(asked, 1);
}

static void what_is_said_where_nobody_is_met(void **state)
{
    (void)state;
    char why[ONLINE_TEXT] = "", said[ONLINE_TEXT];
    static const int one[] = {AF_INET6};
    assert_int_equal(meet(why, sizeof why), -1); /* a name without addresses */
    assert_string_equal(why, "head has no address; the job runs without tuning itself");
    have(1, one);
    *why = 0;
    assert_int_equal(meet(why, sizeof why), 0);
    assert_true(carrier.tree.roots == 1 && carrier.tree.root[0].port == 77 && carrier.tree.listener >= 0);
    assert_true(carrier.tree.self.at.port != 0 && carrier.tree.self.at.port != 77); /* of its own */
    unsetenv("NCCLTUNE_KEY");
    assert_int_equal(meet(why, sizeof why), -1);
    assert_string_equal(why, "NCCLTUNE_KEY: a key has 16 to 4096 bytes; the job runs without tuning itself");
    setenv("NCCLTUNE_KEY", "sixteen bytes at least", 1);
    carrier.settings.rank = 0; /* where others are to find it: that is taken */
    carrier.settings.port = carrier.tree.self.at.port;
    int taken = carrier.tree.listener;
    asked = 0;
    *why = 0;
    assert_int_equal(meet(why, sizeof why), -1);
    snprintf(said, sizeof said,
             "port %u: Address already in use; NCCLTUNE_ONLINE_ADDRESS=HOST:PORT names another; the job runs without "
             "tuning itself",
             carrier.settings.port);
    assert_string_equal(why, said);
    assert_true(asked == 0 && carrier.tree.roots == 0);
    carrier.tree.listener = taken;
    carrier.settings.ranks = 1; /* nobody else: nothing is needed */
    *why = 0;
    assert_int_equal(meet(why, sizeof why), 0);
}

static void when_it_ends(void **state)
{
    (void)state;
    uint64_t stop_ms = 0, now = clock_now_ms();
    assert_int_equal(is_at_end(&stop_ms), 0);
    assert_int_equal(stop_ms, 0);
    carrier.is_stopping = 1;
    carrier.tree.node.rounds = 1; /* somebody waits for an outcome */
    assert_int_equal(is_at_end(&stop_ms), 0);
    assert_true(stop_ms >= now + 1500 && stop_ms < now + 60000);
    uint64_t until = stop_ms;
    assert_int_equal(is_at_end(&stop_ms), 0);
    assert_int_equal(stop_ms, until);
    stop_ms = now;
    assert_int_equal(is_at_end(&stop_ms), 1);
    stop_ms = now + 60000;
    carrier.tree.node.rounds = 0;
    assert_int_equal(is_at_end(&stop_ms), 1);
}

/* Why a communicator is not coordinated; nothing where nobody has asked for it. */
static void why_nobody_joins(void **state)
{
    (void)state;
    char why[ONLINE_TEXT] = "x";
    struct online_rank r;
    online_rank_make(&r, 7, 1, 4);
    settings_why = "no key";
    assert_int_equal(online_join(&r.member, why, sizeof why), -1);
    assert_string_equal(why, "no key");
    assert_int_equal(threads, 0);
    settings_why = "";
    carrier.why[0] = 0;
    assert_int_equal(online_join(&r.member, why, sizeof why), -1); /* judged once: there is no thread */
    assert_string_equal(why, "");
    assert_int_equal(threads, 0);
    online_leave(&r.member);
    carrier.is_judged = 0;
    thread_error = EAGAIN;
    assert_int_equal(online_join(&r.member, why, sizeof why), -1);
    assert_string_equal(why, "no thread that could tune the job: Resource temporarily unavailable");
    online_node_close(&carrier.tree.node);
    carrier.is_judged = thread_error = 0;
    carrier.why[0] = 0;
    assert_int_equal(online_join(&r.member, why, sizeof why), 0);
    assert_true(threads == 2 && !why[0] && carrier.tree.node.count == 1 && carrier.pid == getpid());
    assert_true(carrier.tree.self.rank == 1 && !carrier.tree.node.is_root);
    r.member.ranks = -1;
    assert_int_equal(online_join(&r.member, why, sizeof why), -1);
    assert_string_equal(why, "one communicator too many to be tuned");
    r.member.ranks = 4;
    carrier.tree.is_lost = 1;
    assert_int_equal(online_join(&r.member, why, sizeof why), -1);
    assert_string_equal(why, "the job's coordination has ended");
    carrier.tree.is_lost = 0;
    online_leave(&r.member);
    assert_null(carrier.tree.node.topics[0]);
    online_node_close(&carrier.tree.node);
    carrier.pid = 0;
}

/* What this process chooses by goes with its greeting; a refusal is there once it is known. */
static void what_it_chooses_by(void **state)
{
    (void)state;
    online_table("sha256 1234");
    assert_string_equal(carrier.tree.self.table, "sha256 1234");
    assert_int_equal(threads, 1);
    carrier.is_placed = 1;
    assert_null(online_refusal());
    snprintf(carrier.tree.refusal, sizeof carrier.tree.refusal, "nodes differ");
    assert_null(online_refusal());
    lock();
    unlock();
    assert_string_equal(online_refusal(), "nodes differ");
    static const struct {
        int is_root, is_lost;
        enum online_stage stage;
        int is_placed;
    } cases[] = {{0, 0, ONLINE_GREETING, 0}, {1, 0, ONLINE_AWAY, 1}, {0, 1, ONLINE_AWAY, 1}, {0, 0, ONLINE_LINKED, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        carrier.is_placed = 0;
        lock();
        carrier.tree.node.is_root = cases[i].is_root;
        carrier.tree.is_lost = cases[i].is_lost;
        carrier.tree.parent.stage = cases[i].stage;
        unlock();
        assert_int_equal(carrier.is_placed, cases[i].is_placed);
    }
    online_node_close(&carrier.tree.node);
    carrier.pid = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(addresses_of_a_name), TEST(what_is_said_where_nobody_is_met), TEST(when_it_ends), TEST(why_nobody_joins),
        TEST(what_it_chooses_by),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
