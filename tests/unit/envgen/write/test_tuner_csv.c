/* tuner.csv, read back by the reader that the plugin uses. */
#include "envgen/write/write.h"
#include "tests/lib/unit.h"
#include "tests/unit/envgen/synthetic.h"
#include "tuner/table/table.h"

static int write_csv(struct synthetic *s, struct tuner_table *t, struct err *e)
{
    struct env_decisions *d = synthetic_decide(s);
    assert_non_null(d);
    d->topology = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    struct env_writing w = {.decisions = d, .dir = "/profile", .scratch = s->arena};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    int rc = env_writer_of("tuner.csv")->write(&w, out, e);
    fclose(out);
    if (!rc) {
        assert_int_equal(tuner_table_parse(t, text, bytes, NULL, NULL), 0);
        assert_int_equal(t->broken, 0);
        assert_non_null(strstr(text, "# topology: sha256:0123456789abcdef"));
        assert_memory_equal(text, "# nccltune-tuner/1\n# tool: nccltune ", 36);
    }
    free(text);
    env_decisions_free(d);
    return rc;
}

TEST_CASE(host_memory_results_give_no_rules)
{
    struct synthetic s = synthetic_new();
    struct tuner_table t = {0};
    struct err e = {0};
    synthetic_add(&s, COLL_ALLREDUCE, 8, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 8, BENCH_DEFAULT, "4", 20, BENCH_OK);
    assert_int_equal(write_csv(&s, &t, &e), 0);
    assert_int_equal(t.count, 0);
    assert_int_equal(t.nccl_given, 0);
    tuner_table_free(&t);
    arena_free(s.arena);
}

/* Two sizes of NCCL results; the second one's call has these settings. */
static struct synthetic nccl_results(struct bench_setting *settings, int n)
{
    struct synthetic s = synthetic_new();
    s.engine = "nccl";
    s.library = "NCCL 2.27.5";
    s.nodes = 2;
    s.ranks = 16;
    synthetic_add(&s, COLL_ALLREDUCE, 1024, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 4096, BENCH_DEFAULT, BENCH_DEFAULT, 100, BENCH_OK);
    synthetic_add(&s, COLL_ALLREDUCE, 4096, BENCH_DEFAULT, "x", 50, BENCH_OK);
    s.points.items[1].candidates[1].call = (struct bench_knobs){"x", settings, n};
    return s;
}

TEST_CASE(nccl_results_give_rules)
{
    struct bench_setting settings[] = {
        {"algorithm", "NVLSTree"}, {"protocol", "simple"}, {"channels", "16"}, {"chunk_bytes", "65536"}};
    struct synthetic s = nccl_results(settings, 4);
    struct tuner_table t = {0};
    struct err e = {0};
    assert_int_equal(write_csv(&s, &t, &e), 0);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.nccl_count, 1);
    assert_int_equal(t.nccl[0].major, 2);
    assert_int_equal(t.nccl[0].minor, 27);
    const struct tuner_rule *r = t.rules;
    if (!r) /* cmocka's assertions do not end a function in the eyes of static analysis */
        return;
    assert_int_equal(r->coll, COLL_ALLREDUCE);
    assert_int_equal(r->min_bytes, 4096);
    assert_int_equal(r->max_bytes, 4096);
    assert_int_equal(r->algo, ALGO_NVLS_TREE);
    assert_int_equal(r->proto, PROTO_SIMPLE);
    assert_int_equal(r->channels, 16);
    assert_int_equal(r->chunk_bytes, 65536);
    assert_int_equal(r->nodes.low, 2);
    assert_int_equal(r->nodes.high, 2);
    assert_int_equal(r->ranks.low, 16);
    assert_int_equal(r->ranks.high, 16);
    tuner_table_free(&t);
    arena_free(s.arena);
}

TEST_CASE(what_a_table_cannot_say_is_refused)
{
    static const struct bench_setting bad[] = {
        {"algorithm", "butterfly"}, {"protocol", "LL256"}, {"channels", "0"},       {"channels", "65"},
        {"channels", "2\nreduce,"}, {"NCCL_ALGO", "ring"}, {"chunk_bytes", "4096"}, {"algorithm", ""},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench_setting settings[] = {bad[i]};
        struct synthetic s = nccl_results(settings, 1);
        struct tuner_table t = {0};
        struct err e = {0};
        assert_int_equal(write_csv(&s, &t, &e), ERR_FAILED);
        assert_true(*e.text);
        arena_free(s.arena);
    }
}

TEST_CASE(an_unknown_nccl_version_is_refused)
{
    struct bench_setting settings[] = {{"algorithm", "ring"}};
    struct synthetic s = nccl_results(settings, 1);
    struct tuner_table t = {0};
    struct err e = {0};
    for (int i = 0; i < s.points.count; i++)
        s.points.items[i].library = "NCCL of today";
    assert_int_equal(write_csv(&s, &t, &e), ERR_FAILED);
    arena_free(s.arena);
}

TEST_CASES(test_tuner_csv)
