/* The schedule, and what is kept of it. */
#include "bench/engines/verbs/conduct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engines/verbs/conduct_internal.h"

/* Slow tries that are repeated, each alone; with more of them the fabric is at fault, and time matters. */
#define MOST_REPEATED 32

/* A port that failed so often and never went well is not tried again: each time costs seconds. */
#define ENOUGH_FAILURES 3

#define KILL_S 2.0

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

/* A new outcome, at the end. */
static void append(struct verbs_conductor *c, struct verbs_outcome o)
{
    const struct verbs_end ends[] = {o.pair.from, o.pair.to};
    for (int side = 0; side < 2; side++) {
        struct verbs_record *r = &c->records[verbs_conduct_rank(c, ends[side])];
        r->failed += o.verdict == VERBS_FAILED;
        r->good += o.verdict != VERBS_FAILED;
    }
    c->outcomes = arena_grow(c->arena, c->outcomes, (size_t)c->noutcomes, sizeof *c->outcomes);
    c->outcomes[c->noutcomes++] = o;
}

/* Makes the outcome number `at` of a try: a new one, or a better one in its place. */
static void keep(struct verbs_conductor *c, const struct verbs_try *pair, struct verbs_answer *t, int at)
{
    t->gid[sizeof t->gid - 1] = t->why[sizeof t->why - 1] = 0;
    struct verbs_fabric_try one = {.outcome = {.pair = *pair,
                                               .verdict = t->verdict == VERBS_GOOD ? VERBS_GOOD : VERBS_FAILED,
                                               .GBps = t->GBps,
                                               .why = t->why[0] ? arena_strdup(c->arena, t->why) : NULL},
                                   .both_GBps = t->both_GBps,
                                   .latency_us = t->latency_us,
                                   .messages_per_s = t->messages_per_s,
                                   .gid = t->gid[0] ? t->gid : NULL,
                                   .gid_index = {t->gid_index[0], t->gid_index[1]}};
    if (at < c->noutcomes && (one.outcome.verdict != VERBS_GOOD || t->GBps <= c->outcomes[at].GBps))
        return;
    const char *key = at < c->noutcomes ? "again" : "try";
    if (at == c->noutcomes)
        append(c, one.outcome);
    else
        c->outcomes[at] = one.outcome;
    verbs_conduct_say(c, key, verbs_fabric_json(VERBS_PART_TRY, &one));
}

static int by_pair(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct verbs_try));
}

static int is_recalled(const struct verbs_conductor *c, const struct verbs_try *t)
{
    return c->recalled && bsearch(t, c->outcomes, (size_t)c->recalled, sizeof *c->outcomes, by_pair);
}

void verbs_conduct_recall(struct verbs_conductor *c, const struct verbs_fabric *known)
{
    for (int i = 0; i < known->ntries; i++) {
        const struct verbs_fabric_try *t = &known->tries[i];
        const struct verbs_end ends[] = {t->outcome.pair.from, t->outcome.pair.to};
        append(c, t->outcome);
        verbs_conduct_turn(c);
        for (int side = 0; side < 2 && t->outcome.verdict == VERBS_GOOD; side++)
            if (t->gid_index[side] > 0)
                verbs_conduct_order(c, verbs_conduct_rank(c, ends[side]),
                                    (struct verbs_order){.what = VERBS_PROVEN, .number = t->gid_index[side] - 1});
        verbs_conduct_wait(c);
    }
    if (c->noutcomes)
        qsort(c->outcomes, (size_t)c->noutcomes, sizeof *c->outcomes, by_pair);
    c->recalled = c->noutcomes;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* All tries of a round at once. Their outcomes are new ones from number `at` on, or `at` is the one outcome that the
 * round's one try repeats. */
static void run_round(struct verbs_conductor *c, const struct verbs_round *r, int brief, int at)
{
    verbs_conduct_turn(c);
    for (int i = 0; i < r->ntries; i++)
        verbs_conduct_pair(c, &r->tries[i], (struct verbs_order){.what = VERBS_TRY, .brief = brief});
    if (verbs_conduct_wait(c))
        return;
    for (int i = 0; i < r->ntries; i++)
        keep(c, &r->tries[i], &c->answers[verbs_conduct_rank(c, r->tries[i].from)], at++);
}

static int is_dead(const struct verbs_conductor *c, struct verbs_end p)
{
    const struct verbs_record *r = &c->records[verbs_conduct_rank(c, p)];
    return !r->good && r->failed >= ENOUGH_FAILURES;
}

/* Every round of `s`, those of its tries that are not known; with `skip_dead` not those with a port that only ever
 * failed. */
static void run_schedule(struct verbs_conductor *c, const struct verbs_schedule *s, int brief, int skip_dead, int done,
                         int of)
{
    for (int i = 0; i < s->nrounds && !c->over; i++) {
        struct verbs_round unknown = {.tries =
                                          arena_alloc(c->arena, (size_t)s->rounds[i].ntries * sizeof *unknown.tries)};
        for (int k = 0; k < s->rounds[i].ntries; k++) {
            const struct verbs_try *t = &s->rounds[i].tries[k];
            if (!is_recalled(c, t) && !(skip_dead && (is_dead(c, t->from) || is_dead(c, t->to))))
                unknown.tries[unknown.ntries++] = *t;
        }
        c->show(c->user, done + i + 1, of);
        if (unknown.ntries)
            run_round(c, &unknown, brief, c->noutcomes);
    }
}

static struct verbs_outcome *judge(struct verbs_conductor *c)
{
    struct verbs_outcome *judged = arena_alloc(c->arena, (size_t)c->noutcomes * sizeof *judged);
    if (c->noutcomes)
        memcpy(judged, c->outcomes, (size_t)c->noutcomes * sizeof *judged);
    verbs_mark_slow(judged, c->noutcomes, VERBS_SLOW_RATIO);
    return judged;
}

/* Others may have been in its way, or the machine busy for a moment: the better result counts. */
static void repeat_slow(struct verbs_conductor *c)
{
    const struct verbs_outcome *judged = judge(c);
    int n = c->noutcomes, repeated = 0;
    for (int i = 0; i < n && repeated < MOST_REPEATED && !c->over; i++) {
        struct verbs_try pair = judged[i].pair;
        const struct verbs_round alone = {&pair, 1};
        if (judged[i].verdict != VERBS_SLOW)
            continue;
        run_round(c, &alone, 0, i);
        repeated++;
    }
}

/* Tries that tell possible faults apart, until there is no doubt or nothing left to try. */
static void resolve(struct verbs_conductor *c, int brief)
{
    for (int i = 0; i < c->nodes && !c->over; i++) {
        struct verbs_fault *faults;
        const struct verbs_outcome *judged = judge(c);
        int n = verbs_localise(judged, c->noutcomes, c->arena, &faults);
        struct verbs_round next = verbs_localise_next(judged, c->noutcomes, faults, n, c->arena);
        if (!next.ntries)
            return;
        run_round(c, &next, brief, c->noutcomes);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const struct plan {
    const char *name;
    enum verbs_plan plan, then; /* `then` briefly, unless it is the same */
    int brief;                  /* the first, too */
    int skip_dead;              /* in the first: not where a port can reach few others only */
} plans[] = {{"rails", VERBS_PLAN_RAILS, VERBS_PLAN_CROSS, 0, 1},
             {"reach", VERBS_PLAN_RAILS, VERBS_PLAN_REACH, 0, 1},
             {"matrix", VERBS_PLAN_MATRIX, VERBS_PLAN_MATRIX, 0, 0},
             {"brief-rails", VERBS_PLAN_RAILS, VERBS_PLAN_RAILS, 1, 1},
             {"brief-matrix", VERBS_PLAN_MATRIX, VERBS_PLAN_MATRIX, 1, 1}};

static const struct plan *find_plan(const char *name)
{
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
        if (!strcmp(plans[i].name, name))
            return &plans[i];
    return NULL;
}

int verbs_conduct_knows(const char *schedule)
{
    return find_plan(schedule) != NULL;
}

static int is_absent(const struct verbs_conductor *c, struct verbs_end p)
{
    return !c->who[verbs_conduct_rank(c, p)].port[0];
}

/* Less the tries with a port that its node does not have, because nodes of another class have more; `across`: and less
 * those of the same rail, which have been tried already. */
static struct verbs_schedule *schedule_of(struct verbs_conductor *c, enum verbs_plan plan, int across)
{
    struct verbs_schedule *s = verbs_schedule_make(c->arena, plan, c->nodes, c->rails);
    for (int i = 0; i < s->nrounds; i++) {
        struct verbs_round *r = &s->rounds[i];
        int n = 0;
        for (int k = 0; k < r->ntries; k++)
            if (!is_absent(c, r->tries[k].from) && !is_absent(c, r->tries[k].to) &&
                !(across && r->tries[k].from.rail == r->tries[k].to.rail))
                r->tries[n++] = r->tries[k];
        r->ntries = n;
    }
    return s;
}

void verbs_conduct_run(struct verbs_conductor *c, const char *schedule, uint64_t sweep_bytes)
{
    const struct plan *p = find_plan(schedule);
    if (c->nodes > 1)
        verbs_conduct_interfaces(c);
    if (!c->rails || !p)
        return;
    const struct verbs_schedule *first = schedule_of(c, p->plan, 0);
    const struct verbs_schedule *then = schedule_of(c, p->then, 1);
    int rest = p->then == p->plan ? 0 : then->nrounds;
    run_schedule(c, first, p->brief, p->skip_dead, 0, first->nrounds + rest);
    if (rest)
        run_schedule(c, then, 1, 1, first->nrounds, first->nrounds + rest);
    repeat_slow(c);
    resolve(c, p->brief);
    if (!p->brief)
        verbs_conduct_gpus(c, first);
    if (sweep_bytes)
        verbs_conduct_sweep(c, first, sweep_bytes);
    verbs_conduct_ports(c);
}

/* ---- start and end ----------------------------------------------------------------------------------------------- */

static int start_processes(struct verbs_conductor *c, struct err *e)
{
    const char *argv[] = {"{bin}/nccltune", "verbs-port", c->ports, arena_printf(c->arena, "%d", c->nccl),
                          "{rank}",         "{local}",    NULL};
    const struct agents_order order = {.argv = argv, .copies = c->rails ? c->rails : 1};
    char *body = arena_alloc(c->arena, FRAME_BODY);
    for (int node = 0; node < c->nodes; node++) {
        size_t bytes = agents_start_body(&order, node * order.copies, 1, body);
        if (!bytes)
            return err_set(e, ERR_USAGE, "too many ports: %.200s", c->ports);
        agents_send(c->agents, node, AGENT_START, AGENT_ALL, body, bytes);
    }
    c->missing = c->ranks;
    memset(c->waited, 1, (size_t)c->ranks);
    if (verbs_conduct_missing(c))
        return err_set(e, ERR_FAILED, "%s", c->why.code ? c->why.text : "interrupted before any port has answered");
    return 0;
}

int verbs_conduct_begin(struct verbs_conductor *c, struct err *e)
{
    c->arena = arena_new();
    c->nodes = c->agents->count;
    c->ranks = c->nodes * (c->rails ? c->rails : 1);
    c->who = arena_alloc(c->arena, (size_t)c->ranks * sizeof *c->who);
    c->orders = arena_alloc(c->arena, (size_t)c->ranks * sizeof *c->orders);
    c->answers = arena_alloc(c->arena, (size_t)c->ranks * sizeof *c->answers);
    c->waited = arena_alloc(c->arena, (size_t)c->ranks);
    c->nets = arena_alloc(c->arena, (size_t)c->nodes * sizeof *c->nets);
    c->records = arena_alloc(c->arena, (size_t)c->ranks * sizeof *c->records);
    int rc = start_processes(c, e), alive = !c->rails;
    for (int r = 0; r < c->ranks && !rc; r++) {
        struct verbs_who *w = &c->who[r];
        w->node[sizeof w->node - 1] = w->port[sizeof w->port - 1] = w->failure[sizeof w->failure - 1] = 0;
        alive += w->port[0] && !w->failure[0];
    }
    return rc || alive ? rc : err_set(e, ERR_LACKS, "%s", c->who[0].failure);
}

void verbs_conduct_end(struct verbs_conductor *c)
{
    if (c->arena)
        agents_kill(c->agents, KILL_S, NULL, NULL);
    arena_free(c->arena);
    c->arena = NULL;
}
