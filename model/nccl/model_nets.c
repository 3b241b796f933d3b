/* The NICs that NCCL would use by itself: all active RDMA ports (NCCL_IB_HCA left alone), those of one card as one; or
 * the interfaces that its socket transport takes.
 *
 * Source: NCCL src/transport/net_ib (devices), net_socket.cc and src/misc/socket.cc (interfaces), v2.30.7-1. */
#include "model/nccl/graph.h"

#include <stdlib.h>
#include <string.h>

#include "probe/machines/hardware.h"

/* Both transports look no further (MAX_IB_DEVS, MAX_IFS). */
#define MOST_HCAS       32
#define MOST_INTERFACES 16
#define UNKNOWN_Gbps    10.0 /* what NCCL counts for a speed that it cannot read */

struct found {
    struct arena *a;
    struct nccl_net *nets;
    int n;
};

static struct nccl_net *add_net(struct found *f, const char *name, int object, int port, double Gbps, int gdr)
{
    struct nccl_net *net = &ARENA_ADD(f->a, f->nets, f->n);
    *net = (struct nccl_net){
        .name = name,
        .object = object,
        .port = port,
        .GBps = (Gbps > 0 ? Gbps : UNKNOWN_Gbps) / 8,
        .gdr = gdr,
        .devices = 1,
    };
    return net;
}

/* ---- RDMA ---- */

/* "mlx5_0" or "mlx5_0:1" */
static int is_named(const struct topo_port *p, const char *hca)
{
    size_t n = strlen(p->hca);
    if (strncmp(hca, p->hca, n) != 0)
        return 0;
    return !hca[n] || (hca[n] == ':' && strtol(hca + n + 1, NULL, 10) == p->port);
}

static int check_names(const struct nccl_setup *s, const struct topo_class *c, struct err *e)
{
    for (int i = 0; i < s->nhcas; i++) {
        int known = 0;
        for (int p = 0; p < c->nports; p++)
            known |= is_named(&c->ports[p], s->hcas[i]);
        if (!known)
            return err_set(e, ERR_USAGE, "%s: the nodes of %s have no such HCA", s->hcas[i],
                           c->name ? c->name : "that class");
    }
    return 0;
}

static int is_wanted(const struct nccl_setup *s, const struct topo_port *p)
{
    if (p->state == TOPO_STATE_DOWN)
        return 0;
    for (int i = 0; i < s->nhcas; i++)
        if (is_named(p, s->hcas[i]))
            return 1;
    return !s->hcas;
}

static int same_card(const struct topo_class *c, int a, int b)
{
    return a >= 0 && b >= 0 && (a == b || pci_same_card(c->objects[a].pci, c->objects[b].pci));
}

/* EFA from its second generation on: AWS's plugin groups the adapters below one PCI switch into one NIC
 * (src/nccl_ofi_topo.c of aws-ofi-nccl). */
static int same_group(const struct topo_class *c, int a, int b)
{
    const struct hw_nic *x = a >= 0 ? hw_nic_of(&c->objects[a]) : NULL, *y = b >= 0 ? hw_nic_of(&c->objects[b]) : NULL;
    return x && x == y && x->transport == HW_EFA && strcmp(x->name, "efa1") != 0 && c->objects[a].parent >= 0 &&
           c->objects[a].parent == c->objects[b].parent;
}

/* The net of the same card that `p` joins; NULL none. Before 2.20 every port was on its own, until 2.24 two joined. */
static struct nccl_net *net_of_card(const struct found *f, const struct topo_class *c, const struct topo_port *p,
                                    int version)
{
    int most = version < 22000 ? 1 : version < 22400 ? 2 : 4;
    for (int i = 0; i < f->n; i++) {
        if (same_group(c, f->nets[i].object, p->object))
            return &f->nets[i];
        if (f->nets[i].devices < most && c->ports[f->nets[i].port].layer == p->layer &&
            same_card(c, f->nets[i].object, p->object))
            return &f->nets[i];
    }
    return NULL;
}

static void add_ports(struct found *f, const struct nccl_setup *s, const struct topo_class *c, int version)
{
    int gdr = !c->gdr_route || strcmp(c->gdr_route, "none") != 0;
    for (int i = 0; i < c->nports && f->n < MOST_HCAS; i++) {
        const struct topo_port *p = &c->ports[i];
        if (!is_wanted(s, p))
            continue;
        const char *name = arena_printf(f->a, "%s:%d", p->hca, p->port);
        struct nccl_net *card = net_of_card(f, c, p, version);
        if (!card) {
            add_net(f, name, p->object, i, p->rate_Gbps, gdr);
            continue;
        }
        card->name = arena_printf(f->a, "%s+%s", card->name, name);
        card->GBps += (p->rate_Gbps > 0 ? p->rate_Gbps : UNKNOWN_Gbps) / 8;
        card->devices++;
    }
}

/* ---- sockets ---- */

static int starts(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* NCCL prefers interfaces called ib…, and takes docker's and the loopback only where there is nothing else. */
static int is_usable(const struct topo_netdev *n)
{
    return n->state != TOPO_STATE_DOWN && n->kind != TOPO_NET_LOOPBACK && !n->master && !starts(n->name, "docker") &&
           !starts(n->name, "lo") && !starts(n->name, "virbr");
}

static void add_interfaces(struct found *f, const struct topo_class *c)
{
    int ib = 0;
    for (int i = 0; i < c->nnetdevs; i++)
        ib |= is_usable(&c->netdevs[i]) && starts(c->netdevs[i].name, "ib");
    for (int i = 0; i < c->nnetdevs && f->n < MOST_INTERFACES; i++) {
        const struct topo_netdev *n = &c->netdevs[i];
        if (is_usable(n) && (!ib || starts(n->name, "ib")))
            add_net(f, n->name, n->object, -1, n->speed_Gbps, 0);
    }
}

/* Google's plugins for GPUDirect over TCP take the NICs that share a PCI switch with GPUs (NCCL_FASTRAK_IFNAME and
 * NCCL_GPUDIRECTTCPX_SOCKET_IFNAME in Google's guides), and reach GPU memory. */
static void add_gpudirect_interfaces(struct found *f, const struct topo_class *c)
{
    for (int i = 0; i < c->nnetdevs && f->n < MOST_INTERFACES; i++) {
        const struct topo_netdev *n = &c->netdevs[i];
        const struct topo_object *nic = n->object >= 0 ? &c->objects[n->object] : NULL;
        const struct hw_nic *hw = nic ? hw_nic_of(nic) : NULL;
        if (is_usable(n) && hw && hw->transport == HW_TCPX && nic->parent >= 0 &&
            c->objects[nic->parent].kind == TOPO_SWITCH)
            add_net(f, n->name, n->object, -1, n->speed_Gbps, 1);
    }
}

/* An interface for every RDMA port: InfiniBand carries IP too. */
static void add_ports_as_interfaces(struct found *f, const struct topo_class *c)
{
    for (int i = 0; i < c->nports && f->n < MOST_INTERFACES; i++) {
        const struct topo_port *p = &c->ports[i];
        if (p->state != TOPO_STATE_DOWN)
            add_net(f, p->netdev ? p->netdev : p->hca, p->object, -1, p->rate_Gbps, 0);
    }
}

/* ---- public ---- */

struct nccl_net *nccl_model_nets(const struct nccl_setup *s, int version, struct arena *a, int *n, const char **assumed,
                                 struct err *e)
{
    const struct topo_class *c = &s->topology->classes[s->class_index];
    struct found f = {.a = a};
    int nameless = 0;
    *n = 0;
    if (check_names(s, c, e))
        return NULL;
    if (!s->sockets)
        add_ports(&f, s, c, version);
    if (!f.n && !s->sockets)
        add_gpudirect_interfaces(&f, c);
    if (!f.n)
        add_interfaces(&f, c);
    if (!f.n && c->nports) {
        add_ports_as_interfaces(&f, c);
        *assumed = "an IP interface on each RDMA port: the topology shows none";
    }
    for (int i = 0; i < c->nobjects && !f.n && !c->nports && !s->sockets; i++)
        nameless += topo_is_infiniband(&c->objects[i]);
    if (nameless)
        return err_null(
            e, ERR_FAILED,
            "the file names no RDMA port of its %d InfiniBand NICs: --link-rate 400 makes each one of 400 Gb/s",
            nameless);
    if (!f.n) {
        add_net(&f, "eth0", -1, -1, UNKNOWN_Gbps, 0);
        *assumed = "one Ethernet interface of 10 Gb/s: the topology shows no network";
    }
    *n = f.n;
    return f.nets;
}
