/* The law of the NCCL double: how long a collective takes, and what NCCL would predict. A text file, one fact a line:
 *
 *   channels 16                      of the communicator
 *   noise 0.02                       relative standard deviation of every call's time
 *   seed 7
 *   launch 4                         microseconds that a call takes more when it is not part of a graph
 *   hcas mlx5_0,mlx5_1               what NCCL_IB_HCA is matched against
 *   cell COLLECTIVE ALGORITHM PROTOCOL latency=US GBps=B [channel_GBps=B] [channel_us=US] [predict=F]
 *                                     [chunk_best=BYTES chunk_loss=F] [bend=F bend_at=BYTES]
 *   when NAME=VALUE factor=F         times F under that environment variable; "when hcas=mlx5_0+mlx5_1 ..." asks for
 *                                     the HCAs in use, "none" when NCCL_IB_HCA matches none
 *
 *   time = latency + channels * channel_us + bytes / min(GBps, channels * channel_GBps)
 *
 * then times (1 + chunk_loss * |log2(chunk / chunk_best)|), times (1 + bend * 2^-(log2(bytes / bend_at)^2)), for what
 * is no straight line, and the factors. Words are those of tuner tables; "alltoall"
 * is a collective here. A combination without a cell is not offered. predict (default 1) is prediction / truth. */
#ifndef TESTS_DOUBLES_NCCL_LAW_H
#define TESTS_DOUBLES_NCCL_LAW_H

#include <stddef.h>
#include <stdint.h>

#include "core/coll.h"

#define LAW_ALLTOALL   COLL_ALLTOALL
#define LAW_COLLS      COLL_MEASURED
#define LAW_CONDITIONS 64
#define LAW_WORD       96

struct law_cell {
    int offered;
    double latency_us, GBps, channel_GBps, channel_us, predict, chunk_best, chunk_loss, bend, bend_at;
};

struct law_condition {
    char name[LAW_WORD], value[LAW_WORD];
    double factor;
};

struct law {
    struct law_cell cells[LAW_COLLS][ALGO_COUNT][PROTO_COUNT];
    struct law_condition conditions[LAW_CONDITIONS];
    int nconditions;
    int channels;
    double noise, launch_us;
    uint64_t seed;
    char hcas[256];    /* of the machine */
    char in_use[256];  /* those that NCCL_IB_HCA leaves, joined by '+' */
    double everywhere; /* product of the factors whose condition holds */
};

/* 0, or -1 with a sentence in `why`. law_settle is part of it. */
int law_load(struct law *l, const char *path, char why[256]);

/* The same from text; `name` for errors. */
int law_parse(struct law *l, const char *text, const char *name, char why[256]);

/* Applies the conditions that hold in the environment now. */
void law_settle(struct law *l);

/* How many channels NCCL would take for this size. */
int law_channels(const struct law *l, uint64_t bytes);

/* The true time without noise; -1 for a combination that is not offered. channels and chunk 0: NCCL's own. */
double law_time_us(const struct law *l, int coll, int algo, int proto, int channels, uint64_t chunk, uint64_t bytes);

/* What the cost table says; -1 for a combination that is not offered. */
double law_predict_us(const struct law *l, int coll, int algo, int proto, uint64_t bytes);

/* A factor around 1 for the n-th call, the same in every process. */
double law_noise(const struct law *l, uint64_t n);

#endif
