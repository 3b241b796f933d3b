/* What the maps show of made-up fabrics. */
#include "bench/engines/verbs/run.h"
#include "bench/fabric/fabric.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

TEST_CASE(cells)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 4, .rails = 2, .bad = port_1_0_bad, .slow_GBps = 3});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    const struct verbs_cell *c = verbs_cells(f, &d);
    assert_true(c[1].outlier); /* sends slowly, receives well */
    assert_near(c[1].GBps, 3, 1e-9);
    assert_true(c[2].outlier);
    assert_near(c[2].GBps, 0, 0);
    assert_false(c[5].outlier); /* met both of them */
    assert_near(c[5].GBps, 24, 1e-9);
    assert_int_equal(verbs_find_try(f, 3, 3), -1);
    assert_true(verbs_find_try(f, 3, 2) >= 0);
    verbs_fabric_free(f);
}

/* A node at fault excuses whoever met it on any of its rails. */
TEST_CASE(a_node_at_fault)
{
    static struct verbs_fault fault = {.kind = VERBS_FAULT_NODE, .a = {1, 0}};
    struct verbs_fabric *f = make(&(struct world){.nodes = 4, .rails = 3, .bad = port_1_0_bad, .slow_GBps = 3});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    const struct verbs_try *pair;
    d.faults = &fault;
    d.nfaults = 1;
    for (int i = 0; i < f->ntries; i++) {
        pair = &d.outcomes[i].pair;
        ((struct verbs_outcome *)d.outcomes)[i].verdict =
            pair->from.node == 1 || pair->to.node == 1 ? VERBS_FAILED : VERBS_GOOD;
    }
    const struct verbs_cell *c = verbs_cells(f, &d);
    for (int port = 0; port < 12; port++)
        assert_int_equal(c[port].outlier, port / 3 == 1);
    verbs_fabric_free(f);
}

/* Four nodes, each pair once: port 0 only ever sent to port 1, which is slow, and must not look slow itself. Whichever
 * of the nodes is called the first, on slow links as on fast ones. */
TEST_CASE(good_end_of_bad_pairs)
{
    static const struct {
        int from, to;
        double GBps;
    } tries[] = {{0, 1, 3}, {1, 2, 3}, {1, 3, 3}, {2, 0, 24}, {3, 0, 24}, {2, 3, 24}};
    for (int k = 0; k < 8; k++) {
        struct verbs_fabric *f = verbs_fabric_new(4, 1);
        double scale = k < 4 ? 1 : 0.01;
        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
            f->tries = arena_grow(f->arena, f->tries, (size_t)f->ntries, sizeof *f->tries);
            f->tries[f->ntries++] = (struct verbs_fabric_try){
                .outcome = {.pair = {{(tries[i].from + k) % 4, 0}, {(tries[i].to + k) % 4, 0}},
                            .GBps = tries[i].GBps * scale}};
        }
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        const struct verbs_cell *c = verbs_cells(f, &d);
        for (int i = 0; i < 4; i++) {
            int slow = i == (1 + k) % 4;
            assert_int_equal(c[i].outlier, slow);
            assert_near(c[i].GBps, (slow ? 3 : 24) * scale, 1e-9);
        }
        verbs_fabric_free(f);
    }
}

TEST_CASES(test_cells)
