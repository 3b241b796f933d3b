/* The rounds at one point, on an engine whose winner is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/search/rounds.h"
#include "core/progress.h"
#include "tests/unit/bench/fake_engine.h"

static struct bench_knobs knobs[FAKE_CALLS];
static struct candidate candidates[FAKE_CALLS];
static const struct bench_knobs launch = {.label = BENCH_DEFAULT};
static struct arena *arena;

static struct rounds start(uint64_t bytes)
{
    struct err e;
    memset(&fake, 0, sizeof fake);
    arena = arena_new();
    for (int i = 0; i < FAKE_CALLS; i++) {
        knobs[i] = (struct bench_knobs){.label = fake_calls[i].label};
        candidates[i] = (struct candidate){.knobs = &knobs[i]};
    }
    return (struct rounds){.engine = &fake_engine,
                           .session = fake_open(NULL, &launch, 1, &fake.stop, &e),
                           .stop = &fake.stop,
                           .arena = arena,
                           .coll = COLL_ALLREDUCE,
                           .bytes = bytes,
                           .candidates = candidates,
                           .ncandidates = FAKE_CALLS,
                           .samples = 9,
                           .until_s = progress_now_s() + 30,
                           .watchdog_s = 10};
}

static void end(struct rounds *r)
{
    fake_close(r->session, 0);
    arena_free(arena);
}

static void finds_the_winner(void **state)
{
    (void)state;
    static const struct {
        uint64_t bytes;
        int winner;
    } cases[] = {{8, 1}, {1024, 1}, {1 << 20, 2}, {16 << 20, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rounds r = start(cases[i].bytes);
        char detail[BENCH_DETAIL];
        assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
        assert_int_equal(candidates[cases[i].winner].status, BENCH_OK);
        assert_true(candidates[cases[i].winner].n >= r.samples);
        assert_true(candidates[0].status == BENCH_OK && candidates[0].n >= r.samples);
        for (int k = 1; k < FAKE_CALLS; k++)
            if (k != cases[i].winner)
                assert_int_equal(candidates[k].status, BENCH_DROPPED);
        /* Hopeless from the start: it costs one sample, two when they are short. */
        assert_int_equal(candidates[3].n, candidates[3].us[0] < ROUNDS_SHORT_US ? 2 : 1);
        end(&r);
    }
}

static void no_time_still_measures_the_default(void **state)
{
    (void)state;
    struct rounds r = start(8);
    char detail[BENCH_DETAIL];
    r.until_s = 0;
    assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
    assert_int_equal(candidates[0].n, 1);
    assert_int_equal(candidates[1].n, 0);
    end(&r);
}

static void wrong_data_is_out(void **state)
{
    (void)state;
    struct rounds r = start(8);
    char detail[BENCH_DETAIL];
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 8, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1};
    assert_int_equal(rounds_run(&r, detail), BENCH_ANSWERED);
    assert_int_equal(candidates[1].status, BENCH_WRONG);
    assert_non_null(strstr(candidates[1].detail, "expected 7"));
    assert_int_equal(candidates[1].n, 0);
    assert_true(candidates[0].n >= r.samples);
    end(&r);
}

static void a_death_is_blamed_on_who_ran(void **state)
{
    (void)state;
    for (int failed = 0; failed < FAKE_CALLS; failed++) {
        struct rounds r = start(8);
        char detail[BENCH_DETAIL] = "";
        fake.trouble[0] = (struct fake_trouble){.call = fake_calls[failed].label,
                                                .bytes = 8,
                                                .outcome = failed % 2 ? BENCH_SILENT : BENCH_DIED,
                                                .times = 1};
        assert_int_equal(rounds_run(&r, detail), failed % 2 ? BENCH_SILENT : BENCH_DIED);
        assert_int_equal(r.failed, failed);
        assert_non_null(strstr(detail, "signal 9"));
        end(&r);
    }
}

static void a_death_is_not_blamed_on_who_had_failed_before(void **state)
{
    (void)state;
    struct rounds r = start(4096); /* "early" and "middle" are close */
    char detail[BENCH_DETAIL] = "";
    fake.trouble[0] = (struct fake_trouble){
        .call = "early", .bytes = 4096, .outcome = BENCH_ANSWERED, .status = BENCH_WRONG, .times = 1, .after = 2};
    fake.trouble[1] =
        (struct fake_trouble){.call = "middle", .bytes = 4096, .outcome = BENCH_SILENT, .times = 1, .after = 3};
    assert_int_equal(rounds_run(&r, detail), BENCH_SILENT);
    assert_int_equal(candidates[1].status, BENCH_WRONG);
    assert_int_equal(r.failed, 4);
    end(&r);
}

static void stops_when_told(void **state)
{
    (void)state;
    for (int after = 1; after < 12; after += 5) {
        struct rounds r = start(8);
        char detail[BENCH_DETAIL];
        fake.stop_after = after;
        assert_int_equal(rounds_run(&r, detail), BENCH_STOPPED);
        assert_int_equal(fake.samples, after);
        end(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_winner),
        cmocka_unit_test(no_time_still_measures_the_default),
        cmocka_unit_test(wrong_data_is_out),
        cmocka_unit_test(a_death_is_blamed_on_who_ran),
        cmocka_unit_test(a_death_is_not_blamed_on_who_had_failed_before),
        cmocka_unit_test(stops_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
