/* Building a topology, for probe's sources, importers and machines: records, a PCI tree, and several descriptions that
 * become one. Pointers to classes and objects are valid until the next one of the kind is added; indices stay. */
#pragma once

#include "probe/topology/topology.h"

struct topo_class *build_class(struct topology *t, const char *name); /* NULL: "class0", "class1", … */
void build_host(struct topology *t, const char *name, int class_index);

/* Append a copy of the record and return its index. */
int build_object(struct topology *t, struct topo_class *c, struct topo_object o);
int build_gpu(struct topology *t, struct topo_class *c, struct topo_gpu g);
int build_port(struct topology *t, struct topo_class *c, struct topo_port p);
int build_netdev(struct topology *t, struct topo_class *c, struct topo_netdev d);
int build_link(struct topology *t, struct topo_class *c, struct topo_link l);
int build_gid(struct topology *t, struct topo_class *c, struct topo_gid g);

/* Append a copy of `text` to one of the lists of strings. */
void build_text(struct topology *t, const char ***texts, int *n, const char *text);

/* Give a host that has no clique yet the one of its class's GPUs. */
void build_clique(struct topology *t, struct topo_host *h);

/* Append a sign of the last host's condition: a kind (findings are named by it), its subject ("GPU3"; "": the node) and
 * a number. Does nothing if the number is 0 or there is no host. */
void build_sign(struct topology *t, const char *kind, const char *subject, double value);

void build_missing(struct topology *t, const char *name, const char *why);

/* Return "0x506b4b0300ca1f2e" for "506b:4b03:00ca:1f2e"; NULL for zero and whatever else. */
const char *build_guid(struct arena *a, const char *text);

/* Return "AuthenticAMD 25/17, AMD EPYC 9654 96-Core Processor", without the blanks that AMD's names end in; NULL for
 * no model. Of vendor, family and number all or none count. */
const char *build_cpu_name(struct topology *t, const char *vendor, const char *family, const char *number,
                           const char *model);

/* Append a sentence on what could not be read, and why, unless the class has it already. */
void build_note(struct topology *t, struct topo_class *c, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Return the NUMA root for the operating system's index `numa`, added if the class has none yet. */
int build_numa(struct topology *t, struct topo_class *c, int numa);

/* Return the NIC at that PCI address or, if `pci` is NULL, the one of that name without a place; added if there is
 * none. A NIC without a name gets it. */
int build_nic(struct topology *t, struct topo_class *c, const char *pci, const char *name);

/* Return the NVSwitch at that PCI address or, if `pci` is NULL, the one without an address; added if there is none. */
int build_nvswitch(struct topology *t, struct topo_class *c, const char *pci);

/* Return the object with that PCI address; -1: none, as for NULL. */
int build_find_pci(const struct topo_class *c, const char *pci);

/* Return the index into gpus of the GPU that `object` is; -1: none, as for an object of -1. */
int build_find_gpu(const struct topo_class *c, int object);

/* Return the index into gpus of the GPU at seen.pci, added if there is none. If the PCI tree lacks the device, `seen`
 * becomes an object of unknown place, with a note that names `source` ("NVML"). */
int build_gpu_at(struct topology *t, struct topo_class *c, struct topo_object seen, const char *source);

/* Sort the GPUs by their index, after giving every GPU that has none (-1, or one that another has already) the next
 * free one, in the order of PCI addresses, as NVML numbers them; links follow, names become "GPU0", "GPU1". Sort the
 * ports by the natural order of their HCA's names ("mlx5_2" before "mlx5_10"); GIDs follow. */
void build_order_devices(struct topology *t, struct topo_class *c);

/* Return the groups of n things, each alone in its own, in `a`: a group is known by the number of its first. */
int *build_groups(int n, struct arena *a);
void build_join_groups(int *group, int n, int i, int k); /* those of things i and k become one */

/* ---- a PCI tree, as hwloc and lspci show it (host bridges, every port of every switch) --------------------------- */

/* State of the walk down. */
struct pci_place {
    int parent;  /* object that the next one hangs below; -1 none */
    int numa;    /* -1 unknown */
    int bridges; /* PCI-to-PCI bridges passed since the host bridge */
};

/* Add a root complex on NUMA node `numa` (-1: not known which); `name` as in sysfs: "pci0000:17". */
struct pci_place pci_tree_host_bridge(struct topology *t, struct topo_class *c, int numa, const char *name);

/* Go down one PCI-to-PCI bridge, as read: its kind and place follow. The first is a root port; then upstream and
 * downstream ports alternate, and each upstream port stands for its switch. */
struct pci_place pci_tree_bridge(struct topology *t, struct topo_class *c, struct pci_place at, struct topo_object o);

/* Add a function that is no bridge. Return the index of its new object; -1 if it is neither GPU, NIC nor NVSwitch. A
 * GPU gets its record (index -1) too. `claimed` is what a driver made of it, whatever its class: TOPO_GPU, TOPO_NIC,
 * TOPO_NVSWITCH, or TOPO_KIND_COUNT for nothing. */
int pci_tree_device(struct topology *t, struct topo_class *c, struct pci_place at, struct topo_object o,
                    enum topo_kind claimed);

/* Object i has become object where[i]: update the indices of everything but the objects themselves. */
void build_renumber(struct topo_class *c, const int *where);

/* Remove the switches and host bridges below which no device was added. */
void pci_tree_prune(struct topo_class *c);

/* Remove NICs for which neither an RDMA device nor an interface was found, such as virtual functions that belong to
 * guests, unless no NIC has any; a note tells how many. */
void pci_tree_drop_unused_nics(struct topology *t, struct topo_class *c);

/* ---- several descriptions become one ----------------------------------------------------------------------------- */

/* Make one class of those that are identical; names become "class0", "class1", … in the order of the first hosts. What
 * identical machines may differ in (firmware, limits, libraries, GIDs) stays with the host, in words. */
void classes_merge(struct topology *t);

/* The classes met so far, by hash; zeroed at first. */
struct class_index {
    void *tree;
};

/* Return the index of the class that is identical to `c`. If there is none yet, it is remembered as `next`. */
int classes_find(struct class_index *index, const struct topo_class *c, int next);

/* Add a host of t->classes[class_index], which is identical to `own`, the host's class in its own topology. What
 * differs all the same stays with the host, in words. Nothing of `own` and `from` is kept. */
void classes_add_host(struct topology *t, int class_index, const struct topo_class *own, const struct topo_host *from,
                      const char *name);

void classes_index_free(struct class_index *index);

/* Make one node of several descriptions of it, in any order: devices are matched by PCI address, GPUs also by UUID and
 * number, ports and interfaces by name. The tree of the description that knows most is kept; the others fill what is
 * unknown, and a note tells where they contradict it. */
void merge_nodes(struct topology *t);
