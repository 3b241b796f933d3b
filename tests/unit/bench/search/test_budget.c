/* What time buys, and how much is usual. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/results/sessions.h"
#include "bench/search/budget.h"

/* Longer starts, more points and more launches take more time, within bounds. */
static void the_usual_time_grows_with_the_task(void **state)
{
    (void)state;
    const struct budget_task calls = {44, 0, 0}, launches = {44, 12, 0}, large = {440, 12, 0}, many = {44, 500, 0};
    assert_true(budget_usual_s(&calls, 1) >= 60);
    assert_true(budget_usual_s(&launches, 5) > budget_usual_s(&calls, 5));
    assert_true(budget_usual_s(&launches, 30) > 3 * budget_usual_s(&launches, 5));
    assert_true(budget_usual_s(&large, 5) > budget_usual_s(&launches, 5) + 300);
    assert_true(budget_usual_s(&many, 60) <= 3600);
}

/* What is usual is enough for everything; a minute with long starts is enough for calls alone. */
static void what_time_buys(void **state)
{
    (void)state;
    const struct budget_task t = {22, 12, 0};
    for (double start_s = 1; start_s <= 30; start_s *= 2) {
        struct budget_buys b = budget_buys(&t, budget_usual_s(&t, start_s), start_s), more;
        assert_true(b.points >= 1 && b.launches >= 1 && b.pairs >= BENCH_FEWEST_SESSIONS);
        for (double s = start_s; s < 4000; s *= 1.5) {
            b = budget_buys(&t, s, start_s);
            more = budget_buys(&t, s * 1.5, start_s);
            assert_true(more.points >= b.points || (more.points > 0.9 && more.launches > b.launches));
            assert_true(more.launches >= b.launches && more.pairs >= b.pairs);
        }
    }
    struct budget_buys few = budget_buys(&t, 60, 30);
    assert_true(few.points > 0.5 && few.pairs < BENCH_FEWEST_SESSIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_usual_time_grows_with_the_task),
                                       cmocka_unit_test(what_time_buys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
