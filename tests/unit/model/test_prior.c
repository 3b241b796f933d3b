/* model/constants.c: how far each part of a machine's time may be off, and a single call. */
#include "model/constants.h"
#include "tests/lib/unit.h"

/* By where constants come from, in this order, whatever the numbers; PCIe and sockets add in squares. */
TEST_CASE(of_a_machine)
{
    const struct model_doubts *d = &model_doubts;
    struct model_basis b = {0};
    struct model_prior fitted = model_prior_of(&b), p;
    assert_near(fitted.wait, d->wait, 0);
    for (b.gpu = b.net = 0; b.gpu < MODEL_UNKNOWN; b.gpu++, b.net++)
        for (int i = 0; i < MODEL_PARTS; i++) {
            assert_near(model_prior_of(&b).part[i], d->part[b.gpu][i], 1e-12);
            assert_true(d->part[b.gpu][i] <= d->part[b.gpu + 1][i]);
        }
    b = (struct model_basis){.pcie = 1, .sockets = 1, .assumed = 1u << MODEL_HOPS};
    p = model_prior_of(&b);
    assert_near(p.part[MODEL_LINKS], hypot(fitted.part[MODEL_LINKS], d->pcie_links), 1e-12);
    assert_near(p.part[MODEL_NET_LINKS], hypot(hypot(fitted.part[MODEL_NET_LINKS], d->pcie_links), d->socket_links),
                1e-12);
    assert_near(p.part[MODEL_HOPS], d->part[MODEL_UNKNOWN][MODEL_HOPS], 0);
    assert_near(p.part[MODEL_LAUNCH], fitted.part[MODEL_LAUNCH], 0);
    assert_near(p.wait, d->socket_wait, 0);
}

/* Variances add up by what a call carries and what it waits for. */
TEST_CASE(of_a_call)
{
    const struct model_prior p = {.wait = 0.5, .carry = 0.1};
    const double waits[MODEL_PARTS] = {0.2, 0.5, 0, 0.3, 0}, carries[MODEL_PARTS] = {0, 0, 0.4, 0, 0.6},
                 both[MODEL_PARTS] = {0.3, 0.2, 0.1, 0.1, 0.3};
    assert_near(model_rest(&p, waits), 0.5, 1e-12);
    assert_near(model_rest(&p, carries), 0.1, 1e-12);
    assert_near(model_rest(&p, both), sqrt(0.4 * 0.01 + 0.6 * 0.25), 1e-12);
    assert_string_equal(model_part_names[MODEL_LAUNCH], "launch");
    assert_string_equal(model_part_names[MODEL_NET_LINKS], "net_links");
}

TEST_CASES(test_prior)
