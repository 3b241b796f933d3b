/* Measured times that are too long for the machine, and the causes that are named. Judges figures: not run with
 * sanitizers. */
#include "advise/whatif/whatif.h"
#include "core/coll.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"
#include "tests/lib/whole.h"

/* Findings about a machine whose times are those of a variation, `factor` times as long; with `settings` NULL sockets.
 */
static struct findings judged(struct arena *a, const char *machine, int nodes, const char *settings, double factor)
{
    struct err e = {0};
    struct topology *t = machine_topology(machine, nodes, &e);
    struct model_setup base = {.nccl = {.topology = t, .version = 22809}};
    struct whatif *w = whatif_new(machine, COLL_ALLREDUCE, &base, &e);
    assert_int_equal(settings ? whatif_add_settings(w, settings, &e) : whatif_add_sockets(w, &e), 0);
    assert_int_equal(whatif_predict(w, &e), 0);
    const char *text = "{\"format\":\"nccltune-results/1\"}\n";
    for (int i = 0; i < w->nsizes; i += 3) {
        double us = w->cases[1].cells[i].untouched.us * factor;
        text =
            arena_printf(a,
                         "%s{\"engine\":\"nccl\",\"collective\":\"allreduce\",\"bytes\":%llu,\"nodes\":%d,\"ranks\":%d,"
                         "\"library\":\"NCCL 2.28.9\",\"launch\":{\"label\":\"default\"},\"call\":{\"label\":"
                         "\"default\"},\"round\":1,\"status\":\"ok\",\"times_us\":[%.3f]}\n",
                         text, (unsigned long long)w->sizes[i], nodes, w->cases[0].model->nccl->ranks, us);
    }
    struct bench_results *r = bench_results_parse("r.jsonl", text, strlen(text), NULL, &e);
    assert_non_null(r);
    struct findings f = {.arena = a};
    sanity_check(bench_points_of(r, r->arena), t, &f);
    bench_results_free(r);
    whatif_free(w);
    topo_free(t);
    return f;
}

TEST_CASE(causes_are_named)
{
    static const struct {
        const char *settings, *cause;
    } cases[] = {
        {"NCCL_IB_HCA=mlx5_ib0", "only mlx5_ib0"},
        {"NCCL_IB_HCA=mlx5_ib0,mlx5_ib1,mlx5_ib2,mlx5_ib3", "4 of 8 HCAs"},
        {"NCCL_P2P_DISABLE=1", "NCCL_P2P_DISABLE=1"},
        {NULL, "sockets"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_new();
        struct findings f = judged(a, "azure-ndv4", 2, cases[i].settings, 1.02);
        assert_int_equal(f.n, 1);
        assert_string_equal(f.list[0].id, "slower-than-machine");
        assert_non_null(strstr(f.list[0].text, "slower than this machine should be"));
        const char *first = strstr(f.list[0].advice, "The likeliest causes: ");
        assert_non_null(first);
        assert_non_null(strstr(first, cases[i].cause));
        arena_free(a);
    }
}

TEST_CASE(what_is_as_it_should_be)
{
    struct arena *a = arena_new();
    assert_int_equal(judged(a, "azure-ndv4", 2, "NCCL_DEBUG=INFO", 1.0).n, 0);
    assert_int_equal(judged(a, "azure-ndv4", 2, "NCCL_DEBUG=INFO", 0.3).n, 0);
    assert_int_equal(judged(a, "dgx-h100", 1, "NCCL_DEBUG=INFO", 1.1).n, 0);
    arena_free(a);
}

TEST_CASE(what_nothing_explains)
{
    struct arena *a = arena_new();
    struct findings f = judged(a, "dgx-h100", 1, "NCCL_DEBUG=INFO", 40);
    assert_int_equal(f.n, 1);
    assert_non_null(strstr(f.list[0].advice, "Nothing that the model knows of explains it"));
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    sanity_print(&f, out);
    fclose(out);
    assert_non_null(strstr(text, "Against the model:\n  warning slower-than-machine: allreduce"));
    free(text);
    arena_free(a);
}

/* All that is found and advised, as a whole. */
TEST_CASE(findings_and_causes)
{
    static const struct {
        const char *machine;
        int nodes;
        const char *settings; /* NULL: sockets */
        double factor;
    } cases[] = {
        {"azure-ndv4", 2, "NCCL_IB_HCA=mlx5_ib0", 1},
        {"azure-ndv4", 2, "NCCL_IB_HCA=mlx5_ib0", 1.3},
        {"azure-ndv4", 4, "NCCL_IB_HCA=mlx5_ib0,mlx5_ib1,mlx5_ib2", 1},
        {"azure-ndv4", 2, "NCCL_NET_GDR_LEVEL=LOC", 1.1},
        {"dgx-h100", 4, "NCCL_NET_GDR_LEVEL=LOC", 1},
        {"dgx-h100", 1, "NCCL_NVLS_ENABLE=0", 1.2},
        {"dgx-a100", 1, "NCCL_P2P_DISABLE=1", 1},
        {"dgx-a100", 2, NULL, 0.9},
        {"dgx-a100", 2, "NCCL_DEBUG=INFO", 1.4},
        {"dgx-a100", 2, "NCCL_DEBUG=INFO", 2},
        {"4xl40s-pcie", 1, "NCCL_DEBUG=INFO", 5},
        {"mi300x", 2, "NCCL_IB_HCA=mlx5_0", 1},
    };
    struct arena *a = arena_new();
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct findings f = judged(a, cases[i].machine, cases[i].nodes, cases[i].settings, cases[i].factor);
        fprintf(out, "%s x %d, %s, %g times as long: %d\n", cases[i].machine, cases[i].nodes,
                cases[i].settings ? cases[i].settings : "sockets", cases[i].factor, f.n);
        sanity_print(&f, out);
    }
    fclose(out);
    assert_whole(text, "tests/fixtures/bench/sanity.txt");
    free(text);
    arena_free(a);
}

#define MiB ((uint64_t)1 << 20)

/* Only what jobs do by themselves, from 1 MiB on, is judged: each number of nodes, ranks and groups by itself. */
TEST_CASE(what_is_judged)
{
    static const struct bench_setting forced[] = {{"algorithm", "ring"}, {"protocol", "simple"}};
    static const struct {
        int nodes, ranks, others;
        uint64_t bytes;
        int is_forced, nfound;
    } cases[] = {
        {2, 16, 0, MiB, 0, 1}, {2, 16, 0, MiB - 1, 0, 0}, {2, 16, 0, MiB, 1, 0}, {1, 8, 0, MiB, 0, 1},
        {2, 4, 0, MiB, 0, 1},  {2, 4, 1, MiB, 0, 1},      {2, 15, 0, MiB, 0, 0}, {2, 80, 0, MiB, 0, 0},
    };
    enum { N = sizeof cases / sizeof *cases };
    struct err e = {0};
    struct arena *a = arena_new();
    struct topology *t = machine_topology("azure-ndv4", 2, &e);
    struct bench_point points[N];
    struct bench_candidate slow[N];
    int total = 0;
    for (int i = 0; i < N; i++) {
        slow[i] = (struct bench_candidate){.launch = {BENCH_DEFAULT},
                                           .call = {"x", forced, cases[i].is_forced ? 2 : 0},
                                           .time_us = {90000, 90000, 90000, 5}};
        points[i] = (struct bench_point){.library = "NCCL 2.28.9",
                                         .coll = COLL_ALLREDUCE,
                                         .bytes = cases[i].bytes,
                                         .nodes = cases[i].nodes,
                                         .ranks = cases[i].ranks,
                                         .others = cases[i].others,
                                         .candidates = &slow[i],
                                         .ncandidates = 1};
        struct findings f = {.arena = a};
        sanity_check(&(struct bench_points){.items = &points[i], .count = 1}, t, &f);
        if (f.n != cases[i].nfound)
            fail_msg("case %d: %d", i, f.n);
        total += f.n;
    }
    struct findings f = {.arena = a}, none = {.arena = a};
    sanity_check(&(struct bench_points){.items = points, .count = N}, t, &f);
    assert_int_equal(f.n, total);
    assert_string_equal(f.list[0].subject, "allreduce 1 MiB on 2 nodes");
    assert_string_equal(f.list[1].subject, "allreduce 1 MiB on 1 node");
    sanity_check(&(struct bench_points){.items = points, .count = N}, NULL, &none);
    assert_int_equal(none.n, 0);
    topo_free(t);
    arena_free(a);
}

TEST_CASES(test_sanity)
