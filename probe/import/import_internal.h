/* Readers of recorded machines: one a format, each adds classes and hosts to a topology. `name` is what a host that has
 * no name of its own is called, `file` is for errors. */
#ifndef PROBE_IMPORT_IMPORT_INTERNAL_H
#define PROBE_IMPORT_IMPORT_INTERNAL_H

#include "core/xml.h"
#include "probe/topology/topology.h"

/* Far above any machine, far below what would take seconds. */
#define IMPORT_MOST_OBJECTS 16384 /* in a file */
#define IMPORT_MOST_PORTS   4096  /* with interfaces, in a host; links as well */

/* NCCL's and RCCL's topology files; `roots` are the top elements, of which those called "system" are read. */
int import_nccl_xml(struct topology *t, const struct xml_node *roots, const char *name, const char *file,
                    struct err *e);

/* hwloc's XML, versions 1 to 3; `root` is the "topology" element. */
int import_hwloc_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file,
                     struct err *e);

/* The matrix that `nvidia-smi topo -m` prints; `text` is taken apart. */
int import_smi_topo(struct topology *t, char *text, const char *name, const char *file, struct err *e);

#endif
