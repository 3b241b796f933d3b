/* The fields of topology.json's records: one table serves saving, loading, merging and hashing. */
#ifndef PROBE_TOPOLOGY_FIELDS_H
#define PROBE_TOPOLOGY_FIELDS_H

#include "core/json_fields.h"
#include "probe/topology/topology.h"

/* The mark of what is host-specific, or changes by itself: no part of the hash. The others are kinds of objects. */
#define TOPO_MOVES (1u << 31)

/* A class's own members; its lists, in the order in which they refer to one another; its notes. */
extern const struct json_field topo_class_fields[], topo_list_fields[], topo_note_fields[];
extern const struct json_field topo_object_fields[], topo_gpu_fields[], topo_port_fields[], topo_netdev_fields[],
    topo_host_fields[];

#endif
