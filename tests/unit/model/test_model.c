/* model/model.c: what differs on real machines differs in the prediction, and no topology makes it fall over.
 */
#include "tests/unit/model/model_bed.h"

/* ---- contrasts ------------------------------------------------------------------------------------------------- */

/* Published for the same two nodes: 187 and 3.2 GB/s. */
TEST_CASE(sockets_against_infiniband)
{
    struct bed b;
    double GBps[2];
    for (int sockets = 0; sockets < 2; sockets++) {
        make_up(&b, "azure-ndv4", 2);
        b.s.nccl.sockets = sockets;
        prepare(&b);
        GBps[sockets] = busbw(&b, COLL_ALLREDUCE, 8 * GiB);
        clear(&b);
    }
    assert_true(GBps[0] > 160 && GBps[0] < 215);
    assert_true(GBps[1] > 2.2 && GBps[1] < 4.5);
}

/* Groups alone and on all GPUs of their nodes at once. A DGX A100 has a NIC for every GPU, two at a switch: until
 * NCCL 2.29 GPUs of a switch begin with different ones, from 2.30 on with the same where they are in different
 * communicators (ncclTopoGetLocalNet in src/graph/topo.cc counts the GPUs of its own). A p4d has one NIC for two GPUs.
 */
TEST_CASE(groups_at_once)
{
    static const struct {
        const char *machine;
        int version, nodes, per_node;
        double low, high; /* time beside the others over time alone, at 256 MiB */
    } cases[] = {{"dgx-h100", 23000, 2, 1, 0.99, 1.01}, {"dgx-a100", 22809, 2, 1, 0.99, 1.01},
                 {"dgx-a100", 23000, 2, 1, 1.9, 2.1},   {"aws-p4d", 22809, 2, 1, 1.9, 2.1},
                 {"dgx-h100", 22809, 1, 4, 0.99, 1.01}, {"dgx-h100", 22809, 2, 4, 0.99, 1.01}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double us[2];
        for (int all = 0; all < 2; all++) {
            struct bed b;
            make_up(&b, cases[i].machine, cases[i].nodes);
            b.s.nccl.version = cases[i].version;
            b.s.nccl.ranks_per_node = cases[i].per_node;
            b.s.others = -all;
            prepare(&b);
            struct model_time t = predict(&b, COLL_ALLREDUCE, 256 * MiB);
            us[all] = t.us;
            assert_int_equal(t.unvalidated, all);
            clear(&b);
        }
        assert_true(us[1] / us[0] >= cases[i].low && us[1] / us[0] <= cases[i].high);
    }
}

/* What each rank sends to the next takes one way within a node, and between nodes what the slowest of them takes. */
TEST_CASE(shift)
{
    double us[2];
    for (int nodes = 1; nodes <= 2; nodes++) {
        struct bed b;
        make_up(&b, "dgx-h100", nodes);
        prepare(&b);
        struct model_time t = predict(&b, COLL_SENDRECV, 256 * MiB);
        us[nodes - 1] = t.us;
        assert_true(t.algo < 0 && t.unvalidated);
        assert_non_null(strstr(t.limit, nodes == 1 ? "NVLink" : "NIC"));
        clear(&b);
    }
    assert_true(us[0] > 256 * MiB / 450e3 && us[0] < 256 * MiB / 250e3); /* 450 GB/s a GPU, */
    assert_true(us[1] > 256 * MiB / 50e3 && us[1] < 256 * MiB / 40e3);   /* 50 a NIC */
}

TEST_CASE(one_of_eight_hcas)
{
    struct bed all, one;
    make_up(&all, "azure-ndv4", 2);
    prepare(&all);
    make_up(&one, "azure-ndv4", 2);
    const char *hcas[] = {all.t->classes[0].ports[3].hca};
    one.s.nccl.hcas = hcas;
    one.s.nccl.nhcas = 1;
    prepare(&one);
    double ratio = busbw(&all, COLL_ALLREDUCE, GiB) / busbw(&one, COLL_ALLREDUCE, GiB);
    assert_true(ratio > 6 && ratio < 16);
    assert_non_null(strstr(predict(&one, COLL_ALLREDUCE, GiB).limit, hcas[0]));
    double small = predict(&all, COLL_ALLREDUCE, 8).us / predict(&one, COLL_ALLREDUCE, 8).us;
    assert_true(small > 0.5 && small < 1.5);
    clear(&all);
    clear(&one);
}

/* As where something was measured: without the second opinion of NCCL's latencies. */
static const struct model_factors by_itself = {.time = {1, 1, 1, 1, 1}};

/* One GPU a node: the HCA at its switch against one on another NUMA node, which no peer can lead to. */
TEST_CASE(nic_on_the_other_socket)
{
    struct bed near, far;
    make_up(&near, "azure-ndv4", 2);
    make_up(&far, "azure-ndv4", 2);
    const struct topo_class *c = &near.t->classes[0];
    int own = c->objects[c->gpus[0].object].numa;
    const char *beside[1] = {NULL}, *away[1] = {NULL};
    for (int i = 0; i < c->nports; i++)
        *(c->objects[c->ports[i].object].numa == own ? beside : away) = c->ports[i].hca;
    near.s.nccl.hcas = beside;
    far.s.nccl.hcas = away;
    near.s.nccl.nhcas = far.s.nccl.nhcas = 1;
    near.s.nccl.ranks_per_node = far.s.nccl.ranks_per_node = 1;
    near.s.factors = far.s.factors = &by_itself;
    prepare(&near);
    prepare(&far);
    assert_true(predict(&far, COLL_ALLREDUCE, 8).us > predict(&near, COLL_ALLREDUCE, 8).us + 10);
    assert_true(busbw(&far, COLL_ALLREDUCE, GiB) < 0.8 * busbw(&near, COLL_ALLREDUCE, GiB));
    assert_string_equal(predict(&far, COLL_ALLREDUCE, GiB).limit, "the link between sockets");
    clear(&near);
    clear(&far);
}

/* Half the lanes of one GPU's and NIC's switch are half the network for what goes through it. */
TEST_CASE(half_a_pcie_link)
{
    struct bed whole, half;
    make_up(&whole, "dgx-h100", 4);
    make_up(&half, "dgx-h100", 4);
    struct topo_class *c = &half.t->classes[0];
    struct topo_object *nic = &c->objects[c->ports[0].object];
    nic->link_width /= 2;
    nic->link_GBps /= 2;
    prepare(&whole);
    prepare(&half);
    assert_true(busbw(&half, COLL_ALLTOALL, GiB) < 0.7 * busbw(&whole, COLL_ALLTOALL, GiB));
    assert_non_null(strstr(predict(&half, COLL_ALLTOALL, GiB).limit, "PCIe of"));
    clear(&whole);
    clear(&half);
}

/* What the hot rank receives decides: over a NIC for each GPU three blocks of 18 from each, where an even one has 16.
 */
TEST_CASE(a_hot_rank_costs_what_it_receives)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    prepare(&b);
    double even = predict(&b, COLL_ALLTOALL, GiB).us, uneven = predict(&b, COLL_ALLTOALLV, GiB).us;
    assert_true(uneven > 2.4 * even && uneven < 2.7 * even);
    assert_non_null(strstr(predict(&b, COLL_ALLTOALLV, GiB).limit, "NIC"));
    clear(&b);
}

/* Oversubscription costs all-to-all, which crosses leaves, and hardly rings, which cross once a leaf. */
TEST_CASE(thin_uplinks)
{
    struct bed b;
    double alltoall[2], ring[2];
    for (int thin = 0; thin < 2; thin++) {
        make_up(&b, "dgx-h100", 64);
        b.s.switches = (struct model_switches){16, thin ? 4 : 1, 1};
        prepare(&b);
        struct model_call c = {COLL_ALLREDUCE, GiB, ALGO_RING, PROTO_SIMPLE, 0};
        struct model_time t;
        assert_int_equal(model_predict(b.m, &c, &t), 0);
        ring[thin] = t.us;
        alltoall[thin] = predict(&b, COLL_ALLTOALL, GiB).us;
        if (thin)
            assert_string_equal(predict(&b, COLL_ALLTOALL, GiB).limit, "leaf uplinks");
        clear(&b);
    }
    assert_true(alltoall[1] > 2 * alltoall[0]);
    assert_true(ring[1] < 1.1 * ring[0]);
}

/* ---- shapes of the answer -------------------------------------------------------------------------------------- */

/* Spine switches and further peers make small calls wait. */
TEST_CASE(waiting)
{
    struct bed one, spine, few;
    make_up(&one, "dgx-h100", 64);
    make_up(&spine, "dgx-h100", 64);
    make_up(&few, "dgx-h100", 16);
    spine.s.switches = (struct model_switches){16, 1, 0};
    one.s.factors = spine.s.factors = few.s.factors = &by_itself;
    prepare(&one);
    prepare(&spine);
    prepare(&few);
    double hops = predict(&spine, COLL_ALLREDUCE, 8).us - predict(&one, COLL_ALLREDUCE, 8).us;
    assert_true(hops >= 2 * 6 * model_common.leaf_us); /* up and down a tree of 64 */
    double peers = predict(&one, COLL_ALLTOALL, 8).us - predict(&few, COLL_ALLTOALL, 8).us;
    assert_true(fabs(peers - (64 - 16) * 8 * model_common.peer_us) < 1);
    clear(&one);
    clear(&spine);
    clear(&few);
}

/* Nobody says who launched: the time is between theirs, and its interval is wider and holds the slowest. */
TEST_CASE(an_unknown_launcher)
{
    struct model_time t[MODEL_LAUNCHERS];
    for (int l = 0; l < MODEL_LAUNCHERS; l++) {
        struct bed b;
        make_up(&b, "dgx-a100", 1);
        b.s.launcher = (enum model_launcher)l;
        prepare(&b);
        t[l] = predict(&b, COLL_ALLREDUCE, 8);
        clear(&b);
    }
    const struct model_time *any = &t[MODEL_LAUNCH_UNKNOWN];
    assert_true(any->us > t[MODEL_LAUNCH_GRAPH].us && any->us < t[MODEL_LAUNCH_NODE].us);
    assert_true(any->high_us > t[MODEL_LAUNCH_NODE].us);
    assert_true(any->high_us / any->us > t[MODEL_LAUNCH_PROCESS].high_us / t[MODEL_LAUNCH_PROCESS].us);
}

/* Of GPUs or a network without published results an interval is wider, and the answer says that it was not validated.
 */
TEST_CASE(without_results)
{
    static const struct {
        const char *machine;
        int nodes, unvalidated;
    } cases[] = {{"aws-p5", 2, 0}, {"aws-p6-b200", 2, 1}, {"aws-p6-b200", 1, 0}, {"mi300x", 1, 0},
                 {"mi355x", 1, 1}, {"dgx-spark", 2, 1},   {"8xrtxpro6000", 1, 1}};
    double wide[7];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed b;
        make_up(&b, cases[i].machine, cases[i].nodes);
        prepare(&b);
        const struct model_time t = predict(&b, COLL_ALLREDUCE, GiB);
        assert_int_equal(t.unvalidated, cases[i].unvalidated);
        assert_int_equal(b.m->nassumptions > 0, cases[i].unvalidated);
        wide[i] = t.high_us / t.us;
        clear(&b);
    }
    assert_true(wide[1] > 1.1 * wide[0] && wide[4] > 1.1 * wide[3]);
}

/* No call gets more channels than there are. */
TEST_CASE(channels)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    prepare(&b);
    struct model_call c = {COLL_ALLREDUCE, GiB, ALGO_RING, PROTO_SIMPLE, 3};
    struct model_time t;
    assert_int_equal(model_predict(b.m, &c, &t), 0);
    assert_int_equal(t.channels, 3);
    c.channels = 1000;
    assert_int_equal(model_predict(b.m, &c, &t), 0);
    assert_int_equal(t.channels, b.m->nccl->nchannels);
    c.algo = ALGO_NVLS_TREE;
    assert_int_equal(model_predict(b.m, &c, &t), 0);
    assert_int_equal(t.channels, b.m->nccl->nvls_channels);
    clear(&b);
}

/* More bytes and more nodes never take less; no protocol carries more than Simple. */
TEST_CASE(order_of_things)
{
    struct bed few, many;
    make_up(&few, "dgx-h100", 2);
    make_up(&many, "dgx-h100", 32);
    prepare(&few);
    prepare(&many);
    for (int coll = 0; coll < COLL_COUNT; coll++)
        for (int algo = 0; algo < ALGO_COUNT; algo++)
            for (int proto = 0; proto < PROTO_COUNT; proto++) {
                double before = 0;
                for (uint64_t bytes = 64; bytes <= 8 * GiB; bytes *= 4) {
                    struct model_call c = {coll, bytes, algo, proto, 16},
                                      simple = {coll, bytes, algo, PROTO_SIMPLE, 16};
                    struct model_time t, more, wide;
                    if (model_predict(few.m, &c, &t))
                        break;
                    assert_true(t.us >= before);
                    before = t.us;
                    assert_int_equal(model_predict(many.m, &c, &more), 0);
                    assert_true(more.us >= t.us);
                    assert_true(more.unvalidated && !t.unvalidated);
                    assert_true(more.high_us / more.us > t.high_us / t.us);
                    if (bytes == 4 * GiB && !model_predict(few.m, &simple, &wide))
                        assert_true(wide.us <= t.us);
                }
            }
    clear(&few);
    clear(&many);
}

TEST_CASE(what_is_not_offered)
{
    struct bed b;
    make_up(&b, "azure-ndv4", 2);
    prepare(&b);
    static const struct model_call none[] = {
        {COLL_ALLREDUCE, MiB, ALGO_NVLS, PROTO_SIMPLE, 0},
        {COLL_ALLREDUCE, MiB, ALGO_PAT, PROTO_SIMPLE, 0},
        {COLL_BROADCAST, MiB, ALGO_TREE, PROTO_LL, 0},
        {COLL_ALLREDUCE, MiB, ALGO_COUNT, PROTO_LL, 0},
        {COLL_ALLREDUCE, MiB, ALGO_RING, PROTO_COUNT, 0},
        {-1, MiB, -1, -1, 0},
        {COLL_MEASURED, MiB, -1, -1, 0},
    };
    struct model_time t;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(model_predict(b.m, &none[i], &t), -1);
    clear(&b);
}

/* Where an algorithm or a protocol is left open, NCCL chooses both; what its variables forbid is not to be had. */
TEST_CASE(half_a_choice)
{
    struct bed b;
    make_up(&b, "azure-ndv4", 2);
    prepare(&b);
    struct model_time open = predict(&b, COLL_ALLREDUCE, 64), t;
    assert_int_equal(model_predict(b.m, &(struct model_call){COLL_ALLREDUCE, 64, ALGO_RING, -1, 0}, &t), 0);
    assert_true(t.algo == open.algo && t.proto == open.proto && t.us == open.us);
    assert_int_equal(model_predict(b.m, &(struct model_call){COLL_ALLREDUCE, 64, -1, PROTO_SIMPLE, 0}, &t), 0);
    assert_true(t.algo == open.algo && t.proto == open.proto && t.us == open.us);
    b.s.nccl.algos[COLL_ALLREDUCE] = 1u << ALGO_COLLNET_DIRECT;
    prepare(&b);
    assert_int_equal(model_predict(b.m, &(struct model_call){COLL_ALLREDUCE, 64, -1, -1, 0}, &t), -1);
    predict(&b, COLL_ALLGATHER, 64);
    clear(&b);
}

/* A call of no bytes waits all the same, and nothing of it is carried. */
TEST_CASE(no_bytes)
{
    struct bed b;
    make_up(&b, "azure-ndv4", 2);
    prepare(&b);
    struct model_time t = predict(&b, COLL_ALLREDUCE, 0);
    double sum = 0;
    for (int i = 0; i < MODEL_PARTS; i++)
        sum += t.share[i];
    assert_true(fabs(sum - 1) < 1e-9);
    assert_true(t.share[MODEL_LINKS] == 0 && t.share[MODEL_NET_LINKS] == 0);
    assert_true(t.us < predict(&b, COLL_ALLREDUCE, 64).us);
    clear(&b);
}

TEST_CASE(factors_scale)
{
    struct bed plain, slow;
    struct model_factors f = {.time = {1, 1, 1, 2, 2}, .rest = 0.5};
    make_up(&plain, "azure-ndv4", 2);
    make_up(&slow, "azure-ndv4", 2);
    slow.s.factors = &f;
    prepare(&plain);
    prepare(&slow);
    double large = predict(&slow, COLL_ALLREDUCE, 8 * GiB).us / predict(&plain, COLL_ALLREDUCE, 8 * GiB).us;
    assert_true(large > 1.8 && large < 2.1);
    assert_true(predict(&slow, COLL_ALLREDUCE, 8).us > predict(&plain, COLL_ALLREDUCE, 8).us + 10);
    struct model_time t = predict(&slow, COLL_ALLREDUCE, 8);
    double rest = model_rest(&slow.m->prior, t.share) / 2; /* nothing else is left to doubt */
    rest = hypot(rest, t.doubt.shared[MODEL_PARTS]);       /* but who launches */
    assert_true(fabs(t.high_us / t.us - exp(BENCH_NINE_OF_TEN * rest)) < 1e-9);
    clear(&plain);
    clear(&slow);
}

/* What cannot be a factor is none. */
TEST_CASE(nonsense_factors)
{
    struct bed plain, b;
    struct model_factors f = {.time = {0, -1, NAN, INFINITY, 1}, .rest = NAN};
    make_up(&plain, "azure-ndv4", 2);
    make_up(&b, "azure-ndv4", 2);
    b.s.factors = &f;
    b.s.switches = (struct model_switches){-5, NAN, 0};
    prepare(&plain);
    prepare(&b);
    assert_true(predict(&plain, COLL_ALLREDUCE, MiB).us == predict(&b, COLL_ALLREDUCE, MiB).us);
    clear(&plain);
    clear(&b);
}

TEST_CASES(test_model)
