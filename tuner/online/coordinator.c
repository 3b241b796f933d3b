/* The coordinator's side: it decides once a round, and never takes that back. */
#include "tuner/online/online.h"

#include <string.h>

#define LEAST_MARGIN 8
#define MOST_MARGIN  1000000

static int is_undecided(const struct online_coordinator *c)
{
    return c->said.word == ONLINE_PREPARE;
}

int online_may_propose(const struct online_coordinator *c)
{
    return !c->lost && !is_undecided(c) && (!c->said.word || c->knowing == c->size);
}

void online_propose(struct online_coordinator *c, uint64_t from, uint32_t plan)
{
    c->said = (struct online_message){ONLINE_PREPARE, c->said.round + 1, plan, from};
    c->promised = c->knowing = 0;
    memset(c->ranks, 0, c->size);
}

/* Sets a bit of a rank; 1: it was not set. */
static int mark(struct online_coordinator *c, uint32_t rank, uint8_t bit, uint32_t *count)
{
    if (c->ranks[rank] & bit)
        return 0;
    c->ranks[rank] |= bit;
    ++*count;
    return 1;
}

static int decide(struct online_coordinator *c, enum online_word word)
{
    c->said.word = word;
    return 1;
}

int online_hear(struct online_coordinator *c, uint32_t rank, const struct online_message *m)
{
    if (rank >= c->size)
        return 0;
    c->furthest = m->from > c->furthest ? m->from : c->furthest;
    if (m->round != c->said.round || c->ranks[rank] & ONLINE_LOST)
        return 0;
    if (m->word == ONLINE_REFUSE || m->word == ONLINE_KNOW)
        mark(c, rank, ONLINE_KNOWS, &c->knowing);
    if (!is_undecided(c))
        return 0;
    if (m->word == ONLINE_REFUSE)
        return decide(c, ONLINE_ABORT);
    if (m->word == ONLINE_PROMISE)
        mark(c, rank, ONLINE_PROMISED, &c->promised);
    return c->promised == c->size ? decide(c, ONLINE_COMMIT) : 0;
}

void online_impatient(struct online_coordinator *c)
{
    if (is_undecided(c))
        decide(c, ONLINE_ABORT);
}

int online_lose(struct online_coordinator *c, uint32_t rank)
{
    if (rank >= c->size)
        return 0;
    mark(c, rank, ONLINE_LOST, &c->lost);
    return is_undecided(c) ? decide(c, ONLINE_ABORT) : 0;
}

uint64_t online_margin(uint64_t margin, int aborted, uint64_t went_on)
{
    uint64_t next = went_on + went_on / 2;
    if (aborted && next < 2 * margin)
        next = 2 * margin;
    return next < LEAST_MARGIN ? LEAST_MARGIN : next > MOST_MARGIN ? MOST_MARGIN : next;
}
