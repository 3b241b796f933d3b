/* Files that show GPUs as bare PCI functions are completed by a person who knows which they are. */
#include <math.h>
#include <string.h>

#include "core/units.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/machines/wiring.h"
#include "probe/topology/build.h"

static int links_of(const struct topo_class *c, int gpu)
{
    int n = 0;
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].gpu == gpu && c->links[i].link_kind != TOPO_C2C)
            n += c->links[i].count;
    return n;
}

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
static const char *contradiction(const struct topo_class *c, int gpu, const struct hw_gpu *asked, struct arena *a)
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
    if (asked->links && links_of(c, gpu) > asked->links)
        return arena_printf(a, "it has %d links, not %d", links_of(c, gpu), asked->links);
    return NULL;
}

static int check(const struct topology *t, const struct hw_gpu *asked, struct err *e)
{
    int ngpus = 0;
    for (int i = 0; i < t->nclasses; i++)
        for (int k = 0; k < t->classes[i].ngpus; k++, ngpus++) {
            const struct topo_class *c = &t->classes[i];
            const char *why = contradiction(c, k, asked, t->arena);
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
    int rc = check(t, hw, e);
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
