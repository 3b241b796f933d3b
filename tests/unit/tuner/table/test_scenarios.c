/* The fifteen situations that NVIDIA tests its example tuner with, for every version of the interface that can express
 * them: same tables, same questions. Where the example leaves one channel, the plugin has to leave NCCL's number (0).
 */
#include "tests/unit/tuner/loader_double.h"

static struct loader opened(int minor, size_t ranks, size_t nodes)
{
    struct loader l = load(minor);
    CHECK(init(&l, ranks, nodes, NULL, NULL) == NCCLTUNE_SUCCESS);
    return l;
}

/* Asks and expects a cell and a number of channels. LL128 is never chosen before 2.22, where NCCL would not check. */
static void expect_of(const struct loader *l, struct question q, int algo, int proto, int channels)
{
    CHECK(ask(l, &q) == NCCLTUNE_SUCCESS);
    int chosen = l->api >= 3 || proto != PROTO_LL128;
    CHECK(q.algo == (chosen ? algo : ALGO_RING));
    CHECK(q.proto == (chosen ? proto : PROTO_LL));
    CHECK(q.channels == (chosen ? channels : 0));
}

static void initializes(int minor)
{
    use_table("allreduce,0,-1,ring,simple,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 2);
    CHECK(l.api == 1 || l.context);
    CHECK(destroy(&l) == NCCLTUNE_SUCCESS);
}

static void reads_a_valid_table(int minor)
{
    use_table("# Test configuration\n"
              "allreduce,0,65536,tree,simple,2,1,-1,-1,-1\n"
              "broadcast,0,32768,ring,ll128,4,2,16,-1,-1\n"
              "# Comment line\n"
              "\n"
              "reduce,1024,2048,tree,simple,-1,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    CHECK(logged.warnings == 0 && strstr(logged.text, "3 rules"));
    CHECK(destroy(&l) == NCCLTUNE_SUCCESS);
}

static void survives_an_invalid_table(int minor)
{
    use_table("allreduce,0,65536,tree,simple,2,1  # Missing nRanks and other fields\n"
              "invalid_collective,0,1024,ring,simple,1,1,1,-1,-1\n"
              "broadcast,abc,def,ring,simple,1,1,1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    CHECK(strstr(logged.text, "tuner.csv:1:") && strstr(logged.text, "tuner.csv:2:1:") &&
          strstr(logged.text, "tuner.csv:3:11:"));
    struct question q = question(COLL_ALLREDUCE, 512);
    CHECK(ask(&l, &q) == NCCLTUNE_SUCCESS && q.algo == ALGO_RING && q.proto == PROTO_LL && q.channels == 0);
    CHECK(destroy(&l) == NCCLTUNE_SUCCESS);
}

static void matches_the_collective(int minor)
{
    use_table("allreduce,0,65536,tree,simple,8,1,-1,-1,-1\n"
              "broadcast,0,32768,ring,ll128,4,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_TREE, PROTO_SIMPLE, 8);
    expect_of(&l, question(COLL_BROADCAST, 16384), ALGO_RING, PROTO_LL128, 4);
    destroy(&l);
}

static void matches_the_size(int minor)
{
    use_table("allreduce,0,1024,tree,simple,2,-1,-1,-1,-1\n"
              "allreduce,1025,65536,ring,simple,4,-1,-1,-1,-1\n"
              "allreduce,65537,4294967295,ring,ll128,8,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    expect_of(&l, question(COLL_ALLREDUCE, 512), ALGO_TREE, PROTO_SIMPLE, 2);
    expect_of(&l, question(COLL_ALLREDUCE, 1024), ALGO_TREE, PROTO_SIMPLE, 2);
    expect_of(&l, question(COLL_ALLREDUCE, 1025), ALGO_RING, PROTO_SIMPLE, 4);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_SIMPLE, 4);
    expect_of(&l, question(COLL_ALLREDUCE, 1048576), ALGO_RING, PROTO_LL128, 8);
    expect_of(&l, question(COLL_ALLREDUCE, 4294967296), ALGO_RING, PROTO_LL, 0);
    destroy(&l);
}

static const char topologies[] = "allreduce,0,65536,tree,simple,2,1,-1,-1,-1\n"
                                 "allreduce,0,65536,ring,simple,4,4,32,-1,-1\n"
                                 "allreduce,0,65536,ring,ll128,8,-1,-1,-1,-1\n";

static void matches_one_node(int minor)
{
    use_table(topologies);
    struct loader l = opened(minor, 8, 1);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_TREE, PROTO_SIMPLE, 2);
    destroy(&l);
}

static void matches_four_nodes(int minor)
{
    use_table(topologies);
    struct loader l = opened(minor, 32, 4);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_SIMPLE, 4);
    destroy(&l);
}

static void matches_any_topology(int minor)
{
    use_table(topologies);
    struct loader l = opened(minor, 64, 8);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_LL128, 8);
    destroy(&l);
}

static void leaves_default_channels(int minor)
{
    use_table("allreduce,0,65536,tree,simple,-1,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_TREE, PROTO_SIMPLE, 0);
    destroy(&l);
}

static void matches_registered_buffers(int minor)
{
    use_table("allreduce,0,65536,tree,simple,2,-1,-1,-1,1\n"
              "allreduce,0,65536,ring,simple,4,-1,-1,-1,0\n"
              "allreduce,0,65536,ring,ll128,8,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    struct question registered = question(COLL_ALLREDUCE, 32768), other = registered, odd = registered;
    registered.reg_buff = 1;
    odd.reg_buff = 2;
    if (l.api >= 4) {
        expect_of(&l, registered, ALGO_TREE, PROTO_SIMPLE, 2);
        expect_of(&l, other, ALGO_RING, PROTO_SIMPLE, 4);
    } else { /* not passed before version 4: rules that ask for it never match */
        expect_of(&l, registered, ALGO_RING, PROTO_LL128, 8);
    }
    expect_of(&l, odd, ALGO_RING, PROTO_LL128, 8);
    destroy(&l);
}

static void matches_pipelined_operations(int minor)
{
    use_table("allreduce,0,65536,tree,simple,2,-1,-1,1,-1\n"
              "allreduce,0,65536,ring,simple,4,-1,-1,4,-1\n"
              "allreduce,0,65536,ring,ll128,8,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    struct question one = question(COLL_ALLREDUCE, 32768), four = one, two = one;
    four.pipe_ops = 4;
    two.pipe_ops = 2;
    expect_of(&l, one, ALGO_TREE, PROTO_SIMPLE, 2);
    expect_of(&l, four, ALGO_RING, PROTO_SIMPLE, 4);
    expect_of(&l, two, ALGO_RING, PROTO_LL128, 8);
    destroy(&l);
}

static void falls_back_to_nccl(int minor)
{
    use_table("broadcast,0,1024,tree,simple,2,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 8, 1);
    struct question q = question(COLL_ALLREDUCE, 32768), same = q;
    CHECK(ask(&l, &q) == NCCLTUNE_SUCCESS && q.channels == 0);
    CHECK(same_bytes(q.cost, same.cost, sizeof q.cost));
    destroy(&l);
}

static void reads_500_rules(int minor)
{
    static const char *const colls[] = {"allreduce", "broadcast", "reduce", "allgather", "reducescatter"};
    static const char *const algos[] = {"tree", "ring", "collnet_direct", "nvls"};
    static const char *const protos[] = {"simple", "ll", "ll128"};
    static char text[1 << 16];
    int used = 0;
    for (int i = 0; i < 500; i++) {
        int low = i * 1024 % 1048576;
        used += snprintf(text + used, sizeof text - (size_t)used, "%s,%d,%d,%s,%s,%d,%d,%d,%d,%d\n", colls[i % 5], low,
                         low + 65536, algos[i % 4], protos[i % 3], i % 8 + 1, i % 4 == 0 ? -1 : i % 4,
                         i % 8 == 0 ? -1 : i % 32 + 1, i % 3 == 0 ? -1 : i % 4 + 1, i % 3 == 0 ? -1 : i % 2);
    }
    use_table(text);
    struct loader l = opened(minor, 16, 4);
    CHECK(logged.warnings == 0 && strstr(logged.text, "500 rules"));
    /* Rule 0 has neither topology nor conditions, so it holds here too. */
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_TREE, PROTO_SIMPLE, 1);
    destroy(&l);
}

static void reads_2000_rules(int minor)
{
    static char text[1 << 17];
    int used = 0;
    for (int i = 0; i < 2000; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "allreduce,%d,%d,ring,simple,%d,-1,-1,-1,-1\n",
                         i * 512, i * 512 + 1024, i % 16 + 1);
    use_table(text);
    struct loader l = opened(minor, 8, 2);
    CHECK(logged.warnings == 0 && strstr(logged.text, "2000 rules"));
    for (int i = 0; i < 2000; i += 97) /* a size at the upper end of rule i lies in no earlier one */
        expect_of(&l, question(COLL_ALLREDUCE, (size_t)i * 512 + 1024), ALGO_RING, PROTO_SIMPLE, i % 16 + 1);
    expect_of(&l, question(COLL_ALLREDUCE, 1999 * 512 + 1025), ALGO_RING, PROTO_LL, 0);
    destroy(&l);
}

static void reads_an_empty_table(int minor)
{
    use_table("# Empty configuration file\n# No actual configurations\n\n\n");
    struct loader l = opened(minor, 8, 2);
    CHECK(logged.warnings == 0);
    expect_of(&l, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_LL, 0);
    destroy(&l);
}

static void matches_nvlink_domains(int minor)
{
    use_table("allreduce,0,-1,tree,simple,2,-1,-1,-1,-1,-1,2\n"
              "allreduce,0,-1,ring,simple,4,-1,-1,-1,-1,-1,3-5\n");
    struct loader l = load(minor);
    struct nccl_nvl_domains two = {2, 3, 5}, four = {4, 2, 2}, same = two;
    CHECK(init(&l, 8, 2, &two, NULL) == NCCLTUNE_SUCCESS);
    CHECK(same_bytes(&two, &same, sizeof two));
    expect_of(&l, question(COLL_ALLREDUCE, 32768), l.api >= 5 ? ALGO_TREE : ALGO_RING,
              l.api >= 5 ? PROTO_SIMPLE : PROTO_LL, l.api >= 5 ? 2 : 0);
    struct loader other = l, none = l;
    CHECK(init(&other, 8, 2, &four, NULL) == NCCLTUNE_SUCCESS && init(&none, 8, 2, NULL, NULL) == NCCLTUNE_SUCCESS);
    if (l.api >= 5)
        expect_of(&other, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_SIMPLE, 4);
    expect_of(&none, question(COLL_ALLREDUCE, 32768), ALGO_RING, PROTO_LL, 0);
    destroy(&l);
    destroy(&other);
    destroy(&none);
}

static void never_touches_constants(int minor)
{
    use_table("allreduce,0,-1,tree,simple,2,-1,-1\n");
    double constants[256], before[256]; /* larger than either NCCL's or RCCL's */
    for (size_t i = 0; i < 256; i++)
        constants[i] = before[i] = -1.0;
    struct loader l = load(minor);
    CHECK(init(&l, 8, 2, NULL, (struct nccl_constants *)constants) == NCCLTUNE_SUCCESS);
    CHECK(same_bytes(constants, before, sizeof before));
    destroy(&l);
}

/* ---- the list, over all releases ------------------------------------------------------------------------------- */

static void (*current)(int);

static void over_releases(void **state)
{
    current = *(void (**)(int)) * state;
    for (size_t i = 0; i < RELEASES; i++)
        in_child(current, releases[i]);
}

#define SCENARIO(function)                                                               \
    {                                                                                    \
        .name = #function, .test_func = over_releases, .initial_state = &(void (*)(int)) \
        {                                                                                \
            function                                                                     \
        }                                                                                \
    }

int test_scenarios(void)
{
    const struct CMUnitTest tests[] = {
        SCENARIO(initializes),
        SCENARIO(reads_a_valid_table),
        SCENARIO(survives_an_invalid_table),
        SCENARIO(matches_the_collective),
        SCENARIO(matches_the_size),
        SCENARIO(matches_one_node),
        SCENARIO(matches_four_nodes),
        SCENARIO(matches_any_topology),
        SCENARIO(leaves_default_channels),
        SCENARIO(matches_registered_buffers),
        SCENARIO(matches_pipelined_operations),
        SCENARIO(falls_back_to_nccl),
        SCENARIO(reads_500_rules),
        SCENARIO(reads_2000_rules),
        SCENARIO(reads_an_empty_table),
        SCENARIO(matches_nvlink_domains),
        SCENARIO(never_touches_constants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
