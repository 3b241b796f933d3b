/* The model's memory, and the steps by which sources and importers build it. */
#include "probe/topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/build.h"

struct topology *topo_new(void)
{
    struct arena *a = arena_new();
    struct topology *t = ARENA_NEW(a, struct topology);
    t->arena = a;
    t->tool = NCCLTUNE_VERSION;
    return t;
}

void topo_free(struct topology *t)
{
    if (t)
        arena_free(t->arena);
}

/* Appends `record` to the array `list` of `count` elements. */
#define APPEND(t, list, count, record) \
    ((list) = arena_grow((t)->arena, (list), (size_t)(count), sizeof *(list)), (list)[count] = (record), (count)++)

int topo_find_port(const struct topo_class *c, const char *hca, int port)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].port == port && !strcmp(c->ports[i].hca, hca))
            return i;
    return -1;
}

struct topo_class *build_class(struct topology *t, const char *name)
{
    struct topo_class c = {.name =
                               name ? arena_strdup(t->arena, name) : arena_printf(t->arena, "class%d", t->nclasses)};
    APPEND(t, t->classes, t->nclasses, c);
    return &t->classes[t->nclasses - 1];
}

void build_host(struct topology *t, const char *name, int class_index)
{
    struct topo_host h = {.name = arena_strdup(t->arena, name), .class_index = class_index};
    APPEND(t, t->hosts, t->nhosts, h);
}

void build_hosts(struct topology *t, int n)
{
    enum { NAME = 16 };
    size_t room = 1; /* as arena_grow would have left it */
    while (room < (size_t)n)
        room *= 2;
    t->hosts = arena_alloc(t->arena, room * sizeof *t->hosts);
    char *names = arena_alloc(t->arena, (size_t)n * NAME);
    for (; t->nhosts < n; t->nhosts++, names += NAME) {
        snprintf(names, NAME, "node%04d", t->nhosts + 1);
        t->hosts[t->nhosts] = (struct topo_host){.name = names};
    }
}

int build_object(struct topology *t, struct topo_class *c, struct topo_object o)
{
    return APPEND(t, c->objects, c->nobjects, o);
}

int build_gpu(struct topology *t, struct topo_class *c, struct topo_gpu g)
{
    return APPEND(t, c->gpus, c->ngpus, g);
}

int build_port(struct topology *t, struct topo_class *c, struct topo_port p)
{
    return APPEND(t, c->ports, c->nports, p);
}

int build_netdev(struct topology *t, struct topo_class *c, struct topo_netdev d)
{
    return APPEND(t, c->netdevs, c->nnetdevs, d);
}

int build_link(struct topology *t, struct topo_class *c, struct topo_link l)
{
    return APPEND(t, c->links, c->nlinks, l);
}

int build_gid(struct topology *t, struct topo_class *c, struct topo_gid g)
{
    return APPEND(t, c->gids, c->ngids, g);
}

void build_text(struct topology *t, const char ***texts, int *n, const char *text)
{
    const char *copy = arena_strdup(t->arena, text);
    APPEND(t, *texts, *n, copy);
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

int topo_sign(const char *sign, const char *kind, double *value, const char **subject)
{
    size_t n = strlen(kind);
    char *end;
    if (strncmp(sign, kind, n) != 0 || sign[n] != ' ')
        return 0;
    *value = strtod(sign + n, &end);
    *subject = end + strspn(end, " ");
    return end != sign + n;
}

void build_missing(struct topology *t, const char *name, const char *why)
{
    struct topo_missing m = {arena_strdup(t->arena, name), arena_strdup(t->arena, why)};
    APPEND(t, t->missing, t->nmissing, m);
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
    const char *note = arena_strdup(t->arena, text);
    APPEND(t, c->notes, c->nnotes, note);
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
    return build_object(t, c,
                        (struct topo_object){.kind = TOPO_NIC,
                                             .parent = -1,
                                             .numa = -1,
                                             .pci = arena_strdup(t->arena, pci),
                                             .name = arena_strdup(t->arena, name)});
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
