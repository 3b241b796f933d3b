/* RoCE addresses: what kinds of GID there are, which one NCCL takes by itself, and the least setting that makes it take
 * one that is known to work. Pure logic on tables; nothing here opens a device. */
#ifndef BENCH_FABRIC_GID_H
#define BENCH_FABRIC_GID_H

#include <stddef.h>

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

/* What the environment says about GIDs. */
struct verbs_gid_setting {
    int index;  /* NCCL_IB_GID_INDEX; -1 not set */
    int family; /* NCCL_IB_ADDR_FAMILY: AF_INET, AF_INET6; 0 not set */
    int roce;   /* NCCL_IB_ROCE_VERSION_NUM; 0 not set */
    int prefix; /* bits of NCCL_IB_ADDR_RANGE; 0 not set */
    struct verbs_gid range;
};
#define VERBS_GID_UNSET ((struct verbs_gid_setting){.index = -1})

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

#endif
