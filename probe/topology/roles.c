/* Roles of RDMA ports: every port goes through a table of rules, of which the first that speaks against it decides.
 * Facts about the device come first, then what sets it apart from its neighbours, names last. */
#include <fnmatch.h>
#include <string.h>

#include "probe/topology/topology_internal.h"

/* Ports of a kind that is rare here. */
struct odd_ports {
    int *usual;     /* for each port: one of the kind that is usual; -1: the port is no odd one out */
    int of_kind;    /* ports of that kind */
    int *count;     /* of the kind of each port */
    int first, all; /* a port of that kind, and how many are in question */
};

struct role_view {
    const struct topo_class *c;
    struct arena *a;
    const struct path_matrix *matrix;
    struct port_verdict *verdicts;
    unsigned char *excluded;    /* by the rules on the device alone */
    unsigned char *served;      /* GPUs that have a port beside them */
    int nbeside, nbeside_down;  /* ports beside a GPU that are in question, and that are down */
    enum topo_link_layer layer; /* the one that carries most of the bandwidth in question */
    double best_Gbps;           /* of the ports in question with that layer */
    int layers_even;            /* as much of it is of the other */
    const char *prefix;         /* the subnet prefix that most of them have */
    int nprefix;
    const char *plugin;    /* through which most of the bandwidth in question is reached; NULL: verbs */
    int *ends;             /* of the ports in the matrix */
    const char **networks; /* of the IPv4 addresses of their interfaces */
    struct odd_ports boards, managers, fabrics, by_network;
    int *gpu_ports;  /* ports of the usual kind beside each GPU */
    int usual_ports; /* ports beside a GPU, as most GPUs have them; 0: there is no such number */
};

/* A rule: the first one that speaks against a port decides. */
struct role_rule {
    const char *name; /* "rate" */
    struct role_evidence (*look)(const struct role_view *v, int port);
    int neighbours; /* weighs the port against its neighbours; those on the device alone come first */
};

enum { MELLANOX = 0x15b3, BLACKWELL = 100 };
#define SLOW_Gbps 40 /* below it: management rather than storage */

static const char *name_layer(enum topo_link_layer layer)
{
    static const char *const names[] = {"unknown link layer", "InfiniBand", "Ethernet"};
    return names[layer];
}

/* No CPU on the way to a GPU, or only the GPU's own one by C2C. */
static int is_beside_gpu(const struct port_verdict *v)
{
    return v->nearest_gpu >= 0 && v->nearest_class <= PATH_P2C;
}

/* The way to the nearest GPU in the matrix's word, with NCCL's class where that is another one. */
static const char *name_way(const struct role_view *v, int port)
{
    char word[PATH_WORD];
    const struct port_verdict *own = &v->verdicts[port];
    const char *class_ = path_class_name(own->nearest_class);
    path_word(word, path_between(v->matrix, v->ends[port], own->nearest_gpu));
    return strcmp(word, class_) ? arena_printf(v->a, "%s, for NCCL %s", word, class_) : class_;
}

/* "GPU0", "GPU0 and GPU2", "GPU0 to GPU3": the port's nearest GPU and those that are as near, by the same way. */
static const char *name_gpus(const struct role_view *v, int port)
{
    const struct topo_path *way = path_between(v->matrix, v->ends[port], v->verdicts[port].nearest_gpu);
    const char *names = "", *last = "";
    int n = 0, first = 0, row = 1; /* one behind the other */
    for (int g = 0; g < v->matrix->ngpus; g++) {
        const struct topo_path *p = path_between(v->matrix, v->ends[port], g);
        if (p->class_ != way->class_ || p->word != way->word)
            continue;
        names = n ? arena_printf(v->a, "%s%s%s", names, *names ? ", " : "", last) : names;
        last = arena_printf(v->a, "GPU%d", v->c->gpus[g].index);
        first = n ? first : g;
        row &= g == first + n++;
    }
    if (row && n > 2)
        return arena_printf(v->a, "GPU%d to %s", v->c->gpus[first].index, last);
    return n > 1 ? arena_printf(v->a, "%s and %s", names, last) : last;
}

/* The port's NIC; NULL unknown. */
static const struct topo_object *nic_of(const struct role_view *v, int port)
{
    int object = v->c->ports[port].object;
    return object < 0 || object >= v->c->nobjects ? NULL : &v->c->objects[object];
}

static struct role_evidence fine(const char *seen)
{
    return (struct role_evidence){.seen = seen, .role = ROLE_COMPUTE};
}

static struct role_evidence against(enum port_role role, const char *seen)
{
    return (struct role_evidence){.seen = seen, .role = role};
}

/* What a port is for that no GPU should have. */
static enum port_role role_by_rate(const struct topo_port *p)
{
    return p->rate_Gbps > 0 && p->rate_Gbps < SLOW_Gbps ? ROLE_MANAGEMENT : ROLE_STORAGE;
}

static const struct topo_netdev *netdev_named(const struct topo_class *c, const char *name)
{
    int at = topo_find_netdev(c, name);
    return at < 0 ? NULL : &c->netdevs[at];
}

/* ---- the device alone -------------------------------------------------------------------------------------------- */

static struct role_evidence see_state(const struct role_view *v, int port)
{
    const struct topo_netdev *d = netdev_named(v->c, v->c->ports[port].netdev);
    switch (v->c->ports[port].state) {
    case TOPO_STATE_DOWN:
        return against(ROLE_DOWN,
                       d && d->master
                           ? arena_printf(v->a, "the port is down; its interface %s belongs to %s", d->name, d->master)
                           : "the port is down");
    case TOPO_STATE_ACTIVE:
        return fine("active");
    default:
        /* What a plugin reaches is on no list, so that nothing wrong can come of it. */
        if (v->verdicts[port].plugin)
            return fine("not known");
        if (d && d->state == TOPO_STATE_DOWN) /* an IPoIB interface may be, of a port that is active */
            return against(ROLE_UNKNOWN,
                           arena_printf(v->a, "its interface %s is down; the port's own state is not known", d->name));
        return against(ROLE_UNKNOWN, "its state could not be read");
    }
}

/* NCCL connects queue pairs by itself, which iWARP does through a connection manager only, and usNIC not at all. */
static struct role_evidence see_node_type(const struct role_view *v, int port)
{
    const char *type = v->c->ports[port].node_type;
    if (!type && !strncmp(v->c->ports[port].hca, "usnic_", 6)) /* hwloc files name devices alone */
        type = "usNIC";
    if (!type || (strcmp(type, "RNIC") != 0 && strncmp(type, "usNIC", 5) != 0))
        return fine(type);
    return against(ROLE_UNKNOWN, arena_printf(v->a, "node type %s%s: not a transport of NCCL", type,
                                              strcmp(type, "RNIC") ? "" : " (iWARP)"));
}

static struct role_evidence see_port_name(const struct role_view *v, int port)
{
    const struct topo_netdev *d = netdev_named(v->c, v->c->ports[port].netdev);
    if (!d || !topo_is_representor(d->port_name))
        return fine(d ? d->port_name : NULL);
    return against(ROLE_UNKNOWN,
                   arena_printf(v->a, "its interface %s is the representor %s of a function: raw Ethernet", d->name,
                                d->port_name));
}

/* Without a GID no queue pair of RoCE can be connected. */
static struct role_evidence see_gids(const struct role_view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    int n = 0;
    for (int i = 0; i < v->c->ngids; i++)
        n += v->c->gids[i].port == port;
    if (p->no_gids == TOPO_YES && p->layer == TOPO_LINK_ETHERNET && !v->verdicts[port].plugin)
        return against(ROLE_UNKNOWN, "Ethernet with no GID: RoCE is off, or it is a representor's port");
    return fine(n ? arena_printf(v->a, "%d entr%s", n, n == 1 ? "y" : "ies") : NULL);
}

static struct role_evidence see_access(const struct role_view *v, int port)
{
    return v->c->ports[port].opens == TOPO_NO
               ? against(ROLE_UNKNOWN, "it cannot be opened here: it belongs to another RDMA namespace or user")
               : fine(NULL);
}

static struct role_evidence see_product_data(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    if (!o || o->nvlink_management == TOPO_NOT_KNOWN)
        return fine(NULL);
    return o->nvlink_management == TOPO_YES
               ? against(ROLE_NVLINK_MANAGEMENT, "it manages NVLink switches, by its product data")
               : fine("no NVLink switches");
}

/* The port, up and ours, on the function at that address, or on any physical one of the same vendor on the bus. A card
 * whose functions are one bond has one device for both of them. */
static const char *physical_port(const struct role_view *v, const struct topo_object *vf)
{
    const char *colon = vf->pci ? strrchr(vf->pci, ':') : NULL;
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = &v->c->ports[i];
        const struct topo_object *o = nic_of(v, i);
        const struct topo_netdev *d = netdev_named(v->c, p->netdev);
        int bonded = d && d->kind == TOPO_NET_BOND;
        size_t card = o && o->pci ? strcspn(o->pci, ".") + 1 : 0; /* the address without its function */
        if (!o || !o->pci || p->state != TOPO_STATE_ACTIVE || p->opens == TOPO_NO)
            continue;
        if (vf->pf ? !strcmp(o->pci, vf->pf) || (bonded && !strncmp(o->pci, vf->pf, card))
                   : colon && o->vendor == vf->vendor && o->model && !strstr(o->model, "Virtual Function") &&
                         !strncmp(o->pci, vf->pci, (size_t)(colon - vf->pci) + 1))
            return p->hca;
    }
    return NULL;
}

/* A virtual function gives way to its physical one. In a guest or a pod that is not there, or only as a PCI function,
 * and the virtual function is all that there is. */
static struct role_evidence see_virtual_function(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    if (!o || !(o->pf || (o->model && strstr(o->model, "Virtual Function"))))
        return fine(o && o->vfs ? arena_printf(v->a, "physical, with %d virtual functions", o->vfs) : NULL);
    const char *physical = physical_port(v, o);
    return physical ? against(ROLE_VF, arena_printf(v->a, "a virtual function of %s, which is active itself", physical))
                    : fine("a virtual function; its physical one has no active port here");
}

/* The mlx5 driver makes one device of the two ports of a bond, on which NCCL runs as on any other. A device for which
 * it did not is half of a bond that only sockets know. */
static struct role_evidence see_bond(const struct role_view *v, int port)
{
    const struct topo_netdev *d = netdev_named(v->c, v->c->ports[port].netdev);
    const struct topo_netdev *master = d ? netdev_named(v->c, d->master) : NULL;
    if (master && master->kind == TOPO_NET_BOND)
        return against(ROLE_BOND, arena_printf(v->a, "its interface %s belongs to the bond %s", d->name, master->name));
    if (d && d->kind == TOPO_NET_BOND) {
        const char *down = topo_slave_down(v->c, d->name);
        return fine(arena_printf(v->a, "one device for the bond %s%s%s", d->name, down ? ", of which " : "",
                                 down ? arena_printf(v->a, "%s is down", down) : ""));
    }
    return fine(strstr(v->c->ports[port].hca, "_bond_") ? "one device for a bond, by its name" : NULL);
}

/* Anything else in a name would change the meaning of the list. */
static struct role_evidence see_plain_name(const struct role_view *v, int port)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const char *hca = v->c->ports[port].hca;
    return *hca && !hca[strspn(hca, plain)] ? fine(NULL)
                                            : against(ROLE_UNKNOWN, "its name cannot stand in NCCL_IB_HCA");
}

/* ---- against the neighbours -------------------------------------------------------------------------------------- */

static int has_blackwell(const struct topo_class *c)
{
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].sm >= BLACKWELL)
            return 1;
    return 0;
}

/* On HGX B200 and B300 NVLink switches are managed over InfiniBand ports beside no GPU, which look like any other to
 * whoever may not read product data. */
static struct role_evidence see_nvlink_bridge(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    const struct topo_port *p = &v->c->ports[port];
    if (!o || o->vendor != MELLANOX || p->layer != TOPO_LINK_INFINIBAND || o->nvlink_management != TOPO_NOT_KNOWN ||
        !has_blackwell(v->c) || is_beside_gpu(&v->verdicts[port]))
        return fine(NULL);
    if (!v->nbeside && !v->nbeside_down && !v->plugin)
        return fine("its product data could not be read (root may)");
    return against(ROLE_NVLINK_MANAGEMENT, "beside no GPU, like the ports that manage NVLink switches here; only root "
                                           "can read its product data");
}

/* The ports that were made for the GPUs are down: what is up, far away, is something else. */
static struct role_evidence see_others_down(const struct role_view *v, int port)
{
    if (v->nbeside || !v->nbeside_down || v->verdicts[port].nearest_gpu < 0)
        return fine(NULL);
    return against(
        ROLE_UNKNOWN,
        arena_printf(v->a, "active, but beside no GPU, while the %d that are beside one are down", v->nbeside_down));
}

static struct role_evidence see_transport(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    const char *own = v->verdicts[port].plugin;
    if (own || !v->plugin)
        return fine(own ? own : o ? o->driver : NULL);
    return against(role_by_rate(&v->c->ports[port]),
                   arena_printf(v->a, "by verbs, while most of the bandwidth is reached through %s", v->plugin));
}

static struct role_evidence see_layer(const struct role_view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    if (p->layer == TOPO_LINK_UNKNOWN)
        return fine(NULL);
    if (p->layer == v->layer)
        return fine(name_layer(p->layer));
    const char *rate = p->rate_Gbps > 0 ? arena_printf(v->a, "at %g Gb/s", p->rate_Gbps) : "at an unknown rate";
    struct role_evidence e =
        against(role_by_rate(p), arena_printf(v->a, "%s %s, while %s of the bandwidth is %s", name_layer(p->layer),
                                              rate, v->layers_even ? "as much" : "most", name_layer(v->layer)));
    e.open = v->layers_even;
    return e;
}

int topo_same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* Whether ports i and k are of one kind; of a port and itself: whether its kind is known. */
typedef int is_alike(const struct role_view *v, int i, int k);

static int is_same_model(const struct role_view *v, int i, int k)
{
    const struct topo_port *p = &v->c->ports[i], *q = &v->c->ports[k];
    const struct topo_object *a = nic_of(v, i), *b = nic_of(v, k);
    return topo_same_text(p->board_id, q->board_id) ||
           (!p->board_id && !q->board_id && a && b && a->subsystem_device && a->vendor == b->vendor &&
            a->device == b->device && a->subsystem_device == b->subsystem_device);
}

static int is_same_manager(const struct role_view *v, int i, int k)
{
    const struct topo_port *p = &v->c->ports[i], *q = &v->c->ports[k];
    return p->sm_lid > 0 && p->sm_lid == q->sm_lid &&
           (!p->subnet_prefix || !q->subnet_prefix || !strcmp(p->subnet_prefix, q->subnet_prefix));
}

static int is_same_fabric(const struct role_view *v, int i, int k)
{
    return topo_same_text(v->c->ports[i].fabric, v->c->ports[k].fabric);
}

static int is_same_network(const struct role_view *v, int i, int k)
{
    return topo_same_text(v->networks[i], v->networks[k]);
}

/* Whether it is in question with the ports that carry most: by its link layer, and reached as they are. */
static int is_rival(const struct role_view *v, int i)
{
    const struct topo_port *p = &v->c->ports[i];
    return !v->excluded[i] && (p->layer == v->layer || p->layer == TOPO_LINK_UNKNOWN) &&
           !v->verdicts[i].plugin == !v->plugin;
}

/* Whether a port like `usual` is as near to every GPU to which the port is nearest. */
static int is_replaced(const struct role_view *v, int port, int usual, is_alike *alike)
{
    const struct path_matrix *m = v->matrix;
    int end = v->verdicts[port].nearest_gpu < 0 ? -1 : v->ends[port];
    for (int g = 0; end >= 0 && g < m->ngpus; g++) {
        enum path_class own = path_between(m, end, g)->class_;
        int near = own != v->verdicts[port].nearest_class;
        for (int i = 0; i < v->c->nports && !near; i++)
            near = v->ends[i] >= 0 && path_between(m, v->ends[i], g)->class_ <= own && is_rival(v, i) &&
                   (i == usual || (alike && alike(v, i, usual)));
        if (!near)
            return 0;
    }
    return end >= 0;
}

/* For every port that is an odd one out: a port of the kind that most are of, and that serves the same GPUs. `certain`:
 * ports of two kinds never belong together. */
static void find_odd_ports(const struct role_view *v, is_alike *alike, int certain, struct odd_ports *odd)
{
    int n = v->c->nports, usual = -1, all = 0, *count = arena_alloc(v->a, (size_t)n * sizeof *count);
    odd->usual = arena_alloc(v->a, (size_t)n * sizeof *odd->usual);
    odd->count = count;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n && is_rival(v, i); k++)
            count[i] += is_rival(v, k) && alike(v, i, k);
        all += is_rival(v, i);
        if (count[i] > odd->of_kind) {
            odd->of_kind = count[i];
            usual = i;
        }
    }
    odd->first = usual;
    odd->all = all;
    for (int i = 0; i < n; i++) {
        int is_odd = count[i] > 0 && !alike(v, i, usual) &&
                     (certain || (2 * odd->of_kind > all && 2 * count[i] <= odd->of_kind));
        odd->usual[i] = is_odd && is_replaced(v, i, usual, alike) ? usual : -1;
    }
}

static const char *name_model(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    const char *board = v->c->ports[port].board_id;
    return board ? board : arena_printf(v->a, "%04x:%04x", o ? o->device : 0, o ? o->subsystem_device : 0);
}

/* An odd one out is for storage or the host: its GPUs have a port of the usual kind as near. `own` is NULL if the
 * port's kind is not known. */
static struct role_evidence see_odd(const struct role_view *v, const struct odd_ports *odd, int port, const char *own,
                                    const char *(*name)(const struct role_view *v, int port))
{
    int usual = odd->usual[port];
    if (usual < 0)
        return fine(own);
    return against(ROLE_STORAGE, arena_printf(v->a, "%s, while %d others have %s and serve the same GPUs", own,
                                              odd->of_kind, name(v, usual)));
}

static struct role_evidence see_board(const struct role_view *v, int port)
{
    return see_odd(v, &v->boards, port, is_same_model(v, port, port) ? name_model(v, port) : NULL, name_model);
}

static const char *name_manager(const struct role_view *v, int port)
{
    return arena_printf(v->a, "LID %d", v->c->ports[port].sm_lid);
}

/* Fabrics that nobody gave a prefix of their own have the same one; their subnet managers differ. */
static struct role_evidence see_manager(const struct role_view *v, int port)
{
    const struct odd_ports *m = &v->managers;
    struct role_evidence e = see_odd(v, m, port, v->c->ports[port].sm_lid ? name_manager(v, port) : NULL, name_manager);
    e.open = m->count[port] && 2 * m->count[port] == m->all && m->count[port] == m->of_kind &&
             !is_same_manager(v, port, m->first) && is_replaced(v, port, m->first, is_same_manager);
    return e; /* two halves: two planes, or one for storage */
}

static const char *name_fabric(const struct role_view *v, int port)
{
    const char *fabric = v->c->ports[port].fabric;
    return fabric ? arena_printf(v->a, "fabric: %s", fabric) : NULL;
}

/* What ibnetdiscover saw: nothing connects two fabrics. */
static struct role_evidence see_fabric(const struct role_view *v, int port)
{
    struct role_evidence e = see_odd(v, &v->fabrics, port, name_fabric(v, port), name_fabric);
    e.open = e.role != ROLE_COMPUTE && v->fabrics.count[port] == v->fabrics.of_kind;
    return e;
}

static const char *name_network(const struct role_view *v, int port)
{
    return v->networks[port];
}

/* By the IPv4 address of the port's interface, IPoIB or Ethernet. */
static struct role_evidence see_network(const struct role_view *v, int port)
{
    return see_odd(v, &v->by_network, port, v->networks[port], name_network);
}

/* A faster port, of another model, that is as near to every GPU to which the port is nearest. */
static const char *find_faster_port(const struct role_view *v, int port)
{
    for (int i = 0; i < v->c->nports; i++)
        if (is_rival(v, i) && v->c->ports[i].rate_Gbps > v->c->ports[port].rate_Gbps && !is_same_model(v, port, i) &&
            v->boards.usual[i] < 0 && is_replaced(v, port, i, NULL))
            return v->c->ports[i].hca;
    return NULL;
}

/* A port beside a GPU may have lost half its lanes and is still the GPU's, unless the GPU has a faster one of another
 * model; one elsewhere was bought slower. */
static struct role_evidence see_rate(const struct role_view *v, int port)
{
    double own = v->c->ports[port].rate_Gbps;
    int beside = is_beside_gpu(&v->verdicts[port]);
    if (!(own > 0) || v->c->ports[port].state == TOPO_STATE_DOWN) /* that of no link */
        return fine(NULL);
    enum port_role role = role_by_rate(&v->c->ports[port]);
    const char *faster = beside ? find_faster_port(v, port) : NULL;
    if (faster)
        return against(role, arena_printf(v->a, "%g Gb/s, while the same GPU has %s, which is faster", own, faster));
    if (own < (beside ? 0.25 : 0.5) * v->best_Gbps)
        return against(role, arena_printf(v->a, "%g Gb/s, while the fastest have %g", own, v->best_Gbps));
    return fine(arena_printf(v->a, "%g Gb/s", own));
}

/* Whether one of the GPUs that are nearest to the port has no other port beside it. */
static int serves_lone_gpu(const struct role_view *v, int port)
{
    int end = v->ends[port];
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++)
        if (!v->served[g] && path_between(v->matrix, end, g)->class_ == v->verdicts[port].nearest_class)
            return 1;
    return 0;
}

static struct role_evidence see_distance(const struct role_view *v, int port)
{
    const struct port_verdict *own = &v->verdicts[port];
    if (own->nearest_gpu < 0)
        return fine(NULL);
    const char *way = name_way(v, port), *gpus = name_gpus(v, port);
    if (own->gpu_missing)
        return fine(arena_printf(
            v->a, "beside no GPU (nearest: %s, %s), though like the others: its GPU seems to be missing", gpus, way));
    if (!v->nbeside || is_beside_gpu(own) || serves_lone_gpu(v, port))
        return fine(arena_printf(v->a, "%s %s (%s)", is_beside_gpu(own) ? "beside" : "nearest to", gpus, way));
    return against(ROLE_STORAGE, arena_printf(v->a, "beside no GPU (nearest: %s, %s); %d other port%s beside one", gpus,
                                              way, v->nbeside, v->nbeside == 1 ? " is" : "s are"));
}

/* ---- ports by GPU ------------------------------------------------------------------------------------------------ */

/* Whether the port is one of those of the usual kind, wherever it is. */
static int is_usual(const struct role_view *v, int port)
{
    return is_rival(v, port) && v->boards.usual[port] < 0 && v->managers.usual[port] < 0 &&
           v->fabrics.usual[port] < 0 && v->by_network.usual[port] < 0 &&
           !(v->c->ports[port].rate_Gbps < v->best_Gbps / 2);
}

static int is_port_of_gpu(const struct role_view *v, int port, int gpu)
{
    const struct port_verdict *own = &v->verdicts[port];
    return v->ends[port] >= 0 && is_beside_gpu(own) && is_usual(v, port) &&
           path_between(v->matrix, v->ends[port], gpu)->class_ == own->nearest_class;
}

/* How many ports most GPUs have beside them. And GPUs that seem to be missing: each of a number that no board has has
 * one port, and the ports make up such a number together with some like them that are beside no GPU. */
static void find_symmetry(struct role_view *v)
{
    int with_one = 0, ports = 0, ngpus = v->matrix->ngpus;
    v->gpu_ports = arena_alloc(v->a, (size_t)ngpus * sizeof *v->gpu_ports);
    for (int i = 0; i < v->c->nports; i++) {
        ports += is_usual(v, i);
        for (int g = 0; g < ngpus; g++)
            v->gpu_ports[g] += is_port_of_gpu(v, i, g);
    }
    for (int g = 0; g < ngpus; g++) {
        int alike = 0;
        for (int k = 0; k < ngpus; k++)
            alike += v->gpu_ports[k] == v->gpu_ports[g];
        if (2 * alike > ngpus)
            v->usual_ports = v->gpu_ports[g];
        with_one += v->gpu_ports[g] == 1;
    }
    if (with_one != ngpus || __builtin_popcount((unsigned)ngpus) == 1 || __builtin_popcount((unsigned)ports) != 1 ||
        ports <= ngpus || ports > 2 * ngpus)
        return;
    for (int i = 0; i < v->c->nports; i++)
        v->verdicts[i].gpu_missing = is_usual(v, i) && !is_beside_gpu(&v->verdicts[i]);
}

static char function_of(const struct role_view *v, int port)
{
    const struct topo_object *o = nic_of(v, port);
    const char *dot = o && o->pci ? strrchr(o->pci, '.') : NULL;
    return dot ? dot[1] : '?';
}

/* A GPU that has more ports than most: one on another function of its card is told from those that all have. */
static struct role_evidence see_symmetry(const struct role_view *v, int port)
{
    const struct port_verdict *own = &v->verdicts[port];
    const struct topo_port *p = &v->c->ports[port];
    const char *other = "another";
    int like_it = 0, before = 0, gpu = own->nearest_gpu, n = gpu < 0 ? 0 : v->gpu_ports[gpu],
        surplus = n - v->usual_ports;
    int own_port = n && is_port_of_gpu(v, port, gpu);
    if (!v->usual_ports || surplus <= 0 || !own_port)
        return fine(own_port ? arena_printf(v->a, "%d port%s beside GPU%d", n, n == 1 ? "" : "s", v->c->gpus[gpu].index)
                             : NULL);
    for (int i = 0; i < v->c->nports; i++) {
        like_it += is_usual(v, i) && v->c->ports[i].port == p->port && function_of(v, i) == function_of(v, port);
        if (i != port && is_port_of_gpu(v, i, gpu)) {
            other = topo_port_name(v->a, &v->c->ports[i]);
            before += i < port;
        }
    }
    const char *seen = arena_printf(v->a, "GPU%d has %d ports, most have %d: %s is beside it, too",
                                    v->c->gpus[gpu].index, n, v->usual_ports, other);
    struct role_evidence e = {.seen = seen, .role = ROLE_COMPUTE, .open = before >= v->usual_ports};
    if (like_it <= surplus && 2 * like_it < v->nbeside)
        e = (struct role_evidence){
            .seen = arena_printf(v->a, "%s; most are not on function %c, port %d", seen, function_of(v, port), p->port),
            .role = ROLE_STORAGE,
            .open = 1};
    return e;
}

/* Rails may have a subnet each, but then each is as large as the next. */
static struct role_evidence see_subnet(const struct role_view *v, int port)
{
    const char *own = v->c->ports[port].subnet_prefix;
    int n = 0;
    if (!own || !v->prefix || !strcmp(own, v->prefix))
        return fine(own);
    for (int i = 0; i < v->c->nports; i++)
        n += !v->excluded[i] && topo_same_text(v->c->ports[i].subnet_prefix, own);
    return n * 4 <= v->nprefix ? against(ROLE_STORAGE, arena_printf(v->a, "subnet prefix %s, while %d others have %s",
                                                                    own, v->nprefix, v->prefix))
                               : fine(own);
}

static struct role_evidence see_name(const struct role_view *v, int port)
{
    static const struct {
        const char *pattern;
        enum port_role role;
    } names[] = {
        {"*_an[0-9]*", ROLE_MANAGEMENT}, /* "mlx5_an0": Azure's device of accelerated networking */
        {"*mgmt*", ROLE_MANAGEMENT},     {"*oob*", ROLE_MANAGEMENT},
        {"*stor*", ROLE_STORAGE},        {"*nvmeof*", ROLE_STORAGE},
    };
    const struct topo_port *p = &v->c->ports[port];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!fnmatch(names[i].pattern, p->hca, 0) || (p->netdev && !fnmatch(names[i].pattern, p->netdev, 0)))
            return against(names[i].role, arena_printf(v->a, "its name is like \"%s\"", names[i].pattern));
    return fine(NULL);
}

static const struct role_rule role_rules[] = {
    {"state", see_state},
    {"node type", see_node_type},
    {"product data", see_product_data},
    {"virtual function", see_virtual_function},
    {"bond", see_bond},
    {"port name", see_port_name},
    {"GID table", see_gids},
    {"access", see_access},
    {"name in a list", see_plain_name},
    {"NVLink bridge", see_nvlink_bridge, 1},
    {"others down", see_others_down, 1},
    {"driver", see_transport, 1},
    {"link layer", see_layer, 1},
    {"board", see_board, 1},
    {"rate", see_rate, 1},
    {"distance", see_distance, 1},
    {"fabric", see_fabric, 1},
    {"subnet", see_subnet, 1},
    {"subnet manager", see_manager, 1},
    {"IP network", see_network, 1},
    {"symmetry", see_symmetry, 1},
    {"name", see_name, 1},
    {NULL, NULL},
};

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static const char *explain_compute(const struct role_view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    const struct port_verdict *own = &v->verdicts[port];
    const char *what =
        p->rate_Gbps > 0 ? arena_printf(v->a, "%g Gb/s %s", p->rate_Gbps, name_layer(p->layer)) : name_layer(p->layer);
    if (own->plugin)
        what = arena_printf(v->a, "%s, through %s", what, own->plugin);
    if (!v->c->ngpus)
        return arena_printf(v->a, "%s; there is no GPU here", what);
    if (own->nearest_gpu < 0)
        return arena_printf(v->a, "%s; its distance to the GPUs is not known", what);
    return arena_printf(v->a, "%s, %s %s (%s)", what, is_beside_gpu(own) ? "beside" : "nearest to", name_gpus(v, port),
                        name_way(v, port));
}

/* Whether a rule of that kind speaks against the port; the first one decides. */
static int apply_rules(const struct role_view *v, int port, int neighbours)
{
    for (const struct role_rule *r = role_rules; r->name; r++) {
        struct role_evidence s = r->neighbours == neighbours ? r->look(v, port) : fine(NULL);
        v->verdicts[port].open |= s.open;
        if (s.role != ROLE_COMPUTE) {
            v->verdicts[port].role = s.role;
            v->verdicts[port].reason = s.seen;
            return 1;
        }
    }
    return 0;
}

static void find_nearest_gpu(const struct role_view *v, int port)
{
    struct port_verdict *own = &v->verdicts[port];
    int end = v->ends[port];
    own->nearest_gpu = -1;
    own->nearest_class = PATH_UNKNOWN;
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++) {
        const struct topo_path *way = path_between(v->matrix, end, g);
        if (way->class_ < own->nearest_class || (own->nearest_gpu >= 0 && way->class_ == own->nearest_class &&
                                                 way->word < path_between(v->matrix, end, own->nearest_gpu)->word)) {
            own->nearest_class = way->class_;
            own->nearest_gpu = g;
        }
    }
}

/* A GPU's own port that is down, or of an unknown state, is no reason to send it to a port elsewhere: NCCL lets it
 * share the other GPUs' ports. One of another fabric is no port of the GPU's. */
static void find_served_gpus(const struct role_view *v)
{
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = &v->c->ports[i];
        int alike = (p->layer == v->layer || p->layer == TOPO_LINK_UNKNOWN) &&
                    !(p->rate_Gbps > 0 && p->rate_Gbps < 0.5 * v->best_Gbps);
        int end = v->ends[i], own = !v->excluded[i] || (p->state != TOPO_STATE_ACTIVE && alike);
        for (int g = 0; end >= 0 && g < v->matrix->ngpus && own; g++)
            v->served[g] |= path_between(v->matrix, end, g)->class_ <= PATH_P2C;
    }
}

/* How most of the ports in question are reached: of those beside GPUs where there are any, else of all. */
static void find_transport(struct role_view *v)
{
    double verbs_Gbps = 0, plugin_Gbps = 0, layer_Gbps[3] = {0};
    const char *plugin = NULL;
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = &v->c->ports[i];
        double rate_Gbps = p->rate_Gbps > 0 ? p->rate_Gbps : 1;
        if (v->excluded[i] || (v->nbeside && !is_beside_gpu(&v->verdicts[i])))
            continue;
        if (v->verdicts[i].plugin) {
            plugin = v->verdicts[i].plugin;
            plugin_Gbps += rate_Gbps;
        } else {
            verbs_Gbps += rate_Gbps;
        }
        layer_Gbps[p->layer] += rate_Gbps;
    }
    v->plugin = plugin_Gbps > verbs_Gbps ? plugin : NULL;
    v->layers_even = layer_Gbps[TOPO_LINK_INFINIBAND] > 0 &&
                     !(layer_Gbps[TOPO_LINK_INFINIBAND] > layer_Gbps[TOPO_LINK_ETHERNET]) &&
                     !(layer_Gbps[TOPO_LINK_INFINIBAND] < layer_Gbps[TOPO_LINK_ETHERNET]);
    v->layer =
        layer_Gbps[TOPO_LINK_INFINIBAND] >= layer_Gbps[TOPO_LINK_ETHERNET] ? TOPO_LINK_INFINIBAND : TOPO_LINK_ETHERNET;
}

/* What most of the ports in question have. */
static void find_common_values(struct role_view *v)
{
    const struct topo_class *c = v->c;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        int n = 0;
        if (v->excluded[i] || (p->layer != v->layer && p->layer != TOPO_LINK_UNKNOWN))
            continue;
        if (p->rate_Gbps > v->best_Gbps)
            v->best_Gbps = p->rate_Gbps;
        for (int k = 0; k < c->nports && p->subnet_prefix; k++)
            n += !v->excluded[k] && c->ports[k].subnet_prefix && !strcmp(c->ports[k].subnet_prefix, p->subnet_prefix);
        if (n > v->nprefix) {
            v->nprefix = n;
            v->prefix = p->subnet_prefix;
        }
    }
}

static struct role_view view_ports(const struct topo_class *c, struct arena *a)
{
    size_t n = (size_t)c->nports;
    struct role_view v = {.c = c, .a = a, .matrix = path_matrix(c, a)};
    v.verdicts = arena_alloc(a, n * sizeof *v.verdicts);
    v.excluded = arena_alloc(a, n);
    v.served = arena_alloc(a, (size_t)c->ngpus);
    v.ends = arena_alloc(a, n * sizeof *v.ends);
    v.networks = arena_alloc(a, n * sizeof *v.networks);
    for (int i = 0; i < c->nports; i++) {
        v.ends[i] = path_end_of(v.matrix, c->ports[i].hca);
        v.networks[i] = topo_ip_network(c, c->ports[i].netdev, a);
        find_nearest_gpu(&v, i);
        v.verdicts[i].plugin = topo_port_plugin(c, i);
        v.excluded[i] = apply_rules(&v, i, 0) != 0;
        v.nbeside += !v.excluded[i] && is_beside_gpu(&v.verdicts[i]);
        v.nbeside_down += v.verdicts[i].role == ROLE_DOWN && is_beside_gpu(&v.verdicts[i]);
    }
    find_transport(&v);
    find_common_values(&v);
    find_served_gpus(&v);
    find_odd_ports(&v, is_same_model, 0, &v.boards);
    find_odd_ports(&v, is_same_manager, 0, &v.managers);
    find_odd_ports(&v, is_same_fabric, 1, &v.fabrics);
    find_odd_ports(&v, is_same_network, 0, &v.by_network);
    find_symmetry(&v);
    for (int i = 0; i < c->nports; i++)
        if (!v.excluded[i] && !apply_rules(&v, i, 1)) {
            v.verdicts[i].role = ROLE_COMPUTE;
            v.verdicts[i].reason = explain_compute(&v, i);
        }
    return v;
}

struct port_verdict *roles_of(const struct topo_class *c, struct arena *a)
{
    return view_ports(c, a).verdicts;
}

int roles_evidence(const struct topo_class *c, int port, struct arena *a, struct role_evidence **rows)
{
    struct role_view v = view_ports(c, a);
    int n = 0;
    while (role_rules[n].name)
        n++;
    *rows = arena_alloc(a, (size_t)n * sizeof **rows);
    for (int i = 0; i < n; i++) {
        (*rows)[i] = role_rules[i].look(&v, port);
        (*rows)[i].rule = role_rules[i].name;
    }
    return n;
}
