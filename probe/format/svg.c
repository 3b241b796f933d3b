/* The picture: what all nodes hang on, where there are several, then every class of nodes: NUMA nodes side by side, in
 * them the PCI tree from the CPU down to GPUs and NICs, each under the bar of what it hangs on; below all of them what
 * joins the GPUs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "core/svg.h"
#include "core/xml.h"
#include "probe/format/format.h"

/* Fills that black text stays readable on. */
#define COLOUR_GPU      "#b7e1a1"
#define COLOUR_SWITCH   "#e9e9e9"
#define COLOUR_NVSWITCH "#d8c7f0"
#define COLOUR_NODE     "#fafafa"
#define COLOUR_NVLINK   "#6a9f3f"
#define COLOUR_LINE     "#555555"
#define COLOUR_MARK     "#c62828"

#define MARGIN       16.0
#define PAGE         1540.0 /* of a screen of 1600 pixels */
#define MOST_OBJECTS 4096   /* of a class */
#define MOST_CLASSES 64     /* in one picture */
#define ROW_CHIPS    6      /* at most */
#define CHIP_HEIGHT  34.0
#define MOST_CHIPS   64
#define MOST_RACKS   12

#define GPU_WIDTH   86.0
#define GPU_HEIGHT  56.0
#define NIC_WIDTH   76.0
#define NIC_HEIGHT  30.0
#define BAR_HEIGHT  20.0
#define STUB        22.0 /* between a bar and what hangs on it */
#define GAP         6.0
#define NICS_COLUMN 8      /* NICs that stand above one another */
#define MOST_NICS   32     /* drawn of those that hang on one thing */
#define ROW_WIDTH   1800.0 /* a screen of 1600 pixels still shows it well */

/* ---- a node ------------------------------------------------------------------------------------------------------ */

struct node {
    struct svg *to;
    const struct topo_class *c;
    const struct picture_mark *mark; /* NULL: none in this class */
    const struct port_verdict *v;
    struct arena *a;
    int *parent; /* by object: the shown one that it hangs on; -1 none, HIDDEN: it is not shown itself */
    enum { APART, SWITCHED, MESHED, DIRECT } joined;
    enum topo_link_kind link_kind; /* of what joins the GPUs */
    struct gpu_place {
        double x, y; /* the middle of its lower edge; y 0: not drawn yet, or joined already */
        int links;   /* to what joins the GPUs */
        double GBps; /* of all of them; 0 not known */
    } * gpus;
};

static const char *role_colour(enum port_role role)
{
    static const char *const colours[] = {"#ffffff", "#a8cff0", "#f5d9a8", "#e3e3e3",
                                          "#d8c7f0", "#f0b8a8", "#e3e3e3", "#f4c6c6"};
    return colours[role];
}

/* The width of a line, the wider the more it carries: 4 pixels for 450 GB/s, 2.7 for PCIe 5.0 x16; 0 is not known. */
static double pen_of(double GBps)
{
    return GBps > 1 ? 0.6 + 0.4 * log2(GBps) : 1;
}

/* ---- what hangs on what ------------------------------------------------------------------------------------------ */

#define HIDDEN (-2)

/* A host bridge that only stands between its parent and one child tells nothing in a picture. */
static void find_parents(struct node *p)
{
    const struct topo_class *c = p->c;
    int *children = arena_alloc(p->a, ((size_t)c->nobjects + 1) * sizeof *children);
    for (int i = 0; i < c->nobjects; i++)
        children[c->objects[i].parent + 1]++;
    for (int i = 0; i < c->nobjects; i++) {
        enum topo_kind kind = c->objects[i].kind;
        int hidden =
            kind == TOPO_NVSWITCH || kind == TOPO_FUNCTION || (kind == TOPO_HOST_BRIDGE && children[i + 1] < 2);
        p->parent[i] = hidden ? HIDDEN : c->objects[i].parent;
    }
    for (int i = 0; i < c->nobjects; i++)
        while (p->parent[i] >= 0 && p->parent[p->parent[i]] == HIDDEN)
            p->parent[i] = c->objects[p->parent[i]].parent;
}

/* The next shown object behind `after` that hangs on `parent` (-1: on nothing); -1 none. */
static int next_child(const struct node *p, int parent, int after)
{
    for (int i = after + 1; i < p->c->nobjects; i++)
        if (p->parent[i] == parent)
            return i;
    return -1;
}

/* ---- the mark ---------------------------------------------------------------------------------------------------- */

static int is_marked(const struct node *p, enum picture_limit what)
{
    return p->mark && p->mark->what == what;
}

static void frame_marked(const struct node *p, double x, double y, double width, double height)
{
    fprintf(p->to->out,
            "<rect class=\"bottleneck\" x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"3\" fill=\"none\" "
            "stroke=\"" COLOUR_MARK "\" stroke-width=\"3\"/>\n",
            x, y, width, height);
}

/* "mlx5_0" is "mlx5_0:1" to NCCL. */
static int is_named(const struct node *p, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n && !strncmp(p->mark->name, name, n) && (!p->mark->name[n] || p->mark->name[n] == ':');
}

/* Whether a NIC of that rate is the marked one, or as fast a port for NCCL: those share its load. */
static int is_marked_nic(const struct node *p, const char *name, double rate_Gbps, enum port_role role)
{
    if (!is_marked(p, PICTURE_NIC))
        return 0;
    for (int i = 0; i < p->c->nports && role == ROLE_COMPUTE; i++)
        if (is_named(p, p->c->ports[i].hca) && p->c->ports[i].rate_Gbps == rate_Gbps)
            return 1;
    return is_named(p, name);
}

/* The same of a PCIe link, by what is at its lower end. */
static int is_marked_pcie(const struct node *p, const struct topo_object *o)
{
    for (int i = 0; o && i < p->c->nobjects && is_marked(p, PICTURE_PCIE); i++) {
        const struct topo_object *x = &p->c->objects[i];
        int port = topo_first_port(p->c, i);
        if (is_named(p, port >= 0 ? p->c->ports[port].hca : x->name ? x->name : x->pci))
            return x == o || (x->kind == o->kind && x->link_GBps == o->link_GBps);
    }
    return 0;
}

/* ---- NICs: a box a port ------------------------------------------------------------------------------------------ */

struct nic {
    const char *lines; /* of its box */
    enum port_role role;
    int marked;
};

static const char *two_lines(struct arena *a, const char *first, const char *second)
{
    return second ? arena_printf(a, "%s\n%s", first, second) : first;
}

static struct nic nic_of_port(const struct node *p, int port, const struct topo_object *o)
{
    const struct topo_port *q = &p->c->ports[port];
    const char *pcie = o ? text_pcie(o, p->a) : NULL;
    enum port_role role = p->v[port].role;
    const char *rate = q->rate_Gbps > 0 ? arena_printf(p->a, "%g Gb/s", q->rate_Gbps) : NULL;
    if (role == ROLE_DOWN || role == ROLE_VF || role == ROLE_NVLINK_MANAGEMENT)
        rate = role == ROLE_DOWN ? "down" : role == ROLE_VF ? "VF" : "of NVSwitches";
    return (struct nic){two_lines(p->a, q->hca, rate ? rate : pcie), role,
                        is_marked_nic(p, q->hca, q->rate_Gbps, role)};
}

/* The boxes of NICs that hang on `parent`; NICs without an RDMA port are their interfaces. */
static int nics_of(const struct node *p, int parent, struct nic *list, int most)
{
    const struct topo_class *c = p->c;
    int n = 0;
    for (int o = next_child(p, parent, -1); o >= 0; o = next_child(p, parent, o)) {
        int before = n;
        if (c->objects[o].kind != TOPO_NIC)
            continue;
        for (int i = 0; i < c->nports; i++)
            if (c->ports[i].object == o && n++ < most)
                list[n - 1] = nic_of_port(p, i, &c->objects[o]);
        for (int i = 0; i < c->nnetdevs && n == before; i++)
            if (c->netdevs[i].object == o && n++ < most)
                list[n - 1] =
                    (struct nic){c->netdevs[i].speed_Gbps > 0
                                     ? arena_printf(p->a, "%s\n%g Gb/s", c->netdevs[i].name, c->netdevs[i].speed_Gbps)
                                     : c->netdevs[i].name,
                                 ROLE_MANAGEMENT, is_marked_nic(p, c->netdevs[i].name, 0, ROLE_MANAGEMENT)};
        if (n == before && n++ < most)
            list[n - 1] = (struct nic){
                two_lines(p->a, "NIC", c->objects[o].name ? c->objects[o].name : c->objects[o].pci), ROLE_UNKNOWN, 0};
    }
    for (int i = 0; i < c->nports && parent < 0; i++)
        if (c->ports[i].object < 0 && n++ < most)
            list[n - 1] = nic_of_port(p, i, NULL);
    return n;
}

static int columns(int nics)
{
    int shown = nics < MOST_NICS ? nics : MOST_NICS;
    return (shown + NICS_COLUMN - 1) / NICS_COLUMN;
}

/* ---- how much room it takes -------------------------------------------------------------------------------------- */

/* A host bridge or a switch. */
static int is_bar(enum topo_kind kind)
{
    return kind != TOPO_GPU && kind != TOPO_NIC && kind != TOPO_NUMA;
}

static double width_below(const struct node *p, int parent)
{
    double width = 0;
    for (int i = 0; i < p->c->ngpus; i++)
        width += p->parent[p->c->gpus[i].object] == parent ? GPU_WIDTH + GAP : 0;
    for (int o = next_child(p, parent, -1); o >= 0; o = next_child(p, parent, o))
        if (is_bar(p->c->objects[o].kind))
            width += fmax(width_below(p, o), NIC_WIDTH) + GAP;
    width += columns(nics_of(p, parent, NULL, 0)) * (NIC_WIDTH + GAP);
    return fmax(width - GAP, 0);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void draw_stub(const struct node *p, double x, double y, const struct topo_object *o)
{
    const char *pcie = o ? text_pcie(o, p->a) : NULL;
    int marked = is_marked_pcie(p, o);
    svg_line(p->to, x, y, x, y + STUB, marked ? COLOUR_MARK : COLOUR_LINE, pen_of(o ? o->link_GBps : 0) + 3 * marked);
    if (pcie)
        svg_label(p->to, x + 4, y + STUB / 2 + 3, SVG_FROM, 8.5, GPU_WIDTH, pcie);
}

static const char *short_model(const char *model)
{
    static const char *const makers[] = {"NVIDIA ", "Tesla ", "AMD ", "Instinct "};
    for (size_t i = 0; i < sizeof makers / sizeof *makers && model; i++)
        if (!strncmp(model, makers[i], strlen(makers[i])))
            model += strlen(makers[i]);
    return model;
}

static double draw_gpus(const struct node *p, int object, double x, double y)
{
    const struct topo_object *o = &p->c->objects[object];
    const char *model = short_model(o->model);
    int n = 0;
    for (int i = 0; i < p->c->ngpus; i++) {
        const struct topo_gpu *g = &p->c->gpus[i];
        double left = x + n * (GPU_WIDTH + GAP);
        if (g->object != object)
            continue;
        const char *memory = g->mem_bytes ? arena_printf(p->a, "%.0f GiB", (double)g->mem_bytes / 0x1p30) : NULL;
        for (int k = 0; k < p->c->nlinks && memory; k++)
            if (p->c->links[k].gpu == i && p->c->links[k].link_kind == TOPO_C2C)
                memory = arena_printf(p->a, "%s, C2C", memory);
        const char *lines = two_lines(p->a, arena_printf(p->a, "GPU%d", g->index), model ? model : g->arch);
        draw_stub(p, left + GPU_WIDTH / 2, y, n++ ? NULL : o);
        svg_box(p->to, left, y + STUB, GPU_WIDTH, GPU_HEIGHT, COLOUR_GPU, two_lines(p->a, lines, memory));
        if (is_marked(p, PICTURE_GPU))
            frame_marked(p, left, y + STUB, GPU_WIDTH, GPU_HEIGHT);
        p->gpus[i].x = left + GPU_WIDTH / 2;
        p->gpus[i].y = y + STUB + GPU_HEIGHT;
    }
    return n * (GPU_WIDTH + GAP);
}

/* The first object that is a NIC there: what is told of it at the stub is told of all. */
static const struct topo_object *first_nic(const struct node *p, int parent)
{
    int o = next_child(p, parent, -1);
    while (o >= 0 && p->c->objects[o].kind != TOPO_NIC)
        o = next_child(p, parent, o);
    return o < 0 ? NULL : &p->c->objects[o];
}

static void draw_nics(const struct node *p, int parent, double x, double y, int hangs)
{
    struct nic list[MOST_NICS];
    int n = nics_of(p, parent, list, MOST_NICS);
    for (int i = 0; i < n && i < MOST_NICS; i++) {
        int column = i / NICS_COLUMN;
        double left = x + column * (NIC_WIDTH + GAP);
        double top = y + STUB + (double)(i % NICS_COLUMN) * (NIC_HEIGHT + 3);
        int rest = n > MOST_NICS && i == MOST_NICS - 1;
        if (hangs && i % NICS_COLUMN == 0)
            draw_stub(p, left + NIC_WIDTH / 2, y, i ? NULL : first_nic(p, parent));
        svg_box(p->to, left, top, NIC_WIDTH, NIC_HEIGHT, rest ? COLOUR_SWITCH : role_colour(list[i].role),
                rest ? arena_printf(p->a, "and %d more", n - i) : list[i].lines);
        if (list[i].marked)
            frame_marked(p, left, top, NIC_WIDTH, NIC_HEIGHT);
    }
}

/* Everything that hangs on `parent`, whose bar ends at y. */
static void draw_below(const struct node *p, int parent, double x, double y)
{
    const struct topo_class *c = p->c;
    for (int o = next_child(p, parent, -1); o >= 0; o = next_child(p, parent, o)) {
        const struct topo_object *object = &c->objects[o];
        if (object->kind == TOPO_GPU) {
            x += draw_gpus(p, o, x, y);
        } else if (is_bar(object->kind)) {
            double width = fmax(width_below(p, o), NIC_WIDTH);
            if (parent >= 0)
                draw_stub(p, x + width / 2, y, object);
            svg_box(p->to, x, y + STUB, width, BAR_HEIGHT, COLOUR_SWITCH,
                    object->kind == TOPO_SWITCH ? "PCIe switch"
                    : object->name              ? object->name
                                                : "host bridge");
            draw_below(p, o, x, y + STUB + BAR_HEIGHT);
            x += width + GAP;
        }
    }
    draw_nics(p, parent, x, y, parent >= 0);
}

/* Draw a NUMA node, or what hangs on none; return its height. */
static double draw_numa(const struct node *p, int numa, double x, double y, double width)
{
    const struct topo_object *o = numa < 0 ? NULL : &p->c->objects[numa];
    int number = o ? topo_numa_number(p->c, numa) : -1;
    const char *name = number >= 0 ? arena_printf(p->a, "NUMA node %d", number)
                       : o         ? "NUMA node not known"
                                   : "place not known";
    double page = p->to->height;
    p->to->height = 0;
    svg_box(p->to, x, y, width, BAR_HEIGHT, COLOUR_NODE,
            o && o->cpus && width > 150 ? arena_printf(p->a, "%s, CPUs %s", name, o->cpus) : name);
    if (o && is_marked(p, PICTURE_CPU))
        frame_marked(p, x, y, width, BAR_HEIGHT);
    draw_below(p, numa, x, y + BAR_HEIGHT);
    double height = p->to->height - y;
    svg_reach(p->to, 0, page);
    return height;
}

/* ---- what joins GPUs --------------------------------------------------------------------------------------------- */

static int is_to_switch(const struct topo_class *c, const struct topo_link *l)
{
    return l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH;
}

/* Whether every pair of at least four GPUs has the same number of direct links: that number; 0 not. */
static int full_mesh(const struct topo_class *c)
{
    int pairs = 0, count = 0;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu < 0 || l->gpu >= l->peer_gpu)
            continue;
        if (pairs++ && l->count != count)
            return 0;
        count = l->count;
    }
    return c->ngpus >= 4 && pairs == c->ngpus * (c->ngpus - 1) / 2 ? count : 0;
}

/* What joins the GPUs: NVSwitches, or what is direct between them. C2C leads to the CPU. */
static void find_links(struct node *p)
{
    const struct topo_class *c = p->c;
    int switched = 0, direct = 0;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        p->link_kind = l->link_kind == TOPO_C2C ? p->link_kind : l->link_kind;
        switched += is_to_switch(c, l) ? l->count : 0;
        direct += l->peer_gpu >= 0 ? l->count : 0;
    }
    p->joined = switched ? SWITCHED : full_mesh(c) ? MESHED : direct ? DIRECT : APART;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (switched ? !is_to_switch(c, l) : l->peer_gpu < 0)
            continue;
        p->gpus[l->gpu].links += l->count;
        p->gpus[l->gpu].GBps += l->GBps;
    }
}

static double link_pen(int links, double GBps)
{
    return pen_of(GBps > 0 ? GBps : 25.0 * links);
}

static const char *link_colour(const struct node *p)
{
    return is_marked(p, PICTURE_GPU_LINKS) ? COLOUR_MARK : COLOUR_NVLINK;
}

/* One bar that stands for what joins all GPUs, and a line from each of those that no bar has joined yet. */
static void draw_hub(const struct node *p, double y, const char *what)
{
    double left = 1e9, right = 0;
    const struct gpu_place *most = p->gpus;
    int least = 1 << 30;
    for (int i = 0; i < p->c->ngpus; i++) {
        const struct gpu_place *g = &p->gpus[i];
        left = g->y > 0 ? fmin(left, g->x) : left;
        right = g->y > 0 ? fmax(right, g->x) : right;
        most = g->links > most->links ? g : most;
        least = g->links < least ? g->links : least;
    }
    for (struct gpu_place *g = p->gpus; g < p->gpus + p->c->ngpus; g++) {
        if (g->links && g->y > 0)
            svg_line(p->to, g->x, g->y, g->x, y, link_colour(p), link_pen(g->links, g->GBps));
        if (least < most->links && g->y > 0)
            svg_label(p->to, g->x + 5, y - 5, SVG_FROM, 9.5, GPU_WIDTH,
                      text_links(p->a, p->link_kind, g->links, g->GBps));
        g->y = 0;
    }
    if (right > 0)
        svg_box(p->to, left - GPU_WIDTH / 2, y, right - left + GPU_WIDTH, BAR_HEIGHT + 4, COLOUR_NVSWITCH,
                arena_printf(p->a, "%s: %s%s for each GPU", what, least < most->links ? "at most " : "",
                             text_links(p->a, p->link_kind, most->links, most->GBps)));
}

/* Arcs below the GPUs, the wider apart the deeper, with the number of links at the lowest point. */
static void draw_direct(const struct node *p, double y)
{
    const struct topo_class *c = p->c;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        if (l->peer_gpu < 0 || l->gpu >= l->peer_gpu)
            continue;
        double x = fmin(p->gpus[l->gpu].x, p->gpus[l->peer_gpu].x),
               to_x = fmax(p->gpus[l->gpu].x, p->gpus[l->peer_gpu].x);
        double depth = 14 + (to_x - x) * 0.16;
        fprintf(p->to->out,
                "<path d=\"M%g %g C%g %g %g %g %g %g\" fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x, y, x,
                y + depth, to_x, y + depth, to_x, y, link_colour(p), link_pen(l->count, l->GBps));
        svg_reach(p->to, to_x, y + depth);
        svg_label(p->to, (x + to_x) / 2, y + depth * 0.75 - 3, SVG_CENTRED, 9, 60, arena_printf(p->a, "%d", l->count));
    }
    for (int i = 0; i < c->ngpus; i++)
        if (p->gpus[i].y > 0)
            svg_line(p->to, p->gpus[i].x, p->gpus[i].y, p->gpus[i].x, y, COLOUR_NVLINK, 1);
    svg_label(p->to, p->gpus[0].x + 6, y - 4, SVG_FROM, 9.5, 400,
              arena_printf(p->a, "number of %ss between two GPUs", text_link_kinds[p->link_kind]));
}

/* A guest, and a node of a rack, sees that there are NVSwitches, but not which: one then stands for all of them. */
static const char *switch_label(const struct topo_class *c, struct arena *a)
{
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].kind == TOPO_NVSWITCH && (c->objects[i].pci || c->objects[i].name);
    return n > 1 ? arena_printf(a, "%d NVSwitches", n) : "NVSwitches";
}

static void draw_links(const struct node *p, double y)
{
    if (p->joined == SWITCHED)
        draw_hub(p, y, switch_label(p->c, p->a));
    else if (p->joined == MESHED)
        draw_hub(p, y,
                 arena_printf(p->a, "every pair of GPUs has %s", text_links(p->a, p->link_kind, full_mesh(p->c), 0)));
    else if (p->joined == DIRECT)
        draw_direct(p, y);
}

/* All NUMA nodes, in rows where they are too wide for one (arcs need one), with what joins the GPUs of a row below it.
 */
static void draw_numas(const struct node *p, double x, double y)
{
    double left = x, row = 0, most = p->joined == DIRECT ? 1e9 : ROW_WIDTH;
    for (int o = -1; o >= -1 && o < p->c->nobjects; o++) {
        int is_numa = o >= 0 && p->c->objects[o].kind == TOPO_NUMA && p->c->objects[o].parent < 0;
        double width = width_below(p, o);
        if ((o >= 0 && !is_numa) || !(width > 0))
            continue;
        width = fmax(width, 110);
        if (left > x && left + width > x + most) {
            draw_links(p, y + row + 26);
            y = p->to->height + 2 * GAP;
            left = x;
            row = 0;
        }
        row = fmax(row, draw_numa(p, o, left, y, width));
        left += width + 2 * GAP;
    }
    draw_links(p, y + row + 26);
}

/* Draw a class of nodes with its upper left corner there; return its height. */
static double draw_node(struct svg *to, const struct topology *t, int class_index, const struct picture_mark *mark,
                        double x, double y, struct arena *a)
{
    const struct topo_class *c = &t->classes[class_index];
    struct node p = {.to = to, .c = c, .mark = class_index ? NULL : mark, .v = roles_of(c, a), .a = a};
    p.gpus = arena_alloc(a, ((size_t)c->ngpus + 1) * sizeof *p.gpus);
    p.parent = arena_alloc(a, ((size_t)c->nobjects + 1) * sizeof *p.parent);
    find_parents(&p);
    find_links(&p);
    const char *parts[] = {c->product, c->cpu};
    const char *title = text_hosts(t, class_index, a);
    title = t->nclasses > 1 ? arena_printf(a, "%s: %s", c->name, title) : title;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        title = parts[i] ? arena_printf(a, "%s; %s", title, parts[i]) : title;
    svg_label(to, x, y + 14, SVG_FROM, 13, ROW_WIDTH, title);
    svg_reach(to, 0, y + 20);
    if (p.mark) {
        frame_marked(&p, x + 2, y + 24, 14, 10);
        svg_words(to->out, x + 22, y + 33, " font-weight=\"bold\" fill=\"" COLOUR_MARK "\"", p.mark->words, XML_WHOLE);
        svg_reach(to, x + 22 + 7 * (double)strlen(p.mark->words), y + 36);
    }
    draw_numas(&p, x, y + (p.mark ? 42 : 26));
    return to->height - y;
}

/* ---- what nodes hang on -------------------------------------------------------------------------------------------
 */

/* A leaf switch, or a network of compute ports. */
struct joint {
    const char *name;
    int *ports; /* of every class: of all its nodes on a leaf, of one node on a network */
};

struct joints {
    struct arena *a;
    struct joint *list;
    int n, nclasses;
    int leaves;
};

static struct joint *joint_named(struct joints *all, const char *name)
{
    for (int i = 0; i < all->n; i++)
        if (!strcmp(all->list[i].name, name))
            return &all->list[i];
    struct joint *new = &ARENA_ADD(all->a, all->list, all->n);
    *new = (struct joint){name, arena_alloc(all->a, (size_t)all->nclasses * sizeof *new->ports)};
    return new;
}

/* "leaf-3" of "mlx5_0:1 leaf-3 port 7". */
static const char *leaf_name(const char *leaf, struct arena *a)
{
    const char *begin = strchr(leaf, ' '), *end = begin ? strstr(begin + 1, " port ") : NULL;
    return end ? arena_strndup(a, begin + 1, (size_t)(end - begin - 1)) : NULL;
}

static int by_name(const void *x, const void *y)
{
    return strverscmp(((const struct joint *)x)->name, ((const struct joint *)y)->name);
}

static struct joints joints_of(const struct topology *t, struct arena *a)
{
    struct joints all = {.a = a, .nclasses = t->nclasses};
    for (int i = 0; i < t->nhosts; i++)
        for (int k = 0; k < t->hosts[i].nleaves && all.n < 4096; k++) {
            const char *name = leaf_name(t->hosts[i].leaves[k], a);
            if (name)
                joint_named(&all, name)->ports[t->hosts[i].class_index]++;
        }
    all.leaves = all.n;
    for (int i = 0; i < t->nclasses && !all.leaves; i++) {
        struct rail *rails;
        int n = topo_rails(&t->classes[i], roles_of(&t->classes[i], a), a, &rails);
        for (int k = 0; k < n; k++)
            joint_named(&all, rails[k].network)->ports[i] = rails[k].nports;
    }
    if (all.leaves)
        qsort(all.list, (size_t)all.n, sizeof *all.list, by_name);
    return all;
}

static const char *rail_colour(int rail)
{
    static const char *const colours[] = {"#a8cff0", "#f5d9a8", "#b7e1a1", "#d8c7f0", "#f4c6c6", "#bfe6e0",
                                          "#e8dca0", "#d9d9d9", "#8fb8de", "#dfb877", "#93c47d", "#b49fd6",
                                          "#e29c9c", "#93cfc5", "#cdbb66", "#b5b5b5"};
    return colours[rail % 16];
}

/* "class0: 8, class1: 7" */
static const char *classes_on(const struct topology *t, const struct joint *j, struct arena *a)
{
    const char *text = NULL;
    for (int i = 0; i < t->nclasses; i++)
        if (j->ports[i])
            text = arena_printf(a, "%s%s%s: %d", text ? text : "", text ? ", " : "", t->classes[i].name, j->ports[i]);
    return text;
}

/* The chips of leaves or networks in rows; returns where they end. */
static double draw_joints(struct svg *to, const struct topology *t, const struct joints *all, double x, double y,
                          double width, struct arena *a)
{
    int shown = all->n < MOST_CHIPS ? all->n : MOST_CHIPS, columns = shown < ROW_CHIPS ? shown : ROW_CHIPS;
    double chip = (width + 6) / columns - 6;
    svg_label(to, x, y + 12, SVG_FROM, 11, width,
              all->leaves ? "Leaf switches, with the number of ports of every class on each"
                          : "Networks of compute ports (rails), with the number of ports of a node of every class");
    y += 20;
    for (int i = 0; i < shown; i++) {
        int rest = all->n > MOST_CHIPS && i == shown - 1;
        if (i && i % columns == 0)
            y += CHIP_HEIGHT + 5;
        svg_box(to, x + i % columns * (chip + 6), y, chip, CHIP_HEIGHT,
                all->leaves || rest ? COLOUR_SWITCH : rail_colour(i),
                rest ? arena_printf(a, "and %d more", all->n - i)
                     : arena_printf(a, "%s\n%s", all->list[i].name, classes_on(t, &all->list[i], a)));
    }
    return y + CHIP_HEIGHT + 5;
}

static double draw_racks(struct svg *to, const struct topology *t, double x, double y, double width, struct arena *a)
{
    struct nvlink_rack *racks;
    int n = nvlink_racks(t, a, &racks);
    for (int i = 0; i < n && i < MOST_RACKS; i++, y += CHIP_HEIGHT - 4) {
        const struct nvlink_rack *r = &racks[i];
        svg_box(to, x, y, width, CHIP_HEIGHT - 10, COLOUR_NVSWITCH,
                i == MOST_RACKS - 1 && n > MOST_RACKS
                    ? arena_printf(a, "and %d more NVLink domains", n - i)
                    : arena_printf(a, "NVLink domain of %d GPUs, %d node%s: %s (clique %s)", r->ngpus, r->nhosts,
                                   r->nhosts == 1 ? "" : "s", hostlist_fold(r->hosts, r->nhosts, a), r->clique));
    }
    return y;
}

/* Draw what the nodes share: rails or leaf switches, NVLink domains over nodes. Return where it ends. */
static double draw_cluster(struct svg *to, const struct topology *t, double x, double y, double width, struct arena *a)
{
    struct joints all = joints_of(t, a);
    int shared = all.n && (all.leaves || all.n > 1 || t->nclasses > 1);
    return draw_racks(to, t, x, shared ? draw_joints(to, t, &all, x, y, width, a) + 4 : y, width, a);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void draw_legend(struct svg *to, double x, double y)
{
    const struct {
        const char *fill, *text;
    } legend[] = {{COLOUR_GPU, "GPU"},
                  {role_colour(ROLE_COMPUTE), "port for NCCL"},
                  {role_colour(ROLE_STORAGE), "storage"},
                  {role_colour(ROLE_MANAGEMENT), "management, VF"},
                  {role_colour(ROLE_BOND), "bond"},
                  {role_colour(ROLE_DOWN), "down"},
                  {role_colour(ROLE_UNKNOWN), "not known"},
                  {COLOUR_NVSWITCH, "NVLink, XGMI"}};
    for (size_t i = 0; i < sizeof legend / sizeof *legend; i++) {
        svg_box(to, x, y, 14, 12, legend[i].fill, "");
        svg_label(to, x + 19, y + 10, SVG_FROM, 10, 120, legend[i].text);
        x += 34 + 6.2 * (double)strlen(legend[i].text);
    }
    svg_label(
        to, x, y + 10, SVG_FROM, 10, 700,
        "A line is the wider the more it carries; \"5.0 x16\" is PCIe generation and lanes, at most what both ends "
        "can do");
}

static void draw_page(struct svg *to, const struct topology *t, const struct picture_mark *mark, struct arena *a)
{
    double y = draw_cluster(to, t, MARGIN, MARGIN, PAGE, a);
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++) {
        y += y > MARGIN ? 24 : 0;
        y += draw_node(to, t, i, mark, MARGIN, y, a);
    }
    if (t->nclasses > MOST_CLASSES)
        svg_label(to, MARGIN, y += 24, SVG_FROM, 13, PAGE,
                  arena_printf(a, "and %d more classes", t->nclasses - MOST_CLASSES));
    draw_legend(to, MARGIN, y + 22);
}

int picture_write(const struct topology *t, const struct picture_mark *mark, FILE *out, struct err *e)
{
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++)
        if (t->classes[i].nobjects > MOST_OBJECTS)
            return err_set(e, ERR_FAILED, "%s has more than %d objects, too many to draw", t->classes[i].name,
                           MOST_OBJECTS);
    struct arena *a = arena_new();
    struct svg to;
    svg_begin(&to);
    draw_page(&to, t, mark, a);
    svg_reach(&to, to.width + MARGIN, to.height + MARGIN);
    svg_end(&to, out);
    arena_free(a);
    return ferror(out) ? err_set(e, ERR_FAILED, "the picture cannot be written") : 0;
}

static int write_svg(const struct topology *t, FILE *out, struct err *e)
{
    return picture_write(t, NULL, out, e);
}

const struct probe_format format_svg = {"svg", "a picture", write_svg};
