/* Requests and answers there and back; and what is neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/launch/bench_protocol.h"
#include "core/coll.h"
#include "tests/lib/near.h"

static void requests_there_and_back(void **state)
{
    (void)state;
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

static void answers_there_and_back(void **state)
{
    (void)state;
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

static void refuses_everything_else(void **state)
{
    (void)state;
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

static void a_request_too_long_for_a_line(void **state)
{
    (void)state;
    static const struct bench_setting setting = {"coll_tuned_allreduce_algorithm", "4"};
    static const struct bench_knobs knobs = {.label = "x", .settings = &setting, .nsettings = 1};
    static struct bench_shot shots[4000];
    for (int i = 0; i < 4000; i++)
        shots[i].knobs = &knobs;
    struct bench_batch b = {.coll = COLL_ALLREDUCE, .bytes = 8, .samples = 1, .shots = shots, .nshots = 4000};
    assert_null(protocol_request_print(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_there_and_back),
        cmocka_unit_test(answers_there_and_back),
        cmocka_unit_test(refuses_everything_else),
        cmocka_unit_test(a_request_too_long_for_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
