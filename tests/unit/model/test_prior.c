/* model/constants.c: how far each part of a machine's time may be off, and a single call. */
#include "model/constants.h"
#include "tests/lib/unit.h"

static void check(struct model_basis b, double launch, double hops, double links, double net_hops, double net_links,
                  double wait)
{
    struct model_prior p = model_prior_of(&b);
    const double want[MODEL_PARTS] = {launch, hops, links, net_hops, net_links};
    for (int i = 0; i < MODEL_PARTS; i++)
        assert_near(p.part[i], want[i], 1e-12);
    assert_near(p.wait, wait, 0);
    assert_near(p.carry, 0.08, 0);
}

TEST_CASE(of_a_machine)
{
    check((struct model_basis){MODEL_FITTED, MODEL_FITTED}, 0.20, 0.50, 0.12, 0.55, 0.08, 0.20);
    check((struct model_basis){MODEL_FOLLOWS, MODEL_FITTED}, 0.30, 0.60, 0.25, 0.55, 0.08, 0.20);
    check((struct model_basis){MODEL_FITTED, MODEL_FOLLOWS}, 0.20, 0.50, 0.12, 1.20, 0.25, 0.20);
    check((struct model_basis){.pcie = 1}, 0.20, 0.50, hypot(0.12, 0.30), 0.55, 0.08, 0.20);
    check((struct model_basis){.sockets = 1}, 0.20, 0.50, 0.12, 0.55, hypot(0.08, 0.30), 0.55);
    check((struct model_basis){.assumed = 1u << MODEL_LAUNCH | 1u << MODEL_LINKS}, 0.50, 0.50, 0.80, 0.55, 0.08, 0.20);
    check((struct model_basis){.assumed = 1u << MODEL_HOPS | MODEL_NET_PARTS}, 0.20, 0.90, 0.12, 1.00, 0.80, 0.20);
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
