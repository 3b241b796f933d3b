/* Versions 1 and 2 of the interface: the plugin names algorithm and protocol itself, and NCCL 2.19 to 2.21 run what
 * they are told. So the combinations that those releases can run are written down here.
 *
 * From NCCL's own selection in 2.19 to 2.21 (src/enqueue.cc, topoGetAlgoInfo; src/graph/tuning.cc). Left out although
 * some systems could run them, because what they need cannot be seen from here: LL128 (platforms where it corrupts
 * data), CollNetDirect for AllGather and ReduceScatter (an optional function of the network plugin, one NIC a GPU). */
#include "tuner/plugin/context.h"

enum {
    OFFERED = 1,
    SIMPLE_ONLY = 2,
    NEEDS_COLLNET = 4,
    NEEDS_NVLS = 8,
    NEEDS_ONE_NODE = 16,
    NEEDS_NODES = 32,              /* more than one */
    NEEDS_COLLNET_OVER_NODES = 64, /* with more than one node */
};

static const unsigned char offers[COLL_COUNT][ALGO_COUNT] = {
    [COLL_BROADCAST] = {[ALGO_RING] = OFFERED},
    [COLL_REDUCE] = {[ALGO_RING] = OFFERED},
    [COLL_ALLGATHER] = {[ALGO_RING] = OFFERED, [ALGO_NVLS] = OFFERED | SIMPLE_ONLY | NEEDS_NVLS | NEEDS_ONE_NODE},
    [COLL_REDUCESCATTER] = {[ALGO_RING] = OFFERED, [ALGO_NVLS] = OFFERED | SIMPLE_ONLY | NEEDS_NVLS | NEEDS_ONE_NODE},
    [COLL_ALLREDUCE] =
        {
            [ALGO_TREE] = OFFERED,
            [ALGO_RING] = OFFERED,
            [ALGO_COLLNET_DIRECT] = OFFERED | SIMPLE_ONLY | NEEDS_COLLNET,
            [ALGO_COLLNET_CHAIN] = OFFERED | SIMPLE_ONLY | NEEDS_COLLNET,
            [ALGO_NVLS] = OFFERED | SIMPLE_ONLY | NEEDS_NVLS | NEEDS_COLLNET_OVER_NODES,
            [ALGO_NVLS_TREE] = OFFERED | SIMPLE_ONLY | NEEDS_NVLS | NEEDS_NODES,
        },
};

/* The order in which a rule that leaves the algorithm or the protocol open tries them: what every system can run
 * comes first. No prediction is meant. */
static const float algo_order[ALGO_COUNT] = {
    [ALGO_RING] = 1,           [ALGO_TREE] = 3,           [ALGO_NVLS] = 5, [ALGO_NVLS_TREE] = 7,
    [ALGO_COLLNET_DIRECT] = 9, [ALGO_COLLNET_CHAIN] = 11, [ALGO_PAT] = 13};

static int runs(unsigned need, int collnet, int nvls, int nodes)
{
    int one = nodes == 1, several = nodes > 1; /* neither when not known */
    if (!(need & OFFERED))
        return 0;
    return (!(need & NEEDS_COLLNET) || collnet) && (!(need & NEEDS_NVLS) || nvls) &&
           (!(need & NEEDS_ONE_NODE) || one) && (!(need & NEEDS_NODES) || several) &&
           (!(need & NEEDS_COLLNET_OVER_NODES) || one || collnet);
}

void plugin_legacy_costs(float cost[ALGO_COUNT * PROTO_COUNT], int coll, int collnet, int nvls, int nodes)
{
    for (int a = 0; a < ALGO_COUNT; a++) {
        unsigned need = coll >= 0 && coll < COLL_COUNT ? offers[coll][a] : 0;
        float *row = cost + (size_t)a * PROTO_COUNT;
        int run = runs(need, collnet, nvls, nodes);
        row[PROTO_LL] = run && !(need & SIMPLE_ONLY) ? algo_order[a] + 1 : -1;
        row[PROTO_LL128] = -1;
        row[PROTO_SIMPLE] = run ? algo_order[a] : -1;
    }
}
