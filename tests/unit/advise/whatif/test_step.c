/* What a step's collectives take, by measurements whose answer can be worked out by hand. */
#include "advise/whatif/step.h"
#include "core/json.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"

#define KIB 1024u
#define MIB (1024u * KIB)

/* AllReduce on 4 nodes and 4 ranks: 100 us at 64 KiB, 400 us at 1 MiB and 1,600 us at 16 MiB, so a factor of four per
 * factor of sixteen; "3" halves that from 1 MiB on. */
static struct env_decisions *measured(struct synthetic *s, const char *engine)
{
    static const struct {
        uint64_t bytes;
        double us;
    } sizes[] = {{64 * KIB, 100}, {MIB, 400}, {16 * MIB, 1600}};
    *s = synthetic_new();
    s->engine = engine;
    for (size_t i = 0; i < 3; i++) {
        synthetic_add(s, COLL_ALLREDUCE, sizes[i].bytes, "default", "default", sizes[i].us, BENCH_OK);
        synthetic_add(s, COLL_ALLREDUCE, sizes[i].bytes, "default", "3", i ? sizes[i].us / 2 : 100, BENCH_OK);
    }
    return synthetic_decide(s);
}

static struct step_estimate estimate(struct synthetic *s, const struct env_decisions *d, const struct workload *w,
                                     const struct step_predictor *p)
{
    struct step_input in = {w, d, p};
    struct step_estimate out;
    struct err e = {0};
    if (env_step_of(&in, s->arena, &out, &e))
        fail_msg("%s", e.text);
    return out;
}

static struct workload_call call(int kind, uint64_t bytes, double count, double overlap_us)
{
    return (struct workload_call){.kind = kind,
                                  .bytes = bytes,
                                  .count = count,
                                  .group_size = 4,
                                  .place = WORKLOAD_CLUSTER,
                                  .stride = 1,
                                  .overlap_us = overlap_us,
                                  .time_us = -1,
                                  .algo = -1,
                                  .proto = -1};
}

static struct workload *workload_of(double compute_us, struct workload_call c)
{
    struct workload *w = workload_new();
    w->ranks = 4;
    w->ranks_per_node = 1;
    struct workload_phase *p = workload_add_phase(w, "backward");
    p->compute_us = compute_us;
    workload_add_call(w, p, c);
    return w;
}

static void expect_us(uint64_t bytes, double now_us, double tuned_us)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(-1, call(COLL_ALLREDUCE, bytes, 1, 0));
    struct step_estimate e = estimate(&s, d, w, NULL);
    const struct step_call *c = &e.phases[0].calls[0];
    assert_int_equal(c->source, now_us > 0 ? STEP_HOST : STEP_UNKNOWN);
    assert_near(c->now.us, now_us, 1e-6 * now_us + 1e-9);
    assert_near(c->tuned.us, tuned_us, 1e-6 * now_us + 1e-9);
    assert_near(c->now.low_us, 0.99 * now_us, 1e-6 * now_us + 1e-9);
    assert_near(c->tuned.high_us, 1.01 * tuned_us, 1e-6 * now_us + 1e-9);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

TEST_CASE(between_sizes_a_line_in_logarithms)
{
    expect_us(64 * KIB, 100, 100);
    expect_us(MIB, 400, 200);
    expect_us(4 * MIB, 800, 400);
    expect_us(16 * MIB, 1600, 800);
    /* Between a size that kept the default and one that did not: the range decides, and the line is the candidate's. */
    expect_us(128 * KIB, 100 * 1.4142135624, 100 * 1.4142135624);
    expect_us(512 * KIB, 100 * 2.8284271247, 100 * 1.6817928305);
}

TEST_CASE(beyond_the_sizes_no_further_than_twice)
{
    expect_us(32 * MIB, 1600 * 1.4142135624, 1600 * 1.4142135624); /* where no row reaches */
    expect_us(32 * KIB, 100 / 1.4142135624, 100 / 1.4142135624);
    expect_us(64 * MIB, 0, 0);
    expect_us(8, 0, 0);
}

TEST_CASE(sums_hide_what_compute_covers)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(10000, call(COLL_ALLREDUCE, MIB, 10, 150));
    workload_add_call(w, &w->phases[0], call(COLL_ALLREDUCE, MIB, 5, -1));
    workload_add_call(w, &w->phases[0], call(COLL_BROADCAST, MIB, 5, 0));
    struct step_estimate e = estimate(&s, d, w, NULL);
    assert_near(e.now.all.us, 6000, 1e-6);
    assert_near(e.now.waits.us, 4500, 1e-6);
    assert_near(e.tuned.all.us, 3000, 1e-6);
    assert_near(e.tuned.waits.us, 1500, 1e-6);
    assert_near(e.from_us[STEP_HOST], 6000, 1e-6);
    assert_near(e.compute_us, 10000, 1e-6);
    assert_int_equal(e.unknown, 1);
    assert_int_equal(e.overlap_unknown, 1);
    assert_int_equal(e.compute_unknown, 0);
    workload_free(w);

    /* Each of the calls could hide, all together have more than the phase computes. */
    w = workload_of(1000, call(COLL_ALLREDUCE, MIB, 10, 400));
    e = estimate(&s, d, w, NULL);
    assert_near(e.now.waits.us, 3000, 1e-6);
    assert_near(e.tuned.waits.us, 1000, 1e-6);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

TEST_CASE(other_shapes_are_unknown)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload_call c = call(COLL_ALLREDUCE, MIB, 1, 0);
    struct workload *w = workload_of(-1, c);
    w->ranks = 8;
    w->ranks_per_node = 2;
    c.group_size = 8;
    workload_add_call(w, &w->phases[0], c); /* 4 nodes, but 8 ranks */
    c.time_us = 321;
    workload_add_call(w, &w->phases[0], c);
    struct step_estimate e = estimate(&s, d, w, NULL);
    const struct step_call *calls = e.phases[0].calls;
    assert_int_equal(calls[0].nodes, 2);
    assert_int_equal(calls[0].source, STEP_UNKNOWN);
    assert_int_equal(calls[1].nodes, 4);
    assert_int_equal(calls[1].source, STEP_UNKNOWN);
    assert_int_equal(calls[2].source, STEP_CAPTURED);
    assert_near(calls[2].now.us, 321, 1e-9);
    assert_int_equal(e.unknown, 2);
    assert_int_equal(e.compute_unknown, 1);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

/* Twice as fast under a row or the profile's settings. */
static int double_predictor(void *arg, const struct step_question *q, struct step_time *t, const char **why)
{
    int *asked = arg;
    ++*asked;
    if (q->kind == COLL_SENDRECV) {
        *why = "no model of it";
        return -1;
    }
    double us = q->tuned ? 500 : 1000;
    *t = (struct step_time){us, us / 2, us * 2};
    return 0;
}

TEST_CASE(what_was_not_measured_is_predicted)
{
    struct synthetic s;
    int asked = 0;
    struct step_predictor p = {double_predictor, &asked};
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(-1, call(COLL_ALLREDUCE, MIB, 2, 0));
    workload_add_call(w, &w->phases[0], call(COLL_SENDRECV, MIB, 1, 0));
    struct step_estimate e = estimate(&s, d, w, &p);
    /* Where something predicts for GPUs, host memory does not count. */
    assert_int_equal(e.phases[0].calls[0].source, STEP_PREDICTED);
    assert_near(e.now.all.us, 2000, 1e-9);
    assert_near(e.now.all.high_us, 4000, 1e-9);
    assert_near(e.tuned.all.us, 1000, 1e-9);
    assert_int_equal(e.phases[0].calls[1].source, STEP_UNKNOWN);
    assert_string_equal(e.phases[0].calls[1].why, "no model of it");
    assert_int_equal(asked, 3);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

/* Only where a rule is for this call. */
static int rule_predictor(void *arg, const struct step_question *q, struct step_time *t, const char **why)
{
    (void)arg;
    (void)why;
    double us = q->rule ? 10 * q->rule->algorithm + 1 : 1000;
    *t = (struct step_time){us, us, us};
    return 0;
}

static struct env_shape on_gpus(struct arena *a, int buffers, const char *algorithm)
{
    struct bench_setting *s = arena_alloc(a, 2 * sizeof *s);
    s[0] = (struct bench_setting){"algorithm", algorithm};
    s[1] = (struct bench_setting){"protocol", "simple"};
    struct env_point *p = ARENA_NEW(a, struct env_point);
    *p = (struct env_point){.bytes = MIB, .fallback = -1, .chosen = -1, .untouched_us = {77, 77, 77, 9}};
    struct env_range *r = ARENA_NEW(a, struct env_range);
    *r = (struct env_range){
        .max_bytes = ENV_OPEN, .call = {algorithm, s, 2}, .why = "why", .points = p, .npoints = buffers ? 1 : 0};
    struct env_coll *c = ARENA_NEW(a, struct env_coll);
    *c = (struct env_coll){COLL_ALLREDUCE, r, 1};
    return (struct env_shape){.engine = "nccl",
                              .library = "NCCL 2.28.9",
                              .buffers = buffers,
                              .nodes = 4,
                              .ranks = 4,
                              .colls = c,
                              .ncolls = 1};
}

/* What was measured on captured calls and its rules say nothing of a step's plain ones. */
TEST_CASE(captured_calls_are_others)
{
    struct synthetic s = synthetic_new();
    struct step_predictor p = {rule_predictor, NULL};
    for (int plain = 0; plain < 2; plain++) {
        struct env_shape shapes[] = {on_gpus(s.arena, BENCH_GRAPH, "nvls"), on_gpus(s.arena, BENCH_USUAL, "tree")};
        struct env_decisions d = {
            .arena = s.arena, .tool = "0", .topology = "", .shapes = shapes, .nshapes = 1 + plain};
        struct workload *w = workload_of(-1, call(COLL_ALLREDUCE, MIB, 1, 0));
        struct step_estimate e = estimate(&s, &d, w, &p);
        const struct step_call *c = &e.phases[0].calls[0];
        assert_int_equal(c->source, STEP_PREDICTED);
        assert_near(c->now.us, 1000, 1e-9);
        assert_near(c->tuned.us, plain ? 1 : 1000, 1e-9);
        assert_string_equal(c->choice, plain ? "tree/simple" : BENCH_DEFAULT);
        workload_free(w);
    }
    arena_free(s.arena);
}

/* A measured size: the baseline, and tree. */
static struct env_shape timed(struct arena *a, int buffers, double untouched_us, double tree_us)
{
    struct env_shape s = on_gpus(a, buffers, "tree");
    struct env_range *r = &s.colls[0].ranges[0];
    struct env_option *o = ARENA_NEW(a, struct env_option);
    *o = (struct env_option){.call = r->call, .time_us = {tree_us, tree_us, tree_us, 9}};
    r->points[0].untouched_us = (struct bench_interval){untouched_us, untouched_us, untouched_us, 9};
    r->points[0].options = o;
    r->points[0].noptions = r->npoints = 1;
    return s;
}

/* What takes another time in bfloat16 is counted by that where a job's calls have it, under the one rule for both. */
TEST_CASE(calls_take_the_time_of_their_type)
{
    struct synthetic s = synthetic_new();
    for (int bf16 = 0; bf16 < 2; bf16++) {
        struct env_shape shapes[] = {timed(s.arena, BENCH_USUAL, 100, 50), timed(s.arena, BENCH_BFLOAT16, 90, 80)};
        struct env_decisions d = {.arena = s.arena, .tool = "0", .topology = "", .shapes = shapes, .nshapes = 2};
        struct workload_call its = call(COLL_ALLREDUCE, MIB, 1, 0);
        its.dtype = bf16 ? "bfloat16" : "float32";
        struct workload *w = workload_of(-1, its);
        struct step_estimate e = estimate(&s, &d, w, NULL);
        const struct step_call *c = &e.phases[0].calls[0];
        assert_int_equal(c->source, STEP_MEASURED);
        assert_near(c->now.us, bf16 ? 90 : 100, 1e-9);
        assert_near(c->tuned.us, bf16 ? 80 : 50, 1e-9);
        workload_free(w);
    }
    arena_free(s.arena);
}

static char *printed(const struct step_estimate *e, struct arena *a)
{
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    env_step_print(e, out);
    fclose(out);
    char *copy = arena_strdup(a, text);
    free(text);
    return copy;
}

static void expect_text(const struct synthetic *s, const struct step_estimate *e, const char *part)
{
    const char *text = printed(e, s->arena);
    if (!strstr(text, part))
        fail_msg("'%s' is missing in:\n%s", part, text);
}

TEST_CASE(it_comes_to_one_sentence)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(10000, call(COLL_ALLREDUCE, MIB, 10, 0));
    struct step_estimate e = estimate(&s, d, w, NULL);
    expect_text(&s, &e, "communication 4.00 ms of a 14.0 ms step → 2.00 ms (measured on host memory)\n");
    expect_text(&s, &e, "measured on host memory");
    expect_text(&s, &e, BENCH_HOST_MEMORY);
    workload_free(w);
    w = workload_of(-1, call(COLL_ALLREDUCE, MIB, 10, 0));
    w->per_run = 1;
    e = estimate(&s, d, w, NULL);
    expect_text(&s, &e, "communication 4.00 ms of a run of unknown length → 2.00 ms (measured on host memory)\n");
    workload_free(w);
    w = workload_of(10000, call(COLL_BROADCAST, MIB, 10, 0));
    w->phases[0].name = "back\nward\x1b[31m";
    e = estimate(&s, d, w, NULL);
    expect_text(&s, &e, "communication unknown");
    expect_text(&s, &e, "back?ward?[31m ");
    expect_text(&s, &e, "unknown: broadcast of 1 MiB, 4 ranks on 4 nodes");
    workload_free(w);
    w = workload_new();
    e = estimate(&s, d, w, NULL);
    expect_text(&s, &e, "communication 0.00 ms of a step of unknown length");
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

TEST_CASE(as_json)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(10000, call(COLL_ALLREDUCE, MIB, 10, 150));
    struct step_estimate e = estimate(&s, d, w, NULL);
    cJSON *doc = env_step_json(&e);
    const cJSON *phase = cJSON_GetArrayItem(cJSON_GetObjectItem(doc, "phases"), 0);
    const cJSON *one = cJSON_GetArrayItem(cJSON_GetObjectItem(phase, "calls"), 0);
    const cJSON *now = cJSON_GetObjectItem(doc, "now");
    assert_string_equal(json_str(doc, "format", ""), STEP_FORMAT);
    assert_near(json_num(cJSON_GetObjectItem(now, "all"), "time_us", 0), 4000, 1e-6);
    assert_near(json_num(cJSON_GetObjectItem(now, "waited_for"), "time_us", 0), 2500, 1e-6);
    assert_near(json_num(cJSON_GetObjectItem(doc, "from_us"), "measured on host memory", 0), 4000, 1e-6);
    assert_string_equal(json_str(one, "choice", ""), "3");
    assert_string_equal(json_str(one, "from", ""), "measured on host memory");
    assert_near(json_num(cJSON_GetObjectItem(one, "tuned"), "time_us", 0), 200, 1e-6);
    cJSON_Delete(doc);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

/* Ten calls at a measured size (100 us each), one between two (200 us), one of a kind that nothing knows (captured:
 * 800 us): half, a tenth, four tenths. */
TEST_CASE(coverage_is_by_time)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(-1, call(COLL_ALLREDUCE, 64 * KIB, 10, 0));
    struct workload_call between = call(COLL_ALLREDUCE, 256 * KIB, 1, 0), other = call(COLL_SENDRECV, MIB, 1, 0);
    other.time_us = 800;
    workload_add_call(w, &w->phases[0], between);
    workload_add_call(w, &w->phases[0], other);
    struct step_estimate e = estimate(&s, d, w, NULL);
    assert_int_equal(e.phases[0].calls[0].cover, STEP_COVERED);
    assert_int_equal(e.phases[0].calls[1].cover, STEP_INTERPOLATED);
    assert_int_equal(e.phases[0].calls[2].cover, STEP_UNCOVERED);
    assert_near(e.cover_us[STEP_COVERED], 1000, 1e-6);
    assert_near(e.cover_us[STEP_INTERPOLATED], 200, 1e-6);
    assert_near(e.cover_us[STEP_UNCOVERED], 800, 1e-6);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    env_step_print_cover(&e, out);
    fclose(out);
    assert_non_null(strstr(text, "coverage: 50 % of the communication as it was measured, 10 % between measured sizes, "
                                 "40 % not at all\n  not measured: sendrecv of 1 MiB, 4 ranks on 4 nodes, 1 times\n"));
    free(text);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

/* One size alone was measured, in 100 us: up to twice and half of it is between as long and in proportion. */
TEST_CASE(one_size_reaches_a_little)
{
    static const struct {
        uint64_t bytes;
        double us, low, high;
    } sizes[] = {{64 * KIB, 100, 100, 100},
                 {128 * KIB, 141.42, 100, 200},
                 {32 * KIB, 70.71, 50, 100},
                 {132 * KIB, 0, 0, 0},
                 {31 * KIB, 0, 0, 0}};
    struct synthetic s = synthetic_new();
    synthetic_add(&s, COLL_ALLREDUCE, 64 * KIB, "default", "default", 100, BENCH_OK);
    struct env_decisions *d = synthetic_decide(&s);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct workload *w = workload_of(-1, call(COLL_ALLREDUCE, sizes[i].bytes, 1, 0));
        struct step_estimate e = estimate(&s, d, w, NULL);
        const struct step_call *c = &e.phases[0].calls[0];
        assert_int_equal(c->cover, !i ? STEP_COVERED : sizes[i].us > 0 ? STEP_INTERPOLATED : STEP_UNCOVERED);
        assert_near(c->now.us, sizes[i].us, 2);
        assert_true(sizes[i].us <= 0 ||
                    (fabs(c->now.low_us / sizes[i].low - 1) < 0.1 && fabs(c->now.high_us / sizes[i].high - 1) < 0.1));
        workload_free(w);
    }
    env_decisions_free(d);
    arena_free(s.arena);
}

/* A stage of a pipeline waits for the others: what it waits for and computes takes 1 + bubble. */
TEST_CASE(a_bubble_stretches_its_phase)
{
    struct synthetic s;
    struct env_decisions *d = measured(&s, "mpi");
    struct workload *w = workload_of(1000, call(COLL_ALLREDUCE, MIB, 2, 0));
    w->phases[0].bubble = 0.75;
    struct step_estimate e = estimate(&s, d, w, NULL);
    assert_near(e.now.waits.us, 1.75 * 800, 1e-6);
    assert_near(e.now.all.us, 1.75 * 800, 1e-6);
    assert_near(e.compute_us, 1750, 1e-9);
    workload_free(w);
    env_decisions_free(d);
    arena_free(s.arena);
}

static int prepare_group(void **state)
{
    setenv("LC_ALL", "C.UTF-8", 1);
    return 0;
}

TEST_CASES_WITHIN(test_step, prepare_group, NULL)
