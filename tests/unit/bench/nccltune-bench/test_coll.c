/* bench/nccltune-bench/coll.c over a double of MPI: what each rank hands to its call is carried out here among all of
 * them, as MPI's standard has it. The data must come out right then, and any element that does not be found. */
#include "bench/nccltune-bench/coll.c" /* which is in no library */
#include "tests/lib/unit.h"

#define MOST  5
#define LARGE ((size_t)1 << 20) /* an allocation that this machine refuses */

/* ---- the double ---- */

struct ompi_predefined_datatype_t {
    char none;
} ompi_mpi_uint8_t, ompi_mpi_uint32_t;
struct ompi_predefined_op_t {
    char none;
} ompi_mpi_op_sum;

/* A call as a rank made it. */
static struct call {
    const char *name;
    const char *send;
    char *recv;
    int nsend, nrecv, root, to, from;
    const int *counts, *offsets, *come, *places; /* by rank: what is sent and from where, what comes and to where */
} calls[MOST];
static int me, result;
static MPI_Comm comm = (MPI_Comm)(void *)calls;

static int called(const struct call *c, MPI_Datatype type, MPI_Datatype other, MPI_Comm on)
{
    assert_ptr_equal(on, comm);
    assert_ptr_equal(type, other);
    calls[me] = *c;
    return result;
}

int MPI_Allreduce(const void *send, void *recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm on)
{
    assert_ptr_equal(op, MPI_SUM);
    return called(&(struct call){.name = "allreduce", .send = send, .recv = recv, .nsend = n}, type, type, on);
}

int MPI_Allgather(const void *send, int nsend, MPI_Datatype type, void *recv, int nrecv, MPI_Datatype other,
                  MPI_Comm on)
{
    return called(&(struct call){"allgather", send, recv, nsend, nrecv, 0, 0, 0, NULL, NULL, NULL, NULL}, type, other,
                  on);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int counts[], MPI_Datatype type, MPI_Op op, MPI_Comm on)
{
    assert_ptr_equal(op, MPI_SUM);
    return called(&(struct call){.name = "reducescatter", .send = send, .recv = recv, .counts = counts}, type, type,
                  on);
}

int MPI_Alltoall(const void *send, int nsend, MPI_Datatype type, void *recv, int nrecv, MPI_Datatype other, MPI_Comm on)
{
    assert_int_equal(nsend, nrecv);
    return called(&(struct call){.name = "alltoall", .send = send, .recv = recv, .nsend = nsend}, type, other, on);
}

int MPI_Alltoallv(const void *send, const int counts[], const int offsets[], MPI_Datatype type, void *recv,
                  const int come[], const int places[], MPI_Datatype other, MPI_Comm on)
{
    const struct call c = {"alltoallv", send, recv, 0, 0, 0, 0, 0, counts, offsets, come, places};
    return called(&c, type, other, on);
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype type, int root, MPI_Comm on)
{
    return called(&(struct call){.name = "broadcast", .recv = buffer, .nrecv = n, .root = root}, type, type, on);
}

int MPI_Sendrecv(const void *send, int nsend, MPI_Datatype type, int to, int tag, void *recv, int nrecv,
                 MPI_Datatype other, int from, int wanted, MPI_Comm on, MPI_Status *status)
{
    assert_int_equal(tag, wanted);
    assert_ptr_equal(status, MPI_STATUS_IGNORE);
    assert_int_equal(nsend, nrecv);
    return called(
        &(struct call){.name = "sendrecv", .send = send, .recv = recv, .nsend = nsend, .to = to, .from = from}, type,
        other, on);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;
    return bytes > LARGE || posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}

/* ---- carrying it out ---- */

static struct coll_job jobs[MOST];
static int ranks;

static void add(char *into, const char *from, size_t n, size_t element)
{
    for (size_t i = 0; i < n; i++)
        put_value(into, element, i, get_value(into, element, i) + get_value(from, element, i));
}

static void carry_out_for(int r)
{
    const struct call *c = &calls[r];
    size_t size = jobs[r].element, n = (size_t)c->nsend * size, before = 0;
    for (int k = 0; k < r && c->counts; k++)
        before += (size_t)c->counts[k] * size;
    if (!strcmp(c->name, "allreduce"))
        memset(c->recv, 0, n);
    if (!strcmp(c->name, "reducescatter"))
        memset(c->recv, 0, (size_t)c->counts[r] * size);
    for (int s = 0; s < ranks; s++) {
        const struct call *o = &calls[s];
        if (!strcmp(c->name, "allreduce"))
            add(c->recv, o->send, (size_t)o->nsend, size);
        else if (!strcmp(c->name, "reducescatter"))
            add(c->recv, o->send + before, (size_t)c->counts[r], size);
        else if (!strcmp(c->name, "allgather"))
            memcpy(c->recv + (size_t)s * (size_t)c->nrecv * size, o->send, n);
        else if (!strcmp(c->name, "alltoall"))
            memcpy(c->recv + (size_t)s * n, o->send + (size_t)r * n, n);
        else if (!strcmp(c->name, "alltoallv")) {
            assert_int_equal(o->counts[r], c->come[s]);
            memcpy(c->recv + (size_t)c->places[s] * size, o->send + (size_t)o->offsets[r] * size,
                   (size_t)c->come[s] * size);
        } else if (!strcmp(c->name, "sendrecv") && c->from == s) {
            assert_int_equal(o->to, r);
            memcpy(c->recv, o->send, n);
        } else if (!strcmp(c->name, "broadcast") && c->root == s)
            memmove(c->recv, o->recv, (size_t)c->nrecv * size);
    }
}

static void prepare(int coll, uint64_t bytes)
{
    struct err e = {0};
    for (int r = 0; r < ranks; r++)
        if (coll_prepare(&jobs[r], coll, bytes, r, ranks, &e))
            fail_msg("%s", e.text);
}

static void call_all(uint32_t seed)
{
    for (me = 0; me < ranks; me++) {
        calls[me] = (struct call){0};
        coll_fill(&jobs[me], seed);
        assert_int_equal(coll_call(&jobs[me], comm), result);
        assert_string_equal(calls[me].name, coll_name(jobs[me].coll));
    }
    for (int r = 0; r < ranks; r++)
        carry_out_for(r);
}

static int release(void **state)
{
    static const struct coll_job nothing;
    for (int r = 0; r < MOST; r++) {
        coll_release(&jobs[r]);
        assert_memory_equal(&jobs[r], &nothing, sizeof nothing);
    }
    result = MPI_SUCCESS;
    return 0;
}

/* ---- tests ---- */

static const int measured[] = {COLL_ALLREDUCE, COLL_ALLGATHER, COLL_REDUCESCATTER, COLL_BROADCAST,
                               COLL_ALLTOALL,  COLL_SENDRECV,  COLL_ALLTOALLV};

/* Elements that rank r gets of each collective, where a block has three. */
static size_t comes(int coll, int r)
{
    size_t all = 3 * (size_t)coll_blocks(coll, ranks);
    return coll == COLL_REDUCESCATTER ? 3 : coll == COLL_ALLTOALLV ? (size_t)ranks * (r ? 3 : 3 * COLL_HOT) : all;
}

static void every_element_counts(int r, uint32_t seed)
{
    struct coll_job *j = &jobs[r];
    uint32_t found, expected;
    if (coll_check(j, seed, &found, &expected) != -1)
        fail_msg("%s on rank %d of %d: %u, expected %u", coll_name(j->coll), r, ranks, found, expected);
    for (size_t i = 0; i < comes(j->coll, r); i++) {
        uint32_t right = get_value(j->recv, j->element, i);
        put_value(j->recv, j->element, i, right ^ 64);
        assert_int_equal(coll_check(j, seed, &found, &expected), i);
        assert_int_equal(found, right ^ 64);
        assert_int_equal(expected, right);
        put_value(j->recv, j->element, i, right);
    }
    assert_int_not_equal(coll_check(j, seed + 1, &found, &expected), -1);
}

TEST_CASE(right_data_is_right_and_wrong_is_found)
{
    for (size_t c = 0; c < sizeof measured / sizeof *measured; c++)
        for (size_t element = 1; element <= 4; element += 3)
            for (ranks = 1; ranks <= MOST; ranks += 2) {
                int blocks = coll_blocks(measured[c], ranks);
                prepare(measured[c], (uint64_t)blocks * 3 * element);
                assert_int_equal(jobs[0].element, element);
                assert_ptr_equal(jobs[0].type, element == 4 ? MPI_UINT32_T : MPI_UINT8_T);
                assert_int_equal(jobs[0].total, 3 * blocks);
                assert_int_equal(jobs[0].block, 3);
                call_all(7);
                for (int r = 0; r < ranks; r++)
                    every_element_counts(r, 7);
            }
}

TEST_CASE(errors_pass_and_rank_0_is_the_root)
{
    ranks = 1;
    result = MPI_SUCCESS + 15;
    for (size_t c = 0; c < sizeof measured / sizeof *measured; c++) {
        prepare(measured[c], 96);
        me = 0;
        assert_int_equal(coll_call(&jobs[0], comm), result);
        assert_int_equal(calls[0].root, 0);
    }
}

/* Nothing but what is received is spoilt, and nothing but what is sent is filled. */
TEST_CASE(buffers_are_filled_as_far_as_they_are_used)
{
    ranks = 3;
    for (size_t c = 0; c < sizeof measured / sizeof *measured; c++) {
        release(NULL);
        prepare(measured[c], (uint64_t)coll_blocks(measured[c], ranks) * 12);
        for (int r = 0; r < ranks; r++) {
            size_t n = comes(measured[c], r) * 4;
            size_t sent = measured[c] == COLL_BROADCAST   ? 0
                          : measured[c] == COLL_ALLGATHER ? 12
                                                          : (size_t)jobs[r].total * 4;
            coll_fill(&jobs[r], 1);
            for (size_t i = 0; i < n && (r || measured[c] != COLL_BROADCAST); i++)
                assert_int_equal((unsigned char)jobs[r].recv[i], 0xa5);
            assert_int_equal(jobs[r].recv[n], 1);
            assert_int_equal(jobs[r].send[sent], 1);
            assert_true(!sent || memcmp(jobs[r].send, "\1\1\1\1", 4) != 0);
        }
        for (int i = 1; i <= ranks && measured[c] != COLL_ALLTOALLV; i++)
            assert_int_equal(jobs[0].counts[i], i < ranks ? 3 : 0);
    }
}

TEST_CASE(buffers_only_grow)
{
    struct coll_job *j = &jobs[0];
    ranks = 1;
    prepare(COLL_ALLREDUCE, 4096);
    assert_true(j->send_size == 8192 && j->recv_size == 8192 && j->ncounts == 4);
    assert_int_equal((uintptr_t)j->send % 4096, 0);
    const char *send = j->send, *recv = j->recv;
    const int *counts = j->counts;
    for (uint64_t bytes = 8192; bytes > 0; bytes -= 4096) {
        prepare(COLL_ALLREDUCE, bytes);
        assert_true(j->send == send && j->recv == recv && j->counts == counts && j->send_size == 8192);
    }
    prepare(COLL_ALLREDUCE, 8193);
    assert_true(j->send_size == 12288 && j->recv_size == 12288);
    assert_int_equal(j->send[8192], 1);
    ranks = 3;
    prepare(COLL_ALLGATHER, 12);
    assert_int_equal(j->ncounts, 12);
    ranks = 2;
    prepare(COLL_ALLGATHER, 8);
    assert_int_equal(j->ncounts, 12);
}

TEST_CASE(what_cannot_be_done)
{
    const uint64_t most = INT_MAX;
    const struct {
        int coll;
        uint64_t bytes;
        const char *why;
    } rows[] = {
        {-1, 8, "the mpi engine does not measure this"},
        {COLL_MEASURED, 8, "the mpi engine does not measure this"},
        {COLL_REDUCE, 8, "the mpi engine does not measure reduce"},
        {COLL_ALLREDUCE, 0, "0 bytes of allreduce cannot be divided among 5 ranks"},
        {COLL_ALLGATHER, 0, "0 bytes of allgather cannot be divided among 5 ranks"},
        {COLL_ALLTOALL, 4, "4 bytes of alltoall cannot be divided among 5 ranks"},
        {COLL_ALLTOALL, 12, "12 bytes of alltoall cannot be divided among 5 ranks"},
        {COLL_BROADCAST, 4 * most + 4, "8589934592 bytes are more than MPI counts in one call"},
        {COLL_BROADCAST, 4 * most, "no memory for buffers of 8589934588 bytes"},
        {COLL_BROADCAST, most + 2, "2147483649 bytes are more than MPI counts in one call"},
        {COLL_ALLTOALLV, 4 * (most / 3 + 7), "2863311556 bytes are more than MPI counts in one call"},
        {COLL_ALLTOALLV, 4 * (most / 3), "no memory for buffers of 2863311528 bytes"},
        {COLL_ALLGATHER, LARGE * 5, "no memory for buffers of 5242880 bytes"},
        {COLL_REDUCESCATTER, LARGE * 5, "no memory for buffers of 5242880 bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        assert_int_equal(coll_prepare(&jobs[0], rows[i].coll, rows[i].bytes, 0, 5, &e), ERR_FAILED);
        assert_string_equal(e.text, rows[i].why);
    }
}

TEST_CASES_EACH(main, NULL, release)
