/* Predictions and results: the model fitted to what a site has measured, the engine that writes predictions as
 * results, the best call, and what measuring and lint ask (core/call/result.h). */
#pragma once

#include "bench/results/points.h"
#include "core/log.h"
#include "core/option.h"
#include "model/model.h"

struct bench_engine;

/* ---- who launches what is predicted: an option of each command that predicts ---- */

/* Return the words of enum model_launcher: "unknown", "process", "node", "graph"; then NULL. */
const char *predict_launcher_word(int i);

/* The option, into an enum model_launcher of `type`. */
#define PREDICT_LAUNCH_OPTION(type, member)                                                                          \
    {                                                                                                                \
        0, "launch", "WHO",                                                                                          \
            "what launches the calls: a process per GPU, one per node, or a graph (default: unknown, any of them):", \
            option_which, offsetof(type, member), .word = predict_launcher_word                                      \
    }

/* ---- fit: factors on the parts of a time ---- */

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
    int used, bounded; /* observations; factors that ended at a bound (0.2 or 5) */
};

/* Fit the factors on the parts of time to observations and prior, within bounds. The setup's
 * nodes and factors are not looked at. Errors: no usable observation. */
int model_calibrate(const struct model_setup *s, const struct model_observation *o, int n, struct model_fit *fit,
                    struct err *e);

/* ---- calibration: a journal of some calls of the library's default ---- */

/* Observations for the model from points measured on GPUs, `*n` of them, in `a`: every call of the launch "default"
 * that it knows. `*version` is the library's where it is known. */
struct model_observation *calibration_observe(const struct bench_points *p, struct arena *a, int *n, int *version);

/* Fit `s`, whose topology and class are known, to the journal at `path`, and say so: its factors are those of `fit`
 * from then on. Errors: the file cannot be read, or nothing that was measured can be predicted. */
int calibration_load(const char *path, struct model_setup *s, struct model_fit *fit, struct log *log, struct err *e);

/* ---- questions ---- */

/* Find the fastest way that the model knows of to make a call, over every algorithm, protocol and number of channels
 * that a tuner can ask for; NCCL's own choice stands unless another is faster. Return -1 if nothing can be predicted.
 */
int predict_best(const struct model *m, int coll, uint64_t bytes, struct model_time *t);

struct setting_cost {
    double factor; /* × the time without it, at the size of these where it matters most; 1: no difference is sure */
    uint64_t from_bytes, to_bytes; /* 0: from the smallest, to the largest */
    uint64_t worst_bytes;          /* that size */
    double unsure; /* × the time at `unsure_bytes`, where it matters most outside of that range; 1: none */
    uint64_t unsure_bytes;
    double elsewhere; /* the same as factor in the longest of the other ranges; 1: none */
    uint64_t elsewhere_from, elsewhere_to;
    uint64_t at_bytes;    /* where all settings together matter most: */
    double share, of_all; /* × the time by this one there, by all; shares multiply to of_all */
};

/* Predict the effect of setting `which` of a job's `n` on NCCL's default for a collective from 1 KiB to 1 GiB on the
 * machine that `base` describes: its part of what all do together, so that the parts multiply to the whole. Return -1
 * if the model does not know the setting, if a later one overrides it, or if the call cannot be predicted. */
int predict_setting_share(const struct nccl_setup *base, const struct bench_setting *settings, int n, int which,
                          int coll, struct setting_cost *cost);

/* What leaving out one setting of a job gains, or two. */
struct setting_gain {
    int first, second; /* their places; the same: one alone */
    double factor;     /* × the time without, of one call; below 1: slower without; 0: not predicted */
    int sure;          /* the interval of the factor is clear of 1.05 */
};

/* Predict one call without each of a job's `n` settings in turn, into `gains`, the largest first. Behind them, as
 * gains[n], of the twos that together gain clearly more than each alone the one that gains most; its factor is 0 where
 * there is none. */
void predict_gains(const struct nccl_setup *base, const struct bench_setting *settings, int n,
                   const struct model_call *call, struct setting_gain *gains);

/* "costs up to 2.0x from 4 MiB up", "is up to 1.3x faster up to 64 KiB and costs up to 2.0x from 4 MiB up", "is up
 * to 1.3x faster up to 64 KiB", "makes no clear difference". Return `text`.
 */
#define SETTING_COST_TEXT 144
char *predict_setting_cost_text(const struct setting_cost *c, char text[SETTING_COST_TEXT]);

/* ---- what predictions may decide ---- */

/* The held-out record of decisions on machines of this kind; NULL: there is none, or it shows too little. */
struct predict_record;
const struct predict_record *predict_record_of(const struct topology *t);

/* Nonzero if the record (NULL: none) shows that such a call is chosen rightly at such a point: this collective,
 * algorithm and protocol at such sizes, on as many ranks of one node, by a release that asks a tuner. */
int predict_is_proven(const struct predict_record *r, const struct bench_point *p, const struct bench_knobs *call);

/* The model as measuring and lint ask it, and as an engine whose results are predictions. cli/ passes both on. */
extern const struct predictor predict_predictor;
extern const struct bench_engine bench_engine_model;
