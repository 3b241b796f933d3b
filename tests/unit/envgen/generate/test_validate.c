/* Lint as the judge of what generate writes: what a release does not read or what is its default is not written. */
#include "core/vars/catalogue.h"
#include "envgen/generate/validate.h"
#include "envgen/write/write.h"
#include "tests/lib/unit.h"

static const char *const addresses[] = {"10.0.0.1/24"};
static struct topo_netdev netdevs[] = {{.name = "eth0",
                                        .kind = TOPO_NET_PHYSICAL,
                                        .state = TOPO_STATE_ACTIVE,
                                        .addresses = (const char **)addresses,
                                        .naddresses = 1}};
static struct topo_port ports[] = {
    {.hca = "mlx5_0", .port = 1, .state = TOPO_STATE_ACTIVE, .layer = TOPO_LINK_ETHERNET},
    {.hca = "mlx5_1", .port = 1, .state = TOPO_STATE_DOWN}};
static struct topo_gpu amd[] = {{.arch = "gfx942"}}, nvidia[] = {{.sm = 90}};
static struct topo_class classes[] = {
    {.name = "class0", .netdevs = netdevs, .nnetdevs = 1, .ports = ports, .nports = 2, .gpus = nvidia, .ngpus = 1}};
static struct topology topology = {.classes = classes, .nclasses = 1};

static struct env_decisions *decisions(const char *name, const char *value, int low, int high)
{
    struct env_decisions *d = env_decisions_new(ENV_MARGIN);
    d->settings = ARENA_NEW(d->arena, struct env_setting);
    d->settings[0] = (struct env_setting){"nccl", name, value, "measured on GPUs", "it was faster", 0};
    d->nsettings = 1;
    env_releases(d, &topology, low, high);
    return d;
}

TEST_CASE(rows_of_judgement)
{
    static const struct {
        const char *name, *value;
        int low, high;
        const char *says; /* NULL: it stays */
    } rows[] = {
        {"NCCL_IB_QPS_PER_CONNECTION", "4", 22809, 22809, NULL},
        {"NCCL_IB_QPS_PER_CONNECTION", "1", 22809, 22809, "the default in every judged release"},
        {"NCCL_SOCKET_IFNAME", "=eth0", 21900, 23100, NULL},
        {"NCCL_SOCKET_IFNAME", "=eth7", 21900, 23100, "eth7"},
        {"NCCL_IB_HCA", "=mlx5_0:1", 21900, 23100, NULL},
        {"NCCL_IB_HCA", "=mlx5_9:1", 21900, 23100, "mlx5_9"},
        {"NCCL_CTA_POLICY", "1", 22703, 22809, NULL},
        {"NCCL_CTA_POLICY", "1", 21900, 22809, "from 2.27"},
        {"NCCL_CTA_POLICY", "1", 21900, 22200, "from 2.27"},
        {"NCCL_TREE_THRESHOLD", "0", 22809, 22809, "ignore"},
        {"NCCL_NO_SUCH_NAME", "1", 22809, 22809, "reads this name"},
        {"NCCL_BUFFSIZE", "8M", 22809, 22809, "8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct env_decisions *d = decisions(rows[i].name, rows[i].value, rows[i].low, rows[i].high);
        env_validate(d, &topology);
        if ((d->settings[0].value == NULL) != (rows[i].says != NULL))
            fail_msg("%s=%s for %d to %d: %s", rows[i].name, rows[i].value, rows[i].low, rows[i].high,
                     d->settings[0].why);
        if (rows[i].says && !strstr(d->settings[0].why, rows[i].says))
            fail_msg("%s: '%s' is missing in: %s", rows[i].name, rows[i].says, d->settings[0].why);
        env_decisions_free(d);
    }
}

/* Whatever the range: a variable that stays is one that every release in it reads. */
TEST_CASE(what_stays_is_read_by_all)
{
    static const int ranges[][2] = {{21900, 21900}, {21900, 22809}, {22703, 23100}, {23000, 23100}};
    int stayed = 0, out = 0;
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        const struct env_var *v;
        for (size_t n = 0; (v = env_var_at(n)); n++) {
            if (v->scope == ENV_PLUGIN || strncmp(v->name, "NCCL_", 5) != 0)
                continue;
            struct env_decisions *d = decisions(v->name, "1", ranges[r][0], ranges[r][1]);
            env_validate(d, &topology);
            int stays = d->settings[0].value != NULL;
            int older = v->flags & ENV_OLDER;
            if (stays && ((!older && v->since > ranges[r][0]) || (v->last && v->last < ranges[r][1])))
                fail_msg("%s stays for %d to %d", v->name, ranges[r][0], ranges[r][1]);
            stayed += stays;
            out += !stays;
            env_decisions_free(d);
        }
    }
    assert_true(stayed > 100 && out > 100);
}

TEST_CASE(what_was_measured_together_goes_together)
{
    for (int idle = 0; idle < 2; idle++) {
        struct env_decisions *d = decisions("NCCL_IB_QPS_PER_CONNECTION", "4", 21900, 22809);
        struct env_setting first = d->settings[0];
        d->settings = arena_alloc(d->arena, 3 * sizeof *d->settings);
        d->settings[0] = first;
        d->settings[1] = first;
        d->settings[1].name = idle ? "NCCL_IB_TIMEOUT" : "NCCL_CTA_POLICY";
        d->settings[1].value = idle ? "20" : "1";
        d->settings[2] = (struct env_setting){"nccl", "NCCL_SOCKET_IFNAME", "=eth0", "topology", "rule", 0};
        d->nsettings = 3;
        d->nccl_low = idle ? 22400 : 21900;
        env_validate(d, &topology);
        assert_null(d->settings[1].value);
        if (idle) { /* the default alone changes nothing */
            assert_non_null(d->settings[0].value);
        } else {
            assert_null(d->settings[0].value);
            assert_non_null(strstr(d->settings[0].why, "measured together with NCCL_CTA_POLICY"));
        }
        assert_non_null(d->settings[2].value);
        env_decisions_free(d);
    }
}

TEST_CASE(releases)
{
    static const char *libraries[] = {"NCCL 2.21.5 /usr/lib/libnccl.so.2", "NCCL ? /opt/x", "MPI 2.99 /x"};
    struct env_decisions *d = decisions("NCCL_X", "1", 0, 0);
    assert_int_equal(d->nccl_low, ENV_OLDEST_IN_USE);
    assert_int_equal(d->nccl_high, ENV_NEWEST);
    classes[0].libraries = libraries;
    classes[0].nlibraries = 3;
    env_releases(d, &topology, 0, 0);
    assert_int_equal(d->nccl_low, 22105);
    assert_int_equal(d->nccl_high, 22105);
    struct env_shape shape = {.engine = "nccl", .library = "NCCL 2.28.9"};
    d->shapes = &shape;
    d->nshapes = 1;
    env_releases(d, &topology, 0, 0);
    assert_int_equal(d->nccl_low, 22105);
    assert_int_equal(d->nccl_high, 22809);
    env_releases(d, &topology, 22000, 22099);
    assert_int_equal(d->nccl_high, 22099);
    assert_int_equal(d->rccl, 0);
    shape.library = "NCCL 2.21.5 (RCCL)";
    classes[0].ngpus = 0;
    env_releases(d, &topology, 0, 0);
    assert_int_equal(d->rccl, 1);
    classes[0].ngpus = 1;
    classes[0].nlibraries = 0;
    env_decisions_free(d);
}

/* RCCL has other defaults: PXN is off there, so that a measured 1 is nothing to write; NCCL's 0 is something. */
TEST_CASE(defaults_of_rccl)
{
    for (int rccl = 0; rccl < 2; rccl++) {
        classes[0].gpus = rccl ? amd : nvidia;
        struct env_decisions *d = decisions("NCCL_PXN_DISABLE", "1", 22105, 22105);
        assert_int_equal(d->rccl, rccl);
        env_validate(d, &topology);
        assert_true((d->settings[0].value == NULL) == rccl);
        env_decisions_free(d);
    }
    classes[0].gpus = nvidia;
}

/* ROCr reads its variables before RCCL reads a file: they stand in nccl.sh alone, and the check knows. */
TEST_CASE(not_from_the_file)
{
    struct err e = {0};
    classes[0].gpus = amd;
    struct env_decisions *d = decisions("HSA_NO_SCRATCH_RECLAIM", "1", 22105, 22105);
    env_validate(d, &topology);
    assert_non_null(d->settings[0].value);
    assert_int_equal(env_validate_file(d, &topology, NULL, "nccl.conf", "# why\n", 6, &e), 0);
    struct env_writing w = {.decisions = d, .dir = "/p", .scratch = d->arena};
    char *text;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(env_writer_of("nccl.conf")->write(&w, out, &e), 0);
    fclose(out);
    assert_null(strstr(text, "HSA_NO_SCRATCH_RECLAIM=1"));
    assert_non_null(strstr(text, "nccl.sh sets it"));
    free(text);
    env_decisions_free(d);
    classes[0].gpus = nvidia;
}

TEST_CASE(files_are_checked)
{
    static const struct {
        const char *file, *text;
        int rc;
    } rows[] = {
        {"nccl.conf", "# why\nNCCL_IB_QPS_PER_CONNECTION=4\n", 0},
        {"nccl.conf", "# why\n", ERR_FAILED},
        {"nccl.conf", "NCCL_IB_QPS_PER_CONNECTION=5\n", ERR_FAILED},
        {"nccl.conf", "NCCL_IB_QPS_PER_CONNECTION=4 \n", ERR_FAILED},
        {"nccl.conf", "NCCL_IB_QPS_PER_CONNECTION=4\nNCCL_CROSS_NIC=1\n", ERR_FAILED},
        {"nccl.conf", "NCCL_IB_QPS_PER_CONNECTION=4\r\n", ERR_FAILED},
        {"nccl.sh", "export NCCL_IB_QPS_PER_CONNECTION='4'\n", 0},
        {"nccl.sh", "export NCCL_IB_QPS_PER_CONNECTION='4M'\n", ERR_FAILED},
        {"nccl.json", "{\"NCCL_BUFFSIZE\": \"8M\"}\n", ERR_FAILED},
    };
    struct env_decisions *d = decisions("NCCL_IB_QPS_PER_CONNECTION", "4", 22809, 22809);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        if (env_validate_file(d, &topology, NULL, rows[i].file, rows[i].text, strlen(rows[i].text), &e) != rows[i].rc)
            fail_msg("%s: %s: %s", rows[i].file, rows[i].text, e.text);
        if (rows[i].rc)
            assert_non_null(strstr(e.text, rows[i].file));
    }
    env_decisions_free(d);
}

TEST_CASES(test_validate)
