/* Words for the roles of ports, and what follows from roles: the list of HCAs of a class and of all classes, and rails
 * by network. */
#include <fnmatch.h>
#include <string.h>

#include "probe/topology/topology_internal.h"

const char *role_name(enum port_role role)
{
    static const char *const names[] = {"unknown",           "compute", "storage", "management",
                                        "nvlink-management", "bond",    "vf",      "down"};
    return names[role];
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

const struct topo_class *roles_assume_up(const struct topo_class *c, struct arena *a)
{
    struct topo_class *up = arena_alloc(a, sizeof *up);
    int assumed = 0;
    *up = *c;
    up->ports = arena_alloc(a, (size_t)c->nports * sizeof *up->ports);
    for (int i = 0; i < c->nports; i++) {
        up->ports[i] = c->ports[i];
        if (c->ports[i].state != TOPO_STATE_UNKNOWN)
            continue;
        up->ports[i].state = TOPO_STATE_ACTIVE;
        assumed = 1;
    }
    return assumed ? up : c;
}

const struct topo_class *roles_shown(const struct topo_class *c, struct arena *a)
{
    if (roles_hca_list(c, roles_of(c, a), a))
        return c;
    const struct topo_class *up = roles_assume_up(c, a);
    return up != c && roles_hca_list(up, roles_of(up, a), a) ? up : c;
}

int roles_only_labels(const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++)
        if (!c->ports[i].netdev && !fnmatch("NIC[0-9]*", c->ports[i].hca, 0))
            return 1;
    return 0;
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

int topo_rails(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a, struct rail **rails)
{
    int n = 0;
    *rails = NULL;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        const char *network = verdicts[i].role != ROLE_COMPUTE   ? NULL
                              : p->layer == TOPO_LINK_INFINIBAND ? p->subnet_prefix
                                                                 : topo_ip_network(c, p->netdev, a);
        int at = 0;
        if (!network)
            continue;
        while (at < n && strcmp((*rails)[at].network, network) != 0)
            at++;
        if (at == n)
            ARENA_ADD(a, *rails, n) = (struct rail){.network = network};
        struct rail *r = &(*rails)[at];
        ARENA_ADD(a, r->ports, r->nports) = i;
    }
    return n;
}
