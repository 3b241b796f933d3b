/* A topology of this machine, or of a copy of its files. */
#pragma once

#include "core/log.h"
#include "probe/topology/topology.h"

/* How long every source took, in the order in which they were asked. */
#define PROBE_MOST_SOURCES 32
struct probe_timings {
    struct {
        const char *source; /* "hwloc", "pci", "verbs", "netdev", "kfd", "nvml", "machine", "software" */
        double ms;
    } list[PROBE_MOST_SOURCES];
    int n;
};

/* Probe this machine, from every source that answers; a source that does not leaves a note in the class. `timings` may
 * be NULL. topo_free frees. */
struct topology *probe_machine(struct log *log, struct probe_timings *timings, struct err *e);

/* Probe the machine whose /sys and /proc were copied below `dir`, from the sources that need files alone. */
struct topology *probe_sysroot(const char *dir, struct log *log, struct probe_timings *timings, struct err *e);
