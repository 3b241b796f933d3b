/* Names of collectives, algorithms and protocols, and what nccl-tests calls bus bandwidth.
 *
 * The numbers are NCCL's own (ncclFunc_t, NCCL_ALGO_*, NCCL_PROTO_*, unchanged since 2.19; PAT since 2.23), so that the
 * tuner plugin can use them as they are. libc only. */
#pragma once

#include <stddef.h>

enum coll {
    COLL_BROADCAST = 0,
    COLL_REDUCE = 1,
    COLL_ALLGATHER = 2,
    COLL_REDUCESCATTER = 3,
    COLL_ALLREDUCE = 4,
    COLL_COUNT = 5,    /* the ones a tuner is asked about */
    COLL_ALLTOALL = 5, /* NCCL builds it of send and receive: measured and predicted, never tuned */
    COLL_SENDRECV = 6, /* every rank sends to the next one and receives from the one before: the same */
    COLL_ALLTOALLV =
        7,             /* AllToAll of which rank 0 gets COLL_HOT times as much as every other: experts with a hot one */
    COLL_MEASURED = 8, /* with those */
};
#define COLL_HOT 3

enum algo {
    ALGO_TREE = 0,
    ALGO_RING = 1,
    ALGO_COLLNET_DIRECT = 2,
    ALGO_COLLNET_CHAIN = 3,
    ALGO_NVLS = 4,
    ALGO_NVLS_TREE = 5,
    ALGO_PAT = 6,
    ALGO_COUNT = 7,
};

enum proto {
    PROTO_LL = 0,
    PROTO_LL128 = 1,
    PROTO_SIMPLE = 2,
    PROTO_COUNT = 3,
};

/* Canonical lower-case names as in tuner tables ("allreduce", "nvlstree", "ll128"); NULL outside the range. */
const char *coll_name(int coll);
const char *algo_name(int algo);
const char *proto_name(int proto);

/* The number for a word of any case in s[0..len), also spelt with '_' or '-' ("nvls_tree", "reduce-scatter");
 * -1 for any other word, never a neighbour. */
int coll_parse(const char *s, size_t len);
int algo_parse(const char *s, size_t len);
int proto_parse(const char *s, size_t len);

/* The equal blocks that `coll` cuts nBytes into for the first `nranks` ranks; 1 for those that cut nothing. Of AllToAll
 * and AllToAllV every rank sends rank r the blocks from coll_blocks(coll, r) up to coll_blocks(coll, r + 1). */
int coll_blocks(int coll, int nranks);

/* NCCL's nBytes is the larger of the per-rank send and receive buffers (AllGather: the whole receive buffer);
 * AllToAllV's here is what each rank sends, so that it compares with an even AllToAll of the same size.
 * algbw [GB/s] = nBytes / time; busbw = algbw × factor, with nccl-tests' factors (doc/PERFORMANCE.md there):
 * AllReduce 2(n-1)/n, AllGather, ReduceScatter and both AllToAll (n-1)/n, Broadcast and Reduce 1. */
double coll_algbw_GBps(double bytes, double time_us);
double coll_busbw_factor(int coll, int nranks);
