/* Connecting two ports by whichever GIDs work, and proving it by data that arrive. */
#ifndef BENCH_ENGINES_VERBS_CONNECT_H
#define BENCH_ENGINES_VERBS_CONNECT_H

#include "bench/engines/verbs/pair.h"

/* Two GIDs to try, by index on the lead's side and on the other. */
struct verbs_attempt {
    int lead, follower;
    enum verbs_gid_kind kind;
};
#define VERBS_ATTEMPTS (VERBS_GID_KIND_COUNT + 1)

/* The attempts worth making between two ports, best first: what NCCL `nccl` (22105: 2.21.5) takes under the
 * nodes' NCCL_IB_GID_INDEX, when that is of one kind on both sides; then every kind that both have. Returns their
 * number. On InfiniBand there is one. */
int verbs_attempts(const struct verbs_gid_table *lead, const struct verbs_gid_table *follower, int nccl,
                   struct verbs_attempt attempts[VERBS_ATTEMPTS]);

/* Both sides exchange their GIDs, and connect by the first attempt through which a verified write gets. That
 * one is left in `*used`, and this side's GID is marked as proven in `setup->port`; `setup->gid` is not looked at. The
 * error is that of the first attempt, or that there is none. Close the pair in any case. */
int verbs_connect(struct verbs_pair *p, const struct verbs_pair_setup *setup, const struct verbs_channel *channel,
                  int lead, int nccl, struct verbs_attempt *used, struct err *e);

#endif
