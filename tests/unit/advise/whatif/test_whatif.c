/* Variations of bundled machines: that they go the way they must, and what is refused. */
#include "advise/whatif/whatif.h"
#include "core/coll.h"
#include "probe/machines/machines.h"
#include "tests/lib/unit.h"

#define LARGE ((uint64_t)1 << 30)

struct fixture {
    struct topology *topology;
    struct whatif *whatif;
};

static struct fixture begin(const char *machine, int nodes, int coll)
{
    struct err e = {0};
    struct fixture f = {.topology = machine_topology(machine, nodes, &e)};
    assert_non_null(f.topology);
    struct model_setup base = {.nccl = {.topology = f.topology}};
    f.whatif = whatif_new(machine, coll, &base, &e);
    assert_non_null(f.whatif);
    assert_int_equal(f.whatif->cases[0].setup.nccl.nodes, nodes);
    return f;
}

static void end(struct fixture *f)
{
    whatif_free(f->whatif);
    topo_free(f->topology);
}

/* Predicted busbw of a case at 1 GiB, default; and whether tuning is not slower anywhere. */
static double busbw(const struct whatif *w, int index)
{
    const struct whatif_case *c = &w->cases[index];
    double found = 0;
    assert_null(c->problem);
    for (int i = 0; i < w->nsizes; i++) {
        assert_true(c->cells[i].tuned.us <= c->cells[i].untouched.us);
        if (w->sizes[i] == LARGE)
            found = whatif_busbw(w, c, LARGE, c->cells[i].untouched.us);
    }
    return found;
}

TEST_CASE(variations_go_the_way_they_must)
{
    struct err e = {0};
    struct fixture f = begin("azure-ndv4", 8, COLL_ALLREDUCE);
    struct whatif *w = f.whatif;
    const struct topo_port *port = &f.topology->classes[0].ports[0];
    assert_int_equal(whatif_add_hcas(w, port->hca, &e), 0);
    assert_int_equal(whatif_add_dead(w, port->hca, &e), 0);
    assert_int_equal(whatif_add_half_width(w, port->hca, &e), 0);
    assert_int_equal(whatif_add_sockets(w, &e), 0);
    assert_int_equal(whatif_add_nodes(w, 512, &e), 0);
    assert_int_equal(whatif_predict(w, &e), 0);
    double base = busbw(w, 0), one = busbw(w, 1), dead = busbw(w, 2), half = busbw(w, 3), sockets = busbw(w, 4);
    assert_true(one < base / 4);
    assert_true(dead < base && dead > one);
    assert_true(half < base);
    assert_true(sockets < one);
    assert_int_equal(w->cases[2].setup.nccl.nhcas, f.topology->classes[0].nports - 1);
    assert_int_equal(w->cases[5].model->nccl->ranks, 4096);
    /* The machine itself is as it was. */
    assert_int_equal(w->cases[3].setup.nccl.topology->classes[0].objects[port->object].link_width * 2,
                     f.topology->classes[0].objects[port->object].link_width);
    end(&f);
}

/* What people's own variables cost: half the HCAs half the bandwidth, an unknown name sockets. */
TEST_CASE(variables_of_jobs)
{
    struct err e = {0};
    struct fixture f = begin("azure-ndv4", 2, COLL_ALLREDUCE);
    struct whatif *w = f.whatif;
    static const char *const texts[] = {"NCCL_IB_HCA=mlx5_ib0", "NCCL_IB_HCA=mlx5_ib0,mlx5_ib1",
                                        "NCCL_IB_HCA=mlx5_ib0,mlx5_ib1,mlx5_ib2,mlx5_ib3\n", "NCCL_IB_HCA=nosuch",
                                        "NCCL_ALGO=Tree NCCL_IB_TIMEOUT=20"};
    for (int i = 0; i < 5; i++)
        assert_int_equal(whatif_add_settings(w, texts[i], &e), 0);
    assert_int_equal(whatif_predict(w, &e), 0);
    for (int i = 1; i <= 3; i++) {
        double part = busbw(w, i) / busbw(w, 0), wanted = (1 << (i - 1)) / 8.0;
        assert_true(part > 0.9 * wanted && part < 1.1 * wanted);
    }
    assert_true(busbw(w, 4) < 0.1 * busbw(w, 0));
    for (int k = 0; k < w->nsizes; k++)
        assert_int_equal(w->cases[5].cells[k].untouched.algo, ALGO_TREE);
    assert_non_null(strstr(w->cases[5].what, "silent on NCCL_IB_TIMEOUT"));
    assert_int_equal(whatif_add_settings(w, "NCCL_ALGO", &e), ERR_USAGE);
    end(&f);
}

/* GPUDirect and peer-to-peer switched off, on one node as well: NVLink is not used then. */
TEST_CASE(copies_through_host_memory)
{
    struct err e = {0};
    struct fixture f = begin("dgx-a100", 1, COLL_ALLGATHER), g = begin("dgx-h100", 2, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_settings(f.whatif, "NCCL_P2P_DISABLE=1", &e), 0);
    assert_int_equal(whatif_predict(f.whatif, &e), 0);
    assert_true(busbw(f.whatif, 1) < busbw(f.whatif, 0) / 5);
    assert_int_equal(whatif_add_settings(g.whatif, "NCCL_NET_GDR_LEVEL=LOC", &e), 0);
    assert_int_equal(whatif_add_settings(g.whatif, "NCCL_NET_GDR_LEVEL=SYS NCCL_P2P_LEVEL=NVL", &e), 0);
    assert_int_equal(whatif_predict(g.whatif, &e), 0);
    assert_true(busbw(g.whatif, 1) < busbw(g.whatif, 0) / 1.5);
    assert_true(busbw(g.whatif, 2) > busbw(g.whatif, 0) * 0.99);
    end(&f);
    end(&g);
}

/* A process for every GPU launches sooner than one for all of them, a graph at no cost of its own; bytes are as fast.
 */
TEST_CASE(who_launches)
{
    struct err e = {0};
    double small_us[MODEL_LAUNCHERS], large_us[MODEL_LAUNCHERS];
    for (int i = MODEL_LAUNCH_PROCESS; i <= MODEL_LAUNCH_GRAPH; i++) {
        struct topology *t = machine_topology("dgx-a100", 1, &e);
        struct model_setup base = {.nccl = {.topology = t}, .launcher = (enum model_launcher)i};
        struct whatif *w = whatif_new("dgx-a100", COLL_ALLREDUCE, &base, &e);
        assert_int_equal(whatif_predict(w, &e), 0);
        small_us[i] = w->cases[0].cells[0].untouched.us;
        large_us[i] = w->cases[0].cells[w->nsizes - 1].untouched.us;
        whatif_free(w);
        topo_free(t);
    }
    assert_true(small_us[MODEL_LAUNCH_PROCESS] < small_us[MODEL_LAUNCH_NODE]);
    assert_true(small_us[MODEL_LAUNCH_GRAPH] <= small_us[MODEL_LAUNCH_PROCESS]);
    assert_true(large_us[MODEL_LAUNCH_GRAPH] > 0.99 * large_us[MODEL_LAUNCH_NODE]);
}

/* A tuner table decides where a rule fits that NCCL can follow; where it names what is not offered, NCCL does. */
TEST_CASE(the_table_of_a_profile)
{
    static const char csv[] = "allreduce,0,1048576,nvls,simple,-1,2,16\nallreduce,0,1048576,ring,ll,2,2,16\n"
                              "allreduce,2097152,4194304,tree,simple,-1,3,24\n";
    struct err e = {0};
    struct tuner_table table;
    struct fixture f = begin("azure-ndv4", 2, COLL_ALLREDUCE);
    assert_int_equal(tuner_table_parse(&table, csv, sizeof csv - 1, NULL, NULL), 0);
    assert_int_equal(whatif_add_job(f.whatif, "profile", NULL, 0, &table), 0);
    assert_int_equal(whatif_predict(f.whatif, &e), 0);
    for (int i = 0; i < f.whatif->nsizes; i++) {
        const struct model_time *now = &f.whatif->cases[1].cells[i].untouched;
        const struct model_time *base = &f.whatif->cases[0].cells[i].untouched;
        if (f.whatif->sizes[i] > 1048576)
            assert_true(now->us == base->us);
        else
            assert_true(now->algo == ALGO_RING && now->proto == PROTO_LL && now->channels == 2);
    }
    assert_non_null(strstr(f.whatif->cases[1].what, "tuner table"));
    tuner_table_free(&table);
    end(&f);
}

TEST_CASE(oversubscription_is_felt_by_alltoall)
{
    struct err e = {0};
    struct fixture f = begin("dgx-h100", 128, COLL_ALLTOALL);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 4, &e), 0);
    assert_int_equal(whatif_add_mixed_rails(f.whatif, &e), 0);
    assert_int_equal(whatif_predict(f.whatif, &e), 0);
    assert_true(busbw(f.whatif, 1) < busbw(f.whatif, 0));
    assert_true(busbw(f.whatif, 2) <= busbw(f.whatif, 0));
    end(&f);
}

/* Every kind of machine has variations that can all be predicted; one node alone has no network to vary. */
TEST_CASE(the_usual_ones)
{
    static const char *const machines[] = {"dgx-a100", "aws-p5", "oci-h100", "4xl40s-pcie", "gb200-nvl72"};
    struct err e = {0};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        struct fixture f = begin(machines[i], 32, COLL_ALLREDUCE); /* more than a rack */
        if (whatif_add_usual(f.whatif, &e) || whatif_predict(f.whatif, &e))
            fail_msg("%s: %s", machines[i], e.text);
        assert_true(f.whatif->ncases > 5);
        for (int k = 0; k < f.whatif->ncases; k++)
            assert_true(busbw(f.whatif, k) > 0);
        end(&f);
    }
    struct fixture f = begin("dgx-h100", 1, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_usual(f.whatif, &e), 0);
    assert_int_equal(f.whatif->ncases, 3);
    assert_string_equal(f.whatif->cases[1].label, "4 nodes");
    end(&f);
}

static int has_case(const struct whatif *w, const char *label)
{
    for (int i = 0; i < w->ncases; i++)
        if (!strcmp(w->cases[i].label, label))
            return 1;
    return 0;
}

/* HCAs that are slower than the others are no rails; numbers of nodes end where the model does. */
TEST_CASE(the_usual_ones_are_sensible)
{
    struct err e = {0};
    struct fixture f = begin("azure-ndv4", 8, COLL_ALLREDUCE);
    f.topology->classes[0].ports[7].rate_Gbps = 100;
    assert_int_equal(whatif_add_usual(f.whatif, &e), 0);
    assert_true(has_case(f.whatif, "3 of 7 HCAs"));
    end(&f);
    f = begin("azure-ndv4", 1000, COLL_ALLREDUCE);
    f.whatif->cases[0].setup.nccl.nodes = 250000;
    assert_int_equal(whatif_add_usual(f.whatif, &e), 0);
    assert_true(has_case(f.whatif, "1000000 nodes"));
    assert_false(has_case(f.whatif, "4000000 nodes"));
    end(&f);
}

/* Half of the HCAs only where half of them are more than one. */
TEST_CASE(usual_lists)
{
    static const char *const hcas[] = {"mlx5_ib0", "mlx5_ib1", "mlx5_ib2", "mlx5_ib3"};
    for (int n = 1; n <= 4; n++) {
        struct err e = {0};
        struct fixture f = begin("azure-ndv4", 2, COLL_ALLREDUCE);
        f.whatif->cases[0].setup.nccl.hcas = hcas;
        f.whatif->cases[0].setup.nccl.nhcas = n;
        assert_int_equal(whatif_add_usual(f.whatif, &e), 0);
        assert_int_equal(has_case(f.whatif, "only mlx5_ib0"), n > 1);
        assert_int_equal(has_case(f.whatif, "1 of 3 HCAs"), 0);
        assert_int_equal(has_case(f.whatif, "2 of 4 HCAs"), n == 4);
        assert_int_equal(has_case(f.whatif, n == 4 ? "without mlx5_ib2" : "without mlx5_ib1"), n > 1);
        assert_int_equal(has_case(f.whatif, "mixed rails"), n > 1);
        assert_int_equal(has_case(f.whatif, "mlx5_ib0 at half width"), 1);
        assert_int_equal(has_case(f.whatif, "sockets"), 1);
        end(&f);
    }
}

/* Half of one lane is said without a number; where nobody knows how an HCA is connected nothing can be halved. */
TEST_CASE(half_of_what)
{
    struct err e = {0};
    struct fixture f = begin("4xl40s-pcie", 2, COLL_ALLREDUCE);
    struct topo_class *c = &f.topology->classes[0];
    struct topo_object *nic = &c->objects[c->ports[0].object];
    nic->link_width = 2;
    assert_int_equal(whatif_add_half_width(f.whatif, "mlx5_0", &e), 0);
    assert_string_equal(f.whatif->cases[1].what, "its PCIe link has 1 lanes instead of 2, on every node");
    nic->link_width = 1;
    assert_int_equal(whatif_add_half_width(f.whatif, "mlx5_0:1", &e), 0);
    assert_string_equal(f.whatif->cases[2].what, "its PCIe link has half its lanes, on every node");
    assert_string_equal(f.whatif->cases[2].label, "mlx5_0:1 at half width");
    nic->link_GBps = 0;
    assert_int_equal(whatif_add_half_width(f.whatif, "mlx5_0", &e), ERR_FAILED);
    assert_string_equal(e.text, "the topology does not tell how mlx5_0 is connected");
    c->ports[0].object = -1;
    assert_int_equal(whatif_add_half_width(f.whatif, "mlx5_0", &e), ERR_FAILED);
    end(&f);
}

/* What jobs have, in words. */
TEST_CASE(settings_in_words)
{
    static const struct bench_setting s[] = {
        {"NCCL_ALGO", "Ring"}, {"NCCL_X", "1"}, {"NCCL_PROTO", "LL"}, {"NCCL_Y", "2"}};
    static const struct {
        int from, n, with_table;
        const char *what;
    } cases[] = {
        {0, 1, 0, "jobs have NCCL_ALGO=Ring"},
        {0, 4, 0, "jobs have NCCL_ALGO=Ring NCCL_PROTO=LL; the model is silent on NCCL_X, NCCL_Y"},
        {1, 1, 0, "jobs have nothing that the model knows of; the model is silent on NCCL_X"},
        {0, 0, 0, "jobs have nothing that the model knows of"},
        {0, 0, 1, "jobs have its tuner table"},
        {1, 2, 1, "jobs have its tuner table and NCCL_PROTO=LL; the model is silent on NCCL_X"},
    };
    struct tuner_table table = {0};
    struct fixture f = begin("dgx-h100", 2, COLL_ALLREDUCE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        whatif_add_job(f.whatif, "job", s + cases[i].from, cases[i].n, cases[i].with_table ? &table : NULL);
        assert_string_equal(f.whatif->cases[i + 1].what, cases[i].what);
    }
    end(&f);
}

TEST_CASE(the_last_hca)
{
    struct err e = {0};
    struct fixture f = begin("4xl40s-pcie", 2, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_dead(f.whatif, "mlx5_0", &e), 0);
    assert_int_equal(f.whatif->cases[1].setup.nccl.sockets, 1);
    assert_int_equal(f.whatif->cases[1].setup.nccl.nhcas, 0);
    assert_non_null(strstr(f.whatif->cases[1].what, "falls back to TCP"));
    end(&f);
    static const char *const only[] = {"mlx5_ib0"};
    f = begin("azure-ndv4", 2, COLL_ALLREDUCE);
    f.whatif->cases[0].setup.nccl.hcas = only;
    f.whatif->cases[0].setup.nccl.nhcas = 1;
    assert_int_equal(whatif_add_dead(f.whatif, "mlx5_ib1", &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "does not use mlx5_ib1"));
    end(&f);
}

/* 32 ports of a leaf hold 32 nodes of a rail or 4 nodes with 8 HCAs; two leaves share what one could hold. */
TEST_CASE(leaves)
{
    struct err e = {0};
    struct fixture f = begin("azure-ndv5", 128, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_mixed_rails(f.whatif, &e), 0);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 2, &e), 0);
    assert_int_equal(f.whatif->cases[1].setup.switches.mixed_rails, 1);
    assert_int_equal(f.whatif->cases[1].setup.switches.nodes_per_leaf, 4);
    assert_int_equal(f.whatif->cases[2].setup.switches.nodes_per_leaf, 32);
    end(&f);
    f = begin("azure-ndv5", 9, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 2, &e), 0);
    assert_int_equal(f.whatif->cases[1].setup.switches.nodes_per_leaf, 5);
    f.whatif->cases[0].setup.switches.nodes_per_leaf = 16; /* as somebody said */
    assert_int_equal(whatif_add_oversubscription(f.whatif, 2, &e), 0);
    assert_int_equal(f.whatif->cases[2].setup.switches.nodes_per_leaf, 16);
    assert_non_null(strstr(f.whatif->cases[2].what, "all nodes are on one leaf"));
    end(&f);
}

TEST_CASE(what_is_refused)
{
    struct err e = {0};
    struct fixture f = begin("dgx-h100", 4, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_hcas(f.whatif, "mlx5_0,nosuch", &e), ERR_USAGE);
    assert_non_null(strstr(e.text, "no RDMA port 'nosuch'"));
    assert_int_equal(whatif_add_hcas(f.whatif, "", &e), ERR_USAGE);
    assert_int_equal(whatif_add_dead(f.whatif, "mlx5_", &e), ERR_USAGE);
    assert_int_equal(whatif_add_half_width(f.whatif, "mlx5_0:9", &e), ERR_USAGE);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 0.5, &e), ERR_USAGE);
    assert_int_equal(whatif_add_nodes(f.whatif, 0, &e), ERR_USAGE);
    assert_string_equal(e.text, "--more-nodes: expected numbers from 1 up");
    assert_int_equal(whatif_add_oversubscription(f.whatif, 1000.5, &e), ERR_USAGE);
    assert_string_equal(e.text, "--oversubscription: expected how many times more enters a leaf than leaves it");
    assert_int_equal(whatif_add_settings(f.whatif, "=1", &e), ERR_USAGE);
    assert_string_equal(e.text, "'=1' is no NAME=VALUE");
    assert_int_equal(whatif_add_dead(f.whatif, "mlx5_99", &e), ERR_USAGE);
    assert_string_equal(e.text, "dgx-h100 has no RDMA port 'mlx5_99'; its first one is mlx5_0");
    assert_int_equal(f.whatif->ncases, 1);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 1, &e), 0);
    assert_int_equal(whatif_add_oversubscription(f.whatif, 1000, &e), 0);
    assert_int_equal(whatif_add_nodes(f.whatif, 1, &e), 0);
    assert_string_equal(f.whatif->cases[3].label, "1 node");
    f.topology->classes[0].nports = 0;
    assert_int_equal(whatif_add_hcas(f.whatif, "mlx5_0", &e), ERR_USAGE);
    assert_string_equal(e.text, "dgx-h100 has no RDMA port 'mlx5_0'");
    end(&f);
    whatif_free(NULL);

    struct topo_class bare = {.name = "bare"};
    struct topology t = {.classes = &bare, .nclasses = 1};
    struct model_setup base = {.nccl = {.topology = &t}};
    assert_null(whatif_new("a laptop", COLL_ALLREDUCE, &base, &e));
    assert_non_null(strstr(e.text, "a laptop: no node has a GPU"));
}

/* A variation that cannot be predicted says so; of the machine itself it is an error. */
TEST_CASE(too_many_nodes)
{
    struct err e = {0};
    struct fixture f = begin("dgx-h100", 4, COLL_ALLREDUCE);
    assert_int_equal(whatif_add_nodes(f.whatif, 2000000000, &e), 0);
    assert_int_equal(whatif_predict(f.whatif, &e), 0);
    assert_non_null(f.whatif->cases[1].problem);
    end(&f);
    f = begin("dgx-h100", 4, COLL_ALLREDUCE);
    f.whatif->cases[0].setup.nccl.nodes = 2000000000;
    assert_int_equal(whatif_predict(f.whatif, &e), ERR_FAILED);
    end(&f);
}

TEST_CASES(test_whatif)
