/* The control interface, found with dlsym as the benchmark worker does. */
#include "tuner/plugin/control.h"

#include "tests/unit/tuner/loader_double.h"

static int (*version)(void);
static void (*arm)(void);
static int (*force)(const struct nccltune_force *);
static int (*last)(struct nccltune_record *);

static void find(void *function, const char *name)
{
    *(void **)function = dlsym(plugin_library(), name);
    CHECK(*(void **)function);
}

static struct loader prepared(int minor)
{
    use_table("allreduce,0,-1,tree,simple,8,-1,-1,-1,-1,65536\n");
    find(&version, "nccltune_control_version");
    find(&arm, "nccltune_control_arm");
    find(&force, "nccltune_control_force");
    find(&last, "nccltune_control_last");
    struct loader l = load(minor);
    CHECK(version() == NCCLTUNE_CONTROL_VERSION && init(&l, 16, 2, NULL, NULL) == NCCLTUNE_SUCCESS);
    return l;
}

static int cell(int algo, int proto)
{
    return algo * PROTO_COUNT + proto;
}

static void records_what_nccl_offered(int minor)
{
    struct loader l = prepared(minor);
    struct nccltune_record r;
    struct question q = question(COLL_ALLREDUCE, 4096);
    CHECK(last(&r) == -1);
    arm();
    CHECK(last(&r) == -1 && last(NULL) == -1);
    q.cost[ALGO_NVLS][PROTO_SIMPLE] = -1;
    q.cost[ALGO_RING][PROTO_SIMPLE] = 12.5F;
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.channels == 8);
    CHECK(last(&r) == 0 && r.sequence == 1 && r.coll == COLL_ALLREDUCE && r.bytes == 4096 && r.pipe_ops == 1);
    CHECK(r.api == l.api && r.nodes == 2 && r.ranks == 16 && r.algos == ALGO_COUNT && r.protos == PROTO_COUNT);
    CHECK(r.reg_buff == (l.api >= 4 ? 0 : -2));
    CHECK(r.source == NCCLTUNE_SOURCE_TABLE && r.algo == ALGO_TREE && r.proto == PROTO_SIMPLE && r.channels == 8);
    CHECK(r.allowed >> cell(ALGO_TREE, PROTO_SIMPLE) & 1 && !(r.allowed >> cell(ALGO_NVLS, PROTO_SIMPLE) & 1));
    if (l.api >= 3)
        CHECK(r.cost[cell(ALGO_TREE, PROTO_SIMPLE)] == 2 && r.cost[cell(ALGO_RING, PROTO_SIMPLE)] == 12.5F);
    struct question other = question(COLL_REDUCE, 10);
    CHECK(ask(&l, &other) == 0 && last(&r) == 0 && r.sequence == 2 && r.source == NCCLTUNE_SOURCE_NONE && r.algo == -1);
}

/* As 2.31 asks for tasks on symmetric memory: no question, before a call and after it. */
static void does_not_count_what_offers_nothing(int minor)
{
    struct loader l = prepared(minor);
    struct nccltune_record r;
    struct question q = question(COLL_ALLREDUCE, 4096), ignored = q;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        ignored.cost[i / PROTO_COUNT][i % PROTO_COUNT] = -1;
    arm();
    CHECK(ask(&l, &ignored) == 0 && !ignored.channels && last(&r) == -1);
    CHECK(ask(&l, &q) == 0 && ask(&l, &ignored) == 0);
    CHECK(last(&r) == 0 && r.sequence == 1 && r.allowed && r.algo == ALGO_TREE && r.channels == 8);
}

static void forces_until_armed_anew(int minor)
{
    struct loader l = prepared(minor);
    struct nccltune_record r;
    struct nccltune_force f = {.coll = COLL_ALLREDUCE, .algo = ALGO_RING, .proto = PROTO_SIMPLE, .channels = 3};
    struct question q = question(COLL_ALLREDUCE, 4096), fresh = q;
    CHECK(force(&f) == -1); /* not armed */
    arm();
    CHECK(force(&f) == 0);
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_SIMPLE && q.channels == 3);
    CHECK(last(&r) == 0 && r.source == NCCLTUNE_SOURCE_FORCED && r.algo == ALGO_RING && r.channels == 3);

    /* Nothing set holds the table back: NCCL's own default. */
    struct nccltune_force nothing = {.coll = NCCLTUNE_CONTROL_ALL, .algo = -1, .proto = -1};
    q = fresh;
    CHECK(force(&nothing) == 0 && ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_LL && q.channels == 0);
    CHECK(same_bytes(q.cost, fresh.cost, sizeof q.cost));

    arm(); /* starts anew */
    q = fresh;
    CHECK(last(&r) == -1 && ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.channels == 8 && last(&r) == 0 &&
          r.sequence == 1);
}

static void refuses_what_nccl_does_not_offer(int minor)
{
    struct loader l = prepared(minor);
    struct nccltune_record r;
    struct nccltune_force f = {.coll = COLL_ALLREDUCE, .algo = ALGO_PAT, .proto = PROTO_SIMPLE, .channels = 3};
    struct question q = question(COLL_ALLREDUCE, 4096);
    q.cost[ALGO_PAT][PROTO_SIMPLE] = -1;
    struct question before = q;
    arm();
    CHECK(force(&f) == 0 && ask(&l, &q) == 0 && q.algo == ALGO_RING && q.proto == PROTO_LL && q.channels == 0);
    CHECK(same_bytes(q.cost, before.cost, sizeof q.cost));
    CHECK(last(&r) == 0 && r.source == NCCLTUNE_SOURCE_REFUSED && r.algo == -1 && r.channels == 0);
}

static void checks_its_arguments(int minor)
{
    prepared(minor);
    arm();
    static const struct nccltune_force bad[] = {{.coll = 5, .algo = 1, .proto = 2},
                                                {.coll = -2, .algo = 1, .proto = 2},
                                                {.coll = 4, .algo = 7, .proto = 2},
                                                {.coll = 4, .algo = 1, .proto = 3},
                                                {.coll = 4, .algo = -2, .proto = 2},
                                                {.coll = 4, .algo = 1, .proto = 2, .channels = 65},
                                                {.coll = 4, .algo = 1, .proto = 2, .channels = -1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(force(&bad[i]) == -1);
    static const struct nccltune_force good[] = {{.coll = 0, .algo = 0, .proto = 0, .channels = 64},
                                                 {.coll = 4, .algo = 6, .proto = 2, .channels = 0}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(force(&good[i]) == 0);
    CHECK(force(NULL) == -1);
}

static void forces_chunk_sizes(int minor)
{
    struct loader l = prepared(minor);
    const struct nccl_tuner_v6 *v6 = l.tuner;
    struct nccltune_force f = {.coll = COLL_ALLREDUCE, .algo = ALGO_RING, .proto = -1, .chunk_bytes = 4096};
    size_t chunk = 1000;
    arm();
    CHECK(v6->get_chunk_size(l.context, COLL_ALLREDUCE, 512, ALGO_TREE, PROTO_SIMPLE, 1, &chunk) == 0 &&
          chunk == 65536);
    CHECK(force(&f) == 0);
    CHECK(v6->get_chunk_size(l.context, COLL_ALLREDUCE, 512, ALGO_RING, PROTO_LL, 2, &chunk) == 0 && chunk == 4096);
    CHECK(v6->get_chunk_size(l.context, COLL_ALLGATHER, 512, ALGO_RING, PROTO_LL128, 2, &chunk) == 0);
    chunk = 1000;
    CHECK(v6->get_chunk_size(l.context, COLL_ALLREDUCE, 512, ALGO_TREE, PROTO_LL, 1, &chunk) == 0 && chunk == 1000);
}

/* NCCL 2.30 and later ask for the chunk sizes of the first channel, the last one and those between. */
static void counts_the_channels_that_run(int minor)
{
    struct loader l = prepared(minor);
    const struct nccl_tuner_v6 *v6 = l.tuner;
    struct nccltune_force f = {.coll = COLL_BROADCAST, .algo = ALGO_RING, .proto = PROTO_LL128, .channels = 4};
    static const struct {
        size_t slices[4];
        int channels, run; /* that are passed with each slice */
    } cases[] = {{{40960, 40960, 40960}, 1, 4},
                 {{49152, 49152, 65536}, 1, 3},
                 {{98304, 65536}, 1, 2},
                 {{163840}, 1, 1},
                 {{163840}, 4, 4},
                 {{1, 1, 1, 1}, 1, 0},
                 {{5, 5, 7}, 1, 0},
                 {{0}, 1, 0}};
    arm();
    CHECK(force(&f) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct question q = question(COLL_BROADCAST, 163840);
        struct nccltune_record r;
        size_t chunk = 1000;
        CHECK(ask(&l, &q) == 0);
        for (int k = 0; k < 4 && cases[i].slices[k]; k++)
            CHECK(v6->get_chunk_size(l.context, COLL_BROADCAST, cases[i].slices[k], ALGO_RING, PROTO_LL128,
                                     cases[i].channels, &chunk) == 0);
        CHECK(last(&r) == 0 && r.channels == 4 && r.channels_run == cases[i].run);
    }
}

/* The smallest numbers of everything: the first collective, algorithm and protocol, one channel. */
static void forces_the_first_of_all(int minor)
{
    struct loader l = prepared(minor);
    struct nccltune_force f = {.coll = 0, .algo = ALGO_TREE, .proto = PROTO_LL, .channels = 1};
    struct question q = question(0, 4096);
    arm();
    CHECK(force(&f) == 0 && ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.proto == PROTO_LL && q.channels == 1);
}

/* A chunk size is for the algorithm and protocol that it was forced with, the first of them, too. */
static void forces_chunk_sizes_of_the_first(int minor)
{
    struct loader l = prepared(minor);
    const struct nccl_tuner_v6 *v6 = l.tuner;
    struct nccltune_force f = {.coll = COLL_ALLREDUCE, .algo = ALGO_TREE, .proto = PROTO_LL, .chunk_bytes = 4096};
    static const struct {
        int algo, proto;
        size_t chunk;
    } cases[] = {{ALGO_TREE, PROTO_LL, 4096}, {ALGO_RING, PROTO_LL, 1000}, {ALGO_TREE, PROTO_SIMPLE, 1000}};
    arm();
    CHECK(force(&f) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t chunk = 1000;
        CHECK(v6->get_chunk_size(l.context, COLL_ALLREDUCE, 512, cases[i].algo, cases[i].proto, 1, &chunk) == 0);
        CHECK(chunk == cases[i].chunk);
    }
}

#define TEST(function, oldest)                   \
    static void test_##function(void **unused)   \
    {                                            \
        (void)unused;                            \
        for (size_t i = 0; i < RELEASES; i++)    \
            if (releases[i] >= (oldest))         \
                in_child(function, releases[i]); \
    }

TEST(records_what_nccl_offered, NCCL_2_22)
TEST(does_not_count_what_offers_nothing, NCCL_2_22)
TEST(forces_until_armed_anew, NCCL_2_19)
TEST(refuses_what_nccl_does_not_offer, NCCL_2_19)
TEST(checks_its_arguments, NCCL_2_31)
TEST(forces_chunk_sizes, NCCL_2_30)
TEST(counts_the_channels_that_run, NCCL_2_30)
TEST(forces_the_first_of_all, NCCL_2_22)
TEST(forces_chunk_sizes_of_the_first, NCCL_2_30)

int test_control(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_what_nccl_offered),
        cmocka_unit_test(test_does_not_count_what_offers_nothing),
        cmocka_unit_test(test_forces_until_armed_anew),
        cmocka_unit_test(test_refuses_what_nccl_does_not_offer),
        cmocka_unit_test(test_checks_its_arguments),
        cmocka_unit_test(test_forces_chunk_sizes),
        cmocka_unit_test(test_counts_the_channels_that_run),
        cmocka_unit_test(test_forces_the_first_of_all),
        cmocka_unit_test(test_forces_chunk_sizes_of_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
