/* How the ranks of a communicator come to use another choice from the same call on, or stay with the one they have.
 *
 * A pure library: messages in, messages out; no thread, no socket, no clock, no memory of its own. What runs it carries
 * the messages (they may be lost, late and out of order), tells it when patience is at an end, and holds back a call
 * that has to wait. tests/unit/tuner/online explores what can happen; doc/ONLINE.md says what that proves.
 *
 * One coordinator proposes: from call `from` on, plan `plan`. A rank that has not come to that call promises to wait
 * there for the outcome; one that has come too far refuses. All have promised: the coordinator commits. One refuses, is
 * lost, or patience ends first: it aborts. It proposes again when all have said that they know the outcome. So a plan
 * is used by all ranks from its call on, or by none. */
#ifndef TUNER_ONLINE_ONLINE_H
#define TUNER_ONLINE_ONLINE_H

#include <stddef.h>
#include <stdint.h>

enum online_word {
    ONLINE_NOTHING,
    /* from the coordinator */
    ONLINE_PREPARE,
    ONLINE_COMMIT,
    ONLINE_ABORT,
    /* to the coordinator */
    ONLINE_PROMISE,
    ONLINE_REFUSE, /* and it knows that this round is aborted */
    ONLINE_KNOW,   /* the outcome */
};

/* `from` and `plan` of a proposal; `from` of a rank's word is the number of its next call. */
struct online_message {
    enum online_word word;
    uint32_t round, plan;
    uint64_t from;
};

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

struct online_agent {
    uint64_t next;   /* number of the call that comes next; a communicator's first is 0 */
    uint32_t closed; /* the last round whose outcome is known */
    uint32_t plan;   /* from call `from` on ... */
    uint32_t before; /* ... and before it */
    uint64_t from;
    struct online_message promise; /* its word ONLINE_NOTHING: none */
    int lost;                      /* the coordinator is not heard of any more */
};

enum online_turn {
    ONLINE_GO,   /* the call has its plan, and is counted */
    ONLINE_WAIT, /* for a word of the coordinator, or for its loss */
    ONLINE_FAIL, /* for ever: others may have the plan, and nobody will tell */
};

/* A zeroed agent is one with plan 0, which is NCCL's own choice. */

/* The plan of the next call. */
enum online_turn online_agent_call(struct online_agent *a, uint32_t *plan);

/* A word of the coordinator's; what is to be sent back, ONLINE_NOTHING: nothing. */
struct online_message online_agent_hear(struct online_agent *a, const struct online_message *m);

/* The coordinator is dead, or silent for too long: nothing that it says is believed from here on. The rank goes on with
 * what all have, unless it has promised: then it goes on to the call in question, and fails there. */
void online_agent_lose(struct online_agent *a);

/* ---- the coordinator --------------------------------------------------------------------------------------------- */

/* What is known of a rank in this round. */
enum { ONLINE_PROMISED = 1, ONLINE_KNOWS = 2, ONLINE_LOST = 4 };

struct online_coordinator {
    struct online_message said; /* to all: PREPARE, COMMIT or ABORT; NOTHING before the first round */
    uint8_t *ranks;             /* the caller's, zeroed: bits as above */
    uint32_t size;
    uint32_t promised, knowing, lost; /* how many ranks */
    uint64_t furthest;                /* call that any rank has come to, as far as that is known */
};

/* Whether a round can begin: all ranks are there and know the outcome of the last. */
int online_may_propose(const struct online_coordinator *c);

/* Begins a round: c->said is to be sent to all ranks. `from` is behind c->furthest by some margin: see online_margin.
 */
void online_propose(struct online_coordinator *c, uint64_t from, uint32_t plan);

/* A rank's word. 1: c->said has changed, and goes to all ranks. */
int online_hear(struct online_coordinator *c, uint32_t rank, const struct online_message *m);

/* Patience is at an end, as it is from time to time as long as not all ranks know: what is undecided is aborted.
 * c->said goes to all ranks that do not know it. */
void online_impatient(struct online_coordinator *c);

/* A rank is gone: no round that it has not promised is committed, and no other is begun. 1: c->said has changed. */
int online_lose(struct online_coordinator *c, uint32_t rank);

/* The margin in calls for the next round, after one with `margin`: half as much again as the ranks went on while it was
 * decided, and at least twice the last one where it was aborted; from 8 to a million. */
uint64_t online_margin(uint64_t margin, int aborted, uint64_t went_on);

#endif
