/* The file of a capture, whatever becomes of the job. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "tests/unit/tuner/capture/captured.h"

/* ---- the file, whatever becomes of the job ----------------------------------------------------------------------- */

static void written_at_the_end_without_a_close(int api)
{
    use_capture();
    pid_t child = fork();
    if (!child) {
        struct profiler_loader l = profiler_load(api);
        struct profiled_comm c = world(86);
        CHECK(!profiled_open(&l, &c, NULL));
        launch(&c, one_mib, 4);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct workload *w = captured();
    CHECK(calls_in(w) == 4);
    workload_free(w);
}

/* NCCL unloads the plugin with the last communicator and loads it again with the next. */
static void goes_on_after_an_unload(int api)
{
    const void *first = NULL;
    use_capture();
    for (int i = 0; i < 3; i++) {
        struct profiler_loader l = profiler_load(api);
        struct profiled_comm c = world(870 + (uint64_t)i);
        first = first ? first : l.library;
        CHECK(l.library == first && !profiled_open(&l, &c, NULL));
        launch(&c, one_mib, 4);
        CHECK(!profiled_close(&c) && !dlclose(l.library));
    }
    struct workload *w = captured();
    CHECK(calls_in(w) == 12 && w->phases[0].ncalls == 1);
    workload_free(w);
}

/* Asked by the leak checker of a build with sanitizers: at the end of a child of fork it waits for locks that the
 * capture's thread may have held, and that thread is not there. */
static int forked;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return forked;
}

/* A child of fork has the memory of a capture, and no business with it. */
static void left_alone_by_a_fork(int api)
{
    use_capture();
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(87), other = world(88);
    CHECK(!profiled_open(&l, &c, NULL));
    launch(&c, one_mib, 4);
    pid_t child = fork();
    if (!child) {
        forked = 1;
        launch(&c, one_mib, 100);
        CHECK(!profiled_open(&l, &other, NULL) && !other.context);
        CHECK(!profiled_close(&c) && entries() == 0);
        exit(0);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0 && entries() == 0);
    CHECK(!profiled_close(&c));
    struct workload *w = captured();
    CHECK(calls_in(w) == 4);
    workload_free(w);
}

static void written_at_intervals(int api)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1); /* 30 ms */
    struct profiler_loader l = profiler_load(api);
    struct profiled_comm c = world(89);
    CHECK(!profiled_open(&l, &c, NULL));
    for (int i = 0; i < 5000 && access(file, F_OK); i++) {
        launch(&c, one_mib, 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    struct workload *w = captured();
    CHECK(calls_in(w) > 0);
    workload_free(w);
}

/* No place to write to, and a limit that would kill: one warning, and the job goes on. */
static void cannot_write(int limited)
{
    char path[128];
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.0005", 1);
    if (limited) {
        struct rlimit none = {0, 0};
        CHECK(!setrlimit(RLIMIT_FSIZE, &none));
    } else {
        snprintf(path, sizeof path, "%s/file", dir);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        CHECK(fd >= 0 && !close(fd));
        setenv("NCCLTUNE_CAPTURE", path, 1);
    }
    struct profiler_loader l = profiler_load(5);
    struct profiled_comm c = world(90);
    CHECK(!profiled_open(&l, &c, remember));
    for (int i = 0; i < 200; i++) {
        launch(&c, one_mib, 1);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    CHECK(!profiled_close(&c) && logged.warnings == 1 && strstr(logged.text, "cannot write"));
    CHECK(entries() == (limited ? 0 : 1));
}

static void *churn(void *arg)
{
    struct worker job = {arg, 1 << 30};
    return work(&job);
}

/* Killed again and again while four threads count and the file is written every few milliseconds: what is there under
 * its name is always whole. */
static void whole_after_an_abort(int api)
{
    double calls = 0;
    use_capture();
    setenv("NCCLTUNE_CAPTURE_MINUTES", "0.00001", 1);
    for (int round = 0; round < 25; round++) {
        pid_t child = fork();
        if (!child) {
            struct profiler_loader l = profiler_load(api);
            struct profiled_comm comms[4];
            pthread_t thread;
            setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
            for (size_t i = 0; i < 4; i++) {
                comms[i] = world(600 + i);
                CHECK(!profiled_open(&l, &comms[i], NULL) && !pthread_create(&thread, NULL, churn, &comms[i]));
            }
            while (access(file, F_OK)) /* however long a loaded machine takes to write the first */
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            nanosleep(&(struct timespec){.tv_nsec = 20000000 + 1370000 * round}, NULL);
            if (round % 2)
                raise(SIGKILL);
            abort();
        }
        int status = 0;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
        if (!access(file, F_OK)) {
            struct workload *w = captured();
            calls += calls_in(w);
            workload_free(w);
        }
    }
    CHECK(calls > 0);
}

/* ---- all versions ------------------------------------------------------------------------------------------------ */

TEST(written_at_the_end_without_a_close, 1, 6)
TEST(goes_on_after_an_unload, 4, 6)
TEST(left_alone_by_a_fork, 1, 6)
TEST(written_at_intervals, 1, 6)
TEST(cannot_write, 0, 1)
TEST(whole_after_an_abort, 6, 6)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CAPTURE_TEST(written_at_the_end_without_a_close),
        CAPTURE_TEST(goes_on_after_an_unload),
        CAPTURE_TEST(left_alone_by_a_fork),
        CAPTURE_TEST(written_at_intervals),
        CAPTURE_TEST(cannot_write),
        CAPTURE_TEST(whole_after_an_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
