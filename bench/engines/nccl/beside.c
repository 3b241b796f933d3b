/* What jobs do beside the main measurement: they reduce bfloat16, and some out of place where others do it in place. */
#include <stdio.h>
#include <string.h>

#include "bench/engines/nccl/session.h"
#include "core/coll.h"

#define LEAST_BYTES ((uint64_t)64 << 10) /* below, all types take what the latency takes */
#define SAMPLES     3
#define WORTH       0.05

struct variant {
    const char *name;
    struct nccl_point point;
    double us; /* the best of its samples; 0 could not be measured */
};

/* The best of a few samples; the first has its data checked. */
static enum bench_outcome measure(const struct nccl_request *r, struct nccl_measure q, struct variant *v,
                                  enum bench_status *status)
{
    int refusals;
    enum bench_outcome outcome = nccl_session_prepare(r, &v->point, &refusals);
    *status = refusals ? BENCH_FAILED : BENCH_OK;
    q.point = v->point;
    for (int i = 0; i < SAMPLES && outcome == BENCH_ANSWERED && *status == BENCH_OK; i++) {
        double us = 0;
        q.check = i == 0;
        outcome = nccl_session_ask(r, &q, status, &us);
        v->us = !v->us || us < v->us ? us : v->us;
    }
    return outcome;
}

static int is_wanted(const struct nccl_session *s, const struct nccl_measure *q)
{
    int reduces =
        q->point.coll == COLL_ALLREDUCE || q->point.coll == COLL_REDUCESCATTER || q->point.coll == COLL_REDUCE;
    return reduces && q->algo >= 0 && q->proto >= 0 && !q->channels && q->point.bytes >= LEAST_BYTES &&
           !(s->context->beside[q->point.coll] >> (q->algo * PROTO_COUNT + q->proto) & 1);
}

/* How the variants compare with the last one, where that is worth a word. */
static void say(const struct variant *v, int n, char *detail)
{
    int used = 0;
    double us = v[n - 1].us;
    *detail = 0;
    for (int i = 0; i < n - 1 && us > 0; i++)
        if (v[i].us > us * (1 + WORTH) || (v[i].us > 0 && v[i].us < us * (1 - WORTH)))
            used += snprintf(detail + used, BENCH_DETAIL - (size_t)used, "%s%s takes %.2f times this", used ? ", " : "",
                             v[i].name, v[i].us / us);
}

enum bench_outcome nccl_session_beside(const struct nccl_request *r, const struct nccl_measure *q, double us,
                                       enum bench_status *status)
{
    struct nccl_session *s = r->session;
    if (!is_wanted(s, q))
        return BENCH_ANSWERED;
    s->context->beside[q->point.coll] |= (uint64_t)1 << (q->algo * PROTO_COUNT + q->proto);
    /* The point itself again, by as many samples: `us` is one alone. */
    struct variant variants[] = {{"bfloat16", q->point, 0},
                                 {q->point.in_place ? "out of place" : "in place", q->point, 0},
                                 {"measured again", q->point, 0}};
    struct nccl_measure more = *q;
    enum bench_outcome outcome = BENCH_ANSWERED;
    enum bench_status one = BENCH_OK;
    const char *wrong = NULL;
    int n = (int)(sizeof variants / sizeof *variants), refusals;
    variants[0].point.type = NCCL_TYPE_BFLOAT16;
    variants[1].point.in_place = !q->point.in_place;
    more.iterations = bench_sample_calls(&nccl_sampling, us);
    for (int i = 0; i < n && outcome == BENCH_ANSWERED && one != BENCH_WRONG; i++) {
        outcome = measure(r, more, &variants[i], &one);
        wrong = variants[i].name;
    }
    if (outcome != BENCH_ANSWERED)
        return outcome;
    char said[BENCH_DETAIL]; /* every request clears r->detail */
    if (one == BENCH_WRONG)
        snprintf(said, sizeof said, "%s: %.*s", wrong, BENCH_DETAIL - 32, r->detail);
    else
        say(variants, n, said);
    outcome = nccl_session_prepare(r, &q->point, &refusals);
    if (outcome != BENCH_ANSWERED)
        return outcome;
    *status = one == BENCH_WRONG ? BENCH_WRONG : *status;
    memcpy(r->detail, said, sizeof said);
    return BENCH_ANSWERED;
}
