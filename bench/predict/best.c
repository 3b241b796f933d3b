/* The best of all that a tuner can choose. */
#include "bench/predict/best.h"

#include "bench/candidates/nccl_plan.h"

/* With as many channels as NCCL would take, and with each number that a tuner asks for. */
static void try(const struct model *m, struct model_call *call, struct model_time *best)
{
    struct model_time t;
    call->channels = 0;
    if (model_predict(m, call, &t))
        return;
    for (const int *channels = nccl_plan_channels;; channels++) {
        if (t.us < best->us)
            *best = t;
        call->channels = *channels;
        if (!*channels || model_predict(m, call, &t))
            return;
    }
}

int model_best(const struct model *m, int coll, uint64_t bytes, struct model_time *t)
{
    struct model_call call = {coll, bytes, -1, -1, 0};
    if (model_predict(m, &call, t))
        return -1;
    for (call.algo = 0; call.algo < ALGO_COUNT && coll < COLL_COUNT; call.algo++)
        for (call.proto = 0; call.proto < PROTO_COUNT; call.proto++)
            try(m, &call, t);
    return 0;
}
