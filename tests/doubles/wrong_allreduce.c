/* A double of an MPI library that computes wrong sums: preloaded, it spoils one element of every AllReduce of 16
 * elements and more on rank 1. Smaller ones, which carry a worker's own control data, are left alone. */
#include <stdint.h>

typedef void *handle; /* MPI_Datatype, MPI_Op and MPI_Comm are pointers in OpenMPI */

int PMPI_Allreduce(const void *send, void *recv, int count, handle type, handle op, handle comm);
int PMPI_Comm_rank(handle comm, int *rank);
int MPI_Allreduce(const void *send, void *recv, int count, handle type, handle op, handle comm);

int MPI_Allreduce(const void *send, void *recv, int count, handle type, handle op, handle comm)
{
    int rank = 0, rc = PMPI_Allreduce(send, recv, count, type, op, comm);
    PMPI_Comm_rank(comm, &rank);
    if (rank == 1 && count >= 16)
        ((uint8_t *)recv)[7 * sizeof(uint32_t)] ^= 1;
    return rc;
}
