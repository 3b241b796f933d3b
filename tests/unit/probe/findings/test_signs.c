/* probe/findings/signs.c and the thresholds: every kind of sign below its threshold, at it, and where it does not
 * matter.
 */
#include "probe/findings/findings.h"
#include "probe/findings/findings_internal.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"

/* A node with a GPU and an EFA device: whatever needs one of them applies. */
static struct topology *node(void)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    struct topo_object gpu = {.kind = TOPO_GPU, .parent = -1, .numa = -1};
    struct topo_object efa = {.kind = TOPO_NIC, .parent = -1, .numa = -1, .driver = "efa"};
    build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, gpu), .index = 0, .gdr = -1});
    build_port(t, c, (struct topo_port){.object = build_object(t, c, efa), .hca = "rdmap0s6", .port = 1});
    build_host(t, "node01", 0);
    return t;
}

static const struct finding *find(struct topology *t, const char *id)
{
    findings_attach(t);
    for (int i = 0; i < t->nfindings; i++)
        if (!strcmp(t->findings[i].id, id))
            return &t->findings[i];
    return NULL;
}

TEST_CASE(every_kind)
{
    int kinds = 0;
    for (const struct finding_rule *r = findings_of_signs; r->kind.id; r++, kinds++) {
        const double least = r->threshold.least;
        if (!r->threshold.unit || !r->threshold.source)
            fail_msg("%s has no threshold", r->kind.id);
        struct topology *t = node();
        build_sign(t, r->kind.id, "GPU3", least * 0.99);
        assert_null(find(t, r->kind.id));
        build_sign(t, r->kind.id, "GPU4", least);
        const struct finding *f = find(t, r->kind.id);
        if (!f)
            fail_msg("%s is not found", r->kind.id);
        assert_string_equal(f->evidence, arena_printf(t->arena, "GPU4: %g", least));
        assert_string_equal(f->subject, "node01");
        assert_int_equal(f->severity, r->kind.severity);
        assert_true(strlen(f->text) > 20 && !strstr(f->text, ". "));
        assert_non_null(strstr(r->kind.title, "Confirm with"));
        topo_free(t);
    }
    assert_true(kinds > 15);
}

TEST_CASE(where_they_do_not_matter)
{
    struct topology *t = node();
    build_sign(t, "numa-balancing", "", 1);
    build_sign(t, "gpu-lost", "0000:17:00.0", 1);
    assert_string_equal(find(t, "numa-balancing")->evidence, "1");
    t->classes[0].ngpus = 0;
    assert_null(find(t, "numa-balancing"));
    assert_non_null(find(t, "gpu-lost"));
    t->classes[0].container = "docker";
    assert_null(find(t, "gpu-lost"));
    topo_free(t);
}

/* One finding for the cluster: hosts that say the same stand together. */
TEST_CASE(many_hosts)
{
    struct topology *t = node();
    for (int i = 1; i <= 12; i++) {
        if (i > 1)
            build_host(t, arena_printf(t->arena, "node%02d", i), 0);
        build_sign(t, "cpu-governor", "powersave", 64);
        build_sign(t, "port-flaps", "mlx5_0:1, link_downed", i == 7 ? 31 : 1);
    }
    const struct finding *f = find(t, "cpu-governor");
    assert_string_equal(f->subject, "cluster");
    assert_string_equal(f->evidence, "node[01-12] (powersave: 64)");
    assert_non_null(strstr(f->text, "(12 nodes)"));
    f = find(t, "port-flaps");
    assert_string_equal(f->subject, "node07");
    assert_string_equal(f->evidence, "node07 (mlx5_0:1, link_downed: 31)");
    topo_free(t);
}

/* A file may hold anything as a sign. */
TEST_CASE(hostile)
{
    static const char *const signs[] = {"",
                                        " ",
                                        "port-flaps",
                                        "port-flaps ",
                                        "port-flaps nan x",
                                        "\n",
                                        "port-flaps x",
                                        "port-flapsx 99 y",
                                        "port-flaps -1e308 z"};
    struct topology *t = node();
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        build_text(t, &t->hosts[0].signs, &t->hosts[0].nsigns, signs[i]);
    assert_null(find(t, "port-flaps"));
    build_text(t, &t->hosts[0].signs, &t->hosts[0].nsigns, "port-flaps inf %s%n");
    assert_string_equal(find(t, "port-flaps")->evidence, "%s%n: inf");
    topo_free(t);
}

TEST_CASES(test_signs)
