/* The shape of a group of ranks: on how many nodes, how many in all, how many groups like it work at once. */
#pragma once

#include "core/arena.h"
#include "core/err.h"

struct bench_shape {
    int nodes, ranks; /* of the group, as NCCL counts them; all zero: everybody there is */
    int others;       /* groups of the same shape that do the same at the same time */
};

/* Shapes as text: "NODESxRANKS" with the ranks of one node, and "*GROUPS" after it for several at
 * once: 2x8, 1x4*2; "*all" for as many as there is room for. */
#define BENCH_SHAPE_ALL  (-1) /* `others`, before it is known how many there is room for */
#define BENCH_SHAPE_MOST (1 << 20)

int bench_shape_parse(const char *text, struct bench_shape *s, const char *what, struct err *e);
const char *bench_shape_text(const struct bench_shape *s, struct arena *a);

int bench_shape_same(const struct bench_shape *x, const struct bench_shape *y);

/* Number of groups of such a shape that fit into `whole` at once; 0: none, or the nodes have not
 * equally many ranks. */
int bench_shape_room(const struct bench_shape *s, const struct bench_shape *whole);

/* The group of `rank` of `whole`, 0 and up, where ranks are numbered node by node: groups take neighbouring ranks of a
 * node and neighbouring nodes; first come those that differ in their ranks within the node. -1: none. */
int bench_shape_group(const struct bench_shape *s, const struct bench_shape *whole, int rank);

/* The shapes that jobs make of a machine of `whole`, the more usual first, into `out`; returns how many. */
#define BENCH_SHAPES 32
int bench_shapes_usual(const struct bench_shape *whole, struct bench_shape out[BENCH_SHAPES]);
