/* Machines that can be looked at without having one: descriptions of our own from public specifications. */
#pragma once

#include <stdio.h>

#include "probe/topology/topology.h"

/* Return the name of the i-th machine; NULL behind the last. */
const char *machine_name(int i);

/* Print name, GPUs, NICs and source of each machine: a table, or a JSON array. */
void machine_list(FILE *out);
int machine_list_json(FILE *out, struct err *e);

/* Return the topology of `nodes` nodes of that machine: hosts node0001 … in one class. NULL after an error: no such
 * machine (the text names the nearest and where the list is), nodes below 1 or above MACHINE_MOST. */
#define MACHINE_MOST TOPO_MOST_HOSTS
struct topology *machine_topology(const char *name, int nodes, struct err *e);

/* Fill in what a file does not say about its GPUs: model, compute capability, memory, NVLink. `gpu` is a name of
 * hw_gpus. What the topology knows stays; a contradiction (another compute capability) is an error. */
int machine_complete_gpus(struct topology *t, const char *gpu, struct err *e);
