/* Rails by subnet prefix (InfiniBand) or by the IPv4 network of the port's interface (Ethernet). */
#include "probe/topology/rails.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* "10.0.1.7/24" as "10.0.1.0/24"; NULL when it is no IPv4 address with a prefix length. */
static const char *network_of(struct arena *a, const char *address)
{
    const char *slash = strchr(address, '/');
    struct in_addr in;
    char text[INET_ADDRSTRLEN];
    long bits = slash ? strtol(slash + 1, NULL, 10) : -1;
    if (bits < 1 || bits > 32 || inet_pton(AF_INET, arena_strndup(a, address, (size_t)(slash - address)), &in) != 1)
        return NULL;
    in.s_addr &= htonl(UINT32_MAX << (32 - bits));
    return inet_ntop(AF_INET, &in, text, sizeof text) ? arena_printf(a, "%s/%ld", text, bits) : NULL;
}

static const char *network_of_port(const struct topo_class *c, const struct topo_port *p, struct arena *a)
{
    if (p->layer == TOPO_LINK_INFINIBAND)
        return p->subnet_prefix;
    for (int i = 0; i < c->nnetdevs && p->netdev; i++) {
        const struct topo_netdev *d = &c->netdevs[i];
        for (int k = 0; k < d->naddresses && !strcmp(d->name, p->netdev); k++) {
            const char *network = network_of(a, d->addresses[k]);
            if (network)
                return network;
        }
    }
    return NULL;
}

int rails_of(const struct topo_class *c, const struct port_verdict *verdicts, struct arena *a, struct rail **rails)
{
    int n = 0;
    *rails = NULL;
    for (int i = 0; i < c->nports; i++) {
        const char *network = verdicts[i].role == ROLE_COMPUTE ? network_of_port(c, &c->ports[i], a) : NULL;
        int at = 0;
        if (!network)
            continue;
        while (at < n && strcmp((*rails)[at].network, network) != 0)
            at++;
        if (at == n) {
            *rails = arena_grow(a, *rails, (size_t)n, sizeof **rails);
            (*rails)[n++] = (struct rail){.network = network};
        }
        struct rail *r = &(*rails)[at];
        r->ports = arena_grow(a, r->ports, (size_t)r->nports, sizeof *r->ports);
        r->ports[r->nports++] = i;
    }
    return n;
}
