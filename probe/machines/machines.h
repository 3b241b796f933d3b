/* Machines that can be looked at without having one: descriptions of our own from public specifications. */
#pragma once

#include <stdio.h>

#include "probe/topology/topology.h"

/* Return the name of the i-th machine; NULL behind the last. */
const char *machine_name(int i);

/* Print name, GPUs, NICs and source of each machine as a table, or as an array of JSON. */
void machine_list(int json, FILE *out);

/* Return the topology of `nodes` nodes of that machine: hosts node0001 … in one class. NULL after an error: no such
 * machine (the text names the nearest and where the list is), nodes below 1 or above MACHINE_MOST. */
#define MACHINE_MOST TOPO_MOST_HOSTS
struct topology *machine_topology(const char *name, int nodes, struct err *e);

/* Put GPUs and NICs where `like`, the description of one machine, has them: the PCI tree of a virtual machine or a
 * container that shows none. Each device becomes a note that begins with TREE_ASSUMED. Errors: other numbers of GPUs or
 * NICs. */
#define TREE_ASSUMED "assumed: "
int machine_complete_tree(struct topology *t, const struct topology *like, struct err *e);

/* Return such a description from measured bandwidths, lines of "GPU0 mlx5_0 24.1" (GB/s): a NIC and the GPUs that it
 * reaches fastest are behind one switch. Errors: a line or a name that is not understood, several classes. */
struct topology *machine_from_bandwidths(const struct topology *t, const char *path, struct err *e);

/* Fill in what a file does not say about its GPUs: model, compute capability, memory, NVLink. `gpu` is a name of
 * hw_gpus. What the topology knows stays; a contradiction (another compute capability) is an error. */
int machine_complete_gpus(struct topology *t, const char *gpu, struct err *e);
