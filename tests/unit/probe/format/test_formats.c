/* Exporters beside the text: svg.c with its parts, nccl_xml.c. */
#include "core/xml.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
#include "probe/topology/build.h"
#include "tests/lib/corpus.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

static char *written(struct topology *t, const char *format, struct err *e)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    findings_attach(t);
    int rc = probe_format_find(format)->write(t, out, e);
    fclose(out);
    if (!rc)
        return text;
    free(text);
    return NULL;
}

/* What nccl-xml writes is read back with the same distances. */
static void assert_round_trip(const char *path)
{
    struct err e = {0};
    struct topology *t = load_one(path), *again = NULL;
    char *xml = written(t, "nccl-xml", &e), name[] = "/tmp/nccltune-xml.XXXXXX";
    if (!xml)
        fail_msg("%s: %s", path, e.text);
    int fd = mkstemp(name);
    assert_int_equal(write(fd, xml, strlen(xml)), strlen(xml));
    close(fd);
    again = load_one(name);
    assert_string_equal(matrix_classes(&again->classes[0], t->arena), matrix_classes(&t->classes[0], t->arena));
    assert_int_equal(again->classes[0].ngpus, t->classes[0].ngpus);
    for (int i = 0; i < t->classes[0].nports; i++) {
        const struct topo_port *p = &t->classes[0].ports[i], *q = &again->classes[0].ports[i];
        assert_string_equal(q->hca, p->hca);
        assert_int_equal(q->port, p->port);
        if (p->layer != TOPO_LINK_UNKNOWN)
            assert_int_equal(q->layer, p->layer);
        assert_true(q->rate_Gbps >= p->rate_Gbps && q->rate_Gbps <= p->rate_Gbps);
    }
    unlink(name);
    free(xml);
    topo_free(t);
    topo_free(again);
}

TEST_CASE(nccl_xml)
{
    static const char *const files[] = {"nccl_nvswitch.xml", "hwloc2_dgx1v.xml",  "nccl_cloud.xml",
                                        "nccl_c2c.xml",      "nccl_broadcom.xml", "nccl_rccl_xgmi.xml"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_round_trip(arena_printf(a, FIXTURE "%s", files[i]));
    arena_free(a);
}

TEST_CASE(nccl_xml_of_real_machines)
{
    static const char *const files[] = {"azure_ndv2",       "azure_ndv4", "azure_ndv5",
                                        "aws_p4d.24xlarge", "oci_h100",   "amd_8p_940"};
    struct arena *a = arena_new();
    int found = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = corpus_file(a, arena_printf(a, "nccl-topology/%s.xml", files[i]));
        if (path)
            assert_round_trip(path);
        found += path != NULL;
    }
    arena_free(a);
    if (!found)
        skip_because(NEEDS_CORPUS);
}

/* NCCL's reader: no prolog, no tabs, one blank between attributes, one element a line, strings below 256 characters. */
TEST_CASE(nccl_dialect)
{
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    t->classes[0].ports[0].hca = "a\"b<c>&\n\033[2J";
    char *xml = written(t, "nccl-xml", &e);
    assert_non_null(xml);
    assert_int_equal(strncmp(xml, "<system version=\"1\">\n", 21), 0);
    assert_null(strchr(xml, '\t'));
    assert_null(strchr(xml, '&'));
    assert_null(strchr(xml, '\033'));
    assert_non_null(strstr(xml, "name=\"a?b?c????[2J\""));
    for (char *line = strtok(xml, "\n"); line; line = strtok(NULL, "\n")) {
        line += strspn(line, " ");
        assert_int_equal(*line, '<');
        assert_int_equal(line[strlen(line) - 1], '>');
        assert_null(strstr(line, "  "));
        assert_true(strchr(line, '>') == line + strlen(line) - 1);
    }
    free(xml);
    topo_free(t);
    t = load_one(FIXTURE "smi_topo_a100.txt");
    assert_null(written(t, "nccl-xml", &e));
    assert_non_null(strstr(e.text, "no PCI address"));
    topo_free(t);
    t = load_one(FIXTURE "nccl_groups.xml");
    assert_null(written(t, "nccl-xml", &e));
    assert_int_equal(e.code, ERR_USAGE);
    topo_free(t);
}

/* Well-formed, and with what is to be seen; names from anywhere are words and nothing else. */
static char *drawn(struct topology *t, const char *const *words)
{
    struct err e = {0};
    char *text = written(t, "svg", &e);
    struct arena *a = arena_new();
    if (!text)
        fail_msg("%s", e.text);
    for (int i = 0; words[i]; i++)
        if (!strstr(text, words[i]))
            fail_msg("the picture has no \"%s\"", words[i]);
    char *copy = arena_strdup(a, text);
    if (!xml_parse(copy, strlen(copy), "picture", a, &e))
        fail_msg("%s", e.text);
    arena_free(a);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

TEST_CASE(svg)
{
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    char *text = drawn(t, (const char *const[]){"GPU7", "mlx5_3", "NUMA node 1", "number of NVLinks", NULL});
    assert_int_equal(count(text, "<path"), 16); /* pairs of GPUs with NVLinks */
    free(text);
    topo_free(t);
    t = load_one(FIXTURE "nccl_nvswitch.xml");
    t->hosts[0].name = "a\"b\\c\n<d>&\033";
    text = drawn(t, (const char *const[]){"NVSwitches: ", "&lt;d&gt;&amp;", NULL});
    assert_null(strstr(text, "<d>"));
    free(text);
    topo_free(t);
    t = load_one(FIXTURE "nccl_rccl_xgmi.xml");
    text = drawn(t, (const char *const[]){"GPU0", NULL});
    free(text);
    topo_free(t);
}

/* What limits is framed, or its line is red; the sentence stands once, words from anywhere as words. */
TEST_CASE(marked)
{
    static const struct {
        struct picture_mark mark;
        int frames, lines;
    } cases[] = {{{PICTURE_NIC, "mlx5_0:1", "<b>"}, 3 + 1, 0}, /* one of four is down */
                 {{PICTURE_PCIE, "mlx5_0", "<b>"}, 1, 4},      {{PICTURE_GPU, NULL, "<b>"}, 8 + 1, 0},
                 {{PICTURE_CPU, NULL, "<b>"}, 2 + 1, 0},       {{PICTURE_GPU_LINKS, NULL, "<b>"}, 1, 16},
                 {{PICTURE_NIC, "mlx5_9:1", "<b>"}, 1, 0},     {{PICTURE_NIC, "", "<b>"}, 1, 0}};
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        char *text;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        assert_int_equal(picture_write(t, &cases[i].mark, out, &e), 0);
        fclose(out);
        assert_int_equal(count(text, "class=\"bottleneck\""), cases[i].frames);
        assert_int_equal(count(text, "stroke=\"#c62828\"") - cases[i].frames, cases[i].lines);
        assert_int_equal(count(text, "&lt;b&gt;"), 1);
        assert_null(strstr(text, "<b>"));
        free(text);
    }
    topo_free(t);
}

/* Two dies in one PCI function are two GPUs. */
TEST_CASE(dies)
{
    struct topology *t = load_one(FIXTURE "nccl_dies.xml");
    const struct topo_class *c = &t->classes[0];
    char *text = drawn(t, (const char *const[]){"GPU0", NULL});
    for (int i = 0; i < c->ngpus; i++)
        assert_int_equal(count(text, arena_printf(t->arena, ">GPU%d<", c->gpus[i].index)), 1);
    assert_true(c->ngpus > 1 && c->gpus[0].object == c->gpus[1].object);
    free(text);
    topo_free(t);
}

/* Eight GPUs of which every pair has a link are a bar, not 28 arcs; with one link missing they are arcs. */
TEST_CASE(mesh)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    int numa = build_numa(t, c, 0);
    for (int i = 0; i < 8; i++) {
        struct topo_object o = {.kind = TOPO_GPU, .parent = numa, .numa = 0, .link_max_GTps = 32, .link_width = 16};
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1});
    }
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 8; k++)
            if (i != k)
                build_link(
                    t, c,
                    (struct topo_link){
                        .link_kind = TOPO_XGMI, .gpu = i, .peer_gpu = k, .peer_object = -1, .count = 1, .GBps = 64});
    char *text =
        drawn(t, (const char *const[]){"every pair of GPUs has 1 XGMI link: 7 XGMI links, 448 GB/s for each GPU",
                                       "5.0 x16", NULL});
    assert_null(strstr(text, "<path"));
    free(text);
    c->links[0].count = 2;
    text = drawn(t, (const char *const[]){"number of XGMI links", NULL});
    assert_non_null(strstr(text, "<path"));
    free(text);
    topo_free(t);
}

/* Two classes on two leaf switches, of one rack. */
TEST_CASE(cluster)
{
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    struct topo_class *c = build_class(t, NULL);
    const char *name = c->name;
    *c = t->classes[0];
    c->name = name;
    t->hosts[0].name = "node01";
    for (int i = 2; i <= 12; i++)
        build_host(t, arena_printf(t->arena, "node%02d", i), i > 8);
    for (int i = 0; i < t->nhosts; i++) {
        struct topo_host *h = &t->hosts[i];
        h->clique = "c0ffee.1";
        build_text(t, &h->leaves, &h->nleaves, i % 2 ? "mlx5_0:1 leaf-10 port 3" : "mlx5_0:1 leaf-9 <b> port 3");
    }
    char *text =
        drawn(t, (const char *const[]){
                     "node[01-08], 8 nodes", "node[09-12], 4 nodes", "leaf-9 &lt;b&gt;", "class0: 4, class1: 2",
                     arena_printf(t->arena, "of %d GPUs, 12 nodes: node[01-12]", 12 * c->ngpus), NULL});
    assert_true(strstr(text, "leaf-9") < strstr(text, "leaf-10"));
    free(text);
    topo_free(t);
}

TEST_CASES(test_formats)
