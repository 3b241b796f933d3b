/* Requests and answers there and back, and what is neither; how many calls make a sample. */
#include "bench/launch/launch_internal.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

TEST_CASE(requests_there_and_back)
{
    static const struct bench_setting settings[] = {{"coll_tuned_bcast_algorithm", "3"},
                                                    {"coll_tuned_bcast_algorithm_segmentsize", "65536"}};
    static const struct bench_knobs plain = {.label = BENCH_DEFAULT},
                                    pipeline = {.label = "p", .settings = settings, .nsettings = 2};
    const struct bench_shot shots[] = {{.knobs = &plain, .iterations = 0}, {.knobs = &pipeline, .iterations = 7}};
    const struct bench_batch b = {.coll = COLL_BROADCAST,
                                  .bytes = 1ull << 33,
                                  .samples = 3,
                                  .check = 1,
                                  .shots = shots,
                                  .nshots = 2,
                                  .shape = {2, 4, 3}};
    char *line = protocol_request_print(&b);
    assert_non_null(line);
    assert_true(line[strlen(line) - 1] == '\n');
    struct arena *a = arena_new();
    struct bench_batch c;
    struct err e;
    assert_int_equal(protocol_request_parse(line, strlen(line), a, &c, &e), 0);
    assert_int_equal(c.coll, COLL_BROADCAST);
    assert_true(c.bytes == 1ull << 33);
    assert_int_equal(c.samples, 3);
    assert_true(bench_shape_same(&c.shape, &b.shape));
    assert_int_equal(c.check, 1);
    assert_int_equal(c.nshots, 2);
    assert_int_equal(c.shots[0].knobs->nsettings, 0);
    assert_int_equal(c.shots[1].iterations, 7);
    assert_int_equal(c.shots[1].knobs->nsettings, 2);
    assert_string_equal(c.shots[1].knobs->settings[1].name, "coll_tuned_bcast_algorithm_segmentsize");
    assert_string_equal(c.shots[1].knobs->settings[1].value, "65536");
    free(line);
    arena_free(a);
}

TEST_CASE(answers_there_and_back)
{
    const struct protocol_answer said[] = {
        {.kind = PROTOCOL_HELLO, .nodes = 2, .ranks = 16, .text = "Open MPI 4.1.4"},
        {.kind = PROTOCOL_SAMPLE, .call = 3, .status = BENCH_OK, .us = 231.4},
        {.kind = PROTOCOL_SAMPLE, .call = 1, .status = BENCH_WRONG, .text = "rank 1: \"5\"\nnot 6"},
        {.kind = PROTOCOL_SAMPLE, .call = 2, .status = BENCH_FAILED, .text = "refused"},
        {.kind = PROTOCOL_DONE},
        {.kind = PROTOCOL_ERROR, .text = "no more"},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        struct protocol_answer heard;
        struct err e;
        char *line = protocol_answer_print(&said[i]);
        assert_non_null(line);
        assert_int_equal(strcspn(line, "\n"), strlen(line) - 1);
        assert_int_equal(protocol_answer_parse(line, strlen(line), &heard, &e), 0);
        assert_int_equal(heard.kind, said[i].kind);
        assert_int_equal(heard.nodes, said[i].nodes);
        assert_int_equal(heard.ranks, said[i].ranks);
        assert_int_equal(heard.call, said[i].call);
        assert_int_equal(heard.status, said[i].status);
        if (said[i].us > 0)
            assert_near(heard.us, said[i].us, 1e-9);
        assert_string_equal(heard.text, said[i].text);
        free(line);
    }
}

TEST_CASE(refuses_everything_else)
{
    static const char *const answers[] = {
        "",
        "hello",
        "{}",
        "[]",
        "{\"call\": 0}",
        "{\"call\": -1, \"us\": 1}",
        "{\"call\": 0, \"us\": 0}",
        "{\"call\": 0, \"us\": -4}",
        "{\"call\": 0, \"status\": \"ok\"}",
        "{\"call\": 1e99, \"us\": 4}",
        "{\"hello\": {\"nodes\": 2, \"ranks\": 1, \"library\": \"x\"}}",
        "{\"hello\": {\"nodes\": 0, \"ranks\": 0, \"library\": \"x\"}}",
        "{\"hello\": {\"nodes\": 1, \"ranks\": 2}}",
        "{\"done\": false}",
    };
    static const char *const requests[] = {
        "",
        "{}",
        "{\"collective\": \"allreduce\", \"bytes\": 8, \"samples\": 1}",
        "{\"collective\": \"allreduce\", \"bytes\": 8, \"samples\": 1, \"calls\": []}",
        "{\"collective\": \"allreduce\", \"bytes\": 8, \"samples\": 0, \"calls\": [{\"iterations\": 1}]}",
        "{\"collective\": \"gather\", \"bytes\": 8, \"samples\": 1, \"calls\": [{\"iterations\": 1}]}",
        "{\"collective\": \"allreduce\", \"bytes\": 0, \"samples\": 1, \"calls\": [{\"iterations\": 1}]}",
        "{\"collective\": \"allreduce\", \"bytes\": 8, \"samples\": 1, \"calls\": [{\"iterations\": -1}]}",
        "{\"collective\":\"reduce\",\"bytes\":8,\"samples\":1,\"calls\":[{\"iterations\":1,\"settings\":{\"a\":4}}]}",
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        struct protocol_answer w;
        struct err e = {0};
        assert_int_equal(protocol_answer_parse(answers[i], strlen(answers[i]), &w, &e), ERR_FAILED);
        assert_true(*e.text);
    }
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        struct bench_batch b;
        struct err e = {0};
        assert_int_equal(protocol_request_parse(requests[i], strlen(requests[i]), a, &b, &e), ERR_FAILED);
        assert_true(*e.text);
    }
    static const char least[] =
        "{\"collective\": \"broadcast\", \"bytes\": 1, \"samples\": 1, \"calls\": [{\"iterations\": 0}]}";
    struct bench_batch b;
    struct err e = {0};
    assert_int_equal(protocol_request_parse(least, strlen(least), a, &b, &e), 0);
    assert_int_equal(b.samples, 1);
    arena_free(a);
}

TEST_CASE(a_request_too_long_for_a_line)
{
    static const struct bench_setting setting = {"coll_tuned_allreduce_algorithm", "4"};
    static const struct bench_knobs knobs = {.label = "x", .settings = &setting, .nsettings = 1};
    static struct bench_shot shots[4000];
    for (int i = 0; i < 4000; i++)
        shots[i].knobs = &knobs;
    struct bench_batch b = {.coll = COLL_ALLREDUCE, .bytes = 8, .samples = 1, .shots = shots, .nshots = 4000};
    assert_null(protocol_request_print(&b));
}

#define NODES  "request: group.nodes: expected a whole number from 1 to 2147483647"
#define RANKS  "request: group.ranks: expected "
#define OTHERS "request: group.others: expected a whole number from 0 to 1048575"

/* What is just within the bounds of a request, and just outside. */
TEST_CASE(bounds_of_requests)
{
    static const struct {
        const char *group, *samples, *iterations, *why;
    } rows[] = {
        {"", "2147483647", "2147483647", NULL},
        {"", "2147483648", "1", "request: samples: expected a whole number from 1 to 2147483647"},
        {"", "1", "2147483648", "request: calls[0].iterations: expected a whole number from 0 to 2147483647"},
        {"{\"nodes\":1,\"ranks\":1}", "1", "1", NULL},
        {"{\"nodes\":2,\"ranks\":2,\"others\":1048575}", "1", "1", NULL},
        {"{\"nodes\":2,\"ranks\":1048576,\"others\":0}", "1", "1", NULL},
        {"{\"nodes\":2,\"ranks\":1048577}", "1", "1", RANKS "a whole number from 1 to 1048576"},
        {"{\"nodes\":2,\"ranks\":1}", "1", "1", RANKS "at least as many as \"nodes\""},
        {"{\"nodes\":0,\"ranks\":1}", "1", "1", NODES},
        {"{\"nodes\":1,\"ranks\":1,\"others\":1048576}", "1", "1", OTHERS},
        {"{\"nodes\":1,\"ranks\":1,\"others\":-1}", "1", "1", OTHERS},
        {"{\"ranks\":1}", "1", "1", NODES},
        {"{\"nodes\":1}", "1", "1", RANKS "a whole number from 1 to 1048576"},
        {"{}", "1", "1", NODES},
    };
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bench_batch b;
        struct err e = {0};
        const char *text = arena_printf(
            a, "{\"collective\":\"broadcast\",\"bytes\":1,\"samples\":%s,%s%s%s\"calls\":[{\"iterations\":%s}]}",
            rows[i].samples, *rows[i].group ? "\"group\":" : "", rows[i].group, *rows[i].group ? "," : "",
            rows[i].iterations);
        int rc = protocol_request_parse(text, strlen(text), a, &b, &e);
        if (rc != (rows[i].why ? ERR_FAILED : 0) || strcmp(e.text, rows[i].why ? rows[i].why : "") != 0)
            fail_msg("%s: %d, %s", text, rc, e.text);
        assert_true(i != 3 || !b.shape.others);
        if (!rc)
            assert_true((b.shape.nodes != 0) == (*rows[i].group != 0) && b.nshots == 1 &&
                        b.samples == strtol(rows[i].samples, NULL, 10) &&
                        b.shots[0].iterations == strtol(rows[i].iterations, NULL, 10));
    }
    arena_free(a);
}

TEST_CASE(bounds_of_answers)
{
    static const char *const right[] = {"{\"call\":2147483647,\"us\":1}",
                                        "{\"hello\":{\"library\":\"x\",\"nodes\":1,\"ranks\":1}}",
                                        "{\"hello\":{\"library\":\"x\",\"nodes\":7,\"ranks\":2147483647}}"};
    static const char *const wrong[] = {"{\"call\":2147483648,\"us\":1}", "{\"call\":0,\"us\":1e999}",
                                        "{\"hello\":{\"library\":\"x\",\"nodes\":1,\"ranks\":2147483648}}",
                                        "{\"call\":1,\"status\":\"hung\"}"};
    struct protocol_answer w;
    struct err e = {0};
    char want[400], line[400];
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(protocol_answer_parse(right[i], strlen(right[i]), &w, &e), 0);
    assert_true(w.nodes == 7 && w.ranks == 2147483647);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(protocol_answer_parse(wrong[i], strlen(wrong[i]), &w, &e), ERR_FAILED);
        snprintf(want, sizeof want, "worker: expected an answer, found: %s", wrong[i]);
        assert_string_equal(e.text, want);
    }
    for (int length = 199; length <= 201; length++) { /* as much of a line as helps */
        snprintf(line, sizeof line, "{\"x\":\"%0*d\"}", length - 8, 0);
        assert_int_equal(strlen(line), length);
        assert_int_equal(protocol_answer_parse(line, strlen(line), &w, &e), ERR_FAILED);
        snprintf(want, sizeof want, "worker: expected an answer, found: %.200s", line);
        assert_string_equal(e.text, want);
    }
}

/* As texts, which another version of the program may read. */
TEST_CASE(what_is_said)
{
    static const struct bench_setting setting = {"a", "4"};
    static const struct bench_knobs plain = {.label = "x"},
                                    knobs = {.label = "y", .settings = &setting, .nsettings = 1};
    static const struct bench_shot shots[] = {{.knobs = &plain}, {.knobs = &knobs, .iterations = 7}};
    struct bench_batch b = {.coll = COLL_BROADCAST, .bytes = 24, .samples = 3, .shots = shots, .nshots = 2};
    static const struct {
        struct protocol_answer said;
        const char *text;
    } rows[] = {{{.kind = PROTOCOL_SAMPLE, .call = 2, .us = 1.5}, "{\"call\":2,\"us\":1.5}\n"},
                {{.kind = PROTOCOL_SAMPLE, .us = 2}, "{\"call\":0,\"us\":2}\n"},
                {{.kind = PROTOCOL_SAMPLE, .status = BENCH_WRONG, .text = "so"},
                 "{\"call\":0,\"status\":\"wrong\",\"detail\":\"so\"}\n"},
                {{.kind = PROTOCOL_HELLO, .nodes = 2, .ranks = 4, .text = "MPI"},
                 "{\"hello\":{\"library\":\"MPI\",\"nodes\":2,\"ranks\":4}}\n"},
                {{.kind = PROTOCOL_DONE}, "{\"done\":true}\n"},
                {{.kind = PROTOCOL_ERROR, .text = "no"}, "{\"error\":\"no\"}\n"}};
    char *line = protocol_request_print(&b);
    assert_string_equal(line, "{\"collective\":\"broadcast\",\"bytes\":24,\"samples\":3,\"check\":false,\"calls\":[{"
                              "\"settings\":{},\"iterations\":0},{\"settings\":{\"a\":\"4\"},\"iterations\":7}]}\n");
    free(line);
    b = (struct bench_batch){.coll = COLL_REDUCE, .check = 1, .shape = {2, 4, 3}};
    line = protocol_request_print(&b);
    assert_string_equal(line, "{\"collective\":\"reduce\",\"bytes\":0,\"samples\":0,\"check\":true,\"group\":{"
                              "\"nodes\":2,\"ranks\":4,\"others\":3},\"calls\":[]}\n");
    free(line);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        line = protocol_answer_print(&rows[i].said);
        assert_string_equal(line, rows[i].text);
        free(line);
    }
}

/* The longest request that there is, and one longer by a letter. */
TEST_CASE(a_request_as_long_as_a_line)
{
    static char value[PROTOCOL_LINE];
    struct bench_setting setting = {"a", value};
    const struct bench_knobs knobs = {.label = "x", .settings = &setting, .nsettings = 1};
    const struct bench_shot shot = {.knobs = &knobs};
    const struct bench_batch b = {.coll = COLL_ALLREDUCE, .bytes = 8, .samples = 1, .shots = &shot, .nshots = 1};
    char *line = protocol_request_print(&b);
    size_t rest = PROTOCOL_LINE - 1 - strlen(line);
    free(line);
    memset(value, '1', rest);
    line = protocol_request_print(&b);
    assert_non_null(line);
    assert_int_equal(strlen(line), PROTOCOL_LINE - 1);
    free(line);
    value[rest] = '1';
    assert_null(protocol_request_print(&b));
}

static const struct {
    struct bench_sampling s;
    double us, sample_us;
    int calls;
} samples[] = {
    {{0, 0, 0}, 0, 200, 100000},        {{0, 0, 0}, -1, 200, 100000},      {{0, 0, 0}, 0.002, 200, 100000},
    {{0, 0, 0}, 0.004, 200, 50000},     {{0, 0, 0}, 1, 200, 200},          {{0, 0, 0}, 150, 300, 2},
    {{0, 0, 0}, 200, 200, 1},           {{0, 0, 0}, 201, 201, 1},          {{-5, 0, 0}, 100, 200, 2},
    {{1000, 0, 0}, 0.01, 1000, 100000}, {{1000, 0, 0}, 0.02, 1000, 50000}, {{1000, 0, 0}, 0, 1000, 100000},
    {{1000, 5000, 10}, 1, 1000, 1000},  {{1000, 5000, 10}, 100, 1000, 10}, {{1000, 5000, 10}, 99, 1089, 11},
    {{1000, 5000, 10}, 300, 3000, 10},  {{1000, 5000, 10}, 500, 5000, 10}, {{1000, 5000, 10}, 501, 501 * 9, 9},
    {{1000, 5000, 10}, 2500, 5000, 2},  {{1000, 5000, 10}, 5000, 5000, 1}, {{1000, 5000, 10}, 5001, 5001, 1},
    {{1000, 5000, 0}, 300, 1200, 4},
};

TEST_CASE(calls_fill_a_sample)
{
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        int calls = bench_sample_calls(&samples[i].s, samples[i].us);
        double us = bench_sample_us(&samples[i].s, samples[i].us);
        if (calls != samples[i].calls || fabs(us - samples[i].sample_us) > 1e-6)
            fail_msg("row %zu: %d calls, %g us", i, calls, us);
    }
    assert_int_equal(bench_sample_calls(&samples[0].s, NAN), 100000);
}

TEST_CASES(test_bench_protocol)
