/* The conductor: orders and answers, rounds of tries and what is kept of them, what is measured beside the tries. */
#include "bench/engines/verbs/conduct.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/proc.h"

/* Slow tries that are repeated, each alone; with more of them the fabric is at fault, and time matters. */
#define MOST_REPEATED 32

/* A port that failed so often and never went well is not tried again: each time costs seconds. */
#define ENOUGH_FAILURES 3

#define KILL_S 2.0

/* Up to so many nodes an interface is tried against that of every other; beyond, against those 1, 2, 4, … further. */
#define NET_ALL 64

/* ---- orders and answers ---- */

static int rank_of(const struct verbs_conductor *c, struct verbs_end end)
{
    return end.node * c->rails + end.rail;
}

static int node_of(const struct verbs_conductor *c, int rank)
{
    return c->rails ? rank / c->rails : rank;
}

/* Puts an object around `inner` as `key` and tells it. */
static void tell_part(const struct verbs_conductor *c, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    c->say(c->user, o);
}

/* A new turn without orders. */
static void begin_turn(struct verbs_conductor *c)
{
    memset(c->orders, 0, (size_t)c->ranks * sizeof *c->orders);
    memset(c->answers, 0, (size_t)c->ranks * sizeof *c->answers);
    c->turn++;
}

/* An order for one rank: what it is but for who and whom comes in `o`. */
static void add_order(struct verbs_conductor *c, int rank, struct verbs_order o)
{
    o.turn = c->turn;
    o.mine = (struct verbs_end){node_of(c, rank), c->rails ? rank % c->rails : 0};
    c->orders[rank] = o;
}

/* With its partner's, for both sides of a try. */
static void add_pair_orders(struct verbs_conductor *c, const struct verbs_try *t, struct verbs_order o)
{
    const struct verbs_end ends[] = {t->from, t->to};
    for (int side = 0; side < 2; side++) {
        int rank = rank_of(c, ends[side]), other = rank_of(c, ends[!side]);
        struct verbs_order *mine = &c->orders[rank];
        add_order(c, rank, o);
        mine->lead = !side;
        mine->owns = side ? !o.owns : o.owns;
        mine->other = other;
        mine->peer = ends[!side];
        snprintf(mine->theirs, sizeof mine->theirs, "%s %s", c->who[other].node, c->who[other].port);
        snprintf(mine->failure, sizeof mine->failure, "%s", c->who[other].failure);
    }
}

/* A word from one port to another goes on as it came. */
static void pass_on(struct verbs_conductor *c, const struct frame *f)
{
    struct verbs_swap head;
    if (f->head.bytes < sizeof head)
        return;
    memcpy(&head, f->body, sizeof head);
    if (head.to >= 0 && head.to < c->ranks && head.turn == c->turn)
        agents_send(c->agents, node_of(c, head.to), VERBS_SWAP, head.to, f->body, f->head.bytes);
}

static int hear_ended(struct verbs_conductor *c, int agent, const struct frame *f)
{
    struct agent_ended ended;
    char how[PROC_STATUS_TEXT] = "did not start";
    if (frame_body(f, &ended, sizeof ended))
        return 0;
    if (ended.status != -1)
        proc_status_text(ended.status, how);
    ended.last[sizeof ended.last - 1] = 0;
    err_set(&c->why, ERR_FAILED, "%s: the process that owns a port %s%s%s", c->agents->items[agent].host, how,
            *ended.last ? ": " : "", ended.last);
    return 1;
}

/* Nonzero once nobody is waited for, or nothing comes of it any more. */
static int hear_frame(void *user, int agent, const struct frame *f)
{
    struct verbs_conductor *c = user;
    const int rank = f->head.rank, known = rank >= 0 && rank < c->ranks && node_of(c, rank) == agent;
    cJSON *line;
    if (f->head.message == AGENT_ENDED)
        return hear_ended(c, agent, f);
    if (!known)
        return 0;
    switch (f->head.message) {
    case VERBS_SWAP:
        pass_on(c, f);
        return 0;
    case VERBS_LINE:
        line = f->head.bytes ? cJSON_ParseWithLength(f->body, f->head.bytes) : NULL;
        if (cJSON_IsObject(line))
            c->say(c->user, line);
        else
            cJSON_Delete(line);
        return 0;
    case VERBS_NET_LIST:
        frame_body(f, &c->nets[agent], sizeof *c->nets);
        return 0;
    case VERBS_WHO:
        frame_body(f, &c->who[rank], sizeof *c->who);
        break;
    case VERBS_ANSWER:
        frame_body(f, &c->answers[rank], sizeof *c->answers);
        break;
    default:
        return 0;
    }
    c->missing -= c->waited[rank];
    c->waited[rank] = 0;
    return c->missing <= 0;
}

/* Waits for the ranks that are marked in `waited`, c->missing of them. Nonzero: it is over. */
static int wait_for_missing(struct verbs_conductor *c)
{
    int lost = 0;
    enum agents_event event =
        c->missing ? agents_wait(c->agents, &c->deadline_s, c->stop, hear_frame, c, &lost) : AGENTS_ENOUGH;
    if (event == AGENTS_LOST)
        err_set(&c->why, ERR_FAILED, "the node %s is gone", c->agents->items[lost].host);
    c->over = event != AGENTS_ENOUGH || c->why.code;
    return c->over;
}

/* Sends the turn's orders and waits for all answers, while words go from port to port. Nonzero: it is over. */
static int run_turn(struct verbs_conductor *c)
{
    if (c->over)
        return 1;
    c->missing = 0;
    for (int r = 0; r < c->ranks; r++) {
        if (c->orders[r].what == VERBS_REST)
            continue;
        c->waited[r] = 1;
        c->missing++;
        agents_send(c->agents, node_of(c, r), VERBS_ORDER, r, &c->orders[r], sizeof c->orders[r]);
    }
    return wait_for_missing(c);
}

/* ---- keeping ---- */

/* A new outcome, at the end. */
static void append_outcome(struct verbs_conductor *c, struct verbs_outcome o)
{
    const struct verbs_end ends[] = {o.pair.from, o.pair.to};
    for (int side = 0; side < 2; side++) {
        struct verbs_record *r = &c->records[rank_of(c, ends[side])];
        r->failed += o.verdict == VERBS_FAILED;
        r->good += o.verdict != VERBS_FAILED;
    }
    ARENA_ADD(c->arena, c->outcomes, c->noutcomes) = o;
}

/* Make the outcome number `at` of a try: a new one, or a better one in its place. */
static void keep_try(struct verbs_conductor *c, const struct verbs_fabric_try *one, int at)
{
    const int again = at < c->noutcomes;
    if (again && (one->outcome.verdict != VERBS_GOOD || one->outcome.GBps <= c->outcomes[at].GBps))
        return;
    if (again)
        c->outcomes[at] = one->outcome;
    else
        append_outcome(c, one->outcome);
    tell_part(c, again ? "again" : "try", verbs_fabric_json(VERBS_PART_TRY, one));
}

/* The way back is a try of its own, and is told first: a run that goes on from one that ended between the two tries the
 * pair again, for which the way there stands. Of one that failed nothing is known but that. */
static void keep_answer(struct verbs_conductor *c, const struct verbs_try *pair, struct verbs_answer *t, int again)
{
    t->gid[sizeof t->gid - 1] = t->why[sizeof t->why - 1] = 0;
    struct verbs_fabric_try one = {.outcome = {.pair = *pair,
                                               .verdict = t->verdict == VERBS_GOOD ? VERBS_GOOD : VERBS_FAILED,
                                               .GBps = t->GBps,
                                               .why = t->why[0] ? arena_strdup(c->arena, t->why) : NULL},
                                   .both_GBps = t->both_GBps,
                                   .latency_us = t->latency_us,
                                   .messages_per_s = t->messages_per_s,
                                   .spread = t->spread,
                                   .gid = t->gid[0] ? t->gid : NULL,
                                   .gid_index = {t->gid_index[0], t->gid_index[1]}};
    if (one.outcome.verdict == VERBS_GOOD && t->back_GBps > 0)
        keep_try(c,
                 &(struct verbs_fabric_try){.outcome = {.pair = {pair->to, pair->from}, .GBps = t->back_GBps},
                                            .spread = t->back_spread,
                                            .gid = one.gid,
                                            .gid_index = {t->gid_index[1], t->gid_index[0]}},
                 c->noutcomes);
    keep_try(c, &one, again < 0 ? c->noutcomes : again);
}

static int by_pair(const void *x, const void *y)
{
    return memcmp(x, y, sizeof(struct verbs_try));
}

void verbs_conduct_recall(struct verbs_conductor *c, const struct verbs_fabric *known)
{
    for (int i = 0; i < known->ntries; i++) {
        const struct verbs_fabric_try *t = &known->tries[i];
        const struct verbs_end ends[] = {t->outcome.pair.from, t->outcome.pair.to};
        append_outcome(c, t->outcome);
        begin_turn(c);
        for (int side = 0; side < 2 && t->outcome.verdict == VERBS_GOOD; side++)
            if (t->gid_index[side] > 0)
                add_order(c, rank_of(c, ends[side]),
                          (struct verbs_order){.what = VERBS_PROVEN, .number = t->gid_index[side] - 1});
        run_turn(c);
    }
    if (c->noutcomes)
        qsort(c->outcomes, (size_t)c->noutcomes, sizeof *c->outcomes, by_pair);
    c->recalled = c->noutcomes;
}

/* ---- rounds ---- */

/* All tries of a round at once. Their outcomes are new ones, or that number `again` of the round's one try; -1: it is
 * new. */
static void run_round(struct verbs_conductor *c, const struct verbs_round *r, struct verbs_order o, int again)
{
    o.what = VERBS_TRY;
    begin_turn(c);
    for (int i = 0; i < r->ntries; i++)
        add_pair_orders(c, &r->tries[i], o);
    if (run_turn(c))
        return;
    for (int i = 0; i < r->ntries; i++)
        keep_answer(c, &r->tries[i], &c->answers[rank_of(c, r->tries[i].from)], again);
}

static int is_dead(const struct verbs_conductor *c, struct verbs_end p)
{
    const struct verbs_record *r = &c->records[rank_of(c, p)];
    return !r->good && r->failed >= ENOUGH_FAILURES;
}

/* Every round of `s`, those of its tries that are not known; with `skip_dead` not those with a port that only ever
 * failed. */
static void run_schedule(struct verbs_conductor *c, const struct verbs_schedule *s, struct verbs_order o, int skip_dead,
                         int done, int of)
{
    for (int i = 0; i < s->nrounds && !c->over; i++) {
        struct verbs_round unknown = {.tries =
                                          arena_alloc(c->arena, (size_t)s->rounds[i].ntries * sizeof *unknown.tries)};
        for (int k = 0; k < s->rounds[i].ntries; k++) {
            const struct verbs_try *t = &s->rounds[i].tries[k];
            if (!(c->recalled && bsearch(t, c->outcomes, (size_t)c->recalled, sizeof *c->outcomes, by_pair)) &&
                !(skip_dead && (is_dead(c, t->from) || is_dead(c, t->to))))
                unknown.tries[unknown.ntries++] = *t;
        }
        c->show(c->user, done + i + 1, of);
        if (unknown.ntries)
            run_round(c, &unknown, o, -1);
    }
}

static struct verbs_outcome *mark_slow_ones(struct verbs_conductor *c)
{
    struct verbs_outcome *judged = arena_alloc(c->arena, (size_t)c->noutcomes * sizeof *judged);
    if (c->noutcomes)
        memcpy(judged, c->outcomes, (size_t)c->noutcomes * sizeof *judged);
    verbs_mark_slow(judged, c->noutcomes, c->arena);
    return judged;
}

/* Others may have been in its way, or the machine busy for a moment: the better result counts. */
static void repeat_slow(struct verbs_conductor *c)
{
    const struct verbs_outcome *judged = mark_slow_ones(c);
    int n = c->noutcomes, repeated = 0;
    for (int i = 0; i < n && repeated < MOST_REPEATED && !c->over; i++) {
        struct verbs_try pair = judged[i].pair;
        const struct verbs_round alone = {&pair, 1};
        if (judged[i].verdict != VERBS_SLOW)
            continue;
        run_round(c, &alone, (struct verbs_order){.brief = 0}, i);
        repeated++;
    }
}

/* Tries that tell possible faults apart, until there is no doubt or nothing left to try. */
static void resolve_doubts(struct verbs_conductor *c, int brief)
{
    for (int i = 0; i < c->nodes && !c->over; i++) {
        struct verbs_fault *faults;
        const struct verbs_outcome *judged = mark_slow_ones(c);
        int n = verbs_localise(judged, c->noutcomes, c->arena, &faults);
        struct verbs_round next = verbs_localise_next(judged, c->noutcomes, faults, n, c->arena);
        if (!next.ntries)
            return;
        run_round(c, &next, (struct verbs_order){.brief = brief}, -1);
    }
}

/* ---- GPUs ---- */

static void tell_gpu(const struct verbs_conductor *c, struct verbs_end owner, int index, struct verbs_answer *t)
{
    t->pci[sizeof t->pci - 1] = t->via[sizeof t->via - 1] = t->why[sizeof t->why - 1] = 0;
    struct verbs_fabric_gpu g = {.node = owner.node,
                                 .rail = owner.rail,
                                 .gpu = index,
                                 .pci = t->pci,
                                 .via = t->via[0] ? t->via : NULL,
                                 .why = t->why[0] ? t->why : NULL,
                                 .send_GBps = t->GBps,
                                 .receive_GBps = t->both_GBps};
    tell_part(c, "gpu_memory", verbs_fabric_json(VERBS_PART_GPU, &g));
}

/* One GPU of the owners, who are the tries' leads or the others. A port that has had its turn only helps its partner.
 */
static void try_gpu(struct verbs_conductor *c, const struct verbs_round *r, int index, int lead_owns, const int *gpus,
                    const char *done)
{
    begin_turn(c);
    for (int i = 0; i < r->ntries; i++)
        add_pair_orders(c, &r->tries[i],
                        (struct verbs_order){.what = VERBS_TRY_GPU, .number = index, .owns = lead_owns});
    if (run_turn(c))
        return;
    for (int i = 0; i < r->ntries; i++) {
        struct verbs_end owner = lead_owns ? r->tries[i].from : r->tries[i].to;
        int rank = rank_of(c, owner);
        if (index < gpus[rank] && !done[rank])
            tell_gpu(c, owner, index, &c->answers[rank]);
    }
}

/* The tries of a round with a port that has not had its turn. */
static struct verbs_round still_open(const struct verbs_conductor *c, const struct verbs_round *r, const char *done)
{
    struct verbs_round open = {.tries = arena_alloc(c->arena, (size_t)r->ntries * sizeof *open.tries)};
    for (int i = 0; i < r->ntries; i++)
        if (!done[rank_of(c, r->tries[i].from)] || !done[rank_of(c, r->tries[i].to)])
            open.tries[open.ntries++] = r->tries[i];
    return open;
}

static int count_gpus(struct verbs_conductor *c, int *gpus)
{
    int most = 0;
    begin_turn(c);
    for (int r = 0; r < c->ranks; r++)
        add_order(c, r, (struct verbs_order){.what = VERBS_GPUS});
    run_turn(c);
    for (int r = 0; r < c->ranks; r++) {
        gpus[r] = c->answers[r].count;
        most = gpus[r] > most ? gpus[r] : most;
    }
    return most;
}

/* Every port with every GPU of its node, between the ports of the first rounds; nothing without a GPU driver. */
static void try_gpus(struct verbs_conductor *c, const struct verbs_schedule *s)
{
    char *done = arena_alloc(c->arena, (size_t)c->ranks);
    int *gpus = arena_alloc(c->arena, (size_t)c->ranks * sizeof *gpus);
    int most = s->nrounds ? count_gpus(c, gpus) : 0;
    /* Where the number is odd, one rests in the first round. */
    for (int round = 0; most && round < s->nrounds; round++) {
        const struct verbs_round open = still_open(c, &s->rounds[round], done);
        for (int index = 0; open.ntries && index < most; index++)
            for (int lead_owns = 0; lead_owns < 2 && !c->over; lead_owns++)
                try_gpu(c, &open, index, lead_owns, gpus, done);
        for (int i = 0; i < open.ntries; i++)
            done[rank_of(c, open.tries[i].from)] = done[rank_of(c, open.tries[i].to)] = 1;
    }
}

/* ---- ports and interfaces ---- */

/* The first process of each node does it for all. */
static int order_all_nodes(struct verbs_conductor *c, enum verbs_what what)
{
    begin_turn(c);
    for (int node = 0; node < c->nodes; node++)
        add_order(c, node * (c->rails ? c->rails : 1), (struct verbs_order){.what = what});
    return run_turn(c);
}

static void tell_interfaces(const struct verbs_conductor *c, int node, const struct verbs_answer *a)
{
    const struct verbs_net_list *nets = &c->nets[node];
    for (int i = 0; i < nets->n && i < VERBS_NETS; i++) {
        char address[VERBS_NET_TEXT];
        struct verbs_fabric_interface one = {.node = node,
                                             .name = nets->nets[i].name,
                                             .address = verbs_net_address(address, &nets->nets[i]),
                                             .reached = a->reached[i],
                                             .tried = a->count};
        tell_part(c, "interface", verbs_fabric_json(VERBS_PART_INTERFACE, &one));
    }
}

static void try_interfaces(struct verbs_conductor *c)
{
    const int per_node = c->rails ? c->rails : 1;
    if (order_all_nodes(c, VERBS_LISTEN))
        return;
    for (int node = 0; node < c->nodes; node++)
        for (int step = 1; step < c->nodes; step = c->nodes <= NET_ALL ? step + 1 : step * 2)
            agents_send(c->agents, node, VERBS_NET_LIST, node * per_node, &c->nets[(node + step) % c->nodes],
                        sizeof *c->nets);
    if (order_all_nodes(c, VERBS_TRY_NETS))
        return;
    for (int node = 0; node < c->nodes; node++)
        tell_interfaces(c, node, &c->answers[node * per_node]);
    /* Whoever listens does so until all have tried. */
    order_all_nodes(c, VERBS_DEAFEN);
}

/* ---- the whole ---- */

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

static int is_absent(const struct verbs_conductor *c, int rank)
{
    return !c->who[rank].port[0];
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
            if (!is_absent(c, rank_of(c, r->tries[k].from)) && !is_absent(c, rank_of(c, r->tries[k].to)) &&
                !(across && r->tries[k].from.rail == r->tries[k].to.rail))
                r->tries[n++] = r->tries[k];
        r->ntries = n;
    }
    return s;
}

void verbs_conduct_run(struct verbs_conductor *c, const char *schedule)
{
    const struct plan *p = plans;
    while (strcmp(p->name, schedule) != 0)
        p++; /* --schedule takes no other word */
    if (c->nodes > 1)
        try_interfaces(c);
    if (!c->rails)
        return;
    const struct verbs_schedule *first = schedule_of(c, p->plan, 0);
    const struct verbs_schedule *then = schedule_of(c, p->then, 1);
    int rest = p->then == p->plan ? 0 : then->nrounds;
    /* A matrix has both ways of every pair as tries of their own. */
    const struct verbs_order one = {.brief = p->brief, .back = p->plan != VERBS_PLAN_MATRIX};
    run_schedule(c, first, one, p->skip_dead, 0, first->nrounds + rest);
    if (rest)
        run_schedule(c, then, (struct verbs_order){.brief = 1, .back = 1}, 1, first->nrounds, first->nrounds + rest);
    repeat_slow(c);
    resolve_doubts(c, p->brief);
    if (!p->brief)
        try_gpus(c, first);
    begin_turn(c);
    for (int r = 0; r < c->ranks; r++)
        if (!is_absent(c, r)) /* else its node has fewer than another */
            add_order(c, r, (struct verbs_order){.what = VERBS_PORT});
    run_turn(c);
}

/* ---- start and end ---- */

static int start_processes(struct verbs_conductor *c, struct err *e)
{
    const char *argv[] = {"{bin}/nccltune", "verbs-port", c->ports, arena_printf(c->arena, "%d", c->nccl),
                          "{rank}",         "{local}",    NULL};
    const struct agents_order order = {.argv = argv, .copies = c->rails ? c->rails : 1, .frames = 1};
    for (int node = 0; node < c->nodes; node++)
        if (agents_start(c->agents, node, &order, node * order.copies))
            return err_set(e, ERR_USAGE, "too many ports: %.200s", c->ports);
    c->missing = c->ranks;
    memset(c->waited, 1, (size_t)c->ranks);
    if (wait_for_missing(c))
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
