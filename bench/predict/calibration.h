/* What a site has measured, for whatever predicts there: a journal of a few calls of the library's default, kept where
 * it is found again by the kind of node. The factors are fitted anew whenever it is read. */
#ifndef BENCH_PREDICT_CALIBRATION_H
#define BENCH_PREDICT_CALIBRATION_H

#include "bench/predict/fit.h"
#include "bench/results/points.h"
#include "core/log.h"

struct calibration {
    const char *path;
    int version; /* NCCL's, 22809; 0 unknown */
    struct model_fit fit;
};

/* Where it is for nodes of this class: below $XDG_STATE_HOME, else ~/.local/state; NULL: there is neither. In `a`. */
const char *calibration_path(const struct topo_class *c, struct arena *a);

/* What points measured on GPUs tell the model, as many as `*n`, in `a`: every call of the launch "default" that it
 * knows. `*version` is the library's where it is known. */
struct model_observation *calibration_observe(const struct bench_points *p, struct arena *a, int *n, int *version);

/* From measurements to factors. Errors: nothing that was measured can be predicted. */
int calibration_fit(const struct bench_points *p, const struct topology *t, int class_index, struct calibration *c,
                    struct err *e);

/* Reads the one at `path`; NULL: where it is for the class, which need not be there; "none": none. 1: `*c` holds one;
 * 0: there is none; below 0 after an error. Strings in `a`. */
int calibration_load(const char *path, const struct topology *t, int class_index, struct arena *a,
                     struct calibration *c, struct err *e);

/* "calibrated by 5 results of FILE, which predictions missed by 1.31x before and miss by 1.04x now"; in `a`. */
const char *calibration_text(const struct calibration *c, struct arena *a);

#endif
