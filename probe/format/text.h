/* What the files of the text format share. */
#ifndef PROBE_FORMAT_TEXT_H
#define PROBE_FORMAT_TEXT_H

#include <stdio.h>

#include "probe/topology/topology.h"

/* A copy of `s` that no terminal acts upon: everything but printable ASCII is '?'. NULL is "?". */
const char *text_inert(struct arena *a, const char *s);

/* "node[0001-0512], 512 nodes": the hosts of a class; its name where it has none. In `a`. */
const char *text_hosts(const struct topology *t, int class_index, struct arena *a);

/* What follows from a class: subnets and GIDs, roles, the list of HCAs. */
void text_put_verdicts(FILE *out, const struct topo_class *c, struct arena *a);

/* What follows from all of it: the common list of HCAs, differences between classes, missing nodes, findings. */
void text_put_cluster(FILE *out, const struct topology *t, struct arena *a);

#endif
