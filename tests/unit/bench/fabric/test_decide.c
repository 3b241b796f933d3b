/* bench/fabric/decide.c, bench/fabric/print.c: the settings that follow from made-up fabrics, and what is printed of
 * them. */
#include <math.h>

#include "bench/engines/verbs/run.h"
#include "bench/fabric/fabric.h"
#include "tests/lib/unit.h"
#include "tests/unit/bench/made_up_fabric.h"

static int all_bad(struct verbs_try t)
{
    (void)t;
    return 1;
}
static int crossing_bad(struct verbs_try t)
{
    return t.from.node != t.to.node && t.from.rail != t.to.rail;
}

static const char *value_of(const struct verbs_decision *d, const char *name)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, name))
            return d->settings[i].value;
    return NULL;
}

static char *printed(const struct verbs_fabric *f, const struct verbs_decision *d)
{
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    verbs_print(f, d, 0, out);
    fclose(out);
    return text;
}

TEST_CASE(healthy)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nfaults, 0);
    assert_int_equal(d.nsettings, 0);
    char *text = printed(f, &d);
    assert_non_null(strstr(text, "No faults: all 30 tries worked."));
    assert_non_null(strstr(text, "Settings: none"));
    free(text);
    verbs_fabric_free(f);
}

/* A dark port costs its own node first: 1 of 3 nodes is less than 1 of 2 ports of all. */
TEST_CASE(one_port)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2, .bad = port_1_0_bad});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nfaults, 1);
    assert_int_equal(d.nbroken, 1);
    assert_null(value_of(&d, "NCCL_IB_HCA"));
    assert_int_equal(d.nsettings, 0);
    assert_int_equal(d.nnodes_out, 1);
    assert_null(d.nodes_out[0]);
    assert_non_null(strstr(d.nodes_out[1], "n1 mlx5_0:1, or its cable: 10 of 10 tries failed"));
    assert_non_null(strstr(d.nodes_out[1], "leaving the node out costs 1 of 3 nodes (33.3 %), leaving its rail out on "
                                           "all nodes would cost every node 1 of 2 ports (50 %)"));
    char *text = printed(f, &d);
    assert_non_null(
        strstr(text, "  n1 mlx5_0:1, or its cable: 10 of 10 tries failed; the first: n1 mlx5_0:1: \"dark\""));
    assert_non_null(strstr(text, "\nLeave out n1: "));
    free(text);
    verbs_fabric_free(f);
}

static int rail_0_bad_on_two(struct verbs_try t)
{
    return (t.from.rail == 0 && t.from.node < 2) || (t.to.rail == 0 && t.to.node < 2);
}

/* Where that is less of the cluster, or only two nodes are there, the rail goes. */
TEST_CASE(a_rail)
{
    static const struct {
        struct world world;
        const char *hcas, *costs;
    } table[] = {
        {{.nodes = 3, .rails = 4, .bad = port_1_0_bad}, "=mlx5_1:1,mlx5_2:1,mlx5_3:1", "1 of 4 ports (25 %)"},
        {{.nodes = 2, .rails = 2, .bad = port_1_0_bad}, "=mlx5_1:1", "1 of 2 ports (50 %)"},
        {{.nodes = 5, .rails = 3, .bad = rail_0_bad_on_two}, "=mlx5_1:1,mlx5_2:1", "1 of 3 ports (33.3 %)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct verbs_fabric *f = make(&table[i].world);
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        assert_int_equal(d.nnodes_out, 0);
        assert_string_equal(value_of(&d, "NCCL_IB_HCA"), table[i].hcas);
        assert_non_null(strstr(d.left_out[0], table[i].costs));
        verbs_fabric_free(f);
    }
}

static int node_1_bad(struct verbs_try t)
{
    return t.from.node == 1 || t.to.node == 1;
}
static int rail_1_bad(struct verbs_try t)
{
    return t.from.node != t.to.node && t.from.rail == 1 && t.to.rail == 1;
}
static int one_pair_bad(struct verbs_try t)
{
    return t.from.rail == 0 && t.to.rail == 0 && t.from.node + t.to.node == 1;
}
static int crossing_pair_bad(struct verbs_try t)
{
    return t.from.rail != t.to.rail && t.from.node + t.to.node == 1 && t.from.rail == t.from.node;
}
static int pair_and_port_bad(struct verbs_try t)
{
    return one_pair_bad(t) || t.from.rail + 4 * t.from.node == 14 || t.to.rail + 4 * t.to.node == 14;
}

/* Who is left out by which fault, or nobody: of two nodes both stay, of one rail that; nobody for a pair of two rails.
 */
TEST_CASE(who_is_left_out)
{
    static const struct {
        struct world world;
        int node, rail; /* -1 none */
        const char *why;
    } rows[] = {
        {{.nodes = 4, .rails = 2, .bad = node_1_bad},
         1,
         -1,
         "node n1, all its ports: 26 of 26 tries failed; the first: n1 mlx5_0:1: \"dark\"; leaving the node out costs "
         "1 of 4 nodes (25 %), leaving its rail out on all nodes would cost every node 1 of 2 ports (50 %)"},
        {{.nodes = 2, .rails = 2, .bad = node_1_bad}, -1, -1, NULL},
        {{.nodes = 4, .rails = 4, .bad = rail_1_bad},
         -1,
         1,
         "without mlx5_1:1: rail 1 (mlx5_1:1), between nodes: 12 of 12 tries failed; the first: n1 mlx5_0:1: \"dark\"; "
         "that "
         "costs every node 1 of 4 ports (25 %)"},
        {{.nodes = 4, .rails = 2, .bad = one_pair_bad},
         0,
         -1,
         "between n0 mlx5_0:1 and n1 mlx5_0:1: 2 of 2 tries failed; the first: n1 mlx5_0:1: \"dark\"; leaving the node "
         "out costs 1 of 4 nodes (25 %), leaving its rail out on all nodes would cost every node 1 of 2 ports (50 %)"},
        {{.nodes = 2, .rails = 4, .bad = one_pair_bad},
         -1,
         0,
         "without mlx5_0:1: rail 0 (mlx5_0:1), between nodes: 2 of 2 tries failed; the first: n1 mlx5_0:1: "
         "\"dark\"; that "
         "costs every node 1 of 4 ports (25 %)"},
        {{.nodes = 4, .rails = 2, .bad = crossing_pair_bad}, -1, -1, NULL},
        {{.nodes = 2, .rails = 1, .slow_GBps = 1}, -1, -1, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct verbs_fabric *f = make(&rows[i].world);
        struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
        for (int node = 0; node < f->nodes; node++)
            if ((d.nodes_out[node] != NULL) != (node == rows[i].node))
                fail_msg("row %zu, node %d: %s", i, node, d.nodes_out[node] ? d.nodes_out[node] : "stays");
        for (int rail = 0; rail < f->rails; rail++)
            if ((d.left_out[rail] != NULL) != (rail == rows[i].rail))
                fail_msg("row %zu, rail %d: %s", i, rail, d.left_out[rail] ? d.left_out[rail] : "stays");
        assert_int_equal(d.nnodes_out, rows[i].node >= 0);
        if (rows[i].why)
            assert_string_equal(rows[i].node >= 0 ? d.nodes_out[rows[i].node] : d.left_out[rows[i].rail], rows[i].why);
        verbs_fabric_free(f);
    }
    struct verbs_fabric *f = make(&(struct world){.nodes = 8, .rails = 4, .bad = pair_and_port_bad});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_true(d.nnodes_out == 2 && d.nodes_out[0] && d.nodes_out[3]); /* one for each fault */
    assert_null(value_of(&d, "NCCL_IB_HCA"));
    verbs_fabric_free(f);
}

/* A port that nobody has tried is not called fine. */
TEST_CASE(untried)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2});
    int kept = 0, n;
    for (int i = 0; i < f->ntries; i++)
        if (f->tries[i].outcome.pair.from.rail == 0 && f->tries[i].outcome.pair.to.rail == 0)
            f->tries[kept++] = f->tries[i];
    f->ntries = kept;
    f->ports[5].name = NULL; /* its node has one port */
    assert_string_equal(verbs_untried(f, &n), "n0 mlx5_1:1, n1 mlx5_1:1");
    assert_int_equal(n, 2);
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    char *text = printed(f, &d);
    assert_non_null(strstr(text, "Not tried: n0 mlx5_1:1, n1 mlx5_1:1\n"));
    free(text);
    /* Who only received was tried, too. */
    f->tries[0].outcome.pair = (struct verbs_try){{0, 0}, {1, 1}};
    assert_string_equal(verbs_untried(f, &n), "n0 mlx5_1:1");
    d = verbs_decide(f, VERBS_NCCL_NEWEST);
    text = printed(f, &d);
    assert_non_null(strstr(text, "Not tried: n0 mlx5_1:1\n"));
    free(text);
    f->ntries = 0;
    d = verbs_decide(f, VERBS_NCCL_NEWEST);
    text = printed(f, &d);
    assert_null(strstr(text, "No faults"));
    free(text);
    verbs_fabric_free(f);
    for (int nodes = 16; nodes < 18; nodes++) { /* the first sixteen by name */
        f = make(&(struct world){.nodes = nodes, .rails = 1});
        f->ntries = 0;
        assert_int_equal(!strstr(verbs_untried(f, &n), "n15 mlx5_0:1"), 0);
        assert_int_equal(!strstr(verbs_untried(f, &n), "n16"), 1);
        assert_int_equal(!strstr(verbs_untried(f, &n), " and 1 more"), nodes == 16);
        assert_int_equal(n, nodes);
        verbs_fabric_free(f);
    }
}

TEST_CASE(slow_port)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 3, .slow_GBps = 6});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nfaults, 1);
    assert_string_equal(verbs_fault_text(f, &d.faults[0]),
                        "n0 mlx5_1:1, what it sends: 5 of 5 tries slow, median 6 GB/s, others 24 GB/s");
    assert_string_equal(value_of(&d, "NCCL_IB_HCA"), "=mlx5_0:1,mlx5_2:1");
    verbs_fabric_free(f);
}

TEST_CASE(separate_rails)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 3, .rails = 2, .bad = crossing_bad});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nfaults, 1);
    assert_int_equal(d.nbroken, 0);
    assert_string_equal(value_of(&d, "NCCL_CROSS_NIC"), "0");
    assert_null(value_of(&d, "NCCL_IB_HCA"));
    verbs_fabric_free(f);
}

TEST_CASE(nothing_works)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2, .bad = all_bad});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nsettings, 1);
    assert_string_equal(value_of(&d, "NCCL_IB_DISABLE"), "1");
    verbs_fabric_free(f);
}

TEST_CASE(gids)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2});
    for (int i = 0; i < 4; i++) {
        set_gid(&f->ports[i].gids, 3, "10.0.0.1", 2, 0);
        set_gid(&f->ports[i].gids, 2, "10.0.0.1", 1, 1);
    }
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nsettings, 1);
    assert_string_equal(value_of(&d, "NCCL_IB_ROCE_VERSION_NUM"), "1");
    verbs_fabric_free(f);
}

TEST_CASE(an_index_of_the_environment)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 1});
    for (int i = 0; i < 2; i++) {
        struct verbs_gid_table *t = &f->ports[i].gids;
        t->infiniband = 0;
        t->gids = arena_alloc(f->arena, 3 * sizeof *t->gids);
        t->count = 3;
        set_gid(t, 0, "fe80::1", 2, 0);
        set_gid(t, 1, "10.0.0.1", 2, 1);
        t->asked = "1";
    }
    assert_int_equal(verbs_decide(f, VERBS_NCCL_NEWEST).found.n, 0);
    f->ports[0].gids.asked = "0";
    f->ports[1].gids.asked = "5";
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.found.n, 2);
    assert_string_equal(d.found.list[0].id, "gid-index-wrong");
    assert_string_equal(finding_sentence(&d.found.list[0], f->arena),
                        "n0 mlx5_0:1: NCCL_IB_GID_INDEX=0 of the environment: nothing connects by fe80::1");
    assert_string_equal(finding_sentence(&d.found.list[1], f->arena),
                        "n1 mlx5_0:1: NCCL_IB_GID_INDEX=5 of the environment: the port has no such GID");
    f->ports[0].gids.gids[1].proven = 0; /* the port is at fault, not the index */
    assert_int_equal(verbs_decide(f, VERBS_NCCL_NEWEST).found.n, 1);
    verbs_fabric_free(f);
}

TEST_CASE(rates_and_mtus)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 2});
    f->ports[3].rate_Gbps = 100;
    f->ports[1].mtu_bytes = 1024;
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.found.n, 3);
    const struct finding *rate = &d.found.list[0], *mtu = &d.found.list[1], *small = &d.found.list[2];
    assert_string_equal(rate->id, "rate-below");
    assert_string_equal(finding_sentence(rate, f->arena), "n1 mlx5_1:1: a rate of 100 Gb/s, 3 others have 200");
    assert_string_equal(rate->advice, "check cable, transceiver and the setting of the switch port");
    assert_string_equal(finding_sentence(mtu, f->arena), "n0 mlx5_1:1: an RDMA MTU of 1024 bytes, 3 others have 4096");
    assert_non_null(strstr(small->text, "1 of 4 ports carry messages in packets of 1024 bytes where 4096"));
    assert_int_equal(d.nbroken, 0);
    char *text = printed(f, &d);
    assert_non_null(strstr(text, "\nFindings:\n  warning rate-below: n1 mlx5_1:1: a rate"));
    free(text);
    /* Without a majority nobody is out of line. */
    f->ports[2].rate_Gbps = 100;
    d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.found.n, 2);
    verbs_fabric_free(f);
}

/* One GPU of four is far below the same GPU of the other node, and one is not carried at all. */
TEST_CASE(gpus)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 2, .rails = 1});
    static struct verbs_fabric_gpu gpus[] = {{0, 0, 0, "", "dma-buf", NULL, 0.074, 0.4},
                                             {0, 0, 1, "", "dma-buf", NULL, 0.2, 0.2}, /* further off, on both */
                                             {0, 0, 2, "", NULL, "no peer memory", 0, 0},
                                             {1, 0, 0, "", "dma-buf", NULL, 0.41, 0.41},
                                             {1, 0, 1, "", "dma-buf", NULL, 0.2, 0.21},
                                             {1, 0, 2, "", "dma-buf", NULL, 0.4, 0.4}};
    f->gpus = gpus;
    f->ngpus = 6;
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.found.n, 3);
    assert_string_equal(d.found.list[0].id, "gpu-memory-slow");
    assert_string_equal(finding_sentence(&d.found.list[0], f->arena),
                        "n0 mlx5_0:1, GPU 0: 0.074 GB/s from its memory, others have 0.41");
    assert_non_null(strstr(finding_sentence(&d.found.list[1], f->arena), "GPU 2: 0 GB/s from its memory, others have "
                                                                         "0.4: no peer memory"));
    verbs_fabric_free(f);
    f = make(&(struct world){.nodes = 1, .rails = 2});
    static struct verbs_fabric_gpu one[] = {{0, 0, 0, "", "dma-buf", NULL, 0.4, 0.4},
                                            {0, 0, 1, "", "dma-buf", NULL, 0.15, 0.15}, /* across sockets */
                                            {0, 1, 0, "", "dma-buf", NULL, 0.4, 0.4},
                                            {0, 1, 1, "", "dma-buf", NULL, 0.4, 0.04}};
    f->gpus = one;
    f->ngpus = 4;
    d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.found.n, 1);
    assert_non_null(
        strstr(finding_sentence(&d.found.list[0], f->arena), "n0 mlx5_1:1, GPU 1: 0.04 GB/s into its memory"));
    verbs_fabric_free(f);
}

/* Normal, from the sum of twelve (M. E. Muller 1959), reproducible. */
static double normal(unsigned *seed)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)rand_r(seed) / RAND_MAX;
    return sum;
}

/* Spreads of about 5 %, a factor of 1.6 from one to another as on a busy machine; those of one port `times` as large.
 */
static int unsteady(int nodes, int rails, int port, double times, unsigned seed, const char **text)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = nodes, .rails = rails});
    for (int i = 0; i < f->ntries; i++) {
        const struct verbs_try *t = &f->tries[i].outcome.pair;
        int mine = verbs_port_index(f, t->from) == port || verbs_port_index(f, t->to) == port;
        f->tries[i].spread = 0.05 * exp(0.47 * normal(&seed)) * (mine ? times : 1);
    }
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    int named = d.found.n;
    *text = named ? strdup(finding_sentence(&d.found.list[0], f->arena)) : strdup("");
    verbs_fabric_free(f);
    return named;
}

/* Of 400 healthy fabrics none is accused; a port with ten times the spread is named, and nothing else. */
TEST_CASE(loss_shows_as_variance)
{
    const char *text;
    int alarms = 0, found = 0;
    for (unsigned seed = 1; seed <= 400; seed++) {
        alarms += unsteady(4, 2, -1, 1, seed, &text);
        free((char *)text);
    }
    for (unsigned seed = 1; seed <= 50; seed++) {
        found += unsteady(4, 2, 3, 10, seed, &text) == 1 && strstr(text, "n1 mlx5_1:1: its bandwidth varies by ");
        free((char *)text);
    }
    assert_int_equal(alarms, 0);
    assert_true(found >= 48);
    assert_int_equal(unsteady(2, 1, 0, 10, 1, &text), 0); /* two tries tell nothing */
    free((char *)text);
}

TEST_CASE(interfaces)
{
    struct verbs_fabric *f = verbs_fabric_new(3, 0);
    add_interface(f, "eth0", 2);
    add_interface(f, "docker0", 0);
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_int_equal(d.nsettings, 0);
    char *text = printed(f, &d);
    assert_non_null(strstr(text, "There is no RDMA port."));
    assert_non_null(strstr(text, "Network interfaces: 3 of 6 reach every node that was tried\n"));
    assert_non_null(strstr(text, "  ? docker0 (10.0.0.1): 0 of 2 nodes answer\n"));
    free(text);
    verbs_fabric_free(f);
}

/* Too many ports for a map of pairs. */
TEST_CASE(many_ports)
{
    struct verbs_fabric *f = make(&(struct world){.nodes = 32, .rails = 8, .bad = port_1_0_bad, .slow_GBps = 3});
    struct verbs_decision d = verbs_decide(f, VERBS_NCCL_NEWEST);
    assert_null(value_of(&d, "NCCL_IB_HCA")); /* 2 of 32 nodes are less than 2 of 8 ports of all */
    assert_int_equal(d.nnodes_out, 2);
    assert_non_null(d.nodes_out[0]);
    assert_non_null(d.nodes_out[1]);
    char *text = printed(f, &d);
    assert_non_null(strstr(text, "\n              n0      24        3!      24 "));
    assert_non_null(strstr(text, "\n              n1       0!      24 "));
    free(text);
    verbs_fabric_free(f);
}

TEST_CASES(test_decide)
