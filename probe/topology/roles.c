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

/* A port, and what belongs to it. */
struct role_port {
    int index; /* into the class's ports */
    const struct topo_port *p;
    const struct topo_object *nic;    /* NULL: unknown */
    const struct topo_netdev *netdev; /* NULL: none or unknown */
    const char *network;              /* of the interface's IPv4 address */
    struct port_verdict *verdict;
    int end;      /* in the matrix; -1: none */
    int excluded; /* by the rules on the device alone */
};

struct role_view {
    const struct topo_class *c;
    struct arena *a;
    const struct path_matrix *matrix;
    struct role_port *ports;
    unsigned char *served;      /* GPUs that have a port beside them */
    int nbeside, nbeside_down;  /* ports beside a GPU that are in question, and that are down */
    enum topo_link_layer layer; /* the one that carries most of the bandwidth in question */
    double best_Gbps;           /* of the ports in question with that layer */
    int layers_even;            /* as much of it is of the other */
    const char *prefix;         /* the subnet prefix that most of them have */
    int nprefix;
    const char *plugin; /* through which most of the bandwidth in question is reached; NULL: verbs */
    struct odd_ports boards, managers, fabrics, by_network;
    int *gpu_ports;  /* ports of the usual kind beside each GPU */
    int usual_ports; /* ports beside a GPU, as most GPUs have them; 0: there is no such number */
};

/* A rule: the first one that speaks against a port decides. */
struct role_rule {
    const char *name; /* "rate" */
    struct role_evidence (*look)(const struct role_view *v, const struct role_port *own);
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
static int is_beside_gpu(const struct role_port *own)
{
    return own->verdict->nearest_gpu >= 0 && own->verdict->nearest_class <= PATH_P2C;
}

/* The way to the nearest GPU in the matrix's word, with NCCL's class where that is another one. */
static const char *name_way(const struct role_view *v, const struct role_port *own)
{
    char word[PATH_WORD];
    const char *class_ = path_class_name(own->verdict->nearest_class);
    path_word(word, path_between(v->matrix, own->end, own->verdict->nearest_gpu));
    return strcmp(word, class_) ? arena_printf(v->a, "%s, for NCCL %s", word, class_) : class_;
}

/* "GPU0", "GPU0 and GPU2", "GPU0 to GPU3": the port's nearest GPU and those that are as near, by the same way. */
static const char *name_gpus(const struct role_view *v, const struct role_port *own)
{
    const struct topo_path *way = path_between(v->matrix, own->end, own->verdict->nearest_gpu);
    const char *names = "", *last = "";
    int n = 0, first = 0, row = 1; /* one behind the other */
    for (int g = 0; g < v->matrix->ngpus; g++) {
        const struct topo_path *p = path_between(v->matrix, own->end, g);
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

/* ---- the device alone -------------------------------------------------------------------------------------------- */

static struct role_evidence see_state(const struct role_view *v, const struct role_port *own)
{
    const struct topo_netdev *d = own->netdev;
    switch (own->p->state) {
    case TOPO_STATE_DOWN:
        return against(ROLE_DOWN,
                       d && d->master
                           ? arena_printf(v->a, "the port is down; its interface %s belongs to %s", d->name, d->master)
                           : "the port is down");
    case TOPO_STATE_ACTIVE:
        return fine("active");
    default:
        /* What a plugin reaches is on no list, so that nothing wrong can come of it. */
        if (own->verdict->plugin)
            return fine("not known");
        if (d && d->state == TOPO_STATE_DOWN) /* an IPoIB interface may be, of a port that is active */
            return against(ROLE_UNKNOWN,
                           arena_printf(v->a, "its interface %s is down; the port's own state is not known", d->name));
        return against(ROLE_UNKNOWN, "its state could not be read");
    }
}

/* NCCL connects queue pairs by itself, which iWARP does through a connection manager only, and usNIC not at all. */
static struct role_evidence see_node_type(const struct role_view *v, const struct role_port *own)
{
    const char *type = own->p->node_type;
    if (!type && !strncmp(own->p->hca, "usnic_", 6)) /* hwloc files name devices alone */
        type = "usNIC";
    if (!type || (strcmp(type, "RNIC") != 0 && strncmp(type, "usNIC", 5) != 0))
        return fine(type);
    return against(ROLE_UNKNOWN, arena_printf(v->a, "node type %s%s: not a transport of NCCL", type,
                                              strcmp(type, "RNIC") ? "" : " (iWARP)"));
}

static struct role_evidence see_port_name(const struct role_view *v, const struct role_port *own)
{
    const struct topo_netdev *d = own->netdev;
    if (!d || !topo_is_representor(d->port_name))
        return fine(d ? d->port_name : NULL);
    return against(ROLE_UNKNOWN,
                   arena_printf(v->a, "its interface %s is the representor %s of a function: raw Ethernet", d->name,
                                d->port_name));
}

/* Without a GID no queue pair of RoCE can be connected. */
static struct role_evidence see_gids(const struct role_view *v, const struct role_port *own)
{
    int n = 0;
    for (int i = 0; i < v->c->ngids; i++)
        n += v->c->gids[i].port == own->index;
    if (own->p->no_gids == TOPO_YES && own->p->layer == TOPO_LINK_ETHERNET && !own->verdict->plugin)
        return against(ROLE_UNKNOWN, "Ethernet with no GID: RoCE is off, or it is a representor's port");
    return fine(n ? arena_printf(v->a, "%d entr%s", n, n == 1 ? "y" : "ies") : NULL);
}

static struct role_evidence see_access(const struct role_view *v, const struct role_port *own)
{
    (void)v;
    return own->p->opens == TOPO_NO
               ? against(ROLE_UNKNOWN, "it cannot be opened here: it belongs to another RDMA namespace or user")
               : fine(NULL);
}

static struct role_evidence see_product_data(const struct role_view *v, const struct role_port *own)
{
    (void)v;
    enum topo_known manages = own->nic ? own->nic->nvlink_management : TOPO_NOT_KNOWN;
    return manages == TOPO_YES ? against(ROLE_NVLINK_MANAGEMENT, "it manages NVLink switches, by its product data")
                               : fine(manages == TOPO_NO ? "no NVLink switches" : NULL);
}

/* The port, up and ours, on the function at that address, or on any physical one of the same vendor on the bus. A card
 * whose functions are one bond has one device for both of them. */
static const char *physical_port(const struct role_view *v, const struct topo_object *vf)
{
    const char *colon = vf->pci ? strrchr(vf->pci, ':') : NULL;
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = v->ports[i].p;
        const struct topo_object *o = v->ports[i].nic;
        const struct topo_netdev *d = v->ports[i].netdev;
        int bonded = d && d->kind == TOPO_NET_BOND;
        if (!o || !o->pci || p->state != TOPO_STATE_ACTIVE || p->opens == TOPO_NO)
            continue;
        if (vf->pf ? !strcmp(o->pci, vf->pf) || (bonded && pci_same_card(o->pci, vf->pf))
                   : colon && o->vendor == vf->vendor && o->model && !strstr(o->model, "Virtual Function") &&
                         !strncmp(o->pci, vf->pci, (size_t)(colon - vf->pci) + 1))
            return p->hca;
    }
    return NULL;
}

/* A virtual function gives way to its physical one. In a guest or a pod that is not there, or only as a PCI function,
 * and the virtual function is all that there is. */
static struct role_evidence see_virtual_function(const struct role_view *v, const struct role_port *own)
{
    const struct topo_object *o = own->nic;
    if (!o || !(o->pf || (o->model && strstr(o->model, "Virtual Function"))))
        return fine(o && o->vfs ? arena_printf(v->a, "physical, with %d virtual functions", o->vfs) : NULL);
    const char *physical = physical_port(v, o);
    return physical ? against(ROLE_VF, arena_printf(v->a, "a virtual function of %s, which is active itself", physical))
                    : fine("a virtual function; its physical one has no active port here");
}

/* The mlx5 driver makes one device of the two ports of a bond, on which NCCL runs as on any other. A device for which
 * it did not is half of a bond that only sockets know. */
static struct role_evidence see_bond(const struct role_view *v, const struct role_port *own)
{
    const struct topo_netdev *d = own->netdev, *master = d ? topo_find_netdev(v->c, d->master) : NULL;
    if (master && master->kind == TOPO_NET_BOND)
        return against(ROLE_BOND, arena_printf(v->a, "its interface %s belongs to the bond %s", d->name, master->name));
    if (d && d->kind == TOPO_NET_BOND) {
        const char *down = topo_slave_down(v->c, d->name);
        return fine(arena_printf(v->a, "one device for the bond %s%s%s", d->name, down ? ", of which " : "",
                                 down ? arena_printf(v->a, "%s is down", down) : ""));
    }
    return fine(strstr(own->p->hca, "_bond_") ? "one device for a bond, by its name" : NULL);
}

/* Anything else in a name would change the meaning of the list. */
static struct role_evidence see_plain_name(const struct role_view *v, const struct role_port *own)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const char *hca = own->p->hca;
    (void)v;
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
static struct role_evidence see_nvlink_bridge(const struct role_view *v, const struct role_port *own)
{
    const struct topo_object *o = own->nic;
    if (!o || o->vendor != MELLANOX || own->p->layer != TOPO_LINK_INFINIBAND ||
        o->nvlink_management != TOPO_NOT_KNOWN || !has_blackwell(v->c) || is_beside_gpu(own))
        return fine(NULL);
    if (!v->nbeside && !v->nbeside_down && !v->plugin)
        return fine("its product data could not be read (root may)");
    return against(ROLE_NVLINK_MANAGEMENT, "beside no GPU, like the ports that manage NVLink switches here; only root "
                                           "can read its product data");
}

/* The ports that were made for the GPUs are down: what is up, far away, is something else. */
static struct role_evidence see_others_down(const struct role_view *v, const struct role_port *own)
{
    if (v->nbeside || !v->nbeside_down || own->verdict->nearest_gpu < 0)
        return fine(NULL);
    return against(
        ROLE_UNKNOWN,
        arena_printf(v->a, "active, but beside no GPU, while the %d that are beside one are down", v->nbeside_down));
}

static struct role_evidence see_transport(const struct role_view *v, const struct role_port *own)
{
    if (own->verdict->plugin || !v->plugin)
        return fine(own->verdict->plugin ? own->verdict->plugin : own->nic ? own->nic->driver : NULL);
    return against(role_by_rate(own->p),
                   arena_printf(v->a, "by verbs, while most of the bandwidth is reached through %s", v->plugin));
}

static struct role_evidence see_layer(const struct role_view *v, const struct role_port *own)
{
    const struct topo_port *p = own->p;
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

/* Whether two ports are of one kind; of a port and itself: whether its kind is known. */
typedef int is_alike(const struct role_port *x, const struct role_port *y);

static int is_same_model(const struct role_port *x, const struct role_port *y)
{
    const struct topo_object *a = x->nic, *b = y->nic;
    return topo_same_text(x->p->board_id, y->p->board_id) ||
           (!x->p->board_id && !y->p->board_id && a && b && a->subsystem_device && a->vendor == b->vendor &&
            a->device == b->device && a->subsystem_device == b->subsystem_device);
}

static int is_same_manager(const struct role_port *x, const struct role_port *y)
{
    const struct topo_port *p = x->p, *q = y->p;
    return p->sm_lid > 0 && p->sm_lid == q->sm_lid &&
           (!p->subnet_prefix || !q->subnet_prefix || !strcmp(p->subnet_prefix, q->subnet_prefix));
}

static int is_same_fabric(const struct role_port *x, const struct role_port *y)
{
    return topo_same_text(x->p->fabric, y->p->fabric);
}

static int is_same_network(const struct role_port *x, const struct role_port *y)
{
    return topo_same_text(x->network, y->network);
}

/* Whether it is in question with the ports that carry most: by its link layer, and reached as they are. */
static int is_rival(const struct role_view *v, const struct role_port *own)
{
    return !own->excluded && (own->p->layer == v->layer || own->p->layer == TOPO_LINK_UNKNOWN) &&
           !own->verdict->plugin == !v->plugin;
}

/* Whether a port like `usual` is as near to every GPU to which the port is nearest. */
static int is_replaced(const struct role_view *v, const struct role_port *own, const struct role_port *usual,
                       is_alike *alike)
{
    const struct path_matrix *m = v->matrix;
    int known = own->verdict->nearest_gpu >= 0;
    for (int g = 0; known && g < m->ngpus; g++) {
        enum path_class class_ = path_between(m, own->end, g)->class_;
        int near = class_ != own->verdict->nearest_class;
        for (int i = 0; i < v->c->nports && !near; i++) {
            const struct role_port *x = &v->ports[i];
            near = x->end >= 0 && path_between(m, x->end, g)->class_ <= class_ && is_rival(v, x) &&
                   (x == usual || (alike && alike(x, usual)));
        }
        known = near;
    }
    return known;
}

/* For every port that is an odd one out: a port of the kind that most are of, and that serves the same GPUs. `certain`:
 * ports of two kinds never belong together. */
static void find_odd_ports(const struct role_view *v, is_alike *alike, int certain, struct odd_ports *odd)
{
    int n = v->c->nports, *count = arena_alloc(v->a, (size_t)n * sizeof *count);
    const struct role_port *ports = v->ports;
    odd->usual = arena_alloc(v->a, (size_t)n * sizeof *odd->usual);
    odd->count = count;
    odd->first = -1;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n && is_rival(v, &ports[i]); k++)
            count[i] += is_rival(v, &ports[k]) && alike(&ports[i], &ports[k]);
        odd->all += is_rival(v, &ports[i]);
        if (count[i] > odd->of_kind) {
            odd->of_kind = count[i];
            odd->first = i;
        }
    }
    for (int i = 0; i < n; i++) {
        int is_odd = count[i] > 0 && !alike(&ports[i], &ports[odd->first]) &&
                     (certain || (2 * odd->of_kind > odd->all && 2 * count[i] <= odd->of_kind));
        odd->usual[i] = is_odd && is_replaced(v, &ports[i], &ports[odd->first], alike) ? odd->first : -1;
    }
}

/* An odd one out is for storage or the host: its GPUs have a port of the usual kind as near. `name` says of which kind
 * a port is, NULL if that is not known. */
static struct role_evidence see_odd(const struct role_view *v, const struct odd_ports *odd, const struct role_port *own,
                                    const char *(*name)(const struct role_view *v, const struct role_port *own))
{
    int usual = odd->usual[own->index];
    if (usual < 0)
        return fine(name(v, own));
    return against(ROLE_STORAGE, arena_printf(v->a, "%s, while %d others have %s and serve the same GPUs", name(v, own),
                                              odd->of_kind, name(v, &v->ports[usual])));
}

static const char *name_model(const struct role_view *v, const struct role_port *own)
{
    const char *board = own->p->board_id;
    if (board || !is_same_model(own, own))
        return board;
    return arena_printf(v->a, "%04x:%04x", own->nic->device, own->nic->subsystem_device);
}

static struct role_evidence see_board(const struct role_view *v, const struct role_port *own)
{
    return see_odd(v, &v->boards, own, name_model);
}

static const char *name_manager(const struct role_view *v, const struct role_port *own)
{
    return own->p->sm_lid ? arena_printf(v->a, "LID %d", own->p->sm_lid) : NULL;
}

/* Fabrics that nobody gave a prefix of their own have the same one; their subnet managers differ. */
static struct role_evidence see_manager(const struct role_view *v, const struct role_port *own)
{
    const struct odd_ports *m = &v->managers;
    struct role_evidence e = see_odd(v, m, own, name_manager);
    int n = m->count[own->index];
    e.open = n && 2 * n == m->all && n == m->of_kind && !is_same_manager(own, &v->ports[m->first]) &&
             is_replaced(v, own, &v->ports[m->first], is_same_manager);
    return e; /* two halves: two planes, or one for storage */
}

static const char *name_fabric(const struct role_view *v, const struct role_port *own)
{
    return own->p->fabric ? arena_printf(v->a, "fabric: %s", own->p->fabric) : NULL;
}

/* What ibnetdiscover saw: nothing connects two fabrics. */
static struct role_evidence see_fabric(const struct role_view *v, const struct role_port *own)
{
    struct role_evidence e = see_odd(v, &v->fabrics, own, name_fabric);
    e.open = e.role != ROLE_COMPUTE && v->fabrics.count[own->index] == v->fabrics.of_kind;
    return e;
}

static const char *name_network(const struct role_view *v, const struct role_port *own)
{
    (void)v;
    return own->network;
}

/* By the IPv4 address of the port's interface, IPoIB or Ethernet. */
static struct role_evidence see_network(const struct role_view *v, const struct role_port *own)
{
    return see_odd(v, &v->by_network, own, name_network);
}

/* A faster port, of another model, that is as near to every GPU to which the port is nearest. */
static const char *find_faster_port(const struct role_view *v, const struct role_port *own)
{
    for (int i = 0; i < v->c->nports; i++) {
        const struct role_port *x = &v->ports[i];
        if (is_rival(v, x) && x->p->rate_Gbps > own->p->rate_Gbps && !is_same_model(own, x) && v->boards.usual[i] < 0 &&
            is_replaced(v, own, x, NULL))
            return x->p->hca;
    }
    return NULL;
}

/* A port beside a GPU may have lost half its lanes and is still the GPU's, unless the GPU has a faster one of another
 * model; one elsewhere was bought slower. */
static struct role_evidence see_rate(const struct role_view *v, const struct role_port *own)
{
    double rate = own->p->rate_Gbps;
    int beside = is_beside_gpu(own);
    if (!(rate > 0) || own->p->state == TOPO_STATE_DOWN) /* that of no link */
        return fine(NULL);
    enum port_role role = role_by_rate(own->p);
    const char *faster = beside ? find_faster_port(v, own) : NULL;
    if (faster)
        return against(role, arena_printf(v->a, "%g Gb/s, while the same GPU has %s, which is faster", rate, faster));
    if (rate < (beside ? 0.25 : 0.5) * v->best_Gbps)
        return against(role, arena_printf(v->a, "%g Gb/s, while the fastest have %g", rate, v->best_Gbps));
    return fine(arena_printf(v->a, "%g Gb/s", rate));
}

/* Whether one of the GPUs that are nearest to the port has no other port beside it. */
static int serves_lone_gpu(const struct role_view *v, const struct role_port *own)
{
    for (int g = 0; own->end >= 0 && g < v->matrix->ngpus; g++)
        if (!v->served[g] && path_between(v->matrix, own->end, g)->class_ == own->verdict->nearest_class)
            return 1;
    return 0;
}

static struct role_evidence see_distance(const struct role_view *v, const struct role_port *own)
{
    if (own->verdict->nearest_gpu < 0)
        return fine(NULL);
    const char *way = name_way(v, own), *gpus = name_gpus(v, own);
    if (own->verdict->gpu_missing)
        return fine(arena_printf(
            v->a, "beside no GPU (nearest: %s, %s), though like the others: its GPU seems to be missing", gpus, way));
    if (!v->nbeside || is_beside_gpu(own) || serves_lone_gpu(v, own))
        return fine(arena_printf(v->a, "%s %s (%s)", is_beside_gpu(own) ? "beside" : "nearest to", gpus, way));
    return against(ROLE_STORAGE, arena_printf(v->a, "beside no GPU (nearest: %s, %s); %d other port%s beside one", gpus,
                                              way, v->nbeside, v->nbeside == 1 ? " is" : "s are"));
}

/* ---- ports by GPU ------------------------------------------------------------------------------------------------ */

/* Whether the port is one of those of the usual kind, wherever it is. */
static int is_usual(const struct role_view *v, const struct role_port *own)
{
    int i = own->index;
    return is_rival(v, own) && v->boards.usual[i] < 0 && v->managers.usual[i] < 0 && v->fabrics.usual[i] < 0 &&
           v->by_network.usual[i] < 0 && !(own->p->rate_Gbps < v->best_Gbps / 2);
}

static int is_port_of_gpu(const struct role_view *v, const struct role_port *own, int gpu)
{
    return own->end >= 0 && is_beside_gpu(own) && is_usual(v, own) &&
           path_between(v->matrix, own->end, gpu)->class_ == own->verdict->nearest_class;
}

/* How many ports most GPUs have beside them. And GPUs that seem to be missing: each of a number that no board has has
 * one port, and the ports make up such a number together with some like them that are beside no GPU. */
static void find_symmetry(struct role_view *v)
{
    int with_one = 0, ports = 0, ngpus = v->matrix->ngpus;
    v->gpu_ports = arena_alloc(v->a, (size_t)ngpus * sizeof *v->gpu_ports);
    for (int i = 0; i < v->c->nports; i++) {
        ports += is_usual(v, &v->ports[i]);
        for (int g = 0; g < ngpus; g++)
            v->gpu_ports[g] += is_port_of_gpu(v, &v->ports[i], g);
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
        v->ports[i].verdict->gpu_missing = is_usual(v, &v->ports[i]) && !is_beside_gpu(&v->ports[i]);
}

static char function_of(const struct role_port *own)
{
    const char *dot = own->nic && own->nic->pci ? strrchr(own->nic->pci, '.') : NULL;
    return dot ? dot[1] : '?';
}

/* A GPU that has more ports than most: one on another function of its card is told from those that all have. */
static struct role_evidence see_symmetry(const struct role_view *v, const struct role_port *own)
{
    const char *other = "another";
    int like_it = 0, before = 0, gpu = own->verdict->nearest_gpu, n = gpu < 0 ? 0 : v->gpu_ports[gpu],
        surplus = n - v->usual_ports;
    int own_port = n && is_port_of_gpu(v, own, gpu);
    if (!v->usual_ports || surplus <= 0 || !own_port)
        return fine(own_port ? arena_printf(v->a, "%d port%s beside GPU%d", n, n == 1 ? "" : "s", v->c->gpus[gpu].index)
                             : NULL);
    for (int i = 0; i < v->c->nports; i++) {
        const struct role_port *x = &v->ports[i];
        like_it += is_usual(v, x) && x->p->port == own->p->port && function_of(x) == function_of(own);
        if (x != own && is_port_of_gpu(v, x, gpu)) {
            other = topo_port_name(v->a, x->p);
            before += x < own;
        }
    }
    const char *seen = arena_printf(v->a, "GPU%d has %d ports, most have %d: %s is beside it, too",
                                    v->c->gpus[gpu].index, n, v->usual_ports, other);
    struct role_evidence e = {.seen = seen, .role = ROLE_COMPUTE, .open = before >= v->usual_ports};
    if (like_it <= surplus && 2 * like_it < v->nbeside)
        e = (struct role_evidence){.seen = arena_printf(v->a, "%s; most are not on function %c, port %d", seen,
                                                        function_of(own), own->p->port),
                                   .role = ROLE_STORAGE,
                                   .open = 1};
    return e;
}

/* Rails may have a subnet each, but then each is as large as the next. */
static struct role_evidence see_subnet(const struct role_view *v, const struct role_port *own)
{
    const char *prefix = own->p->subnet_prefix;
    int n = 0;
    if (!prefix || !v->prefix || !strcmp(prefix, v->prefix))
        return fine(prefix);
    for (int i = 0; i < v->c->nports; i++)
        n += !v->ports[i].excluded && topo_same_text(v->ports[i].p->subnet_prefix, prefix);
    return n * 4 <= v->nprefix ? against(ROLE_STORAGE, arena_printf(v->a, "subnet prefix %s, while %d others have %s",
                                                                    prefix, v->nprefix, v->prefix))
                               : fine(prefix);
}

static struct role_evidence see_name(const struct role_view *v, const struct role_port *own)
{
    static const struct {
        const char *pattern;
        enum port_role role;
    } names[] = {
        {"*_an[0-9]*", ROLE_MANAGEMENT}, /* "mlx5_an0": Azure's device of accelerated networking */
        {"*mgmt*", ROLE_MANAGEMENT},     {"*oob*", ROLE_MANAGEMENT},
        {"*stor*", ROLE_STORAGE},        {"*nvmeof*", ROLE_STORAGE},
    };
    const char *netdev = own->p->netdev ? own->p->netdev : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!fnmatch(names[i].pattern, own->p->hca, 0) || !fnmatch(names[i].pattern, netdev, 0))
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

/* The network plugin through which NCCL reaches a port that speaks no verbs that it knows (Amazon's EFA, HPE's
 * Slingshot, Cisco's usNIC); NULL: verbs. */
static const char *plugin_of(const struct role_port *own)
{
    static const struct {
        uint16_t vendor;
        const char *pattern, *plugin;
    } others[] = {
        {0x1d0f, "*", "aws-ofi-nccl (EFA)"},
        {0, "efa_[0-9]*", "aws-ofi-nccl (EFA)"},
        {0, "rdmap[0-9]*s[0-9]*", "aws-ofi-nccl (EFA)"}, /* rdma-core's name for what is neither InfiniBand nor RoCE */
        {0x17db, "*", "an OFI plugin (Slingshot)"},
        {0, "cxi[0-9]*", "an OFI plugin (Slingshot)"},
        {0, "usnic_*", "none that exists (usNIC)"},
    };
    uint16_t vendor = own->nic ? own->nic->vendor : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) /* a name alone tells where nothing else does */
        if (others[i].vendor == vendor && !fnmatch(others[i].pattern, own->p->hca, 0))
            return others[i].plugin;
    return NULL;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static const char *explain_compute(const struct role_view *v, const struct role_port *own)
{
    const struct topo_port *p = own->p;
    const char *what =
        p->rate_Gbps > 0 ? arena_printf(v->a, "%g Gb/s %s", p->rate_Gbps, name_layer(p->layer)) : name_layer(p->layer);
    if (own->verdict->plugin)
        what = arena_printf(v->a, "%s, through %s", what, own->verdict->plugin);
    if (!v->c->ngpus)
        return arena_printf(v->a, "%s; there is no GPU here", what);
    if (own->verdict->nearest_gpu < 0)
        return arena_printf(v->a, "%s; its distance to the GPUs is not known", what);
    return arena_printf(v->a, "%s, %s %s (%s)", what, is_beside_gpu(own) ? "beside" : "nearest to", name_gpus(v, own),
                        name_way(v, own));
}

/* Whether a rule of that kind speaks against the port; the first one decides. */
static int apply_rules(const struct role_view *v, const struct role_port *own, int neighbours)
{
    for (const struct role_rule *r = role_rules; r->name; r++) {
        struct role_evidence s = r->neighbours == neighbours ? r->look(v, own) : fine(NULL);
        own->verdict->open |= s.open;
        if (s.role != ROLE_COMPUTE) {
            own->verdict->role = s.role;
            own->verdict->reason = s.seen;
            return 1;
        }
    }
    return 0;
}

static void find_nearest_gpu(const struct role_view *v, const struct role_port *own)
{
    struct port_verdict *verdict = own->verdict;
    verdict->nearest_gpu = -1;
    verdict->nearest_class = PATH_UNKNOWN;
    for (int g = 0; own->end >= 0 && g < v->matrix->ngpus; g++) {
        const struct topo_path *way = path_between(v->matrix, own->end, g);
        if (way->class_ < verdict->nearest_class ||
            (verdict->nearest_gpu >= 0 && way->class_ == verdict->nearest_class &&
             way->word < path_between(v->matrix, own->end, verdict->nearest_gpu)->word)) {
            verdict->nearest_class = way->class_;
            verdict->nearest_gpu = g;
        }
    }
}

/* A GPU's own port that is down, or of an unknown state, is no reason to send it to a port elsewhere: NCCL lets it
 * share the other GPUs' ports. One of another fabric is no port of the GPU's. */
static void find_served_gpus(const struct role_view *v)
{
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = v->ports[i].p;
        int alike = (p->layer == v->layer || p->layer == TOPO_LINK_UNKNOWN) &&
                    !(p->rate_Gbps > 0 && p->rate_Gbps < 0.5 * v->best_Gbps);
        int end = v->ports[i].end, own = !v->ports[i].excluded || (p->state != TOPO_STATE_ACTIVE && alike);
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
        const struct role_port *own = &v->ports[i];
        double rate_Gbps = own->p->rate_Gbps > 0 ? own->p->rate_Gbps : 1;
        if (own->excluded || (v->nbeside && !is_beside_gpu(own)))
            continue;
        plugin = own->verdict->plugin ? own->verdict->plugin : plugin;
        *(own->verdict->plugin ? &plugin_Gbps : &verbs_Gbps) += rate_Gbps;
        layer_Gbps[own->p->layer] += rate_Gbps;
    }
    double infiniband_Gbps = layer_Gbps[TOPO_LINK_INFINIBAND], ethernet_Gbps = layer_Gbps[TOPO_LINK_ETHERNET];
    v->plugin = plugin_Gbps > verbs_Gbps ? plugin : NULL;
    v->layers_even = infiniband_Gbps > 0 && !(infiniband_Gbps > ethernet_Gbps) && !(infiniband_Gbps < ethernet_Gbps);
    v->layer = infiniband_Gbps >= ethernet_Gbps ? TOPO_LINK_INFINIBAND : TOPO_LINK_ETHERNET;
}

/* What most of the ports in question have. */
static void find_common_values(struct role_view *v)
{
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = v->ports[i].p;
        int n = 0;
        if (v->ports[i].excluded || (p->layer != v->layer && p->layer != TOPO_LINK_UNKNOWN))
            continue;
        if (p->rate_Gbps > v->best_Gbps)
            v->best_Gbps = p->rate_Gbps;
        for (int k = 0; k < v->c->nports; k++)
            n += !v->ports[k].excluded && topo_same_text(v->ports[k].p->subnet_prefix, p->subnet_prefix);
        if (n > v->nprefix) {
            v->nprefix = n;
            v->prefix = p->subnet_prefix;
        }
    }
}

static struct role_view view_ports(const struct topo_class *c, struct arena *a, struct port_verdict **verdicts)
{
    size_t n = (size_t)c->nports;
    struct role_view v = {.c = c, .a = a, .matrix = path_matrix(c, a)};
    *verdicts = arena_alloc(a, n * sizeof **verdicts);
    v.ports = arena_alloc(a, n * sizeof *v.ports);
    v.served = arena_alloc(a, (size_t)c->ngpus);
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        v.ports[i] =
            (struct role_port){.index = i,
                               .p = p,
                               .nic = p->object < 0 || p->object >= c->nobjects ? NULL : &c->objects[p->object],
                               .netdev = topo_find_netdev(c, p->netdev),
                               .network = topo_ip_network(c, p->netdev, a),
                               .verdict = &(*verdicts)[i],
                               .end = path_end_of(v.matrix, p->hca)};
    }
    for (int i = 0; i < c->nports; i++) {
        struct role_port *own = &v.ports[i];
        find_nearest_gpu(&v, own);
        own->verdict->plugin = plugin_of(own);
        own->excluded = apply_rules(&v, own, 0);
        v.nbeside += !own->excluded && is_beside_gpu(own);
        v.nbeside_down += own->verdict->role == ROLE_DOWN && is_beside_gpu(own);
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
        if (!v.ports[i].excluded && !apply_rules(&v, &v.ports[i], 1)) {
            v.ports[i].verdict->role = ROLE_COMPUTE;
            v.ports[i].verdict->reason = explain_compute(&v, &v.ports[i]);
        }
    return v;
}

struct port_verdict *roles_of(const struct topo_class *c, struct arena *a)
{
    struct port_verdict *verdicts;
    view_ports(c, a, &verdicts);
    return verdicts;
}

int roles_evidence(const struct topo_class *c, int port, struct arena *a, struct role_evidence **rows)
{
    struct port_verdict *verdicts;
    struct role_view v = view_ports(c, a, &verdicts);
    int n = 0;
    while (role_rules[n].name)
        n++;
    *rows = arena_alloc(a, (size_t)n * sizeof **rows);
    for (int i = 0; i < n; i++) {
        (*rows)[i] = role_rules[i].look(&v, &v.ports[port]);
        (*rows)[i].rule = role_rules[i].name;
    }
    return n;
}
