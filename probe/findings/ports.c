/* What can be wrong with the RDMA ports of a class. */
#include <stdio.h>
#include <string.h>

#include "probe/findings/findings_internal.h"
#include "probe/topology/paths.h"

static const char *port_name(struct arena *a, const struct topo_port *p)
{
    return arena_printf(a, "%s:%d", p->hca, p->port);
}

/* Names of the ports that have the role. */
static const char *ports_with(struct search *s, int class_index, enum port_role role, int *n)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nports * sizeof *names);
    *n = 0;
    for (int i = 0; i < c->nports; i++)
        if (s->verdicts[class_index][i].role == role)
            names[(*n)++] = port_name(s->a, &c->ports[i]);
    return finding_names(s->a, names, *n);
}

void finding_down(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    int n;
    const char *names = ports_with(s, class_index, ROLE_DOWN, &n);
    if (n)
        found(s, c->name, names, "%d of %d RDMA ports %s down", n, c->nports, n == 1 ? "is" : "are");
}

void finding_only_management(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    int n = 0, others = 0;
    const char *names = ports_with(s, class_index, ROLE_NVLINK_MANAGEMENT, &n);
    for (int i = 0; i < c->nports; i++) {
        enum port_role role = s->verdicts[class_index][i].role;
        others += role != ROLE_NVLINK_MANAGEMENT && role != ROLE_MANAGEMENT && role != ROLE_DOWN;
    }
    if (n && !others)
        found(s, c->name, names, "the only active ports are for management of NVLink switches");
}

void finding_no_compute(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    if (!c->nports || !c->ngpus || roles_hca_list(c, s->verdicts[class_index], s->a))
        return;
    const char **names = arena_alloc(s->a, (size_t)c->nports * sizeof *names);
    int known = 0, by_plugin = 0;
    for (int i = 0; i < c->nports; i++) {
        known += c->ports[i].state != TOPO_STATE_UNKNOWN;
        by_plugin += s->verdicts[class_index][i].plugin && s->verdicts[class_index][i].role == ROLE_COMPUTE;
    }
    if (!known || by_plugin)
        return;
    for (int i = 0; i < c->nports; i++)
        names[i] =
            arena_printf(s->a, "%s: %s", port_name(s->a, &c->ports[i]), role_name(s->verdicts[class_index][i].role));
    found(s, c->name, finding_names(s->a, names, c->nports), "none of %d RDMA ports is one that NCCL should use",
          c->nports);
}

/* Reports when the compute ports of a class differ in what `value` says of them; 0 is unknown. */
static void find_different(struct search *s, int class_index, double (*value)(const struct topo_port *p),
                           const char *unit)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nports * sizeof *names);
    double high = 0;
    int n = 0, all = 0;
    for (int i = 0; i < c->nports; i++)
        if (s->verdicts[class_index][i].role == ROLE_COMPUTE && value(&c->ports[i]) > high)
            high = value(&c->ports[i]);
    for (int i = 0; i < c->nports; i++) {
        double own = s->verdicts[class_index][i].role == ROLE_COMPUTE ? value(&c->ports[i]) : 0;
        all += own > 0;
        if (own > 0 && own < high)
            names[n++] = arena_printf(s->a, "%s has %g%s", port_name(s->a, &c->ports[i]), own, unit);
    }
    if (n)
        found(s, c->name, finding_names(s->a, names, n), "%d of %d compute ports %s below the others' %g%s", n, all,
              n == 1 ? "is" : "are", high, unit);
}

static double rate_of(const struct topo_port *p)
{
    return p->rate_Gbps;
}

static double mtu_of(const struct topo_port *p)
{
    return p->mtu_bytes;
}

void finding_rates(struct search *s, int class_index)
{
    find_different(s, class_index, rate_of, " Gb/s");
}

void finding_mtus(struct search *s, int class_index)
{
    find_different(s, class_index, mtu_of, " bytes");
}

/* GPUs that must pass a CPU to every compute port, while others do not. */
void finding_far_gpus(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const struct path_matrix *m = path_matrix(c, s->a);
    const char **names = arena_alloc(s->a, (size_t)c->ngpus * sizeof *names);
    int n = 0, served = 0;
    for (int g = 0; g < m->ngpus; g++) {
        enum path_class nearest = PATH_UNKNOWN;
        for (int i = 0; i < c->nports; i++) {
            int end = path_end_of(m, c->ports[i].hca);
            enum path_class own = end < 0 ? PATH_UNKNOWN : path_between(m, g, end)->class_;
            if (s->verdicts[class_index][i].role == ROLE_COMPUTE && own < nearest)
                nearest = own;
        }
        served += nearest <= PATH_P2C;
        if (nearest > PATH_P2C && nearest != PATH_UNKNOWN)
            names[n++] = arena_printf(s->a, "GPU%d: %s", c->gpus[g].index, path_class_name(nearest));
    }
    if (n && served)
        found(s, c->name, finding_names(s->a, names, n), "%d of %d GPUs %s no compute port beside %s", n, c->ngpus,
              n == 1 ? "has" : "have", n == 1 ? "it" : "them");
}

void finding_wrong_numa(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nports * sizeof *names);
    int n = 0, all_known = c->ngpus > 0;
    for (int g = 0; g < c->ngpus; g++)
        all_known &= c->objects[c->gpus[g].object].numa >= 0;
    for (int i = 0; i < c->nports && all_known; i++) {
        int numa = c->ports[i].object < 0 ? -1 : c->objects[c->ports[i].object].numa, shared = 0;
        for (int g = 0; g < c->ngpus; g++)
            shared |= c->objects[c->gpus[g].object].numa == numa;
        if (numa >= 0 && !shared && s->verdicts[class_index][i].role == ROLE_COMPUTE)
            names[n++] = arena_printf(s->a, "%s on NUMA node %d", port_name(s->a, &c->ports[i]), numa);
    }
    if (n)
        found(s, c->name, finding_names(s->a, names, n), "%d compute port%s on a NUMA node that has no GPU", n,
              n == 1 ? " is" : "s are");
}

/* Ethernet ports whose GID table was read and holds no RoCE v2 entry of an IPv4 address. */
void finding_gids(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nports * sizeof *names);
    int n = 0;
    for (int i = 0; i < c->nports; i++) {
        int entries = 0, fits = 0;
        for (int k = 0; k < c->ngids; k++)
            if (c->gids[k].port == i) {
                entries++;
                fits += c->gids[k].type == TOPO_GID_ROCE_V2 && !strncmp(c->gids[k].gid, "::ffff:", 7);
            }
        if (entries && !fits && c->ports[i].layer == TOPO_LINK_ETHERNET &&
            s->verdicts[class_index][i].role == ROLE_COMPUTE)
            names[n++] = port_name(s->a, &c->ports[i]);
    }
    if (n)
        found(s, c->name, finding_names(s->a, names, n), "%d compute port%s no RoCE v2 GID with an IPv4 address", n,
              n == 1 ? " has" : "s have");
}
