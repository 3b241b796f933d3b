/* probe --why: the rules on the role of a port, one a line, and which of them decided. */
#include "probe/format/format.h"

#include <string.h>

#include "core/edit_distance.h"

static void put_evidence(FILE *out, const struct topo_class *c, const char *hosts, int port,
                         const struct port_verdict *v, struct arena *a)
{
    struct role_evidence *rows;
    int n = roles_evidence(c, port, a, &rows);
    fprintf(out, "%s%s%s:%d: %s, %s the list for NCCL_IB_HCA\n", hosts, *hosts ? ": " : "",
            text_inert(a, c->ports[port].hca), c->ports[port].port, role_name(v->role),
            v->role == ROLE_COMPUTE && !v->plugin ? "on" : "not on");
    for (int i = 0; i < n; i++) {
        if (rows[i].seen) /* else nothing is known */
            fprintf(out, "  %-17s %-7s %s\n", rows[i].rule, rows[i].role != ROLE_COMPUTE ? "against" : "",
                    text_inert(a, rows[i].seen));
    }
    fprintf(out, "  %-17s %-7s %s\n", "so", "", text_inert(a, v->reason));
}

/* What is known of a name that is no port's: an interface without RDMA, or a slip. */
static int refuse_port(const struct topology *t, const char *name, struct arena *a, struct err *e)
{
    const char **names = NULL, *all = "", *near;
    int n = 0;
    for (int i = 0; i < t->nclasses; i++) {
        const struct topo_class *c = &t->classes[i];
        for (int k = 0; k < c->nnetdevs; k++)
            if (!strcmp(c->netdevs[k].name, name))
                return err_set(e, ERR_LACKS,
                               "%s is an interface without an RDMA port: NCCL uses it through sockets alone "
                               "(NCCL_SOCKET_IFNAME)",
                               name);
        for (int k = 0; k < c->nports; k++) {
            ARENA_ADD(a, names, n) = c->ports[k].hca;
            if (!i)
                all = arena_printf(a, "%s%s%s", all, k ? ", " : "", c->ports[k].hca);
        }
    }
    if (!n)
        return err_set(e, ERR_LACKS, "there is no RDMA port here, so none called %s", name);
    ARENA_ADD(a, names, n) = NULL;
    near = edit_distance_nearest(name, NULL, names);
    return err_set(e, ERR_LACKS, "there is no RDMA port %s%s%s; there are %s", name, near ? ": did you mean " : "",
                   near ? near : "", all);
}

int why_write(const struct topology *t, const char *port, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    int found = 0, rc = 0;
    for (int i = 0; i < t->nclasses; i++) {
        const struct topo_class *c = roles_shown(&t->classes[i], a);
        const int if_up = c != &t->classes[i];
        const struct port_verdict *v = roles_of(c, a);
        for (int k = 0; k < c->nports; k++) {
            if (strcmp(c->ports[k].hca, port) != 0 && strcmp(topo_port_name(a, &c->ports[k]), port) != 0 &&
                (!c->ports[k].netdev || strcmp(c->ports[k].netdev, port) != 0))
                continue;
            found++;
            put_evidence(out, c,
                         arena_printf(a, "%s%s", t->nclasses > 1 ? text_hosts(t, i, a) : "",
                                      !if_up            ? ""
                                      : t->nclasses > 1 ? ", if all ports are up"
                                                        : "if all ports are up"),
                         k, &v[k], a);
        }
    }
    rc = found ? 0 : refuse_port(t, port, a, e);
    arena_free(a);
    return rc;
}
