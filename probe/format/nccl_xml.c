/* NCCL's topology file. Its reader is no XML parser: one element a line, one blank between attributes, no prolog, no
 * entities, strings below 256 characters. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "probe/format/format.h"
#include "probe/machines/machines.h"

enum { CLASS_GPU = 0x030200, CLASS_NIC = 0x020000, CLASS_INFINIBAND = 0x020700, CLASS_SWITCH = 0x060400 };
#define MOST_OBJECTS   4096 /* far above what NCCL takes */
#define CLASS_NVSWITCH "0x068000"
/* What NCCL itself writes for an NVSwitch that a guest cannot see. */
#define HIDDEN_NVSWITCH "fffffff:ffff:ff"

struct writing {
    FILE *out;
    int gpus; /* written */
    const struct topo_class *c;
    struct arena *a;
    int left_out;
    const char *left_out_example;
};

/* A copy that the reader takes as it stands. */
static const char *plain_text(struct arena *a, const char *s)
{
    const int most = 200;
    char *copy = arena_strndup(a, s ? s : "", most);
    for (char *p = copy; *p; p++)
        if (*p < ' ' || *p > '~' || strchr("\"'<>&", *p))
            *p = '?';
    return copy;
}

static const char *plain_comment(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, plain_text(a, s));
    for (char *p = copy; (p = strstr(p, "--")); p++)
        *p = '?';
    return copy;
}

static void put_indent(const struct writing *w, int depth)
{
    fprintf(w->out, "%*s", 2 * depth, "");
}

/* Attributes of <cpu>; "GenuineIntel 6/143, name" is taken apart. NCCL asks the machine for what is missing. */
static void open_cpu(const struct writing *w, int numa)
{
    const char *blank = w->c->cpu ? strchr(w->c->cpu, ' ') : NULL, *slash = blank ? strchr(blank, '/') : NULL;
    fprintf(w->out, "  <cpu numaid=\"%d\"", numa);
    if (w->c->arch)
        fprintf(w->out, " arch=\"%s\"", plain_text(w->a, w->c->arch));
    if (slash && isdigit((unsigned char)blank[1]) && isdigit((unsigned char)slash[1]))
        fprintf(w->out, " vendor=\"%s\" familyid=\"%ld\" modelid=\"%ld\"",
                plain_text(w->a, arena_strndup(w->a, w->c->cpu, (size_t)(blank - w->c->cpu))), strtol(blank, NULL, 10),
                strtol(slash + 1, NULL, 10));
    fputs(">\n", w->out);
}

static uint32_t class_of(const struct topo_object *o)
{
    return o->pci_class               ? o->pci_class
           : o->kind == TOPO_GPU      ? (uint32_t)CLASS_GPU
           : o->kind == TOPO_SWITCH   ? (uint32_t)CLASS_SWITCH
           : o->kind == TOPO_FUNCTION ? 0
                                      : (uint32_t)CLASS_NIC;
}

static void put_function(const struct writing *w, const struct topo_object *o, int depth, uint32_t class_code)
{
    put_indent(w, depth);
    fprintf(w->out, "<pci busid=\"%s\"", plain_text(w->a, o->pci));
    if (class_code)
        fprintf(w->out, " class=\"0x%06x\"", class_code);
    if (o->vendor)
        fprintf(w->out, " vendor=\"0x%04x\" device=\"0x%04x\" subsystem_vendor=\"0x%04x\" subsystem_device=\"0x%04x\"",
                o->vendor, o->device, o->subsystem_vendor, o->subsystem_device);
    /* NCCL asks for the most that the link can do: an idle GPU slows it down. */
    double GTps = o->link_max_GTps > 0 ? o->link_max_GTps : o->link_GTps;
    if (GTps > 0 && o->link_width > 0)
        fprintf(w->out, " link_speed=\"%.1f GT/s PCIe\" link_width=\"%d\"", GTps, o->link_width);
}

static void put_links(const struct writing *w, int gpu, int depth)
{
    static const char *const names[] = {"nvlink", "xgmi", "c2c", "nvlink"};
    for (int i = 0; i < w->c->nlinks; i++) {
        const struct topo_link *l = &w->c->links[i];
        int peer = l->peer_gpu >= 0 ? w->c->gpus[l->peer_gpu].object : l->peer_object;
        if (l->gpu != gpu || peer < 0)
            continue;
        const struct topo_object *o = &w->c->objects[peer];
        put_indent(w, depth);
        if (l->link_kind == TOPO_C2C)
            fprintf(w->out, "<c2c count=\"%d\" bw=\"%.0f\"/>\n", l->count, l->count ? l->GBps * 1000 / l->count : 0);
        else if (o->kind == TOPO_NVSWITCH)
            fprintf(w->out, "<nvlink target=\"%s\" count=\"%d\" tclass=\"" CLASS_NVSWITCH "\"/>\n",
                    o->pci ? plain_text(w->a, o->pci) : HIDDEN_NVSWITCH, l->count);
        else if (o->kind == TOPO_NUMA)
            fprintf(w->out, "<nvlink target=\"0000:00:00.0\" count=\"%d\" tclass=\"0x068001\"/>\n", l->count);
        else
            fprintf(w->out, "<%s target=\"%s\" count=\"%d\" tclass=\"0x%06x\"/>\n", names[l->link_kind],
                    plain_text(w->a, o->pci), l->count, class_of(o));
    }
}

static void put_gpu(struct writing *w, int object, int depth)
{
    for (int i = 0; i < w->c->ngpus; i++) {
        const struct topo_gpu *g = &w->c->gpus[i];
        if (g->object != object)
            continue;
        put_indent(w, depth);
        w->gpus++;
        fprintf(w->out, "<gpu dev=\"%d\"", g->index);
        if (g->sm)
            fprintf(w->out, " sm=\"%d\"", g->sm);
        if (g->arch)
            fprintf(w->out, " gcn=\"%s\"", plain_text(w->a, g->arch));
        if (g->gdr >= 0)
            fprintf(w->out, " gdr=\"%d\"", g->gdr);
        fputs(">\n", w->out);
        put_links(w, i, depth + 1);
        put_indent(w, depth);
        fputs("</gpu>\n", w->out);
    }
}

/* NCCL holds GUIDs as they lie in memory, and numbers the ports of one function on. */
static void put_nic(const struct writing *w, int object, int depth)
{
    int k = 0;
    put_indent(w, depth);
    fputs("<nic>\n", w->out);
    for (int i = 0; i < w->c->nports; i++) {
        const struct topo_port *p = &w->c->ports[i];
        if (p->object != object)
            continue;
        put_indent(w, depth + 1);
        fprintf(w->out, "<net name=\"%s\" dev=\"%d\"", plain_text(w->a, p->hca), i);
        if (p->rate_Gbps > 0)
            fprintf(w->out, " speed=\"%.0f\"", p->rate_Gbps * 1000);
        fprintf(w->out, " port=\"%d\"", p->port + k++);
        if (p->guid)
            fprintf(w->out, " guid=\"0x%" PRIx64 "\"", __builtin_bswap64(strtoull(p->guid, NULL, 16)));
        fputs("/>\n", w->out);
    }
    /* What only NCCL's socket transport uses has port 0. */
    for (int i = 0; i < w->c->nnetdevs && !k; i++) {
        const struct topo_netdev *d = &w->c->netdevs[i];
        if (d->object != object)
            continue;
        put_indent(w, depth + 1);
        fprintf(w->out, "<net name=\"%s\" dev=\"%d\" speed=\"%.0f\" port=\"0\"/>\n", plain_text(w->a, d->name), i,
                d->speed_Gbps * 1000);
    }
    put_indent(w, depth);
    fputs("</nic>\n", w->out);
}

static int has_netdevs(const struct topo_class *c, int object)
{
    for (int i = 0; i < c->nnetdevs; i++)
        if (c->netdevs[i].object == object)
            return 1;
    return 0;
}

/* Which link layer a NIC has, only its class tells in such a file. */
static uint32_t nic_class(const struct topo_class *c, int object)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object == object && c->ports[i].layer != TOPO_LINK_UNKNOWN)
            return c->ports[i].layer == TOPO_LINK_INFINIBAND ? (uint32_t)CLASS_INFINIBAND : (uint32_t)CLASS_NIC;
    return class_of(&c->objects[object]);
}

static void put_below(struct writing *w, int parent, int depth);

static void put_object(struct writing *w, int object, int depth)
{
    const struct topo_object *o = &w->c->objects[object];
    int is_nic = o->kind == TOPO_NIC && topo_first_port(w->c, object) >= 0;
    if (o->kind == TOPO_HOST_BRIDGE) {
        put_below(w, object, depth);
        return;
    }
    if (o->kind == TOPO_NVSWITCH || o->kind == TOPO_NUMA)
        return;
    /* A NIC whose address is not known may stand below the CPU by itself. */
    if (!o->pci && (is_nic || (o->kind == TOPO_NIC && has_netdevs(w->c, object)))) {
        put_nic(w, object, depth);
        return;
    }
    if (!o->pci) {
        w->left_out++;
        w->left_out_example = o->name;
        return;
    }
    put_function(w, o, depth, o->kind == TOPO_NIC ? nic_class(w->c, object) : class_of(o));
    if (o->kind == TOPO_FUNCTION || (o->kind == TOPO_NIC && !is_nic)) {
        fputs("/>\n", w->out);
        return;
    }
    fputs(">\n", w->out);
    if (o->kind == TOPO_GPU)
        put_gpu(w, object, depth + 1);
    if (is_nic)
        put_nic(w, object, depth + 1);
    put_below(w, object, depth + 1);
    put_indent(w, depth);
    fputs("</pci>\n", w->out);
}

static void put_below(struct writing *w, int parent, int depth)
{
    for (int i = parent + 1; i < w->c->nobjects; i++)
        if (w->c->objects[i].parent == parent)
            put_object(w, i, depth);
}

/* What hangs on a root of which no NUMA node is known: NCCL's own number for that is -1. */
static int put_rootless(struct writing *w)
{
    int n = 0;
    for (int i = 0; i < w->c->nobjects; i++)
        if (w->c->objects[i].kind == TOPO_HOST_BRIDGE && w->c->objects[i].parent < 0 && !n++)
            open_cpu(w, -1);
    for (int i = 0; i < w->c->nobjects && n; i++)
        if (w->c->objects[i].kind == TOPO_HOST_BRIDGE && w->c->objects[i].parent < 0)
            put_below(w, i, 2);
    if (n)
        fputs("  </cpu>\n", w->out);
    return n;
}

static int write_nccl_xml(const struct topology *t, FILE *out, struct err *e)
{
    struct writing w = {.out = out, .c = t->classes, .a = arena_new()};
    int nodes = 0;
    if (t->nclasses == 1 && w.c->nobjects <= MOST_OBJECTS) {
        fputs("<system version=\"1\">\n", out);
        for (int i = 0; i < w.c->nnotes; i++)
            if (!strncmp(w.c->notes[i], TREE_ASSUMED, strlen(TREE_ASSUMED)))
                fprintf(out, "  <!-- %s -->\n", plain_comment(w.a, w.c->notes[i]));
        for (int i = 0; i < w.c->nobjects; i++) {
            if (w.c->objects[i].kind != TOPO_NUMA || w.c->objects[i].parent >= 0)
                continue;
            open_cpu(&w, w.c->objects[i].numa);
            put_below(&w, i, 2);
            fputs("  </cpu>\n", out);
            nodes++;
        }
        nodes += put_rootless(&w);
        fputs("</system>\n", out);
    }
    int rc = 0;
    if (t->nclasses != 1)
        rc = err_set(e, ERR_USAGE, "nccl-xml describes one node; here are %d classes of nodes", t->nclasses);
    else if (w.c->nobjects > MOST_OBJECTS)
        rc = err_set(e, ERR_FAILED, "nccl-xml: more than %d devices", MOST_OBJECTS);
    else if (!nodes)
        rc = err_set(e, ERR_LACKS, "nccl-xml: the places of all devices are unknown");
    else if (w.left_out)
        rc = err_set(e, ERR_LACKS, "nccl-xml: %d device%s no PCI address%s%s, by which NCCL tells them", w.left_out,
                     w.left_out == 1 ? " has" : "s have", w.left_out_example ? ", such as " : "",
                     w.left_out_example ? w.left_out_example : "");
    else if (w.gpus < w.c->ngpus)
        rc =
            err_set(e, ERR_LACKS, "nccl-xml: the place of %d of %d GPUs is not known", w.c->ngpus - w.gpus, w.c->ngpus);
    else if (ferror(out))
        rc = err_set(e, ERR_FAILED, "the file cannot be written");
    arena_free(w.a);
    return rc;
}

const struct probe_format format_nccl_xml = {"nccl-xml", "NCCL_TOPO_FILE of one node", write_nccl_xml};
