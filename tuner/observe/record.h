/* Calls of a job's ranks, read from the files of a capture (tuner/capture/file.h).
 *
 * libc only, because a job reads at its end what its ranks and earlier jobs have left. Files may be anybody's: a line
 * that is not as a capture writes it is not taken, and what is read is bounded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define OBSERVE_WORD    72         /* longest name of a job or host, with its end */
#define OBSERVE_RANKS   8192       /* of a job that are read */
#define OBSERVE_CALLS   400000     /* kinds of calls of all ranks of a job that are read: 40 MB */
#define OBSERVE_BYTES   (4U << 20) /* of one file */
#define OBSERVE_ENTRIES 1000000    /* of all ranks of a job that are read: 32 MB */

/* One kind of call as one rank saw it. */
struct observe_call {
    uint64_t bytes, count, timed; /* timed: calls whose time is known */
    uint64_t group;               /* the communicator, the same on all its ranks; 0 unknown */
    double median_us, total_us;   /* of those that were timed; median -1 unknown */
    double steady_us;             /* their mean without the longest few; -1 unknown */
    int kind;                     /* enum coll */
    int group_size, stride, crosses_nodes;
    int algo, proto, channels; /* -1, -1, 0 unknown */
    char dtype[12];            /* "" unknown */
    unsigned rank;             /* place in observe_job.ranks */
};

/* When a rank's host entered the n-th call of a communicator. */
struct observe_entry {
    uint64_t group, number, at_us; /* since 1970 */
    unsigned rank;                 /* place in observe_job.ranks */
};

struct observe_rank {
    int rank;
    char host[OBSERVE_WORD];
    double seconds;        /* of its capture; 0 unknown */
    double clock_error_us; /* -1 unknown */
};

struct observe_job {
    char name[OBSERVE_WORD];
    uint64_t began;     /* seconds since 1970, of the first rank; 0 unknown */
    int size, per_node; /* ranks as the launcher told them; 0 unknown */
    struct observe_rank *ranks;
    struct observe_call *calls;
    struct observe_entry *entries;
    size_t nranks, ncalls, nentries;
    int cut; /* there was more than is read */
};

/* Head of a rank's file. */
struct observe_head {
    char name[OBSERVE_WORD], host[OBSERVE_WORD];
    uint64_t began, seconds;
    int rank, size, per_node, ended; /* rank -1: not told by a launcher */
};

/* 0, or -1: no such file. */
int observe_head(const char *text, size_t bytes, struct observe_head *h);

/* Adds one rank's file; a rank that is there already is left as it is. 0; -1: no such file, of another job, or no
 * memory. A zeroed job is an empty one. */
int observe_add(struct observe_job *j, const char *text, size_t bytes);
void observe_free(struct observe_job *j);

/* Reads a regular file of at most OBSERVE_BYTES: its text, ended by 0 and freed by the caller; NULL: it cannot be read.
 */
char *observe_read(const char *path, size_t *bytes);

/* Names of files of other jobs than `own` ("": of all) in a directory, at most `most`: jobs have numbers that grow, and
 * those of the highest come first. */
#define OBSERVE_NAME 256
size_t observe_latest(const char *dir, const char *pattern, const char *own, char (*names)[OBSERVE_NAME], size_t most);
