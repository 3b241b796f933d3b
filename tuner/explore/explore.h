/* Exploring in this process: its communicators, what has been learned in them. NCCLTUNE_ONLINE=tune asks for it,
 * NCCLTUNE=off forbids it, NCCLTUNE_ONLINE_REGRET is the bound in percent.
 *
 * Of a communicator the tuner interface has the questions, the profiler interface the rank, the calls and their times;
 * NCCL opens both with the same number from 2.28 on. Once both are there the communicator joins the carrier. */
#ifndef TUNER_EXPLORE_EXPLORE_H
#define TUNER_EXPLORE_EXPLORE_H

#include "tuner/explore/member.h"
#include "tuner/observe/text.h"

struct explore_shape {
    uint64_t comm; /* NCCL's commHash */
    int ranks, nodes;
    int nccl; /* 22809; 0 unknown */
};

int explore_is_wanted(void);

/* The tuner's side of a communicator. NULL: it is not explored; `why` says why where somebody would want to know. */
struct explore_member *explore_open(const struct explore_shape *shape, char *why, size_t size);

/* The profiler's; `why` alike. Any order, each closed once; NULL is fine. Members that were closed stay allocated, so
 * that a late event never meets freed memory. */
struct explore_member *explore_introduce(uint64_t comm, int rank, int ranks, char *why, size_t size);
void explore_close(struct explore_member *m);

/* A journal (nccltune-results.jsonl(5)) of what has been measured so far in communicators whose first rank is in this
 * process; `job` is fit for JSON. How many lines there are besides the first. */
size_t explore_put_learned(struct observe_text *t, const char *job);

#endif
