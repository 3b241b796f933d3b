/* What the model says of the calls of a step, on a machine that nobody here has. */
#include "advise/whatif/step.h"
#include "core/coll.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/machine.h"

#define MIB (UINT64_C(1) << 20)

TEST_CASE(a_machine_without_gpus_has_no_model)
{
    struct topology *t = topo_new();
    t->classes = ARENA_NEW(t->arena, struct topo_class);
    t->nclasses = 1;
    assert_null(step_predictor_new(decisions, t, 0, t->arena));
    topo_free(t);
}

static int ask(struct step_predictor *m, struct step_question q, struct step_time *t, const char **why)
{
    return m->predict(m->arg, &q, t, why);
}

TEST_CASE(calls_are_predicted_with_a_band)
{
    static const int kinds[] = {COLL_BROADCAST, COLL_REDUCE,   COLL_ALLGATHER, COLL_REDUCESCATTER,
                                COLL_ALLREDUCE, COLL_ALLTOALL, COLL_SENDRECV};
    struct step_predictor *m = step_predictor_new(decisions, machine, 0, decisions->arena);
    struct step_time small, large;
    const char *why = NULL;
    assert_non_null(m);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int nodes = 1; nodes <= 2; nodes++) {
            struct step_question q = {.kind = kinds[i], .bytes = MIB, .nodes = nodes, .ranks = 8 * nodes};
            if (ask(m, q, &small, &why))
                fail_msg("%s on %d nodes: %s", coll_name(kinds[i]), nodes, why);
            q.bytes = 256 * MIB;
            assert_int_equal(ask(m, q, &large, &why), 0);
            assert_true(small.low_us > 0 && small.low_us <= small.us && small.us <= small.high_us);
            assert_true(large.us > 10 * small.us);
        }
}

TEST_CASE(a_row_forces_its_choice)
{
    struct step_predictor *m = step_predictor_new(decisions, machine, 0, decisions->arena);
    struct env_table_rule rule = {.coll = COLL_ALLREDUCE, .algorithm = ALGO_RING, .protocol = PROTO_LL, .channels = 2};
    struct step_question q = {.kind = COLL_ALLREDUCE, .bytes = 256 * MIB, .nodes = 2, .ranks = 16};
    struct step_time own, forced;
    const char *why = NULL;
    assert_int_equal(ask(m, q, &own, &why), 0);
    q.rule = &rule;
    q.tuned = 1;
    assert_int_equal(ask(m, q, &forced, &why), 0);
    assert_true(forced.us > 2 * own.us);
    struct step_time two = forced;
    rule.channels = 1;
    assert_int_equal(ask(m, q, &forced, &why), 0);
    assert_true(forced.us > 1.5 * two.us);
    rule.algorithm = ALGO_PAT; /* not for AllReduce */
    rule.protocol = PROTO_SIMPLE;
    assert_int_equal(ask(m, q, &forced, &why), -1);
    assert_non_null(why);
}

/* A message is half of what two ranks exchange, and slower across nodes than inside one. */
TEST_CASE(messages_go_where_their_group_is)
{
    struct step_predictor *m = step_predictor_new(decisions, machine, 0, decisions->arena);
    struct step_question message = {.kind = COLL_SENDRECV, .bytes = 64 * MIB, .nodes = 1, .ranks = 8};
    struct step_question exchange = {.kind = COLL_ALLTOALL, .bytes = 128 * MIB, .nodes = 2, .ranks = 2};
    struct step_time inside, across, both;
    const char *why = NULL;
    assert_int_equal(ask(m, message, &inside, &why), 0);
    message.nodes = 2;
    assert_int_equal(ask(m, message, &across, &why), 0);
    assert_int_equal(ask(m, exchange, &both, &why), 0);
    assert_true(across.us > 2 * inside.us);
    assert_true(across.us == both.us);
    message.nodes = 4; /* the two of a message are on two of them */
    message.ranks = 32;
    assert_int_equal(ask(m, message, &across, &why), 0);
    assert_true(across.us == both.us);
}

TEST_CASE(the_profile_counts_where_it_is_asked_for)
{
    struct env_setting setting = {.family = "nccl", .name = "NCCL_MAX_CTAS", .value = "1"};
    struct step_question q = {.kind = COLL_ALLREDUCE, .bytes = 256 * MIB, .nodes = 2, .ranks = 16};
    struct step_time now, tuned;
    const char *why = NULL;
    decisions->settings = &setting;
    decisions->nsettings = 1;
    struct step_predictor *m = step_predictor_new(decisions, machine, 0, decisions->arena);
    assert_int_equal(ask(m, q, &now, &why), 0);
    q.tuned = 1;
    assert_int_equal(ask(m, q, &tuned, &why), 0);
    assert_true(tuned.us > 2 * now.us);
    assert_false(m->unvalidated);
    q.nodes = 64;
    q.ranks = 512;
    assert_int_equal(ask(m, q, &tuned, &why), 0);
    assert_true(m->unvalidated);
}

TEST_CASE(odd_groups_are_refused)
{
    struct step_predictor *m = step_predictor_new(decisions, machine, 0, decisions->arena);
    struct step_time t;
    const char *why = NULL;
    assert_int_equal(
        ask(m, (struct step_question){.kind = COLL_ALLREDUCE, .bytes = MIB, .nodes = 2, .ranks = 7}, &t, &why), -1);
    assert_non_null(strstr(why, "as many ranks on every node"));
    assert_int_equal(
        ask(m, (struct step_question){.kind = COLL_ALLREDUCE, .bytes = MIB, .nodes = 1, .ranks = 64}, &t, &why), -1);
    assert_non_null(why);
}

TEST_CASES_EACH(test_step_profile, set_up, tear_down)
