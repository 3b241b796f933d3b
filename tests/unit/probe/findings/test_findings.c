/* probe/findings/: each finding where it belongs, and none on a machine that is well. */
#include "core/file.h"
#include "core/json.h"
#include "probe/findings/findings.h"
#include "probe/topology/build.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"

/* Two GPUs, each with an HCA below its switch, all as it should be. */
static struct topology *well(void)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    build_host(t, "node1", 0);
    c->cpu = "GenuineIntel 6/143";
    c->hypervisor = "none";
    c->driver = "560.28";
    c->gdr_route = "nvidia_peermem";
    c->memlock_bytes = TOPO_UNLIMITED;
    c->shm_bytes = 1ull << 40;
    for (int i = 0; i < 2; i++) {
        int numa = build_numa(t, c, i);
        struct topo_object o = {.kind = TOPO_SWITCH, .parent = numa, .numa = i};
        o.parent = build_object(t, c, o);
        o.kind = TOPO_GPU;
        o.pci = i ? "0000:20:00.0" : "0000:10:00.0";
        o.link_width = o.link_max_width = 16;
        o.link_GTps = 2.5; /* idle */
        o.link_max_GTps = 32;
        o.acs = TOPO_NO;
        build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = i, .gdr = -1, .mig = TOPO_NO});
        o.kind = TOPO_NIC;
        o.pci = i ? "0000:21:00.0" : "0000:11:00.0";
        o.link_GTps = 32;
        build_port(t, c,
                   (struct topo_port){.object = build_object(t, c, o),
                                      .hca = i ? "mlx5_1" : "mlx5_0",
                                      .port = 1,
                                      .state = TOPO_STATE_ACTIVE,
                                      .layer = TOPO_LINK_ETHERNET,
                                      .rate_Gbps = 400,
                                      .mtu_bytes = 4096});
        build_gid(t, c, (struct topo_gid){.port = i, .index = 3, .type = TOPO_GID_ROCE_V2, .gid = "::ffff:10.0.0.1"});
    }
    return t;
}

static const struct finding *find(struct topology *t, const char *id, int *n)
{
    findings_attach(t);
    *n = t->nfindings;
    for (int i = 0; i < *n; i++)
        if (!strcmp(t->findings[i].id, id))
            return &t->findings[i];
    return NULL;
}

/* That finding and no other, with that evidence. */
static void expect(struct topology *t, const char *id, const char *evidence)
{
    int n;
    const struct finding *f = find(t, id, &n);
    if (!f)
        fail_msg("no finding %s", id);
    if (n != 1)
        fail_msg("%s: %d findings instead of one", id, n);
    assert_string_equal(f->evidence, evidence);
    assert_true(strlen(f->text) > 10);
    assert_true(strlen(f->advice) > 10);
    assert_int_equal(finding_count(t->findings, n, FINDING_ERROR), f->severity == FINDING_ERROR);
    topo_free(t);
}

static struct topo_object *nic(struct topology *t, int port)
{
    return &t->classes[0].objects[t->classes[0].ports[port].object];
}

TEST_CASE(none)
{
    struct topology *t = well();
    int n;
    find(t, "", &n);
    assert_int_equal(n, 0);
    topo_free(t);
}

TEST_CASE(ports)
{
    struct topology *t = well();
    t->classes[0].ports[1].rate_Gbps = 200;
    expect(t, "rate-differs", "mlx5_1:1 has 200 Gb/s");
    t = well();
    t->classes[0].ports[0].mtu_bytes = 2048;
    expect(t, "mtu-differs", "mlx5_0:1 has 2048 bytes");
    t = well();
    t->classes[0].ports[0].mtu_bytes = t->classes[0].ports[1].mtu_bytes = 1024;
    expect(t, "mtu-small", "mlx5_0:1: 1024 bytes and mlx5_1:1: 1024 bytes");
    t = well();
    t->classes[0].gids[1].index = 5;
    expect(t, "gid-index-differs", "mlx5_0:1: 3 and mlx5_1:1: 5");
    t = well();
    t->classes[0].gids[1].type = TOPO_GID_ROCE_V1;
    expect(t, "no-roce-v2-ipv4", "mlx5_1:1");
    t = well();
    int n;
    t->classes[0].ports[1].state = TOPO_STATE_DOWN;
    assert_string_equal(find(t, "port-down", &n)->evidence, "mlx5_1:1");
    assert_string_equal(find(t, "gpu-without-nic", &n)->evidence, "GPU1: SYS");
    assert_int_equal(n, 2);
    topo_free(t);
}

TEST_CASE(only_management)
{
    struct topology *t = well();
    int n;
    nic(t, 0)->nvlink_management = TOPO_YES;
    t->classes[0].ports[1].state = TOPO_STATE_DOWN;
    assert_string_equal(find(t, "only-management-ports", &n)->evidence, "mlx5_0:1");
    assert_non_null(find(t, "no-compute-port", &n));
    assert_true(finding_count(t->findings, n, FINDING_ERROR) > 0);
    topo_free(t);
}

TEST_CASE(links)
{
    struct topology *t = well();
    nic(t, 1)->link_width = 8;
    expect(t, "pcie-below-maximum", "0000:21:00.0: 32 GT/s x8 instead of 32 GT/s x16");
    t = well();
    nic(t, 0)->link_GTps = 16;
    expect(t, "pcie-below-maximum", "0000:11:00.0: 16 GT/s x16 instead of 32 GT/s x16");
    t = well();
    nic(t, 0)->acs = TOPO_YES;
    expect(t, "acs-on", "0000:11:00.0");
}

static struct topo_object *switch_above(struct topology *t, int port)
{
    return &t->classes[0].objects[nic(t, port)->parent];
}

/* A switch whose uplink lost half of its lanes, or that never had more; one of an idle machine is well. */
TEST_CASE(narrow_uplinks)
{
    static const struct {
        double max_GTps;
        int width, max_width, narrow;
    } cases[] = {{32, 8, 16, 1}, {16, 16, 16, 1}, {32, 16, 16, 0}, {32, 0, 16, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topology *t = well();
        struct topo_object *up = switch_above(t, 1);
        int n;
        up->pci = "0000:1f:00.0";
        up->link_GTps = 2.5; /* idle */
        up->link_width = cases[i].width;
        up->link_max_GTps = cases[i].max_GTps;
        up->link_max_width = cases[i].max_width;
        const struct finding *f = find(t, "switch-uplink-narrow", &n);
        assert_int_equal(n, cases[i].narrow);
        if (f)
            assert_non_null(strstr(f->evidence, "0000:1f:00.0: "));
        t->classes[0].hypervisor = "KVM"; /* which makes links up */
        assert_null(find(t, "switch-uplink-narrow", &n));
        topo_free(t);
    }
}

/* What only root can read: unknown is no finding. */
TEST_CASE(abilities)
{
    struct topology *t = well();
    nic(t, 0)->relaxed_ordering = TOPO_NO;
    nic(t, 1)->relaxed_ordering = TOPO_YES;
    nic(t, 1)->ats = TOPO_NO; /* of no account on bare metal */
    expect(t, "relaxed-ordering-off", "mlx5_0:1");
    t = well();
    t->classes[0].hypervisor = "KVM";
    nic(t, 1)->ats = TOPO_NO;
    expect(t, "ats-off", "mlx5_1:1");
    t = well();
    t->classes[0].iommu = "translated";
    expect(t, "iommu-translated", "/sys/kernel/iommu_groups/*/type is not identity");
    t = well();
    t->classes[0].gpus[0].gdr = 1;
    t->classes[0].gpus[1].gdr = 0;
    expect(t, "gdr-on-some", "GPU1");
    t = well();
    build_text(t, &t->classes[0].gpus[0].p2p_problems, &t->classes[0].gpus[0].np2p_problems,
               "GPU1: read: disabled by a setting of the driver");
    expect(t, "p2p-refused", "GPU0 with GPU1: read: disabled by a setting of the driver");
    t = well();
    t->classes[0].objects[t->classes[0].gpus[1].object].driver = "nouveau";
    expect(t, "wrong-driver", "0000:20:00.0");
    t = well();
    t->classes[0].nofile = 1024;
    expect(t, "nofile-low", "RLIMIT_NOFILE is 1024");
}

/* Where the IOMMU translates by design, or nobody can tell. */
TEST_CASE(iommu_of_others)
{
    struct topology *t = well();
    int n;
    t->classes[0].iommu = "translated";
    t->classes[0].arch = "aarch64";
    find(t, "", &n);
    assert_int_equal(n, 0);
    t->classes[0].arch = "x86_64";
    t->classes[0].hypervisor = "KVM";
    assert_null(find(t, "iommu-translated", &n));
    t->classes[0].hypervisor = "none";
    t->classes[0].iommu = "passthrough";
    assert_null(find(t, "iommu-translated", &n));
    topo_free(t);
}

/* Virtual switches show no width, or 2.5 GT/s x 1: that is nothing to complain about. */
TEST_CASE(made_up_links)
{
    struct topology *t = well();
    int n;
    t->classes[0].hypervisor = "KVM";
    nic(t, 0)->link_width = 0;
    nic(t, 1)->link_GTps = 2.5;
    nic(t, 1)->link_width = 1;
    assert_null(find(t, "pcie-below-maximum", &n));
    assert_int_equal(n, 0);
    topo_free(t);
}

TEST_CASE(node)
{
    struct topology *t = well();
    t->classes[0].gdr_route = "none";
    expect(t, "no-gpudirect", "driver 560.28, no nvidia_peermem");
    t = well();
    t->classes[0].memlock_bytes = 65536;
    expect(t, "memlock-low", "RLIMIT_MEMLOCK is 64 KiB");
    t = well();
    t->classes[0].shm_bytes = 64 << 20;
    expect(t, "shm-small", "64 MiB for 2 GPUs");
    t = well();
    t->classes[0].gpus[1].mig = TOPO_YES;
    expect(t, "mig-on", "GPU1");
    t = well();
    for (int i = 0; i < 300; i++)
        build_object(t, &t->classes[0], (struct topo_object){.kind = TOPO_NIC, .parent = 0});
    expect(t, "nccl-xml-too-large", "315 elements, at most 256");
    t = well();
    nic(t, 0)->parent = nic(t, 0)->numa = nic(t, 1)->parent = nic(t, 1)->numa = -1;
    t->classes[0].hypervisor = "KVM";
    expect(t, "tree-hidden", "4 of 4 ways between GPUs and NICs are unknown; hypervisor: KVM");
    t = well();
    int third = build_numa(t, &t->classes[0], 2);
    nic(t, 1)->parent = third;
    nic(t, 1)->numa = 2;
    nic(t, 0)->parent = third;
    nic(t, 0)->numa = 2;
    expect(t, "nic-wrong-numa", "mlx5_0:1 on NUMA node 2 and mlx5_1:1 on NUMA node 2");
}

/* A second class like the first. */
static struct topo_class *second_class(struct topology *t)
{
    struct topo_class *c = build_class(t, NULL);
    const char *name = c->name;
    *c = t->classes[0];
    c->name = name;
    build_host(t, "node2", 1);
    return c;
}

TEST_CASE(cluster)
{
    struct topology *t = well();
    second_class(t)->driver = "550.54";
    expect(t, "driver-differs", "class0: 560.28 and class1: 550.54");
    t = well();
    second_class(t)->cpu = "AuthenticAMD 25/17";
    expect(t, "cpu-differs", "class0: GenuineIntel and class1: AuthenticAMD");
    t = well();
    struct topo_class *c = second_class(t);
    build_text(t, &t->classes[0].libraries, &t->classes[0].nlibraries, "NCCL 2.21.5 /usr/lib/a.so");
    build_text(t, &c->libraries, &c->nlibraries, "NCCL 2.18.1 /usr/lib/a.so");
    expect(t, "library-differs", "class0: NCCL 2.21.5 and class1: NCCL 2.18.1");
    t = well();
    c = second_class(t);
    c->ports = arena_alloc(t->arena, 2 * sizeof *c->ports);
    memcpy(c->ports, t->classes[0].ports, 2 * sizeof *c->ports);
    c->ports[0].mtu_bytes = c->ports[1].mtu_bytes = 2048;
    expect(t, "mtu-differs", "class0: 4096 bytes and class1: 2048 bytes");
    t = well();
    build_missing(t, "node7", "no answer");
    expect(t, "node-missing", "node7 (no answer)");
    t = well();
    build_text(t, &t->hosts[0].differs, &t->hosts[0].ndiffers, "memlock 64 KiB instead of unlimited");
    expect(t, "node-differs", "memlock 64 KiB instead of unlimited");
    t = well();
    c = second_class(t);
    c->ports = arena_alloc(t->arena, 2 * sizeof *c->ports);
    memcpy(c->ports, t->classes[0].ports, 2 * sizeof *c->ports);
    c->ports[0].hca = "rocep1s0";
    c->ports[1].hca = "rocep2s0";
    expect(t, "no-common-hcas",
           "no port name, number and link layer is a compute port in class1 and in the classes before it");
}

/* Two classes like the one that is well. */
static struct topology *two_classes(void)
{
    struct topology *t = well();
    struct err e = {0};
    cJSON *doc = topo_to_json(t);
    assert_int_equal(topo_add_json(t, doc, "again", &e), 0);
    cJSON_Delete(doc);
    t->classes[1].name = "class1";
    return t;
}

TEST_CASE(rails_between_classes)
{
    struct topology *t = two_classes();
    t->classes[1].ports[1].hca = "mlx5_7";
    expect(t, "common-hcas-partial", "class0: 2 and class1: 2");
    t = two_classes();
    t->classes[1].ports[0].hca = "mlx5_1";
    t->classes[1].ports[1].hca = "mlx5_0";
    expect(t, "rail-differs", "mlx5_0:1 is beside GPU0 in class0 and beside GPU1 in class1");
}

/* Links in one direction; a GPU without any among three. */
TEST_CASE(broken_nvlinks)
{
    struct topology *t = well();
    build_link(t, &t->classes[0], (struct topo_link){.gpu = 0, .peer_gpu = 1, .peer_object = -1, .count = 4});
    build_link(t, &t->classes[0], (struct topo_link){.gpu = 1, .peer_gpu = 0, .peer_object = -1, .count = 4});
    int n;
    find(t, "", &n);
    assert_int_equal(n, 0);
    t->classes[0].links[0].count = 2;
    t->classes[0].links[1].count = 0;
    expect(t, "nvlink-one-way", "GPU0 to GPU1: 2, back: 0");
}

/* Every kind is described in the manual page, and the page has no other. */
TEST_CASE(manual)
{
    struct arena *a = arena_new();
    struct err e = {0};
    char *page;
    size_t bytes;
    int kinds = 0, described = 0;
    assert_int_equal(file_read_text("build/man/nccltune-findings.7", FILE_LIMIT, a, &page, &bytes, &e), 0);
    for (const struct finding_kind *k; (k = findings_kind(kinds)); kinds++) {
        const char *name = "";
        if (!strstr(k->title, "Confirm with"))
            fail_msg("%s does not say how to confirm it", k->id);
        for (const char *p = k->id; *p; p++)
            name = *p == '-' ? arena_printf(a, "%s\\-", name) : arena_printf(a, "%s%c", name, *p);
        const char *heading = arena_printf(a, "\n.TP\n.B %s\n", name);
        if (!strstr(page, heading))
            fail_msg("build/man/nccltune-findings.7 does not describe %s", k->id);
    }
    for (const char *p = page; (p = strstr(p, "\n.TP\n")); p++)
        described++;
    assert_int_equal(described, kinds);
    arena_free(a);
}

TEST_CASES(test_findings)
