/* The model engine from options to a journal, on bundled machines. */
#include <unistd.h>

#include "bench/engines/engines.h"
#include "bench/results/points.h"
#include "bench/search/bench.h"
#include "core/coll.h"
#include "core/json.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static char dir[] = "/tmp/test_engine_model_XXXXXX";
static char path[64];

static int make_dir(void **state)
{
    bench_engine_register(&bench_engine_model);
    return mkdtemp(dir) ? snprintf(path, sizeof path, "%s/r.jsonl", dir) < 0 : -1;
}

static int remove_dir(void **state)
{
    unlink(path);
    return rmdir(dir);
}

static struct bench_options options(void)
{
    struct bench_options o;
    bench_options_default(&o);
    o.engine = "model";
    o.results = path;
    o.max_bytes = 256 << 20;
    o.step_factor = 32;
    return o;
}

static const struct bench_point *point(const struct bench_points *p, int coll, uint64_t bytes, int nodes)
{
    for (int i = 0; i < p->count; i++)
        if (p->items[i].coll == coll && p->items[i].bytes == bytes && p->items[i].nodes == nodes)
            return &p->items[i];
    fail_msg("no point of %d bytes on %d nodes", (int)bytes, nodes);
    return NULL;
}

TEST_CASE(a_journal_of_predictions)
{
    static const int nodes[] = {2, 32};
    struct bench_options o = options();
    struct bench_summary summary;
    struct err e = {0};
    struct topology *t = machine_topology("dgx-h100", 1, &e);
    o.setup.nodes = nodes;
    o.setup.nnodes = 2;
    o.setup.nccl_version = 22809;
    unlink(path);
    assert_int_equal(bench_run(&o, t, NULL, NULL, &summary, NULL, &e), 0);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_int_equal(r->count, summary.measured);
    struct bench_points *points = bench_points_of(r, r->arena);
    const struct bench_point *two = point(points, COLL_ALLREDUCE, 256 << 20, 2),
                             *many = point(points, COLL_ALLREDUCE, 256 << 20, 32);
    assert_string_equal(two->engine, "model");
    assert_string_equal(two->library, "NCCL 2.28.9, predicted");
    assert_int_equal(two->ranks, 16);
    assert_int_equal(many->ranks, 256);
    for (int i = 0; i < two->ncandidates; i++) {
        assert_int_equal(two->candidates[i].time_us.predicted, 1);
        assert_true(two->candidates[i].time_us.low < two->candidates[i].time_us.high);
    }
    /* More nodes take longer, and the band is wider. */
    struct bench_interval x = two->candidates[two->untouched].time_us, y = many->candidates[many->untouched].time_us;
    assert_true(y.median > x.median && y.high / y.low > x.high / x.low);
    assert_true(two->best >= 0 && two->candidates[two->best].time_us.median <= x.median);
    for (int i = 0; i < r->count; i++)
        assert_int_equal(strstr(r->items[i].detail, ", unvalidated") != NULL, r->items[i].nodes == 32);
    bench_results_free(r);
    topo_free(t);
}

/* Without numbers of nodes, as many as the topology has. */
TEST_CASE(nodes_of_the_topology)
{
    struct bench_options o = options();
    struct err e = {0};
    struct topology *t = machine_topology("azure-ndv4", 6, &e);
    unlink(path);
    o.collectives = 1u << COLL_ALLGATHER;
    assert_int_equal(bench_run(&o, t, NULL, NULL, NULL, NULL, &e), 0);
    struct bench_results *r = bench_results_load(path, NULL, &e);
    assert_true(r->count > 0);
    for (int i = 0; i < r->count; i++) {
        assert_int_equal(r->items[i].nodes, 6);
        assert_int_equal(r->items[i].coll, COLL_ALLGATHER);
    }
    bench_results_free(r);
    topo_free(t);
}

static void refused(struct bench_options *o, const struct topology *t, int code, const char *words)
{
    struct err e = {0};
    unlink(path);
    assert_int_equal(bench_run(o, t, NULL, NULL, NULL, NULL, &e), code);
    if (!strstr(e.text, words))
        fail_msg("'%s' is not in '%s'", words, e.text);
    assert_int_not_equal(access(path, F_OK), 0); /* before a journal is made */
}

TEST_CASE(what_cannot_be_predicted)
{
    static const int none = 0, most = 1000000000;
    struct topo_class bare = {.name = "bare"};
    struct topology bad = {.classes = &bare, .nclasses = 1, .source = "a file"};
    struct bench_options o = options();
    struct err e;
    refused(&o, NULL, ERR_USAGE, "needs a topology");
    refused(&o, &bad, ERR_FAILED, "a file: no node has a GPU");
    struct topology *t = machine_topology("dgx-a100", 1, &e);
    o.setup.nnodes = 1;
    o.setup.nodes = &none;
    refused(&o, t, ERR_USAGE, "nodes");
    o.setup.nodes = &most;
    refused(&o, t, ERR_USAGE, "nodes");
    topo_free(t);
}

TEST_CASE(the_plan)
{
    struct bench_options o = options();
    struct err e = {0};
    struct topology *t = machine_topology("dgx-h100", 4, &e);
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    cJSON *plan = bench_plan_json(&o, t, NULL, &e);
    bench_plan_print(plan, out);
    cJSON_Delete(plan);
    fclose(out);
    assert_non_null(strstr(text, "nothing is measured"));
    assert_non_null(strstr(text, "hca=mlx5_0"));
    assert_null(strstr(text, "qps=")); /* the model is silent on it */
    assert_null(strstr(text, "at most"));
    free(text);
    topo_free(t);
}

TEST_CASES_WITHIN(test_engine, make_dir, remove_dir)
