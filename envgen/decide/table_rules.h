/* The rows of tuner.csv: what the decisions of the nccl engine mean per call, for every number of nodes that something
 * is known about.
 *
 * A shape that was measured has its own rows. For the node counts between two measured ones with the same ranks a node,
 * those rows stand on which both agree; where they differ, what a law through both gives when it is sure enough, else
 * nothing. One node is no neighbour of two: within a node another fabric carries the data. Beyond the largest measured
 * count rows stand only up to env_decisions.extrapolate_nodes: where the model could be fitted, what it carries on
 * (envgen/decide/extrapolate.h), else as the two largest agree (or as the largest says when there is no other).
 *
 * A row for several node counts is a box in the table: low to high nodes, and as many ranks. It never spans a factor of
 * two, so that communicators with half the ranks a node or fewer stay outside, and never holds a measured shape of
 * another number of ranks a node. */
#ifndef ENVGEN_DECIDE_TABLE_RULES_H
#define ENVGEN_DECIDE_TABLE_RULES_H

#include "envgen/profile/decisions.h"

enum env_basis { ENV_MEASURED, ENV_AGREED, ENV_FITTED, ENV_EXTRAPOLATED, ENV_PREDICTED };

struct env_table_rule {
    int coll; /* enum coll */
    uint64_t min_bytes, max_bytes;
    int algorithm, protocol;    /* -1 any */
    long channels, chunk_bytes; /* -1 keep */
    int nodes_low, nodes_high;
    int ranks_low, ranks_high; /* of nodes_low, of nodes_high */
    enum env_basis basis;
    int base;        /* the measured number of nodes that `why` speaks of */
    const char *why; /* of that range's decision */
};

struct env_table_rules {
    struct env_table_rule **items; /* by basis, measured ones first; the first that applies to a call counts */
    int count;
};

/* Everything is allocated in `a`, and `why` points into the decisions. ENV_PREDICTED rows are there whether they are to
 * be written or not, for shapes that were not measured. Error: a call setting that a tuner cannot express. */
int env_table_rules_of(const struct env_decisions *d, struct arena *a, struct env_table_rules *rows, struct err *e);

/* "measured on 8 nodes", "2 and 4 nodes agree", ...: what a row rests on. */
const char *env_table_rule_basis(const struct env_table_rule *r, struct arena *a);

#endif
