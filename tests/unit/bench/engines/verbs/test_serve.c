/* bench/engines/verbs/serve.c, serve_link.c: a port's process, asked over its frames. It has two devices of two ports
 * with two GIDs each, of which the second is of RoCE's second version; connecting is tested in test_conduct. */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/engines/verbs/engine.h"
#include "bench/engines/verbs/order.h"
#include "bench/engines/verbs/verbs.h"
#include "tests/lib/unit.h"

#undef ibv_query_port

static struct ibv_device devices[2] = {{.name = "made_up_0"}, {.name = "made_up_1"}},
                         *list[3] = {&devices[0], &devices[1]};
static struct ibv_context context = {.device = &devices[1]};

struct ibv_device **ibv_get_device_list(int *n)
{
    *n = 2;
    return list;
}

void ibv_free_device_list(struct ibv_device **all)
{
    assert_ptr_equal(all, list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    context.device = device;
    return &context;
}

int ibv_close_device(struct ibv_context *c)
{
    return c != &context;
}

int ibv_query_port(struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *out)
{
    struct ibv_port_attr *attr = (struct ibv_port_attr *)out;
    (void)c;
    *attr = (struct ibv_port_attr){.state = IBV_PORT_ACTIVE,
                                   .gid_tbl_len = 2,
                                   .link_layer = IBV_LINK_LAYER_ETHERNET,
                                   .max_mtu = IBV_MTU_4096,
                                   .active_mtu = IBV_MTU_1024,
                                   .active_width = 2,
                                   .active_speed = 32};
    return port > 2 ? EINVAL : 0;
}

int _ibv_query_gid_ex(struct ibv_context *c, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags,
                      size_t size)
{
    const unsigned char raw[16] = {[10] = 0xff, 0xff, 10, 0, 0, (unsigned char)(index + 1)};
    (void)c;
    (void)port;
    (void)flags;
    (void)size;
    *entry = (struct ibv_gid_entry){.gid_type = index ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1};
    memcpy(entry->gid.raw, raw, sizeof raw);
    return 0;
}

/* In the place of libc's. */
int gethostname(char *name, size_t bytes)
{
    snprintf(name, bytes, "n7");
    return 0;
}

/* ---- its process ---- */

static struct connection to_port;
static pid_t child;
static char complaint[512];

static void start(const char *ports, const char *nccl, const char *rank, const char *local)
{
    int in[2], out[2], err[2];
    assert_int_equal(pipe(in) || pipe(out) || pipe(err), 0);
    fflush(NULL);
    child = fork();
    if (!child) {
        char *argv[] = {"verbs-port",
                        (char *)(uintptr_t)ports,
                        (char *)(uintptr_t)nccl,
                        (char *)(uintptr_t)rank,
                        (char *)(uintptr_t)local,
                        NULL};
        dup2(in[0], 0);
        dup2(out[1], 1);
        dup2(err[1], 2);
        for (int fd = 3; fd < 64; fd++)
            close(fd);
        _exit(verbs_serve_main(local ? 5 : 4, argv));
    }
    close(in[0]);
    close(out[1]);
    close(err[1]);
    assert_int_equal(connection_open(&to_port, out[0], in[1]), 0);
    complaint[0] = 0;
    dup2(err[0], 60);
    close(err[0]);
}

/* Its exit status, once nobody asks any more. */
static int status_at_end(void)
{
    int status;
    connection_close(&to_port);
    ssize_t n = read(60, complaint, sizeof complaint - 1);
    complaint[n > 0 ? n : 0] = 0;
    close(60);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static struct frame next_frame(int message, int rank)
{
    struct frame f;
    int got;
    while (!(got = connection_next(&to_port, &f)))
        assert_true(connection_wait(&to_port, 20000) > 0);
    assert_int_equal(got, 1);
    assert_int_equal(f.head.message, message);
    assert_int_equal(f.head.rank, rank);
    return f;
}

static struct verbs_who who(int rank)
{
    struct verbs_who w;
    struct frame f = next_frame(VERBS_WHO, rank);
    assert_int_equal(frame_body(&f, &w, sizeof w), 0);
    return w;
}

static struct verbs_answer answer_to(struct verbs_order o)
{
    struct verbs_answer a;
    connection_send(&to_port, VERBS_ORDER, 0, &o, sizeof o);
    struct frame f = next_frame(VERBS_ANSWER, 0);
    assert_int_equal(frame_body(&f, &a, sizeof a), 0);
    return a;
}

/* ---- who it is ---- */

/* Of several lists the one whose devices are here; else of none where some node has none, else the first. */
TEST_CASE(which_port_is_its)
{
    static const struct {
        const char *ports, *local, *port, *failure;
    } rows[] = {
        {"made_up_0:1", "0", "made_up_0:1", ""},
        {"made_up_0:1,made_up_1:2", "1", "made_up_1:2", ""},
        {"made_up_0:1,made_up_1:2", "2", "", ""},
        {"other:1/made_up_0:1", "0", "made_up_0:1", ""},
        {"made_up_1:1/made_up_0:1", "0", "made_up_1:1", ""},
        {"other:1/another:1", "0", "other:1", "n7: other: no such RDMA device here (2 found)"},
        {"other:1/-", "0", "", ""},
        {"-/other:1", "0", "", ""},
        {"-/made_up_0:2", "0", "made_up_0:2", ""},
        {"-", "0", "", ""},
        {"made_up_0:255", "0", "made_up_0:255", "n7: made_up_0 has no port 255: Invalid argument"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(rows[i].ports, "22809", "5", rows[i].local);
        struct verbs_who w = who(5);
        assert_string_equal(w.node, "n7");
        assert_string_equal(w.port, rows[i].port);
        assert_string_equal(w.failure, rows[i].failure);
        assert_true(w.rate_Gbps == (*w.port && !*w.failure ? 100 : 0));
        assert_int_equal(status_at_end(), 0);
        assert_string_equal(complaint, "");
    }
}

TEST_CASE(what_it_is_not_started_with)
{
    char long_name[100];
    memset(long_name, 'x', sizeof long_name);
    strcpy(long_name + 80, ":1");
    const struct {
        const char *ports, *nccl, *rank, *local, *why;
    } rows[] = {{"made_up_0", "22809", "5", "0", "invalid port 'made_up_0' (expected e.g. mlx5_0:1)"},
                {long_name, "22809", "5", "0", "' (expected e.g. mlx5_0:1)"},
                {"made_up_0:0", "22809", "5", "0", "a port's number"},
                {"made_up_0:256", "22809", "5", "0", "a port's number"},
                {"-", "1000001", "5", "0", "NCCL's version"},
                {"-", "22809", "16777217", "0", "a rank"},
                {"-", "22809", "5", "64", "a rank on its node"},
                {"-", "22809", "5", NULL, "nccltune verbs-port is started by nccltune bench --engine verbs"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(rows[i].ports, rows[i].nccl, rows[i].rank, rows[i].local);
        assert_int_equal(status_at_end(), ERR_USAGE);
        if (strncmp(complaint, "nccltune verbs-port: ", 21) != 0 || !strstr(complaint, rows[i].why))
            fail_msg("'%s' instead of '%s'", complaint, rows[i].why);
    }
    start("-", "1000000", "16777216", "63");
    who(16777216);
    assert_int_equal(status_at_end(), 0);
    long_name[0] = 0;
}

/* ---- what it does ---- */

static void assert_port_line(const char *expected)
{
    const struct verbs_order o = {.what = VERBS_PORT, .mine = {3, 1}};
    connection_send(&to_port, VERBS_ORDER, 0, &o, sizeof o);
    struct frame f = next_frame(VERBS_LINE, 0);
    assert_string_equal(f.body, expected);
    assert_int_equal(f.head.bytes, strlen(expected) + 1);
    next_frame(VERBS_ANSWER, 0);
}

#define PORT(first, second)                                                                                   \
    "{\"port\":{\"node_index\":3,\"rail\":1,\"node\":\"n7\",\"port\":\"made_up_1:2\",\"layer\":\"ethernet\"," \
    "\"rate_Gbps\":100,\"mtu_bytes\":1024,\"max_mtu_bytes\":4096,\"gids\":["                                  \
    "{\"index\":0,\"gid\":\"10.0.0.1\",\"roce\":1,\"proven\":" first "},"                                     \
    "{\"index\":1,\"gid\":\"10.0.0.2\",\"roce\":2,\"proven\":" second "}]}}"

TEST_CASE(what_a_port_tells)
{
    static const int beyond[] = {-1, 2, 99};
    struct verbs_order o = {.what = VERBS_PROVEN};
    start("made_up_1:2", "22809", "0", "0");
    who(0);
    assert_port_line(PORT("false", "false"));
    for (int i = 0; i < 3; i++) {
        o.number = beyond[i];
        assert_int_equal(answer_to(o).verdict, VERBS_GOOD);
    }
    assert_port_line(PORT("false", "false"));
    o.number = 0;
    answer_to(o);
    assert_port_line(PORT("true", "false"));
    o.number = 1;
    answer_to(o);
    assert_port_line(PORT("true", "true"));
    struct verbs_answer a = answer_to((struct verbs_order){.what = 77});
    assert_int_equal(a.verdict, VERBS_FAILED);
    assert_string_equal(a.why, "n7: unknown order 77");
    connection_send(&to_port, VERBS_ORDER, 0, &o, 7); /* what is none is not answered */
    connection_send(&to_port, VERBS_NET_LIST, 0, &o, 7);
    assert_int_equal(answer_to((struct verbs_order){.what = VERBS_GPUS}).verdict, VERBS_GOOD);
    assert_int_equal(status_at_end(), 0);
}

/* Neither side of a try can do without its port, and says whose it is. */
TEST_CASE(tries_without_a_port)
{
    static const int whats[] = {VERBS_TRY, VERBS_TRY_GPU};
    static const struct {
        const char *ports, *theirs, *why;
    } rows[] = {{"made_up_0:1", "n8: dark", "n8: dark"},
                {"made_up_0:3", "n8: dark", "n7: made_up_0 has no port 3: Invalid argument"},
                {"-", "", "n7 has no port"}};
    for (int i = 0; i < 3; i++) {
        start(rows[i].ports, "22809", "0", "0");
        who(0);
        for (int k = 0; k < 2; k++) {
            struct verbs_order o = {.what = whats[k]};
            snprintf(o.failure, sizeof o.failure, "%s", rows[i].theirs);
            struct verbs_answer a = answer_to(o);
            assert_int_equal(a.verdict, VERBS_FAILED);
            assert_string_equal(a.why, rows[i].why);
            assert_true(!a.gid[0] && !a.via[0] && !a.pci[0] && a.GBps <= 0);
        }
        assert_int_equal(status_at_end(), 0);
    }
}

TEST_CASE(interfaces_of_a_node)
{
    struct verbs_net_list mine, others = {.n = 1};
    struct verbs_order o = {.what = VERBS_LISTEN};
    start("-", "22809", "0", "0");
    who(0);
    answer_to((struct verbs_order){.what = VERBS_DEAFEN}); /* who does not listen */
    for (int turn = 0; turn < 2; turn++) {
        o.what = VERBS_LISTEN;
        connection_send(&to_port, VERBS_ORDER, 0, &o, sizeof o);
        struct frame f = next_frame(VERBS_NET_LIST, 0);
        assert_int_equal(frame_body(&f, &mine, sizeof mine), 0);
        assert_in_range(mine.n, 0, VERBS_NETS);
        next_frame(VERBS_ANSWER, 0);
        for (int k = 0; k < 3; k++)
            connection_send(&to_port, VERBS_NET_LIST, 0, &others, sizeof others);
        assert_int_equal(answer_to((struct verbs_order){.what = VERBS_TRY_NETS}).count, 3 * (turn + 1));
        assert_int_equal(answer_to((struct verbs_order){.what = VERBS_DEAFEN}).verdict, VERBS_GOOD);
    }
    assert_int_equal(status_at_end(), 0);
}

TEST_CASES(main)
