/* What holds for every call of the plugin, whatever NCCL or a hostile caller passes. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>

#include "tests/unit/tuner/loader_double.h"

#define MIB ((size_t)1 << 20)

static uint64_t rnd(uint64_t below)
{
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static struct loader opened(int minor, size_t ranks, size_t nodes)
{
    struct loader l = load(minor);
    CHECK(init(&l, ranks, nodes, NULL, NULL) == NCCLTUNE_SUCCESS);
    return l;
}

/* ---- cells ----------------------------------------------------------------------------------------------------- */

static const char busy_table[] = "allreduce,0,1000,nvls,simple,4,-1,-1\n"
                                 "allreduce,0,100000,tree,-1,8,-1,-1\n"
                                 "allreduce,0,-1,-1,simple,2,-1,-1,2\n"
                                 "allreduce,0,-1,ring,ll128,16,-1,-1\n"
                                 "broadcast,0,-1,-1,-1,3,-1,-1\n"
                                 "allgather,0,-1,pat,simple,-1,-1,-1\n";

/* Random tables with holes and oddities, in every dimension that NCCL or RCCL could have: at most one cell changes, to
 * 0, and it was available. */
static void writes_one_available_cell(int minor)
{
    static const float values[] = {-1, -1, 1, 2, 3, 0, -2, NAN, INFINITY, FLT_MAX};
    use_table(busy_table);
    struct loader l = opened(minor, 16, 2);
    const struct nccl_tuner_v4 *v4 = l.tuner;
    const struct nccl_tuner_v3 *v3 = l.tuner;
    for (int round = 0; round < 50000; round++) {
        float cost[10 * 5], before[10 * 5];
        int algos = (int)rnd(10), protos = (int)rnd(5), channels = 0, cells = algos * protos, changed = 0;
        for (int i = 0; i < 50; i++)
            cost[i] = values[rnd(sizeof values / sizeof *values)];
        memcpy(before, cost, sizeof cost);
        int coll = (int)rnd(8) - 1, pipe_ops = (int)rnd(3);
        size_t bytes = rnd(2) ? rnd(200000) : SIZE_MAX - rnd(5);
        if (l.api == 3)
            CHECK(v3->get_coll_info(l.context, coll, bytes, pipe_ops, (float **)cost, algos, protos, &channels) == 0);
        else
            CHECK(v4->get_coll_info(l.context, coll, bytes, pipe_ops, (float **)cost, algos, protos, (int)rnd(2),
                                    &channels) == 0);
        for (int i = 0; i < 50; i++)
            if (!same_bytes(&cost[i], &before[i], sizeof *cost)) {
                CHECK(i < cells && before[i] >= 0 && before[i] <= FLT_MAX && cost[i] == 0);
                changed++;
            }
        CHECK(changed <= 1 && channels >= 0 && channels <= 16);
    }
    destroy(&l);
}

static void falls_through_unavailable_cells(int minor)
{
    use_table("allreduce,0,-1,nvls,simple,4,-1,-1\n"
              "allreduce,0,-1,tree,ll,8,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question q = question(COLL_ALLREDUCE, 1 << 20);
    q.cost[ALGO_NVLS][PROTO_SIMPLE] = -1;
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.proto == PROTO_LL && q.channels == 8);
    CHECK(l.api < 3 || q.cost[ALGO_NVLS][PROTO_SIMPLE] == -1);
    destroy(&l);
}

/* An open protocol takes the cheapest cell by NCCL's own prediction; with both open, only the channels are set. */
static void completes_open_choices(int minor)
{
    use_table("allreduce,0,100,tree,-1,8,-1,-1\n"
              "allreduce,101,200,any,simple,4,-1,-1\n"
              "allreduce,201,300,-1,any,2,-1,-1\n"
              "allreduce,301,400,-1,-1,-1,-1,-1\n"
              "allreduce,0,-1,ring,simple,1,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question q = question(COLL_ALLREDUCE, 100);
    q.cost[ALGO_TREE][PROTO_LL] = -1;
    q.cost[ALGO_TREE][PROTO_LL128] = 1.5F;
    q.cost[ALGO_NVLS][PROTO_SIMPLE] = 1.25F;
    struct question column = q, channels = q, nothing = q;
    column.bytes = 200;
    channels.bytes = 300;
    nothing.bytes = 400;
    CHECK(ask(&l, &q) == 0 && q.algo == ALGO_TREE && q.channels == 8);
    CHECK(q.proto == (l.api >= 3 ? PROTO_LL128 : PROTO_SIMPLE)); /* without predictions: what is always possible */
    CHECK(ask(&l, &column) == 0 && column.proto == PROTO_SIMPLE && column.channels == 4);
    CHECK(column.algo == (l.api >= 3 ? ALGO_NVLS : ALGO_RING));
    CHECK(ask(&l, &channels) == 0 && channels.algo == ALGO_RING && channels.proto == PROTO_LL &&
          channels.channels == 2);
    CHECK(ask(&l, &nothing) == 0 && nothing.algo == ALGO_RING && nothing.proto == PROTO_LL && nothing.channels == 0);
    destroy(&l);
}

/* Whatever number stands there: without channels in the rule it is not the plugin's to write. */
static void leaves_channels_untouched(int minor)
{
    use_table("allreduce,0,100,tree,simple,-1,-1,-1\n"
              "allreduce,101,200,tree,-1,-1,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    const struct nccl_tuner_v4 *v4 = l.tuner;
    for (size_t bytes = 100; bytes <= 300; bytes += 100) {
        struct question q = question(COLL_ALLREDUCE, bytes);
        int channels = 99;
        CHECK(v4->get_coll_info(l.context, COLL_ALLREDUCE, bytes, 1, (float **)q.cost, ALGO_COUNT, PROTO_COUNT, 0,
                                &channels) == 0);
        CHECK(channels == 99 &&
              (q.cost[ALGO_TREE][PROTO_SIMPLE] == 0 || q.cost[ALGO_TREE][PROTO_LL] == 0 || bytes == 300));
    }
    destroy(&l);
}

/* 2.31 also asks about calls whose table is all -1; nothing at all is to be said there. */
static void says_nothing_to_an_empty_table(int minor)
{
    use_table("allreduce,0,-1,-1,-1,8,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question q = question(COLL_ALLREDUCE, 100);
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        q.cost[i / PROTO_COUNT][i % PROTO_COUNT] = -1;
    struct question before = q;
    CHECK(ask(&l, &q) == 0 && q.channels == (l.api >= 3 ? 0 : 8));
    CHECK(same_bytes(q.cost, before.cost, sizeof q.cost));
    destroy(&l);
}

/* The same call asked twice, as 2.31 does where a kernel on symmetric memory is no choice, gets one answer. */
static void answers_the_same_twice(int minor)
{
    use_table("allreduce,0,-1,tree,simple,8,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question ignored = question(COLL_ALLREDUCE, 100), first = question(COLL_ALLREDUCE, 100), second = first;
    for (int i = 0; i < ALGO_COUNT * PROTO_COUNT; i++)
        ignored.cost[i / PROTO_COUNT][i % PROTO_COUNT] = -1;
    CHECK(ask(&l, &ignored) == 0 && ask(&l, &first) == 0 && ask(&l, &ignored) == 0 && ask(&l, &second) == 0);
    CHECK(first.algo == ALGO_TREE && first.channels == 8 && second.algo == ALGO_TREE && second.channels == 8);
    CHECK(same_bytes(first.cost, second.cost, sizeof first.cost));
    destroy(&l);
}

static struct question priced(int coll, size_t bytes, int ranks, float ring_times);

/* Nor does a rule for another algorithm apply: what was measured is not what runs. */
static void leaves_it_whatever_the_rule_names(int minor)
{
    use_table("allreduce,0,-1,tree,ll,3,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question fp8 = priced(COLL_ALLREDUCE, MIB, 16, 1024), usual = priced(COLL_ALLREDUCE, MIB, 16, 1);
    CHECK(ask(&l, &usual) == 0 && usual.proto == PROTO_LL && usual.channels == 3);
    CHECK(ask(&l, &fp8) == 0 && fp8.proto != PROTO_LL && !fp8.channels);
    destroy(&l);
}

/* Costs as NCCL's model has them, near enough: Ring by `ranks`, Tree by their logarithm, and bandwidths. */
static struct question priced(int coll, size_t bytes, int ranks, float ring_times)
{
    static const float step_us[PROTO_COUNT] = {4, 8, 20}, GBps[PROTO_COUNT] = {25, 90, 100};
    struct question q = question(coll, bytes);
    for (int a = 0; a < ALGO_COUNT; a++)
        for (int p = 0; p < PROTO_COUNT; p++) {
            float steps = a == ALGO_RING ? 2 * (float)ranks : 2 * log2f((float)ranks);
            float us = steps * step_us[p] + (float)bytes / (1000 * GBps[p]) * (a == ALGO_RING ? 1 : 1.3F);
            q.cost[a][p] = a <= ALGO_RING ? us * (a == ALGO_RING ? ring_times : 1) : -1;
        }
    return q;
}

/* Above eight ranks NCCL makes Ring 1024 times dearer for fp8; the table's Ring was measured with another type. */
static void leaves_what_nccl_relegates(int minor)
{
    static const int ranks[] = {2, 8, 9, 16, 72, 512, 8192};
    static const int reductions[] = {COLL_ALLREDUCE, COLL_REDUCESCATTER, COLL_REDUCE};
    use_table("allreduce,0,-1,ring,simple,3,-1,-1\nreducescatter,0,-1,ring,-1,3,-1,-1\n"
              "reduce,0,-1,ring,ll,3,-1,-1\nallgather,0,-1,ring,simple,3,-1,-1\n"
              "broadcast,0,-1,ring,simple,3,-1,-1\n");
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct loader l = opened(minor, (size_t)ranks[i], ranks[i] > 8 ? (size_t)ranks[i] / 8 : 1);
        for (size_t bytes = 8; bytes <= (size_t)16 << 30; bytes *= 2)
            for (size_t k = 0; k < 3; k++) {
                struct question fp8 = priced(reductions[k], bytes, ranks[i], ranks[i] > 8 ? 1024 : 1), before = fp8;
                struct question usual = priced(reductions[k], bytes, ranks[i], 1);
                CHECK(ask(&l, &usual) == 0 && usual.algo == ALGO_RING && usual.channels == 3);
                CHECK(ask(&l, &fp8) == 0 && (fp8.algo == ALGO_RING) == (ranks[i] <= 8));
                CHECK(ranks[i] <= 8 || (!fp8.channels && same_bytes(fp8.cost, before.cost, sizeof fp8.cost)));
            }
        struct question gather = priced(COLL_ALLGATHER, MIB, ranks[i], 1);
        CHECK(ask(&l, &gather) == 0 && gather.algo == ALGO_RING && gather.channels == 3);
        destroy(&l);
    }
}

static void knows_sizes_beyond_4_GiB(int minor)
{
    use_table("allreduce,0,4294967295,tree,simple,2,-1,-1\n"
              "allreduce,4294967296,1099511627776,ring,simple,4,-1,-1\n"
              "allreduce,18446744073709551615,18446744073709551615,tree,ll,8,-1,-1\n");
    struct loader l = opened(minor, 16, 2);
    struct question below = question(COLL_ALLREDUCE, 4294967295), above = question(COLL_ALLREDUCE, 4294967296),
                    last = question(COLL_ALLREDUCE, SIZE_MAX);
    CHECK(ask(&l, &below) == 0 && below.algo == ALGO_TREE && below.proto == PROTO_SIMPLE);
    CHECK(ask(&l, &above) == 0 && above.algo == ALGO_RING && above.proto == PROTO_SIMPLE);
    CHECK(ask(&l, &last) == 0 && last.algo == ALGO_TREE && last.proto == PROTO_LL && last.channels == 8);
    destroy(&l);
}

/* ---- callers that misbehave ------------------------------------------------------------------------------------ */

static void tolerates_null_pointers(int minor)
{
    use_table(busy_table);
    struct loader l = opened(minor, 16, 2);
    const struct nccl_tuner_v1 *v1 = l.tuner;
    const struct nccl_tuner_v2 *v2 = l.tuner;
    const struct nccl_tuner_v3 *v3 = l.tuner;
    const struct nccl_tuner_v4 *v4 = l.tuner;
    float cost[ALGO_COUNT * PROTO_COUNT] = {0};
    int channels = 0;
    if (l.api == 1) {
        CHECK(v1->get_coll_info(COLL_ALLREDUCE, 10, 0, 0, 1, NULL, NULL, NULL) == 0);
    } else if (l.api == 2) {
        CHECK(v2->get_coll_info(l.context, COLL_ALLREDUCE, 10, 0, 0, 1, NULL, NULL, NULL) == 0);
        CHECK(v2->get_coll_info(NULL, COLL_ALLREDUCE, 10, 0, 0, 1, &channels, &channels, &channels) == 0);
    } else if (l.api == 3) {
        CHECK(v3->get_coll_info(NULL, COLL_ALLREDUCE, 10, 1, (float **)cost, ALGO_COUNT, PROTO_COUNT, &channels) == 0);
        CHECK(v3->get_coll_info(l.context, COLL_ALLREDUCE, 10, 1, NULL, ALGO_COUNT, PROTO_COUNT, NULL) == 0);
    } else {
        CHECK(v4->get_coll_info(NULL, COLL_ALLREDUCE, 10, 1, (float **)cost, ALGO_COUNT, PROTO_COUNT, 0, &channels) ==
              0);
        CHECK(v4->get_coll_info(l.context, COLL_ALLREDUCE, 10, 1, NULL, ALGO_COUNT, PROTO_COUNT, 0, NULL) == 0);
        CHECK(v4->get_coll_info(l.context, COLL_ALLREDUCE, 10, 1, (float **)cost, -1, PROTO_COUNT, 0, &channels) == 0);
        CHECK(v4->get_coll_info(l.context, COLL_ALLREDUCE, 10, 1, (float **)cost, ALGO_COUNT, PROTO_COUNT, 0, NULL) ==
              0);
    }
    CHECK(channels == 0);
    CHECK(destroy(&l) == 0 && destroy(&l) == 0); /* twice */
    l.context = NULL;
    CHECK(destroy(&l) == 0);
    struct loader again = opened(minor, 16, 2); /* and alive after all that */
    struct question q = question(COLL_ALLREDUCE, 50000);
    CHECK(ask(&again, &q) == 0 && q.algo == ALGO_TREE);
}

/* ---- threads --------------------------------------------------------------------------------------------------- */

enum { THREADS = 8 };

static void *init_and_ask(void *arg)
{
    struct loader *l = arg;
    for (int i = 0; i < 200; i++) {
        CHECK(init(l, 16, (size_t)i % 5 + 1, NULL, NULL) == 0);
        struct question q = question(COLL_ALLREDUCE, 50000);
        CHECK(ask(l, &q) == 0 && q.algo == ALGO_TREE && q.channels == 8);
        CHECK(destroy(l) == 0);
    }
    return NULL;
}

static void serves_many_threads(int minor)
{
    use_table(busy_table);
    struct loader l[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        l[i] = load(minor);
        l[i].silent = 1;
        CHECK(pthread_create(&threads[i], NULL, init_and_ask, &l[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- chunk sizes (version 6) ----------------------------------------------------------------------------------- */

static size_t chunk(const struct loader *l, int coll, size_t bytes, int algo, int proto, int channels)
{
    const struct nccl_tuner_v6 *v6 = l->tuner;
    size_t bytes_out = 524288;
    CHECK(v6->get_chunk_size(l->context, coll, bytes, algo, proto, channels, &bytes_out) == 0);
    return bytes_out;
}

static void sets_chunk_sizes(int minor)
{
    use_table("allreduce,0,1048576,ring,simple,4,-1,-1,-1,-1,131072\n"
              "allreduce,1048577,-1,ring,simple,8,-1,-1,-1,-1,262144\n"
              "allreduce,0,-1,tree,simple,8,-1,-1,-1,-1\n"
              "allreduce,0,-1,tree,simple,8,-1,-1,-1,-1,65536\n"
              "allreduce,0,-1,tree,ll,8,-1,-1,1,-1,32768\n"
              "reduce,0,-1,-1,-1,2,4,32,-1,-1,16384\n");
    struct loader l = opened(minor, 32, 4);
    CHECK(l.api >= 6);
    const struct nccl_tuner_v6 *v6 = l.tuner;
    /* One channel's slice: 256 KiB on 4 channels is the upper end of the first rule. */
    CHECK(chunk(&l, COLL_ALLREDUCE, 262144, ALGO_RING, PROTO_SIMPLE, 1) == 131072);
    CHECK(chunk(&l, COLL_ALLREDUCE, 262145, ALGO_RING, PROTO_SIMPLE, 1) == 262144);
    CHECK(chunk(&l, COLL_ALLREDUCE, SIZE_MAX, ALGO_RING, PROTO_SIMPLE, 1) == 262144);
    /* The whole size and its channels, as for CollNet. */
    CHECK(chunk(&l, COLL_ALLREDUCE, 1048576, ALGO_RING, PROTO_SIMPLE, 4) == 131072);
    /* Another algorithm or protocol; a first match without chunk size; a condition that is not passed here. */
    CHECK(chunk(&l, COLL_ALLREDUCE, 262144, ALGO_RING, PROTO_LL, 1) == 524288);
    CHECK(chunk(&l, COLL_ALLREDUCE, 262144, ALGO_TREE, PROTO_SIMPLE, 1) == 524288);
    CHECK(chunk(&l, COLL_ALLREDUCE, 262144, ALGO_TREE, PROTO_LL, 1) == 524288);
    CHECK(chunk(&l, COLL_REDUCE, 4096, ALGO_RING, PROTO_LL, 1) == 16384);
    CHECK(chunk(&l, COLL_BROADCAST, 4096, ALGO_RING, PROTO_LL, 1) == 524288);
    CHECK(chunk(&l, -1, 4096, ALGO_RING, PROTO_LL, 1) == 524288 &&
          chunk(&l, 9, 4096, ALGO_RING, PROTO_LL, 0) == 524288);
    CHECK(v6->get_chunk_size(l.context, COLL_ALLREDUCE, 1, ALGO_RING, PROTO_SIMPLE, 1, NULL) == 0);
    size_t untouched = 77;
    CHECK(v6->get_chunk_size(NULL, COLL_ALLREDUCE, 1, ALGO_RING, PROTO_SIMPLE, 1, &untouched) == 0 && untouched == 77);
    destroy(&l);
}

/* ---- the list -------------------------------------------------------------------------------------------------- */

static void over(void (*test)(int), int oldest)
{
    for (size_t i = 0; i < RELEASES; i++)
        if (releases[i] >= oldest)
            in_child(test, releases[i]);
}

#define TEST(function, oldest)                 \
    static void test_##function(void **unused) \
    {                                          \
        (void)unused;                          \
        over(function, oldest);                \
    }

TEST(writes_one_available_cell, NCCL_2_22)
TEST(falls_through_unavailable_cells, NCCL_2_19)
TEST(completes_open_choices, NCCL_2_19)
TEST(leaves_channels_untouched, NCCL_2_24)
TEST(says_nothing_to_an_empty_table, NCCL_2_19)
TEST(answers_the_same_twice, NCCL_2_22)
TEST(leaves_what_nccl_relegates, NCCL_2_24)
TEST(leaves_it_whatever_the_rule_names, NCCL_2_24)
TEST(knows_sizes_beyond_4_GiB, NCCL_2_19)
TEST(tolerates_null_pointers, NCCL_2_19)
TEST(serves_many_threads, NCCL_2_19)
TEST(sets_chunk_sizes, NCCL_2_30)

int test_plugin(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_writes_one_available_cell),
        cmocka_unit_test(test_falls_through_unavailable_cells),
        cmocka_unit_test(test_completes_open_choices),
        cmocka_unit_test(test_leaves_channels_untouched),
        cmocka_unit_test(test_says_nothing_to_an_empty_table),
        cmocka_unit_test(test_answers_the_same_twice),
        cmocka_unit_test(test_leaves_what_nccl_relegates),
        cmocka_unit_test(test_leaves_it_whatever_the_rule_names),
        cmocka_unit_test(test_knows_sizes_beyond_4_GiB),
        cmocka_unit_test(test_tolerates_null_pointers),
        cmocka_unit_test(test_serves_many_threads),
        cmocka_unit_test(test_sets_chunk_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
