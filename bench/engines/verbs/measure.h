/* What a connected pair is asked for: bandwidth of RDMA writes in one or both directions, latency of a write. Both
 * sides call it, and both know the result. The rate of small messages is the write bandwidth's time of 8 bytes, turned
 * over. */
#ifndef BENCH_ENGINES_VERBS_MEASURE_H
#define BENCH_ENGINES_VERBS_MEASURE_H

#include "bench/engines/verbs/pair.h"
#include "bench/results/points.h"

enum verbs_test {
    VERBS_WRITE, /* the lead writes, window by window, on all queue pairs */
    VERBS_BOTH,  /* both write at once */
    VERBS_PING,  /* a write there and a write back, the receiver watching its memory, the host's; the time is half of it
                  */
};

#define VERBS_SAMPLES 64

struct verbs_shot {
    enum verbs_test test;
    uint64_t bytes;    /* 1 to the pair's max_bytes */
    int samples;       /* 1 to VERBS_SAMPLES, after a warm-up that also finds how many messages fill `sample_s` */
    double sample_s;   /* what one sample should take */
    double patience_s; /* for each sample, and each word with the other side */
};

struct verbs_figures {
    double samples_us[VERBS_SAMPLES]; /* of one message, by the slower side where both write */
    struct bench_interval time_us;
    double GBps; /* bytes / median; both directions together for VERBS_BOTH, of no meaning for VERBS_PING */
};

/* `lead` is 1 on one side and 0 on the other. Every sample's payload is written anew and verified by who receives it.
 */
int verbs_measure(struct verbs_pair *p, const struct verbs_shot *shot, int lead, struct verbs_figures *f,
                  struct err *e);

#endif
