/* How the usual baseboards join GPUs: a table of those that are no mesh, and the rules for all others; and files that
 * show GPUs as bare PCI functions, completed by a person who knows which they are. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "probe/machines/machines.h"
#include "probe/machines/machines_internal.h"

/* GPUs a and b are joined by that many links. */
struct wire {
    int a, b, links;
};

/* DGX-1 With Tesla V100 System Architecture, WP-08437: two squares with diagonals, and an edge between them. */
static const struct wire hybrid_cube[] = {
    {0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
    {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2},
};

/* Four modules of two dies: C. Pearson, Interconnect Bandwidth Heterogeneity on AMD MI250x and Infinity Fabric, 2023;
 * Frontier User Guide. */
static const struct wire four_modules[] = {
    {0, 1, 4}, {2, 3, 4}, {4, 5, 4}, {6, 7, 4}, {0, 6, 2}, {2, 4, 2},
    {0, 2, 1}, {1, 3, 1}, {1, 5, 1}, {3, 7, 1}, {4, 6, 1}, {5, 7, 1},
};

static const struct board {
    const char *gpu; /* beginning of a name of hw_gpus */
    int ngpus;
    const struct wire *wires;
    int nwires;
} boards[] = {
    {"v100-sxm2", 8, hybrid_cube, sizeof hybrid_cube / sizeof *hybrid_cube},
    {"mi250x", 8, four_modules, sizeof four_modules / sizeof *four_modules},
};

static void join_gpus(struct topology *t, struct topo_class *c, const struct hw_gpu *hw, struct wire w)
{
    struct topo_link l = {.link_kind = hw->link_kind, .gpu = w.a, .peer_gpu = w.b, .peer_object = -1, .count = w.links};
    l.GBps = w.links * hw->link_GBps;
    build_link(t, c, l);
    l.gpu = w.b;
    l.peer_gpu = w.a;
    build_link(t, c, l);
}

/* Every GPU of a group to every other one of it, with an equal share of its links. */
static void join_mesh(struct topology *t, struct topo_class *c, const struct hw_gpu *hw, int first, int n)
{
    int links = n > 1 ? hw->links / (n - 1) : 0;
    for (int a = first; links && a < first + n; a++)
        for (int b = a + 1; b < first + n; b++)
            join_gpus(t, c, hw, (struct wire){a, b, links});
}

static void join_to_switches(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    int first = c->nobjects, n = hw->switched;
    for (int i = 0; i < n; i++)
        build_object(
            t, c,
            (struct topo_object){
                .kind = TOPO_NVSWITCH, .parent = -1, .numa = -1, .name = arena_printf(t->arena, "NVSwitch%d", i)});
    for (int g = 0; g < c->ngpus; g++)
        for (int i = 0; i < n; i++) {
            int links = hw->links / n + (i < hw->links % n);
            build_link(t, c,
                       (struct topo_link){.link_kind = hw->link_kind,
                                          .gpu = g,
                                          .peer_gpu = -1,
                                          .peer_object = first + i,
                                          .count = links,
                                          .GBps = links * hw->link_GBps});
        }
}

static void join_to_cpus(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    for (int g = 0; g < c->ngpus; g++) {
        int root = topo_numa_root(c, c->gpus[g].object);
        if (root >= 0)
            build_link(t, c,
                       (struct topo_link){.link_kind = TOPO_C2C,
                                          .gpu = g,
                                          .peer_gpu = -1,
                                          .peer_object = root,
                                          .count = 1,
                                          .GBps = hw->c2c_GBps});
    }
}

static const struct board *find_board(const struct hw_gpu *hw, int ngpus)
{
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (!strncmp(hw->name, boards[i].gpu, strlen(boards[i].gpu)) && boards[i].ngpus == ngpus)
            return &boards[i];
    return NULL;
}

/* Boards of four have no NVSwitches: HGX A100 and HGX H100 4-GPU. Those of Grace machines are elsewhere in the rack. */
static int is_switched(const struct hw_gpu *hw, int ngpus)
{
    return hw->switched && (ngpus != 4 || hw->c2c_GBps > 0);
}

void wiring_usual(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    const struct board *board = find_board(hw, c->ngpus);
    int group = hw->bridge ? hw->bridge : c->ngpus;
    for (int i = 0; board && i < board->nwires; i++)
        join_gpus(t, c, hw, board->wires[i]);
    if (!board && is_switched(hw, c->ngpus))
        join_to_switches(t, c, hw);
    else if (!board)
        for (int first = 0; first + group <= c->ngpus && group > 1; first += group)
            join_mesh(t, c, hw, first, group);
    if (hw->c2c_GBps > 0)
        join_to_cpus(t, c, hw);
}

/* ---- GPUs that a file leaves open -------------------------------------------------------------------------------- */

static const char *device_text(struct arena *a, const struct topo_object *o)
{
    return o->model ? o->model : arena_printf(a, "PCI device %04x:%04x", o->vendor, o->device);
}

/* gfx940 and gfx941 were gfx942 before it was sold. */
static int same_arch(const char *a, const char *b)
{
    return !strcmp(a, b) || (!strncmp(a, "gfx94", 5) && !strncmp(b, "gfx94", 5));
}

/* What the topology says of that GPU that `asked` is not; NULL nothing. */
static const char *find_contradiction(const struct topo_class *c, int gpu, const struct hw_gpu *asked, struct arena *a)
{
    const double most_off = 0.15; /* drivers keep a part of the memory, and count in other units */
    const struct topo_gpu *g = &c->gpus[gpu];
    const struct topo_object *o = &c->objects[g->object];
    const struct hw_gpu *named = hw_gpu_named(c, g);
    char own[UNIT_TEXT], other[UNIT_TEXT];
    if (named && named != asked)
        return arena_printf(a, "its %s says %s", device_text(a, o), named->name);
    if (o->vendor && o->vendor != hw_gpu_vendor(asked))
        return arena_printf(a, "its PCI vendor is %04x", o->vendor);
    if (g->sm && g->sm != asked->sm)
        return arena_printf(a, "it has compute capability %d.%d", g->sm / 10, g->sm % 10);
    if (g->arch && (!asked->arch || !same_arch(g->arch, asked->arch)))
        return arena_printf(a, "its architecture is %s", g->arch);
    if (g->mem_bytes && fabs((double)g->mem_bytes / (double)asked->mem_bytes - 1) > most_off)
        return arena_printf(a, "it has %s of memory, not %s", unit_bytes(own, g->mem_bytes),
                            unit_bytes(other, asked->mem_bytes));
    if (asked->links && topo_count_links(c, gpu) > asked->links)
        return arena_printf(a, "it has %d links, not %d", topo_count_links(c, gpu), asked->links);
    return NULL;
}

static int check_gpus(const struct topology *t, const struct hw_gpu *asked, struct err *e)
{
    int ngpus = 0;
    for (int i = 0; i < t->nclasses; i++)
        for (int k = 0; k < t->classes[i].ngpus; k++, ngpus++) {
            const struct topo_class *c = &t->classes[i];
            const char *why = find_contradiction(c, k, asked, t->arena);
            if (why)
                return err_set(e, ERR_USAGE, "GPU%d of %s is not %s: %s", c->gpus[k].index, c->name, asked->name, why);
        }
    return ngpus ? 0 : err_set(e, ERR_USAGE, "%s: there is no GPU that could be %s", t->source, asked->name);
}

static void complete_gpu(struct topo_class *c, int gpu, const struct hw_gpu *hw)
{
    struct topo_gpu *g = &c->gpus[gpu];
    struct topo_object *o = &c->objects[g->object];
    o->model = o->model ? o->model : hw->model;
    o->vendor = hw_gpu_vendor(hw);
    o->device = o->device ? o->device : hw->device;
    g->sm = hw->sm;
    g->arch = g->arch ? g->arch : hw->arch;
    g->mem_bytes = g->mem_bytes ? g->mem_bytes : hw->mem_bytes;
    g->gdr = g->gdr >= 0 ? g->gdr : !hw->no_p2p;
}

/* Links that are there keep their ends and get a speed; where there is none, the usual baseboard's are added. */
static void complete_links(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    if (!c->nlinks)
        wiring_usual(t, c, hw);
    for (int i = 0; i < c->nlinks; i++) {
        struct topo_link *l = &c->links[i];
        if (!(l->GBps > 0))
            l->GBps = l->link_kind == TOPO_C2C ? hw->c2c_GBps : l->count * hw->link_GBps;
    }
}

int machine_complete_gpus(struct topology *t, const char *gpu, struct err *e)
{
    const struct hw_gpu *hw = hw_gpu_find(gpu);
    if (!hw)
        return hw_gpu_unknown(gpu, e);
    int rc = check_gpus(t, hw, e);
    for (int i = 0; i < t->nclasses && !rc; i++) {
        struct topo_class *c = &t->classes[i];
        int nlinks = c->nlinks;
        for (int k = 0; k < c->ngpus; k++)
            complete_gpu(c, k, hw);
        if (!c->ngpus)
            continue;
        complete_links(t, c, hw);
        build_note(t, c, "the GPUs are taken for %s, as was asked for%s", hw->name,
                   c->nlinks > nlinks ? "; their links are those of the usual baseboard" : "");
    }
    return rc;
}
