/* What a person wants to see: the devices, and the matrix in the layout of nvidia-smi topo -m. Names come from
 * anywhere, so that everything but printable ASCII is shown as '?'. */
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "probe/format/draw.h"
#include "probe/format/format.h"
#include "probe/format/text.h"
#include "probe/topology/domains.h"
#include "probe/topology/paths.h"

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
    } parts[] = {{"", c->product},
                 {"hypervisor ", c->hypervisor},
                 {"container ", c->container},
                 {"IOMMU ", c->iommu},
                 {"driver ", c->driver},
                 {"CUDA ", c->cuda},
                 {"GPUDirect RDMA by ", c->gdr_route}};
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
    int nodes = 0;
    for (int i = 0; i < c->nobjects; i++)
        nodes += c->objects[i].kind == TOPO_NUMA;
    fprintf(out, "CPU: %s%s%s, %d NUMA node%s\n", c->cpu ? text_inert(a, c->cpu) : "unknown", c->arch ? ", " : "",
            c->arch ? text_inert(a, c->arch) : "", nodes, plural(nodes));
}

/* "18 NVLinks, 450 GB/s": all that leave the GPU. */
static void put_bundle(FILE *out, const struct topo_class *c, int gpu)
{
    static const char *const kinds[] = {
        [TOPO_NVLINK] = "NVLink", [TOPO_XGMI] = "XGMI link", [TOPO_C2C] = "C2C link", [TOPO_METAXLINK] = "MetaXLink"};
    for (int kind = TOPO_NVLINK; kind <= TOPO_METAXLINK; kind++) {
        double GBps = 0;
        int n = 0;
        for (int i = 0; i < c->nlinks; i++)
            if (c->links[i].gpu == gpu && (int)c->links[i].link_kind == kind) {
                n += c->links[i].count;
                GBps += c->links[i].GBps;
            }
        if (n)
            fprintf(out, GBps > 0 ? "  %d %s%s, %.4g GB/s" : "  %d %s%s", n, kinds[kind], plural(n), GBps);
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
        if (draw_pcie(o, a))
            fprintf(out, "  PCIe %s", draw_pcie(o, a));
        put_bundle(out, c, i);
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
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].kind == TOPO_NIC;
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
static const char *heading(const struct path_matrix *m, int i, struct arena *a)
{
    return i < m->ngpus ? text_inert(a, m->ends[i].label) : arena_printf(a, "NIC%d", i - m->ngpus);
}

/* The last columns of a GPU's row, as nvidia-smi has them. */
static void put_affinity(FILE *out, const struct topo_class *c, int gpu, struct arena *a)
{
    int numa = c->objects[c->gpus[gpu].object].numa;
    const char *cpus = NULL, *memory = c->gpus[gpu].memory_numa;
    for (int i = 0; i < c->nobjects && numa >= 0 && !cpus; i++)
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].numa == numa)
            cpus = c->objects[i].cpus;
    fprintf(out, "\t%s\t%s\t%s\n", cpus ? text_inert(a, cpus) : "N/A", numa < 0 ? "N/A" : arena_printf(a, "%d", numa),
            memory ? text_inert(a, memory) : "N/A");
}

static void put_matrix(FILE *out, const struct topo_class *c, const struct path_matrix *m, struct arena *a)
{
    char word[PATH_WORD];
    for (int i = 0; i < m->n; i++)
        fprintf(out, "\t%s", heading(m, i, a));
    fputs("\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n", out);
    for (int i = 0; i < m->n; i++) {
        fputs(heading(m, i, a), out);
        for (int k = 0; k < m->n; k++)
            fprintf(out, i == k ? "\t %s " : "\t%s", path_word(word, path_between(m, i, k)));
        if (i < m->ngpus)
            put_affinity(out, c, i, a);
        else
            fputs("\t\n", out);
    }
}

static int occurs(const struct path_matrix *m, enum path_word word, enum topo_link_kind link_kind)
{
    for (size_t i = 0; i < (size_t)m->n * (size_t)m->n; i++)
        if (m->paths[i].word == word && (word != WORD_LINKS || m->paths[i].link_kind == link_kind))
            return 1;
    return 0;
}

static int shows_host_bridges(const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_HOST_BRIDGE)
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
        {WORD_UNKNOWN, 0, "?     not known: the PCI tree or the NUMA node of one of the two is hidden"},
    };
    fputs("\nLegend:\n", out);
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++)
        if (occurs(m, legend[i].word, legend[i].link_kind))
            fprintf(out, "  %s%s\n", legend[i].text,
                    legend[i].word == WORD_PHB && !shows_host_bridges(c)
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

static void put_class(FILE *out, const struct topo_class *c, struct arena *a)
{
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
    text_put_verdicts(out, c, a);
    if (c->nnotes)
        fputs("\nNotes:\n", out);
    for (int i = 0; i < c->nnotes; i++)
        fprintf(out, "  - %s\n", text_inert(a, c->notes[i]));
}

static int write_text(const struct topology *t, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    for (int i = 0; i < t->nclasses; i++) {
        if (i)
            fputc('\n', out);
        fprintf(out, "%s\n", text_inert(a, text_hosts(t, i, a)));
        put_class(out, &t->classes[i], a);
    }
    text_put_cluster(out, t, a);
    arena_free(a);
    return ferror(out) ? err_set(e, ERR_FAILED, "the summary cannot be written") : 0;
}

const struct probe_format format_text = {"text", "a summary with the matrix of nvidia-smi topo -m", write_text};
