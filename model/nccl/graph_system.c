/* A class as NCCL's graph of GPUs, PCI switches, CPUs (NUMA nodes), NVSwitches and nets, with the bandwidths that NCCL
 * gives to their links.
 *
 * Source of the bandwidths: NCCL src/graph/topo.h and topo.cc (v2.18.6-1 … v2.30.7-1); of XGMI: RCCL src/graph/topo.h.
 * They are NCCL's beliefs: model/model.c has what links really do. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/nccl/graph.h"

/* ---- bandwidths, GB/s ---- */

static float nvlink_bw(int sm, int version)
{
    return sm >= 100 && version >= 22500 ? (version >= 22700 ? 40.1f : 40.0f)
           : sm >= 90                    ? (version >= 22000 ? 20.6f : 20.0f)
           : sm == 86                    ? 12.0f
           : sm >= 70                    ? 20.0f
           : sm >= 60                    ? 18.0f
                                         : 20.0f;
}

#define UNKNOWN_PCI_BW 12.0f /* PCIe 3 with 16 lanes, as NCCL counts it */

static float xgmi_bw(const char *arch)
{
    return !strncmp(arch, "gfx94", 5) || !strncmp(arch, "gfx95", 5) ? 48.0f : !strcmp(arch, "gfx90a") ? 36.0f : 24.0f;
}

/* Tenths of Gb/s that NCCL counts for a lane, PCIe 1 to 6. An unknown speed counts as PCIe 3, an unknown width as 16
 * lanes. */
static float pci_bw(const struct topo_object *o)
{
    static const struct {
        double GTps;
        int speed;
    } lanes[] = {{64, 480}, {32, 240}, {16, 120}, {8, 60}, {5, 30}, {2.5, 15}};
    double GTps = o->link_max_GTps > 0 ? o->link_max_GTps : o->link_GTps;
    int width = o->link_max_width > 0 ? o->link_max_width : o->link_width;
    int speed = 60;
    for (size_t i = 0; i < sizeof lanes / sizeof *lanes; i++)
        if (GTps >= lanes[i].GTps * 0.99 && GTps <= lanes[i].GTps * 1.01)
            speed = lanes[i].speed;
    return (float)((width > 0 ? width : 16) * speed / 80.0);
}

/* Between sockets; Intel's by the model number: Sapphire Rapids from 0x8f on, Emerald Rapids 0xcf, Skylake 0x55. */
static float socket_bw(const struct topo_class *c, enum nccl_cpu cpu, int version, const char **unsure)
{
    long family = 6, model = 0x8f;

    switch (cpu) {
    case NCCL_CPU_POWER:
        return 32.0f;
    case NCCL_CPU_ARM:
        return 6.0f;
    case NCCL_CPU_AMD:
        return version >= 21900 ? 16.0f : GRAPH_LOCAL_BW;
    case NCCL_CPU_OTHER:
        return GRAPH_LOCAL_BW;
    case NCCL_CPU_INTEL:
        break;
    }
    const char *numbers = strstr(c->cpu, "GenuineIntel ");
    char *slash = NULL;
    if (numbers)
        family = strtol(numbers + strlen("GenuineIntel "), &slash, 10);
    if (slash && *slash == '/')
        model = strtol(slash + 1, NULL, 10);
    else
        *unsure = "the processor's model: counted as Sapphire Rapids";
    if (family != 6 || model < 0x55)
        return 6.0f;
    if (version >= 22600 && model >= 0x8f)
        return model >= 0xcf ? 40.0f : 22.0f;
    return 10.0f;
}

static enum nccl_cpu cpu_of(const struct topo_class *c)
{
    const char *arch = c->arch ? c->arch : "x86_64", *cpu = c->cpu ? c->cpu : "";
    if (!strncmp(arch, "ppc64", 5))
        return NCCL_CPU_POWER;
    if (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64"))
        return NCCL_CPU_ARM;
    if (strstr(cpu, "AMD") || strstr(cpu, "EPYC"))
        return NCCL_CPU_AMD;
    return strstr(cpu, "Intel") || strstr(cpu, "Xeon") ? NCCL_CPU_INTEL : NCCL_CPU_OTHER;
}

/* ---- nodes and links ---- */

static struct graph_node *add_node(struct graph_system *s, enum graph_kind kind)
{
    struct graph_node *n = ARENA_NEW(s->arena, struct graph_node);
    n->kind = kind;
    n->index = s->n[kind];
    n->id = s->nall;
    ARENA_ADD(s->arena, s->nodes[kind], s->n[kind]) = n;
    ARENA_ADD(s->arena, s->all, s->nall) = n;
    return n;
}

/* Links between the same two add up. The widest is first, which is where paths look first. */
static void link_to(struct graph_system *s, struct graph_node *from, struct graph_node *to, enum path_class type,
                    float bw)
{
    int i = 0;
    while (i < from->nlinks && (from->links[i].to != to || from->links[i].type != type))
        i++;
    if (i == from->nlinks)
        ARENA_ADD(s->arena, from->links, from->nlinks) = (struct graph_link){to, type, 0};
    struct graph_link l = from->links[i];
    l.bw += bw;
    for (; i > 0 && from->links[i - 1].bw < l.bw; i--)
        from->links[i] = from->links[i - 1];
    from->links[i] = l;
}

static void link_both(struct graph_system *s, struct graph_node *a, struct graph_node *b, enum path_class type,
                      float bw)
{
    link_to(s, a, b, type, bw);
    link_to(s, b, a, type, bw);
}

/* The way up the PCI tree comes last. */
static void put_up_last(struct graph_node *n)
{
    int i = 0;
    while (n->up && n->links[i].to != n->up)
        i++;
    if (!n->up)
        return;
    struct graph_link l = n->links[i];
    memmove(n->links + i, n->links + i + 1, (size_t)(n->nlinks - i - 1) * sizeof *n->links);
    n->links[n->nlinks - 1] = l;
}

/* ---- the PCI tree ---- */

struct build {
    struct graph_system *s;
    const struct nccl_model *m;
    const struct topo_class *c; /* its node */
    int nnets;                  /* of its nets: those that count */
    struct graph_node **of;     /* by object */
    int *gpu_of;                /* by object: index in gpus of a GPU that takes part, -1 none */
    int *ranks;                 /* by GPU of the class: its rank, -1 none */
    unsigned char *wanted;      /* by object: holds, or leads to, a GPU or a net */
    struct graph_node *cpu;     /* the first */
    int *child, *next;          /* by object: first child, next of the same parent; -1 none */
    const char **unsure;
};

static void add_net(struct build *b, int net, struct graph_node *nic)
{
    const struct nccl_net *from = &b->m->nets[net];
    struct graph_node *n = add_node(b->s, GRAPH_NET);
    n->net = (struct graph_net){net, -1, from->gdr, (float)from->GBps, (float)from->latency_us};
    link_both(b->s, nic, n, PATH_LOC, n->net.bw);
}

static struct graph_node *gpu_node(const struct graph_system *s, int gpu)
{
    for (int i = 0; i < s->n[GRAPH_GPU]; i++)
        if (s->nodes[GRAPH_GPU][i]->gpu.gpu == gpu)
            return s->nodes[GRAPH_GPU][i];
    return NULL;
}

static struct graph_node *add_gpu(struct build *b, int gpu)
{
    const struct topo_gpu *g = &b->c->gpus[gpu];
    struct graph_node *n = add_node(b->s, GRAPH_GPU);
    n->tray = gpu / (b->c->ngpus / b->m->trays);
    int number = b->m->setup.first_gpu + b->ranks[gpu] % b->m->setup.ranks_per_node;
    /* AMD's have no compute capability: RCCL counts gfx942 as 94, like a Hopper */
    n->gpu = (struct graph_gpu){gpu, number, g->arch ? 90 : g->sm, g->gdr != 0};
    return n;
}

/* One object below the node `up`. Host bridges are no nodes to NCCL. */
static struct graph_node *add_object(struct build *b, int object, struct graph_node *up)
{
    const struct topo_object *o = &b->c->objects[object];
    struct graph_node *n;
    if (o->kind == TOPO_NUMA) {
        n = add_node(b->s, GRAPH_CPU);
        n->tray = object / (b->c->nobjects / b->m->trays);
    } else if (b->gpu_of[object] >= 0) {
        n = add_gpu(b, b->gpu_of[object]);
    } else if (o->kind == TOPO_SWITCH) {
        n = add_node(b->s, GRAPH_PCI);
    } else if (o->kind == TOPO_HOST_BRIDGE) {
        n = up;
    } else {
        n = add_node(b->s, GRAPH_NIC);
        for (int i = 0; i < b->nnets; i++)
            if (b->m->nets[i].object == object)
                add_net(b, i, n);
    }
    if (up && n != up) {
        link_both(b->s, n, up, PATH_PIX, pci_bw(o));
        n->up = up;
    }
    return n;
}

/* `root` and all that is wanted below it, parents before children and in their order. No recursion: how deep the tree
 * is, a file decides. */
static void add_below(struct build *b, int root, struct graph_node *up)
{
    int i = root;
    while (i >= 0) {
        if (b->wanted[i])
            b->of[i] = add_object(b, i, i == root ? up : b->of[b->c->objects[i].parent]);
        if (b->wanted[i] && b->child[i] >= 0) {
            i = b->child[i];
            continue;
        }
        while (i != root && b->next[i] < 0)
            i = b->c->objects[i].parent;
        i = i == root ? -1 : b->next[i];
    }
}

static void find_wanted(struct build *b)
{
    const struct topo_class *c = b->c;
    for (int i = 0; i < c->nobjects; i++)
        b->gpu_of[i] = b->child[i] = b->next[i] = -1;
    for (int i = 0; i < c->ngpus; i++)
        if (b->ranks[i] >= 0 && c->gpus[i].object >= 0) {
            b->gpu_of[c->gpus[i].object] = i;
            b->wanted[c->gpus[i].object] = 1;
        }
    for (int i = 0; i < b->nnets; i++)
        if (b->m->nets[i].object >= 0)
            b->wanted[b->m->nets[i].object] = 1;
    for (int i = c->nobjects - 1; i >= 0; i--) { /* parents have smaller numbers */
        int parent = c->objects[i].parent;
        if (parent < 0)
            continue;
        b->wanted[parent] |= b->wanted[i];
        b->next[i] = b->child[parent];
        b->child[parent] = i;
    }
}

static void add_tree(struct build *b)
{
    const struct topo_class *c = b->c;
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].parent < 0)
            add_below(b, i, NULL);
    if (!b->s->n[GRAPH_CPU])
        add_node(b->s, GRAPH_CPU);
    b->cpu = b->s->nodes[GRAPH_CPU][0];
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind != TOPO_NUMA && c->objects[i].parent < 0 && b->wanted[i]) {
            *b->unsure = "where devices of unknown place are: at the first NUMA node";
            add_below(b, i, b->cpu);
        }
    for (int i = 0; i < c->ngpus; i++)
        if (b->ranks[i] >= 0 && !gpu_node(b->s, i)) {
            *b->unsure = "where devices of unknown place are: at the first NUMA node";
            link_both(b->s, add_gpu(b, i), b->cpu, PATH_PIX, UNKNOWN_PCI_BW);
        }
    /* nets without a NIC hang on the first CPU, at no cost */
    struct graph_node *nic = NULL;
    for (int i = 0; i < b->nnets; i++) {
        int there = 0;
        for (int k = 0; k < b->s->n[GRAPH_NET]; k++)
            there |= b->s->nodes[GRAPH_NET][k]->net.net == i;
        if (there)
            continue;
        if (!nic) {
            nic = add_node(b->s, GRAPH_NIC);
            link_both(b->s, b->cpu, nic, PATH_PIX, GRAPH_LOCAL_BW);
        }
        add_net(b, i, nic);
    }
}

/* ---- NVLink, XGMI, C2C, sockets ---- */

static struct graph_node *cpu_above(const struct build *b, int object)
{
    object = topo_ancestor(b->c, object, TOPO_NUMA);
    return object >= 0 && b->of[object] ? b->of[object] : b->cpu;
}

static void add_link(struct build *b, struct graph_node *from, const struct topo_link *l)
{
    const struct topo_gpu *g = &b->c->gpus[l->gpu];
    if (l->link_kind == TOPO_C2C) {
        link_both(b->s, from, cpu_above(b, g->object), PATH_C2C, (float)l->GBps);
        return;
    }
    float bw = (float)l->count * (g->arch ? xgmi_bw(g->arch) : nvlink_bw(g->sm, b->s->version));
    if (l->peer_gpu >= 0) {
        struct graph_node *to = gpu_node(b->s, l->peer_gpu);
        if (to)
            link_to(b->s, from, to, PATH_NVL, bw);
    } else if (l->peer_object >= 0 && b->c->objects[l->peer_object].kind == TOPO_NVSWITCH) {
        if (!b->s->n[GRAPH_NVS]) /* all NVSwitches are one to NCCL */
            add_node(b->s, GRAPH_NVS);
        link_both(b->s, from, b->s->nodes[GRAPH_NVS][0], PATH_NVL, bw);
    } else if (l->peer_object >= 0) {
        link_both(b->s, from, cpu_above(b, l->peer_object), PATH_NVL, bw);
    }
}

/* A description may tell a link at one of its ends only. */
static void mirror_links(struct graph_system *s)
{
    for (int i = 0; i < s->n[GRAPH_GPU]; i++) {
        struct graph_node *g = s->nodes[GRAPH_GPU][i];
        for (int l = 0; l < g->nlinks; l++) {
            struct graph_node *to = g->links[l].to;
            int back = to->kind != GRAPH_GPU;
            for (int k = 0; k < to->nlinks; k++)
                back |= to->links[k].to == g;
            if (!back)
                link_to(s, to, g, g->links[l].type, g->links[l].bw);
        }
    }
}

static void add_links(struct build *b, float between_sockets)
{
    struct graph_system *s = b->s;
    for (int g = 0; g < s->n[GRAPH_GPU]; g++)
        for (int i = 0; i < b->c->nlinks; i++)
            if (b->c->links[i].gpu == s->nodes[GRAPH_GPU][g]->gpu.gpu)
                add_link(b, s->nodes[GRAPH_GPU][g], &b->c->links[i]);
    mirror_links(s);
    for (int i = 0; i < s->n[GRAPH_CPU]; i++)
        for (int j = 0; j < s->n[GRAPH_CPU]; j++)
            if (i != j && s->nodes[GRAPH_CPU][i]->tray == s->nodes[GRAPH_CPU][j]->tray)
                link_to(s, s->nodes[GRAPH_CPU][i], s->nodes[GRAPH_CPU][j], PATH_SYS, between_sockets);
    for (int i = 0; i < s->nall; i++)
        put_up_last(s->all[i]);
}

/* "GPU3: write: …" */
static int refuses(const char *problem, int gpu)
{
    char *end;
    return !strncmp(problem, "GPU", 3) && strtol(problem + 3, &end, 10) == gpu && end > problem + 3;
}

/* What the driver refuses between two GPUs. */
static void find_refusals(struct graph_system *s, const struct topo_class *c)
{
    int n = s->n[GRAPH_GPU];
    s->no_p2p = arena_alloc(s->arena, (size_t)n * (size_t)n);
    for (int i = 0; i < n; i++) {
        const struct topo_gpu *g = &c->gpus[s->nodes[GRAPH_GPU][i]->gpu.gpu];
        for (int k = 0; k < g->np2p_problems; k++)
            for (int j = 0; j < n; j++)
                if (refuses(g->p2p_problems[k], c->gpus[s->nodes[GRAPH_GPU][j]->gpu.gpu].index))
                    s->no_p2p[i * n + j] = s->no_p2p[j * n + i] = 1;
    }
}

/* ---- public ---- */

struct graph_system *graph_system_new(const struct nccl_model *m, struct arena *a, const char **unsure)
{
    const struct nccl_setup *setup = &m->setup;
    const struct topo_class *c = m->c;
    struct graph_system *s = ARENA_NEW(a, struct graph_system);
    *s = (struct graph_system){
        .arena = a,
        .version = m->version,
        .inter = m->nodes > 1,
        .cpu = cpu_of(c),
        .amd = c->gpus[0].arch != NULL,
        .no_pxn = setup->no_pxn || c->gpus[0].arch, /* RCCL has PXN off */
        .cross_nic = setup->cross_nic == 1   ? 1
                     : setup->cross_nic == 3 ? 0
                                             : 2,
        .gdr_within = setup->gdr_within ? (enum path_class)(setup->gdr_within - 1) : PATH_PXB,
    };
    enum path_class reach = s->cpu == NCCL_CPU_AMD && m->ranks_per_node <= 2 ? PATH_SYS : PATH_PXB;
    s->p2p_within = setup->p2p_within ? (enum path_class)(setup->p2p_within - 1) : reach;
    size_t objects = (size_t)c->nobjects;
    struct build b = {
        .s = s,
        .m = m,
        .c = c,
        .nnets = s->inter ? m->nnets : 0,
        .of = arena_alloc(a, objects * sizeof *b.of),
        .gpu_of = arena_alloc(a, objects * sizeof *b.gpu_of),
        .ranks = arena_alloc(a, (size_t)c->ngpus * sizeof *b.ranks),
        .wanted = arena_alloc(a, objects),
        .child = arena_alloc(a, objects * sizeof *b.child),
        .next = arena_alloc(a, objects * sizeof *b.next),
        .unsure = unsure,
    };
    for (int i = 0; i < c->ngpus; i++)
        b.ranks[i] = -1;
    for (int i = 0; i < m->ranks_per_node; i++)
        b.ranks[m->gpus[i]] = i;
    find_wanted(&b);
    add_tree(&b);
    add_links(&b, socket_bw(c, s->cpu, m->version, unsure));
    find_refusals(s, c);
    s->sm = INT_MAX;
    for (int i = 0; i < s->n[GRAPH_GPU]; i++) {
        int sm = s->nodes[GRAPH_GPU][i]->gpu.sm;
        s->sm = sm < s->sm ? sm : s->sm;
        s->sm_most = sm > s->sm_most ? sm : s->sm_most;
    }
    return s;
}
