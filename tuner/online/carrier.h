/* Carries the words of tuner/online/online.h between the ranks of a job and its coordinator, which is in the process of
 * the job's first rank: over TCP, after a mutual proof, on a thread of its own.
 *
 * NCCLTUNE_ONLINE=tune asks for it, NCCLTUNE=off forbids it, NCCLTUNE_ONLINE_ADDRESS, NCCLTUNE_ONLINE_KEY_FILE and what
 * the launcher has left say where and how. Without them, and until all ranks of a communicator are connected, nothing
 * is called back and the job runs as ever. */
#ifndef TUNER_ONLINE_CARRIER_H
#define TUNER_ONLINE_CARRIER_H

#include "tuner/online/online.h"

/* A rank of a communicator in this process. All functions are called by the carrier's thread, one at a time. */
struct online_member {
    uint64_t comm; /* NCCL's commHash, the same on all its ranks */
    int rank, ranks;
    void *arg;
    /* A word of the coordinator's; what is to be sent back (ONLINE_NOTHING: nothing). */
    struct online_message (*hear)(void *arg, const struct online_message *m);
    /* The coordinator is lost, or silent for too long: nothing is called back from here on. */
    void (*lose)(void *arg);
    /* Of the communicator's rank 0, NULL elsewhere. Asked every PROPOSE_MS as long as a round can begin; `furthest`
     * call that any rank had come to when the last one ended. 1: *from and *plan are proposed. */
    int (*propose)(void *arg, uint64_t furthest, uint64_t *from, uint32_t *plan);
    /* Of rank 0, NULL elsewhere: how it went (COMMIT, ABORT), once a round and after `hear`. */
    void (*decided)(void *arg, const struct online_message *said);
};

/* The member stays the caller's and must stay until online_leave has returned. 0; -1 with `why`, which is "" where
 * nobody has asked for any of it: there is no coordination, and the job runs untouched. Never waits for anything. */
int online_join(struct online_member *m, char *why, size_t size);

/* Nothing is called back for `m` any more; it waits for a call that is under way. The coordinator takes the rank for
 * lost: no more rounds on this communicator. */
void online_leave(struct online_member *m);

/* What this process chooses by: a hash, "none", or the sentence that its communicators fail with. The coordinator
 * compares it with that of the others and tells the job where it differs. Never waits. */
void online_table(const char *table);

/* Why this job cannot go on (its nodes choose by different tables, so that ranks would hang), or NULL. Once a process
 * it waits until rank 0 has seen the process's table, two seconds at most; then it is an atomic read. */
const char *online_refusal(void);

#endif
