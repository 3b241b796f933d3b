/* What differs between classes of nodes. */
#include "envgen/decide/steps.h"

#include <string.h>

#include "core/vars/parse.h"

static int has_port(const struct topo_class *c, const struct env_devices *list, const struct env_device *entry)
{
    for (int i = 0; i < c->nports; i++)
        if (env_device_matches(list, entry, c->ports[i].hca, c->ports[i].port))
            return 1;
    return 0;
}

static int has_netdev(const struct topo_class *c, const struct env_devices *list, const struct env_device *entry)
{
    for (int i = 0; i < c->nnetdevs; i++)
        if (env_device_matches(list, entry, c->netdevs[i].name, -1))
            return 1;
    return 0;
}

/* The node-local variables, and whether a class has a device that their lists name. */
static const struct local {
    const char *name;
    int (*has)(const struct topo_class *c, const struct env_devices *list, const struct env_device *entry);
} locals[] = {
    {"NCCL_IB_HCA", has_port},
    {"NCCL_SOCKET_IFNAME", has_netdev},
    {"NCCL_OOB_NET_IFNAME", has_netdev},
};

static const struct local *find_local(const char *name)
{
    for (size_t i = 0; i < sizeof locals / sizeof *locals; i++)
        if (!strcmp(locals[i].name, name))
            return &locals[i];
    return NULL;
}

/* Whether a class has every device that the value names. */
static int holds_for(const struct local *l, const char *value, const struct topo_class *c)
{
    struct env_devices list;
    env_parse_devices(value, &list);
    for (int i = 0; i < list.count && !list.exclude; i++)
        if (!l->has(c, &list, &list.list[i]))
            return 0;
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

static void socket_ifname(struct env_decisions *d, const struct topology *t)
{
    for (int i = 0; i < d->nsettings; i++)
        if (!strcmp(d->settings[i].name, "NCCL_SOCKET_IFNAME") && strcmp(d->settings[i].source, "topology") != 0)
            return; /* what was measured goes before what the topology says */
    struct env_setting common = env_socket_ifname(t, d->arena);
    env_add_setting(d, common);
    for (int c = 0; c < t->nclasses && !common.value; c++) {
        struct env_setting own = env_socket_ifname_of(&t->classes[c], d->arena);
        own.node_class = arena_strdup(d->arena, t->classes[c].name);
        if (own.value)
            env_add_setting(d, own);
    }
}

void env_classes(struct env_decisions *d, const struct topology *t)
{
    int measured = d->nsettings;
    for (int i = 0; i < measured && t->nclasses > 1; i++) {
        const struct env_setting *s = &d->settings[i];
        const struct local *l = s->value && !s->node_class ? find_local(s->name) : NULL;
        if (l)
            split(d, i, l, t);
    }
    socket_ifname(d, t);
}
