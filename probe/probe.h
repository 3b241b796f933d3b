/* What the probe room offers to those above it: a topology from this machine or from files, and its pictures. */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdio.h>

#include "core/log.h"
#include "probe/topology.h"

/* This machine, from every source that answers; a source that does not is a note in the class. */
struct topology *probe_machine(struct log *log, struct err *e);

/* The same, and how long every source took: `timings` has room for PROBE_SOURCES, in the order of the table. */
#define PROBE_SOURCES 4
struct probe_timing {
    const char *source; /* "hwloc", "verbs", "netdev", "nvml" */
    double ms;
};
struct topology *probe_machine_timed(struct log *log, struct probe_timing *timings, struct err *e);

/* Recorded machines: each file's kind (NCCL topology XML, hwloc XML, topology.json) is told by its content. Several
 * files become one topology with one host each, named by the file. */
struct topology *probe_files(const char *const *paths, int npaths, struct log *log, struct err *e);

/* Exporters, one file each behind one table. */
struct probe_format {
    const char *name, *description;
    int (*write)(const struct topology *t, FILE *out, struct err *e);
};
extern const struct probe_format *const probe_formats[];        /* NULL-terminated; "text" and "json" first */
const struct probe_format *probe_format_find(const char *name); /* NULL: unknown */

#endif
