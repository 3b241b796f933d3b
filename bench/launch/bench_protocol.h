/* What the conductor and a worker say to one another: one JSON object a line.
 *
 *   worker:     {"hello": {"library": "Open MPI 4.1.4", "nodes": 2, "ranks": 4}}
 *   conductor:  {"collective": "allreduce", "bytes": 65536, "samples": 3, "check": true,
 *                "calls": [{"settings": {"coll_tuned_allreduce_algorithm": "4"}, "iterations": 10}, ...]}
 *                "group": {"nodes": 1, "ranks": 2, "others": 1, "load": 0}: by groups of that shape; missing: all ranks
 *   worker:     {"call": 0, "us": 231.4, "slowdown": 1.2}           one sample, beside a load
 *               {"call": 1, "status": "wrong", "detail": "..."}     no more of this call
 *               {"done": true}                                      the request is answered
 *               {"error": "..."}                                    the worker gives up
 *
 * The end of its input ends a worker. */
#ifndef BENCH_LAUNCH_BENCH_PROTOCOL_H
#define BENCH_LAUNCH_BENCH_PROTOCOL_H

#include "bench/launch/batch.h"

#define PROTOCOL_LINE ((size_t)1 << 16) /* the longest line, with its newline */

/* A request with its newline, for free(); NULL when memory is short or the line would be too long. */
char *protocol_request_print(const struct bench_batch *batch);

/* The other way; everything in `a`. */
int protocol_request_parse(const char *text, size_t bytes, struct arena *a, struct bench_batch *batch, struct err *e);

enum protocol_kind { PROTOCOL_HELLO, PROTOCOL_SAMPLE, PROTOCOL_DONE, PROTOCOL_ERROR };

struct protocol_answer {
    enum protocol_kind kind;
    int nodes, ranks;         /* PROTOCOL_HELLO */
    int call;                 /* PROTOCOL_SAMPLE */
    enum bench_status status; /* PROTOCOL_SAMPLE */
    double us;                /* PROTOCOL_SAMPLE with BENCH_OK */
    double slowdown;          /* the same: of what ran beside; 0: nothing did */
    char text[BENCH_DETAIL];  /* library, detail or error */
};

char *protocol_answer_print(const struct protocol_answer *w); /* as protocol_request_print */
int protocol_answer_parse(const char *text, size_t bytes, struct protocol_answer *w, struct err *e);

#endif
