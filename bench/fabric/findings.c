/* Rates and MTUs of ports that are not as they could be. */
#include <string.h>

#include "bench/fabric/decide.h"

static void add(struct verbs_fabric *f, struct verbs_decision *d, const char *text)
{
    d->findings = arena_grow(f->arena, d->findings, (size_t)d->nfindings, sizeof *d->findings);
    d->findings[d->nfindings++] = text;
}

static double rate_of(const struct verbs_fabric_port *p)
{
    return p->rate_Gbps;
}

static double mtu_of(const struct verbs_fabric_port *p)
{
    return p->mtu_bytes;
}

/* The value that more than half of the ports have, those that do not say left out; 0 when there is none. The candidate
 * is found by Boyer and Moore's majority vote. */
static double majority(const struct verbs_fabric *f, double (*value_of)(const struct verbs_fabric_port *p), int *votes)
{
    double candidate = 0;
    int lead = 0, known = 0;
    *votes = 0;
    for (int i = 0; i < f->nodes * f->rails; i++) {
        double v = value_of(&f->ports[i]);
        if (v <= 0)
            continue;
        candidate = lead ? candidate : v;
        lead += v == candidate ? 1 : -1;
        known++;
    }
    for (int i = 0; i < f->nodes * f->rails; i++)
        *votes += known && value_of(&f->ports[i]) == candidate;
    return *votes * 2 > known ? candidate : 0;
}

/* What is below that of most others; `what` and `unit` name it, `cause` ends the sentence. */
static void find_below(struct verbs_fabric *f, struct verbs_decision *d,
                       double (*value_of)(const struct verbs_fabric_port *p), const char *what, const char *unit,
                       const char *cause)
{
    int votes;
    double usual = majority(f, value_of, &votes);
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_fabric_port *p = &f->ports[i];
        double v = value_of(p);
        if (v > 0 && v < usual)
            add(f, d,
                arena_printf(f->arena, "%s %s: %s of %g %s, %d others have %g%s", p->node, p->name, what, v, unit,
                             votes, usual, cause));
    }
}

/* RoCE takes the largest RDMA MTU that fits into its network interface's. */
static void find_small_mtu(struct verbs_fabric *f, struct verbs_decision *d)
{
    int small = 0, ports = 0, least = 0, most = 0;
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_fabric_port *p = &f->ports[i];
        ports += p->name != NULL;
        if (!p->mtu_bytes || p->mtu_bytes >= p->max_mtu_bytes)
            continue;
        small++;
        least = least && least < p->mtu_bytes ? least : p->mtu_bytes;
        most = p->max_mtu_bytes > most ? p->max_mtu_bytes : most;
    }
    if (small)
        add(f, d,
            arena_printf(f->arena,
                         "%d of %d ports carry messages in packets of %d bytes where %d are possible: raise the MTU of "
                         "their network interfaces (RoCE: to 4,200 or more) or of the InfiniBand partition, and of the "
                         "switches",
                         small, ports, least, most));
}

void verbs_find(struct verbs_fabric *f, struct verbs_decision *d)
{
    find_below(f, d, rate_of, "a rate", "Gb/s", ": cable, transceiver, or the setting of the switch port");
    find_below(f, d, mtu_of, "an RDMA MTU", "bytes", "");
    find_small_mtu(f, d);
}
