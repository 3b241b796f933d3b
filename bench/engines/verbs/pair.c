/* Connecting two ports by reliable-connection queue pairs, as NCCL's InfiniBand transport does: one GID or LID a side,
 * RDMA writes only. */
#include "bench/engines/verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/progress.h"

/* Acknowledgements are awaited 4.096 µs × 2^18, about a second, and asked for five times in all: long enough for a
 * shaped or paused link, and less than a step's patience. NCCL's own default is 2^20 (4 s). */
#define ACK_TIMEOUT 18
#define ACK_HASTY   14 /* 67 ms: NCCL's default before 2.14 */
#define RETRIES     4
#define RNR_RETRIES 7
/* 0.64 ms, as NCCL asks for (min_rnr_timer 12). */
#define RNR_TIMER 12

/* What the other side needs to know to connect. */
struct card {
    uint32_t qpn[VERBS_MAX_QPS], psn, key;
    uint64_t target, max_bytes;
    union ibv_gid gid;
    uint16_t lid;
    uint8_t mtu, layer;
    int32_t qps;
};

/* Returns -1. */
static int note_failure(struct verbs_report *w, enum verbs_step s, int error)
{
    verbs_say_errno(w->failure, s, error);
    return -1;
}

int verbs_pair_agree(const struct verbs_channel *c, const struct verbs_report *mine, struct verbs_report *theirs,
                     double deadline_s, struct err *e)
{
    char words[VERBS_FAILURE_TEXT];
    int error = c->swap(c->user, mine, theirs, sizeof *mine, deadline_s);
    if (error)
        return err_set(e, ERR_FAILED, "%s: %s%s%s", c->me, verbs_say_errno(words, VERBS_EXCHANGE, error),
                       mine->failure[0] ? "; before that " : "", mine->failure);
    theirs->failure[sizeof theirs->failure - 1] = '\0';
    if (!mine->failure[0] && !theirs->failure[0])
        return 0;
    if (mine->failure[0] && theirs->failure[0]) {
        /* In an order on which both sides agree. */
        int first = strcmp(c->me, c->peer) <= 0;
        return err_set(e, ERR_FAILED, "%s: %s; %s: %s", first ? c->me : c->peer,
                       first ? mine->failure : theirs->failure, first ? c->peer : c->me,
                       first ? theirs->failure : mine->failure);
    }
    int here = mine->failure[0] != '\0';
    return err_set(e, ERR_FAILED, "%s: %s", here ? c->me : c->peer, here ? mine->failure : theirs->failure);
}

static int agree_on_step(struct verbs_pair *p, const struct verbs_report *mine, struct err *e)
{
    struct verbs_report theirs;
    return verbs_pair_agree(p->channel, mine, &theirs, progress_now_s() + VERBS_PATIENCE_S, e);
}

/* ---- this side ---- */

static int make_memory(struct verbs_pair *p, struct verbs_report *w)
{
    size_t half = (size_t)p->nqps * p->max_bytes;
    if (p->memory) {
        p->mr = p->memory->make(p->memory->user, p->pd, 2 * half, &p->source, w->failure);
        if (!p->mr)
            return -1;
        p->target = p->source + half;
        return 0;
    }
    void *memory = mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return note_failure(w, VERBS_REGISTER, errno);
    p->source = memory;
    p->target = p->source + half;
    p->mr = ibv_reg_mr(p->pd, memory, 2 * half, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    return p->mr ? 0 : note_failure(w, VERBS_REGISTER, errno);
}

static int make_qp(struct verbs_pair *p, int i, int port, struct verbs_report *w)
{
    /* No inline data, as NCCL by default. */
    struct ibv_qp_init_attr attr = {
        .send_cq = p->cq,
        .recv_cq = p->cq,
        .cap = {.max_send_wr = VERBS_DEPTH, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    p->qps[i] = ibv_create_qp(p->pd, &attr);
    if (!p->qps[i])
        return note_failure(w, VERBS_CREATE, errno);
    int error = ibv_modify_qp(p->qps[i], &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return error ? note_failure(w, VERBS_INIT, error) : 0;
}

static int make_side(struct verbs_pair *p, const struct verbs_pair_setup *s, struct verbs_report *w)
{
    static const char *const states[] = {[IBV_PORT_NOP] = "unknown",
                                         [IBV_PORT_DOWN] = "down",
                                         [IBV_PORT_INIT] = "initialising: no subnet manager has configured it",
                                         [IBV_PORT_ARMED] = "armed",
                                         [IBV_PORT_ACTIVE] = "active",
                                         [IBV_PORT_ACTIVE_DEFER] = "deferred"};
    struct ibv_port_attr attr;
    int error = ibv_query_port(s->port->context, (uint8_t)s->port->port, &attr);
    if (error)
        return note_failure(w, VERBS_OPEN, error);
    if (attr.state != IBV_PORT_ACTIVE) {
        snprintf(w->failure, sizeof w->failure, "%s failed: its link is %s", verbs_step_name(VERBS_OPEN),
                 (unsigned)attr.state <= IBV_PORT_ACTIVE_DEFER ? states[attr.state] : "unknown");
        return -1;
    }
    p->pd = ibv_alloc_pd(s->port->context);
    p->cq = p->pd ? ibv_create_cq(s->port->context, VERBS_DEPTH * p->nqps, NULL, NULL, 0) : NULL;
    if (!p->cq)
        return note_failure(w, VERBS_CREATE, errno);
    int rc = make_memory(p, w);
    for (int i = 0; i < p->nqps && !rc; i++)
        rc = make_qp(p, i, s->port->port, w);
    return rc;
}

static void fill_card(const struct verbs_pair *p, const struct verbs_pair_setup *s, struct card *c)
{
    const struct verbs_gid_table *gids = &s->port->gids;
    for (int i = 0; i < p->nqps && p->qps[i]; i++)
        c->qpn[i] = p->qps[i]->qp_num;
    /* A number that a former connection of the same queue pair numbers is unlikely to have used. */
    c->psn = (uint32_t)(int64_t)(progress_now_s() * 1e6) & 0xffffff;
    c->key = p->mr ? p->mr->rkey : 0;
    c->target = (uint64_t)(uintptr_t)p->target;
    c->max_bytes = p->max_bytes;
    c->qps = p->nqps;
    c->lid = s->port->attr.lid;
    c->mtu = (uint8_t)s->port->attr.active_mtu;
    c->layer = s->port->attr.link_layer;
    int gid = gids->infiniband ? 0 : s->gid;
    if (gid >= 0 && gid < gids->count)
        memcpy(c->gid.raw, gids->gids[gid].raw, sizeof c->gid.raw);
}

/* ---- both sides ---- */

static struct ibv_ah_attr address_of(const struct verbs_pair_setup *s, const struct card *mine,
                                     const struct card *theirs)
{
    int infiniband = s->port->gids.infiniband;
    struct ibv_ah_attr ah = {.port_num = (uint8_t)s->port->port, .dlid = infiniband ? theirs->lid : 0};
    ah.is_global = !infiniband || mine->gid.global.subnet_prefix != theirs->gid.global.subnet_prefix ||
                   (s->port->attr.flags & IBV_QPF_GRH_REQUIRED);
    if (ah.is_global)
        ah.grh = (struct ibv_global_route){
            .dgid = theirs->gid, .sgid_index = infiniband ? 0 : (uint8_t)s->gid, .hop_limit = 255};
    return ah;
}

static int to_rts(struct verbs_pair *p, const struct verbs_pair_setup *s, const struct card *mine,
                  const struct card *theirs, struct verbs_report *w)
{
    struct ibv_qp_attr attr = {
        .path_mtu = mine->mtu < theirs->mtu ? mine->mtu : theirs->mtu,
        .rq_psn = theirs->psn,
        .sq_psn = mine->psn,
        .max_dest_rd_atomic = 1,
        .max_rd_atomic = 1,
        .min_rnr_timer = RNR_TIMER,
        .timeout = s->hasty ? ACK_HASTY : ACK_TIMEOUT,
        .retry_cnt = RETRIES,
        .rnr_retry = RNR_RETRIES,
        .ah_attr = address_of(s, mine, theirs),
    };
    for (int i = 0; i < p->nqps; i++) {
        attr.dest_qp_num = theirs->qpn[i];
        attr.qp_state = IBV_QPS_RTR;
        int error = ibv_modify_qp(p->qps[i], &attr,
                                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        if (error)
            return note_failure(w, VERBS_RTR, error);
        attr.qp_state = IBV_QPS_RTS;
        error = ibv_modify_qp(p->qps[i], &attr,
                              IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                  IBV_QP_MAX_QP_RD_ATOMIC);
        if (error)
            return note_failure(w, VERBS_RTS, error);
    }
    return 0;
}

static void compare_cards(const struct card *mine, const struct card *theirs, struct verbs_report *w)
{
    if (mine->layer != theirs->layer)
        snprintf(w->failure, sizeof w->failure, "one port is InfiniBand and the other Ethernet");
    else if (mine->qps != theirs->qps || mine->max_bytes != theirs->max_bytes)
        snprintf(w->failure, sizeof w->failure, "the two sides were asked for different measurements");
}

int verbs_pair_connect(struct verbs_pair *p, const struct verbs_pair_setup *setup, const struct verbs_channel *channel,
                       struct err *e)
{
    struct verbs_report report = {{0}};
    struct card mine = {{0}}, theirs = {{0}};
    *p = (struct verbs_pair){
        .channel = channel, .nqps = setup->qps, .max_bytes = setup->max_bytes, .memory = setup->memory};
    if (setup->qps < 1 || setup->qps > VERBS_MAX_QPS || !setup->max_bytes)
        snprintf(report.failure, sizeof report.failure, "%d queue pairs asked for; 1 to %d can be had", setup->qps,
                 VERBS_MAX_QPS);
    else
        make_side(p, setup, &report);
    int code = agree_on_step(p, &report, e);
    if (code)
        return code;

    fill_card(p, setup, &mine);
    int error = channel->swap(channel->user, &mine, &theirs, sizeof mine, progress_now_s() + VERBS_PATIENCE_S);
    if (error)
        note_failure(&report, VERBS_EXCHANGE, error);
    else
        compare_cards(&mine, &theirs, &report);
    if (!report.failure[0])
        to_rts(p, setup, &mine, &theirs, &report);
    p->peer_target = theirs.target;
    p->peer_key = theirs.key;
    return agree_on_step(p, &report, e);
}

void verbs_pair_close(struct verbs_pair *p)
{
    for (int i = 0; i < p->nqps && i < VERBS_MAX_QPS; i++)
        if (p->qps[i])
            ibv_destroy_qp(p->qps[i]);
    if (p->memory && p->mr)
        p->memory->drop(p->memory->user, p->mr, p->source);
    else if (p->mr)
        ibv_dereg_mr(p->mr);
    if (p->source && !p->memory)
        munmap(p->source, 2 * (size_t)p->nqps * p->max_bytes);
    if (p->cq)
        ibv_destroy_cq(p->cq);
    if (p->pd)
        ibv_dealloc_pd(p->pd);
    *p = (struct verbs_pair){0};
}

int verbs_pair_post(struct verbs_pair *p, int qp, uint64_t bytes, int signaled, uint64_t id,
                    char words[VERBS_FAILURE_TEXT])
{
    struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)p->source + (uint64_t)qp * p->max_bytes,
                          .length = (uint32_t)bytes,
                          .lkey = p->mr->lkey};
    struct ibv_send_wr *bad,
        wr = {
            .wr_id = id,
            .sg_list = &sge,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = signaled ? IBV_SEND_SIGNALED : 0,
            .wr.rdma = {.remote_addr = p->peer_target + (uint64_t)qp * p->max_bytes, .rkey = p->peer_key},
        };
    int error = ibv_post_send(p->qps[qp], &wr, &bad);
    if (error)
        verbs_say_errno(words, VERBS_POST, error);
    return error ? -1 : 0;
}

int verbs_pair_poll(struct verbs_pair *p, uint64_t *id, char words[VERBS_FAILURE_TEXT])
{
    struct ibv_wc wc;
    int n = ibv_poll_cq(p->cq, 1, &wc);
    if (n == 0)
        return 0;
    if (n < 0) {
        verbs_say_errno(words, VERBS_COMPLETE, EIO);
        return -1;
    }
    if (wc.status != IBV_WC_SUCCESS) {
        verbs_say_completion(words, wc.status, wc.vendor_err);
        return -1;
    }
    *id = wc.wr_id;
    return 1;
}
