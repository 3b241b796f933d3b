/* What time buys, and how much is usual. */
#include "bench/results/points.h"
#include "bench/search/budget.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

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
    const struct budget_task unknown = {12, 4, 0, 0}, slow = {12, 4, 0, 0.6}, slower = {12, 4, 0, 6};
    assert_true(budget_usual_s(&unknown, 1) < 80);
    assert_true(budget_usual_s(&slow, 1) > 120);
    assert_true(budget_usual_s(&slower, 1) > 600);
    assert_true(budget_buys(&slow, 40, 1).points < budget_buys(&unknown, 40, 1).points);
    assert_true(budget_visit_s(&slower, 600, 1) >= 6 && budget_visit_s(&unknown, 600, 1) < 6);
}

/* What is usual is enough for everything; a minute with long starts is enough for calls alone. */
TEST_CASE(what_time_buys)
{
    const struct budget_task t = {22, 12, 0};
    for (double start_s = 1; start_s <= 30; start_s *= 2) {
        struct budget_buys b = budget_buys(&t, budget_usual_s(&t, start_s), start_s), more;
        assert_true(b.points >= 1 && b.launches >= 1 && b.pairs >= BENCH_FEWEST);
        for (double s = start_s; s < 4000; s *= 1.5) {
            b = budget_buys(&t, s, start_s);
            more = budget_buys(&t, s * 1.5, start_s);
            assert_true(more.points >= b.points || (more.points > 0.9 && more.launches > b.launches));
            assert_true(more.launches >= b.launches && more.pairs >= b.pairs);
        }
    }
    struct budget_buys few = budget_buys(&t, 60, 30);
    assert_true(few.points > 0.5 && few.pairs < BENCH_FEWEST);
}

/* Lines for tasks, budgets and starts of every kind, as people get them, and the figures behind. */
TEST_CASE(in_words_and_figures)
{
    static const struct budget_task tasks[] = {{44, 0, 0}, {22, 1, 0}, {44, 12, 0}, {440, 30, 0}, {8, 2, 1}};
    static const double budgets[] = {10, 60, 150, 400, 2000, 1e5}, starts[] = {0.5, 2, 5, 30};
    char *text = NULL, line[BUDGET_TEXT];
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t t = 0; t < sizeof tasks / sizeof *tasks; t++) {
        fprintf(out, "%d points, %d launches, all %d\n", tasks[t].points, tasks[t].launches, tasks[t].all);
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            fprintf(out, "start %g s: usually %.3f s\n", starts[i], budget_usual_s(&tasks[t], starts[i]));
            for (size_t k = 0; k < sizeof budgets / sizeof *budgets; k++) {
                struct budget_buys b = budget_buys(&tasks[t], budgets[k], starts[i]);
                budget_text(&tasks[t], budgets[k], starts[i], line);
                fprintf(out, "  %s; visits of %.3f s; %.4f, %.4f, %d\n", line,
                        budget_visit_s(&tasks[t], budgets[k], starts[i]), b.points, b.launches, b.pairs);
            }
        }
        for (int given = 0; given < 2; given++) {
            cJSON *doc = budget_json(&tasks[t], given ? 90 : 0);
            char *json = cJSON_PrintUnformatted(doc);
            fprintf(out, "%s\n", json);
            budget_print(doc, out);
            free(json);
            cJSON_Delete(doc);
        }
    }
    fclose(out);
    assert_true(budget_kept_s(100, 20) == 20 && budget_kept_s(100, 45) == 45 && budget_kept_s(100, 90) == 45);
    assert_whole(text, "tests/fixtures/bench/budget.txt");
    free(text);
}

TEST_CASES(test_budget)
