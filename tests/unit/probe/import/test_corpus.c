/* Machines of the corpus of recorded topologies, where it is there: every file is read, and the matrices are those that
 * a person finds in the files. The corpus is no part of this repository. */
#include <dirent.h>

#include "core/file.h"
#include "core/finding.h"
#include "core/json.h"
#include "probe/findings/findings.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static void assert_corpus_words(const char *name, const char *expected)
{
    struct arena *a = arena_new();
    const char *path = corpus_file(a, name);
    if (path)
        assert_words(path, expected);
    arena_free(a);
    if (!path)
        skip_because(NEEDS_CORPUS);
}

/* clang-format off */

/* Four V100 and the only HCA on node 0, four V100 on node 1, no switches. */
TEST_CASE(azure_ndv2)
{
    assert_corpus_words("nccl-topology/azure_ndv2.xml",
    "GPU0 X PHB PHB PHB SYS SYS SYS SYS PHB\n"
    "GPU1 PHB X PHB PHB SYS SYS SYS SYS PHB\n"
    "GPU2 PHB PHB X PHB SYS SYS SYS SYS PHB\n"
    "GPU3 PHB PHB PHB X SYS SYS SYS SYS PHB\n"
    "GPU4 SYS SYS SYS SYS X PHB PHB PHB SYS\n"
    "GPU5 SYS SYS SYS SYS PHB X PHB PHB SYS\n"
    "GPU6 SYS SYS SYS SYS PHB PHB X PHB SYS\n"
    "GPU7 SYS SYS SYS SYS PHB PHB PHB X SYS\n"
    "0101:00:00.0 PHB PHB PHB PHB SYS SYS SYS SYS X\n");
}

/* A switch with two A100 and two HCAs on each of four NUMA nodes, 0 and 1 as well as 2 and 3 in reverse. */
TEST_CASE(azure_ndv4)
{
    assert_corpus_words("nccl-topology/azure_ndv4.xml",
    "GPU0 X PIX SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS\n"
    "GPU1 PIX X SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS\n"
    "GPU2 SYS SYS X PIX SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS\n"
    "GPU3 SYS SYS PIX X SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS\n"
    "GPU4 SYS SYS SYS SYS X PIX SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS\n"
    "GPU5 SYS SYS SYS SYS PIX X SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS\n"
    "GPU6 SYS SYS SYS SYS SYS SYS X PIX SYS SYS SYS SYS SYS SYS PIX PIX\n"
    "GPU7 SYS SYS SYS SYS SYS SYS PIX X SYS SYS SYS SYS SYS SYS PIX PIX\n"
    "0101:00:00.0 PIX PIX SYS SYS SYS SYS SYS SYS X PIX SYS SYS SYS SYS SYS SYS\n"
    "0102:00:00.0 PIX PIX SYS SYS SYS SYS SYS SYS PIX X SYS SYS SYS SYS SYS SYS\n"
    "0103:00:00.0 SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS X PIX SYS SYS SYS SYS\n"
    "0104:00:00.0 SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS PIX X SYS SYS SYS SYS\n"
    "0105:00:00.0 SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS X PIX SYS SYS\n"
    "0106:00:00.0 SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS PIX X SYS SYS\n"
    "0107:00:00.0 SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS X PIX\n"
    "0108:00:00.0 SYS SYS SYS SYS SYS SYS PIX PIX SYS SYS SYS SYS SYS SYS PIX X\n");
}

/* A switch for every H100 and its HCA. */
TEST_CASE(azure_ndv5)
{
    assert_corpus_words("nccl-topology/azure_ndv5.xml",
    "GPU0 X PHB PHB PHB SYS SYS SYS SYS PIX PHB PHB PHB SYS SYS SYS SYS\n"
    "GPU1 PHB X PHB PHB SYS SYS SYS SYS PHB PIX PHB PHB SYS SYS SYS SYS\n"
    "GPU2 PHB PHB X PHB SYS SYS SYS SYS PHB PHB PIX PHB SYS SYS SYS SYS\n"
    "GPU3 PHB PHB PHB X SYS SYS SYS SYS PHB PHB PHB PIX SYS SYS SYS SYS\n"
    "GPU4 SYS SYS SYS SYS X PHB PHB PHB SYS SYS SYS SYS PIX PHB PHB PHB\n"
    "GPU5 SYS SYS SYS SYS PHB X PHB PHB SYS SYS SYS SYS PHB PIX PHB PHB\n"
    "GPU6 SYS SYS SYS SYS PHB PHB X PHB SYS SYS SYS SYS PHB PHB PIX PHB\n"
    "GPU7 SYS SYS SYS SYS PHB PHB PHB X SYS SYS SYS SYS PHB PHB PHB PIX\n"
    "0101:00:00.0 PIX PHB PHB PHB SYS SYS SYS SYS X PHB PHB PHB SYS SYS SYS SYS\n"
    "0102:00:00.0 PHB PIX PHB PHB SYS SYS SYS SYS PHB X PHB PHB SYS SYS SYS SYS\n"
    "0103:00:00.0 PHB PHB PIX PHB SYS SYS SYS SYS PHB PHB X PHB SYS SYS SYS SYS\n"
    "0104:00:00.0 PHB PHB PHB PIX SYS SYS SYS SYS PHB PHB PHB X SYS SYS SYS SYS\n"
    "0105:00:00.0 SYS SYS SYS SYS PIX PHB PHB PHB SYS SYS SYS SYS X PHB PHB PHB\n"
    "0106:00:00.0 SYS SYS SYS SYS PHB PIX PHB PHB SYS SYS SYS SYS PHB X PHB PHB\n"
    "0107:00:00.0 SYS SYS SYS SYS PHB PHB PIX PHB SYS SYS SYS SYS PHB PHB X PHB\n"
    "0108:00:00.0 SYS SYS SYS SYS PHB PHB PHB PIX SYS SYS SYS SYS PHB PHB PHB X\n");
}

/* A switch for two A100 and an EFA device. */
TEST_CASE(aws_p4d)
{
    assert_corpus_words("nccl-topology/aws_p4d.24xlarge.xml",
    "GPU0 X PIX PHB PHB SYS SYS SYS SYS PIX PHB SYS SYS\n"
    "GPU1 PIX X PHB PHB SYS SYS SYS SYS PIX PHB SYS SYS\n"
    "GPU2 PHB PHB X PIX SYS SYS SYS SYS PHB PIX SYS SYS\n"
    "GPU3 PHB PHB PIX X SYS SYS SYS SYS PHB PIX SYS SYS\n"
    "GPU4 SYS SYS SYS SYS X PIX PHB PHB SYS SYS PIX PHB\n"
    "GPU5 SYS SYS SYS SYS PIX X PHB PHB SYS SYS PIX PHB\n"
    "GPU6 SYS SYS SYS SYS PHB PHB X PIX SYS SYS PHB PIX\n"
    "GPU7 SYS SYS SYS SYS PHB PHB PIX X SYS SYS PHB PIX\n"
    "0000:10:1b.0 PIX PIX PHB PHB SYS SYS SYS SYS X PHB SYS SYS\n"
    "0000:20:1b.0 PHB PHB PIX PIX SYS SYS SYS SYS PHB X SYS SYS\n"
    "0000:90:1b.0 SYS SYS SYS SYS PIX PIX PHB PHB SYS SYS X PHB\n"
    "0000:a0:1b.0 SYS SYS SYS SYS PHB PHB PIX PIX SYS SYS PHB X\n");
}

/* Eight MI300X, each with an HCA below one switch, but the GPU behind two more. */
TEST_CASE(amd_8p_940)
{
    assert_corpus_words("nccl-topology/amd_8p_940.xml",
    "GPU0 X XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 PXB PHB PHB PHB SYS SYS SYS SYS\n"
    "GPU1 XGMI1 X XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 PHB PXB PHB PHB SYS SYS SYS SYS\n"
    "GPU2 XGMI1 XGMI1 X XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 PHB PHB PXB PHB SYS SYS SYS SYS\n"
    "GPU3 XGMI1 XGMI1 XGMI1 X XGMI1 XGMI1 XGMI1 XGMI1 PHB PHB PHB PXB SYS SYS SYS SYS\n"
    "GPU4 XGMI1 XGMI1 XGMI1 XGMI1 X XGMI1 XGMI1 XGMI1 SYS SYS SYS SYS PXB PHB PHB PHB\n"
    "GPU5 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 X XGMI1 XGMI1 SYS SYS SYS SYS PHB PXB PHB PHB\n"
    "GPU6 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 X XGMI1 SYS SYS SYS SYS PHB PHB PXB PHB\n"
    "GPU7 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 XGMI1 X SYS SYS SYS SYS PHB PHB PHB PXB\n"
    "mlx5_0 PXB PHB PHB PHB SYS SYS SYS SYS X PHB PHB PHB SYS SYS SYS SYS\n"
    "mlx5_1 PHB PXB PHB PHB SYS SYS SYS SYS PHB X PHB PHB SYS SYS SYS SYS\n"
    "mlx5_2 PHB PHB PXB PHB SYS SYS SYS SYS PHB PHB X PHB SYS SYS SYS SYS\n"
    "mlx5_3 PHB PHB PHB PXB SYS SYS SYS SYS PHB PHB PHB X SYS SYS SYS SYS\n"
    "mlx5_4 SYS SYS SYS SYS PXB PHB PHB PHB SYS SYS SYS SYS X PHB PHB PHB\n"
    "mlx5_5 SYS SYS SYS SYS PHB PXB PHB PHB SYS SYS SYS SYS PHB X PHB PHB\n"
    "mlx5_6 SYS SYS SYS SYS PHB PHB PXB PHB SYS SYS SYS SYS PHB PHB X PHB\n"
    "mlx5_7 SYS SYS SYS SYS PHB PHB PHB PXB SYS SYS SYS SYS PHB PHB PHB X\n");
}

/* The same p4d through hwloc: the guest sees a host bridge for two GPUs and an EFA device, and no switch. */
TEST_CASE(p4d_hwloc)
{
    assert_corpus_words("hwloc/nixl_p4d.24xl-topo.xml",
    "GPU0 X PHB NODE NODE SYS SYS SYS SYS PHB NODE SYS SYS\n"
    "GPU1 PHB X NODE NODE SYS SYS SYS SYS PHB NODE SYS SYS\n"
    "GPU2 NODE NODE X PHB SYS SYS SYS SYS NODE PHB SYS SYS\n"
    "GPU3 NODE NODE PHB X SYS SYS SYS SYS NODE PHB SYS SYS\n"
    "GPU4 SYS SYS SYS SYS X PHB NODE NODE SYS SYS PHB NODE\n"
    "GPU5 SYS SYS SYS SYS PHB X NODE NODE SYS SYS PHB NODE\n"
    "GPU6 SYS SYS SYS SYS NODE NODE X PHB SYS SYS NODE PHB\n"
    "GPU7 SYS SYS SYS SYS NODE NODE PHB X SYS SYS NODE PHB\n"
    "rdmap16s27 PHB PHB NODE NODE SYS SYS SYS SYS X NODE SYS SYS\n"
    "rdmap32s27 NODE NODE PHB PHB SYS SYS SYS SYS NODE X SYS SYS\n"
    "rdmap144s27 SYS SYS SYS SYS PHB PHB NODE NODE SYS SYS X NODE\n"
    "rdmap160s27 SYS SYS SYS SYS NODE NODE PHB PHB SYS SYS NODE X\n");
}

TEST_CASE(power8)
{
    assert_corpus_words("hwloc/hwloc_power8gpudistances.xml",
    "GPU0 X NV2 SYS SYS\n"
    "GPU1 NV2 X SYS SYS\n"
    "GPU2 SYS SYS X NV2\n"
    "GPU3 SYS SYS NV2 X\n");
}

/* clang-format on */

/* Loads a file of the corpus, or skips the test. */
static struct topology *corpus(const char *name)
{
    struct arena *a = arena_new();
    const char *path = corpus_file(a, name);
    struct topology *t = path ? load_one(path) : NULL;
    arena_free(a);
    if (!t)
        skip_because(NEEDS_CORPUS);
    return t;
}

static void assert_cell(const struct path_matrix *m, int row, int column, const char *expected)
{
    char word[PATH_WORD];
    if (strcmp(path_word(word, path_between(m, row, column)), expected) != 0)
        fail_msg("%s, %s: %s instead of %s", m->ends[row].label, m->ends[column].label, word, expected);
}

/* Sixteen V100 with six NVLinks each to NVSwitches. */
TEST_CASE(dgx2)
{
    struct topology *t = corpus("hwloc/hwloc_nvidiaDGX2.xml");
    const struct path_matrix *m = path_matrix(&t->classes[0], t->arena);
    assert_int_equal(m->ngpus, 16);
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < 16; k++)
            assert_cell(m, i, k, i == k ? "X" : "NV6");
    topo_free(t);
}

/* Eight H100 with four EFA devices below the switch of each. */
TEST_CASE(p5_hwloc)
{
    struct topology *t = corpus("hwloc/nixl_p5.48xl-topo.xml");
    const struct path_matrix *m = path_matrix(&t->classes[0], t->arena);
    assert_int_equal(m->ngpus, 8);
    assert_int_equal(m->n, 8 + 32);
    for (int g = 0; g < 8; g++) {
        for (int k = 0; k < 8; k++)
            assert_cell(m, g, k, g == k ? "X" : g / 4 == k / 4 ? "NODE" : "SYS");
        for (int n = 0; n < 32; n++)
            assert_cell(m, g, 8 + n, n / 4 == g ? "PIX" : n / 16 == g / 4 ? "NODE" : "SYS");
    }
    topo_free(t);
}

/* Eight H100 with 5 + 5 + 4 + 4 NVLinks; two ports of one card beside each GPU, two levels of a Broadcom switch apart,
 * which nvidia-smi counts and NCCL does not. */
TEST_CASE(oci_h100)
{
    struct topology *t = corpus("nccl-topology/oci_h100.xml");
    const struct topo_class *c = &t->classes[0];
    const struct path_matrix *m = path_matrix(c, t->arena);
    assert_int_equal(m->n, 8 + 16);
    for (int g = 0; g < 8; g++) {
        for (int k = 0; k < 8; k++)
            assert_cell(m, g, k, g == k ? "X" : "NV18");
        for (int n = 0; n < 16; n++)
            assert_cell(m, g, 8 + n, n / 2 == g ? "PXB" : n / 8 == g / 4 ? "PHB" : "SYS");
        assert_int_equal(path_between(m, g, 8 + 2 * g)->class_, PATH_PIX);
        assert_cell(m, 8 + 2 * g, 9 + 2 * g, "PIX");
    }
    /* NCCL_IB_HCA would match nothing with the port numbers as they stand in the file. */
    for (int i = 0; i < c->nports; i++)
        assert_int_equal(c->ports[i].port, 1);
    topo_free(t);
}

/* A site's table of alternatives: each is a host of its own. */
TEST_CASE(dtk)
{
    struct topology *t = corpus("nccl-topology/superbench_dtk26.04.xml");
    static const int gpus[] = {8, 8, 0, 8, 8, 8};
    assert_int_equal(t->nhosts, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(t->classes[i].ngpus, gpus[i]);
    topo_free(t);
}

/* The printed matrix, word by word, against the distances in the tree that was built from it. */
static void assert_printed_matrix(const char *name)
{
    struct topology *t = corpus(name);
    struct arena *a = arena_new();
    struct err e = {0};
    char *text, *rest = NULL, word[PATH_WORD];
    size_t bytes;
    int rows = 0;
    const struct path_matrix *m = path_matrix(&t->classes[0], a);
    assert_int_equal(file_read_text(corpus_file(a, name), FILE_LIMIT, a, &text, &bytes, &e), 0);
    for (char *line = strtok_r(text, "\n", &rest); line && rows < m->n; line = strtok_r(NULL, "\n", &rest)) {
        char *more = NULL, *label = strtok_r(line, " \t\r", &more);
        const char *expected =
            arena_printf(a, rows < m->ngpus ? "GPU%d" : "NIC%d", rows < m->ngpus ? rows : rows - m->ngpus);
        const char *first = label && !strcmp(label, expected) ? strtok_r(NULL, " \t\r", &more) : NULL;
        if (!first || !strncmp(first, "GPU", 3))
            continue;
        for (int i = 0; i < m->n; i++, first = strtok_r(NULL, " \t\r", &more))
            assert_string_equal(path_word(word, path_between(m, rows, i)), first);
        rows++;
    }
    assert_int_equal(rows, m->n);
    arena_free(a);
    topo_free(t);
}

TEST_CASE(smi_a100)
{
    assert_printed_matrix("topo-matrix/007_Lightning-AI+litgpt_test_utils.py.txt");
}

TEST_CASE(smi_h100)
{
    assert_printed_matrix("topo-matrix/012_dstackai+benchmarks_README.md.txt");
}

TEST_CASE(smi_h200)
{
    assert_printed_matrix("topo-matrix/018_mlcommons+training_results_v5.0_result_0.txt.txt");
}

/* These machines were well: no finding is an error. */
static void assert_no_error(struct topology *t, const char *name)
{
    findings_attach(t);
    for (int i = 0; i < t->nfindings; i++)
        if (t->findings[i].severity == FINDING_ERROR)
            fail_msg("%s: %s: %s (%s)", name, t->findings[i].id, t->findings[i].text, t->findings[i].evidence);
}

/* What tools print: all is read but a page that only speaks of ibstat. */
TEST_CASE(every_text)
{
    static const char *const folders[] = {"topo-matrix", "ibverbs"};
    int files = 0;
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        const char *path = corpus_file(a, folders[i]);
        DIR *folder = path ? opendir(path) : NULL;
        for (const struct dirent *d; folder && (d = readdir(folder));) {
            if (*d->d_name == '.' || strstr(d->d_name, "system-config.md"))
                continue;
            struct topology *t = load_one(arena_printf(a, "%s/%s", path, d->d_name));
            assert_true(t->nclasses > 0 && t->classes[0].ngpus + t->classes[0].nports > 0);
            assert_no_error(t, d->d_name);
            topo_free(t);
            files++;
        }
        if (folder)
            closedir(folder);
        arena_free(a);
    }
    if (!files)
        skip_because(NEEDS_CORPUS);
}

/* Every file is read without a false error, written, and read back to the same bytes. */
TEST_CASE(every_file)
{
    static const char *const folders[] = {"nccl-topology", "hwloc"};
    int files = 0;
    for (int i = 0; i < 2; i++) {
        struct arena *a = arena_new();
        const char *path = corpus_file(a, folders[i]);
        DIR *folder = path ? opendir(path) : NULL;
        for (const struct dirent *d; folder && (d = readdir(folder));) {
            size_t n = strlen(d->d_name);
            if (n < 4 || strcmp(d->d_name + n - 4, ".xml") != 0)
                continue;
            struct topology *t = load_one(arena_printf(a, "%s/%s", path, d->d_name)), *again = topo_new();
            struct err e = {0};
            assert_true(t->nclasses > 0);
            cJSON *doc = topo_to_json(t);
            assert_no_error(t, d->d_name);
            if (topo_add_json(again, doc, d->d_name, &e))
                fail_msg("%s", e.text);
            again->source = t->source;
            again->tool = t->tool;
            cJSON *doc_again = topo_to_json(again);
            assert_true(cJSON_Compare(doc, doc_again, 1));
            cJSON_Delete(doc);
            cJSON_Delete(doc_again);
            topo_free(t);
            topo_free(again);
            files++;
        }
        if (folder)
            closedir(folder);
        arena_free(a);
    }
    if (!files)
        skip_because(NEEDS_CORPUS);
}

TEST_CASES(test_corpus)
