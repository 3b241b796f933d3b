/* What can happen, step by step, and what is asked of every state. */
#include "tests/lib/explore.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/online/online.h"

enum { RANKS = 4, ROUNDS = 3, CALLS = 5, UNUSED = 3 };

/* ---- a state ----------------------------------------------------------------------------------------------------- */

/* One bit a message under way: word and round. Lost is what is never delivered. */
struct rank {
    struct online_agent agent;
    uint32_t down, up;
    uint8_t bits; /* the coordinator's */
    int failed;
};

struct world {
    struct rank ranks[RANKS];
    struct online_message said;
    uint64_t from[ROUNDS + 1]; /* of each round */
    uint8_t used[CALLS];       /* plan of each call; UNUSED */
    int alive, deaths;         /* the coordinator; how many may still fall silent */
};

struct packed {
    uint64_t ranks[RANKS], shared;
};

#define TAKE(word, bits, value) ((word) = (word) << (bits) | ((uint64_t)(value) & ((1U << (bits)) - 1)))

static uint32_t bit(enum online_word word, uint32_t round)
{
    uint32_t kind = word <= ONLINE_ABORT ? (uint32_t)word - ONLINE_PREPARE : (uint32_t)word - ONLINE_PROMISE;
    return 1U << (kind * ROUNDS + round - 1);
}

static uint32_t plan_of(uint32_t round)
{
    return round % ROUNDS; /* the last goes back to the default */
}

static uint64_t pack_rank(const struct rank *r)
{
    uint64_t w = 0;
    TAKE(w, 3, r->agent.next);
    TAKE(w, 2, r->agent.closed);
    TAKE(w, 2, r->agent.plan);
    TAKE(w, 2, r->agent.before);
    TAKE(w, 3, r->agent.from);
    TAKE(w, 2, r->agent.promise.word ? r->agent.promise.round : 0);
    TAKE(w, 1, r->agent.lost);
    TAKE(w, 1, r->failed);
    TAKE(w, 3, r->bits);
    TAKE(w, 9, r->down);
    TAKE(w, 9, r->up);
    return w;
}

static uint32_t give(uint64_t *w, int bits)
{
    uint32_t value = (uint32_t)(*w & ((1U << bits) - 1));
    *w >>= bits;
    return value;
}

static void unpack_rank(uint64_t w, const uint64_t *from, struct rank *r)
{
    *r = (struct rank){.up = give(&w, 9)};
    r->down = give(&w, 9);
    r->bits = (uint8_t)give(&w, 3);
    r->failed = (int)give(&w, 1);
    r->agent.lost = (int)give(&w, 1);
    uint32_t promised = give(&w, 2);
    r->agent.from = give(&w, 3);
    r->agent.before = give(&w, 2);
    r->agent.plan = give(&w, 2);
    r->agent.closed = give(&w, 2);
    r->agent.next = give(&w, 3);
    if (promised)
        r->agent.promise = (struct online_message){ONLINE_PREPARE, promised, plan_of(promised), from[promised]};
}

static int by_value(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

/* Messages that can change nothing any more, if all is well, are as if they were lost: to a rank of rounds that it has
 * closed, unless the coordinator waits for the answer; to the coordinator of other rounds, and what it knows. */
static void drop_to_rank(const struct world *w, struct rank *r, uint32_t round)
{
    uint32_t prepare = bit(ONLINE_PREPARE, round), outcomes = bit(ONLINE_COMMIT, round) | bit(ONLINE_ABORT, round);
    int is_answered = round < w->said.round || r->bits & (ONLINE_KNOWS | ONLINE_LOST) || !w->alive;
    if (round <= r->agent.closed)
        r->down &= ~(is_answered ? outcomes | prepare : prepare);
}

static void drop_to_coordinator(const struct world *w, struct rank *r, uint32_t round)
{
    uint32_t promise = bit(ONLINE_PROMISE, round), knows = bit(ONLINE_REFUSE, round) | bit(ONLINE_KNOW, round);
    if (round != w->said.round || r->bits & ONLINE_LOST)
        r->up &= ~(promise | knows);
    if (r->bits & ONLINE_KNOWS)
        r->up &= ~knows;
    if (r->bits & ONLINE_PROMISED || w->said.word != ONLINE_PREPARE)
        r->up &= ~promise;
}

/* What is remembered of calls that all have made, of rounds that nobody speaks of, and of what the dead know, is
 * nothing. */
static void forget(struct world *w, const struct explore_bounds *b)
{
    uint32_t spoken_of = w->alive ? 1U << w->said.round : 0;
    uint64_t least = CALLS;
    for (int i = 0; i < b->ranks; i++) {
        struct rank *r = &w->ranks[i];
        r->bits = w->alive ? r->bits : 0;
        r->up = w->alive ? r->up : 0;
        r->down = r->agent.lost ? 0 : r->down;
        for (uint32_t round = 1; round <= ROUNDS; round++) {
            if (b->presumes & EXPLORE_RANKS)
                drop_to_rank(w, r, round);
            if (b->presumes & EXPLORE_COORDINATOR)
                drop_to_coordinator(w, r, round);
            if (r->down & (bit(ONLINE_PREPARE, round) | bit(ONLINE_COMMIT, round) | bit(ONLINE_ABORT, round)) ||
                r->agent.promise.round == round)
                spoken_of |= 1U << round;
        }
        if (r->agent.next >= r->agent.from)
            r->agent.before = 0;
        if (!r->failed && r->agent.next < least)
            least = r->agent.next;
    }
    for (uint32_t round = 1; round <= ROUNDS; round++)
        if (!(spoken_of & 1U << round))
            w->from[round] = 0;
    for (uint64_t i = 0; i < least; i++)
        w->used[i] = UNUSED;
}

static struct packed pack(const struct world *given, const struct explore_bounds *b)
{
    struct packed p = {.shared = 0};
    struct world w = *given;
    forget(&w, b);
    for (int i = 0; i < b->ranks; i++)
        p.ranks[i] = pack_rank(&w.ranks[i]);
    qsort(p.ranks, (size_t)b->ranks, sizeof *p.ranks, by_value);
    TAKE(p.shared, 2, w.said.word);
    TAKE(p.shared, 2, w.said.round);
    for (int i = 1; i <= ROUNDS; i++)
        TAKE(p.shared, 3, w.from[i]);
    for (int i = 0; i < CALLS; i++)
        TAKE(p.shared, 2, w.used[i]);
    TAKE(p.shared, 1, w.alive);
    TAKE(p.shared, 2, w.deaths);
    return p;
}

static void unpack(const struct packed *p, int ranks, struct world *w)
{
    uint64_t s = p->shared;
    *w = (struct world){.deaths = (int)give(&s, 2)};
    w->alive = (int)give(&s, 1);
    for (int i = CALLS; i-- > 0;)
        w->used[i] = (uint8_t)give(&s, 2);
    for (int i = ROUNDS; i > 0; i--)
        w->from[i] = give(&s, 3);
    w->said.round = give(&s, 2);
    w->said.word = (enum online_word)give(&s, 2);
    w->said.plan = plan_of(w->said.round);
    w->said.from = w->from[w->said.round];
    for (int i = 0; i < ranks; i++)
        unpack_rank(p->ranks[i], w->from, &w->ranks[i]);
}

/* ---- all states -------------------------------------------------------------------------------------------------- */

struct explorer {
    struct explore_bounds b;
    struct explore_result *r;
    struct packed *states;
    uint32_t *table, *parents; /* of states, by hash; where each came from */
    size_t count, size;
    size_t at;     /* whose successors are made */
    int looks_up;  /* successors are looked for, and none is added */
    int leads_out; /* one of them was known to lead to an end */
    uint8_t *ends; /* which states do */
};

static uint64_t hash(const struct packed *p, int ranks)
{
    uint64_t h = p->shared * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 0; i < ranks; i++)
        h = ((h ^ h >> 29) + p->ranks[i]) * UINT64_C(0xbf58476d1ce4e5b9);
    return h ^ h >> 32;
}

/* Where a state is, or belongs: its number + 1, or 0. */
static uint32_t *place(struct explorer *x, const struct packed *p)
{
    size_t i = hash(p, x->b.ranks) & (x->size - 1);
    while (x->table[i] && memcmp(&x->states[x->table[i] - 1], p, sizeof *p) != 0)
        i = (i + 1) & (x->size - 1);
    return &x->table[i];
}

static void reach(struct explorer *x, const struct world *w)
{
    struct packed p = pack(w, &x->b);
    uint32_t *number = place(x, &p);
    if (x->looks_up) {
        x->leads_out |= *number && x->ends[*number - 1];
        return;
    }
    x->r->transitions++;
    if (*number)
        return;
    if (x->count == x->b.most) {
        x->r->is_cut = 1;
        return;
    }
    x->states[x->count] = p;
    x->parents[x->count] = (uint32_t)x->at;
    *number = (uint32_t)++x->count;
}

/* ---- what can happen --------------------------------------------------------------------------------------------- */

static void wrong(struct explorer *x, const char *what)
{
    if (!x->r->wrong && !x->looks_up)
        x->r->wrong = what;
}

static void send_down(struct world *w, int ranks, int only)
{
    for (int i = 0; i < ranks; i++)
        if (only < 0 || only == i)
            w->ranks[i].down |= bit(w->said.word, w->said.round);
}

static void send_up(struct rank *r, const struct online_message *m)
{
    if (m->word)
        r->up |= bit(m->word, m->round);
}

/* The coordinator over the world's bits. */
struct seat {
    struct online_coordinator c;
    uint8_t bits[RANKS];
};

static void sit(struct seat *s, const struct world *w, int ranks)
{
    *s = (struct seat){.c = {.said = w->said, .size = (uint32_t)ranks}};
    s->c.ranks = s->bits;
    for (int i = 0; i < ranks; i++) {
        s->bits[i] = w->ranks[i].bits;
        s->c.promised += !!(s->bits[i] & ONLINE_PROMISED);
        s->c.knowing += !!(s->bits[i] & ONLINE_KNOWS);
        s->c.lost += !!(s->bits[i] & ONLINE_LOST);
    }
}

static void rise(const struct seat *s, struct world *w, int ranks)
{
    w->said = s->c.said;
    for (int i = 0; i < ranks; i++)
        w->ranks[i].bits = s->bits[i];
}

static void call(struct explorer *x, const struct world *before, int i)
{
    struct world w = *before;
    struct rank *r = &w.ranks[i];
    uint64_t at = r->agent.next;
    uint32_t plan = 0;
    if (r->failed || at >= (uint64_t)x->b.calls)
        return;
    if (x->b.fault == EXPLORE_DOES_NOT_WAIT && r->agent.promise.word && at >= r->agent.promise.from) {
        struct online_agent promising = r->agent;
        r->agent.promise.word = ONLINE_NOTHING;
        online_agent_call(&r->agent, &plan);
        r->agent.promise = promising.promise;
    } else {
        enum online_turn turn = online_agent_call(&r->agent, &plan);
        r->failed = turn == ONLINE_FAIL;
        if (r->failed && w.deaths == x->b.deaths)
            wrong(x, "a rank failed, and nobody was lost");
    }
    if (r->agent.next > at && w.used[at] != UNUSED && w.used[at] != plan)
        wrong(x, "two ranks use different choices for one call");
    if (r->agent.next > at)
        w.used[at] = (uint8_t)plan;
    reach(x, &w);
}

static void deliver_down(struct explorer *x, const struct world *before, int i, enum online_word word, uint32_t round)
{
    struct world w = *before;
    struct rank *r = &w.ranks[i];
    struct online_message m = {word, round, plan_of(round), w.from[round]};
    uint64_t next = r->agent.next;
    r->down &= ~bit(word, round);
    if (x->b.fault == EXPLORE_TOO_NEAR && word == ONLINE_PREPARE && r->agent.from <= next)
        r->agent.next = 0, r->agent.from = 0;
    if (x->b.fault == EXPLORE_DEAF_TO_ABORT && word == ONLINE_ABORT)
        m.word = ONLINE_COMMIT;
    if (x->b.fault == EXPLORE_ABORT_FORGOTTEN && word == ONLINE_ABORT && r->agent.promise.word)
        m.word = ONLINE_NOTHING;
    struct online_message answer = online_agent_hear(&r->agent, &m);
    if (x->b.fault == EXPLORE_TOO_NEAR && word == ONLINE_PREPARE)
        r->agent.next = next, r->agent.from = before->ranks[i].agent.from;
    send_up(r, &answer);
    reach(x, &w);
}

static void deliver_up(struct explorer *x, const struct world *before, int i, enum online_word word, uint32_t round)
{
    struct world w = *before;
    struct seat s;
    struct online_message m = {word, round, 0, 0};
    w.ranks[i].up &= ~bit(word, round);
    if (x->b.fault == EXPLORE_NO_REFUSAL && word == ONLINE_REFUSE)
        m.word = ONLINE_PROMISE;
    sit(&s, &w, x->b.ranks);
    if (x->b.fault == EXPLORE_NO_PREPARE)
        s.c.promised = s.c.size - 1;
    int says = online_hear(&s.c, (uint32_t)i, &m);
    rise(&s, &w, x->b.ranks);
    if (says)
        send_down(&w, x->b.ranks, -1);
    reach(x, &w);
}

static void propose(struct explorer *x, const struct world *before)
{
    struct seat s;
    sit(&s, before, x->b.ranks);
    int may = online_may_propose(&s.c);
    if (x->b.fault == EXPLORE_HASTY_ROUNDS)
        may = !s.c.lost && s.c.said.word != ONLINE_PREPARE;
    if (!may || s.c.said.round >= (uint32_t)x->b.rounds)
        return;
    for (int from = 0; from < x->b.calls; from++) {
        struct world w = *before;
        sit(&s, &w, x->b.ranks);
        online_propose(&s.c, (uint64_t)from, plan_of(w.said.round + 1));
        rise(&s, &w, x->b.ranks);
        w.from[w.said.round] = (uint64_t)from;
        send_down(&w, x->b.ranks, -1);
        reach(x, &w);
    }
}

static void end_patience(struct explorer *x, const struct world *before)
{
    struct world w = *before;
    struct seat s;
    if (!w.said.round)
        return;
    sit(&s, &w, x->b.ranks);
    online_impatient(&s.c);
    if (x->b.fault == EXPLORE_CHANGES_ITS_MIND)
        s.c.said.word = ONLINE_ABORT;
    rise(&s, &w, x->b.ranks);
    for (int i = 0; i < x->b.ranks; i++)
        if (!(w.ranks[i].bits & ONLINE_KNOWS))
            send_down(&w, x->b.ranks, i);
    reach(x, &w);
}

/* A rank notices that the coordinator is gone: because it is, because it has closed the connection, or, which is a
 * death, because nothing came for too long. */
static void lose_coordinator(struct explorer *x, const struct world *before, int i)
{
    struct world w = *before;
    int is_free = !w.alive || w.ranks[i].bits & ONLINE_LOST;
    if (w.ranks[i].agent.lost || (!is_free && !w.deaths))
        return;
    w.deaths -= !is_free;
    online_agent_lose(&w.ranks[i].agent);
    w.ranks[i].down = 0;
    if (x->b.fault == EXPLORE_DEAD_GOES_ON)
        w.ranks[i].agent.promise.word = ONLINE_NOTHING;
    reach(x, &w);
}

static void lose_rank(struct explorer *x, const struct world *before, int i)
{
    struct world w = *before;
    struct seat s;
    if (w.ranks[i].bits & ONLINE_LOST || (!w.ranks[i].agent.lost && !w.deaths))
        return;
    w.deaths -= !w.ranks[i].agent.lost;
    sit(&s, &w, x->b.ranks);
    int says = online_lose(&s.c, (uint32_t)i);
    rise(&s, &w, x->b.ranks);
    if (says)
        send_down(&w, x->b.ranks, -1);
    reach(x, &w);
}

static void lose_all(struct explorer *x, const struct world *before)
{
    struct world w = *before;
    if (!w.deaths)
        return;
    w.deaths--;
    w.alive = 0;
    reach(x, &w);
}

/* Nothing that is under way arrives: an end is reached from there as well. */
static void lose_messages(struct explorer *x, const struct world *before)
{
    struct world w = *before;
    for (int i = 0; i < x->b.ranks; i++)
        w.ranks[i].up = w.ranks[i].down = 0;
    reach(x, &w);
}

static void step(struct explorer *x, const struct world *w)
{
    lose_messages(x, w);
    for (int i = 0; i < x->b.ranks; i++) {
        call(x, w, i);
        lose_coordinator(x, w, i);
        if (w->alive)
            lose_rank(x, w, i);
        for (uint32_t round = 1; round <= w->said.round; round++)
            for (int word = ONLINE_PREPARE; word <= ONLINE_KNOW; word++) {
                uint32_t b = bit((enum online_word)word, round);
                if (word <= ONLINE_ABORT && w->ranks[i].down & b)
                    deliver_down(x, w, i, (enum online_word)word, round);
                else if (word > ONLINE_ABORT && w->alive && w->ranks[i].up & b)
                    deliver_up(x, w, i, (enum online_word)word, round);
            }
    }
    if (!w->alive)
        return;
    propose(x, w);
    end_patience(x, w);
    lose_all(x, w);
}

/* ---- what is asked of them --------------------------------------------------------------------------------------- */

static int is_end(const struct explorer *x, const struct world *w)
{
    for (int i = 0; i < x->b.ranks; i++)
        if (!w->ranks[i].failed && w->ranks[i].agent.next < (uint64_t)x->b.calls)
            return 0;
    return 1;
}

static void describe(const struct world *w, int ranks, char *to, size_t size)
{
    static const char *const words[] = {"-", "PREPARE", "COMMIT", "ABORT"};
    size_t n = (size_t)snprintf(to, size, "%s %s round %u from call %u:", w->alive ? "coordinator" : "dead coordinator",
                                words[w->said.word], w->said.round, (unsigned)w->from[w->said.round]);
    for (int i = 0; i < ranks && n < size; i++) {
        const struct rank *r = &w->ranks[i];
        n += (size_t)snprintf(to + n, size - n, "  [call %u plan %u from %u%s%s%s]", (unsigned)r->agent.next,
                              r->agent.plan, (unsigned)r->agent.from, r->agent.promise.word ? " promised" : "",
                              r->agent.lost ? " lost" : "", r->failed ? " failed" : "");
    }
}

/* The shortest way to a state, a line each. */
static void tell(struct explorer *x, size_t state)
{
    size_t way[64], n = 0, used = 0;
    struct world w;
    char line[512];
    for (size_t s = state; n < 64; s = x->parents[s]) {
        way[n++] = s;
        if (!s)
            break;
    }
    while (n-- > 0 && used < sizeof x->r->how) {
        unpack(&x->states[way[n]], x->b.ranks, &w);
        describe(&w, x->b.ranks, line, sizeof line);
        used += (size_t)snprintf(x->r->how + used, sizeof x->r->how - used, "# %s\n", line);
    }
}

/* Whether an end can be reached from every state: those from which it can, and what leads to them, until no more do. */
static void find_endless(struct explorer *x)
{
    struct world w;
    int changed = 1;
    x->looks_up = 1;
    while (changed) {
        changed = 0;
        for (size_t i = x->count; i-- > 0;) {
            if (x->ends[i])
                continue;
            unpack(&x->states[i], x->b.ranks, &w);
            x->leads_out = is_end(x, &w);
            step(x, &w);
            x->ends[i] = (uint8_t)x->leads_out;
            changed |= x->leads_out;
        }
    }
    for (size_t i = 0; i < x->count && !x->r->wrong; i++)
        if (!x->ends[i]) {
            x->r->wrong = "a rank waits for ever";
            tell(x, i);
        }
}

static void count(struct explorer *x, const struct world *w)
{
    int commits = 0, failures = 0;
    for (int i = 0; i < x->b.ranks; i++) {
        commits |= w->ranks[i].agent.plan || w->ranks[i].agent.from;
        failures |= w->ranks[i].failed;
    }
    x->r->ends += (size_t)is_end(x, w);
    x->r->commits += (size_t)commits;
    x->r->failures += (size_t)failures;
    x->r->aborts += w->said.word == ONLINE_ABORT;
}

static void run(struct explorer *x)
{
    struct world w = {.alive = 1, .deaths = x->b.deaths};
    memset(w.used, UNUSED, sizeof w.used);
    reach(x, &w);
    for (x->at = 0; x->at < x->count && !x->r->wrong; x->at++) {
        unpack(&x->states[x->at], x->b.ranks, &w);
        count(x, &w);
        step(x, &w);
        if (x->r->wrong)
            tell(x, x->at);
    }
    x->r->states = x->count;
    if (!x->r->wrong && !x->r->is_cut)
        find_endless(x);
}

void explore(const struct explore_bounds *b, struct explore_result *r)
{
    struct explorer x = {.b = *b, .r = r, .size = 1024};
    *r = (struct explore_result){0};
    while (x.size < 2 * b->most)
        x.size *= 2;
    x.states = calloc(b->most, sizeof *x.states);
    x.parents = calloc(b->most, sizeof *x.parents);
    x.ends = calloc(b->most, 1);
    x.table = calloc(x.size, sizeof *x.table);
    if (x.states && x.parents && x.ends && x.table)
        run(&x);
    else
        r->wrong = "no memory";
    free(x.states);
    free(x.parents);
    free(x.ends);
    free(x.table);
}
