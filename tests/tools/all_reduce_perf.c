/* Stands in for nccl-tests' all_reduce_perf over the doubles of NCCL and the GPU driver: the options that
 * tests/check-gpu gives and nccl-tests' columns, with times from the double's law, by its events. A process a rank.
 *
 *   all_reduce_perf -b BYTES -e BYTES -f FACTOR -t RANKS [-g 1] [-n CALLS] [-w CALLS] [-s RANKS] [-d TYPE]
 *   -s: groups of so many ranks, split off, all at once, as a job has them; the times are theirs
 *   -d: float, half, bfloat16 or double
 *   ALL_REDUCE_PERF_FACTOR   what its times are multiplied with: a program that measures something else than we do */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/tools/nccl_calls.h"

#define MOST_SIZES 64
#define MOST_RANKS 16

static struct shared {
    id_t128 id;
    double us[2][MOST_SIZES][MOST_RANKS]; /* out of place, in place */
} * shared;

static uint64_t first = 1024, last = 1 << 20, factor = 4;
static const struct type {
    const char *name;
    int number; /* ncclDataType_t */
    size_t bytes;
} types[] = {{"float", 7, 4}, {"half", 6, 2}, {"bfloat16", 9, 2}, {"double", 8, 8}};
static const struct type *type = types;
static int ranks = 2, calls = 20, warm_up = 5, group;

static double time_us(void *comm, void *stream, unsigned long long in, unsigned long long out, size_t count)
{
    struct timer timer;
    for (int i = 0; i < warm_up; i++)
        MUST(ncclAllReduce(in, out, count, type->number, 0, comm, stream));
    timer_start(&timer, stream);
    for (int i = 0; i < calls; i++)
        MUST(ncclAllReduce(in, out, count, type->number, 0, comm, stream));
    return timer_end(&timer, stream) / calls;
}

static void run(int rank)
{
    void *stream, *comm;
    unsigned long long in, out;
    int size = 0;
    use_device(rank, &stream);
    MUST(cuMemAlloc_v2(&in, last));
    MUST(cuMemAlloc_v2(&out, last));
    void *whole = NULL;
    MUST(ncclCommInitRank(&comm, ranks, shared->id, rank));
    if (group) {
        whole = comm;
        MUST(ncclCommSplit(whole, rank / group, rank, &comm, NULL));
    }
    for (uint64_t bytes = first; bytes <= last; bytes *= factor, size++) {
        shared->us[0][size][rank] = time_us(comm, stream, in, out, bytes / type->bytes);
        shared->us[1][size][rank] = time_us(comm, stream, out, out, bytes / type->bytes);
    }
    MUST(ncclCommDestroy(comm));
    if (whole)
        MUST(ncclCommDestroy(whole));
}

static void print(void)
{
    const char *wrong = getenv("ALL_REDUCE_PERF_FACTOR");
    int size = 0;
    printf("# a double of nccl-tests: nThread %d nGpus 1 warmup iters: %d iters: %d\n"
           "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
           "busbw #wrong\n",
           ranks, warm_up, calls);
    for (uint64_t bytes = first; bytes <= last; bytes *= factor, size++) {
        printf("%12llu  %12llu  %8s     sum      -1", (unsigned long long)bytes,
               (unsigned long long)(bytes / type->bytes), type->name);
        for (int place = 0; place < 2; place++) {
            double us = 0;
            for (int r = 0; r < ranks; r++)
                us = shared->us[place][size][r] > us ? shared->us[place][size][r] : us;
            us *= wrong ? strtod(wrong, NULL) : 1;
            printf("  %7.2f  %6.2f  %6.2f      0", us, (double)bytes / us / 1e3,
                   2.0 * (ranks - 1) / ranks * (double)bytes / us / 1e3);
        }
        putchar('\n');
    }
    puts("# Out of bounds values : 0 OK");
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        switch (argv[i][1]) {
        case 'd':
            for (size_t k = 0; k < sizeof types / sizeof *types; k++)
                type = strcmp(argv[i + 1], types[k].name) ? type : &types[k];
            break;
        case 'b':
            first = value;
            break;
        case 'e':
            last = value;
            break;
        case 'f':
            factor = value;
            break;
        case 't':
            ranks = (int)value;
            break;
        case 'n':
            calls = (int)value;
            break;
        case 's':
            group = (int)value;
            break;
        case 'w':
            warm_up = (int)value;
            break;
        }
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || factor < 2 || ranks < 2 || ranks > MOST_RANKS)
        return 2;
    MUST(ncclGetUniqueId(&shared->id));
    for (int r = 0; r < ranks; r++)
        if (!fork()) {
            run(r);
            exit(0);
        }
    for (int status, r = 0; r < ranks; r++)
        failed |= wait(&status) < 0 || status;
    if (!failed)
        print();
    return failed;
}
