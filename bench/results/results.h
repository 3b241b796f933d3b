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
 * "beside_us" are the launch's default call's times, each taken right before one of the last of "times_us".
 * "nodes" and "ranks" are those of a group; "groups" says how many like it did the same at once, where not one alone.
 * "buffers" says what is otherwise about them than usual (enum bench_buffers), "data" what was sent, "active" whose
 * plugins were at work, "detail" what else there is to know. A prediction has one time and the band around it:
 * "times_us": [231.4], "low_us": 180, "high_us": 300.
 *
 * A line of findings says what disturbed the measurement: {"noise": [{"id": "gpu-heat", "severity": "warning",
 * "subject": "GPU 3", "text": "...", "advice": "..."}]}.
 *
 * A candidate is a launch (settings fixed for a whole process) and a call (settings that may differ between calls). The
 * label "default" with no settings is the library untouched. A run that was cut off leaves at most one broken last
 * line, which is dropped when the journal is opened again. */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "core/call/result.h"
#include "core/file.h"
#include "core/finding.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/option.h"

#define BENCH_FORMAT "nccltune-results/1"
#define BENCH_LIMIT  ((size_t)40 << 20)  /* bytes of a line, and of a file that is read at once */
#define BENCH_MOST   400000              /* results that are read together, */
#define BENCH_STORED ((size_t)170 << 20) /* and bytes that they take; both keep generate to 200 MB of memory */

/* The finding that says how what jobs take today compares with the baseline. */
#define BENCH_TODAY "jobs-today"
/* The finding on a variable that all imported runs had: its subject is the name, its value the value. */
#define BENCH_COMMON "common-setting"

struct bench_results {
    struct arena *arena;
    char topology[SHA256_HEX]; /* "" unknown */
    struct bench_result *items;
    int count, room;             /* items there are, and have room; room 0: the items are not this list's own */
    size_t stored;               /* bytes of the items, and of what they alone point to */
    void *shared;                /* a tree of texts and settings that many of them have */
    struct known_index *index;   /* of the items (bench/results/known.h); NULL: every question walks over all */
    struct bench_points *points; /* the first npooled of them by point, in an arena of their own */
    struct arena *points_arena;
    int npooled;
    struct findings noise;    /* what disturbed the measurement (bench/noise); of an earlier run's lines, too */
    double confidence;        /* of the intervals that come of it; 0: BENCH_CONFIDENCE */
    long lines;               /* of the journal */
    double budget_s;          /* what the run was begun with, as the first line has it; 0: nobody has named one */
    const char *gpu;          /* "NVIDIA H100 PCIe", as logs of nccl-tests name those of the run; NULL: unknown */
    const char *other_gpu;    /* the first in them that is another model or board; NULL: none */
    struct option_list asked; /* likewise, what it was to measure: "--sizes=1M,64M" */
};

/* Reads a journal, from a file or from text in memory (`path` is only named in errors). Broken lines are reported to
 * `log` with their number and skipped; a file that is no journal at all is an error. Free with bench_results_free. */
struct bench_results *bench_results_load(const char *path, struct log *log, struct err *e);
struct bench_results *bench_results_parse(const char *path, const char *text, size_t bytes, struct log *log,
                                          struct err *e);
/* Adds all of a journal to `r`, in the same way. */
int bench_results_take(struct bench_results *r, struct file_lines *lines, struct log *log, struct err *e);
/* Adds a copy of the item; what it points to is kept. */
void bench_results_push(struct bench_results *r, const struct bench_result *item);
/* Refuses more than BENCH_MOST results, or BENCH_STORED bytes. */
int bench_results_check_count(const struct bench_results *r, const char *path, struct err *e);
/* Adds the measurement that stands in line `line` of the journal `path`. */
int bench_results_add(struct bench_results *r, const struct cJSON *doc, const char *path, long line, struct err *e);
void bench_results_free(struct bench_results *r); /* NULL is fine */

/* ---- the journal being written: results.jsonl, open for appending. ---- */

/* With what it holds, line for line as another program would read it. */
struct bench_journal {
    int fd;
    const char *path;
    struct bench_results *results; /* grows with every line; freed by bench_journal_close unless taken away (NULL) */
};

/* Makes a new journal, whose first line keeps what the run may take (an existing non-empty file is an error unless
 * `resume`), or cuts a broken last line off an existing one, checks that it holds for the same topology (NULL or "":
 * any), and reads it: broken lines are reported to `log`. */
int bench_journal_open(struct bench_journal *j, const char *path, const char *topology_hash, double budget_s,
                       int resume, struct log *log, struct err *e);
/* Keep in the first line of a journal without results what the run is to measure. */
int bench_journal_ask(struct bench_journal *j, const struct option_list *asked, struct err *e);
/* Seconds that are left of a run's budget behind its last result; 0: nobody has named one. */
double bench_left_s(const struct bench_results *r);
/* The same of a journal, also where it cannot be read. */
double bench_journal_left_s(const char *path);
/* `n` lines, which also join `results`. They go out in one write followed by fdatasync; where it fails, none does. */
int bench_journal_append(struct bench_journal *j, const struct bench_result *r, int n, struct err *e);
/* A line of what disturbed the measurement; none where nothing did. */
int bench_journal_append_noise(struct bench_journal *j, const struct findings *noise, struct err *e);
void bench_journal_close(struct bench_journal *j);

/* ---- measurements for other programs. ---- */

/* A line a measurement, tidy: what it was, how many samples, their median, least and most in microseconds, algbw and
 * busbw in GB/s. Fields are quoted as RFC 4180 has it. */
void bench_export_csv(const struct bench_results *r, FILE *out);

/* nccltune's own journal, nccltune-results.jsonl(5). */
void bench_export_journal(const struct bench_results *r, FILE *out);
