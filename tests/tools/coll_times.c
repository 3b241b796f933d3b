/* How long collectives take, for checking settings from outside nccltune: plain MPI and nothing of ours.
 *
 *   mpirun -np N coll-times COLLECTIVE,... CALLS BYTES...
 *
 * COLLECTIVE is one of allreduce, bcast, allgather, reduce_scatter; BYTES are NCCL's: the larger of the per-rank send
 * and receive buffers. Prints "COLLECTIVE BYTES MICROSECONDS": the slowest rank's time of each call, the median of
 * CALLS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 64
#define MOST_CALLS 1000

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int call(const char *name, int floats, int ranks, float *in, float *out)
{
    int counts[MOST_RANKS];
    for (int i = 0; i < ranks; i++)
        counts[i] = floats / ranks;
    if (!strcmp(name, "allreduce"))
        return MPI_Allreduce(in, out, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    if (!strcmp(name, "bcast"))
        return MPI_Bcast(out, floats, MPI_FLOAT, 0, MPI_COMM_WORLD);
    if (!strcmp(name, "allgather"))
        return MPI_Allgather(in, floats / ranks, MPI_FLOAT, out, floats / ranks, MPI_FLOAT, MPI_COMM_WORLD);
    if (!strcmp(name, "reduce_scatter"))
        return MPI_Reduce_scatter(in, out, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return MPI_ERR_ARG;
}

/* The median of the slowest ranks' times, on rank 0; 0 when a call has failed. */
static double median_us(const char *name, int calls, int floats, int ranks, float *in, float *out)
{
    double us[MOST_CALLS], slowest[MOST_CALLS];
    for (int i = -1; i < calls; i++) { /* the first is warm-up */
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (call(name, floats, ranks, in, out))
            return 0;
        if (i >= 0)
            us[i] = (MPI_Wtime() - start) * 1e6;
    }
    MPI_Reduce(us, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    qsort(slowest, (size_t)calls, sizeof *slowest, by_value);
    return slowest[calls / 2];
}

static int time_size(char *names, int calls, long bytes, int ranks, int rank)
{
    float *in = bytes >= 4 && bytes <= 1L << 30 ? calloc(1, (size_t)bytes) : NULL;
    float *out = in ? calloc(1, (size_t)bytes) : NULL;
    char *list = strdup(names), *rest = list;
    int rc = !out || !list;
    for (long i = 0; !rc && i < bytes / (long)sizeof *in; i++) /* pages never written are one page */
        in[i] = out[i] = (float)(i % 1000 + rank);
    for (char *name; !rc && (name = strsep(&rest, ","));) {
        double us = median_us(name, calls, (int)(bytes / (long)sizeof *in), ranks, in, out);
        rc = !rank && us <= 0;
        if (!rank && !rc)
            printf("%s %ld %.2f\n", name, bytes, us);
    }
    free(in);
    free(out);
    free(list);
    return rc;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, ranks, calls = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bad = calls < 1 || calls > MOST_CALLS || ranks > MOST_RANKS;
    for (int i = 3; !bad && i < argc; i++)
        bad = time_size(argv[1], calls, strtol(argv[i], NULL, 10), ranks, rank);
    if (bad) {
        fprintf(stderr, "usage: coll-times COLLECTIVE,... CALLS BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
