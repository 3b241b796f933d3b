/* What NCCL chooses for a call, and machines that are small, odd or broken. */
#include "model/nccl/model.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

static struct arena *arena;
static struct topology *described;
static struct err error;

static int begin(void **state)
{
    arena = arena_new();
    described = NULL;
    error = (struct err){0};
    return 0;
}

static int end(void **state)
{
    topo_free(described);
    arena_free(arena);
    return 0;
}

/* A machine by hand: two NUMA nodes, on each a switch with two GPUs and a NIC. */
enum { NUMA0, NUMA1, SWITCH0, SWITCH1, GPU0, GPU1, GPU2, GPU3, NIC0, NIC1, OBJECTS };

struct made {
    struct topo_object objects[OBJECTS];
    struct topo_gpu gpus[4];
    struct topo_port ports[2];
    struct topo_link links[12];
    struct topo_class class_;
    struct topology topology;
};

static struct made made;

static struct topology *by_hand(void)
{
    static const int parents[OBJECTS] = {-1, -1, NUMA0, NUMA1, SWITCH0, SWITCH0, SWITCH1, SWITCH1, SWITCH0, SWITCH1};
    static const enum topo_kind kinds[OBJECTS] = {TOPO_NUMA, TOPO_NUMA, TOPO_SWITCH, TOPO_SWITCH, TOPO_GPU,
                                                  TOPO_GPU,  TOPO_GPU,  TOPO_GPU,    TOPO_NIC,    TOPO_NIC};
    made = (struct made){0};
    for (int i = 0; i < OBJECTS; i++)
        made.objects[i] = (struct topo_object){
            .kind = kinds[i], .parent = parents[i], .numa = i & 1, .link_GTps = 16, .link_width = 16};
    for (int i = 0; i < 4; i++)
        made.gpus[i] = (struct topo_gpu){.object = GPU0 + i, .index = i, .sm = 80, .gdr = -1};
    made.ports[0] =
        (struct topo_port){.object = NIC0, .hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 200};
    made.ports[1] = made.ports[0];
    made.ports[1].object = NIC1;
    made.ports[1].hca = "mlx5_1";
    made.class_ = (struct topo_class){
        .name = "by-hand",
        .cpu = "GenuineIntel 6/143",
        .arch = "x86_64",
        .objects = made.objects,
        .gpus = made.gpus,
        .ports = made.ports,
        .links = made.links,
        .nobjects = OBJECTS,
        .ngpus = 4,
        .nports = 2,
    };
    made.topology = (struct topology){.classes = &made.class_, .nclasses = 1};
    return &made.topology;
}

static const struct nccl_model *new_model(struct nccl_setup s)
{
    return nccl_model_new(&s, arena, &error);
}

static const struct nccl_model *model(int nodes)
{
    const struct nccl_model *m = new_model((struct nccl_setup){.topology = &made.topology, .nodes = nodes});
    assert_non_null(m);
    assert_true(m->nchannels >= 1);
    return m;
}

/* ---- choices ---- */

static void choice(const struct nccl_model *m, int coll, uint64_t bytes, int algo, int proto, int channels, int used,
                   int threads)
{
    struct nccl_choice c;
    assert_int_equal(nccl_model_choose(m, coll, bytes, &c), 0);
    assert_int_equal(c.algo, algo);
    assert_int_equal(c.proto, proto);
    assert_int_equal(c.channels, channels);
    assert_int_equal(c.used, used);
    assert_int_equal(c.threads, threads);
}

static const struct nccl_model *of_machine(const char *name, int nodes, int version)
{
    topo_free(described);
    described = machine_topology(name, nodes, &error);
    assert_non_null(described);
    return new_model((struct nccl_setup){.topology = described, .nodes = nodes, .version = version});
}

TEST_CASE(choices_of_one_node)
{
    const struct nccl_model *m = of_machine("hgx-h100", 1, 22809);
    choice(m, COLL_ALLREDUCE, 8, ALGO_RING, PROTO_LL, 1, 1, 96);
    choice(m, COLL_ALLREDUCE, 1 << 30, ALGO_NVLS, PROTO_SIMPLE, 16, 16, 640);
    choice(m, COLL_BROADCAST, 1 << 30, ALGO_RING, PROTO_SIMPLE, 24, 24, 544);
    struct nccl_choice c;
    assert_int_equal(nccl_model_choose(m, COLL_ALLTOALL, 1 << 20, &c), -1);
    assert_int_equal(nccl_model_choose(m, -1, 1 << 20, &c), -1);
}

/* 262,144 B with LL and 8 ranks: a channel's 512 threads want 32,768 B. */
TEST_CASE(channels_of_a_forced_cell)
{
    const struct nccl_model *m = of_machine("hgx-h100", 1, 22809);
    struct nccl_choice c;
    nccl_model_channels(m, COLL_ALLREDUCE, ALGO_RING, PROTO_LL, 1 << 18, &c);
    assert_int_equal(c.channels, 8);
    assert_int_equal(c.used, 8);
    assert_int_equal(c.threads, 512);
    /* Simple: 16 KiB of traffic a channel at least, which an AllReduce makes of 8 KiB */
    nccl_model_channels(m, COLL_ALLREDUCE, ALGO_NVLS, PROTO_SIMPLE, 1 << 15, &c);
    assert_int_equal(c.channels, 16);
    assert_int_equal(c.used, 4);
    nccl_model_channels(m, COLL_ALLREDUCE, ALGO_TREE, PROTO_SIMPLE, 1 << 30, &c);
    assert_int_equal(c.threads, 640);
    assert_true(c.us > 0);
}

TEST_CASE(limits_of_channels)
{
    const struct nccl_model *m = of_machine("hgx-h100", 1, 22809);
    assert_int_equal(m->nchannels, 24);
    m = new_model((struct nccl_setup){.topology = described, .nodes = 1, .version = 22809, .max_channels = 8});
    assert_int_equal(m->nchannels, 8);
    assert_int_equal(m->nvls_channels, 8);
    m = new_model((struct nccl_setup){.topology = described, .nodes = 1, .version = 22809, .min_channels = 40});
    assert_int_equal(m->nchannels, 40);
    m = new_model((struct nccl_setup){.topology = described, .nodes = 1, .version = 22809, .min_channels = 1000});
    assert_int_equal(m->nchannels, 64);
}

/* ---- NICs ---- */

TEST_CASE(chosen_hcas)
{
    static const char *const one[] = {"mlx5_1"}, *const port[] = {"mlx5_0:1", "mlx5_1:1"}, *const none[] = {"mlx5_7"};
    struct nccl_setup s = {.topology = by_hand(), .nodes = 2, .hcas = one, .nhcas = 1};
    const struct nccl_model *m = new_model(s);
    assert_int_equal(m->nnets, 1);
    assert_string_equal(m->nets[0].name, "mlx5_1:1");
    assert_float_equal(m->nets[0].GBps, 25, 0);
    s.hcas = port;
    s.nhcas = 2;
    assert_int_equal(new_model(s)->nnets, 2);
    s.hcas = none;
    s.nhcas = 1;
    assert_null(new_model(s));
    assert_int_equal(error.code, ERR_USAGE);
    assert_non_null(strstr(error.text, "mlx5_7"));
    made.ports[1].state = TOPO_STATE_DOWN;
    s.hcas = NULL;
    s.nhcas = 0;
    assert_int_equal(new_model(s)->nnets, 1);
}

TEST_CASE(ports_of_one_card)
{
    by_hand();
    made.objects[NIC0].pci = "0000:17:00.0";
    made.objects[NIC1].pci = "0000:17:00.1";
    const struct nccl_model *m = model(2);
    assert_int_equal(m->nnets, 1);
    assert_int_equal(m->nets[0].devices, 2);
    assert_string_equal(m->nets[0].name, "mlx5_0:1+mlx5_1:1");
    assert_float_equal(m->nets[0].GBps, 50, 0);
}

TEST_CASE(sockets)
{
    static struct topo_netdev netdevs[] = {
        {.object = -1, .name = "lo", .kind = TOPO_NET_LOOPBACK},
        {.object = NIC0, .name = "eth0", .kind = TOPO_NET_PHYSICAL, .speed_Gbps = 25},
        {.object = -1, .name = "docker0", .kind = TOPO_NET_BRIDGE},
    };
    by_hand();
    made.class_.netdevs = netdevs;
    made.class_.nnetdevs = 3;
    struct nccl_setup s = {.topology = &made.topology, .nodes = 2, .sockets = 1};
    const struct nccl_model *m = new_model(s);
    assert_int_equal(m->nnets, 1);
    assert_string_equal(m->nets[0].name, "eth0");
    assert_int_equal(m->nets[0].gdr, 0);
    assert_true(m->ring.type_inter >= PATH_PHB); /* through host memory */
    netdevs[2].name = "ib0";
    assert_string_equal(new_model(s)->nets[0].name, "ib0"); /* preferred */
    made.class_.nnetdevs = 0;
    m = new_model(s);
    assert_int_equal(m->nnets, 2);
    assert_non_null(strstr(m->assumed, "IP interface"));
    made.class_.nports = 0;
    m = new_model(s);
    assert_string_equal(m->nets[0].name, "eth0");
    assert_float_equal(m->nets[0].GBps, 1.25, 0);
    assert_non_null(strstr(m->assumed, "10 Gb/s"));
}

/* ---- odd machines ---- */

TEST_CASE(wrong_questions)
{
    by_hand();
    static const struct {
        int class_index, nodes, ranks;
    } wrong[] = {{1, 1, 0}, {-1, 1, 0}, {0, 0, 0}, {0, -5, 0}, {0, 1000001, 0}, {0, 1, 5}, {0, 1, -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error = (struct err){0};
        assert_null(new_model((struct nccl_setup){.topology = &made.topology,
                                                  .class_index = wrong[i].class_index,
                                                  .nodes = wrong[i].nodes,
                                                  .ranks_per_node = wrong[i].ranks}));
        assert_int_equal(error.code, ERR_USAGE);
    }
    made.class_.ngpus = 0;
    assert_null(new_model((struct nccl_setup){.topology = &made.topology, .nodes = 1}));
    assert_int_equal(error.code, ERR_LACKS);
}

TEST_CASE(no_nvlink)
{
    by_hand();
    const struct nccl_model *m =
        new_model((struct nccl_setup){.topology = &made.topology, .nodes = 1, .no_net_intra = 1});
    assert_int_equal(m->ring.type_intra, PATH_SYS);
    assert_non_null(strstr(m->assumed, "no NVLink"));
    assert_int_equal(model(2)->ring.nchannels >= 1, 1);
}

TEST_CASE(one_gpu)
{
    by_hand();
    made.class_.ngpus = 1;
    const struct nccl_model *m = model(1);
    assert_int_equal(m->ranks, 1);
    struct nccl_choice c;
    assert_int_equal(nccl_model_choose(m, COLL_ALLREDUCE, 1 << 20, &c), 0);
    assert_int_equal(c.algo, ALGO_RING);
    assert_float_equal(c.us, 0, 0);
    m = model(4);
    assert_int_equal(nccl_model_choose(m, COLL_ALLGATHER, 64, &c), 0);
    assert_true(nccl_cost_us(m, COLL_ALLGATHER, ALGO_PAT, PROTO_SIMPLE, 64) > 0);
    assert_int_equal(nccl_model_choose(model(100000), COLL_ALLREDUCE, 1 << 30, &c), 0);
}

/* GPUs without a place, one of unknown kind, one of another generation, a link with no end. */
TEST_CASE(unknown_and_mixed)
{
    by_hand();
    made.objects[GPU3].parent = -1;
    made.gpus[1].sm = 0;
    made.gpus[2].sm = 90;
    made.links[0] = (struct topo_link){.link_kind = TOPO_NVLINK, .gpu = 0, .peer_gpu = -1, .peer_object = -1};
    made.links[1] = (struct topo_link){.link_kind = TOPO_NVLINK, .gpu = 0, .peer_gpu = 1, .peer_object = -1};
    made.class_.nlinks = 2;
    made.class_.cpu = NULL;
    const struct nccl_model *m = model(2);
    assert_int_equal(m->sm, 0);
    assert_int_equal(m->sm_most, 90);
    assert_non_null(strstr(m->assumed, "unknown place"));
    assert_non_null(strstr(m->assumed, "compute capability"));
}

/* Objects that are not what refers to them. */
TEST_CASE(misplaced)
{
    by_hand();
    made.gpus[0].object = -1;
    made.gpus[1].object = GPU2; /* of another GPU */
    made.gpus[3].object = NUMA0;
    made.ports[0].object = SWITCH0;
    made.ports[1].object = GPU3;
    const struct nccl_model *m = model(2);
    assert_int_equal(m->nnets, 2);
    assert_non_null(strstr(m->assumed, "unknown place"));
    int seen = 0;
    for (int i = 0; i < 4; i++)
        seen |= 1 << m->ring.gpus[i];
    assert_int_equal(seen, 15);
}

TEST_CASE(links_without_bandwidth)
{
    by_hand();
    for (int i = 0; i < OBJECTS; i++)
        made.objects[i].link_GTps = made.objects[i].link_width = 0;
    for (int i = 0; i < 2; i++)
        made.ports[i].rate_Gbps = 0;
    for (int g = 0; g < 3; g++)
        made.links[g] = (struct topo_link){.gpu = g, .peer_gpu = g + 1, .peer_object = -1, .count = g};
    made.class_.nlinks = 3;
    assert_float_equal(model(2)->nets[0].GBps, 1.25, 0);
    made.objects[GPU0].link_width = 1; /* what one lane carries */
    made.objects[GPU0].link_GTps = 2.5;
    assert_true(model(2)->ring.bw_intra > 0);
}

/* Nothing that is wide enough is found: a channel as slow as can be, by the NICs of its ends since 2.29. */
TEST_CASE(a_network_that_is_too_slow)
{
    static const int versions[] = {22809, 22900};
    by_hand();
    made.ports[0].rate_Gbps = made.ports[1].rate_Gbps = 0.5;
    for (int i = 0; i < 2; i++) {
        const struct nccl_model *m =
            new_model((struct nccl_setup){.topology = &made.topology, .nodes = 2, .version = versions[i]});
        assert_int_equal(m->ring.nchannels, 1);
        assert_float_equal(m->ring.bw_intra, 0.1, 1e-6);
        assert_float_equal(m->ring.bw_inter, 0.1, 1e-6);
        assert_int_equal(m->ring.type_intra, PATH_SYS);
        assert_int_equal(m->ring.type_inter, PATH_SYS);
        assert_int_equal(m->ring.nets[0], 0);
        assert_int_equal(m->ring.nets[1], i);
        for (int g = 0; g < 4; g++)
            assert_int_equal(m->ring.gpus[g], g);
    }
}

/* Two pairs of GPUs with NVLink, and something slower in between: since 2.26 at least two rings are asked for. */
TEST_CASE(two_islands)
{
    by_hand();
    for (int i = 0; i < 2; i++)
        made.links[i] = (struct topo_link){.gpu = 2 * i, .peer_gpu = 2 * i + 1, .peer_object = -1, .count = 4};
    made.class_.nlinks = 2;
    static const struct {
        int version, channels;
        double bw;
    } releases[] = {{22599, 1, 10}, {22600, 3, 7}}; /* what the search found once */
    for (int i = 0; i < 2; i++) {
        const struct nccl_model *m = new_model((struct nccl_setup){
            .topology = &made.topology, .nodes = 1, .version = releases[i].version, .no_net_intra = 1});
        assert_int_equal(m->ring.nchannels, releases[i].channels);
        assert_float_equal(m->ring.bw_intra, releases[i].bw, 1e-6);
        assert_int_equal(m->ring.type_intra, PATH_SYS);
    }
}

/* POWER9's GPUs have NVLink to their processor, which counts both ways. */
TEST_CASE(nvlink_to_the_processor)
{
    by_hand();
    made.class_.arch = "ppc64le";
    made.class_.cpu = "POWER9";
    for (int g = 0; g < 4; g++)
        made.links[g] = (struct topo_link){.gpu = g, .peer_gpu = -1, .peer_object = g / 2, .count = 3};
    made.class_.nlinks = 4;
    for (int i = 0; i < 4; i++)
        made.gpus[i].sm = 70;
    const struct nccl_model *m =
        new_model((struct nccl_setup){.topology = &made.topology, .nodes = 1, .version = 22809, .no_net_intra = 1});
    assert_int_equal(m->cpu, NCCL_CPU_POWER);
    assert_int_equal(m->ring.nchannels, 2); /* of 32 GB/s between the processors */
    assert_float_equal(m->ring.bw_intra, 15, 1e-6);
    assert_int_equal(m->ring.type_intra, PATH_SYS);
}

/* What the setup must not say, and a class without a name. */
TEST_CASE(in_words)
{
    static const struct {
        struct nccl_setup s;
        const char *text;
    } wrong[] = {
        {{.nodes = 1, .min_channels = -1}, "channels and version must not be negative"},
        {{.nodes = 1, .max_channels = -1}, "channels and version must not be negative"},
        {{.nodes = 1, .version = -1}, "channels and version must not be negative"},
        {{.nodes = 1, .first_gpu = -1, .ranks_per_node = 1},
         "1 ranks a node: from 1 to 4 can be modelled on these nodes"},
        {{.nodes = 1, .first_gpu = 3, .ranks_per_node = 2},
         "2 ranks a node: from 1 to 4 can be modelled on these nodes"},
        {{.nodes = 1000001}, "1000001 nodes: from 1 to 1000000 can be modelled"},
        {{.nodes = 1, .class_index = 1}, "node class 1 of a topology that has 1"},
    };
    by_hand();
    made.class_.name = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct nccl_setup s = wrong[i].s;
        s.topology = &made.topology;
        error = (struct err){0};
        assert_null(new_model(s));
        assert_string_equal(error.text, wrong[i].text);
    }
    assert_non_null(new_model(
        (struct nccl_setup){.topology = &made.topology, .nodes = 1000000, .first_gpu = 3, .ranks_per_node = 1}));
    made.class_.ngpus = 0;
    assert_null(new_model((struct nccl_setup){.topology = &made.topology, .nodes = 1}));
    assert_string_equal(error.text, "the node class has no GPU, so NCCL has no choice");
}

/* Processors that say no more than who made them, and GPUs that all have one number. */
TEST_CASE(half_known)
{
    by_hand();
    made.class_.cpu = "GenuineIntel 6";
    assert_non_null(strstr(model(2)->assumed, "the processor's model: counted as Sapphire Rapids"));
    by_hand();
    for (int i = 0; i < 4; i++)
        made.gpus[i].index = 5;
    const struct nccl_model *m =
        new_model((struct nccl_setup){.topology = &made.topology, .nodes = 2, .no_net_intra = 1});
    int seen = 0;
    for (int i = 0; i < 4; i++)
        seen |= 1 << m->ring.gpus[i];
    assert_int_equal(seen, 15);
    struct nccl_choice c;
    nccl_model_channels(m, COLL_ALLREDUCE, ALGO_RING, PROTO_SIMPLE, 0, &c);
    assert_int_equal(c.used, 1);
    assert_int_equal(c.channels, 1);
}

TEST_CASE(no_numa_node)
{
    by_hand();
    made.objects[SWITCH0].parent = made.objects[SWITCH1].parent = -1;
    assert_non_null(model(2)->assumed);
    for (int i = GPU0; i <= NIC1; i++)
        made.objects[i].parent = -1;
    made.class_.cpu = "AuthenticAMD 25/1";
    assert_int_equal(model(2)->cpu, NCCL_CPU_AMD);
}

TEST_CASES_EACH(test_model, begin, end)
