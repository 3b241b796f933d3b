/* Versions 1 and 2: NCCL 2.19 to 2.21 run what the plugin names, so every combination that they cannot run is tried. */
#include "tests/unit/tuner/loader_double.h"

/* One rule per algorithm and protocol, at a size of its own: 1 + algo * 3 + proto bytes. */
static void use_every_cell(int coll)
{
    char text[4096] = "";
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            int bytes = 1 + a * PROTO_COUNT + p;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s,%d,%d,%s,%s,4,-1,-1\n", coll_name(coll),
                     bytes, bytes, algo_name(a), proto_name(p));
        }
    use_table(text);
}

/* A bit per algorithm that was named. Protocols: LL128 never, LL with Ring and Tree alone. */
static unsigned named(struct loader *l, int coll, int collnet, int nvls)
{
    unsigned algos = 0;
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            struct question q = {
                .coll = coll, .bytes = (size_t)(1 + a * PROTO_COUNT + p), .collnet = collnet, .nvls = nvls};
            CHECK(ask(l, &q) == NCCLTUNE_SUCCESS);
            if (q.channels) {
                CHECK(q.channels == 4 && q.algo == a && q.proto == p && p != PROTO_LL128);
                CHECK(p == PROTO_SIMPLE || a == ALGO_RING || a == ALGO_TREE);
                algos |= 1U << a;
            }
        }
    return algos;
}

enum {
    TREE = 1 << ALGO_TREE,
    RING = 1 << ALGO_RING,
    COLLNET = 1 << ALGO_COLLNET_DIRECT | 1 << ALGO_COLLNET_CHAIN,
    NVLS = 1 << ALGO_NVLS,
    NVLS_TREE = 1 << ALGO_NVLS_TREE,
};

static const struct {
    int minor, coll, collnet, nvls;
    size_t nodes;
    unsigned algos;
} cases[] = {
    {NCCL_2_21, COLL_ALLREDUCE, 0, 0, 1, RING | TREE},
    {NCCL_2_21, COLL_ALLREDUCE, 0, 0, 4, RING | TREE},
    {NCCL_2_21, COLL_ALLREDUCE, 0, 1, 1, RING | TREE | NVLS},
    {NCCL_2_21, COLL_ALLREDUCE, 0, 1, 4, RING | TREE | NVLS_TREE},
    {NCCL_2_21, COLL_ALLREDUCE, 1, 0, 4, RING | TREE | COLLNET},
    {NCCL_2_21, COLL_ALLREDUCE, 1, 1, 4, RING | TREE | COLLNET | NVLS | NVLS_TREE},
    {NCCL_2_21, COLL_ALLGATHER, 1, 1, 1, RING | NVLS},
    {NCCL_2_21, COLL_ALLGATHER, 1, 1, 4, RING},
    {NCCL_2_21, COLL_ALLGATHER, 0, 0, 1, RING},
    {NCCL_2_21, COLL_REDUCESCATTER, 1, 1, 1, RING | NVLS},
    {NCCL_2_21, COLL_REDUCESCATTER, 1, 1, 4, RING},
    {NCCL_2_21, COLL_BROADCAST, 1, 1, 1, RING},
    {NCCL_2_21, COLL_REDUCE, 1, 1, 4, RING},
    /* 2.19 does not say which communicator: only what runs on one node and on several. */
    {NCCL_2_19, COLL_ALLREDUCE, 0, 0, 1, RING | TREE},
    {NCCL_2_19, COLL_ALLREDUCE, 0, 1, 1, RING | TREE},
    {NCCL_2_19, COLL_ALLREDUCE, 1, 1, 4, RING | TREE | COLLNET | NVLS},
    {NCCL_2_19, COLL_ALLGATHER, 1, 1, 1, RING},
    {NCCL_2_19, COLL_BROADCAST, 1, 1, 1, RING},
};

static void names_what_runs(int i)
{
    use_every_cell(cases[i].coll);
    struct loader l = load(cases[i].minor);
    CHECK(init(&l, cases[i].nodes * 8, cases[i].nodes, NULL, NULL) == NCCLTUNE_SUCCESS);
    unsigned algos = named(&l, cases[i].coll, cases[i].collnet, cases[i].nvls);
    if (algos != cases[i].algos)
        fprintf(stderr, "case %d: algorithms %#x, expected %#x\n", i, algos, cases[i].algos);
    CHECK(algos == cases[i].algos);
}

static void the_users_variables_stand(int minor)
{
    use_table("allreduce,0,-1,tree,simple,8,-1,-1\n");
    setenv("NCCL_ALGO", "Ring", 1);
    struct loader l = load(minor);
    CHECK(init(&l, 8, 1, NULL, NULL) == NCCLTUNE_SUCCESS);
    struct question q = question(COLL_ALLREDUCE, 1024);
    CHECK(ask(&l, &q) == NCCLTUNE_SUCCESS);
    CHECK(q.algo == (l.api <= 2 ? ALGO_RING : ALGO_TREE) && q.channels == (l.api <= 2 ? 0 : 8));
}

/* Version 1 has no communicator in its calls: the first one stands for all. */
static void the_first_communicator_counts(int unused)
{
    (void)unused;
    use_table("allreduce,0,-1,tree,simple,8,2,16\n"
              "allreduce,0,-1,ring,simple,2,1,8\n");
    struct loader world = load(NCCL_2_19), node = load(NCCL_2_19);
    CHECK(init(&world, 16, 2, NULL, NULL) == NCCLTUNE_SUCCESS && init(&node, 8, 1, NULL, NULL) == NCCLTUNE_SUCCESS);
    struct question q = question(COLL_ALLREDUCE, 1024);
    CHECK(ask(&node, &q) == NCCLTUNE_SUCCESS && q.algo == ALGO_TREE && q.channels == 8);
    CHECK(destroy(&world) == NCCLTUNE_SUCCESS);
    CHECK(ask(&node, &q) == NCCLTUNE_SUCCESS && q.algo == ALGO_TREE);
}

/* From version 2 on each has the rows for its own shape. */
static void every_communicator_has_its_rows(int minor)
{
    use_table("allreduce,0,-1,tree,simple,8,2,16\n"
              "allreduce,0,-1,ring,simple,2,1,8\n");
    struct loader world = load(minor), node = world, more = world;
    CHECK(init(&world, 16, 2, NULL, NULL) == NCCLTUNE_SUCCESS && init(&node, 8, 1, NULL, NULL) == NCCLTUNE_SUCCESS &&
          init(&more, 16, 4, NULL, NULL) == NCCLTUNE_SUCCESS);
    struct question q = question(COLL_ALLREDUCE, 1024), same = q, untouched = q;
    CHECK(ask(&world, &q) == NCCLTUNE_SUCCESS && q.algo == ALGO_TREE && q.channels == 8);
    CHECK(ask(&node, &same) == NCCLTUNE_SUCCESS && same.algo == ALGO_RING && same.channels == 2);
    CHECK(ask(&more, &untouched) == NCCLTUNE_SUCCESS && untouched.channels == 0);
}

static void test_every_communicator_has_its_rows(void **unused)
{
    (void)unused;
    for (size_t i = 1; i < RELEASES; i++)
        in_child(every_communicator_has_its_rows, releases[i]);
}

static void test_names_what_runs(void **unused)
{
    (void)unused;
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
        in_child(names_what_runs, i);
}

static void test_the_users_variables_stand(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < RELEASES; i++)
        in_child(the_users_variables_stand, releases[i]);
}

static void test_the_first_communicator_counts(void **unused)
{
    (void)unused;
    in_child(the_first_communicator_counts, 0);
}

int test_legacy(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_what_runs),
        cmocka_unit_test(test_the_users_variables_stand),
        cmocka_unit_test(test_the_first_communicator_counts),
        cmocka_unit_test(test_every_communicator_has_its_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
