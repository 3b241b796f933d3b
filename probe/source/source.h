/* Sources of knowledge about this machine: one file each, all filling the same class.
 *
 * A source that has nothing to say says why in a note and leaves the class as it is: every one of them is optional. */
#ifndef PROBE_SOURCE_SOURCE_H
#define PROBE_SOURCE_SOURCE_H

#include "probe/topology/build.h"

struct probe_source {
    const char *name;
    int order; /* those of lower numbers have filled the class before */
    void (*fill)(struct topology *t, struct topo_class *c);
    int live; /* asks the running machine, and has nothing to say about a copied tree of its files */
};

/* All of them, in no order, ended by NULL. The Makefile makes this table of every `const struct probe_source` that a
 * file here defines. */
extern const struct probe_source *const probe_sources[];

#endif
