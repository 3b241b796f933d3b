/* The list of HCAs that serves every class of a cluster. */
#include <string.h>

#include "probe/topology/roles.h"

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
