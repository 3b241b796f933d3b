/* envgen/explain/call.c: which rules of tuner.csv a call meets, and which of them are only told. */
#include "core/coll.h"
#include "core/json.h"
#include "envgen/explain/explain_internal.h"
#include "tests/lib/unit.h"

#define MIB (UINT64_C(1) << 20)

static const struct bench_setting ring[] = {{"algorithm", "ring"}, {"protocol", "simple"}, {"channels", "8"}};
static const struct bench_setting tree[] = {{"algorithm", "tree"}, {"protocol", "ll128"}};

static struct env_profile profile;

/* Measured on 2 nodes: ring from 1 to 16 MiB. Predicted on 4: tree for all sizes. */
static int set_up(void **state)
{
    profile = (struct env_profile){.arena = arena_new(), .decisions = env_decisions_new(ENV_MARGIN)};
    struct arena *a = profile.arena;
    struct env_range measured = {.min_bytes = MIB, .max_bytes = 16 * MIB, .call = {"ring", ring, 3}, .why = "faster"};
    struct env_range predicted = {.max_bytes = ENV_OPEN, .call = {"tree", tree, 2}, .why = "by the model"};
    struct env_coll *colls = arena_alloc(a, 2 * sizeof *colls);
    struct env_range *ranges = arena_alloc(a, 2 * sizeof *ranges);
    struct env_shape *shapes = arena_alloc(a, 2 * sizeof *shapes);
    ranges[0] = measured;
    ranges[1] = predicted;
    for (int i = 0; i < 2; i++)
        colls[i] = (struct env_coll){.coll = COLL_ALLREDUCE, .ranges = &ranges[i], .nranges = 1};
    shapes[0] = (struct env_shape){
        .engine = "nccl", .library = "NCCL 2.28.9", .nodes = 2, .ranks = 16, .colls = &colls[0], .ncolls = 1};
    shapes[1] = (struct env_shape){
        .engine = "model", .library = "NCCL 2.28.9", .nodes = 4, .ranks = 32, .colls = &colls[1], .ncolls = 1};
    profile.decisions->shapes = shapes;
    profile.decisions->nshapes = 2;
    return 0;
}

static int tear_down(void **state)
{
    env_decisions_free(profile.decisions);
    arena_free(profile.arena);
    return 0;
}

/* What is printed for a call; `*rules` is what the function says it printed. */
static const char *ask(uint64_t bytes, int nodes, int *rules)
{
    struct env_question q = {.coll = COLL_ALLREDUCE, .bytes = bytes, .nodes = nodes};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    *rules = explain_rules(&profile, &q, out);
    fclose(out);
    const char *copy = arena_strdup(profile.arena, text);
    free(text);
    return copy;
}

TEST_CASE(rows_of_a_call)
{
    static const struct {
        uint64_t bytes;
        int nodes, rules;
    } cases[] = {{MIB, 2, 1}, {16 * MIB, 2, 1}, {MIB - 1, 2, 0}, {16 * MIB + 1, 2, 0},
                 {MIB, 3, 0}, {MIB, 1, 0},      {1, 4, 1},       {UINT64_MAX / 2, 4, 1},
                 {MIB, 5, 0}, {MIB, 0, 2},      {32 * MIB, 0, 1}};
    int rules;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = ask(cases[i].bytes, cases[i].nodes, &rules);
        if (rules != cases[i].rules)
            fail_msg("%llu bytes on %d nodes meet %d rules:\n%s", (unsigned long long)cases[i].bytes, cases[i].nodes,
                     rules, text);
    }
    assert_non_null(strstr(ask(MIB, 2, &rules), "tuner.csv: algorithm ring, protocol simple, 8 channels"));
}

TEST_CASE(predictions_are_written_where_asked_for)
{
    struct env_question q = {.coll = COLL_ALLREDUCE, .bytes = MIB, .nodes = 4};
    int rules;
    for (int asked = 0; asked < 2; asked++) {
        profile.decisions->predicted = asked;
        const char *said = asked ? "  tuner.csv: algorithm tree" : "  not written: algorithm tree";
        assert_non_null(strstr(ask(MIB, 4, &rules), said));
        cJSON *array = explain_rules_json(&profile, &q), *rule = cJSON_GetArrayItem(array, 0);
        assert_int_equal(cJSON_GetArraySize(array), 1);
        assert_string_equal(json_str(rule, "basis", ""), "predicted");
        assert_string_equal(json_str(rule, "protocol", ""), "ll128");
        assert_int_equal(json_bool(rule, "written", -1), asked);
        cJSON_Delete(array);
    }
}

TEST_CASES_EACH(test_table_rules, set_up, tear_down)
