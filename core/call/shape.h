/* The shape of a group of ranks: on how many nodes, how many in all, how many groups like it work at once, and what
 * the GPUs do meanwhile. */
#pragma once

#include "core/arena.h"
#include "core/err.h"

struct bench_shape {
    int nodes, ranks; /* of the group, as NCCL counts them; all zero: everybody there is */
    int others;       /* groups of the same shape that do the same at the same time */
    int load;         /* enum bench_load */
};

/* What runs beside the calls on the same GPUs: nothing, matrix multiplications, or the calls of a second communicator,
 * over nodes for groups within one and within nodes for the others. */
enum bench_load { BENCH_ALONE, BENCH_COMPUTE, BENCH_CALLS, BENCH_LOADS };
const char *bench_load_name(int load); /* "compute", "calls"; NULL: nothing, or no such load */

/* What a step loses by a call that takes `us` and slows what runs beside it by the factor `slowdown`: its time less the
 * work that was done meanwhile. BENCH_HIDDEN of the call runs beside that work: nothing is hidden wholly, and who took
 * for ever without slowing anything would be free otherwise. bench_call_us is the way back. */
#define BENCH_HIDDEN 0.9
double bench_lost_us(double us, double slowdown);
double bench_call_us(double lost_us, double slowdown);

/* Where shapes are written "NODESxRANKS" with the ranks of one node, and "*GROUPS" behind it where there are several at
 * once: 2x8, 1x4*2; "*all" for as many as there is room for; and "@compute" or "@calls" for what runs beside. */
#define BENCH_SHAPE_ALL  (-1) /* `others`, before it is known how many there is room for */
#define BENCH_SHAPE_MOST (1 << 20)

int bench_shape_parse(const char *text, struct bench_shape *s, const char *what, struct err *e);
const char *bench_shape_text(const struct bench_shape *s, struct arena *a);

int bench_shape_same(const struct bench_shape *x, const struct bench_shape *y);

/* How many groups of such a shape there is room for within `whole`, side by side; 0: not one, or the nodes have not
 * equally many ranks. */
int bench_shape_room(const struct bench_shape *s, const struct bench_shape *whole);

/* The group of `rank` of `whole`, 0 and up, where ranks are numbered node by node: groups take neighbouring ranks of a
 * node and neighbouring nodes; first come those that differ in their ranks within the node. -1: none. */
int bench_shape_group(const struct bench_shape *s, const struct bench_shape *whole, int rank);

/* The shapes that jobs make of a machine of `whole`, the more usual first, into `out`; returns how many. */
#define BENCH_SHAPES 32
int bench_shapes_usual(const struct bench_shape *whole, struct bench_shape out[BENCH_SHAPES]);
