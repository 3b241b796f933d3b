/* What the network of the nodes asks for. The topology alone: interfaces, and what differs between classes of nodes. A
 * measured fabric: how far GPUDirect RDMA is worth it, HCAs, interfaces. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "bench/fabric/fabric.h"
#include "core/vars/parse.h"
#include "probe/topology/topology.h"

/* ---- interfaces that the topology shows ---- */

/* Interfaces of container and tunnel software by the names that it gives them. Docker's, libvirt's and the loopback
 * are left out by NCCL itself. */
static const struct {
    const char *prefix, *owner;
} local_names[] = {{"br-", "a Docker network"},
                   {"cni", "Kubernetes"},
                   {"flannel", "Flannel"},
                   {"cali", "Calico"},
                   {"tunl", "an IP-in-IP tunnel"},
                   {"vxlan", "a VXLAN tunnel"},
                   {"cilium", "Cilium"},
                   {"lxc", "a container"},
                   {"lxd", "LXD"},
                   {"incusbr", "Incus"},
                   {"podman", "Podman"},
                   {"nerdctl", "containerd"},
                   {"veth", "a container"},
                   {"vnet", "a virtual machine"},
                   {"weave", "Weave"},
                   {"kube", "Kubernetes"},
                   {"nodelocaldns", "Kubernetes"},
                   {"dummy", "a dummy interface"},
                   {"tap", "a virtual machine"},
                   {"tun", "a tunnel"},
                   {"wg", "WireGuard"},
                   {"tailscale", "Tailscale"},
                   {"ovs", "Open vSwitch"},
                   {"antrea", "Antrea"}};

static int begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

/* What NCCL takes when nothing is set: the first group that has a member. */
static int nccl_group(const char *name)
{
    static const char *const late[] = {"docker", "lo", "virbr"};
    if (begins(name, "ib"))
        return 0;
    for (int i = 0; i < 3; i++)
        if (begins(name, late[i]))
            return 2 + i;
    return 1;
}

#define INTERFACES 16 /* NCCL looks no further than this many */

/* The interfaces of a class that NCCL takes when nothing is set; their number. */
static int list_automatic(const struct topo_class *c, const struct topo_netdev *out[INTERFACES])
{
    int n = 0;
    for (int group = 0; group < 5 && !n; group++)
        for (int i = 0; i < c->nnetdevs && n < INTERFACES; i++) {
            const struct topo_netdev *dev = &c->netdevs[i];
            if (dev->state == TOPO_STATE_ACTIVE && dev->naddresses > 0 && nccl_group(dev->name) == group)
                out[n++] = dev;
        }
    return n;
}

static const char *owner_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof local_names / sizeof *local_names; i++)
        if (begins(name, local_names[i].prefix))
            return local_names[i].owner;
    return NULL;
}

/* Who owns an interface that does not lead off the machine; NULL when it may. A bridge does when a NIC is one of its
 * ports. */
static const char *local_owner(const struct topo_class *c, const struct topo_netdev *dev)
{
    if (dev->kind == TOPO_NET_LOOPBACK)
        return "the loopback";
    if (dev->kind == TOPO_NET_PHYSICAL || dev->kind == TOPO_NET_BOND)
        return NULL;
    if (dev->kind == TOPO_NET_BRIDGE) {
        for (int i = 0; i < c->nnetdevs; i++)
            if (c->netdevs[i].master && !strcmp(c->netdevs[i].master, dev->name) && !owner_by_name(c->netdevs[i].name))
                return NULL;
        const char *owner = owner_by_name(dev->name);
        return owner ? owner : "a bridge without a NIC";
    }
    return owner_by_name(dev->name);
}

/* NCCL splits at ',' and ':' and gives '^' and '=' a meaning. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

struct env_setting env_socket_ifname(const struct topo_class *c, struct arena *a)
{
    struct env_setting s = {.family = "nccl", .name = "NCCL_SOCKET_IFNAME", .source = "topology"};
    const struct topo_netdev *devs[INTERFACES];
    int n = list_automatic(c, devs);
    const char *own = "", *foreign = "";
    int nown = 0, nforeign = 0;
    for (int i = 0; i < n; i++) {
        const char *owner = local_owner(c, devs[i]);
        if (!owner)
            own = arena_printf(a, "%s%s%s", own, nown++ ? "," : "", devs[i]->name);
        else
            foreign = arena_printf(a, "%s%s%s (%s)", foreign, nforeign++ ? ", " : "", devs[i]->name, owner);
        size_t length = strlen(devs[i]->name);
        int plain = length > 0 && length < 16 && strspn(devs[i]->name, PLAIN) == length;
        if (!owner && !plain) {
            s.why = arena_printf(a, "interface '%s' has a name that cannot be written as a setting", devs[i]->name);
            return s;
        }
    }
    if (!n) {
        s.why = "the topology shows no running network interface with an address";
    } else if (!nforeign) {
        s.why = arena_printf(a, "NCCL's own choice, %s, is what the topology shows%s", own,
                             nown > 1 ? "; which of them is best is a question for measurements" : "");
    } else if (!nown) {
        s.why = arena_printf(a, "no interface leads off this machine: NCCL would use %s", foreign);
    } else {
        s.value = arena_printf(a, "=%s", own);
        s.why = arena_printf(a, "NCCL by itself would also use %s, which other nodes cannot reach", foreign);
    }
    return s;
}

/* ---- classes of nodes ---- */

/* Add a copy of the setting, unless one of that name is there that has a value, or has as little. */
static void take_setting(struct env_decisions *d, struct env_setting s)
{
    s.name = arena_strdup(d->arena, s.name);
    s.value = arena_strdup(d->arena, s.value);
    s.why = arena_strdup(d->arena, s.why);
    s.node_class = arena_strdup(d->arena, s.node_class);
    struct env_setting *old = s.node_class ? NULL : env_find_setting(d, s.name);
    if (!old)
        env_add_setting(d, s);
    else if (!old->value && s.value)
        *old = s;
}

/* Whether there is anybody of the class, or nobody of any is known. */
static int has_hosts(const struct topology *t, int class_index)
{
    int n = !t->nhosts;
    for (int h = 0; h < t->nhosts && !n; h++)
        n = t->hosts[h].class_index == class_index;
    return n;
}

/* The same of what every class of nodes should have: for all where they agree, else of those with a value for each. */
static void add_by_class(struct env_decisions *d, const struct topology *t, struct env_setting *each)
{
    int n = t->nclasses, alike = 1, first = 0;
    while (first < n - 1 && !has_hosts(t, first))
        first++;
    for (int c = first + 1; c < n; c++)
        alike = alike && (!has_hosts(t, c) || arena_same_text(each[c].value, each[first].value));
    struct env_setting common = each[first];
    if (!alike) {
        common.value = NULL;
        common.why = "classes of nodes need different values, see nccl.d/";
    }
    if (n)
        take_setting(d, common);
    for (int c = 0; c < n && !alike; c++) {
        each[c].node_class = t->classes[c].name;
        if (each[c].value)
            take_setting(d, each[c]);
    }
}

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
    add_by_class(j->d, j->t, each);
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
    take_setting(j->d, setting("NCCL_IB_HCA", NULL,
                               arena_printf(a, "no port is left out: %d of %d tries between ports worked%s", good,
                                            j->f->ntries, out)));
    if (crossing)
        take_setting(j->d, setting("NCCL_CROSS_NIC", NULL,
                                   arena_printf(a, "different rails reach one another: %d tries between them worked",
                                                crossing)));
    for (int i = 0; i < j->f->nodes * j->f->rails; i++)
        roce += j->f->ports[i].name && !j->f->ports[i].gids.infiniband;
    if (roce)
        take_setting(j->d, setting("NCCL_IB_GID_INDEX", NULL, j->v.gid));
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
    const struct topo_netdev *automatic[INTERFACES];
    struct env_setting s = setting("NCCL_SOCKET_IFNAME", NULL, NULL);
    const char *good = "", *lost = "", *any = "";
    int n = list_automatic(c, automatic), nlost = 0;
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
            take_setting(d, setting(s->name, s->value, s->why));
    }
    struct env_setting gdr = env_gdr_level(t, j.classes, f, &j.v);
    if (gdr.why)
        take_setting(d, gdr);
    add_considered(&j);
    if (!f->ninterfaces || f->nodes < 2)
        return;
    struct env_setting *each = arena_alloc(f->arena, ((size_t)t->nclasses + 1) * sizeof *each);
    for (int c = 0; c < t->nclasses; c++)
        each[c] = node_of(&j, c) < 0 ? setting("NCCL_SOCKET_IFNAME", NULL, "no node of this class was measured")
                                     : socket_of(&j, c);
    add_by_class(d, t, each);
}

/* ---- what only some classes have the devices for ---- */

/* The node-local variables: lists of ports, or of interfaces. */
static const struct local {
    const char *name;
    int is_port;
} locals[] = {{"NCCL_IB_HCA", 1}, {"NCCL_SOCKET_IFNAME", 0}, {"NCCL_OOB_NET_IFNAME", 0}};

/* Whether a class has every device that the value names. */
static int holds_for(const struct local *l, const char *value, const struct topo_class *c)
{
    struct env_devices list;
    env_parse_devices(value, &list);
    for (int i = 0, found; i < list.count && !list.exclude; i++) {
        found = 0;
        for (int k = 0; k < c->nports && l->is_port; k++)
            found |= env_device_matches(&list, &list.list[i], c->ports[k].hca, c->ports[k].port);
        for (int k = 0; k < c->nnetdevs && !l->is_port; k++)
            found |= env_device_matches(&list, &list.list[i], c->netdevs[k].name, -1);
        if (!found)
            return 0;
    }
    return 1;
}

static void split(struct env_decisions *d, int index, const struct local *l, const struct topology *t)
{
    struct env_setting s = d->settings[index];
    int fits = 0;
    for (int c = 0; c < t->nclasses; c++)
        fits += holds_for(l, s.value, &t->classes[c]);
    if (fits == t->nclasses)
        return;
    for (int c = 0; c < t->nclasses; c++)
        if (holds_for(l, s.value, &t->classes[c])) {
            struct env_setting own = s;
            own.node_class = arena_strdup(d->arena, t->classes[c].name);
            env_add_setting(d, own);
        }
    d->settings[index].value = NULL;
    d->settings[index].why =
        arena_printf(d->arena, "%d of %d classes of nodes have the devices of %s: nccl.d/ has it for those", fits,
                     t->nclasses, s.value);
}

void env_classes(struct env_decisions *d, const struct topology *t)
{
    int measured = d->nsettings;
    for (int i = 0; i < measured && t->nclasses > 1; i++) {
        const struct env_setting s = d->settings[i];
        for (const struct local *l = locals; l < locals + sizeof locals / sizeof *locals && s.value; l++)
            if (!s.node_class && !strcmp(l->name, s.name))
                split(d, i, l, t);
    }
    if (env_find_setting(d, "NCCL_SOCKET_IFNAME")) /* what was measured goes before what the topology says */
        return;
    struct env_setting *each = arena_alloc(d->arena, ((size_t)t->nclasses + 1) * sizeof *each);
    for (int c = 0; c < t->nclasses; c++)
        each[c] = env_socket_ifname(&t->classes[c], d->arena);
    add_by_class(d, t, each);
}
