/* Faults that the NCCL double commits, from NCCL_DOUBLE_FAULT: entries separated by ';', each a kind and conditions.
 *
 *   hang-init | error-init | hang | crash | wrong | wrong-last | nothing | slow | error | async-error | withhold
 *   [rank=R] [coll=WORD] [algo=WORD] [proto=WORD] [type=NCCLDATATYPE] [min=BYTES] [env=NAME=VALUE] [after=CALLS]
 *   [factor=F]
 *
 * wrong: a byte in the middle of the result; wrong-last: its last one; nothing: the call moves no data at all.
 * error: a WARN and ncclSystemError from the call; async-error: the same seen by ncclCommGetAsyncError, as when a peer
 * is lost; withhold: the rank is not offered the combination. */
#pragma once

#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_HANG_INIT,
    FAULT_ERROR_INIT,
    FAULT_HANG,
    FAULT_CRASH,
    FAULT_WRONG,
    FAULT_WRONG_LAST,
    FAULT_NOTHING,
    FAULT_SLOW,
    FAULT_ERROR,
    FAULT_ASYNC_ERROR,
    FAULT_WITHHOLD,
    FAULT_COUNT,
};

struct fault_call {
    int rank, coll, algo, proto, type; /* coll -1: init */
    uint64_t bytes, number;            /* calls so far */
};

/* The first entry that this call meets; `*factor`, untouched without one, for FAULT_SLOW. A broken entry ends the
 * process with a word on standard error: a test with a misspelt fault must not pass. */
enum fault_kind fault_of(const struct fault_call *c, double *factor);
