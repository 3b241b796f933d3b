/* decisions.json: there and back, and what is refused. */
#include "core/json.h"
#include "envgen/profile/decisions.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/scratch.h"
#include "tests/unit/envgen/synthetic.h"

static struct env_decisions *example(struct synthetic *s)
{
    synthetic_add(s, COLL_ALLREDUCE, 8, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, BENCH_DEFAULT, "4", 0, BENCH_HUNG);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib3", BENCH_DEFAULT, 50, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib3", "3", 20, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 8, "ib3", "4", 0, BENCH_HUNG);
    synthetic_add(s, COLL_ALLREDUCE, 128, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 128, "ib3", BENCH_DEFAULT, 50, BENCH_OK);
    synthetic_add(s, COLL_ALLREDUCE, 128, "ib3", "3", 51, BENCH_OK);
    struct env_decisions *d = synthetic_decide(s);
    static struct env_setting settings[] = {
        {"openmpi", "btl_tcp_if_include", "ib3", "measured on host memory", "fast", 0},
        {"openmpi", "coll_tuned_dynamic_rules_filename", "openmpi.rules", "measured on host memory", "rules", 1},
        {"nccl", "NCCL_SOCKET_IFNAME", NULL, "topology", "right as it is", 0},
    };
    d->settings = settings;
    d->nsettings = 3;
    d->topology = "abc";
    return d;
}

TEST_CASE(there_and_back)
{
    struct scratch dir = scratch_new();
    struct synthetic s = synthetic_new();
    struct env_decisions *d = example(&s);
    struct err e = {0};
    const char *path = scratch_path(&dir, "decisions.json");
    d->today = "jobs take 1.3 times that";
    cJSON *doc = env_decisions_json(d);
    char *first = cJSON_Print(doc);
    assert_int_equal(json_save(doc, path, &e), 0);

    struct env_decisions *back = env_decisions_load(path, &e);
    assert_non_null(back);
    doc = env_decisions_json(back);
    char *second = cJSON_Print(doc);
    cJSON_Delete(doc);
    assert_string_equal(first, second);
    cJSON_free(first);
    cJSON_free(second);

    assert_string_equal(back->today, "jobs take 1.3 times that");
    const struct env_shape *shape = &back->shapes[0];
    assert_int_equal(shape->chosen, 1);
    assert_string_equal(shape->launches[1].knobs.settings[0].name, "btl_tcp_if_include");
    assert_int_equal(shape->colls[0].nranges, 2);
    assert_true(shape->colls[0].ranges[1].max_bytes == ENV_OPEN);
    assert_int_equal(shape->colls[0].ranges[0].points[0].options[2].status, BENCH_HUNG);
    assert_null(back->settings[2].value);
    assert_int_equal(back->settings[1].in_profile, 1);
    env_decisions_free(back);
    env_decisions_free(d);
    arena_free(s.arena);
    scratch_free(&dir);
}

/* Replaces the first `from` of the example's document and expects an error that names the file. */
static void broken(const char *from, const char *to)
{
    struct scratch dir = scratch_new();
    struct synthetic s = synthetic_new();
    struct env_decisions *d = example(&s);
    struct err e = {0};
    cJSON *doc = env_decisions_json(d);
    char *text = cJSON_PrintUnformatted(doc), *at = strstr(text, from);
    assert_non_null(at);
    const char *changed = arena_printf(dir.arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    const char *path = scratch_write(&dir, "decisions.json", changed, strlen(changed));
    assert_null(env_decisions_load(path, &e));
    assert_int_equal(e.code, ERR_FAILED);
    assert_non_null(strstr(e.text, "decisions.json"));
    assert_non_null(strstr(e.text, "xpected"));
    cJSON_free(text);
    cJSON_Delete(doc);
    env_decisions_free(d);
    arena_free(s.arena);
    scratch_free(&dir);
}

TEST_CASE(what_does_not_fit_together_is_refused)
{
    static const char *const changes[][2] = {
        {"nccltune-decisions/1", "nccltune-topology/1"},
        {"\"chosen\":1", "\"chosen\":7"},
        {"\"chosen\":1", "\"chosen\":-2"},
        {"\"chosen\":1", "\"chosen\":0.5e99"},
        {"\"default\":0", "\"default\":3"},
        {"\"launches\":[", "\"launches\":[1,"},
        {"\"shapes\":[", "\"shapes\":{},\"x\":["},
        {"\"ranges\":[", "\"x\":["},
        {"\"min_bytes\":0", "\"min_bytes\":-1"},
        {"\"min_bytes\":0", "\"min_bytes\":1e300"},
        {"\"min_bytes\":0", "\"min_bytes\":4000"},
        {"\"ranks\":4", "\"ranks\":0"},
        {"\"nodes\":4", "\"nodes\":\"4\""},
        {"\"status\":\"hung\"", "\"status\":\"happy\""},
        {"\"collective\":\"allreduce\"", "\"collective\":\"allreduces\""},
        {"\"label\":\"ib3\"", "\"label\":\"\""},
        {"\"settings\":{\"btl_tcp_if_include\":\"ib3\"}", "\"settings\":{\"btl_tcp_if_include\":3}"},
        {"\"name\":\"btl_tcp_if_include\"", "\"name\":7"},
        {"\"bytes\":8", "\"bytes\":null"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        broken(changes[i][0], changes[i][1]);
}

TEST_CASE(no_document_at_all)
{
    static const char *const texts[] = {
        "",       "{", "[]", "null", "{\"format\":\"nccltune-decisions/2\"}", "{\"format\":\"nccltune-decisions/1\"}",

        "\177ELF"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct scratch dir = scratch_new();
        struct err e = {0};
        const char *path = scratch_write(&dir, "decisions.json", texts[i], strlen(texts[i]));
        assert_null(env_decisions_load(path, &e));
        assert_non_null(strstr(e.text, "decisions.json"));
        scratch_free(&dir);
    }
}

TEST_CASE(a_hand_written_file)
{
    struct err e = {0};
    struct env_decisions *d = env_decisions_load("tests/fixtures/envgen/decisions.json", &e);
    assert_non_null(d);
    const struct env_range *r = &d->shapes[0].colls[0].ranges[1];
    assert_string_equal(r->call.settings[0].value, "4");
    assert_int_equal(r->points[0].chosen, 1);
    assert_int_equal(r->points[0].options[2].status, BENCH_HUNG);
    assert_int_equal(r->points[0].options[2].time_us.n, 0);
    env_decisions_free(d);
}

TEST_CASES(test_decisions)
