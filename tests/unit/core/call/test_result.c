/* One measurement: what is written reads back the same, what makes no sense is refused by name. */
#include "core/call/result.h"
#include "core/call/shape.h"
#include "core/json.h"
#include "tests/lib/unit.h"

#define HEAD "{\"engine\":\"nccl\",\"collective\":\"allreduce\",\"bytes\":1024,\"nodes\":2,\"ranks\":4,"
#define MIDDLE                                                                                                  \
    "\"library\":\"NCCL 2.28.9\",\"launch\":{\"label\":\"default\"},\"call\":{\"label\":\"ring\",\"settings\":" \
    "{\"NCCL_ALGO\":\"Ring\",\"NCCL_PROTO\":\"LL\"}},"

static int read_line(const char *text, struct arena *a, struct bench_result *r, struct err *e)
{
    cJSON *doc = cJSON_Parse(text);
    if (!doc)
        fail_msg("no JSON: %s", text);
    int rc = bench_result_read(doc, "x.jsonl", 7, a, r, e);
    cJSON_Delete(doc);
    return rc;
}

TEST_CASE(what_is_written_reads_back)
{
    static const char *const lines[] = {
        HEAD MIDDLE "\"round\":3,\"status\":\"ok\",\"times_us\":[12.5,0.125]}",
        HEAD "\"groups\":4," MIDDLE "\"buffers\":\"in place\",\"data\":\"float32\",\"active\":\"\",\"round\":0,"
             "\"status\":\"dropped\",\"times_us\":[1.001],\"beside_us\":[2.002]}",
        HEAD "\"groups\":1048576," MIDDLE "\"round\":0,\"status\":\"ok\",\"times_us\":[1,2,3],\"beside_us\":[4,5]}",
        HEAD MIDDLE "\"buffers\":\"registered\",\"round\":1,\"status\":\"ok\",\"times_us\":[4],\"low_us\":4,"
                    "\"high_us\":4}",
        HEAD MIDDLE "\"round\":1,\"status\":\"ok\",\"times_us\":[4],\"low_us\":3.5,\"high_us\":5,\"doubt\":{\"shared\":"
                    "[0.1,-0.2,0.3,9.9999,0.5,0.6],\"rest\":0.25,\"way\":4,\"detail\":8}}",
        HEAD MIDDLE "\"round\":2147483647,\"status\":\"hung\",\"times_us\":[],\"detail\":\"no answer\"}",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct arena *a = arena_new();
        struct bench_result r;
        struct err e = {0};
        if (read_line(lines[i], a, &r, &e))
            fail_msg("%s: %s", lines[i], e.text);
        assert_int_equal(r.line, 7);
        cJSON *doc = bench_result_json(&r);
        char *text = cJSON_PrintUnformatted(doc);
        assert_string_equal(text, lines[i]);
        free(text);
        cJSON_Delete(doc);
        arena_free(a);
    }
}

TEST_CASE(nonsense_is_refused)
{
    static const struct {
        const char *rest, *why;
    } cases[] = {
        {"\"status\":\"ok\",\"times_us\":[]}", "times_us"},
        {"\"status\":\"ok\"}", "times_us"},
        {"\"status\":\"ok\",\"times_us\":{\"a\":1}}", "times_us"},
        {"\"status\":\"ok\",\"times_us\":[1,0]}", "times_us"},
        {"\"status\":\"ok\",\"times_us\":[1,1e999]}", "times_us"},
        {"\"status\":\"ok\",\"times_us\":[\"1\"]}", "times_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"beside_us\":[1,2]}", "beside_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"beside_us\":{\"a\":1}}", "beside_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"beside_us\":[0]}", "beside_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"beside_us\":[1e999]}", "beside_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"beside_us\":[null]}", "beside_us"},
        {"\"status\":\"fine\",\"times_us\":[1]}", "status"},
        {"\"times_us\":[1]}", "status"},
        {"\"status\":\"ok\",\"times_us\":[1],\"buffers\":\"odd\"}", "buffers"},
        {"\"status\":\"ok\",\"times_us\":[1],\"groups\":0}", "groups"},
        {"\"status\":\"ok\",\"times_us\":[1],\"groups\":1048577}", "groups"},
        {"\"status\":\"ok\",\"times_us\":[1],\"round\":-1}", "round"},
        {"\"status\":\"ok\",\"times_us\":[1],\"round\":2147483648}", "round"},
        {"\"status\":\"ok\",\"times_us\":[1,1],\"low_us\":1,\"high_us\":2}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1.1,\"high_us\":2}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":0.5,\"high_us\":0.9}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"high_us\":2}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1,\"high_us\":1e999}", "low_us"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1,\"high_us\":1,\"doubt\":{\"shared\":[1,2,3,4,5,6,7]}}",
         "doubt"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1,\"high_us\":1,\"doubt\":{\"shared\":[-10]}}", "doubt"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1,\"high_us\":1,\"doubt\":{\"rest\":-0.1}}", "doubt"},
        {"\"status\":\"ok\",\"times_us\":[1],\"low_us\":1,\"high_us\":1,\"doubt\":{\"rest\":10}}", "doubt"},
    };
    static const char *const heads[][2] = {
        {"", "engine"},
        {"\"engine\":\"\",\"library\":\"x\",\"collective\":\"allreduce\",\"bytes\":1,\"nodes\":1,\"ranks\":1,",
         "engine"},
        {"\"engine\":\"mpi\",\"collective\":\"allreduce\",\"bytes\":1,\"nodes\":1,\"ranks\":1,", "library"},
        {"\"engine\":\"mpi\",\"library\":\"x\",\"collective\":\"all\",\"bytes\":1,\"nodes\":1,\"ranks\":1,",
         "collective"},
        {"\"engine\":\"mpi\",\"library\":\"x\",\"collective\":\"allreduce\",\"bytes\":0,\"nodes\":1,\"ranks\":1,",
         "bytes"},
        {"\"engine\":\"mpi\",\"library\":\"x\",\"collective\":\"allreduce\",\"bytes\":1,\"nodes\":0,\"ranks\":1,",
         "nodes"},
        {"\"engine\":\"mpi\",\"library\":\"x\",\"collective\":\"allreduce\",\"bytes\":1,\"nodes\":2,\"ranks\":1,",
         "ranks"},
        {"\"engine\":\"mpi\",\"library\":\"x\",\"collective\":\"allreduce\",\"bytes\":1,\"nodes\":1,\"ranks\":"
         "2147483648,",
         "ranks"},
    };
    static const char tail[] =
        "\"status\":\"failed\",\"launch\":{\"label\":\"x\"},\"call\":{\"label\":\"x\"},\"round\":1";
    struct arena *a = arena_new();
    struct bench_result r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        if (!read_line(arena_printf(a, "%s%s%s", HEAD, MIDDLE, cases[i].rest), a, &r, &e) ||
            !strstr(e.text, cases[i].why) || !strstr(e.text, "x.jsonl:7"))
            fail_msg("%s: %s", cases[i].rest, e.text);
    }
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct err e = {0};
        if (!read_line(arena_printf(a, "{%s%s}", heads[i][0], tail), a, &r, &e) || !strstr(e.text, heads[i][1]))
            fail_msg("%s: %s", heads[i][0], e.text);
    }
    arena_free(a);
}

TEST_CASE(statuses_have_names)
{
    assert_string_equal(bench_status_name(BENCH_OK), "ok");
    assert_string_equal(bench_status_name(BENCH_HUNG), "hung");
    assert_null(bench_status_name(BENCH_STATUS_COUNT));
}

TEST_CASE(buffers_have_names)
{
    for (int i = -1; i <= BENCH_BUFFERS; i++) {
        const char *name = bench_buffers_name(i);
        assert_true((name != NULL) == (i > BENCH_USUAL && i < BENCH_BUFFERS));
        if (name)
            assert_int_equal(bench_buffers_parse(name), i);
        assert_int_equal(bench_buffers_are_told(i), i >= BENCH_GRAPH);
    }
    assert_int_equal(bench_buffers_parse(NULL), BENCH_USUAL);
    assert_int_equal(bench_buffers_parse("of paper"), -1);
}

TEST_CASE(classes_have_settings_of_their_own)
{
    struct arena *a = arena_new();
    assert_null(bench_node_class("NCCL_IB_HCA"));
    assert_string_equal(bench_node_class("NCCL_IB_HCA@class1"), "class1");
    assert_string_equal(bench_plain_name("NCCL_IB_HCA@class1", a), "NCCL_IB_HCA");
    assert_string_equal(bench_plain_name("NCCL_IB_HCA", a), "NCCL_IB_HCA");
    assert_string_equal(bench_local_name("NCCL_IB_HCA", "class1", a), "NCCL_IB_HCA@class1");
    assert_true(bench_is_for("X", NULL));
    assert_true(bench_is_for("X", "class1"));
    assert_true(bench_is_for("X@class1", "class1"));
    assert_false(bench_is_for("X@class1", "class2"));
    assert_false(bench_is_for("X@class1", NULL));
    arena_free(a);
}

TEST_CASES(test_result)
