/* What sets two machines apart, in words. */
#ifndef PROBE_TOPOLOGY_DIFFERENCES_H
#define PROBE_TOPOLOGY_DIFFERENCES_H

#include "probe/topology/topology.h"

/* Sentences such as "mlx5_7 is missing", "mlx5_10:1 is down instead of active", seen from `other`; all in `a`. How many
 * there are, at most DIFFERENCES_MOST. */
#define DIFFERENCES_MOST 64
int differences_of(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                   const char ***sentences);

/* The same for what machines of one class may differ in: firmware, limits, libraries, the kinds of GIDs by index. */
int differences_within(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                       const char ***sentences);

#endif
