/* The words for failures of verbs calls. Causes are those that libibverbs' manual pages (ibv_modify_qp, ibv_poll_cq,
 * ibv_reg_mr) and the InfiniBand Architecture Specification (9.9, error handling) give for them. */
#include "bench/fabric/failure_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *const steps[VERBS_STEP_COUNT] = {
    [VERBS_OPEN] = "opening the port",        [VERBS_REGISTER] = "registering memory",
    [VERBS_CREATE] = "creating queue pairs",  [VERBS_INIT] = "initialising queue pairs (INIT)",
    [VERBS_RTR] = "connecting (RTR)",         [VERBS_RTS] = "connecting (RTS)",
    [VERBS_POST] = "posting a write",         [VERBS_COMPLETE] = "waiting for completions",
    [VERBS_VERIFY] = "verifying the payload", [VERBS_EXCHANGE] = "exchanging data with the other side",
};

const char *verbs_step_name(enum verbs_step s)
{
    return (unsigned)s < VERBS_STEP_COUNT ? steps[s] : "an unknown step";
}

static const struct {
    enum verbs_step step;
    int error;
    const char *cause;
} errno_causes[] = {
    {VERBS_OPEN, EACCES, "no permission for /dev/infiniband/uverbs*"},
    {VERBS_OPEN, ENOENT, "/dev/infiniband/uverbs* is missing: module ib_uverbs, or the container was not given it"},
    {VERBS_REGISTER, ENOMEM, "limit of locked memory: see ulimit -l (Slurm: PropagateResourceLimitsExcept=MEMLOCK)"},
    {VERBS_REGISTER, EFAULT, "this memory cannot be registered; GPU memory needs dma-buf or nvidia-peermem"},
    {VERBS_CREATE, ENOMEM, "the device's queue pairs are used up, or the limit of locked memory is too low"},
    {VERBS_CREATE, EINVAL, "the device cannot queue as much as asked for"},
    {VERBS_RTR, ETIMEDOUT, "nobody answers for the peer's address: no route, wrong VLAN, link down at the other end"},
    {VERBS_RTR, EINVAL, "the two GIDs are of different kinds, or the index is empty on one side"},
    {VERBS_RTR, ENETUNREACH, "no route from this GID's address to the peer's"},
    {VERBS_RTR, EHOSTUNREACH, "nobody answers for the peer's address on this network"},
    {VERBS_RTR, ENODATA, "the GID index is empty, or not of this network namespace"},
    {VERBS_RTR, ENODEV, "the GID's network interface is down, or not of this network namespace"},
    {VERBS_EXCHANGE, ETIMEDOUT, "the other side hangs or died"},
    {VERBS_EXCHANGE, EPIPE, "the other side ended"},
    {VERBS_COMPLETE, ETIMEDOUT, "the deadline passed without an error: a link that is far too slow, or pauses forever"},
};

/* vendor errors differ by device; the status says what counts */
static const struct {
    enum ibv_wc_status status;
    const char *cause;
} status_causes[] = {
    {IBV_WC_RETRY_EXC_ERR, "the other end does not acknowledge: link or port down, switch or firewall drops RoCE (UDP "
                           "4791), MTU larger than the path takes, or the wrong partition key"},
    {IBV_WC_RNR_RETRY_EXC_ERR, "the other end has posted no receive: its process is stuck"},
    {IBV_WC_REM_ACCESS_ERR, "the other end's memory key or address does not hold: its registration was lost"},
    {IBV_WC_REM_INV_REQ_ERR, "the other end refuses the request: length or access flags"},
    {IBV_WC_REM_OP_ERR, "the other end could not carry it out: its device or memory reports an error"},
    {IBV_WC_LOC_PROT_ERR, "this end's memory key does not hold"},
    {IBV_WC_LOC_LEN_ERR, "message longer than the port takes"},
    {IBV_WC_LOC_QP_OP_ERR, "this end's queue pair was used in a wrong state"},
    {IBV_WC_WR_FLUSH_ERR, "the queue pair had failed before: the first error says why"},
    {IBV_WC_FATAL_ERR, "the device reports a fatal error: see the kernel log"},
    {IBV_WC_RESP_TIMEOUT_ERR, "the other end answered too late"},
};

char *verbs_say_errno(char text[VERBS_FAILURE_TEXT], enum verbs_step s, int error)
{
    const char *cause = NULL;
    for (size_t i = 0; i < sizeof errno_causes / sizeof *errno_causes && !cause; i++)
        if (errno_causes[i].step == s && errno_causes[i].error == error)
            cause = errno_causes[i].cause;
    snprintf(text, VERBS_FAILURE_TEXT, "%s failed: %s (errno %d)%s%s", verbs_step_name(s), strerror(error), error,
             cause ? ": " : "", cause ? cause : "");
    return text;
}

char *verbs_say_completion(char text[VERBS_FAILURE_TEXT], enum ibv_wc_status status, unsigned vendor_error)
{
    const char *cause = NULL;
    for (size_t i = 0; i < sizeof status_causes / sizeof *status_causes && !cause; i++)
        if (status_causes[i].status == status)
            cause = status_causes[i].cause;
    snprintf(text, VERBS_FAILURE_TEXT, "%s (completion status %d, vendor error 0x%x)%s%s", ibv_wc_status_str(status),
             (int)status, vendor_error, cause ? ": " : "", cause ? cause : "");
    return text;
}
