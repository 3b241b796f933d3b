/* Stragglers and regressions in the captures of many jobs. */
#pragma once

#include <stdio.h>

#include "core/arena.h"
#include "core/err.h"
#include "tuner/observe/judge.h"

struct cJSON;

#define DRIFT_FORMAT   "nccltune-drift/1"
#define DRIFT_FINDINGS 64 /* of a kind in a job */

struct drift_job {
    const char *dir;
    struct observe_job seen; /* its ranks; calls and entries of one job at a time are in memory */
    enum observe_basis basis;
    double between_us; /* from one call to the next, by the clock of a host; 0 unknown */
    uint64_t calls;    /* the same for jobs that make the same calls */
    struct observe_point *points;
    size_t npoints;
    struct observe_late late[DRIFT_FINDINGS];
    struct observe_drift drifts[DRIFT_FINDINGS];
    size_t nlate, ndrifts;
};

/* One that jobs waited for: a host, or a place on hosts, which on machines with a port a GPU is a rail. */
struct drift_cause {
    const char *host;   /* NULL: a place */
    int place;          /* rank modulo the ranks of a node */
    size_t jobs;        /* that had it */
    size_t late;        /* ... and waited for it */
    const char **hosts; /* of a place: on which, each once */
    size_t nhosts;
    double waited_us; /* of all those, by each of the others */
    size_t by_hosts;  /* jobs in which it was late by the hosts' times, ... */
    double behind_us; /* ... and by how much, in all */
};

/* The drift of a call in the latest job that has it. */
struct drift_fleet {
    struct drift_job **jobs;       /* as they began */
    size_t njobs, nfiles, npoints; /* in all */
    struct drift_cause
        *causes; /* the most waited-for first, hosts before places; those that nobody waited for are not in it */
    size_t ncauses;
    struct observe_drift *calls; /* those of the last jobs, the dearest first; each once */
    size_t ncalls;
};

/* Reads JOB.rank.N.json of the directories and judges each job beside those that began before it. NULL after an error:
 * a directory that cannot be read, or none of them with a capture. */
struct drift_fleet *drift_read(const char *const *dirs, size_t ndirs, struct arena *a, struct err *e);
void drift_free(struct drift_fleet *f); /* NULL is fine; the arena keeps the rest */

void drift_print(const struct drift_fleet *f, FILE *out);
struct cJSON *drift_json(const struct drift_fleet *f);
