/* The options that name a machine which is described instead of looked at, for the commands that predict. */
#ifndef CLI_MACHINE_H
#define CLI_MACHINE_H

#include "core/log.h"
#include "probe/topology/topology.h"

#define CLI_MOST_FILES 64
#define CLI_MOST_NODES 16

struct cli_machine {
    const char *name;                 /* of those that `nccltune probe --list-machines` shows */
    const char *topology;             /* topology.json */
    const char *from[CLI_MOST_FILES]; /* recorded machines in any format that probe reads */
    const char *gpu;                  /* what their GPUs are, where the files do not say */
    int nodes[CLI_MOST_NODES];
    int nfrom, nnodes;
};

/* Values that getopt_long returns for them in a command's table; see CLI_OPT_MEASURE for the others. */
enum { CLI_OPT_MACHINE = 768, CLI_OPT_TOPOLOGY, CLI_OPT_FROM, CLI_OPT_GPU, CLI_OPT_NODES };

/* Stores what option `c` of the table says. */
int cli_machine_take(int c, const char *arg, struct cli_machine *m, struct err *e);

/* The numbers of nodes from a list "2,8,32"; `what` names the option in errors. */
int cli_machine_nodes(const char *list, const char *what, struct cli_machine *m, struct err *e);

/* Whether one is named. */
int cli_machine_named(const struct cli_machine *m);

/* Its topology; topo_free frees. NULL after an error: options that exclude one another, an unknown machine or GPU, a
 * file that cannot be read. */
struct topology *cli_machine_open(const struct cli_machine *m, struct log *log, struct err *e);

/* Lines for --help. */
#define CLI_MACHINE_HELP                                                                               \
    "      --machine NAME        a machine that nccltune knows (nccltune probe --list-machines)\n"     \
    "      --from FILE           a recorded machine, in any format that nccltune probe --from reads\n" \
    "      --gpu NAME            what its GPUs are where the file does not say, such as h100-sxm\n"    \
    "      --nodes LIST          how many nodes: 32, or 2,8,32; as many as the topology has by default\n"

#endif
