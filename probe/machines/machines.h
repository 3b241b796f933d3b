/* Machines that can be looked at without having one: descriptions of our own from public specifications. */
#ifndef PROBE_MACHINES_MACHINES_H
#define PROBE_MACHINES_MACHINES_H

#include <stdio.h>

#include "probe/topology/topology.h"

/* The name of the i-th; NULL behind the last. */
const char *machine_name(int i);

/* Prints name, GPUs, NICs and source of each: a table, or a JSON array. */
void machine_list(FILE *out);
int machine_list_json(FILE *out, struct err *e);

/* The topology of `nodes` nodes of that machine (hosts node0001 … in one class, their number costs little). NULL after
 * an error: no such machine (the text names the nearest and where the list is), nodes below 1 or above MACHINE_MOST. */
#define MACHINE_MOST TOPO_MOST_HOSTS
struct topology *machine_topology(const char *name, int nodes, struct err *e);

/* Fills in what files leave out about GPUs without naming one: model, compute capability, memory, NVLink. `gpu` is a
 * name of hw_gpus. What the topology knows stays; a contradiction (another compute capability) is an error. */
int machine_complete_gpus(struct topology *t, const char *gpu, struct err *e);

#endif
