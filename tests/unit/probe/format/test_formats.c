/* Exporters beside the text: probe/format/dot.c, probe/format/svg.c, probe/format/html.c, nccl_xml.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/format/format.h"
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

static void nccl_xml(void **state)
{
    (void)state;
    static const char *const files[] = {"nccl_nvswitch.xml", "hwloc2_dgx1v.xml",  "nccl_cloud.xml",
                                        "nccl_c2c.xml",      "nccl_broadcom.xml", "nccl_rccl_xgmi.xml"};
    struct arena *a = arena_new();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_round_trip(arena_printf(a, FIXTURE "%s", files[i]));
    static const char *const real[] = {"azure_ndv2",       "azure_ndv4", "azure_ndv5",
                                       "aws_p4d.24xlarge", "oci_h100",   "amd_8p_940"};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        const char *path = corpus_file(a, arena_printf(a, "nccl-topology/%s.xml", real[i]));
        if (path)
            assert_round_trip(path);
    }
    arena_free(a);
}

/* NCCL's reader: no prolog, no tabs, one blank between attributes, one element a line, strings below 256 characters. */
static void nccl_dialect(void **state)
{
    (void)state;
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

static void dot(void **state)
{
    (void)state;
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "nccl_nvswitch.xml");
    t->hosts[0].name = "a\"b\\c\n<d>";
    char *text = written(t, "dot", &e);
    assert_non_null(text);
    assert_non_null(strstr(text, "label=\"a?b?c??d?\""));
    assert_non_null(strstr(text, "label=\"NUMA node 0\""));
    assert_non_null(strstr(text, "NVSwitch"));
    free(text);
    topo_free(t);
}

static void svg(void **state)
{
    (void)state;
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "hwloc2_dgx1v.xml");
    char *text = written(t, "svg", &e);
    if (!text && e.code == ERR_LACKS) {
        print_message("%s\n", e.text);
        topo_free(t);
        skip();
    }
    assert_non_null(text);
    assert_non_null(strstr(text, "<svg"));
    assert_non_null(strstr(text, "GPU7"));
    assert_non_null(strstr(text, "mlx5_3"));
    free(text);
    topo_free(t);
}

static void html(void **state)
{
    (void)state;
    struct err e = {0};
    struct topology *t = load_one(FIXTURE "small.json");
    t->hosts[0].name = "<script>alert(1)</script>";
    char *text = written(t, "html", &e);
    assert_non_null(text);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "&lt;script&gt;"));
    assert_non_null(strstr(text, "tree-hidden"));
    free(text);
    topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nccl_xml), cmocka_unit_test(nccl_dialect),
                                       cmocka_unit_test(dot), cmocka_unit_test(svg), cmocka_unit_test(html)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
