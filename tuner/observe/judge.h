/* Judge a job's record: its ranks and, with earlier records, its calls.
 *
 * The time of a call on a GPU holds the wait for the rank that comes last, which itself does not wait: a rank whose
 * calls take the least of its communicator in all is the one that the others wait for, be it at every call or at a few.
 * Where no such times were asked for there are the hosts': when each of them entered a call. They show hosts that are
 * late, as behind a data loader, and not GPUs, which their hosts run ahead of. */
#pragma once

#include "tuner/observe/record.h"

/* Ranks that come last. They are told where the others waited OBSERVE_SHARE of their time in calls for them. */
#define OBSERVE_SHARE 0.05

struct observe_late {
    int rank;         /* -1: all of its host */
    const char *host; /* "" unknown; in the job */
    double waited_us; /* that each other rank of their communicators waited, on average; by_hosts: how much later than
                         the others its host entered the calls that it was late to, on average */
    double share;     /* of the time that those spent in calls; by_hosts: of its calls */
    int by_hosts;     /* known by the hosts' times alone; else by the GPUs' */
};

/* Nonzero if the job has times of GPUs that ranks can be compared by, and else of hosts. */
enum observe_basis { OBSERVE_NOTHING, OBSERVE_GPUS, OBSERVE_HOSTS };
enum observe_basis observe_basis(const struct observe_job *j);
const char *observe_basis_name(enum observe_basis basis); /* "none", "gpus", "hosts" */

/* Hosts are late from here on: clocks of nodes are set over a network. */
#define OBSERVE_HOST_US 5000.0

/* The most waited-for first; how many, at most `most`. Calls and entries of the job are sorted. AllReduce, AllGather
 * and ReduceScatter of communicators that are known by name count; what is called on the way of data, like a Broadcast,
 * has ranks that wait by right. */
size_t observe_late(const struct observe_job *j, struct observe_late *late, size_t most);

/* A call of a job: that of all ranks and communicators of the same shape; its time is the shortest of their medians. */
struct observe_point {
    struct observe_call call; /* rank is of no meaning */
    const struct observe_job *job;
};

/* Sorted by what the calls are; freed by the caller. NULL: none, or no memory. */
struct observe_point *observe_points(const struct observe_job *j, size_t *count);

/* A call that takes longer than it did in earlier jobs: OBSERVE_SLOWER times their median, and longer than in any. */
#define OBSERVE_SLOWER 1.25
#define OBSERVE_LEAST  8 /* calls whose times are known */

struct observe_drift {
    struct observe_point now, before; /* before: the earlier job whose time is the median */
    double times;                     /* now over before */
    double lost_us;                   /* by all calls of the job together */
    size_t jobs;                      /* earlier ones that have the call */
};

/* Those that cost most first; how many, at most `most`. `before`: points of earlier jobs, as observe_points sorts each
 * job's. */
struct observe_earlier {
    const struct observe_point *points;
    size_t count;
};
const struct observe_point *observe_find_point(const struct observe_earlier *e, const struct observe_call *call);
size_t observe_drifts(const struct observe_point *now, size_t count, const struct observe_earlier *before, size_t jobs,
                      struct observe_drift *drifts, size_t most);

/* One sentence each, without an end of line. */
#define OBSERVE_SENTENCE 512
void observe_say_late(const struct observe_late *late, char to[OBSERVE_SENTENCE]);
void observe_say_drift(const struct observe_drift *d, char to[OBSERVE_SENTENCE]);
