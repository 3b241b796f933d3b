/* Asking a running launch: points, what all ranks' answers mean together, batches of samples. */
#include "bench/engines/nccl/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/call/result.h"
#include "core/progress.h"
#include "core/units.h"

/* The first use of an algorithm connects all ranks. */
#define FIRST_S          10.0
#define FIRST_S_PER_RANK 0.1

/* Filling buffers before a point and comparing what came out, on the host. */
#define FILL_S_PER_BYTE 2e-8

/* The two clocks disagree when one is this part beyond the other; a host that was busy is late once, not always. */
#define ODD       0.1
#define ODD_LEAST 5

/* ---- points ---- */

struct nccl_measure nccl_session_question(const struct nccl_session *s, int coll, uint64_t bytes,
                                          struct bench_shape shape, int buffers)
{
    const struct bench_shape whole = {s->base.nodes, s->base.ranks, 0}, everybody = {0};
    int usual = coll == COLL_ALLREDUCE;
    buffers = buffers ? buffers : s->context->buffers;
    return (struct nccl_measure){
        .point = {.coll = coll,
                  .in_place = buffers == BENCH_IN_PLACE || (usual && buffers != BENCH_OUT_OF_PLACE),
                  .type = buffers == BENCH_BFLOAT16 ? NCCL_TYPE_BFLOAT16 : NCCL_TYPE_FITTING,
                  .registered = buffers == BENCH_REGISTERED,
                  .bytes = bytes,
                  .groups = {bench_shape_same(&shape, &whole) ? everybody : shape, whole.nodes}},
        .algo = -1,
        .proto = -1,
        .iterations = 1,
        .graph = buffers == BENCH_GRAPH};
}

int nccl_same_point(const struct nccl_point *a, const struct nccl_point *b)
{
    return a->coll == b->coll && a->in_place == b->in_place && a->type == b->type && a->registered == b->registered &&
           a->bytes == b->bytes && bench_shape_same(&a->groups.shape, &b->groups.shape);
}

/* What is to be known of the prepared point. */
static void describe_point(struct nccl_session *s)
{
    const struct nccl_prepared *p = NULL;
    char set[UNIT_TEXT], cache[UNIT_TEXT];
    for (int r = 0; r < s->base.ranks; r++)
        if (s->prepared[r].group >= 0 && (!p || s->prepared[r].working_set < p->working_set))
            p = &s->prepared[r];
    *s->remark = *s->data = 0;
    if (!p)
        return;
    snprintf(s->data, sizeof s->data, "%.15s%s", p->type, s->point.in_place ? ", in place" : "");
    s->base.data = s->data;
    if (p->working_set < p->cache)
        snprintf(s->remark, sizeof s->remark,
                 "GPU memory is full: calls in turn go through %s, which the GPU's cache of %s may hold",
                 unit_bytes(set, p->working_set), unit_bytes(cache, p->cache));
}

/* Whether NCCL counts the nodes of all groups as the shape does: a table's rows are found by that. */
static int counts_alike(const struct nccl_session *s, const struct nccl_point *p, char *detail)
{
    for (int r = 0; r < s->base.ranks; r++) {
        int counted = s->prepared[r].nodes, nodes = p->groups.shape.nodes;
        if (nodes && counted && counted != nodes) {
            snprintf(detail, BENCH_DETAIL, "NCCL counts %d nodes where rank %d's group is on %d", counted, r, nodes);
            return 0;
        }
    }
    return 1;
}

static double first_s(const struct nccl_session *s)
{
    return s->context->own.first_s > 0 ? s->context->own.first_s : FIRST_S + FIRST_S_PER_RANK * s->base.ranks;
}

enum bench_outcome nccl_session_prepare(const struct nccl_request *r, const struct nccl_point *p, int *refusals)
{
    struct nccl_session *s = r->session;
    *refusals = 0;
    if (nccl_same_point(&s->point, p))
        return BENCH_ANSWERED;
    double until_s = progress_now_s() + r->patience_s + FILL_S_PER_BYTE * (double)p->bytes;
    if (!bench_shape_same(&s->groups, &p->groups.shape)) { /* made anew, and nothing is connected */
        until_s += first_s(s);
        s->groups = p->groups.shape;
        s->nused = 0;
    }
    memset(&s->point, 0, sizeof s->point);
    struct nccl_question q = {.message = NCCL_PREPARE,
                              .body = p,
                              .body_bytes = sizeof *p,
                              .wanted = NCCL_PREPARED,
                              .answers = s->prepared,
                              .bytes = sizeof *s->prepared,
                              .deadline_s = bench_wait_until(&s->base, until_s),
                              .last_s = s->base.until_s};
    enum bench_outcome outcome = nccl_pool_ask(s->context->pool, &q, r->stop, r->detail);
    *refusals = q.refusals;
    if (outcome == BENCH_ANSWERED && !*refusals && !counts_alike(s, p, r->detail))
        *refusals = s->base.ranks;
    if (outcome == BENCH_ANSWERED && !*refusals) {
        s->point = *p;
        describe_point(s);
    }
    return outcome;
}

/* ---- answers ---- */

static int same_choice(const struct nccl_choice *a, const struct nccl_choice *b)
{
    return a->known == b->known && a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
           a->allowed == b->allowed && a->refused == b->refused;
}

/* Warn once where the GPU's clock says something else than the host's can be, sample after sample. */
static void compare_clocks(struct nccl_session *s, const struct nccl_times *t)
{
    s->samples++;
    s->odd += t->us < t->host_least_us * (1 - ODD) || t->us > t->host_most_us * (1 + ODD);
    if (s->odd_said || s->odd < ODD_LEAST || 2 * s->odd < s->samples)
        return;
    s->odd_said = 1;
    log_warn(
        s->context->setup.log,
        "launch %s: the GPU's clock says %.4g us a call, by the host's it is %.4g to %.4g us: one of them is wrong",
        s->launch->label, t->us, t->host_least_us, t->host_most_us);
}

/* What rank `r` says, which is a rank of its group. */
static void tell_trouble(const struct nccl_session *s, int r, char *detail)
{
    const char *text = s->times[r].detail;
    int named = (int)strcspn(text, ":");
    if (s->groups.nodes && text[named])
        snprintf(detail, BENCH_DETAIL, "%.*s of group %d (rank %d of all)%.300s", named < 64 ? named : 64, text,
                 s->prepared[r].group, r, text + named);
    else
        snprintf(detail, BENCH_DETAIL, "%.*s", BENCH_DETAIL - 1, text);
}

/* The rank that came before all others of rank r's group. */
static int first_of(const struct nccl_session *s, int r)
{
    int first = 0;
    while (s->prepared[first].group != s->prepared[r].group)
        first++;
    return first;
}

/* The slowest rank's answer stands for all groups; ranks of one that see different choices would hang sooner or later.
 */
static enum bench_status judge_answers(struct nccl_session *s, double *us, char *detail)
{
    enum bench_status status = BENCH_OK;
    const struct nccl_times *slowest = &s->times[0];
    for (int r = 0; r < s->base.ranks; r++) {
        const struct nccl_times *t = &s->times[r];
        slowest = t->us > slowest->us ? t : slowest;
        if (t->status == NCCL_DONE || (status == BENCH_WRONG && t->status != NCCL_WRONG))
            continue;
        status = t->status == NCCL_WRONG ? BENCH_WRONG : BENCH_FAILED;
        tell_trouble(s, r, detail);
    }
    *us = slowest->us;
    for (int r = 1; r < s->base.ranks && status == BENCH_OK; r++) {
        int first = first_of(s, r);
        if (!same_choice(&s->times[first].choice, &s->times[r].choice)) {
            status = BENCH_FAILED;
            snprintf(detail, BENCH_DETAIL, "ranks %d and %d are offered different choices by NCCL", first, r);
        }
    }
    if (status == BENCH_OK && !(*us > 0 && isfinite(*us))) {
        status = BENCH_FAILED;
        snprintf(detail, BENCH_DETAIL, "the GPU's clock says %g us", *us);
    }
    if (status == BENCH_OK)
        compare_clocks(s, slowest);
    const struct nccl_choice *c = &slowest->choice;
    if (status == BENCH_OK && c->channels && c->channels_run && c->channels_run != c->channels)
        snprintf(detail, BENCH_DETAIL, "NCCL runs %d of the %d channels that it was asked for", c->channels_run,
                 c->channels);
    return status;
}

/* How much more time a request gets because it uses something first. */
static double first_use_s(struct nccl_session *s, const struct nccl_measure *q)
{
    struct used_cell cell = {q->point.coll, q->algo, q->proto, q->algo < 0 ? q->point.bytes : 0};
    for (int i = 0; i < s->nused; i++)
        if (s->used[i].coll == cell.coll && s->used[i].algo == cell.algo && s->used[i].proto == cell.proto &&
            s->used[i].bytes == cell.bytes)
            return 0;
    ARENA_ADD(s->arena, s->used, s->nused) = cell;
    return first_s(s);
}

enum bench_outcome nccl_session_ask(const struct nccl_request *r, const struct nccl_measure *q,
                                    enum bench_status *status, double *us)
{
    struct nccl_session *s = r->session;
    double patience_s = r->patience_s + first_use_s(s, q) + (q->check ? FILL_S_PER_BYTE * (double)q->point.bytes : 0);
    struct nccl_question asked = {.message = NCCL_MEASURE,
                                  .body = q,
                                  .body_bytes = sizeof *q,
                                  .wanted = NCCL_TIMES,
                                  .answers = s->times,
                                  .bytes = sizeof *s->times,
                                  .deadline_s = bench_wait_until(&s->base, progress_now_s() + patience_s),
                                  .last_s = s->base.until_s};
    enum bench_outcome outcome = nccl_pool_ask(s->context->pool, &asked, r->stop, r->detail);
    if (outcome == BENCH_ANSWERED)
        *status = asked.refusals ? BENCH_FAILED : judge_answers(s, us, r->detail);
    return outcome;
}

/* ---- data as some jobs have it ---- */

#define LEAST_BYTES ((uint64_t)64 << 10) /* below, all types take what the latency takes */

static int has_untold_data(const struct nccl_session *s, const struct nccl_measure *q)
{
    int reduces =
        q->point.coll == COLL_ALLREDUCE || q->point.coll == COLL_REDUCESCATTER || q->point.coll == COLL_REDUCE;
    return reduces && q->algo >= 0 && q->proto >= 0 && !q->channels && q->point.bytes >= LEAST_BYTES &&
           !(s->context->beside[q->point.coll] >> (q->algo * PROTO_COUNT + q->proto) & 1);
}

/* For reductions, once for each algorithm with a protocol: whether what was just measured is right with bfloat16 and
 * with the other place of the result, too, as some jobs have them. *status becomes BENCH_WRONG with a sentence in
 * r->detail, or stays. */
static enum bench_outcome check_other_data(const struct nccl_request *r, const struct nccl_measure *q,
                                           enum bench_status *status)
{
    struct nccl_measure others[] = {*q, *q};
    const char *const names[] = {"bfloat16", q->point.in_place ? "out of place" : "in place"};
    enum bench_outcome outcome = BENCH_ANSWERED;
    enum bench_status one = BENCH_OK;
    char said[BENCH_DETAIL] = ""; /* every request clears r->detail */
    double us;
    int refusals;
    if (!has_untold_data(r->session, q))
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

/* ---- batches ---- */

static struct nccl_measure question_of(const struct nccl_session *s, const struct bench_batch *b,
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
        d = &ARENA_ADD(s->arena, s->defaults, s->ndefaults);
        *d = (struct default_point){.point = *p};
    }
    if (d->n < DEFAULT_SAMPLES)
        d->us[d->n++] = us;
}

/* One batch on its way. */
struct batch_run {
    struct nccl_request request;
    const struct bench_batch *batch;
    int *iterations; /* by shot */
    bench_sample_fn *report;
    void *user;
};

/* Take one sample of one shot and report it; the first of a shot without iterations finds out how many it needs. *out:
 * the shot gets no further ones. */
static enum bench_outcome measure_shot(struct batch_run *x, int shot, int first, char *out)
{
    struct nccl_session *s = x->request.session;
    const struct bench_batch *b = x->batch;
    const struct nccl_measure call = question_of(s, b, b->shots[shot].knobs);
    struct nccl_measure q = call;
    int *iterations = &x->iterations[shot], enough = 0;
    enum bench_outcome outcome = BENCH_ANSWERED;
    enum bench_status status = BENCH_OK;
    double us = 0;
    x->request.patience_s = b->shots[shot].patience_s;
    if (first && (b->check || !*iterations)) {
        q.check = b->check;
        outcome = nccl_session_ask(&x->request, &q, &status, &us);
        enough = outcome != BENCH_ANSWERED || status != BENCH_OK;
        if (!enough && !*iterations)
            *iterations = bench_sample_calls(&NCCL_SAMPLING, us);
        enough |= *iterations == 1;
    }
    if (!enough) {
        q.check = 0;
        q.iterations = *iterations;
        outcome = nccl_session_ask(&x->request, &q, &status, &us);
    }
    if (outcome == BENCH_ANSWERED && status == BENCH_OK && first && b->check && b->nshots == 1)
        outcome = check_other_data(&x->request, &call, &status);
    if (outcome != BENCH_ANSWERED)
        return outcome;
    *out = status != BENCH_OK;
    x->report(x->user, shot, status, us, *s->remark && status == BENCH_OK ? s->remark : x->request.detail);
    if (status == BENCH_OK && call.algo < 0 && (!b->buffers || b->buffers == s->context->buffers))
        remember_default(s, &call.point, us);
    return BENCH_ANSWERED;
}

enum bench_outcome nccl_session_measure(struct bench_session *base, const struct bench_batch *b,
                                        volatile sig_atomic_t *stop, bench_sample_fn *report, void *user,
                                        char detail[BENCH_DETAIL])
{
    struct nccl_session *s = (struct nccl_session *)base;
    struct batch_run x = {{s, stop, b->shots[0].patience_s, detail}, b, NULL, report, user};
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
                outcome = measure_shot(&x, i, k == 0, &out[i]);
    arena_free(a);
    return outcome;
}
