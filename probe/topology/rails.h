/* Rails: the compute ports of a class by the network that they are on. */
#ifndef PROBE_TOPOLOGY_RAILS_H
#define PROBE_TOPOLOGY_RAILS_H

#include "probe/topology/roles.h"

struct rail {
    const char *network; /* "10.0.1.0/24", "0xfe80000000000000" (InfiniBand subnet prefix) */
    int *ports;          /* indices into ports */
    int nports;
};

/* The networks of the compute ports, in the order of the ports, in `a`; how many. Ports whose network is not known are
 * on none. Ports of one network reach one another on all nodes; whether networks are routed, no machine can tell. */
int rails_of(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a, struct rail **rails);

#endif
