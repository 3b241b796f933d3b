/* What a person wants to see: the devices, the matrix in the layout of nvidia-smi topo -m, and what follows from them.
 * Names come from anywhere, so that everything but printable ASCII is shown as '?'. */
#include <math.h>
#include <string.h>

#include "core/finding.h"
#include "core/hostlist.h"
#include "core/units.h"
#include "probe/format/format.h"

#define COLUMNS      80
#define FIRST_COLUMN 10 /* behind "  NUMA 0" */
#define MOST_CLASSES 16 /* whose differences are told; topology.json has more */

const char *text_inert(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s ? s : "?");
    for (char *p = copy; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
    return copy;
}

const char *text_hosts(const struct topology *t, int class_index, struct arena *a)
{
    const char *own = t->classes[class_index].name;
    int n;
    const char *hosts = topo_hosts(t, class_index, -1, a, &n);
    return n > 1 ? arena_printf(a, "%s, %d nodes", hosts, n) : n ? hosts : own ? own : "no node";
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

static void put_place(FILE *out, const struct topo_class *c, int object)
{
    const struct topo_object *o = object < 0 ? NULL : &c->objects[object];
    fprintf(out, "  %-12s", o && o->pci ? o->pci : "-");
    if (o && o->numa >= 0)
        fprintf(out, "  NUMA %d", o->numa);
    else
        fputs("  NUMA ?", out);
}

const char *text_pcie(const struct topo_object *o, struct arena *a)
{
    static const struct {
        double GTps;
        const char *generation;
    } generations[] = {{2.5, "1.0"}, {5, "2.0"}, {8, "3.0"}, {16, "4.0"}, {32, "5.0"}, {64, "6.0"}};
    /* Idle GPUs lower the speed of their link, but keep its lanes. */
    double GTps = o->link_max_GTps > 0 ? o->link_max_GTps : o->link_GTps;
    for (size_t i = 0; i < sizeof generations / sizeof *generations && o->link_width > 0; i++)
        if (fabs(GTps - generations[i].GTps) < 0.1)
            return arena_printf(a, "%s x%d", generations[i].generation, o->link_width);
    return o->link_GBps > 0 ? arena_printf(a, "%.3g GB/s", o->link_GBps) : NULL;
}

static void put_rate(FILE *out, double Gbps)
{
    if (Gbps > 0)
        fprintf(out, "  %g Gb/s", Gbps);
}

/* Parts that are known, joined by commas; nothing where none is. */
static void put_machine(FILE *out, const struct topo_class *c, struct arena *a)
{
    const struct {
        const char *what, *value;
    } parts[] = {{"hypervisor ", c->hypervisor}, {"container ", c->container}, {"IOMMU ", c->iommu},
                 {"driver ", c->driver},         {"CUDA ", c->cuda},           {"GPUDirect RDMA by ", c->gdr_route}};
    int n = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value && strcmp(parts[i].value, "none") != 0)
            fprintf(out, "%s%s%s", n++ ? ", " : "Machine: ", parts[i].what, text_inert(a, parts[i].value));
    if (n)
        fputc('\n', out);
    for (int i = 0; i < c->nlibraries; i++)
        fprintf(out, "Library: %s\n", text_inert(a, c->libraries[i]));
}

static void put_cpu(FILE *out, const struct topo_class *c, struct arena *a)
{
    int nodes = 0, *numbers = arena_alloc(a, (size_t)c->nobjects * sizeof *numbers);
    for (int i = 0; i < c->nobjects; i++) {
        int known = 0, number = c->objects[i].kind == TOPO_NUMA ? topo_numa_number(c, i) : -1;
        while (known < nodes && numbers[known] != number)
            known++;
        if (number >= 0 && known == nodes)
            numbers[nodes++] = number;
    }
    /* The model's name, where there is one behind the vendor's numbers; some pad it. */
    const char *model = c->cpu ? strstr(c->cpu, ", ") : NULL, *cpu = model ? model + 2 : c->cpu;
    size_t length = cpu ? strlen(cpu) : 0;
    while (length && cpu[length - 1] == ' ')
        length--;
    fprintf(out, "CPU: %s%s%s, ", cpu ? text_inert(a, arena_strndup(a, cpu, length)) : "unknown", c->arch ? ", " : "",
            c->arch ? text_inert(a, c->arch) : "");
    if (nodes)
        fprintf(out, "%d NUMA node%s\n", nodes, plural(nodes));
    else
        fputs("NUMA nodes not known\n", out);
}

const char *const text_link_kinds[] = {
    [TOPO_NVLINK] = "NVLink", [TOPO_XGMI] = "XGMI link", [TOPO_C2C] = "C2C link", [TOPO_METAXLINK] = "MetaXLink"};

const char *text_links(struct arena *a, enum topo_link_kind kind, int n, double GBps)
{
    return arena_printf(a, GBps > 0 ? "%d %s%s, %.4g GB/s" : "%d %s%s", n, text_link_kinds[kind], plural(n), GBps);
}

/* All links that leave the GPU. */
static void put_bundle(FILE *out, const struct topo_class *c, int gpu, struct arena *a)
{
    for (int kind = TOPO_NVLINK; kind <= TOPO_METAXLINK; kind++) {
        double GBps = 0;
        int n = 0;
        for (int i = 0; i < c->nlinks; i++)
            if (c->links[i].gpu == gpu && (int)c->links[i].link_kind == kind) {
                n += c->links[i].count;
                GBps += c->links[i].GBps;
            }
        if (n)
            fprintf(out, "  %s", text_links(a, kind, n, GBps));
    }
}

static void put_gpus(FILE *out, const struct topo_class *c, struct arena *a)
{
    char size[UNIT_TEXT];
    fprintf(out, "GPUs: %d\n", c->ngpus);
    for (int i = 0; i < c->ngpus; i++) {
        const struct topo_gpu *g = &c->gpus[i];
        const struct topo_object *o = &c->objects[g->object];
        fprintf(out, "  GPU%-3d", g->index);
        put_place(out, c, g->object);
        if (o->model)
            fprintf(out, "  %s", text_inert(a, o->model));
        else if (o->vendor)
            fprintf(out, "  [%04x:%04x]", o->vendor, o->device);
        if (g->arch)
            fprintf(out, "  %s", text_inert(a, g->arch));
        else if (g->sm)
            fprintf(out, "  sm_%d", g->sm);
        if (g->mem_bytes)
            fprintf(out, "  %s", unit_bytes(size, g->mem_bytes));
        if (text_pcie(o, a))
            fprintf(out, "  PCIe %s", text_pcie(o, a));
        put_bundle(out, c, i, a);
        fputc('\n', out);
        for (int k = 0; k < g->np2p_problems; k++)
            fprintf(out, "          no P2P with %s\n", text_inert(a, g->p2p_problems[k]));
    }
}

static void put_ports(FILE *out, const struct topo_class *c, struct arena *a)
{
    static const char *const layers[] = {"", "  InfiniBand", "  Ethernet"}, *const states[] = {"", "  down",
                                                                                               "  active"};
    fprintf(out, "RDMA ports: %d\n", c->nports);
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        fprintf(out, "  %s:%d", text_inert(a, p->hca), p->port);
        put_place(out, c, p->object);
        fprintf(out, "%s%s", layers[p->layer], states[p->state]);
        put_rate(out, p->rate_Gbps);
        if (p->mtu_bytes)
            fprintf(out, "  MTU %d", p->mtu_bytes);
        fputc('\n', out);
    }
}

static void put_netdevs(FILE *out, const struct topo_class *c, struct arena *a)
{
    static const char *const kinds[] = {"", "  physical", "  virtual", "  bridge", "  bond", "  loopback"};
    static const char *const states[] = {"", "  down", "  up"};
    fprintf(out, "Network interfaces: %d\n", c->nnetdevs);
    for (int i = 0; i < c->nnetdevs; i++) {
        const struct topo_netdev *d = &c->netdevs[i];
        fprintf(out, "  %-7s", text_inert(a, d->name));
        put_place(out, c, d->object);
        fprintf(out, "%s%s", kinds[d->kind], states[d->state]);
        put_rate(out, d->speed_Gbps);
        if (d->mtu_bytes)
            fprintf(out, "  MTU %d", d->mtu_bytes);
        if (d->master)
            fprintf(out, "  in %s", text_inert(a, d->master));
        for (int k = 0; k < d->naddresses; k++)
            fprintf(out, "  %s", text_inert(a, d->addresses[k]));
        fputc('\n', out);
    }
}

/* NICs that are known as PCI functions only. */
static void put_bare_nics(FILE *out, const struct topo_class *c, struct arena *a)
{
    int n = topo_count(c, TOPO_NIC);
    if (!n || c->nports || c->nnetdevs)
        return;
    fprintf(out, "NICs: %d\n", n);
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_NIC) {
            put_place(out, c, i);
            if (c->objects[i].model)
                fprintf(out, "  %s", text_inert(a, c->objects[i].model));
            fputc('\n', out);
        }
}

/* A row or column heading: GPUs by their number, NICs as NIC0, NIC1, … with a legend, as nvidia-smi prints them. */
static const char *matrix_heading(const struct path_matrix *m, int i, struct arena *a)
{
    return i < m->ngpus ? text_inert(a, m->ends[i].label) : arena_printf(a, "NIC%d", i - m->ngpus);
}

/* The last columns of a GPU's row, as nvidia-smi has them. */
static void put_affinity(FILE *out, const struct topo_class *c, int gpu, struct arena *a)
{
    int object = c->gpus[gpu].object, numa = c->objects[object].numa, root = topo_ancestor(c, object, TOPO_NUMA);
    const char *cpus = root < 0 ? NULL : c->objects[root].cpus, *memory = c->gpus[gpu].memory_numa;
    fprintf(out, "\t%s\t%s\t%s\n", cpus ? text_inert(a, cpus) : "N/A", numa < 0 ? "N/A" : arena_printf(a, "%d", numa),
            memory ? text_inert(a, memory) : "N/A");
}

static void put_matrix(FILE *out, const struct topo_class *c, const struct path_matrix *m, struct arena *a)
{
    char word[PATH_WORD];
    for (int i = 0; i < m->n; i++)
        fprintf(out, "\t%s", matrix_heading(m, i, a));
    fputs("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n", out);
    for (int i = 0; i < m->n; i++) {
        fputs(matrix_heading(m, i, a), out);
        for (int k = 0; k < m->n; k++)
            fprintf(out, i == k ? "\t %s " : "\t%s", path_word(word, path_between(m, i, k)));
        if (i < m->ngpus)
            put_affinity(out, c, i, a);
        else
            fputs("\t\n", out);
    }
}

static int has_word(const struct path_matrix *m, enum path_word word, enum topo_link_kind link_kind)
{
    for (size_t i = 0; i < (size_t)m->n * (size_t)m->n; i++)
        if (m->paths[i].word == word && (word != WORD_LINKS || m->paths[i].link_kind == link_kind))
            return 1;
    return 0;
}

static void put_legend(FILE *out, const struct topo_class *c, const struct path_matrix *m)
{
    static const struct {
        enum path_word word;
        enum topo_link_kind link_kind;
        const char *text;
    } legend[] = {
        {WORD_SELF, 0, "X     the device itself"},
        {WORD_SYS, 0, "SYS   PCIe and the interconnect between NUMA nodes"},
        {WORD_NODE, 0, "NODE  PCIe and the interconnect between host bridges of one NUMA node"},
        {WORD_PHB, 0, "PHB   PCIe and a host bridge, typically the CPU"},
        {WORD_PXB, 0, "PXB   several PCIe switches, no host bridge"},
        {WORD_PIX, 0, "PIX   one PCIe switch at most"},
        {WORD_LINKS, TOPO_NVLINK, "NV#   # NVLinks together"},
        {WORD_LINKS, TOPO_XGMI, "XGMI# # XGMI links together"},
        {WORD_LINKS, TOPO_METAXLINK, "MX#   # MetaXLinks together"},
        {WORD_UNKNOWN, 0, "?     unknown: the PCI tree or the NUMA node of one of the two is hidden"},
    };
    fputs("\nLegend:\n", out);
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++)
        if (has_word(m, legend[i].word, legend[i].link_kind))
            fprintf(out, "  %s%s\n", legend[i].text,
                    legend[i].word == WORD_PHB && !topo_count(c, TOPO_HOST_BRIDGE)
                        ? " (host bridges are not recorded here: it may be NODE)"
                        : "");
    if (m->n > m->ngpus)
        fputs("\nNIC Legend:\n", out);
}

static void put_domains(FILE *out, const struct topo_class *c, const struct path_matrix *m, struct arena *a)
{
    struct nvlink_domain *domains;
    int n = nvlink_domains(c, m, a, &domains);
    for (int i = 0; i < n; i++) {
        fputs(i ? "" : "\nNVLink and XGMI domains:\n", out);
        for (int k = 0; k < domains[i].ngpus; k++)
            fprintf(out, "%sGPU%d", k ? " " : "  ", c->gpus[domains[i].gpus[k]].index);
        if (domains[i].clique)
            fprintf(out, ", and other nodes of clique %s", text_inert(a, domains[i].clique));
        fputc('\n', out);
    }
}

/* ---- what follows from the devices of a class -------------------------------------------------------------------- */

/* The GID that NCCL takes by default: RoCE v2 with an IPv4 address, else RoCE v2, else the first. */
static const struct topo_gid *best_gid(const struct topo_class *c, int port)
{
    const struct topo_gid *best = NULL;
    int most = -1;
    for (int i = 0; i < c->ngids; i++) {
        const struct topo_gid *g = &c->gids[i];
        int value = (g->type == TOPO_GID_ROCE_V2) + 2 * !strncmp(g->gid, "::ffff:", 7);
        if (g->port == port && value > most) {
            best = g;
            most = value;
        }
    }
    return best;
}

static int width_of(const struct topo_class *c)
{
    int width = 0;
    for (int i = 0; i < c->nports; i++) {
        int n = (int)strlen(c->ports[i].hca) + 2;
        width = n > width && n <= 24 ? n : width;
    }
    return width;
}

static void put_addresses(FILE *out, const struct topo_class *c, int port, struct arena *a)
{
    static const char *const types[] = {"", "IB", "RoCE v1", "RoCE v2"};
    const struct topo_port *p = &c->ports[port];
    const struct topo_gid *g = best_gid(c, port);
    if (p->netdev)
        fprintf(out, "  %s", text_inert(a, p->netdev));
    if (p->layer == TOPO_LINK_INFINIBAND && p->subnet_prefix)
        fprintf(out, "  subnet %s", text_inert(a, p->subnet_prefix));
    if (p->lid)
        fprintf(out, "  LID %d", p->lid);
    if (g && p->layer != TOPO_LINK_INFINIBAND)
        fprintf(out, "  GID %d %s %s", g->index, types[g->type], text_inert(a, g->gid));
    if (p->firmware)
        fprintf(out, "  firmware %s", text_inert(a, p->firmware));
    if (p->board_id)
        fprintf(out, " (%s)", text_inert(a, p->board_id));
}

static const char *inert_port(const struct topo_class *c, int port, struct arena *a)
{
    return arena_printf(a, "%s:%d", text_inert(a, c->ports[port].hca), c->ports[port].port);
}

static void put_networks(FILE *out, const struct topo_class *c, struct arena *a)
{
    int known = 0;
    for (int i = 0; i < c->nports; i++)
        known |= c->ports[i].netdev || c->ports[i].subnet_prefix || c->ports[i].firmware || best_gid(c, i);
    if (!known)
        return;
    fputs("\nRDMA addresses:\n", out);
    for (int i = 0; i < c->nports; i++) {
        fprintf(out, "  %-*s", width_of(c), inert_port(c, i, a));
        put_addresses(out, c, i, a);
        fputc('\n', out);
    }
}

/* A line a rail; nothing where all ports are on one network or none is known. */
static void put_rails(FILE *out, const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    struct rail *rails;
    int n = topo_rails(c, v, a, &rails);
    if (n < 2)
        return;
    fputs("\nRails (networks of compute ports):\n", out);
    for (int i = 0; i < n; i++) {
        fprintf(out, "  %-18s ", text_inert(a, rails[i].network));
        for (int k = 0; k < rails[i].nports; k++)
            fprintf(out, " %s", inert_port(c, rails[i].ports[k], a));
        fputc('\n', out);
    }
}

/* What follows from a class: subnets and GIDs, roles, the list of HCAs. */
static void put_verdicts(FILE *out, const struct topo_class *c, struct arena *a)
{
    if (!c->nports)
        return;
    const struct topo_class *shown = roles_shown(c, a);
    const struct port_verdict *v = roles_of(shown, a);
    put_networks(out, c, a);
    fputs(shown != c ? "\nRoles, if all ports are up:\n" : "\nRoles:\n", out);
    for (int i = 0; i < c->nports; i++) {
        int last = i; /* the last port of a row of which nothing is known for one reason */
        while (v[i].role == ROLE_UNKNOWN && last + 1 < c->nports && v[last + 1].role == ROLE_UNKNOWN &&
               !strcmp(v[last + 1].reason, v[i].reason))
            last++;
        const char *port = inert_port(c, i, a);
        if (last > i)
            fprintf(out, "  %s to %s (%d ports)  unknown  of each: %s\n", port, inert_port(c, last, a), last - i + 1,
                    text_inert(a, v[i].reason));
        else
            fprintf(out, "  %-*s  %-17s  %s\n", width_of(c), port, role_name(v[i].role), text_inert(a, v[i].reason));
        i = last;
    }
    put_rails(out, c, v, a);
}

/* All that is known of a class. */
static void put_class(FILE *out, const struct topo_class *c, struct arena *a)
{
    fputc('\n', out);
    put_machine(out, c, a);
    put_cpu(out, c, a);
    put_gpus(out, c, a);
    put_ports(out, c, a);
    put_netdevs(out, c, a);
    put_bare_nics(out, c, a);
    const struct path_matrix *m = path_matrix(c, a);
    if (m->n > 1) {
        fputc('\n', out);
        put_matrix(out, c, m, a);
        put_legend(out, c, m);
        for (int i = m->ngpus; i < m->n; i++)
            fprintf(out, "  NIC%d: %s\n", i - m->ngpus, text_inert(a, m->ends[i].label));
    }
    put_domains(out, c, m, a);
    put_verdicts(out, c, a);
    for (int i = 0; i < c->nnotes; i++)
        fprintf(out, "%s  - %s\n", i ? "" : "\nNotes:\n", text_inert(a, c->notes[i]));
}

/* ---- a few lines of a class ------------------------------------------------------------------------------------- */

/* The HCA, with its port where it has several. */
static const char *short_port(const struct topo_class *c, int port, struct arena *a)
{
    int n = 0;
    for (int i = 0; i < c->nports; i++)
        n += !strcmp(c->ports[i].hca, c->ports[port].hca);
    return n > 1 ? inert_port(c, port, a) : text_inert(a, c->ports[port].hca);
}

/* "GPU0 PIX mlx5_0": the GPU at index `g` of the matrix and the compute ports that are nearest, at most eight. */
static const char *name_nearest(const struct topo_class *c, const struct port_verdict *v, const struct path_matrix *m,
                                int g, struct arena *a)
{
    const int most = 8;
    enum path_class nearest = PATH_UNKNOWN;
    const char *names = "";
    int n = 0;
    for (int i = 0; i < c->nports; i++) {
        int end = path_end_of(m, c->ports[i].hca);
        enum path_class own = end < 0 ? PATH_UNKNOWN : path_between(m, g, end)->class_;
        if (v[i].role != ROLE_COMPUTE || own > nearest || own == PATH_UNKNOWN)
            continue;
        n = own < nearest ? 1 : n + 1;
        if (n <= most)
            names = arena_printf(a, "%s %s", n == 1 ? "" : names, short_port(c, i, a));
        nearest = own;
    }
    const char *gpu = arena_printf(a, "GPU%d", c->gpus[g].index);
    const char *more = n > most ? arena_printf(a, " and %d more", n - most) : "";
    return n ? arena_printf(a, "%s %s%s%s", gpu, path_class_name(nearest), names, more) : gpu;
}

/* Each GPU beside its nearest ports, as many in a line as fit, a block for each NUMA node. */
static void put_gpu_rows(FILE *out, const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    const struct path_matrix *m = path_matrix(c, a);
    const char *cells[TOPO_MOST_GPUS];
    int width = 0, column = 0, numa = -2;
    for (int g = 0; g < m->ngpus; g++) {
        cells[g] = name_nearest(c, v, m, g, a);
        width = (int)strlen(cells[g]) > width ? (int)strlen(cells[g]) : width;
    }
    const int room = (COLUMNS - FIRST_COLUMN + 2) / (width + 2), most = room >= 4 ? 4 : room >= 2 ? 2 : 1;
    for (int g = 0; g < m->ngpus; g++) {
        int own = c->objects[c->gpus[g].object].numa;
        const char *node = own < 0 ? "NUMA ?" : arena_printf(a, "NUMA %d", own);
        column = own == numa && column + 1 < most ? column + 1 : 0;
        if (!column)
            fprintf(out, "%s  %-*s", g ? "\n" : "", FIRST_COLUMN - 2, own == numa ? "" : node);
        int last = g + 1 == m->ngpus || column + 1 == most || c->objects[c->gpus[g + 1].object].numa != own;
        fprintf(out, "%-*s%s", last ? 0 : width, cells[g], last ? "" : "  ");
        numa = own;
    }
    if (m->ngpus)
        fputc('\n', out);
}

/* "  unused  storage: mlx5_1 mlx5_2; down: mlx5_3" */
static void put_unused(FILE *out, const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    const char *all = "";
    for (int role = ROLE_UNKNOWN; role <= ROLE_DOWN; role++) {
        const char *names = "";
        for (int i = 0; i < c->nports; i++)
            if (role != ROLE_COMPUTE && (int)v[i].role == role)
                names = arena_printf(a, "%s %s", names, short_port(c, i, a));
        if (*names)
            all = arena_printf(a, "%s%s%s:%s", all, *all ? "; " : "", role_name((enum port_role)role), names);
    }
    if (!*all)
        return;
    fprintf(out, "  %-*s", FIRST_COLUMN - 2, "unused");
    finding_put_wrapped(out, all, FIRST_COLUMN, FIRST_COLUMN, COLUMNS, "");
    fputc('\n', out);
}

static void put_hca_list(FILE *out, const struct topo_class *c, const char *list, int if_up, struct arena *a)
{
    if (!c->nports)
        return;
    if (roles_only_labels(c))
        fputs("  NCCL_IB_HCA: names of NICs are in the NIC Legend below the matrix, which is missing\n", out);
    else if (list)
        fprintf(out, "  HCAs for NCCL%s (%s== takes whole names):\nNCCL_IB_HCA=%s\n",
                if_up ? " if all ports are up" : "", if_up ? "ibstat tells; " : "", text_inert(a, list));
    else
        fputs("  NCCL_IB_HCA: none of the ports is one that NCCL should use through verbs\n", out);
}

/* "  40 and 100 Gb/s": each rate of the compute ports once; "": none is known. */
static const char *name_rates(const struct topo_class *c, const struct port_verdict *v, struct arena *a)
{
    const char *text = "", *last = NULL;
    for (double below = 0, next;; below = next) {
        next = INFINITY;
        for (int i = 0; i < c->nports; i++)
            if (v[i].role == ROLE_COMPUTE && c->ports[i].rate_Gbps > below)
                next = fmin(next, c->ports[i].rate_Gbps);
        if (!isfinite(next))
            return last ? arena_printf(a, "  %s%s%s Gb/s", text, *text ? " and " : "", last) : "";
        text = last ? arena_printf(a, "%s%s%s", text, *text ? ", " : "", last) : text;
        last = arena_printf(a, "%g", next);
    }
}

static void put_short_class(FILE *out, const struct topo_class *c, int alone, struct arena *a)
{
    const char *model = c->ngpus ? c->objects[c->gpus[0].object].model : NULL;
    const struct topo_class *shown = roles_shown(c, a);
    const struct port_verdict *v = roles_of(shown, a);
    int ncompute = 0, if_up = shown != c;
    for (int i = 0; i < c->nports; i++)
        ncompute += v[i].role == ROLE_COMPUTE;
    fprintf(out, "  %d GPU%s%s%s", c->ngpus, plural(c->ngpus), model ? ", " : "", model ? text_inert(a, model) : "");
    if (c->ngpus)
        put_bundle(out, c, 0, a);
    fprintf(out, "\n  %d %sport%s%s", ncompute, if_up ? "" : "compute ", plural(ncompute), name_rates(c, v, a));
    fputs(if_up ? ", state not known\n" : "\n", out);
    put_gpu_rows(out, c, v, a);
    put_unused(out, c, v, a);
    put_hca_list(out, c, roles_hca_list(shown, v, a), if_up, a);
    if (alone && !c->ngpus && !c->nports)
        fputs("  no GPU and no RDMA port: --machine dgx-h100 shows a known machine\n"
              "  (--list-machines), --from FILE a recorded one\n",
              out);
}

/* ---- cluster ----------------------------------------------------------------------------------------------------- */

static void put_differences(FILE *out, const struct topology *t, struct arena *a)
{
    fputs("\nDifferences between classes, each to the most similar one:\n", out);
    for (int i = 0; i < t->nclasses && i <= MOST_CLASSES; i++) {
        struct differences_like like = differences_nearest(t, i, a);
        if (like.class_index < 0)
            continue;
        const char *all = arena_printf(a, "%s (%s) from %s", t->classes[i].name, text_hosts(t, i, a),
                                       t->classes[like.class_index].name);
        for (int k = 0; k < like.n; k++)
            all = arena_printf(a, "%s%s %s", all, k ? "," : ":", like.sentences[k]);
        fputs("  ", out);
        finding_put_wrapped(out, text_inert(a, all), 2, 4, COLUMNS, "");
        fputc('\n', out);
    }
    if (t->nclasses - 1 > MOST_CLASSES)
        fprintf(out, "  and %d more classes\n", t->nclasses - 1 - MOST_CLASSES);
}

static void put_findings(FILE *out, const struct topology *t)
{
    if (t->nfindings)
        fputs("\nFindings:\n", out);
    for (int i = 0; i < t->nfindings; i++) {
        struct finding shown = t->findings[i];
        if (t->nclasses == 1 && shown.subject == t->classes[0].name)
            shown.subject = NULL;
        finding_print(&shown, 2, out);
    }
}

static void put_leaves(FILE *out, const struct topology *t, struct arena *a)
{
    const int most = 64;
    int shown = 0;
    for (int i = 0; i < t->nhosts; i++)
        for (int k = 0; k < t->hosts[i].nleaves && shown < most; k++) {
            if (!shown++)
                fputs("\nSwitches:\n", out);
            fprintf(out, "  %s %s\n", text_inert(a, t->hosts[i].name), text_inert(a, t->hosts[i].leaves[k]));
        }
    if (shown == most)
        fputs("  (more in the JSON)\n", out);
}

static void put_racks(FILE *out, const struct topology *t, struct arena *a)
{
    const int most = 64;
    struct nvlink_rack *racks;
    int n = t->nhosts > 1 ? nvlink_racks(t, a, &racks) : 0;
    for (int i = 0; i < n && i < most; i++)
        fprintf(out, "%s  %d GPUs of %d node%s (%s), clique %s\n", i ? "" : "\nNVLink domains over nodes:\n",
                racks[i].ngpus, racks[i].nhosts, racks[i].nhosts == 1 ? "" : "s",
                text_inert(a, hostlist_fold(racks[i].hosts, racks[i].nhosts, a)), text_inert(a, racks[i].clique));
}

/* What follows from all of it: the common list of HCAs, differences between classes, missing nodes, findings. */
static void put_cluster(FILE *out, const struct topology *t, struct arena *a)
{
    const char *why;
    if (t->nclasses > 1) {
        const char *common = roles_hca_common(t, a, &why);
        put_differences(out, t, a);
        fprintf(out, "\nNCCL_IB_HCA for all classes: %s%s\n",
                common ? text_inert(a, common) : "none exists: ", common ? "" : text_inert(a, why));
    }
    put_racks(out, t, a);
    put_leaves(out, t, a);
    put_findings(out, t);
}

static int write_classes(const struct topology *t, int whole, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    for (int i = 0; i < t->nclasses; i++) {
        const char *product = t->classes[i].product;
        fprintf(out, "%s%s%s%s\n", i && whole ? "\n" : "", text_inert(a, text_hosts(t, i, a)), product ? ": " : "",
                product ? text_inert(a, product) : "");
        put_short_class(out, &t->classes[i], t->nhosts == 1, a);
        if (whole)
            put_class(out, &t->classes[i], a);
    }
    put_cluster(out, t, a);
    arena_free(a);
    return ferror(out) ? err_set(e, ERR_FAILED, "cannot write the summary") : 0;
}

static int write_short(const struct topology *t, FILE *out, struct err *e)
{
    return write_classes(t, 0, out, e);
}

static int write_text(const struct topology *t, FILE *out, struct err *e)
{
    return write_classes(t, 1, out, e);
}

const struct probe_format format_short = {"short", "a few lines for each kind of node: GPUs, ports, NCCL_IB_HCA",
                                          write_short};
const struct probe_format format_text = {"text", "that and all devices, with the matrix of nvidia-smi topo -m",
                                         write_text};
