/* Finding a profiler plugin and telling it of the double's calls; the events themselves are
 * tests/lib/profiler_double.h. */
#include "tests/doubles/nccl_profiler.h"

#include "tests/doubles/nccl_law.h"
#include "tests/lib/profiler_double.h"

enum { API = 6, INFO = 3, SUBSYS_INIT = 1 };

struct profiler_double {
    struct profiler_loader nccl;
    struct profiled_comm comm;
    int is_gathering, gathered;
    struct profiled_task tasks[PROFILER_TASKS];
};

/* NCCL_PROFILER_PLUGIN literally, then as libnccl-profiler-VALUE.so unless it is a path. */
static void *open_library(void)
{
    const char *value = getenv("NCCL_PROFILER_PLUGIN");
    char name[512];
    if (!value || !*value || !strcmp(value, "none"))
        return NULL;
    void *lib = dlopen(value, RTLD_NOW | RTLD_LOCAL);
    if (lib || strchr(value, '/'))
        return lib;
    snprintf(name, sizeof name, "libnccl-profiler-%s.so", value);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

struct profiler_double *profiler_attach(uint64_t id, int rank, int nranks, int nnodes, tuner_log *log)
{
    struct profiler_double *p = calloc(1, sizeof *p);
    p->nccl = (struct profiler_loader){.api = API, .library = open_library()};
    p->nccl.plugin = p->nccl.library ? dlsym(p->nccl.library, "ncclProfiler_v6") : NULL;
    p->comm = (struct profiled_comm){.id = id, .nodes = nnodes, .ranks = nranks, .rank = rank};
    if (p->nccl.plugin && !profiled_open(&p->nccl, &p->comm, log) && p->comm.context) {
        log(INFO, SUBSYS_INIT, __func__, __LINE__, "PROFILER/Plugin: using interface version %d", API);
        return p;
    }
    free(p);
    return NULL;
}

void profiler_detach(struct profiler_double *p)
{
    if (p)
        profiled_close(&p->comm);
    free(p);
}

static const char *const names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};

void profiler_say(struct profiler_double *p, const struct move *m, int is_captured)
{
    struct profiled_task task = {.count = m->count, .dtype = m->type, .in_graph = is_captured};
    if (!p || m->coll >= COLL_COUNT || (size_t)m->type >= sizeof profiled_dtypes / sizeof *profiled_dtypes)
        return;
    task.func = names[m->coll];
    profiled_say(&p->comm, &task);
    p->comm.is_said &= !is_captured; /* it is launched by the graph */
}

void profiler_gather(struct profiler_double *p)
{
    if (p)
        p->is_gathering = 1;
}

void profiler_launch(struct profiler_double *p)
{
    if (p && p->gathered)
        profiled_launch(&p->comm, p->tasks, (size_t)p->gathered);
    if (p)
        p->is_gathering = p->gathered = 0;
}

static void launch(struct profiler_double *p, const struct profiled_task *tasks, size_t count)
{
    if (!p->is_gathering || p->gathered + count > PROFILER_TASKS) {
        profiled_launch(&p->comm, tasks, count);
        return;
    }
    memcpy(p->tasks + p->gathered, tasks, count * sizeof *tasks);
    p->gathered += (int)count;
}

void profiler_tell(struct profiler_double *p, const struct move *m, int algo, int proto, int channels, double us)
{
    struct profiled_task tasks[PROFILER_TASKS] = {{.count = m->count,
                                                   .dtype = m->type,
                                                   .root = m->root,
                                                   .algo = algo,
                                                   .proto = proto,
                                                   .channels = channels,
                                                   .ns = (uint64_t)(us * 1e3)}};
    if (!p || (size_t)m->type >= sizeof profiled_dtypes / sizeof *profiled_dtypes || 2 * p->comm.ranks > PROFILER_TASKS)
        return;
    if (m->coll == COLL_SENDRECV) { /* the peers do not matter to who counts */
        tasks[1] = tasks[0];
        tasks[0].func = "Send";
        tasks[1].func = "Recv";
        tasks[0].peer = (p->comm.rank + 1) % p->comm.ranks;
        tasks[1].peer = (p->comm.rank + p->comm.ranks - 1) % p->comm.ranks;
        launch(p, tasks, 2);
        return;
    }
    if (m->coll != LAW_ALLTOALL) {
        tasks[0].func = names[m->coll];
        launch(p, tasks, 1);
        return;
    }
    for (int i = 2 * p->comm.ranks - 1; i >= 0; i--) {
        tasks[i] = tasks[0];
        tasks[i].func = i % 2 ? "Recv" : "Send";
        tasks[i].peer = i / 2;
        tasks[i].count = i % 2 ? m->own : m->shares[i / 2];
    }
    launch(p, tasks, 2 * (size_t)p->comm.ranks);
}
