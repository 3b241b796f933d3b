/* probe/format/text.c: the page a person reads, and names that try to act on the terminal. */
#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static char *written(struct topology *t, const char *format)
{
    struct err e = {0};
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    findings_attach(t);
    assert_non_null(probe_format_find(format));
    assert_int_equal(probe_format_find(format)->write(t, out, &e), 0);
    fclose(out);
    return text;
}

TEST_CASE(page)
{
    struct topology *t = load_one(FIXTURE "small.json");
    char *text = written(t, "text");
    assert_string_equal(
        text, "node[1-2], 2 nodes\n"
              "  2 GPUs, NVIDIA H100  18 NVLinks, 450 GB/s\n"
              "  1 compute port  400 Gb/s\n"
              "  NUMA 0  GPU0 PIX mlx5_0\n"
              "  NUMA ?  GPU1\n"
              "  HCAs for NCCL (== takes whole names):\n"
              "NCCL_IB_HCA==mlx5_0:1\n"
              "\n"
              "CPU: GenuineIntel 6/143, x86_64, 1 NUMA node\n"
              "GPUs: 2\n"
              "  GPU0    0000:17:00.0  NUMA 0  NVIDIA H100  sm_90  80 GiB  PCIe 5.0 x16  18 NVLinks, 450 GB/s\n"
              "  GPU1    0000:19:00.0  NUMA ?  18 NVLinks, 450 GB/s\n"
              "RDMA ports: 1\n"
              "  mlx5_0:1  0000:18:00.0  NUMA 0  InfiniBand  active  400 Gb/s  MTU 4096\n"
              "Network interfaces: 2\n"
              "  eth0     -             NUMA ?  virtual  up  10 Gb/s  MTU 1500  10.0.0.1/24  fe80::1/64\n"
              "  ib0      0000:18:00.0  NUMA 0  physical  down\n"
              "\n"
              "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
              "GPU0\t X \tNV18\tPIX\t0-31,64-95\t0\t4\n"
              "GPU1\tNV18\t X \t?\tN/A\tN/A\tN/A\n"
              "NIC0\tPIX\t?\t X \t\n"
              "\n"
              "Legend:\n"
              "  X     the device itself\n"
              "  PIX   one PCIe switch at most\n"
              "  NV#   # NVLinks together\n"
              "  ?     unknown: the PCI tree or the NUMA node of one of the two is hidden\n"
              "\n"
              "NIC Legend:\n"
              "  NIC0: mlx5_0\n"
              "\n"
              "NVLink and XGMI domains:\n"
              "  GPU0 GPU1\n"
              "\n"
              "Roles:\n"
              "  mlx5_0:1  compute            400 Gb/s InfiniBand, beside GPU0 (PIX)\n"
              "\n"
              "Notes:\n"
              "  - verbs: nothing\n"
              "\n"
              "Findings:\n"
              "  note tree-hidden: which NIC is near which GPU is hidden here: 1 of 2 ways between GPUs and NICs are "
              "unknown\n"
              "    Confirm with nvidia-smi topo -m. Use the provider's NCCL_TOPO_FILE, or write one: probe --tree "
              "takes a bundled machine or measured bandwidths, --format nccl-xml prints the file.\n");
    free(text);
    topo_free(t);
}

/* Host bridges are not in NCCL's files: PHB may be NODE there, and the legend says so; elsewhere it does not. */
TEST_CASE(legend)
{
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    char *text = written(t, "text");
    assert_non_null(
        strstr(text, "PHB   PCIe and a host bridge, typically the CPU (host bridges are not recorded here"));
    free(text);
    topo_free(t);
    t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    text = written(t, "text");
    assert_non_null(strstr(text, "PHB   PCIe and a host bridge, typically the CPU\n"));
    free(text);
    topo_free(t);
}

TEST_CASE(hostile_names)
{
    const char *json = "{\"classes\": [{\"cpu\": \"a\\u001b]0;title\\u0007b\", \"arch\": \"\\r\", \"objects\": ["
                       "{\"kind\": \"numa\", \"numa\": 0}, {\"kind\": \"gpu\", \"parent\": 0, \"model\": "
                       "\"\\u001b[2J$(reboot)\\n\\u009b31m\"}, {\"kind\": \"nic\", \"parent\": 0}],"
                       "\"gpus\": [{\"object\": 1, \"index\": 0}],"
                       "\"ports\": [{\"object\": 2, \"hca\": \"mlx5\\n0\\t\\u202e\", \"port\": 1}],"
                       "\"notes\": [\"\\u001b[31mred\"]}], \"hosts\": [{\"name\": \"\\u0001host\\n\", \"class\": 0}]}";
    struct err e = {0};
    struct topology *t = topo_new();
    cJSON *doc = json_parse(json, strlen(json), "t.json", 1, &e);
    assert_int_equal(topo_add_json(t, doc, "t.json", &e), 0);
    char *text = written(t, "text");
    for (const char *p = text; *p; p++)
        assert_true(*p == '\n' || *p == '\t' || (*p >= ' ' && *p <= '~'));
    assert_non_null(strstr(text, "?host \n"));
    assert_non_null(strstr(text, "?[2J$(reboot)"));
    free(text);
    /* JSON keeps them, escaped. */
    text = written(t, "json");
    for (const char *p = text; *p; p++)
        assert_true(*p == '\n' || *p == '\t' || (unsigned char)*p >= ' ');
    assert_non_null(strstr(text, "\\u001b[2J$(reboot)"));
    free(text);
    cJSON_Delete(doc);
    topo_free(t);
}

TEST_CASE(formats)
{
    assert_null(probe_format_find("png"));
    assert_string_equal(probe_formats[0]->name, "text");
    assert_string_equal(probe_formats[1]->name, "json");
    struct topology *t = topo_new();
    char *text = written(t, "text");
    assert_string_equal(text, "");
    free(text);
    topo_free(t);
}

TEST_CASES(test_text)
