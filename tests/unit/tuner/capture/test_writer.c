/* A file system that never answers: launches, closes and the end of the program go on. What hangs is this program's own
 * fsync or mkdir, which the plugin binds. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/unit/tuner/capture/captured.h"

enum { HANGS_NOWHERE, HANGS_IN_FSYNC, HANGS_IN_MKDIR };

static _Atomic int hanging_in, hung;

static void maybe_hang(int where)
{
    if (hanging_in != where)
        return;
    hung = 1;
    while (hanging_in == where)
        usleep(1000);
}

int fsync(int fd)
{
    maybe_hang(HANGS_IN_FSYNC);
    return (int)syscall(SYS_fsync, fd);
}

int mkdir(const char *path, mode_t mode)
{
    maybe_hang(HANGS_IN_MKDIR);
    return (int)syscall(SYS_mkdirat, -100 /* AT_FDCWD */, path, mode);
}

/* As a pipe or a network's file system may: half of what is asked. */
static _Atomic int writes_halves;

ssize_t write(int fd, const void *bytes, size_t n)
{
    return syscall(SYS_write, fd, bytes, writes_halves && n > 1 ? n / 2 : n);
}

static void writes_the_whole_file_in_parts(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(97);
    CHECK(!profiled_open(&l, &c, remember));
    for (size_t i = 1; i <= 150; i++)
        launch(&c, (struct profiled_task){"AllReduce", 1000 * i, 0, ALGO_RING, PROTO_LL, 4, 0, 5000}, 1);
    writes_halves = 1;
    CHECK(!profiled_close(&c) && !logged.warnings);
    writes_halves = 0;
    struct workload *w = captured();
    CHECK(calls_in(w) == 150);
    workload_free(w);
}

static void launch_until_hung(struct profiled_comm *c)
{
    while (!hung)
        launch(c, one_mib, 1);
}

/* A file every 30 ms, the first of which never ends: the alarm of the test would end a launch that waited for it. */
static void launches_while_it_hangs(int where)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm c = world(91), other = world(92);
    CHECK(!profiled_open(&l, &c, remember));
    hanging_in = where;
    launch_until_hung(&c);
    launch(&c, one_mib, 10000);
    CHECK(!profiled_open(&l, &other, remember) && other.context);
    launch(&other, one_mib, 10);
    CHECK(!profiled_close(&other) && hung && access(file, F_OK));
}

/* It comes back: the counts are whole, and the file says what was left out. */
static void catches_up(int where)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm c = world(93);
    CHECK(!profiled_open(&l, &c, remember));
    hanging_in = where;
    while (!hung)
        usleep(1000);
    launch(&c, one_mib, 1234);
    usleep(100000);
    hanging_in = HANGS_NOWHERE;
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(calls_in(w) == 1234 && says(w, "because the directory was slow") && entries() == 1);
    workload_free(w);
}

/* The last close waits a little, a second one not at all, and the program ends. */
static void ends_while_it_hangs(int where)
{
    use_capture();
    struct profiler_loader l = profiler_load(6);
    hanging_in = where;
    for (int i = 0; i < 40; i++) { /* more than the alarm allows if each waited */
        struct profiled_comm c = world(94);
        CHECK(!profiled_open(&l, &c, remember));
        launch(&c, one_mib, 1);
        CHECK(!profiled_close(&c));
    }
    CHECK(hung);
}

/* A child of fork that comes while the writer is at work inherits neither it nor its wait. */
static void forked_while_it_hangs(int where)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    struct profiler_loader l = profiler_load(6);
    struct profiled_comm c = world(95);
    CHECK(!profiled_open(&l, &c, remember));
    hanging_in = where;
    launch_until_hung(&c);
    pid_t child = fork();
    if (!child) {
        alarm(10);
        launch(&c, one_mib, 100);
        CHECK(!profiled_close(&c));
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* What lies under the name of the unfinished file is replaced, not followed. */
static void follows_no_link(int api)
{
    char beside[256], victim[128];
    struct stat st;
    use_capture();
    snprintf(beside, sizeof beside, "%s/.42.rank.3.%d", dir, getpid());
    snprintf(victim, sizeof victim, "%s/victim", dir);
    CHECK(!close(creat(victim, 0600)) && !symlink(victim, beside));
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(96);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 2);
    CHECK(!profiled_close(&c) && !stat(victim, &st) && st.st_size == 0);
    struct workload *w = captured();
    CHECK(calls_in(w) == 2 && entries() == 2);
    workload_free(w);
}

/* Everything at once, for the thread sanitizer above all: threads that launch, communicators that come and go, and a
 * file every few hundred microseconds. */
static void *open_and_close(void *arg)
{
    struct profiler_loader *l = arg;
    for (uint64_t i = 0; i < 200; i++) {
        struct profiled_comm c = world(2000 + i);
        CHECK(!profiled_open(l, &c, NULL));
        launch(&c, one_mib, 20);
        CHECK(!profiled_close(&c));
    }
    return NULL;
}

static void all_at_once(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.00001", 1);
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm comms[3];
    struct worker jobs[3];
    pthread_t threads[4];
    for (size_t i = 0; i < 3; i++) {
        comms[i] = world(100 + i);
        jobs[i] = (struct worker){&comms[i], 5000};
        CHECK(!profiled_open(&l, &comms[i], NULL) && !pthread_create(&threads[i], NULL, work, &jobs[i]));
    }
    CHECK(!pthread_create(&threads[3], NULL, open_and_close, &l));
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 3; i++)
        CHECK(!profiled_close(&comms[i]));
    struct workload *w = captured();
    CHECK(calls_in(w) == 2 * 3 * 5000 + 200 * 20);
    workload_free(w);
}

/* ---- all versions ------------------------------------------------------------------------------------------------ */

TEST(launches_while_it_hangs, HANGS_IN_FSYNC, HANGS_IN_MKDIR)
TEST(catches_up, HANGS_IN_FSYNC, HANGS_IN_MKDIR)
TEST(ends_while_it_hangs, HANGS_IN_FSYNC, HANGS_IN_MKDIR)
TEST(forked_while_it_hangs, HANGS_IN_FSYNC, HANGS_IN_MKDIR)
TEST(follows_no_link, 6, 6)
TEST(all_at_once, 4, 6)
TEST(writes_the_whole_file_in_parts, 6, 6)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(launches_while_it_hangs),        CAPTURE_TEST(catches_up),      CAPTURE_TEST(ends_while_it_hangs),
        CAPTURE_TEST(forked_while_it_hangs),          CAPTURE_TEST(follows_no_link), CAPTURE_TEST(all_at_once),
        CAPTURE_TEST(writes_the_whole_file_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
