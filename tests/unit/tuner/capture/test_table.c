/* tuner/capture/table.c: exact while there is room, near when there is none, and the same under eight threads. */
#include <pthread.h>

#include "tests/lib/unit.h"
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

TEST_CASE(every_field_comes_back)
{
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
TEST_CASE(more_sizes_than_places)
{
    struct profiler_table *t = new_table();
    uint64_t given = 0, bytes, calls = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        struct profiler_call c = allreduce(1000000 + 37 * i);
        given += c.bytes;
        calls += profiler_table_count(t, &c) >= 0;
    }
    assert_int_equal(calls, 20000);
    assert_int_equal(t->counters[PROFILER_ROUNDED], 20000 - 192);
    assert_int_equal(t->counters[PROFILER_LOST], 0);
    assert_int_equal(total(t, &bytes), 20000);
    assert_near((double)bytes / (double)given, 1, 0.125);
    free(t);
}

/* Wherever its key falls, the first included: a call in a table of its own is as it was. */
TEST_CASE(every_place_is_a_place)
{
    for (uint64_t i = 0; i < 2000; i++) {
        struct profiler_table *t = new_table();
        struct profiler_call c = allreduce(1000001 + 7919 * i * i);
        assert_true(profiler_table_count(t, &c) >= 0);
        assert_true(t->used == 1 && t->counters[PROFILER_ROUNDED] == 0);
        free(t);
    }
}

/* Up and down: the nearest of 1, 1.25, 1.5 and 1.75 times a power of two. */
TEST_CASE(rounded_to_the_nearest)
{
    static const uint64_t sizes[][2] = {{1100, 1024},
                                        {1151, 1024},
                                        {1152, 1280},
                                        {1200, 1280},
                                        {1900, 1792},
                                        {2000, 2048},
                                        {5, 5},
                                        {7, 7},
                                        {8, 8},
                                        {9, 10},
                                        {(UINT64_C(1) << 44) - 2, (UINT64_C(1) << 44) - 1}};
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
TEST_CASE(no_place_at_all)
{
    struct profiler_table *t = new_table();
    uint64_t bytes;
    for (int i = 0; i < 40; i++)
        for (int k = 0; k < 100; k++) {
            struct profiler_call c = allreduce(UINT64_C(1) << i);
            c.channels = k;
            profiler_table_count(t, &c);
        }
    assert_true(t->counters[PROFILER_LOST] > 0);
    assert_int_equal(total(t, &bytes) + t->counters[PROFILER_LOST], 4000);
    free(t);
}

/* In the middle of its class, as if the times there were spread evenly; what is shorter than a microsecond or so is one
 * class, and so is what is longer than all. */
TEST_CASE(median_within_a_class)
{
    static const struct {
        uint64_t ns;
        double us;
    } times[] = {{1, 1.08864},
                 {1023, 1.08864},
                 {1024, 1.08864},
                 {1151, 1.08864},
                 {1152, 1.21664},
                 {1500, 1.47264},
                 {4096, 4.35456},
                 {99999, 102.44096},
                 {1000000, 1016.13568},
                 {33333333, 32516.34176},
                 {15000000000, 14500883.33312}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct profiler_table *t = new_table();
        struct profiler_call c = allreduce(64);
        uint64_t sum;
        int slot = profiler_table_count(t, &c);
        assert_near(profiler_table_median_us(t, slot), -1, 0);
        for (uint64_t k = 0; k < 101; k++) /* 1 % of them ten times as long */
            profiler_table_time(t, slot, k ? times[i].ns : 3000 * times[i].ns);
        assert_near(profiler_table_median_us(t, slot) / times[i].us, 1, i < 4 ? 0.011 : 1e-9);
        assert_int_equal(profiler_table_timed(t, slot, &sum), 101);
        assert_int_equal(sum, 3100 * times[i].ns);
        free(t);
    }
}

/* One call in twenty takes ten times as long; what happens eight times at most, however long, does not count. */
TEST_CASE(steady_without_the_longest)
{
    static const uint64_t accidents[] = {1000000, 500000000, UINT64_C(90000000000)};
    for (size_t i = 0; i < sizeof accidents / sizeof *accidents; i++) {
        struct profiler_table *t = new_table(), *whole = new_table();
        struct profiler_call c = allreduce(64);
        int slot = profiler_table_count(t, &c);
        assert_near(profiler_table_steady_us(t, slot), -1, 0);
        for (uint64_t k = 0; k < 1000; k++)
            profiler_table_time(t, slot, k % 20 ? 40000 : 400000);
        for (int k = 0; k < 8; k++)
            profiler_table_time(t, slot, accidents[i]);
        assert_near(profiler_table_steady_us(t, slot) / 58, 1, 0.02);
        profiler_table_drain(whole, t);
        assert_near(profiler_table_steady_us(whole, profiler_table_count(whole, &c)) / 58, 1, 0.02);
        free(whole);
        free(t);
    }
}

/* Eight to an octave, from one microsecond on; the last for all that is longer. */
TEST_CASE(classes_of_time)
{
    struct profiler_table *t = new_table();
    struct profiler_call c = allreduce(64);
    int slot = profiler_table_count(t, &c);
    for (int i = 0; i < PROFILER_TIMES; i++) {
        uint64_t eighth = UINT64_C(1) << (7 + i / 8), first = (uint64_t)(8 + i % 8) * eighth;
        profiler_table_time(t, slot, first);
        profiler_table_time(t, slot, first + eighth - 1);
        assert_int_equal(t->times[slot][i], 2);
    }
    profiler_table_time(t, slot, 0);
    assert_int_equal(t->times[slot][0], 3);
    profiler_table_time(t, slot, UINT64_C(1) << 34);
    profiler_table_time(t, slot, UINT64_C(1) << 60);
    assert_int_equal(t->times[slot][PROFILER_TIMES - 1], 4);
    free(t);
}

TEST_CASE(drained_into_another)
{
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
    assert_near(profiler_table_median_us(a, slot), 4.864, 1e-9);
    assert_int_equal(profiler_table_timed(a, slot, &bytes), 1);
    assert_int_equal(bytes, 5000);
    assert_int_equal(profiler_table_timed(b, slot, &bytes) + bytes, 0);
    profiler_table_drain(NULL, a);
    assert_false(profiler_table_call(a, slot, &out, &count));
    assert_int_equal(profiler_table_timed(a, slot, &bytes) + bytes, 0);
    free(a);
    free(b);
}

/* All that is counted beside the calls, each to its own. */
TEST_CASE(counters_are_drained)
{
    struct profiler_table *a = new_table(), *b = new_table();
    for (int i = 0; i < PROFILER_COUNTERS; i++) {
        a->counters[i] = 100;
        b->counters[i] = (uint64_t)i + 1;
    }
    profiler_table_drain(a, b);
    for (int i = 0; i < PROFILER_COUNTERS; i++)
        assert_true(a->counters[i] == 101 + (uint64_t)i && b->counters[i] == 0);
    profiler_table_drain(NULL, a);
    for (int i = 0; i < PROFILER_COUNTERS; i++)
        assert_int_equal(a->counters[i], 0);
    free(a);
    free(b);
}

/* One is taken back where it was counted: as it is, near it, or among the lost; never below none. */
TEST_CASE(taken_back)
{
    struct profiler_table *t = new_table();
    struct profiler_call c = allreduce(64), far = allreduce(1100), none = allreduce(3000), out;
    uint64_t count;
    int slot = profiler_table_count(t, &c);
    profiler_table_count(t, &c);
    for (uint64_t left = 2; left < 3; left--) {
        profiler_table_call(t, slot, &out, &count);
        assert_int_equal(count, left);
        profiler_table_uncount(t, &c);
    }
    profiler_table_call(t, slot, &out, &count);
    assert_int_equal(count, 0);
    for (uint64_t i = 1; i < 192; i++) {
        struct profiler_call other = allreduce(i << 20);
        profiler_table_count(t, &other);
    }
    assert_true(t->used == 192 && t->counters[PROFILER_ROUNDED] == 0);
    slot = profiler_table_count(t, &far);
    assert_true(t->used == 193 && t->counters[PROFILER_ROUNDED] == 1);
    t->counters[PROFILER_LOST] = 1;
    profiler_table_uncount(t, &far);
    profiler_table_call(t, slot, &out, &count);
    assert_true(count == 0 && t->counters[PROFILER_ROUNDED] == 0 && t->counters[PROFILER_LOST] == 1);
    t->counters[PROFILER_ROUNDED] = 5;
    profiler_table_uncount(t, &far); /* there is none any more */
    assert_true(t->counters[PROFILER_ROUNDED] == 5 && t->counters[PROFILER_LOST] == 1);
    for (int i = 0; i < 2; i++) {
        profiler_table_uncount(t, &none);
        assert_true(t->used == 193 && t->counters[PROFILER_LOST] == 0 && t->counters[PROFILER_ROUNDED] == 5);
    }
    free(t);
}

/* What has no room in its field is as much as has. */
TEST_CASE(the_largest_of_each)
{
    struct profiler_table *t = new_table();
    const uint64_t most = (UINT64_C(1) << 44) - 1;
    static const int channels[][2] = {{0, 0}, {126, 126}, {127, 127}, {128, 127}, {1000, 127}};
    struct profiler_call c, out;
    uint64_t count;
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        c = allreduce(most - 2 + i);
        c.channels = channels[i][0];
        assert_true(profiler_table_call(t, profiler_table_count(t, &c), &out, &count));
        assert_int_equal(out.channels, channels[i][1]);
        assert_int_equal(out.bytes, c.bytes < most ? c.bytes : most);
    }
    free(t);
}

TEST_CASE(types_have_names)
{
    assert_null(profiler_dtype_name(-1));
    assert_null(profiler_dtype_name(PROFILER_DTYPES));
    assert_string_equal(profiler_dtype_name(0), "int8");
    assert_string_equal(profiler_dtype_name(PROFILER_DTYPES - 1), "float8e5m2");
    static const int bytes[PROFILER_DTYPES + 2] = {1, 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1, 1};
    for (int i = -1; i <= PROFILER_DTYPES; i++)
        assert_int_equal(profiler_dtype_bytes(i), bytes[i + 1]);
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
TEST_CASE(eight_threads)
{
    struct profiler_table *t = new_table();
    pthread_t threads[8];
    uint64_t bytes;
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, t), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(t->used, 150);
    assert_int_equal(total(t, &bytes), 8 * 200000);
    assert_int_equal(t->counters[PROFILER_LOST] + t->counters[PROFILER_ROUNDED], 0);
    free(t);
}

TEST_CASES(test_table)
