/* envgen/predict/engine.c asked directly: what it plans and predicts, held as a whole against
 * tests/fixtures/bench/model-engine.txt. */
#include "bench/candidates/candidates.h"
#include "bench/candidates/engine.h"
#include "core/coll.h"
#include "envgen/predict/predict.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

static FILE *out;

static void print_prediction(struct bench_plan *p, const struct known_place *at, const struct bench_knobs *launch,
                             const struct bench_knobs *call)
{
    struct bench_prediction g = {.us = -1};
    fprintf(out, "  %s %llu on %d x %d, %d others, %s, %s: ", coll_name(at->coll), (unsigned long long)at->bytes,
            at->nodes, at->ranks, at->others, launch->label, call->label);
    if (bench_engine_model.predicts->predict(p, at, launch, call, &g)) {
        fprintf(out, "none\n");
        assert_true(g.us < 0);
        return;
    }
    fprintf(out, "%.3g us, %.3g to %.3g, %s", g.us, g.low_us, g.high_us, g.detail);
    fputc('\n', out);
}

static const struct bench_knobs *call_named(const struct bench_plan *p, int coll, const char *label)
{
    for (int i = 0; i < p->ncalls; i++)
        if (p->calls[i].coll == coll && !strcmp(p->calls[i].knobs.label, label))
            return &p->calls[i].knobs;
    fail_msg("no call %s", label);
    return NULL;
}

/* Whole machines, groups of them; launches twice, so that none is taken for another. */
static void print_predictions(struct bench_plan *p)
{
    static const struct bench_setting chunk[] = {
        {NCCL_SET_ALGO, "ring"}, {NCCL_SET_PROTO, "simple"}, {NCCL_SET_CHANNELS, "4"}, {NCCL_SET_CHUNK, "4096"}};
    static const struct bench_knobs cut = {"ring/simple/4ch/4K", chunk, 4};
    int n = p->nodes[0], whole = n * p->ranks_per_node;
    const struct bench_knobs *ring = call_named(p, COLL_ALLREDUCE, "ring/simple"),
                             *usual = call_named(p, COLL_ALLREDUCE, BENCH_DEFAULT),
                             *tree = call_named(p, COLL_ALLREDUCE, "tree/ll");
    const struct known_place places[] = {
        {.coll = COLL_ALLREDUCE, .bytes = 1024, .nodes = n, .ranks = whole},
        {.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = n, .ranks = whole},
        {.coll = COLL_ALLTOALL, .bytes = 64 << 20, .nodes = n, .ranks = whole},
        {.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = 1, .ranks = 2},
        {.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = 1, .ranks = 2, .others = 1},
        {.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = n, .ranks = n, .others = 1},
        {.coll = COLL_ALLREDUCE, .bytes = 64 << 20, .nodes = 1, .ranks = p->ranks_per_node}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (int k = 0; k < 2 && k < p->nlaunches; k++) {
            const struct bench_knobs *launch = &p->launches[k ? p->nlaunches - 1 : 0];
            print_prediction(p, &places[i], launch, places[i].coll == COLL_ALLREDUCE ? ring : usual);
            print_prediction(p, &places[i], launch, usual);
        }
    print_prediction(p, &places[0], &p->launches[0], tree);
    print_prediction(p, &places[0], &p->launches[0], &cut);
}

static void of_a_machine(const char *machine, int nodes, const struct bench_setup *like)
{
    struct arena *a = arena_new();
    struct err e = {0};
    struct log log = {.out = out, .program = "test"};
    struct topology *t = machine_topology(machine, nodes, &e);
    struct bench_setup setup = *like;
    struct bench_plan p;
    assert_non_null(t);
    setup.topology = t;
    setup.log = &log;
    memset(&p, 0x5a, sizeof p);
    fprintf(out, "== %s\n", machine);
    if (bench_engine_model.predicts->plan(&setup, a, &p, &e))
        fail_msg("%s: %s", machine, e.text);
    fprintf(out, "%s: %d calls, %d beside, %d ranks a node, nodes:", p.library, p.ncalls, p.nbeside, p.ranks_per_node);
    for (int i = 0; i < p.nnodes; i++)
        fprintf(out, " %d", p.nodes[i]);
    fputc('\n', out);
    for (int i = 0; i < p.nlaunches; i++)
        fprintf(out, "  %s\n", p.launches[i].label);
    print_predictions(&p);
    topo_free(t);
    arena_free(a);
}

TEST_CASE(plans_and_predictions)
{
    static const int two_and_four[] = {2, 4};
    char *text = NULL;
    size_t bytes = 0;
    out = open_memstream(&text, &bytes);
    of_a_machine("dgx-h100", 2, &(struct bench_setup){.nccl_version = 22809});
    of_a_machine("dgx-a100", 1, &(struct bench_setup){.nodes = two_and_four, .nnodes = 2, .ranks_per_node = 4});
    of_a_machine("8xa100-pcie", 2, &(struct bench_setup){0});
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/model-engine.txt");
    free(text);
}

/* Machines that are not alike: one of them stands for all, and that is said. */
TEST_CASE(nodes_that_differ)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *text = NULL;
    size_t bytes = 0;
    struct log log = {.out = open_memstream(&text, &bytes), .program = "test"};
    struct topology *t = machine_topology("dgx-a100", 2, &e);
    struct topo_class two[] = {t->classes[0], {.name = "thin"}};
    struct topology mixed = *t;
    struct bench_plan p;
    struct {
        const char *calibration;
        enum model_launcher launcher;
    } own = {"/no/calibration", MODEL_LAUNCH_GRAPH};
    mixed.classes = two;
    mixed.nclasses = 2;
    struct bench_setup setup = {.topology = &mixed, .log = &log, .own = NULL};
    assert_int_equal(bench_engine_model.predicts->plan(&setup, a, &p, &e), 0);
    setup.own = &own;
    assert_int_equal(bench_engine_model.predicts->plan(&setup, a, &p, &e), ERR_FAILED);
    assert_non_null(strstr(e.text, "/no/calibration"));
    fclose(log.out);
    char *line = arena_printf(a, "test: warning: the nodes are not all alike: predicted for nodes of %s only\n",
                              t->classes[0].name);
    assert_non_null(strstr(text, line));
    free(text);
    topo_free(t);
    arena_free(a);
}

TEST_CASES(test_engine_plan)
