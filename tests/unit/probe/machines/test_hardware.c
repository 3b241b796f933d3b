/* probe/machines/hardware.c: the tables are consistent, and devices are recognised. */
#include "core/json.h"
#include "probe/machines/machines.h"
#include "probe/machines/machines_internal.h"
#include "probe/topology/build.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

enum { AMD = 0x1002, NVIDIA = 0x10de };

/* One GPU of which only that much is known; the name of what it is taken for. */
static const char *name_of(struct topo_object o, struct topo_gpu g)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    o.kind = TOPO_GPU;
    o.parent = -1;
    g.object = build_object(t, c, o);
    build_gpu(t, c, g);
    const struct hw_gpu *hw = hw_gpu_of(c, &c->gpus[0]);
    topo_free(t);
    return hw ? hw->name : "unknown";
}

TEST_CASE(tables)
{
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        assert_ptr_equal(hw_gpu_find(g->name), g);
        assert_true(g->mem_bytes && g->mem_GBps > 0 && g->pcie_GTps > 0 && g->pcie_width > 0);
        assert_true((g->sm > 0) != (g->arch != NULL));
        assert_true(!g->links || g->link_GBps > 0);
        assert_true(!g->switched || (g->links >= g->switched && !g->bridge));
        assert_true(strlen(g->source) > 10);
    }
    for (const struct hw_nic *n = hw_nics; n->name; n++) {
        assert_ptr_equal(hw_nic_find(n->name), n);
        assert_true(n->vendor && n->device && n->most_Gbps > 0 && n->pcie_GTps > 0 && n->pcie_width > 0);
        assert_true(strlen(n->source) > 10);
        assert_ptr_equal(hw_nic_of(&(struct topo_object){.vendor = n->vendor, .device = n->device}), n);
    }
    assert_non_null(hw_gpu_find("H100-SXM"));
    assert_null(hw_gpu_find("h100"));
    assert_null(hw_nic_find("connectx"));
}

/* What the table calls a GPU, its driver's name and its PCI device all lead back to it. */
TEST_CASE(own_names)
{
    for (const struct hw_gpu *g = hw_gpus; g->name; g++) {
        struct topo_object by_model = {.model = g->model};
        struct topo_object by_device = {.vendor = g->arch ? AMD : NVIDIA, .device = g->device};
        assert_string_equal(name_of(by_model, (struct topo_gpu){0}), g->name);
        assert_string_equal(name_of(by_device, (struct topo_gpu){0}), g->name);
    }
}

TEST_CASE(other_names)
{
    static const struct {
        const char *model, *want;
    } cases[] = {
        {"GH100[H100 SXM5 80GB]", "h100-sxm"},
        {"GH100 [H100 SXM5 96GB]", "h100-sxm"},
        {"GH100 [H200 SXM 141GB]", "h200-sxm"},
        {"NVIDIA H800 PCIe", "h100-pcie"},
        {"GH100 [H800]", "h800-sxm"},
        {"NVIDIA H20", "h20"},
        {"NVIDIA GB200 NVL4", "gb200"},
        {"NVIDIA H200", "h200-sxm"},
        {"GA100 [A100 SXM4 40GB]", "a100-sxm"},
        {"GA100 [A100 SXM4 80GB]", "a100-sxm-80"},
        {"A100-SXM4-80GB", "a100-sxm-80"},
        {"NVIDIA A800-SXM4-80GB", "a800-sxm"},
        {"GP100GL [Tesla P100 PCIe 16GB]", "p100-pcie"},
        {"GA100 [A100 PCIe 80GB]", "a100-pcie-80"},
        {"GV100GL [Tesla V100 SXM2 32GB]", "v100-sxm2-32"},
        {"Tesla V100-SXM3-32GB-H", "v100-sxm3"},
        {"AD104GL [L4]", "l4"},
        {"AD102GL [L40]", "l40"},
        {"GA102GL [A10]", "a10"},
        {"NVIDIA L40S", "l40s"},
        {"Aldebaran/MI200 [Instinct MI250X/MI250]", "mi250x"},
        {"Quadro K620", "unknown"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(name_of((struct topo_object){.model = cases[i].model}, (struct topo_gpu){0}),
                            cases[i].want);
}

TEST_CASE(by_architecture)
{
    struct topo_object nothing = {0};
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 70}), "v100-sxm2");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 80}), "a100-sxm");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 80, .mem_bytes = 85520809984}), "a100-sxm-80");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 90}), "h100-sxm");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 90, .mem_bytes = 150754820096}), "h200-sxm");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.arch = "gfx942"}), "mi300x");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.arch = "gfx942", .mem_bytes = 274877906944}), "mi325x");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.arch = "gfx940"}), "mi300x");
    assert_string_equal(name_of(nothing, (struct topo_gpu){.sm = 35}), "unknown");
    assert_string_equal(name_of(nothing, (struct topo_gpu){0}), "unknown");
    /* Cards of other boards and markets. */
    assert_string_equal(name_of((struct topo_object){.vendor = NVIDIA, .device = 0x1db3}, (struct topo_gpu){0}),
                        "v100-pcie");
    assert_string_equal(name_of((struct topo_object){.vendor = NVIDIA, .device = 0x20bd}, (struct topo_gpu){0}),
                        "a800-sxm");
    /* A device number means nothing without its vendor. */
    assert_string_equal(name_of((struct topo_object){.vendor = AMD, .device = 0x2330}, (struct topo_gpu){0}),
                        "unknown");
}

TEST_CASE(transports)
{
    static const struct {
        const char *machine, *nic;
        enum hw_transport want;
    } cases[] = {
        {"dgx-h100", "mlx5_0", HW_VERBS}, {"aws-p5", "efa_0", HW_EFA},      {"mi250x", "cxi0", HW_CXI},
        {"dgx-h100", "eth2", HW_SOCKETS}, {"gcp-a3-high", "eth1", HW_TCPX}, {"gcp-a3-high", "eth0", HW_SOCKETS},
        {"4x4090", "eth0", HW_SOCKETS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = machine_topology(cases[i].machine, 1, NULL);
        const struct topo_class *c = &t->classes[0];
        int object = 0;
        while (object < c->nobjects && (!c->objects[object].name || strcmp(c->objects[object].name, cases[i].nic) != 0))
            object++;
        assert_true(object < c->nobjects);
        assert_int_equal(hw_transport_of(c, object), cases[i].want);
        topo_free(t);
    }
}

/* Google's NIC speaks GPUDirect-TCPX beside a GPU on a switch, not beside one on the host bridge. */
TEST_CASE(google_nic)
{
    for (int on_switch = 0; on_switch < 2; on_switch++) {
        struct topology *t = topo_new();
        struct topo_class *c = build_class(t, NULL);
        const struct hw_nic *gvnic = hw_nic_find("gvnic");
        struct topo_object parent = {.kind = on_switch ? TOPO_SWITCH : TOPO_HOST_BRIDGE, .parent = -1};
        struct topo_object nic = {.kind = TOPO_NIC, .vendor = gvnic->vendor, .device = gvnic->device};
        struct topo_object gpu = {.kind = TOPO_GPU};
        gpu.parent = nic.parent = build_object(t, c, parent);
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, gpu)});
        assert_int_equal(hw_transport_of(c, build_object(t, c, nic)), on_switch ? HW_TCPX : HW_SOCKETS);
        topo_free(t);
    }
}

TEST_CASE(nics_by_model)
{
    static const struct {
        const char *model, *want;
    } cases[] = {{"MT27800 Family [ConnectX-5]", "connectx-5"},
                 {"Mellanox Technologies MT28800 Family [ConnectX-5 Ex]", "connectx-5-ex"},
                 {"Ethernet Controller X550", "x550"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hw_nic_of(&(struct topo_object){.model = cases[i].model})->name, cases[i].want);
    assert_null(hw_nic_of(&(struct topo_object){.model = "Ethernet Controller"}));
    assert_null(hw_nic_of(&(struct topo_object){0}));
}

TEST_CASE(unknown_name)
{
    struct err e = {0};
    assert_int_equal(hw_gpu_unknown("h100sxm", &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "did you mean h100-sxm?"));
    assert_int_equal(hw_gpu_unknown("toaster", &e), ERR_USAGE);
    assert_null(strstr(e.text, "did you mean"));
    assert_non_null(strstr(e.text, "--list-gpus"));
}

TEST_CASE(lists)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    hw_gpu_list(0, out);
    fclose(out);
    assert_non_null(strstr(text, "h100-sxm"));
    assert_non_null(strstr(text, "18 NVLink of 25 GB/s"));
    free(text);
}

/* Every GPU of the recorded machines of which anything is known. */
TEST_CASE(corpus_gpus)
{
    static const struct {
        const char *file, *gpu, *nic;
    } cases[] = {
        {"nccl-topology/amd_16p1h.xml", "mi250x", "connectx-6"},
        {"nccl-topology/amd_4p_940.xml", "mi300a", "cassini"},
        {"nccl-topology/amd_8p6l_4nic.xml", "mi100", NULL},
        {"nccl-topology/amd_8p_940.xml", "mi300x", "connectx-7"},
        {"nccl-topology/amd_8p_940vm.xml", "mi300x", "mlx5-vf"},
        {"nccl-topology/amd_8p_950.xml", "mi350x", "thor2"},
        {"nccl-topology/amd_8p_rome.xml", "mi50", NULL},
        {"nccl-topology/aws_p4d.24xlarge.xml", "a100-sxm", "efa1"},
        {"nccl-topology/aws_p4de.24xlarge.xml", "a100-sxm-80", "efa1"},
        {"nccl-topology/azure_nc48v4.xml", "a100-pcie-80", NULL},
        {"nccl-topology/oci_h100.xml", "h100-sxm", "connectx-7"},
        {"hwloc/hwloc_nvidiaDGX2.xml", "v100-sxm3", NULL},
        {"hwloc/hwloc_power8gpudistances.xml", "p100-sxm2", NULL},
        {"hwloc/nixl_p3dn.24xl-topo.xml", "v100-sxm2-32", "ena"},
        {"hwloc/nixl_p5.48xl-topo.xml", "h100-sxm", "ena"},
    };
    struct arena *a = arena_new();
    int files = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = corpus_file(a, cases[i].file);
        struct topology *t = path ? load_one(path) : NULL;
        const struct topo_class *c = t ? &t->classes[0] : NULL;
        for (int k = 0; c && k < c->ngpus; k++) {
            const struct hw_gpu *hw = hw_gpu_of(c, &c->gpus[k]);
            assert_non_null(hw);
            assert_string_equal(hw->name, cases[i].gpu);
        }
        for (int k = 0; c && k < c->nobjects && cases[i].nic; k++) {
            const struct hw_nic *hw = c->objects[k].kind == TOPO_NIC ? hw_nic_of(&c->objects[k]) : NULL;
            if (c->objects[k].kind == TOPO_NIC && c->objects[k].vendor == hw_nic_find(cases[i].nic)->vendor) {
                assert_non_null(hw);
                if (hw->vendor != 0x1d0f)
                    assert_string_equal(hw->name, cases[i].nic);
            }
        }
        files += t != NULL;
        topo_free(t);
    }
    arena_free(a);
    if (!files)
        skip_because(NEEDS_CORPUS);
}

TEST_CASES(test_hardware)
