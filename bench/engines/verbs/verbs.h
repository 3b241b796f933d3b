/* Work of a process that owns a port: an open port, a reliable connection of two, measurements over it,
 * GIDs and GPU memory. */
#pragma once

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/fabric/ports.h"
#include "bench/results/points.h"
#include "core/arena.h"
#include "core/err.h"
#include "core/gpu_driver.h"

/* ---- ports, and failures of verbs calls in words (port.c) ---- */

struct verbs_port {
    struct ibv_context *context;
    const char *name; /* "mlx5_0:1" */
    int port;         /* from 1 */
    struct ibv_port_attr attr;
    struct verbs_gid_table gids; /* as it was when the port was opened; `gids.node` as given */
};

/* Opens `port` of the device called `hca` exactly. The structure is allocated in `a`. A port that is not ACTIVE opens,
 * too: connecting through it is refused later, in words. NULL and ERR_LACKS: no such device or port. Close it. */
struct verbs_port *verbs_port_open(struct arena *a, const char *node, const char *hca, int port, struct err *e);
void verbs_port_close(struct verbs_port *p); /* NULL is fine */

/* Nonzero if this machine has every device of a list such as "mlx5_0:1,mlx5_1:1"; its ports are not looked at. */
int verbs_port_all_here(const char *list);

/* The bytes of an MTU of its attributes, where 256 bytes are 1, 512 are 2, and so on; 0 unknown. */
int verbs_mtu_bytes(enum ibv_mtu mtu);

/* Its speed by the kernel, in Gb/s; 0 if unknown. */
double verbs_port_rate_Gbps(const struct verbs_port *p);

/* ---- failures in words: which step, what the library said, and what usually causes it ---- */

/* The steps of a measurement between two ports, in their order. */
enum verbs_step {
    VERBS_OPEN,     /* the device and the port */
    VERBS_REGISTER, /* memory */
    VERBS_CREATE,   /* completion queue and queue pairs */
    VERBS_INIT,     /* queue pairs to INIT */
    VERBS_RTR,      /* … to ready-to-receive: the peer's address is resolved here */
    VERBS_RTS,      /* … to ready-to-send */
    VERBS_POST,
    VERBS_COMPLETE, /* waiting for completions */
    VERBS_VERIFY,   /* the payload */
    VERBS_EXCHANGE, /* exchanging data with the other side, out of band */
    VERBS_STEP_COUNT,
};
const char *verbs_step_name(enum verbs_step s); /* "connecting (RTR)" */

#define VERBS_FAILURE_TEXT 400

/* "connecting (RTR) failed: Connection timed out (110): nobody answers for the peer's address: …" `text` is filled and
 * returned. */
char *verbs_say_errno(char text[VERBS_FAILURE_TEXT], enum verbs_step s, int error);

/* "transport retry counter exceeded (status 12, vendor error 0x81): …" */
char *verbs_say_completion(char text[VERBS_FAILURE_TEXT], enum ibv_wc_status status, unsigned vendor_error);

/* ---- a connection between two ports (pair.c) ---- */

/* Both sides call the same functions in the same order. Every step ends with both reporting how it went, so both return
 * the same verdict, and the sentence names the side that failed. Nothing waits without a deadline. */

#define VERBS_MAX_QPS 16

/* The most that one step between two ports may take: of connecting, a sample, a word with the other side. */
#define VERBS_PATIENCE_S 60.0

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

/* One side's report at the end of a step: success or the failure, and numbers for the other side. */
struct verbs_report {
    char failure[VERBS_FAILURE_TEXT]; /* "" for none */
    uint64_t number;
    double time_us;
};

/* Swaps reports. An error when one side or both report one, with the side's name in front of each. */
int verbs_pair_agree(const struct verbs_channel *c, const struct verbs_report *mine, struct verbs_report *theirs,
                     double deadline_s, struct err *e);

/* Send requests per queue pair. */
#define VERBS_DEPTH 128

/* Posts one write of `bytes` bytes on queue pair `qp`, from its source slot into the slot over there. A `signaled` one
 * leaves a completion with `id`. Fills `words` and returns -1 when it fails. */
int verbs_pair_post(struct verbs_pair *p, int qp, uint64_t bytes, int signaled, uint64_t id,
                    char words[VERBS_FAILURE_TEXT]);

/* The next completion: 1 with its `id`, 0 when there is none yet, -1 when one failed. */
int verbs_pair_poll(struct verbs_pair *p, uint64_t *id, char words[VERBS_FAILURE_TEXT]);

/* ---- what a connected pair is asked for (measure.c) ---- */

/* Both sides call it, and both know the result. The rate of small messages is the time of 8 bytes, turned over. */

enum verbs_test {
    VERBS_WRITE, /* the lead writes, window by window, on all queue pairs */
    VERBS_BOTH,  /* both write at once */
    VERBS_PING,  /* a write there and a write back, the receiver watching its memory, the host's; the time is half of it
                  */
};

#define VERBS_SAMPLES 64

struct verbs_shot {
    enum verbs_test test;
    uint64_t bytes;  /* 1 to the pair's max_bytes */
    int samples;     /* 1 to VERBS_SAMPLES, after a warm-up that also finds how many messages fill `sample_s` */
    double sample_s; /* what one sample should take */
};

struct verbs_figures {
    double samples_us[VERBS_SAMPLES]; /* of one message, by the slower side where both write */
    struct bench_interval time_us;
    double GBps; /* bytes / median; both directions together for VERBS_BOTH, of no meaning for VERBS_PING */
};

/* `lead` is 1 on one side and 0 on the other. Every sample's payload is written anew and verified by who receives it.
 */
int verbs_measure(struct verbs_pair *p, const struct verbs_shot *shot, int lead, struct verbs_figures *f,
                  struct err *e);

/* ---- GIDs (connect.c) ---- */

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

/* ---- GPU memory (gpu_memory.c) ---- */

/* Registered through dma-buf, else as the peer memory of a kernel module. */

struct verbs_gpu {
    struct gpu *driver;
    int hip, index;
    void *context;
    char pci[32];    /* "0000:17:00.0"; "" unknown */
    const char *via; /* how the last memory was registered: "dma-buf", "peer memory" */
};

/* Loads whichever driver there is; the number of GPUs, 0 without one. `*hip` tells which it is. */
int verbs_gpu_load(struct gpu *driver, int *hip);

/* Takes GPU number `index` for this thread. -1: `why` says why not. */
int verbs_gpu_take(struct verbs_gpu *g, struct gpu *driver, int hip, int index, char why[VERBS_FAILURE_TEXT]);

/* Its memory; `g` must outlive it. */
struct verbs_memory verbs_gpu_memory(struct verbs_gpu *g);
