/* Settings from a measured fabric: how far GPUDirect RDMA is worth it, HCAs, interfaces. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "bench/fabric/fabric.h"
#include "core/vars/parse.h"
#include "probe/topology/topology.h"

/* ---- GPUDirect RDMA, from what every port did with the memory of every GPU of its node ---- */

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
    int gpu = -1, nic = path_end_of(m, arena_strndup(f->arena, port, (size_t)(colon - port)));
    for (int i = 0; i < m->ngpus && gpu < 0; i++) {
        const char *pci = c->objects[m->ends[i].object].pci;
        gpu = pci && !strcmp(pci, g->pci) ? i : -1;
    }
    for (int i = 0; gpu >= 0 && nic >= 0 && i < LEVELS; i++)
        if (path_between(m, gpu, nic)->class_ == levels[i].distance)
            return i;
    return -1;
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
        double host = cells[g->node * f->rails + g->rail].GBps;
        double part = g->via && host > 0 ? (g->send_GBps < g->receive_GBps ? g->send_GBps : g->receive_GBps) / host : 0;
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

/* ---- the rest ---- */

struct job {
    struct env_decisions *d;
    const struct topology *t;
    struct verbs_fabric *f;
    struct verbs_decision v;
    int *classes; /* of every node, by the hosts of the topology; -1 when it does not know the node */
};

static struct env_setting setting(const char *name, const char *value, const char *why)
{
    return (struct env_setting){
        .family = "nccl", .name = name, .value = value, .source = ENV_SOURCE_FABRIC, .why = why};
}

/* The first node of a class; -1 none was measured. */
static int node_of(const struct job *j, int class_index)
{
    for (int n = 0; n < j->f->nodes; n++)
        if (j->classes[n] == class_index)
            return n;
    return -1;
}

/* ---- HCAs ---- */

/* Whether a list that was measured on GPUs names a port that the fabric leaves out. */
static int names_bad_port(const struct job *j, const char *value)
{
    struct env_devices list;
    env_parse_devices(value, &list);
    for (int i = 0; i < j->f->nodes * j->f->rails; i++) {
        const char *name = j->f->ports[i].name, *colon = name ? strrchr(name, ':') : NULL;
        if (!colon || !j->v.left_out[i % j->f->rails])
            continue;
        const char *hca = arena_strndup(j->f->arena, name, (size_t)(colon - name));
        if (env_devices_select(&list, hca, colon[1] - '0'))
            return 1;
    }
    return 0;
}

/* What was measured stays unless a list of it, of whatever class, names such a port: then all of it goes. */
static int keeps_measured(const struct job *j, const char *name)
{
    int lists = 0, bad = 0;
    for (int i = 0; i < j->d->nsettings; i++) {
        const struct env_setting *s = &j->d->settings[i];
        lists += !strcmp(s->name, name) && s->value;
        bad += !strcmp(s->name, name) && s->value && names_bad_port(j, s->value);
    }
    for (int i = 0; i < j->d->nsettings && bad; i++)
        if (!strcmp(j->d->settings[i].name, name))
            j->d->settings[i].value = NULL;
    return lists && !bad;
}

static void add_hcas(const struct job *j, const struct verbs_setting *s)
{
    struct env_setting *each = arena_alloc(j->f->arena, ((size_t)j->t->nclasses + 1) * sizeof *each);
    if (keeps_measured(j, s->name))
        return;
    for (int c = 0; c < j->t->nclasses; c++) {
        int node = node_of(j, c);
        each[c] = setting(s->name, node < 0 ? NULL : verbs_hca_list(j->f, &j->v, node), s->why);
    }
    env_add_by_class(j->d, j->t, each);
}

static void add_considered(const struct job *j)
{
    struct arena *a = j->f->arena;
    int crossing = 0, good = 0, roce = 0;
    for (int i = 0; i < j->f->ntries; i++) {
        const struct verbs_try *p = &j->f->tries[i].outcome.pair;
        good += j->v.outcomes[i].verdict == VERBS_GOOD;
        crossing +=
            p->from.node != p->to.node && p->from.rail != p->to.rail && j->v.outcomes[i].verdict != VERBS_FAILED;
    }
    if (!j->f->ntries)
        return;
    const char *out = "";
    for (int n = 0; n < j->f->nodes; n++)
        if (j->v.nodes_out[n])
            out = arena_printf(a, "%s; jobs are better off without %s: %s", out, j->f->names[n], j->v.nodes_out[n]);
    env_take_setting(j->d, setting("NCCL_IB_HCA", NULL,
                                   arena_printf(a, "no port is left out: %d of %d tries between ports worked%s", good,
                                                j->f->ntries, out)));
    if (crossing)
        env_take_setting(
            j->d,
            setting("NCCL_CROSS_NIC", NULL,
                    arena_printf(a, "different rails reach one another: %d tries between them worked", crossing)));
    for (int i = 0; i < j->f->nodes * j->f->rails; i++)
        roce += j->f->ports[i].name && !j->f->ports[i].gids.infiniband;
    if (roce)
        env_take_setting(j->d, setting("NCCL_IB_GID_INDEX", NULL, j->v.gid));
}

/* ---- interfaces ---- */

/* How far an interface leads from the nodes of a class. */
struct lead {
    int nodes, full; /* nodes of the class; those from which it reaches all that were tried */
    int reached, tried;
    const char *worst; /* the node from which it reaches fewest */
};

static struct lead follow(const struct job *j, int class_index, const char *name)
{
    struct lead l = {0};
    int least = -1;
    for (int n = 0; n < j->f->nodes; n++)
        l.nodes += j->classes[n] == class_index;
    for (int i = 0; i < j->f->ninterfaces; i++) {
        const struct verbs_fabric_interface *at = &j->f->interfaces[i];
        if (j->classes[at->node] != class_index || strcmp(at->name, name) != 0)
            continue;
        l.full += at->reached == at->tried;
        if (least < 0 || at->reached < least) {
            least = l.reached = at->reached;
            l.tried = at->tried;
            l.worst = j->f->names[at->node];
        }
    }
    return l;
}

static const char *append(const struct job *j, const char *list, const char *name)
{
    return arena_printf(j->f->arena, "%s%s%s", list, *list ? "," : "", name);
}

/* Of what NCCL would take by itself, what leads to every node. */
static struct env_setting socket_of(const struct job *j, int class_index)
{
    const struct topo_class *c = &j->t->classes[class_index];
    const struct topo_netdev *automatic[ENV_INTERFACES];
    struct env_setting s = setting("NCCL_SOCKET_IFNAME", NULL, NULL);
    const char *good = "", *lost = "", *any = "";
    int n = env_socket_automatic(c, automatic), nlost = 0;
    for (int i = 0; i < n; i++) {
        struct lead l = follow(j, class_index, automatic[i]->name);
        if (l.nodes && l.full == l.nodes)
            good = append(j, good, automatic[i]->name);
        else
            lost = arena_printf(j->f->arena, "%s%s%s (%d of %d answer from %s)", lost, nlost++ ? ", " : "",
                                automatic[i]->name, l.reached, l.tried, l.worst ? l.worst : "some nodes");
    }
    for (int i = 0; i < c->nnetdevs; i++) {
        struct lead l = follow(j, class_index, c->netdevs[i].name);
        if (l.nodes && l.full == l.nodes)
            any = append(j, any, c->netdevs[i].name);
    }
    if (!nlost && *good) {
        s.why = arena_printf(j->f->arena, "NCCL's own choice, %s, reaches every node", good);
    } else if (*good || *any) {
        s.value = arena_printf(j->f->arena, "=%s", *good ? good : any);
        s.why = arena_printf(j->f->arena, "%s reaches every node; NCCL by itself would also use %s", s.value + 1,
                             nlost ? lost : "no interface at all");
    } else {
        s.why = arena_printf(j->f->arena, "no interface reaches every node: %s", nlost ? lost : "none is running");
    }
    return s;
}

void env_fabric(struct env_decisions *d, const struct topology *t, struct verbs_fabric *f)
{
    struct job j = {d, t, f, verbs_decide(f, d->nccl_high),
                    arena_alloc(f->arena, ((size_t)f->nodes + 1) * sizeof(int))};
    for (int n = 0; n < f->nodes; n++) {
        int host = topo_find_host(t, f->names[n]);
        j.classes[n] = host >= 0 ? t->hosts[host].class_index : t->nclasses == 1 ? 0 : -1;
    }
    for (int i = 0; i < j.v.nsettings; i++) {
        const struct verbs_setting *s = &j.v.settings[i];
        if (!strcmp(s->name, "NCCL_IB_HCA"))
            add_hcas(&j, s);
        else
            env_take_setting(d, setting(s->name, s->value, s->why));
    }
    struct env_setting gdr = env_gdr_level(t, j.classes, f, &j.v);
    if (gdr.why)
        env_take_setting(d, gdr);
    add_considered(&j);
    if (!f->ninterfaces || f->nodes < 2)
        return;
    struct env_setting *each = arena_alloc(f->arena, ((size_t)t->nclasses + 1) * sizeof *each);
    for (int c = 0; c < t->nclasses; c++)
        each[c] = node_of(&j, c) < 0 ? setting("NCCL_SOCKET_IFNAME", NULL, "no node of this class was measured")
                                     : socket_of(&j, c);
    env_add_by_class(d, t, each);
}
