/* bench/engines/verbs as a whole: fabrics measured over the double of libibverbs (tests/doubles/fake_verbs.c), which is
 * linked into this program. The conductor runs here, under it real agents, and as a port's process this program again.
 * Two nodes are two agents, started by a double of ssh, whose processes have another host name. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/engines/verbs/engine.h"
#include "bench/engines/verbs/run.h"
#include "bench/engines/verbs/verbs.h"
#include "core/progress.h"
#include "tests/doubles/nccl_setup.h"
#include "tests/lib/folder.h"
#include "tests/lib/unit.h"

#define LINK_GBPS 0.05 /* slow enough for a busy machine */

static struct err e;

/* In the place of libc's: for this program as the process of a port, and for the double. */
int gethostname(char *name, size_t bytes)
{
    const char *node = getenv("TEST_NODE");
    snprintf(name, bytes, "%s", node ? node : "n0");
    return 0;
}

/* An agent finds what it starts beside itself. */
static int begin(void **state)
{
    arena = arena_new();
    strcpy(dir, "/tmp/test_conduct_XXXXXX");
    if (!mkdtemp(dir) || doubles_begin("", "2"))
        return -1;
    char self[512] = "", command[2048];
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return -1;
    snprintf(command, sizeof command, "cp '%s' %s && ln -s '%s' %s/nccltune", getenv("NCCLTUNE_WORKER"), dir, self,
             dir);
    if (system(command))
        return -1;
    setenv("NCCLTUNE_WORKER", at("nccltune-worker"), 1);
    unsetenv("NCCL_DOUBLE_LAW"); /* is about calls */
    put("ssh", "#!/bin/sh\nTEST_NODE=$1 exec sh -c \"$2\"\n");
    return chmod(at("ssh"), 0755);
}

static int end(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", dir);
    doubles_end();
    arena_free(arena);
    return system(command);
}

/* HCAs of every node, "mlx5_0:1:ib:0.05:0 ...", and their faults. */
static void world(int hcas, const char *faults)
{
    const char *list = "";
    for (int i = 0; i < hcas; i++)
        list = arena_printf(arena, "%smlx5_%d:1:ib:%g:0 ", list, i, LINK_GBPS);
    setenv("FAKE_VERBS", list, 1);
    setenv("FAKE_VERBS_FAULTS", faults, 1);
    setenv("DRIVER_DOUBLE_GPUS", "0", 1);
    memset(&e, 0, sizeof e);
}

static struct verbs_task brief(const char *ports)
{
    return (struct verbs_task){.ports = ports, .brief = 1, .budget_s = 300};
}

static struct verbs_fabric *measured(struct verbs_task t)
{
    struct verbs_fabric *f = verbs_run(&t, NULL, &e);
    if (!f)
        fail_msg("%s", e.text);
    return f;
}

static const struct verbs_fabric_try *between(const struct verbs_fabric *f, int from, int to)
{
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_try *p = &f->tries[i].outcome.pair;
        if (p->from.node * f->rails + p->from.rail == from && p->to.node * f->rails + p->to.rail == to)
            return &f->tries[i];
    }
    return NULL;
}

static void assert_says(const char *text, const char *part)
{
    if (!text || !strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text ? text : "nothing");
}

/* No faster than the double lets it be; how much slower depends on who else computes here. */
static void assert_rate(double GBps, double most)
{
    if (!(GBps > 0 && GBps < most * 1.03))
        fail_msg("%g GB/s over a link of %g", GBps, most);
}

/* ---- one node ---------------------------------------------------------------------------------------------------- */

static struct verbs_fabric *one_port_to_another(void)
{
    const struct verbs_options own = {.ports = "mlx5_0:1,mlx5_1:1"};
    struct progress progress;
    struct log log = {.out = stderr, .program = "test", .progress = &progress};
    const struct bench_setup setup = {.own = &own, .log = &log};
    const struct bench_document d = {
        .setup = &setup, .path = at("fabric.json"), .budget_s = 300, .out = fopen(at("said"), "w")};
    progress_start(&progress, d.out);
    assert_int_equal(bench_engine_verbs.documents->make(&d, &e), 0);
    fclose(d.out);
    assert_says(got("said"), "round 1 of 2");
    struct verbs_fabric *f = verbs_fabric_load(at("fabric.json"), &e);
    assert_non_null(f);
    return f;
}

static void everything_is_measured(void **state)
{
    world(2, "");
    setenv("DRIVER_DOUBLE_GPUS", "2", 1);
    struct verbs_fabric *f = one_port_to_another();
    assert_true(f->complete && f->nodes == 1 && f->rails == 2 && f->ntries == 2 && !f->ninterfaces);
    assert_string_equal(f->names[0], "n0");
    for (int i = 0; i < 2; i++) {
        const struct verbs_fabric_try *t = between(f, i, !i);
        assert_int_equal(t->outcome.verdict, VERBS_GOOD);
        assert_rate(t->outcome.GBps, LINK_GBPS);
        assert_rate(t->both_GBps, 2 * LINK_GBPS);
        /* There is no other distance here than the machine's own, and a ping waits for its pong. */
        assert_true(t->latency_us > 0.16 && t->latency_us < 1e6);
        assert_true(t->messages_per_s > 10 && t->messages_per_s < LINK_GBPS * 1e9 / 8 * 1.03);
        assert_true(!t->gid && !t->gid_index[0] && !t->gid_index[1]); /* InfiniBand goes by LID */
        const struct verbs_fabric_port *p = &f->ports[i];
        assert_string_equal(p->name, i ? "mlx5_1:1" : "mlx5_0:1");
        assert_true(p->mtu_bytes == 4096 && p->max_mtu_bytes == 4096 && p->rate_Gbps == 400);
        assert_true(p->gids.infiniband && p->gids.count == 1);
    }
    assert_int_equal(f->ngpus, 4);
    for (int i = 0; i < 4; i++) {
        const struct verbs_fabric_gpu *g = &f->gpus[i];
        assert_true(g->node == 0 && !g->why);
        assert_string_equal(g->via, "dma-buf");
        assert_string_equal(g->pci, g->gpu ? "0000:11:00.0" : "0000:10:00.0");
        assert_rate(g->send_GBps, LINK_GBPS);
        assert_rate(g->receive_GBps, LINK_GBPS);
    }
    verbs_fabric_free(f);
    assert_says(got("said"), "No faults: all 2 tries worked.");
    assert_int_not_equal(access(at("fabric.json.journal"), F_OK), 0);
}

/* Where the kernel has no file on it: lanes times the rate of one, as /sys/class/infiniband/.../rate has them. */
static void rates_by_codes(void **state)
{
    static const struct {
        int width, speed;
        double Gbps;
    } rows[] = {{1, 1, 2.5},   {2, 2, 20},    {2, 4, 40},   {2, 8, 40},    {2, 16, 56}, {2, 32, 100}, {2, 64, 200},
                {2, 128, 400}, {4, 128, 800}, {8, 64, 600}, {16, 64, 100}, {3, 64, 0},  {2, 3, 0}};
    static const int mtus[] = {0, 256, 512, 1024, 2048, 4096, 0};
    struct ibv_device device = {.name = "no such device"};
    struct ibv_context context = {.device = &device};
    struct verbs_port port = {.context = &context, .port = 1};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        port.attr.active_width = (uint8_t)rows[i].width;
        port.attr.active_speed = (uint8_t)rows[i].speed;
        assert_true(verbs_port_rate_Gbps(&port) == rows[i].Gbps);
    }
    for (int i = 0; i < 7; i++) {
        port.attr.active_mtu = (enum ibv_mtu)i;
        port.attr.max_mtu = (enum ibv_mtu)(6 - i);
        assert_int_equal(verbs_mtu_bytes(port.attr.active_mtu), mtus[i]);
        assert_int_equal(verbs_mtu_bytes(port.attr.max_mtu), mtus[6 - i]);
    }
}

static void a_gpu_that_no_port_can_reach(void **state)
{
    world(2, "");
    setenv("DRIVER_DOUBLE_GPUS", "1", 1);
    setenv("DRIVER_DOUBLE_DMABUF", "0", 1);
    struct verbs_task t = brief("mlx5_0:1,mlx5_1:1");
    t.brief = 0;
    struct verbs_fabric *f = measured(t);
    assert_int_equal(f->ngpus, 2);
    for (int i = 0; i < 2; i++) {
        assert_true(!f->gpus[i].via && f->gpus[i].send_GBps <= 0);
        assert_says(f->gpus[i].why, arena_printf(arena, "n0 mlx5_%d:1: ", f->gpus[i].rail));
        assert_says(f->gpus[i].why, "GPU 0, by dma-buf: Operation not supported; as peer memory: ");
    }
    verbs_fabric_free(f);
    unsetenv("DRIVER_DOUBLE_DMABUF");
}

/* One of four ports has it. Of its six tries three are left out, because it has only ever failed. */
static void faults_are_named(void **state)
{
    static const struct {
        const char *fault, *why;
    } rows[] = {{"dark", "transport retry counter exceeded"},
                {"down", "n0 mlx5_1:1: opening the port failed: its link is down"},
                {"absent", "n0: mlx5_1: no such RDMA device here (3 found)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world(4, arena_printf(arena, "0/mlx5_1=%s", rows[i].fault));
        struct verbs_fabric *f = measured(brief("mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1"));
        assert_true(f->complete);
        assert_int_equal(f->ntries, 9);
        for (int k = 0; k < f->ntries; k++) {
            const struct verbs_outcome *o = &f->tries[k].outcome;
            int hit = o->pair.from.rail == 1 || o->pair.to.rail == 1;
            assert_int_equal(o->verdict, hit ? VERBS_FAILED : VERBS_GOOD);
            if (hit)
                assert_says(o->why, rows[i].why);
        }
        verbs_fabric_free(f);
    }
}

static void wrong_data_are_noticed(void **state)
{
    world(2, "0/mlx5_0=flips");
    struct verbs_fabric *f = measured(brief("mlx5_0:1,mlx5_1:1"));
    assert_int_equal(between(f, 0, 1)->outcome.verdict, VERBS_FAILED);
    assert_says(between(f, 0, 1)->outcome.why, "n0 mlx5_1:1: verifying the payload failed: byte ");
    assert_int_equal(between(f, 1, 0)->outcome.verdict, VERBS_GOOD);
    verbs_fabric_free(f);
}

/* A port that is slow is tried again alone; what was slow for a moment is not in the result. */
static void an_earlier_run_is_gone_on_with(void **state)
{
    static const char head[] = "{\"format\": \"nccltune-fabric-journal/1\", \"what\": \"mlx5_0:1,mlx5_1:1,mlx5_2:1 "
                               "brief-matrix 1 nodes\"}\n{\"nodes\":1,\"rails\":3,\"names\":[\"%s\"]}\n";
    world(3, "0/mlx5_2=slow");
    struct verbs_task t = brief("mlx5_0:1,mlx5_1:1,mlx5_2:1");
    t.journal = at("journal");
    t.resume = 1;
    const char *known =
        "{\"interface\":{\"node_index\":0,\"name\":\"eth0\",\"reached\":0,\"tried\":0}}\n"
        "{\"try\":{\"from\":[0,2],\"to\":[0,1],\"status\":\"ok\",\"write_GBps\":0.045}}\n"
        "{\"try\":{\"from\":[0,0],\"to\":[0,1],\"status\":\"ok\",\"write_GBps\":0.001}}\n"
        "{\"try\":{\"from\":[0,1],\"to\":[0,0],\"status\":\"ok\",\"write_GBps\":0.044}}\n"
        "{\"try\":{\"from\":[0,1],\"to\":[0,2],\"status\":\"ok\",\"write_GBps\":0.001}}\n"
        "{\"again\":{\"from\":[0,1],\"to\":[0,2],\"status\":\"ok\",\"write_GBps\":0.046,\"both_GBps\":0.08}}\n"
        "{\"try\":{\"from\":[0,0],\"to\":[0,2],\"status\":\"ok\",\"wri";
    put("journal", arena_printf(arena, arena_printf(arena, "%s%%s", head), "n0", known));
    struct verbs_fabric *f = measured(t);
    assert_true(f->complete && f->ntries == 6 && !f->ninterfaces);
    assert_true(between(f, 2, 1)->outcome.GBps == 0.045 && between(f, 1, 0)->outcome.GBps == 0.044);
    assert_true(between(f, 1, 2)->outcome.GBps == 0.046);
    assert_rate(between(f, 0, 1)->outcome.GBps, LINK_GBPS);
    assert_rate(between(f, 0, 1)->both_GBps, 2 * LINK_GBPS); /* the second look is a thorough one */
    assert_rate(between(f, 0, 2)->outcome.GBps, LINK_GBPS);
    assert_rate(between(f, 2, 0)->outcome.GBps, LINK_GBPS / 10);
    assert_int_not_equal(access(t.journal, F_OK), 0);
    verbs_fabric_free(f);

    put("journal", arena_printf(arena, head, "elsewhere"));
    assert_null(verbs_run(&t, NULL, &e));
    assert_says(e.text,
                "the incomplete run was measured on other nodes: {\"nodes\":1,\"rails\":3,\"names\":[\"elsewhere\"]}");
    t.schedule = "reach";
    assert_null(verbs_run(&t, NULL, &e));
    assert_says(e.text, "the incomplete run is for");
    t.resume = 0;
    t.schedule = NULL;
    put("journal", "not one");
    verbs_fabric_free(measured(t));
}

static volatile sig_atomic_t stop;

static void interrupt(int number)
{
    (void)number;
    stop = 1;
}

/* As a user's ^C: once there is a first try in the journal. */
static pid_t interrupt_after_a_try(const char *journal)
{
    pid_t parent = getpid(), child = fork();
    char text[4096];
    for (ssize_t n = 0; !child && n >= 0;) {
        int fd = open(journal, O_RDONLY);
        n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = 0;
        close(fd);
        if (strstr(text, "{\"try\"")) {
            kill(parent, SIGINT);
            _exit(0);
        }
        usleep(2000);
    }
    return child;
}

static void an_interrupted_run(void **state)
{
    world(6, "");
    struct verbs_task t = brief("mlx5_0:1,mlx5_1:1,mlx5_2:1,mlx5_3:1,mlx5_4:1,mlx5_5:1");
    t.journal = at("journal");
    signal(SIGINT, interrupt);
    pid_t child = interrupt_after_a_try(t.journal);
    struct verbs_fabric *f = verbs_run(&t, &stop, &e);
    waitpid(child, NULL, 0);
    signal(SIGINT, SIG_DFL);
    assert_non_null(f);
    assert_false(f->complete);
    assert_true(f->ntries > 0 && f->ntries < 30);
    const struct verbs_fabric_try first = f->tries[0];
    verbs_fabric_free(f);
    t.resume = 1;
    f = measured(t);
    assert_true(f->complete && f->ntries == 30);
    assert_true(between(f, first.outcome.pair.from.rail, first.outcome.pair.to.rail)->outcome.GBps >=
                first.outcome.GBps * 0.999);
    verbs_fabric_free(f);
    assert_null(verbs_run(&t, &stop, &e));
    assert_says(e.text, "interrupted");
    stop = 0;
}

/* By RoCE's GIDs: 0 is of version 1, and 1 of version 2, which NCCL takes. */
static void gids_that_work_are_proven(void **state)
{
    world(0, "");
    setenv("FAKE_VERBS", "mlx5_0:2:roce:0.05:0", 1);
    struct verbs_task t = brief("mlx5_0:1,mlx5_0:2");
    struct verbs_fabric *f = measured(t);
    const struct verbs_fabric_try *one = between(f, 1, 0);
    assert_string_equal(one->gid, "RoCE v2 over IPv4");
    assert_true(one->gid_index[0] == 2 && one->gid_index[1] == 2);
    for (int i = 0; i < 2; i++) {
        const struct verbs_gid_table *g = &f->ports[i].gids;
        assert_true(g->count == 2 && !g->infiniband);
        assert_true(g->gids[0].roce == 1 && g->gids[1].roce == 2 && !g->gids[0].proven && g->gids[1].proven);
    }
    verbs_fabric_free(f);
    t.journal = at("journal");
    t.resume = 1;
    put("journal", "{\"format\": \"nccltune-fabric-journal/1\", \"what\": \"mlx5_0:1,mlx5_0:2 brief-matrix 1 nodes\"}\n"
                   "{\"nodes\":1,\"rails\":2,\"names\":[\"n0\"]}\n"
                   "{\"try\":{\"from\":[0,0],\"to\":[0,1],\"status\":\"ok\",\"write_GBps\":0.05,\"gid_index\":[0,1]}}\n"
                   "{\"try\":{\"from\":[0,1],\"to\":[0,0],\"status\":\"failed\",\"gid_index\":[0,1]}}\n");
    f = measured(t);
    assert_true(f->ports[0].gids.gids[0].proven && !f->ports[0].gids.gids[1].proven);
    assert_true(!f->ports[1].gids.gids[0].proven && f->ports[1].gids.gids[1].proven);
    verbs_fabric_free(f);
}

/* ---- two nodes --------------------------------------------------------------------------------------------------- */

/* Of which the second has a port less. */
static void nodes_of_two_kinds(void **state)
{
    world(2, "1/mlx5_1=absent");
    struct verbs_task t = {.setup = {.hosts = "n0,n1", .launcher = "ssh", .ssh = at("ssh")},
                           .ports = "mlx5_0:1,mlx5_1:1/mlx5_0:1",
                           .budget_s = 300};
    struct verbs_fabric *f = measured(t);
    assert_true(f->complete && f->nodes == 2 && f->rails == 2);
    assert_string_equal(f->names[0], "n0");
    assert_string_equal(f->names[1], "n1");
    assert_true(f->ports[0].name && f->ports[1].name && f->ports[2].name && !f->ports[3].name);
    assert_string_equal(f->ports[2].node, "n1");
    assert_int_equal(f->ntries, 4); /* both ways */
    assert_rate(between(f, 0, 2)->outcome.GBps, LINK_GBPS);
    assert_rate(between(f, 2, 0)->outcome.GBps, LINK_GBPS);
    assert_rate(between(f, 2, 0)->both_GBps, 2 * LINK_GBPS);
    assert_rate(between(f, 2, 1)->outcome.GBps, LINK_GBPS);
    /* Both have this machine's interfaces, and nobody reaches another through his own address. */
    for (int i = 0; i < f->ninterfaces; i++)
        assert_true(f->interfaces[i].tried == 1 && !f->interfaces[i].reached &&
                    f->interfaces[i].node == (i >= f->ninterfaces / 2) && *f->interfaces[i].address);
    verbs_fabric_free(f);
}

/* Whichever of two nodes sends at a tenth, it is named, and so is the way. */
static void one_of_two_that_sends_slowly(void **state)
{
    for (int slow = 0; slow < 2; slow++) {
        world(2, arena_printf(arena, "%d/mlx5_0=slow", slow));
        struct verbs_fabric *f =
            measured((struct verbs_task){.setup = {.hosts = "n0,n1", .launcher = "ssh", .ssh = at("ssh")},
                                         .ports = "mlx5_0:1,mlx5_1:1",
                                         .brief = 1,
                                         .budget_s = 300});
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        assert_int_equal(f->ntries, 4);
        assert_int_equal(d.nbroken, 1);
        assert_says(verbs_fault_text(f, &d.faults[0]), slow ? "from n1 mlx5_0:1 to n0 mlx5_0:1: 1 of 2 tries slow"
                                                            : "from n0 mlx5_0:1 to n1 mlx5_0:1: 1 of 2 tries slow");
        verbs_fabric_free(f);
    }
}

static void what_cannot_be_measured(void **state)
{
    const struct {
        struct verbs_task task;
        int code;
        const char *why;
    } rows[] = {{{.budget_s = 60}, ERR_LACKS, "no RDMA port is active here; nccltune probe shows all of them"},
                {{.ports = "mlx5_0:1", .schedule = "matrix", .budget_s = 60, .setup = {.hosts = "a,b,c,d,e,f,g,h,i"}},
                 ERR_USAGE,
                 "a matrix of all pairs is for 8 nodes at most, here are 9: use --schedule reach"},
                {{.ports = "mlx5_7:1", .budget_s = 60}, ERR_LACKS, "n0: mlx5_7: no such RDMA device here (1 found)"},
                {{.ports = "mlx5_0:2", .budget_s = 60}, ERR_LACKS, "n0: mlx5_0 has no port 2: Invalid argument"},
                {{.ports = "mlx5_0:256", .budget_s = 60},
                 ERR_FAILED,
                 "the process that owns a port exited with code 2: nccltune verbs-port: a port's number"},
                {{.ports = "mlx5_0", .budget_s = 60}, ERR_FAILED, "invalid port 'mlx5_0' (expected e.g. mlx5_0:1)"}};
    world(1, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err why = {0};
        assert_null(verbs_run(&rows[i].task, NULL, &why));
        assert_says(why.text, rows[i].why);
        assert_int_equal(why.code, rows[i].code);
    }
}

/* ---- what becomes of it ------------------------------------------------------------------------------------------ */

static void a_check_against_what_was(void **state)
{
    world(2, "");
    verbs_fabric_free(one_port_to_another());
    const struct verbs_options own = {.check = at("fabric.json")};
    const struct {
        const char *faults;
        double margin;
        int code;
        const char *says;
    } rows[] = {{"", 0.97, 0, "Nothing is worse than in "},
                {"0/mlx5_1=slow", 0.97, 0, ": 2 tries compared."},
                {"0/mlx5_1=slow", -1, ERR_FAILED, " of 2 tries slower, at "}};
    const struct bench_setup setup = {.own = &own};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        world(2, rows[i].faults);
        const struct bench_document d = {
            .setup = &setup, .budget_s = 300, .margin = rows[i].margin, .out = fopen(at("said"), "w")};
        assert_int_equal(bench_engine_verbs.documents->make(&d, &e), rows[i].code);
        fclose(d.out);
        assert_string_equal(e.text, "");
        assert_says(got("said"), rows[i].says);
    }
    const struct verbs_options nothing = {.check = dir};
    const struct bench_setup other = {.own = &nothing};
    const struct bench_document d = {.setup = &other, .budget_s = 300};
    unlink(at("fabric.json"));
    assert_int_equal(bench_engine_verbs.documents->make(&d, &e), ERR_FAILED);
    assert_says(e.text, "has no fabric.json to compare with");
    assert_int_equal(bench_engine_verbs.documents->check(&own, NULL, &e), 0);
    assert_int_equal(bench_engine_verbs.documents->check(NULL, "x", &e), 0);
    assert_int_equal(bench_engine_verbs.documents->check(NULL, NULL, &e), ERR_USAGE);
}

/* What tune begins with. */
static void a_survey(void **state)
{
    static struct topo_port ports[] = {
        {.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .layer = TOPO_LINK_INFINIBAND},
        {.hca = "mlx5_1", .port = 1, .state = TOPO_STATE_ACTIVE, .layer = TOPO_LINK_INFINIBAND}};
    static struct topo_class class_ = {.ports = ports, .nports = 2};
    struct topology topology = {.classes = &class_, .nclasses = 1};
    struct log log = {.program = "test", .out = fopen(at("log"), "w")};
    const struct bench_setup setup = {.topology = &topology, .log = &log};
    struct bench_document d = {.setup = &setup, .path = at("fabric.json"), .budget_s = 300};
    int made = -1;
    world(2, "");
    assert_int_equal(bench_engine_verbs.documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 1);
    fflush(log.out);
    assert_says(got("log"), "fabric: all 2 tried pairs of RDMA ports work");

    world(2, "0/mlx5_0=dark 0/mlx5_1=dark"); /* with --resume it is known already */
    const char *before = got("fabric.json");
    d.resume = 1;
    assert_int_equal(bench_engine_verbs.documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 1);
    assert_string_equal(got("fabric.json"), before);
    d.resume = 0;
    assert_int_equal(bench_engine_verbs.documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 1);
    fflush(log.out);
    assert_says(got("log"), "NO RDMA CONNECTION WORKS: jobs will use TCP sockets (NCCL_IB_DISABLE=1)");

    class_.nports = 1; /* nothing to try */
    assert_int_equal(bench_engine_verbs.documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 0);
    assert_int_not_equal(access(d.path, F_OK), 0);
    class_.nports = 2;
    setenv("FAKE_VERBS", "", 1); /* the topology is an old one */
    assert_int_equal(bench_engine_verbs.documents->survey(&d, &made, &e), 0);
    assert_int_equal(made, 0);
    fclose(log.out);
    assert_says(got("log"), "the fabric was not measured: n0: mlx5_0: no such RDMA device here (0 found)");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_is_measured),
                                       cmocka_unit_test(rates_by_codes),
                                       cmocka_unit_test(a_gpu_that_no_port_can_reach),
                                       cmocka_unit_test(faults_are_named),
                                       cmocka_unit_test(wrong_data_are_noticed),
                                       cmocka_unit_test(an_earlier_run_is_gone_on_with),
                                       cmocka_unit_test(an_interrupted_run),
                                       cmocka_unit_test(gids_that_work_are_proven),
                                       cmocka_unit_test(nodes_of_two_kinds),
                                       cmocka_unit_test(one_of_two_that_sends_slowly),
                                       cmocka_unit_test(what_cannot_be_measured),
                                       cmocka_unit_test(a_check_against_what_was),
                                       cmocka_unit_test(a_survey)};
    if (argc > 1 && !strcmp(argv[1], "verbs-port"))
        return verbs_serve_main(argc - 1, argv + 1);
    return cmocka_run_group_tests(tests, begin, end);
}
