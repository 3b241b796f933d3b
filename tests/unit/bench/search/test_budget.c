/* How much time is enough, and how much is usual. */
#include "bench/search/budget.h"
#include "tests/lib/unit.h"

/* Longer starts, more points and more launches take more time, within bounds. */
TEST_CASE(the_usual_time_grows_with_the_task)
{
    const struct budget_task calls = {44, 0, 0}, launches = {44, 12, 0}, large = {440, 12, 0}, many = {44, 500, 0};
    assert_true(budget_usual_s(&calls, 1) >= 60);
    assert_true(budget_usual_s(&launches, 5) > budget_usual_s(&calls, 5));
    assert_true(budget_usual_s(&launches, 30) > 3 * budget_usual_s(&launches, 5));
    assert_true(budget_usual_s(&large, 5) > budget_usual_s(&launches, 5) + 300);
    assert_true(budget_usual_s(&many, 60) <= 3600);
}

/* Where samples take long, so do points and sessions: four nodes on 100 Mbit/s, whose 12 points take 0.6 s together. */
TEST_CASE(long_samples_take_long)
{
    const struct budget_task unknown = {12, 4, 0, 0}, slow = {12, 4, 0, 0.6}, slower = {12, 4, 0, 8};
    assert_true(budget_usual_s(&unknown, 1) < 80);
    assert_true(budget_usual_s(&slow, 1) > 120);
    assert_true(budget_usual_s(&slower, 1) > 600);
    assert_true(budget_visit_s(&slower, 600, 1) >= 8 && budget_visit_s(&unknown, 600, 1) <= 6);
}

TEST_CASE(in_words)
{
    const struct budget_task calls = {44, 0, 0}, launches = {1, 1, 0};
    char text[BUDGET_TEXT];
    budget_text(&calls, 10, 30, text);
    assert_string_equal(text, "30 s a start: 3 min 44 s is enough for 44 points; the budget is 10 s");
    budget_text(&launches, 0, 0.5, text);
    assert_string_equal(text, "500 ms a start: 60 s is enough for 1 point and 1 launch");
}

TEST_CASES(test_budget)
