/* Variables that are worth a launch of their own: a table with a condition each. */
#include "bench/candidates/nccl_knobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/coll.h"
#include "core/vars/catalogue.h"

enum { ONE_NODE = 1, RDMA = 2, SOCKETS = 4, ANYWHERE = ONE_NODE | RDMA | SOCKETS };
enum {
    ANY,
    INFINIBAND,
    ROCE,
    EFA,
    VIRTUAL,
    ORACLE,
    GOOGLE,
    C2C,
    RACK,
    NVSWITCH,
    NO_NVLINK,
    NVIDIA,
    AMD,
    AMD_MI300,
    PAIRS,
};

static const struct nccl_knob knobs[] = {
#define KNOB(label, name, value, where, condition) {label, name, value, where, condition},
#include "bench/candidates/nccl_knobs.inc"
};

/* ---- what the nodes are -------------------------------------------------------------------------------------------
 */

static int has_port(const struct topo_class *c, enum topo_link_layer layer, const char *prefix)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].state == TOPO_STATE_ACTIVE && (layer == TOPO_LINK_UNKNOWN || c->ports[i].layer == layer) &&
            (!prefix || !strncmp(c->ports[i].hca, prefix, strlen(prefix))))
            return 1;
    return 0;
}

static int has_link(const struct topo_class *c, enum topo_link_kind kind)
{
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].link_kind == kind)
            return 1;
    return 0;
}

static int has_object(const struct topo_class *c, enum topo_kind kind)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == kind)
            return 1;
    return 0;
}

static int is_product(const struct topo_class *c, const char *word)
{
    return c->product && strstr(c->product, word) != NULL;
}

static const char *arch_of(const struct topo_class *c)
{
    return c->ngpus && c->gpus[0].arch ? c->gpus[0].arch : "";
}

static int in_racks(const struct topology *t)
{
    for (int i = 0; i < t->nhosts; i++)
        if (t->hosts[i].clique)
            return 1;
    return 0;
}

static int holds(const struct bench_setup *s, const struct topo_class *c, int condition)
{
    switch (condition) {
    case INFINIBAND:
        return has_port(c, TOPO_LINK_INFINIBAND, NULL);
    case ROCE: /* beside InfiniBand, Ethernet is for storage */
        return has_port(c, TOPO_LINK_ETHERNET, NULL) && !has_port(c, TOPO_LINK_INFINIBAND, NULL);
    case EFA:
        return has_port(c, TOPO_LINK_UNKNOWN, "efa") || has_port(c, TOPO_LINK_UNKNOWN, "rdmap");
    case VIRTUAL:
        return c->hypervisor && strcmp(c->hypervisor, "none") != 0;
    case ORACLE:
        return is_product(c, "Oracle") && has_port(c, TOPO_LINK_ETHERNET, NULL);
    case GOOGLE:
        return is_product(c, "Google") && has_port(c, TOPO_LINK_ETHERNET, NULL);
    case C2C:
        return has_link(c, TOPO_C2C);
    case RACK:
        return in_racks(s->topology);
    case NVSWITCH:
        return has_object(c, TOPO_NVSWITCH);
    case NO_NVLINK:
        return c->ngpus > 1 && !*arch_of(c) && !has_link(c, TOPO_NVLINK);
    case AMD:
        return *arch_of(c) != 0;
    case AMD_MI300:
        return !strncmp(arch_of(c), "gfx94", 5) || !strncmp(arch_of(c), "gfx95", 5);
    default:
        return 1;
    }
}

static int suits(const struct bench_setup *s, const struct nccl_knob *k)
{
    const struct topo_class *c = s->topology && s->topology->nclasses ? &s->topology->classes[0] : NULL;
    if (k->condition == PAIRS)
        return s->collectives >> COLL_COUNT != 0;
    if (k->condition == ANY || !c)
        return k->condition == ANY || k->condition == NVIDIA;
    return k->condition == NVIDIA ? !*arch_of(c) : holds(s, c, k->condition);
}

/* ---- what the release makes of it ---------------------------------------------------------------------------------
 */

/* Of what is measured; 0 unknown. RCCL's defaults are not in the catalogue. */
static int release_of(const struct bench_setup *s)
{
    int low, high;
    const struct topo_class *c = s->topology && s->topology->nclasses ? &s->topology->classes[0] : NULL;
    if (c && *arch_of(c))
        return 0;
    if (s->nccl_version)
        return s->nccl_version;
    return c && c->nlibraries == 1 && !env_library_release(c->libraries[0], &low, &high) ? high : 0;
}

static int is_change(const struct bench_setup *s, const struct nccl_knob *k)
{
    char value[ENV_VALUE];
    int release = release_of(s);
    const struct env_var *v = release ? env_var_find(k->name) : NULL;
    return !v || (env_default_at(v, release, value) && strcmp(value, k->value) != 0);
}

const struct nccl_knob *nccl_knob_next(const struct bench_setup *s, int nodes, int rdma, size_t *at)
{
    int here = nodes == 1 ? ONE_NODE : rdma ? RDMA : SOCKETS;
    while (*at < sizeof knobs / sizeof *knobs) {
        const struct nccl_knob *k = &knobs[(*at)++];
        if (k->where & here && !getenv(k->name) && suits(s, k) && is_change(s, k))
            return k;
    }
    return NULL;
}
