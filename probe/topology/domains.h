/* NVLink domains: the GPUs that reach one another over NVLink or XGMI without leaving them. */
#ifndef PROBE_TOPOLOGY_DOMAINS_H
#define PROBE_TOPOLOGY_DOMAINS_H

#include "probe/topology/paths.h"

struct nvlink_domain {
    enum topo_link_kind link_kind;
    const char *clique; /* multi-node NVLink: "CLUSTER-UUID.CLIQUE", and the domain goes on in other nodes; NULL none */
    int *gpus;          /* indices into the class's gpus, ascending */
    int ngpus;
};

/* Nodes whose GPUs reach one another over NVLink. */
struct nvlink_rack {
    const char *clique;
    const char **hosts; /* in their order */
    int nhosts, ngpus;
};

/* The cliques of the hosts, by name; how many. In `a`. */
int nvlink_racks(const struct topology *t, struct arena *a, struct nvlink_rack **racks);

/* The domains of a class, in the order of their first GPU; how many. GPUs belong together when links join them, be it
 * over others, or when the driver put them into one clique; a GPU with neither is in no domain. `m` is the class's
 * matrix. All of it in `a`. */
int nvlink_domains(const struct topo_class *c, const struct path_matrix *m, struct arena *a,
                   struct nvlink_domain **domains);

#endif
