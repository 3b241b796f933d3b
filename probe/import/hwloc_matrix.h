/* GPU links out of hwloc's bandwidth matrices ("NVLinkBandwidth", "XGMIBandwidth"). */
#ifndef PROBE_IMPORT_HWLOC_MATRIX_H
#define PROBE_IMPORT_HWLOC_MATRIX_H

#include "core/xml.h"
#include "probe/topology/topology.h"

/* What a row of a matrix is: a GPU, or an NVSwitch or NUMA node (the CPU of POWER machines); -1 for the other. */
struct hwloc_matrix_end {
    int gpu, object;
};

/* The objects that matrices may name, by hwloc's gp_index. */
struct hwloc_matrix_names {
    struct {
        uint64_t gp_index;
        struct hwloc_matrix_end end;
    } * list;
    int n;
};

/* Remembers that the <object> `n` is `end`. */
void hwloc_matrix_name(struct hwloc_matrix_names *names, struct arena *a, const struct xml_node *n,
                       struct hwloc_matrix_end end);

/* Adds a link for every pair for which one of the matrices below `root` has a bandwidth. */
int hwloc_matrix_links(struct topology *t, struct topo_class *c, const struct xml_node *root,
                       const struct hwloc_matrix_names *names, const char *file, struct err *e);

#endif
