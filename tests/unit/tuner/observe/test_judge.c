/* tuner/observe/judge.c: which ranks come last, which calls have become slower. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/coll.h"
#include "tuner/observe/judge.h"

#define RANKS 8

static struct observe_rank ranks[RANKS];
static struct observe_call calls[64];
static struct observe_job job;

static int set_up(void **state)
{
    (void)state;
    job = (struct observe_job){.name = "7", .ranks = ranks, .nranks = RANKS, .calls = calls};
    for (int i = 0; i < RANKS; i++) {
        ranks[i].rank = i;
        snprintf(ranks[i].host, sizeof ranks[i].host, "n%d", i / 4);
    }
    return 0;
}

static struct observe_call a_call(unsigned rank, double us)
{
    return (struct observe_call){.bytes = 1 << 20,
                                 .count = 1000,
                                 .timed = 100,
                                 .group = 1,
                                 .median_us = us,
                                 .total_us = 100 * us,
                                 .kind = COLL_ALLREDUCE,
                                 .group_size = RANKS,
                                 .stride = 1,
                                 .algo = ALGO_RING,
                                 .proto = PROTO_SIMPLE,
                                 .channels = 4,
                                 .rank = rank};
}

static void all_ranks(const double us[RANKS])
{
    for (unsigned i = 0; i < RANKS; i++)
        calls[job.ncalls++] = a_call(i, us[i]);
}

static size_t late(struct observe_late *l)
{
    return observe_late(&job, l, 4);
}

static void finds_one_rank(void **state)
{
    (void)state;
    struct observe_late l[4];
    char text[OBSERVE_SENTENCE];
    all_ranks((double[RANKS]){500, 510, 490, 100, 500, 505, 495, 500});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 3 && !strcmp(l[0].host, "n0"));
    assert_true(fabs(l[0].waited_us - 400e3) < 1 && fabs(l[0].share - 0.8) < 0.01);
    observe_say_late(&l[0], text);
    assert_string_equal(text, "rank 3 on n0 comes last: the others waited 400.0 ms, 80 % of their time in calls");
}

static void finds_a_whole_node(void **state)
{
    (void)state;
    struct observe_late l[4];
    all_ranks((double[RANKS]){500, 510, 490, 500, 100, 105, 95, 100});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == -1 && !strcmp(l[0].host, "n1") && l[0].waited_us > 390e3);
}

/* Neither noise, nor turns, nor a call of few is a straggler; nor a rank that is late to what costs little. */
static void finds_nobody(void **state)
{
    (void)state;
    struct observe_late l[4];
    all_ranks((double[RANKS]){500, 510, 490, 420, 500, 505, 495, 500});
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].median_us = i < 5 ? 100 : 500; /* more come last than wait */
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].timed = OBSERVE_LEAST - 1, calls[i].median_us = i ? 500 : 100;
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].timed = 100, calls[i].group = 0; /* of several communicators */
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].group = 1, calls[i].kind = COLL_BROADCAST;
    assert_int_equal(late(l), 0);
    job.ncalls = 0;
    all_ranks((double[RANKS]){10, 50, 50, 50, 50, 50, 50, 50});
    for (unsigned i = 0; i < RANKS; i++) {
        calls[job.ncalls] = a_call(i, 5000);
        calls[job.ncalls++].bytes = 1 << 28;
    }
    assert_int_equal(late(l), 0);
}

/* Groups of the same shape are compared each within itself. */
static void tells_communicators_apart(void **state)
{
    (void)state;
    struct observe_late l[4];
    all_ranks((double[RANKS]){100, 100, 100, 100, 500, 500, 500, 500});
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].group = 1 + i / 4;
    assert_int_equal(late(l), 0);
    calls[6].median_us = 200, calls[6].total_us = 20000;
    assert_int_equal(late(l), 1);
    assert_int_equal(l[0].rank, 6);
}

/* ---- drift ------------------------------------------------------------------------------------------------------- */

static struct observe_point *one_job(struct observe_job *j, const char *name, double us, int algo, size_t *count)
{
    static struct observe_call kept[8][2];
    static int used;
    struct observe_call *c = kept[used++ % 8];
    c[0] = a_call(0, us), c[1] = a_call(1, 1.5 * us);
    c[0].algo = c[1].algo = algo;
    *j = (struct observe_job){.ranks = ranks, .nranks = 2, .calls = c, .ncalls = 2};
    snprintf(j->name, sizeof j->name, "%s", name);
    return observe_points(j, count);
}

static void finds_what_is_slower(void **state)
{
    (void)state;
    struct observe_job j[4];
    struct observe_earlier e[3] = {{0}};
    struct observe_drift d[2];
    char text[OBSERVE_SENTENCE];
    size_t n;
    static const double times[] = {1000, 1050, 980};
    for (size_t i = 0; i < 3; i++)
        e[i].points = one_job(&j[i], i ? i == 1 ? "41" : "42" : "40", times[i], ALGO_TREE, &e[i].count);
    struct observe_point *now = one_job(&j[3], "43", 2100, ALGO_RING, &n);
    assert_true(n == 1 && now[0].call.median_us == 2100 && now[0].call.count == 1000);
    assert_int_equal(observe_drifts(now, n, e, 3, d, 2), 1);
    assert_true(d[0].jobs == 3 && fabs(d[0].times - 2.1) < 0.01);
    observe_say_drift(&d[0], text);
    assert_string_equal(text,
                        "allreduce of 1 MiB among 8 ranks takes 2.1 times as long as in job 40: 2100 us instead of "
                        "1000 us, by ring/simple now, by tree/simple then");
    now[0].call.median_us = 1200;
    assert_int_equal(observe_drifts(now, n, e, 3, d, 2), 0);
    assert_int_equal(observe_drifts(now, n, e, 0, d, 2), 0);
    now[0].call.median_us = 2100;
    now[0].call.bytes++;
    assert_int_equal(observe_drifts(now, n, e, 3, d, 2), 0);
    free(now);
    for (size_t i = 0; i < 3; i++)
        free((void *)(uintptr_t)e[i].points);
}

/* Once as slow is no news. */
static void knows_times_that_vary(void **state)
{
    (void)state;
    struct observe_job j[4];
    struct observe_earlier e[3] = {{0}};
    struct observe_drift d[2];
    size_t n;
    static const double times[] = {1000, 1000, 2000};
    for (size_t i = 0; i < 3; i++)
        e[i].points = one_job(&j[i], "4", times[i], ALGO_TREE, &e[i].count);
    struct observe_point *now = one_job(&j[3], "43", 2100, ALGO_TREE, &n);
    assert_int_equal(observe_drifts(now, n, e, 3, d, 2), 0);
    free(now);
    for (size_t i = 0; i < 3; i++)
        free((void *)(uintptr_t)e[i].points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(finds_one_rank, set_up),       cmocka_unit_test_setup(finds_a_whole_node, set_up),
        cmocka_unit_test_setup(finds_nobody, set_up),         cmocka_unit_test_setup(tells_communicators_apart, set_up),
        cmocka_unit_test_setup(finds_what_is_slower, set_up), cmocka_unit_test_setup(knows_times_that_vary, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
