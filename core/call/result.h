/* A call and its time: what it was told to do, how long it took or is predicted to take, and how far that may be off.
 */
#pragma once

#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"

struct cJSON;
struct json_kind;

#define BENCH_DEFAULT "default"

/* Differences of a call's buffers to the usual, which is float32 in plain memory, in place for AllReduce and from one
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
    BENCH_DROPPED, /* measured and left out: times_us holds what there is */
    BENCH_WRONG,   /* the data came out wrong */
    BENCH_FAILED,  /* the library refused */
    BENCH_CRASHED, /* a process died */
    BENCH_HUNG,    /* passed its deadline and was killed */
    BENCH_STATUS_COUNT,
};
const char *bench_status_name(int status); /* "ok", "dropped", ... */

struct topology;

struct bench_setting {
    const char *name, *value;
};

struct bench_knobs {
    const char *label;
    const struct bench_setting *settings;
    int nsettings;
};

/* ---- settings of a call and of a node class ---- */

/* Call settings, as envgen writes them into tuner.csv. */
#define NCCL_SET_ALGO     "algorithm"
#define NCCL_SET_PROTO    "protocol"
#define NCCL_SET_CHANNELS "channels"
#define NCCL_SET_CHUNK    "chunk_bytes"

/* Numbers of channels that are tried; NCCL cuts them to what the communicator has. Ends with 0. */
extern const int nccl_plan_channels[];

/* A call's settings as numbers: -1, -1, 0 and 0 for what it leaves to NCCL. */
struct nccl_requested {
    int algo, proto, channels;
    uint32_t chunk_bytes;
};
struct nccl_requested nccl_requested_of(const struct bench_knobs *call);

/* Settings that differ from class of nodes to class, as lists of devices do: they are called NAME@CLASS in launches and
 * journals ("NCCL_IB_HCA@class1"), and a node gets those of its own class as NAME. */

/* "class1" of "NCCL_IB_HCA@class1"; NULL: it is for all nodes. */
const char *bench_node_class(const char *name);

/* The variable's own name; in `a` where it differs. */
const char *bench_plain_name(const char *name, struct arena *a);

/* "NAME@CLASS" in `a`. */
const char *bench_local_name(const char *name, const char *node_class, struct arena *a);

/* Nonzero if nodes of that class (NULL: unknown) get it. */
int bench_is_for(const char *name, const char *node_class);

/* ---- how far a prediction may be off ---- */

enum { BENCH_DOUBTS = 6 };

/* Standard deviations of the logarithm of a time. Two predictions of one machine err together in what they share: the
 * difference of their shared parts is what remains of them in a quotient. */
struct bench_doubt {
    double shared[BENCH_DOUBTS]; /* by independent cause, signed */
    double rest;                 /* of this call alone */
    int way;                     /* calls of the same way share most of the rest too; of the same detail all of it */
    int detail;
};

/* Half the width, in standard deviations, of a 90 % interval. */
#define BENCH_NINE_OF_TEN 1.645

/* Standard deviation of the logarithm of a time, and of the quotient of two. */
double bench_doubt_of_time(const struct bench_doubt *d);
double bench_doubt_of_quotient(const struct bench_doubt *a, const struct bench_doubt *b);

/* ---- a measurement ---- */

/* One measurement of one candidate at one point. */
struct bench_result {
    const char *engine;  /* "mpi" */
    const char *library; /* "Open MPI 4.1.4" */
    int coll;            /* enum coll */
    int buffers;         /* enum bench_buffers */
    uint64_t bytes;      /* NCCL's nBytes: the larger of the per-rank send and receive buffers */
    int nodes, ranks;    /* of the group */
    int others;          /* groups of the same shape that did the same meanwhile (core/call/shape.h) */
    struct bench_knobs launch, call;
    const char *data;       /* what was sent: "float32, in place"; NULL unknown */
    const char *active;     /* others' plugins at work: "tuner NAME, network NAME", "" none; NULL unknown */
    const double *times_us; /* one sample each: the slowest rank's time of one call */
    int ntimes;
    int round;
    const double *beside_us; /* what the launch's default call took right before each of the last `nbeside` of those, */
    int nbeside; /* NULL: unknown; taken after the choice for this call had been made: only these can prove a gain
                  */
    enum bench_status status;
    double over_default;    /* the median of times_us over the default's right before each; 0 if unknown, or the default
                               itself */
    double low_us, high_us; /* predicted: the 90 % interval around the one time; 0: measured */
    const struct bench_doubt *doubt; /* whose band that is; NULL: measured, or not said */
    double left_s;                   /* of the budget that was given, when this was written; 0: none was, or unknown */
    const char *detail;              /* why it failed, what bounds a prediction, what else to know; NULL */
    long line;                       /* where it stands in the journal; 0: not written yet */
    const char *source;              /* that journal, as a profile calls it; NULL: results.jsonl */
};

/* Read line `line` of the journal `path` into `r` and `a`. */
int bench_result_read(const struct cJSON *doc, const char *path, long line, struct arena *a, struct bench_result *r,
                      struct err *e);
/* To be deleted by the caller. */
struct cJSON *bench_result_json(const struct bench_result *r);

/* Kinds of members: the settings of struct bench_knobs; `others`, which is written as one more. */
extern const struct json_kind bench_json_settings, bench_json_groups;

/* ---- asking a model ---- */

struct predicted_cost {
    double factor; /* × the time without the setting, at the size where it matters most; 1: no difference is sure */
    int nodes;     /* that this is asked and holds for; 0: all hosts of the topology (2 if it names one) */
    int alone;     /* without the job's other settings: with them no call can be predicted */
    char text[80]; /* "costs up to 2.0x from 4 MiB up" */
};

/* Predictions that bench and lint may ask for. Neither links one: cli/ passes `predict_predictor`
 * (envgen/predict/predict.h) to both. Without it launches keep their listed order, and lint names no predicted cost. */
struct predictor {
    /* Return the mean log(time in us) of AllReduces of 64 KiB, 4 MiB and 256 MiB under a launch; NAN if unknown.
     * `ranks_per_node` 0: one per GPU. */
    double (*launch_log_us)(const struct topology *t, int nodes, int ranks_per_node, const struct bench_knobs *launch);

    /* Predict what setting `which` of `n` adds to what they cost an AllReduce of 1 KiB to 1 GiB together, on
     * cost->nodes. `nccl` as 22809. Return -1 if the model does not know it or the machine. */
    int (*setting_cost)(const struct topology *t, int nccl, const struct bench_setting *settings, int n, int which,
                        struct predicted_cost *cost);

    /* Return NCCL's number of channels on `*nodes`, as there; 0 if unknown. */
    int (*channels)(const struct topology *t, int nccl, int *nodes);

    /* Return how many nodes a script asks for; 0: it does not say. */
    int (*script_nodes)(const char *name, const char *text, size_t bytes);
};
