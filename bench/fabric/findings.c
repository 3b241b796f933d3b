/* Rates and MTUs of ports that are not as they could be. */
#include "bench/fabric/findings.h"

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

/* A value that ports are compared by. */
struct measure {
    const char *id, *what, *unit, *advice;
    double (*of)(const struct verbs_fabric_port *p);
};

/* What is below that of most others. */
static void find_below(struct verbs_fabric *f, struct findings *found, const struct measure *m)
{
    int votes;
    double usual = majority(f, m->of, &votes);
    for (int i = 0; i < f->nodes * f->rails; i++) {
        const struct verbs_fabric_port *p = &f->ports[i];
        double v = m->of(p);
        if (v > 0 && v < usual)
            finding_add(found, FINDING_WARNING, m->id, arena_printf(f->arena, "%s %s", p->node, p->name),
                        "%s of %g %s, %d others have %g", m->what, v, m->unit, votes, usual)
                ->advice = m->advice;
    }
}

/* RoCE takes the largest RDMA MTU that fits into its network interface's. */
static void find_small_mtu(struct verbs_fabric *f, struct findings *found)
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
        finding_add(found, FINDING_WARNING, "mtu-small", NULL,
                    "%d of %d ports carry messages in packets of %d bytes where %d are possible", small, ports, least,
                    most)
            ->advice = "raise the MTU of their network interfaces (RoCE: to 4,200 or more) or of the InfiniBand "
                       "partition, and of the switches";
}

struct findings verbs_find(struct verbs_fabric *f)
{
    static const struct measure rate = {"rate-below", "a rate", "Gb/s",
                                        "check cable, transceiver and the setting of the switch port", rate_of};
    static const struct measure mtu = {"mtu-below", "an RDMA MTU", "bytes", "give all ports of the fabric the same MTU",
                                       mtu_of};
    struct findings found = {.arena = f->arena};
    find_below(f, &found, &rate);
    find_below(f, &found, &mtu);
    find_small_mtu(f, &found);
    return found;
}
