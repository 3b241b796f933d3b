/* A rank's side: it promises, and keeps what it promised. */
#include "tuner/online/online.h"

static const struct online_message nothing;

enum online_turn online_agent_call(struct online_agent *a, uint32_t *plan)
{
    if (a->promise.word && a->next >= a->promise.from)
        return a->lost ? ONLINE_FAIL : ONLINE_WAIT;
    *plan = a->next >= a->from ? a->plan : a->before;
    a->next++;
    return ONLINE_GO;
}

static struct online_message answer(const struct online_agent *a, enum online_word word, uint32_t round)
{
    return (struct online_message){.word = word, .round = round, .from = a->next};
}

/* One change at a time: while the last one is still to come nothing is promised. */
static int can_promise(const struct online_agent *a, const struct online_message *m)
{
    return a->next < m->from && a->next >= a->from;
}

static struct online_message prepare(struct online_agent *a, const struct online_message *m)
{
    if (a->promise.word && a->promise.round == m->round)
        return answer(a, ONLINE_PROMISE, m->round);
    if (a->promise.word)
        return nothing; /* an outcome is owed first: this is not of our coordinator */
    if (m->round <= a->closed)
        return nothing; /* late, or once more: what was said to it stands */
    if (can_promise(a, m)) {
        a->promise = *m;
        return answer(a, ONLINE_PROMISE, m->round);
    }
    a->closed = m->round;
    return answer(a, ONLINE_REFUSE, m->round);
}

static void commit(struct online_agent *a)
{
    a->before = a->plan;
    a->plan = a->promise.plan;
    a->from = a->promise.from;
}

/* What is told once more is answered once more: the last answer may be lost. */
struct online_message online_agent_hear(struct online_agent *a, const struct online_message *m)
{
    if (a->lost)
        return nothing;
    if (m->word == ONLINE_PREPARE)
        return prepare(a, m);
    if (m->word != ONLINE_COMMIT && m->word != ONLINE_ABORT)
        return nothing;
    int is_promised = a->promise.word && a->promise.round == m->round;
    if (!is_promised && (a->promise.word || m->word == ONLINE_COMMIT) && m->round > a->closed)
        return nothing; /* of a round that it does not know */
    if (is_promised && m->word == ONLINE_COMMIT)
        commit(a);
    if (is_promised)
        a->promise = nothing;
    a->closed = m->round > a->closed ? m->round : a->closed;
    return answer(a, ONLINE_KNOW, m->round);
}

void online_agent_lose(struct online_agent *a)
{
    a->lost = 1;
}
