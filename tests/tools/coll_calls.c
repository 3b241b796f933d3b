/* Calls one collective at the given sizes and says what MPI returned, one line each: "BYTES ok" or "BYTES error".
 *
 *   coll_calls allreduce|bcast|allgather|reduce_scatter BYTES...
 *
 * BYTES are NCCL's: the larger of the per-rank send and receive buffers. Used to see which sizes a rules file reaches:
 * an algorithm number that OpenMPI does not have makes exactly those calls fail. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int call(const char *name, int bytes, int ranks, char *in, char *out)
{
    int counts[64];
    if (ranks > 64)
        return MPI_ERR_ARG;
    for (int i = 0; i < ranks; i++)
        counts[i] = bytes / ranks;
    if (!strcmp(name, "allreduce"))
        return MPI_Allreduce(in, out, bytes, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    if (!strcmp(name, "bcast"))
        return MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(name, "allgather"))
        return MPI_Allgather(in, bytes / ranks, MPI_BYTE, out, bytes / ranks, MPI_BYTE, MPI_COMM_WORLD);
    if (!strcmp(name, "reduce_scatter"))
        return MPI_Reduce_scatter(in, out, counts, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    return MPI_ERR_ARG;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 2; i < argc; i++) {
        int bytes = (int)strtol(argv[i], NULL, 10);
        char *in = calloc(1, (size_t)bytes + 1), *out = calloc(1, (size_t)bytes + 1);
        int rc = in && out ? call(argv[1], bytes, ranks, in, out) : MPI_ERR_NO_MEM;
        if (!rank)
            printf("%d %s\n", bytes, rc == MPI_SUCCESS ? "ok" : "error");
        free(in);
        free(out);
    }
    MPI_Finalize();
    return 0;
}
