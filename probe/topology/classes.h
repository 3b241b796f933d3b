/* Identical nodes become one class. */
#ifndef PROBE_TOPOLOGY_CLASSES_H
#define PROBE_TOPOLOGY_CLASSES_H

#include "probe/topology/topology.h"

/* Makes one class of those that are identical; names become "class0", "class1", … in the order of the first hosts. What
 * identical machines may differ in (firmware, limits, libraries, GIDs) stays with the host, in words. */
void classes_merge(struct topology *t);

/* The classes met so far, by hash; zeroed to begin with. */
struct class_index {
    struct class_slot *slots;
    int nslots, used;
};

/* The index of the class that is identical to `c`. When there is none yet, `next` is remembered for it and returned. */
int classes_find(struct class_index *index, const struct topo_class *c, int next);

/* Adds a host of t->classes[class_index], to which `own`, the class that it is of in its own topology, is identical:
 * what moves and differs is told in words. Nothing of `own` and `from` is kept. */
void classes_add_host(struct topology *t, int class_index, const struct topo_class *own, const struct topo_host *from,
                      const char *name);

void classes_index_free(struct class_index *index);

#endif
