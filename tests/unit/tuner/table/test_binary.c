/* tuner/table/binary*.c: what is prepared answers as the table itself does, and damage is found before it is used. */
#include "tests/lib/unit.h"
#include "tuner/table/binary.h"
#include "tuner/table/index.h"

static const char hash[65] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static uint64_t rnd(uint64_t below)
{
    static uint64_t state = 0x9e3779b97f4a7c15;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state * 0x2545f4914f6cdd1d >> 11) % below;
}

static struct tuner_table parsed(const char *text)
{
    struct tuner_table t;
    assert_int_equal(tuner_table_parse(&t, text, strlen(text), NULL, NULL), 0);
    return t;
}

static const struct tuner_shape shapes[] = {{1, 8, TUNER_UNKNOWN},
                                            {1, 8, 1},
                                            {2, 16, 2},
                                            {4, 32, 4},
                                            {8, 64, 1},
                                            {16, 128, 16},
                                            {3, 24, 3},
                                            {0, 8, TUNER_UNKNOWN},
                                            {7, 7, 7},
                                            {2147483647, 2147483647, 0}};
#define SHAPES (sizeof shapes / sizeof *shapes)

static void same_answers(const struct tuner_index *a, const struct tuner_index *b)
{
    float cost[ALGO_COUNT * PROTO_COUNT];
    assert_int_equal(a->rules, b->rules);
    assert_int_equal(tuner_index_is_scanned(a), tuner_index_is_scanned(b));
    for (int i = 0; i < 600; i++) {
        for (int k = 0; k < ALGO_COUNT * PROTO_COUNT; k++)
            cost[k] = rnd(4) ? (float)rnd(9) : -1;
        uint64_t bytes = rnd(8) ? rnd(UINT64_C(1) << rnd(36)) : UINT64_MAX - rnd(2);
        struct tuner_call call = {(int)rnd(6), bytes, (int)rnd(3), (int)rnd(2), cost, ALGO_COUNT, PROTO_COUNT};
        struct tuner_choice x = tuner_index_choose(a, &call), y = tuner_index_choose(b, &call);
        assert_true(x.found == y.found && x.algo == y.algo && x.proto == y.proto && x.channels == y.channels);
        int algo = (int)rnd(ALGO_COUNT), proto = (int)rnd(PROTO_COUNT);
        assert_int_equal(tuner_index_chunk(a, call.coll, bytes, algo, proto),
                         tuner_index_chunk(b, call.coll, bytes, algo, proto));
    }
}

/* Random rules for random shapes, which overlap. */
TEST_CASE(answers_as_the_table_does)
{
    static const char *const colls[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
    static const char *const algos[] = {"tree", "ring", "nvls", "-1"}, *const protos[] = {"ll", "simple", "-1"};
    static const char *const counts[] = {"-1", "1", "2", "2-8", "8-64", "16"};
    static char text[1 << 18];
    for (int round = 0; round < 20; round++) {
        size_t used =
            (size_t)snprintf(text, sizeof text, "# nccltune-tuner/1\n# nccl: 2.28,2.30\n# next-tuner: auto\n");
        for (int i = 0, rules = 1 + (int)rnd(400); i < rules; i++) {
            uint64_t low = rnd(UINT64_C(1) << rnd(32)), high = low + rnd(UINT64_C(1) << rnd(32));
            int channels = (int)rnd(5);
            used += (size_t)snprintf(text + used, sizeof text - used, "%s,%llu,%llu,%s,%s,%d,%s,%s,%s,%s,%d,%s\n",
                                     colls[rnd(5)], (unsigned long long)low, (unsigned long long)high, algos[rnd(4)],
                                     protos[rnd(3)], channels, counts[rnd(6)], counts[rnd(6)], rnd(3) ? "-1" : "1",
                                     rnd(3) ? "-1" : "0", channels ? (int)rnd(9) * 4096 : 0, counts[rnd(5)]);
        }
        struct tuner_table t = parsed(text), back;
        struct tuner_binary b;
        size_t bytes = 0;
        void *data = tuner_binary_make(&t, hash, &bytes);
        assert_true(data && !tuner_binary_open(&b, data, bytes, &back));
        assert_true(back.count == t.count && back.next_auto && back.nccl_count == 2 && back.nccl[1].minor == 30);
        assert_true(!memcmp(b.csv_sha256, hash, 64));
        for (size_t i = 0; i < SHAPES; i++) {
            struct tuner_index *plain = tuner_index_new(&t, &shapes[i]), *quick = tuner_binary_index(&b, &shapes[i]);
            same_answers(plain, quick);
            tuner_index_free(plain);
            tuner_index_free(quick);
        }
        tuner_binary_close(&b);
        free(data);
        tuner_table_free(&t);
    }
}

static void *prepared(size_t *bytes)
{
    struct tuner_table t = parsed("allreduce,0,1000,ring,simple,4,2,16\nallreduce,1001,90000,tree,-1,8,-1,16\n"
                                  "reduce,0,-1,ring,ll,-1,1-4,-1\nallgather,0,-1,ring,simple,4,-1,-1,-1,-1,65536\n");
    void *data = tuner_binary_make(&t, hash, bytes);
    assert_non_null(data);
    tuner_table_free(&t);
    return data;
}

static int opens(const void *data, size_t bytes)
{
    struct tuner_binary b;
    struct tuner_table t;
    void *copy = malloc(bytes ? bytes : 1); /* of that size, for the sanitizer */
    memcpy(copy, data, bytes);
    int rc = tuner_binary_open(&b, copy, bytes, &t);
    for (size_t i = 0; !rc && i < SHAPES; i++) {
        struct tuner_index *ix = tuner_binary_index(&b, &shapes[i]);
        same_answers(ix, ix);
        tuner_index_free(ix);
    }
    if (!rc)
        tuner_binary_close(&b);
    free(copy);
    return !rc;
}

TEST_CASE(refuses_what_is_cut_or_of_another_machine)
{
    size_t bytes;
    unsigned char *data = prepared(&bytes);
    struct tuner_binary_head *h = (void *)data;
    assert_true(opens(data, bytes));
    for (size_t n = 0; n < bytes; n++)
        assert_false(opens(data, n));
    h->order = 0x04030201;
    assert_false(opens(data, bytes));
    h->order = TUNER_BINARY_ORDER;
    h->format[sizeof "nccltune-tuner-bin/" - 1] = '2';
    assert_false(opens(data, bytes));
    free(data);
}

/* Whatever a word of it says, nothing outside of it is read: the sanitizers tell. */
TEST_CASE(survives_damage)
{
    static const uint32_t words[] = {0, 1, 7, 255, 65536, 0x7fffffff, UINT32_MAX, 0x8000};
    size_t bytes;
    unsigned char *data = prepared(&bytes);
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
        uint32_t before;
        memcpy(&before, data + at, 4);
        memcpy(data + at, &words[rnd(8)], 4);
        opens(data, bytes);
        memcpy(data + at, &before, 4);
    }
    free(data);
}

/* More kinds of communicators than cells: tuner.csv alone stays. */
TEST_CASE(prepares_no_endless_table)
{
    static char text[1 << 18];
    size_t used = 0, bytes = 0;
    for (int i = 1; i <= 3000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "allreduce,0,-1,ring,ll,4,%d,%d\n", i, 8 * i);
    struct tuner_table t = parsed(text);
    assert_null(tuner_binary_make(&t, hash, &bytes));
    tuner_table_free(&t);
}

TEST_CASES(test_binary)
