/* Baseboards: a table of those that are no mesh, and the rules for all others. */
#include "probe/machines/wiring.h"

#include <string.h>

#include "probe/topology/build.h"

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

static void join(struct topology *t, struct topo_class *c, const struct hw_gpu *hw, struct wire w)
{
    struct topo_link l = {.link_kind = hw->link_kind, .gpu = w.a, .peer_gpu = w.b, .peer_object = -1, .count = w.links};
    l.GBps = w.links * hw->link_GBps;
    build_link(t, c, l);
    l.gpu = w.b;
    l.peer_gpu = w.a;
    build_link(t, c, l);
}

/* Every GPU of a group to every other one of it, with an equal share of its links. */
static void mesh(struct topology *t, struct topo_class *c, const struct hw_gpu *hw, int first, int n)
{
    int links = n > 1 ? hw->links / (n - 1) : 0;
    for (int a = first; links && a < first + n; a++)
        for (int b = a + 1; b < first + n; b++)
            join(t, c, hw, (struct wire){a, b, links});
}

static void to_switches(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    int first = c->nobjects, n = hw->switched;
    for (int i = 0; i < n; i++)
        build_object(
            t, c,
            (struct topo_object){
                .kind = TOPO_NVSWITCH, .parent = -1, .numa = -1, .name = arena_printf(t->arena, "NVSwitch%d", i)});
    for (int g = 0; g < c->ngpus; g++)
        for (int i = 0; i < n; i++) {
            int links = hw->links / n + (i < hw->links % n);
            build_link(t, c,
                       (struct topo_link){.link_kind = hw->link_kind,
                                          .gpu = g,
                                          .peer_gpu = -1,
                                          .peer_object = first + i,
                                          .count = links,
                                          .GBps = links * hw->link_GBps});
        }
}

static void to_cpus(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    for (int g = 0; g < c->ngpus; g++) {
        int root = c->gpus[g].object;
        while (root >= 0 && c->objects[root].kind != TOPO_NUMA)
            root = c->objects[root].parent;
        if (root >= 0)
            build_link(t, c,
                       (struct topo_link){.link_kind = TOPO_C2C,
                                          .gpu = g,
                                          .peer_gpu = -1,
                                          .peer_object = root,
                                          .count = 1,
                                          .GBps = hw->c2c_GBps});
    }
}

static const struct board *find_board(const struct hw_gpu *hw, int ngpus)
{
    for (size_t i = 0; i < sizeof boards / sizeof *boards; i++)
        if (!strncmp(hw->name, boards[i].gpu, strlen(boards[i].gpu)) && boards[i].ngpus == ngpus)
            return &boards[i];
    return NULL;
}

/* Boards of four have no NVSwitches: HGX A100 and HGX H100 4-GPU. Those of Grace machines are elsewhere in the rack. */
static int is_switched(const struct hw_gpu *hw, int ngpus)
{
    return hw->switched && (ngpus != 4 || hw->c2c_GBps > 0);
}

void wiring_usual(struct topology *t, struct topo_class *c, const struct hw_gpu *hw)
{
    const struct board *board = find_board(hw, c->ngpus);
    int group = hw->bridge ? hw->bridge : c->ngpus;
    for (int i = 0; board && i < board->nwires; i++)
        join(t, c, hw, board->wires[i]);
    if (!board && is_switched(hw, c->ngpus))
        to_switches(t, c, hw);
    else if (!board)
        for (int first = 0; first + group <= c->ngpus && group > 1; first += group)
            mesh(t, c, hw, first, group);
    if (hw->c2c_GBps > 0)
        to_cpus(t, c, hw);
}
