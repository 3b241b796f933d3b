/* NCCL's own choices as explain tells them: for a machine with GPUs, for one without, for shapes that make no sense. */
#include "core/coll.h"
#include "core/json.h"
#include "envgen/explain/explain.h"
#include "envgen/generate/generate.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"

static struct scratch s;

static int set_up(void **state)
{
    struct err e = {0};
    s = scratch_new();
    struct topology *t = machine_topology("dgx-h100", 2, &e);
    int rc = !t || topo_save(t, scratch_path(&s, "topology.json"), &e);
    topo_free(t);
    return rc;
}

static int tear_down(void **state)
{
    scratch_free(&s);
    return 0;
}

static struct env_profile *profile_of(const char *topology)
{
    struct err e = {0};
    struct env_generate g = {.topology = topology,
                             .margin = ENV_MARGIN,
                             .force = 1,
                             .nccl_low = 22809,
                             .nccl_high = 22809,
                             .out = scratch_path(&s, "profile")};
    if (env_generate(&g, NULL, NULL, &e))
        fail_msg("%s", e.text);
    return env_profile_open(g.out, &e);
}

/* What MSCCL makes is said, because no choice of RCCL's counts there. */
TEST_CASE(what_is_not_the_librarys_own)
{
    struct err e = {0};
    struct topology *t = machine_topology("mi300x", 1, &e);
    assert_int_equal(topo_save(t, scratch_path(&s, "amd.json"), &e), 0);
    topo_free(t);
    struct env_profile *p = profile_of(scratch_path(&s, "amd.json"));
    struct explain_model *m = explain_model_new(p, 22105);
    for (int large = 0; large < 2; large++) {
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        explain_model_call(m, COLL_ALLREDUCE, large ? 64 << 20 : 1 << 20, 1, 8, out);
        fclose(out);
        const char *said = strstr(text, "MSCCL's kernels make calls of this size, not RCCL's own");
        assert_int_equal(said == NULL, large);
        free(text);
    }
    explain_model_free(m);
    env_profile_free(p);
}

TEST_CASE(own_choices_of_a_machine)
{
    struct env_profile *p = profile_of(scratch_path(&s, "topology.json"));
    struct explain_model *m = explain_model_new(p, 0);
    assert_true(explain_model_speaks(m));
    cJSON *small = explain_model_json(m, COLL_ALLREDUCE, 1024, 2, 16);
    cJSON *large = explain_model_json(m, COLL_ALLREDUCE, 1 << 30, 2, 16);
    assert_string_equal(json_str(small, "nccl", ""), "2.28.9");
    assert_string_equal(json_str(small, "protocol", ""), "ll");
    assert_string_equal(json_str(large, "protocol", ""), "simple");
    assert_true(json_num(large, "estimate_us", 0) > 100 * json_num(small, "estimate_us", 1e9));
    assert_true(json_int(large, "channels", 0) >= json_int(small, "channels", 99));
    cJSON_Delete(small);
    cJSON_Delete(large);

    struct env_point points[] = {{.bytes = 1024}, {.bytes = 2048}, {.bytes = 1 << 30}};
    struct env_range range = {.points = points, .npoints = 3};
    struct env_shape shape = {.nodes = 2, .ranks = 16};
    const char *text = explain_model_range(m, &shape, COLL_ALLREDUCE, &range);
    const char *comma = strchr(text, ',');
    assert_non_null(comma);
    assert_null(strchr(comma + 1, ',')); /* the two small sizes have one choice, told once */
    explain_model_free(m);

    m = explain_model_new(p, 22105);
    small = explain_model_json(m, COLL_ALLREDUCE, 1024, 2, 16);
    assert_string_equal(json_str(small, "nccl", ""), "2.21.5");
    cJSON_Delete(small);
    explain_model_free(m);
    env_profile_free(p);
}

TEST_CASE(shapes_that_make_no_sense)
{
    static const struct {
        int nodes, ranks;
        const char *why;
    } shapes[] = {{2, 15, "as many ranks on every node"}, {1, 64, ""}, {2000000000, 2000000000, ""}};
    struct env_profile *p = profile_of(scratch_path(&s, "topology.json"));
    struct explain_model *m = explain_model_new(p, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        cJSON *o = explain_model_json(m, COLL_ALLREDUCE, 1024, shapes[i].nodes, shapes[i].ranks);
        assert_null(cJSON_GetObjectItem(o, "algorithm"));
        assert_non_null(strstr(json_str(o, "why", "-"), shapes[i].why));
        cJSON_Delete(o);
    }
    explain_model_free(m);
    env_profile_free(p);
}

/* Where nodes or ranks are left open, GPUs are filled. */
TEST_CASE(the_shape_of_a_question)
{
    static const struct {
        int nodes, ranks, want_nodes, want_ranks;
    } cases[] = {{0, 0, 2, 16}, {5, 0, 5, 40}, {0, 4, 1, 4}, {0, 64, 8, 64}, {3, 6, 3, 6}};
    struct env_profile *p = profile_of(scratch_path(&s, "topology.json"));
    struct explain_model *m = explain_model_new(p, 0);
    const struct env_decisions none = {0};
    struct explain_shape shape;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct env_question q = {.nodes = cases[i].nodes, .ranks = cases[i].ranks};
        assert_int_equal(explain_model_shapes(m, &none, &q, &shape), 1);
        assert_int_equal(shape.nodes, cases[i].want_nodes);
        assert_int_equal(shape.ranks, cases[i].want_ranks);
    }
    const struct env_question endless = {.nodes = INT32_MAX};
    assert_int_equal(explain_model_shapes(m, &none, &endless, &shape), 0);
    explain_model_free(m);
    env_profile_free(p);
}

TEST_CASE(shapes_are_told_once)
{
    struct env_shape shapes[] = {{.engine = "mpi", .nodes = 2, .ranks = 16},
                                 {.engine = "nccl", .nodes = 2, .ranks = 16},
                                 {.engine = "model", .nodes = 2, .ranks = 16},
                                 {.engine = "model", .nodes = 4, .ranks = 16}};
    const struct env_decisions d = {.shapes = shapes, .nshapes = 4};
    const struct env_question q = {0};
    struct env_profile *p = profile_of(scratch_path(&s, "topology.json"));
    struct explain_model *m = explain_model_new(p, 0);
    struct explain_shape told[5];
    assert_int_equal(explain_model_shapes(m, &d, &q, told), 2);
    assert_int_equal(told[0].nodes, 2);
    assert_int_equal(told[1].nodes, 4);
    explain_model_free(m);
    env_profile_free(p);
}

TEST_CASE(without_gpus_nothing_is_said)
{
    struct env_profile *p = profile_of("tests/fixtures/envgen/topology.json");
    struct explain_model *m = explain_model_new(p, 0);
    assert_false(explain_model_speaks(m));
    cJSON *o = explain_model_json(m, COLL_ALLREDUCE, 1024, 1, 8);
    assert_string_equal(json_str(o, "why", ""), "the topology has no GPU");
    cJSON_Delete(o);
    explain_model_free(m);
    env_profile_free(p);
}

TEST_CASES_EACH(test_model, set_up, tear_down)
