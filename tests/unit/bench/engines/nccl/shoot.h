/* For tests of the nccl engine over the doubles: a plan, sessions and samples in one line each. Three GPUs, a law. */
#pragma once

#include <unistd.h>

#include "bench/engines/nccl/engine.h"
#include "core/coll.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/unit.h"

#define RANKS 3

/* With a cache that a few pairs of buffers are out of. */
static const char law[] = "channels 8\n"
                          "cache 1000000 1\n"
                          "hcas mlx5_0,mlx5_1\n"
                          "cell allreduce ring simple latency=30 GBps=100 channel_GBps=20\n"
                          "cell allreduce tree simple latency=20 GBps=50\n"
                          "cell allreduce tree ll latency=8 GBps=10 predict=3\n"
                          "cell allgather ring simple latency=20 GBps=80\n"
                          "cell reducescatter ring simple latency=20 GBps=80\n"
                          "cell broadcast ring simple latency=15 GBps=80\n"
                          "cell reduce ring simple latency=15 GBps=80\n"
                          "cell alltoall ring simple latency=25 GBps=60\n"
                          "cell sendrecv ring simple latency=9 GBps=40\n"
                          "when hcas=mlx5_1 factor=2\n"
                          "when NCCL_BUFFSIZE=8388608 factor=0.5\n";

static struct arena *arena;
static struct bench_setup setup;
static struct nccl_options own;
static struct bench_plan plan;
static struct bench_shape shape; /* of who calls; all zero: everybody */

static inline int set_environment(void **state)
{
    return doubles_begin(law, "3");
}

static inline int remove_law(void **state)
{
    doubles_end();
    return 0;
}

static inline int make_plan(void **state)
{
    struct err e = {0};
    arena = arena_new();
    own = (struct nccl_options){.first_s = 0.5};
    setup = (struct bench_setup){.own = &own};
    if (!bench_engine_nccl.measures->plan(&setup, arena, &plan, &e))
        return 0;
    fprintf(stderr, "%s\n", e.text);
    return -1;
}

static inline int drop_plan(void **state)
{
    unsetenv("NCCL_DOUBLE_FAULT");
    unsetenv("DRIVER_DOUBLE_BYTES");
    bench_engine_nccl.measures->finish(&plan);
    arena_free(arena);
    return 0;
}

static inline const struct bench_knobs *call_named(int coll, const char *label)
{
    for (int i = 0; i < plan.ncalls; i++)
        if (plan.calls[i].coll == coll && !strcmp(plan.calls[i].knobs.label, label))
            return &plan.calls[i].knobs;
    fail_msg("no call %s", label);
    return NULL;
}

static inline const struct bench_knobs *launch_named(const char *label)
{
    for (int i = 0; i < plan.nlaunches; i++)
        if (!strcmp(plan.launches[i].label, label))
            return &plan.launches[i];
    fail_msg("no launch %s", label);
    return NULL;
}

static inline struct bench_session *open_launch(const char *label, struct err *e)
{
    static volatile sig_atomic_t stop;
    return bench_engine_nccl.measures->open(&plan, launch_named(label), 10, &stop, e);
}

struct answer {
    enum bench_outcome outcome;
    enum bench_status status;
    double us;
    int samples;
    char detail[BENCH_DETAIL];
};

static inline void take(void *user, int shot, enum bench_status status, double us, const char *detail)
{
    struct answer *a = user;
    assert_int_equal(shot, 0);
    a->status = status;
    a->us = us;
    a->samples++;
    if (detail)
        snprintf(a->detail, sizeof a->detail, "%s", detail);
}

static inline struct answer shoot(struct bench_session *s, int coll, uint64_t bytes, const char *label,
                                  double patience_s)
{
    static volatile sig_atomic_t stop;
    struct bench_shot shot = {.knobs = call_named(coll, label), .patience_s = patience_s};
    struct bench_batch b = {
        .coll = coll, .bytes = bytes, .samples = 2, .check = 1, .shots = &shot, .nshots = 1, .shape = shape};
    struct answer a = {.status = BENCH_STATUS_COUNT};
    char detail[BENCH_DETAIL] = "";
    a.outcome = bench_engine_nccl.measures->measure(s, &b, &stop, take, &a, detail);
    if (a.outcome != BENCH_ANSWERED)
        snprintf(a.detail, sizeof a.detail, "%s", detail);
    return a;
}

static inline struct bench_session *must_open(const char *label)
{
    struct err e = {0};
    struct bench_session *s = open_launch(label, &e);
    if (!s)
        fail_msg("%s", e.text);
    return s;
}

/* Agents are started anew, so that the fault is in their environment. */
static inline struct bench_session *open_with_fault(const char *fault)
{
    setenv("NCCL_DOUBLE_FAULT", fault, 1);
    bench_engine_nccl.measures->finish(&plan);
    assert_int_equal(bench_engine_nccl.measures->plan(&setup, arena, &plan, NULL), 0);
    return must_open(BENCH_DEFAULT);
}

static inline void assert_about(double value, double expected)
{
    if (!(value > expected * 0.999 && value < expected * 1.001))
        fail_msg("%g is not about %g", value, expected);
}
