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

/* Size of the largest set of GPUs of a class that links join, over an NVSwitch too. */
static int class_domain(const struct topo_class *c, struct arena *a)
{
    int n = c->ngpus + c->nobjects, largest = 1;
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
    return largest;
}

int workload_nvlink_domain(const struct topology *t)
{
    int smallest = 0;
    struct arena *a = arena_new();
    for (int i = 0; i < t->nclasses; i++) {
        int domain = t->classes[i].ngpus ? class_domain(&t->classes[i], a) : 0;
        if (domain && (!smallest || domain < smallest))
            smallest = domain;
    }
    arena_free(a);
    return smallest;
}

int workload_rails(const struct topology *t)
{
    int fewest = 0;
    for (int i = 0; i < t->nclasses; i++) {
        const struct topo_class *c = &t->classes[i];
        int up = 0;
        for (int k = 0; c->ngpus && k < c->nports; k++)
            up += c->ports[k].state != TOPO_STATE_DOWN;
        if (up && (!fewest || up < fewest))
            fewest = up;
    }
    return fewest;
}

int workload_node_gpus(const struct topology *t)
{
    int fewest = 0;
    for (int i = 0; i < t->nclasses; i++)
        if (t->classes[i].ngpus && (!fewest || t->classes[i].ngpus < fewest))
            fewest = t->classes[i].ngpus;
    return fewest;
}

/* ---- a GPU's memory and its way to the host's ---- */

static int is_below(const struct topo_class *c, int object, int top)
{
    while (object >= 0 && object != top)
        object = c->objects[object].parent;
    return object == top;
}

/* GB/s of one GPU to the host when all copy at once: links further up are shared. 0: the topology does not tell. */
static double host_link(const struct topo_class *c, const struct topo_gpu *g)
{
    double least = 0;
    for (int o = g->object; o >= 0; o = c->objects[o].parent) {
        int sharing = 0;
        for (int i = 0; i < c->ngpus; i++)
            sharing += is_below(c, c->gpus[i].object, o);
        double each = sharing ? c->objects[o].link_GBps / sharing : 0;
        if (each > 0 && (!(least > 0) || each < least))
            least = each;
    }
    return least;
}

void workload_take_machine(struct workload_job *j, const struct topology *t)
{
    double link = 0, memory = 0;
    for (int k = 0; k < t->nclasses; k++)
        for (int i = 0; i < t->classes[k].ngpus; i++) {
            const struct topo_gpu *g = &t->classes[k].gpus[i];
            /* Grace and Hopper do not copy over PCIe. */
            double each = g->memory_numa ? 0 : host_link(&t->classes[k], g), has = (double)g->mem_bytes / 0x1p30;
            link = each > 0 && (!(link > 0) || each < link) ? each : link;
            memory = has > 0 && (!(memory > 0) || has < memory) ? has : memory;
        }
    j->host_GBps = j->host_GBps > 0 ? j->host_GBps : USABLE * link;
    j->memory_GiB = j->memory_GiB > 0 || j->gpu ? j->memory_GiB : memory;
    j->no_nvlink |= workload_nvlink_domain(t) == 1;
}
