/* probe/import/text.c and its readers: what tools print, alone, among prose, of several hosts. */
#include "core/file.h"
#include "probe/topology/topology.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static const char *hca_list(struct topology *t, int class_index)
{
    const struct topo_class *c = &t->classes[class_index];
    return roles_hca_list(c, roles_of(c, t->arena), t->arena);
}

/* Prose, prompts of two hosts, quotation marks, a matrix in colours, a bond for storage. */
TEST_CASE(issue)
{
    struct topology *t = load_one(FIXTURE "text_issue.txt");
    assert_int_equal(t->nhosts, 2);
    assert_string_equal(t->hosts[0].name, "gpu-a");
    assert_string_equal(t->hosts[1].name, "gpu-b");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X NV18 NV18 NV18 PIX SYS SYS\n"
                                                   "GPU1 NV18 X NV18 NV18 PXB SYS SYS\n"
                                                   "GPU2 NV18 NV18 X NV18 SYS PIX NODE\n"
                                                   "GPU3 NV18 NV18 NV18 X SYS PXB NODE\n"
                                                   "mlx5_0 PIX PXB SYS SYS X SYS SYS\n"
                                                   "mlx5_1 SYS SYS PIX PXB SYS X NODE\n"
                                                   "mlx5_bond_0 SYS SYS NODE NODE SYS NODE X\n");
    assert_string_equal(hca_list(t, 0), "=mlx5_0:1,mlx5_1:1");
    assert_string_equal(c->objects[c->gpus[1].object].model, "NVIDIA H100 80GB HBM3");
    assert_int_equal(c->gpus[1].links_down, 1);
    assert_note(c, "nvidia-smi topo -m (line 5), ibdev2netdev (line 27), nvidia-smi nvlink -s (line 31)");
    assert_int_equal(t->classes[1].ports[0].state, TOPO_STATE_DOWN);
    assert_string_equal(hca_list(t, 1), "=mlx5_1:1");
    assert_note(&t->classes[1], "for distances to GPUs add");
    topo_free(t);
}

/* Reads a text as if it were a file. */
static struct topology *read_text(const char *text)
{
    char name[] = "/tmp/nccltune-text.XXXXXX";
    int fd = mkstemp(name);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct topology *t = load_one(name);
    unlink(name);
    return t;
}

#define TWO_GPUS "GPU0 X NV12 PIX\nGPU1 NV12 X SYS\nmlx5_0 PIX SYS X\n"

/* A matrix that a terminal or a mail has broken into lines: in the heading, in a row, before the last columns. */
TEST_CASE(broken_lines)
{
    static const char *const texts[] = {
        "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV12\tPIX\t0-7\t0\nGPU1\tNV12\t X \tSYS\t8-15\t1\n"
        "NIC0\tPIX\tSYS\t X \n\nNIC0: mlx5_0\n",
        "        GPU0    GPU1\nNIC0    CPU Affinity\nNUMA Affinity\nGPU0     X      NV12\nPIX     0-7     0\n"
        "GPU1    NV12\n X      SYS     8-15    1\nNIC0    PIX\nSYS      X\n\nNIC0: mlx5_0\n",
        "GPU0 GPU1 NIC0 CPU\nAffinity NUMA Affinity\nGPU0 X NV12 PIX 0-7\n0 N/A\nGPU1 NV12 X SYS 8-15\n1\nNIC0 PIX "
        "SYS\nX\n\n"
        "Legend:\n\n  X = Self\n\nNIC0: mlx5_0\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct topology *t = read_text(texts[i]);
        assert_string_equal(matrix_words(&t->classes[0], t->arena), TWO_GPUS);
        const struct topo_object *last = &t->classes[0].objects[t->classes[0].gpus[1].object];
        assert_int_equal(last->numa, 1);
        while (last->kind != TOPO_NUMA)
            last = &t->classes[0].objects[last->parent];
        assert_string_equal(last->cpus, "8-15");
        topo_free(t);
    }
}

/* pdsh: a name before every line, hosts in any order; what has no name is the shell's. */
TEST_CASE(names_before_lines)
{
    struct topology *t = read_text("$ pdsh -w node[9-10] 'nvidia-smi topo -m; ibdev2netdev'\n"
                                   "node10: \tGPU0\tGPU1\tNIC0\tCPU Affinity\nnode9: \tGPU0\tNIC0\n"
                                   "node10: GPU0\t X \tNV12\tPIX\nnode9: GPU0\t X \tSYS\n"
                                   "node9: NIC0\tSYS\t X \nnode10: GPU1\tNV12\t X \tSYS\n"
                                   "node10: NIC0\tPIX\tSYS\t X \nnode9:\nnode9: NIC0: mlx5_3\n"
                                   "node10:\nnode10: NIC0: mlx5_0\n"
                                   "node10: mlx5_0 port 1 ==> ib0 (Up)\nnode9: mlx5_3 port 1 ==> eth0 (Down)\n");
    assert_int_equal(t->nhosts, 2);
    assert_string_equal(t->hosts[0].name, "node9");
    assert_string_equal(t->hosts[1].name, "node10");
    assert_string_equal(matrix_words(&t->classes[0], t->arena), "GPU0 X SYS\nmlx5_3 SYS X\n");
    assert_string_equal(matrix_words(&t->classes[1], t->arena), TWO_GPUS);
    assert_int_equal(t->classes[0].ports[0].state, TOPO_STATE_DOWN);
    assert_int_equal(t->classes[1].ports[0].state, TOPO_STATE_ACTIVE);
    topo_free(t);
    t = read_text("----------------\nnode1\n----------------\nmlx5_0 port 1 ==> ib0 (Up)\n"
                  "----------------\nnode2\n----------------\nmlx5_1 port 1 ==> ib0 (Up)\n");
    assert_int_equal(t->nhosts, 2);
    assert_string_equal(t->hosts[1].name, "node2");
    assert_string_equal(t->classes[1].ports[0].hca, "mlx5_1");
    topo_free(t);
}

static const struct topo_port *port(const struct topo_class *c, const char *hca)
{
    int at = topo_find_port(c, hca, 1);
    assert_true(at >= 0);
    return &c->ports[at];
}

TEST_CASE(verbs)
{
    struct topology *t = load_one(FIXTURE "text_verbs.txt");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(t->nhosts, 1);
    assert_int_equal(c->nports, 5);
    assert_int_equal(port(c, "mlx5_0")->lid, 12);
    assert_float_equal(port(c, "mlx5_0")->rate_Gbps, 400, 0);
    assert_string_equal(port(c, "mlx5_0")->guid, "0x0102030405060708");
    assert_int_equal(port(c, "mlx5_1")->state, TOPO_STATE_DOWN);
    assert_int_equal(port(c, "mlx5_1")->lid, 0);
    assert_float_equal(port(c, "mlx5_2")->rate_Gbps, 400, 0);
    assert_string_equal(port(c, "mlx5_2")->guid, "0x010203040506070a");
    assert_string_equal(port(c, "mlx5_2")->board_id, "MT_0000000838");
    assert_int_equal(port(c, "mlx5_2")->mtu_bytes, 4096);
    assert_string_equal(port(c, "mlx5_3")->netdev, "eth3");
    assert_int_equal(port(c, "mlx5_3")->state, TOPO_STATE_ACTIVE);
    assert_string_equal(port(c, "mlx5_4")->subnet_prefix, "0xfe80000000000000");
    assert_int_equal(port(c, "mlx5_4")->lid, 77);
    assert_int_equal(c->ngids, 4);
    int found = 0;
    for (int i = 0; i < c->ngids; i++)
        found |= c->gids[i].port == topo_find_port(c, "mlx5_3", 1) && c->gids[i].index == 3 &&
                 c->gids[i].type == TOPO_GID_ROCE_V2 && !strcmp(c->gids[i].gid, "::ffff:10.0.0.3");
    assert_true(found);
    assert_note(c, "GUIDs of 2 ports without their names");
    topo_free(t);
}

/* A tree by the buses of bridges; the HCA of ibdev2netdev -v sits at its address. */
TEST_CASE(lspci)
{
    struct topology *t = load_one(FIXTURE "text_lspci.txt");
    const struct topo_class *c = &t->classes[0];
    assert_string_equal(matrix_words(c, t->arena), "GPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx5_0 PIX SYS X\n");
    assert_string_equal(hca_list(t, 0), "=mlx5_0:1");
    const struct topo_object *gpu = &c->objects[c->gpus[0].object], *nic = &c->objects[c->ports[0].object];
    assert_string_equal(gpu->pci, "0000:18:00.0");
    assert_int_equal(gpu->vendor, 0x10de);
    assert_int_equal(gpu->device, 0x2330);
    assert_int_equal(gpu->subsystem_device, 0x16c1);
    assert_int_equal(gpu->acs, TOPO_YES);
    assert_float_equal(gpu->link_GTps, 2.5, 0);
    assert_float_equal(gpu->link_max_GTps, 32, 0);
    assert_int_equal(nic->link_width, 8);
    assert_int_equal(nic->link_max_width, 16);
    assert_string_equal(nic->driver, "mlx5_core");
    assert_int_equal(nic->relaxed_ordering, TOPO_NO);
    assert_int_equal(nic->ats, TOPO_YES);
    assert_int_equal(gpu->relaxed_ordering, TOPO_NOT_KNOWN);
    /* IPoIB is down, the port is not. */
    assert_int_equal(c->ports[0].state, TOPO_STATE_ACTIVE);
    assert_int_equal(c->ports[0].layer, TOPO_LINK_INFINIBAND);
    topo_free(t);
}

TEST_CASE(squares)
{
    static const struct {
        const char *file, *words;
    } cases[] = {
        {FIXTURE "text_rocm.txt", "GPU0 X XGMI1 SYS SYS\nGPU1 XGMI1 X SYS SYS\nGPU2 SYS SYS X XGMI1\n"
                                  "GPU3 SYS SYS XGMI1 X\n"},
        {FIXTURE "text_amd_smi.txt", "GPU0 X XGMI1 XGMI1\nGPU1 XGMI1 X XGMI1\nGPU2 XGMI1 XGMI1 X\n"},
        {FIXTURE "text_metax.txt", "GPU0 X MX SYS SYS\nGPU1 MX X SYS SYS\nGPU2 SYS SYS X MX\nGPU3 SYS SYS MX X\n"},
    };
    for (size_t i = 0; i < 3; i++)
        assert_words(cases[i].file, cases[i].words);
    struct topology *t = load_one(FIXTURE "text_amd_smi.txt");
    assert_string_equal(t->classes[0].objects[t->classes[0].gpus[2].object].pci, "0000:9f:00.0");
    topo_free(t);
    t = load_one(FIXTURE "text_metax.txt");
    assert_int_equal(t->classes[0].objects[t->classes[0].gpus[3].object].numa, 1);
    topo_free(t);
    t = load_one(FIXTURE "text_p2p.txt");
    assert_int_equal(t->classes[0].gpus[0].np2p_problems, 1);
    assert_string_equal(t->classes[0].gpus[0].p2p_problems[0], "GPU2: P2P: not supported by the chipset");
    assert_int_equal(t->classes[0].gpus[2].np2p_problems, 0);
    topo_free(t);
}

TEST_CASE(smi_query)
{
    struct topology *t = load_one(FIXTURE "smi_query.xml");
    const struct topo_class *c = &t->classes[0];
    assert_int_equal(c->ngpus, 2);
    assert_string_equal(c->driver, "570.86.15");
    assert_string_equal(c->objects[c->gpus[0].object].pci, "0000:18:00.0");
    assert_float_equal(c->objects[c->gpus[0].object].link_max_GTps, 32, 0);
    assert_int_equal(c->gpus[0].mem_bytes, 81559ull << 20);
    assert_int_equal(c->gpus[0].mig, TOPO_NO);
    assert_string_equal(c->gpus[0].fabric, "completed");
    assert_null(c->gpus[0].clique);
    assert_int_equal(c->gpus[1].mig, TOPO_NOT_KNOWN);
    assert_string_equal(c->gpus[1].fabric, "in progress");
    topo_free(t);
}

/* XML in the midst of a text, with its line in errors; two matrices without prompts are two hosts. */
TEST_CASE(embedded)
{
    static const char *const matrix = "GPU0 GPU1 mlx5_0\nGPU0 X SYS PIX\nGPU1 SYS X SYS\nmlx5_0 PIX SYS X\n";
    struct arena *a = arena_new();
    char path[] = "/tmp/nccltune-text.XXXXXX";
    const char *name = path;
    struct err e = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    const char *text =
        arena_printf(a,
                     "the dump:\n<system version=\"1\">\n<cpu numaid=\"0\">\n<pci busid=\"0000:01:00.0\" "
                     "class=\"0x030200\"/>\n</cpu>\n</system>\nand\n%sand again\n%s",
                     matrix, matrix);
    assert_int_equal(file_write(path, text, strlen(text), &e), 0);
    struct topology *t = load_one(path);
    assert_int_equal(t->nhosts, 2);
    assert_int_equal(t->classes[1].ngpus, 2);
    topo_free(t);
    text = "the dump:\n<system version=\"1\">\n<cpu/>\n</system>\n";
    assert_int_equal(file_write(path, text, strlen(text), &e), 0);
    assert_null(probe_files(&name, 1, NULL, &e));
    assert_non_null(strstr(e.text, ":3: <cpu> numaid is missing"));
    unlink(path);
    arena_free(a);
}

TEST_CASES(test_text)
