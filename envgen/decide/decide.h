/* Decisions: from measured points to what is worth setting, each with the evidence that it rests on.
 *
 * A decision is made in two steps, because a launch setting holds for a whole process while a call setting may differ
 * from size to size:
 *   1. the launch: per engine, the fastest of those whose gain over the baseline launch clears the margin; one that
 *      departs further from the baseline (more settings, a shorter list of interfaces) has to clear it over the other;
 *   2. the calls: per collective and size within that launch, the fastest of those whose gain over the launch's own
 *      default clears the margin. Neighbouring sizes with the same choice become one range, which is without end where
 *      the largest sizes say so (calls.c).
 * bench_gain_clears is the rule. Everything else stays at the library's default. */
#pragma once

#include <stdint.h>

#include "bench/fabric/fabric.h"
#include "bench/results/points.h"
#include "core/arena.h"
#include "core/log.h"
#include "envgen/profile/decisions.h"
#include "model/model.h"
#include "probe/topology/topology.h"

/* Decides for every shape in `points`. Error: one engine's results come from several library versions.
 *
 * A launch must have been measured at half of the points or more; a point where it was not counts as no gain. A launch
 * is out when its default call failed, hung, crashed or gave wrong data anywhere, or when another call hung, crashed or
 * gave wrong data that never failed in the baseline launch. Since a launch setting is common to all jobs, and a tuner
 * cannot tell one group from several at once, shapes have to agree (envgen/decide/steps.h). A call that failed at one
 * size of a collective is not chosen at another.
 *
 * Islands: a point between two neighbours that agree on another choice takes that choice unless its own is faster than
 * it by the margin; it must have been measured there, and it must not be slower than the default by its median.
 */
int env_decide(struct env_decisions *d, const struct bench_points *points, struct err *e);

/* ---- gains: how much faster a candidate is than the default, over one point or many. ---- */

/* The geometric mean of `n` gains, weighted unless `weights` is NULL. They come from the same starts, or from the same
 * model: their intervals are taken to err alike, and `n` is that of the gain with the fewest starts. */
struct bench_interval env_mean_gain(const struct bench_interval *gains, const double *weights, int n);

/* "1.31x (1.22 to 1.40)" */
const char *env_gain_text(struct arena *a, struct bench_interval gain);

/* "allgather of 8 MiB to 16 MiB on 1 node, 2 ranks: GAIN with neighbor": a call over the sizes from one point to
 * another. */
const char *env_gain_sentence(struct arena *a, const struct env_shape *s, int coll, const struct env_point *first,
                              const struct env_point *last, const char *gain, const char *call);

/* ---- the variables of a profile. ---- */

/* OpenMPI's from the decisions and their rules, NCCL's from them, the fabric (NULL: not measured) and the topology.
 * Call after env_decide. Error: a launch setting that may not be written into a file. */
struct env_rules;
int env_settings(struct env_decisions *d, const struct env_rules *rules, const struct topology *t,
                 struct verbs_fabric *fabric, struct err *e);

/* ---- what makers of machines publish ----
 *
 * A profile's files say it: as settings where NCCL cannot know, as comments where a measurement decides. */

#define ENV_SOURCE_SITE "published for this machine"

/* Value of a variable that the site sets outside of nccltune, NULL for none. */
typedef const char *env_site_value(const void *arg, const char *name);

/* Adds them for the topology's machines and d's releases. What was measured stands; what the site sets to another value
 * is kept and said. `site` may be NULL. */
void env_site_facts(struct env_decisions *d, const struct topology *t, env_site_value *site, const void *arg);

/* ---- what the models are asked about: the nodes of a profile, with or without what it sets ---- */

enum env_under {
    ENV_UNDER_NOTHING,  /* the baseline */
    ENV_UNDER_SETTINGS, /* what the profile sets */
    ENV_UNDER_CHOICES,  /* and the launch that was only predicted to be better */
};

/* Fills `s` but its nodes and ranks: the class with GPUs that most hosts belong to, NCCL `nccl` (0: the newest that the
 * profile is for). Settings that the model is silent on are left out. -1: the topology has no GPU. */
int env_model_setup(const struct env_decisions *d, const struct topology *t, int nccl, enum env_under under,
                    struct arena *a, struct nccl_setup *s);

/* ---- the rules of tuner.csv ----
 *
 * What the decisions of the nccl engine mean per call, for every number of nodes that something is known about. A shape
 * that was measured has its own rules. Between two measured node counts with the same ranks a node, rules hold on which
 * both agree: a box in the table, low to high nodes, and as many ranks. It never spans a factor of two, so that
 * communicators with half the ranks a node stay outside, and holds no measured shape of other ranks a node. One node is
 * no neighbour of two: within a node another fabric carries the data. Beyond the largest count there are no rules.
 *
 * A rule holds for the kind of buffers that was measured. NCCL counts captured calls as registered: of what was
 * measured with --graphs and with --registered the former's rules come first. Where plain and registered ones agree a
 * rule holds for both; so it does for releases that do not tell a tuner (before 2.24), and for predictions. */

enum env_basis { ENV_MEASURED, ENV_AGREED, ENV_PREDICTED };

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

/* ---- OpenMPI's dynamic rules ----
 *
 * Which algorithm for which communicator size and message size. OpenMPI 4.1 (ompi/mca/coll/tuned) takes, per
 * collective, the entry with the largest communicator size not above the actual one, or the first entry when all are
 * above, and within it the rule with the largest message size not above the actual one: that of the whole collective,
 * which results call bytes. With algorithm 0 OpenMPI decides as without rules.
 *
 * Every collective's entries therefore begin with communicator size 0, algorithm 0, and every measured communicator
 * size is followed by the next one with algorithm 0. OpenMPI does not tell placements apart: where the same number of
 * ranks was measured on several numbers of nodes, a rule stands for sizes at which all chose the same. */

/* Warning before rules are applied, seen with OpenMPI 4.1.4: its own choice asks whether the operation is
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
    int coll;                  /* the results' collective that it belongs to */
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
