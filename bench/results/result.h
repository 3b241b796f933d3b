/* One measurement of one candidate at one point. */
#ifndef BENCH_RESULTS_RESULT_H
#define BENCH_RESULTS_RESULT_H

#include <stdint.h>

#include "bench/results/doubt.h"
#include "core/json_fields.h"

#define BENCH_DEFAULT "default"

/* How a call's buffers differ from the usual, which is float32 in plain memory, in place for AllReduce and from one
 * buffer to another for all others. */
enum bench_buffers {
    BENCH_USUAL,
    BENCH_BFLOAT16,
    BENCH_IN_PLACE,
    BENCH_OUT_OF_PLACE,
    BENCH_GRAPH,      /* captured calls: NCCL registers what they use */
    BENCH_REGISTERED, /* ncclMemAlloc and ncclCommRegister */
    BENCH_BUFFERS
};
const char *bench_buffers_name(int buffers); /* "bfloat16", "in place"; NULL: the usual, or no such buffers */
int bench_buffers_parse(const char *name);   /* NULL: the usual; -1: no such */
int bench_buffers_are_told(int buffers);     /* whether NCCL tells a tuner, as regBuff, that they are not the usual */

enum bench_status {
    BENCH_OK,
    BENCH_DROPPED, /* measured a little, then left out as hopeless: times_us holds what there is */
    BENCH_WRONG,   /* the data came out wrong */
    BENCH_FAILED,  /* the library refused */
    BENCH_CRASHED, /* a process died */
    BENCH_HUNG,    /* passed its deadline and was killed */
    BENCH_STATUS_COUNT,
};
const char *bench_status_name(int status); /* "ok", "dropped", ... */

struct bench_setting {
    const char *name, *value;
};

struct bench_knobs {
    const char *label;
    const struct bench_setting *settings;
    int nsettings;
};

struct bench_result {
    const char *engine;  /* "mpi" */
    const char *library; /* "Open MPI 4.1.4" */
    int coll;            /* enum coll */
    uint64_t bytes;      /* NCCL's nBytes: the larger of the per-rank send and receive buffers */
    int nodes, ranks;    /* of the group */
    int others;          /* groups of the same shape that did the same meanwhile (bench/results/shape.h) */
    int load; /* enum bench_load: what ran beside; then all times here are what a step loses by a call, and */
    double call_us, slowdown; /* medians of what the call took and of how many times longer that which ran beside */
    struct bench_knobs launch, call;
    int buffers;        /* enum bench_buffers */
    const char *data;   /* what was sent: "float32, in place"; NULL unknown */
    const char *active; /* others' plugins at work: "tuner NAME, network NAME", "" none; NULL unknown */
    int round;
    enum bench_status status;
    const double *times_us; /* one sample each: the slowest rank's time of one call */
    int ntimes;
    const double *beside_us; /* what the launch's default call took right before each of the last `nbeside` of those, */
    int nbeside; /* NULL: nobody says; taken after the choice for this call had been made: only these can prove a gain
                  */
    double over_default;    /* the median of times_us over the default's right before each; 0: nobody says, or is it */
    double low_us, high_us; /* predicted: the band that holds nine of ten around the one time; 0: measured */
    const struct bench_doubt *doubt; /* whose band that is; NULL: measured, or not said */
    const char *detail;              /* why it failed, what bounds a prediction, what else to know; NULL */
    long line;                       /* where it stands in the journal; 0: not written yet */
};

/* What stands in line `line` of the journal `path`, into `r` and `a`. */
int bench_result_read(const cJSON *doc, const char *path, long line, struct arena *a, struct bench_result *r,
                      struct err *e);
/* To be deleted by the caller. */
cJSON *bench_result_json(const struct bench_result *r);

/* Kinds of members: the settings of struct bench_knobs; `others`, which is written as one more. */
extern const struct json_kind bench_json_settings, bench_json_groups;

#endif
