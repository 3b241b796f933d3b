/* What sets two machines apart, in words. */
#include "probe/topology/topology.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct sentences {
    struct arena *a;
    const char **list;
    int n;
};

static __attribute__((format(printf, 2, 3))) void add_sentence(struct sentences *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (l->n >= DIFFERENCES_MOST)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ARENA_ADD(l->a, l->list, l->n) = arena_strdup(l->a, text);
}

/* "driver 550.54 instead of 560.28". */
static void compare_text(struct sentences *l, const char *what, const char *first, const char *other)
{
    if (first && other ? strcmp(first, other) != 0 : first != other)
        add_sentence(l, "%s %s instead of %s", what, other ? other : "unknown", first ? first : "unknown");
}

static void compare_number(struct sentences *l, const char *what, double first, double other, const char *unit)
{
    if (first < other || first > other)
        add_sentence(l, "%s %g%s instead of %g%s", what, other, unit, first, unit);
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static const struct topo_port *find_port_like(const struct topo_class *c, const struct topo_port *p)
{
    int at = topo_find_port(c, p->hca, p->port);
    return at < 0 ? NULL : &c->ports[at];
}

static int is_bond(const struct topo_class *c, const struct topo_port *p)
{
    const struct topo_netdev *d = topo_find_netdev(c, p->netdev);
    return d && d->kind == TOPO_NET_BOND;
}

static void compare_port(struct sentences *l, const struct topo_class *c, const struct topo_class *d,
                         const struct topo_port *p, const struct topo_port *q)
{
    static const char *const states[] = {"in an unknown state", "down", "active"};
    static const char *const layers[] = {"an unknown link layer", "InfiniBand", "Ethernet"};
    const char *name = topo_port_name(l->a, q);
    if (p->state != q->state)
        add_sentence(l, "%s is %s instead of %s", name, states[q->state], states[p->state]);
    if (p->state != q->state && (p->state == TOPO_STATE_DOWN || q->state == TOPO_STATE_DOWN))
        return; /* a port that is down has lost its rate, its MTU and its subnet, too */
    if (p->layer != q->layer)
        add_sentence(l, "%s is %s instead of %s", name, layers[q->layer], layers[p->layer]);
    if (is_bond(c, p) != is_bond(d, q))
        add_sentence(l, "%s is %s bond", name, is_bond(d, q) ? "a" : "no");
    compare_number(l, arena_printf(l->a, "%s: rate", name), p->rate_Gbps, q->rate_Gbps, " Gb/s");
    compare_number(l, arena_printf(l->a, "%s: MTU", name), p->mtu_bytes, q->mtu_bytes, "");
    compare_text(l, arena_printf(l->a, "%s: subnet prefix", name), p->subnet_prefix, q->subnet_prefix);
    compare_text(l, arena_printf(l->a, "%s: board", name), p->board_id, q->board_id);
    const char *at = p->object < 0 ? NULL : c->objects[p->object].pci;
    const char *now = q->object < 0 ? NULL : d->objects[q->object].pci;
    compare_text(l, arena_printf(l->a, "%s: at", name), at, now);
}

static void compare_ports(struct sentences *l, const struct topo_class *first, const struct topo_class *other)
{
    for (int i = 0; first->ports && i < first->nports; i++)
        if (!find_port_like(other, &first->ports[i]))
            add_sentence(l, "%s:%d is missing", first->ports[i].hca, first->ports[i].port);
    for (int i = 0; other->ports && i < other->nports; i++) {
        const struct topo_port *q = &other->ports[i], *p = find_port_like(first, q);
        if (p)
            compare_port(l, first, other, p, q);
        else
            add_sentence(l, "%s:%d is there in addition%s", q->hca, q->port, is_bond(other, q) ? ", a bond" : "");
    }
}

/* ---- GPUs, interfaces -------------------------------------------------------------------------------------------- */

static const char *join_texts(struct arena *a, const char *const *texts, int n)
{
    const int most = 32;
    const char *all = NULL;
    for (int i = 0; i < n && i < most; i++)
        all = all ? arena_printf(a, "%s, %s", all, texts[i]) : texts[i];
    return all;
}

static void compare_gpus(struct sentences *l, const struct topo_class *first, const struct topo_class *other)
{
    if (first->ngpus != other->ngpus)
        add_sentence(l, "%d GPU%s instead of %d", other->ngpus, other->ngpus == 1 ? "" : "s", first->ngpus);
    for (int i = 0; i < first->ngpus && i < other->ngpus; i++) {
        const struct topo_gpu *g = &first->gpus[i], *h = &other->gpus[i];
        const struct topo_object *p = &first->objects[g->object], *q = &other->objects[h->object];
        const char *name = arena_printf(l->a, "GPU%d:", h->index);
        compare_text(l, name, p->model, q->model);
        compare_text(l, arena_printf(l->a, "%s at", name), p->pci, q->pci);
        if (g->mig != h->mig)
            add_sentence(l, "%s MIG is %s", name, h->mig == TOPO_YES ? "on" : "off");
        compare_text(l, arena_printf(l->a, "%s P2P refused with", name),
                     g->np2p_problems ? join_texts(l->a, g->p2p_problems, g->np2p_problems) : "nothing",
                     h->np2p_problems ? join_texts(l->a, h->p2p_problems, h->np2p_problems) : "nothing");
        compare_number(l, arena_printf(l->a, "%s PCIe width", name), p->link_width, q->link_width, " lanes");
    }
    if (first->nlinks != other->nlinks)
        add_sentence(l, "%d GPU links instead of %d", other->nlinks, first->nlinks);
}

/* Whether the interface belongs to a port that is down on one side: the port has its own sentence. */
static int belongs_to_dark_port(const struct topo_class *c, const struct topo_class *other, const char *netdev)
{
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i], *q = find_port_like(other, p);
        if (p->netdev && q && !strcmp(p->netdev, netdev) && p->state != q->state)
            return 1;
    }
    return 0;
}

/* Devices and bonds are; other interfaces come and go. */
static int is_permanent(const struct topo_netdev *d)
{
    return d->object >= 0 || d->kind == TOPO_NET_BOND;
}

static void compare_netdevs(struct sentences *l, const struct topo_class *first, const struct topo_class *other)
{
    static const char *const states[] = {"in an unknown state", "down", "up"};
    for (int i = 0; i < first->nnetdevs; i++)
        if (is_permanent(&first->netdevs[i]) && !topo_find_netdev(other, first->netdevs[i].name))
            add_sentence(l, "interface %s is missing", first->netdevs[i].name);
    for (int i = 0; i < other->nnetdevs; i++) {
        const struct topo_netdev *q = &other->netdevs[i], *p = topo_find_netdev(first, q->name);
        if (!p && is_permanent(q))
            add_sentence(l, "interface %s is there in addition", q->name);
        if (!p || !is_permanent(q) || belongs_to_dark_port(first, other, q->name) ||
            belongs_to_dark_port(other, first, q->name))
            continue;
        if (p->state != q->state)
            add_sentence(l, "interface %s is %s instead of %s", q->name, states[q->state], states[p->state]);
        compare_number(l, arena_printf(l->a, "interface %s: speed", q->name), p->speed_Gbps, q->speed_Gbps, " Gb/s");
        compare_number(l, arena_printf(l->a, "interface %s: MTU", q->name), p->mtu_bytes, q->mtu_bytes, "");
    }
}

int differences_of(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                   const char ***sentences)
{
    struct sentences l = {.a = a};
    compare_text(&l, "CPU", first->cpu, other->cpu);
    compare_text(&l, "product", first->product, other->product);
    compare_text(&l, "hypervisor", first->hypervisor, other->hypervisor);
    compare_text(&l, "IOMMU", first->iommu, other->iommu);
    compare_text(&l, "GPU driver", first->driver, other->driver);
    compare_gpus(&l, first, other);
    compare_ports(&l, first, other);
    compare_netdevs(&l, first, other);
    if (!l.n && first->nobjects != other->nobjects)
        add_sentence(&l, "%d objects in the PCI tree instead of %d", other->nobjects, first->nobjects);
    if (!l.n)
        add_sentence(&l, "the PCI tree is another");
    *sentences = l.list;
    return l.n;
}

struct differences_like differences_nearest(const struct topology *t, int class_index, struct arena *a)
{
    const int most = 64;                                              /* classes that are compared */
    int *hosts = arena_alloc(a, (size_t)t->nclasses * sizeof *hosts); /* of every class */
    struct differences_like like = {.class_index = -1};
    for (int i = 0; i < t->nhosts; i++)
        hosts[t->hosts[i].class_index]++;
    for (int i = 0; i < t->nclasses && i < most; i++) {
        const char **sentences;
        /* Compare with the commoner class, so that no two are compared only with each other. */
        if (i == class_index || (i > class_index && hosts[i] <= hosts[class_index]) || hosts[i] < hosts[class_index])
            continue;
        int n = differences_of(&t->classes[i], &t->classes[class_index], a, &sentences);
        if (like.class_index < 0 || n < like.n || (n == like.n && hosts[i] > hosts[like.class_index]))
            like = (struct differences_like){i, sentences, n};
    }
    return like;
}

/* ---- within a class ---------------------------------------------------------------------------------------------- */

/* The kinds of a port's GIDs by index, without their values: "0 ib, 3 roce_v2 IPv4". */
static const char *gid_kinds(const struct topo_class *c, int port, struct arena *a)
{
    static const char *const types[] = {"unknown", "IB", "RoCE v1", "RoCE v2"};
    const int most = 64; /* a hostile file has thousands */
    const char *all = NULL;
    int n = 0;
    for (int i = 0; i < c->ngids && n < most; i++) {
        const struct topo_gid *g = &c->gids[i];
        if (g->port == port && n++ < most)
            all = arena_printf(a, "%s%s%d %s%s", all ? all : "", all ? ", " : "", g->index, types[g->type],
                               strncmp(g->gid, "::ffff:", 7) ? "" : " IPv4");
    }
    return all;
}

/* "unlimited", "64 KiB": as people set limits. */
static const char *limit_text(struct arena *a, uint64_t bytes)
{
    return !bytes                    ? NULL
           : bytes >= TOPO_UNLIMITED ? "unlimited"
                                     : arena_printf(a, "%llu KiB", (unsigned long long)bytes >> 10);
}

int differences_within(const struct topo_class *first, const struct topo_class *other, struct arena *a,
                       const char ***sentences)
{
    struct sentences l = {.a = a};
    for (int i = 0; i < first->ngpus && i < other->ngpus; i++)
        compare_text(&l, arena_printf(a, "GPU%d: VBIOS", other->gpus[i].index), first->gpus[i].vbios,
                     other->gpus[i].vbios);
    for (int i = 0; i < first->nports && i < other->nports; i++) {
        const char *name = topo_port_name(a, &other->ports[i]);
        compare_text(&l, arena_printf(a, "%s: firmware", name), first->ports[i].firmware, other->ports[i].firmware);
        compare_text(&l, arena_printf(a, "%s: GIDs", name), gid_kinds(first, i, a), gid_kinds(other, i, a));
    }
    compare_text(&l, "memlock", limit_text(a, first->memlock_bytes), limit_text(a, other->memlock_bytes));
    compare_text(&l, "libraries", join_texts(a, first->libraries, first->nlibraries),
                 join_texts(a, other->libraries, other->nlibraries));
    compare_text(&l, "GPUDirect RDMA by", first->gdr_route, other->gdr_route);
    if (first->container && other->container)
        compare_text(&l, "container", first->container, other->container);
    *sentences = l.list;
    return l.n;
}
