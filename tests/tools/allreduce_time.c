/* The median time of one AllReduce, for checking settings from outside nccltune: plain MPI and nothing of ours.
 *
 *   mpirun -np N allreduce-time BYTES [ITERATIONS]
 *
 * prints the slowest rank's median over the iterations (default 20), in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times each call; `us` and `slowest` hold `iterations` values. */
static void measure(const float *send, float *recv, int count, long iterations, double *us, double *slowest)
{
    for (long i = -2; i < iterations; i++) { /* the first two are warm-up */
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        if (i >= 0)
            us[i] = (MPI_Wtime() - start) * 1e6;
    }
    MPI_Reduce(us, slowest, (int)iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long bytes = argc > 1 ? strtol(argv[1], NULL, 10) : 0, iterations = argc > 2 ? strtol(argv[2], NULL, 10) : 20;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (bytes < 4 || bytes > 1L << 30 || iterations < 1 || iterations > 1000000) {
        if (!rank)
            fprintf(stderr, "usage: allreduce-time BYTES [ITERATIONS]\n");
        MPI_Finalize();
        return 2;
    }
    float *send = malloc((size_t)bytes), *recv = malloc((size_t)bytes);
    double *us = calloc((size_t)iterations, sizeof *us), *slowest = calloc((size_t)iterations, sizeof *slowest);
    int ready = send && recv && us && slowest;
    if (ready) {
        memset(send, 0, (size_t)bytes);
        memset(recv, 0, (size_t)bytes);
        measure(send, recv, (int)(bytes / (long)sizeof *send), iterations, us, slowest);
        qsort(slowest, (size_t)iterations, sizeof *slowest, by_value);
        if (!rank)
            printf("%.2f\n", slowest[iterations / 2]);
    } else {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    free(send);
    free(recv);
    free(us);
    free(slowest);
    MPI_Finalize();
    return 0;
}
