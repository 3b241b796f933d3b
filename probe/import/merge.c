/* One node out of several descriptions of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/import.h"
#include "probe/topology/build.h"
#include "probe/topology/fields.h"
#include "probe/topology/pci_tree.h"

/* From one class into another of the same topology. */
struct merging {
    struct topology *t;
    struct topo_class *to;
    const struct topo_class *from;
    int *object; /* index in `to` of every object of `from`; -1 none yet */
    int *gpu;    /* the same of GPUs */
};

/* Takes over what is known there and unknown here, except indices, which mean something else there. */
static void fill_unknown(const struct field *fields, void *to, const void *from)
{
    for (const struct field *f = fields; f->key; f++) {
        void *at = (char *)to + f->at;
        const void *other = (const char *)from + f->at;
        switch (f->type) {
        case FIELD_TEXT:
            if (!*(const char **)at)
                *(const char **)at = *(const char *const *)other;
            break;
        case FIELD_TEXTS:
            if (!*topo_texts_count(at)) {
                *(const char ***)at = *(const char **const *)other;
                *topo_texts_count(at) = *(const int *)((const char *)other + sizeof(const char **));
            }
            break;
        case FIELD_INT:
        case FIELD_WORD:
            if (*(int *)at == f->unknown)
                *(int *)at = *(const int *)other;
            break;
        case FIELD_NUMBER:
            if (!(*(double *)at > 0))
                *(double *)at = *(const double *)other;
            break;
        case FIELD_BYTES:
            if (!*(uint64_t *)at)
                *(uint64_t *)at = *(const uint64_t *)other;
            break;
        case FIELD_HEX16:
            if (!*(uint16_t *)at)
                *(uint16_t *)at = *(const uint16_t *)other;
            break;
        case FIELD_HEX24:
            if (!*(uint32_t *)at)
                *(uint32_t *)at = *(const uint32_t *)other;
            break;
        case FIELD_PARENT:
        case FIELD_OBJECT:
        case FIELD_GPU:
        case FIELD_PORT:
            break;
        }
    }
}

static const struct field *fields_of(const char *list)
{
    for (size_t i = 0; i < TOPO_LISTS; i++)
        if (!strcmp(topo_lists[i].key, list))
            return topo_lists[i].fields;
    abort();
}

/* ---- which is which ---------------------------------------------------------------------------------------------- */

static int same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static int is_shared(const struct topo_class *c, int object)
{
    int n = 0;
    for (int i = 0; i < c->ngpus; i++)
        n += c->gpus[i].object == object;
    return n > 1;
}

/* The GPU of `to` that is GPU `g` of `from`: by address, else by number where one of the two has no address. */
static int find_gpu(const struct merging *m, int g)
{
    const struct topo_object *o = &m->from->objects[m->from->gpus[g].object];
    int at = build_find_pci(m->to, o->pci);
    for (int i = 0; i < m->to->ngpus; i++) {
        const struct topo_gpu *own = &m->to->gpus[i];
        if (at >= 0 ? own->object == at && (own->index == m->from->gpus[g].index || !is_shared(m->to, own->object))
                    : own->index == m->from->gpus[g].index && (!o->pci || !m->to->objects[own->object].pci))
            return i;
    }
    return -1;
}

static int find_port(const struct topo_class *c, const struct topo_port *p)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].port == p->port && !strcmp(c->ports[i].hca, p->hca))
            return i;
    return -1;
}

static int find_netdev(const struct topo_class *c, const char *name)
{
    for (int i = 0; i < c->nnetdevs; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return i;
    return -1;
}

/* The NIC of `to` that has one of the ports or interfaces of the NIC `object` of `from`. */
static int find_nic(const struct merging *m, int object)
{
    for (int i = 0; i < m->from->nports; i++) {
        int at = m->from->ports[i].object == object ? find_port(m->to, &m->from->ports[i]) : -1;
        if (at >= 0 && m->to->ports[at].object >= 0)
            return m->to->ports[at].object;
    }
    for (int i = 0; i < m->from->nnetdevs; i++) {
        int at = m->from->netdevs[i].object == object ? find_netdev(m->to, m->from->netdevs[i].name) : -1;
        if (at >= 0 && m->to->netdevs[at].object >= 0)
            return m->to->netdevs[at].object;
    }
    return -1;
}

static int find_object(const struct merging *m, int object)
{
    const struct topo_object *o = &m->from->objects[object];
    int at = build_find_pci(m->to, o->pci);
    if (at >= 0)
        return at;
    if (o->kind == TOPO_NIC)
        return find_nic(m, object);
    for (int i = 0; i < m->to->nobjects; i++) {
        const struct topo_object *own = &m->to->objects[i];
        if (own->kind != o->kind || own->pci)
            continue;
        if ((o->kind == TOPO_NUMA && own->numa == o->numa) ||
            (o->kind == TOPO_HOST_BRIDGE && same_text(own->name, o->name)) || (o->kind == TOPO_NVSWITCH && !o->pci))
            return i;
    }
    return -1;
}

/* ---- taking over ------------------------------------------------------------------------------------------------- */

static int is_above(const struct topo_class *c, int object, int below)
{
    for (; below >= 0; below = c->objects[below].parent)
        if (below == object)
            return 1;
    return 0;
}

/* The object's counterpart, added with everything above it where there is none. */
static int ensure(struct merging *m, int object)
{
    if (object < 0 || m->object[object] >= 0)
        return object < 0 ? -1 : m->object[object];
    struct topo_object o = m->from->objects[object];
    o.parent = ensure(m, o.parent);
    return m->object[object] = build_object(m->t, m->to, o);
}

static int is_device(const struct topo_object *o)
{
    return o->kind == TOPO_GPU || o->kind == TOPO_NIC || o->kind == TOPO_NVSWITCH || o->kind == TOPO_FUNCTION;
}

static void merge_objects(struct merging *m)
{
    for (int i = 0; i < m->from->nobjects; i++)
        m->object[i] = find_object(m, i);
    for (int i = 0; i < m->from->ngpus; i++) {
        m->gpu[i] = find_gpu(m, i);
        if (m->gpu[i] >= 0)
            m->object[m->from->gpus[i].object] = m->to->gpus[m->gpu[i]].object;
    }
    for (int i = 0; i < m->from->nobjects; i++) {
        const struct topo_object *o = &m->from->objects[i];
        int at = m->object[i];
        if (at >= 0 && m->to->objects[at].kind == TOPO_FUNCTION)
            m->to->objects[at].kind = o->kind;
        if (at >= 0)
            fill_unknown(fields_of("objects"), &m->to->objects[at], o);
        else if (is_device(o))
            at = ensure(m, i);
        /* A device whose place was not known gets one, unless that would hang it below itself. */
        if (at >= 0 && is_device(o) && m->to->objects[at].parent < 0 && o->parent >= 0) {
            int parent = ensure(m, o->parent);
            if (!is_above(m->to, at, parent))
                m->to->objects[at].parent = parent;
        }
    }
}

static void merge_devices(struct merging *m)
{
    for (int i = 0; i < m->from->ngpus; i++) {
        struct topo_gpu g = m->from->gpus[i];
        g.object = ensure(m, g.object);
        if (m->gpu[i] >= 0)
            fill_unknown(topo_gpu_fields, &m->to->gpus[m->gpu[i]], &g);
        else
            m->gpu[i] = build_gpu(m->t, m->to, g);
    }
    for (int i = 0; i < m->from->nports; i++) {
        struct topo_port p = m->from->ports[i];
        int at = find_port(m->to, &p), has_gids = 0;
        p.object = ensure(m, p.object);
        if (at < 0)
            at = build_port(m->t, m->to, p);
        fill_unknown(fields_of("ports"), &m->to->ports[at], &p);
        if (m->to->ports[at].object < 0)
            m->to->ports[at].object = p.object;
        for (int k = 0; k < m->to->ngids; k++)
            has_gids |= m->to->gids[k].port == at;
        for (int k = 0; k < m->from->ngids && !has_gids; k++)
            if (m->from->gids[k].port == i) {
                struct topo_gid g = m->from->gids[k];
                g.port = at;
                build_gid(m->t, m->to, g);
            }
    }
    for (int i = 0; i < m->from->nnetdevs; i++) {
        struct topo_netdev d = m->from->netdevs[i];
        int at = find_netdev(m->to, d.name);
        d.object = ensure(m, d.object);
        if (at < 0)
            at = build_netdev(m->t, m->to, d);
        fill_unknown(topo_netdev_fields, &m->to->netdevs[at], &d);
    }
}

/* Links of a GPU for which there are none of that kind yet. */
static void merge_links(struct merging *m)
{
    int before = m->to->nlinks;
    for (int i = 0; i < m->from->nlinks; i++) {
        struct topo_link l = m->from->links[i];
        int known = 0;
        l.gpu = m->gpu[l.gpu];
        l.peer_gpu = l.peer_gpu < 0 ? -1 : m->gpu[l.peer_gpu];
        l.peer_object = ensure(m, l.peer_object);
        for (int k = 0; k < before; k++)
            known |= m->to->links[k].gpu == l.gpu && m->to->links[k].link_kind == l.link_kind;
        if (!known)
            build_link(m->t, m->to, l);
    }
}

/* Parents first again. */
static void sort_objects(struct topo_class *c)
{
    int n = c->nobjects, placed = 0, *where = malloc(((size_t)n + 1) * sizeof *where);
    struct topo_object *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    if (!where || !sorted)
        abort();
    memset(where, -1, (size_t)n * sizeof *where);
    for (int before = -1; placed > before;) {
        before = placed;
        for (int i = 0; i < n; i++) {
            int parent = c->objects[i].parent;
            if (where[i] >= 0 || (parent >= 0 && where[parent] < 0))
                continue;
            sorted[placed] = c->objects[i];
            sorted[placed].parent = parent < 0 ? -1 : where[parent];
            where[i] = placed++;
        }
    }
    memcpy(c->objects, sorted, (size_t)n * sizeof *sorted);
    build_renumber(c, where);
    free(where);
    free(sorted);
}

static void merge_class(struct topology *t, int into, int class_index)
{
    struct merging m = {.t = t, .to = &t->classes[into], .from = &t->classes[class_index]};
    m.object = arena_alloc(t->arena, (size_t)m.from->nobjects * sizeof *m.object);
    m.gpu = arena_alloc(t->arena, (size_t)m.from->ngpus * sizeof *m.gpu);
    merge_objects(&m);
    merge_devices(&m);
    merge_links(&m);
    fill_unknown(topo_class_fields, m.to, m.from);
    for (int i = 0; i < m.from->nnotes; i++)
        build_note(t, m.to, "%s", m.from->notes[i]);
    sort_objects(m.to);
}

void merge_nodes(struct topology *t)
{
    for (int i = 1; i < t->nclasses; i++)
        merge_class(t, 0, i);
    if (t->nclasses < 2)
        return;
    t->nclasses = 1;
    t->nhosts = t->nhosts ? 1 : 0;
    pci_tree_prune(&t->classes[0]);
    build_order_gpus(t, &t->classes[0]);
    build_order_ports(&t->classes[0]);
}
