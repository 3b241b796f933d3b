/* results.jsonl: the append-only journal of measurements, one line each.
 *
 * The first line says {"format": "nccltune-results/1", "topology": "<hash>", ...}; every further line is one
 * measurement of one candidate at one point:
 *
 *   {"engine": "mpi", "collective": "allreduce", "bytes": 65536, "nodes": 4, "ranks": 4, "library": "Open MPI 4.1.4",
 *    "launch": {"label": "ib3", "settings": {"btl_tcp_if_include": "ib3"}},
 *    "call": {"label": "ring", "settings": {"coll_tuned_allreduce_algorithm": "4"}},
 *    "round": 1, "status": "ok", "times_us": [231.4, 229.9, 233.0]}
 *
 * A prediction has one time and the band around it: "times_us": [231.4], "low_us": 180, "high_us": 300.
 *
 * A candidate is a launch (settings fixed for a whole process) and a call (settings that may differ between calls). The
 * label "default" with no settings is the library untouched. A run that was cut off leaves at most one broken last
 * line, which is dropped when the journal is opened again. */
#ifndef BENCH_RESULTS_RESULTS_H
#define BENCH_RESULTS_RESULTS_H

#include <stdint.h>

#include "core/arena.h"
#include "core/err.h"
#include "core/log.h"
#include "core/sha256.h"

#define BENCH_FORMAT  "nccltune-results/1"
#define BENCH_DEFAULT "default"

enum bench_status {
    BENCH_OK,
    BENCH_DROPPED, /* measured a little, then left out as hopeless: times_us holds what there is */
    BENCH_WRONG,   /* the data came out wrong */
    BENCH_FAILED,  /* the library refused */
    BENCH_CRASHED, /* a process died */
    BENCH_HUNG,    /* passed its deadline and was killed */
    BENCH_STATUS_COUNT,
};
const char *bench_status_name(enum bench_status s); /* "ok", "dropped", ... */

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
    int nodes, ranks;
    struct bench_knobs launch, call;
    int round;
    enum bench_status status;
    const double *times_us; /* one sample each: the slowest rank's time of one call */
    int ntimes;
    double low_us, high_us; /* predicted: the band that holds nine of ten around the one time; 0: measured */
    const char *detail;     /* why it failed, or what bounds a prediction; NULL */
    long line;              /* where it stands in the journal; 0 not yet written */
};

struct bench_results {
    struct arena *arena;
    char topology[SHA256_HEX]; /* "" unknown */
    struct bench_result *items;
    int count;
};

/* Reads a journal. Broken lines are reported to `log` with their number and skipped; a file that is no journal at all
 * is an error. Free with bench_results_free. */
struct bench_results *bench_results_load(const char *path, struct log *log, struct err *e);
void bench_results_free(struct bench_results *r); /* NULL is fine */

/* The journal open for appending. Every line goes out in one write followed by fdatasync. */
struct bench_journal {
    int fd;
    const char *path;
};
/* Makes a new journal (an existing non-empty file is an error unless `resume`), or cuts a broken last line off an
 * existing one and checks that it holds for the same topology. */
int bench_journal_open(struct bench_journal *j, const char *path, const char *topology_hash, int resume, struct err *e);
int bench_journal_append(struct bench_journal *j, const struct bench_result *r, struct err *e);
/* Many lines in one write: for what costs less than bringing it to disk. */
int bench_journal_append_all(struct bench_journal *j, const struct bench_result *r, int n, struct err *e);
void bench_journal_close(struct bench_journal *j);

#endif
