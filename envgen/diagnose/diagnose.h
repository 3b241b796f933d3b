/* Where a training step goes: logs that people have, read into one judgement.
 *
 * Files are streamed in constant memory; every line is offered to the readers of all formats, so a file may hold
 * several. What comes out: phases with their medians, the share of communication, and what to do next, each with the
 * lines that say so. */
#ifndef ENVGEN_DIAGNOSE_DIAGNOSE_H
#define ENVGEN_DIAGNOSE_DIAGNOSE_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "core/err.h"

#define DIAGNOSE_FORMAT "nccltune-diagnosis/1"

/* Communication beyond this part of a step is the problem; beyond this part of compute it is worth a look. */
#define DIAGNOSE_SHARE_LIMIT 0.30
#define DIAGNOSE_RATIO_LIMIT 0.30

enum diag_kind {
    DIAG_COMPUTE,
    DIAG_COMMUNICATION,
    DIAG_DATA,    /* waiting for input */
    DIAG_OFFLOAD, /* copies between GPU and host */
    DIAG_SAVE,    /* checkpoints and validation */
    DIAG_IDLE,    /* the GPU does nothing */
    DIAG_OTHER,
    DIAG_METRIC, /* no time of the step: only for findings */
    DIAG_KIND_COUNT,
};
const char *diag_kind_name(enum diag_kind k); /* "compute", "communication", ... */

enum diag_side { DIAG_NEITHER, DIAG_ROLLOUT, DIAG_TRAIN };

#define DIAG_PHASES 48 /* of one source; more become "other" */
#define DIAG_NAME   48
#define DIAG_PLACE  320

struct diag_phase {
    char name[DIAG_NAME];
    enum diag_kind kind;
    enum diag_side side;
    double median_ms;
    double share;           /* of the step, 0 to 1: median over the steps */
    double growth;          /* last third of the run over the first, minus 1; 0 where there are too few steps */
    char place[DIAG_PLACE]; /* "train.log:812": the step closest to the median */
};

/* What one format said, over all files. */
struct diag_source {
    const char *format;
    long steps, left_out; /* read; of these, warm-up steps that do not count */
    double step_ms;       /* median */
    double growth;
    double first_ms; /* the slowest of the steps left out, 0 without */
    char first_place[DIAG_PLACE];
    struct diag_phase phases[DIAG_PHASES];
    int nphases;
    int visible;                /* communication has a timer of its own */
    double communication_share; /* of the step, what compute does not hide; 0 to 1 */
    double hidden_share;        /* communication behind compute, of the step; 0 unknown */
    double ratio;               /* all communication / compute; -1 unknown */
    char place[DIAG_PLACE];     /* a typical step */
};

/* nvidia-smi's samples of one GPU. */
struct diag_gpu {
    char name[DIAG_NAME];
    long samples;
    double mean, deviation; /* of utilisation, percent */
    double idle;            /* part of the samples below 5 % */
    double longest_gap_s;   /* at 0 %, after it had worked; samples count as a second when they have no time */
    char gap_place[DIAG_PLACE];
};

struct diag_finding {
    const char *id; /* "communication", "rollout", "offload", ... */
    double weight;  /* part of the step that is at stake, 0 to 1 */
    char text[512], advice[512];
    char place[DIAG_PLACE]; /* where it stands; "" for what comes from many lines */
};

#define DIAG_SOURCES  10
#define DIAG_GPUS     256
#define DIAG_FINDINGS 40

enum diag_verdict { DIAG_UNKNOWN, DIAG_IS_COMMUNICATION, DIAG_NOT_COMMUNICATION };
const char *diag_verdict_name(enum diag_verdict v);

struct diag_result {
    enum diag_verdict verdict;
    int primary; /* the source that the verdict rests on; -1: no steps, only GPU samples */
    struct diag_source sources[DIAG_SOURCES];
    int nsources;
    struct diag_gpu *gpus;
    int ngpus;
    double gpu_spread;       /* mean difference between the busiest and the idlest GPU at one time, percent points */
    double gpu_start_idle_s; /* all GPUs at 0 % before the first work */
    char gpu_start_place[DIAG_PLACE]; /* the first work */
    struct diag_finding findings[DIAG_FINDINGS];
    int nfindings;
};

struct diagnosis;
struct diagnosis *diagnose_new(void);
void diagnose_free(struct diagnosis *d); /* NULL is fine */

/* Streams one file ("-": standard input). Errors: unreadable, compressed, or not a line of any known format. */
int diagnose_file(struct diagnosis *d, const char *path, struct err *e);

/* The same from an open stream; `name` is what evidence calls it, copied. */
int diagnose_stream(struct diagnosis *d, FILE *f, const char *name, struct err *e);

/* Judges what was read. The result belongs to `d`; nothing may be read afterwards. */
const struct diag_result *diagnose_finish(struct diagnosis *d);

void diagnose_text(const struct diag_result *r, FILE *out);
cJSON *diagnose_json(const struct diag_result *r);         /* the caller deletes it */
void diagnose_svg(const struct diag_result *r, FILE *out); /* one stacked bar a source, drawn to scale */

#endif
