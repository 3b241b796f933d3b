/* bench/engines/nccl/worker_pool.c: what agents and workers are started with, and what is learnt of them. */
#include "tests/unit/bench/engines/nccl/agents_double.h"

TEST_CASE(nodes_that_are_watched)
{
    struct findings found = {.arena = arena};
    struct nccl_pool *t = must_open();
    assert_int_equal(nccl_pool_nodes(t), 2);
    assert_int_equal(nccl_pool_ranks(t), 0);
    assert_noted("open 7 s\nbeside {self} signs\n");
    for (int i = 0; i < 2; i++) { /* once */
        nccl_pool_noise(t, &found);
        assert_noted(i ? "" : "end beside 5 s\n");
        assert_int_equal(found.n, 1);
    }
    assert_string_equal(found.list[0].subject, "n1, GPU 0");
    nccl_pool_close(t);
    assert_noted("close\n");
    nccl_pool_close(NULL);
    nagents = 1; /* this one's own condition is read here */
    t = must_open();
    nccl_pool_noise(t, &found);
    nccl_pool_close(t);
    assert_noted("open 7 s\nclose\n");
    assert_int_equal(found.n, 1);
    here = "elsewhere";
    nccl_pool_close(must_open());
    assert_noted("open 7 s\nbeside {self} signs\nclose\n");
}

TEST_CASE(what_cannot_be_opened)
{
    fails = 1;
    assert_null(nccl_pool_open(&setup, &own, 7, NULL, &e));
    assert_says(e.text, "nobody comes");
    own.launch_prefix = "enroot 'start";
    assert_null(nccl_pool_open(&setup, &own, 7, NULL, &e));
    assert_noted("open 7 s\n");
    own.launch_prefix = NULL;
    fails = 2; /* those that have come are not left there */
    assert_null(nccl_pool_open(&setup, &own, 7, NULL, &e));
    assert_says(e.text, "too long");
    assert_noted("open 7 s\nbeside {self} signs\nclose\n");
}

/* ---- looking ---- */

static int look(struct nccl_pool *t, struct nccl_hello *h)
{
    e = (struct err){0};
    return nccl_pool_look(t, h, 10, NULL, &e);
}

TEST_CASE(what_there_is)
{
    static const struct {
        int gpus[2], ranks_per_node, share, code, ranks;
        const char *why;
    } rows[] = {{{2, 2}, 0, 0, 0, 4, ""},
                {{8, 4}, 0, 0, 0, 8, ""},
                {{4, 8}, 0, 0, 0, 8, ""},
                {{8, 8}, 3, 0, 0, 6, ""},
                {{3, 8}, 3, 0, 0, 6, ""},
                {{8, 2}, 3, 0, ERR_LACKS, 0, "n1 has 2 GPUs for 3 ranks"},
                {{8, 2}, 3, 1, 0, 6, ""},
                {{1, 1}, 0, 0, 0, 2, ""},
                {{0, 8}, 0, 0, ERR_LACKS, 0, "n0: the driver shows no GPU"},
                {{8, 0}, 2, 1, ERR_LACKS, 0, "n1: the driver shows no GPU"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_hello h;
        setup.ranks_per_node = rows[i].ranks_per_node;
        own.share_gpus = rows[i].share;
        struct nccl_pool *t = must_open();
        ncoming = at_coming = 0;
        for (int m = 0; m < 2; m++)
            comes(m, NCCL_HELLO, m, hello(22809, rows[i].gpus[m], 0, m ? "/n1" : "/n0"), sizeof h);
        assert_int_equal(look(t, &h), rows[i].code);
        assert_says(e.text, rows[i].why);
        if (!rows[i].code) {
            assert_int_equal(nccl_pool_ranks(t), rows[i].ranks);
            assert_string_equal(h.path, "/n0");
        }
        nccl_pool_close(t);
    }
    nagents = 1;
    setup.ranks_per_node = 1;
    struct nccl_pool *t = must_open();
    struct nccl_hello h;
    comes(0, NCCL_HELLO, 0, hello(22809, 8, 0, "/n0"), sizeof h);
    assert_int_equal(look(t, &h), ERR_LACKS);
    assert_says(e.text, "one GPU alone cannot communicate");
    nccl_pool_close(t);
}

TEST_CASE(all_nodes_need_the_same)
{
    static const struct {
        int version, rccl;
        const char *why;
    } rows[] = {{22809, 0, ""},
                {22203, 0, "n0 has NCCL 2.28.9 (/a), n1 has 2.22.3 (/b): all nodes need the same"},
                {22809, 1, "n0 has NCCL 2.28.9 (/a), n1 has RCCL 2.28.9 (/b): all nodes need the same"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_hello h;
        struct nccl_pool *t = must_open();
        ncoming = at_coming = 0;
        comes(0, NCCL_HELLO, 0, hello(22809, 2, 0, "/a"), sizeof h);
        comes(1, NCCL_HELLO, 1, hello(rows[i].version, 2, rows[i].rccl, "/b"), sizeof h);
        assert_int_equal(look(t, &h), i ? ERR_FAILED : 0);
        assert_says(e.text, rows[i].why);
        nccl_pool_close(t);
    }
    struct nccl_hello h;
    struct nccl_pool *t = must_open();
    ncoming = at_coming = 0;
    comes(0, NCCL_HELLO, 0, hello(22203, 2, 1, "/a"), sizeof h);
    comes(1, NCCL_HELLO, 1, hello(22203, 2, 0, "/b"), sizeof h);
    assert_int_equal(look(t, &h), ERR_FAILED);
    assert_says(e.text, "n0 has RCCL 2.22.3 (/a), n1 has NCCL 2.22.3 (/b): all nodes need the same");
    nccl_pool_close(t);
}

/* ---- starting ---- */

TEST_CASE(what_workers_are_started_with)
{
    static struct topo_class classes[] = {{.name = "fat"}, {.name = "thin"}};
    static struct topo_host hosts[] = {{.name = "n0", .class_index = 0}, {.name = "n1", .class_index = 1}};
    static const struct topology topology = {.classes = classes, .nclasses = 2, .hosts = hosts, .nhosts = 2};
    static const struct bench_setting settings[] = {
        {"NCCL_IB_HCA@fat", "a"}, {"NCCL_IB_HCA@thin", "b"}, {"NCCL_BUFFSIZE", "8"}, {"NCCL_X", "1"}};
    static const struct nccl_start start = {settings, 4, "/plugin", 1, 0};
    struct nccl_joined joined;
    setup.topology = &topology;
    own.library = "/opt/libnccl.so";
    own.launch_prefix = "enroot start";
    struct nccl_pool *t = looked();
    come_joined();
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, NULL, &e), 0);
#define WORKER "order enroot start {self} rank {rank} {local} --nccl-lib /opt/libnccl.so x2 from "
    assert_noted(WORKER "0: NCCL_DEBUG=WARN NCCL_TUNER_PLUGIN=/plugin NCCL_IB_HCA=a NCCL_BUFFSIZE=8 NCCL_X=1\n"
                        "start to 0.-1\n" WORKER
                        "2: NCCL_DEBUG=WARN NCCL_TUNER_PLUGIN=/plugin NCCL_IB_HCA=b NCCL_BUFFSIZE=8 NCCL_X=1\n"
                        "start to 1.-1\nname to -1.0\njoin of 4 control 1 id uniq to -1.-1\n");
    assert_true(joined.nodes == 2 && joined.api == 0 && joined.free == 50);
    nccl_pool_close(t);
}

/* The environment that the command was started in. */
TEST_CASE(what_stays_of_the_environment)
{
    static const struct {
        const char *tuner, *next, *debug;
        int share;
        const char *settings;
    } rows[] = {{NULL, NULL, "INFO", 0, ""},
                {"/opt/vendor.so", NULL, "INFO", 0, " NCCLTUNE_NEXT_TUNER=/opt/vendor.so"},
                {"/opt/vendor.so", "none", "INFO", 0, ""},
                {"", NULL, NULL, 0, " NCCL_DEBUG=WARN"},
                {NULL, NULL, NULL, 1, " NCCL_DEBUG=WARN NCCL_HOSTID={host}-{local}"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct nccl_hello h;
        nagents = 1;
        setup.ranks_per_node = 2;
        own.share_gpus = rows[i].share;
        bare_env();
        if (rows[i].tuner)
            setenv("NCCL_TUNER_PLUGIN", rows[i].tuner, 1);
        if (rows[i].next)
            setenv("NCCLTUNE_NEXT_TUNER", rows[i].next, 1);
        if (rows[i].debug)
            setenv("NCCL_DEBUG", rows[i].debug, 1);
        struct nccl_pool *t = must_open();
        ncoming = at_coming = 0;
        notes = "";
        come_hellos(1);
        assert_int_equal(look(t, &h), 0);
        assert_noted(arena_printf(arena, "order {self} rank {rank} {local} x1 from 0:%s\nstart to 0.-1\nkill 3 s\n",
                                  rows[i].settings));
        nccl_pool_close(t);
    }
}

TEST_CASE(what_does_not_start)
{
    static const struct nccl_text no = {"rank 0: no device"};
    static const struct nccl_start start = {0};
    static volatile sig_atomic_t stop = 1;
    struct nccl_joined joined;
    struct nccl_pool *t = looked();
    too_long = 1;
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, NULL, &e), ERR_FAILED);
    assert_says(e.text, "the settings of this launch are too long for an agent");
    too_long = 0;
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, &stop, &e), ERR_FAILED);
    assert_says(e.text, "interrupted");
    for (int r = 0; r < 4; r++)
        comes(r / 2, NCCL_ERROR, r, &no, sizeof no);
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, NULL, &e), ERR_LACKS);
    assert_says(e.text, "rank 0: no device");
    come_hellos(4);
    comes(0, NCCL_ERROR, 0, &no, sizeof no); /* instead of a name */
    notes = "";
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, NULL, &e), ERR_LACKS);
    assert_says(e.text, "rank 0: no device");
    assert_non_null(strstr(notes, "name to -1.0\nkill 3 s\n"));
    comes_event(1, AGENTS_LOST);
    assert_int_equal(nccl_pool_start(t, &start, &joined, 10, NULL, &e), BENCH_NODES_LOST);
    assert_says(e.text, "lost the agent on n1");
    nccl_pool_close(t);
}

TEST_CASES_EACH(main, begin, end)
