/* Callbacks of a member over the state machine. */
#include "tests/lib/online_rank.h"

static struct online_message hear(void *arg, const struct online_message *m)
{
    struct online_rank *r = arg;
    return online_agent_hear(&r->agent, m);
}

static void lose(void *arg)
{
    struct online_rank *r = arg;
    r->is_lost = 1;
    online_agent_lose(&r->agent);
}

static int propose(void *arg, uint64_t furthest, uint64_t *from, uint32_t *plan)
{
    struct online_rank *r = arg;
    r->asked++;
    r->furthest = furthest;
    if (!r->from)
        return 0;
    *from = r->from;
    *plan = r->plan;
    r->from = 0;
    return 1;
}

static void decided(void *arg, const struct online_message *said)
{
    struct online_rank *r = arg;
    r->commits += said->word == ONLINE_COMMIT;
    r->aborts += said->word == ONLINE_ABORT;
}

void online_rank_make(struct online_rank *r, uint64_t comm, int rank, int ranks)
{
    *r = (struct online_rank){.member = {comm, rank, ranks, r, hear, lose, rank ? 0 : propose, rank ? 0 : decided}};
}
