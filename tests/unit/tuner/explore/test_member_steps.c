/* tuner/explore/member: one rank, step by step: gates and plans, trials, questions that are taken back, and what is
 * refused. */
#include <pthread.h>

#include "tests/unit/tuner/explore/alone.h"

/* ---- gates and plans --------------------------------------------------------------------------------------------- */

static void a_plan_begins_with_its_call(void **state)
{
    (void)state;
    assert_int_equal(alone_asks(1), -1);
    commit(1, 3, 5);
    assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(1), 5);
    commit(2, 5, 2);
    assert_int_equal(alone_asks(1), 5);
    assert_int_equal(alone_asks(1), 2);
}

/* Up to the gate calls go on without a lock: it is where something was promised, or is about to change. */
static void the_gate_is_where_it_may_have_to_wait(void **state)
{
    (void)state;
    assert_int_equal(alone->gate, UINT64_MAX);
    assert_true(explore_is_open(alone));
    for (int kind = 0; kind < EXPLORE_KINDS; kind++)
        assert_true(alone->keys[kind].hold.cell == -1 && alone->keys[kind].offered == ~0U);
    alone_asks(1);
    assert_int_equal(prepare(1, 5, holds(5)), ONLINE_PROMISE);
    assert_int_equal(alone->gate, 5);
    assert_false(explore_is_open(alone));
    end_round(ONLINE_ABORT, 1);
    assert_int_equal(alone->gate, UINT64_MAX);
    assert_true(explore_is_open(alone));
    commit(2, 4, 5);
    assert_true(alone->gate == 4 && alone->is_pending && !explore_is_open(alone));
    assert_int_equal(prepare(3, 3, holds(2)), ONLINE_REFUSE); /* one change at a time */
    assert_int_equal(prepare(4, 9, holds(2)), ONLINE_REFUSE);
    assert_int_equal(alone->gate, 4);
    for (int call = 1; call < 4; call++)
        assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(1), 5);
    assert_true(alone->gate == UINT64_MAX && !alone->is_pending && explore_is_open(alone));
    assert_int_equal(prepare(5, 5, holds(2)), ONLINE_REFUSE); /* five calls were made: it has come there */
    assert_int_equal(prepare(6, 6, holds(2)), ONLINE_PROMISE);
    end_round(ONLINE_ABORT, 6);
    alone->failed = 1;
    assert_false(explore_is_open(alone));
    assert_int_equal(prepare(7, 20, holds(2)), ONLINE_REFUSE);
}

static _Atomic int has_asked;

static void *ask_once(void *arg)
{
    *(int *)arg = question(&sizes[0]);
    has_asked = 1;
    return NULL;
}

/* At the call in question it waits for the outcome, for as long as it takes to come. */
static void waits_for_the_outcome(void **state)
{
    (void)state;
    static const struct {
        enum online_word outcome; /* nothing: the coordinator is lost */
        int cell;
    } ends[] = {{ONLINE_COMMIT, 5}, {ONLINE_ABORT, -1}, {ONLINE_NOTHING, 99}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        pthread_t thread;
        int cell = 1;
        has_asked = 0;
        alone_asks(1);
        assert_int_equal(prepare(1, 2, holds(5)), ONLINE_PROMISE);
        assert_int_equal(alone_asks(1), -1);
        assert_int_equal(pthread_create(&thread, NULL, ask_once, &cell), 0);
        while (alone->next < 3)
            usleep(100);
        usleep(20000);
        assert_int_equal(has_asked, 0);
        if (ends[i].outcome)
            end_round(ends[i].outcome, 1);
        else
            explore_lose(alone);
        pthread_join(thread, NULL);
        assert_int_equal(cell, ends[i].cell);
        assert_int_equal(alone->failed, cell == 99);
        assert_int_equal(question(&sizes[0]), cell); /* and so do the next */
        free_alone(NULL);
        make_alone(NULL);
    }
}

/* Who is lost goes on up to what it has promised, and then fails for good. */
static void who_is_lost_goes_on_with_what_all_have(void **state)
{
    (void)state;
    alone_asks(1);
    assert_int_equal(prepare(1, 3, holds(5)), ONLINE_PROMISE);
    explore_lose(alone);
    assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(1), 99);
    assert_int_equal(alone->failed, 1);
    assert_int_equal(asks_for(&sizes[2]), 99); /* whatever it is */
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

/* Whose turn it is by the call, what it is told as, and what is said of the trial. */
static void a_trial_ends_by_itself(void **state)
{
    (void)state;
    struct explore_plan p = {.kind = kind_of(0), .is_trial = 1, .windows = 1, .gap = 1, .block = 1};
    struct explore_seen seen;
    alone_asks(1);
    commit_trial(1, 3, 5);
    alone_asks(1), asks_for(&sizes[1]);
    explore_launched(alone, sizes[1].coll, sizes[1].bytes);
    for (uint32_t call = 0; call < 8; call++) {
        enum explore_arm arm = explore_turn(&p, call);
        assert_int_equal(asks_for(&sizes[0]), arm >= EXPLORE_TRIED_FIRST ? 5 : -1);
        explore_see(alone, p.kind, &seen);
        assert_true(alone->trials == (call < 7) && seen.trials == (call == 7) && seen.calls == 3 + call);
        assert_int_equal(explore_chunk(alone, COLL_ALLREDUCE, 0, 0, 1000 + call, 77), 77);
        explore_see(alone, p.kind, &seen); /* NCCL's own, and not of what is tried */
        assert_true((seen.chunk_bytes == 1000 + call) == (arm < EXPLORE_TRIED_FIRST));
        assert_int_equal(explore_launched(alone, sizes[0].coll, sizes[0].bytes), 1 + 4 * p.kind + arm);
        if (call == 3) { /* calls of another kind have no turn */
            assert_int_equal(asks_for(&sizes[1]), -1);
            assert_int_equal(explore_launched(alone, sizes[1].coll, sizes[1].bytes), 1 + 4 * kind_of(1));
        }
    }
    assert_int_equal(seen.trials, 1);
    assert_int_equal(seen.ended, 10);
    assert_int_equal(alone_asks(1), -1);
    explore_see(alone, kind_of(1), &seen);
    assert_true(seen.calls == 2 && seen.bytes == 4096 && !seen.trials && !seen.ended);
}

/* A plan in the middle of a trial ends it. */
static void a_change_ends_a_trial(void **state)
{
    (void)state;
    alone_asks(1);
    commit_trial(1, 2, 5);
    alone_asks(1), alone_asks(1);
    assert_int_equal(alone->trials, 1);
    commit(2, 4, 2);
    alone_asks(1);
    assert_int_equal(alone_asks(1), 2);
    assert_int_equal(alone->trials, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(alone_asks(1), 2);
    assert_int_equal(alone->keys[kind_of(0)].trials, 0);
}

/* In a graph it would stay for ever: a captured call has its turn, and what all hold. */
static void captured_calls_try_nothing(void **state)
{
    (void)state;
    alone_asks(1);
    commit_trial(1, 2, 5);
    alone_asks(1);
    for (int call = 0; call < 8; call++) {
        explore_called(alone, 1);
        assert_int_equal(question(&sizes[0]), -1);
        assert_int_equal(explore_launched(alone, sizes[0].coll, sizes[0].bytes), 0); /* no time of ours */
    }
    assert_int_equal(alone->keys[kind_of(0)].trials, 1);
    assert_int_equal(alone->ended, EXPLORE_CAPTURED);
    assert_false(explore_is_open(alone));
    assert_int_equal(prepare(2, 50, holds(5)), ONLINE_REFUSE);
    explore_called(alone, 1);
    question(&sizes[0]);
    explore_called(alone, 0); /* a graph is launched by itself: nothing is taken back */
    assert_int_equal(alone->next, 11);
    assert_int_equal(alone->ended, EXPLORE_CAPTURED);
}

/* ---- what was asked and not called ------------------------------------------------------------------------------- */

/* Two questions that nobody calls, and the second was the first with the plan: call 3 is still to come. */
static void a_plan_that_was_asked_for_alone_comes_again(void **state)
{
    (void)state;
    alone_asks(1);
    commit(1, 3, 5);
    alone_asks(1);
    assert_int_equal(alone_asks(0), -1);
    assert_int_equal(alone_asks(0), -1); /* the one before is taken back first */
    assert_int_equal(alone_asks(1), -1);
    assert_int_equal(alone_asks(0), 5);
    explore_called(alone, 0);
    assert_int_equal(alone->next, 3);
    assert_int_equal(alone->keys[explore_kind(sizes[0].coll, sizes[0].bytes)].hold.cell, -1);
    assert_int_equal(alone_asks(1), 5);
    assert_int_equal(alone_asks(1), 5);
    assert_int_equal(alone->ended, EXPLORE_SIMULATED);
}

/* The last call of a trial, asked for and not made: it is still to come. */
static void the_end_of_a_trial_is_taken_back(void **state)
{
    (void)state;
    const struct explore_key *k = &alone->keys[kind_of(0)];
    alone_asks(1);
    commit_trial(1, 2, 5);
    for (int i = 0; i < 8; i++)
        alone_asks(1);
    assert_true(k->left == 1 && alone->trials == 1);
    int cell = alone_asks(0);
    assert_true(k->left == 0 && alone->trials == 0 && k->trials == 1 && k->calls == 10);
    explore_called(alone, 0);
    assert_true(k->left == 1 && alone->trials == 1 && k->trials == 0 && k->calls == 9 && alone->next == 9);
    assert_int_equal(alone_asks(1), cell);
    assert_true(k->left == 0 && alone->trials == 0 && k->trials == 1);
}

/* A trial that began with a question for calls of another kind. */
static void the_beginning_of_a_trial_is_taken_back(void **state)
{
    (void)state;
    const struct explore_key *k = &alone->keys[kind_of(0)];
    alone_asks(1);
    commit_trial(1, 2, 5);
    alone_asks(1);
    assert_int_equal(asks_for(&sizes[1]), -1);
    assert_true(k->left == 8 && alone->trials == 1 && k->trial.is_trial);
    explore_called(alone, 0);
    assert_true(k->left == 0 && alone->trials == 0 && !k->trial.is_trial && alone->is_pending && alone->gate == 2);
    alone_asks(1);
    assert_true(k->left == 7 && alone->trials == 1);
}

/* Where another plan rests on the one that came with it, or more were asked than are remembered, it fails: other ranks
 * may have what this one cannot know. */
static void what_cannot_be_taken_back_fails(void **state)
{
    (void)state;
    for (int second = 0; second < 2; second++) { /* promised, committed */
        alone_asks(1);
        commit(1, 2, 5);
        assert_int_equal(alone_asks(1), -1);
        assert_int_equal(alone_asks(0), 5);
        assert_int_equal(prepare(2, 9, holds(2)), ONLINE_PROMISE);
        if (second)
            end_round(ONLINE_COMMIT, 2);
        explore_called(alone, 0);
        assert_true(alone->failed && alone->next == 2);
        assert_int_equal(question(&sizes[0]), 99);
        free_alone(NULL);
        make_alone(NULL);
    }
    for (int asked = EXPLORE_ASKED; asked <= EXPLORE_ASKED + 1; asked++)
        for (int has_plan = 0; has_plan < 2; has_plan++) {
            alone_asks(1);
            if (has_plan)
                commit(1, 100, 5);
            explore_called(alone, 0);
            for (int i = 0; i < asked; i++)
                assert_int_equal(question(&sizes[i % 2]), -1);
            explore_called(alone, 0);
            assert_int_equal(alone->failed, has_plan && asked > EXPLORE_ASKED);
            assert_true(alone->next == 1 && alone->nasked == 0 && alone->ended == EXPLORE_SIMULATED);
            assert_int_equal(alone->keys[kind_of(0)].calls, asked > EXPLORE_ASKED ? 2 : 1);
            assert_int_equal(alone->keys[kind_of(1)].calls, 0);
            assert_true(alone->trials == 0 && alone->keys[kind_of(0)].trials == 0);
            free_alone(NULL);
            make_alone(NULL);
        }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* Refused for good: other threads, as those of non-blocking communicators, and cells that have gone. */
static void refuses_what_it_cannot(void **state)
{
    (void)state;
    struct explore_plan p = {.kind = explore_kind(sizes[0].coll, sizes[0].bytes), .cell = {.cell = 5}};
    struct online_message m = {ONLINE_PREPARE, 1, explore_pack(&p), 100};
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_REFUSE); /* it has not seen such calls */
    alone_asks(1);
    m.round = 2;
    m.plan = 0xfffffff3;
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_REFUSE);
    alone->caller = alone;
    struct tuner_call call = sizes[0];
    struct explore_cell cell = explore_nothing;
    assert_int_equal(explore_ask(alone, &call, &cell), 0);
    assert_int_equal(alone->ended, EXPLORE_OTHER_THREAD);
    m.round = 3;
    m.plan = explore_pack(&p);
    assert_int_equal(explore_hear(alone, &m).word, ONLINE_REFUSE);
}

/* What was committed and is not to be had any more: an error, for the others run it. */
static void fails_where_its_cell_has_gone(void **state)
{
    (void)state;
    alone_asks(1);
    commit(1, 2, 4);
    assert_int_equal(alone_asks(1), -1);
    struct tuner_call call = sizes[0]; /* without any costs */
    struct explore_cell cell = explore_nothing;
    explore_called(alone, 0);
    assert_int_equal(explore_ask(alone, &call, &cell), -1);
    assert_int_equal(explore_ask(alone, &call, &cell), -1);
}

/* Cells count that were there every time; what is promised of a kind is what its calls can have. */
static void remembers_what_was_offered(void **state)
{
    (void)state;
    struct explore_seen seen;
    explore_see(alone, kind_of(0), &seen);
    assert_true(!seen.offered && !seen.calls && seen.rule.cell == -1);
    float cost[ALGO_COUNT * PROTO_COUNT] = {1, 2, 3, 4, 5, 6, 7};
    struct tuner_call call = sizes[0];
    struct explore_cell cell = {.cell = 3, .channels = 2};
    call.cost = cost, call.algos = ALGO_COUNT, call.protos = PROTO_COUNT;
    explore_called(alone, 0);
    assert_int_equal(explore_ask(alone, &call, &cell), 0);
    assert_int_equal(cell.cell, -1);
    explore_launched(alone, call.coll, call.bytes);
    call.bytes++;
    cost[4] = cost[0] = -1;
    cell.cell = 1;
    explore_called(alone, 0);
    assert_int_equal(explore_ask(alone, &call, &cell), 0);
    explore_see(alone, kind_of(0), &seen);
    assert_int_equal(seen.offered, 0x6e); /* and NCCL's own choice */
    assert_true(seen.calls == 2 && seen.bytes == 1 << 20 && seen.rule.cell == 3 && seen.rule.channels == 2);
    for (int i = 0; i < EXPLORE_CELLS; i++)
        assert_true(seen.predicted_us[i] == (float)(i + 1)); /* of the first */
    explore_launched(alone, call.coll, call.bytes);
    assert_int_equal(prepare(1, 100, holds(4)), ONLINE_REFUSE);
    assert_int_equal(prepare(4, 100, holds(0)), ONLINE_REFUSE);
    assert_int_equal(prepare(5, 100, holds(EXPLORE_LIBRARY)), ONLINE_PROMISE);
    end_round(ONLINE_ABORT, 5);
    assert_int_equal(prepare(6, 100, holds(-1)), ONLINE_PROMISE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STEP(a_plan_begins_with_its_call),
        STEP(the_gate_is_where_it_may_have_to_wait),
        STEP(waits_for_the_outcome),
        STEP(who_is_lost_goes_on_with_what_all_have),
        STEP(a_trial_ends_by_itself),
        STEP(a_change_ends_a_trial),
        STEP(captured_calls_try_nothing),
        STEP(a_plan_that_was_asked_for_alone_comes_again),
        STEP(the_end_of_a_trial_is_taken_back),
        STEP(the_beginning_of_a_trial_is_taken_back),
        STEP(what_cannot_be_taken_back_fails),
        STEP(refuses_what_it_cannot),
        STEP(fails_where_its_cell_has_gone),
        STEP(remembers_what_was_offered),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
