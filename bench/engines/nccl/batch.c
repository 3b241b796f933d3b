/* A batch of samples: candidates in turn, each told as it comes. */
#include "bench/candidates/nccl_plan.h"
#include "bench/engines/nccl/session.h"

/* The load lasts so much longer than a sample takes alone; more pieces than this are not put beside one. */
#define BESIDE     2.0
#define MOST_UNITS 20000

static struct nccl_measure question(const struct nccl_session *s, const struct bench_batch *b,
                                    const struct bench_knobs *call)
{
    struct nccl_requested w = nccl_requested_of(call);
    struct nccl_measure q = nccl_session_question(s, b->coll, b->bytes, b->shape, b->buffers);
    q.algo = w.algo;
    q.proto = w.proto;
    q.channels = w.channels;
    q.chunk_bytes = w.chunk_bytes;
    return q;
}

static void remember_default(struct nccl_session *s, const struct nccl_point *p, double us)
{
    struct default_point *d = NULL;
    for (int i = 0; i < s->ndefaults && !d; i++)
        d = nccl_same_point(&s->defaults[i].point, p) ? &s->defaults[i] : NULL;
    if (!d) {
        s->defaults = arena_grow(s->arena, s->defaults, (size_t)s->ndefaults, sizeof *s->defaults);
        d = &s->defaults[s->ndefaults++];
        *d = (struct default_point){.point = *p};
    }
    if (d->n < DEFAULT_SAMPLES)
        d->us[d->n++] = us;
}

/* One batch on its way. */
struct run {
    struct nccl_request request;
    const struct bench_batch *batch;
    int *iterations; /* by shot */
    bench_sample_fn *report;
    void *user;
};

/* As many pieces of the load as outlast a sample of calls that took `us` alone, even where each slows the other. */
static int units_beside(const struct nccl_session *s, double us)
{
    double units = s->unit_us > 0 ? BESIDE * us / s->unit_us + 1 : 0;
    return units < MOST_UNITS ? (int)units : MOST_UNITS;
}

/* One sample of one shot; the first of a shot without iterations finds out how many it needs. Beside a load each is
 * taken alone first, which says how much of the load it takes to last as long. */
static enum bench_outcome take_sample(struct run *x, int shot, int first, enum bench_status *status, double *us)
{
    const struct bench_batch *b = x->batch;
    struct nccl_measure q = question(x->request.session, b, b->shots[shot].knobs);
    enum bench_outcome outcome = BENCH_ANSWERED;
    int *iterations = &x->iterations[shot];
    *status = BENCH_OK;
    x->request.patience_s = b->shots[shot].patience_s;
    int loaded = b->shape.load != BENCH_ALONE;
    if (loaded || (first && (b->check || !*iterations))) {
        q.check = b->check && first;
        q.iterations = loaded && *iterations ? *iterations : 1;
        outcome = nccl_session_ask(&x->request, &q, status, us);
        if (outcome != BENCH_ANSWERED || *status != BENCH_OK)
            return outcome;
        if (!*iterations)
            *iterations = bench_sample_calls(&nccl_sampling, *us);
        if (*iterations == 1 && !loaded)
            return BENCH_ANSWERED;
    }
    q.check = 0;
    q.iterations = *iterations;
    q.units = loaded ? units_beside(x->request.session, *us * *iterations) : 0;
    return nccl_session_ask(&x->request, &q, status, us);
}

/* One sample, told. *out: the shot gets no further ones. */
static enum bench_outcome run_shot(struct run *x, int shot, int first, char *out)
{
    struct nccl_session *s = x->request.session;
    const struct bench_batch *b = x->batch;
    struct nccl_measure q = question(s, b, b->shots[shot].knobs);
    enum bench_status status;
    double us = 0;
    enum bench_outcome outcome = take_sample(x, shot, first, &status, &us);
    if (outcome == BENCH_ANSWERED && status == BENCH_OK && first && b->check && b->nshots == 1 && !b->shape.load)
        outcome = nccl_session_beside(&x->request, &q, &status);
    if (outcome != BENCH_ANSWERED)
        return outcome;
    *out = status != BENCH_OK;
    x->report(x->user, shot, status, us, *s->remark && status == BENCH_OK ? s->remark : x->request.detail);
    if (status == BENCH_OK && q.algo < 0 && !b->shape.load && (!b->buffers || b->buffers == s->context->buffers))
        remember_default(s, &q.point, us);
    return BENCH_ANSWERED;
}

enum bench_outcome nccl_session_measure(struct bench_session *base, const struct bench_batch *b,
                                        volatile sig_atomic_t *stop, bench_sample_fn *report, void *user,
                                        char detail[BENCH_DETAIL])
{
    struct nccl_session *s = (struct nccl_session *)base;
    struct run x = {{s, stop, b->shots[0].patience_s, detail}, b, NULL, report, user};
    const struct nccl_point p = nccl_session_question(s, b->coll, b->bytes, b->shape, b->buffers).point;
    int refusals;
    enum bench_outcome outcome = nccl_session_prepare(&x.request, &p, &refusals);
    if (outcome == BENCH_ANSWERED && refusals)
        for (int i = 0; i < b->nshots; i++)
            report(user, i, BENCH_FAILED, 0, detail);
    if (outcome != BENCH_ANSWERED || refusals)
        return outcome;
    struct arena *a = arena_new();
    x.iterations = arena_alloc(a, (size_t)b->nshots * sizeof *x.iterations);
    char *out = arena_alloc(a, (size_t)b->nshots);
    for (int i = 0; i < b->nshots; i++)
        x.iterations[i] = b->shots[i].iterations;
    for (int k = 0; k < b->samples && outcome == BENCH_ANSWERED; k++)
        for (int i = 0; i < b->nshots && outcome == BENCH_ANSWERED; i++)
            if (!out[i])
                outcome = run_shot(&x, i, k == 0, &out[i]);
    arena_free(a);
    return outcome;
}
