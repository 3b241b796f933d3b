/* Ports: open, read their GIDs, close; and the words for failures of verbs calls. */
#include "bench/engines/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/sysfs.h"

static struct ibv_context *open_device(const char *hca, struct err *e)
{
    char words[VERBS_FAILURE_TEXT];
    int n = 0;
    struct ibv_context *context = NULL;
    struct ibv_device **devices = ibv_get_device_list(&n);
    int found = -1;
    for (int i = 0; devices && i < n; i++)
        if (!strcmp(ibv_get_device_name(devices[i]), hca))
            found = i;
    if (found < 0)
        err_set(e, ERR_LACKS, "%s: no such RDMA device here (%d found)", hca, devices ? n : 0);
    else if (!(context = ibv_open_device(devices[found])))
        err_set(e, ERR_LACKS, "%s: %s", hca, verbs_say_errno(words, VERBS_OPEN, errno));
    if (devices)
        ibv_free_device_list(devices);
    return context;
}

/* The whole table, with its empty entries: NCCL walks over them, too. */
static int read_gids(struct verbs_port *p, struct arena *a, struct err *e)
{
    static const int roce[] = {[IBV_GID_TYPE_IB] = 0, [IBV_GID_TYPE_ROCE_V1] = 1, [IBV_GID_TYPE_ROCE_V2] = 2};
    p->gids.count = p->attr.gid_tbl_len;
    p->gids.gids = arena_alloc(a, (size_t)p->gids.count * sizeof *p->gids.gids);
    for (int i = 0; i < p->gids.count; i++) {
        struct ibv_gid_entry entry;
        int error = ibv_query_gid_ex(p->context, (uint32_t)p->port, (uint32_t)i, &entry, 0);
        if (error == ENODATA)
            continue;
        if (error)
            return err_set(e, ERR_LACKS, "%s: reading GID %d: %s", p->name, i, strerror(error));
        memcpy(p->gids.gids[i].raw, entry.gid.raw, sizeof entry.gid.raw);
        p->gids.gids[i].roce = entry.gid_type <= IBV_GID_TYPE_ROCE_V2 ? roce[entry.gid_type] : 0;
    }
    return 0;
}

struct verbs_port *verbs_port_open(struct arena *a, const char *node, const char *hca, int port, struct err *e)
{
    struct ibv_context *context = open_device(hca, e);
    if (!context)
        return NULL;
    struct verbs_port *p = ARENA_NEW(a, struct verbs_port);
    p->context = context;
    p->port = port;
    p->name = arena_printf(a, "%s:%d", hca, port);
    int error = port < 1 || port > UINT8_MAX ? EINVAL : ibv_query_port(context, (uint8_t)port, &p->attr);
    if (error) {
        err_set(e, ERR_LACKS, "%s has no port %d: %s", hca, port, strerror(error));
        goto fail;
    }
    p->gids.node = arena_strdup(a, node);
    p->gids.port = p->name;
    p->gids.asked = getenv("NCCL_IB_GID_INDEX");
    p->gids.infiniband = p->attr.link_layer == IBV_LINK_LAYER_INFINIBAND;
    if (read_gids(p, a, e))
        goto fail;
    return p;
fail:
    ibv_close_device(context);
    return NULL;
}

void verbs_port_close(struct verbs_port *p)
{
    if (p)
        ibv_close_device(p->context);
}

int verbs_port_all_here(const char *list)
{
    int n = 0, all = 1;
    struct ibv_device **devices = ibv_get_device_list(&n);
    for (const char *p = list; all && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t length = strcspn(p, ":,");
        int found = 0;
        for (int i = 0; devices && i < n && !found; i++) {
            const char *name = ibv_get_device_name(devices[i]);
            found = strlen(name) == length && !strncmp(name, p, length);
        }
        all = found;
    }
    if (devices)
        ibv_free_device_list(devices);
    return all;
}

int verbs_mtu_bytes(enum ibv_mtu mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

/* From the codes of the port's attributes, where the kernel has no file: lanes and Gb/s a lane (InfiniBand Architecture
 * Specification, PortInfo). */
static double rate_of_codes(const struct ibv_port_attr *attr)
{
    static const struct {
        int code;
        double value;
    } widths[] = {{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}},
      speeds[] = {{1, 2.5}, {2, 5}, {4, 10}, {8, 10}, {16, 14}, {32, 25}, {64, 50}, {128, 100}};
    double lanes = 0, per_lane = 0;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        lanes = widths[i].code == attr->active_width ? widths[i].value : lanes;
    for (size_t i = 0; i < sizeof speeds / sizeof *speeds; i++)
        per_lane = speeds[i].code == attr->active_speed ? speeds[i].value : per_lane;
    return lanes * per_lane;
}

double verbs_port_rate_Gbps(const struct verbs_port *p)
{
    char line[64] = "";
    size_t n = sysfs_bytes((unsigned char *)line, sizeof line - 1, "/sys/class/infiniband/%s/ports/%d/rate",
                           ibv_get_device_name(p->context->device), p->port);
    return n ? strtod(line, NULL) : rate_of_codes(&p->attr); /* "400 Gb/sec (4X NDR)" */
}

/* ---- failures in words ----
 *
 * Causes are those that libibverbs' manual pages (ibv_modify_qp, ibv_poll_cq, ibv_reg_mr) and the InfiniBand
 * Architecture Specification (9.9, error handling) give for them. */

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
    {VERBS_REGISTER, ENOMEM, "limit of locked memory: check ulimit -l (Slurm: PropagateResourceLimitsExcept=MEMLOCK)"},
    {VERBS_REGISTER, EFAULT, "this memory cannot be registered; GPU memory needs dma-buf or nvidia-peermem"},
    {VERBS_CREATE, ENOMEM, "the device's queue pairs are used up, or the limit of locked memory is too low"},
    {VERBS_CREATE, EINVAL, "the device cannot queue as much as asked for"},
    {VERBS_RTR, ETIMEDOUT, "no answer from the peer's address: no route, wrong VLAN, link down at the other end"},
    {VERBS_RTR, EINVAL, "the two GIDs are of different kinds, or the index is empty on one side"},
    {VERBS_RTR, ENETUNREACH, "no route from this GID's address to the peer's"},
    {VERBS_RTR, EHOSTUNREACH, "no answer from the peer's address on this network"},
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
    {IBV_WC_REM_ACCESS_ERR, "the other end's memory key or address is invalid: its registration was lost"},
    {IBV_WC_REM_INV_REQ_ERR, "the other end refuses the request: length or access flags"},
    {IBV_WC_REM_OP_ERR, "the other end could not execute it: its device or memory reports an error"},
    {IBV_WC_LOC_PROT_ERR, "this end's memory key is invalid"},
    {IBV_WC_LOC_LEN_ERR, "message longer than the port takes"},
    {IBV_WC_LOC_QP_OP_ERR, "this end's queue pair was used in a wrong state"},
    {IBV_WC_WR_FLUSH_ERR, "the queue pair had failed before: see the first error"},
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
