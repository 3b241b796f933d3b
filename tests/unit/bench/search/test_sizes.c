/* Sizes that a run finds by itself: denser where the best call changes, none that there is no room for. */
#include "bench/search/sizes.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/fake_study.h"

static void begin(struct fake_run *f, double factor)
{
    memset(&fake, 0, sizeof fake);
    fake_begin(f, 0, NULL, 0);
    f->options.min_bytes = 16;
    f->options.max_bytes = 1 << 20;
    f->options.step_factor = factor;
    f->study.sizes = bench_sizes(&f->options, f->study.arena, &f->study.nsizes);
}

static int has_size(const struct bench_study *s, uint64_t bytes)
{
    for (int i = 0; i < s->nsizes; i++)
        if (s->sizes[i] == bytes)
            return 1;
    return 0;
}

/* "early" up to 6 KiB, "middle" up to 32 KiB, "late" behind: borders lie after 4 KiB and after 16 KiB, nowhere else. */
TEST_CASE(denser_where_the_best_call_changes)
{
    struct fake_run f;
    begin(&f, 16); /* 16, 256, 4 KiB, 64 KiB, 1 MiB */
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(f.study.nsizes, 6);
    assert_true(has_size(&f.study, 16 << 10));
    assert_true(fake_count(&f, NULL, "middle", 16 << 10, BENCH_OK) >= 1);
    assert_int_equal(f.summary.left_out, 0);
    struct bench_points *p = bench_points_of(f.study.results, f.study.arena);
    assert_int_equal(p->count, 6);
    for (int i = 0; i < p->count; i++)
        if (p->items[i].bytes == 16 << 10)
            assert_string_equal(p->items[i].candidates[p->items[i].best].call.label, "middle");
    fake_end(&f);
}

/* From 1 MiB on "late" is best and all is bandwidth: every second size tells nothing. */
TEST_CASE(sparse_where_times_are_in_proportion)
{
    struct fake_run f;
    begin(&f, 4);
    f.options.min_bytes = 1 << 10;
    f.options.max_bytes = 1 << 30;
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes); /* 1, 4, 16 KiB ... 1 GiB: eleven */
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(fake_count(&f, NULL, NULL, 256 << 20, -1), 0);
    assert_true(fake_count(&f, NULL, "late", 64 << 20, BENCH_OK) >= 1);
    assert_true(fake_count(&f, NULL, "late", 1 << 30, BENCH_OK) >= 1);
    assert_true(fake_count(&f, NULL, NULL, 4 << 10, BENCH_OK) >= 1); /* where choices change, all are there */
    assert_int_equal(f.summary.left_out, 0);
    fake_end(&f);
}

TEST_CASE(not_where_a_user_has_said_which)
{
    struct fake_run f;
    begin(&f, 16);
    f.options.sizes = (struct bench_size_list){2, {4 << 10, 64 << 10}};
    f.study.sizes = bench_sizes(&f.options, f.study.arena, &f.study.nsizes);
    assert_int_equal(bench_conduct(&f.study, &f.err), 0);
    assert_int_equal(f.study.nsizes, 2);
    fake_end(&f);
}

TEST_CASE(no_larger_than_memory)
{
    for (int said = 0; said < 2; said++) {
        struct fake_run f;
        begin(&f, 16);
        f.options.to_memory = !said;
        fake.room_bytes = 100000;
        assert_int_equal(bench_conduct(&f.study, &f.err), 0);
        assert_int_equal(has_size(&f.study, 1 << 20), said);
        assert_true(has_size(&f.study, 64 << 10));
        fake_end(&f);
    }
}

TEST_CASES_WITHIN(test_sizes, fake_setup, fake_teardown)
