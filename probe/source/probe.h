/* A topology of this machine, or of a copy of its files. */
#pragma once

#include "core/log.h"
#include "probe/topology/topology.h"

/* Probe this machine, from every source that answers; a source that does not leaves a note in the class. topo_free
 * frees. */
struct topology *probe_machine(struct log *log, struct err *e);

/* Probe the machine whose /sys and /proc were copied below `dir`, from the sources that need files alone. */
struct topology *probe_sysroot(const char *dir, struct log *log, struct err *e);
