/* A double of libibverbs for fabrics that Soft-RoCE cannot show: InfiniBand with LIDs and subnet prefixes, many ports,
 * GPU memory. Preloaded into the programs; a write goes from process to process by process_vm_writev, and its
 * completion comes when a link of that rate would have carried it.
 *
 *   FAKE_VERBS         HCAs of every node: "NAME:PORTS:LAYER:GBPS:SUBNET ...", LAYER ib or roce; GBPS in GB/s; ports of
 *                      different subnets do not reach one another. "mlx5_0:1:ib:1:0 mlx5_1:1:ib:1:1"
 *   FAKE_VERBS_FAULTS  "NODE/HCA=FAULT ...": absent, down, dark (nothing goes in or out), slow (sends a tenth),
 *                      mtu (of 1,024 bytes), flips (a bit of every message of more than 8 bytes)
 *   FAKE_VERBS_PEER_MEMORY  set: GPU memory of the driver double can be registered without dma-buf, too
 *
 * Locked memory is unlimited, as on nodes that have such devices, whatever this machine allows.
 * A node is the number at the end of its host name. What is known of real devices and kept here: an RC queue pair that
 * nobody answers completes with "transport retry counter exceeded" (vendor error 0x81 on ConnectX) and then is in
 * error; LIDs begin at 1; a port's GID 0 is subnet prefix and GUID. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "tests/doubles/nccl_driver.h"

#define MOST_HCAS 64
#define QUEUE     4096 /* completions that wait */

/* ibverbs' macros would send these names elsewhere. */
#undef ibv_query_port
#undef ibv_reg_mr

struct hca {
    struct ibv_device device;
    int index, ports, infiniband, subnet;
    double GBps;
};
struct context {
    struct ibv_context context;
    const struct hca *hca;
};
struct completion {
    uint64_t id;
    uint32_t qp;
    enum ibv_wc_status status;
    double ready_s;
};
struct cq {
    struct ibv_cq cq;
    struct completion queue[QUEUE];
    unsigned head, tail;
};
struct qp {
    struct ibv_qp qp;
    enum ibv_wc_status broken; /* how every write ends */
};

static struct hca hcas[MOST_HCAS];
static double idle_s[MOST_HCAS]; /* when each one's link has carried all it was given */
static int nhcas = -1, node;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int is(int of_node, const char *hca, const char *fault)
{
    char want[128];
    const char *all = getenv("FAKE_VERBS_FAULTS");
    snprintf(want, sizeof want, "%d/%s=%s", of_node, hca, fault);
    for (const char *p = all ? all : ""; (p = strstr(p, want)); p++)
        if ((p == all || p[-1] == ' ') && (p[strlen(want)] == ' ' || !p[strlen(want)]))
            return 1;
    return 0;
}

/* The next part of "NAME:PORTS:LAYER:GBPS:SUBNET NAME:…", without its end; "" behind the last. */
static const char *next_part(const char **p, char part[64])
{
    size_t n = strcspn(*p, ": ");
    snprintf(part, 64, "%.*s", (int)n, *p);
    *p += n + ((*p)[n] != '\0');
    return part;
}

static void read_world(void)
{
    char name[256] = "", part[64];
    const char *p = getenv("FAKE_VERBS");
    gethostname(name, sizeof name - 1);
    size_t digits = strlen(name);
    while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
        digits--;
    node = (int)strtol(name + digits, NULL, 10);
    for (nhcas = 0; p && *p && nhcas < MOST_HCAS; nhcas++) {
        struct hca *h = &hcas[nhcas];
        snprintf(h->device.name, sizeof h->device.name, "%s", next_part(&p, part));
        h->ports = (int)strtol(next_part(&p, part), NULL, 10);
        h->infiniband = !strcmp(next_part(&p, part), "ib");
        h->GBps = strtod(next_part(&p, part), NULL);
        h->subnet = (int)strtol(next_part(&p, part), NULL, 10);
        h->index = nhcas;
    }
}

/* ---- devices and ports ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
    struct ibv_device **list = calloc(MOST_HCAS + 1, sizeof(struct ibv_device *));
    int count = 0;
    if (nhcas < 0)
        read_world();
    for (int i = 0; i < nhcas; i++)
        if (!is(node, hcas[i].device.name, "absent"))
            list[count++] = &hcas[i].device;
    if (n)
        *n = count;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct context *c = calloc(1, sizeof *c);
    c->hca = (const struct hca *)device;
    c->context.device = device;
    c->context.ops.post_send = post_send;
    c->context.ops.poll_cq = poll_cq;
    return &c->context;
}

int ibv_close_device(struct ibv_context *context)
{
    free(context);
    return 0;
}

static const struct hca *hca_of(const struct ibv_context *context)
{
    return ((const struct context *)context)->hca;
}

/* Who a port is, as others see it; both forms can be turned back. */
static uint16_t lid_of(int of_node, int hca, int port)
{
    return (uint16_t)(1 + of_node * 1024 + hca * 16 + port);
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
    const struct hca *h = hca_of(context);
    struct ibv_port_attr *attr =
        (struct ibv_port_attr *)out; /* the older form ends earlier, with these members first */
    if (port < 1 || port > h->ports)
        return EINVAL;
    attr->state = is(node, h->device.name, "down") ? IBV_PORT_DOWN : IBV_PORT_ACTIVE;
    attr->max_mtu = IBV_MTU_4096;
    attr->active_mtu = is(node, h->device.name, "mtu") ? IBV_MTU_1024 : IBV_MTU_4096;
    attr->gid_tbl_len = 4;
    attr->link_layer = h->infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
    attr->lid = h->infiniband ? lid_of(node, h->index, port) : 0;
    attr->active_width = 2;
    attr->active_speed = 128; /* 4 lanes of NDR */
    return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    *attr = (struct ibv_device_attr){.phys_port_cnt = (uint8_t)hca_of(context)->ports};
    return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t size)
{
    const struct hca *h = hca_of(context);
    const unsigned char ib[16] = {0xfe, 0x80, [7] = (unsigned char)h->subnet, [14] = (unsigned char)node};
    const unsigned char v4[16] = {
        [10] = 0xff, 0xff, 10, (unsigned char)(h->subnet * 16 + (int)port), (unsigned char)h->index};
    (void)flags;
    if (index > (h->infiniband ? 0 : 1))
        return ENODATA;
    memset(entry, 0, size);
    entry->port_num = port;
    entry->gid_index = index;
    entry->gid_type = h->infiniband ? IBV_GID_TYPE_IB : index ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
    memcpy(entry->gid.raw, h->infiniband ? ib : v4, 16);
    if (h->infiniband)
        entry->gid.raw[13] = (unsigned char)h->index;
    entry->gid.raw[15] = (unsigned char)(h->infiniband ? port : (uint32_t)node + 1);
    return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags,
                             size_t size)
{
    size_t n = 0;
    for (int port = 1; port <= hca_of(context)->ports; port++)
        for (uint32_t index = 0;
             n < max && !_ibv_query_gid_ex(context, (uint32_t)port, index, &entries[n], flags, size); index++)
            n++;
    return (ssize_t)n;
}

/* ---- memory ---- */

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = calloc(1, sizeof *pd);
    pd->context = context;
    return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    free(pd);
    return 0;
}

/* Whether the driver double (tests/doubles/nccl_driver.c) is loaded and the memory one of its devices'. */
static int is_gpu_memory(const void *address)
{
    double_owner *owns;
    *(void **)&owns = dlsym(RTLD_DEFAULT, "double_owns");
    return owns && owns(address);
}

/* The remote key is the process whose memory it is. */
static struct ibv_mr *register_memory(struct ibv_pd *pd, void *address, size_t bytes)
{
    struct ibv_mr *mr = calloc(1, sizeof *mr);
    *mr = (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = bytes};
    mr->rkey = (uint32_t)getpid();
    return mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    (void)access;
    if (is_gpu_memory(address) && !getenv("FAKE_VERBS_PEER_MEMORY")) {
        errno = EFAULT;
        return NULL;
    }
    return register_memory(pd, address, bytes);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t bytes, uint64_t iova, int fd, int access)
{
    (void)access;
    if (offset || fcntl(fd, F_GETFD) < 0) {
        errno = EBADF;
        return NULL;
    }
    return register_memory(pd, (void *)(uintptr_t)iova, bytes);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    free(mr);
    return 0;
}

/* ---- queues ---- */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *user, struct ibv_comp_channel *channel,
                             int vector)
{
    struct cq *cq = calloc(1, sizeof *cq);
    (void)cqe;
    (void)user;
    (void)channel;
    (void)vector;
    cq->cq.context = context;
    return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    free(cq);
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    static uint32_t last;
    struct qp *qp = calloc(1, sizeof *qp);
    qp->qp = (struct ibv_qp){.context = pd->context, .pd = pd, .send_cq = attr->send_cq, .qp_num = ++last & 0xffffff};
    return &qp->qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    free(qp);
    return 0;
}

/* What a connection to that address comes to: a wrong subnet and a dark port show when nobody answers. */
static enum ibv_wc_status answer_of(const struct hca *mine, const struct ibv_ah_attr *ah)
{
    int peer_node, peer_hca, peer_subnet;
    if (mine->infiniband) {
        int lid = ah->dlid - 1;
        peer_node = lid / 1024;
        peer_hca = lid % 1024 / 16;
        peer_subnet = peer_hca < nhcas && lid >= 0 ? hcas[peer_hca].subnet : -1;
    } else {
        peer_node = ah->grh.dgid.raw[15] - 1;
        peer_hca = ah->grh.dgid.raw[14];
        peer_subnet = ah->grh.dgid.raw[13] / 16;
    }
    int dark = is(node, mine->device.name, "dark") || is(node, mine->device.name, "down") ||
               (peer_hca < nhcas && is(peer_node, hcas[peer_hca].device.name, "dark"));
    return dark || peer_subnet != mine->subnet ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    struct qp *q = (struct qp *)qp;
    if (mask & IBV_QP_AV)
        q->broken = answer_of(hca_of(qp->context), &attr->ah_attr);
    qp->state = attr->qp_state;
    return 0;
}

/* Faulty memory or PCIe on the way. */
static void flip(const struct ibv_send_wr *wr)
{
    uint64_t at = wr->sg_list->length / 2;
    unsigned char byte = *(const unsigned char *)(uintptr_t)(wr->sg_list->addr + at) ^ 1;
    struct iovec from = {&byte, 1}, to = {(void *)(uintptr_t)(wr->wr.rdma.remote_addr + at), 1};
    process_vm_writev((pid_t)wr->wr.rdma.rkey, &from, 1, &to, 1, 0);
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct qp *q = (struct qp *)qp;
    struct cq *cq = (struct cq *)qp->send_cq;
    const struct hca *h = hca_of(qp->context);
    struct iovec from = {(void *)(uintptr_t)wr->sg_list->addr, wr->sg_list->length};
    struct iovec to = {(void *)(uintptr_t)wr->wr.rdma.remote_addr, wr->sg_list->length};
    enum ibv_wc_status status = q->broken;
    double GBps = h->GBps * (is(node, h->device.name, "slow") ? 0.1 : 1), now = now_s();
    if (cq->tail - cq->head >= QUEUE || qp->state != IBV_QPS_RTS) {
        *bad = wr;
        return cq->tail - cq->head >= QUEUE ? ENOMEM : EINVAL;
    }
    if (!status && process_vm_writev((pid_t)wr->wr.rdma.rkey, &from, 1, &to, 1, 0) != (ssize_t)from.iov_len)
        status = IBV_WC_REM_ACCESS_ERR;
    if (!status && from.iov_len > 8 && is(node, h->device.name, "flips"))
        flip(wr);
    double *idle = &idle_s[h->index];
    *idle = (*idle > now ? *idle : now) + (double)from.iov_len / GBps * 1e-9;
    if (wr->send_flags & IBV_SEND_SIGNALED || status)
        cq->queue[cq->tail++ % QUEUE] =
            (struct completion){.id = wr->wr_id, .qp = qp->qp_num, .status = status, .ready_s = *idle};
    return 0;
}

static int poll_cq(struct ibv_cq *queue, int n, struct ibv_wc *wc)
{
    struct cq *cq = (struct cq *)queue;
    if (n < 1 || cq->head == cq->tail || cq->queue[cq->head % QUEUE].ready_s > now_s())
        return 0;
    const struct completion *c = &cq->queue[cq->head++ % QUEUE];
    *wc = (struct ibv_wc){.wr_id = c->id, .qp_num = c->qp, .status = c->status, .vendor_err = c->status ? 0x81 : 0};
    return 1;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_RETRY_EXC_ERR ? "transport retry counter exceeded" : status ? "error" : "success";
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    static int (*real)(__rlimit_resource_t, struct rlimit *);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getrlimit");
    int rc = real(resource, limit);
    if (!rc && resource == RLIMIT_MEMLOCK)
        *limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return rc;
}
