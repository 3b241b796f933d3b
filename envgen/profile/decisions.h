/* decisions.json: every choice of a profile with its evidence, as structures and as a document. */
#pragma once

#include <stdint.h>

#include "bench/engines/engines.h"
#include "bench/results/points.h"
#include "core/arena.h"
#include "core/err.h"
#include "envgen/predict/predict.h"

struct workload;

#define ENV_FORMAT "nccltune-decisions/1"
#define ENV_MARGIN BENCH_MARGIN
#define ENV_OPEN   UINT64_MAX /* the upper end of an open-ended range */
#define ENV_SOURCE_FABRIC \
    "measured on the fabric" /* the source of settings that what was found between ports justifies */

/* A candidate of a call decision at one size. */
struct env_option {
    struct bench_knobs call;
    struct bench_interval time_us;
    struct bench_interval gain; /* over the launch's default call */
    enum bench_status status;
    int runs;          /* starts that the gain is over; 0: it is of times alone */
    int banned;        /* it failed at another size, or where a tuner sees no difference: it is not chosen */
    const char *lines; /* where it stands in the journals: "results.jsonl:7,31" */
};

struct env_point {
    uint64_t bytes;
    struct env_option *options;
    int noptions;
    int fallback;       /* index of the launch's default call; -1: not measured */
    int chosen;         /* index of what is used at this size; -1: nothing was measured */
    const char *shared; /* why the choice is one for several groups at once and one alone; NULL: it is not */
    int smoothed;       /* the choice was taken over from both neighbours, see env_decide */
    /* The baseline, launch and call, and the gain of the choice over it: what the user gets in the end. */
    struct bench_interval untouched_us, total_gain;
};

/* One call setting over a range of sizes. */
struct env_range {
    uint64_t min_bytes, max_bytes; /* inclusive; ENV_OPEN */
    struct bench_knobs call;       /* label "default", no settings: nothing is written */
    struct bench_interval gain;    /* geometric mean over its points; n counts points */
    const char *why;
    struct env_point *points;
    int npoints;
};

struct env_coll {
    int coll;
    struct env_range *ranges; /* ascending, without gaps */
    int nranges;
};

/* A candidate of a launch decision. */
struct env_launch {
    struct bench_knobs knobs;
    struct bench_interval gain; /* geometric mean over the points of best call here / best call untouched; n: points */
    int points;                 /* at which anything was measured in this launch */
    enum bench_status status;   /* the worst that counts against the launch */
    const char *why;
};

/* Decisions for one engine on one shape of job. */
struct env_shape {
    const char *engine, *library;
    const char *active; /* the same: under whose plugins the default was measured; NULL unknown */
    int nodes, ranks;
    int others;                  /* groups of the same shape that did the same meanwhile (core/call/shape.h) */
    int buffers;                 /* of struct bench_result */
    struct env_launch *launches; /* "default" first when it was measured */
    int nlaunches;
    int chosen; /* index; -1: the baseline launch was not measured, so nothing is decided */
    const char *why;
    struct bench_interval total_gain; /* geometric mean over all points of choice / untouched; n: points */
    struct env_coll *colls;
    int ncolls;
};

/* One variable of an environment, written or considered. */
struct env_setting {
    const char *family; /* "openmpi" or "nccl": which files it goes to */
    const char *name;
    const char *value;  /* NULL: considered and left to the library */
    const char *source; /* "measured on host memory", "topology", "predicted" */
    const char *why;
    int in_profile;         /* the value names a file of the profile: writers put the profile's path in front */
    const char *node_class; /* NULL: common to all nodes; else it stands in nccl.d/CLASS.conf */
};

struct env_decisions {
    struct arena *arena;
    const struct workload *workload; /* env_decide weighs the points of launches by it; NULL: all alike */
    const char *tool, *topology;     /* versions; hash, "" unknown */
    double margin, confidence;
    double spread;     /* of gains from start to start, a logarithm, while they are decided on; not in decisions.json */
    const char *today; /* how what jobs took before compares with the baseline, a sentence; NULL unknown */
    int nccl_low,
        nccl_high; /* the releases that the settings are for, see envgen/generate/validate.h; 0: not yet known */
    const char *nccl_source;             /* how they are known */
    int rccl;                            /* they are releases of AMD's RCCL, numbered as the NCCL that it is built on */
    int predicted;                       /* what was only predicted is written, too, */
    const struct predict_record *record; /* where this shows that it is right; NULL: nowhere */
    struct env_shape *shapes;
    int nshapes;
    struct env_setting *settings;
    int nsettings;
};

struct env_decisions *env_decisions_new(double margin);
void env_decisions_free(struct env_decisions *d); /* NULL is fine */

/* The first shape with such evidence; NULL: there is none. */
const struct env_shape *env_shape_with(const struct env_decisions *d, enum bench_evidence evidence);

/* Return the decision for a call of that size; NULL: nothing was measured there. */
const struct env_range *env_range_of(const struct env_coll *c, uint64_t bytes);
const struct env_range *env_range_at(const struct env_shape *s, int coll, uint64_t bytes);

/* Nonzero if a tuner cannot tell them apart: it is told nodes and ranks of a group, not what others do, nor types. */
int env_shapes_alike(const struct env_shape *x, const struct env_shape *y);

/* Nonzero if it only stands for other types or places of the data than usual: its launch is decided with the usual
 * ones.
 */
int env_shape_follows(const struct env_shape *s);

/* The first setting of that name, whether it has a value or not; NULL: none. */
struct env_setting *env_find_setting(const struct env_decisions *d, const char *name);
void env_add_setting(struct env_decisions *d, struct env_setting s);

/* The index of a call at a point, of a launch of a shape, by its label; -1: there is no such. */
int env_find_option(const struct env_point *p, const char *label);
int env_find_launch(const struct env_shape *s, const char *label);

/* "2 nodes, 16 ranks, 4 such groups at once" */
const char *env_shape_text(struct arena *a, const struct env_shape *s);

/* The whole as a document; cJSON_Delete frees. */
struct cJSON *env_decisions_json(const struct env_decisions *d);

/* Reads a file back. NULL after an error, which names the file and what was expected where. */
struct env_decisions *env_decisions_load(const char *path, struct err *e);
