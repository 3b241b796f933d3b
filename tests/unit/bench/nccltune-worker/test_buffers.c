/* Data that reductions are checked with: whatever the type and however many ranks, their sum is exact, so that only a
 * wrong result is called wrong; and every rank's part in it is seen. */
#include "bench/nccltune-worker/buffers.h"
#include "core/coll.h"
#include "tests/lib/unit.h"

#define COUNT 1000

/* ---- a GPU that is host memory ---- */

static int put(void *to, const void *from, size_t bytes, void *stream)
{
    (void)stream;
    memcpy(to, from, bytes);
    return 0;
}

static int finish(void *stream)
{
    (void)stream;
    return 0;
}

static const struct gpu host = {.put_in = put, .put_out = put, .finish = finish};

/* ---- reducing as NCCL does: every sum is rounded to the type ---- */

static float of_bfloat(const char *at)
{
    uint16_t half;
    memcpy(&half, at, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static void put_bfloat(char *at, float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    uint16_t half = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* to nearest, ties to even */
    memcpy(at, &half, sizeof half);
}

static void add(char *into, const char *from, int type)
{
    float a, b;
    uint32_t i, k;
    switch (type) {
    case NCCL_INT8:
        *into = (char)(*into + *from);
        break;
    case NCCL_INT32:
        memcpy(&i, into, sizeof i);
        memcpy(&k, from, sizeof k);
        i += k;
        memcpy(into, &i, sizeof i);
        break;
    case NCCL_BFLOAT16:
        put_bfloat(into, of_bfloat(into) + of_bfloat(from));
        break;
    default:
        memcpy(&a, into, sizeof a);
        memcpy(&b, from, sizeof b);
        a += b;
        memcpy(into, &a, sizeof a);
    }
}

static struct data_shape shape_of(int coll, int type, int rank, int nranks)
{
    struct data_shape s;
    uint64_t bytes = COUNT * (uint64_t)coll_blocks(coll, nranks) * data_type_bytes(type);
    struct nccl_point p = {.coll = coll, .type = type, .bytes = bytes};
    assert_int_equal(data_shape_of(&p, rank, nranks, &s), 0);
    return s;
}

/* Rank `out` receives the sum of all, with rank `silent` left out (-1: none). What data_check says to that. */
static int check_sum(int coll, int type, int nranks, int out, int silent, struct err *e)
{
    struct data_shape mine = shape_of(coll, type, out, nranks);
    size_t size = data_type_bytes(type), from = coll == COLL_REDUCESCATTER ? (size_t)out * COUNT * size : 0;
    char *sent = malloc(mine.send * size), *sum = calloc(COUNT, size);
    for (int r = 0; r < nranks; r++) {
        struct data_shape s = shape_of(coll, type, r, nranks);
        assert_int_equal(data_fill(&host, NULL, &s, sent), 0);
        for (size_t i = 0; i < COUNT && r != silent; i++)
            add(sum + i * size, sent + from + i * size, type);
    }
    int wrong = data_check(&host, NULL, &mine, sum, e);
    free(sent);
    free(sum);
    return wrong;
}

/* Each rank's share of what all send: a block, of AllToAllV three for the first. One byte elsewhere is wrong. */
TEST_CASE(shares_are_looked_at)
{
    static const int colls[] = {COLL_ALLGATHER, COLL_ALLTOALL, COLL_ALLTOALLV};
    for (int c = 0; c < 3; c++)
        for (int rank = 0; rank < 5; rank++) {
            struct data_shape s = shape_of(colls[c], NCCL_INT32, rank, 5);
            uint64_t hot = colls[c] == COLL_ALLTOALLV && !rank ? 3 : 1;
            uint64_t from = colls[c] == COLL_ALLGATHER  ? 0
                            : colls[c] == COLL_ALLTOALL ? (uint64_t)rank * COUNT
                                                        : (rank ? (uint64_t)rank + 2 : 0) * COUNT;
            assert_int_equal(s.recv, 5 * hot * COUNT);
            char *got = malloc(s.recv * 4);
            for (int r = 0; r < 5; r++) {
                struct data_shape other = shape_of(colls[c], NCCL_INT32, r, 5);
                char *sent = malloc(other.send * 4);
                assert_int_equal(data_fill(&host, NULL, &other, sent), 0);
                memcpy(got + (uint64_t)r * hot * COUNT * 4, sent + from * 4, hot * COUNT * 4);
                free(sent);
            }
            assert_int_equal(data_check(&host, NULL, &s, got, NULL), 0);
            for (uint64_t at = 0; at < s.recv * 4; at += 997) {
                got[at]++;
                assert_int_equal(data_check(&host, NULL, &s, got, NULL), 1);
                got[at]--;
            }
            free(got);
        }
}

static const int reductions[] = {COLL_ALLREDUCE, COLL_REDUCE, COLL_REDUCESCATTER};
static const int all_types[] = {NCCL_INT8, NCCL_INT32, NCCL_FLOAT32, NCCL_BFLOAT16};

TEST_CASE(a_right_sum_is_right_with_any_number_of_ranks)
{
    static const int sizes[] = {2, 3, 37, 68, 108, 256, 1000};
    struct err why;
    for (int c = 0; c < 3; c++)
        for (int t = 0; t < 4; t++)
            for (int n = 0; n < (c == 2 ? 5 : 7); n++)
                for (int last = 0; last < 2; last++)
                    if (check_sum(reductions[c], all_types[t], sizes[n], last ? sizes[n] - 1 : 0, -1, &why))
                        fail_msg("%s, %s, %d ranks: %s", coll_name(reductions[c]), data_type_name(all_types[t]),
                                 sizes[n], why.text);
}

TEST_CASE(nobody_is_left_out_unseen)
{
    static const int sizes[] = {3, 37, 108, 256};
    struct err why;
    for (int t = 0; t < 4; t++)
        for (int n = 0; n < 4; n++)
            for (int silent = 0; silent < sizes[n]; silent += n < 2 ? 1 : 5) {
                if (check_sum(COLL_ALLREDUCE, all_types[t], sizes[n], 1, silent, &why) != 1)
                    fail_msg("%s: rank %d of %d is not missed", data_type_name(all_types[t]), silent, sizes[n]);
                char *rest, got[32], want[32];
                assert_memory_equal(why.text, "rank 1: element ", 16);
                unsigned long long at = strtoull(why.text + 16, &rest, 10);
                assert_memory_equal(rest, " of ", 4);
                unsigned long long all = strtoull(rest + 4, &rest, 10);
                assert_int_equal(sscanf(rest, " holds bytes %31[0-9a-f], expected %31[0-9a-f]", got, want), 2);
                assert_true(at < all && all == COUNT);
                size_t digits = 2 * data_type_bytes(all_types[t]);
                assert_true(strlen(got) == digits && strlen(want) == digits && strcmp(got, want) != 0);
            }
}

TEST_CASE(a_type_that_nobody_knows)
{
    const struct nccl_point p = {.coll = COLL_ALLREDUCE, .type = 99, .bytes = 64};
    struct data_shape s;
    struct err why;
    char none[1];
    assert_int_equal(data_type_bytes(99), 0);
    assert_string_equal(data_type_name(99), "unknown");
    assert_int_equal(data_shape_of(&p, 0, 2, &s), -1);
    assert_true(s.count == 0 && s.send == 0 && s.recv == 0);
    s.rank = 7;
    assert_int_equal(data_fill(&host, NULL, &s, none), -1);
    assert_int_equal(data_check(&host, NULL, &s, none, &why), -1);
    assert_string_equal(why.text, "rank 7: data type 99 is unknown");
}

/* float32 unless the size leaves no whole ones for a part, and is small. */
TEST_CASE(the_type_that_fits)
{
    static const struct {
        int coll;
        uint64_t bytes;
        const char *type;
    } rows[] = {{COLL_ALLREDUCE, 64, "float32"},     {COLL_ALLREDUCE, 63, "int8"},
                {COLL_ALLREDUCE, 65535, "int8"},     {COLL_ALLREDUCE, 65537, "float32"},
                {COLL_ALLGATHER, 24, "float32"},     {COLL_ALLGATHER, 28, "int8"},
                {COLL_ALLGATHER, 3 * 65535, "int8"}, {COLL_ALLGATHER, 3 * 65536 + 1, "float32"},
                {COLL_ALLTOALLV, 40, "float32"},     {COLL_ALLTOALLV, 36, "int8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct nccl_point p = {.coll = rows[i].coll, .type = NCCL_TYPE_FITTING, .bytes = rows[i].bytes};
        struct data_shape s;
        assert_int_equal(data_shape_of(&p, 0, 3, &s), 0);
        assert_string_equal(data_type_name(s.type), rows[i].type);
    }
}

TEST_CASES(test_buffers)
