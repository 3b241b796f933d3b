/* OpenMPI's dynamic rules: which algorithm for which communicator size and message size.
 *
 * What OpenMPI 4.1 does with its rules file (ompi/mca/coll/tuned): per collective it takes the entry with the largest
 * communicator size that is not above the actual one, or the first entry when all are above, and within it the rule
 * with the largest message size that is not above the actual one. The message size is the whole one of the
 * collective, which is what results call bytes. Algorithm 0 means that OpenMPI decides as it does without rules.
 *
 * Therefore every collective's entries begin with communicator size 0, algorithm 0, and every measured size is followed
 * by the next one with algorithm 0: no rule reaches a communicator size that was not measured. OpenMPI does not tell
 * placements apart; where the same number of ranks was measured on several numbers of nodes, a rule stands only for
 * sizes at which all of them chose the same. */
#ifndef ENVGEN_DECIDE_OPENMPI_RULES_H
#define ENVGEN_DECIDE_OPENMPI_RULES_H

#include <stdint.h>

#include "envgen/profile/decisions.h"

/* What a user must know before rules are applied, seen with OpenMPI 4.1.4: its own choice asks whether the operation is
 * commutative, a rule does not; the ring algorithms of allreduce and reduce_scatter then give other results. */
#define ENV_NON_COMMUTATIVE                                                                                 \
    "OpenMPI applies a rule whatever the reduction: some algorithms reorder operands, so a program with a " \
    "non-commutative MPI_Op of its own must run without these rules (NCCLTUNE=off)."

struct env_rule {
    uint64_t min_bytes;
    long algorithm; /* 0: OpenMPI's own choice */
    long fanout, segment_bytes;
};

/* The rules of one communicator size, ascending from min_bytes 0. */
struct env_rule_set {
    int ranks;
    struct env_rule *rules;
    int nrules;
};

/* One of OpenMPI's collectives. */
struct env_rule_coll {
    const char *name;          /* "reduce_scatter_block": as in coll_tuned_NAME_algorithm */
    int id;                    /* OpenMPI's number for it (COLLTYPE in coll_base_functions.h, unchanged since 1.8) */
    struct env_rule_set *sets; /* ascending by ranks; only those with a rule other than 0 */
    int nsets;
};

struct env_rules {
    struct env_rule_coll *colls; /* only those with a set */
    int ncolls;
};

/* Error: a call setting that the file format cannot express. Everything lives in d's arena. */
int env_rules_of(struct env_decisions *d, struct env_rules *rules, struct err *e);

/* The rule that OpenMPI takes for a collective (enum coll), NULL when the file has none. `name` gets the collective's
 * OpenMPI name. */
const struct env_rule *env_rules_find(const struct env_rules *rules, int coll, int ranks, uint64_t bytes,
                                      const char **name);

#endif
