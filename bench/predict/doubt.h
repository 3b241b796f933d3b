/* How far predictions of a machine may be off before anything was measured on it. */
#ifndef BENCH_PREDICT_DOUBT_H
#define BENCH_PREDICT_DOUBT_H

#include "bench/predict/constants.h"

/* "launch", "hops", "links", "net_hops", "net_links". */
const char *model_part_name(int part);

/* Standard deviations of logarithms of time. */
struct model_prior {
    double part[MODEL_PARTS]; /* of the factor on a part, from machine to machine */
    double wait, carry;       /* of single calls when those factors are right: of one that only waits, only carries */
};

/* How the constants were come by. */
struct model_basis {
    enum model_evidence gpu, net;
    int pcie;         /* GPUs meet over PCIe or host memory, whose efficiency differs more than that of NVLink */
    int sockets;      /* nodes meet through their kernels */
    unsigned assumed; /* parts (bits) for which something else had to be assumed */
};

struct model_prior model_prior_of(const struct model_basis *b);

/* The spread of one call of which these are the parts. */
double model_rest(const struct model_prior *p, const double share[MODEL_PARTS]);

/* Of every doubling of nodes beyond those of any published result over the whole range of sizes. */
#define MODEL_NODES_DOUBT 0.06

/* Of several groups at once and of pairs of ranks, of which no result is published: judgement. */
#define MODEL_UNPUBLISHED_DOUBT 0.15

#endif
