/* One rank of a communicator (tuner/explore/member), for tests of its steps. */
#ifndef TESTS_UNIT_TUNER_EXPLORE_ALONE_H
#define TESTS_UNIT_TUNER_EXPLORE_ALONE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/explore/member.h"

static const struct tuner_call sizes[] = {{.coll = COLL_ALLREDUCE, .bytes = 1 << 20},
                                          {.coll = COLL_ALLGATHER, .bytes = 4096},
                                          {.coll = COLL_BROADCAST, .bytes = 4096}}; /* is not counted */

static struct explore_member *alone;

static inline int make_alone(void **state)
{
    (void)state;
    alone = calloc(1, sizeof *alone);
    assert_non_null(alone);
    explore_member_init(alone);
    return 0;
}

static inline int free_alone(void **state)
{
    (void)state;
    free(alone);
    return 0;
}

/* What a question of NCCL's is answered; 99: the call fails. */
static inline int question(const struct tuner_call *call)
{
    float cost[ALGO_COUNT * PROTO_COUNT];
    struct tuner_call with = *call;
    struct explore_cell cell = explore_nothing;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        cost[i] = i < EXPLORE_CELLS ? (float)(10 + i) : -1;
    with.cost = cost, with.algos = ALGO_COUNT, with.protos = PROTO_COUNT;
    return explore_ask(alone, &with, &cell) ? 99 : cell.cell;
}

static inline int asks_for(const struct tuner_call *call)
{
    explore_called(alone, 0);
    return question(call);
}

/* A call of the first size, with its launch or without. */
static inline int alone_asks(int is_launched)
{
    int cell = asks_for(&sizes[0]);
    if (is_launched)
        explore_launched(alone, sizes[0].coll, sizes[0].bytes);
    return cell;
}

static inline int kind_of(int size)
{
    return explore_kind(sizes[size].coll, sizes[size].bytes);
}

static inline enum online_word prepare(uint32_t round, uint64_t from, struct explore_plan p)
{
    struct online_message m = {ONLINE_PREPARE, round, explore_pack(&p), from};
    return explore_hear(alone, &m).word;
}

static inline void end_round(enum online_word outcome, uint32_t round)
{
    struct online_message m = {.word = outcome, .round = round};
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_KNOW);
}

static inline struct explore_plan holds(int cell)
{
    return (struct explore_plan){.kind = kind_of(0), .cell = {.cell = (int8_t)cell}};
}

static inline void commit(uint32_t round, uint64_t from, int cell)
{
    assert_int_equal(prepare(round, from, holds(cell)), ONLINE_PROMISE);
    end_round(ONLINE_COMMIT, round);
}

/* Eight calls: hold, hold, tried, tried, twice, or at other places. */
static inline void commit_trial(uint32_t round, uint64_t from, int cell)
{
    struct explore_plan p = {.kind = kind_of(0), .is_trial = 1, .windows = 1, .gap = 1, .block = 1};
    p.cell.cell = (int8_t)cell;
    assert_int_equal(explore_span(&p), 8);
    assert_int_equal(prepare(round, from, p), ONLINE_PROMISE);
    end_round(ONLINE_COMMIT, round);
}

#define STEP(name) cmocka_unit_test_setup_teardown(name, make_alone, free_alone)

#endif
