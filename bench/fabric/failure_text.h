/* Failures of verbs calls in words: which step, what the library said, and what usually causes it. */
#ifndef BENCH_FABRIC_FAILURE_TEXT_H
#define BENCH_FABRIC_FAILURE_TEXT_H

#include <infiniband/verbs.h>

/* The steps of a measurement between two ports, in their order. */
enum verbs_step {
    VERBS_OPEN,     /* the device and the port */
    VERBS_REGISTER, /* memory */
    VERBS_CREATE,   /* completion queue and queue pairs */
    VERBS_INIT,     /* queue pairs to INIT */
    VERBS_RTR,      /* … to ready-to-receive: the peer's address is resolved here */
    VERBS_RTS,      /* … to ready-to-send */
    VERBS_POST,
    VERBS_COMPLETE, /* waiting for completions */
    VERBS_VERIFY,   /* the payload */
    VERBS_EXCHANGE, /* exchanging data with the other side, out of band */
    VERBS_STEP_COUNT,
};
const char *verbs_step_name(enum verbs_step s); /* "connecting (RTR)" */

#define VERBS_FAILURE_TEXT 400

/* "connecting (RTR) failed: Connection timed out (110): nobody answers for the peer's address: …" `text` is filled and
 * returned. */
char *verbs_say_errno(char text[VERBS_FAILURE_TEXT], enum verbs_step s, int error);

/* "transport retry counter exceeded (status 12, vendor error 0x81): …" */
char *verbs_say_completion(char text[VERBS_FAILURE_TEXT], enum ibv_wc_status status, unsigned vendor_error);

#endif
