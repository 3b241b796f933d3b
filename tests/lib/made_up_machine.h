/* Described machines with something else in them: conditions of the models that no machine reaches that is sold. The
 * same ones every time, so that what is made of them can be held against a fixture. */
#ifndef TESTS_LIB_MADE_UP_MACHINE_H
#define TESTS_LIB_MADE_UP_MACHINE_H

#include "bench/predict/nccl/types.h"
#include "probe/machines/machines.h"

/* The same machines everywhere: no generator of a libc. */
static inline int made_up_roll(uint64_t *dice, int sides)
{
    *dice = *dice * 6364136223846793005u + 1442695040888963407u;
    return (int)((*dice >> 33) % (uint64_t)sides);
}

static inline void other_processor(struct topo_class *c, uint64_t *dice)
{
    static const char *const cpus[][2] = {
        {"x86_64", "GenuineIntel 6/84"},
        {"x86_64", "GenuineIntel 6/85"},
        {"x86_64", "GenuineIntel 6/142"},
        {"x86_64", "GenuineIntel 6/143"},
        {"x86_64", "GenuineIntel 6/206"},
        {"x86_64", "GenuineIntel 6/207"},
        {"x86_64", "GenuineIntel 15/4"},
        {"x86_64", "Intel"},
        {NULL, "some Xeon"},
        {"x86_64", "AuthenticAMD 25/17"},
        {"x86_64", "EPYC"},
        {"aarch64", "Neoverse"},
        {"arm64", NULL},
        {"ppc64le", "POWER9"},
        {"x86_64", "CentaurHauls 7/11"},
    };
    int i = made_up_roll(dice, sizeof cpus / sizeof *cpus);
    c->arch = cpus[i][0];
    c->cpu = cpus[i][1];
}

static inline void other_gpus(struct topo_class *c, uint64_t *dice)
{
    static const int sms[] = {0, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120};
    int sm = sms[made_up_roll(dice, 13)], one = made_up_roll(dice, 2) ? made_up_roll(dice, c->ngpus) : -1;
    for (int i = 0; i < c->ngpus; i++)
        if (!c->gpus[i].arch && (one < 0 || i == one))
            c->gpus[i].sm = sm;
    int gdr = made_up_roll(dice, 2); /* first: C leaves the order of both rolls open */
    c->gpus[made_up_roll(dice, c->ngpus)].gdr = gdr;
}

static inline void fewer_links(struct topo_class *c, uint64_t *dice)
{
    int n = 0, keep = 1 + made_up_roll(dice, 5);
    for (int i = 0; i < c->nlinks; i++)
        if (made_up_roll(dice, keep))
            c->links[n++] = c->links[i];
    c->nlinks = n;
    if (n && !made_up_roll(dice, 3)) { /* one that ends at a NUMA node */
        struct topo_link *l = &c->links[made_up_roll(dice, n)];
        l->link_kind = made_up_roll(dice, 2) ? TOPO_C2C : l->link_kind;
        l->GBps = 100;
        l->peer_gpu = -1;
        l->peer_object = 0;
    }
}

static inline void other_lanes(struct topo_class *c, uint64_t *dice)
{
    static const double GTps[] = {0, 2.5, 5, 8, 16, 32, 64};
    static const int widths[] = {0, 1, 4, 8, 16};
    for (int i = 0; i < c->nobjects; i++)
        if (!made_up_roll(dice, 3)) {
            struct topo_object *o = &c->objects[i];
            o->link_GTps = GTps[made_up_roll(dice, 7)];
            o->link_max_GTps = GTps[made_up_roll(dice, 7)];
            o->link_max_width = widths[made_up_roll(dice, 5)];
            o->link_width = widths[made_up_roll(dice, 5)];
        }
}

/* Devices that hang elsewhere, or nobody knows where. */
static inline void other_places(struct topo_class *c, uint64_t *dice)
{
    for (int n = 1 + made_up_roll(dice, 3); n; n--) {
        struct topo_object *o = &c->objects[made_up_roll(dice, c->nobjects)];
        if (o->parent >= 0)
            o->parent =
                made_up_roll(dice, 2) ? o->parent && c->objects[o->parent - 1].kind < TOPO_GPU ? o->parent - 1 : 0 : -1;
    }
}

static inline void other_nets(struct topo_class *c, uint64_t *dice)
{
    c->nports = made_up_roll(dice, 4) ? c->nports : 0;
    c->nnetdevs = made_up_roll(dice, 4) ? c->nnetdevs : 0;
    for (int i = 0; i < c->nports; i++)
        if (!made_up_roll(dice, 4)) {
            struct topo_port *p = &c->ports[i];
            p->state = made_up_roll(dice, 3) ? p->state : TOPO_STATE_DOWN;
            p->rate_Gbps = 100 * made_up_roll(dice, 5);
            p->layer = made_up_roll(dice, 3);
            p->object = made_up_roll(dice, 2) ? c->ports[made_up_roll(dice, c->nports)].object : -1;
        }
    for (int i = 0; i < c->nnetdevs; i++)
        if (!made_up_roll(dice, 4)) {
            static const char *const names[] = {"ib0", "docker0", "virbr0", "lo", "eth7"};
            c->netdevs[i].name = names[made_up_roll(dice, 5)];
            c->netdevs[i].state = made_up_roll(dice, 2) ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN;
            c->netdevs[i].master = made_up_roll(dice, 3) ? NULL : "br0";
            c->netdevs[i].speed_Gbps = 25 * made_up_roll(dice, 5);
        }
    c->gdr_route = made_up_roll(dice, 4) ? c->gdr_route : "none";
}

static inline void refusals(struct topo_class *c, uint64_t *dice)
{
    static const char *problems[] = {"GPU1: write: no", "GPU3: read: no", "GPU: nothing", "gpu2: nothing"};
    c->gpus[0].p2p_problems = problems;
    c->gpus[0].np2p_problems = 1 + made_up_roll(dice, 4);
}

static inline struct nccl_setup made_up_setup(const struct topology *t, uint64_t *dice)
{
    static const int nodes[] = {1, 1, 2, 3, 8};
    int ngpus = t->classes[0].ngpus;
    struct nccl_setup s = {.topology = t, .nodes = nodes[made_up_roll(dice, 5)]};
    s.first_gpu = made_up_roll(dice, 4) ? 0 : made_up_roll(dice, ngpus);
    s.ranks_per_node = s.first_gpu || !made_up_roll(dice, 3) ? 1 + made_up_roll(dice, ngpus - s.first_gpu) : 0;
    s.sockets = !made_up_roll(dice, 5);
    s.min_channels = made_up_roll(dice, 6) ? 0 : made_up_roll(dice, 40);
    s.max_channels = made_up_roll(dice, 6) ? 0 : 1 + made_up_roll(dice, 20);
    s.cross_nic = made_up_roll(dice, 4);
    s.p2p_within = made_up_roll(dice, 4) ? 0 : 1 + made_up_roll(dice, PATH_UNKNOWN);
    s.gdr_within = made_up_roll(dice, 4) ? 0 : 1 + made_up_roll(dice, PATH_UNKNOWN);
    s.no_pxn = !made_up_roll(dice, 6);
    s.no_nvls = !made_up_roll(dice, 6);
    s.no_net_intra = !made_up_roll(dice, 6);
    return s;
}

/* The i-th of them, and a setup of it; `base` is the machine that it was. topo_free frees. */
static inline struct topology *made_up_machine(int i, const char **base, struct nccl_setup *setup)
{
    static const char *const bases[] = {"dgx-1v",     "hgx-a100-4", "4xl40s-pcie", "8xl40s",      "8xa100-pcie",
                                        "8xh100-nvl", "4x4090",     "aws-p3dn",    "gb200-nvl72", "mi250x",
                                        "mi300x",     "hgx-h100",   "dgx-b200",    "gcp-a3-high", "aws-p4d"};
    static void (*const changes[])(struct topo_class * c, uint64_t * dice) = {
        other_processor, other_gpus, fewer_links, other_lanes, other_places, other_nets, refusals};
    uint64_t dice = (uint64_t)i * 0x9e3779b97f4a7c15u;
    *base = bases[i % (int)(sizeof bases / sizeof *bases)];
    struct topology *t = machine_topology(*base, 1, NULL);
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
        if (!made_up_roll(&dice, 3))
            changes[k](&t->classes[0], &dice);
    *setup = made_up_setup(t, &dice);
    return t;
}

#endif
