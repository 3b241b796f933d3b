/* Asking a running launch: points, samples, what all ranks' answers mean together. */
#include "bench/engines/nccl/session.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/coll.h"
#include "core/progress.h"
#include "core/units.h"

/* A GPU's clock ramps and NCCL's proxies are threads on the host: 2 ms are worth more than the samples of a search on
 * host memory. */
const struct bench_sampling nccl_sampling = {.least_us = 2000, .most_us = 5000, .calls = 5};

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
static void describe(struct nccl_session *s)
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
    enum bench_outcome outcome = nccl_pool_ask(s->context->pool, NCCL_PREPARE, p, sizeof *p, NCCL_PREPARED, s->prepared,
                                               sizeof *s->prepared, refusals, until_s, r->stop, r->detail);
    if (outcome == BENCH_ANSWERED && !*refusals && !counts_alike(s, p, r->detail))
        *refusals = s->base.ranks;
    if (outcome == BENCH_ANSWERED && !*refusals) {
        s->point = *p;
        s->unit_us = 0;
        for (int i = 0; i < s->base.ranks; i++)
            s->unit_us = fmax(s->unit_us, s->prepared[i].unit_us);
        describe(s);
    }
    return outcome;
}

/* ---- answers ---- */

static int same_choice(const struct nccl_choice *a, const struct nccl_choice *b)
{
    return a->known == b->known && a->algo == b->algo && a->proto == b->proto && a->channels == b->channels &&
           a->allowed == b->allowed && a->refused == b->refused;
}

/* Whether the GPU's clock says something else than the host's can be. */
static int is_odd(const struct nccl_times *t)
{
    return t->us < t->host_least_us * (1 - ODD) || t->us > t->host_most_us * (1 + ODD);
}

static void compare_clocks(struct nccl_session *s, const struct nccl_times *t)
{
    s->samples++;
    s->odd += is_odd(t);
    if (s->odd_said || s->odd < ODD_LEAST || 2 * s->odd < s->samples)
        return;
    s->odd_said = 1;
    log_warn(
        s->context->setup.log,
        "launch %s: the GPU's clock says %.4g us a call, by the host's it is %.4g to %.4g us: one of them is wrong",
        s->launch->label, t->us, t->host_least_us, t->host_most_us);
}

/* What rank `r` says, which is a rank of its group. */
static void say_trouble(const struct nccl_session *s, int r, char *detail)
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

/* Of what ran beside, over all ranks that had it. */
static double mean_slowdown(const struct nccl_session *s)
{
    double sum = 0, n = 0;
    for (int r = 0; r < s->base.ranks; r++) {
        sum += s->times[r].slowdown;
        n += s->times[r].slowdown > 0;
    }
    return n > 0 ? sum / n : 0;
}

/* The slowest rank's answer stands for all groups; ranks of one that see different choices would hang sooner or later.
 */
static enum bench_status judge(struct nccl_session *s, double *us, char *detail)
{
    enum bench_status status = BENCH_OK;
    const struct nccl_times *slowest = &s->times[0];
    for (int r = 0; r < s->base.ranks; r++) {
        const struct nccl_times *t = &s->times[r];
        slowest = t->us > slowest->us ? t : slowest;
        if (t->status == NCCL_DONE || (status == BENCH_WRONG && t->status != NCCL_WRONG))
            continue;
        status = t->status == NCCL_WRONG ? BENCH_WRONG : BENCH_FAILED;
        say_trouble(s, r, detail);
    }
    *us = slowest->us;
    s->base.slowdown = mean_slowdown(s);
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
    s->used = arena_grow(s->arena, s->used, (size_t)s->nused, sizeof *s->used);
    s->used[s->nused++] = cell;
    return first_s(s);
}

enum bench_outcome nccl_session_ask(const struct nccl_request *r, const struct nccl_measure *q,
                                    enum bench_status *status, double *us)
{
    struct nccl_session *s = r->session;
    int refusals = 0;
    double patience_s = r->patience_s + first_use_s(s, q) + (q->check ? FILL_S_PER_BYTE * (double)q->point.bytes : 0);
    enum bench_outcome outcome =
        nccl_pool_ask(s->context->pool, NCCL_MEASURE, q, sizeof *q, NCCL_TIMES, s->times, sizeof *s->times, &refusals,
                      progress_now_s() + patience_s, r->stop, r->detail);
    if (outcome == BENCH_ANSWERED)
        *status = refusals ? BENCH_FAILED : judge(s, us, r->detail);
    return outcome;
}
