/* What would shorten a step, by an estimate that can be worked out by hand: a call takes a microsecond a MiB. */
#include "advise/whatif/step.h"
#include "tests/lib/unit.h"

#define MIB (UINT64_C(1) << 20)

static struct step_time plain(double us)
{
    return (struct step_time){us, 0.9 * us, 1.1 * us};
}

static int a_microsecond_a_mib(void *arg, const struct step_question *q, struct step_time *t, const char **why)
{
    (void)arg;
    (void)why;
    *t = plain((double)q->bytes / (double)MIB);
    return 0;
}

static int estimate(void *arg, const struct workload *w, struct step_estimate *out, struct err *e)
{
    struct step_predictor p = {a_microsecond_a_mib, NULL};
    struct env_decisions *nothing = env_decisions_new(ENV_MARGIN);
    const struct step_input in = {w, nothing, &p};
    int rc = env_step_of(&in, arg, out, e);
    env_decisions_free(nothing);
    return rc;
}

static void add_call(struct workload *w, struct workload_phase *p, int kind, uint64_t bytes, const char *dtype)
{
    workload_add_call(w, p,
                      (struct workload_call){.kind = kind,
                                             .bytes = bytes,
                                             .count = 1,
                                             .group_size = 4,
                                             .place = WORKLOAD_CLUSTER,
                                             .stride = 1,
                                             .dtype = dtype,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
}

/* 120 MiB of gradients in 32 bits and 50 of weights in 16. */
static struct workload *job(void)
{
    struct workload *w = workload_new();
    w->ranks = 4;
    w->ranks_per_node = 1;
    struct workload_phase *p = workload_add_phase(w, "actor optimizer");
    add_call(w, p, COLL_REDUCESCATTER, 120 * MIB, "float32");
    add_call(w, p, COLL_ALLGATHER, 50 * MIB, "bfloat16");
    return w;
}

TEST_CASE(without_a_launch_script_what_is_in_32_bits_could_be_in_16)
{
    struct workload *w = job();
    struct err e = {0};
    struct step_estimate now;
    struct step_changes c = {.arena = w->arena};
    assert_int_equal(estimate(w->arena, w, &now, &e), 0);
    assert_int_equal(step_changes_of_job(&c, &now, estimate, w->arena, &e), 0);
    assert_int_equal(c.n, 1);
    assert_near(c.list[0].saves.us, 60, 0.2);
    assert_int_equal(w->phases[0].calls[0].bytes, 120 * MIB);
    workload_free(w);
}

TEST_CASE(a_launch_script_has_changes_of_its_own)
{
    struct workload *w = job(), *without_weights = workload_new();
    struct workload_change change = {"no weights", without_weights};
    struct err e = {0};
    struct step_estimate now;
    struct step_changes c = {.arena = w->arena};
    without_weights->ranks = 4;
    without_weights->ranks_per_node = 1;
    add_call(without_weights, workload_add_phase(without_weights, "optimizer"), COLL_REDUCESCATTER, 120 * MIB, NULL);
    w->changes = &change;
    w->nchanges = 1;
    assert_int_equal(estimate(w->arena, w, &now, &e), 0);
    assert_int_equal(step_changes_of_job(&c, &now, estimate, w->arena, &e), 0);
    assert_int_equal(c.n, 1);
    assert_string_equal(c.list[0].what, "no weights");
    assert_near(c.list[0].saves.us, 50, 0.2);
    workload_free(w);
}

TEST_CASE(three_are_printed_the_largest_first)
{
    struct step_changes c = {.arena = arena_new()};
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    step_changes_add(&c, "little", plain(1000));
    step_changes_add(&c, "nothing", plain(0));
    step_changes_add(&c, "worse", plain(-5));
    step_changes_add(&c, "most", plain(4000));
    step_changes_add(&c, "most under another name", plain(4000));
    step_changes_add(&c, "more", plain(3000));
    step_changes_add(&c, "some", plain(2000));
    assert_int_equal(c.n, 4);
    step_changes_print(&c, out);
    fclose(out);
    assert_string_equal(text, "\nWhat would save most of a step:\n"
                              "  1. most: 4.0 ms (3.6 to 4.4)\n"
                              "  2. more: 3.0 ms (2.7 to 3.3)\n"
                              "  3. some: 2.0 ms (1.8 to 2.2)\n");
    arena_free(c.arena);
}

TEST_CASE(what_saves_less_than_a_hundredth_of_a_step_has_no_line)
{
    struct step_changes c = {.arena = arena_new(), .step_us = 150e3};
    char text[1024] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    step_changes_add(&c, "much", plain(2000));
    step_changes_add(&c, "little", plain(1000));
    step_changes_print(&c, out);
    c.step_us = 1e6;
    step_changes_print(&c, out);
    fclose(out);
    assert_string_equal(text, "\nWhat would save most of a step:\n"
                              "  1. much: 2.0 ms (1.8 to 2.2)\n"
                              "  The other changes that were tried save less than 1 % of a step.\n"
                              "\nNothing that was tried saves 1 % of a step.\n");
    arena_free(c.arena);
}

TEST_CASE(nothing_to_change_is_said)
{
    struct step_changes c = {.arena = NULL};
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    step_changes_print(&c, out);
    fclose(out);
    assert_string_equal(text, "\nNothing that was tried saves time.\n");
}

TEST_CASES(test_changes)
