/* A rank of a communicator that explores: the number of its call, the plans that hold from it on, and the wait for what
 * was promised.
 *
 * The thread that launches asks for every question of NCCL's; the carrier's thread brings the coordinator's words. Up
 * to the gate, a call's number, calls go on without a lock: the carrier's thread sets the gate and looks then how far
 * calls have come, the launching thread counts its call and looks then at the gate, so that one of the two sees the
 * other. At the gate is what was promised or is about to change.
 *
 * Who cannot do what is asked refuses: then nobody does it. That is a rank that has not seen such calls, or has seen
 * the cell missing from NCCL's table; and for good one whose calls are captured into graphs, are made by another thread
 * than that of their callers (non-blocking communicators), or were asked for and not made (ncclGroupSimulateEnd; the
 * count is put right). */
#ifndef TUNER_EXPLORE_MEMBER_H
#define TUNER_EXPLORE_MEMBER_H

#include <pthread.h>
#include <stdatomic.h>

#include "tuner/explore/decide.h"
#include "tuner/online/online.h"
#include "tuner/table/choice.h"

#define EXPLORE_SAMPLES 1024
#define EXPLORE_ASKED   16 /* questions of a group whose answers can be taken back */

typedef uint64_t explore_clock(void); /* of the host, in nanoseconds */

struct explore_key {
    _Atomic uint64_t calls, bytes, ended;
    _Atomic uint32_t trials;
    _Atomic unsigned offered; /* bits of cells; all ones before the first call */
    _Atomic float predicted_us[EXPLORE_CELLS];
    _Atomic struct explore_cell rule; /* the table's, for the first call */
    _Atomic uint32_t chunk_bytes;     /* NCCL's, where it has asked */
    struct explore_cell hold;
    struct explore_plan trial;
    uint32_t left; /* of its calls */
};

/* A question, should it have to be taken back: what was left of its kind's trial, and whether it was the first to have
 * a plan. */
struct explore_asked {
    int kind;
    uint32_t left;
    int changed;
};

/* What the last plan has replaced. */
struct explore_before {
    int kind;
    uint64_t from; /* of the plan */
    struct explore_cell hold;
    struct explore_plan trial;
    uint32_t left;
};

struct explore_member {
    _Atomic uint64_t next; /* number of the call that comes next */
    _Atomic uint64_t gate;
    _Atomic int ended;  /* enum explore_end: it refuses from here on */
    _Atomic int failed; /* as do its calls */
    pthread_mutex_t mutex;
    pthread_cond_t news; /* a word has come */
    struct online_agent agent;
    int is_pending; /* the agent's plan is not applied */
    struct explore_before before;
    struct explore_key keys[EXPLORE_KINDS];
    /* the launching thread's alone */
    struct explore_asked asked[EXPLORE_ASKED];
    _Atomic unsigned nasked, launched; /* questions, and calls that were launched since the first of them */
    int is_captured;
    _Atomic int trials; /* under way */
    const void *caller; /* a thread */
    int kind;           /* of the last question, ... */
    enum explore_arm arm;
    struct explore_cell told;
    explore_clock *clock; /* monotonic; another one in tests */
    unsigned called;      /* calls before the first question: none, one, more */
    int is_asked;
    unsigned connected; /* bit per algorithm that plans have asked for */
    uint64_t held_ns;   /* since when the call under way may hold up its host ... */
    enum explore_stall why;
    _Atomic uint64_t stalled_ns[EXPLORE_STALLS]; /* on their way, too */
    /* times on their way to who decides */
    _Atomic uint64_t samples[EXPLORE_SAMPLES];
    _Atomic unsigned nsamples;
    _Atomic unsigned drained;
};

enum explore_end { EXPLORE_GOES_ON, EXPLORE_CAPTURED, EXPLORE_OTHER_THREAD, EXPLORE_SIMULATED };

/* All of a member is zeroed before. */
void explore_member_init(struct explore_member *m);

/* ---- the launching thread ---------------------------------------------------------------------------------------- */

/* NCCL's question: 0 and the cell that the call has to have (cell -1: nothing), or -1: it must fail, because other
 * ranks may have been told what this one will never know. Before, *cell is what the job's table has for it (-1:
 * nothing), of which `call.cost` knows nothing yet. */
int explore_ask(struct explore_member *m, const struct tuner_call *call, struct explore_cell *cell);

/* NCCL's question for the chunk of a call that it is about to launch, after those above: the bytes that it has to have;
 * `own_bytes` are NCCL's, `ruled` the table's, 0 none. What is told is of the latest question alone, so that ranks,
 * whose questions come in the same order, say the same. */
uint32_t explore_chunk(struct explore_member *m, int coll, int algo, int proto, uint64_t own_bytes, uint32_t ruled);

/* A caller's call; it comes before the question. */
void explore_called(struct explore_member *m, int is_captured);

/* A call is launched, of NCCL's size. What explore_timed is to be given with its time; 0: that is not wanted. */
uint32_t explore_launched(struct explore_member *m, int coll, uint64_t bytes);

/* ---- any thread -------------------------------------------------------------------------------------------------- */

/* Times between trials give way to those of trials when nobody takes them. */
void explore_timed(struct explore_member *m, uint32_t tag, int algo, int proto, int channels, uint64_t ns);

/* Takes the samples that are there to `d`. */
void explore_drain(struct explore_member *m, struct explore_decider *d);

void explore_see(const struct explore_member *m, int kind, struct explore_seen *seen);

/* ---- the carrier's thread ---------------------------------------------------------------------------------------- */

/* Whether it could promise something. */
int explore_is_open(struct explore_member *m);

struct online_message explore_hear(struct explore_member *m, const struct online_message *word);
void explore_lose(struct explore_member *m);

#endif
