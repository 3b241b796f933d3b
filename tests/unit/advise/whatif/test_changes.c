/* What would shorten a step, by an estimate that can be worked out by hand: a call takes a microsecond a MiB. */
#include "advise/whatif/changes.h"
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

/* Compute of 200 us with a bubble of one half; 120 MiB of gradients in 32 bits and 50 of weights behind the optimizer;
 * 40 us of copies. */
static struct workload *job(void)
{
    struct workload *w = workload_new();
    w->ranks = 4;
    w->ranks_per_node = 1;
    struct workload_phase *p = workload_add_phase(w, "actor backward");
    p->compute_us = 200;
    p->bubble = 0.5;
    add_call(w, p, COLL_ALLREDUCE, 4, "float32");
    p = workload_add_phase(w, "actor optimizer");
    add_call(w, p, COLL_REDUCESCATTER, 120 * MIB, "float32");
    add_call(w, p, COLL_ALLGATHER, 50 * MIB, "bfloat16");
    workload_add_phase(w, "offload")->compute_us = 40;
    return w;
}

TEST_CASE(the_job_could_do_otherwise)
{
    static const struct {
        const char *begins;
        double us;
    } expected[] = {{"gradients and weights behind compute", 150},
                    {"gradients and weights in 16 bits", 60},
                    {"two pieces of the model", 50},
                    {"no offload", 40}};
    struct workload *w = job();
    struct err e = {0};
    struct step_estimate now;
    struct step_changes c = {.arena = w->arena};
    assert_int_equal(estimate(w->arena, w, &now, &e), 0);
    step_changes_add(&c, "a change of the network that saves as much", plain(49.9));
    assert_int_equal(step_changes_of_job(&c, &now, estimate, w->arena, &e), 0);
    assert_int_equal(c.n, 5);
    for (int i = 0, k = 0; i < c.n; i++) {
        if (!strncmp(c.list[i].what, "a change", 8))
            continue;
        assert_memory_equal(c.list[i].what, expected[k].begins, strlen(expected[k].begins));
        assert_near(c.list[i].saves.us, expected[k].us, 0.2);
        assert_true(c.list[i].saves.low_us <= c.list[i].saves.us && c.list[i].saves.us <= c.list[i].saves.high_us);
        k++;
    }
    /* The job itself was not touched. */
    assert_near(w->phases[0].bubble, 0.5, 0);
    assert_int_equal(w->phases[1].calls[0].bytes, 120 * MIB);
    assert_near(w->phases[2].compute_us, 40, 0);
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
