/* tuner/explore/explore.c: which communicators meet, and how many there can be. The carrier is this file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tuner/explore/explore.h"
#include "tuner/explore/prior.h"
#include "tuner/online/carrier.h"

static struct online_member *joined; /* the last */
static int joins, leaves;
static char why[256];

int online_join(struct online_member *m, char *to, size_t size)
{
    (void)size;
    to[0] = 0;
    joined = m;
    joins++;
    return 0;
}

void online_leave(struct online_member *m)
{
    assert_ptr_equal(m, joined);
    leaves++;
}

static struct explore_member *open_tuner(uint64_t comm, int ranks)
{
    const struct explore_shape shape = {.comm = comm, .ranks = ranks, .nodes = 2, .nccl = 22809};
    return explore_open(&shape, why, sizeof why);
}

static struct explore_member *introduce(uint64_t comm, int rank, int ranks)
{
    return explore_introduce(comm, rank, ranks, why, sizeof why);
}

static int begin(void **state)
{
    (void)state;
    setenv("NCCLTUNE_ONLINE", "tune", 1);
    unsetenv("NCCLTUNE");
    unsetenv("NCCLTUNE_ONLINE_REGRET");
    joined = NULL;
    joins = leaves = 0;
    return 0;
}

/* ---- who meets whom ---------------------------------------------------------------------------------------------- */

static void both_sides_make_one(void **state)
{
    (void)state;
    struct explore_member *m = open_tuner(11, 4);
    assert_true(m && !why[0] && !joins);
    assert_null(open_tuner(11, 4)); /* which is which cannot be told */
    assert_string_equal(why,
                        "several ranks of a communicator are in one process; NCCLTUNE_ONLINE=tune leaves it alone");
    assert_ptr_not_equal(open_tuner(12, 4), m);
    assert_ptr_equal(introduce(11, 2, 4), m);
    assert_true(joins == 1 && joined->comm == 11 && joined->rank == 2 && joined->ranks == 4 && joined->arg);
    assert_true(joined->hear && joined->lose && !joined->propose && !joined->decided);
    assert_null(introduce(11, 3, 4));
    explore_close(m);
    assert_int_equal(leaves, 1);
    assert_null(introduce(11, 2, 4)); /* as long as a side of the last is open */
    explore_close(m);
    assert_int_equal(leaves, 1);
    m = introduce(12, 0, 4);
    assert_true(m && joins == 2 && joined->propose && joined->decided && joined->rank == 0);
    explore_close(NULL);
    explore_close(m), explore_close(m);
    m = introduce(11, 0, 4); /* in any order */
    assert_true(m && open_tuner(11, 4) == m && joins == 3);
    explore_close(m), explore_close(m);
    assert_ptr_equal(open_tuner(13, 2), introduce(13, 1, 2)); /* in any place that is free */
    explore_close((struct explore_member *)joined->arg), explore_close((struct explore_member *)joined->arg);
    assert_int_equal(leaves, 4);
}

static void not_for_everybody(void **state)
{
    (void)state;
    assert_null(open_tuner(0, 4));
    assert_null(open_tuner(14, 1));
    assert_null(introduce(14, 0, 1));
    assert_null(introduce(14, -1, 4));
    setenv("NCCLTUNE", "off", 1);
    assert_false(explore_is_wanted());
    assert_null(open_tuner(14, 4));
    setenv("NCCLTUNE", "on", 1);
    assert_true(explore_is_wanted());
    setenv("NCCLTUNE_ONLINE", "observe", 1);
    assert_false(explore_is_wanted());
    assert_null(introduce(14, 0, 4));
}

/* ---- what earlier jobs have left --------------------------------------------------------------------------------- */

static int journals_are_read;

void explore_recall(const char *dir)
{
    (void)dir;
}

int explore_remind(struct explore_decider *d, int nodes, int ranks)
{
    assert_true(d && nodes == 2 && ranks == 4);
    return journals_are_read;
}

/* However many calls come before: what is tried first is what they have found. */
static void nothing_is_tried_before_it_is_known(void **state)
{
    (void)state;
    const float cost[ALGO_COUNT * PROTO_COUNT] = {10, 11, 12, 13, 14, 15};
    const struct tuner_call call = {
        .coll = COLL_ALLREDUCE, .bytes = 1 << 20, .cost = cost, .algos = ALGO_COUNT, .protos = PROTO_COUNT};
    struct explore_member *m = open_tuner(21, 4);
    uint64_t from;
    uint32_t plan;
    setenv("NCCLTUNE_ONLINE_REGRET", "100", 1);
    assert_ptr_equal(introduce(21, 0, 4), m);
    for (int i = 0; i < 200; i++) {
        struct explore_cell cell = explore_nothing;
        explore_called(m, 0);
        assert_int_equal(explore_ask(m, &call, &cell), 0);
        explore_timed(m, explore_launched(m, call.coll, call.bytes), ALGO_RING, PROTO_LL, 8, 1000000);
        assert_int_equal(joined->propose(joined->arg, 0, &from, &plan), 0);
    }
    journals_are_read = 1;
    assert_int_equal(joined->propose(joined->arg, 0, &from, &plan), 1);
    explore_close(m), explore_close(m);
}

static void as_many_as_there_is_room_for(void **state)
{
    (void)state;
    static struct explore_member *all[300];
    int n = 0;
    while (n < 300 && (all[n] = open_tuner(1000 + (uint64_t)n, 2)))
        n++;
    assert_int_equal(n, 256);
    assert_string_equal(why, "");
    for (int i = 0; i < n; i++)
        explore_close(all[i]);
    assert_non_null(all[0] = open_tuner(2000, 2));
    explore_close(all[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(both_sides_make_one, begin),
        cmocka_unit_test_setup(not_for_everybody, begin),
        cmocka_unit_test_setup(nothing_is_tried_before_it_is_known, begin),
        cmocka_unit_test_setup(as_many_as_there_is_room_for, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
