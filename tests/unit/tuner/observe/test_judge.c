/* tuner/observe/judge.c: which ranks come last, which calls have become slower. */
#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tuner/observe/judge.h"

#define RANKS 8

static struct observe_rank ranks[RANKS];
static struct observe_call calls[64];
static struct observe_job job;

static int set_up(void **state)
{
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

TEST_CASE(finds_one_rank)
{
    struct observe_late l[4];
    char text[OBSERVE_SENTENCE];
    all_ranks((double[RANKS]){500, 510, 490, 100, 500, 505, 495, 500});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 3 && !strcmp(l[0].host, "n0"));
    assert_true(fabs(l[0].waited_us - 400e3) < 1 && fabs(l[0].share - 0.8) < 0.01);
    observe_say_late(&l[0], text);
    assert_string_equal(text, "rank 3 on n0 comes last: the others waited 400.0 ms, 80 % of their time in calls");
}

TEST_CASE(finds_a_whole_node)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){500, 510, 490, 500, 100, 105, 95, 100});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == -1 && !strcmp(l[0].host, "n1") && l[0].waited_us > 390e3);
}

/* However short its calls and names are. */
TEST_CASE(finds_short_ones)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){0.5, 0.5, 0.5, 0.1, 0.5, 0.5, 0.5, 0.5});
    for (unsigned i = 0; i < RANKS; i++) {
        calls[i].timed = OBSERVE_LEAST;
        calls[i].total_us = OBSERVE_LEAST * calls[i].median_us;
    }
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 3 && l[0].waited_us > 399 && l[0].waited_us < 401);
    job.ncalls = 0;
    for (int i = 0; i < RANKS; i++)
        snprintf(ranks[i].host, sizeof ranks[i].host, "%d", i / 4);
    all_ranks((double[RANKS]){500, 510, 490, 500, 100, 105, 95, 100});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == -1 && !strcmp(l[0].host, "1"));
}

/* By a tenth at every call. */
TEST_CASE(finds_one_that_is_a_little_late)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){550, 551, 549, 500, 550, 552, 548, 550});
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 3 && fabs(l[0].share - 0.09) < 0.01);
}

/* One call of twenty, by ten times as long: medians are the same. */
TEST_CASE(finds_one_that_is_late_now_and_then)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){500, 500, 500, 500, 500, 500, 500, 500});
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].steady_us = i == 5 ? 500 : 740 + i;
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 5 && l[0].share > 0.3);
}

/* A wait that is longer than the job is no wait. */
TEST_CASE(believes_no_wait_beyond_the_job)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){36000, 36000, 36000, 150, 36000, 36000, 36000, 36000});
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].seconds = 9;
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].seconds = 0;
}

static void enter(unsigned rank, uint64_t number, uint64_t at_us)
{
    static struct observe_entry entries[RANKS * 200];
    job.entries = entries;
    entries[job.nentries++] = (struct observe_entry){1, number, at_us, rank};
}

/* Without times of GPUs: the host of rank 6 is late to every tenth call; clocks differ by less than they may. */
TEST_CASE(finds_a_late_host_by_its_clock)
{
    struct observe_late l[4];
    char text[OBSERVE_SENTENCE];
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].clock_error_us = 500;
    for (uint64_t n = 1; n <= 200; n++)
        for (unsigned i = 0; i < RANKS; i++)
            enter(i, n,
                  1000000 + 20000 * n + (i / 4) * 4000 + 37 * (n * (i + 3) % 11) + (i == 6 && n % 10 == 0) * 9000);
    assert_int_equal(observe_basis(&job), OBSERVE_HOSTS);
    assert_int_equal(late(l), 1);
    assert_true(l[0].rank == 6 && l[0].by_hosts && fabs(l[0].share - 0.1) < 0.01);
    observe_say_late(&l[0], text);
    assert_non_null(strstr(text, "rank 6 on n1 comes late to 10 % of the calls, by the hosts' clocks, "));
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].clock_error_us = 5000; /* what is late may be the clock */
    job.nentries = 0;
    for (uint64_t n = 1; n <= 200; n++)
        for (unsigned i = 0; i < RANKS; i++)
            enter(i, n, 1000000 + 20000 * n + (i / 4) * 12000);
    assert_int_equal(late(l), 0);
    for (unsigned i = 0; i < RANKS; i++)
        ranks[i].clock_error_us = i == 6 ? -1 : 500; /* nobody sets it */
    job.nentries = 0;
    for (uint64_t n = 1; n <= 200; n++)
        for (unsigned i = 0; i < RANKS; i++)
            enter(i, n, 1000000 + 20000 * n + (i == 6) * 3000000);
    assert_int_equal(late(l), 0);
}

/* Neither noise, nor turns, nor a call of few is a straggler; nor a rank that is late to what costs little. */
TEST_CASE(finds_nobody)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){500, 510, 490, 480, 500, 505, 495, 500});
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
TEST_CASE(tells_communicators_apart)
{
    struct observe_late l[4];
    all_ranks((double[RANKS]){100, 100, 100, 100, 500, 500, 500, 500});
    for (unsigned i = 0; i < RANKS; i++)
        calls[i].group = 1 + i / 4;
    assert_int_equal(late(l), 0);
    calls[6].median_us = 200, calls[6].total_us = 20000;
    assert_int_equal(late(l), 1);
    assert_int_equal(l[0].rank, 6);
}

/* What runs another way takes another time on all ranks: nobody comes last. Calls of two ways stand beside one another,
 * those that take as long by their way. */
TEST_CASE(tells_ways_apart)
{
    struct observe_late l[4];
    for (int what = 0; what < 10; what++) {
        job.ncalls = 0;
        for (unsigned way = 0; way < 2; way++)
            for (unsigned i = 0; i < RANKS; i++) {
                struct observe_call *c = &calls[job.ncalls++];
                *c = a_call(i, way ? 100 : 500);
                c->algo += what == 0 && way, c->proto -= what == 1 && way, c->channels += what == 2 && way;
                c->bytes += what == 3 && way, c->group_size += what == 4 && way, c->stride += what == 5 && way;
                c->crosses_nodes = what == 6 && way, c->dtype[0] = what == 7 && way ? 'x' : 0;
                c->group += what == 8 && way;
                c->kind = what == 9 && way ? COLL_ALLGATHER : c->kind;
            }
        assert_int_equal(late(l), 0);
    }
    size_t n = 0;
    for (unsigned i = 0; i < 4; i++) {
        calls[i] = a_call(i, 100);
        calls[i].channels = (int)(4 - i);
    }
    job.ncalls = 4;
    struct observe_point *points = observe_points(&job, &n);
    assert_int_equal(n, 1);
    assert_int_equal(points[0].call.channels, 1);
    free(points);
}

/* The most waited-for first, and no more than are wanted; a host with one rank that is not late has single ones. */
TEST_CASE(puts_them_in_order)
{
    struct observe_late l[5];
    all_ranks((double[RANKS]){500, 200, 100, 500, 500, 500, 299, 500});
    calls[6].timed = OBSERVE_LEAST, calls[6].total_us = 299.0 * OBSERVE_LEAST;
    job.nranks = RANKS;
    assert_int_equal(observe_late(&job, l, 5), 3);
    assert_true(l[0].rank == 1 || l[0].rank == 2); /* they wait for them all alike */
    for (unsigned i = 0; i < RANKS; i++)           /* each in a call of its own */
        for (unsigned k = 0; k < RANKS; k++) {
            calls[i * RANKS + k] = a_call(k, i < 6 && i == (k * 5 + 1) % RANKS ? 100.0 + 10 * i : 500);
            calls[i * RANKS + k].bytes = 1024 << i;
        }
    job.ncalls = RANKS * RANKS;
    for (size_t most = 1; most <= 5; most++) {
        assert_int_equal(observe_late(&job, l, most), most);
        for (size_t i = 0; i < most; i++) {
            assert_int_equal((l[i].rank * 5 + 1) % RANKS, i);
            assert_true(fabs(l[i].waited_us - (400e3 - 10e3 * (double)i)) < 1);
        }
    }
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

TEST_CASE(finds_what_is_slower)
{
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

/* Several calls in a job, whatever their order; of as many jobs as are looked at; those that cost most first. */
TEST_CASE(finds_each_call)
{
    struct observe_job before = {.nranks = 1, .ranks = ranks}, now = before;
    struct observe_call was[7], is[14];
    struct observe_earlier e[70];
    struct observe_drift d[3];
    size_t n = 0, m = 0;
    for (unsigned i = 0; i < 7; i++) {
        was[i] = is[i] = is[i + 7] = a_call(0, 100);
        was[i].bytes = is[i].bytes = is[i + 7].bytes = 1024 << (i * 3 % 7);
        is[i].count = 10, is[i + 7].count = 20;
        is[i].median_us = 100 + 50.0 * (i * 3 % 7);
        is[i + 7].median_us = is[i].median_us + 1;
    }
    before.calls = was, before.ncalls = 7, now.calls = is, now.ncalls = 14;
    struct observe_point *then = observe_points(&before, &m), *points = observe_points(&now, &n);
    assert_true(n == 7 && m == 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(points[i].call.bytes, 1024 << i);
        assert_true(points[i].call.median_us == 100 + 50.0 * (double)i && points[i].call.count == 20);
    }
    for (size_t i = 0; i < 70; i++)
        e[i] = (struct observe_earlier){then, m};
    for (size_t most = 1; most <= 3; most++) {
        assert_int_equal(observe_drifts(points, n, e, 70, d, most), most);
        for (size_t i = 0; i < most; i++)
            assert_true(d[i].now.call.bytes == 1024U << (6 - i) && d[i].jobs == 64);
    }
    points[1].call.median_us = 125;
    assert_int_equal(observe_drifts(&points[1], 1, e, 1, d, 3), 1); /* as much as counts */
    points[1].call.median_us = 124.9;
    assert_int_equal(observe_drifts(&points[1], 1, e, 1, d, 3), 0);
    free(then);
    free(points);
}

/* What differs in anything is another call, but for the way that it ran. */
TEST_CASE(tells_calls_apart)
{
    size_t n = 0;
    for (int i = 0; i < 9; i++) {
        struct observe_call *c = &calls[job.ncalls++];
        *c = a_call(0, 100 + i);
        c->bytes += i == 1, c->group_size += i == 2, c->crosses_nodes = i == 3, c->stride += i == 4;
        c->kind = i == 5 ? COLL_BROADCAST : c->kind, c->dtype[0] = i == 6 ? 'x' : 0;
        c->algo = i == 7 ? ALGO_TREE : c->algo, c->channels += i == 8;
    }
    calls[job.ncalls] = a_call(0, 0), calls[job.ncalls++].bytes = 1; /* times that are not known, or of few */
    calls[job.ncalls] = a_call(0, 5), calls[job.ncalls].timed = OBSERVE_LEAST - 1, calls[job.ncalls++].bytes = 2;
    calls[job.ncalls] = a_call(0, 5), calls[job.ncalls].timed = OBSERVE_LEAST, calls[job.ncalls++].bytes = 3;
    struct observe_point *points = observe_points(&job, &n);
    assert_int_equal(n, 8);
    assert_true(points[0].call.kind == COLL_BROADCAST && points[1].call.bytes == 3);
    free(points);
}

TEST_CASE(says_it_in_its_units)
{
    static const struct {
        uint64_t bytes;
        double now_us, then_us;
        int kind, algo, proto;
        const char *sentence;
    } cases[] = {
        {1023, 10.4, 5, COLL_BROADCAST, -1, PROTO_LL,
         "broadcast of 1023 B among 8 ranks takes 2.0 times as long as in "
         "job 6: 10 us instead of 5 us, by ?/ll both times"},
        {1024, 9999, 9999, COLL_REDUCE, ALGO_TREE, -1,
         "reduce of 1 KiB among 8 ranks takes 2.0 times as long as in "
         "job 6: 9999 us instead of 9999 us, by tree/? both times"},
        {1536, 1e4, 1e6, -1, 0, 0,
         "a call of 1536 B among 8 ranks takes 2.0 times as long as in job 6: 10.0 ms "
         "instead of 1000.0 ms, by tree/ll both times"},
        {UINT64_C(5) << 40, 1e7, 9.99e6, 0, 0, 0,
         "broadcast of 5120 GiB among 8 ranks takes 2.0 times as long as in "
         "job 6: 10 s instead of 9990.0 ms, by tree/ll both times"},
    };
    char text[OBSERVE_SENTENCE];
    struct observe_job then = {.name = "6"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct observe_drift d = {.now = {a_call(0, cases[i].now_us), &job}, .before = {a_call(0, 0), &then}};
        d.times = 2;
        d.now.call.bytes = cases[i].bytes, d.now.call.kind = cases[i].kind;
        d.now.call.algo = cases[i].algo, d.now.call.proto = cases[i].proto;
        d.before = (struct observe_point){d.now.call, &then};
        d.before.call.median_us = cases[i].then_us;
        observe_say_drift(&d, text);
        assert_string_equal(text, cases[i].sentence);
    }
    observe_say_late(&(struct observe_late){4, "", 2e4, 0.06}, text);
    assert_string_equal(text, "rank 4 comes last: the others waited 20.0 ms, 6 % of their time in calls");
    observe_say_late(&(struct observe_late){-1, "n7", 12, 0.5}, text);
    assert_string_equal(text, "all ranks on n7 come last: the others waited 12 us, 50 % of their time in calls");
}

/* Once as slow is no news. */
TEST_CASE(knows_times_that_vary)
{
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

TEST_CASES_EACH(test_judge, set_up, NULL)
