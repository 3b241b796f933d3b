/* A node as a picture: NUMA nodes side by side, in them the PCI tree from the CPU down to GPUs and NICs, each under the
 * bar of what it hangs on; below all of them what joins the GPUs. */
#include <math.h>
#include <string.h>

#include "probe/format/draw.h"
#include "probe/format/text.h"

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

struct node {
    struct canvas *to;
    const struct topo_class *c;
    const struct port_verdict *v;
    struct arena *a;
    struct {
        double x, y; /* the middle of its lower edge; y 0: not drawn yet, or joined already */
    } * gpus;
};

/* ---- what hangs on what ------------------------------------------------------------------------------------------ */

static int count_children(const struct topo_class *c, int object)
{
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].parent == object;
    return n;
}

/* A host bridge that only stands between its parent and one child tells nothing in a picture. */
static int is_shown(const struct topo_class *c, int object)
{
    enum topo_kind kind = c->objects[object].kind;
    return kind != TOPO_NVSWITCH && kind != TOPO_FUNCTION &&
           (kind != TOPO_HOST_BRIDGE || count_children(c, object) > 1);
}

static int shown_parent(const struct topo_class *c, int object)
{
    int parent = c->objects[object].parent;
    while (parent >= 0 && !is_shown(c, parent))
        parent = c->objects[parent].parent;
    return parent;
}

/* The next shown object behind `after` that hangs on `parent` (-1: on nothing); -1 none. */
static int next_child(const struct topo_class *c, int parent, int after)
{
    for (int i = after + 1; i < c->nobjects; i++)
        if (is_shown(c, i) && shown_parent(c, i) == parent)
            return i;
    return -1;
}

static int dies(const struct topo_class *c, int object)
{
    int n = 0;
    for (int i = 0; i < c->ngpus; i++)
        n += c->gpus[i].object == object;
    return n;
}

/* ---- NICs: a box a port ------------------------------------------------------------------------------------------ */

/* What a NIC's box says. */
struct nic {
    const char *words[3];
    enum port_role role;
};

static struct nic nic_of_port(const struct node *p, int port, const struct topo_object *o)
{
    const struct topo_port *q = &p->c->ports[port];
    const char *pcie = o ? draw_pcie(o, p->a) : NULL;
    enum port_role role = p->v[port].role;
    const char *rate = q->rate_Gbps > 0 ? arena_printf(p->a, "%g Gb/s", q->rate_Gbps) : NULL;
    if (role == ROLE_DOWN || role == ROLE_VF || role == ROLE_NVLINK_MANAGEMENT)
        rate = role == ROLE_DOWN ? "down" : role == ROLE_VF ? "VF" : "of NVSwitches";
    return (struct nic){{q->hca, rate ? rate : pcie, NULL}, role};
}

/* The boxes of NICs that hang on `parent`; NICs without an RDMA port are their interfaces. */
static int nics_of(const struct node *p, int parent, struct nic *list, int most)
{
    const struct topo_class *c = p->c;
    int n = 0;
    for (int o = next_child(c, parent, -1); o >= 0; o = next_child(c, parent, o)) {
        int before = n;
        if (c->objects[o].kind != TOPO_NIC)
            continue;
        for (int i = 0; i < c->nports; i++)
            if (c->ports[i].object == o && n++ < most)
                list[n - 1] = nic_of_port(p, i, &c->objects[o]);
        for (int i = 0; i < c->nnetdevs && n == before; i++)
            if (c->netdevs[i].object == o && n++ < most)
                list[n - 1] = (struct nic){
                    {c->netdevs[i].name,
                     c->netdevs[i].speed_Gbps > 0 ? arena_printf(p->a, "%g Gb/s", c->netdevs[i].speed_Gbps) : NULL,
                     NULL},
                    ROLE_MANAGEMENT};
        if (n == before && n++ < most)
            list[n - 1] =
                (struct nic){{"NIC", c->objects[o].name ? c->objects[o].name : c->objects[o].pci, NULL}, ROLE_UNKNOWN};
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

static double width_below(const struct node *p, int parent)
{
    double width = 0;
    for (int o = next_child(p->c, parent, -1); o >= 0; o = next_child(p->c, parent, o))
        if (p->c->objects[o].kind == TOPO_GPU)
            width += (GPU_WIDTH + GAP) * dies(p->c, o);
        else if (p->c->objects[o].kind != TOPO_NIC && p->c->objects[o].kind != TOPO_NUMA)
            width += fmax(width_below(p, o), NIC_WIDTH) + GAP;
    width += columns(nics_of(p, parent, NULL, 0)) * (NIC_WIDTH + GAP);
    return fmax(width - GAP, 0);
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static void draw_stub(const struct node *p, double x, double y, const struct topo_object *o)
{
    const char *pcie = o ? draw_pcie(o, p->a) : NULL;
    draw_line(p->to, x, y, x, y + STUB, COLOUR_LINE, o ? o->link_GBps : 0);
    if (pcie)
        draw_words(p->to, x + 4, y + STUB / 2 + 3, DRAW_FROM, 8.5, GPU_WIDTH, pcie);
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
        const char *words[3] = {arena_printf(p->a, "GPU%d", g->index), model ? model : g->arch, memory};
        draw_stub(p, left + GPU_WIDTH / 2, y, n++ ? NULL : o);
        draw_labelled(p->to, left, y + STUB, GPU_WIDTH, GPU_HEIGHT, COLOUR_GPU, words);
        p->gpus[i].x = left + GPU_WIDTH / 2;
        p->gpus[i].y = y + STUB + GPU_HEIGHT;
    }
    return n * (GPU_WIDTH + GAP);
}

/* The first object that is a NIC there: what is told of it at the stub is told of all. */
static const struct topo_object *first_nic(const struct topo_class *c, int parent)
{
    for (int o = next_child(c, parent, -1); o >= 0; o = next_child(c, parent, o))
        if (c->objects[o].kind == TOPO_NIC)
            return &c->objects[o];
    return NULL;
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
        const char *more[3] = {arena_printf(p->a, "and %d more", n - i), NULL, NULL};
        if (hangs && i % NICS_COLUMN == 0)
            draw_stub(p, left + NIC_WIDTH / 2, y, i ? NULL : first_nic(p->c, parent));
        draw_labelled(p->to, left, top, NIC_WIDTH, NIC_HEIGHT, rest ? COLOUR_SWITCH : draw_role_colour(list[i].role),
                      rest ? more : list[i].words);
    }
}

/* Everything that hangs on `parent`, whose bar ends at y. */
static void draw_below(const struct node *p, int parent, double x, double y)
{
    const struct topo_class *c = p->c;
    for (int o = next_child(c, parent, -1); o >= 0; o = next_child(c, parent, o)) {
        const struct topo_object *object = &c->objects[o];
        if (object->kind == TOPO_GPU) {
            x += draw_gpus(p, o, x, y);
        } else if (object->kind != TOPO_NIC && object->kind != TOPO_NUMA) {
            double width = fmax(width_below(p, o), NIC_WIDTH);
            const char *words[3] = {object->kind == TOPO_SWITCH ? "PCIe switch"
                                    : object->name              ? object->name
                                                                : "host bridge",
                                    NULL, NULL};
            if (parent >= 0)
                draw_stub(p, x + width / 2, y, object);
            draw_labelled(p->to, x, y + STUB, width, BAR_HEIGHT, COLOUR_SWITCH, words);
            draw_below(p, o, x, y + STUB + BAR_HEIGHT);
            x += width + GAP;
        }
    }
    draw_nics(p, parent, x, y, parent >= 0);
}

/* A NUMA node, or what hangs on none; the frame comes first, but how high it is shows only afterwards. */
static double draw_numa(const struct node *p, int numa, double x, double y, double width)
{
    struct canvas measure = {.out = p->to->out};
    const struct topo_object *o = numa < 0 ? NULL : &p->c->objects[numa];
    const char *words[3] = {o ? arena_printf(p->a, "NUMA node %d", o->numa) : "place not known", NULL, NULL};
    if (o && o->cpus && width > 150)
        words[0] = arena_printf(p->a, "%s, CPUs %s", words[0], o->cpus);
    struct canvas *page = p->to;
    struct node inner = *p;
    inner.to = &measure;
    draw_labelled(&measure, x, y, width, BAR_HEIGHT, COLOUR_NODE, words);
    draw_below(&inner, numa, x, y + BAR_HEIGHT);
    page->width = fmax(page->width, measure.width);
    page->height = fmax(page->height, measure.height);
    return measure.height - y;
}

/* ---- what joins GPUs --------------------------------------------------------------------------------------------- */

/* Links of the GPU that count: towards NVSwitches, or (`direct`) towards other GPUs; GB/s of all in *GBps. */
static int links_of(const struct topo_class *c, int gpu, int direct, double *GBps)
{
    int n = 0;
    *GBps = 0;
    for (int i = 0; i < c->nlinks; i++) {
        const struct topo_link *l = &c->links[i];
        int to_switch = l->peer_object >= 0 && c->objects[l->peer_object].kind == TOPO_NVSWITCH;
        if (l->gpu != gpu || (direct ? l->peer_gpu < 0 : !to_switch))
            continue;
        n += l->count;
        *GBps += l->GBps;
    }
    return n;
}

static const char *kind_of_link(const struct topo_class *c, int several)
{
    static const char *const names[][2] = {[TOPO_NVLINK] = {"NVLink", "NVLinks"},
                                           [TOPO_XGMI] = {"XGMI link", "XGMI links"},
                                           [TOPO_C2C] = {"C2C link", "C2C links"},
                                           [TOPO_METAXLINK] = {"MetaXLink", "MetaXLinks"}};
    enum topo_link_kind kind = TOPO_NVLINK;
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].link_kind != TOPO_C2C)
            kind = c->links[i].link_kind;
    return names[kind][several];
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

/* "18 NVLinks, 450 GB/s" */
static const char *bundle(const struct node *p, int links, double GBps)
{
    return arena_printf(p->a, GBps > 0 ? "%d %s, %.4g GB/s" : "%d %s", links, kind_of_link(p->c, links != 1), GBps);
}

/* One bar that stands for what joins all GPUs, and a line from each of those that no bar has joined yet. */
static void draw_hub(const struct node *p, double y, int direct, const char *what)
{
    double left = 1e9, right = 0, GBps, most_GBps = 0;
    int most = 0, least = 1 << 30;
    for (int i = 0; i < p->c->ngpus; i++) {
        int n = links_of(p->c, i, direct, &GBps), here = p->gpus[i].y > 0;
        left = here ? fmin(left, p->gpus[i].x) : left;
        right = here ? fmax(right, p->gpus[i].x) : right;
        most_GBps = n > most ? GBps : most_GBps;
        most = n > most ? n : most;
        least = n < least ? n : least;
    }
    for (int i = 0; i < p->c->ngpus; i++) {
        int n = links_of(p->c, i, direct, &GBps);
        if (n && p->gpus[i].y > 0)
            draw_line(p->to, p->gpus[i].x, p->gpus[i].y, p->gpus[i].x, y, COLOUR_NVLINK, GBps > 0 ? GBps : 25.0 * n);
        if (least < most && p->gpus[i].y > 0)
            draw_words(p->to, p->gpus[i].x + 5, y - 5, DRAW_FROM, 9.5, GPU_WIDTH, bundle(p, n, GBps));
        p->gpus[i].y = 0;
    }
    const char *words[3] = {
        arena_printf(p->a, "%s: %s%s for each GPU", what, least < most ? "at most " : "", bundle(p, most, most_GBps)),
        NULL, NULL};
    if (right > 0)
        draw_labelled(p->to, left - GPU_WIDTH / 2, y, right - left + GPU_WIDTH, BAR_HEIGHT + 4, COLOUR_NVSWITCH, words);
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
        draw_arc(p->to, x, to_x, y, depth, l->GBps > 0 ? l->GBps : 25.0 * l->count);
        draw_words(p->to, (x + to_x) / 2, y + depth * 0.75 - 3, DRAW_CENTRED, 9, 60,
                   arena_printf(p->a, "%d", l->count));
    }
    for (int i = 0; i < c->ngpus; i++)
        if (p->gpus[i].y > 0)
            draw_line(p->to, p->gpus[i].x, p->gpus[i].y, p->gpus[i].x, y, COLOUR_NVLINK, 0);
    draw_words(p->to, p->gpus[0].x + 6, y - 4, DRAW_FROM, 9.5, 400,
               arena_printf(p->a, "number of %s between two GPUs", kind_of_link(c, 1)));
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
    int switched = 0, direct = 0, mesh = full_mesh(p->c);
    double GBps;
    for (int i = 0; i < p->c->ngpus; i++) {
        switched += links_of(p->c, i, 0, &GBps);
        direct += links_of(p->c, i, 1, &GBps);
    }
    if (switched)
        draw_hub(p, y + 26, 0, switch_label(p->c, p->a));
    else if (mesh)
        draw_hub(p, y + 26, 1, arena_printf(p->a, "every pair of GPUs has %d %s", mesh, kind_of_link(p->c, mesh != 1)));
    else if (direct)
        draw_direct(p, y + 26);
}

/* Whether what joins the GPUs is told by a bar, of which every row of NUMA nodes can have one. */
static int has_arcs(const struct node *p)
{
    int direct = 0, switched = 0;
    double GBps;
    for (int i = 0; i < p->c->ngpus; i++) {
        switched += links_of(p->c, i, 0, &GBps);
        direct += links_of(p->c, i, 1, &GBps);
    }
    return direct && !switched && !full_mesh(p->c);
}

/* All NUMA nodes, in rows where they are too wide for one, with what joins the GPUs of a row below it. */
static void draw_numas(const struct node *p, double x, double y)
{
    double left = x, row = 0, most = has_arcs(p) ? 1e9 : ROW_WIDTH;
    for (int o = -1; o >= -1 && o < p->c->nobjects; o++) {
        int is_numa = o >= 0 && p->c->objects[o].kind == TOPO_NUMA && p->c->objects[o].parent < 0;
        double width = width_below(p, o);
        if ((o >= 0 && !is_numa) || !(width > 0))
            continue;
        width = fmax(width, 110);
        if (left > x && left + width > x + most) {
            draw_links(p, y + row);
            y = p->to->height + 2 * GAP;
            left = x;
            row = 0;
        }
        row = fmax(row, draw_numa(p, o, left, y, width));
        left += width + 2 * GAP;
    }
    draw_links(p, y + row);
}

double draw_node(struct canvas *to, const struct topology *t, int class_index, double x, double y, struct arena *a)
{
    const struct topo_class *c = &t->classes[class_index];
    struct node p = {.to = to, .c = c, .v = roles_of(c, a), .a = a};
    p.gpus = arena_alloc(a, ((size_t)c->ngpus + 1) * sizeof *p.gpus);
    const char *parts[] = {c->product, c->cpu};
    const char *title = text_hosts(t, class_index, a);
    title = t->nclasses > 1 ? arena_printf(a, "%s: %s", c->name, title) : title;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        title = parts[i] ? arena_printf(a, "%s; %s", title, parts[i]) : title;
    draw_words(to, x, y + 14, DRAW_FROM, 13, ROW_WIDTH, title);
    to->height = fmax(to->height, y + 20);
    draw_numas(&p, x, y + 26);
    return to->height - y;
}
