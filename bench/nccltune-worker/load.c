/* Running something beside calls, and what that cost it. */
#include "bench/nccltune-worker/load.h"

#include <stdio.h>
#include <string.h>

#define NON_BLOCKING 1

/* Of one AllReduce of the second communicator: large enough to be about bandwidth, as gradients are. */
#define CALL_BYTES ((size_t)4 << 20)

/* Nothing is slowed more than this; beyond it a clock was wrong. */
#define MOST 100.0

static int say(const struct load *l, int code, const char *what, char *why, size_t bytes)
{
    if (code)
        snprintf(why, bytes, "%s: %s", what, gpu_error(l->gpu, code));
    return code ? -1 : 0;
}

void load_open(struct load *l, const struct gpu *g)
{
    *l = (struct load){.gpu = g};
    kernel_find(&l->kernel, g, l->why, sizeof l->why);
}

/* Whose calls run beside those of `groups`: over nodes, one rank of each, beside groups within a node; within each node
 * beside the others; everybody where there is but one rank a node or one node. */
static int color_beside(const struct nccl_groups *groups, const struct group *whole)
{
    int on_node = whole->nranks / groups->whole_nodes;
    if (groups->whole_nodes == 1 || on_node == 1)
        return 0;
    return groups->shape.nodes == 1 ? whole->rank % on_node : whole->rank / on_node;
}

static int open_second(struct load *l, const struct group *whole, const struct nccl_groups *groups, char *why,
                       size_t bytes)
{
    char text[NCCL_TEXT - 64];
    l->second = *whole;
    l->second.number = color_beside(groups, whole);
    l->second.comm = NULL;
    int rc = group_split(&l->second, l->nccl, whole);
    if (rc)
        snprintf(why, bytes, "rank %d: cannot split a second communicator off: %s", whole->rank,
                 nccl_error(l->nccl, whole->comm, rc, text, sizeof text));
    return rc ? -1 : 0;
}

int load_enter(struct load *l, const struct nccl *n, const struct group *whole, const struct nccl_groups *groups,
               char *why, size_t bytes)
{
    const struct gpu *g = l->gpu;
    int rc = l->stream ? 0 : g->stream(&l->stream, NON_BLOCKING);
    rc = rc || l->start ? rc : g->event(&l->start, 0);
    rc = rc || l->stop ? rc : g->event(&l->stop, 0);
    size_t need = groups->shape.load == BENCH_CALLS ? CALL_BYTES : KERNEL_BYTES;
    rc = rc ? rc : g->alloc(&l->memory, need);
    rc = rc ? rc : g->put_fill(l->memory, 0, need, l->stream);
    rc = rc ? rc : g->finish(l->stream);
    l->nccl = n;
    l->kind = groups->shape.load;
    if (say(l, rc, "cannot set up what runs beside calls", why, bytes))
        return -1;
    return l->kind == BENCH_CALLS ? open_second(l, whole, groups, why, bytes)
                                  : kernel_open(&l->kernel, l->stream, l->memory, why, bytes);
}

void load_leave(struct load *l, const struct nccl *n)
{
    if (l->second.comm)
        n->comm_destroy(l->second.comm);
    if (l->memory)
        l->gpu->release(l->memory);
    l->memory = NULL;
    l->second.comm = NULL;
    l->unit_us = 0;
}

static int run_call(struct load *l, char *why, size_t bytes)
{
    char text[NCCL_TEXT];
    int rc =
        l->nccl->all_reduce(l->memory, l->memory, CALL_BYTES / 4, NCCL_FLOAT32, NCCL_SUM, l->second.comm, l->stream);
    rc = nccl_settled(l->nccl, l->second.comm, rc);
    if (rc)
        snprintf(why, bytes, "a call of the second communicator: %s",
                 nccl_error(l->nccl, l->second.comm, rc, text, sizeof text));
    return rc ? -1 : 0;
}

int load_start(struct load *l, int units, char *why, size_t bytes)
{
    int rc = say(l, l->gpu->record(l->start, l->stream), "cannot record an event", why, bytes);
    for (int i = 0; i < units && !rc; i++)
        rc = l->kind == BENCH_CALLS ? run_call(l, why, bytes) : kernel_run(&l->kernel, why, bytes);
    l->units = units;
    return rc;
}

int load_stop(struct load *l, char *why, size_t bytes)
{
    return say(l, l->gpu->record(l->stop, l->stream), "cannot record an event", why, bytes);
}

static int elapsed_us(const struct load *l, double *us, char *why, size_t bytes)
{
    float ms = 0;
    int rc = l->gpu->elapsed_ms(&ms, l->start, l->stop);
    *us = (double)ms * 1e3;
    return say(l, rc, "cannot read a time", why, bytes);
}

int load_calibrate(struct load *l, char *why, size_t bytes)
{
    double us;
    if (elapsed_us(l, &us, why, bytes))
        return -1;
    l->unit_us = us / l->units;
    if (l->unit_us > 0)
        return 0;
    snprintf(why, bytes, "what is to run beside calls takes no time");
    return -1;
}

/* What the pieces took longer than alone they lost while the calls ran. */
int load_slowdown(const struct load *l, double us, double *slowdown, char *why, size_t bytes)
{
    double all_us;
    if (elapsed_us(l, &all_us, why, bytes))
        return -1;
    double beside_us = us < all_us ? us : all_us, lost_us = all_us - l->units * l->unit_us;
    *slowdown = lost_us <= 0 ? 1 : beside_us - lost_us > beside_us / MOST ? beside_us / (beside_us - lost_us) : MOST;
    return 0;
}
