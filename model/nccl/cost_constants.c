/* Constants of NCCL's cost model by release: each table lists only the releases that changed it.
 *
 * Source: NCCL src/graph/tuning.cc and src/enqueue.cc at the tags v2.18.6-1, v2.19.4-1, v2.20.5-1 … v2.30.7-1. */
#include "model/nccl/cost_constants.h"

#include <string.h>

/* ---- latencies, microseconds: {LL, LL128, Simple} of an algorithm, of a call and of a step over each kind of link
 * ---- */

enum { PER_CALL = NCCL_LINK_COUNT };

/* Of the rows of one link and algorithm the last that is not newer than the release counts. */
static const struct {
    int link, algo, since;
    float us[PROTO_COUNT];
} latencies[] = {
    {PER_CALL, ALGO_TREE, 0, {6.8f, 14.0f, 0}},
    {PER_CALL, ALGO_TREE, 22300, {6.8f, 14.0f, 8.4f}},
    {PER_CALL, ALGO_RING, 0, {6.6f, 14.0f, 8.4f}},
    {PER_CALL, ALGO_NVLS, 0, {0, 0, 23.0f}},
    {PER_CALL, ALGO_NVLS, 21900, {0}},
    {PER_CALL, ALGO_NVLS_TREE, 0, {0, 0, 23.0f}},
    {PER_CALL, ALGO_NVLS_TREE, 21900, {0}},
    {PER_CALL, ALGO_PAT, 22300, {8.0f, 8.0f, 8.0f}},
    {NCCL_LINK_NVLINK, ALGO_TREE, 0, {0.6f, 1.25f, 4.0f}},
    {NCCL_LINK_NVLINK, ALGO_TREE, 21900, {0.6f, 1.25f, 28.0f}},
    {NCCL_LINK_NVLINK, ALGO_TREE, 22300, {0.6f, 1.25f, 4.0f}},
    {NCCL_LINK_NVLINK, ALGO_RING, 0, {0.6f, 1.9f, 3.4f}},
    {NCCL_LINK_NVLINK, ALGO_NVLS, 21900, {0, 0, 23.0f}},
    {NCCL_LINK_NVLINK, ALGO_NVLS, 22100, {0, 0, 25.0f}},
    {NCCL_LINK_NVLINK, ALGO_NVLS_TREE, 21900, {0, 0, 23.0f}},
    {NCCL_LINK_NVLINK, ALGO_NVLS_TREE, 22100, {0, 0, 25.0f}},
    {NCCL_LINK_NVLINK, ALGO_PAT, 22800, {0, 0, 4.0f}},
    {NCCL_LINK_PCI, ALGO_TREE, 0, {1.0f, 1.9f, 6.0f}},
    {NCCL_LINK_PCI, ALGO_TREE, 21900, {1.0f, 1.9f, 28.0f}},
    {NCCL_LINK_PCI, ALGO_TREE, 22300, {1.0f, 1.9f, 4.0f}},
    {NCCL_LINK_PCI, ALGO_RING, 0, {1.0f, 2.5f, 5.7f}},
    {NCCL_LINK_PCI, ALGO_PAT, 22800, {0, 0, 4.0f}},
    {NCCL_LINK_NET, ALGO_TREE, 0, {5.0f, 8.5f, 14.0f}},
    {NCCL_LINK_NET, ALGO_TREE, 21900, {5.0f, 8.5f, 28.0f}},
    {NCCL_LINK_NET, ALGO_TREE, 22300, {5.0f, 8.5f, 14.0f}},
    {NCCL_LINK_NET, ALGO_RING, 0, {2.7f, 4.0f, 14.0f}},
    {NCCL_LINK_NET, ALGO_NVLS, 0, {0, 0, 18.0f}},
    {NCCL_LINK_NET, ALGO_NVLS_TREE, 0, {0, 0, 19.0f}},
    {NCCL_LINK_NET, ALGO_NVLS_TREE, 21900, {0, 0, 14.0f}},
    {NCCL_LINK_NET, ALGO_NVLS_TREE, 22800, {0, 0, 20.9f}},
    {NCCL_LINK_NET, ALGO_PAT, 22800, {0, 0, 14.0f}},
};

/* ---- limits, GB/s: rows by GPU, {one node, two, more}. Before 2.25 a Blackwell counted as a Hopper. ---- */

struct limits {
    int since;
    nccl_limits GBps;
};

/* On one node the row is the GPU's; on more it is the processor's: the second for AMD, the first for all others. */
static const struct limits ll[] = {
    {0, {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {87.7, 22.5, 19.0}, {87.7, 22.5, 19.0}}},
    {22100, {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {141.0, 45.0, 35.0}}},
    {22500, {{39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}}},
};

static const struct limits ring_ll128[] = {
    {0, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {36.7, 36.7, 36.7}}},
    {22500, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {73.4, 73.4, 73.4}}},
    {22800, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}},
    {22900, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}}},
};

static const struct limits tree_ll128[] = {
    {0, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {36.7, 36.7, 29.0}}},
    {22500, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {73.4, 73.4, 58.0}}},
    {22800, {{20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}},
};

static const struct limits tree[] = {
    {0, {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {38.7, 41.4, 36.0}}},
    {22500, {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {77.4, 82.8, 72.0}}},
    {22800, {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}}},
};

static const struct limits nvls_tree[] = {
    {0, {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96.0, 43.8}}},
    {23000, {{26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96.0, 80.0}}},
};

const float nccl_nvls_efficiency[NCCL_GENERATION_COUNT] = {[NCCL_HOPPER] = 0.85f, [NCCL_BLACKWELL] = 0.74f};

/* 64 B, 128 B, … 512 MiB. The last column came with 2.29, for NVLS_TREE. */
const float nccl_tree_size[PROTO_COUNT][24] = {
    [PROTO_LL] = {1,    1,    1,    1,    0.9f, 0.8f, 0.7f, 0.7f, 0.7f, 0.7f, 0.6f, 0.5f,
                  0.4f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1,    1,    1,    1,    1},
    [PROTO_LL128] = {1,    1,    1,    1,    1,    0.9f, 0.8f, 0.8f, 0.8f, 0.7f, 0.6f, 0.6f,
                     0.6f, 0.6f, 0.6f, 0.6f, 0.8f, 0.9f, 0.9f, 0.9f, 0.9f, 1,    1,    1},
    [PROTO_SIMPLE] = {0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.9f, 0.8f, 0.7f, 0.6f, 0.6f, 0.5f,
                      0.5f, 0.5f, 0.5f, 0.6f, 0.7f, 0.8f, 0.7f, 0.7f, 0.8f, 0.9f, 0.9f, 0.9f},
};

struct traffic {
    int since;
    uint64_t bytes;
};

static const struct traffic least_traffic[] = {{0, 512}, {22300, 16 << 10}, {22900, 32 << 10}};

/* ---- what a release has of all that ---- */

/* The last row of a table that is not newer than the release. Rows begin with `since`. */
static size_t row_of(const void *table, size_t rows, size_t bytes, int version)
{
    const char *at = table;
    int since = 0;
    size_t row = 0;
    for (size_t i = 1; i < rows; i++) {
        memcpy(&since, at + i * bytes, sizeof since);
        if (since <= version)
            row = i;
    }
    return row;
}
#define ROW(table, version) (&(table)[row_of((table), sizeof(table) / sizeof *(table), sizeof *(table), (version))])

struct nccl_constants nccl_constants_of(int version)
{
    struct nccl_constants c = {
        .ll = &ROW(ll, version)->GBps,
        .ring_ll128 = &ROW(ring_ll128, version)->GBps,
        .tree_ll128 = &ROW(tree_ll128, version)->GBps,
        .tree = &ROW(tree, version)->GBps,
        .nvls_tree = &ROW(nvls_tree, version)->GBps,
    };
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; i++)
        if (latencies[i].since <= version)
            memcpy(latencies[i].link == PER_CALL ? c.base[latencies[i].algo]
                                                 : c.hop[latencies[i].link][latencies[i].algo],
                   latencies[i].us, sizeof latencies[i].us);
    return c;
}

uint64_t nccl_least_channel_traffic(int version)
{
    return ROW(least_traffic, version)->bytes;
}
