/* This machine, or a copy of its files: every source fills one class. */
#include "probe/source/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

/* In the order in which they fill a class. Those that ask the running machine are left out for a copy of its files. */
static const struct {
    probe_source *fill;
    int live;
} sources[] = {
    {source_hwloc},   {source_pci}, {source_verbs},   {source_netdev},      {source_kfd},
    {source_nvml, 1}, {source_cxi}, {source_machine}, {source_software, 1}, {source_settings},
};

/* Who the host is in the network, beside its class: GUIDs of its HCAs, addresses of its interfaces. */
static void add_addresses(struct topology *t, const struct topo_class *c, struct topo_host *h)
{
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].guid && (i == 0 || strcmp(c->ports[i].hca, c->ports[i - 1].hca) != 0))
            build_text(t, &h->addresses, &h->naddresses,
                       arena_printf(t->arena, "%s %s", c->ports[i].hca, c->ports[i].guid));
    for (int i = 0; i < c->nnetdevs; i++)
        for (int k = 0; k < c->netdevs[i].naddresses && c->netdevs[i].kind != TOPO_NET_LOOPBACK; k++)
            build_text(t, &h->addresses, &h->naddresses,
                       arena_printf(t->arena, "%s %s", c->netdevs[i].name, c->netdevs[i].addresses[k]));
}

static struct topology *fill_all(const char *name, const char *arch, const char *source, struct log *log)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    t->source = arena_strdup(t->arena, source);
    c->arch = arena_strdup(t->arena, arch);
    build_host(t, name, 0);
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (!sysfs_root() || !sources[i].live)
            sources[i].fill(t, c);
    pci_tree_drop_unused_nics(t, c);
    build_order_devices(t, c);
    add_addresses(t, c, &t->hosts[0]);
    build_clique(t, &t->hosts[0]);
    log_info(log, "%s: %d GPU%s, %d RDMA port%s, %d network interface%s", name, c->ngpus, c->ngpus == 1 ? "" : "s",
             c->nports, c->nports == 1 ? "" : "s", c->nnetdevs, c->nnetdevs == 1 ? "" : "s");
    return t;
}

struct topology *probe_machine(struct log *log, struct err *e)
{
    char name[256] = "localhost";
    struct utsname system;
    if (uname(&system)) {
        err_errno(e, "uname");
        return NULL;
    }
    if (!gethostname(name, sizeof name))
        name[sizeof name - 1] = 0;
    return fill_all(name, system.machine, "this machine", log);
}

struct topology *probe_sysroot(const char *dir, struct log *log, struct err *e)
{
    struct arena *a = arena_new();
    struct topology *t = NULL;
    sysfs_set_root(dir);
    if (sysfs_root() && sysfs_exists("/sys")) {
        const char *slash = strrchr(dir, '/'), *base = slash && slash[1] ? slash + 1 : dir;
        const char *name = sysfs_line(a, "/proc/sys/kernel/hostname");
        t = fill_all(name ? name : base, NULL, dir, log);
        build_note(t, &t->classes[0],
                   "a copied tree: no MTU of RDMA ports, no addresses, nothing from NVIDIA's driver, no limits");
    } else {
        err_set(e, ERR_FAILED, "%s: expected a directory with sys and proc below it", dir);
    }
    sysfs_set_root(NULL);
    arena_free(a);
    return t;
}
