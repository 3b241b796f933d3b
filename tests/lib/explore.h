/* Everything that can happen to the ranks of a communicator and their coordinator (tuner/online), up to so many of
 * each: messages that are lost, late and overtake one another, ranks that are slow or silent, a coordinator that dies,
 * patience that ends at any time. Every state is visited once; states that differ in the names of ranks alone are one.
 */
#ifndef TESTS_LIB_EXPLORE_H
#define TESTS_LIB_EXPLORE_H

#include <stddef.h>

/* What is broken on purpose, to see that it is found. */
enum explore_fault {
    EXPLORE_SOUND,
    EXPLORE_NO_PREPARE,       /* the coordinator commits on the first promise */
    EXPLORE_TOO_NEAR,         /* a rank promises for a call that it has made */
    EXPLORE_DEAD_GOES_ON,     /* a rank that has lost the coordinator forgets what it promised */
    EXPLORE_NO_REFUSAL,       /* the coordinator takes a refusal for a promise */
    EXPLORE_DEAF_TO_ABORT,    /* a rank takes an abort for a commit */
    EXPLORE_ABORT_FORGOTTEN,  /* a rank that waits does not hear of the abort */
    EXPLORE_CHANGES_ITS_MIND, /* impatience aborts what was committed */
    EXPLORE_DOES_NOT_WAIT,    /* a rank that has promised makes the call all the same */
    EXPLORE_HASTY_ROUNDS,     /* the next round begins before all know of the last */
    EXPLORE_FAULTS,
};

/* Who is presumed not to heed what says nothing new; without that such messages arrive, too: far more states. */
enum { EXPLORE_RANKS = 1, EXPLORE_COORDINATOR = 2, EXPLORE_BOTH = 3 };

struct explore_bounds {
    int ranks, rounds, calls; /* up to 4, 3 and 5 */
    int deaths;               /* agents and coordinators that fall silent */
    int presumes;
    enum explore_fault fault;
    size_t most; /* states */
};

struct explore_result {
    size_t states, transitions, ends; /* ends: all calls made, or failed for ever */
    size_t commits, aborts, failures; /* states that have seen such a thing */
    int is_cut;                       /* there are more states than `most` */
    const char *wrong;                /* NULL: nothing */
    char how[4096];                   /* the way to it, a step a line */
};

/* Memory: 60 bytes a state. */
void explore(const struct explore_bounds *b, struct explore_result *r);

#endif
