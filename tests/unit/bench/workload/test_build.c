/* bench/workload/build.c: which calls are worth a row, where their groups lie, and the quantities behind sizes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bench/workload/build.h"
#include "tests/lib/near.h"

/* A call of that shape in a job of `ranks`; NULL: nothing to say. */
static const struct workload_call *put(struct workload *w, double bytes, double count, int group, int stride,
                                       int per_node, int ranks)
{
    struct workload_job j = {.gpus_per_node = per_node};
    struct workload_phase *p = workload_add_phase(w, "x");
    struct workload_build b = {.job = &j, .out = w, .phase = p, .ranks = ranks};
    workload_put(&b, COLL_REDUCE, bytes, count, group, stride, "float8", 7, "why");
    return p->ncalls ? p->calls : NULL;
}

static void what_is_nothing(void **state)
{
    (void)state;
    struct workload *w = workload_new();
    assert_null(put(w, 0.5, 1, 2, 1, 8, 8));
    assert_null(put(w, NAN, 1, 2, 1, 8, 8));
    assert_null(put(w, 1, 0, 2, 1, 8, 8));
    assert_null(put(w, 1, 1, 1, 1, 8, 8));
    const struct workload_call *c = put(w, 1, 0.5, 2, 3, 8, 8);
    assert_non_null(c);
    assert_int_equal(c->kind, COLL_REDUCE);
    assert_int_equal(c->bytes, 1);
    assert_near(c->count, 0.5, 0);
    assert_int_equal(c->group_size, 2);
    assert_int_equal(c->stride, 3);
    assert_string_equal(c->dtype, "float8");
    assert_string_equal(c->what, "why");
    assert_near(c->overlap_us, 7, 0);
    assert_near(c->time_us, -1, 0);
    assert_int_equal(c->algo, -1);
    assert_int_equal(c->proto, -1);
    assert_int_equal(c->channels, 0);
    assert_int_equal(put(w, 1.2, 1, 2, 1, 8, 8)->bytes, 2);
    workload_free(w);
}

/* Groups tile a node, or the node is all there is. */
static void places(void **state)
{
    (void)state;
    static const struct {
        int group, stride, per_node, ranks;
        enum workload_place place;
    } cases[] = {
        {8, 1, 8, 16, WORKLOAD_NODE},    {9, 1, 8, 18, WORKLOAD_CLUSTER}, {4, 2, 8, 16, WORKLOAD_NODE},
        {2, 8, 8, 16, WORKLOAD_CLUSTER}, {2, 7, 8, 16, WORKLOAD_CLUSTER}, {2, 7, 8, 8, WORKLOAD_NODE},
        {2, 7, 8, 9, WORKLOAD_CLUSTER},  {4, 1, 6, 12, WORKLOAD_CLUSTER}, {4, 1, 6, 6, WORKLOAD_NODE},
        {3, 2, 6, 12, WORKLOAD_NODE},
    };
    struct workload *w = workload_new();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct workload_call *c =
            put(w, 8, 1, cases[i].group, cases[i].stride, cases[i].per_node, cases[i].ranks);
        if (!c || c->place != cases[i].place)
            fail_msg("case %zu", i);
    }
    workload_free(w);
}

static void quantities(void **state)
{
    (void)state;
    struct workload_job j = {.micro_batch = 3, .prompt = 10, .response = 5, .cp = 2, .sp = 5};
    assert_near(workload_tokens(&j), 4.5, 0);
    assert_near(workload_compute_us(&j, 1e9), -1, 0);
    j.tflops = 4;
    assert_near(workload_compute_us(&j, 1e9), 250, 1e-9);
    assert_near(workload_backward_flops(&j), 4, 0);
    j.recompute = 1;
    assert_near(workload_backward_flops(&j), 6, 0);
    j.lora_rank = 8;
    assert_near(workload_backward_flops(&j), 4, 0);
    assert_near(workload_pieces(0, 5), 1, 0);
    assert_near(workload_pieces(5, 5), 1, 0);
    assert_near(workload_pieces(5.5, 5), 2, 0);
    assert_near(workload_pieces(11, 5), 3, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_nothing), cmocka_unit_test(places),
                                       cmocka_unit_test(quantities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
