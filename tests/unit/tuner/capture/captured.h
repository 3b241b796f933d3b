/* What the tests of the capture share: a directory for each, NCCL's double, and the file that comes of it, read back by
 * the reader of workloads. */
#pragma once

#include <dirent.h>
#include <math.h>
#include <time.h>

#include "core/call/workload.h"
#include "tests/lib/profiler_double.h"
#include "tests/unit/tuner/loader_double.h"

#define MIB (1 << 20)

static char dir[64], file[128];

static inline int remove_dir(void **state)
{
    char path[512];
    DIR *d = dir[0] ? opendir(dir) : NULL;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path); /* not "." and ".." */
    }
    if (d)
        closedir(d);
    rmdir(dir);
    dir[0] = 0;
    return 0;
}

/* Captures into the test's directory, as rank 3 of 8 on two nodes of job 42. */
static inline void use_capture(void)
{
    static const char *const others[] = {"NCCLTUNE", "NCCLTUNE_CAPTURE_TIMES", "NCCLTUNE_CAPTURE_MINUTES",
                                         "NCCL_ALLGATHERV_ENABLE"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        unsetenv(others[i]);
    snprintf(file, sizeof file, "%s/42.rank.3.json", dir);
    setenv("NCCLTUNE_CAPTURE", dir, 1);
    setenv("SLURM_JOB_ID", "42", 1);
    setenv("RANK", "3", 1);
    setenv("WORLD_SIZE", "8", 1);
    setenv("LOCAL_WORLD_SIZE", "4", 1);
}

/* The same with times, where version 6 of the interface gives right ones. */
static inline void use_timed_capture(void)
{
    use_capture();
    setenv("NCCLTUNE_CAPTURE_TIMES", "1", 1);
    setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
}

static inline int entries(void)
{
    DIR *d = opendir(dir);
    int n = 0;
    CHECK(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.' || (e->d_name[1] != '.' && e->d_name[1] != 0);
    closedir(d);
    return n;
}

static inline struct workload *captured(void)
{
    struct err e = {0};
    struct workload *w = workload_load(file, &e);
    if (!w)
        fprintf(stderr, "%s\n", e.text);
    CHECK(w && w->nphases == 1 && w->per_run);
    return w;
}

static inline const struct workload_call *find(const struct workload *w, int kind, uint64_t bytes)
{
    for (int i = 0; i < w->phases[0].ncalls; i++)
        if (w->phases[0].calls[i].kind == kind && (!bytes || w->phases[0].calls[i].bytes == bytes))
            return &w->phases[0].calls[i];
    return NULL;
}

static inline double calls_in(const struct workload *w)
{
    double n = 0;
    for (int i = 0; i < w->phases[0].ncalls; i++)
        n += w->phases[0].calls[i].count;
    return n;
}

static inline int says(const struct workload *w, const char *words)
{
    for (int i = 0; i < w->nnotes; i++)
        if (strstr(w->notes[i], words))
            return 1;
    return 0;
}

static inline int is_about(double value, double expected)
{
    return fabs(value - expected) <= 0.07 * expected;
}

static inline struct profiled_comm world(uint64_t id)
{
    return (struct profiled_comm){.id = id, .nodes = 2, .ranks = 8, .rank = 3};
}

static inline void launch(struct profiled_comm *c, struct profiled_task task, int times)
{
    for (int i = 0; i < times; i++)
        profiled_launch(c, &task, 1);
}

static const struct profiled_task one_mib = {"AllReduce", MIB / 2, 9, ALGO_RING, PROTO_LL128, 8, 0, 500000};

/* ---- threads that launch ----------------------------------------------------------------------------------------- */

struct worker {
    struct profiled_comm *comm;
    int launches;
};

static inline void *work(void *arg)
{
    struct worker *job = arg;
    for (int i = 0; i < job->launches; i++) {
        struct profiled_task tasks[] = {
            one_mib, {"Send", 10, 9, 0, 0, 2, 4, 30000}, {"Recv", 10, 9, 0, 0, 2, 2, 30000}};
        tasks[0].count = 1000 * (size_t)(1 + i % 100);
        profiled_launch(job->comm, tasks, 3);
    }
    return NULL;
}

/* ---- all versions ------------------------------------------------------------------------------------------------ */

/* The test in a child of its own for every argument from `first` to `last`. */
static inline void each(void (*test)(int), int first, int last)
{
    for (int i = first; i <= last; i++) {
        snprintf(dir, sizeof dir, "/tmp/nccltune-test-XXXXXX");
        assert_non_null(mkdtemp(dir));
        in_child(test, i);
        remove_dir(NULL);
    }
}

#define TEST(name, first, last)           \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        each(name, first, last);          \
    }
#define CAPTURE_TEST(name) cmocka_unit_test_teardown(test_##name, remove_dir)
