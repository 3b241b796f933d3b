/* One rank of a job over the doubles of NCCL and the GPU driver: calls of many kinds whose data is checked.
 *
 *   coll_job RANK RANKS ID-FILE
 *
 * Loops, groups (an uneven all_gather among them), halves that were split off, captured calls that are replayed beside
 * others, ncclGroupSimulateEnd by one rank alone, another thread that calls. The last line is a hash of all results. */
#include <pthread.h>
#include <string.h>

#include "tests/tools/nccl_calls.h"

typedef unsigned long long pointer;
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphLaunch(void *exec, void *stream);
int cuStreamSynchronize(void *stream);
int cuMemcpyHtoD_v2(pointer to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, pointer from, size_t bytes);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclGroupSimulateEnd(void *info);
int ncclBroadcast(pointer send, pointer recv, size_t count, int type, int root, void *comm, void *stream);
int ncclAllGather(pointer send, pointer recv, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(pointer send, pointer recv, size_t count, int type, int op, void *comm, void *stream);

enum { FLOAT32 = 7, SUM = 0, MOST = 1 << 18, ROUNDS = 30, PARTS = 8 };

static struct {
    int rank, ranks;
    void *world, *half, *stream, *device;
    pointer in, out, parts[PARTS];
    uint64_t hash;
} job;

static void fill(int round)
{
    static float data[MOST];
    for (int i = 0; i < MOST; i++)
        data[i] = (float)((i + round) % 97 * (job.rank + 1));
    MUST(cuMemcpyHtoD_v2(job.in, data, sizeof data));
}

static void add_result(pointer out, size_t count)
{
    static float data[MOST];
    MUST(cuStreamSynchronize(job.stream));
    MUST(cuMemcpyDtoH_v2(data, out, count * sizeof *data));
    for (size_t i = 0; i < count; i++)
        job.hash = (job.hash ^ (uint64_t)(int64_t)data[i]) * UINT64_C(0x100000001b3);
}

static void reduce(size_t count)
{
    MUST(ncclAllReduce(job.in, job.out, count, FLOAT32, SUM, job.world, job.stream));
}

static void call_group(void)
{
    MUST(ncclGroupStart());
    MUST(ncclAllReduce(job.in, job.parts[4], 1024, FLOAT32, SUM, job.world, job.stream));
    MUST(ncclAllReduce(job.in, job.parts[5], 2048, FLOAT32, SUM, job.world, job.stream));
    MUST(ncclReduceScatter(job.in, job.parts[6], 4096, FLOAT32, SUM, job.world, job.stream));
    for (int root = 0; root < job.ranks; root++) /* of another size each, as of an uneven all_gather */
        MUST(ncclBroadcast(job.in, job.parts[root], 1000 + (size_t)root, FLOAT32, root, job.world, job.stream));
    MUST(ncclGroupEnd());
    for (int i = 0; i < 4; i++)
        add_result(job.parts[i], 1000);
    add_result(job.parts[5], 2048);
    add_result(job.parts[6], 4096);
}

/* A communicator that is destroyed soon after such a gather: with kernel times asked for NCCL 2.29 waits for ever. */
static void live_shortly(void)
{
    void *comm;
    MUST(ncclCommSplit(job.world, 0, job.rank, &comm, NULL));
    MUST(ncclGroupStart());
    for (int root = 0; root < job.ranks; root++)
        MUST(ncclBroadcast(job.in, job.parts[root], 500, FLOAT32, root, comm, job.stream));
    MUST(ncclGroupEnd());
    for (int i = 0; i < 6; i++)
        MUST(ncclAllReduce(job.in, job.out, 256, FLOAT32, SUM, comm, job.stream));
    add_result(job.out, 256);
    MUST(ncclCommDestroy(comm));
}

static void simulate(void)
{
    MUST(ncclGroupStart());
    reduce(512);
    MUST(ncclGroupSimulateEnd(NULL));
}

static void *call_from_thread(void *unused)
{
    void *stream;
    (void)unused;
    use_device(job.rank, &stream);
    for (int i = 0; i < 10; i++)
        reduce(256u << i % 4);
    add_result(job.out, 256);
    return NULL;
}

static void replay(void)
{
    void *graph, *exec;
    MUST(cuStreamBeginCapture_v2(job.stream, 0));
    for (int i = 0; i < 3; i++)
        reduce(16384);
    MUST(cuStreamEndCapture(job.stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 4; i++) {
        MUST(cuGraphLaunch(exec, job.stream));
        reduce(i % 2 ? 16384 : 64);
        add_result(job.out, 64);
    }
}

static id_t128 share_id(const char *path)
{
    id_t128 id;
    char beside[512];
    snprintf(beside, sizeof beside, "%s.new", path);
    if (!job.rank) {
        MUST(ncclGetUniqueId(&id));
        FILE *f = fopen(beside, "w");
        MUST(!f || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) || rename(beside, path));
        return id;
    }
    FILE *f;
    while (!(f = fopen(path, "r")))
        usleep(2000);
    MUST(fread(&id, sizeof id, 1, f) != 1 || fclose(f));
    return id;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc != 4)
        return 2;
    alarm(60);
    job.rank = (int)strtol(argv[1], NULL, 10);
    job.ranks = (int)strtol(argv[2], NULL, 10);
    use_device(job.rank, &job.stream);
    MUST(cuMemAlloc_v2(&job.in, sizeof(float[MOST])));
    MUST(cuMemAlloc_v2(&job.out, sizeof(float[MOST])));
    for (int i = 0; i < PARTS; i++)
        MUST(cuMemAlloc_v2(&job.parts[i], sizeof(float[MOST])));
    MUST(ncclCommInitRank(&job.world, job.ranks, share_id(argv[3]), job.rank));
    MUST(ncclCommSplit(job.world, job.rank / 2, job.rank, &job.half, NULL));
    for (int round = 0; round < ROUNDS; round++) {
        fill(round);
        for (size_t count = 16; count <= MOST; count *= 16) {
            reduce(count);
            add_result(job.out, count);
        }
        call_group();
        MUST(ncclAllGather(job.in, job.parts[7], 1024, FLOAT32, job.half, job.stream));
        add_result(job.parts[7], 2048);
        if (round % 5 == 1 && job.rank == 1)
            simulate();
        if (round % 10 == 2)
            replay();
        if (round % 10 == 7)
            live_shortly();
        if (round % 10 == 3) {
            MUST(pthread_create(&thread, NULL, call_from_thread, NULL));
            MUST(pthread_join(thread, NULL));
        }
    }
    MUST(ncclCommDestroy(job.half));
    MUST(ncclCommDestroy(job.world));
    printf("rank %d: %016llx\n", job.rank, (unsigned long long)job.hash);
    return 0;
}
