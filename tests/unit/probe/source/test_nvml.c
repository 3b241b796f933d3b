/* probe/source/nvml.c against the double of NVML. */
#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

/* The double lies beside the tests of the same build: …/tests/doubles/fake_nvml.so for
 * …/tests/unit/probe/source/test_x. */
static int use_double(void **state)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 64);
    if (n <= 0)
        return -1;
    self[n] = 0;
    char *tests = strstr(self, "/unit/");
    if (!tests)
        return -1;
    *tests = 0;
    char library[sizeof self + 32];
    snprintf(library, sizeof library, "%s/doubles/fake_nvml.so", self);
    return setenv("NCCLTUNE_NVML", library, 1);
}

/* Two sockets; GPUs in the tree at 10:00.0 to 80:00.0, below one switch for every two. */
static struct topology *machine(const char *fake)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    build_host(t, "node1", 0);
    setenv("FAKE_NVML", fake, 1);
    for (int i = 0, above = -1; i < 8; i++) {
        int numa = build_numa(t, c, i / 4);
        struct topo_object o = {.kind = TOPO_SWITCH, .parent = numa, .numa = i / 4};
        if (i % 2 == 0)
            above = build_object(t, c, o);
        o.kind = TOPO_GPU;
        o.parent = above;
        o.pci = arena_printf(t->arena, "0000:%02x:00.0", 0x10 * (i + 1));
        o.driver = "nvidia";
        o.link_width = o.link_max_width = 16;
        o.link_GTps = 16; /* idle, mostly */
        o.link_max_GTps = 32;
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = -1, .gdr = -1});
    }
    source_nvml(t, c);
    build_order_devices(t, c);
    return t;
}

#define ALL_NV18                                                                             \
    "GPU0 X NV18 NV18 NV18 NV18 NV18 NV18 NV18\nGPU1 NV18 X NV18 NV18 NV18 NV18 NV18 NV18\n" \
    "GPU2 NV18 NV18 X NV18 NV18 NV18 NV18 NV18\nGPU3 NV18 NV18 NV18 X NV18 NV18 NV18 NV18\n" \
    "GPU4 NV18 NV18 NV18 NV18 X NV18 NV18 NV18\nGPU5 NV18 NV18 NV18 NV18 NV18 X NV18 NV18\n" \
    "GPU6 NV18 NV18 NV18 NV18 NV18 NV18 X NV18\nGPU7 NV18 NV18 NV18 NV18 NV18 NV18 NV18 X\n"

TEST_CASE(h100)
{
    struct topology *t = machine("h100");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->nnotes, 0);
    assert_string_equal(matrix_words(c, t->arena), ALL_NV18);
    assert_int_equal(c->ngpus, 8);
    assert_int_equal(c->gpus[3].index, 3);
    assert_int_equal(c->gpus[3].sm, 90);
    assert_int_equal(c->gpus[3].mem_bytes, 80ull << 30);
    assert_string_equal(c->gpus[3].uuid, "GPU-00000000-0000-0000-0000-000000000003");
    assert_string_equal(c->objects[c->gpus[3].object].model, "NVIDIA H100 80GB HBM3");
    /* Four NVSwitches; 5, 4, 4 and 5 links of 25 GB/s from each GPU. */
    assert_int_equal(c->nlinks, 32);
    assert_int_equal(c->links[0].count, 5);
    assert_float_equal(c->links[0].GBps, 125, 0);
    assert_float_equal(path_between(path_matrix(c, t->arena), 0, 7)->GBps, 450, 0);
    topo_free(t);
}

TEST_CASE(guest)
{
    struct topology *t = machine("guest");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), ALL_NV18);
    assert_int_equal(c->nlinks, 8);
    assert_int_equal(c->links[0].count, 18);
    topo_free(t);
}

TEST_CASE(v100)
{
    struct topology *t = machine("v100");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS\n"
                                                   "GPU1 NV1 X NV2 NV1 SYS NV2 SYS SYS\n"
                                                   "GPU2 NV1 NV2 X NV2 SYS SYS NV1 SYS\n"
                                                   "GPU3 NV2 NV1 NV2 X SYS SYS SYS NV1\n"
                                                   "GPU4 NV2 SYS SYS SYS X NV1 NV1 NV2\n"
                                                   "GPU5 SYS NV2 SYS SYS NV1 X NV2 NV1\n"
                                                   "GPU6 SYS SYS NV1 SYS NV1 NV2 X NV2\n"
                                                   "GPU7 SYS SYS SYS NV1 NV2 NV1 NV2 X\n");
    /* NCCL goes through a neighbour where two NVLinks in a row lead there. */
    assert_int_equal(path_between(path_matrix(c, t->arena), 0, 5)->class_, PATH_NVB);
    topo_free(t);
}

TEST_CASE(software_and_fabric)
{
    struct topology *t = machine("rack");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(c->driver, "550.54.15");
    assert_string_equal(c->cuda, "12.4");
    assert_int_equal(c->gpus[0].mig, TOPO_NO);
    assert_int_equal(c->gpus[1].mig, TOPO_YES);
    assert_string_equal(c->gpus[5].clique, "ab000000000000000000000000000001.7");
    assert_null(c->gpus[6].clique);
    topo_free(t);

    t = machine("h100");
    assert_null(t->classes[0].gpus[0].clique);
    topo_free(t);

    t = machine("v100");
    assert_string_equal(t->classes[0].cuda, "11.4");
    assert_int_equal(t->classes[0].gpus[0].mig, TOPO_NOT_KNOWN);
    topo_free(t);
}

/* Links that are down are counted, and each makes a finding of its kind. */
TEST_CASE(broken_links)
{
    struct topology *t = machine("half");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->gpus[0].links_down, 0);
    assert_int_equal(c->gpus[3].links_down, 2);
    assert_int_equal(c->gpus[5].links_down, 18);
    assert_string_equal(c->gpus[0].fabric, "completed");
    assert_string_equal(c->gpus[5].fabric, "not started");
    findings_attach(t);
    assert_int_equal(t->nfindings, 3);
    assert_string_equal(t->findings[0].id, "fabric-not-ready");
    assert_string_equal(t->findings[0].evidence, "GPU5: not started");
    assert_string_equal(t->findings[1].id, "nvlink-missing");
    assert_string_equal(t->findings[1].evidence, "GPU3: 16 active, 2 inactive and GPU5: 0 active, 18 inactive");
    assert_string_equal(t->findings[2].id, "nvlink-inactive");
    assert_string_equal(t->findings[2].evidence, "GPU3: 2 of 18");
    topo_free(t);
    static const char *const fine[] = {"h100", "guest", "v100"};
    for (int i = 0; i < 3; i++) {
        t = machine(fine[i]);
        findings_attach(t);
        assert_int_equal(t->nfindings, 0);
        topo_free(t);
    }
}

/* What is broken or switched off on GPU 3, and nothing on a machine that is well. */
TEST_CASE(condition)
{
    static const struct {
        const char *fake, *sign, *id, *evidence;
    } cases[] = {
        {"h100", "uncorrected", "ecc-uncorrected", "GPU3: 1"},
        {"h100", "rows", "rows-pending", "GPU3: 1"},
        {"h100", "unmended", "rows-failed", "GPU3: 1"},
        {"v100", "pages", "rows-pending", "GPU3: 1"},
        {"h100", "slowed", "gpu-slowed", "GPU3: 1"},
        {"h100", "nvlink", "nvlink-errors", "GPU3: "},
        {"h100", "oldbios", "vbios-differs", "GPU3: 96.00.61.00.01 instead of 96.00.74.00.01"},
        {"h100", "busy", "pcie-slow-busy", "GPU3: 50"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("FAKE_NVML_SIGNS", cases[i].sign, 1);
        struct topology *t = machine(cases[i].fake);
        findings_attach(t);
        if (t->nfindings != 1 || strcmp(t->findings[0].id, cases[i].id) != 0)
            fail_msg("%s: %d findings, the first is %s", cases[i].sign, t->nfindings,
                     t->nfindings ? t->findings[0].id : "none");
        assert_int_equal(strncmp(t->findings[0].evidence, cases[i].evidence, strlen(cases[i].evidence)), 0);
        topo_free(t);
    }
    unsetenv("FAKE_NVML_SIGNS");
    struct topology *t = machine("sick");
    findings_attach(t);
    assert_string_equal(t->findings[0].id, "gpu-lost");
    assert_non_null(strstr(t->findings[0].evidence, "0000:20:00.0: 1"));
    topo_free(t);
}

TEST_CASE(p2p)
{
    struct topology *t = machine("v100");
    for (int i = 0; i < 8; i++)
        assert_int_equal(t->classes[0].gpus[i].np2p_problems, 0);
    char fine[SHA256_HEX], refused[SHA256_HEX];
    topo_class_hash(&t->classes[0], fine);
    topo_free(t);

    t = machine("nop2p");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->gpus[0].np2p_problems, 7);
    assert_string_equal(c->gpus[0].p2p_problems[0], "GPU1: read, write, NVLink: not supported by the chipset");
    assert_string_equal(c->gpus[0].p2p_problems[6], "GPU7: write: disabled by a setting of the driver");
    assert_int_equal(c->gpus[6].np2p_problems, 1);
    assert_int_equal(c->gpus[7].np2p_problems, 0);
    topo_class_hash(c, refused);
    assert_string_not_equal(fine, refused);

    /* Kept in topology.json, and shown. */
    struct err e = {0};
    cJSON *doc = topo_to_json(t);
    struct topology *again = topo_new();
    assert_int_equal(topo_add_json(again, doc, "t.json", &e), 0);
    topo_class_hash(&again->classes[0], fine);
    assert_string_equal(fine, refused);
    cJSON_Delete(doc);
    topo_free(again);
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(probe_format_find("text")->write(t, out, &e), 0);
    fclose(out);
    assert_non_null(strstr(text, "no P2P with GPU1: read, write, NVLink: not supported by the chipset\n"));
    free(text);
    topo_free(t);
}

TEST_CASE(failures)
{
    struct topology *t = machine("broken");
    assert_note(&t->classes[0], "NVML: Driver Not Loaded");
    topo_free(t);

    t = machine("sick");
    assert_note(&t->classes[0], "NVML: GPU 1: GPU is lost");
    assert_int_equal(t->classes[0].gpus[0].sm, 90);
    assert_int_equal(t->classes[0].gpus[1].sm, 0);
    topo_free(t);

    t = machine("none");
    assert_int_equal(t->classes[0].nlinks, 0);
    topo_free(t);

    setenv("NCCLTUNE_NVML", "/nowhere/libnvidia-ml.so.1", 1);
    t = machine("h100");
    assert_note(&t->classes[0], "NVML: /nowhere/libnvidia-ml.so.1: cannot open shared object file");
    topo_free(t);

    /* Some library, but not this one. */
    setenv("NCCLTUNE_NVML", "libc.so.6", 1);
    t = machine("h100");
    assert_note(&t->classes[0], "NVML: the driver's library has no nvmlInit_v2");
    topo_free(t);
}

/* A container that hides /sys: NVML still knows the GPUs, their place is unknown. */
TEST_CASE(without_a_tree)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    assert_int_equal(use_double(state), 0);
    setenv("FAKE_NVML", "v100", 1);
    source_nvml(t, c);
    build_order_devices(t, c);
    assert_int_equal(c->ngpus, 8);
    assert_string_equal(c->objects[c->gpus[7].object].pci, "0000:80:00.0");
    assert_int_equal(c->objects[c->gpus[7].object].device, 0x1db1);
    assert_int_equal(path_between(path_matrix(c, t->arena), 0, 3)->links, 2);
    assert_int_equal(path_between(path_matrix(c, t->arena), 0, 7)->word, WORD_UNKNOWN);
    assert_note(c, "GPU 0000:10:00.0 is not in the PCI tree");
    topo_free(t);
}

TEST_CASES_WITHIN(test_nvml, use_double, NULL)
