/* The fields of topology.json's records: one table serves saving, loading and hashing. */
#ifndef PROBE_TOPOLOGY_FIELDS_H
#define PROBE_TOPOLOGY_FIELDS_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "probe/topology/topology.h"

enum field_type {
    FIELD_TEXT,
    FIELD_TEXTS, /* an array of strings, see topo_texts_count */
    FIELD_INT,
    FIELD_NUMBER,
    FIELD_BYTES,
    FIELD_HEX16,
    FIELD_HEX24,
    FIELD_WORD,   /* an enum, by its names */
    FIELD_PARENT, /* index of an earlier object of the class */
    FIELD_OBJECT, /* index of an object whose kind is in `kinds` */
    FIELD_GPU,    /* index of a GPU */
    FIELD_PORT,   /* index of a port */
};

struct field {
    const char *key;
    enum field_type type;
    size_t at;
    int unknown;              /* the value that is not written and stands for a missing field */
    int required;             /* what every other directory takes for granted */
    int moves;                /* host-specific, or changes by itself: not part of the hash */
    const char *const *words; /* NULL-terminated */
    unsigned kinds;
};

/* A list of a class: where its array and its count are, and what a record holds. */
struct field_list {
    const char *key;
    const struct field *fields; /* ends with a NULL key */
    size_t array, count, record;
    int most;  /* records in a class of a file */
    int moves; /* as of a field: all of it */
};

#define TOPO_LISTS 6
extern const struct field_list topo_lists[TOPO_LISTS]; /* in the order in which they refer to one another */

extern const struct field topo_class_fields[], topo_note_fields[], topo_gpu_fields[], topo_netdev_fields[],
    topo_host_fields[];

/* The count of a FIELD_TEXTS member: the int right behind the pointer. */
int *topo_texts_count(void *member);

#endif
