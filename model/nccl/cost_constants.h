/* The constants of NCCL's cost model, by release.
 *
 * Source: NCCL src/graph/tuning.cc and src/enqueue.cc of the release named. */
#pragma once

#include <stdint.h>

#include "core/coll.h"

#define NCCL_NEWEST 23007 /* the newest release whose constants are known */

enum nccl_link { NCCL_LINK_NVLINK, NCCL_LINK_PCI, NCCL_LINK_NET, NCCL_LINK_COUNT };
enum nccl_scale { NCCL_ONE_NODE, NCCL_TWO_NODES, NCCL_MORE_NODES, NCCL_SCALE_COUNT };
enum nccl_generation { NCCL_VOLTA, NCCL_AMPERE, NCCL_HOPPER, NCCL_BLACKWELL, NCCL_GENERATION_COUNT };

typedef float nccl_latencies[ALGO_COUNT][PROTO_COUNT];               /* microseconds */
typedef double nccl_limits[NCCL_GENERATION_COUNT][NCCL_SCALE_COUNT]; /* GB/s, of one channel unless said otherwise */

/* Constants of one release. */
struct nccl_constants {
    nccl_latencies base;                 /* once per call */
    nccl_latencies hop[NCCL_LINK_COUNT]; /* of one step */
    const nccl_limits *ll;               /* LL, all channels together */
    const nccl_limits *ring_ll128;       /* … */
    const nccl_limits *tree_ll128;       /* … */
    const nccl_limits *tree;             /* every protocol of trees */
    const nccl_limits *nvls_tree;        /* from 2.28 on */
};

struct nccl_constants nccl_constants_of(int version);

/* Bytes; the scheduler gives no channel less. */
uint64_t nccl_least_channel_traffic(int version);

extern const float nccl_nvls_efficiency[NCCL_GENERATION_COUNT]; /* from 2.28 on */

/* Factor on a tree's bandwidth by log2(bytes / 64), the same in all releases: trees do not follow the model between
 * small and large. */
extern const float nccl_tree_size[PROTO_COUNT][24];
