/* model/model.c: topologies that say little, or nothing that can be, make no prediction fall over. */
#include "tests/unit/model/model_bed.h"

TEST_CASE(one_gpu)
{
    struct bed b;
    make_up(&b, "dgx-h100", 1);
    b.s.nccl.ranks_per_node = 1;
    prepare(&b);
    assert_true(predict(&b, COLL_ALLREDUCE, 8).us < 30);
    double us = predict(&b, COLL_ALLTOALL, GiB).us; /* read and written at 3,350 GB/s */
    assert_true(us > 2.0 * GiB / 3350e3 && us < 2000);
    clear(&b);
}

TEST_CASE(a_hundred_thousand_nodes)
{
    struct bed b;
    make_up(&b, "dgx-h100", 100000);
    prepare(&b);
    struct model_time t = predict(&b, COLL_ALLREDUCE, GiB);
    assert_true(t.unvalidated && t.high_us / t.us > 4);
    /* Its eight NICs are no faster for it: 400 GB/s, and what rows of results stray by. */
    assert_true(GiB / t.low_us / 1e3 < 400 * 1.25);
    predict(&b, COLL_ALLGATHER, GiB);
    predict(&b, COLL_ALLTOALL, GiB);
    clear(&b);
}

static int says(const struct bed *b, const char *words)
{
    for (int i = 0; i < b->m->nassumptions; i++)
        if (strstr(b->m->assumptions[i], words))
            return 1;
    return 0;
}

TEST_CASE(unknown_releases)
{
    static const struct {
        int version, told;
    } cases[] = {{0, 0}, {22809, 0}, {23099, 0}, {23199, 1}, {29900, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bed b;
        make_up(&b, "dgx-h100", 2);
        b.s.nccl.version = cases[i].version;
        prepare(&b);
        assert_int_equal(says(&b, "newer than those known"), cases[i].told);
        clear(&b);
    }
}

/* Cards that have no NVLink are nothing to assume, GPUs that usually have it are. */
TEST_CASE(without_nvlink)
{
    struct bed b;
    make_up(&b, "4x4090", 1);
    prepare(&b);
    assert_false(says(&b, "NVLink"));
    clear(&b);
    make_up(&b, "dgx-h100", 1);
    b.t->classes[0].nlinks = 0;
    prepare(&b);
    assert_true(says(&b, "no NVLink"));
    clear(&b);
}

TEST_CASE(unknown_gpus)
{
    struct bed known, b;
    make_up(&known, "dgx-h100", 1);
    make_up(&b, "dgx-h100", 1);
    struct topo_class *c = &b.t->classes[0];
    for (int i = 0; i < c->ngpus; i++) {
        struct topo_object *o = &c->objects[c->gpus[i].object];
        c->gpus[i].sm = 0;
        o->model = "Accelerator Nobody Knows";
        o->vendor = 0x1234;
        o->device = 0x5678;
    }
    prepare(&known);
    prepare(&b);
    assert_true(says(&b, "Hopper was assumed"));
    struct model_time t = predict(&b, COLL_ALLREDUCE, GiB), sure = predict(&known, COLL_ALLREDUCE, GiB);
    assert_true(t.high_us / t.us > 1.3 * sure.high_us / sure.us);
    clear(&known);
    clear(&b);
}

TEST_CASE(links_without_bandwidth)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    struct topo_class *c = &b.t->classes[0];
    for (int i = 0; i < c->nlinks; i++)
        c->links[i].GBps = 0;
    for (int i = 0; i < c->nobjects; i++)
        c->objects[i].link_GBps = c->objects[i].link_GTps = c->objects[i].link_width = 0;
    for (int i = 0; i < c->nports; i++)
        c->ports[i].rate_Gbps = 0;
    prepare(&b);
    assert_true(says(&b, "NVLink is unknown"));
    predict(&b, COLL_ALLREDUCE, GiB);
    clear(&b);
}

/* GPUs without NVLink, and NICs without a place. */
TEST_CASE(disconnected)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    struct topo_class *c = &b.t->classes[0];
    c->nlinks = 0;
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_GPU || c->objects[i].kind == TOPO_NIC) {
            c->objects[i].parent = -1;
            c->objects[i].numa = -1;
        }
    prepare(&b);
    assert_true(says(&b, "no way between GPU0 and GPU1 is known"));
    assert_true(predict(&b, COLL_ALLREDUCE, GiB).us > 5e3);
    clear(&b);
}

/* A port of which only the rate is known. */
TEST_CASE(unknown_nics)
{
    struct bed known, b;
    make_up(&known, "azure-ndv4", 2);
    make_up(&b, "azure-ndv4", 2);
    struct topo_class *c = &b.t->classes[0];
    for (int i = 0; i < c->nports; i++) {
        struct topo_object *o = &c->objects[c->ports[i].object];
        o->vendor = o->device = 0;
        o->model = NULL;
        c->ports[i].layer = TOPO_LINK_UNKNOWN;
    }
    prepare(&known);
    prepare(&b);
    assert_true(says(&b, "InfiniBand was assumed"));
    struct model_time t = predict(&b, COLL_ALLREDUCE, GiB), sure = predict(&known, COLL_ALLREDUCE, GiB);
    assert_true(t.us == sure.us && t.high_us > 1.3 * sure.high_us);
    clear(&known);
    clear(&b);
}

/* Without GPUDirect RDMA everything bounces: slower to begin with, and no faster in the end. */
TEST_CASE(no_gpudirect)
{
    struct bed with, without;
    make_up(&with, "azure-ndv5", 2);
    make_up(&without, "azure-ndv5", 2);
    without.t->classes[0].gdr_route = "none";
    prepare(&with);
    prepare(&without);
    assert_true(predict(&without, COLL_ALLREDUCE, 8).us > predict(&with, COLL_ALLREDUCE, 8).us + 5);
    assert_true(busbw(&without, COLL_ALLREDUCE, GiB) < busbw(&with, COLL_ALLREDUCE, GiB));
    clear(&with);
    clear(&without);
}

TEST_CASE(no_gpu)
{
    struct bed b;
    make_up(&b, "dgx-h100", 2);
    b.t->classes[0].ngpus = 0;
    assert_null(model_new(&b.s, b.a, &b.e));
    assert_true(b.e.code && b.e.text[0]);
    clear(&b);
}

TEST_CASES(test_model_input)
