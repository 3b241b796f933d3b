/* The model fitted to what a site has measured. */
#ifndef BENCH_PREDICT_FIT_H
#define BENCH_PREDICT_FIT_H

#include "bench/predict/model.h"

/* A measured default of a site. */
struct model_observation {
    int coll, nodes, ranks;
    uint64_t bytes;
    int algo, proto, channels; /* as in model_call */
    double us;
    int others; /* groups that did the same meanwhile */
};

struct model_fit {
    struct model_factors factors;
    double spread;     /* median factor between prediction and measurement after the fit, 1 = none */
    double before;     /* the same with the built-in constants */
    double left_out;   /* the same, each node count predicted from the others; 0: only one node count */
    int used, bounded; /* observations; factors that ended at a bound (0.2 or 5) */
};

/* What the observations and the prior say together of the factors on the parts of time, within bounds. The setup's
 * nodes and factors are not looked at. Errors: no usable observation. */
int model_calibrate(const struct model_setup *s, const struct model_observation *o, int n, struct model_fit *fit,
                    struct err *e);

#endif
