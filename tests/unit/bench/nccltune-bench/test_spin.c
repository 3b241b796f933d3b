/* bench/nccltune-bench/spin.c: what the thread does is counted, and held against what it did alone. */
#include "bench/nccltune-bench/spin.c" /* which is in no library */
#include "tests/lib/unit.h"

/* Without the thread: a second ago so many turns fewer had been done. */
TEST_CASE(slower_than_alone)
{
    static const struct {
        unsigned long turns;
        double alone_per_s, slowdown;
    } rows[] = {{1000, 2000, 2}, {1000, 1000, 1}, {1000, 10, 1}, {1, 8, 8}, {0, 8, 8}, {2, 8, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spin_begin();
        spin.begun_us -= 1e6;
        atomic_fetch_add(&spin.turns, rows[i].turns);
        spin.alone_per_us = rows[i].alone_per_s * 1e-6;
        double slowdown = spin_end();
        assert_true(slowdown >= rows[i].slowdown && slowdown < 20 * rows[i].slowdown);
    }
}

TEST_CASE(the_clock_is_in_microseconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double before = now_us();
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    double after = now_us();
    assert_true(after - before >= 2000 && after - before < 60e6);
    assert_near(before, (double)t.tv_sec * 1e6, 61e6);
}

TEST_CASE(turns_are_done_until_it_is_stopped)
{
    spin_stop();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(spin_start(), 0);
        assert_int_equal(spin_start(), 0);
        assert_int_equal(spin.runs, 1);
        assert_true(spin.alone_per_us > 0);
        unsigned long turns = atomic_load(&spin.turns);
        while (atomic_load(&spin.turns) == turns)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        spin_begin();
        assert_true(spin.begun_turns > turns);
        assert_true(spin_end() >= 1);
        spin_stop();
        assert_int_equal(spin.runs, 0);
        turns = atomic_load(&spin.turns);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        assert_int_equal(atomic_load(&spin.turns), turns);
    }
}

TEST_CASES(main)
