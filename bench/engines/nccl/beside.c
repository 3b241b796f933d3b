/* What jobs do beside the main measurement: they reduce bfloat16, and some out of place where others do it in place.
 * That data has to be right, too. */
#include <stdio.h>
#include <string.h>

#include "bench/engines/nccl/session.h"
#include "core/coll.h"

#define LEAST_BYTES ((uint64_t)64 << 10) /* below, all types take what the latency takes */

static int is_wanted(const struct nccl_session *s, const struct nccl_measure *q)
{
    int reduces =
        q->point.coll == COLL_ALLREDUCE || q->point.coll == COLL_REDUCESCATTER || q->point.coll == COLL_REDUCE;
    return reduces && q->algo >= 0 && q->proto >= 0 && !q->channels && q->point.bytes >= LEAST_BYTES &&
           !(s->context->beside[q->point.coll] >> (q->algo * PROTO_COUNT + q->proto) & 1);
}

enum bench_outcome nccl_session_beside(const struct nccl_request *r, const struct nccl_measure *q,
                                       enum bench_status *status)
{
    struct nccl_measure others[] = {*q, *q};
    const char *const names[] = {"bfloat16", q->point.in_place ? "out of place" : "in place"};
    enum bench_outcome outcome = BENCH_ANSWERED;
    enum bench_status one = BENCH_OK;
    char said[BENCH_DETAIL] = ""; /* every request clears r->detail */
    double us;
    int refusals;
    if (!is_wanted(r->session, q))
        return BENCH_ANSWERED;
    r->session->context->beside[q->point.coll] |= (uint64_t)1 << (q->algo * PROTO_COUNT + q->proto);
    others[0].point.type = NCCL_TYPE_BFLOAT16;
    others[1].point.in_place = !q->point.in_place;
    for (int i = 0; i < 2 && outcome == BENCH_ANSWERED && one != BENCH_WRONG; i++) {
        others[i].check = 1;
        outcome = nccl_session_prepare(r, &others[i].point, &refusals);
        if (outcome == BENCH_ANSWERED && !refusals)
            outcome = nccl_session_ask(r, &others[i], &one, &us);
        if (outcome == BENCH_ANSWERED && one == BENCH_WRONG)
            snprintf(said, sizeof said, "%s: %.*s", names[i], BENCH_DETAIL - 32, r->detail);
    }
    if (outcome == BENCH_ANSWERED)
        outcome = nccl_session_prepare(r, &q->point, &refusals);
    if (outcome != BENCH_ANSWERED)
        return outcome;
    *status = one == BENCH_WRONG ? BENCH_WRONG : *status;
    memcpy(r->detail, said, sizeof said);
    return BENCH_ANSWERED;
}
