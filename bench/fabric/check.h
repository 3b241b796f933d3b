/* Whether a fabric has become worse since its profile was made: what a weekly check of a cluster, or of a node between
 * two jobs, asks. Pure logic on two fabrics. */
#ifndef BENCH_FABRIC_CHECK_H
#define BENCH_FABRIC_CHECK_H

#include "bench/fabric/decide.h"

/* A try counts as slower below this part of what it was: a busy fabric varies by less. */
#define VERBS_CHECK_RATIO 0.7

struct verbs_check {
    int compared;       /* tries that were held against the profile's */
    const char **worse; /* sentences, what explains most first; in the arena of `now` */
    int nworse;
};

/* Holds every try of `now` against the same in `then`, by the names of nodes and ports; one that was not made then
 * against the same two the other way round, else the median of what its sender reached, else of all. What had failed
 * already, in either direction, is not looked at. The rates and MTUs of the ports, too. Error: `then` holds nothing to
 * compare with. */
int verbs_check(struct verbs_fabric *now, const struct verbs_fabric *then, double ratio, struct verbs_check *c,
                struct err *e);

/* Replaces every try of `now` by the same one of `other`, a second measurement of the same ports, where that went
 * better: who was in the way once is not so twice. */
void verbs_check_better(struct verbs_fabric *now, const struct verbs_fabric *other);

/* The ports of that fabric's nodes, as verbs_ports_of of bench/engines/verbs/run.h; in `a`. */
const char *verbs_check_ports(const struct verbs_fabric *then, struct arena *a);

#endif
