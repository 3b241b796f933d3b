/* Settings that differ from class of nodes to class, as lists of devices do: they are called NAME@CLASS in launches and
 * journals ("NCCL_IB_HCA@class1"), and a node gets those of its own class as NAME. */
#ifndef BENCH_RESULTS_NODE_LOCAL_H
#define BENCH_RESULTS_NODE_LOCAL_H

#include "core/arena.h"

/* "class1" of "NCCL_IB_HCA@class1"; NULL: it is for all nodes. */
const char *bench_node_class(const char *name);

/* The variable's own name; in `a` where it differs. */
const char *bench_plain_name(const char *name, struct arena *a);

/* "NAME@CLASS" in `a`. */
const char *bench_local_name(const char *name, const char *node_class, struct arena *a);

/* Whether nodes of that class (NULL: unknown) get it. */
int bench_is_for(const char *name, const char *node_class);

#endif
