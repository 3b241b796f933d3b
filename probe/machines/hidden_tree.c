/* The PCI tree that a virtual machine or a container does not show, completed from a description of the machine or from
 * measured bandwidths. What is assumed becomes a note of the class that begins with TREE_ASSUMED. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/file.h"
#include "probe/machines/machines.h"
#include "probe/machines/machines_internal.h"

/* ---- which device of the description is which here ----------------------------------------------------------------
 */

struct devices {
    int *objects; /* of a class */
    int n;
};

static int is_one_of(const struct devices *d, int object)
{
    for (int i = 0; i < d->n; i++)
        if (d->objects[i] == object)
            return 1;
    return 0;
}

static void add_device(struct devices *d, int object)
{
    if (object >= 0 && !is_one_of(d, object))
        d->objects[d->n++] = object;
}

/* GPUs by their numbers; NICs with a port that jobs should use, by name: all, where no port's state is
 * known. */
static struct devices list_devices(const struct topo_class *c, enum topo_kind kind, struct arena *a)
{
    struct devices d = {.objects = arena_alloc(a, (size_t)(c->nobjects + 1) * sizeof *d.objects)};
    const struct port_verdict *v = roles_of(c, a);
    for (int i = 0; i < c->ngpus && kind == TOPO_GPU; i++)
        add_device(&d, c->gpus[i].object);
    for (int i = 0; i < c->nports && kind == TOPO_NIC; i++)
        if (v[i].role == ROLE_COMPUTE)
            add_device(&d, c->ports[i].object);
    int all = !d.n;
    for (int i = 0; i < c->nobjects; i++)
        if (all && c->objects[i].kind == kind)
            add_device(&d, i);
    return d;
}

static const char *device_name(const struct topo_object *o)
{
    return o->name ? o->name : o->pci ? o->pci : "a device";
}

/* Set map[object here] to the object of `like` in whose place it is: by PCI address if all are there, else in order. */
static int match_devices(struct topology *t, struct topo_class *c, const struct topology *like, enum topo_kind kind,
                         int *map, struct err *e)
{
    const struct topo_class *d = &like->classes[0];
    struct devices here = list_devices(c, kind, t->arena), there = list_devices(d, kind, t->arena);
    int by_address = 0;
    for (int i = 0; i < here.n; i++) {
        map[here.objects[i]] = build_find_pci(d, c->objects[here.objects[i]].pci);
        by_address += map[here.objects[i]] >= 0;
    }
    if (by_address != here.n && here.n != there.n)
        return err_set(e, ERR_USAGE, "%s has %d %s, %s has %d", like->source, there.n,
                       kind == TOPO_GPU ? "GPUs" : "NICs for jobs", c->name, here.n);
    if (by_address == here.n)
        build_note(t, c, TREE_ASSUMED "all %s are where %s has their PCI addresses", kind == TOPO_GPU ? "GPUs" : "NICs",
                   like->source);
    for (int i = 0; i < here.n && by_address != here.n; i++) {
        map[here.objects[i]] = there.objects[i];
        build_note(t, c, TREE_ASSUMED "%s is where %s has %s, by their numbers",
                   device_name(&c->objects[here.objects[i]]), like->source, device_name(&d->objects[there.objects[i]]));
    }
    return 0;
}

/* ---- the tree ------------------------------------------------------------------------------------------------------
 */

static void complete_link(struct topo_object *o, const struct topo_object *like)
{
    if (o->link_max_GTps > 0 || o->link_GTps > 0)
        return;
    o->link_GTps = like->link_GTps;
    o->link_max_GTps = like->link_max_GTps;
    o->link_width = like->link_width;
    o->link_max_width = like->link_max_width;
    o->link_GBps = like->link_GBps;
}

/* Put the devices of `c` below bridges and switches like those of `d`. */
static void grow_tree(struct topology *t, struct topo_class *c, const struct topo_class *d, const int *map)
{
    struct topo_class grown = {0};
    unsigned switches = 0;
    int *where = arena_alloc(t->arena, (size_t)c->nobjects * sizeof *where);
    int *above = arena_alloc(t->arena, (size_t)d->nobjects * sizeof *above); /* the grown one of each of `d` */
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].parent < 0)
            where[i] = build_object(t, &grown, c->objects[i]);
    for (int k = 0; k < d->nobjects; k++) {
        struct topo_object o = d->objects[k];
        above[k] = o.kind == TOPO_NUMA ? build_numa(t, &grown, o.numa) : -1;
        if (o.kind != TOPO_SWITCH && o.kind != TOPO_HOST_BRIDGE)
            continue;
        o.parent = o.parent < 0 ? -1 : above[o.parent];
        o.numa = o.parent < 0 ? o.numa : grown.objects[o.parent].numa;
        o.name = arena_strdup(t->arena, o.name); /* the description may be freed before */
        o.model = arena_strdup(t->arena, o.model);
        o.driver = arena_strdup(t->arena, o.driver);
        if (o.kind == TOPO_SWITCH) /* as in providers' files: no device has such an address */
            o.pci = arena_printf(t->arena, "ffff:ff:%02x.0", ++switches & 0x1f);
        above[k] = build_object(t, &grown, o);
    }
    for (int i = 0; i < c->nobjects; i++) {
        struct topo_object o = c->objects[i];
        const struct topo_object *like = map[i] < 0 ? NULL : &d->objects[map[i]];
        if (o.kind == TOPO_NUMA && o.parent < 0)
            continue;
        o.parent = like ? (like->parent < 0 ? -1 : above[like->parent]) : o.parent < 0 ? -1 : where[o.parent];
        if (like && o.parent >= 0) {
            o.numa = grown.objects[o.parent].numa;
            complete_link(&o, like);
        }
        where[i] = build_object(t, &grown, o);
    }
    c->objects = grown.objects;
    c->nobjects = grown.nobjects;
    build_renumber(c, where);
    pci_tree_prune(c);
}

int machine_complete_tree(struct topology *t, const struct topology *like, struct err *e)
{
    int rc = like->nclasses == 1 ? 0 : err_set(e, ERR_USAGE, "%s: expected one kind of node", like->source);
    for (int i = 0; i < t->nclasses && !rc; i++) {
        struct topo_class *c = &t->classes[i];
        int *map = arena_alloc(t->arena, (size_t)(c->nobjects + 1) * sizeof *map);
        for (int k = 0; k < c->nobjects; k++)
            map[k] = -1;
        rc = match_devices(t, c, like, TOPO_GPU, map, e);
        if (!rc)
            rc = match_devices(t, c, like, TOPO_NIC, map, e);
        if (!rc)
            grow_tree(t, c, &like->classes[0], map);
        for (int k = 0; k < like->classes[0].nnotes && !rc; k++)
            if (!strncmp(like->classes[0].notes[k], TREE_ASSUMED, strlen(TREE_ASSUMED)))
                build_note(t, c, "%s", like->classes[0].notes[k]);
    }
    return rc;
}

/* ---- measured ------------------------------------------------------------------------------------------------------
 */

#define NEAR 0.85 /* of a NIC's best bandwidth: GPUs behind one switch reach that, those behind a CPU do not */

struct measured {
    const struct topo_class *c;
    struct devices gpus, nics;
    double *GBps; /* nics × gpus; 0: not measured */
};

static int find_named(const struct topo_class *c, const struct devices *d, const char *name)
{
    for (int i = 0; i < d->n; i++) {
        const struct topo_object *o = &c->objects[d->objects[i]];
        if ((o->name && !strcmp(o->name, name)) || (o->pci && !strcmp(o->pci, name)))
            return i;
    }
    return -1;
}

/* "GPU0 mlx5_0 24.1" a line; '#' begins a remark. */
static int read_measured(struct measured *m, const char *path, struct arena *a, struct err *e)
{
    char *text, *rest, gpu[64], nic[64], value[32], more, *end = value;
    size_t bytes;
    int rc = file_read_text(path, FILE_LIMIT, a, &text, &bytes, e);
    rest = rc ? NULL : text;
    for (long number = 1; rest && !rc; number++) {
        char *line = strsep(&rest, "\n");
        line[strcspn(line, "#\r")] = 0;
        if (!line[strspn(line, " \t")])
            continue;
        int words = sscanf(line, "%63s %63s %31s %c", gpu, nic, value, &more);
        double GBps = words == 3 ? strtod(value, &end) : 0;
        if (!(GBps > 0) || GBps > 1e4 || *end)
            return err_at(e, path, number, 0, "expected GPU NIC GB/s, such as \"GPU0 mlx5_0 24.1\"");
        int g = find_named(m->c, &m->gpus, gpu), n = find_named(m->c, &m->nics, nic);
        if (g < 0 || n < 0)
            return err_at(e, path, number, 0, "%s has no %s called %s", m->c->name, g < 0 ? "GPU" : "NIC for jobs",
                          g < 0 ? gpu : nic);
        m->GBps[n * m->gpus.n + g] = GBps;
    }
    return rc;
}

/* Whether the GPU is among the nearest of the NIC. 0 for all if the NIC is as near to every one that was measured. */
static int is_near(const struct measured *m, int nic, int gpu)
{
    const double *row = m->GBps + (ptrdiff_t)nic * m->gpus.n;
    double best = 0;
    int near = 0, measured = 0;
    for (int g = 0; g < m->gpus.n; g++)
        best = fmax(best, row[g]);
    for (int g = 0; g < m->gpus.n; g++) {
        measured += row[g] > 0;
        near += row[g] > NEAR * best;
    }
    return near < measured && row[gpu] > NEAR * best;
}

/* GPUs first, NICs behind; all devices of one switch are a group. */
static int *group_by_switch(const struct measured *m, struct arena *a)
{
    int n = m->gpus.n + m->nics.n, *group = build_groups(n, a);
    for (int k = 0; k < m->nics.n; k++)
        for (int g = 0; g < m->gpus.n; g++)
            if (is_near(m, k, g))
                build_join_groups(group, n, g, m->gpus.n + k);
    return group;
}

static int device_at(const struct measured *m, int i)
{
    return i < m->gpus.n ? m->gpus.objects[i] : m->nics.objects[i - m->gpus.n];
}

struct topology *machine_from_bandwidths(const struct topology *t, const char *path, struct err *e)
{
    if (t->nclasses != 1)
        return err_null(e, ERR_USAGE, "%s: bandwidths are those of one kind of node; here are %d", path, t->nclasses);
    struct topology *like = topo_new();
    struct topo_class *d = build_class(like, NULL);
    struct arena *a = like->arena;
    struct measured m = {.c = t->classes, .gpus = list_devices(t->classes, TOPO_GPU, a)};
    m.nics = list_devices(m.c, TOPO_NIC, a);
    int n = m.gpus.n + m.nics.n;
    m.GBps = arena_alloc(a, (size_t)(m.gpus.n * m.nics.n + 1) * sizeof *m.GBps);
    like->source = arena_strdup(a, path);
    int rc = read_measured(&m, path, a, e);
    for (int i = 0; i < n && !rc; i++)
        if (!m.c->objects[device_at(&m, i)].pci)
            rc = err_set(e, ERR_LACKS, "%s has no PCI address", device_name(&m.c->objects[device_at(&m, i)]));
    if (rc) {
        topo_free(like);
        return NULL;
    }
    const int *group = group_by_switch(&m, a);
    for (int i = 0; i < n; i++) {
        int numa = -1, members = 0; /* `numa`: of the first whose is known */
        const char *names = "";
        for (int k = i; k < n; k++)
            if (group[k] == i) {
                members++;
                numa = numa >= 0 ? numa : m.c->objects[device_at(&m, k)].numa;
            }
        if (!members)
            continue;
        int parent = build_numa(like, d, numa < 0 ? 0 : numa);
        if (members > 1)
            parent = build_object(like, d, (struct topo_object){.kind = TOPO_SWITCH, .parent = parent, .numa = numa});
        for (int k = i; k < n; k++) {
            struct topo_object o = m.c->objects[device_at(&m, k)];
            if (group[k] != i)
                continue;
            o.parent = parent;
            build_object(like, d, o);
            names = arena_printf(a, "%s%s%s", names, k > i ? ", " : "", device_name(&o));
        }
        build_note(like, d, TREE_ASSUMED "%s %s, by %s%s", names,
                   members > 1 ? "are behind one switch" : "is behind none", path,
                   numa < 0 ? "; on NUMA node 0, as none is known" : "");
    }
    return like;
}
