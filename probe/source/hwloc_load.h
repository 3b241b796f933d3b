/* hwloc loaded with exactly what this directory reads of it, so that a timing program can load the same. */
#ifndef PROBE_SOURCE_HWLOC_LOAD_H
#define PROBE_SOURCE_HWLOC_LOAD_H

#include <hwloc.h>

/* 0, and hwloc_topology_destroy frees; -1 with errno. */
int probe_hwloc_load(hwloc_topology_t *h);

#endif
