/* probe/import/nccl_xml.c: the dialects of NCCL, RCCL, clouds and DTK; matrices written down from the fixtures. */
#include "probe/import/readers.h"
#include "probe/topology/topology_internal.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

TEST_CASE(nvswitch)
{
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(t->nclasses, 1);
    assert_string_equal(t->hosts[0].name, "nccl_nvswitch");
    assert_string_equal(c->cpu, "GenuineIntel 6/143");
    assert_string_equal(c->arch, "x86_64");
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV12 NV11 PXB SYS SYS PIX\n"
                                                   "GPU1 NV12 X NV11 PIX SYS SYS PXB\n"
                                                   "GPU2 NV11 NV11 X SYS PHB PHB SYS\n"
                                                   "mlx5_2 PXB PIX SYS X SYS SYS PXB\n"
                                                   "mlx5_3 SYS SYS PHB SYS X PIX SYS\n"
                                                   "mlx5_4 SYS SYS PHB SYS PIX X SYS\n"
                                                   "mlx5_10 PIX PXB SYS PXB SYS SYS X\n");
    assert_int_equal(c->gpus[2].sm, 80);
    assert_int_equal(c->gpus[2].gdr, 1);
    assert_null(c->gpus[2].arch);
    const struct topo_object *gpu = &c->objects[c->gpus[0].object];
    assert_string_equal(gpu->pci, "0000:14:00.0");
    assert_int_equal(gpu->vendor, 0x10de);
    assert_int_equal(gpu->subsystem_device, 0x144e);
    assert_int_equal(gpu->link_width, 16);
    assert_float_equal(gpu->link_GTps, 16, 0);
    assert_float_equal(gpu->link_GBps, 31.508, 0.001);
    const struct topo_port *p = &c->ports[0];
    assert_string_equal(p->hca, "mlx5_2");
    assert_int_equal(p->layer, TOPO_LINK_INFINIBAND);
    assert_int_equal(p->state, TOPO_STATE_ACTIVE);
    assert_float_equal(p->rate_Gbps, 200, 0);
    assert_string_equal(p->guid, "0x0102030405060708");
    /* The second device of a function: NCCL says port 2, the device has only port 1. */
    assert_string_equal(c->ports[2].hca, "mlx5_4");
    assert_int_equal(c->ports[2].port, 1);
    assert_int_equal(c->ports[2].layer, TOPO_LINK_ETHERNET);
    assert_null(c->ports[2].guid);
    topo_free(t);
}

TEST_CASE(mesh)
{
    struct topology *t = load_one(FIXTURE "nccl_mesh.xml");
    const struct topo_class *c = &t->classes[0];
    /* dev gives the order, not the place in the file; GPU1 reaches GPU2 over GPU0's NVLinks, which is NVB to NCCL. */
    assert_string_equal(c->objects[c->gpus[0].object].pci, "0004:05:00.0");
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV3 NV1 SYS\n"
                                                   "GPU1 NV3 X SYS SYS\n"
                                                   "GPU2 NV1 SYS X PHB\n"
                                                   "ib&net SYS SYS PHB X\n");
    assert_string_equal(matrix_classes(c, t->arena), "GPU0 LOC NVL NVL SYS\n"
                                                     "GPU1 NVL LOC NVB SYS\n"
                                                     "GPU2 NVL NVB LOC PHB\n"
                                                     "ib&net SYS SYS PHB LOC\n");
    /* Port 0 is NCCL's socket transport: an interface, not an HCA. */
    assert_int_equal(c->nports, 0);
    assert_int_equal(c->nnetdevs, 1);
    assert_float_equal(c->netdevs[0].speed_Gbps, 25, 0);
    int to_cpu = 0;
    for (int i = 0; i < c->nlinks; i++)
        to_cpu += c->links[i].peer_object >= 0 && c->objects[c->links[i].peer_object].kind == TOPO_NUMA;
    assert_int_equal(to_cpu, 1);
    topo_free(t);
}

TEST_CASE(xgmi)
{
    struct topology *t = load_one(FIXTURE "nccl_rccl_xgmi.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X XGMI1 XGMI4 PIX\n"
                                                   "GPU1 XGMI1 X XGMI1 PHB\n"
                                                   "GPU2 XGMI4 XGMI1 X SYS\n"
                                                   "bnxt_re0 PIX PHB SYS X\n");
    assert_string_equal(c->gpus[0].arch, "gfx942");
    assert_string_equal(c->gpus[1].arch, "gfx90a");
    assert_string_equal(c->gpus[2].arch, "gfx908");
    assert_int_equal(c->gpus[0].sm, 0);
    topo_free(t);
}

TEST_CASE(cloud)
{
    struct topology *t = load_one(FIXTURE "nccl_cloud.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X SYS PIX SYS\n"
                                                   "GPU1 SYS X SYS PIX\n"
                                                   "0101:00:00.0 PIX SYS X SYS\n"
                                                   "0102:00:00.0 SYS PIX SYS X\n");
    assert_note(c, "PCI classes only");
    assert_note(c, "1 PCI function without a class (0003:00:00.0)");
    topo_free(t);
}

TEST_CASE(quirks)
{
    struct topology *t = load_one(FIXTURE "nccl_quirks.xml");
    assert_int_equal(t->nclasses, 3);
    assert_int_equal(t->nhosts, 3);
    assert_string_equal(t->hosts[0].name, "nccl_quirks");
    assert_string_equal(t->hosts[1].name, "nccl_quirks-2");
    assert_string_equal(t->hosts[2].name, "nccl_quirks-3");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->ngpus, 1);
    assert_string_equal(c->objects[c->gpus[0].object].pci, "0000:01:00.0");
    assert_note(c, "<pcilink> elements are not read");
    assert_note(c, "line 7: nvlink names its own GPU");
    assert_note(c, "line 8: nvlink to 0000:77:00.0, which the file does not show");
    /* An NVSwitch whose address is hidden from a guest is still an NVSwitch. */
    assert_int_equal(c->nlinks, 2);
    assert_int_equal(c->links[0].count, 18);
    assert_int_equal(c->objects[c->links[0].peer_object].kind, TOPO_NVSWITCH);
    assert_int_equal(t->classes[1].ngpus, 1);
    assert_int_equal(t->classes[2].ngpus, 0);
    topo_free(t);
}

TEST_CASE(broadcom)
{
    struct topology *t = load_one(FIXTURE "nccl_broadcom.xml");
    const struct topo_class *c = &t->classes[0];
    /* nvidia-smi counts every bridge; NCCL takes the two levels of such a switch for one. */
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X PXB PXB\nGPU1 PXB X PXB\nmlx5_0 PXB PXB X\n");
    assert_string_equal(matrix_classes(c, t->arena), "GPU0 LOC PXB PIX\nGPU1 PXB LOC PXB\nmlx5_0 PIX PXB LOC\n");
    topo_free(t);
}

TEST_CASE(groups)
{
    struct topology *t = load_one(FIXTURE "nccl_groups.xml");
    assert_int_equal(t->nclasses, 2);
    assert_string_equal(t->hosts[0].name, "four HCAs");
    assert_string_equal(matrix_words(&t->classes[0], t->arena), "GPU0 X PIX SYS PIX\n"
                                                                "GPU1 PIX X SYS PIX\n"
                                                                "GPU2 SYS SYS X SYS\n"
                                                                "shca_0 PIX PIX SYS X\n");
    assert_float_equal(t->classes[0].ports[0].rate_Gbps, 200, 0);
    assert_string_equal(matrix_words(&t->classes[1], t->arena), "GPU0 X PIX\nmlx5_1 PIX X\n");
    topo_free(t);
}

TEST_CASE(c2c)
{
    struct topology *t = load_one(FIXTURE "nccl_c2c.xml");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X PHB SYS PHB SYS\n"
                                                   "GPU1 PHB X SYS PHB SYS\n"
                                                   "GPU2 SYS SYS X SYS PHB\n"
                                                   "mlx5_0 PHB PHB SYS X SYS\n"
                                                   "mlx5_1 SYS SYS PHB SYS X\n");
    assert_string_equal(matrix_classes(c, t->arena), "GPU0 LOC C2C SYS P2C SYS\n"
                                                     "GPU1 C2C LOC SYS P2C SYS\n"
                                                     "GPU2 SYS SYS LOC SYS PHB\n"
                                                     "mlx5_0 P2C P2C SYS LOC SYS\n"
                                                     "mlx5_1 SYS SYS PHB SYS LOC\n");
    assert_float_equal(c->links[0].GBps, 450, 0);
    topo_free(t);
}

TEST_CASE(refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"<system version=\"3\"/>", "node.xml:1: <system> version=\"3\": expected 1 (NCCL) or 2 (RCCL)"},
        {"<system version=\"one\"/>", "expected 1 (NCCL) or 2 (RCCL)"},
        {"<system version=\"1\">\n</system>", "node.xml:1: expected a <cpu> element in <system>, found none"},
        {"<system>\n<cpu/></system>", "node.xml:2: <cpu> numaid is missing: expected the number of a NUMA node"},
        {"<system>\n<cpu numaid=\"x\"/></system>", "node.xml:2: <cpu> numaid=\"x\": expected the number"},
        {"<system>\n<cpu numaid=\"0\">\n<pci class=\"0x030200\"/></cpu></system>",
         "node.xml:3: <pci> busid is missing: expected a PCI address"},
        {"<system>\n<cpu numaid=\"0\"><pci busid=\"$(reboot)\"/></cpu></system>",
         "node.xml:2: <pci> busid=\"$(reboot)\": expected a PCI address"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = topo_new();
        struct err e = {0};
        const struct xml_node *roots =
            xml_parse(arena_strdup(t->arena, cases[i].text), strlen(cases[i].text), "node.xml", t->arena, &e);
        assert_non_null(roots);
        assert_int_equal(import_nccl_xml(t, roots, "node", "node.xml", &e), ERR_FAILED);
        if (!strstr(e.text, cases[i].error))
            fail_msg("'%s' instead of '%s'", e.text, cases[i].error);
        topo_free(t);
    }
}

/* Two dies in one PCI function: each is a GPU, with a name and its share of the links. */
TEST_CASE(dies)
{
    struct topology *t = load_one(FIXTURE "nccl_dies.xml");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->ngpus, 4);
    assert_string_equal(c->objects[c->gpus[0].object].name, "GPU0+1");
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X PIX NV9 NV9 PHB SYS\n"
                                                   "GPU1 PIX X NV9 NV9 PHB SYS\n"
                                                   "GPU2 NV9 NV9 X PIX SYS PHB\n"
                                                   "GPU3 NV9 NV9 PIX X SYS PHB\n"
                                                   "mlx5_0 PHB PHB SYS SYS X SYS\n"
                                                   "mlx5_1 SYS SYS PHB PHB SYS X\n");
    /* Out over the peer beside the NIC, which is near by C2C. */
    assert_int_equal(path_class_nccl(path_matrix(c, t->arena), 0, 5), PATH_PXN);
    assert_string_equal(roles_hca_list(c, roles_of(c, t->arena), t->arena), "=mlx5_0:1,mlx5_1:1");
    topo_free(t);
}

/* What NCCL merged are two ports; interfaces that every <cpu> repeats are there once; functions without a class stay.
 */
TEST_CASE(merged_and_repeated)
{
    struct topology *t = load_one(FIXTURE "nccl_merged.xml");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->nports, 2);
    assert_float_equal(c->ports[0].rate_Gbps, 200, 0);
    assert_string_equal(roles_hca_list(c, roles_of(c, t->arena), t->arena), "=mlx5_0:1,mlx5_1:1");
    assert_int_equal(c->nnetdevs, 2);
    int functions = 0;
    for (int i = 0; i < c->nobjects; i++)
        functions += c->objects[i].kind == TOPO_FUNCTION;
    assert_int_equal(functions, 2);
    topo_free(t);
}

TEST_CASES(test_nccl_xml)
