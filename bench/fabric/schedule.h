/* Which pairs of ports are measured together, and in which order. Pure logic.
 *
 * A rail is a port's number within its node; every node has the same number of them. Pairs of one round share no port,
 * so that they do not disturb one another at their ends. */
#ifndef BENCH_FABRIC_SCHEDULE_H
#define BENCH_FABRIC_SCHEDULE_H

#include "core/arena.h"

struct verbs_end {
    int node, rail;
};
struct verbs_try {
    struct verbs_end from, to; /* `from` leads: it writes */
};
struct verbs_round {
    struct verbs_try *tries;
    int ntries;
};
struct verbs_schedule {
    struct verbs_round *rounds;
    int nrounds;
};

enum verbs_plan {
    VERBS_PLAN_RAILS,  /* the same rail of two nodes: n-1 rounds for n nodes (n when odd) */
    VERBS_PLAN_CROSS,  /* different rails, one choice of them for every two nodes: as many rounds */
    VERBS_PLAN_REACH,  /* every two ports of different nodes: as many rounds for each rail */
    VERBS_PLAN_MATRIX, /* every ordered pair of ports, also within a node: 2(p-1) rounds for p ports (2p when odd) */
};

/* `nodes` and `rails` are at least 1; what has no pair has no rounds. Everything is allocated in `a`. */
struct verbs_schedule *verbs_schedule_make(struct arena *a, enum verbs_plan plan, int nodes, int rails);

#endif
