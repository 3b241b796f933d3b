/* tuner/capture/table.c: exact while there is room, near when there is none, and the same under eight threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/near.h"
#include "tuner/capture/table.h"

static struct profiler_table *new_table(void)
{
    struct profiler_table *t = calloc(1, sizeof *t);
    assert_non_null(t);
    return t;
}

static struct profiler_call allreduce(uint64_t bytes)
{
    return (struct profiler_call){
        .bytes = bytes, .kind = COLL_ALLREDUCE, .dtype = 9, .algo = ALGO_RING, .proto = 1, .channels = 8};
}

static uint64_t total(const struct profiler_table *t, uint64_t *bytes)
{
    uint64_t calls = 0;
    *bytes = 0;
    for (int i = 0; i < PROFILER_SLOTS; i++) {
        struct profiler_call call;
        uint64_t count;
        if (profiler_table_call(t, i, &call, &count)) {
            calls += count;
            *bytes += count * call.bytes;
        }
    }
    return calls;
}

static void every_field_comes_back(void **state)
{
    (void)state;
    struct profiler_table *t = new_table();
    static const uint64_t sizes[] = {1, 255, 1 << 20, (UINT64_C(1) << 44) - 2};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < COLL_MEASURED; kind++) {
            struct profiler_call in = {sizes[s],
                                       kind,
                                       kind == 2 ? PROFILER_NO_DTYPE : kind,
                                       kind - 1,
                                       kind % 4 == 3 ? -1 : kind % 4,
                                       kind * 18},
                                 out;
            uint64_t count;
            int slot = profiler_table_count(t, &in);
            assert_true(slot >= 0);
            assert_int_equal(profiler_table_count(t, &in), slot);
            assert_true(profiler_table_call(t, slot, &out, &count));
            assert_int_equal(count, 2);
            assert_int_equal(out.bytes, in.bytes);
            assert_int_equal(out.kind, in.kind);
            assert_int_equal(out.dtype, in.dtype);
            assert_int_equal(out.algo, in.algo);
            assert_int_equal(out.proto, in.proto);
            assert_int_equal(out.channels, in.channels);
        }
    free(t);
}

/* A table of more sizes than it has places still holds every call, at a size within an eighth of its own. */
static void more_sizes_than_places(void **state)
{
    (void)state;
    struct profiler_table *t = new_table();
    uint64_t given = 0, bytes, calls = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        struct profiler_call c = allreduce(1000000 + 37 * i);
        given += c.bytes;
        calls += profiler_table_count(t, &c) >= 0;
    }
    assert_int_equal(t->lost + calls, 20000);
    assert_true(t->rounded > 19000 && t->lost == 0);
    assert_int_equal(total(t, &bytes), 20000);
    assert_near((double)bytes / (double)given, 1, 0.125);
    free(t);
}

/* Up and down: the nearest of 1, 1.25, 1.5 and 1.75 times a power of two. */
static void rounded_to_the_nearest(void **state)
{
    (void)state;
    static const uint64_t sizes[][2] = {{1100, 1024}, {1200, 1280}, {1900, 1792}, {2000, 2048}, {5, 5}};
    struct profiler_table *t = new_table();
    uint64_t count;
    for (uint64_t i = 0; i < 192; i++) { /* all places for sizes as they are */
        struct profiler_call c = allreduce((i + 1) << 20);
        profiler_table_count(t, &c);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct profiler_call c = allreduce(sizes[i][0]), out;
        int slot = profiler_table_count(t, &c);
        assert_true(slot >= 0 && profiler_table_call(t, slot, &out, &count));
        assert_int_equal(out.bytes, sizes[i][1]);
    }
    free(t);
}

/* Nothing is forgotten in silence. */
static void no_place_at_all(void **state)
{
    (void)state;
    struct profiler_table *t = new_table();
    uint64_t bytes;
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 100; k++) {
            struct profiler_call c = allreduce(UINT64_C(1) << i);
            c.channels = k;
            profiler_table_count(t, &c);
        }
    assert_true(t->lost > 0);
    assert_int_equal(total(t, &bytes) + t->lost, 4000);
    free(t);
}

static void median_within_a_class(void **state)
{
    (void)state;
    static const uint64_t times[] = {1500, 4096, 99999, 1000000, 33333333, 15000000000};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct profiler_table *t = new_table();
        struct profiler_call c = allreduce(64);
        int slot = profiler_table_count(t, &c);
        assert_near(profiler_table_median_us(t, slot), -1, 0);
        for (uint64_t k = 0; k < 101; k++) /* 1 % of them ten times as long */
            profiler_table_time(t, slot, k ? times[i] : 10 * times[i]);
        double us = (double)times[i] / 1e3;
        assert_near(profiler_table_median_us(t, slot) / us, 1, 0.07);
        free(t);
    }
}

static void drained_into_another(void **state)
{
    (void)state;
    struct profiler_table *a = new_table(), *b = new_table();
    struct profiler_call c = allreduce(64), d = allreduce(128), out;
    uint64_t bytes, count;
    profiler_table_count(a, &c);
    profiler_table_count(b, &d);
    profiler_table_time(b, profiler_table_count(b, &c), 5000);
    profiler_table_drain(a, b);
    assert_int_equal(total(b, &bytes), 0);
    assert_int_equal(b->used, 0);
    assert_int_equal(total(a, &bytes), 3);
    assert_int_equal(bytes, 64 + 64 + 128);
    int slot = profiler_table_count(a, &c);
    assert_near(profiler_table_median_us(a, slot), 5, 0.4);
    profiler_table_drain(NULL, a);
    assert_false(profiler_table_call(a, slot, &out, &count));
    free(a);
    free(b);
}

static void *hammer(void *arg)
{
    for (uint64_t i = 0; i < 200000; i++) {
        struct profiler_call c = allreduce(1 + i % 150);
        int slot = profiler_table_count(arg, &c);
        profiler_table_time(arg, slot, 2000);
    }
    return NULL;
}

/* Eight threads that meet in every place, first of all in taking it. */
static void eight_threads(void **state)
{
    (void)state;
    struct profiler_table *t = new_table();
    pthread_t threads[8];
    uint64_t bytes;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, t), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t->used, 150);
    assert_int_equal(total(t, &bytes), 8 * 200000);
    assert_int_equal(t->lost + t->rounded, 0);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back), cmocka_unit_test(more_sizes_than_places),
        cmocka_unit_test(rounded_to_the_nearest), cmocka_unit_test(no_place_at_all),
        cmocka_unit_test(median_within_a_class),  cmocka_unit_test(drained_into_another),
        cmocka_unit_test(eight_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
