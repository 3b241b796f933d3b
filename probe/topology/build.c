/* The steps by which sources, importers and machines build a topology: records, the order of devices, a PCI tree. */

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/topology_internal.h"

struct topo_class *build_class(struct topology *t, const char *name)
{
    const char *copy = name ? arena_strdup(t->arena, name) : arena_printf(t->arena, "class%d", t->nclasses);
    struct topo_class *c = &ARENA_ADD(t->arena, t->classes, t->nclasses);
    c->name = copy;
    return c;
}

void build_host(struct topology *t, const char *name, int class_index)
{
    ARENA_ADD(t->arena, t->hosts, t->nhosts) =
        (struct topo_host){.name = arena_strdup(t->arena, name), .class_index = class_index};
}

#define DEFINE_BUILD(type)                                                                \
    int build_##type(struct topology *t, struct topo_class *c, struct topo_##type record) \
    {                                                                                     \
        ARENA_ADD(t->arena, c->type##s, c->n##type##s) = record;                          \
        return c->n##type##s - 1;                                                         \
    }
DEFINE_BUILD(object)
DEFINE_BUILD(gpu)
DEFINE_BUILD(port)
DEFINE_BUILD(netdev)
DEFINE_BUILD(link)
DEFINE_BUILD(gid)

void build_text(struct topology *t, const char ***texts, int *n, const char *text)
{
    ARENA_ADD(t->arena, *texts, *n) = arena_strdup(t->arena, text);
}

void build_clique(struct topology *t, struct topo_host *h)
{
    const struct topo_class *c = &t->classes[h->class_index];
    for (int i = 0; i < c->ngpus && !h->clique; i++)
        h->clique = c->gpus[i].clique;
}

void build_sign(struct topology *t, const char *kind, const char *subject, double value)
{
    struct topo_host *h = t->nhosts ? &t->hosts[t->nhosts - 1] : NULL;
    if (h && (value > 0 || value < 0))
        build_text(t, &h->signs, &h->nsigns,
                   arena_printf(t->arena, "%s %.15g%s%s", kind, value, *subject ? " " : "", subject));
}

void build_missing(struct topology *t, const char *name, const char *why)
{
    ARENA_ADD(t->arena, t->missing, t->nmissing) =
        (struct topo_missing){arena_strdup(t->arena, name), arena_strdup(t->arena, why)};
}

const char *build_guid(struct arena *a, const char *text)
{
    char digits[17] = "";
    size_t n = 0;
    for (; text && *text; text++) {
        if (*text == ':')
            continue;
        if (n == 16 || !isxdigit((unsigned char)*text))
            return NULL;
        digits[n++] = *text;
    }
    return n == 16 && strspn(digits, "0") < 16 ? arena_printf(a, "0x%s", digits) : NULL;
}

const char *build_cpu_name(struct topology *t, const char *vendor, const char *family, const char *number,
                           const char *model)
{
    int n = model ? (int)strlen(model) : 0;
    while (n && model[n - 1] == ' ')
        n--;
    if (vendor && family && number)
        return arena_printf(t->arena, "%s %s/%s%s%.*s", vendor, family, number, n ? ", " : "", n, n ? model : "");
    return n ? arena_strndup(t->arena, model, (size_t)n) : NULL;
}

void build_note(struct topology *t, struct topo_class *c, const char *fmt, ...)
{
    const int most = 100; /* a hostile file has a fault in every line */
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (c->nnotes == most)
        snprintf(text, sizeof text, "more of the kind");
    else if (c->nnotes > most)
        return;
    for (int i = 0; i < c->nnotes; i++)
        if (!strcmp(c->notes[i], text))
            return;
    ARENA_ADD(t->arena, c->notes, c->nnotes) = arena_strdup(t->arena, text);
}

int build_numa(struct topology *t, struct topo_class *c, int numa)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].numa == numa)
            return i;
    return build_object(t, c, (struct topo_object){.kind = TOPO_NUMA, .parent = -1, .numa = numa});
}

int build_find_pci(const struct topo_class *c, const char *pci)
{
    for (int i = 0; pci && i < c->nobjects; i++)
        if (c->objects[i].pci && !strcmp(c->objects[i].pci, pci))
            return i;
    return -1;
}

int build_nic(struct topology *t, struct topo_class *c, const char *pci, const char *name)
{
    int at = build_find_pci(c, pci);
    for (int i = 0; !pci && i < c->nobjects && at < 0; i++)
        if (c->objects[i].kind == TOPO_NIC && !c->objects[i].pci && c->objects[i].name &&
            !strcmp(c->objects[i].name, name))
            at = i;
    if (at >= 0 && !c->objects[at].name)
        c->objects[at].name = arena_strdup(t->arena, name);
    if (at >= 0)
        return at;
    struct topo_object o = {.kind = TOPO_NIC, .parent = -1, .numa = -1, .name = arena_strdup(t->arena, name)};
    o.pci = arena_strdup(t->arena, pci);
    return build_object(t, c, o);
}

int build_nvswitch(struct topology *t, struct topo_class *c, const char *pci)
{
    int at = build_find_pci(c, pci);
    for (int i = 0; !pci && i < c->nobjects && at < 0; i++)
        if (c->objects[i].kind == TOPO_NVSWITCH && !c->objects[i].pci)
            at = i;
    return at >= 0
               ? at
               : build_object(t, c, (struct topo_object){.kind = TOPO_NVSWITCH, .parent = -1, .numa = -1, .pci = pci});
}

int build_find_gpu(const struct topo_class *c, int object)
{
    for (int i = 0; i < c->ngpus && object >= 0; i++)
        if (c->gpus[i].object == object)
            return i;
    return -1;
}

int build_gpu_at(struct topology *t, struct topo_class *c, struct topo_object seen, const char *source)
{
    int object = build_find_pci(c, seen.pci), known = build_find_gpu(c, object);
    if (known >= 0)
        return known;
    if (object < 0) {
        seen.kind = TOPO_GPU;
        seen.parent = seen.numa = -1;
        object = build_object(t, c, seen);
        build_note(t, c, "%s: GPU %s is not in the PCI tree that /sys shows: its place is unknown", source, seen.pci);
    }
    return build_gpu(t, c, (struct topo_gpu){.object = object, .index = -1, .gdr = -1});
}

static void move_index(int *index, const int *where)
{
    if (*index >= 0)
        *index = where[*index];
}

void build_renumber(struct topo_class *c, const int *where)
{
    for (int i = 0; i < c->ngpus; i++)
        move_index(&c->gpus[i].object, where);
    for (int i = 0; i < c->nports; i++)
        move_index(&c->ports[i].object, where);
    for (int i = 0; i < c->nnetdevs; i++)
        move_index(&c->netdevs[i].object, where);
    for (int i = 0; i < c->nlinks; i++)
        move_index(&c->links[i].peer_object, where);
}

/* ---- order: GPUs as the vendor's tools number them, RDMA ports by their HCA's name ------------------------------- */

struct numbered {
    int gpu, index; /* `index` is INT_MAX where the GPU brought none */
    const char *pci;
};

/* "10000:00:00.0" comes after "ffff:00:00.0": domains have four digits or more. */
static int compare_pci(const char *a, const char *b)
{
    if (!a || !b)
        return (a == NULL) - (b == NULL);
    size_t la = strlen(a), lb = strlen(b);
    return la != lb ? (la > lb) - (la < lb) : strcmp(a, b);
}

static int compare_numbered(const void *x, const void *y)
{
    const struct numbered *a = x, *b = y;
    if (a->index != b->index)
        return (a->index > b->index) - (a->index < b->index);
    int by_pci = compare_pci(a->pci, b->pci);
    return by_pci ? by_pci : a->gpu - b->gpu;
}

/* Gives the GPUs without an index, or with one that an earlier GPU has, the free ones. */
static void number_gpus(struct topo_class *c, const struct numbered *order)
{
    int next = 0, taken = 0;
    while (taken < c->ngpus && order[taken].index != INT_MAX)
        taken++;
    for (int i = 0; i < c->ngpus; i++) {
        struct topo_gpu *g = &c->gpus[order[i].gpu];
        if (order[i].index != INT_MAX && (i == 0 || order[i].index != order[i - 1].index)) {
            g->index = order[i].index;
            continue;
        }
        /* `order` is sorted up to `taken`, so one pass over it finds every free number. */
        for (int k = 0; k < taken && order[k].index <= next; k++)
            next += order[k].index == next;
        g->index = next++;
    }
}

static void order_gpus(struct topology *t, struct topo_class *c)
{
    int n = c->ngpus;
    if (n <= 0)
        return;
    struct numbered *order = arena_alloc(t->arena, (size_t)n * sizeof *order);
    int *where = arena_alloc(t->arena, (size_t)n * sizeof *where);
    for (int i = 0; i < n; i++) {
        int index = c->gpus[i].index;
        order[i] = (struct numbered){i, index < 0 ? INT_MAX : index, c->objects[c->gpus[i].object].pci};
    }
    qsort(order, (size_t)n, sizeof *order, compare_numbered);
    number_gpus(c, order);

    for (int i = 0; i < n; i++)
        order[i].index = c->gpus[order[i].gpu].index;
    qsort(order, (size_t)n, sizeof *order, compare_numbered);
    struct topo_gpu *sorted = arena_alloc(t->arena, (size_t)n * sizeof *sorted);
    for (int i = 0; i < n; i++) {
        sorted[i] = c->gpus[order[i].gpu];
        where[order[i].gpu] = i;
        struct topo_object *o = &c->objects[sorted[i].object];
        int shared = i > 0 && sorted[i - 1].object == sorted[i].object;
        o->name = shared ? arena_printf(t->arena, "%s+%d", o->name, sorted[i].index)
                         : arena_printf(t->arena, "GPU%d", sorted[i].index);
    }
    memcpy(c->gpus, sorted, (size_t)n * sizeof *sorted); /* where there is room for more */
    for (int i = 0; i < c->nlinks; i++) {
        c->links[i].gpu = where[c->links[i].gpu];
        if (c->links[i].peer_gpu >= 0)
            c->links[i].peer_gpu = where[c->links[i].peer_gpu];
    }
}

static int compare_ports(const void *x, const void *y)
{
    const struct topo_port *a = x, *b = y;
    int order = strverscmp(a->hca, b->hca);
    return order ? order : (a->port > b->port) - (a->port < b->port);
}

static void order_ports(struct topo_class *c)
{
    if (!c->nports)
        return;
    struct arena *a = arena_new();
    struct topo_port *before = arena_alloc(a, (size_t)c->nports * sizeof *before);
    memcpy(before, c->ports, (size_t)c->nports * sizeof *before);
    qsort(c->ports, (size_t)c->nports, sizeof *c->ports, compare_ports);
    for (int i = 0; i < c->ngids; i++) {
        const struct topo_port *p = &before[c->gids[i].port];
        c->gids[i].port = topo_find_port(c, p->hca, p->port);
    }
    arena_free(a);
}

void build_order_devices(struct topology *t, struct topo_class *c)
{
    order_gpus(t, c);
    order_ports(c);
}

int *build_groups(int n, struct arena *a)
{
    int *group = arena_alloc(a, (size_t)n * sizeof *group);
    for (int i = 0; i < n; i++)
        group[i] = i;
    return group;
}

void build_join_groups(int *group, int n, int i, int k)
{
    int first = group[i] < group[k] ? group[i] : group[k], other = group[i] < group[k] ? group[k] : group[i];
    for (int x = 0; x < n && first != other; x++)
        group[x] = group[x] == other ? first : group[x];
}

/* ---- a PCI tree, as hwloc and lspci show it ---------------------------------------------------------------------- */

static int add_function(struct topology *t, struct topo_class *c, struct pci_place at, struct topo_object o,
                        enum topo_kind kind)
{
    o.kind = kind;
    o.parent = at.parent;
    o.numa = at.numa;
    return build_object(t, c, o);
}

struct pci_place pci_tree_host_bridge(struct topology *t, struct topo_class *c, int numa, const char *name)
{
    struct topo_object o = {.kind = TOPO_HOST_BRIDGE, .parent = -1, .numa = numa, .name = name};
    if (numa >= 0)
        o.parent = build_numa(t, c, numa);
    return (struct pci_place){build_object(t, c, o), numa, 0};
}

struct pci_place pci_tree_bridge(struct topology *t, struct topo_class *c, struct pci_place at, struct topo_object o)
{
    at.bridges++;
    if (at.bridges % 2 == 0)
        at.parent = add_function(t, c, at, o, TOPO_SWITCH);
    return at;
}

int pci_tree_device(struct topology *t, struct topo_class *c, struct pci_place at, struct topo_object o,
                    enum topo_kind claimed)
{
    if (claimed == TOPO_NVSWITCH || (o.vendor && pci_is_nvswitch(o.pci_class, o.vendor)))
        return add_function(t, c, at, o, TOPO_NVSWITCH);
    if (claimed == TOPO_NIC || (claimed != TOPO_GPU && pci_is_nic(o.pci_class)))
        return add_function(t, c, at, o, TOPO_NIC);
    if (claimed != TOPO_GPU && !pci_is_gpu(o.pci_class, o.vendor, o.device))
        return -1;
    int object = add_function(t, c, at, o, TOPO_GPU);
    build_gpu(t, c, (struct topo_gpu){.object = object, .index = -1, .gdr = -1});
    return object;
}

/* Remove the objects that are not in `keep`; every index follows. */
static void drop_objects(struct topo_class *c, const unsigned char *keep)
{
    struct arena *a = arena_new();
    int *where = arena_alloc(a, (size_t)c->nobjects * sizeof *where), n = 0;
    for (int i = 0; i < c->nobjects; i++) {
        where[i] = keep[i] ? n : -1;
        if (keep[i])
            c->objects[n++] = c->objects[i];
    }
    c->nobjects = n;
    for (int i = 0; i < n; i++)
        if (c->objects[i].parent >= 0)
            c->objects[i].parent = where[c->objects[i].parent];
    build_renumber(c, where);
    arena_free(a);
}

void pci_tree_prune(struct topo_class *c)
{
    struct arena *a = arena_new();
    unsigned char *keep = arena_alloc(a, (size_t)c->nobjects);
    /* Children come behind their parents. */
    for (int i = c->nobjects - 1; i >= 0; i--) {
        enum topo_kind kind = c->objects[i].kind;
        keep[i] |= kind != TOPO_SWITCH && kind != TOPO_HOST_BRIDGE;
        if (keep[i] && c->objects[i].parent >= 0)
            keep[c->objects[i].parent] = 1;
    }
    drop_objects(c, keep);
    arena_free(a);
}

void pci_tree_drop_unused_nics(struct topology *t, struct topo_class *c)
{
    struct arena *a = arena_new();
    unsigned char *keep = arena_alloc(a, (size_t)c->nobjects);
    int dropped = 0;
    const char *example = NULL;
    for (int i = 0; i < c->nobjects; i++)
        keep[i] = c->objects[i].kind != TOPO_NIC;
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object >= 0)
            keep[c->ports[i].object] = 1;
    for (int i = 0; i < c->nnetdevs; i++)
        if (c->netdevs[i].object >= 0)
            keep[c->netdevs[i].object] = 1;
    for (int i = 0; i < c->nobjects; i++)
        if (!keep[i]) {
            dropped++;
            example = example ? example : c->objects[i].pci;
        }
    if (dropped && (c->nports || c->nnetdevs)) {
        build_note(t, c, "PCI: %d network function%s without a driver left out (%s%s)", dropped,
                   dropped == 1 ? "" : "s", example, dropped == 1 ? "" : ", ...");
        drop_objects(c, keep);
    }
    arena_free(a);
}
