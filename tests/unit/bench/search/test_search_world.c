/* A small part of what tests/perf/perf_nccl_search measures, judged: the search on simulated clusters. Judges figures:
 * not run with sanitizers. */
#include "tests/lib/search_world.h"
#include "tests/lib/unit.h"

static struct world_score sum_over(struct world_options o, size_t first, size_t step)
{
    struct world_score sum = {0};
    for (size_t n = first; n < WORLD_LAWS; n += step) {
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
        sum.tested += s.tested;
        sum.worst_row = fmax(sum.worst_row, s.worst_row);
        sum.between.worst = fmax(sum.between.worst, s.between.worst);
    }
    return sum;
}

/* Where there is time for six starts calls are found, whatever disturbs all of them alike, and what is stated holds. */
TEST_CASE(calls_are_found)
{
    for (int r = 0; r <= WORLD_QUIET; r++) {
        struct world_score s =
            sum_over((struct world_options){.regime = (enum world_regime)r, .start_s = 2, .budget_s = 40}, 1, 30);
        assert_true(s.gained > 0.95 * s.possible);
        assert_int_equal(s.false_gains, 0);
        assert_true(s.held * 100 >= s.stated * 90);
    }
}

/* What makes one call look better than another in a start, for a moment, or by what ran before, costs gains; no row is
 * slower than the library by more than 2 %. */
TEST_CASE(no_row_is_slower)
{
    for (int r = WORLD_NOISY; r < WORLD_REGIMES; r++) {
        struct world_score s =
            sum_over((struct world_options){.regime = (enum world_regime)r, .start_s = 1, .budget_s = 30}, 3, 40);
        assert_true(s.worst_row < 1.02);
        assert_true(s.between.worst < 1.03);
    }
}

/* Too little time for five starts decides nothing. */
TEST_CASE(nothing_without_proof)
{
    struct world_score s = sum_over((struct world_options){.start_s = 2, .budget_s = 9}, 2, 40);
    assert_int_equal(s.replaced, 0);
}

/* Where time is short each start that proves has time for all points. */
TEST_CASE(little_time_decides_something)
{
    double gained = 0, possible = 0;
    for (size_t n = 0; n < 24; n += 7) {
        struct world_score s = world_run(
            &(struct world_options){.law = n, .seed = n, .start_s = 2, .budget_s = 40, .launches = WORLD_LAUNCH_N});
        gained += s.gained;
        possible += s.possible;
    }
    assert_true(gained > 0.25 * possible);
}

/* More time never costs: neither calls alone nor launches that time gets enough for; a tenth of a per cent is what one
 * place weighs that is decided by a hair. */
TEST_CASE(more_time_is_never_worse)
{
    static const double budgets[] = {8, 64, 256};
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
TEST_CASE(more_time_is_never_worse_under_bursts)
{
    static const size_t laws[] = {11, 25, 80, 104};
    static const double budgets[] = {60, 300};
    double before = INFINITY;
    for (int k = 0; k < 2; k++) {
        double regrets = 0;
        int places = 0;
        for (size_t i = 0; i < 4; i++) {
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
        assert_true(regrets / places <= 0.01);
        before = regrets / places;
    }
}

/* Two settings that each do nothing alone; and one, where the smallest size has too few bytes for so many ranks. */
TEST_CASE(launches_are_found)
{
    static const enum world_regime regimes[] = {WORLD_GAUSSIAN, WORLD_BURSTS};
    int found = 0, pays = 0;
    for (size_t n = 1; n < WORLD_LAWS; n += 30)
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

/* A launch that pays is found together with settings that do nothing: those go, the ones that pay stay. */
TEST_CASE(idle_settings_go)
{
    static const size_t laws[] = {0, 48, 72, 1};
    for (size_t i = 0; i < 4; i++) {
        struct world_score s = world_run(&(struct world_options){
            .law = laws[i], .seed = laws[i], .start_s = 2, .budget_s = 120, .launches = WORLD_LAUNCH_N});
        assert_true(s.launch);
        assert_int_equal(s.settings, s.pays);
        assert_int_equal(s.idle, 0);
        assert_true(s.spent_s < 120 * 1.75 + 2 * 2.4);
    }
}

/* A launch that pays as a mean and loses at small sizes is not chosen: no time is spent on its calls, and the
 * baseline's are proven as if there were no launches. */
TEST_CASE(calls_of_a_launch_that_loses_are_not_proven)
{
    static const size_t laws[] = {6, 12, 18};
    struct world_options o = {.start_s = 2, .budget_s = 120};
    for (size_t i = 0; i < 3; i++) {
        o.law = o.seed = laws[i];
        struct world_score alone = world_run(&o);
        o.launches = WORLD_LAUNCH_N;
        o.costs = 1.2;
        struct world_score s = world_run(&o);
        assert_true(alone.replaced > 0 && s.replaced * 10 >= alone.replaced * 8);
        o.costs = o.launches = 0;
    }
}

/* Starts that differ by 5 % make settings that do nothing alone seem harmful, and others lucky. */
TEST_CASE(pairs_are_found_where_starts_differ)
{
    int found = 0;
    for (size_t n = 46; n < 90; n += 9)
        found += world_run(&(struct world_options){.law = n,
                                                   .seed = n,
                                                   .regime = WORLD_LAUNCHES,
                                                   .start_s = 2,
                                                   .budget_s = 200,
                                                   .launches = WORLD_LAUNCH_N,
                                                   .collectives = 1u << COLL_ALLREDUCE})
                     .launch;
    assert_true(found >= 4);
}

/* A user who names no budget gets what the cluster asks for. */
TEST_CASE(the_usual_time_is_enough)
{
    struct world_score s =
        sum_over((struct world_options){.start_s = 5, .nodes = 32, .launches = WORLD_LAUNCH_N}, 9, 60);
    assert_true(s.gained > 0.8 * s.possible);
    assert_int_equal(s.launch_false, 0);
    assert_true(s.spent_s > 2 * 60);
}

/* Starts of the runs of a few machines whose user names no budget, calls alone: a mean. */
static double usual_starts(enum world_regime regime)
{
    double starts = 0;
    for (size_t n = 4; n < WORLD_LAWS; n += 29)
        starts += world_run(&(struct world_options){.law = n, .seed = n, .regime = regime, .start_s = 10}).starts / 4.0;
    return starts;
}

/* Without a budget there are as many starts as noise asks for: one explores and five prove where it is quiet. */
TEST_CASE(noise_says_how_many_starts)
{
    assert_true(usual_starts(WORLD_QUIET) < 7);
    assert_true(usual_starts(WORLD_FAVOURS) > 12);
    assert_true(usual_starts(WORLD_MODES) > 18);
}

/* Nothing is better than anything else, and nothing is chosen: of what was tested one in a hundred, where it is to be
 * one in two hundred, for there are few. */
TEST_CASE(everything_alike)
{
    for (int r = 0; r < WORLD_REGIMES; r++) {
        struct world_score s = sum_over(
            (struct world_options){.regime = (enum world_regime)r, .start_s = 1, .budget_s = 30, .alike = 1}, 2, 30);
        if (s.replaced > 1 && s.replaced * 100 > s.tested)
            fail_msg("%s: %d rows of %d", world_regimes[r], s.replaced, s.tested);
    }
}

TEST_CASES(main)
