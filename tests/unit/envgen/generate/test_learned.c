/* What jobs have learned: two that agree count, one alone or two that do not are left out, broken files are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "envgen/generate/learned.h"
#include "tests/unit/envgen/scratch.h"

#define HEAD "{\"format\": \"nccltune-results/1\"}\n"

/* A line as tuner/explore writes them; `us` 100 with `beside` is how the job ran. */
static const char *line(struct scratch *s, const char *call, unsigned bytes, int us)
{
    const char *plain =
        "{\"engine\": \"nccl\", \"collective\": \"allreduce\", \"bytes\": %u, \"nodes\": 2, \"ranks\": 16, "
        "\"library\": \"NCCL 2.28.9\", \"launch\": {\"label\": \"default\", \"settings\": {}}, \"call\": "
        "{\"label\": \"%s\", \"settings\": {}}, \"times_us\": [%d, %d, %d]%s, \"round\": 1, \"status\": "
        "\"ok\"}\n";
    return arena_printf(s->arena, plain, bytes, call, us, us + 1, us + 2,
                        strcmp(call, "default") ? ", \"beside_us\": [100, 101, 102]" : "");
}

static void put(struct scratch *s, const char *name, const char *a, const char *b, const char *c)
{
    const char *text = arena_printf(s->arena, HEAD "%s%s%s", a, b, c);
    scratch_write(s, name, text, strlen(text));
}

static int count(const struct bench_results *r, const char *call)
{
    int n = 0;
    for (int i = 0; i < r->count; i++)
        n += !strcmp(r->items[i].call.label, call);
    return n;
}

static void jobs_have_to_agree(void **state)
{
    (void)state;
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_learned done;
    const char *out = scratch_path(&s, "learned.jsonl");
    put(&s, "41.learned.0.jsonl", line(&s, "ring/simple", 4096, 80), line(&s, "tree/ll", 4096, 80),
        line(&s, "default", 4096, 100));
    put(&s, "42.learned.0.jsonl", line(&s, "ring/simple", 4096, 85), line(&s, "tree/ll", 4096, 120),
        line(&s, "default", 4096, 100));
    put(&s, "42.learned.8.jsonl", line(&s, "ring/simple", 8192, 70), line(&s, "ring/simple", 8192, 71),
        line(&s, "default", 8192, 100));
    put(&s, "43.learned.0.jsonl", line(&s, "default", 4096, 100), "", "{broken\n");
    scratch_write(&s, "44.learned.0.jsonl", "no journal", 10);
    put(&s, "unlike.jsonl", line(&s, "tree/simple", 4096, 10), line(&s, "tree/simple", 4096, 10), "");
    assert_int_equal(env_learned_merge(s.dir, out, &done, NULL, &e), 0);
    assert_int_equal(done.jobs, 4);
    assert_int_equal(done.agreed, 1);
    assert_int_equal(done.alone, 2); /* tree/ll, and 8 KiB in one job alone, however many of its ranks say so */
    struct bench_results *r = bench_results_load(out, NULL, &e);
    assert_non_null(r);
    assert_int_equal(count(r, "ring/simple"), 2);
    assert_int_equal(count(r, "default"), 2); /* of the jobs that agree */
    assert_int_equal(r->count, 4);
    bench_results_free(r);
    assert_int_not_equal(env_learned_merge(scratch_path(&s, "none"), out, &done, NULL, &e), 0);
    scratch_free(&s);
}

/* A job that had a table has tried the default, too, and nothing is beside that. */
static const char *ruled(struct scratch *s, const char *call, int us)
{
    const char *plain = line(s, call, 4096, us), *beside = strstr(plain, ", \"beside_us\"");
    return beside ? arena_printf(s->arena, "%.*s%s", (int)(beside - plain), plain, strchr(beside, ']') + 1) : plain;
}

static void jobs_under_a_table_agree_too(void **state)
{
    (void)state;
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_learned done;
    const char *out = scratch_path(&s, "learned.jsonl");
    put(&s, "41.learned.0.jsonl", ruled(&s, "ring/simple", 70), ruled(&s, "tree/ll", 80), ruled(&s, "default", 100));
    put(&s, "42.learned.0.jsonl", ruled(&s, "ring/simple", 75), ruled(&s, "tree/ll", 120), ruled(&s, "default", 100));
    put(&s, "43.learned.0.jsonl", ruled(&s, "ring/simple", 75), "", "");
    assert_int_equal(env_learned_merge(s.dir, out, &done, NULL, &e), 0);
    assert_int_equal(done.agreed, 1);
    assert_int_equal(done.alone, 1);
    struct bench_results *r = bench_results_load(out, NULL, &e);
    assert_non_null(r);
    assert_int_equal(count(r, "ring/simple"), 2);
    assert_int_equal(count(r, "default"), 2);
    assert_int_equal(r->count, 4);
    bench_results_free(r);
    scratch_free(&s);
}

static void nothing_is_a_journal_of_nothing(void **state)
{
    (void)state;
    struct scratch s = scratch_new();
    struct err e = {0};
    struct env_learned done;
    assert_int_equal(env_learned_merge(s.dir, scratch_path(&s, "out.jsonl"), &done, NULL, &e), 0);
    assert_int_equal(done.jobs + done.agreed + done.alone, 0);
    scratch_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_have_to_agree),
        cmocka_unit_test(jobs_under_a_table_agree_too),
        cmocka_unit_test(nothing_is_a_journal_of_nothing),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
