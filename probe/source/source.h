/* Sources of knowledge about this machine: one file each, which fill the same class one after the other. Each is
 * optional: a source that finds nothing leaves a note with the reason, and the class as it is. */
#pragma once

#include "probe/topology/build.h"

struct probe_source {
    const char *name;
    int order; /* sources with lower numbers have filled the class before */
    void (*fill)(struct topology *t, struct topo_class *c);
    int live; /* asks the running machine: left out for a copied tree of files */
};

/* All of them, in no order; ends with NULL. The Makefile generates this table from every `const struct probe_source`
 * that a file here defines. */
extern const struct probe_source *const probe_sources[];

/* Load hwloc's topology with exactly what source_hwloc reads of it (perf_probe times the same). Returns 0, and
 * hwloc_topology_destroy frees; -1 with errno. */
struct hwloc_topology;
int probe_hwloc_load(struct hwloc_topology **h);
