/* Building blocks of the generators. */
#include "bench/workload/build.h"

#include <math.h>

double workload_tokens(const struct workload_job *j)
{
    return (double)j->micro_batch * ((double)j->prompt + j->response) / ((double)j->cp * j->sp);
}

double workload_compute_us(const struct workload_job *j, double flops)
{
    return j->tflops > 0 ? flops / (j->tflops * 1e6) : -1;
}

double workload_backward_flops(const struct workload_job *j)
{
    return 2 + (j->lora_rank ? 0 : 2) + (j->recompute ? 2 : 0);
}

double workload_pieces(double total, double largest)
{
    double n = ceil(total / largest);
    return n < 1 ? 1 : n;
}

void workload_put(struct workload_build *b, int kind, double bytes, double count, int group, int stride,
                  const char *dtype, double overlap_us, const char *what)
{
    if (group < 2 || !(bytes >= 1) || !(count > 0))
        return;
    int per_node = b->job->gpus_per_node;
    /* Groups tile the node only where its size is a multiple of their span; one node holds them all. */
    int inside = per_node % ((long)group * stride) == 0 || b->ranks <= per_node;
    workload_add_call(b->out, b->phase,
                      (struct workload_call){.kind = kind,
                                             .bytes = (uint64_t)ceil(bytes),
                                             .count = count,
                                             .group_size = group,
                                             .place = inside ? WORKLOAD_NODE : WORKLOAD_CLUSTER,
                                             .stride = stride,
                                             .dtype = dtype,
                                             .what = what,
                                             .overlap_us = overlap_us,
                                             .time_us = -1,
                                             .algo = -1,
                                             .proto = -1});
}
