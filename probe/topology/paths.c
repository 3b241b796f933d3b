/* Path classes and words for every pair of GPUs and NICs of a class.
 *
 * PCI paths follow from the lowest object that both devices hang below: a switch, a host bridge, a NUMA node, or none.
 * NVLink beats all of them. NCCL's classes: src/graph/paths.cc; nvidia-smi's words: the legend of its topo -m. */
#include "probe/topology/topology_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NICS 256

static const char *const class_names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "?"};

const char *path_class_name(enum path_class class_)
{
    return class_names[class_ <= PATH_UNKNOWN ? class_ : PATH_UNKNOWN];
}

char *path_word(char text[PATH_WORD], const struct topo_path *p)
{
    static const char *const words[] = {"X", NULL, "PIX", "PXB", "PHB", "NODE", "SYS", "?"};
    if (p->word == WORD_LINKS)
        snprintf(text, PATH_WORD, p->links ? "%s%d" : "%s",
                 p->link_kind == TOPO_XGMI        ? "XGMI"
                 : p->link_kind == TOPO_METAXLINK ? "MX"
                                                  : "NV",
                 p->links);
    else
        snprintf(text, PATH_WORD, "%s", words[p->word]);
    return text;
}

const struct topo_path *path_between(const struct path_matrix *m, int row, int column)
{
    return &m->paths[(size_t)row * (size_t)m->n + (size_t)column];
}

int path_end_of(const struct path_matrix *m, const char *hca)
{
    for (int i = m->ngpus; i < m->n; i++)
        if (!strcmp(m->ends[i].label, hca))
            return i;
    return -1;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static int compare_ends(const void *x, const void *y)
{
    const struct path_end *a = x, *b = y;
    int order = strcmp(a->label, b->label);
    return order ? order : a->object - b->object;
}

static void find_ends(struct path_matrix *m, const struct topo_class *c, struct arena *a)
{
    int most_nics = c->nports ? c->nports : c->nobjects;
    m->ends = arena_alloc(a, (size_t)(c->ngpus + most_nics) * sizeof *m->ends);
    for (int i = 0; i < c->ngpus; i++)
        m->ends[m->n++] = (struct path_end){c->gpus[i].object, arena_printf(a, "GPU%d", c->gpus[i].index)};
    m->ngpus = m->n;
    for (int i = 0; i < c->nports && m->n - m->ngpus < MOST_NICS; i++)
        if (path_end_of(m, c->ports[i].hca) < 0)
            m->ends[m->n++] = (struct path_end){c->ports[i].object, c->ports[i].hca};
    for (int i = 0; !c->nports && i < c->nobjects && m->n - m->ngpus < MOST_NICS; i++)
        if (c->objects[i].kind == TOPO_NIC) {
            const struct topo_object *o = &c->objects[i];
            m->ends[m->n++] = (struct path_end){i, o->name ? o->name : o->pci ? o->pci : "NIC"};
        }
    if (!c->nports)
        qsort(m->ends + m->ngpus, (size_t)(m->n - m->ngpus), sizeof *m->ends, compare_ends);
}

/* ---- PCI --------------------------------------------------------------------------------------------------------- */

/* Broadcom's switches of PCIe generations 4 and 5 show two levels, which NCCL takes for one (getBcmGen and
 * ncclTopoFlattenBcmSwitches in src/graph/topo.cc). 0: not such a switch. */
static int broadcom_generation(const struct topo_object *o, int level)
{
    uint64_t id = (uint64_t)o->vendor << 48 | (uint64_t)o->device << 32 | (uint64_t)o->subsystem_vendor << 16 |
                  o->subsystem_device;
    if (id >> 12 == 0x1000c0101000a)
        return 4;
    return id >> 12 == (0x1000c03010000 | (uint64_t)level) ? 5 : 0;
}

static int is_flattened(const struct topo_class *c, int object)
{
    const struct topo_object *o = &c->objects[object];
    if (o->parent < 0 || c->objects[o->parent].kind != TOPO_SWITCH)
        return 0;
    int generation = broadcom_generation(o, 1);
    return generation && generation == broadcom_generation(&c->objects[o->parent], 0);
}

static int depth_of(const struct topo_class *c, int object)
{
    int depth = 0;
    for (; object >= 0; object = c->objects[object].parent)
        depth++;
    return depth;
}

struct way {
    int top;           /* the lowest object above both; -1 none */
    int switches;      /* passed, `top` included */
    int nccl_switches; /* the same as NCCL counts them */
    int host_bridges;  /* passed below `top` */
    double GBps;       /* the narrowest link whose speed is known; 0 none is */
};

/* An idle GPU slows its link down: what both ends can do counts, or nothing where that is not known. */
static double link_GBps(const struct topo_object *o)
{
    const double idle_GTps = 2.5, idle_GBps = 4;
    if (o->kind != TOPO_GPU)
        return o->link_GBps;
    if (o->link_max_GTps > 0 && o->link_width > 0)
        return pci_GBps(o->link_max_GTps, o->link_width);
    return o->link_GTps > 0 ? (o->link_GTps > idle_GTps) * o->link_GBps : (o->link_GBps > idle_GBps) * o->link_GBps;
}

static int step_up(const struct topo_class *c, int object, struct way *w)
{
    if (c->objects[object].kind == TOPO_SWITCH) {
        w->switches++;
        w->nccl_switches += !is_flattened(c, object);
    }
    w->host_bridges += c->objects[object].kind == TOPO_HOST_BRIDGE;
    /* 2.5 GT/s with one lane is what virtual switches and ports show: it says nothing. */
    const double made_up_GBps = 0.25;
    double GBps = link_GBps(&c->objects[object]);
    if (GBps > made_up_GBps && (GBps < w->GBps || !(w->GBps > 0)))
        w->GBps = GBps;
    return c->objects[object].parent;
}

static struct way find_way(const struct topo_class *c, int a, int b)
{
    struct way w = {0};
    int da = depth_of(c, a), db = depth_of(c, b);
    while (a != b) {
        if (da >= db && da--)
            a = step_up(c, a, &w);
        else if (db--)
            b = step_up(c, b, &w);
    }
    w.top = a;
    if (a >= 0 && c->objects[a].kind == TOPO_SWITCH) {
        w.switches++;
        w.nccl_switches++; /* even when it was flattened: its parent stands for it */
    }
    return w;
}

/* Without a common root: different NUMA nodes, or who knows. */
static int known_apart(const struct topo_class *c, int a, int b)
{
    int na = c->objects[topo_root(c, a)].numa, nb = c->objects[topo_root(c, b)].numa;
    return na >= 0 && nb >= 0 && na != nb;
}

static struct topo_path pci_path(const struct topo_class *c, int a, int b)
{
    if (a < 0 || b < 0)
        return (struct topo_path){.class_ = PATH_UNKNOWN, .word = WORD_UNKNOWN};
    if (a == b || pci_same_card(c->objects[a].pci, c->objects[b].pci)) /* behind the same root port */
        return (struct topo_path){.class_ = PATH_LOC, .word = WORD_PIX};
    struct way w = find_way(c, a, b);
    if (w.top < 0 && known_apart(c, a, b))
        return (struct topo_path){.class_ = PATH_SYS, .word = WORD_SYS, .GBps = w.GBps};
    if (w.top < 0)
        return (struct topo_path){.class_ = PATH_UNKNOWN, .word = WORD_UNKNOWN};
    switch (c->objects[w.top].kind) {
    case TOPO_NUMA:
        return (struct topo_path){
            .class_ = PATH_PHB, .word = w.host_bridges == 2 ? WORD_NODE : WORD_PHB, .GBps = w.GBps};
    case TOPO_HOST_BRIDGE:
        return (struct topo_path){.class_ = PATH_PHB, .word = WORD_PHB, .GBps = w.GBps};
    default:
        return (struct topo_path){.class_ = w.nccl_switches > 1 ? PATH_PXB : PATH_PIX,
                                  .word = w.switches > 1 ? WORD_PXB : WORD_PIX,
                                  .GBps = w.GBps};
    }
}

/* ---- NVLink, XGMI, C2C ------------------------------------------------------------------------------------------- */

/* What leaves a GPU towards one peer, or towards all NVSwitches. */
struct bundle {
    enum topo_link_kind link_kind;
    int links;
    double GBps;
    int untold; /* there are links, and their number is unknown */
};

struct links {
    const struct topo_class *c;
    struct bundle *direct;   /* n × n */
    struct bundle *switched; /* n */
    int *c2c;                /* n: NUMA root, -1 none */
};

static void add_to_bundle(struct bundle *b, const struct topo_link *l)
{
    int untold = l->link_kind == TOPO_METAXLINK && !l->count; /* MetaX' tool says that there are links, not how many */
    b->link_kind = l->link_kind;
    b->links += untold ? 1 : l->count;
    b->untold |= untold;
    b->GBps += l->GBps;
}

static struct links find_links(const struct topo_class *c, struct arena *a)
{
    size_t n = (size_t)c->ngpus;
    struct links f = {c, arena_alloc(a, n * n * sizeof *f.direct), arena_alloc(a, n * sizeof *f.switched),
                      arena_alloc(a, n * sizeof *f.c2c)};
    memset(f.c2c, -1, n * sizeof *f.c2c);
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->link_kind == TOPO_C2C)
            f.c2c[l->gpu] = l->peer_object;
        else if (l->peer_gpu >= 0)
            add_to_bundle(&f.direct[(size_t)l->gpu * n + (size_t)l->peer_gpu], l);
        else if (l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH)
            add_to_bundle(&f.switched[l->gpu], l);
    }
    /* A link has two ends: what one end tells holds for both. */
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            struct bundle *x = &f.direct[i * n + k], *y = &f.direct[k * n + i];
            *x = *y = x->links > y->links ? *x : *y;
        }
    return f;
}

/* The links that join GPUs i and k; none: `links` is 0. */
static struct bundle bundle_between(const struct links *f, int i, int k)
{
    struct bundle direct = f->direct[(size_t)i * (size_t)f->c->ngpus + (size_t)k];
    struct bundle x = f->switched[i], y = f->switched[k];
    return direct.links ? direct : x.links < y.links ? x : y;
}

static int meet_at_third_gpu(const struct links *f, int i, int k)
{
    size_t n = (size_t)f->c->ngpus;
    const struct bundle *from = f->direct + (size_t)i * n, *to = f->direct + (size_t)k * n;
    for (size_t j = 0; j < n; j++)
        if (from[j].links && to[j].links)
            return 1;
    return 0;
}

static struct topo_path gpu_path(const struct links *f, int i, int k)
{
    const struct topo_class *c = f->c;
    struct topo_path p = pci_path(c, c->gpus[i].object, c->gpus[k].object);
    struct bundle b = bundle_between(f, i, k);
    if (b.links)
        return (struct topo_path){PATH_NVL, WORD_LINKS, b.link_kind, b.untold ? 0 : b.links, b.GBps};
    if (p.class_ == PATH_LOC) /* two dies or two GPUs of one card are not one GPU */
        return (struct topo_path){PATH_PIX, WORD_PIX};
    if (meet_at_third_gpu(f, i, k))
        p.class_ = PATH_NVB;
    else if (f->c2c[i] >= 0 && f->c2c[i] == f->c2c[k])
        p.class_ = PATH_C2C;
    return p;
}

static struct topo_path gpu_nic_path(const struct links *f, int gpu, int nic)
{
    struct topo_path p = pci_path(f->c, f->c->gpus[gpu].object, nic);
    if (p.class_ == PATH_PHB && f->c2c[gpu] >= 0 && topo_root(f->c, nic) == f->c2c[gpu])
        p.class_ = PATH_P2C;
    return p;
}

struct path_matrix *path_matrix(const struct topo_class *c, struct arena *a)
{
    struct path_matrix *m = ARENA_NEW(a, struct path_matrix);
    find_ends(m, c, a);
    size_t n = (size_t)m->n;
    m->paths = arena_alloc(a, n * n * sizeof *m->paths);
    struct links f = find_links(c, a);
    for (int i = 0; i < m->n; i++) {
        m->paths[(size_t)i * n + (size_t)i] = (struct topo_path){.class_ = PATH_LOC, .word = WORD_SELF};
        for (int k = 0; k < i; k++) {
            struct topo_path p = i < m->ngpus   ? gpu_path(&f, i, k)
                                 : k < m->ngpus ? gpu_nic_path(&f, k, m->ends[i].object)
                                                : pci_path(c, m->ends[i].object, m->ends[k].object);
            m->paths[(size_t)i * n + (size_t)k] = m->paths[(size_t)k * n + (size_t)i] = p;
        }
    }
    return m;
}

enum path_class path_class_nccl(const struct path_matrix *m, int from, int to)
{
    enum path_class own = path_between(m, from, to)->class_;
    if (from >= m->ngpus || to < m->ngpus || own <= PATH_PXN || own == PATH_UNKNOWN)
        return own;
    for (int i = 0; i < m->ngpus; i++) {
        const struct topo_path *peer = path_between(m, from, i);
        if (peer->class_ == PATH_NVL && peer->link_kind == TOPO_NVLINK && path_between(m, i, to)->class_ <= PATH_P2C)
            return PATH_PXN;
    }
    return own;
}

/* ---- NVLink domains, and racks, which are cliques of several nodes ----------------------------------------------- */

static int belong_together(const struct topo_class *c, const struct path_matrix *m, int i, int k)
{
    const char *x = c->gpus[i].clique, *y = c->gpus[k].clique;
    return path_between(m, i, k)->class_ == PATH_NVL || (x && y && !strcmp(x, y));
}

int nvlink_domains(const struct topo_class *c, const struct path_matrix *m, struct arena *a,
                   struct nvlink_domain **domains)
{
    int n = 0, *domain = build_groups(c->ngpus, a);
    for (int i = 0; i < c->ngpus; i++)
        for (int k = 0; k < i; k++)
            if (belong_together(c, m, i, k))
                build_join_groups(domain, c->ngpus, i, k);
    *domains = arena_alloc(a, (size_t)c->ngpus * sizeof **domains);
    for (int i = 0; i < c->ngpus; i++) {
        struct nvlink_domain d = {.link_kind = TOPO_NVLINK};
        for (int k = i; k < c->ngpus; k++) {
            if (domain[k] != i)
                continue;
            ARENA_ADD(a, d.gpus, d.ngpus) = k;
            d.clique = d.clique ? d.clique : c->gpus[k].clique;
            if (path_between(m, i, k)->class_ == PATH_NVL)
                d.link_kind = path_between(m, i, k)->link_kind;
        }
        if (d.ngpus > 1 || d.clique)
            (*domains)[n++] = d;
    }
    return n;
}

static int compare_cliques(const void *x, const void *y)
{
    const struct topo_host *a = *(const struct topo_host *const *)x, *b = *(const struct topo_host *const *)y;
    int order = strcmp(a->clique, b->clique);
    return order ? order : (a > b) - (a < b);
}

int nvlink_racks(const struct topology *t, struct arena *a, struct nvlink_rack **racks)
{
    const struct topo_host **hosts = arena_alloc(a, (size_t)t->nhosts * sizeof *hosts);
    int n = 0, nracks = 0;
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].clique)
            hosts[n++] = &t->hosts[i];
    if (n)
        qsort(hosts, (size_t)n, sizeof *hosts, compare_cliques);
    const char **names = arena_alloc(a, (size_t)n * sizeof *names);
    *racks = arena_alloc(a, (size_t)n * sizeof **racks);
    for (int i = 0; i < n; i++) {
        const struct topo_host *h = hosts[i];
        names[i] = h->name;
        if (!i || strcmp(h->clique, hosts[i - 1]->clique) != 0)
            (*racks)[nracks++] = (struct nvlink_rack){.clique = h->clique, .hosts = &names[i]};
        struct nvlink_rack *r = &(*racks)[nracks - 1];
        r->nhosts++;
        r->ngpus += t->classes[h->class_index].ngpus;
    }
    return nracks;
}
