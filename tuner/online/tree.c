/* A process's place in the tree, and the turn of all its connections. */
#include "tuner/online/tree.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/online/tree_internal.h"

#define IDLE_MS 500

static void send_word(void *arg, int link, const struct online_entry *e)
{
    struct online_tree *t = arg;
    if (link != ONLINE_UP) {
        online_peer_send(&t->children[link], ONLINE_WORDS, e, sizeof *e);
        return;
    }
    t->up_ms = t->ups ? t->up_ms : t->now_ms;
    if (online_merge(t->up, &t->ups, ONLINE_BUNDLE, e))
        return;
    online_parent_flush(
        t); /* what has no room where there is no parent yet is lost: its communicators stay as they are */
    online_merge(t->up, &t->ups, ONLINE_BUNDLE, e);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

int online_tree_open(struct online_tree *t, const struct online_hello *self, void (*say)(const char *text))
{
    *t = (struct online_tree){.self = *self, .listener = -1, .say = say};
    return online_node_open(&t->node, self->rank == 0, send_word, t);
}

void online_tree_close(struct online_tree *t)
{
    online_children_close(t);
    online_peer_close(&t->parent);
    if (t->listener >= 0)
        close(t->listener);
    t->listener = -1;
    free(t->leaders);
    t->leaders = NULL;
    online_node_close(&t->node);
    hmac_wipe(&t->secret, sizeof t->secret);
}

int online_tree_listen(struct online_tree *t, uint16_t port)
{
    t->listener = wire_listen(&port);
    t->self.at.port = port;
    return t->listener < 0 ? -1 : 0;
}

void online_tree_find(struct online_tree *t, const struct online_place *root, int roots)
{
    t->roots = roots < ONLINE_ADDRESSES ? roots : ONLINE_ADDRESSES;
    memcpy(t->root, root, (size_t)t->roots * sizeof *root);
}

/* ---- a turn ------------------------------------------------------------------------------------------------------ */

static int guests(const struct online_tree *t)
{
    int n = 0;
    for (int i = 0; i < ONLINE_LINKS; i++)
        n += t->children[i].stage != ONLINE_AWAY && t->children[i].stage != ONLINE_LINKED;
    return n;
}

static struct pollfd wants(const struct online_peer *p)
{
    struct pollfd fd = {.fd = p->stage == ONLINE_AWAY ? -1 : p->c.from, .events = POLLIN};
    if (p->stage == ONLINE_CONNECTING || (p->stage > ONLINE_PROVING && p->c.queued))
        fd.events |= POLLOUT;
    return fd;
}

nfds_t online_tree_wants(const struct online_tree *t, struct pollfd *fds, int *timeout_ms)
{
    for (int i = 0; i < ONLINE_LINKS; i++)
        fds[i] = wants(&t->children[i]);
    fds[ONLINE_LINKS] = wants(&t->parent);
    fds[ONLINE_LINKS + 1] = (struct pollfd){.fd = guests(t) < ONLINE_GUESTS ? t->listener : -1, .events = POLLIN};
    *timeout_ms = t->ups && t->parent.stage == ONLINE_LINKED ? 1 : t->is_soon ? ONLINE_PROPOSE_MS : IDLE_MS;
    return ONLINE_FDS;
}

static void show_life(struct online_tree *t)
{
    if (t->now_ms - t->alive_ms < ONLINE_ALIVE_MS)
        return;
    t->alive_ms = t->now_ms;
    if (t->parent.stage == ONLINE_LINKED)
        online_peer_send(&t->parent, ONLINE_ALIVE, NULL, 0);
    for (int i = 0; i < ONLINE_LINKS; i++)
        if (t->children[i].stage == ONLINE_LINKED)
            online_peer_send(&t->children[i], ONLINE_ALIVE, NULL, 0);
}

void online_tree_turn(struct online_tree *t, const struct pollfd *fds, uint64_t now_ms)
{
    t->now_ms = now_ms;
    t->node.now_ms = now_ms;
    if (!t->is_lost && !t->node.is_root)
        online_parent_turn(t, fds[ONLINE_LINKS].revents);
    online_children_turn(t, fds, fds[ONLINE_LINKS + 1].revents);
    t->is_soon = online_node_tick(&t->node, now_ms);
    show_life(t);
    if (t->is_lost)
        online_children_close(t);
}

int online_tree_is_busy(const struct online_tree *t)
{
    /* The others are to know why they cannot go on: those that are on their way, too. */
    int is_owed = t->parent.stage != ONLINE_LINKED && (strchr(t->self.table, ' ') || t->refusal[0]);
    if (is_owed || t->node.rounds || (t->ups && t->parent.stage == ONLINE_LINKED) || t->parent.c.queued)
        return 1;
    for (int i = 0; i < ONLINE_LINKS; i++)
        if (t->children[i].stage == ONLINE_LINKED && t->children[i].c.queued)
            return 1;
    return 0;
}
