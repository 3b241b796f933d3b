/* Sources of knowledge about this machine: one file each, which fill the same class one after the other. Each is
 * optional: a source that finds nothing leaves a note with the reason, and the class as it is. */
#pragma once

#include "probe/topology/build.h"

typedef void probe_source(struct topology *t, struct topo_class *c);
probe_source source_hwloc, source_pci, source_verbs, source_netdev, source_kfd, source_nvml, source_cxi, source_machine,
    source_software, source_settings;

/* Load hwloc's topology with exactly what source_hwloc reads of it (perf_probe times the same). Returns 0, and
 * hwloc_topology_destroy frees; -1 with errno. */
struct hwloc_topology;
int probe_hwloc_load(struct hwloc_topology **h);
