/* Collectives on host memory.
 *
 * The pattern is linear modulo the element's width, so the sum over all ranks is exact and has a closed form. */
#include "bench/nccltune-bench/coll.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/coll.h"

#define PAGE 4096

static int allreduce(struct coll_job *j, MPI_Comm comm)
{
    return MPI_Allreduce(j->send, j->recv, j->total, j->type, MPI_SUM, comm);
}

static int allgather(struct coll_job *j, MPI_Comm comm)
{
    return MPI_Allgather(j->send, j->block, j->type, j->recv, j->block, j->type, comm);
}

static int reducescatter(struct coll_job *j, MPI_Comm comm)
{
    return MPI_Reduce_scatter(j->send, j->recv, j->counts, j->type, MPI_SUM, comm);
}

static int alltoall(struct coll_job *j, MPI_Comm comm)
{
    return MPI_Alltoall(j->send, j->block, j->type, j->recv, j->block, j->type, comm);
}

static int alltoallv(struct coll_job *j, MPI_Comm comm)
{
    const int n = j->ranks, *sent = j->counts, *come = sent + 2 * n;
    return MPI_Alltoallv(j->send, sent, sent + n, j->type, j->recv, come, come + n, j->type, comm);
}

static int broadcast(struct coll_job *j, MPI_Comm comm)
{
    return MPI_Bcast(j->recv, j->total, j->type, 0, comm);
}

static int shift(struct coll_job *j, MPI_Comm comm)
{
    int next = (j->rank + 1) % j->ranks, before = (j->rank + j->ranks - 1) % j->ranks;
    return MPI_Sendrecv(j->send, j->total, j->type, next, 0, j->recv, j->total, j->type, before, 0, comm,
                        MPI_STATUS_IGNORE);
}

enum extent { NOTHING, BLOCK, TOTAL, PARTS };

static const struct {
    int (*call)(struct coll_job *j, MPI_Comm comm);
    enum extent sends, receives;
    int sums; /* the result is a sum over the ranks, else one rank's data */
} kinds[COLL_MEASURED] = {
    [COLL_ALLREDUCE] = {allreduce, TOTAL, TOTAL, 1},         [COLL_ALLGATHER] = {allgather, BLOCK, TOTAL, 0},
    [COLL_REDUCESCATTER] = {reducescatter, TOTAL, BLOCK, 1}, [COLL_BROADCAST] = {broadcast, NOTHING, TOTAL, 0},
    [COLL_ALLTOALL] = {alltoall, TOTAL, TOTAL, 0},           [COLL_SENDRECV] = {shift, TOTAL, TOTAL, 0},
    [COLL_ALLTOALLV] = {alltoallv, TOTAL, PARTS, 0},
};

static size_t count_elements(const struct coll_job *j, enum extent x)
{
    size_t parts = (size_t)j->part * (size_t)j->ranks;
    return x == TOTAL ? (size_t)j->total : x == BLOCK ? (size_t)j->block : x == PARTS ? parts : 0;
}

static int reserve_buffer(char **buffer, size_t *size, size_t bytes)
{
    if (*buffer && *size >= bytes)
        return 0;
    free(*buffer);
    *size = (bytes / PAGE + 1) * PAGE;
    *buffer = aligned_alloc(PAGE, *size);
    if (!*buffer)
        return -1;
    memset(*buffer, 1, *size);
    return 0;
}

/* Counts and offsets by rank. */
static void put_counts(struct coll_job *j)
{
    int n = j->ranks, *c = j->counts;
    for (int i = 0; i < n && j->coll != COLL_ALLTOALLV; i++)
        c[i] = j->block;
    for (int i = 0; i < n && j->coll == COLL_ALLTOALLV; i++) {
        c[n + i] = coll_blocks(j->coll, i) * j->block;
        c[i] = coll_blocks(j->coll, i + 1) * j->block - c[n + i];
        c[2 * n + i] = j->part;
        c[3 * n + i] = i * j->part;
    }
}

int coll_prepare(struct coll_job *j, int coll, uint64_t bytes, int rank, int ranks, struct err *e)
{
    if (coll < 0 || coll >= COLL_MEASURED || !kinds[coll].call)
        return err_set(e, ERR_FAILED, "the mpi engine does not measure %s", coll_name(coll) ? coll_name(coll) : "this");
    int blocks = coll_blocks(coll, ranks), cut = kinds[coll].sends == TOTAL && blocks > 1;
    if (bytes < (uint64_t)blocks || bytes % (uint64_t)blocks)
        return err_set(e, ERR_FAILED, "%llu bytes of %s cannot be divided among %d ranks", (unsigned long long)bytes,
                       coll_name(coll), ranks);
    int wide = bytes / (uint64_t)blocks % sizeof(uint32_t) == 0;
    j->coll = coll;
    j->rank = rank;
    j->ranks = ranks;
    j->type = wide ? MPI_UINT32_T : MPI_UINT8_T;
    j->element = wide ? sizeof(uint32_t) : 1;
    if (bytes / j->element > INT_MAX / (coll == COLL_ALLTOALLV ? COLL_HOT : 1))
        return err_set(e, ERR_FAILED, "%llu bytes are more than MPI counts in one call", (unsigned long long)bytes);
    j->total = (int)(bytes / j->element);
    j->block = j->total / blocks;
    j->first = cut ? coll_blocks(coll, rank) * j->block : 0;
    j->part = cut ? coll_blocks(coll, rank + 1) * j->block - j->first : j->block;
    if (j->ncounts < 4 * ranks) {
        free(j->counts);
        j->counts = calloc((size_t)ranks, 4 * sizeof *j->counts);
        j->ncounts = j->counts ? 4 * ranks : 0;
    }
    if (!j->counts || reserve_buffer(&j->send, &j->send_size, count_elements(j, kinds[coll].sends) * j->element) ||
        reserve_buffer(&j->recv, &j->recv_size, count_elements(j, kinds[coll].receives) * j->element))
        return err_set(e, ERR_FAILED, "no memory for buffers of %llu bytes", (unsigned long long)bytes);
    put_counts(j);
    return 0;
}

void coll_release(struct coll_job *j)
{
    free(j->counts);
    free(j->send);
    free(j->recv);
    memset(j, 0, sizeof *j);
}

int coll_call(struct coll_job *j, MPI_Comm comm)
{
    return kinds[j->coll].call(j, comm);
}

/* ---- data ---- */

/* Odd factors, so that neighbouring elements, ranks and seeds differ in every byte width. */
static uint32_t value_at(uint32_t rank, uint32_t i, uint32_t seed)
{
    return (rank + 1) * 2654435761u + i * 40503u + seed * 97u;
}

static uint32_t sum_of_values(uint32_t ranks, uint32_t i, uint32_t seed)
{
    uint32_t first_to_last = (uint32_t)((uint64_t)ranks * (ranks + 1) / 2);
    return first_to_last * 2654435761u + ranks * (i * 40503u + seed * 97u);
}

static void put_value(char *buffer, size_t element, size_t i, uint32_t v)
{
    if (element == 1)
        ((uint8_t *)buffer)[i] = (uint8_t)v;
    else
        ((uint32_t *)(void *)buffer)[i] = v;
}

static uint32_t get_value(const char *buffer, size_t element, size_t i)
{
    return element == 1 ? ((const uint8_t *)buffer)[i] : ((const uint32_t *)(const void *)buffer)[i];
}

void coll_fill(struct coll_job *j, uint32_t seed)
{
    size_t sends = count_elements(j, kinds[j->coll].sends), receives = count_elements(j, kinds[j->coll].receives);
    for (size_t i = 0; i < sends; i++)
        put_value(j->send, j->element, i, value_at((uint32_t)j->rank, (uint32_t)i, seed));
    memset(j->recv, 0xa5, receives * j->element);
    if (j->coll == COLL_BROADCAST && j->rank == 0)
        for (size_t i = 0; i < receives; i++)
            put_value(j->recv, j->element, i, value_at(0, (uint32_t)i, seed));
}

long coll_check(const struct coll_job *j, uint32_t seed, uint32_t *found, uint32_t *expected)
{
    size_t receives = count_elements(j, kinds[j->coll].receives), first = (size_t)j->first;
    size_t each = kinds[j->coll].sums ? receives : (size_t)j->part; /* elements from one rank */
    /* Who does not send blocks sends to all, or hands on to the next. */
    size_t from = j->coll == COLL_SENDRECV ? (size_t)(j->rank + j->ranks - 1) % (size_t)j->ranks : 0;
    uint32_t mask = j->element == 1 ? 0xff : UINT32_MAX;
    for (size_t i = 0; i < receives; i++) {
        uint32_t want = kinds[j->coll].sums ? sum_of_values((uint32_t)j->ranks, (uint32_t)(first + i), seed)
                                            : value_at((uint32_t)(from + i / each), (uint32_t)(first + i % each), seed);
        *expected = want & mask;
        *found = get_value(j->recv, j->element, i);
        if (*found != *expected)
            return (long)i;
    }
    return -1;
}
