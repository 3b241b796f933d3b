/* probe/import/hwloc_xml.c: three versions of hwloc's XML; matrices written down from the
 * fixtures. */
#include "probe/import/readers.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

/* The matrix that nvidia-smi printed on such a machine, its NIC columns in the order of their names. */
TEST_CASE(dgx1v)
{
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV1 NV1 NV2 NV2 SYS SYS SYS PIX PHB SYS SYS\n"
                                                   "GPU1 NV1 X NV2 NV1 SYS NV2 SYS SYS PIX PHB SYS SYS\n"
                                                   "GPU2 NV1 NV2 X NV2 SYS SYS NV1 SYS PHB PIX SYS SYS\n"
                                                   "GPU3 NV2 NV1 NV2 X SYS SYS SYS NV1 PHB PIX SYS SYS\n"
                                                   "GPU4 NV2 SYS SYS SYS X NV1 NV1 NV2 SYS SYS PIX PHB\n"
                                                   "GPU5 SYS NV2 SYS SYS NV1 X NV2 NV1 SYS SYS PIX PHB\n"
                                                   "GPU6 SYS SYS NV1 SYS NV1 NV2 X NV2 SYS SYS PHB PIX\n"
                                                   "GPU7 SYS SYS SYS NV1 NV2 NV1 NV2 X SYS SYS PHB PIX\n"
                                                   "mlx5_0 PIX PIX PHB PHB SYS SYS SYS SYS X PHB SYS SYS\n"
                                                   "mlx5_1 PHB PHB PIX PIX SYS SYS SYS SYS PHB X SYS SYS\n"
                                                   "mlx5_2 SYS SYS SYS SYS PIX PIX PHB PHB SYS SYS X PHB\n"
                                                   "mlx5_3 SYS SYS SYS SYS PHB PHB PIX PIX SYS SYS PHB X\n");
    assert_string_equal(c->cpu, "GenuineIntel 6/79");
    assert_string_equal(c->arch, "x86_64");
    assert_string_equal(c->objects[c->gpus[7].object].model, "Tesla V100-SXM2-16GB");
    assert_string_equal(c->gpus[7].uuid, "GPU-00000007");
    assert_int_equal(c->ports[2].state, TOPO_STATE_ACTIVE);
    assert_int_equal(c->ports[3].state, TOPO_STATE_DOWN);
    assert_int_equal(c->ports[0].layer, TOPO_LINK_INFINIBAND);
    assert_string_equal(c->ports[0].guid, "0xec0d9a0300000000");
    assert_int_equal(c->nnetdevs, 4);
    /* The BMC's console is no GPU, the function without a driver no NIC. */
    assert_int_equal(c->ngpus, 8);
    assert_note(c, "1 network function without a driver left out (0000:00:1e.0)");
    int switches = 0, bridges = 0;
    for (int i = 0; i < c->nobjects; i++) {
        switches += c->objects[i].kind == TOPO_SWITCH;
        bridges += c->objects[i].kind == TOPO_HOST_BRIDGE;
    }
    assert_int_equal(switches, 4);
    assert_int_equal(bridges, 2);
    topo_free(t);
}

TEST_CASE(hidden_places)
{
    struct topology *t = load_one(FIXTURE "hwloc3_hidden.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV2 ? ?\n"
                                                   "GPU1 NV2 X ? PHB\n"
                                                   "GPU2 ? ? X ?\n"
                                                   "mlx5_0 ? PHB ? X\n");
    /* A GPU's own memory is no NUMA node of the host. */
    assert_int_equal(c->objects[c->gpus[2].object].numa, 1);
    assert_int_equal(c->gpus[0].mem_bytes, 80 << 20);
    assert_int_equal(c->nnetdevs, 1);
    assert_int_equal(c->netdevs[0].kind, TOPO_NET_VIRTUAL);
    topo_free(t);
}

TEST_CASE(version_1)
{
    struct topology *t = load_one(FIXTURE "hwloc1_power8.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx4_0 PIX SYS X\n");
    assert_int_equal(c->nports, 2);
    assert_int_equal(c->ports[0].state, TOPO_STATE_ACTIVE);
    assert_int_equal(c->ports[1].state, TOPO_STATE_DOWN);
    assert_string_equal(c->cpu, "POWER8, altivec supported");
    topo_free(t);
}

/* Sets of NUMA nodes at which hwloc_bitmap_sscanf() reads past the end or aborts: the place stays unknown. */
TEST_CASE(bad_nodesets)
{
    static const char *const nodesets[] = {"", ",0x2", ",", "0x2,", "x", "0xf...f,"};
    for (size_t i = 0; i < sizeof nodesets / sizeof *nodesets; i++) {
        struct topology *t = topo_new();
        struct err e = {0};
        const char *text = arena_printf(
            t->arena,
            "<topology version=\"2.0\"><object type=\"Machine\">"
            "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\"/><object type=\"NUMANode\" os_index=\"1\" "
            "cpuset=\"0x2\"/>"
            "<object type=\"PCIDev\" nodeset=\"%s\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 [10de:2330]\"/>"
            "</object></topology>",
            nodesets[i]);
        const struct xml_node *root = xml_parse(arena_strdup(t->arena, text), strlen(text), "node.xml", t->arena, &e);
        assert_non_null(root);
        assert_int_equal(import_hwloc_xml(t, root, "node", "node.xml", &e), ERR_OK);
        const struct topo_class *c = &t->classes[0];
        assert_int_equal(c->ngpus, 1);
        assert_int_equal(c->objects[c->gpus[0].object].numa, -1);
        topo_free(t);
    }
}

TEST_CASE(refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"<topology version=\"9.1\"><object/></topology>", "node.xml:1: expected hwloc XML of version 1, 2 or 3"},
        {"<topology version=\"x\"><object/></topology>", "expected hwloc XML of version 1, 2 or 3"},
        {"<topology version=\"2.0\"><info name=\"a\"/></topology>", "expected an <object> in <topology>"},
        {"<topology version=\"2.0\"><object type=\"Machine\">\n<object type=\"PCIDev\" "
         "pci_busid=\"zz\"/></object></topology>",
         "node.xml:2: pci_busid: expected a PCI address"},
        {"<topology version=\"2.0\"><object type=\"Machine\">\n<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" "
         "pci_type=\"what\"/></object></topology>",
         "node.xml:2: pci_type: expected"},
        {"<topology version=\"2.0\"><object type=\"Machine\"/>\n<distances2 name=\"NVLinkBandwidth\" "
         "nbobjs=\"1000000\"/></topology>",
         "node.xml:2: nbobjs: expected a number from 1 to 1024"},
        {"<topology version=\"2.0\"><object type=\"Machine\"/>\n<distances2 name=\"NVLinkBandwidth\" "
         "nbobjs=\"2\"><indexes>1</indexes></distances2></topology>",
         "node.xml:2: <indexes>: expected 2 objects, found 1"},
        {"<topology version=\"2.0\"><object type=\"Machine\"/>\n<distances2 name=\"NVLinkBandwidth\" "
         "nbobjs=\"2\"><indexes>1 2</indexes><u64values>0 1 1</u64values></distances2></topology>",
         "node.xml:2: <u64values>: expected 2 × 2 numbers"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = topo_new();
        struct err e = {0};
        const struct xml_node *root =
            xml_parse(arena_strdup(t->arena, cases[i].text), strlen(cases[i].text), "node.xml", t->arena, &e);
        assert_non_null(root);
        assert_int_equal(import_hwloc_xml(t, root, "node", "node.xml", &e), ERR_FAILED);
        if (!strstr(e.text, cases[i].error))
            fail_msg("'%s' instead of '%s'", e.text, cases[i].error);
        topo_free(t);
    }
}

TEST_CASES(test_hwloc_xml)
