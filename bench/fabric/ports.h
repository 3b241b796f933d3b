/* Ports and pairs of them: which GIDs connect two, which pairs are measured together, and from pairs that failed or
 * were slow to the few things that are broken. Pure logic on tables; nothing here opens a device. */
#pragma once

#include "core/arena.h"

/* ---- GIDs: the addresses of RoCE ports ---- */

struct verbs_gid {
    unsigned char raw[16]; /* network order; all zero: an empty entry */
    int roce;              /* RoCE version 1 or 2; 0 unknown, or InfiniBand */
    int proven;            /* data has arrived through it */
};

/* The GIDs of one port, by index. */
struct verbs_gid_table {
    const char *node, *port; /* "node0", "mlx5_0:1": for people */
    int infiniband;
    struct verbs_gid *gids;
    int count;
    const char *asked; /* the node's NCCL_IB_GID_INDEX; NULL not set */
};

/* The kinds in the order in which they are worth trying. Link-local ones never leave their wire, and NCCL counts them
 * as no address at all. */
enum verbs_gid_kind {
    VERBS_GID_V2_IPV4,
    VERBS_GID_V2_IPV6,
    VERBS_GID_V1_IPV4,
    VERBS_GID_V1_IPV6,
    VERBS_GID_V2_LINK_LOCAL,
    VERBS_GID_V1_LINK_LOCAL,
    VERBS_GID_KIND_COUNT,
    VERBS_GID_NO_KIND = VERBS_GID_KIND_COUNT, /* empty, of unknown version */
};
enum verbs_gid_kind verbs_gid_kind(const struct verbs_gid *g);
const char *verbs_gid_kind_name(enum verbs_gid_kind k); /* "RoCE v2 over IPv4" */

/* "10.0.0.1" for an IPv4-mapped GID, "fe80::1" for others. Returns `text`. */
#define VERBS_GID_TEXT 64
char *verbs_gid_print(char text[VERBS_GID_TEXT], const struct verbs_gid *g);

/* A GID of that kind in each table, the two that share the longest prefix: two addresses of one subnet where there are
 * several. 0 when one of the tables has none. */
int verbs_gid_match(const struct verbs_gid_table *x, const struct verbs_gid_table *y, enum verbs_gid_kind k, int *ix,
                    int *iy);

/* GID settings of the environment. */
struct verbs_gid_setting {
    int index;  /* NCCL_IB_GID_INDEX; -1 not set */
    int family; /* NCCL_IB_ADDR_FAMILY: AF_INET, AF_INET6; 0 not set */
    int roce;   /* NCCL_IB_ROCE_VERSION_NUM; 0 not set */
    int prefix; /* bits of NCCL_IB_ADDR_RANGE; 0 not set */
    struct verbs_gid range;
};
#define VERBS_GID_UNSET ((struct verbs_gid_setting){.index = -1})

/* Return what the environment of the port's node says. */
struct verbs_gid_setting verbs_gid_asked(const struct verbs_gid_table *t);

/* The index that NCCL takes on that port; `nccl` as ncclGetVersion says it (22105 for 2.21.5). Follows the walk over
 * the table in NCCL's RoCE transport (src/transport/net_ib, 2.21.5 to 2.31); before 2.21.5 it is 0 unless set. */
int verbs_gid_nccl_choice(const struct verbs_gid_table *t, int nccl, const struct verbs_gid_setting *s);

enum verbs_gid_verdict {
    VERBS_GID_LEAVE, /* NCCL's own choice works on every port */
    VERBS_GID_SET,   /* `setting` is the least that makes it work */
    VERBS_GID_NONE,  /* no setting that is the same on every node does */
};
struct verbs_gid_advice {
    enum verbs_gid_verdict verdict;
    struct verbs_gid_setting setting;
    char environment[256]; /* "NCCL_IB_ADDR_FAMILY=AF_INET6 NCCL_IB_ROCE_VERSION_NUM=1"; "" for nothing */
    char why[800];         /* one sentence */
};

/* Works on every port: NCCL's choice is proven there, and of one kind everywhere, since GIDs of different kinds do not
 * connect. Ports of InfiniBand do not count. An index is advised only when it is right on every port. */
void verbs_gid_advise(const struct verbs_gid_table *tables, int ntables, int nccl, struct verbs_gid_advice *advice);

/* ---- the schedule: which pairs of ports are measured together, and in which order ---- */

/* A rail is a port's number within its node; every node has the same number of them. Pairs of one round share no port,
 * so that they do not disturb one another at their ends. */
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

/* ---- faults: one bad cable is one fault, not fifty slow pairs ---- */

enum verbs_verdict { VERBS_GOOD, VERBS_FAILED, VERBS_SLOW };

/* Result of a try. */
struct verbs_outcome {
    struct verbs_try pair;
    enum verbs_verdict verdict;
    double GBps;     /* 0 unless measured */
    const char *why; /* of a failure; NULL */
};

/* Turns those that reach less than this part of the median into VERBS_SLOW, whatever their ports' rates: a slow port
 * among fast ones holds them up. */
#define VERBS_SLOW_RATIO 0.5
void verbs_mark_slow(struct verbs_outcome *outcomes, int n, struct arena *a);

/* Possible faults. Of two that explain the same, the later is named. */
enum verbs_fault_kind {
    VERBS_FAULT_ALL, /* nothing at all went well */
    VERBS_FAULT_NODE,
    VERBS_FAULT_SENDS,    /* what leaves a port; what arrives goes well */
    VERBS_FAULT_RECEIVES, /* … and the other way round */
    VERBS_FAULT_PORT,     /* a port, its cable, or the switch port at the other end */
    VERBS_FAULT_CROSS,    /* everything between different rails of different nodes: no way from one to another */
    VERBS_FAULT_RAIL,     /* between nodes, on one rail */
    VERBS_FAULT_PAIR,     /* these two, while others go well: or two ports that nobody else has tried */
};
struct verbs_fault {
    enum verbs_fault_kind kind;
    struct verbs_end a, b;      /* what the kind needs of them: a.node, a.rail, a; b for a pair */
    int one_way;                /* of a pair: from a to b; back it went well */
    enum verbs_verdict verdict; /* VERBS_FAILED or VERBS_SLOW */
    int tried, bad;             /* pairs that it had to do with, and those of them that went badly */
    double GBps, others_GBps;   /* medians of its bad ones and of all good ones; 0 none */
    const char *why;            /* of the first failure; NULL */
};

/* The fewest things that explain every bad outcome, those that explain most first. A thing only counts as one when at
 * most one in five of its pairs went well, and at least two did not (a pair: one).
 * Returns their number; `*faults` is allocated in `a`. */
int verbs_localise(const struct verbs_outcome *outcomes, int n, struct arena *a, struct verbs_fault **faults);

/* The fault of a pair may be that of one of its ports: of one that failed, when the port has no good
 * outcome at all; of one that is slow, when the port has none in that direction. The tries that would tell, each with a
 * port that is known to be good, no port twice. An empty round when there is no doubt or no good port left. */
struct verbs_round verbs_localise_next(const struct verbs_outcome *outcomes, int n, const struct verbs_fault *faults,
                                       int nfaults, struct arena *a);
