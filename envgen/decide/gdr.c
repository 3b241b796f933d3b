/* How far GPUDirect RDMA is worth it, from what every port did with the memory of every GPU of its node. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "bench/fabric/fabric.h"
#include "probe/topology/topology.h"

/* GPU memory that gets this much of the bandwidth of host memory is worth reaching directly: the detour costs a copy
 * and the CPU's memory bandwidth. */
#define WORTH 0.8

/* The distances that NCCL_NET_GDR_LEVEL can name between a GPU and a NIC, nearest first, and NCCL's default among them
 * (2.4 to 2.31; P2C, which is C2C's own, is left to it). */
static const struct {
    enum path_class distance;
    const char *name;
} levels[] = {{PATH_PIX, "PIX"}, {PATH_PXB, "PXB"}, {PATH_PHB, "PHB"}, {PATH_SYS, "SYS"}};
enum { LEVELS = sizeof levels / sizeof *levels, USUAL = 1 };

/* The pairs at one distance. */
struct tally {
    int pairs, good;
    double least; /* part of the host memory's bandwidth */
};

static int gpu_end(const struct topo_class *c, const struct path_matrix *m, const struct verbs_fabric_gpu *g)
{
    for (int i = 0; i < m->ngpus; i++) {
        const char *pci = c->objects[m->ends[i].object].pci;
        if (pci && !strcmp(pci, g->pci))
            return i;
    }
    return -1;
}

/* The index into levels; -1 unknown, or of no interest. */
static int level_of(const struct topology *t, const int *classes, const struct verbs_fabric *f,
                    const struct verbs_fabric_gpu *g)
{
    int class_index = classes[g->node];
    const char *port = f->ports[g->node * f->rails + g->rail].name, *colon = port ? strrchr(port, ':') : NULL;
    if (class_index < 0 || !colon)
        return -1;
    const struct topo_class *c = &t->classes[class_index];
    const struct path_matrix *m = path_matrix(c, f->arena);
    int gpu = gpu_end(c, m, g), nic = path_end_of(m, arena_strndup(f->arena, port, (size_t)(colon - port)));
    for (int i = 0; gpu >= 0 && nic >= 0 && i < LEVELS; i++)
        if (path_between(m, gpu, nic)->class_ == levels[i].distance)
            return i;
    return -1;
}

static double part_of_host(const struct verbs_cell *cells, const struct verbs_fabric *f,
                           const struct verbs_fabric_gpu *g)
{
    double host = cells[g->node * f->rails + g->rail].GBps;
    double gpu = g->send_GBps < g->receive_GBps ? g->send_GBps : g->receive_GBps;
    return g->via && host > 0 ? gpu / host : 0;
}

/* What is said of a distance: "GPU memory at PHB gets 96 % of the bandwidth of host memory, or more …". */
static const char *describe(struct arena *a, int level, const struct tally *t)
{
    return arena_printf(a, "GPU memory at %s gets %.0f %% of the bandwidth of host memory, or more (%d pairs)",
                        levels[level].name, t->least * 100, t->pairs);
}

struct env_setting env_gdr_level(const struct topology *t, const int *classes, const struct verbs_fabric *f,
                                 const struct verbs_decision *v)
{
    struct env_setting s = {.family = "nccl", .name = "NCCL_NET_GDR_LEVEL", .source = ENV_SOURCE_FABRIC};
    struct tally tallies[LEVELS] = {{0}};
    const struct verbs_cell *cells = verbs_cells(f, v);
    const char *refused = NULL;
    int reached = 0, farthest = -1, first_bad = -1;
    for (int i = 0; i < f->ngpus; i++) {
        const struct verbs_fabric_gpu *g = &f->gpus[i];
        int level = level_of(t, classes, f, g);
        double part = part_of_host(cells, f, g);
        refused = refused ? refused : g->why;
        reached += g->via != NULL;
        if (level < 0)
            continue;
        struct tally *at = &tallies[level];
        at->least = at->pairs && at->least < part ? at->least : part;
        at->pairs++;
        at->good += part >= WORTH;
    }
    for (int level = 0; level < LEVELS && first_bad < 0; level++) {
        if (tallies[level].pairs && tallies[level].good < tallies[level].pairs)
            first_bad = level;
        else if (tallies[level].pairs)
            farthest = level;
    }
    if (f->ngpus && !reached) {
        s.why = arena_printf(f->arena, "no port can reach GPU memory, so data goes through host memory; the first: %s",
                             refused ? refused : "for no known reason");
    } else if (farthest > USUAL) {
        s.value = levels[farthest].name;
        s.why = arena_printf(f->arena, "%s; by default NCCL reaches it directly up to %s only",
                             describe(f->arena, farthest, &tallies[farthest]), levels[USUAL].name);
    } else if (first_bad >= 0 && first_bad <= USUAL) {
        s.value = farthest < 0 ? "LOC" : levels[farthest].name;
        s.why = arena_printf(f->arena, "%s; by default NCCL reaches it directly up to %s",
                             describe(f->arena, first_bad, &tallies[first_bad]), levels[USUAL].name);
    } else if (farthest >= 0 || first_bad >= 0) {
        int level = first_bad >= 0 ? first_bad : farthest;
        s.why = arena_printf(f->arena, "NCCL's default fits: %s", describe(f->arena, level, &tallies[level]));
    }
    return s;
}
