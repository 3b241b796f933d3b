/* The picture: the cluster where there is one (what all nodes hang on, and a card for every class of them), then every
 * class of nodes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "core/svg.h"
#include "probe/format/format.h"
#include "probe/format/svg_node.h"

#define MARGIN       16.0
#define PAGE         1540.0 /* of a screen of 1600 pixels */
#define MOST_OBJECTS 4096   /* of a class */
#define MOST_CLASSES 64     /* in one picture */
#define CARD_WIDTH   372.0
#define CARD_HEIGHT  132.0
#define CARD_GAP     20.0
#define ROW_CHIPS    6 /* at most */
#define CHIP_HEIGHT  34.0
#define BUS          30.0 /* room for the line above a row of cards */
#define MOST_CHIPS   64
#define MOST_RACKS   12

/* ---- what they hang on ------------------------------------------------------------------------------------------- */

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
    all->list = arena_grow(all->a, all->list, (size_t)all->n, sizeof *all->list);
    struct joint *new = &all->list[all->n++];
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

/* ---- cards ------------------------------------------------------------------------------------------------------- */

/* "8 x NVIDIA H100 80GB HBM3, 18 NVLinks each" */
static const char *gpus_of(const struct topo_class *c, struct arena *a)
{
    const char *model = c->ngpus ? c->objects[c->gpus[0].object].model : NULL;
    int links = 0;
    for (int i = 0; i < c->nlinks; i++)
        links += c->links[i].gpu == 0 && c->links[i].link_kind != TOPO_C2C ? c->links[i].count : 0;
    const char *text = arena_printf(a, "%d x %s", c->ngpus, model ? model : "GPU");
    return !c->ngpus ? "no GPU" : links ? arena_printf(a, "%s, %d links each", text, links) : text;
}

/* "8 x 400 Gb/s InfiniBand"; the sum of their GB/s in *GBps. */
static const char *ports_of(const struct topo_class *c, const struct port_verdict *v, struct arena *a, double *GBps)
{
    static const char *const layers[] = {"", " InfiniBand", " Ethernet"};
    double best = 0;
    int n = 0, layer = 0;
    *GBps = 0;
    for (int i = 0; i < c->nports; i++) {
        if (v[i].role != ROLE_COMPUTE)
            continue;
        n++;
        best = fmax(best, c->ports[i].rate_Gbps);
        *GBps += c->ports[i].rate_Gbps / 8;
        layer = c->ports[i].layer;
    }
    return !n ? "no compute port" : arena_printf(a, best > 0 ? "%d x %g Gb/s%s" : "%d ports", n, best, layers[layer]);
}

/* A square for every port: compute ports in the colour of their rail, others in that of their role. */
static void draw_squares(struct svg *to, const struct topo_class *c, const struct port_verdict *v,
                         const struct joints *all, double x, double y, struct arena *a)
{
    const int most = 36, columns = 18;
    struct rail *rails;
    int n = all->leaves ? 0 : topo_rails(c, v, a, &rails);
    for (int i = 0; i < c->nports && i < most; i++) {
        const char *fill = svg_role_colour(v[i].role);
        for (int r = 0; r < n; r++)
            for (int k = 0; k < rails[r].nports; k++)
                for (int j = 0; j < all->n && rails[r].ports[k] == i; j++)
                    if (!strcmp(all->list[j].name, rails[r].network))
                        fill = rail_colour(j);
        double left = x + i % columns * 19.5, top = i < columns ? y : y + 18;
        svg_box(to, left, top, 16, 14, fill, "");
        if (v[i].role == ROLE_DOWN)
            svg_label(to, left + 8, top + 11, SVG_CENTRED, 10, 16, "x");
    }
}

static void draw_card(struct svg *to, const struct topology *t, const struct joints *all, int class_index, double x,
                      double y, struct arena *a)
{
    const struct topo_class *c = &t->classes[class_index];
    const struct port_verdict *v = roles_of(c, a);
    double GBps;
    const char *ports = ports_of(c, v, a, &GBps);
    const char *const lines[] = {c->name, text_hosts(t, class_index, a), c->product, gpus_of(c, a), ports};
    double at = y + 18;
    svg_line(to, x + CARD_WIDTH / 2, y - BUS / 2, x + CARD_WIDTH / 2, y, COLOUR_LINE, svg_pen(GBps));
    svg_box(to, x, y, CARD_WIDTH, CARD_HEIGHT, COLOUR_NODE, "");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (lines[i]) {
            svg_label(to, x + 8, at, SVG_FROM, i == 1 ? 12 : 10.5, CARD_WIDTH - 16, lines[i]);
            at += 15;
        }
    draw_squares(to, c, v, all, x + 8, y + CARD_HEIGHT - 38, a);
}

/* Draw how classes hang together: a card for each, the rails or leaf switches that they share, NVLink domains over
 * nodes. Return where it ends. */
static double draw_cluster(struct svg *to, const struct topology *t, double x, double y, double width, struct arena *a)
{
    struct joints all = joints_of(t, a);
    int columns = (int)floor((width + CARD_GAP) / (CARD_WIDTH + CARD_GAP));
    int shared = all.n && (all.leaves || all.n > 1 || t->nclasses > 1);
    double top = shared ? draw_joints(to, t, &all, x, y, width, a) + 4 : y;
    top = draw_racks(to, t, x, top, width, a);
    double bus = top;
    for (int i = 0; t->nclasses > 1 && i < t->nclasses; i++) {
        double left = x + 14 + i % columns * (CARD_WIDTH + CARD_GAP);
        if (i % columns == 0) {
            int in_row = t->nclasses - i < columns ? t->nclasses - i : columns;
            svg_line(to, x, bus, x, top + BUS / 2, COLOUR_LINE, 1);
            bus = top + BUS / 2;
            svg_line(to, x, bus, left + (in_row - 1) * (CARD_WIDTH + CARD_GAP) + CARD_WIDTH / 2, bus, COLOUR_LINE, 1);
            top += BUS + CARD_HEIGHT;
        }
        draw_card(to, t, &all, i, left, top - CARD_HEIGHT, a);
    }
    return top;
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

static void draw_legend(struct svg *to, double x, double y)
{
    const struct {
        const char *fill, *text;
    } legend[] = {{COLOUR_GPU, "GPU"},
                  {svg_role_colour(ROLE_COMPUTE), "port for NCCL"},
                  {svg_role_colour(ROLE_STORAGE), "storage"},
                  {svg_role_colour(ROLE_MANAGEMENT), "management, VF"},
                  {svg_role_colour(ROLE_BOND), "bond"},
                  {svg_role_colour(ROLE_DOWN), "down"},
                  {svg_role_colour(ROLE_UNKNOWN), "not known"},
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

static void draw_page(struct svg *to, const struct topology *t, struct arena *a)
{
    double y = draw_cluster(to, t, MARGIN, MARGIN, PAGE, a);
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++) {
        y += y > MARGIN ? 24 : 0;
        y += svg_node(to, t, i, MARGIN, y, a);
    }
    if (t->nclasses > MOST_CLASSES)
        svg_label(to, MARGIN, y += 24, SVG_FROM, 13, PAGE,
                  arena_printf(a, "and %d more classes", t->nclasses - MOST_CLASSES));
    draw_legend(to, MARGIN, y + 22);
}

static int write_svg(const struct topology *t, FILE *out, struct err *e)
{
    for (int i = 0; i < t->nclasses && i < MOST_CLASSES; i++)
        if (t->classes[i].nobjects > MOST_OBJECTS)
            return err_set(e, ERR_FAILED, "%s has more than %d objects, which is no picture", t->classes[i].name,
                           MOST_OBJECTS);
    struct arena *a = arena_new();
    struct svg to;
    svg_begin(&to);
    draw_page(&to, t, a);
    svg_reach(&to, to.width + MARGIN, to.height + MARGIN);
    svg_end(&to, out);
    arena_free(a);
    return ferror(out) ? err_set(e, ERR_FAILED, "the picture cannot be written") : 0;
}

const struct probe_format format_svg = {"svg", "a picture", write_svg};
