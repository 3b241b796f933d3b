/* probe --why: the rules on the role of a port, one a line, and which of them decided. */
#include "probe/format/format.h"

#include <string.h>

#include "probe/topology/topology.h"

static void put_evidence(FILE *out, const struct topo_class *c, const char *hosts, int port,
                         const struct port_verdict *v, struct arena *a)
{
    struct role_evidence *rows;
    int n = roles_evidence(c, port, a, &rows), decided = 0;
    fprintf(out, "%s%s%s:%d: %s, %s the list for NCCL_IB_HCA\n", hosts, *hosts ? ": " : "",
            text_inert(a, c->ports[port].hca), c->ports[port].port, role_name(v->role),
            v->role == ROLE_COMPUTE && !v->plugin ? "on" : "not on");
    for (int i = 0; i < n; i++) {
        int speaks = rows[i].role != ROLE_COMPUTE;
        if (!rows[i].seen) /* nothing is known */
            continue;
        fprintf(out, "  %-17s %-7s %s\n", rows[i].rule,
                !speaks   ? ""
                : decided ? "also no"
                          : "no",
                text_inert(a, rows[i].seen));
        decided |= speaks;
    }
    fprintf(out, "  %-17s %-7s %s\n", "so", "", text_inert(a, v->reason));
}

int why_write(const struct topology *t, const char *port, FILE *out, struct err *e)
{
    struct arena *a = arena_new();
    int found = 0, rc = 0;
    for (int i = 0; i < t->nclasses; i++) {
        const struct topo_class *c = &t->classes[i];
        const int if_up = !roles_hca_list(c, roles_of(c, a), a) && roles_hca_list_if_up(c, a);
        c = if_up ? roles_assume_up(c, a) : c;
        const struct port_verdict *v = roles_of(c, a);
        for (int k = 0; k < c->nports; k++) {
            if (strcmp(c->ports[k].hca, port) != 0 && strcmp(topo_port_name(a, &c->ports[k]), port) != 0)
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
    if (!found)
        rc = err_set(e, ERR_LACKS, "there is no RDMA port %s%s%s", port,
                     t->nclasses && t->classes[0].nports ? "; the first one is " : "",
                     t->nclasses && t->classes[0].nports ? t->classes[0].ports[0].hca : "");
    arena_free(a);
    return rc;
}
