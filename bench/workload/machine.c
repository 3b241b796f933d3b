/* What a job needs to know of the machine that it runs on. */
#include <math.h>

#include "bench/workload/job.h"

#define USABLE 0.8 /* of a link: what is left for data, as in job.c */

/* The root of `i` in a forest of parent indexes. */
static int root_of(const int *up, int i)
{
    while (up[i] != i)
        i = up[i];
    return i;
}

/* Size of the largest set of GPUs of a class that links join, over an NVSwitch too; 0: it has none. */
static int domain_of(const struct topo_class *c)
{
    int n = c->ngpus + c->nobjects, largest = 0;
    struct arena *a = arena_new();
    int *up = arena_alloc(a, (size_t)n * sizeof *up), *size = arena_alloc(a, (size_t)n * sizeof *size);
    for (int i = 0; i < n; i++)
        up[i] = i;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu >= 0)
            up[root_of(up, l->gpu)] = root_of(up, l->peer_gpu);
        else if (l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH)
            up[root_of(up, l->gpu)] = root_of(up, c->ngpus + l->peer_object);
    }
    for (int i = 0; i < c->ngpus; i++) {
        int *s = &size[root_of(up, i)];
        if (++*s > largest)
            largest = *s;
    }
    arena_free(a);
    return largest;
}

static int rails_of(const struct topo_class *c)
{
    int up = 0;
    for (int k = 0; c->ngpus && k < c->nports; k++)
        up += c->ports[k].state != TOPO_STATE_DOWN;
    return up;
}

static int gpus_of(const struct topo_class *c)
{
    return c->ngpus;
}

/* Of the class that has the fewest, but any. */
static int fewest(const struct topology *t, int (*of)(const struct topo_class *c))
{
    int least = 0;
    for (int i = 0; i < t->nclasses; i++) {
        int own = of(&t->classes[i]);
        if (own && (!least || own < least))
            least = own;
    }
    return least;
}

int workload_nvlink_domain(const struct topology *t)
{
    return fewest(t, domain_of);
}

int workload_rails(const struct topology *t)
{
    return fewest(t, rails_of);
}

int workload_node_gpus(const struct topology *t)
{
    return fewest(t, gpus_of);
}

/* ---- a GPU's memory and its way to the host's ---- */

static int is_below(const struct topo_class *c, int object, int top)
{
    while (object >= 0 && object != top)
        object = c->objects[object].parent;
    return object == top;
}

/* The lesser of both; what is not known (0) is none. */
static double lesser(double x, double y)
{
    double least = fmin(x > 0 ? x : INFINITY, y > 0 ? y : INFINITY);
    return isinf(least) ? 0 : least;
}

/* GB/s of one GPU to the host when all copy at once: links further up are shared. 0: the topology does not tell. */
static double host_link(const struct topo_class *c, const struct topo_gpu *g)
{
    double least = 0;
    for (int o = g->object; o >= 0; o = c->objects[o].parent) {
        int sharing = 0;
        for (int i = 0; i < c->ngpus; i++)
            sharing += is_below(c, c->gpus[i].object, o);
        least = lesser(least, c->objects[o].link_GBps / sharing);
    }
    return least;
}

void workload_take_machine(struct workload_job *j, const struct topology *t)
{
    double link = 0, memory = 0;
    for (int k = 0; k < t->nclasses; k++)
        for (int i = 0; i < t->classes[k].ngpus; i++) {
            const struct topo_gpu *g = &t->classes[k].gpus[i];
            if (!g->memory_numa) /* Grace and Hopper do not copy over PCIe */
                link = lesser(link, host_link(&t->classes[k], g));
            memory = lesser(memory, (double)g->mem_bytes / 0x1p30);
        }
    j->host_GBps = j->host_GBps > 0 ? j->host_GBps : USABLE * link;
    j->memory_GiB = j->memory_GiB > 0 || j->gpu ? j->memory_GiB : memory;
    j->no_nvlink |= workload_nvlink_domain(t) == 1;
}
