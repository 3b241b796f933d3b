/* hook.map: what of a topology the hooks get, and which classes are compatible. */
#include "envgen/install/install.h"
#include "tests/lib/unit.h"

#define HASH "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct topo_object gpu_object = {.kind = TOPO_GPU, .vendor = 0x10de, .device = 0x2330};
static struct topo_gpu gpus[2] = {{.object = 0, .sm = 90}, {.object = 0, .sm = 90}};
static struct topo_port ports_a[] = {{.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 400},
                                     {.hca = "mlx5_1", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 200},
                                     {.hca = "mlx5_2", .port = 1, .state = TOPO_STATE_DOWN, .rate_Gbps = 400}};
static struct topo_port ports_b[] = {{.hca = "mlx5_7", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 200},
                                     {.hca = "mlx5_8", .port = 1, .state = TOPO_STATE_ACTIVE, .rate_Gbps = 400}};
static struct topo_class classes[3];
static struct topo_host hosts[] = {{.name = "n0", .class_index = 0}, {.name = "n1", .class_index = 2}};
static struct topology topology;
static struct env_manifest_file files[] = {
    {.name = "nccl.conf", .sha256 = HASH, .bytes = 12},
    {.name = "results.jsonl", .sha256 = HASH, .bytes = 99999999},
    {.name = "tuner.csv", .sha256 = HASH, .bytes = 7},
};
static struct env_manifest manifest;
static struct arena *arena;

static int set_up(void **state)
{
    arena = arena_new();
    struct topo_class c = {.name = "class0",
                           .objects = &gpu_object,
                           .gpus = gpus,
                           .ports = ports_a,
                           .nobjects = 1,
                           .ngpus = 2,
                           .nports = 3};
    classes[0] = classes[1] = classes[2] = c;
    classes[1].name = "class1";
    classes[1].ports = ports_b;
    classes[1].nports = 2;
    classes[2].name = "class2";
    classes[2].nports = 1;
    topology = (struct topology){.classes = classes, .hosts = hosts, .nclasses = 3, .nhosts = 2};
    manifest = (struct env_manifest){.files = files, .nfiles = 3, .hash = HASH};
    return 0;
}

static int tear_down(void **state)
{
    arena_free(arena);
    return 0;
}

TEST_CASE(writes)
{
    struct err e = {0};
    int one_compatible = 1;
    assert_string_equal(
        install_map_text(&topology, &manifest, arena, &one_compatible, &e),
        "nccltune-hook/1\nprofile " HASH "\nfile nccl.conf 12 " HASH "\nfile tuner.csv 7 " HASH "\n"
        "class class0 group0 2 4318\nport class0 mlx5_0 1 400\nport class0 mlx5_1 1 200\n"
        "module class0 nvidia\nmodule class0 mlx5_ib\n"
        "class class1 group0 2 4318\nport class1 mlx5_7 1 200\nport class1 mlx5_8 1 400\n"
        "module class1 nvidia\nmodule class1 mlx5_ib\n"
        "class class2 group2 2 4318\nport class2 mlx5_0 1 400\nmodule class2 nvidia\nmodule class2 mlx5_ib\n"
        "host n0 class0\nhost n1 class2\nend\n");
    assert_int_equal(one_compatible, 0);
    topology.nclasses = 2;
    topology.nhosts = 1;
    assert_non_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
    assert_int_equal(one_compatible, 1);
}

TEST_CASE(compatible_classes)
{
    struct topo_gpu older[2] = {{.object = 0, .sm = 80}, {.object = 0, .sm = 80}};
    assert_true(install_compatible(&classes[0], &classes[1]));
    assert_false(install_compatible(&classes[0], &classes[2]));
    classes[1].gpus = older;
    assert_false(install_compatible(&classes[0], &classes[1]));
    classes[1].gpus = gpus;
    classes[1].ngpus = 1;
    assert_false(install_compatible(&classes[0], &classes[1]));
}

TEST_CASE(refuses)
{
    struct err e = {0};
    int one_compatible;
    hosts[0].name = "n 0";
    assert_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
    assert_non_null(strstr(e.text, "'n 0'"));
    hosts[0].name = "n0";
    classes[1].name = "../x";
    assert_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
    classes[1].name = "class1";
    ports_a[0].hca = "";
    assert_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
    ports_a[0].hca = "mlx5_0";
    files[2].bytes = (4u << 20) + 1;
    assert_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
    assert_non_null(strstr(e.text, "tuner.csv"));
    files[2].bytes = 7;
    topology.nclasses = 0;
    topology.nhosts = 0;
    assert_null(install_map_text(&topology, &manifest, arena, &one_compatible, &e));
}

TEST_CASE(schedule_order)
{
    char last[SHA256_HEX], before[SHA256_HEX];
    install_schedule_last(NULL, last, before);
    assert_string_equal(last, "");
    install_schedule_last("# " HASH " all\n1 " HASH " partition=x\n1 short all\n2 " HASH " all\n3 " HASH " all\n", last,
                          before);
    assert_string_equal(last, HASH);
    assert_string_equal(before, "");
    install_schedule_last("1 " HASH " all\n2 bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb all\n",
                          last, before);
    assert_int_equal(last[0], 'b');
    assert_string_equal(before, HASH);
}

TEST_CASES_EACH(test_map, set_up, tear_down)
