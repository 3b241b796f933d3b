/* One node of the tree; in the root's, the coordinators of all communicators. */
#include "tuner/online/node.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096
#define WORDS   ((ONLINE_LINKS + 63) / 64)
#define LOOK    64 /* entries that a new one may be joined to */
#define NOBODY  (-2)

#define MOST_RANKS ((size_t)64 << 20) /* of all communicators together: a byte each at the root */

/* A member of this process. */
struct own {
    struct online_member *m;
    struct own *next;
    uint64_t furthest, asked_ms;
    int may;          /* a round can begin: it is asked */
    uint32_t decided; /* the last round whose outcome it was told */
};

/* What a node knows of a communicator. */
struct online_topic {
    uint64_t comm;
    struct online_topic *next;
    struct own *own;
    uint64_t links[WORDS]; /* through which there are ranks of it */
    int first;             /* the link to rank 0, ONLINE_UP: this process, NOBODY */
    uint32_t members;      /* that have joined through this node and not left */
    uint32_t open;         /* the round that is under way; 0: none */
    /* the root's */
    struct online_coordinator c;
    uint64_t until_ms; /* its patience */
    int told;          /* rank 0 knows that a round can begin */
    int is_closed;     /* somebody has left or is lost: no more rounds */
};

/* ---- topics ------------------------------------------------------------------------------------------------------ */

static struct online_topic **place_of(const struct online_node *n, uint64_t comm)
{
    struct online_topic **at = &n->topics[(comm * UINT64_C(0x9e3779b97f4a7c15)) >> 52];
    while (*at && (*at)->comm != comm)
        at = &(*at)->next;
    return at;
}

static struct online_topic *topic_of(struct online_node *n, uint64_t comm, uint32_t ranks)
{
    struct online_topic **at = place_of(n, comm), *t = *at;
    if (t || n->count == ONLINE_COMMS || n->ranks + ranks > MOST_RANKS)
        return t;
    t = calloc(1, sizeof *t);
    uint8_t *bits = t && n->is_root ? calloc(ranks, 1) : NULL;
    if (!t || (n->is_root && !bits)) {
        free(t);
        return NULL;
    }
    t->comm = comm;
    t->first = NOBODY;
    t->c.ranks = bits;
    t->c.size = ranks;
    n->count++;
    n->ranks += ranks;
    *at = t;
    return t;
}

static void free_topic(struct online_topic *t)
{
    for (struct own *o = t->own, *next; o; o = next) {
        next = o->next;
        free(o);
    }
    free(t->c.ranks);
    free(t);
}

static void set_open(struct online_node *n, struct online_topic *t, uint32_t round)
{
    n->rounds += (round != 0) - (size_t)(t->open != 0);
    t->open = round;
}

static void drop_topic(struct online_node *n, struct online_topic *t)
{
    struct online_topic **at = place_of(n, t->comm);
    set_open(n, t, 0);
    *at = t->next;
    n->count--;
    n->ranks -= t->c.size;
    free_topic(t);
}

int online_node_open(struct online_node *n, int is_root,
                     void (*send)(void *arg, int link, const struct online_entry *e), void *arg)
{
    *n = (struct online_node){is_root, send, arg, .topics = calloc(BUCKETS, sizeof(struct online_topic *))};
    return n->topics ? 0 : -1;
}

void online_node_close(struct online_node *n)
{
    for (size_t i = 0; n->topics && i < BUCKETS; i++)
        for (struct online_topic *t = n->topics[i], *next; t; t = next) {
            next = t->next;
            free_topic(t);
        }
    free(n->topics);
    *n = (struct online_node){0};
}

/* ---- down -------------------------------------------------------------------------------------------------------- */

static void go_up(struct online_node *n, struct online_topic *t, const struct online_entry *e);

static struct online_entry entry_of(const struct online_topic *t, uint32_t word)
{
    return (struct online_entry){.comm = t->comm, .word = word, .ranks = t->c.size};
}

static void tell_own(struct online_node *n, struct online_topic *t, struct own *o, const struct online_entry *e)
{
    struct online_message m = {(enum online_word)e->word, e->round, e->plan, e->from};
    struct online_message answer = o->m->hear(o->m->arg, &m);
    struct online_entry up = entry_of(t, answer.word);
    up.from = answer.from, up.round = answer.round, up.plan = answer.plan;
    up.rank = (uint32_t)o->m->rank, up.count = 1;
    if (m.word != ONLINE_PREPARE && o->m->decided && o->decided != m.round) {
        o->decided = m.round;
        o->m->decided(o->m->arg, &m);
    }
    if (answer.word)
        go_up(n, t, &up);
}

static void may_begin(struct online_topic *t, uint64_t furthest)
{
    for (struct own *o = t->own; o; o = o->next)
        if (!o->m->rank)
            o->may = 1, o->furthest = furthest;
}

/* A word of the coordinator's, to where it belongs. */
static void go_down(struct online_node *n, struct online_topic *t, const struct online_entry *e)
{
    if (e->word == ONLINE_MAY) {
        if (t->first == ONLINE_UP)
            may_begin(t, e->from);
        else if (t->first != NOBODY)
            n->send(n->arg, t->first, e);
        return;
    }
    set_open(n, t, e->word == ONLINE_PREPARE ? e->round : 0);
    for (int i = 0; i < ONLINE_LINKS; i++)
        if (t->links[i / 64] >> (i % 64) & 1)
            n->send(n->arg, i, e);
    for (struct own *o = t->own; o; o = o->next)
        tell_own(n, t, o, e);
}

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

static void say(struct online_node *n, struct online_topic *t)
{
    struct online_entry e = entry_of(t, t->c.said.word);
    e.from = t->c.said.from, e.round = t->c.said.round, e.plan = t->c.said.plan;
    t->until_ms = n->now_ms + ONLINE_PATIENCE_MS;
    go_down(n, t, &e);
}

static void close_topic(struct online_node *n, struct online_topic *t)
{
    t->is_closed = 1;
    if (online_lose(&t->c, 0))
        say(n, t);
}

static void offer(struct online_node *n, struct online_topic *t)
{
    struct online_entry e = entry_of(t, ONLINE_MAY);
    if (t->told || t->is_closed || t->members != t->c.size || !online_may_propose(&t->c))
        return;
    e.from = t->c.furthest;
    t->told = 1;
    go_down(n, t, &e);
}

static void begin(struct online_node *n, struct online_topic *t, const struct online_entry *e)
{
    if (!t->told || t->is_closed)
        return;
    t->told = 0;
    online_propose(&t->c, e->from, e->plan);
    say(n, t);
}

static void coordinate(struct online_node *n, struct online_topic *t, const struct online_entry *e)
{
    struct online_message m = {(enum online_word)e->word, e->round, e->plan, e->from};
    if (e->word == ONLINE_ASK)
        begin(n, t, e);
    else if (e->word == ONLINE_GONE)
        close_topic(n, t);
    else if (e->word != ONLINE_HERE)
        for (uint32_t i = 0; i < e->count; i++)
            if (online_hear(&t->c, e->rank + i, &m))
                say(n, t);
    offer(n, t);
}

/* ---- up ---------------------------------------------------------------------------------------------------------- */

/* What this node keeps of it, and then to the coordinator. */
static void go_up(struct online_node *n, struct online_topic *t, const struct online_entry *e)
{
    if (e->word == ONLINE_HERE)
        t->members += e->count;
    if (n->is_root)
        coordinate(n, t, e);
    else
        n->send(n->arg, ONLINE_UP, e);
    if (e->word != ONLINE_GONE)
        return;
    t->members -= e->count < t->members ? e->count : t->members;
    if (!t->members && !t->own)
        drop_topic(n, t);
}

static int is_down(uint32_t word)
{
    return word == ONLINE_PREPARE || word == ONLINE_COMMIT || word == ONLINE_ABORT || word == ONLINE_MAY;
}

static int is_up(uint32_t word)
{
    return (word >= ONLINE_PROMISE && word <= ONLINE_KNOW) || (word >= ONLINE_HERE && word <= ONLINE_ASK);
}

int online_node_hear(struct online_node *n, int link, const struct online_entry *e)
{
    if (!(link == ONLINE_UP ? is_down(e->word) : is_up(e->word)) || !e->ranks || e->ranks > ONLINE_RANKS ||
        e->count > e->ranks || e->rank > e->ranks - e->count)
        return -1;
    struct online_topic *t =
        link != ONLINE_UP && e->word == ONLINE_HERE ? topic_of(n, e->comm, e->ranks) : *place_of(n, e->comm);
    if (!t)
        return 0; /* all of it has left meanwhile, or it is one too many */
    if (t->c.size != e->ranks)
        return -1;
    if (link == ONLINE_UP) {
        go_down(n, t, e);
        return 0;
    }
    t->links[link / 64] |= UINT64_C(1) << (link % 64);
    if (e->word == ONLINE_HERE && !e->rank && e->count)
        t->first = link;
    go_up(n, t, e);
    return 0;
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

static struct online_entry of_member(const struct online_topic *t, const struct online_member *m, uint32_t word)
{
    struct online_entry e = entry_of(t, word);
    e.rank = (uint32_t)m->rank;
    e.count = 1;
    return e;
}

int online_node_join(struct online_node *n, struct online_member *m)
{
    if (m->ranks < 1 || (uint32_t)m->ranks > ONLINE_RANKS || m->rank < 0 || m->rank >= m->ranks)
        return -1;
    struct online_topic *t = topic_of(n, m->comm, (uint32_t)m->ranks);
    struct own *o = t && t->c.size == (uint32_t)m->ranks ? calloc(1, sizeof *o) : NULL;
    if (!o)
        return -1;
    *o = (struct own){.m = m, .next = t->own};
    t->own = o;
    if (!m->rank)
        t->first = ONLINE_UP;
    struct online_entry e = of_member(t, m, ONLINE_HERE);
    go_up(n, t, &e);
    return 0;
}

void online_node_leave(struct online_node *n, const struct online_member *m)
{
    struct online_topic *t = *place_of(n, m->comm);
    struct own **at = t ? &t->own : NULL, *o;
    while (at && *at && (*at)->m != m)
        at = &(*at)->next;
    if (!at || !(o = *at))
        return;
    *at = o->next;
    free(o);
    struct online_entry e = of_member(t, m, ONLINE_GONE);
    go_up(n, t, &e);
}

/* ---- what happens to the node ------------------------------------------------------------------------------------ */

static void lose_parent(struct online_node *n)
{
    for (size_t i = 0; i < BUCKETS; i++)
        while (n->topics[i]) {
            for (struct own *o = n->topics[i]->own; o; o = o->next)
                o->m->lose(o->m->arg);
            drop_topic(n, n->topics[i]);
        }
}

void online_node_lose(struct online_node *n, int link)
{
    if (link == ONLINE_UP) {
        lose_parent(n);
        return;
    }
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct online_topic *t = n->topics[i], *next; t; t = next) {
            next = t->next;
            if (!(t->links[link / 64] >> (link % 64) & 1))
                continue;
            t->links[link / 64] &= ~(UINT64_C(1) << (link % 64));
            t->first = t->first == link ? NOBODY : t->first;
            struct online_entry e = entry_of(t, ONLINE_GONE);
            go_up(n, t, &e);
        }
}

static void ask(struct online_node *n, struct online_topic *t, struct own *o)
{
    struct online_entry e = of_member(t, o->m, ONLINE_ASK);
    if (!o->may || !o->m->propose || n->now_ms - o->asked_ms < ONLINE_PROPOSE_MS)
        return;
    o->asked_ms = n->now_ms;
    if (!o->m->propose(o->m->arg, o->furthest, &e.from, &e.plan))
        return;
    o->may = 0;
    go_up(n, t, &e);
}

static void give_up(struct online_node *n, struct online_topic *t)
{
    online_impatient(&t->c);
    if (t->open)
        say(n, t);
}

int online_node_tick(struct online_node *n, uint64_t now_ms)
{
    int soon = n->is_root && n->rounds;
    n->now_ms = now_ms;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct online_topic *t = n->topics[i]; t; t = t->next) {
            for (struct own *o = t->own; o; o = o->next) {
                ask(n, t, o);
                soon |= o->may;
            }
            if (n->is_root && t->open && now_ms >= t->until_ms)
                give_up(n, t);
        }
    return soon;
}

void online_node_stop(struct online_node *n)
{
    for (size_t i = 0; n->is_root && i < BUCKETS; i++)
        for (struct online_topic *t = n->topics[i]; t; t = t->next) {
            t->is_closed = 1;
            if (t->open)
                give_up(n, t);
        }
}

/* ---- words of neighbours ----------------------------------------------------------------------------------------- */

/* Widens `a` by the ranks of `e`, where they say the same and touch. */
static int widen(struct online_entry *a, const struct online_entry *e)
{
    if (a->comm != e->comm || a->word != e->word || a->round != e->round || a->plan != e->plan ||
        a->ranks != e->ranks || !a->count || !e->count)
        return 0;
    if (a->rank + a->count != e->rank && e->rank + e->count != a->rank)
        return 0;
    a->rank = e->rank < a->rank ? e->rank : a->rank;
    a->count += e->count;
    a->from = e->from > a->from ? e->from : a->from;
    return 1;
}

int online_merge(struct online_entry *list, size_t *count, size_t most, const struct online_entry *e)
{
    for (size_t i = *count; i > 0 && *count - i < LOOK; i--)
        if (widen(&list[i - 1], e))
            return 1;
    if (*count == most)
        return 0;
    list[(*count)++] = *e;
    return 1;
}
