/* The numbers are variance components of the errors against published results, by the EM algorithm over machines, each
 * left out in turn (tests/perf/perf_model_truth.c prints them; doc/MODEL.md says more), rounded up. What follows
 * relatives or was assumed is wider by judgement: there is little to estimate it from. */
#include "bench/predict/doubt.h"

#include <math.h>

/* launch, hops, links, hops between nodes, links between nodes */
static const double spread[][MODEL_PARTS] = {
    [MODEL_FITTED] = {0.20, 0.50, 0.12, 0.55, 0.08},
    [MODEL_FOLLOWS] = {0.30, 0.60, 0.25, 1.20, 0.25},
    [MODEL_UNKNOWN] = {0.50, 0.90, 0.80, 1.00, 0.80},
};
#define PCIE_LINKS    0.30
#define SOCKETS_LINKS 0.30
#define WAIT          0.20
#define SOCKETS_WAIT  0.55 /* calls through kernels scatter by themselves */
#define CARRY         0.08

const char *model_part_name(int part)
{
    static const char *const names[] = {"launch", "hops", "links", "net_hops", "net_links"};
    return names[part];
}

struct model_prior model_prior_of(const struct model_basis *b)
{
    struct model_prior p = {.wait = WAIT, .carry = CARRY};
    for (int i = 0; i < MODEL_PARTS; i++) {
        int known = 1u << i & MODEL_NET_PARTS ? b->net : b->gpu;
        p.part[i] = spread[b->assumed >> i & 1 ? MODEL_UNKNOWN : known][i];
    }
    if (b->pcie)
        p.part[MODEL_LINKS] = hypot(p.part[MODEL_LINKS], PCIE_LINKS);
    if (b->sockets) {
        p.part[MODEL_NET_LINKS] = hypot(p.part[MODEL_NET_LINKS], SOCKETS_LINKS);
        p.wait = SOCKETS_WAIT;
    }
    return p;
}

double model_rest(const struct model_prior *p, const double share[MODEL_PARTS])
{
    double carried = share[MODEL_LINKS] + share[MODEL_NET_LINKS];
    return sqrt(carried * p->carry * p->carry + (1 - carried) * p->wait * p->wait);
}
