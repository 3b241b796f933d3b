/* What the nccl engine tries, by topology and environment. */
#include "bench/candidates/candidates.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

static struct arena *arena;
static struct bench_plan plan;

static int begin(void **state)
{
    arena = arena_new();
    memset(&plan, 0, sizeof plan);
    unsetenv("NCCL_IB_HCA");
    unsetenv("NCCL_BUFFSIZE");
    return 0;
}

static int end(void **state)
{
    arena_free(arena);
    return 0;
}

static const struct bench_call *call(int coll, const char *label)
{
    for (int i = 0; i < plan.ncalls; i++)
        if (plan.calls[i].coll == coll && !strcmp(plan.calls[i].knobs.label, label))
            return &plan.calls[i];
    return NULL;
}

/* The value that a launch gives its one variable; NULL: no such launch. */
static const char *launch(const char *label)
{
    for (int i = 0; i < plan.nlaunches; i++)
        if (!strcmp(plan.launches[i].label, label))
            return plan.launches[i].nsettings ? plan.launches[i].settings->value : "";
    return NULL;
}

/* Two switches, each with a GPU and an HCA, one more HCA on the second NUMA node, and a slow one for management. */
static struct topology *machine(void)
{
    static struct topo_object objects[] = {
        {.kind = TOPO_NUMA, .parent = -1, .numa = 0},  {.kind = TOPO_NUMA, .parent = -1, .numa = 1},
        {.kind = TOPO_SWITCH, .parent = 0, .numa = 0}, {.kind = TOPO_SWITCH, .parent = 1, .numa = 1},
        {.kind = TOPO_GPU, .parent = 2, .numa = 0},    {.kind = TOPO_GPU, .parent = 3, .numa = 1},
        {.kind = TOPO_NIC, .parent = 2, .numa = 0},    {.kind = TOPO_NIC, .parent = 3, .numa = 1},
        {.kind = TOPO_NIC, .parent = 1, .numa = 1},    {.kind = TOPO_NIC, .parent = 0, .numa = 0},
    };
    static struct topo_gpu gpus[] = {{.object = 4}, {.object = 5}};
    static struct topo_port ports[] = {
        {.object = 6, .hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 400},
        {.object = 7, .hca = "mlx5_1", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 400},
        {.object = 8, .hca = "mlx5_2", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 400},
        {.object = 9, .hca = "mlx5_3", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 25},
        {.object = 9, .hca = "mlx5_4", .port = 1, .state = TOPO_STATE_DOWN, .rate_Gbps = 1600},
    };
    static struct topo_class class = {
        .objects = objects, .gpus = gpus, .ports = ports, .nobjects = 10, .ngpus = 2, .nports = 5};
    static struct topology t = {.classes = &class, .nclasses = 1};
    return &t;
}

TEST_CASE(calls_are_what_nccl_has)
{
    nccl_plan_calls(&plan, arena, 1);
    for (int coll = 0; coll < COLL_MEASURED; coll++)
        assert_non_null(call(coll, BENCH_DEFAULT));
    assert_non_null(call(COLL_ALLREDUCE, "tree/ll"));
    assert_non_null(call(COLL_ALLREDUCE, "nvls_tree/simple"));
    assert_null(call(COLL_ALLREDUCE, "nvls/ll"));
    assert_null(call(COLL_ALLREDUCE, "pat/simple"));
    assert_non_null(call(COLL_ALLGATHER, "pat/simple"));
    assert_null(call(COLL_BROADCAST, "tree/simple"));
    for (int i = 0; i < plan.ncalls; i++) /* no tuner is asked about it */
        assert_true(plan.calls[i].coll < COLL_COUNT || !plan.calls[i].knobs.nsettings);
    const struct bench_call *c = call(COLL_ALLREDUCE, "ring/ll128/8ch");
    assert_non_null(c);
    assert_string_equal(c->refines, "ring/ll128");
    assert_true(c->min_bytes > 8);
    struct nccl_requested w = nccl_requested_of(&c->knobs);
    assert_int_equal(w.algo, ALGO_RING);
    assert_int_equal(w.proto, PROTO_LL128);
    assert_int_equal(w.channels, 8);
    assert_int_equal(nccl_requested_of(&call(COLL_ALLREDUCE, BENCH_DEFAULT)->knobs).algo, -1);
}

/* Unless the site has one already. */
TEST_CASE(topology_file_is_a_launch)
{
    struct bench_setup s = {.topology = machine(), .topo_file = "/etc/nccl-topo.xml"};
    nccl_plan_launches(&s, 1, &plan, arena);
    assert_string_equal(launch("topo-file"), "/etc/nccl-topo.xml");
    plan.nlaunches = 0;
    setenv("NCCL_TOPO_FILE", "/opt/site.xml", 1);
    nccl_plan_launches(&s, 1, &plan, arena);
    unsetenv("NCCL_TOPO_FILE");
    assert_null(launch("topo-file"));
}

TEST_CASE(hca_sets_come_from_the_topology)
{
    struct bench_setup s = {.topology = machine()};
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_string_equal(plan.launches[0].label, BENCH_DEFAULT);
    assert_string_equal(launch("hca=compute"), "=mlx5_0:1,mlx5_1:1,mlx5_2:1");
    assert_string_equal(launch("hca=near-gpus"), "=mlx5_0:1,mlx5_1:1");
    assert_null(launch("topo-file"));
    assert_string_equal(launch("hca=mlx5_2"), "=mlx5_2:1");
    assert_null(launch("hca=one-a-numa")); /* the same set as near-gpus: measured once */
    assert_null(launch("hca=mlx5_3"));
    assert_null(launch("hca=mlx5_4"));
    assert_string_equal(launch("qps=4"), "4");
    assert_null(launch("socket=4x1"));
}

/* Both GPUs behind the first switch: the HCA behind the other one is not near them, but the first of its NUMA node. */
TEST_CASE(hca_sets_differ_where_the_machine_is_lopsided)
{
    struct bench_setup s = {.topology = machine()};
    struct topo_object *second = &s.topology->classes[0].objects[s.topology->classes[0].gpus[1].object];
    int before = second->parent;
    second->parent = 2;
    nccl_plan_launches(&s, 4, &plan, arena);
    second->parent = before;
    assert_string_equal(launch("hca=near-gpus"), "=mlx5_0:1");
    assert_string_equal(launch("hca=one-a-numa"), "=mlx5_0:1,mlx5_1:1");
}

TEST_CASE(queue_pairs_by_splitting)
{
    struct bench_setup s = {.topology = machine()};
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_string_equal(launch("qps=8,split=1"), "8");
    assert_null(launch("split=1"));
    assert_int_equal(plan.nbeside, 6);
    assert_int_equal(plan.beside[5].nsettings, 2);
    assert_string_equal(plan.beside[5].settings[1].name, "NCCL_IB_SPLIT_DATA_ON_QPS");
    setenv("NCCL_IB_QPS_PER_CONNECTION", "4", 1);
    memset(&plan, 0, sizeof plan);
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_int_equal(plan.nbeside, 0);
    assert_null(launch("qps=4"));
    assert_string_equal(launch("split=1"), "1");
    unsetenv("NCCL_IB_QPS_PER_CONNECTION");
}

TEST_CASE(without_rdma_sockets_are_tried)
{
    struct bench_setup s = {0};
    nccl_plan_launches(&s, 2, &plan, arena);
    assert_null(launch("hca=compute"));
    assert_null(launch("qps=4"));
    assert_string_equal(launch("socket=4x1"), "4");
}

TEST_CASE(one_node_needs_no_network)
{
    struct bench_setup s = {.topology = machine()};
    nccl_plan_launches(&s, 1, &plan, arena);
    assert_null(launch("hca=compute"));
    assert_null(launch("qps=4"));
    assert_string_equal(launch("buffer=8M"), "8388608");
}

TEST_CASE(what_the_user_has_set_is_settled)
{
    struct bench_setup s = {.topology = machine()};
    setenv("NCCL_IB_HCA", "mlx5_0", 1);
    setenv("NCCL_BUFFSIZE", "4194304", 1);
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_null(launch("hca=compute"));
    assert_null(launch("buffer=8M"));
    assert_non_null(launch("qps=4"));
}

/* "NCCL_IB_HCA@a=… NCCL_IB_HCA@b=…"; "none": no such launch. */
static const char *settings(const char *label)
{
    const char *text = "none";
    for (int i = 0; i < plan.nlaunches; i++) {
        const struct bench_knobs *k = &plan.launches[i];
        for (int n = 0; n < k->nsettings && !strcmp(k->label, label); n++)
            text = arena_printf(arena, "%s%s%s=%s", n ? text : "", n ? " " : "", k->settings[n].name,
                                k->settings[n].value);
    }
    return text;
}

/* A name means another port on another class of nodes: each has its own list in one launch. */
TEST_CASE(every_class_has_its_own_hcas)
{
    struct topology *t = machine(), two = *t;
    struct topo_class classes[] = {t->classes[0], t->classes[0]};
    struct topo_port ports[5];
    static const char *const names[] = {"mlx5_7", "mlx5_1", "mlx5_5", "mlx5_0", "mlx5_3"};
    memcpy(ports, t->classes[0].ports, sizeof ports);
    for (int i = 0; i < 5; i++)
        ports[i].hca = names[i];
    classes[0].name = "a";
    classes[1].name = "b";
    two.classes = classes;
    two.nclasses = 2;
    struct bench_setup s = {.topology = &two};
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_string_equal(settings("hca=compute"), "NCCL_IB_HCA==mlx5_0:1,mlx5_1:1,mlx5_2:1"); /* alike still */
    classes[1].ports = ports;
    memset(&plan, 0, sizeof plan);
    nccl_plan_launches(&s, 4, &plan, arena);
    assert_string_equal(settings("hca=compute"), "NCCL_IB_HCA@a==mlx5_0:1,mlx5_1:1,mlx5_2:1 "
                                                 "NCCL_IB_HCA@b==mlx5_7:1,mlx5_1:1,mlx5_5:1");
    assert_string_equal(settings("hca=near-gpus"), "NCCL_IB_HCA@a==mlx5_0:1,mlx5_1:1 NCCL_IB_HCA@b==mlx5_7:1,mlx5_1:1");
    assert_string_equal(settings("hca=rail0"), "NCCL_IB_HCA@a==mlx5_0:1 NCCL_IB_HCA@b==mlx5_7:1");
    assert_string_equal(settings("hca=mlx5_1"), "NCCL_IB_HCA==mlx5_1:1");
    assert_string_equal(settings("qps=4"), "NCCL_IB_QPS_PER_CONNECTION=4");
}

TEST_CASE(launches_join_when_they_set_different_things)
{
    struct bench_setting a = {"NCCL_BUFFSIZE", "8388608"}, b = {"NCCL_MIN_CTAS", "16"};
    struct bench_knobs x = {"buffer=8M", &a, 1}, y = {"ctas>=16", &b, 1}, both;
    assert_true(nccl_plan_combine(&x, &y, arena, &both));
    assert_string_equal(both.label, "buffer=8M,ctas>=16");
    assert_int_equal(both.nsettings, 2);
    assert_false(nccl_plan_combine(&x, &x, arena, &both));
    static const struct bench_setting least = {"NCCL_MIN_CTAS", "16"}, most = {"NCCL_MAX_CTAS", "8"};
    x = (struct bench_knobs){"ctas>=16", &least, 1};
    y = (struct bench_knobs){"ctas<=8", &most, 1};
    assert_false(nccl_plan_combine(&x, &y, arena, &both));
}

TEST_CASE(chunk_sizes_fit_the_message)
{
    static const struct bench_knobs plain = {BENCH_DEFAULT, NULL, 0};
    struct bench_knobs out[BENCH_VARIATIONS], again[BENCH_VARIATIONS];
    nccl_plan_calls(&plan, arena, 1);
    const struct bench_knobs *k = &call(COLL_ALLREDUCE, "ring/ll128/8ch")->knobs;
    int n = nccl_plan_vary(&plain, k, 4 << 20, arena, out);
    assert_int_equal(n, 5); /* 16 KiB to 256 KiB: two on each of eight channels */
    assert_string_equal(out[3].label, "ring/ll128/8ch/128K");
    struct nccl_requested w = nccl_requested_of(&out[3]);
    assert_int_equal(w.chunk_bytes, 128 << 10);
    assert_true(w.algo == ALGO_RING && w.proto == PROTO_LL128 && w.channels == 8);
    assert_true(nccl_plan_vary(&plain, k, (uint64_t)1 << 40, arena, again) <= BENCH_VARIATIONS);
    assert_int_equal(nccl_plan_vary(&plain, k, 8 << 10, arena, again), 0);
    assert_int_equal(nccl_plan_vary(&plain, &out[3], 4 << 20, arena, again), 0);
    assert_int_equal(nccl_plan_vary(&plain, &call(COLL_ALLREDUCE, "ring/ll128")->knobs, 4 << 20, arena, again), 0);
    assert_int_equal(nccl_plan_vary(&plain, &call(COLL_ALLREDUCE, BENCH_DEFAULT)->knobs, 4 << 20, arena, again), 0);
}

/* The longest that is tried, in KiB. */
static int longest(const char *label, const struct bench_knobs *launch)
{
    struct bench_knobs out[BENCH_VARIATIONS];
    int n = nccl_plan_vary(launch, &call(COLL_ALLREDUCE, label)->knobs, (uint64_t)1 << 40, arena, out);
    assert_true(n > 0);
    return (int)(nccl_requested_of(&out[n - 1]).chunk_bytes >> 10);
}

TEST_CASE(chunk_sizes_end_where_nccl_cuts_them)
{
    static const struct bench_setting s[] = {
        {"NCCL_BUFFSIZE", "8388608"}, {"NCCL_LL_BUFFSIZE", "2097152"}, {"NCCL_LL128_BUFFSIZE", "1048576"}};
    static const struct bench_knobs plain = {BENCH_DEFAULT, NULL, 0}, others = {"others", s, 3};
    nccl_plan_calls(&plan, arena, 1);
    assert_int_equal(longest("ring/simple/2ch", &plain), 1024); /* of 2 MiB */
    assert_int_equal(longest("tree/simple/2ch", &plain), 512);
    assert_int_equal(longest("nvls/simple/2ch", &plain), 512);
    assert_int_equal(longest("tree/simple/2ch", &others), 1024);
    assert_int_equal(longest("ring/ll/2ch", &plain), 32);
    assert_int_equal(longest("ring/ll/2ch", &others), 128);
    assert_int_equal(longest("tree/ll128/2ch", &plain), 1024); /* cut to 562.5 */
    assert_int_equal(longest("tree/ll128/2ch", &others), 128); /* cut to 120 */
    setenv("NCCL_BUFFSIZE", "1048576", 1);
    assert_int_equal(longest("tree/simple/2ch", &plain), 128);
    assert_int_equal(longest("tree/simple/2ch", &others), 1024);
    unsetenv("NCCL_BUFFSIZE");
}

TEST_CASE(verification_compares_jobs_alone)
{
    struct bench_knobs job = {.label = "profile"};
    struct bench_setup s = {.jobs = &job, .njobs = 1};
    nccl_plan_calls(&plan, arena, 0);
    bench_plan_jobs(&plan, arena, &s);
    assert_int_equal(plan.ncalls, COLL_MEASURED);
    assert_int_equal(plan.nlaunches, 2);
    assert_true(plan.keep_all);
}

TEST_CASES_EACH(test_nccl_plan, begin, end)
