/* probe --tree: NCCL's own search of rings and trees, with and without the tree, and with two NICs exchanged. */
#include "cli/tree.h"

#include <math.h>
#include <string.h>

#include "model/nccl/model.h"

/* What NCCL finds on two such nodes, in `a`; NULL: nothing. */
static const struct nccl_model *search_graphs(const struct topology *t, int class_index, struct arena *a, struct err *e)
{
    struct nccl_setup s = {.topology = t, .class_index = class_index, .nodes = 2};
    return nccl_model_new(&s, a, e);
}

static const char *describe_rings(const struct nccl_model *m, struct arena *a)
{
    return arena_printf(a, "%d channels, %d x %g GB/s to the network over %s, %s GPUDirect RDMA", m->nchannels,
                        m->ring.nchannels, m->ring.bw_inter, path_class_name(m->ring.type_inter),
                        m->ring.type_inter <= PATH_PXN ? "with" : "without");
}

static double total_GBps(const struct nccl_model *m)
{
    return m->ring.nchannels * m->ring.bw_inter;
}

static int is_like(const struct nccl_model *x, const struct nccl_model *y)
{
    return x->nchannels == y->nchannels && fabs(total_GBps(x) - total_GBps(y)) < 1e-3 &&
           x->ring.type_inter == y->ring.type_inter;
}

/* Move each NIC to the switch of the next one that is elsewhere, or exchange the two. */
static void tell_edits(const struct topology *after, int class_index, const struct nccl_model *with, int exchange,
                       struct log *log, struct arena *a)
{
    struct topology *edited = topo_copy(after, NULL);
    struct topo_class *c = edited ? &edited->classes[class_index] : NULL;
    const char *changing = "";
    int edits = 0, changes = 0;
    for (int i = 0; c && i + 1 < c->nports; i++) {
        struct topo_object *x = c->ports[i].object < 0 ? NULL : &c->objects[c->ports[i].object];
        struct topo_object *y = c->ports[i + 1].object < 0 ? NULL : &c->objects[c->ports[i + 1].object];
        if (!x || !y || x->parent == y->parent)
            continue;
        int first = x->parent, second = y->parent;
        x->parent = second;
        y->parent = exchange ? first : second;
        const struct nccl_model *m = search_graphs(edited, class_index, a, NULL);
        edits++;
        if (m && !is_like(m, with))
            changing = arena_printf(a, "%s%s%s", changing, changes++ ? ", " : ": ", c->ports[i].hca);
        x->parent = first;
        y->parent = second;
    }
    if (edits)
        log_info(log, "%s: %s changes that in %d of %d cases%s", after->classes[class_index].name,
                 exchange ? "to exchange a NIC and the next one" : "to put a NIC behind the next one's switch", changes,
                 edits, changing);
    topo_free(edited);
}

void cli_compare_trees(const struct topology *before, const struct topology *after, struct log *log)
{
    struct arena *a = arena_new();
    for (int i = 0; i < after->nclasses; i++) {
        struct err e = {0};
        const struct topo_class *c = &after->classes[i];
        const struct nccl_model *without = c->ngpus ? search_graphs(before, i, a, &e) : NULL,
                                *with = c->ngpus ? search_graphs(after, i, a, &e) : NULL;
        if (!c->ngpus)
            continue;
        log_info(log, "%s: on two nodes NCCL would make, without this tree: %s", c->name,
                 without ? describe_rings(without, a) : e.text);
        log_info(log, "%s: with it: %s", c->name, with ? describe_rings(with, a) : e.text);
        for (int exchange = 0; exchange < 2 && with; exchange++)
            tell_edits(after, i, with, exchange, log, a);
    }
    arena_free(a);
}
