/* Between the readers of formats and what becomes of their rows. */
#pragma once

#include "bench/import/import.h"

#define IMPORT_WORDS    40 /* of a line that are looked at */
#define IMPORT_WARNINGS 10 /* about single rows before the rest is counted */

/* Columns of rccl-tests' CSV. */
enum import_column {
    IMPORT_SIZE,
    IMPORT_TIME,
    IMPORT_NAME,
    IMPORT_NODES,
    IMPORT_RANKS,
    IMPORT_IN_PLACE,
    IMPORT_WRONG,
    IMPORT_TYPE,
    IMPORT_COLUMNS
};

/* One run of a program: what its rows have in common. */
struct import_run {
    const char *library;
    int coll; /* -1 not known */
    const char **hosts;
    int nhosts, ranks, nodes; /* `nodes` where no hosts are listed */
    struct bench_setting *settings;
    int nsettings;
    int graph, rows;
    int time[2], wrong[2]; /* columns of nccl-tests' tables, out of place and in place; below 0: none */
    struct import_clues clues;
    int is_left_out;                      /* and that was told */
    int csv_columns, csv[IMPORT_COLUMNS]; /* how many there are; where each stands, -1 nowhere */
};

struct import_row {
    uint64_t bytes;
    const char *type; /* "float"; NULL unknown */
    int in_place;
    double time_us;
    const double *times_us; /* of single calls, where those are known */
    int ntimes;
    int wrong;
};

struct import {
    const struct import_given *given;
    struct bench_results *results; /* an item's `round` is the number of its run until all are read */
    struct arena *arena;
    struct log *log;
    const char *path;
    long line, left_line, left_out, warnings; /* left_line: the last one in this file that was left out */
    unsigned programs;                        /* that this file names */
    int first;                                /* of its rows among the results */
    struct import_run *runs;
    int nruns, journals; /* a journal may have no row */
};

/* runs.c */
struct import_run *import_run(struct import *m);         /* the one that is being read */
struct import_run *import_next_run(struct import *m);    /* a new one, unless the present one has no rows */
struct import_run *import_begin_run(struct import *m);   /* the present one anew, with nothing known of it */
void import_program(struct import *m, const char *text); /* the collective, where it names "all_reduce_perf" */
void import_host(struct import *m, const char *host);    /* one more rank, there */
void import_version(struct import *m, long code);        /* 22807 */
void import_set(struct import *m, const char *name, size_t length, const char *value, size_t bytes);
void import_row(struct import *m, const struct import_row *row);
void import_tell_runs(struct import *m);       /* when a file is read */
void import_name_candidates(struct import *m); /* when all runs are known */
