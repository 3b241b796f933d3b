/* What earlier jobs have learned, from the journals that they have left in the directory of captures
 * (explore_put_learned): what is tried first, and what that is expected to cost. Nobody has to have it. */
#ifndef TUNER_EXPLORE_PRIOR_H
#define TUNER_EXPLORE_PRIOR_H

#include <stddef.h>

#include "tuner/explore/decide.h"

#define EXPLORE_JOURNALS 16 /* the latest that are read */
#define EXPLORE_HINTS    2048

struct explore_hint {
    int nodes, ranks, kind;
    struct explore_cell cell;
    double over; /* its median time over that of calls by default */
};

/* Hints of a journal behind the first `count` of `to`, which has room for EXPLORE_HINTS; those that are there already
 * stay. How many there are then. Anything may be in it. */
size_t explore_hints_read(struct explore_hint *to, size_t count, const char *text, size_t bytes);

/* Begins to read the directory's journals in a thread of its own, once a process. */
void explore_recall(const char *dir);

/* Gives `d` those of its kind of communicator; 0: they are not read yet, and nothing is to be tried. */
int explore_remind(struct explore_decider *d, int nodes, int ranks);

#endif
