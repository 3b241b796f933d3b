/* The conductor of a fabric's measurement: tells the processes that own ports what to try with whom, round by round,
 * and keeps what came of it. */
#pragma once

#include "bench/engines/verbs/order.h"
#include "bench/fabric/fabric.h"
#include "bench/launch/agents.h"

/* State of a port so far. */
struct verbs_record {
    int good, failed;
};

struct verbs_conductor {
    struct agents *agents;
    const char *ports; /* as for verbs_serve_main */
    int nccl;
    int nodes, rails, ranks; /* rank = node * rails + rail; one rank a node without ports */
    double deadline_s;
    volatile sig_atomic_t *stop;
    /* Report a result, an object such as {"try": {...}}; takes it. */
    void (*say)(void *user, struct cJSON *o);
    void (*show)(void *user, int round, int of);
    void *user;

    struct arena *arena;
    struct verbs_who *who;        /* by rank, as are the next three */
    struct verbs_order *orders;   /* of this turn */
    struct verbs_answer *answers; /* to them */
    char *waited;                 /* whose has not come */
    struct verbs_net_list *nets;  /* by node */
    struct verbs_record *records; /* by rank */
    struct verbs_outcome *outcomes;
    int noutcomes, turn, missing;
    int recalled; /* the first of the outcomes, which an earlier run has found; sorted by pair */
    int over;     /* nothing more can be done: why is in `why`, unless time was up or *stop was set */
    struct err why;
};

/* Starts a process for every port and hears who they are. Errors: one does not start, no port can be opened. */
int verbs_conduct_begin(struct verbs_conductor *c, struct err *e);

/* Results of an earlier run, which are not tried again. */
void verbs_conduct_recall(struct verbs_conductor *c, const struct verbs_fabric *known);

/* The whole of `schedule`: "rails", "reach", "matrix", "brief-rails", "brief-matrix". Afterwards `over` says whether it
 * came to its end. */
void verbs_conduct_run(struct verbs_conductor *c, const char *schedule);

void verbs_conduct_end(struct verbs_conductor *c);
