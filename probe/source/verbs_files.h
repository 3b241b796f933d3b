/* What the kernel's files under /sys/class/infiniband tell about RDMA devices and ports. */
#ifndef PROBE_SOURCE_VERBS_FILES_H
#define PROBE_SOURCE_VERBS_FILES_H

#include "probe/topology/build.h"

/* The NIC that the device is or sits on, added where it is missing. */
int verbs_files_nic(struct topology *t, struct topo_class *c, const char *hca);

/* A port with everything but its MTU and GIDs, which the files do not tell or tell slowly. */
struct topo_port verbs_files_port(struct topology *t, const char *hca, int port);

/* The GID table of ports[port], entry by entry. */
void verbs_files_gids(struct topology *t, struct topo_class *c, int port);

/* A GID of 16 bytes as text; NULL for an empty entry. */
const char *verbs_gid_text(struct arena *a, const unsigned char raw[16]);

#endif
