/* The options that name a machine which is described instead of looked at, for the commands that predict. */
#pragma once

#include "core/option.h"
#include "probe/topology/topology.h"

#define CLI_MOST_NODES 16

struct cli_node_counts {
    int items[CLI_MOST_NODES];
    int count;
};

struct cli_machine {
    const char *name;        /* of those that `nccltune probe --list-machines` shows */
    const char *topology;    /* topology.json */
    struct option_list from; /* recorded machines in any format that probe reads */
    int merge;               /* those are files of one node */
    const char *gpu;         /* what their GPUs are, where the files do not say */
    double link_Gbps;        /* the rate of ports whose own the files do not say; 0: assumed */
    struct cli_node_counts nodes;
};
extern const struct option_spec cli_machine_options[]; /* into struct cli_machine */

/* struct cli_node_counts, from a list "2,8,32". */
option_take cli_take_node_counts;

/* The names of GPUs, for completion. */
const char *cli_gpu_word(int i);

/* Nonzero if one is named. */
int cli_machine_named(const struct cli_machine *m);

/* Warn where several files without --merge look like parts of one node. */
void cli_warn_of_parts(const struct topology *t, struct log *log);

/* Its topology; topo_free frees. NULL after an error: mutually exclusive options, an unknown machine or GPU, a
 * file that cannot be read. */
struct topology *cli_machine_open(const struct cli_machine *m, struct log *log, struct err *e);
