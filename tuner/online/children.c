/* Those who come: the root tells each its place, a node takes whom it has told to come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/online/tree_internal.h"

#define MOST_LEADERS 16384
#define MOST_SAID    8 /* nodes that choose by something else */
#define MOST_LINKED  320
#define FAILED_OFTEN 2 /* to get where it was told to go: the root takes it itself */

/* ---- the root ---------------------------------------------------------------------------------------------------- */

/* All ranks choose by the same table, or the job says so at once. */
static void compare(struct online_tree *t, const struct online_hello *h)
{
    char why[ONLINE_TEXT];
    if (!h->table[0] || !t->self.table[0] || !strcmp(h->table, t->self.table))
        return;
    snprintf(
        why, sizeof why,
        "the nodes of this job do not choose by the same table, and ranks that choose differently hang: rank %d on "
        "%s has %s, rank 0 on %s has %s",
        h->rank, h->host, h->table, t->self.host, t->self.table);
    if (t->refused++ < MOST_SAID)
        t->say(why);
    online_tree_refuse(t, why);
}

int online_children_linked(const struct online_tree *t)
{
    int n = 0;
    for (int i = 0; i < ONLINE_LINKS; i++)
        n += t->children[i].stage == ONLINE_LINKED;
    return n;
}

/* A new leader: its number, from 1 on; 0: no room. */
static size_t add_leader(struct online_tree *t, const struct online_hello *h)
{
    if (t->leader_count == MOST_LEADERS)
        return 0;
    if (!(t->leader_count & (t->leader_count - 1))) { /* a power of two, or none */
        size_t room = t->leader_count ? 2 * t->leader_count : 1;
        struct online_leader *leaders = realloc(t->leaders, room * sizeof *leaders);
        if (!leaders)
            return 0;
        t->leaders = leaders;
    }
    struct online_leader *l = &t->leaders[t->leader_count++];
    memcpy(l->stack, h->stack, sizeof l->stack);
    l->at = h->at;
    return t->leader_count;
}

/* Its parent, by a rule that needs no more than the order in which nodes have come. No port: the root itself. */
static struct online_place place(struct online_tree *t, const struct online_hello *h)
{
    const struct online_place here = {.port = 0};
    if (!strcmp(h->stack, t->self.stack) || h->failures > FAILED_OFTEN)
        return here;
    for (size_t i = 0; i < t->leader_count; i++)
        if (!strcmp(h->stack, t->leaders[i].stack) && *h->stack)
            return online_place_equal(&h->at, &t->leaders[i].at) ? here : t->leaders[i].at;
    size_t number = add_leader(t, h);
    return number > ONLINE_ARITY ? t->leaders[(number - 1) / ONLINE_ARITY - 1].at : here;
}

/* Where it is to stay: on the root's better network. */
static struct online_place better(const struct online_tree *t, const struct online_peer *p,
                                  const struct online_hello *h)
{
    struct online_place seen = online_place_seen(p->c.from, t->self.at.port),
                        best = online_place_of(p->c.from, t->self.at.port);
    if (h->failures || online_place_equal(&seen, &best))
        best.port = 0;
    return best;
}

/* ---- a child ----------------------------------------------------------------------------------------------------- */

static void drop(struct online_tree *t, struct online_peer *p)
{
    int was_linked = p->stage == ONLINE_LINKED;
    online_peer_close(p);
    if (was_linked)
        online_node_lose(&t->node, (int)(p - t->children));
}

static int take_hello(struct online_tree *t, struct online_peer *p, const struct frame *f)
{
    struct online_hello h;
    struct online_place to = {.port = 0};
    if (f->head.message != ONLINE_HELLO || frame_body(f, &h, sizeof h))
        return -1;
    h.stack[sizeof h.stack - 1] = h.host[sizeof h.host - 1] = h.table[sizeof h.table - 1] = 0;
    if (t->node.is_root) {
        compare(t, &h);
        to = place(t, &h);
        to = to.port ? to : better(t, p, &h);
    }
    if (!to.port && online_children_linked(t) >= MOST_LINKED)
        return -1;
    if (t->refusal[0]) /* first: who has a place may begin */
        online_peer_send(p, ONLINE_REFUSAL, t->refusal, sizeof t->refusal);
    online_peer_send(p, ONLINE_PLACE, &to, sizeof to);
    p->stage = to.port ? p->stage : ONLINE_LINKED;
    return to.port ? -1 : 0;
}

static int take(struct online_tree *t, struct online_peer *p, const struct frame *f)
{
    if (p->stage == ONLINE_GREETING)
        return take_hello(t, p, f);
    return f->head.message == ONLINE_WORDS ? online_tree_words(t, (int)(p - t->children), f) : -1;
}

static void say_stranger(struct online_tree *t)
{
    if (t->node.is_root && !t->strangers++)
        t->say("somebody who has not this job's key has come to its coordinator: a rank with another key file, or a "
               "stranger");
}

static void child_turn(struct online_tree *t, struct online_peer *p, short events)
{
    int silent = p->stage == ONLINE_LINKED ? ONLINE_SILENCE_MS : ONLINE_GUEST_MS, rc = 0;
    if (p->stage == ONLINE_PROVING && events) {
        rc = online_peer_prove(t, p);
        if (rc < 0)
            say_stranger(t);
    } else if (events) {
        if (events & POLLOUT && connection_flush(&p->c))
            rc = -1;
        else if (events & ~POLLOUT)
            rc = online_peer_read(t, p, take);
    }
    if (rc < 0 || p->is_broken || t->now_ms - p->heard_ms > (uint64_t)silent)
        drop(t, p);
}

static void let_in(struct online_tree *t)
{
    for (int i = 0, n = 0; i < ONLINE_LINKS && n < ONLINE_GUESTS; i++) {
        if (t->children[i].stage != ONLINE_AWAY)
            continue;
        int fd = accept4(t->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        online_peer_begin(t, &t->children[i], fd, 0);
        n++;
    }
}

void online_children_turn(struct online_tree *t, const struct pollfd *fds, short listener)
{
    for (int i = 0; i < ONLINE_LINKS; i++)
        if (t->children[i].stage != ONLINE_AWAY)
            child_turn(t, &t->children[i], fds[i].revents);
    if (listener)
        let_in(t);
}

void online_children_close(struct online_tree *t)
{
    for (int i = 0; i < ONLINE_LINKS; i++)
        online_peer_close(&t->children[i]);
}
