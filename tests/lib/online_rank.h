/* A rank of a job with the real state machine of tuner/online, as its carrier sees it. */
#ifndef TESTS_LIB_ONLINE_RANK_H
#define TESTS_LIB_ONLINE_RANK_H

#include "tuner/online/carrier.h"

struct online_rank {
    struct online_member member;
    struct online_agent agent;
    int is_lost, asked;
    uint64_t furthest;        /* that propose was told */
    uint64_t from;            /* of the next proposal; 0: none */
    uint32_t plan;            /* ... */
    unsigned commits, aborts; /* that rank 0 was told of */
};

void online_rank_make(struct online_rank *r, uint64_t comm, int rank, int ranks);

#endif
