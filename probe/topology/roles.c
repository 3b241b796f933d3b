/* Roles of RDMA ports: every port goes through a table of rules, of which the first that speaks against it decides.
 * Facts about the device come first, then what sets it apart from its neighbours, names last. */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "probe/topology/topology.h"

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
    const char *prefix;         /* the subnet prefix that most of them have */
    int nprefix;
    const char *plugin; /* through which most of the bandwidth in question is reached; NULL: verbs */
};

/* A rule: the first one that speaks against a port decides. */
struct role_rule {
    const char *name; /* "rate" */
    struct role_evidence (*look)(const struct role_view *v, int port);
    int neighbours; /* weighs the port against its neighbours; those on the device alone come first */
};

enum { MELLANOX = 0x15b3, BLACKWELL = 100 };
#define SLOW_Gbps 40 /* below it: management rather than storage */

const char *role_name(enum port_role role)
{
    static const char *const names[] = {"unknown",           "compute", "storage", "management",
                                        "nvlink-management", "bond",    "vf",      "down"};
    return names[role];
}

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

static const struct topo_netdev *netdev_named(const struct topo_class *c, const char *name)
{
    int at = topo_find_netdev(c, name);
    return at < 0 ? NULL : &c->netdevs[at];
}

/* ---- the device alone -------------------------------------------------------------------------------------------- */

static struct role_evidence see_state(const struct role_view *v, int port)
{
    switch (v->c->ports[port].state) {
    case TOPO_STATE_DOWN:
        return against(ROLE_DOWN, "the port is down");
    case TOPO_STATE_ACTIVE:
        return fine("active");
    default:
        /* What a plugin reaches is on no list, so that nothing wrong can come of it. */
        return v->verdicts[port].plugin ? fine("not known") : against(ROLE_UNKNOWN, "its state could not be read");
    }
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
               ? against(ROLE_NVLINK_MANAGEMENT, "its product data say that it manages NVLink switches")
               : fine("no word of NVLink switches");
}

/* The port, up and ours, on the function at that address, or on any physical one of the same vendor on the bus. */
static const char *physical_port(const struct role_view *v, const struct topo_object *vf)
{
    const char *colon = vf->pci ? strrchr(vf->pci, ':') : NULL;
    for (int i = 0; i < v->c->nports; i++) {
        const struct topo_port *p = &v->c->ports[i];
        const struct topo_object *o = nic_of(v, i);
        if (!o || !o->pci || p->state != TOPO_STATE_ACTIVE || p->opens == TOPO_NO)
            continue;
        if (vf->pf ? !strcmp(o->pci, vf->pf)
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
    if (d && d->kind == TOPO_NET_BOND)
        return fine(arena_printf(v->a, "one device for the bond %s", d->name));
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
    return against(ROLE_STORAGE,
                   arena_printf(v->a, "by verbs, while most of the bandwidth is reached through %s", v->plugin));
}

static struct role_evidence see_layer(const struct role_view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    int slow = p->rate_Gbps > 0 && p->rate_Gbps < SLOW_Gbps;
    if (p->layer == TOPO_LINK_UNKNOWN)
        return fine(NULL);
    if (p->layer == v->layer)
        return fine(name_layer(p->layer));
    return against(slow ? ROLE_MANAGEMENT : ROLE_STORAGE,
                   arena_printf(v->a, "%s at %g Gb/s, while most of the bandwidth is %s", name_layer(p->layer),
                                p->rate_Gbps, name_layer(v->layer)));
}

static int same_text(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

static int same_card_model(const struct topo_port *p, const struct topo_object *a, const struct topo_port *q,
                           const struct topo_object *b)
{
    return same_text(p->board_id, q->board_id) ||
           (!p->board_id && !q->board_id && a && b && a->subsystem_device && a->vendor == b->vendor &&
            a->device == b->device && a->subsystem_device == b->subsystem_device);
}

/* A faster port, of another model, that is as near to every GPU to which the port is nearest. */
static const char *find_faster_port(const struct role_view *v, int port)
{
    const struct path_matrix *m = v->matrix;
    const struct topo_port *p = &v->c->ports[port];
    int end = path_end_of(m, p->hca);
    for (int i = 0; i < v->c->nports && end >= 0; i++) {
        const struct topo_port *q = &v->c->ports[i];
        int other = v->excluded[i] ? -1 : path_end_of(m, q->hca), near = 1;
        if (other < 0 || !(q->rate_Gbps > p->rate_Gbps) || same_card_model(p, nic_of(v, port), q, nic_of(v, i)))
            continue;
        for (int g = 0; g < m->ngpus; g++)
            near &= path_between(m, end, g)->class_ != v->verdicts[port].nearest_class ||
                    path_between(m, other, g)->class_ <= path_between(m, end, g)->class_;
        if (near)
            return q->hca;
    }
    return NULL;
}

/* A port beside a GPU may have lost half its lanes and is still the GPU's, unless the GPU has a faster one of another
 * model; one elsewhere was bought slower. */
static struct role_evidence see_rate(const struct role_view *v, int port)
{
    double own = v->c->ports[port].rate_Gbps;
    int beside = is_beside_gpu(&v->verdicts[port]);
    if (!(own > 0))
        return fine(NULL);
    enum port_role role = own < SLOW_Gbps ? ROLE_MANAGEMENT : ROLE_STORAGE;
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
    int end = path_end_of(v->matrix, v->c->ports[port].hca);
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
    int index = v->c->gpus[own->nearest_gpu].index;
    const char *way = path_class_name(own->nearest_class);
    if (!v->nbeside || is_beside_gpu(own) || serves_lone_gpu(v, port))
        return fine(arena_printf(v->a, "%s GPU%d (%s)", is_beside_gpu(own) ? "beside" : "nearest to", index, way));
    return against(ROLE_STORAGE, arena_printf(v->a, "beside no GPU (nearest: GPU%d, %s), while %d others are", index,
                                              way, v->nbeside));
}

/* Rails may have a subnet each, but then each is as large as the next. */
static struct role_evidence see_subnet(const struct role_view *v, int port)
{
    const char *own = v->c->ports[port].subnet_prefix;
    int n = 0;
    if (!own || !v->prefix || !strcmp(own, v->prefix))
        return fine(own);
    for (int i = 0; i < v->c->nports; i++)
        n += !v->excluded[i] && same_text(v->c->ports[i].subnet_prefix, own);
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
    {"product data", see_product_data},
    {"virtual function", see_virtual_function},
    {"bond", see_bond},
    {"access", see_access},
    {"name in a list", see_plain_name},
    {"NVLink bridge", see_nvlink_bridge, 1},
    {"others down", see_others_down, 1},
    {"driver", see_transport, 1},
    {"link layer", see_layer, 1},
    {"rate", see_rate, 1},
    {"distance", see_distance, 1},
    {"subnet", see_subnet, 1},
    {"name", see_name, 1},
    {NULL, NULL},
};

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* Devices that speak no verbs that NCCL knows: Amazon's EFA, HPE's Slingshot, Cisco's usNIC. */
static const char *plugin_of(const struct role_view *v, int port)
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
    const struct topo_object *o = nic_of(v, port);
    uint16_t vendor = o ? o->vendor : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int named = !fnmatch(others[i].pattern, v->c->ports[port].hca, 0);
        /* A name alone tells where nothing else does. */
        if (named && (others[i].vendor ? others[i].vendor == vendor : !vendor))
            return others[i].plugin;
    }
    return NULL;
}

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
    return arena_printf(v->a, "%s, %s GPU%d (%s)", what, is_beside_gpu(own) ? "beside" : "nearest to",
                        v->c->gpus[own->nearest_gpu].index, path_class_name(own->nearest_class));
}

/* Whether a rule of that kind speaks against the port; the first one decides. */
static int apply_rules(const struct role_view *v, int port, int neighbours)
{
    for (const struct role_rule *r = role_rules; r->name; r++) {
        struct role_evidence s = r->neighbours == neighbours ? r->look(v, port) : fine(NULL);
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
    int end = path_end_of(v->matrix, v->c->ports[port].hca);
    own->nearest_gpu = -1;
    own->nearest_class = PATH_UNKNOWN;
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++) {
        enum path_class class_ = path_between(v->matrix, end, g)->class_;
        if (class_ < own->nearest_class) {
            own->nearest_class = class_;
            own->nearest_gpu = g;
        }
    }
}

static void find_served_gpus(const struct role_view *v)
{
    for (int i = 0; i < v->c->nports; i++) {
        int end = path_end_of(v->matrix, v->c->ports[i].hca);
        for (int g = 0; end >= 0 && g < v->matrix->ngpus && !v->excluded[i]; g++)
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
    for (int i = 0; i < c->nports; i++) {
        find_nearest_gpu(&v, i);
        v.verdicts[i].plugin = plugin_of(&v, i);
        v.excluded[i] = apply_rules(&v, i, 0) != 0;
        v.nbeside += !v.excluded[i] && is_beside_gpu(&v.verdicts[i]);
        v.nbeside_down += v.verdicts[i].role == ROLE_DOWN && is_beside_gpu(&v.verdicts[i]);
    }
    find_served_gpus(&v);
    find_transport(&v);
    find_common_values(&v);
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

const char *roles_hca_list(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a)
{
    const char *list = NULL;
    int n = 0;
    for (int i = 0; i < c->nports && n < ROLES_MOST_HCAS; i++)
        if (verdicts[i].role == ROLE_COMPUTE && !verdicts[i].plugin) {
            list = arena_printf(a, "%s%s%s:%d", list ? list : "=", list ? "," : "", c->ports[i].hca, c->ports[i].port);
            n++;
        }
    return list;
}

/* ---- the list of HCAs for all classes ---------------------------------------------------------------------------- */

static int has_compute_port(const struct topo_class *c, const struct port_verdict *verdicts, const struct topo_port *p)
{
    for (int i = 0; i < c->nports; i++)
        if (verdicts[i].role == ROLE_COMPUTE && c->ports[i].port == p->port && c->ports[i].layer == p->layer &&
            !strcmp(c->ports[i].hca, p->hca))
            return 1;
    return 0;
}

const char *roles_hca_common(const struct topology *t, struct arena *a, const char **why)
{
    const struct port_verdict **verdicts = arena_alloc(a, (size_t)t->nclasses * sizeof *verdicts);
    const struct topo_class *first = NULL;
    struct port_verdict *common = NULL;
    *why = "no class of nodes has an RDMA port";
    for (int i = 0; i < t->nclasses; i++) {
        verdicts[i] = roles_of(&t->classes[i], a);
        if (t->classes[i].nports && !roles_hca_list(&t->classes[i], verdicts[i], a)) {
            *why = arena_printf(a, "%s has no compute port", t->classes[i].name);
            return NULL;
        }
        if (!first && t->classes[i].nports) {
            first = &t->classes[i];
            common = roles_of(first, a);
        }
    }
    for (int i = 0; first && i < t->nclasses; i++) {
        if (!t->classes[i].nports && !t->classes[i].ngpus)
            continue;
        for (int k = 0; k < first->nports; k++)
            if (common[k].role == ROLE_COMPUTE && !has_compute_port(&t->classes[i], verdicts[i], &first->ports[k]))
                common[k].role = ROLE_UNKNOWN;
        if (!roles_hca_list(first, common, a)) {
            *why = arena_printf(
                a, "no port name, number and link layer is a compute port in %s and in the classes before it",
                t->classes[i].name);
            return NULL;
        }
    }
    return first ? roles_hca_list(first, common, a) : NULL;
}

/* ---- rails: by subnet prefix (InfiniBand) or by the IPv4 network of the port's interface (Ethernet) -------------- */

/* "10.0.1.7/24" as "10.0.1.0/24"; NULL when it is no IPv4 address with a prefix length. */
static const char *network_of_address(struct arena *a, const char *address)
{
    const char *slash = strchr(address, '/');
    struct in_addr in;
    char text[INET_ADDRSTRLEN];
    long bits = slash ? strtol(slash + 1, NULL, 10) : -1;
    if (bits < 1 || bits > 32 || inet_pton(AF_INET, arena_strndup(a, address, (size_t)(slash - address)), &in) != 1)
        return NULL;
    in.s_addr &= htonl(UINT32_MAX << (32 - bits));
    return inet_ntop(AF_INET, &in, text, sizeof text) ? arena_printf(a, "%s/%ld", text, bits) : NULL;
}

static const char *network_of_port(const struct topo_class *c, const struct topo_port *p, struct arena *a)
{
    if (p->layer == TOPO_LINK_INFINIBAND)
        return p->subnet_prefix;
    const struct topo_netdev *d = netdev_named(c, p->netdev);
    const char *network = NULL;
    for (int i = 0; d && i < d->naddresses && !network; i++)
        network = network_of_address(a, d->addresses[i]);
    return network;
}

int topo_rails(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a, struct rail **rails)
{
    int n = 0;
    *rails = NULL;
    for (int i = 0; i < c->nports; i++) {
        const char *network = verdicts[i].role == ROLE_COMPUTE ? network_of_port(c, &c->ports[i], a) : NULL;
        int at = 0;
        if (!network)
            continue;
        while (at < n && strcmp((*rails)[at].network, network) != 0)
            at++;
        if (at == n) {
            *rails = arena_grow(a, *rails, (size_t)n, sizeof **rails);
            (*rails)[n++] = (struct rail){.network = network};
        }
        struct rail *r = &(*rails)[at];
        r->ports = arena_grow(a, r->ports, (size_t)r->nports, sizeof *r->ports);
        r->ports[r->nports++] = i;
    }
    return n;
}
