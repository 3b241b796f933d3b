/* A topology's memory, and what one asks of its hosts and classes. */
#include "probe/topology/topology.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "core/stats.h"
#include "probe/topology/topology_internal.h"

struct topology *topo_new(void)
{
    struct arena *a = arena_new();
    struct topology *t = ARENA_NEW(a, struct topology);
    t->arena = a;
    t->tool = NCCLTUNE_VERSION;
    return t;
}

void topo_free(struct topology *t)
{
    if (t)
        arena_free(t->arena);
}

int topo_find_port(const struct topo_class *c, const char *hca, int port)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].port == port && !strcmp(c->ports[i].hca, hca))
            return i;
    return -1;
}

const char *topo_port_name(struct arena *a, const struct topo_port *p)
{
    return arena_printf(a, "%s:%d", p->hca, p->port);
}

int topo_first_port(const struct topo_class *c, int object)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].object == object)
            return i;
    return -1;
}

struct topo_netdev *topo_find_netdev(const struct topo_class *c, const char *name)
{
    for (int i = 0; i < c->nnetdevs && name; i++)
        if (!strcmp(c->netdevs[i].name, name))
            return &c->netdevs[i];
    return NULL;
}

/* "pf" and its number after the controller's ("c1"), then "vf", "sf" or "hpf": net/core/devlink of the Linux kernel
 * (__devlink_port_phys_port_name_get). */
int topo_is_representor(const char *port_name)
{
    const char *p = port_name ? port_name : "";
    if (*p == 'c')
        p += 1 + strspn(p + 1, "0123456789");
    return !strncmp(p, "pf", 2) && p[2] >= '0' && p[2] <= '9';
}

const char *topo_slave_down(const struct topo_class *c, const char *bond)
{
    for (int i = 0; i < c->nnetdevs && bond; i++)
        if (c->netdevs[i].master && !strcmp(c->netdevs[i].master, bond) && c->netdevs[i].state == TOPO_STATE_DOWN)
            return c->netdevs[i].name;
    return NULL;
}

int topo_ancestor(const struct topo_class *c, int object, enum topo_kind kind)
{
    while (object >= 0 && c->objects[object].kind != kind)
        object = c->objects[object].parent;
    return object;
}

int topo_count(const struct topo_class *c, enum topo_kind kind)
{
    int n = 0;
    for (int i = 0; i < c->nobjects; i++)
        n += c->objects[i].kind == kind;
    return n;
}

int topo_numa_number(const struct topo_class *c, int root)
{
    int number = c->objects[root].numa;
    for (int i = 0; i < c->nobjects; i++) {
        if ((c->objects[i].kind != TOPO_GPU && c->objects[i].kind != TOPO_NIC) || topo_root(c, i) != root)
            continue;
        number = c->objects[i].numa;
        if (number >= 0)
            break;
    }
    return number;
}

int topo_root(const struct topo_class *c, int object)
{
    while (object >= 0 && c->objects[object].parent >= 0)
        object = c->objects[object].parent;
    return object;
}

int topo_is_below(const struct topo_class *c, int object, int top)
{
    while (object >= 0 && object != top)
        object = c->objects[object].parent;
    return object == top;
}

int topo_count_links(const struct topo_class *c, int gpu)
{
    int n = 0;
    for (int i = 0; i < c->nlinks; i++)
        n += c->links[i].gpu == gpu && c->links[i].link_kind != TOPO_C2C ? c->links[i].count : 0;
    return n;
}

const char *topo_hosts(const struct topology *t, int class_index, int served, struct arena *a, int *n)
{
    const char **names = arena_alloc(a, ((size_t)t->nhosts + 1) * sizeof *names);
    *n = 0;
    for (int i = 0; i < t->nhosts; i++) {
        const struct topo_host *h = &t->hosts[i];
        if ((class_index < 0 || h->class_index == class_index) && (served < 0 || !h->served == !served))
            names[(*n)++] = h->name;
    }
    return hostlist_fold(names, *n, a);
}

int topo_find_host(const struct topology *t, const char *name)
{
    for (int i = 0; i < t->nhosts; i++)
        if (!strcmp(t->hosts[i].name, name))
            return i;
    for (int i = 0; i < t->nhosts; i++)
        if (hostlist_alike(t->hosts[i].name, name))
            return i;
    return -1;
}

int topo_measured_gpus(const struct topology *t)
{
    int gpus = 0;
    for (int i = 0; i < t->nhosts; i++)
        gpus += t->hosts[i].served ? 0 : t->classes[t->hosts[i].class_index].ngpus;
    return gpus;
}

const char *topo_amd_arch(const struct topology *t)
{
    for (int c = 0; c < t->nclasses; c++)
        for (int g = 0; g < t->classes[c].ngpus; g++)
            if (t->classes[c].gpus[g].arch)
                return t->classes[c].gpus[g].arch;
    return NULL;
}

struct topology *topo_select(const struct topology *t, const int *hosts, int nhosts)
{
    struct topology *some = topo_new();
    struct arena *a = some->arena;
    int *where = arena_alloc(a, (size_t)t->nclasses * sizeof *where); /* of every class, from 1; 0: not yet there */
    for (int i = 0; i < nhosts; i++) {
        const struct topo_host *from = &t->hosts[hosts[i]];
        if (!where[from->class_index]) {
            ARENA_ADD(a, some->classes, some->nclasses) = t->classes[from->class_index];
            where[from->class_index] = some->nclasses;
        }
        ARENA_ADD(a, some->hosts, some->nhosts) = *from;
        some->hosts[i].class_index = where[from->class_index] - 1;
    }
    some->tool = t->tool;
    some->source = t->source;
    return some;
}

/* ---- which classes may share a job ------------------------------------------------------------------------------- */

static int same_gpus(const struct topo_class *a, const struct topo_class *b)
{
    int same = a->ngpus == b->ngpus;
    for (int i = 0; i < a->ngpus && same; i++) {
        const struct topo_object *x = &a->objects[a->gpus[i].object], *y = &b->objects[b->gpus[i].object];
        same = a->gpus[i].sm == b->gpus[i].sm && x->vendor == y->vendor && x->device == y->device;
    }
    return same;
}

/* "8 x NVIDIA H100 80GB HBM3", by the model of the first. */
static const char *gpus_text(const struct topo_class *c, struct arena *a)
{
    const char *model = c->ngpus ? c->objects[c->gpus[0].object].model : NULL;
    return c->ngpus ? arena_printf(a, "%d x %s", c->ngpus, model ? model : "GPU") : "no GPU";
}

/* Rates of the active ports, sorted, in `a`. */
static double *rates_of(const struct topo_class *c, struct arena *a, int *count)
{
    double *rates = arena_alloc(a, ((size_t)c->nports + 1) * sizeof *rates);
    *count = 0;
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].state == TOPO_STATE_ACTIVE)
            rates[(*count)++] = c->ports[i].rate_Gbps;
    stats_sort(rates, *count);
    return rates;
}

/* "2 x 200 Gb/s, 1 x 400 Gb/s" */
static const char *rates_text(const double *rates, int n, struct arena *a)
{
    const char *text = n ? "" : "none";
    for (int i = 0, next; i < n; i = next) {
        for (next = i; next < n && !(rates[next] > rates[i]); next++)
            ;
        text = arena_printf(a, "%s%s%d x %g Gb/s", text, *text ? ", " : "", next - i, rates[i]);
    }
    return text;
}

const char *topo_apart(const struct topo_class *first, const struct topo_class *other, struct arena *a)
{
    int n, m;
    double *ours = rates_of(first, a, &n), *theirs = rates_of(other, a, &m);
    if (!same_gpus(first, other)) {
        const char *x = gpus_text(first, a), *y = gpus_text(other, a);
        return strcmp(x, y) ? arena_printf(a, "%s instead of %s", y, x)
                            : arena_printf(a, "%s of another kind", y); /* the files tell no more */
    }
    if (n != m || memcmp(ours, theirs, (size_t)n * sizeof *ours) != 0)
        return arena_printf(a, "active ports: %s instead of %s", rates_text(theirs, m, a), rates_text(ours, n, a));
    return NULL;
}

int topo_class_hosts(const struct topology *t, int class_index)
{
    int n = 0;
    for (int i = 0; i < t->nhosts; i++)
        n += t->hosts[i].class_index == class_index;
    return n ? n : 1;
}

int topo_gpu_class(const struct topology *t)
{
    int best = -1;
    for (int i = 0; i < t->nclasses; i++)
        if (t->classes[i].ngpus && (best < 0 || topo_class_hosts(t, i) > topo_class_hosts(t, best)))
            best = i;
    return best;
}

/* "10.0.1.7/24" as "10.0.1.0/24"; NULL when it is no IPv4 address with a prefix length. */
static const char *network_of_address(struct arena *a, const char *address)
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

const char *topo_ip_network(const struct topo_class *c, const char *netdev, struct arena *a)
{
    const struct topo_netdev *d = topo_find_netdev(c, netdev);
    const char *network = NULL;
    for (int i = 0; d && i < d->naddresses && !network; i++)
        network = network_of_address(a, d->addresses[i]);
    return network;
}
