/* One try after the other, and round by round: the measuring part of the verbs engine's worker. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/engines/verbs/measure.h"
#include "bench/nccltune-bench/verbs_internal.h"
#include "core/progress.h"

#define QPS 2
/* Slow tries that are repeated, each alone; with more of them the fabric is at fault, and time matters. */
#define MOST_REPEATED 32

/* Messages large enough for the rate of any link on two queue pairs, small enough for a slow one. */
static const struct verbs_shot full[] = {{VERBS_WRITE, 65536, 5, 0.05, PATIENCE_S},
                                         {VERBS_BOTH, 65536, 3, 0.05, PATIENCE_S},
                                         {VERBS_PING, 8, 3, 0.01, PATIENCE_S},
                                         {VERBS_WRITE, 8, 3, 0.01, PATIENCE_S}};
static const struct verbs_shot brief[] = {{VERBS_WRITE, 65536, 3, 0.005, PATIENCE_S}};

/* ---- the way to the other side
 * --------------------------------------------------------------------------------------- */

/* A try has a tag of its own: what a late partner sends afterwards is never taken for something else. Words are far
 * below the size up to which MPI sends eagerly, so that sending does not wait for the other side; receiving does. */
static int mpi_swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    const struct worker_link *l = user;
    MPI_Request in, out;
    int received = 0, error = 0;
    MPI_Irecv(theirs, (int)bytes, MPI_BYTE, l->rank, l->tag, l->worker->comm, &in);
    MPI_Isend(mine, (int)bytes, MPI_BYTE, l->rank, l->tag, l->worker->comm, &out);
    for (MPI_Test(&in, &received, MPI_STATUS_IGNORE); !received; MPI_Test(&in, &received, MPI_STATUS_IGNORE)) {
        if (progress_now_s() > deadline_s) {
            MPI_Cancel(&in);
            error = ETIMEDOUT;
            break;
        }
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    MPI_Wait(&in, MPI_STATUS_IGNORE);
    MPI_Wait(&out, MPI_STATUS_IGNORE);
    return error;
}

int worker_connect(struct worker_link *l, struct worker *w, int other, int lead, struct verbs_pair_setup setup,
                   struct verbs_attempt *used, struct err *e)
{
    const struct who *me = worker_me(w), *peer = &w->all[other];
    *l = (struct worker_link){.worker = w, .rank = other, .tag = w->turn % 30000 + 1};
    snprintf(l->mine, sizeof l->mine, "%s %s", me->node, me->port);
    snprintf(l->theirs, sizeof l->theirs, "%s %s", peer->node, peer->port);
    l->channel = (struct verbs_channel){mpi_swap, l, l->mine, l->theirs};
    if (me->failure[0] || peer->failure[0])
        return err_set(e, ERR_FAILED, "%s", me->failure[0] ? me->failure : peer->failure);
    setup.port = w->port;
    return verbs_connect(&l->pair, &setup, &l->channel, lead, w->nccl, used, e);
}

/* ---- one try
 * ---------------------------------------------------------------------------------------------------------- */

static int measure(struct verbs_pair *pair, int brief_only, int lead, struct tally *t, struct err *e)
{
    const struct verbs_shot *shots = brief_only ? brief : full;
    double *const into[] = {&t->GBps, &t->both_GBps, &t->latency_us, &t->messages_per_s};
    int n = brief_only ? (int)(sizeof brief / sizeof *brief) : (int)(sizeof full / sizeof *full);
    for (int i = 0; i < n; i++) {
        struct verbs_figures f;
        int code = verbs_measure(pair, &shots[i], lead, &f, e);
        if (code)
            return code;
        *into[i] = i < 2 ? f.GBps : i == 2 ? f.time_us.median : 1e6 / f.time_us.median;
    }
    return 0;
}

/* This rank's part in a try, with the rank `other`. */
static void run_try(struct worker *w, int other, int lead, int brief_only, struct tally *t)
{
    struct verbs_pair_setup setup = {
        .qps = QPS, .max_bytes = full[0].bytes, .patience_s = PATIENCE_S, .hasty = brief_only};
    struct verbs_attempt used = {.kind = VERBS_GID_NO_KIND};
    struct worker_link link;
    struct err e = {0};
    int code = worker_connect(&link, w, other, lead, setup, &used, &e);
    if (!code && !w->port->gids.infiniband) {
        snprintf(t->gid, sizeof t->gid, "%s", verbs_gid_kind_name(used.kind));
        t->gid_index[0] = used.lead + 1;
        t->gid_index[1] = used.follower + 1;
    }
    if (!code)
        code = measure(&link.pair, brief_only, lead, t, &e);
    verbs_pair_close(&link.pair);
    t->verdict = code ? VERBS_FAILED : VERBS_GOOD;
    if (code)
        snprintf(t->why, sizeof t->why, "%.*s", (int)sizeof t->why - 1, e.text);
}

static struct verbs_outcome outcome_of(const struct worker *w, const struct tally *t)
{
    return (struct verbs_outcome){.pair = t->pair,
                                  .verdict = t->verdict,
                                  .GBps = t->GBps,
                                  .why = t->why[0] ? arena_strdup(w->arena, t->why) : NULL};
}

/* A new outcome, at the end. */
static void append(struct worker *w, struct verbs_outcome o)
{
    const struct verbs_end ends[] = {o.pair.from, o.pair.to};
    for (int side = 0; side < 2; side++) {
        struct record *r = &w->records[ends[side].node * w->rails + ends[side].rail];
        r->failed += o.verdict == VERBS_FAILED;
        r->good += o.verdict != VERBS_FAILED;
    }
    w->outcomes = arena_grow(w->arena, w->outcomes, (size_t)w->noutcomes, sizeof *w->outcomes);
    w->outcomes[w->noutcomes++] = o;
}

/* Makes the outcome number `at` of a try: a new one, or a better one in its place. */
static void keep(struct worker *w, const struct tally *t, int at)
{
    struct verbs_fabric_try one = {.outcome = outcome_of(w, t),
                                   .both_GBps = t->both_GBps,
                                   .latency_us = t->latency_us,
                                   .messages_per_s = t->messages_per_s,
                                   .gid = t->gid[0] ? t->gid : NULL,
                                   .gid_index = {t->gid_index[0], t->gid_index[1]}};
    if (at < w->noutcomes && (t->verdict != VERBS_GOOD || t->GBps <= w->outcomes[at].GBps))
        return;
    const char *key = at < w->noutcomes ? "again" : "try";
    if (at == w->noutcomes)
        append(w, one.outcome);
    else
        w->outcomes[at] = one.outcome;
    worker_say_inside(w, key, verbs_fabric_try_json(&one));
}

/* ---- rounds ---------------------------------------------------------------------------------------------------------
 */

static int by_pair(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct verbs_try));
}

static int is_recalled(const struct worker *w, const struct verbs_try *t)
{
    return w->recalled && bsearch(t, w->outcomes, (size_t)w->recalled, sizeof *w->outcomes, by_pair);
}

int worker_partner(const struct worker *w, const struct verbs_round *r, struct verbs_try *pair, int *lead)
{
    for (int i = 0; i < r->ntries; i++) {
        const struct verbs_try *t = &r->tries[i];
        int from = w->rank_of[t->from.node * w->rails + t->from.rail];
        int to = w->rank_of[t->to.node * w->rails + t->to.rail];
        if (w->rank != from && w->rank != to)
            continue;
        *pair = *t;
        *lead = w->rank == from;
        return *lead ? to : from;
    }
    return -1;
}

/* All tries of a round at once; whoever has none waits. Afterwards every rank knows all outcomes. They are new ones
 * from number `at` on, or `at` is the one outcome that the round's one try repeats. */
static void run_round(struct worker *w, const struct verbs_round *r, int brief_only, int at)
{
    struct tally mine = {.tried = 0};
    w->turn++;
    int partner = worker_partner(w, r, &mine.pair, &mine.tried);
    if (partner >= 0)
        run_try(w, partner, mine.tried, brief_only, &mine);
    worker_gather(w, &mine, w->round, sizeof mine);
    for (int i = 0; i < w->ranks; i++)
        if (w->round[i].tried)
            keep(w, &w->round[i], at++);
}

/* A port that failed so often and never went well is not tried again: each time costs seconds. */
#define ENOUGH_FAILURES 3

static int is_dead(const struct worker *w, struct verbs_end p)
{
    const struct record *r = &w->records[p.node * w->rails + p.rail];
    return !r->good && r->failed >= ENOUGH_FAILURES;
}

void worker_schedule(struct worker *w, const struct verbs_schedule *s, int brief_only, int skip_dead, int done, int of)
{
    for (int i = 0; i < s->nrounds; i++) {
        struct verbs_round unknown = {
            .tries = arena_alloc(w->arena, ((size_t)s->rounds[i].ntries + 1) * sizeof *unknown.tries)};
        for (int k = 0; k < s->rounds[i].ntries; k++) {
            const struct verbs_try *t = &s->rounds[i].tries[k];
            if (!is_recalled(w, t) && !(skip_dead && (is_dead(w, t->from) || is_dead(w, t->to))))
                unknown.tries[unknown.ntries++] = *t;
        }
        cJSON *o = cJSON_CreateObject();
        cJSON_AddNumberToObject(o, "round", done + i + 1);
        cJSON_AddNumberToObject(o, "of", of);
        worker_say(w, o);
        if (unknown.ntries)
            run_round(w, &unknown, brief_only, w->noutcomes);
    }
}

static struct verbs_outcome *judge(struct worker *w)
{
    struct verbs_outcome *judged = arena_alloc(w->arena, ((size_t)w->noutcomes + 1) * sizeof *judged);
    if (w->noutcomes)
        memcpy(judged, w->outcomes, (size_t)w->noutcomes * sizeof *judged);
    verbs_mark_slow(judged, w->noutcomes, VERBS_SLOW_RATIO);
    return judged;
}

/* Others may have been in its way, or the machine busy for a moment: the better result counts. */
void worker_repeat_slow(struct worker *w)
{
    const struct verbs_outcome *judged = judge(w);
    int n = w->noutcomes, repeated = 0;
    for (int i = 0; i < n && repeated < MOST_REPEATED; i++) {
        struct verbs_try pair = judged[i].pair;
        const struct verbs_round alone = {&pair, 1};
        if (judged[i].verdict != VERBS_SLOW)
            continue;
        run_round(w, &alone, 0, i);
        repeated++;
    }
}

void worker_resolve(struct worker *w, int brief_only)
{
    for (int i = 0; i < w->nodes; i++) {
        struct verbs_fault *faults;
        const struct verbs_outcome *judged = judge(w);
        int n = verbs_localise(judged, w->noutcomes, w->arena, &faults);
        struct verbs_round next = verbs_localise_next(judged, w->noutcomes, faults, n, w->arena);
        if (!next.ntries)
            return;
        run_round(w, &next, brief_only, w->noutcomes);
    }
}

/* ---- an earlier run -------------------------------------------------------------------------------------------------
 */

/* Rank 0's part: the tries as tallies. */
static struct tally *read_tries(const struct worker *w, int *n, struct err *e)
{
    struct verbs_fabric *f = verbs_fabric_new(w->nodes, w->rails);
    char *line = NULL;
    size_t room = 0;
    for (int going = 1; going && !e->code && getline(&line, &room, stdin) > 0;) {
        cJSON *o = cJSON_Parse(line);
        const cJSON *try = cJSON_GetObjectItemCaseSensitive(o, "try");
        if (try && verbs_fabric_add_try(f, try, e))
            err_set(e, ERR_FAILED, "what an earlier run has found is of another fabric");
        going = o && !cJSON_HasObjectItem(o, "go");
        cJSON_Delete(o);
    }
    free(line);
    struct tally *tallies = arena_alloc(w->arena, ((size_t)f->ntries + 1) * sizeof *tallies);
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_fabric_try *t = &f->tries[i];
        tallies[i] = (struct tally){.pair = t->outcome.pair,
                                    .verdict = t->outcome.verdict,
                                    .GBps = t->outcome.GBps,
                                    .gid_index = {t->gid_index[0], t->gid_index[1]}};
        if (t->outcome.why)
            snprintf(tallies[i].why, sizeof tallies[i].why, "%s", t->outcome.why);
    }
    *n = f->ntries;
    verbs_fabric_free(f);
    return tallies;
}

/* What was proven then need not be proven again. */
static void mark_proven(const struct worker *w, const struct tally *t)
{
    const struct verbs_end ends[] = {t->pair.from, t->pair.to};
    const struct who *me = worker_me(w);
    for (int side = 0; side < 2 && w->port && t->verdict == VERBS_GOOD; side++)
        if (ends[side].node == me->node_index && ends[side].rail == me->rail && t->gid_index[side] > 0 &&
            t->gid_index[side] <= w->port->gids.count)
            w->port->gids.gids[t->gid_index[side] - 1].proven = 1;
}

int worker_recall(struct worker *w, struct err *e)
{
    struct tally *tallies = NULL;
    int n = 0;
    if (!w->rank)
        tallies = read_tries(w, &n, e);
    MPI_Bcast(e, sizeof *e, MPI_BYTE, 0, w->comm);
    MPI_Bcast(&n, 1, MPI_INT, 0, w->comm);
    if (e->code)
        return e->code;
    if (w->rank)
        tallies = arena_alloc(w->arena, ((size_t)n + 1) * sizeof *tallies);
    for (int i = 0; i < n; i++) {
        MPI_Bcast(&tallies[i], sizeof *tallies, MPI_BYTE, 0, w->comm);
        mark_proven(w, &tallies[i]);
        append(w, outcome_of(w, &tallies[i]));
    }
    if (n)
        qsort(w->outcomes, (size_t)n, sizeof *w->outcomes, by_pair);
    w->recalled = n;
    return 0;
}
