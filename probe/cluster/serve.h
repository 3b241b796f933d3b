/* Nodes that are not measured join the class that they equal. */
#ifndef PROBE_CLUSTER_SERVE_H
#define PROBE_CLUSTER_SERVE_H

#include "probe/cluster/groups.h"

struct cluster_served {
    int joined;
    struct cluster_left_out out; /* who is not served: equals none, with the difference; is unhealthy; did not answer */
};

/* Adds the hosts of `probed` to `t`, each to the class that it is identical to; classes are never added, so that the
 * hash of `t` stays. A host that `t` has already, as a replaced node, is taken anew. Strings of the result are in `a`.
 */
struct cluster_served cluster_serve(struct topology *t, const struct topology *probed, struct arena *a);

#endif
