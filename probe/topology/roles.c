/* Roles of RDMA ports: every port goes through the table of rules. */
#include "probe/topology/roles.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "probe/topology/roles_internal.h"

const char *role_name(enum port_role role)
{
    static const char *const names[] = {"unknown",           "compute", "storage", "management",
                                        "nvlink-management", "bond",    "vf",      "down"};
    return names[role];
}

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
    const struct topo_object *o = role_object(v, port);
    uint16_t vendor = o ? o->vendor : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int named = !fnmatch(others[i].pattern, v->c->ports[port].hca, 0);
        /* A name alone tells where nothing else does. */
        if (named && (others[i].vendor ? others[i].vendor == vendor : !vendor))
            return others[i].plugin;
    }
    return NULL;
}

static const char *why_compute(const struct role_view *v, int port)
{
    const struct topo_port *p = &v->c->ports[port];
    const struct port_verdict *own = &v->verdicts[port];
    const char *what = p->rate_Gbps > 0 ? arena_printf(v->a, "%g Gb/s %s", p->rate_Gbps, role_layer_name(p->layer))
                                        : role_layer_name(p->layer);
    if (own->plugin)
        what = arena_printf(v->a, "%s, through %s", what, own->plugin);
    if (!v->c->ngpus)
        return arena_printf(v->a, "%s; there is no GPU here", what);
    if (own->nearest_gpu < 0)
        return arena_printf(v->a, "%s; its distance to the GPUs is not known", what);
    return arena_printf(v->a, "%s, %s GPU%d (%s)", what, role_is_beside(own) ? "beside" : "nearest to",
                        v->c->gpus[own->nearest_gpu].index, path_class_name((enum path_class)own->nearest_class));
}

/* Whether a rule of that kind speaks against the port; the first one decides. */
static int decide(const struct role_view *v, int port, int neighbours)
{
    for (const struct role_rule *r = role_rules; r->name; r++) {
        struct sight s = r->neighbours == neighbours ? r->look(v, port) : (struct sight){NULL, ROLE_COMPUTE};
        if (s.role != ROLE_COMPUTE) {
            v->verdicts[port].role = s.role;
            v->verdicts[port].reason = s.seen;
            return 1;
        }
    }
    return 0;
}

static void find_nearest(const struct role_view *v, int port)
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

static void find_served(const struct role_view *v)
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
        if (v->excluded[i] || (v->nbeside && !role_is_beside(&v->verdicts[i])))
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
static void find_majority(struct role_view *v)
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

static struct role_view look_at(const struct topo_class *c, struct arena *a)
{
    size_t n = (size_t)c->nports;
    struct role_view v = {.c = c, .a = a, .matrix = path_matrix(c, a)};
    v.verdicts = arena_alloc(a, n * sizeof *v.verdicts);
    v.excluded = arena_alloc(a, n);
    v.served = arena_alloc(a, (size_t)c->ngpus);
    for (int i = 0; i < c->nports; i++) {
        find_nearest(&v, i);
        v.verdicts[i].plugin = plugin_of(&v, i);
        v.excluded[i] = decide(&v, i, 0) != 0;
        v.nbeside += !v.excluded[i] && role_is_beside(&v.verdicts[i]);
        v.nbeside_down += v.verdicts[i].role == ROLE_DOWN && role_is_beside(&v.verdicts[i]);
    }
    find_served(&v);
    find_transport(&v);
    find_majority(&v);
    for (int i = 0; i < c->nports; i++)
        if (!v.excluded[i] && !decide(&v, i, 1)) {
            v.verdicts[i].role = ROLE_COMPUTE;
            v.verdicts[i].reason = why_compute(&v, i);
        }
    return v;
}

struct port_verdict *roles_of(const struct topo_class *c, struct arena *a)
{
    return look_at(c, a).verdicts;
}

int roles_evidence(const struct topo_class *c, int port, struct arena *a, struct role_evidence **rows)
{
    struct role_view v = look_at(c, a);
    int n = 0;
    while (role_rules[n].name)
        n++;
    *rows = arena_alloc(a, (size_t)n * sizeof **rows);
    for (int i = 0; i < n; i++) {
        struct sight s = role_rules[i].look(&v, port);
        (*rows)[i] = (struct role_evidence){role_rules[i].name, s.seen, s.role};
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
