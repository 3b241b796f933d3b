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

/* What nvidia-smi -q -x prints; `root` is the "nvidia_smi_log" element. */
int import_smi_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file, struct err *e);

/* A format that is XML, told by its root element. */
struct xml_format {
    const char *name, *root;
    int (*read)(struct topology *t, const struct xml_node *roots, const char *name, const char *file, struct err *e);
};
extern const struct xml_format xml_formats[]; /* ends with a NULL name */

#endif
