/* Diagnosis of training steps and failures from a job's logs.
 *
 * Files are streamed in constant memory; every line is offered to the readers of all formats, so a file may hold
 * several. What comes out: phases with their medians, the share of communication, and what to do next, each with the
 * lines that say so. */
#pragma once

#include <stdio.h>

#include "core/call/workload.h"
#include "core/err.h"
#include "envgen/profile/profile.h"
#include "probe/topology/topology.h"

#define DIAGNOSE_FORMAT "nccltune-diagnosis/1"

/* Communication beyond this part of a step is the problem, or beyond the second where no phase is larger; beyond this
 * part of compute it is worth a look. Phases that are this close tie. */
#define DIAGNOSE_SHARE_LIMIT   0.30
#define DIAGNOSE_LARGEST_LIMIT 0.20
#define DIAGNOSE_RATIO_LIMIT   0.30
#define DIAGNOSE_TIE           0.02

enum diag_kind {
    DIAG_COMPUTE,
    DIAG_COMMUNICATION,
    DIAG_DATA,    /* waiting for input */
    DIAG_OFFLOAD, /* copies between GPU and host */
    DIAG_SAVE,    /* checkpoints and validation */
    DIAG_IDLE,    /* the GPU does nothing */
    DIAG_WAITING, /* for a slower rank, or for the rollout of other GPUs */
    DIAG_OTHER,
    DIAG_METRIC, /* no time of the step: only for findings */
    DIAG_KIND_COUNT,
};
extern const char *const diag_kind_names[DIAG_KIND_COUNT]; /* "compute", "communication", ... */

enum diag_side { DIAG_NEITHER, DIAG_ROLLOUT, DIAG_TRAIN };

#define DIAG_PHASES   64 /* of one source; more become "other" */
#define DIAG_NAME     48
#define DIAG_PLACE    320
#define DIAG_RUN      96
#define DIAG_SENTENCE 640

struct diag_phase {
    const char *name;
    enum diag_kind kind;
    enum diag_side side;
    int guessed;            /* nobody knows the name: it counts to no side */
    double median_ms;       /* over the steps that have it */
    double share;           /* of wall time, 0 to 1: its sum over the steps' sum */
    int period;             /* it happens every so many steps; 0: in most steps */
    double times;           /* median from the source's shift_step on over that before; 0 unknown */
    double growth;          /* last third of the run over the first, minus 1; 0 where there are too few steps */
    char place[DIAG_PLACE]; /* "train.log:812": the step closest to the median */
};

/* Findings of one format about one run of a job, over all files and ranks. */
struct diag_source {
    const char *format;
    char run[DIAG_RUN];   /* which, where the files hold several: "pid=111", "run 2, after a restart" */
    long steps, left_out; /* read; of these, warm-up steps that do not count */
    double step_ms;       /* median */
    double growth;
    long shift_step;            /* from which on steps are slower than all before; 0: none is */
    double before_ms, after_ms; /* their medians */
    double first_ms;            /* the slowest of the steps left out, 0 without */
    const char *first_phase;    /* what took most of its excess; "" unknown */
    char first_place[DIAG_PLACE];
    int ranks;               /* that logged steps, at least 1 */
    char slow[DIAG_RUN];     /* the rank, or the ranks of the host, that the others wait for; "" none */
    double slow_ms, fast_ms; /* what it computes in a step, what the fastest computes */
    double waiting;          /* share of wall time that ranks wait for slower ones */
    struct diag_phase phases[DIAG_PHASES];
    int nphases;
    int visible;                /* communication has a timer of its own */
    double may_hold;            /* share of the phases that may hold communication which no timer shows */
    double communication_share; /* of the step, what compute does not hide; 0 to 1 */
    /* Interval of the share: without what may be waiting or hidden, with what no timer shows; and its bounds. */
    double communication_low, communication_high;
    char bound[DIAG_SENTENCE];
    double hidden_share;    /* communication behind compute, of the step; 0 unknown */
    double ratio;           /* all communication / compute; -1 unknown */
    char place[DIAG_PLACE]; /* a typical step */
};

/* nvidia-smi's samples of one GPU. */
struct diag_gpu {
    char name[DIAG_NAME];
    long samples;
    double mean, deviation; /* of utilisation, percent */
    double idle;            /* part of the samples below 5 % */
    double longest_gap_s;   /* at 0 %, after it had worked; samples count as a second when they have no time */
    char gap_place[DIAG_PLACE];
    double power_W, limit_W; /* mean of the samples that say it; 0 without */
    double spins; /* part of the samples at full utilisation, but below half of the highest power of all GPUs */
    /* Without change to the end of the file: at 0 or at 100 %, for how long, and the longest such run before. */
    double tail_s, longest_run_s;
    int tail_percent;
    char tail_place[DIAG_PLACE];
};

enum diag_confidence { DIAG_MEASURED, DIAG_LIKELY, DIAG_POSSIBLE };
extern const char *const diag_confidence_names[];

struct diag_finding {
    const char *id; /* "communication", "rollout", "offload", ... */
    enum diag_confidence confidence;
    const char *advice, *command; /* what to do, and what to run next; command "" without */
    double weight;                /* part of the step that is at stake, 0 to 1 */
    char text[512];
    char place[DIAG_PLACE]; /* where it stands; "" for what comes from many lines */
};

#define DIAG_SOURCES  16
#define DIAG_GPUS     256
#define DIAG_FINDINGS 64

/* Why a job failed, where its logs say that it did. */
#define DIAG_EVIDENCE 8
struct diag_failure {
    const char *id;             /* of the message that is the cause; NULL: nothing failed */
    char what[DIAG_SENTENCE];   /* what failed */
    char where[DIAG_SENTENCE];  /* "rank 3, node n7, GPU 2, HCA mlx5_1, peer ..." */
    char why[DIAG_SENTENCE];    /* causes, the likeliest first, and what in these logs bears on them */
    const char *remedy, *check; /* what to do; the command that tells the causes apart */
    enum diag_confidence confidence;
    long echoes; /* lines of other messages that follow from it */
    struct {
        char place[DIAG_PLACE], text[240];
    } evidence[DIAG_EVIDENCE]; /* the cause's first line first */
    int nevidence;
};

enum diag_verdict { DIAG_UNKNOWN, DIAG_IS_COMMUNICATION, DIAG_NOT_COMMUNICATION };
extern const char *const diag_verdict_names[];

struct diag_file {
    const char *name;
    char formats[160];   /* "verl console, settings"; "" when nothing in it is known */
    const char *problem; /* why it could not be read; NULL: it could */
};

struct diag_result {
    enum diag_verdict verdict;
    struct diag_failure failure;
    /* The largest phase and its share; communication and what hides it; what cannot be known from these files and which
     * file would tell. */
    char opening[3][DIAG_SENTENCE];
    struct diag_file *files;
    int nfiles;
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

/* Streams one file ("-": standard input), or the regular files of a job's directory and three levels below, of which
 * those that hold nothing known are passed over. Errors: unreadable, compressed, or not a line of any known format;
 * what other files said stays. */
int diagnose_file(struct diagnosis *d, const char *path, struct err *e);

/* The same from an open stream; `name` is what evidence calls it, copied. */
int diagnose_stream(struct diagnosis *d, FILE *f, const char *name, struct err *e);

/* The catalogue of messages as Markdown, or as the body of a manual page. */
void diagnose_messages(FILE *out, int as_manual);

/* Context that logs are compared with; NULL if unknown. All must live as long as `d`. */
struct diag_expected {
    const struct topology *topology;   /* what the machine has; the model says on it what faults cost */
    const struct workload *workload;   /* what a step communicates; without it faults cost a factor */
    const struct env_profile *profile; /* what jobs should have */
};
void diagnose_expect(struct diagnosis *d, const struct diag_expected *x);

/* Judges what was read. The result belongs to `d`; nothing may be read afterwards. */
const struct diag_result *diagnose_finish(struct diagnosis *d);

void diagnose_text(const struct diag_result *r, FILE *out);
struct cJSON *diagnose_json(const struct diag_result *r); /* the caller deletes it */
