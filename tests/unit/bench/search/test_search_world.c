/* A small part of what tests/perf/perf_nccl_search measures, judged: the search on simulated clusters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "tests/lib/search_world.h"

/* Sanitizers take ten times as long and look for other faults: a quarter of the laws is enough for them. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
enum { PART = __has_feature(address_sanitizer) ? 4 : 1 };

static struct world_score sum_over(struct world_options o, size_t first, size_t step)
{
    struct world_score sum = {0};
    for (size_t n = first; n < WORLD_LAWS; n += PART * step) {
        o.law = n;
        o.seed = n;
        struct world_score s = world_run(&o);
        sum.gained += s.gained;
        sum.possible += s.possible;
        sum.places += s.places;
        for (int i = 0; i < s.places; i++)
            sum.regrets += s.regret[i];
        sum.replaced += s.replaced;
        sum.false_gains += s.false_gains;
        sum.launch_false += s.launch_false;
        sum.stated += s.stated;
        sum.held += s.held;
        sum.spent_s += s.spent_s - o.budget_s;
    }
    return sum;
}

/* What disturbs turns disturbs everybody in them: calls are found all the same. */
static void calls_under_bursts(void **state)
{
    (void)state;
    struct world_score s =
        sum_over((struct world_options){.regime = WORLD_BURSTS, .start_s = 2, .budget_s = 20}, 1, 30);
    assert_true(s.gained > 0.95 * s.possible);
    assert_true(s.false_gains * 100 <= s.replaced);
    assert_true(PART > 1 || s.held * 100 >= s.stated * 95); /* one machine alone has too few intervals */
}

/* A point's share is shorter than a proof: what it takes beyond that comes from the others, and nearly all is had. */
static void a_proof_may_take_longer_than_its_share(void **state)
{
    (void)state;
    for (int r = 0; r <= WORLD_BURSTS; r += WORLD_BURSTS) {
        struct world_score s =
            sum_over((struct world_options){.regime = (enum world_regime)r, .start_s = 2, .budget_s = 5}, 2, 20);
        assert_true(s.gained > 0.9 * s.possible);
        assert_int_equal(s.false_gains, 0);
    }
}

/* Where starts are dear one does for all, and what it has not proven gets what is left of its time. */
static void one_start_where_starts_are_dear(void **state)
{
    (void)state;
    struct world_options o = {.law = 9, .regime = WORLD_BURSTS, .start_s = 2, .budget_s = 10};
    assert_int_equal(world_run(&o).starts, 1);
    o.budget_s = 120;
    assert_true(world_run(&o).starts >= 3);
    o.budget_s = 10;
    struct world_score s = sum_over(o, 2, 20);
    assert_true(s.gained > 0.97 * s.possible);
}

/* More time never costs: neither calls alone nor launches that time gets enough for; a tenth of a per cent is what one
 * place weighs that is decided by a hair. */
static void more_time_is_never_worse(void **state)
{
    (void)state;
    static const double budgets[] = {4, 32, 256};
    for (int launches = 0; launches <= WORLD_LAUNCH_N; launches += WORLD_LAUNCH_N) {
        double before = INFINITY;
        for (int k = 0; k < 3; k++) {
            struct world_score s =
                sum_over((struct world_options){.start_s = 2, .budget_s = budgets[k], .launches = launches}, 5, 58);
            assert_true(s.regrets / s.places <= before + 0.001);
            before = s.regrets / s.places;
        }
        assert_true(before < 0.005);
    }
}

/* Nor on a busy machine, where what is known of a call was seen at other times than what is known of others. */
static void more_time_is_never_worse_under_bursts(void **state)
{
    static const size_t laws[] = {11, 25, 80, 104};
    static const double budgets[] = {60, 300};
    double before = INFINITY;
    (void)state;
    for (int k = 0; k < 2; k++) {
        double regrets = 0;
        int places = 0;
        for (size_t i = 0; i < 4; i += PART) {
            struct world_score s = world_run(&(struct world_options){.law = laws[i],
                                                                     .seed = laws[i],
                                                                     .regime = WORLD_BURSTS,
                                                                     .start_s = 1,
                                                                     .budget_s = budgets[k],
                                                                     .launches = 1});
            for (int p = 0; p < s.places; p++)
                regrets += s.regret[p];
            places += s.places;
        }
        assert_true(regrets / places <= before + 0.001);
        assert_true(regrets / places <= 0.002);
        before = regrets / places;
    }
}

/* Two settings that each do nothing alone; and one, where the smallest size has too few bytes for so many ranks. */
static void launches_are_found(void **state)
{
    (void)state;
    static const enum world_regime regimes[] = {WORLD_GAUSSIAN, WORLD_BURSTS};
    int found = 0, pays = 0;
    for (size_t n = 1; n < WORLD_LAWS; n += PART * 30)
        for (size_t r = 0; r < 2; r++) {
            struct world_score s = world_run(&(struct world_options){
                .law = n, .regime = regimes[r], .start_s = 2, .budget_s = 120, .launches = WORLD_LAUNCH_N});
            assert_int_equal(s.pays, 2);
            found += s.launch;
            pays++;
        }
    assert_true(found * 4 >= pays * 3);
    assert_true(world_run(&(struct world_options){.law = 9,
                                                  .start_s = 2,
                                                  .budget_s = 120,
                                                  .launches = WORLD_LAUNCH_N,
                                                  .collectives = 1u << COLL_ALLGATHER})
                    .launch);
}

/* Starts that differ by 5 % make settings that do nothing alone seem harmful, and others lucky. */
static void pairs_are_found_where_starts_differ(void **state)
{
    (void)state;
    int found = 0;
    for (size_t n = 46; n < 90; n += PART * 9)
        found += world_run(&(struct world_options){.law = n,
                                                   .seed = n,
                                                   .regime = WORLD_LAUNCHES,
                                                   .start_s = 2,
                                                   .budget_s = 200,
                                                   .launches = WORLD_LAUNCH_N,
                                                   .collectives = 1u << COLL_ALLREDUCE})
                     .launch;
    assert_true(found >= (PART > 1 ? 1 : 4));
}

/* A user who names no budget gets what the cluster asks for. */
static void the_usual_time_is_enough(void **state)
{
    (void)state;
    struct world_score s =
        sum_over((struct world_options){.start_s = 5, .nodes = 32, .launches = WORLD_LAUNCH_N}, 9, 60);
    assert_true(s.gained > 0.8 * s.possible);
    assert_int_equal(s.launch_false, 0);
    assert_true(s.spent_s > 2 * 60);
}

/* Nothing is better than anything else, and nothing is chosen. */
static void everything_alike(void **state)
{
    (void)state;
    for (int r = 0; r < WORLD_REGIMES; r++) {
        struct world_score s = sum_over(
            (struct world_options){.regime = (enum world_regime)r, .start_s = 1, .budget_s = 15, .alike = 1}, 2, 40);
        assert_true(s.replaced * 200 <= s.places);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_under_bursts),
                                       cmocka_unit_test(everything_alike),
                                       cmocka_unit_test(one_start_where_starts_are_dear),
                                       cmocka_unit_test(a_proof_may_take_longer_than_its_share),
                                       cmocka_unit_test(launches_are_found),
                                       cmocka_unit_test(pairs_are_found_where_starts_differ),
                                       cmocka_unit_test(more_time_is_never_worse),
                                       cmocka_unit_test(more_time_is_never_worse_under_bursts),
                                       cmocka_unit_test(the_usual_time_is_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
