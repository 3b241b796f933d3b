/* What sets two machines apart, in words. */
#ifndef PROBE_TOPOLOGY_DIFFERENCES_H
#define PROBE_TOPOLOGY_DIFFERENCES_H

#include "probe/topology/topology.h"

/* Sentences such as "mlx5_7 is missing", "mlx5_10:1 is down instead of active", seen from `other`; all in `a`. How many
 * there are, at most DIFFERENCES_MOST. */
#define DIFFERENCES_MOST 64
int differences_of(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                   const char ***sentences);

/* The class that is most like t->classes[class_index] among those of as many hosts or more, and what sets it apart;
 * class_index -1 for the commonest one. In `a`. */
struct differences_like {
    int class_index;
    const char **sentences;
    int n;
};
struct differences_like differences_nearest(const struct topology *t, int class_index, struct arena *a);

/* The same for what machines of one class may differ in: firmware, limits, libraries, the kinds of GIDs by index. */
int differences_within(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                       const char ***sentences);

#endif
