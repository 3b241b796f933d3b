/* The switch network that a prediction is made for. */
#ifndef BENCH_PREDICT_SWITCHES_H
#define BENCH_PREDICT_SWITCHES_H

/* The switches between the nodes. */
struct model_switches {
    int nodes_per_leaf;      /* 0: one leaf holds all */
    double oversubscription; /* of a leaf's uplinks: 1 none, 2 two to one; 0 counts as 1 */
    int mixed_rails;         /* a leaf serves nodes, not one rail of many nodes */
};

#endif
