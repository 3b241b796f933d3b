/* The law of the NCCL double: how long a collective takes, and what NCCL would predict. A text file, one fact a line:
 *
 *   channels 16                      of the communicator
 *   noise 0.02                       relative standard deviation of every call's time
 *   seed 7
 *   launch 4                         microseconds of the host's time that a call outside a graph costs
 *   hcas mlx5_0,mlx5_1               what NCCL_IB_HCA is matched against
 *   cell COLLECTIVE ALGORITHM PROTOCOL latency=US GBps=B [channel_GBps=B] [channel_us=US] [predict=F]
 *     [chunk_best=BYTES chunk_loss=F] [bend=F bend_at=BYTES] [registered=F] [bfloat16=F] [in_place=F]
 *     [nodes=N ranks=R]
 *   when NAME=VALUE factor=F         times F under that environment variable; "when hcas=mlx5_0+mlx5_1 ..." asks for
 *                                    the HCAs in use, "none" when NCCL_IB_HCA matches none
 *
 * What real machines do beside, each off without its line:
 *
 *   gpu N FACTOR WAKE                device N of a node is FACTOR slower than its law (0: is not), and its host goes on
 *                                     WAKE microseconds late whenever it has waited for an event
 *   first US SECONDS                 the first use of an algorithm with a protocol on a communicator takes US more, and
 *                                     SECONDS of real time for every rank
 *   switch US                        the first call after another algorithm, protocol or number of channels takes US
 *                                     more, the second half of that
 *   session SIGMA                    every communicator has a factor of its own, lognormal
 *   launches SIGMA                   and so has every set of NCCL_ variables
 *   drift F                          a thousand calls later everything takes F more
 *   ramp CALLS F                     the first CALLS calls after a start take F times as long
 *   burst EVERY CALLS F              of EVERY calls CALLS in a row take F times as long
 *   tail N F                         one call in N, whichever, does
 *   speeds CALLS F                   for CALLS at a time, whichever, all do
 *   cache BYTES F                    of a call whose buffers are still among the last BYTES touched, F times as long
 *   reports BYTES                    what the driver says that cache is; without the line the truth
 *   memory BYTES USED                of each device, and what somebody else has of it
 *   exclusive SECONDS                one process a device, which stays taken so long after one was killed
 *   together F                       of a communicator that is made while another process has one on one of its GPUs
 *   init SECONDS                     of real time that a communicator takes, for every rank
 *   beside ALGORITHM F               F more for every other group of the same split, which the cost table ignores
 *   connected ALGORITHM N            more channels are not checked where NCCL does not: the process aborts
 *   late RANK US EVERY               the GPU of that rank of the first communicator comes US late to one call in EVERY,
 *                                    and the others wait for it; hosts, which run ahead, do not know
 *   untuned F                        times F where no tuner is loaded
 *   cell_bytes BYTES                 channels get whole cells of so many bytes, so that fewer may run than were asked
 * for timer F                          events tell F times what has passed
 *
 * A chunk that is longer than the protocol's buffers allow is cut. registered: times F, prediction too, where both
 * buffers are registered or the call is captured, which NCCL tells the tuner as regBuff 1. bfloat16, in_place: times F
 * for such data, which neither predictions nor the tuner know.
 *
 *   time = latency + channels * channel_us + bytes / min(GBps, channels * channel_GBps)
 *
 * then times (1 + chunk_loss * |log2(chunk / chunk_best)|), times (1 + bend * 2^-(log2(bytes / bend_at)^2)), for what
 * is no straight line, and the factors. A cell with nodes=N ranks=R stands in for the one without in communicators of
 * R ranks on N nodes. Words are those of tuner tables; an
 * uneven all-to-all is an "alltoall" of what its hottest rank receives. A combination without a cell is not offered.
 * predict (default 1) is prediction / truth. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/coll.h"

#define LAW_ALLTOALL   COLL_ALLTOALL
#define LAW_COLLS      COLL_MEASURED
#define LAW_CONDITIONS 64
#define LAW_WORD       96
#define LAW_GPUS       16
#define LAW_SHAPED     64

struct law_cell {
    int offered;
    double latency_us, GBps, channel_GBps, channel_us, predict, chunk_best, chunk_loss, bend, bend_at, registered,
        bfloat16, in_place;
};

struct law_condition {
    char name[LAW_WORD], value[LAW_WORD];
    double factor;
};

/* A cell of one shape of communicator. */
struct law_shaped {
    double nodes, ranks;
    int coll, algo, proto;
    struct law_cell cell;
};

struct law {
    struct law_cell cells[LAW_COLLS][ALGO_COUNT][PROTO_COUNT];
    struct law_condition conditions[LAW_CONDITIONS];
    int nconditions;
    int channels;
    double noise, launch_us, first_us, first_s, switch_us, session, launches, drift, ramp_calls, ramp, burst_every,
        burst_calls, burst, tail_every, tail, speeds_calls, speeds, cache_bytes, cache, reports_bytes, memory_bytes,
        memory_used, exclusive_s, together, init_s, untuned, timer, cell_bytes;
    struct {
        double factor, wake_us;
    } gpus[LAW_GPUS];
    int connected[ALGO_COUNT]; /* 0: no limit */
    double beside[ALGO_COUNT], late_rank, late_us, late_every;
    struct law_shaped shaped[LAW_SHAPED];
    int nshaped;
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

/* The cells of a communicator of this shape take their places. */
void law_shape(struct law *l, int nodes, int ranks);

/* How many channels NCCL would take for this size. */
int law_channels(const struct law *l, uint64_t bytes);

/* The true time without noise; -1 for a combination that is not offered. channels and chunk 0: NCCL's own. */
double law_time_us(const struct law *l, int coll, int algo, int proto, int channels, uint64_t chunk, uint64_t bytes);

/* What the cost table says; -1 for a combination that is not offered. */
double law_predict_us(const struct law *l, int coll, int algo, int proto, uint64_t bytes, int registered);

/* How much slower a cell is with registered buffers. */
double law_registered(const struct law *l, int coll, int algo, int proto);

/* How much slower a cell is with such data. */
double law_data(const struct law *l, int coll, int algo, int proto, int bfloat16, int in_place);

/* A factor around 1 for the n-th call, the same in every process: noise, drift, bursts, tail and speeds. */
double law_noise(const struct law *l, uint64_t n);

/* The factor of a communicator whose unique id hashes to `id`, under this process's NCCL_ variables. */
double law_session(const struct law *l, uint64_t id);
