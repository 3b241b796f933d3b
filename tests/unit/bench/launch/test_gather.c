/* Agents that a command starts once and lends: by an ssh-like script that starts them on this machine, or fails, or
 * hangs; borrowed, killed, started anew; by a launcher for all that fails for one. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/launch/launch_internal.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

static char dir[] = "/tmp/test_gather_XXXXXX";
static struct arena *arena;
static struct agents lent;
static volatile sig_atomic_t never;
static struct err e;

static const char *script(const char *name, const char *text)
{
    const char *path = arena_printf(arena, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "#!/bin/sh\necho \"$1\" >>%s/starts\n%s", dir, text);
    fclose(f);
    assert_int_equal(chmod(path, 0755), 0);
    return path;
}

static int count_starts(void)
{
    const char *path = arena_printf(arena, "%s/starts", dir);
    FILE *f = fopen(path, "r");
    int n = 0;
    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f)
        fclose(f);
    return n;
}

/* What ssh would do with "HOST COMMAND" for a host called bad or slow. */
#define SSH                                                          \
    "case $1 in bad*) echo 'no route to it' >&2; exit 255 ;; esac\n" \
    "case $1 in slow*) echo $$ >"                                    \
    "%s"                                                             \
    "/slow; exec sleep 60 ;; esac\n"                                 \
    "exec sh -c \"$2\"\n"

static int begin(void **state)
{
    arena = arena_new();
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    memset(&e, 0, sizeof e);
    memset(&lent, 0, sizeof lent);
    return !mkdtemp(dir);
}

static int end(void **state)
{
    agents_close(&lent);
    int rc = system(arena_printf(arena, "rm -r %s", dir));
    arena_free(arena);
    return rc;
}

static void start(struct bench_setup *setup, double patience_s)
{
    setup->ssh = setup->mpirun ? NULL : script("ssh", arena_printf(arena, SSH, dir));
    if (agents_lend(&lent, setup, patience_s, &never, arena, &e))
        fail_msg("%s", e.text);
}

/* Runs a word on all that `setup` means; the hosts' names that come back, joined. */
static const char *borrow(const struct bench_setup *setup)
{
    struct agents some;
    const char *argv[] = {"/bin/echo", "-n", "{host}", NULL}, *text = "";
    if (agents_open(&some, setup, 20, &never, &e))
        return e.text;
    struct agents_answer *said = agents_run(&some, argv, progress_now_s() + 20, &never, arena, &e);
    for (int i = 0; said && i < some.count; i++)
        text = arena_printf(arena, "%s%s%s", text, i ? " " : "", said[i].lost ? "lost" : said[i].output);
    agents_close(&some);
    return text;
}

TEST_CASE(started_once_and_borrowed_by_name)
{
    struct bench_setup own = {.hosts = "n[1-3].site"}, setup = {.hosts = "n3,n1", .lent = &lent};
    start(&own, 20);
    assert_int_equal(lent.nabsent, 0);
    assert_string_equal(borrow(&setup), "n3.site n1.site");
    setup.hosts = NULL;
    assert_string_equal(borrow(&setup), "n1.site n2.site n3.site");
    setup.hosts = "n7,n1";
    assert_string_equal(borrow(&setup), "no agent was started on n7");
    setup.hosts = "n1,n1.site";
    assert_string_equal(borrow(&setup), "n1 and n1.site are one node");
    assert_int_equal(count_starts(), 3);
}

TEST_CASE(those_that_do_not_come_are_named_and_the_others_go_on)
{
    struct bench_setup own = {.hosts = "n1,bad2,n3"}, setup = {.lent = &lent};
    double began_s = progress_now_s();
    start(&own, 60);
    assert_true(progress_now_s() - began_s < 30);
    assert_int_equal(lent.nabsent, 1);
    assert_string_equal(lent.absent[0].host, "bad2");
    assert_string_equal(lent.absent[0].why, "ssh exited with code 255: no route to it");
    assert_string_equal(borrow(&setup), "n1 n3");
    assert_string_equal(own.hosts, "n1,n3"); /* whoever asks for all gets these */
    assert_string_equal(borrow(&own), "n1 n3");
    setup.hosts = "bad2,n3";
    assert_string_equal(borrow(&setup), "bad2: ssh exited with code 255: no route to it");
    assert_int_equal(count_starts(), 3);
}

TEST_CASE(who_is_left_out_is_not_started_again)
{
    struct bench_setup own = {.hosts = "n[1-3]"};
    start(&own, 20);
    assert_null(agents_gone(&lent, "n2"));
    agents_leave_out(&lent, &own, "n2", "its probe failed");
    assert_string_equal(agents_gone(&lent, "n2"), "its probe failed");
    assert_string_equal(borrow(&own), "n1 n3");
    agents_close(&lent);
    assert_string_equal(borrow(&own), "n1 n3");
    assert_int_equal(count_starts(), 5);
    lent.again = NULL;
}

/* n2 is lost, and does not come back. */
TEST_CASE(who_does_not_come_back_is_named)
{
    struct bench_setup own = {.hosts = "n1,n2"};
    const char *argv[] = {"/bin/sh", "-c", "[ {host} = n1 ] || kill -KILL $PPID; sleep 0.1", NULL};
    start(&own, 20);
    struct agents all;
    assert_int_equal(agents_open(&all, &own, 20, &never, &e), 0);
    struct agents_answer *said = agents_run(&all, argv, progress_now_s() + 20, &never, arena, &e);
    assert_true(said[1].lost);
    /* "was killed by signal 9 (Killed)", or "exited with code 137: Killed" by a shell that waits */
    assert_non_null(strstr(said[1].errors, "its agent has ended: ssh "));
    assert_non_null(strstr(said[1].errors, "Killed"));
    agents_close(&all);
    script("ssh", "[ $1 = n1 ] || { echo 'n2 is down' >&2; exit 255; }\nexec sh -c \"$2\"\n");
    assert_string_equal(borrow(&own), "n2: ssh exited with code 255: n2 is down");
    assert_string_equal(agents_gone(&lent, "n2"), "ssh exited with code 255: n2 is down");
    own.hosts = "n1";
    assert_string_equal(borrow(&own), "n1");
    lent.again = NULL;
}

TEST_CASE(who_hangs_is_waited_for_in_vain)
{
    struct bench_setup own = {.hosts = "slow1,n2"}, setup = {.lent = &lent};
    start(&own, 3);
    assert_int_equal(lent.nabsent, 1);
    assert_string_equal(lent.absent[0].why, "no answer in time");
    assert_string_equal(borrow(&setup), "n2");
}

TEST_CASE(nobody_at_all_is_an_error)
{
    struct bench_setup own = {.hosts = "bad1,bad2", .ssh = script("ssh", arena_printf(arena, SSH, dir))};
    assert_int_equal(agents_lend(&lent, &own, 20, &never, arena, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "bad1: ssh exited with code 255: no route to it"));
}

TEST_CASE(some_are_lost_and_all_are_started_anew)
{
    struct bench_setup own = {.hosts = "n1,bad2,n3"}, setup = {.lent = &lent};
    const char *argv[] = {"/bin/sh", "-c", "kill -KILL $PPID; sleep 60", NULL};
    start(&own, 20);
    struct agents some;
    setup.hosts = "n3";
    assert_int_equal(agents_open(&some, &setup, 20, &never, &e), 0);
    struct agents_answer *said = agents_run(&some, argv, progress_now_s() + 20, &never, arena, &e);
    assert_true(said[0].lost);
    agents_close(&some);
    setup.hosts = NULL;
    assert_string_equal(borrow(&setup), "n1 n3");
    assert_int_equal(count_starts(), 5); /* who was absent is not asked again */
    agents_close(&lent);                 /* and after all were sent home */
    assert_string_equal(borrow(&setup), "n1 n3");
    assert_int_equal(count_starts(), 7);
    lent.again = NULL;
}

/* mpirun -H n1:1,bad2:1 ... fails for all; one for each tells who it is. */
TEST_CASE(where_one_for_all_fails_there_is_one_for_each)
{
    struct bench_setup setup = {.lent = &lent}, own = {.hosts = "n1,bad2,n3"};
    own.mpirun = script("mpirun", "case $2 in *bad*) echo 'bad2 is down' >&2; exit 1 ;; esac\n"
                                  "while [ $# -gt 0 ] && [ \"${1##*/}\" != nccltune-worker ]; do shift; done\n"
                                  "exec \"$@\"\n");
    start(&own, 20);
    assert_int_equal(lent.nabsent, 1);
    assert_string_equal(lent.absent[0].host, "bad2");
    assert_string_equal(lent.absent[0].why, "mpirun exited with code 1: bad2 is down");
    assert_string_equal(borrow(&setup), "n1 n3");
    assert_string_equal(own.hosts, "n1,n3");
}

static int begin_doubles(void **state)
{
    return doubles_begin("channels 1\n", "1");
}

static int end_doubles(void **state)
{
    doubles_end();
    return 0;
}

TEST_GROUP(test_gather, begin, end, begin_doubles, end_doubles)
