/* One rank of a made-up job of 4 ranks on 2 nodes, as its NCCL would drive the profiler plugin: looks
 * NCCL_PROFILER_PLUGIN up as NCCL does, opens the communicator of all and one of the node, and makes the calls of STEPS
 * steps. The rank is RANK; the one in DRIVE_LATE comes 500 us late to the AllReduces, which take DRIVE_US. Exit code 1:
 * no plugin. */
#include "tests/lib/profiler_double.h"

#define API 5

int main(int argc, char **argv)
{
    const char *name = getenv("NCCL_PROFILER_PLUGIN"), *rank = getenv("RANK");
    char path[256];
    int steps = argc == 2 ? (int)strtol(argv[1], NULL, 10) : 0, me = rank ? (int)strtol(rank, NULL, 10) : 0;
    snprintf(path, sizeof path, "libnccl-profiler-%s.so", name ? name : "");
    setenv("NCCLTUNE_PROFILER_SO", path, 1);
    struct profiler_loader l = profiler_load(API);
    struct profiled_comm world = {.id = 1, .nodes = 2, .ranks = 4, .rank = me},
                         node = {.id = 2 + (uint64_t)(me / 2), .nodes = 1, .ranks = 2, .rank = me % 2};
    if (profiled_open(&l, &world, NULL) || profiled_open(&l, &node, NULL))
        return 1;
    const char *late = getenv("DRIVE_LATE"), *us = getenv("DRIVE_US");
    uint64_t ns = us ? strtoull(us, NULL, 10) * 1000 : 700000 + 1000 * (uint64_t)me;
    ns += late && strtol(late, NULL, 10) >= 0 && strtol(late, NULL, 10) != me ? 500000 : 0;
    struct profiled_task gradients = {"AllReduce", 1 << 20, 7, ALGO_TREE, PROTO_SIMPLE, 4, 0, ns},
                         weights = {"AllGather", 1 << 16, 9, ALGO_RING, PROTO_LL128, 8, 0, 60000};
    struct profiled_task forward[] = {{"Send", 4096, 9, 0, 0, 2, (me + 2) % 4, 20000},
                                      {"Recv", 4096, 9, 0, 0, 2, (me + 2) % 4, 20000}};
    for (int i = 0; i < steps; i++) {
        profiled_launch(&world, &gradients, 1);
        profiled_launch(&node, &weights, 1);
        profiled_launch(&node, &weights, 1);
        if (me < 2) /* the first stage of a pipeline */
            profiled_launch(&world, forward, 2);
    }
    return profiled_close(&node) || profiled_close(&world);
}
