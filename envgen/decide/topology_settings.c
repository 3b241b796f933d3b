/* What the topology alone justifies: interfaces, and what differs between classes of nodes. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "core/vars/parse.h"

/* Interfaces of container and tunnel software by the names that it gives them. Docker's, libvirt's and the loopback
 * are left out by NCCL itself. */
static const struct {
    const char *prefix, *owner;
} local_names[] = {{"br-", "a Docker network"},
                   {"cni", "Kubernetes"},
                   {"flannel", "Flannel"},
                   {"cali", "Calico"},
                   {"tunl", "an IP-in-IP tunnel"},
                   {"vxlan", "a VXLAN tunnel"},
                   {"cilium", "Cilium"},
                   {"lxc", "a container"},
                   {"lxd", "LXD"},
                   {"incusbr", "Incus"},
                   {"podman", "Podman"},
                   {"nerdctl", "containerd"},
                   {"veth", "a container"},
                   {"vnet", "a virtual machine"},
                   {"weave", "Weave"},
                   {"kube", "Kubernetes"},
                   {"nodelocaldns", "Kubernetes"},
                   {"dummy", "a dummy interface"},
                   {"tap", "a virtual machine"},
                   {"tun", "a tunnel"},
                   {"wg", "WireGuard"},
                   {"tailscale", "Tailscale"},
                   {"ovs", "Open vSwitch"},
                   {"antrea", "Antrea"}};

static int begins(const char *name, const char *prefix)
{
    return !strncmp(name, prefix, strlen(prefix));
}

/* What NCCL takes when nothing is set: the first group that has a member. */
static int nccl_group(const char *name)
{
    static const char *const late[] = {"docker", "lo", "virbr"};
    if (begins(name, "ib"))
        return 0;
    for (int i = 0; i < 3; i++)
        if (begins(name, late[i]))
            return 2 + i;
    return 1;
}

int env_socket_automatic(const struct topo_class *c, const struct topo_netdev *out[ENV_INTERFACES])
{
    int n = 0;
    for (int group = 0; group < 5 && !n; group++)
        for (int i = 0; i < c->nnetdevs && n < ENV_INTERFACES; i++) {
            const struct topo_netdev *dev = &c->netdevs[i];
            if (dev->state == TOPO_STATE_ACTIVE && dev->naddresses > 0 && nccl_group(dev->name) == group)
                out[n++] = dev;
        }
    return n;
}

static const char *owner_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof local_names / sizeof *local_names; i++)
        if (begins(name, local_names[i].prefix))
            return local_names[i].owner;
    return NULL;
}

/* Who owns an interface that does not lead off the machine; NULL when it may. A bridge does when a NIC is one of its
 * ports. */
static const char *local_owner(const struct topo_class *c, const struct topo_netdev *dev)
{
    if (dev->kind == TOPO_NET_LOOPBACK)
        return "the loopback";
    if (dev->kind == TOPO_NET_PHYSICAL || dev->kind == TOPO_NET_BOND)
        return NULL;
    if (dev->kind == TOPO_NET_BRIDGE) {
        for (int i = 0; i < c->nnetdevs; i++)
            if (c->netdevs[i].master && !strcmp(c->netdevs[i].master, dev->name) && !owner_by_name(c->netdevs[i].name))
                return NULL;
        const char *owner = owner_by_name(dev->name);
        return owner ? owner : "a bridge without a NIC";
    }
    return owner_by_name(dev->name);
}

/* NCCL splits at ',' and ':' and gives '^' and '=' a meaning. */
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

struct env_setting env_socket_ifname(const struct topo_class *c, struct arena *a)
{
    struct env_setting s = {.family = "nccl", .name = "NCCL_SOCKET_IFNAME", .source = "topology"};
    const struct topo_netdev *devs[ENV_INTERFACES];
    int n = env_socket_automatic(c, devs);
    const char *own = "", *foreign = "";
    int nown = 0, nforeign = 0;
    for (int i = 0; i < n; i++) {
        const char *owner = local_owner(c, devs[i]);
        if (!owner)
            own = arena_printf(a, "%s%s%s", own, nown++ ? "," : "", devs[i]->name);
        else
            foreign = arena_printf(a, "%s%s%s (%s)", foreign, nforeign++ ? ", " : "", devs[i]->name, owner);
        size_t length = strlen(devs[i]->name);
        int plain = length > 0 && length < 16 && strspn(devs[i]->name, PLAIN) == length;
        if (!owner && !plain) {
            s.why = arena_printf(a, "interface '%s' has a name that cannot be written as a setting", devs[i]->name);
            return s;
        }
    }
    if (!n) {
        s.why = "the topology shows no running network interface with an address";
    } else if (!nforeign) {
        s.why = arena_printf(a, "NCCL's own choice, %s, is what the topology shows%s", own,
                             nown > 1 ? "; which of them is best is a question for measurements" : "");
    } else if (!nown) {
        s.why = arena_printf(a, "no interface leads off this machine: NCCL would use %s", foreign);
    } else {
        s.value = arena_printf(a, "=%s", own);
        s.why = arena_printf(a, "NCCL by itself would also use %s, which other nodes cannot reach", foreign);
    }
    return s;
}

/* ---- classes of nodes ---- */

void env_take_setting(struct env_decisions *d, struct env_setting s)
{
    s.name = arena_strdup(d->arena, s.name);
    s.value = arena_strdup(d->arena, s.value);
    s.why = arena_strdup(d->arena, s.why);
    s.node_class = arena_strdup(d->arena, s.node_class);
    struct env_setting *old = s.node_class ? NULL : env_find_setting(d, s.name);
    if (!old)
        env_add_setting(d, s);
    else if (!old->value && s.value)
        *old = s;
}

/* Whether there is anybody of the class, or nobody of any is known. */
static int has_hosts(const struct topology *t, int class_index)
{
    int n = !t->nhosts;
    for (int h = 0; h < t->nhosts && !n; h++)
        n = t->hosts[h].class_index == class_index;
    return n;
}

void env_add_by_class(struct env_decisions *d, const struct topology *t, struct env_setting *each)
{
    int n = t->nclasses, alike = 1, first = 0;
    while (first < n - 1 && !has_hosts(t, first))
        first++;
    for (int c = first + 1; c < n; c++)
        alike = alike &&
                (!has_hosts(t, c) || (each[c].value && each[first].value ? !strcmp(each[c].value, each[first].value)
                                                                         : each[c].value == each[first].value));
    struct env_setting common = each[first];
    if (!alike) {
        common.value = NULL;
        common.why = "classes of nodes need different values, see nccl.d/";
    }
    if (n)
        env_take_setting(d, common);
    for (int c = 0; c < n && !alike; c++) {
        each[c].node_class = t->classes[c].name;
        if (each[c].value)
            env_take_setting(d, each[c]);
    }
}

/* The node-local variables: lists of ports, or of interfaces. */
static const struct local {
    const char *name;
    int is_port;
} locals[] = {{"NCCL_IB_HCA", 1}, {"NCCL_SOCKET_IFNAME", 0}, {"NCCL_OOB_NET_IFNAME", 0}};

/* Whether a class has every device that the value names. */
static int holds_for(const struct local *l, const char *value, const struct topo_class *c)
{
    struct env_devices list;
    env_parse_devices(value, &list);
    for (int i = 0, found; i < list.count && !list.exclude; i++) {
        found = 0;
        for (int k = 0; k < c->nports && l->is_port; k++)
            found |= env_device_matches(&list, &list.list[i], c->ports[k].hca, c->ports[k].port);
        for (int k = 0; k < c->nnetdevs && !l->is_port; k++)
            found |= env_device_matches(&list, &list.list[i], c->netdevs[k].name, -1);
        if (!found)
            return 0;
    }
    return 1;
}

static void split(struct env_decisions *d, int index, const struct local *l, const struct topology *t)
{
    struct env_setting s = d->settings[index];
    int fits = 0;
    for (int c = 0; c < t->nclasses; c++)
        fits += holds_for(l, s.value, &t->classes[c]);
    if (fits == t->nclasses)
        return;
    for (int c = 0; c < t->nclasses; c++)
        if (holds_for(l, s.value, &t->classes[c])) {
            struct env_setting own = s;
            own.node_class = arena_strdup(d->arena, t->classes[c].name);
            env_add_setting(d, own);
        }
    d->settings[index].value = NULL;
    d->settings[index].why =
        arena_printf(d->arena, "%d of %d classes of nodes have the devices of %s: nccl.d/ has it for those", fits,
                     t->nclasses, s.value);
}

void env_classes(struct env_decisions *d, const struct topology *t)
{
    int measured = d->nsettings;
    for (int i = 0; i < measured && t->nclasses > 1; i++) {
        const struct env_setting s = d->settings[i];
        for (const struct local *l = locals; l < locals + sizeof locals / sizeof *locals && s.value; l++)
            if (!s.node_class && !strcmp(l->name, s.name))
                split(d, i, l, t);
    }
    if (env_find_setting(d, "NCCL_SOCKET_IFNAME")) /* what was measured goes before what the topology says */
        return;
    struct env_setting *each = arena_alloc(d->arena, ((size_t)t->nclasses + 1) * sizeof *each);
    for (int c = 0; c < t->nclasses; c++)
        each[c] = env_socket_ifname(&t->classes[c], d->arena);
    env_add_by_class(d, t, each);
}
