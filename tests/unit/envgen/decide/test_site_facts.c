/* What is published for machines: each bundled or made-up machine against the table, releases, what the site sets. */
#include "core/vars/catalogue.h"
#include "envgen/decide/decide.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

#define NEWEST 23007

static const char *no_value(const void *arg, const char *name)
{
    (void)arg, (void)name;
    return NULL;
}

static struct env_decisions *decided(const struct topology *t, int low, int high, env_site_value *site, const void *arg)
{
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    d->nccl_low = low;
    d->nccl_high = high;
    env_site_facts(d, t, site, arg);
    return d;
}

static const struct env_setting *setting(const struct env_decisions *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name))
            return &d->settings[i];
    return NULL;
}

enum { ADVISE, SET };

/* A row with an id begins a machine. */
static const struct row {
    const char *machine, *people, *name, *value;
    int is_set, from, to;
    const char *purpose, *source;
} rows[] = {
#define MACHINE(id, maker, other, gpu, gpus, fabric, called) {.machine = (id), .people = (called)},
#define FACT(called, value, how, low, high, reason, origin)  {NULL, NULL, called, value, how, low, high, reason, origin},
#include "envgen/decide/site_facts.inc"
};
#define ROWS (sizeof rows / sizeof *rows)

/* Every row of the machine is there, as its row says, and nothing of another machine's. */
static void like_the_table(const struct topology *t, const char *const *machines)
{
    struct env_decisions *d = decided(t, NEWEST, NEWEST, no_value, NULL);
    int expected = 0;
    const char *machine = "";
    for (const struct row *r = rows; r < rows + ROWS; r++) {
        int mine = 0;
        machine = r->machine ? r->machine : machine;
        for (const char *const *m = machines; *m; m++)
            mine |= !strcmp(*m, machine);
        if (r->machine || !mine || (r->to && r->to < NEWEST))
            continue;
        const struct env_setting *s = setting(d, r->name);
        if (!s)
            fail_msg("%s: %s is missing", machine, r->name);
        expected++;
        assert_true(!s->value == !r->is_set);
        assert_true(!s->value || !strcmp(s->value, r->value));
        assert_non_null(strstr(s->why, r->purpose));
        assert_non_null(strstr(s->why, r->source));
    }
    if (d->nsettings != expected)
        for (int i = 0; i < d->nsettings; i++)
            print_error("%s: %s\n", d->settings[i].name, d->settings[i].why);
    assert_int_equal(d->nsettings, expected);
    env_decisions_free(d);
}

TEST_CASE(bundled_machines)
{
    static const struct {
        const char *bundled, *rows[5];
    } cases[] = {
        {"azure-ndv2", {"azure-ndv2"}},
        {"azure-ndv4", {"azure-ndv4"}},
        {"azure-ndmv4", {"azure-ndv4"}},
        {"azure-ndv5", {"azure-ndv5"}},
        {"azure-ndv5-h200", {"azure-ndv5-h200"}},
        {"oci-a100", {"oci-a100"}},
        {"oci-h100", {"oci-h100"}},
        {"gcp-a3-ultra", {"gcp-a3-ultra"}},
        {"gcp-a3-mega", {"gcp-a3-mega"}},
        {"gcp-a3-high", {"gcp-a3-high"}},
        {"aws-p4d", {"aws-efa"}},
        {"aws-p5", {"aws-efa"}},
        {"aws-p5en", {"aws-efa"}},
        {"mi250x", {"slingshot", "slingshot-amd", "amd", "amd-mi200"}},
        {"gb200-nvl72", {"gb200"}},
        {"dgx-h100", {NULL}},
        {"dgx-a100", {NULL}},
        {"hgx-h100", {NULL}},
        {"mi300x", {"amd", "amd-mi300"}},
        {"8xl40s", {NULL}},
        {"4x4090", {NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        struct topology *t = machine_topology(cases[i].bundled, 2, &e);
        assert_non_null(t);
        print_message("%s\n", cases[i].bundled);
        like_the_table(t, cases[i].rows);
        topo_free(t);
    }
}

/* Machines that no bundled one stands for. */
TEST_CASE(made_up_machines)
{
    static const struct {
        const char *product, *gpu, *hca, *netdev, *rows[3];
        int gpus, ports;
        enum topo_link_layer layer;
    } cases[] = {
        {"Oracle Cloud BM.GPU.H200.8", "NVIDIA H200", "mlx5_0", "eth0", {"oci-h200"}, 8, 8, TOPO_LINK_ETHERNET},
        {"OracleCloud (Supermicro X)", "NVIDIA B200", "mlx5_0", "eth0", {"oci-b200"}, 8, 8, TOPO_LINK_ETHERNET},
        {"Google Google Compute Engine", "NVIDIA B200", "mlx5_0", "eth0", {"gcp-a4"}, 8, 8, TOPO_LINK_ETHERNET},
        {"HPE Cray EX254n", "NVIDIA GH200 120GB", NULL, "hsn0", {"slingshot", "slingshot-gh200"}, 4, 0, 0},
        {"Nebius AI VM", "NVIDIA H100 80GB HBM3", "mlx5_0", "eth0", {"nebius-h100"}, 8, 8, TOPO_LINK_INFINIBAND},
        /* a cluster of Lambda's has Supermicro's or Dell's names, and nothing is published */
        {"Supermicro SYS-821GE", "NVIDIA H100 80GB HBM3", "mlx5_0", "eno1", {NULL}, 8, 8, TOPO_LINK_INFINIBAND},
        {"Supermicro SYS", "NVIDIA H100 80GB HBM3", "ibp0", "eth0", {"coreweave"}, 8, 8, TOPO_LINK_INFINIBAND},
        {"Supermicro SYS", "NVIDIA H100 80GB HBM3", "ibp14s0", "eth0", {NULL}, 8, 8, TOPO_LINK_INFINIBAND},
        {"Microsoft Corporation Virtual Machine",
         "NVIDIA H100 80GB HBM3",
         "mlx5_ib0",
         "eth0",
         {"azure-ndv5"},
         8,
         8,
         TOPO_LINK_INFINIBAND},
        /* fewer GPUs, or without the fabric: another size of machine */
        {"Microsoft Corporation Virtual Machine", "NVIDIA H100 NVL", NULL, "eth0", {NULL}, 2, 0, 0},
        {"Amazon EC2 g5.48xlarge", "NVIDIA A10G", NULL, "ens5", {NULL}, 8, 0, 0},
        {NULL, NULL, NULL, "eth0", {NULL}, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct topo_object gpu = {.model = cases[i].gpu};
        struct topo_gpu gpus[8] = {{.object = 0}};
        struct topo_port ports[8];
        struct topo_netdev netdev = {.name = cases[i].netdev, .kind = TOPO_NET_PHYSICAL};
        for (int k = 0; k < 8; k++)
            ports[k] = (struct topo_port){.hca = cases[i].hca, .layer = cases[i].layer};
        struct topo_class c = {.name = "class0",
                               .product = cases[i].product,
                               .objects = &gpu,
                               .nobjects = 1,
                               .gpus = gpus,
                               .ngpus = cases[i].gpus,
                               .ports = ports,
                               .nports = cases[i].ports,
                               .netdevs = &netdev,
                               .nnetdevs = 1};
        struct topology t = {.classes = &c, .nclasses = 1};
        like_the_table(&t, cases[i].rows);
    }
}

static struct topology *oci(void)
{
    struct err e = {0};
    struct topology *t = machine_topology("oci-h100", 2, &e);
    assert_non_null(t);
    return t;
}

/* The GID is for releases that do not find it; with some of both it is said and not set. */
TEST_CASE(by_release)
{
    struct topology *t = oci();
    struct env_decisions *d = decided(t, 21903, 22005, no_value, NULL);
    assert_string_equal(setting(d, "NCCL_IB_GID_INDEX")->value, "3");
    env_decisions_free(d);
    d = decided(t, 21903, NEWEST, no_value, NULL);
    assert_null(setting(d, "NCCL_IB_GID_INDEX")->value);
    env_decisions_free(d);
    d = decided(t, 22105, NEWEST, no_value, NULL);
    assert_null(setting(d, "NCCL_IB_GID_INDEX"));
    env_decisions_free(d);
    topo_free(t);
}

static const char *own_value(const void *arg, const char *name)
{
    (void)arg;
    return !strcmp(name, "NCCL_IB_TC") ? "106" : !strcmp(name, "NCCL_IB_TIMEOUT") ? "22" : NULL;
}

TEST_CASE(what_the_site_sets_is_kept)
{
    struct topology *t = oci();
    struct env_decisions *d = decided(t, NEWEST, NEWEST, own_value, NULL);
    assert_null(setting(d, "NCCL_IB_TC")->value);
    assert_non_null(strstr(setting(d, "NCCL_IB_TC")->why, "this site sets 106, which stays; 41 is published"));
    assert_string_equal(setting(d, "NCCL_IB_TIMEOUT")->value, "22");
    env_decisions_free(d);
    topo_free(t);
}

/* What was measured stands, a value or none; what the topology has nothing to say about is taken. */
TEST_CASE(measurements_come_first)
{
    struct err e = {0};
    struct topology *t = machine_topology("mi250x", 1, &e);
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    struct env_setting there[] = {{"nccl", "NCCL_NET_GDR_LEVEL", "SYS", "measured on GPUs", "faster"},
                                  {"nccl", "FI_CXI_RX_MATCH_MODE", NULL, "measured on GPUs", "no faster"},
                                  {"nccl", "NCCL_SOCKET_IFNAME", NULL, "topology", "nothing to say"}};
    d->settings = arena_alloc(d->arena, sizeof there);
    memcpy(d->settings, there, sizeof there);
    d->nsettings = 3;
    d->nccl_low = d->nccl_high = NEWEST;
    env_site_facts(d, t, NULL, NULL);
    assert_string_equal(setting(d, "NCCL_NET_GDR_LEVEL")->value, "SYS");
    assert_null(setting(d, "FI_CXI_RX_MATCH_MODE")->value);
    assert_string_equal(setting(d, "NCCL_SOCKET_IFNAME")->value, "hsn");
    env_decisions_free(d);
    topo_free(t);
}

/* Two kinds of machines: each gets its own in nccl.d/, what both have stands for all. */
TEST_CASE(by_class)
{
    struct err e = {0};
    struct topology *h100 = oci(), *a100 = machine_topology("oci-a100", 1, &e);
    struct topo_class both[2] = {h100->classes[0], a100->classes[0]};
    both[0].name = "h100";
    both[1].name = "a100";
    struct topology t = {.classes = both, .nclasses = 2};
    struct env_decisions *d = decided(&t, NEWEST, NEWEST, NULL, NULL);
    int tc = 0, timeouts = 0;
    for (int i = 0; i < d->nsettings; i++) {
        tc += !strcmp(d->settings[i].name, "NCCL_IB_TC");
        timeouts += !strcmp(d->settings[i].name, "NCCL_IB_TIMEOUT") && !strcmp(d->settings[i].node_class, "h100");
    }
    assert_int_equal(tc, 2);
    assert_int_equal(timeouts, 1);
    env_decisions_free(d);
    topo_free(h100);
    topo_free(a100);
}

/* Names that something reads, values that NCCL takes, a purpose and a source in every row. */
TEST_CASE(rows_are_whole)
{
    assert_true(ROWS > 80);
    for (const struct row *r = rows; r < rows + ROWS; r++) {
        if (r->machine) {
            assert_true(*r->people);
            continue;
        }
        if (!env_var_find(r->name) && !env_other_find(r->name))
            fail_msg("%s: nothing reads it", r->name);
        assert_true(strlen(r->purpose) > 10 && strlen(r->source) > 10 && *r->value);
        assert_true(!r->from || !r->to || r->from <= r->to);
        assert_true(!strchr(r->purpose, '\n'));
    }
}

TEST_CASES(test_site_facts)
