/* The way to the parent: to the root first, and from there to where it says. */
#include <stdio.h>

#include "tuner/online/tree_internal.h"

#define LINGER_MS 1 /* words of children wait so long for those of their neighbours */

/* Out of the tree, for ever: nobody below can learn anything through here either. */
static void lose(struct online_tree *t)
{
    t->is_lost = 1;
    online_peer_close(&t->parent);
    online_node_lose(&t->node, ONLINE_UP);
}

/* A try has failed. What was linked is lost; else the root is asked again, by the next of its addresses. */
static void fail(struct online_tree *t)
{
    char text[ONLINE_TEXT];
    if (t->parent.stage == ONLINE_LINKED) {
        lose(t);
        return;
    }
    online_peer_close(&t->parent);
    t->self.failures += t->is_told;
    t->tries++;
    t->is_told = 0;
    t->to = (struct online_place){.port = 0};
    t->next_ms = t->now_ms + ONLINE_RETRY_MS;
    if (t->now_ms - t->began_ms < ONLINE_GIVE_UP_MS)
        return;
    snprintf(text, sizeof text,
             "rank %d on %s has not reached the job's coordinator within %d s (no way there, another key, another "
             "version, or it has ended): the job runs without tuning itself",
             t->self.rank, t->self.host, ONLINE_GIVE_UP_MS / 1000);
    t->say(text);
    lose(t);
}

static void set_out(struct online_tree *t)
{
    t->began_ms = t->began_ms ? t->began_ms : t->now_ms;
    if (t->now_ms < t->next_ms || !t->roots)
        return;
    if (!t->to.port)
        t->to = t->root[t->tries % (unsigned)t->roots];
    int fd = online_connect(&t->to);
    t->parent.c = (struct connection){.from = fd, .to = fd};
    t->parent.stage = fd < 0 ? ONLINE_AWAY : ONLINE_CONNECTING;
    t->parent.heard_ms = t->now_ms;
    if (fd < 0)
        fail(t);
}

static void greet(struct online_tree *t)
{
    struct online_hello hello = t->self;
    hello.at = online_place_of(t->parent.c.from, t->self.at.port);
    online_peer_send(&t->parent, ONLINE_HELLO, &hello, sizeof hello);
}

/* "Stay" is a place without a port. */
static int take_place(struct online_tree *t, const struct frame *f)
{
    struct online_place place;
    if (frame_body(f, &place, sizeof place))
        return -1;
    if (!place.port) {
        t->parent.stage = ONLINE_LINKED;
        return 0;
    }
    online_peer_close(&t->parent);
    t->to = place;
    t->is_told = 1;
    t->next_ms = t->now_ms;
    return 0;
}

static int take_refusal(struct online_tree *t, const struct frame *f)
{
    char why[ONLINE_TEXT];
    if (frame_body(f, why, sizeof why))
        return -1;
    why[sizeof why - 1] = 0;
    online_tree_refuse(t, why);
    return 0;
}

static int take(struct online_tree *t, struct online_peer *p, const struct frame *f)
{
    if (p->stage >= ONLINE_GREETING && f->head.message == ONLINE_REFUSAL)
        return take_refusal(t, f);
    if (p->stage == ONLINE_GREETING)
        return f->head.message == ONLINE_PLACE ? take_place(t, f) : -1;
    if (p->stage != ONLINE_LINKED)
        return 0; /* it has been left for another */
    return f->head.message == ONLINE_WORDS ? online_tree_words(t, ONLINE_UP, f) : -1;
}

/* As far as it goes: -1, the try has failed. */
static int go_on(struct online_tree *t, short events)
{
    struct online_peer *p = &t->parent;
    if (p->stage == ONLINE_CONNECTING && events) {
        if (wire_connected(p->c.from))
            return -1;
        online_peer_begin(t, p, p->c.from, 1);
        events |= POLLIN; /* it speaks first */
    }
    if (p->stage == ONLINE_PROVING && events) {
        int rc = online_peer_prove(t, p);
        if (rc < 1)
            return rc;
        greet(t);
    } else if (events) {
        if (events & POLLOUT && connection_flush(&p->c))
            return -1;
        return events & ~POLLOUT ? online_peer_read(t, p, take) : 0;
    }
    return 0;
}

void online_parent_turn(struct online_tree *t, short events)
{
    struct online_peer *p = &t->parent;
    if (p->stage == ONLINE_AWAY)
        set_out(t);
    int failed = go_on(t, events), silent = p->stage == ONLINE_LINKED ? ONLINE_SILENCE_MS : ONLINE_GUEST_MS;
    if (!online_children_linked(t) || t->now_ms - t->up_ms > LINGER_MS)
        online_parent_flush(t);
    if (p->stage != ONLINE_AWAY && (failed || p->is_broken || t->now_ms - p->heard_ms > (uint64_t)silent))
        fail(t);
}

void online_parent_flush(struct online_tree *t)
{
    if (t->parent.stage != ONLINE_LINKED || !t->ups)
        return;
    online_peer_send(&t->parent, ONLINE_WORDS, t->up, t->ups * sizeof *t->up);
    t->ups = 0;
}
