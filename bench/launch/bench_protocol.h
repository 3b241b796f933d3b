/* What the conductor and a worker say to one another: one JSON object a line.
 *
 *   worker:     {"hello": {"library": "Open MPI 4.1.4", "nodes": 2, "ranks": 4}}
 *   conductor:  {"collective": "allreduce", "bytes": 65536, "samples": 3, "check": true,
 *                "calls": [{"settings": {"coll_tuned_allreduce_algorithm": "4"}, "iterations": 10}, ...]}
 *   worker:     {"call": 0, "us": 231.4}                            one sample
 *               {"call": 1, "status": "wrong", "detail": "..."}     no more of this call
 *               {"done": true}                                      the request is answered
 *               {"error": "..."}                                    the worker gives up
 *
 * The end of its input ends a worker. */
#ifndef BENCH_LAUNCH_BENCH_PROTOCOL_H
#define BENCH_LAUNCH_BENCH_PROTOCOL_H

#include "bench/candidates/engine.h"

#define WIRE_LINE ((size_t)1 << 16) /* the longest line, with its newline */

/* A request with its newline, for free(); NULL when memory is short or the line would be too long. */
char *wire_request_print(const struct bench_batch *batch);

/* The other way; everything in `a`. */
int wire_request_parse(const char *text, size_t bytes, struct arena *a, struct bench_batch *batch, struct err *e);

enum wire_kind { WIRE_HELLO, WIRE_SAMPLE, WIRE_DONE, WIRE_ERROR };

struct wire_answer {
    enum wire_kind kind;
    int nodes, ranks;         /* WIRE_HELLO */
    int call;                 /* WIRE_SAMPLE */
    enum bench_status status; /* WIRE_SAMPLE */
    double us;                /* WIRE_SAMPLE with BENCH_OK */
    char text[BENCH_DETAIL];  /* library, detail or error */
};

char *wire_answer_print(const struct wire_answer *w); /* as wire_request_print */
int wire_answer_parse(const char *text, size_t bytes, struct wire_answer *w, struct err *e);

#endif
