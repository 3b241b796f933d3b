/* The parts of the conductor among themselves. */
#ifndef BENCH_ENGINES_VERBS_CONDUCT_INTERNAL_H
#define BENCH_ENGINES_VERBS_CONDUCT_INTERNAL_H

#include "bench/engines/verbs/conduct.h"

int verbs_conduct_rank(const struct verbs_conductor *c, struct verbs_end end);

/* Puts an object around `inner` as `key` and says it. */
void verbs_conduct_say(const struct verbs_conductor *c, const char *key, cJSON *inner);

/* A new turn without orders; then an order for one rank or, with its partner's, for both sides of a try. What the order
 * is but for who and whom comes in `o`. */
void verbs_conduct_turn(struct verbs_conductor *c);
void verbs_conduct_order(struct verbs_conductor *c, int rank, struct verbs_order o);
void verbs_conduct_pair(struct verbs_conductor *c, const struct verbs_try *t, struct verbs_order o);

/* Sends the turn's orders and waits for all answers, while words go from port to port. Nonzero: it is over. */
int verbs_conduct_wait(struct verbs_conductor *c);

/* Waits for the ranks that are marked in `waited`, c->missing of them. Nonzero: it is over. */
int verbs_conduct_missing(struct verbs_conductor *c);

/* All sizes on 1, 2 and 4 queue pairs between the ports of the first round. */
void verbs_conduct_sweep(struct verbs_conductor *c, const struct verbs_schedule *s, uint64_t most_bytes);

/* Every port with every GPU of its node, between the ports of the first rounds; nothing without a GPU driver. */
void verbs_conduct_gpus(struct verbs_conductor *c, const struct verbs_schedule *s);

void verbs_conduct_ports(struct verbs_conductor *c);
void verbs_conduct_interfaces(struct verbs_conductor *c);

#endif
