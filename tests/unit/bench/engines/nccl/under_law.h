/* The nccl engine under other laws than the usual one of the doubles, and what it says then. */
#pragma once

#include "tests/unit/bench/engines/nccl/shoot.h"

static FILE *logged;
static struct log said;

/* The law with more lines, and everything started anew under it. */
static inline void under(const char *lines)
{
    bench_engine_nccl.measures->finish(&plan);
    assert_int_equal(doubles_begin(arena_printf(arena, "%s%s", law, lines), "3"), 0);
    struct err e = {0};
    if (bench_engine_nccl.measures->plan(&setup, arena, &plan, &e))
        fail_msg("%s", e.text);
}

static inline void listen(void)
{
    logged = tmpfile();
    said = (struct log){.out = logged, .program = "test"};
    setup.log = &said;
}

/* Whether the log has these words; ends listening. */
static inline int was_said(const char *words)
{
    char line[1024];
    int found = 0;
    rewind(logged);
    while (fgets(line, sizeof line, logged))
        found |= strstr(line, words) != NULL;
    fclose(logged);
    setup.log = NULL;
    return found;
}

/* One sample's time; fails the test unless the data is right. */
static inline double time_of(struct bench_session *s, int coll, uint64_t bytes, const char *label)
{
    struct answer a = shoot(s, coll, bytes, label, 10);
    if (a.outcome != BENCH_ANSWERED || a.status != BENCH_OK)
        fail_msg("%s: %s", label, a.detail);
    return a.us;
}

/* The law's, of the base law above. */
#define SMALL ((uint64_t)3 << 10)
#define LARGE ((uint64_t)3 << 20)
static const double __attribute__((unused)) tree_ll_us = 8 + 3.072 / 10, tree_us = 20 + (3 << 20) / 50e3,
                                            broadcast_us = 15 + 3.072 / 80;

static inline struct bench_session *open_within(double patience_s, struct err *e)
{
    static volatile sig_atomic_t stop;
    return bench_engine_nccl.measures->open(&plan, launch_named(BENCH_DEFAULT), patience_s, &stop, e);
}
