/* Topologies of recorded machines. */
#ifndef PROBE_IMPORT_IMPORT_H
#define PROBE_IMPORT_IMPORT_H

#include "core/log.h"
#include "probe/topology/topology.h"

/* Recorded machines: what a file is (topology.json, XML of NCCL, hwloc or nvidia-smi, what tools print, alone or among
 * prose) is told by its content. Several files become one topology with one host each, named by the file; a text may
 * tell of several hosts. */
struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e);

/* The same, where identical ones become one class (classes_merge); takes memory for the classes alone. */
struct topology *probe_hosts(const char *const *paths, int npaths, struct log *log, struct err *e);

/* Makes one node of several, from files that describe the same one, in whatever order: devices are matched by PCI
 * address, GPUs also by UUID and number, ports and interfaces by name. The tree of the description that knows most
 * stands; the others fill what is unknown, and a note tells where they contradict it. */
void merge_nodes(struct topology *t);

#endif
