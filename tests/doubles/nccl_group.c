/* Groups of the NCCL double: what is merged, what is asked, and what is launched. */
#include <stdlib.h>

#include "tests/doubles/nccl_comm.h"

static struct comm_call grouped[COMM_GROUPED];
static int ngrouped;

int comm_run(struct ncclComm *c, const struct move *m, void *stream, int depth)
{
    int rc;
    if (ngrouped == COMM_GROUPED)
        return INVALID_USAGE;
    ngrouped += comm_begin(c, m, stream, &grouped[ngrouped], &rc);
    return rc || depth ? rc : comm_end_group();
}

/* By collective and type, the smallest first. */
static int by_size(const void *x, const void *y)
{
    const struct comm_call *a = *(struct comm_call *const *)x, *b = *(struct comm_call *const *)y;
    int order = a->header.coll - b->header.coll;
    order = order ? order : a->header.type - b->header.type;
    order = order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return order ? order : (a > b) - (a < b);
}

static int is_alike(const struct comm_call *first, const struct comm_call *x)
{
    return x->header.coll == first->header.coll && x->header.type == first->header.type &&
           x->bytes < 4 * first->bytes && x->header.coll < COLL_COUNT;
}

/* One question for all of them; how many they are. */
static int choose_for(struct comm_call *const *calls, int count, int *rc)
{
    uint64_t bytes = calls[0]->bytes;
    int n = 1;
    for (; n < count && is_alike(calls[0], calls[n]); n++)
        bytes += calls[n]->bytes;
    *rc = comm_choose(calls[0], bytes);
    for (int i = 1; i < n; i++) {
        calls[i]->header.algo = calls[0]->header.algo;
        calls[i]->header.proto = calls[0]->header.proto;
        calls[i]->header.channels = calls[0]->header.channels;
    }
    return n;
}

/* All questions, then all launches. */
static int run_calls(struct comm_call **calls, int count, int is_simulated)
{
    int rc = SUCCESS;
    struct profiler_double *profiler = calls[0]->comm->profiler;
    qsort(calls, (size_t)count, sizeof(struct comm_call *), by_size);
    for (int i = 0; i < count && !rc;)
        i += choose_for(calls + i, count - i, &rc);
    if (is_simulated)
        return rc;
    profiler_gather(profiler);
    for (int i = 0; i < count && !rc; i++)
        rc = comm_launch(calls[i]);
    profiler_launch(profiler);
    return rc;
}

static int end_group(int is_simulated)
{
    int rc = SUCCESS, all = ngrouped;
    ngrouped = 0;
    for (int first = 0; first < all && !rc; first++) {
        struct comm_call *calls[COMM_GROUPED];
        struct ncclComm *c = grouped[first].comm;
        int count = 0;
        for (int i = first; i < all && c; i++)
            if (grouped[i].comm == c)
                calls[count++] = &grouped[i];
        rc = count ? run_calls(calls, count, is_simulated) : SUCCESS;
        for (int i = first; i < all; i++)
            grouped[i].comm = grouped[i].comm == c ? NULL : grouped[i].comm;
    }
    return rc;
}

int comm_end_group(void)
{
    return end_group(0);
}

int comm_simulate_group(void)
{
    return end_group(1);
}
