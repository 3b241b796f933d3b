/* What the rules on roles look at, and their table. */
#ifndef PROBE_TOPOLOGY_ROLES_INTERNAL_H
#define PROBE_TOPOLOGY_ROLES_INTERNAL_H

#include "probe/topology/paths.h"
#include "probe/topology/roles.h"

struct role_view {
    const struct topo_class *c;
    struct arena *a;
    const struct path_matrix *matrix;
    struct port_verdict *verdicts;
    unsigned char *excluded;    /* by the rules on the device alone */
    unsigned char *served;      /* GPUs that have a port beside them */
    int nbeside, nbeside_down;  /* ports beside a GPU that are in question, and that are down */
    enum topo_link_layer layer; /* the one that carries most of the bandwidth in question */
    double best_Gbps;           /* of the ports in question with that layer */
    const char *prefix;         /* the subnet prefix that most of them have */
    int nprefix;
    const char *plugin; /* through which most of the bandwidth in question is reached; NULL: verbs */
};

/* What a rule sees of a port. */
struct sight {
    const char *seen;    /* NULL: nothing is known */
    enum port_role role; /* what the port is by that; ROLE_COMPUTE: nothing speaks against it */
};

/* A rule: the first one that speaks against a port decides. */
struct role_rule {
    const char *name; /* "rate" */
    struct sight (*look)(const struct role_view *v, int port);
    int neighbours; /* weighs the port against its neighbours; those on the device alone come first */
};
extern const struct role_rule role_rules[]; /* ends with a NULL name */

int role_is_beside(const struct port_verdict *v); /* no CPU on the way to a GPU, or only the GPU's own one by C2C */
const struct topo_object *role_object(const struct role_view *v, int port); /* NULL unknown */
const char *role_layer_name(enum topo_link_layer layer);

#endif
