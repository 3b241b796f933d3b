/* All that can happen to a few ranks (tests/lib/explore.h): no two ever use different choices for one call, and none
 * waits for ever. NCCLTUNE_EXPLORE=long: more of them, for minutes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/explore.h"

#define FEW  400000 /* states */
#define MOST 8000000

static void explore_all(const struct explore_bounds *bounds, size_t n)
{
    static struct explore_result r;
    for (size_t i = 0; i < n; i++) {
        const struct explore_bounds *b = &bounds[i];
        explore(b, &r);
        printf("# %d ranks, %d rounds, %d calls, %d deaths: %zu states, %zu steps between them, %zu ends\n", b->ranks,
               b->rounds, b->calls, b->deaths, r.states, r.transitions, r.ends);
        if (r.wrong)
            printf("# %s\n%s", r.wrong, r.how);
        assert_null(r.wrong);
        assert_false(r.is_cut);
        /* That it was about something: plans were used, rounds were aborted, and the dead were missed. */
        assert_true(r.commits > 0 && r.aborts > 0 && r.ends > 0 && !r.failures == !b->deaths);
    }
}

/* Ranks, rounds, calls, deaths. */
static void more_ranks(void)
{
    static const struct explore_bounds bounds[] = {
        {2, 2, 2, 0, 0, EXPLORE_SOUND, MOST},
        {2, 2, 3, 0, EXPLORE_COORDINATOR, EXPLORE_SOUND, MOST},
        {2, 2, 2, 1, EXPLORE_COORDINATOR, EXPLORE_SOUND, MOST},
        {2, 3, 4, 2, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
        {3, 2, 3, 1, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
        {3, 3, 3, 0, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
        {4, 2, 2, 1, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
        {4, 3, 3, 0, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
        {4, 3, 2, 1, EXPLORE_BOTH, EXPLORE_SOUND, MOST},
    };
    explore_all(bounds, sizeof bounds / sizeof *bounds);
}

static void a_few_ranks(void **state)
{
    (void)state;
    const char *wanted = getenv("NCCLTUNE_EXPLORE");
    static const struct explore_bounds bounds[] = {
        {2, 2, 2, 0, EXPLORE_COORDINATOR, EXPLORE_SOUND, FEW}, {2, 2, 2, 0, EXPLORE_RANKS, EXPLORE_SOUND, FEW},
        {2, 3, 4, 0, EXPLORE_BOTH, EXPLORE_SOUND, FEW},        {2, 2, 3, 2, EXPLORE_BOTH, EXPLORE_SOUND, FEW},
        {3, 2, 3, 0, EXPLORE_BOTH, EXPLORE_SOUND, FEW},        {3, 1, 2, 1, EXPLORE_BOTH, EXPLORE_SOUND, FEW},
        {4, 1, 2, 0, EXPLORE_BOTH, EXPLORE_SOUND, FEW},
    };
    explore_all(bounds, sizeof bounds / sizeof *bounds);
    if (wanted && !strcmp(wanted, "long"))
        more_ranks();
}

/* An explorer that finds nothing says nothing: each of these is found, as what it is. */
static void finds_what_is_broken(void **state)
{
    (void)state;
    static const char different[] = "two ranks use different choices for one call", endless[] = "a rank waits for ever";
    static const char *const wrong[EXPLORE_FAULTS] = {
        [EXPLORE_NO_PREPARE] = different,       [EXPLORE_TOO_NEAR] = different,
        [EXPLORE_DEAD_GOES_ON] = different,     [EXPLORE_NO_REFUSAL] = different,
        [EXPLORE_DEAF_TO_ABORT] = different,    [EXPLORE_ABORT_FORGOTTEN] = endless,
        [EXPLORE_CHANGES_ITS_MIND] = different, [EXPLORE_DOES_NOT_WAIT] = different,
        [EXPLORE_HASTY_ROUNDS] = endless,
    };
    static struct explore_result r;
    for (int fault = EXPLORE_SOUND + 1; fault < EXPLORE_FAULTS; fault++) {
        struct explore_bounds b = {2, 2, 3, 0, EXPLORE_BOTH, (enum explore_fault)fault, FEW};
        b.deaths = fault == EXPLORE_DEAD_GOES_ON;
        explore(&b, &r);
        printf("# fault %d: %s after %zu states\n", fault, r.wrong ? r.wrong : "nothing", r.states);
        assert_non_null(r.wrong);
        assert_string_equal(r.wrong, wrong[fault]);
        assert_non_null(strstr(r.how, "PREPARE"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_ranks),
        cmocka_unit_test(finds_what_is_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
