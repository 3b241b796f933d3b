/* The verbs library's functions, which only note what they are asked for. */
#ifndef TESTS_UNIT_BENCH_ENGINES_VERBS_NOTED_VERBS_H
#define TESTS_UNIT_BENCH_ENGINES_VERBS_NOTED_VERBS_H

#include <errno.h>

#include "bench/engines/verbs/verbs.h"
#include "core/progress.h"
#include "tests/lib/noted.h"
#include "tests/lib/unit.h"

/* ibverbs' macros would send these names elsewhere. */
#undef ibv_query_port
#undef ibv_reg_mr

enum call { NOTHING, OPEN, QUERY, PD, CQ, REGISTER, QP, INIT, RTR, RTS, POST };

static enum call failing;
static int code;         /* how it fails */
static unsigned last;    /* number of a queue pair */
static uint32_t psns[2]; /* sent, received */
static struct ibv_port_attr attr;
static struct ibv_device devices[2] = {{.name = "mlx5_0"}, {.name = "mlx5_10"}}, *list[3] = {&devices[0], &devices[1]};
static struct ibv_wc completion;
static int completions, asked_port;
static struct err e;

static int fails(enum call call)
{
    errno = call == failing ? code : 0;
    return errno;
}

/* ---- the library ---- */

struct ibv_device **ibv_get_device_list(int *n)
{
    *n = 2;
    return list;
}

void ibv_free_device_list(struct ibv_device **devices_)
{
    assert_ptr_equal(devices_, list);
    note("free list");
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)bad;
    note("post on %u: %u bytes at %+d, key %u, to %+d, key %u, id %llu%s, %d part, opcode %d", qp->qp_num,
         wr->sg_list->length, (int)(wr->sg_list->addr - 0x1000), wr->sg_list->lkey,
         (int)(wr->wr.rdma.remote_addr - 0x2000), wr->wr.rdma.rkey, (unsigned long long)wr->wr_id,
         wr->send_flags == IBV_SEND_SIGNALED ? ", signaled" : "", wr->num_sge, wr->opcode);
    return fails(POST);
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    (void)cq;
    assert_int_equal(n, 1);
    *wc = completion;
    return completions;
}

static struct ibv_context context = {.device = &devices[1], .ops = {.post_send = post_send, .poll_cq = poll_cq}};

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    note("open %s", device->name);
    return fails(OPEN) ? NULL : &context;
}

int ibv_close_device(struct ibv_context *c)
{
    assert_ptr_equal(c, &context);
    note("close device");
    return 0;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *out)
{
    (void)c;
    note("query port %d", port);
    *(struct ibv_port_attr *)out = attr;
    return fails(QUERY);
}

/* GID 1 is empty, 3 cannot be read, 4 is of a kind that nobody knows. */
int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port_, uint32_t index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t size)
{
    static const uint32_t types[] = {IBV_GID_TYPE_IB, 0, IBV_GID_TYPE_ROCE_V2, 0, 7, IBV_GID_TYPE_ROCE_V1};
    (void)c;
    assert_true((int)port_ == asked_port && !flags && size == sizeof *entry);
    *entry = (struct ibv_gid_entry){.gid_type = types[index]};
    memset(entry->gid.raw, 'a' + (int)index, sizeof entry->gid.raw);
    return index == 1 ? ENODATA : index == 3 ? EPERM : 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *c)
{
    static struct ibv_pd pd;
    pd.context = c;
    note("pd");
    return fails(PD) ? NULL : &pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    (void)pd;
    note("no pd");
    return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *c, int entries, void *user, struct ibv_comp_channel *channel,
                             int vector)
{
    static struct ibv_cq cq;
    cq.context = c;
    note("cq of %d%s", entries, user || channel || vector ? ", odd" : "");
    return fails(CQ) ? NULL : &cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    (void)cq;
    note("no cq");
    return 0;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    static struct ibv_mr mr = {.rkey = 77, .lkey = 66};
    (void)pd;
    note("register %zu bytes%s%s", bytes, access & IBV_ACCESS_LOCAL_WRITE ? ", local write" : "",
         access & IBV_ACCESS_REMOTE_WRITE ? ", remote write" : "");
    memset(address, 1, bytes); /* it is there */
    return fails(REGISTER) ? NULL : &mr;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    assert_int_equal(mr->rkey, 77);
    note("no memory");
    return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *x)
{
    static struct ibv_qp qps[VERBS_MAX_QPS];
    struct ibv_qp *qp = &qps[last % VERBS_MAX_QPS];
    *qp = (struct ibv_qp){.context = pd->context, .qp_num = 100 + ++last};
    assert_true(x->send_cq && x->recv_cq == x->send_cq && x->qp_type == IBV_QPT_RC && !x->cap.max_inline_data);
    note("qp of %u and %u, %u and %u parts", x->cap.max_send_wr, x->cap.max_recv_wr, x->cap.max_send_sge,
         x->cap.max_recv_sge);
    return fails(QP) ? NULL : qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    note("no qp %u", qp->qp_num);
    return 0;
}

static const char *address_text(const struct ibv_ah_attr *ah)
{
    if (!ah->is_global)
        return arena_printf(arena, "lid %d by port %d", ah->dlid, ah->port_num);
    return arena_printf(arena, "lid %d gid %c by port %d gid %d, %d hops", ah->dlid, ah->grh.dgid.raw[0] + 'a',
                        ah->port_num, ah->grh.sgid_index, ah->grh.hop_limit);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *x, int mask)
{
    static const int masks[] = {[IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                                [IBV_QPS_RTR] = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                                [IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC};
    assert_int_equal(mask, masks[x->qp_state]);
    if (x->qp_state == IBV_QPS_INIT)
        note("%u init: port %d, access %d", qp->qp_num, x->port_num, (int)x->qp_access_flags);
    else if (x->qp_state == IBV_QPS_RTR)
        note("%u rtr: to %u, mtu %d, rd %d, rnr %d, %s", qp->qp_num, x->dest_qp_num, x->path_mtu, x->max_dest_rd_atomic,
             x->min_rnr_timer, address_text(&x->ah_attr));
    else
        note("%u rts: timeout %d, retries %d and %d, rd %d", qp->qp_num, x->timeout, x->retry_cnt, x->rnr_retry,
             x->max_rd_atomic);
    if (x->qp_state == IBV_QPS_RTR)
        psns[1] = x->rq_psn;
    if (x->qp_state == IBV_QPS_RTS)
        psns[0] = x->sq_psn;
    return fails(x->qp_state == IBV_QPS_INIT ? INIT : x->qp_state == IBV_QPS_RTR ? RTR : RTS);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return status == IBV_WC_RETRY_EXC_ERR ? "retries exceeded" : "another";
}

static void begin_verbs(void)
{
    arena = arena_new();
    notes = "";
    failing = NOTHING;
    last = 0;
    asked_port = 7;
    attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE, .lid = 5, .active_mtu = IBV_MTU_4096, .gid_tbl_len = 3};
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

#endif
