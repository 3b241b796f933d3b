/* A picture for Graphviz: NUMA nodes as boxes, in them the PCI tree down to GPUs and NICs, NVLink across. The wider a
 * line, the more bandwidth. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "probe/format/format.h"
#include "probe/topology/roles.h"

#define MOST_OBJECTS 4096 /* of a class */
#define LINK_GBps    25.0 /* of a link, for its width, where it is not told */

/* Fill colours that black text stays readable on. */
#define COLOUR_GPU      "#b7e1a1"
#define COLOUR_SWITCH   "#eeeeee"
#define COLOUR_NVSWITCH "#d8c7f0"
#define COLOUR_NVLINK   "#6a9f3f"

static const char *role_colour(enum port_role role)
{
    static const char *const colours[] = {"#ffffff", "#a8cff0", "#f5d9a8", "#e3e3e3",
                                          "#d8c7f0", "#f0b8a8", "#e3e3e3", "#f4c6c6"};
    return colours[role];
}

/* A copy that is printable and quotes nothing. */
static const char *quoted(struct arena *a, const char *s)
{
    char *copy = arena_strdup(a, s ? s : "?");
    for (char *p = copy; *p; p++)
        if (*p < ' ' || *p > '~' || strchr("\"\\<>&", *p))
            *p = '?';
    return copy;
}

/* 4 for an NVLink bundle of 450 GB/s, 2.7 for PCIe 5.0 x16, 1 where nothing is known. */
static double pen(double GBps)
{
    return GBps > 1 ? 0.6 + 0.4 * log2(GBps) : 1;
}

static int hangs_below(const struct topo_class *c, int object, int root)
{
    while (object >= 0 && object != root)
        object = c->objects[object].parent;
    return object == root;
}

/* A switch or host bridge that only stands between its parent and one child tells nothing in a picture. */
static int children(const struct topo_class *c, int object)
{
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].parent == object;
    return n;
}

static const char *gpu_label(const struct topo_class *c, int object, struct arena *a)
{
    const struct topo_object *o = &c->objects[object];
    const char *name = quoted(a, o->name ? o->name : "GPU"), *model = o->model;
    if (model && !strncmp(model, "NVIDIA ", 7))
        model += 7;
    return model ? arena_printf(a, "%s\\n%.24s", name, quoted(a, model)) : name;
}

/* The ports of a NIC with rate and role, or its interface, or its address. */
static const char *nic_label(const struct topo_class *c, int object, const struct port_verdict *v, struct arena *a,
                             enum port_role *role)
{
    const int most = 8;
    const char *label = NULL;
    int n = 0;
    *role = ROLE_UNKNOWN;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        if (p->object != object || n++ >= most)
            continue;
        label = arena_printf(a, "%s%s%s", label ? label : "", label ? "\\n" : "", quoted(a, p->hca));
        if (p->rate_Gbps > 0)
            label = arena_printf(a, "%s\\n%g Gb/s", label, p->rate_Gbps);
        if (v[i].role != ROLE_COMPUTE && v[i].role != ROLE_UNKNOWN)
            label = arena_printf(a, "%s\\n%s", label, role_name(v[i].role));
        *role = v[i].role;
    }
    for (int i = 0; i < c->nnetdevs && !label; i++)
        if (c->netdevs[i].object == object)
            label = quoted(a, c->netdevs[i].name);
    const struct topo_object *o = &c->objects[object];
    return label ? label : arena_printf(a, "NIC\\n%s", quoted(a, o->name ? o->name : o->pci));
}

static void put_object(FILE *out, const struct topo_class *c, int class_index, int object, const struct port_verdict *v,
                       struct arena *a)
{
    const struct topo_object *o = &c->objects[object];
    enum port_role role;
    fprintf(out, "    c%d_%d [", class_index, object);
    switch (o->kind) {
    case TOPO_GPU:
        fprintf(out, "label=\"%s\", shape=box, fillcolor=\"" COLOUR_GPU "\"", gpu_label(c, object, a));
        break;
    case TOPO_NIC: {
        const char *label = nic_label(c, object, v, a, &role);
        fprintf(out, "label=\"%s\", shape=box, style=\"filled,rounded\", fillcolor=\"%s\"", label, role_colour(role));
        break;
    }
    case TOPO_NVSWITCH:
        fputs("label=\"NVSwitch\", shape=hexagon, fillcolor=\"" COLOUR_NVSWITCH "\"", out);
        break;
    case TOPO_HOST_BRIDGE:
        fprintf(out, "label=\"%s\", shape=ellipse, fillcolor=\"#ffffff\", height=0.3",
                o->name ? quoted(a, o->name) : "host bridge");
        break;
    case TOPO_SWITCH:
        fputs("label=\"PCIe switch\", shape=box, fillcolor=\"" COLOUR_SWITCH "\", height=0.3", out);
        break;
    default:
        fprintf(out, "label=\"CPU, node %d\", shape=box, fillcolor=\"#ffffff\", height=0.3", o->numa);
        break;
    }
    fputs("];\n", out);
}

static int is_shown(const struct topo_class *c, int object)
{
    return c->objects[object].kind != TOPO_HOST_BRIDGE || children(c, object) > 1;
}

/* What it hangs below in the picture. */
static int shown_parent(const struct topo_class *c, int object)
{
    int parent = c->objects[object].parent;
    while (parent >= 0 && !is_shown(c, parent))
        parent = c->objects[parent].parent;
    return parent;
}

static void put_tree(FILE *out, const struct topo_class *c, int class_index, int root, const struct port_verdict *v,
                     struct arena *a)
{
    fprintf(out, "  subgraph cluster_%d_%d {\n    label=\"NUMA node %d\"; color=\"#999999\"; style=rounded;\n",
            class_index, root, c->objects[root].numa);
    for (int i = 0; i < c->nobjects; i++)
        if (hangs_below(c, i, root) && is_shown(c, i) && c->objects[i].kind != TOPO_NVSWITCH)
            put_object(out, c, class_index, i, v, a);
    fputs("  }\n", out);
}

static void put_pci_edges(FILE *out, const struct topo_class *c, int class_index)
{
    for (int i = 0; i < c->nobjects; i++) {
        int parent = shown_parent(c, i);
        const struct topo_object *o = &c->objects[i];
        if (parent < 0 || !is_shown(c, i) || o->kind == TOPO_NVSWITCH)
            continue;
        fprintf(out, "  c%d_%d -- c%d_%d [penwidth=%.1f", class_index, parent, class_index, i, pen(o->link_GBps));
        if (o->link_GBps > 0)
            fprintf(out, ", tooltip=\"%g GB/s\"", o->link_GBps);
        fputs("];\n", out);
    }
}

/* Whether every pair of at least four GPUs has the same number of direct links: `*count`. */
static int is_full_mesh(const struct topo_class *c, int *count, enum topo_link_kind *link_kind)
{
    int pairs = 0;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu < 0 || l->gpu >= l->peer_gpu)
            continue;
        if (pairs++ && l->count != *count)
            return 0;
        *count = l->count;
        *link_kind = l->link_kind;
    }
    return c->ngpus >= 4 && pairs == c->ngpus * (c->ngpus - 1) / 2;
}

/* A node that stands for what joins all GPUs, and its lines. */
static void put_hub(FILE *out, const struct topo_class *c, int class_index, const char *label, const double *GBps)
{
    fprintf(out, "  c%d_hub [label=\"%s\", shape=hexagon, fillcolor=\"" COLOUR_NVSWITCH "\"];\n", class_index, label);
    for (int i = 0; i < c->ngpus; i++)
        if (GBps[i] > 0)
            fprintf(out, "  c%d_%d -- c%d_hub [color=\"" COLOUR_NVLINK "\", penwidth=%.1f];\n", class_index,
                    c->gpus[i].object, class_index, pen(GBps[i]));
}

static void put_direct(FILE *out, const struct topo_class *c, int class_index)
{
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu >= 0 && l->gpu < l->peer_gpu)
            fprintf(out,
                    "  c%d_%d -- c%d_%d [constraint=false, color=\"" COLOUR_NVLINK "\", penwidth=%.1f, "
                    "tooltip=\"%d links\"];\n",
                    class_index, c->gpus[l->gpu].object, class_index, c->gpus[l->peer_gpu].object,
                    pen(l->GBps > 0 ? l->GBps : LINK_GBps * l->count), l->count);
    }
}

/* A guest sees that there are NVSwitches, but not which: NCCL then names one that is none. */
static const char *switch_label(int n, struct arena *a)
{
    return n ? arena_printf(a, "%d NVSwitch%s", n, n == 1 ? "" : "es") : "NVSwitches";
}

/* All NVSwitches are one node: what matters is that every GPU reaches every other. The same for a full mesh, whose
 * lines nobody could follow. */
static void put_links(FILE *out, const struct topo_class *c, int class_index, struct arena *a)
{
    double *GBps = arena_alloc(a, (size_t)c->ngpus * sizeof *GBps);
    int nvswitches = 0, switched = 0, count = 0;
    enum topo_link_kind link_kind = TOPO_NVLINK;
    int mesh = is_full_mesh(c, &count, &link_kind);
    for (int i = 0; i < c->nobjects; i++)
        nvswitches += c->objects[i].kind == TOPO_NVSWITCH && (c->objects[i].pci || c->objects[i].name);
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        int to_switch = l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH;
        if (to_switch || (mesh && l->peer_gpu >= 0))
            GBps[l->gpu] += l->GBps > 0 ? l->GBps : LINK_GBps * l->count;
        switched |= to_switch;
    }
    if (switched)
        put_hub(out, c, class_index, switch_label(nvswitches, a), GBps);
    else if (mesh)
        put_hub(out, c, class_index,
                arena_printf(a, "every pair: %d %s%s", count, link_kind == TOPO_XGMI ? "XGMI link" : "NVLink",
                             count == 1 ? "" : "s"),
                GBps);
    if (!mesh)
        put_direct(out, c, class_index);
}

static void put_class(FILE *out, const struct topology *t, int class_index, struct arena *a)
{
    const struct topo_class *c = &t->classes[class_index];
    const struct port_verdict *v = roles_of(c, a);
    int last = -1;
    /* Backwards: dot puts what comes last on the left. */
    for (int i = c->nobjects - 1; i >= 0; i--) {
        if (c->objects[i].kind == TOPO_NUMA && c->objects[i].parent < 0 && children(c, i)) {
            put_tree(out, c, class_index, i, v, a);
            if (last >= 0)
                fprintf(out, "  {rank=same; c%d_%d -- c%d_%d [style=dashed, color=\"#999999\"];}\n", class_index, i,
                        class_index, last);
            last = i;
        } else if (c->objects[i].parent < 0 && c->objects[i].kind != TOPO_NUMA && c->objects[i].kind != TOPO_NVSWITCH) {
            /* Of unknown place. */
            for (int k = i; k < c->nobjects; k++)
                if (hangs_below(c, k, i) && is_shown(c, k) && c->objects[k].kind != TOPO_NVSWITCH)
                    put_object(out, c, class_index, k, v, a);
        }
    }
    put_pci_edges(out, c, class_index);
    put_links(out, c, class_index, a);
}

/* The hosts of a class as a title: "node1, node2 and 6 more". */
static const char *title_of(const struct topology *t, int class_index, struct arena *a)
{
    const char *title = NULL;
    int n = 0;
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].class_index == class_index && n++ < 4)
            title = title ? arena_printf(a, "%s, %s", title, quoted(a, t->hosts[i].name)) : quoted(a, t->hosts[i].name);
    return !title  ? quoted(a, t->classes[class_index].name)
           : n > 4 ? arena_printf(a, "%s and %d more", title, n - 4)
                   : title;
}

static int write_dot(const struct topology *t, FILE *out, struct err *e)
{
    const int most = 16; /* classes in one picture */
    for (int i = 0; i < t->nclasses; i++)
        if (t->classes[i].nobjects > MOST_OBJECTS)
            return err_set(e, ERR_FAILED, "%s has more than %d objects, which is no picture", t->classes[i].name,
                           MOST_OBJECTS);
    struct arena *a = arena_new();
    fputs("graph machine {\n  graph [fontname=\"Helvetica\", ranksep=0.5, nodesep=0.15, newrank=true];\n"
          "  node [fontname=\"Helvetica\", fontsize=10, style=filled, margin=\"0.08,0.04\"];\n"
          "  edge [color=\"#444444\"];\n",
          out);
    for (int i = 0; i < t->nclasses && i < most; i++) {
        fprintf(out, "  subgraph cluster_class%d {\n  label=\"%s\"; fontsize=14; color=\"#555555\";\n", i,
                title_of(t, i, a));
        put_class(out, t, i, a);
        fputs("  }\n", out);
    }
    fputs("}\n", out);
    arena_free(a);
    return ferror(out) ? err_set(e, ERR_FAILED, "the picture cannot be written") : 0;
}

const struct probe_format format_dot = {"dot", "the picture as Graphviz reads it", write_dot};
