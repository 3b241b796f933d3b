/* The rules of tuner.csv: what the decisions of the nccl engine mean per call, for every number of nodes that something
 * is known about.
 *
 * A shape that was measured has its own rules. For the node counts between two measured ones with the same ranks a
 * node, those rules stand on which both agree. One node is no neighbour of two: within a node another fabric carries
 * the data. Where env_decisions.extrapolate_nodes asks for it and the model could be fitted, what the model carries to
 * unmeasured node counts stands behind them (envgen/decide/extrapolate.h); where it could not, rules beyond the largest
 * measured count stand as the two largest agree (or as the largest says when there is no other).
 *
 * A rule holds for the kind of buffers that was measured. NCCL counts captured calls as registered, so that of what was
 * measured with --graphs and with --registered the former's rules come first, all of them. Where plain and registered
 * ones agree a rule holds for both; so it does for releases that do not tell a tuner (before 2.24), and for what was
 * predicted.
 *
 * A rule for several node counts is a box in the table: low to high nodes, and as many ranks. It never spans a factor
 * of two, so that communicators with half the ranks a node or fewer stay outside, and never holds a measured shape of
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
    int reg_buff;              /* 0 plain buffers, 1 registered ones, -1 both: as was measured */
    enum env_basis basis;
    int base;        /* the measured number of nodes that `why` speaks of */
    const char *why; /* of that range's decision */
    int buffers;     /* that were measured: struct bench_result's */
};

struct env_table_rules {
    struct env_table_rule **items; /* by basis, measured ones first; the first that applies to a call counts */
    int count;
};

/* Everything is allocated in `a`, and `why` points into the decisions. ENV_PREDICTED rules are there whether they are
 * to be written or not, for shapes that were not measured. Error: a call setting that a tuner cannot express. */
int env_table_rules_of(const struct env_decisions *d, struct arena *a, struct env_table_rules *rules, struct err *e);

/* "measured on 8 nodes", "2 and 4 nodes agree", ...: what a rule rests on. */
const char *env_table_rule_basis(const struct env_table_rule *r, struct arena *a);

#endif
