/* Measured times that are too long for the machine, and the causes that are named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bench/predict/sanity.h"
#include "bench/predict/whatif.h"
#include "core/coll.h"
#include "probe/machines/machines.h"

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
                         text, (unsigned long long)w->sizes[i], nodes, model_nccl(w->cases[0].model)->ranks, us);
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

static void causes_are_named(void **state)
{
    (void)state;
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

static void what_is_as_it_should_be(void **state)
{
    (void)state;
    struct arena *a = arena_new();
    assert_int_equal(judged(a, "azure-ndv4", 2, "NCCL_DEBUG=INFO", 1.0).n, 0);
    assert_int_equal(judged(a, "azure-ndv4", 2, "NCCL_DEBUG=INFO", 0.3).n, 0);
    assert_int_equal(judged(a, "dgx-h100", 1, "NCCL_DEBUG=INFO", 1.1).n, 0);
    arena_free(a);
}

static void what_nothing_explains(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(causes_are_named), cmocka_unit_test(what_is_as_it_should_be),
                                       cmocka_unit_test(what_nothing_explains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
