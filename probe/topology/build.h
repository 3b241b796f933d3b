/* Building a topology, for probe's sources, importers and machines. Pointers to classes and objects are good until the
 * next one of the kind is added; indices stay. */
#ifndef PROBE_TOPOLOGY_BUILD_H
#define PROBE_TOPOLOGY_BUILD_H

#include "probe/topology/topology.h"

struct topo_class *build_class(struct topology *t, const char *name); /* NULL: "class0", "class1", … */
void build_host(struct topology *t, const char *name, int class_index);
void build_hosts(struct topology *t, int n); /* of the first class, into a topology without any: "node0001" */

/* Append a copy of the record and return its index. */
int build_object(struct topology *t, struct topo_class *c, struct topo_object o);
int build_gpu(struct topology *t, struct topo_class *c, struct topo_gpu g);
int build_port(struct topology *t, struct topo_class *c, struct topo_port p);
int build_netdev(struct topology *t, struct topo_class *c, struct topo_netdev d);
int build_link(struct topology *t, struct topo_class *c, struct topo_link l);
int build_gid(struct topology *t, struct topo_class *c, struct topo_gid g);

/* Append a copy of `text` to one of the lists of strings. */
void build_text(struct topology *t, const char ***texts, int *n, const char *text);

/* What the GPUs of its class say of their clique, for a host that has none yet. */
void build_clique(struct topology *t, struct topo_host *h);

/* A sign of the last host's condition: a kind (findings are named by it), what it is about ("GPU3"; "": the node) and a
 * number. 0 is nothing to tell, and where there is no host nobody is told of. */
void build_sign(struct topology *t, const char *kind, const char *subject, double value);

void build_missing(struct topology *t, const char *name, const char *why);

/* A sentence for the class: what could not be read, and why. The same sentence twice is one note. */
void build_note(struct topology *t, struct topo_class *c, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The NUMA root for the operating system's index `numa`, added when the class has none yet. */
int build_numa(struct topology *t, struct topo_class *c, int numa);

/* The NIC at that PCI address, or one without a place, named `name`, when `pci` is NULL. Added when there is none;
 * named so when it has no name yet. */
int build_nic(struct topology *t, struct topo_class *c, const char *pci, const char *name);

/* The object with that PCI address (NULL finds none); -1. */
int build_find_pci(const struct topo_class *c, const char *pci);

/* The index into gpus of the GPU that `object` is; -1: none, as for an object of -1. */
int build_find_gpu(const struct topo_class *c, int object);

/* The index into gpus of the GPU at seen.pci. Where the PCI tree has not shown that device, `seen` becomes an object of
 * unknown place, and a note says so for `source` ("NVML"). */
int build_gpu_at(struct topology *t, struct topo_class *c, struct topo_object seen, const char *source);

/* Object i has become object where[i]: says so to everything that refers to objects, but for the objects themselves. */
void build_renumber(struct topo_class *c, const int *where);

/* Puts the GPUs into the order of their index, and gives every GPU that has none (-1, or one that another has already)
 * the next free one, in the order of PCI addresses, as NVML numbers them. Links follow. Names become "GPU0", "GPU1". */
void build_order_gpus(struct topology *t, struct topo_class *c);

/* Puts the ports into the natural order of their HCA's names ("mlx5_2" before "mlx5_10"); GIDs follow. */
void build_order_ports(struct topo_class *c);

#endif
