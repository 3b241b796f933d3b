/* A reliable connection between two ports: queue pairs, registered memory, and an agreement after every step.
 *
 * Both sides call the same functions in the same order. Every step ends with both reporting how it went, so
 * both return the same verdict, and the sentence names the side that failed. Nothing waits without a deadline. */
#ifndef BENCH_ENGINES_VERBS_PAIR_H
#define BENCH_ENGINES_VERBS_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include "bench/engines/verbs/port.h"
#include "core/err.h"

#define VERBS_MAX_QPS 16

/* The way to the other side that is not under test. `swap` sends `bytes` bytes and receives as many from the other
 * side's swap of the same turn, until `deadline_s` of progress_now_s(); it returns 0 or an errno. */
struct verbs_channel {
    int (*swap)(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s);
    void *user;
    const char *me, *peer; /* "node0 mlx5_0:1" */
};

/* Memory that is not the host's: a GPU's. Functions that return an int: 0 or an error of the memory's own. */
struct verbs_memory {
    /* Allocates `bytes` and registers them; `*start` is the first, as the device knows it. NULL: `words` say why. */
    struct ibv_mr *(*make)(void *user, struct ibv_pd *pd, size_t bytes, unsigned char **start,
                           char words[VERBS_FAILURE_TEXT]);
    void (*drop)(void *user, struct ibv_mr *mr, unsigned char *start);
    int (*put)(void *user, unsigned char *to, const void *from, size_t bytes); /* from the host */
    int (*get)(void *user, void *to, const unsigned char *from, size_t bytes); /* to the host */
    void *user;
};

struct verbs_pair_setup {
    struct verbs_port *port;
    int gid;                           /* index on this side; not looked at on InfiniBand */
    int qps;                           /* 1 to VERBS_MAX_QPS, the same on both sides */
    uint64_t max_bytes;                /* the largest message, the same on both sides */
    double patience_s;                 /* for each step of connecting */
    const struct verbs_memory *memory; /* NULL: the host's */
    int hasty;                         /* give up on a peer that is silent for a third of a second instead of five */
};

struct verbs_pair {
    const struct verbs_channel *channel;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qps[VERBS_MAX_QPS];
    int nqps;
    uint64_t max_bytes;
    const struct verbs_memory *memory; /* NULL: the host's; else the two below cannot be read here */
    unsigned char *source, *target; /* a slot of max_bytes for each queue pair; the other side writes into `target` */
    uint64_t peer_target;           /* address and key over there */
    uint32_t peer_key;
};

/* The whole way from INIT to RTS on both sides. Close it, also after an error. */
int verbs_pair_connect(struct verbs_pair *p, const struct verbs_pair_setup *setup, const struct verbs_channel *channel,
                       struct err *e);
void verbs_pair_close(struct verbs_pair *p);

/* What one side has to say at the end of a step: nothing, or what failed; and numbers for the other side. */
struct verbs_report {
    char failure[VERBS_FAILURE_TEXT]; /* "" for none */
    uint64_t number;
    double time_us;
};

/* Swaps reports. An error when one side or both report one, with the side's name in front of each. */
int verbs_pair_agree(const struct verbs_channel *c, const struct verbs_report *mine, struct verbs_report *theirs,
                     double deadline_s, struct err *e);

/* How many send requests each queue pair holds. */
#define VERBS_DEPTH 128

/* Posts one write of `bytes` bytes on queue pair `qp`, from its source slot into the slot over there. A `signaled` one
 * leaves a completion with `id`. Fills `words` and returns -1 when it fails. */
int verbs_pair_post(struct verbs_pair *p, int qp, uint64_t bytes, int signaled, uint64_t id,
                    char words[VERBS_FAILURE_TEXT]);

/* The next completion: 1 with its `id`, 0 when there is none yet, -1 when one failed. */
int verbs_pair_poll(struct verbs_pair *p, uint64_t *id, char words[VERBS_FAILURE_TEXT]);

#endif
