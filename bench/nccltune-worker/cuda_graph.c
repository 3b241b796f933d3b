/* Capturing calls. */
#include "bench/nccltune-worker/cuda_graph.h"

/* CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: NCCL's own threads may go on calling the driver. */
#define THREAD_LOCAL 1

int cuda_graph_capture(const struct gpu *g, void *stream, int (*work)(void *user), void *user, int *worked,
                       void **graph)
{
    void *captured = NULL;
    *worked = 0;
    *graph = 0;
    if (!g->capture_begin || !g->capture_end || !g->graph_make || !g->graph_launch || !g->graph_free || !g->graph_drop)
        return GPU_NO_GRAPHS;
    int rc = g->capture_begin(stream, THREAD_LOCAL);
    if (rc)
        return rc;
    *worked = work(user);
    rc = g->capture_end(stream, &captured);
    if (!rc && !*worked)
        rc = g->graph_make(graph, captured, 0);
    if (captured)
        g->graph_drop(captured);
    return rc;
}
