/* One connection of the tree, to the parent or from a child: proof, frames, and what all of them mean. */
#include <stdio.h>
#include <string.h>

#include "tuner/online/tree_internal.h"

/* ---- a peer ------------------------------------------------------------------------------------------------------ */

void online_peer_begin(struct online_tree *t, struct online_peer *p, int fd, int is_parent)
{
    p->stage = ONLINE_PROVING;
    p->heard_ms = t->now_ms;
    p->c = (struct connection){.from = fd, .to = fd};
    p->is_broken = proof_begin(&p->proof, &t->secret, is_parent) != 0;
}

int online_peer_prove(struct online_tree *t, struct online_peer *p)
{
    int rc = proof_go_on(&p->proof, p->c.from), fd = p->c.from;
    if (rc < 1)
        return rc;
    p->c.from = p->c.to = -1;
    if (connection_open(&p->c, fd, fd))
        return -1;
    proof_seal(&p->proof, &p->c);
    wire_tune(fd);
    p->stage = ONLINE_GREETING;
    p->heard_ms = t->now_ms;
    return 1;
}

void online_peer_close(struct online_peer *p)
{
    if (p->stage != ONLINE_AWAY)
        connection_close(&p->c);
    hmac_wipe(&p->proof, sizeof p->proof);
    p->stage = ONLINE_AWAY;
    p->is_broken = 0;
}

int online_peer_send(struct online_peer *p, int message, const void *body, size_t bytes)
{
    int rc = connection_send(&p->c, message, 0, body, bytes);
    p->is_broken |= rc != 0;
    return rc;
}

int online_peer_read(struct online_tree *t, struct online_peer *p,
                     int (*take)(struct online_tree *t, struct online_peer *p, const struct frame *f))
{
    struct frame f;
    int rc = 0, filled = connection_fill(&p->c);
    while (!p->is_broken && (rc = connection_next(&p->c, &f)) > 0) {
        p->heard_ms = t->now_ms;
        if (f.head.message != ONLINE_ALIVE && take(t, p, &f))
            return -1;
    }
    return rc < 0 || !filled || p->is_broken ? -1 : 0;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

int online_tree_words(struct online_tree *t, int link, const struct frame *f)
{
    struct online_entry e;
    size_t n = f->head.bytes / sizeof e;
    if (f->head.bytes % sizeof e)
        return -1;
    for (size_t i = 0; i < n; i++) {
        memcpy(&e, (const char *)f->body + i * sizeof e, sizeof e);
        if (online_node_hear(&t->node, link, &e))
            return -1;
    }
    t->is_soon = 1;
    return 0;
}

void online_tree_refuse(struct online_tree *t, const char *why)
{
    if (t->refusal[0])
        return;
    snprintf(t->refusal, sizeof t->refusal, "%s", why);
    for (char *c = t->refusal; *c; c++)
        *c = *c < ' ' || *c == 127 ? '?' : *c;
    for (int i = 0; i < ONLINE_LINKS; i++)
        if (t->children[i].stage == ONLINE_LINKED)
            online_peer_send(&t->children[i], ONLINE_REFUSAL, t->refusal, sizeof t->refusal);
}
