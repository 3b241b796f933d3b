/* Topologies of recorded machines. */
#ifndef PROBE_IMPORT_IMPORT_H
#define PROBE_IMPORT_IMPORT_H

#include "core/log.h"
#include "probe/topology/topology.h"

/* Recorded machines: each file's kind (NCCL topology XML, hwloc XML, topology.json, nvidia-smi's matrix) is told by its
 * content. Several files become one topology with one host each, named by the file. */
struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e);

/* Makes one node of several, from files that describe the same one: devices are matched by PCI address, GPUs also by
 * number, ports and interfaces by name. What the first file says stands; later ones fill what is unknown. */
void merge_nodes(struct topology *t);

#endif
