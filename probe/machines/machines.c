/* Bundled machines: each becomes a topology, its layout read item by item, like a file that describes a tree; and the
 * list of them, for people and programs. */
#include "probe/machines/machines.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/edit_distance.h"
#include "core/json.h"
#include "core/units.h"
#include "probe/machines/machines_internal.h"

/* ---- how baseboards join GPUs: a table of those that are no mesh, and the rules for all others ------------------- */

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
    for (int i = 0; i < n; i++) {
        struct topo_object o = {.kind = TOPO_NVSWITCH, .parent = -1, .numa = -1};
        o.name = arena_printf(t->arena, "NVSwitch%d", i);
        build_object(t, c, o);
    }
    for (int g = 0; g < c->ngpus; g++)
        for (int i = 0; i < n; i++) {
            struct topo_link l = {hw->link_kind, .gpu = g, .peer_gpu = -1, .peer_object = first + i};
            l.count = hw->links / n + (i < hw->links % n);
            l.GBps = l.count * hw->link_GBps;
            build_link(t, c, l);
        }
}

static void join_to_cpus(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    for (int g = 0; g < c->ngpus; g++) {
        struct topo_link l = {TOPO_C2C, .gpu = g, .peer_gpu = -1, .count = 1, .GBps = hw->c2c_GBps};
        l.peer_object = topo_ancestor(c, c->gpus[g].object, TOPO_NUMA);
        if (l.peer_object >= 0)
            build_link(t, c, l);
    }
}

/* Boards of four have no NVSwitches: HGX A100 and HGX H100 4-GPU. Those of Grace machines are elsewhere in the rack. */
static int is_switched(const struct hw_gpu *hw, int ngpus)
{
    return hw->switched && (ngpus != 4 || hw->c2c_GBps > 0);
}

void wiring_usual(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    const struct board *board = NULL;
    for (size_t i = 0; i < sizeof boards / sizeof *boards && !board; i++)
        if (!strncmp(hw->name, boards[i].gpu, strlen(boards[i].gpu)) && boards[i].ngpus == c->ngpus)
            board = &boards[i];
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
        return o->model ? arena_printf(a, "its %s says %s", o->model, named->name)
                        : arena_printf(a, "its PCI device %04x:%04x says %s", o->vendor, o->device, named->name);
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
        build_note(t, c, "the GPUs are taken for %s, as requested%s", hw->name,
                   c->nlinks > nlinks ? "; their links are those of the usual baseboard" : "");
    }
    return rc;
}

enum { CLASS_GPU = 0x030200, CLASS_ACCELERATOR = 0x120000, CLASS_SWITCH = 0x060400 };
enum { CLASS_ETHERNET = 0x020000, CLASS_INFINIBAND = 0x020700 };

enum purpose { COMPUTE, STORAGE, MANAGEMENT };

/* Devices whose names have the same pattern are numbered on. */
struct counter {
    const char *pattern;
    int next;
};

struct building {
    struct topology *t;
    struct topo_class *c;
    const struct machine *m;
    const struct hw_gpu *gpu;
    int numa, bus;
    int ports;                  /* of the last card so far */
    struct counter counters[6]; /* at most two patterns for each purpose */
    struct machine_size size;
};

/* ---- objects ----------------------------------------------------------------------------------------------------- */

static double switch_GTps(const struct machine *m)
{
    return m->switch_GTps > 0 ? m->switch_GTps : m->GTps;
}

/* PCIe towards the parent, as both ends can. */
static void set_link(const struct building *b, struct topo_object *o, double GTps, int width)
{
    int below_switch = b->c->objects[o->parent].kind == TOPO_SWITCH;
    o->link_GTps = o->link_max_GTps = fmin(GTps, below_switch ? switch_GTps(b->m) : b->m->GTps);
    o->link_width = o->link_max_width = width;
    o->link_GBps = pci_GBps(o->link_GTps, width);
}

static const char *next_address(struct building *b)
{
    return arena_printf(b->t->arena, "0000:%02x:00.0", (unsigned)b->bus++ & 0xff);
}

static int add_host_bridge(struct building *b, int parent)
{
    struct topo_object o = {.kind = TOPO_HOST_BRIDGE, .parent = parent, .numa = b->numa};
    o.name = arena_printf(b->t->arena, "pci0000:%02x", (unsigned)b->bus++);
    return build_object(b->t, b->c, o);
}

/* Takes a bus for its upstream port and one for what is inside. */
static int add_switch(struct building *b, int parent)
{
    struct topo_object o = {.kind = TOPO_SWITCH, .parent = parent, .numa = b->numa, .pci_class = CLASS_SWITCH};
    o.pci = next_address(b);
    b->bus++;
    set_link(b, &o, switch_GTps(b->m), 16);
    return build_object(b->t, b->c, o);
}

static void add_gpu(struct building *b, int parent)
{
    const struct hw_gpu *hw = b->gpu;
    struct topo_object o = {.kind = TOPO_GPU, .parent = parent, .numa = b->numa};
    o.pci = next_address(b);
    o.model = hw->model;
    o.vendor = hw_gpu_vendor(hw);
    o.device = hw->device;
    o.pci_class = hw->arch ? CLASS_ACCELERATOR : CLASS_GPU;
    set_link(b, &o, hw->pcie_GTps, hw->pcie_width);
    struct topo_gpu g = {.object = build_object(b->t, b->c, o), .index = b->c->ngpus, .gdr = !hw->no_p2p};
    g.sm = hw->sm;
    g.arch = hw->arch;
    g.mem_bytes = hw->mem_bytes;
    g.clique = hw->domain_gpus ? arena_printf(b->t->arena, "%s.0", b->m->name) : NULL;
    build_gpu(b->t, b->c, g);
    b->size.gpus++;
}

/* The next name of a pattern: "mlx5_0" of "mlx5_%d". */
static const char *next_name(struct building *b, const char *pattern)
{
    const char *place = strstr(pattern, "%d");
    struct counter *c = b->counters;
    while (c->pattern && strcmp(c->pattern, pattern) != 0)
        c++;
    c->pattern = pattern;
    return arena_printf(b->t->arena, "%.*s%d%s", (int)(place - pattern), pattern, c->next++, place + 2);
}

static const char *add_netdev(struct building *b, const struct machine_nic *nic, int object)
{
    if (!nic->netdev)
        return NULL;
    struct topo_netdev d = {.object = object, .name = next_name(b, nic->netdev), .kind = TOPO_NET_PHYSICAL};
    d.state = TOPO_STATE_ACTIVE;
    d.speed_Gbps = nic->Gbps;
    build_netdev(b->t, b->c, d);
    return d.name;
}

static const char *add_port(struct building *b, const struct machine_nic *nic, int object, const char *netdev)
{
    const int mtu_bytes = 4096; /* the largest there is, which all of these networks use */
    if (!nic->rdma)
        return NULL;
    struct topo_port p = {.object = object, .hca = next_name(b, nic->rdma), .port = 1, .netdev = netdev};
    p.state = TOPO_STATE_ACTIVE;
    p.layer = nic->layer;
    p.rate_Gbps = nic->Gbps;
    p.mtu_bytes = mtu_bytes;
    p.subnet_prefix = nic->layer == TOPO_LINK_INFINIBAND ? "0xfe80000000000000" : NULL;
    build_port(b->t, b->c, p);
    return p.hca;
}

/* A card, or with `again` one more port of the last: a function of its own, with its own RDMA device. */
static void add_nic(struct building *b, int parent, enum purpose p, int again)
{
    static const struct machine_nic usual = {"x550", 10, NULL, "eth%d", TOPO_LINK_ETHERNET, 0};
    const struct machine_nic *management = b->m->management.hw ? &b->m->management : &usual;
    const struct machine_nic *nic = p == COMPUTE ? &b->m->compute : p == STORAGE ? &b->m->storage : management;
    const struct hw_nic *hw = hw_nic_find(nic->hw);
    struct topo_object o = {.kind = TOPO_NIC, .parent = parent, .numa = b->numa};
    b->ports = again ? b->ports + 1 : 1;
    o.pci = again ? arena_printf(b->t->arena, "0000:%02x:00.%d", (unsigned)(b->bus - 1) & 0xff, b->ports - 1)
                  : next_address(b);
    o.model = hw->model;
    o.vendor = hw->vendor;
    o.device = hw->device;
    o.pci_class = nic->layer == TOPO_LINK_INFINIBAND ? CLASS_INFINIBAND : CLASS_ETHERNET;
    set_link(b, &o, hw->pcie_GTps, nic->lanes ? nic->lanes : hw->pcie_width);
    int object = build_object(b->t, b->c, o);
    if (p == COMPUTE && !b->size.ports++)
        b->size.first_nic = object;
    const char *netdev = add_netdev(b, nic, object), *hca = add_port(b, nic, object, netdev);
    b->c->objects[object].name = hca ? hca : netdev;
}

/* ---- the layout -------------------------------------------------------------------------------------------------- */

/* Items from `s` to the end of their group, which hang below `parent`; where the group ends. */
static const char *add_items(struct building *b, const char *s, int parent)
{
    static const char purposes[] = "NSM";
    while (*s && *s != ')' && *s != ']') {
        char *after = NULL;
        int number = isdigit((unsigned char)*s) ? (int)strtol(s, &after, 10) : 1;
        s = after ? after : s;
        const char *purpose = isalpha((unsigned char)*s) ? strchr(purposes, toupper((unsigned char)*s)) : NULL;
        if (*s == ':') {
            b->numa = number;
            parent = build_numa(b->t, b->c, b->numa);
        } else if (*s == '(' || *s == '[') {
            const char *end = s;
            for (int i = 0; i < number; i++)
                end = add_items(b, s + 1, *s == '(' ? add_host_bridge(b, parent) : add_switch(b, parent));
            s = end;
        } else if (*s == 'G') {
            add_gpu(b, parent);
        } else if (purpose) {
            add_nic(b, parent, (enum purpose)(purpose - purposes), islower((unsigned char)*s) != 0);
        }
        s++;
    }
    return s;
}

struct topology *machine_build(const struct machine *m, int nodes, struct machine_size *size)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    struct building b = {.t = t, .c = c, .m = m, .gpu = hw_gpu_find(m->gpu), .numa = -1, .bus = 1};
    b.size.first_nic = -1;
    t->source = arena_printf(t->arena, "the bundled description of %s", m->name);
    c->cpu = m->cpu;
    c->arch = m->arch ? m->arch : "x86_64";
    c->product = m->product;
    c->hypervisor = m->hypervisor;
    add_items(&b, m->layout, -1);
    build_order_devices(t, c);
    wiring_usual(t, c, b.gpu);
    for (int i = 0; i < c->ngpus && b.gpu->no_p2p; i++) /* GeForce drivers refuse what other boards do over PCIe */
        for (int k = i + 1; k < c->ngpus; k++)
            build_text(t, &c->gpus[i].p2p_problems, &c->gpus[i].np2p_problems,
                       arena_printf(t->arena, "GPU%d: read, write: not supported by the chipset", k));
    build_note(t, c, "described, not probed, from: %s; PCI addresses are made up", m->source);
    for (int i = 0; i < nodes; i++) {
        build_host(t, arena_printf(t->arena, "node%04d", i + 1), 0);
        if (b.gpu->domain_gpus)
            t->hosts[i].clique = arena_printf(t->arena, "%s.%d", m->name, i * c->ngpus / b.gpu->domain_gpus);
    }
    if (size)
        *size = b.size;
    return t;
}

/* ---- machines by name -------------------------------------------------------------------------------------------- */

const char *machine_name(int i)
{
    return machines[i].name;
}

static const struct machine *find_machine(const char *name, struct err *e)
{
    for (const struct machine *m = machines; m->name; m++)
        if (!strcasecmp(m->name, name))
            return m;
    const char *near = edit_distance_nearest(name, machine_name, NULL);
    return err_null(e, ERR_USAGE, "'%.80s' is not a bundled machine%s%s%s; nccltune probe --list-machines lists them",
                    name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

struct topology *machine_topology(const char *name, int nodes, struct err *e)
{
    const struct machine *m = find_machine(name, e);
    if (!m)
        return NULL;
    if (nodes < 1 || nodes > MACHINE_MOST)
        return err_null(e, ERR_USAGE, "expected 1 to %d nodes, found %d", MACHINE_MOST, nodes);
    return machine_build(m, nodes, NULL);
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static const char *name_network(const struct machine *m, enum hw_transport transport)
{
    static const char *const names[] = {[HW_SOCKETS] = "Ethernet (sockets)",
                                        [HW_EFA] = "EFA",
                                        [HW_TCPX] = "Ethernet (GPUDirect-TCPX)",
                                        [HW_CXI] = "Slingshot"};
    return transport != HW_VERBS ? names[transport] : m->compute.layer == TOPO_LINK_INFINIBAND ? "InfiniBand" : "RoCE";
}

static void add_machine(cJSON *o, const struct machine *m, const struct machine_size *size, const char *network)
{
    json_add_str(o, "name", m->name);
    cJSON_AddNumberToObject(o, "gpus", size->gpus);
    json_add_str(o, "gpu", m->gpu);
    cJSON_AddNumberToObject(o, "ports", size->ports);
    if (network)
        cJSON_AddNumberToObject(o, "rate_Gbps", m->compute.Gbps);
    json_add_str(o, "network", network);
    json_add_str(o, "source", m->source);
}

void machine_list(int json, FILE *out)
{
    cJSON *all = json ? cJSON_CreateArray() : NULL;
    for (const struct machine *m = machines; m->name; m++) {
        struct machine_size size;
        struct topology *t = machine_build(m, 1, &size);
        const char *network = size.ports ? name_network(m, hw_transport_of(&t->classes[0], size.first_nic)) : NULL;
        topo_free(t);
        if (json) {
            add_machine(json_append(all), m, &size, network);
            continue;
        }
        fprintf(out, "%-18s %2d x %-14s", m->name, size.gpus, m->gpu);
        if (network)
            fprintf(out, " %2d x %g Gb/s %s", size.ports, m->compute.Gbps, network);
        fprintf(out, "\n%19s%s\n", "", m->source);
    }
    if (json)
        json_print(all, out);
}
