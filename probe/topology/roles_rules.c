/* The rules on roles of RDMA ports, of which the first that speaks against a port decides. Facts about the device come
 * first, then what sets it apart from its neighbours, names last. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "probe/topology/roles_internal.h"

enum { MELLANOX = 0x15b3, BLACKWELL = 100 };

const char *role_layer_name(enum topo_link_layer layer)
{
    static const char *const names[] = {"unknown link layer", "InfiniBand", "Ethernet"};
    return names[layer];
}

int role_is_beside(const struct port_verdict *v)
{
    return v->nearest_gpu >= 0 && v->nearest_class <= PATH_P2C;
}

const struct topo_object *role_object(const struct role_view *v, int port)
{
    int object = v->c->ports[port].object;
    return object < 0 || object >= v->c->nobjects ? NULL : &v->c->objects[object];
}

static struct sight fine(const char *seen)
{
    return (struct sight){seen, ROLE_COMPUTE};
}

static struct sight against(enum port_role role, const char *seen)
{
    return (struct sight){seen, role};
}

static const struct topo_netdev *netdev_named(const struct topo_class *c, const char *name)
{
    for (int i = 0; name && i < c->nnetdevs; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return &c->netdevs[i];
    return NULL;
}

/* ---- the device alone -------------------------------------------------------------------------------------------- */

static struct sight state(const struct role_view *v, int port)
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

static struct sight access(const struct role_view *v, int port)
{
    return v->c->ports[port].opens == TOPO_NO
               ? against(ROLE_UNKNOWN, "it cannot be opened here: it belongs to another RDMA namespace or user")
               : fine(NULL);
}

static struct sight product_data(const struct role_view *v, int port)
{
    const struct topo_object *o = role_object(v, port);
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
        const struct topo_object *o = role_object(v, i);
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
static struct sight virtual_function(const struct role_view *v, int port)
{
    const struct topo_object *o = role_object(v, port);
    if (!o || !(o->pf || (o->model && strstr(o->model, "Virtual Function"))))
        return fine(o && o->vfs ? arena_printf(v->a, "physical, with %d virtual functions", o->vfs) : NULL);
    const char *physical = physical_port(v, o);
    return physical ? against(ROLE_VF, arena_printf(v->a, "a virtual function of %s, which is active itself", physical))
                    : fine("a virtual function; its physical one has no active port here");
}

/* The mlx5 driver makes one device of the two ports of a bond, on which NCCL runs as on any other. A device for which
 * it did not is half of a bond that only sockets know. */
static struct sight bond(const struct role_view *v, int port)
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
static struct sight plain_name(const struct role_view *v, int port)
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
static struct sight bridge(const struct role_view *v, int port)
{
    const struct topo_object *o = role_object(v, port);
    const struct topo_port *p = &v->c->ports[port];
    if (!o || o->vendor != MELLANOX || p->layer != TOPO_LINK_INFINIBAND || o->nvlink_management != TOPO_NOT_KNOWN ||
        !has_blackwell(v->c) || role_is_beside(&v->verdicts[port]))
        return fine(NULL);
    if (!v->nbeside && !v->nbeside_down && !v->plugin)
        return fine("its product data could not be read (root may)");
    return against(ROLE_NVLINK_MANAGEMENT, "beside no GPU, like the ports that manage NVLink switches here; only root "
                                           "can read its product data");
}

/* The ports that were made for the GPUs are down: what is up, far away, is something else. */
static struct sight left_over(const struct role_view *v, int port)
{
    if (v->nbeside || !v->nbeside_down || v->verdicts[port].nearest_gpu < 0)
        return fine(NULL);
    return against(
        ROLE_UNKNOWN,
        arena_printf(v->a, "active, but beside no GPU, while the %d that are beside one are down", v->nbeside_down));
}

static struct sight transport(const struct role_view *v, int port)
{
    const struct topo_object *o = role_object(v, port);
    const char *own = v->verdicts[port].plugin;
    if (own || !v->plugin)
        return fine(own ? own : o ? o->driver : NULL);
    return against(ROLE_STORAGE,
                   arena_printf(v->a, "by verbs, while most of the bandwidth is reached through %s", v->plugin));
}

static int is_slow(const struct role_view *v, int port, double limit_Gbps)
{
    double rate = v->c->ports[port].rate_Gbps;
    return rate > 0 && rate < limit_Gbps;
}

static struct sight layer(const struct role_view *v, int port)
{
    const double slow_Gbps = 40;
    const struct topo_port *p = &v->c->ports[port];
    if (p->layer == TOPO_LINK_UNKNOWN)
        return fine(NULL);
    if (p->layer == v->layer)
        return fine(role_layer_name(p->layer));
    return against(is_slow(v, port, slow_Gbps) ? ROLE_MANAGEMENT : ROLE_STORAGE,
                   arena_printf(v->a, "%s at %g Gb/s, while most of the bandwidth is %s", role_layer_name(p->layer),
                                p->rate_Gbps, role_layer_name(v->layer)));
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
static const char *outdone_by(const struct role_view *v, int port)
{
    const struct path_matrix *m = v->matrix;
    const struct topo_port *p = &v->c->ports[port];
    int end = path_end_of(m, p->hca);
    for (int i = 0; i < v->c->nports && end >= 0; i++) {
        const struct topo_port *q = &v->c->ports[i];
        int other = v->excluded[i] ? -1 : path_end_of(m, q->hca), near = 1;
        if (other < 0 || !(q->rate_Gbps > p->rate_Gbps) ||
            same_card_model(p, role_object(v, port), q, role_object(v, i)))
            continue;
        for (int g = 0; g < m->ngpus; g++)
            near &= (int)path_between(m, end, g)->class_ != v->verdicts[port].nearest_class ||
                    path_between(m, other, g)->class_ <= path_between(m, end, g)->class_;
        if (near)
            return q->hca;
    }
    return NULL;
}

/* A port beside a GPU may have lost half its lanes and is still the GPU's, unless the GPU has a faster one of another
 * model; one elsewhere was bought slower. */
static struct sight rate(const struct role_view *v, int port)
{
    const double slow_Gbps = 40;
    double own = v->c->ports[port].rate_Gbps;
    int beside = role_is_beside(&v->verdicts[port]);
    if (!(own > 0))
        return fine(NULL);
    enum port_role role = own < slow_Gbps ? ROLE_MANAGEMENT : ROLE_STORAGE;
    const char *faster = beside ? outdone_by(v, port) : NULL;
    if (faster)
        return against(role, arena_printf(v->a, "%g Gb/s, while the same GPU has %s, which is faster", own, faster));
    if (own < (beside ? 0.25 : 0.5) * v->best_Gbps)
        return against(role, arena_printf(v->a, "%g Gb/s, while the fastest have %g", own, v->best_Gbps));
    return fine(arena_printf(v->a, "%g Gb/s", own));
}

/* Whether one of the GPUs that are nearest to the port has no other port beside it. */
static int serves_someone(const struct role_view *v, int port)
{
    int end = path_end_of(v->matrix, v->c->ports[port].hca);
    for (int g = 0; end >= 0 && g < v->matrix->ngpus; g++)
        if (!v->served[g] && (int)path_between(v->matrix, end, g)->class_ == v->verdicts[port].nearest_class)
            return 1;
    return 0;
}

static struct sight distance(const struct role_view *v, int port)
{
    const struct port_verdict *own = &v->verdicts[port];
    if (own->nearest_gpu < 0)
        return fine(NULL);
    int index = v->c->gpus[own->nearest_gpu].index;
    const char *way = path_class_name((enum path_class)own->nearest_class);
    if (!v->nbeside || role_is_beside(own) || serves_someone(v, port))
        return fine(arena_printf(v->a, "%s GPU%d (%s)", role_is_beside(own) ? "beside" : "nearest to", index, way));
    return against(ROLE_STORAGE, arena_printf(v->a, "beside no GPU (nearest: GPU%d, %s), while %d others are", index,
                                              way, v->nbeside));
}

/* Rails may have a subnet each, but then each is as large as the next. */
static struct sight subnet(const struct role_view *v, int port)
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

static struct sight name(const struct role_view *v, int port)
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

const struct role_rule role_rules[] = {
    {"state", state},
    {"product data", product_data},
    {"virtual function", virtual_function},
    {"bond", bond},
    {"access", access},
    {"name in a list", plain_name},
    {"NVLink bridge", bridge, 1},
    {"others down", left_over, 1},
    {"driver", transport, 1},
    {"link layer", layer, 1},
    {"rate", rate, 1},
    {"distance", distance, 1},
    {"subnet", subnet, 1},
    {"name", name, 1},
    {NULL, NULL},
};
