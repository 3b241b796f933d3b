/* bench/engines/verbs/pair.c: what exactly the verbs library is asked for, and what
 * becomes of its errors. */
#include "tests/unit/bench/engines/verbs/noted_verbs.h"

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
    begin_verbs();
    port.attr = attr;
    port.gids.infiniband = 0;
    for (int i = 0; i < 3; i++)
        memset(gids[i].raw, i, sizeof gids[i].raw);
    return 0;
}

#define MAKE                                                                                                         \
    "query port 7\npd\ncq of 256\nregister 16384 bytes, local write, remote write\nqp of 128 and 1, 1 and 1 parts\n" \
    "%d init: port 7, access 2\nqp of 128 and 1, 1 and 1 parts\n%d init: port 7, access 2\n"

TEST_CASE(as_nccl_does)
{
    struct verbs_pair p;
    struct words other = {.echo = 1}, mine = {.n = 0};
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

TEST_CASE(impatiently)
{
    struct verbs_pair p;
    struct words w = {.echo = 1};
    struct verbs_pair_setup setup = setup_of(1);
    setup.hasty = 1;
    assert_int_equal(connect_to(&p, &w, setup), 0);
    assert_non_null(strstr(notes, "timeout 14, retries 4 and 7"));
    verbs_pair_close(&p);
}

/* By LID where both are of a subnet; through a router, or where the port asks for it, by GID 0. */
TEST_CASE(infiniband_goes_by_lid)
{
    struct verbs_pair p;
    struct words other = {.echo = 1}, mine = {.n = 0};
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
TEST_CASE(a_gid_beyond_the_table)
{
    static const int indices[] = {-1, 3, 2};
    struct verbs_pair p;
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
TEST_CASE(a_gpus_memory)
{
    static const struct verbs_memory gpu = {.make = make, .drop = drop, .user = &no_memory};
    struct verbs_pair p;
    struct words w = {.echo = 1};
    struct verbs_pair_setup setup = setup_of(1);
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

TEST_CASE(each_step_that_fails)
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

TEST_CASE(ports_that_are_not_active)
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

TEST_CASE(what_is_not_asked_for)
{
    static const int counts[] = {0, VERBS_MAX_QPS + 1, VERBS_MAX_QPS, 1};
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
TEST_CASE(two_that_do_not_fit)
{
    static const char different[] = "n0 a: the two sides were asked for different measurements";
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

TEST_CASE(writes_and_completions)
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

TEST_CASES_EACH(main, begin, end)
