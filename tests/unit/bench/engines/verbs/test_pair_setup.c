/* bench/engines/verbs/pair.c and bench/engines/verbs/port.c: what exactly the verbs library is asked for, and what
 * becomes of its errors. Its functions are defined here, and only note. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/engines/verbs/pair.h"
#include "core/progress.h"
#include "tests/lib/noted.h"

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

/* ---- the other side ---- */

/* What one side sends in its three swaps, for a later run of the other. */
struct words {
    char sent[3][1024], received[3][1024];
    int n, echo; /* `echo`: the other side says the same */
};

static int swap(void *user, const void *mine, void *theirs, size_t bytes, double deadline_s)
{
    struct words *w = user;
    double left_s = deadline_s - progress_now_s();
    assert_true(bytes <= sizeof *w->sent && left_s > 6 && left_s < 7.1);
    memcpy(w->sent[w->n], mine, bytes);
    memcpy(theirs, w->echo ? mine : w->received[w->n], bytes);
    w->n++;
    return 0;
}

static struct verbs_gid gids[3];
static struct verbs_port port = {
    .context = &context, .name = "mlx5_10:7", .port = 7, .gids = {.gids = gids, .count = 3}};

static struct verbs_pair_setup setup_of(int qps)
{
    return (struct verbs_pair_setup){.port = &port, .gid = 2, .qps = qps, .max_bytes = 4096, .patience_s = 7};
}

static int connect_to(struct verbs_pair *p, struct words *w, struct verbs_pair_setup setup)
{
    static struct verbs_channel channel;
    channel = (struct verbs_channel){swap, w, "n0 a", "n1 b"};
    w->n = 0;
    e = (struct err){0};
    return verbs_pair_connect(p, &setup, &channel, &e);
}

static int begin(void **state)
{
    (void)state;
    arena = arena_new();
    notes = "";
    failing = NOTHING;
    last = 0;
    asked_port = 7;
    attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE, .lid = 5, .active_mtu = IBV_MTU_4096, .gid_tbl_len = 3};
    port.attr = attr;
    port.gids.infiniband = 0;
    for (int i = 0; i < 3; i++)
        memset(gids[i].raw, i, sizeof gids[i].raw);
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

#define MAKE                                                                                                         \
    "query port 7\npd\ncq of 256\nregister 16384 bytes, local write, remote write\nqp of 128 and 1, 1 and 1 parts\n" \
    "%d init: port 7, access 2\nqp of 128 and 1, 1 and 1 parts\n%d init: port 7, access 2\n"

static void as_nccl_does(void **state)
{
    struct verbs_pair p;
    struct words other = {.echo = 1}, mine = {.n = 0};
    (void)state;
    /* The other side has a smaller MTU, and GID 1. */
    struct verbs_pair_setup theirs = setup_of(2);
    theirs.gid = 1;
    port.attr.active_mtu = IBV_MTU_1024;
    double began_s = progress_now_s();
    assert_int_equal(connect_to(&p, &other, theirs), 0);
    verbs_pair_close(&p);
    uint32_t their_psn = psns[0];
    assert_true(psns[1] == psns[0] && psns[0] <= 0xffffff);
    /* Within the microseconds of this run. */
    uint32_t passed = (psns[0] - (uint32_t)(int64_t)(began_s * 1e6)) & 0xffffff;
    assert_true(passed <= (progress_now_s() - began_s) * 1e6 + 2);
    notes = "";
    memcpy(mine.received, other.sent, sizeof mine.received);
    port.attr.active_mtu = IBV_MTU_4096;
    assert_int_equal(connect_to(&p, &mine, setup_of(2)), 0);
    assert_noted(arena_printf(arena,
                              MAKE "103 rtr: to 101, mtu 3, rd 1, rnr 12, lid 0 gid b by port 7 gid 2, 255 hops\n"
                                   "103 rts: timeout 18, retries 4 and 7, rd 1\n"
                                   "104 rtr: to 102, mtu 3, rd 1, rnr 12, lid 0 gid b by port 7 gid 2, 255 hops\n"
                                   "104 rts: timeout 18, retries 4 and 7, rd 1\n",
                              103, 104));
    assert_int_equal(psns[1], their_psn);
    assert_int_equal(p.peer_key, 77);
    assert_true(p.target == p.source + 8192 && p.max_bytes == 4096 && p.nqps == 2 && p.peer_target);
    verbs_pair_close(&p);
    assert_noted("no qp 103\nno qp 104\nno memory\nno cq\nno pd\n");
    assert_true(!p.pd && !p.nqps && !p.source);
    verbs_pair_close(&p);
    assert_noted("");
}

static void impatiently(void **state)
{
    struct verbs_pair p;
    struct words w = {.echo = 1};
    struct verbs_pair_setup setup = setup_of(1);
    (void)state;
    setup.hasty = 1;
    assert_int_equal(connect_to(&p, &w, setup), 0);
    assert_non_null(strstr(notes, "timeout 14, retries 4 and 7"));
    verbs_pair_close(&p);
}

/* By LID where both are of a subnet; through a router, or where the port asks for it, by GID 0. */
static void infiniband_goes_by_lid(void **state)
{
    struct verbs_pair p;
    struct words other = {.echo = 1}, mine = {.n = 0};
    (void)state;
    port.gids.infiniband = 1;
    for (int subnet = 0; subnet < 2; subnet++) {
        gids[0].raw[7] = (unsigned char)subnet;
        port.attr.lid = 9;
        assert_int_equal(connect_to(&p, &other, setup_of(1)), 0);
        verbs_pair_close(&p);
        memcpy(mine.received, other.sent, sizeof mine.received);
        gids[0].raw[7] = 0;
        port.attr.lid = 5;
        notes = "";
        assert_int_equal(connect_to(&p, &mine, setup_of(1)), 0);
        assert_non_null(strstr(notes, subnet ? "lid 9 gid a by port 7 gid 0, 255 hops" : "lid 9 by port 7"));
        verbs_pair_close(&p);
    }
    port.attr.flags = IBV_QPF_GRH_REQUIRED;
    notes = "";
    assert_int_equal(connect_to(&p, &other, setup_of(1)), 0);
    assert_non_null(strstr(notes, "lid 5 gid a by port 7 gid 0, 255 hops"));
    verbs_pair_close(&p);
}

/* A GID that is not there is zeros, and nothing behind the table is read. */
static void a_gid_beyond_the_table(void **state)
{
    static const int indices[] = {-1, 3, 2};
    struct verbs_pair p;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct words w = {.echo = 1};
        struct verbs_pair_setup setup = setup_of(1);
        setup.gid = indices[i];
        notes = "";
        assert_int_equal(connect_to(&p, &w, setup), 0);
        assert_non_null(strstr(notes, i < 2 ? "gid a by port" : "gid c by port"));
        verbs_pair_close(&p);
    }
}

static int no_memory;

static struct ibv_mr *make(void *user, struct ibv_pd *pd, size_t bytes, unsigned char **start,
                           char words[VERBS_FAILURE_TEXT])
{
    static struct ibv_mr mr = {.rkey = 77};
    assert_true(user == &no_memory && pd);
    note("make %zu bytes", bytes);
    *start = (unsigned char *)0x4000;
    if (no_memory)
        snprintf(words, VERBS_FAILURE_TEXT, "the GPU is full");
    return no_memory ? NULL : &mr;
}

static void drop(void *user, struct ibv_mr *mr, unsigned char *start)
{
    assert_true(user == &no_memory && mr->rkey == 77);
    note("drop %p", (void *)start);
}

/* Memory that is not the host's is made and dropped by whom it belongs to. */
static void a_gpus_memory(void **state)
{
    static const struct verbs_memory gpu = {.make = make, .drop = drop, .user = &no_memory};
    struct verbs_pair p;
    struct words w = {.echo = 1};
    struct verbs_pair_setup setup = setup_of(1);
    (void)state;
    setup.memory = &gpu;
    assert_int_equal(connect_to(&p, &w, setup), 0);
    assert_non_null(strstr(notes, "cq of 128\nmake 8192 bytes\nqp of"));
    assert_true(p.source == (unsigned char *)0x4000 && p.target == (unsigned char *)0x5000);
    notes = "";
    verbs_pair_close(&p);
    assert_noted("no qp 101\ndrop 0x4000\nno cq\nno pd\n");
    no_memory = 1;
    w.echo = 0;
    memset(w.received, 0, sizeof w.received);
    assert_int_equal(connect_to(&p, &w, setup), ERR_FAILED);
    assert_string_equal(e.text, "n0 a: the GPU is full");
    assert_null(strstr(notes, "qp of"));
    verbs_pair_close(&p);
    no_memory = 0;
    setup.memory = NULL; /* more than there can be of the host's */
    setup.max_bytes = (uint64_t)1 << 55;
    notes = "";
    assert_int_equal(connect_to(&p, &w, setup), ERR_FAILED);
    assert_non_null(strstr(e.text, "Cannot allocate memory"));
    verbs_pair_close(&p);
    assert_noted("query port 7\npd\ncq of 128\nno cq\nno pd\n");
}

/* ---- what fails ---- */

static void each_step_that_fails(void **state)
{
    static const struct {
        enum call call;
        enum verbs_step step;
        const char *undone;
    } rows[] = {{QUERY, VERBS_OPEN, ""},
                {PD, VERBS_CREATE, ""},
                {CQ, VERBS_CREATE, "no pd\n"},
                {REGISTER, VERBS_REGISTER, "no cq\nno pd\n"},
                {QP, VERBS_CREATE, "no memory\nno cq\nno pd\n"},
                {INIT, VERBS_INIT, "no qp 101\nno memory\nno cq\nno pd\n"},
                {RTR, VERBS_RTR, "no qp 101\nno qp 102\nno memory\nno cq\nno pd\n"},
                {RTS, VERBS_RTS, "no qp 101\nno qp 102\nno memory\nno cq\nno pd\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_pair p;
        struct words w = {.n = 0};
        char words[VERBS_FAILURE_TEXT];
        last = 0;
        failing = NOTHING; /* over there all goes well */
        w.echo = 1;
        assert_int_equal(connect_to(&p, &w, setup_of(2)), 0);
        verbs_pair_close(&p);
        memcpy(w.received, w.sent, sizeof w.received);
        w.echo = 0;
        last = 0;
        failing = rows[i].call;
        code = EACCES;
        assert_int_equal(connect_to(&p, &w, setup_of(2)), ERR_FAILED);
        assert_string_equal(e.text, arena_printf(arena, "n0 a: %s", verbs_say_errno(words, rows[i].step, EACCES)));
        notes = "";
        failing = NOTHING;
        verbs_pair_close(&p);
        assert_noted(rows[i].undone);
    }
}

static void ports_that_are_not_active(void **state)
{
    static const struct {
        int state;
        const char *text;
    } rows[] = {{IBV_PORT_NOP, "unknown"},
                {IBV_PORT_DOWN, "down"},
                {IBV_PORT_INIT, "initialising: no subnet manager has configured it"},
                {IBV_PORT_ARMED, "armed"},
                {IBV_PORT_ACTIVE_DEFER, "deferred"},
                {IBV_PORT_ACTIVE_DEFER + 1, "unknown"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_pair p;
        struct words w = {.n = 0};
        attr.state = (enum ibv_port_state)rows[i].state;
        assert_int_equal(connect_to(&p, &w, setup_of(2)), ERR_FAILED);
        assert_string_equal(e.text, arena_printf(arena, "n0 a: opening the port failed: its link is %s", rows[i].text));
        assert_noted("query port 7\n");
        verbs_pair_close(&p);
    }
}

static void what_is_not_asked_for(void **state)
{
    static const int counts[] = {0, VERBS_MAX_QPS + 1, VERBS_MAX_QPS, 1};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct verbs_pair p;
        struct words w = {.echo = i > 1};
        assert_int_equal(connect_to(&p, &w, setup_of(counts[i])), i > 1 ? 0 : ERR_FAILED);
        assert_string_equal(e.text, i == 0   ? "n0 a: 0 queue pairs asked for; 1 to 16 can be had"
                                    : i == 1 ? "n0 a: 17 queue pairs asked for; 1 to 16 can be had"
                                             : "");
        verbs_pair_close(&p);
    }
    struct verbs_pair p;
    struct words w = {.n = 0};
    struct verbs_pair_setup setup = setup_of(1);
    setup.max_bytes = 0;
    assert_int_equal(connect_to(&p, &w, setup), ERR_FAILED);
}

/* What one side is and the other is not. */
static void two_that_do_not_fit(void **state)
{
    static const char different[] = "n0 a: the two sides were asked for different measurements";
    (void)state;
    for (int what = 0; what < 3; what++) {
        struct verbs_pair p;
        struct words w = {.echo = 1};
        struct verbs_pair_setup theirs = setup_of(what == 0 ? 3 : 2);
        theirs.max_bytes = what == 1 ? 8192 : 4096;
        port.attr.link_layer = what == 2 ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
        assert_int_equal(connect_to(&p, &w, theirs), 0);
        verbs_pair_close(&p);
        memcpy(w.received, w.sent, sizeof w.received);
        w.echo = 0;
        port.attr.link_layer = IBV_LINK_LAYER_ETHERNET;
        notes = "";
        assert_int_equal(connect_to(&p, &w, setup_of(2)), ERR_FAILED);
        assert_string_equal(e.text, what < 2 ? different : "n0 a: one port is InfiniBand and the other Ethernet");
        assert_null(strstr(notes, "rtr"));
        verbs_pair_close(&p);
    }
}

/* ---- work ---- */

static void writes_and_completions(void **state)
{
    struct ibv_mr mr = {.lkey = 66};
    struct ibv_qp qps[] = {{.context = &context, .qp_num = 1}, {.context = &context, .qp_num = 2}};
    struct ibv_cq cq = {.context = &context};
    struct verbs_pair p = {.mr = &mr,
                           .cq = &cq,
                           .qps = {&qps[0], &qps[1]},
                           .nqps = 2,
                           .max_bytes = 256,
                           .source = (unsigned char *)0x1000,
                           .peer_target = 0x2000,
                           .peer_key = 88};
    char words[VERBS_FAILURE_TEXT] = "", expected[VERBS_FAILURE_TEXT];
    uint64_t id = 3;
    (void)state;
    assert_int_equal(verbs_pair_post(&p, 0, 8, 0, 9, words), 0);
    assert_int_equal(verbs_pair_post(&p, 1, 256, 1, 10, words), 0);
    assert_noted("post on 1: 8 bytes at +0, key 66, to +0, key 88, id 9, 1 part, opcode 0\n"
                 "post on 2: 256 bytes at +256, key 66, to +256, key 88, id 10, signaled, 1 part, opcode 0\n");
    assert_string_equal(words, "");
    failing = POST;
    code = ENOMEM;
    assert_int_equal(verbs_pair_post(&p, 0, 8, 0, 9, words), -1);
    assert_string_equal(words, verbs_say_errno(expected, VERBS_POST, ENOMEM));
    completions = 0;
    assert_int_equal(verbs_pair_poll(&p, &id, words), 0);
    assert_int_equal(id, 3);
    completions = 1;
    completion = (struct ibv_wc){.wr_id = 12};
    assert_int_equal(verbs_pair_poll(&p, &id, words), 1);
    assert_int_equal(id, 12);
    completion = (struct ibv_wc){.wr_id = 13, .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81};
    assert_int_equal(verbs_pair_poll(&p, &id, words), -1);
    assert_string_equal(words, verbs_say_completion(expected, IBV_WC_RETRY_EXC_ERR, 0x81));
    completions = -1;
    assert_int_equal(verbs_pair_poll(&p, &id, words), -1);
    assert_string_equal(words, verbs_say_errno(expected, VERBS_COMPLETE, EIO));
    assert_int_equal(id, 12);
}

/* ---- ports ---- */

static void ports_are_opened(void **state)
{
    (void)state;
    attr.link_layer = IBV_LINK_LAYER_ETHERNET;
    struct verbs_port *p = verbs_port_open(arena, "n7", "mlx5_10", 7, &e);
    assert_non_null(p);
    assert_noted("open mlx5_10\nfree list\nquery port 7\n");
    assert_string_equal(p->name, "mlx5_10:7");
    assert_string_equal(p->gids.node, "n7");
    assert_string_equal(p->gids.port, "mlx5_10:7");
    assert_true(p->port == 7 && p->gids.count == 3 && !p->gids.infiniband && p->attr.lid == 5);
    assert_true(p->gids.gids[0].raw[15] == 'a' && p->gids.gids[0].roce == 0);
    assert_true(p->gids.gids[1].raw[15] == 0 && p->gids.gids[1].roce == 0);
    assert_true(p->gids.gids[2].raw[15] == 'c' && p->gids.gids[2].roce == 2);
    verbs_port_close(p);
    assert_noted("close device\n");
    verbs_port_close(NULL);
    attr.link_layer = IBV_LINK_LAYER_INFINIBAND;
    assert_true(verbs_port_open(arena, "n7", "mlx5_0", 7, &e)->gids.infiniband);
    assert_noted("open mlx5_0\nfree list\nquery port 7\n");
    static const int others[] = {1, 255};
    for (int i = 0; i < 2; i++) {
        asked_port = others[i];
        assert_int_equal(verbs_port_open(arena, "n7", "mlx5_0", asked_port, &e)->port, asked_port);
    }
}

static void ports_that_cannot_be_opened(void **state)
{
    static const struct {
        const char *hca;
        int port;
        enum call failing;
        const char *why, *noted;
    } rows[] = {
        {"mlx5_1", 7, NOTHING, "mlx5_1: no such RDMA device here (2 found)", "free list\n"},
        {"mlx5_0", 7, OPEN,
         "mlx5_0: opening the port failed: Permission denied (errno 13): no permission for "
         "/dev/infiniband/uverbs*",
         "open mlx5_0\nfree list\n"},
        {"mlx5_0", 0, NOTHING, "mlx5_0 has no port 0: Invalid argument", "open mlx5_0\nfree list\nclose device\n"},
        {"mlx5_0", 256, NOTHING, "mlx5_0 has no port 256: Invalid argument", "open mlx5_0\nfree list\nclose device\n"},
        {"mlx5_0", 7, QUERY, "mlx5_0 has no port 7: Permission denied",
         "open mlx5_0\nfree list\nquery port 7\nclose device\n"},
        {"mlx5_0", 7, NOTHING, "mlx5_0:7: reading GID 3: Operation not permitted",
         "open mlx5_0\nfree list\nquery port 7\nclose device\n"},
    };
    (void)state;
    code = EACCES;
    attr.gid_tbl_len = 4;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        failing = rows[i].failing;
        assert_null(verbs_port_open(arena, "n7", rows[i].hca, rows[i].port, &e));
        assert_string_equal(e.text, rows[i].why);
        assert_int_equal(e.code, ERR_LACKS);
        assert_noted(rows[i].noted);
    }
}

static void lists_of_devices(void **state)
{
    static const struct {
        const char *list;
        int here;
    } rows[] = {{"mlx5_0:1", 1},         {"mlx5_10:1", 1}, {"mlx5_1:1", 0},           {"mlx5_100:1", 0},
                {"mlx5_0", 1},           {"", 1},          {"mlx5_0:1,mlx5_10:2", 1}, {"mlx5_0:1,mlx5_2:1", 0},
                {"mlx5_2:1,mlx5_0:1", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(verbs_port_all_here(rows[i].list), rows[i].here);
}

#define NOTED(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        NOTED(as_nccl_does),
        NOTED(impatiently),
        NOTED(infiniband_goes_by_lid),
        NOTED(a_gid_beyond_the_table),
        NOTED(a_gpus_memory),
        NOTED(each_step_that_fails),
        NOTED(ports_that_are_not_active),
        NOTED(what_is_not_asked_for),
        NOTED(two_that_do_not_fit),
        NOTED(writes_and_completions),
        NOTED(ports_are_opened),
        NOTED(ports_that_cannot_be_opened),
        NOTED(lists_of_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
