/* Orders to the processes that own ports, and their answers. */
#include <stdio.h>
#include <string.h>

#include "bench/engines/verbs/conduct_internal.h"
#include "core/proc.h"

int verbs_conduct_rank(const struct verbs_conductor *c, struct verbs_end end)
{
    return end.node * c->rails + end.rail;
}

static int node_of(const struct verbs_conductor *c, int rank)
{
    return c->rails ? rank / c->rails : rank;
}

void verbs_conduct_say(const struct verbs_conductor *c, const char *key, cJSON *inner)
{
    cJSON *o = cJSON_CreateObject();
    cJSON_AddItemToObject(o, key, inner);
    c->say(c->user, o);
}

void verbs_conduct_turn(struct verbs_conductor *c)
{
    memset(c->orders, 0, (size_t)c->ranks * sizeof *c->orders);
    memset(c->answers, 0, (size_t)c->ranks * sizeof *c->answers);
    c->turn++;
}

void verbs_conduct_order(struct verbs_conductor *c, int rank, struct verbs_order o)
{
    o.turn = c->turn;
    o.mine = (struct verbs_end){node_of(c, rank), c->rails ? rank % c->rails : 0};
    c->orders[rank] = o;
}

void verbs_conduct_pair(struct verbs_conductor *c, const struct verbs_try *t, struct verbs_order o)
{
    const struct verbs_end ends[] = {t->from, t->to};
    for (int side = 0; side < 2; side++) {
        int rank = verbs_conduct_rank(c, ends[side]), other = verbs_conduct_rank(c, ends[!side]);
        struct verbs_order *mine = &c->orders[rank];
        verbs_conduct_order(c, rank, o);
        mine->lead = !side;
        mine->owns = side ? !o.owns : o.owns;
        mine->other = other;
        mine->peer = ends[!side];
        snprintf(mine->theirs, sizeof mine->theirs, "%s %s", c->who[other].node, c->who[other].port);
        snprintf(mine->failure, sizeof mine->failure, "%s", c->who[other].failure);
    }
}

static void fail(struct verbs_conductor *c, const char *node, const char *how, const char *last)
{
    err_set(&c->why, ERR_FAILED, "%s: the process that owns a port %s%s%s", node, how, *last ? ": " : "", last);
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
    fail(c, c->agents->items[agent].host, how, ended.last);
    return 1;
}

static void hear_line(const struct verbs_conductor *c, const struct frame *f)
{
    cJSON *o = f->head.bytes ? cJSON_ParseWithLength(f->body, f->head.bytes) : NULL;
    if (cJSON_IsObject(o))
        c->say(c->user, o);
    else
        cJSON_Delete(o);
}

/* Nonzero once nobody is waited for, or nothing comes of it any more. */
static int hear(void *user, int agent, const struct frame *f)
{
    struct verbs_conductor *c = user;
    const int rank = f->head.rank, known = rank >= 0 && rank < c->ranks && node_of(c, rank) == agent;
    if (f->head.message == AGENT_ENDED)
        return hear_ended(c, agent, f);
    if (!known)
        return 0;
    switch (f->head.message) {
    case VERBS_SWAP:
        pass_on(c, f);
        return 0;
    case VERBS_LINE:
        hear_line(c, f);
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

int verbs_conduct_missing(struct verbs_conductor *c)
{
    int lost = 0;
    enum agents_event event =
        c->missing ? agents_wait(c->agents, &c->deadline_s, c->stop, hear, c, &lost) : AGENTS_ENOUGH;
    if (event == AGENTS_LOST)
        err_set(&c->why, ERR_FAILED, "the node %s is gone", c->agents->items[lost].host);
    c->over = event != AGENTS_ENOUGH || c->why.code;
    return c->over;
}

int verbs_conduct_wait(struct verbs_conductor *c)
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
    return verbs_conduct_missing(c);
}
