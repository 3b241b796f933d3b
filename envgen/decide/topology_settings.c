/* NCCL settings from the topology alone. */
#include "envgen/decide/steps.h"

#include <string.h>

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
static int plain_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n < 16 && strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == n;
}

struct env_setting env_socket_ifname_of(const struct topo_class *c, struct arena *a)
{
    struct env_setting s = {.family = "nccl", .name = "NCCL_SOCKET_IFNAME", .source = "topology"};
    const struct topo_netdev *devs[ENV_INTERFACES];
    int n = env_socket_automatic(c, devs);
    const char *own = "", *foreign = "";
    int nown = 0, nforeign = 0;
    for (int i = 0; i < n; i++) {
        const char *owner = local_owner(c, devs[i]);
        if (!owner) {
            own = arena_printf(a, "%s%s%s", own, nown++ ? "," : "", devs[i]->name);
        } else {
            foreign = arena_printf(a, "%s%s%s (%s)", foreign, nforeign++ ? ", " : "", devs[i]->name, owner);
        }
        if (!owner && !plain_name(devs[i]->name)) {
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

struct env_setting env_socket_ifname(const struct topology *t, struct arena *a)
{
    struct env_setting first = {.family = "nccl", .name = "NCCL_SOCKET_IFNAME", .source = "topology"};
    if (t->nclasses < 1) {
        first.why = "the topology has no node";
        return first;
    }
    first = env_socket_ifname_of(&t->classes[0], a);
    for (int i = 1; i < t->nclasses; i++) {
        struct env_setting other = env_socket_ifname_of(&t->classes[i], a);
        if ((first.value && other.value && !strcmp(first.value, other.value)) || (!first.value && !other.value))
            continue;
        first.value = NULL;
        first.why = arena_printf(a, "%s and %s would need different values, see nccl.d/", t->classes[0].name,
                                 t->classes[i].name);
        break;
    }
    return first;
}
