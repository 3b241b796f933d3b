/* Roles of RDMA ports: a table of rules, of which the first that applies decides. Facts about the device come first,
 * then what sets it apart from its neighbours, names last. */
#include "probe/topology/roles.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "probe/topology/paths.h"

/* What the rules look at. */
struct view {
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
};

const char *role_name(enum port_role role)
{
    static const char *const names[] = {"unknown",           "compute", "storage", "management",
                                        "nvlink-management", "bond",    "vf",      "down"};
    return names[role];
}

static const char *layer_name(enum topo_link_layer layer)
{
    static const char *const names[] = {"unknown link layer", "InfiniBand", "Ethernet"};
    return names[layer];
}

/* Ways to a GPU that pass no CPU, or only the CPU that the GPU itself hangs on by C2C. */
static int is_beside(const struct port_verdict *v)
{
    return v->nearest_gpu >= 0 && (v->nearest_class <= PATH_P2C);
}

static const struct topo_object *object_of(const struct view *v, int port)
{
    int object = v->c->ports[port].object;
    return object < 0 ? NULL : &v->c->objects[object];
}

static const struct topo_netdev *netdev_named(const struct topo_class *c, const char *name)
{
    for (int i = 0; name && i < c->nnetdevs; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return &c->netdevs[i];
    return NULL;
}

/* Devices that speak no verbs that NCCL knows: Amazon's EFA, HPE's Slingshot, Cisco's usNIC. */
static const char *plugin_of(const struct view *v, int port)
{
    static const struct {
        uint16_t vendor;
        const char *pattern, *plugin;
    } others[] = {
        {0x1d0f, "*", "aws-ofi-nccl (EFA)"},
        {0x17db, "*", "an OFI plugin (Slingshot)"},
        {0, "cxi[0-9]*", "an OFI plugin (Slingshot)"},
        {0, "usnic_*", "none that exists (usNIC)"},
    };
    const struct topo_object *o = object_of(v, port);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if ((!others[i].vendor || (o && o->vendor == others[i].vendor)) &&
            !fnmatch(others[i].pattern, v->c->ports[port].hca, 0))
            return others[i].plugin;
    return NULL;
}

/* ---- rules on the device alone ----------------------------------------------------------------------------------- */

static const char *is_down(const struct view *v, int port)
{
    return v->c->ports[port].state == TOPO_STATE_DOWN ? "the port is down" : NULL;
}

static const char *manages_nvlink(const struct view *v, int port)
{
    const struct topo_object *o = object_of(v, port);
    return o && o->nvlink_management == TOPO_YES ? "its product data say that it manages NVLink switches" : NULL;
}

/* On the same bus as another function of that vendor that is no virtual one. */
static const char *physical_neighbour(const struct view *v, const struct topo_object *vf)
{
    const char *colon = vf->pci ? strrchr(vf->pci, ':') : NULL;
    for (int i = 0; colon && i < v->c->nobjects; i++) {
        const struct topo_object *o = &v->c->objects[i];
        if (o->kind == TOPO_NIC && o->pci && o->vendor == vf->vendor && o->model &&
            !strncmp(o->pci, vf->pci, (size_t)(colon - vf->pci) + 1) && !strstr(o->model, "Virtual Function"))
            return o->pci;
    }
    return NULL;
}

/* A virtual function whose physical one is here too. In a guest that was given a virtual function it is not, and the
 * virtual function is all that there is. */
static const char *is_vf(const struct view *v, int port)
{
    const struct topo_object *o = object_of(v, port);
    const char *pf = o ? o->pf : NULL;
    if (!pf && o && o->model && strstr(o->model, "Virtual Function"))
        pf = physical_neighbour(v, o);
    return pf ? arena_printf(v->a, "a virtual function of %s", pf) : NULL;
}

static const char *is_bond(const struct view *v, int port)
{
    const struct topo_netdev *d = netdev_named(v->c, v->c->ports[port].netdev);
    const struct topo_netdev *master = d ? netdev_named(v->c, d->master) : NULL;
    if (d && d->kind == TOPO_NET_BOND)
        return arena_printf(v->a, "its interface %s is a bond", d->name);
    if (master && master->kind == TOPO_NET_BOND)
        return arena_printf(v->a, "its interface %s belongs to the bond %s", d->name, master->name);
    /* The mlx5 driver itself names the device of a bond so. */
    return strstr(v->c->ports[port].hca, "_bond_") ? "a bond, by the name that its driver gave it" : NULL;
}

static const char *has_no_state(const struct view *v, int port)
{
    return v->c->ports[port].state == TOPO_STATE_UNKNOWN ? "its state could not be read" : NULL;
}

/* Anything else in a name would change the meaning of the list. */
static const char *has_odd_name(const struct view *v, int port)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const char *hca = v->c->ports[port].hca;
    return *hca && !hca[strspn(hca, plain)] ? NULL : "its name cannot stand in NCCL_IB_HCA";
}

/* ---- rules against the neighbours -------------------------------------------------------------------------------- */

/* The ports that were made for the GPUs are down: what is up, far away, is something else. */
static const char *is_left_over(const struct view *v, int port)
{
    if (v->nbeside || !v->nbeside_down || v->verdicts[port].nearest_gpu < 0)
        return NULL;
    return arena_printf(v->a, "active, but beside no GPU, while the %d that are beside one are down", v->nbeside_down);
}

static int is_slow(const struct view *v, int port, double limit_Gbps)
{
    double rate = v->c->ports[port].rate_Gbps;
    return rate > 0 && rate < limit_Gbps;
}

static const char *other_layer(const struct view *v, int port, int slow)
{
    const struct topo_port *p = &v->c->ports[port];
    const double slow_Gbps = 40;
    if (p->layer == v->layer || p->layer == TOPO_LINK_UNKNOWN || is_slow(v, port, slow_Gbps) != slow)
        return NULL;
    return arena_printf(v->a, "%s at %g Gb/s, while most of the bandwidth is %s", layer_name(p->layer), p->rate_Gbps,
                        layer_name(v->layer));
}

static const char *slow_other_layer(const struct view *v, int port)
{
    return other_layer(v, port, 1);
}

static const char *fast_other_layer(const struct view *v, int port)
{
    return other_layer(v, port, 0);
}

/* A port beside a GPU may have lost half its lanes and is still the GPU's; one elsewhere was bought slower. */
static const char *too_slow(const struct view *v, int port, double low_Gbps, double high_Gbps)
{
    double rate = v->c->ports[port].rate_Gbps, share = is_beside(&v->verdicts[port]) ? 0.25 : 0.5;
    if (!is_slow(v, port, share * v->best_Gbps) || rate < low_Gbps || rate >= high_Gbps)
        return NULL;
    return arena_printf(v->a, "%g Gb/s, while the fastest have %g", rate, v->best_Gbps);
}

static const char *slow_for_management(const struct view *v, int port)
{
    return too_slow(v, port, 0, 40);
}

static const char *slow_for_storage(const struct view *v, int port)
{
    return too_slow(v, port, 40, 1e12);
}

/* Whether one of the GPUs that are nearest to the port has no other port beside it. */
static int serves_someone(const struct view *v, int port)
{
    int end = path_end_of(v->matrix, v->c->ports[port].hca);
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++)
        if (!v->served[g] && (int)path_between(v->matrix, end, g)->class_ == v->verdicts[port].nearest_class)
            return 1;
    return 0;
}

static const char *is_far(const struct view *v, int port)
{
    const struct port_verdict *own = &v->verdicts[port];
    if (!v->nbeside || own->nearest_gpu < 0 || is_beside(own) || serves_someone(v, port))
        return NULL;
    return arena_printf(v->a, "beside no GPU (nearest: GPU%d, %s), while %d others are",
                        v->c->gpus[own->nearest_gpu].index, path_class_name((enum path_class)own->nearest_class),
                        v->nbeside);
}

/* Rails may have a subnet each, but then each is as large as the next. */
static const char *other_subnet(const struct view *v, int port)
{
    const char *own = v->c->ports[port].subnet_prefix;
    int n = 0;
    if (!own || !v->prefix || !strcmp(own, v->prefix))
        return NULL;
    for (int i = 0; i < v->c->nports; i++)
        n += !v->excluded[i] && v->c->ports[i].subnet_prefix && !strcmp(v->c->ports[i].subnet_prefix, own);
    return n * 4 <= v->nprefix
               ? arena_printf(v->a, "subnet prefix %s, while %d others have %s", own, v->nprefix, v->prefix)
               : NULL;
}

static const char *matches(const struct view *v, int port, const char *const *patterns)
{
    const struct topo_port *p = &v->c->ports[port];
    for (; *patterns; patterns++)
        if (!fnmatch(*patterns, p->hca, 0) || (p->netdev && !fnmatch(*patterns, p->netdev, 0)))
            return arena_printf(v->a, "its name is like \"%s\"", *patterns);
    return NULL;
}

static const char *named_management(const struct view *v, int port)
{
    /* "mlx5_an0" is how Azure names the device of accelerated networking. */
    static const char *const patterns[] = {"*_an[0-9]*", "*mgmt*", "*oob*", NULL};
    return matches(v, port, patterns);
}

static const char *named_storage(const struct view *v, int port)
{
    static const char *const patterns[] = {"*stor*", "*nvmeof*", NULL};
    return matches(v, port, patterns);
}

static const char *is_compute(const struct view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    const struct port_verdict *own = &v->verdicts[port];
    const char *what = p->rate_Gbps > 0 ? arena_printf(v->a, "%g Gb/s %s", p->rate_Gbps, layer_name(p->layer))
                                        : arena_printf(v->a, "%s", layer_name(p->layer));
    if (own->plugin)
        what = arena_printf(v->a, "%s, through %s", what, own->plugin);
    if (!v->c->ngpus)
        return arena_printf(v->a, "%s; there is no GPU here", what);
    if (own->nearest_gpu < 0)
        return arena_printf(v->a, "%s; its distance to the GPUs is not known", what);
    return arena_printf(v->a, "%s, %s GPU%d (%s)", what, is_beside(own) ? "beside" : "nearest to",
                        v->c->gpus[own->nearest_gpu].index, path_class_name((enum path_class)own->nearest_class));
}

struct rule {
    enum port_role role;
    const char *(*why)(const struct view *v, int port); /* NULL: the rule does not apply */
};

static const struct rule own_rules[] = {
    {ROLE_DOWN, is_down},
    {ROLE_NVLINK_MANAGEMENT, manages_nvlink},
    {ROLE_VF, is_vf},
    {ROLE_BOND, is_bond},
    {ROLE_UNKNOWN, has_no_state},
    {ROLE_UNKNOWN, has_odd_name},
    {ROLE_UNKNOWN, NULL},
};
static const struct rule other_rules[] = {
    {ROLE_UNKNOWN, is_left_over},
    {ROLE_MANAGEMENT, slow_other_layer},
    {ROLE_STORAGE, fast_other_layer},
    {ROLE_MANAGEMENT, slow_for_management},
    {ROLE_STORAGE, slow_for_storage},
    {ROLE_STORAGE, is_far},
    {ROLE_STORAGE, other_subnet},
    {ROLE_MANAGEMENT, named_management},
    {ROLE_STORAGE, named_storage},
    {ROLE_COMPUTE, is_compute},
    {ROLE_UNKNOWN, NULL},
};

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int decide(const struct view *v, int port, const struct rule *rules)
{
    for (; rules->why; rules++) {
        const char *reason = rules->why(v, port);
        if (reason) {
            v->verdicts[port].role = rules->role;
            v->verdicts[port].reason = reason;
            return 1;
        }
    }
    return 0;
}

static void find_nearest(const struct view *v, int port)
{
    struct port_verdict *own = &v->verdicts[port];
    int end = path_end_of(v->matrix, v->c->ports[port].hca);
    own->nearest_gpu = -1;
    own->nearest_class = PATH_UNKNOWN;
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++) {
        int class_ = (int)path_between(v->matrix, end, g)->class_;
        if (class_ < own->nearest_class) {
            own->nearest_class = class_;
            own->nearest_gpu = g;
        }
    }
}

static void find_served(const struct view *v)
{
    for (int i = 0; i < v->c->nports; i++) {
        int end = path_end_of(v->matrix, v->c->ports[i].hca);
        for (int g = 0; end >= 0 && g < v->matrix->ngpus && !v->excluded[i]; g++)
            v->served[g] |= path_between(v->matrix, end, g)->class_ <= PATH_P2C;
    }
}

/* What most of the ports in question have: of those beside GPUs where there are any, else of all. */
static void find_majority(struct view *v)
{
    const struct topo_class *c = v->c;
    double sum_Gbps[3] = {0};
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        if (!v->excluded[i] && (!v->nbeside || is_beside(&v->verdicts[i])))
            sum_Gbps[p->layer] += p->rate_Gbps > 0 ? p->rate_Gbps : 1;
    }
    v->layer =
        sum_Gbps[TOPO_LINK_INFINIBAND] >= sum_Gbps[TOPO_LINK_ETHERNET] ? TOPO_LINK_INFINIBAND : TOPO_LINK_ETHERNET;
    for (int i = 0; i < c->nports; i++) {
        int n = 0;
        if (v->excluded[i] || (c->ports[i].layer != v->layer && c->ports[i].layer != TOPO_LINK_UNKNOWN))
            continue;
        if (c->ports[i].rate_Gbps > v->best_Gbps)
            v->best_Gbps = c->ports[i].rate_Gbps;
        for (int k = 0; k < c->nports && c->ports[i].subnet_prefix; k++)
            n += !v->excluded[k] && c->ports[k].subnet_prefix &&
                 !strcmp(c->ports[k].subnet_prefix, c->ports[i].subnet_prefix);
        if (n > v->nprefix) {
            v->nprefix = n;
            v->prefix = c->ports[i].subnet_prefix;
        }
    }
}

struct port_verdict *roles_of(const struct topo_class *c, struct arena *a)
{
    size_t n = (size_t)c->nports;
    struct view v = {.c = c, .a = a, .matrix = path_matrix(c, a)};
    v.verdicts = arena_alloc(a, n * sizeof *v.verdicts);
    v.excluded = arena_alloc(a, n);
    v.served = arena_alloc(a, (size_t)c->ngpus);
    for (int i = 0; i < c->nports; i++) {
        find_nearest(&v, i);
        v.verdicts[i].plugin = plugin_of(&v, i);
        v.excluded[i] = decide(&v, i, own_rules) != 0;
        v.nbeside += !v.excluded[i] && is_beside(&v.verdicts[i]);
        v.nbeside_down += v.verdicts[i].role == ROLE_DOWN && is_beside(&v.verdicts[i]);
    }
    find_served(&v);
    find_majority(&v);
    for (int i = 0; i < c->nports; i++)
        if (!v.excluded[i])
            decide(&v, i, other_rules);
    return v.verdicts;
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
