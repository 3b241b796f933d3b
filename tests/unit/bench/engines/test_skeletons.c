/* doc/engines/: the skeletons compile, and do what their comments promise, through the same doors as real engines. */
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/results/points.h"
#include "bench/search/bench.h"
#include "doc/engines/document.c"
#include "doc/engines/measure.c"
#include "doc/engines/predict.c"
#include "tests/lib/folder.h"
#include "tests/lib/unit.h"

static int begin(void **state)
{
    strcpy(dir, "/tmp/test_skeletons_XXXXXX");
    arena = arena_new();
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    unlink(at("r.jsonl"));
    unlink(at("skeleton.json"));
    unlink(at("said"));
    rmdir(dir);
    arena_free(arena);
    return 0;
}

/* What an engine measures or predicts of AllReduce at 8 B and 8 KiB. */
static struct bench_results *journal_of(const char *engine, const struct option_group *own)
{
    struct bench_options o;
    struct bench_results *r = NULL;
    struct err e = {0};
    bench_options_default(&o);
    o.engine = engine;
    o.own = own;
    o.results = at("r.jsonl");
    o.collectives = 1u << COLL_ALLREDUCE;
    o.sizes = (struct bench_size_list){2, {8, 8192}};
    o.budget_s = 5;
    o.setup.ranks_per_node = 2;
    if (bench_run(&o, NULL, NULL, NULL, NULL, &r, &e))
        fail_msg("%s", e.text);
    return r;
}

/* Both sizes are there, with the default's time as it was made up, and the call that takes half of it. */
static void assert_halves(const struct bench_results *r, double first_us)
{
    const struct bench_points *p = bench_points_of(r, r->arena);
    assert_int_equal(p->count, 2);
    for (int i = 0; i < 2; i++) {
        const double us = first_us + 1e-3 * (i ? 8192 - 8 : 0);
        const struct bench_candidate *usual = bench_point_default(&p->items[i], BENCH_DEFAULT);
        assert_true(usual->time_us.median > 0.99 * us && usual->time_us.median < 1.01 * us);
        int found = 0;
        for (int k = 0; k < p->items[i].ncandidates; k++) {
            const struct bench_candidate *c = &p->items[i].candidates[k];
            found += !strcmp(c->call.label, "half") && c->time_us.median < 0.6 * us;
        }
        assert_int_equal(found, 1);
    }
}

TEST_CASE(one_that_measures)
{
    struct err e = {0};
    struct option_group *own = bench_engine_groups(0, arena);
    char *argv[] = {"bench", "--skeleton-latency=40", NULL};
    assert_int_equal(option_parse(own, 2, argv, arena, NULL, &e), 2);
    struct bench_results *r = journal_of("skeleton-measure", own);
    assert_halves(r, 40.008);
    bench_results_free(r);
}

TEST_CASE(one_that_predicts)
{
    struct bench_results *r = journal_of("skeleton-predict", NULL);
    assert_halves(r, 10.008);
    bench_results_free(r);
    assert_int_equal(bench_evidence_of("skeleton-predict"), BENCH_PREDICTED);
    assert_null(bench_engine_find("model")); /* which is not in this program, but in journals */
    assert_int_equal(bench_evidence_of("model"), BENCH_PREDICTED);
    assert_string_equal(bench_family_of("model"), BENCH_FAMILY_NCCL);
}

TEST_CASE(one_that_makes_a_document)
{
    struct err e = {0};
    struct bench_setup setup = {.hosts = "a,b"};
    const struct bench_engine *engine = bench_engine_find("skeleton-document");
    struct bench_document d = {
        .setup = &setup, .path = at(engine->documents->survey_file), .out = fopen(at("said"), "w")};
    int made = 0;
    assert_int_equal(engine->documents->check(NULL, NULL, &e), ERR_USAGE);
    assert_int_equal(engine->documents->check(NULL, d.path, &e), 0);
    assert_int_equal(engine->documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 1);
    fclose(d.out);
    assert_string_equal(got("skeleton.json"), "{\"hosts\": \"a,b\"}\n");
    setup.hosts = NULL;
    assert_int_equal(engine->documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 0);
}

static int prepare_group(void **state)
{
    bench_engine_register(&bench_engine_skeleton_measure);
    bench_engine_register(&bench_engine_skeleton_predict);
    bench_engine_register(&bench_engine_skeleton_document);
    return 0;
}

TEST_GROUP(test_skeletons, begin, end, prepare_group, NULL)
