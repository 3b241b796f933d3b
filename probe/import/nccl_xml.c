/* NCCL's topology file (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) and RCCL's, which adds <xgmi> and numbers its version 2.
 *
 * system > cpu > pci > (pci | gpu > (nvlink | xgmi | c2c) | nic > net), nic also below cpu. Clouds' files name PCI
 * classes only. The DTK dialect holds alternatives: system > group > cpu > pci without an address > gpu, nic. Files of
 * several hosts tell them apart by the cpu's host_hash. Unknown elements are skipped, as NCCL does. */
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

enum { CLASS_INFINIBAND = 0x0207, CLASS_ETHERNET = 0x0200, CLASS_NVSWITCH = 0x0680 };
#define MOST_CPUS 1024
#define CLASS_NPU 0x068001 /* POWER's NVLink bridge: the other end is the CPU */

struct import {
    struct topology *t;
    struct topo_class *c;
    const char *file;
    struct err *e;
    int in_group;
    int objects;                  /* read from the file so far */
    const struct xml_node **gpus; /* of every GPU, in the order of the class; NULL where only the class told */
    int ngpus;
    int described; /* <gpu> and <net> elements */
    int unknown;   /* functions without a class */
    const char *unknown_example;
};

static int refuse_attribute(const struct import *in, const struct xml_node *n, const char *attribute,
                            const char *expected)
{
    const char *found = xml_attribute(n, attribute);
    return err_at(in->e, in->file, n->line, 0, "<%s> %s%s%s%s: expected %s", n->name, attribute, found ? "=\"" : "",
                  found ? found : " is missing", found ? "\"" : "", expected);
}

/* RCCL has written "906", "910" for gfx90a, and "gfx942". */
static const char *amd_arch(struct arena *a, const char *gcn)
{
    if (!strcmp(gcn, "910"))
        return "gfx90a";
    return strncmp(gcn, "gfx", 3) ? arena_printf(a, "gfx%s", gcn) : arena_strdup(a, gcn);
}

static int add_gpu(struct import *in, int object, const struct xml_node *n)
{
    struct topo_gpu g = {.object = object, .index = -1, .gdr = -1};
    if (in->c->ngpus >= TOPO_MOST_GPUS)
        return err_at(in->e, in->file, n ? n->line : 0, 0, "more than %d GPUs", TOPO_MOST_GPUS);
    if (n) {
        in->described = 1;
        g.index = (int)xml_int(n, "dev", 0, 65535, -1);
        g.gdr = (int)xml_int(n, "gdr", 0, 1, -1);
        /* RCCL's sm is the number of compute units. */
        const char *gcn = xml_attribute(n, "gcn");
        g.arch = gcn ? amd_arch(in->t->arena, gcn) : NULL;
        g.sm = gcn ? 0 : (int)xml_int(n, "sm", 0, 1000, 0);
    }
    ARENA_ADD(in->t->arena, in->gpus, in->ngpus) = n;
    build_gpu(in->t, in->c, g);
    return 0;
}

/* NCCL writes the GUID as it lies in memory; people know it the other way round. "0x0" is none. */
static const char *guid_text(struct arena *a, const struct xml_node *net)
{
    const char *s = xml_attribute(net, "guid");
    char *end;
    unsigned long long v = s ? strtoull(s, &end, 0) : 0;
    return v > 0xffff && !*end ? arena_printf(a, "0x%016llx", (unsigned long long)__builtin_bswap64(v)) : NULL;
}

/* Whether the class has that port or interface: files of several <cpu> repeat what hangs on none of them. */
static int is_repeated(const struct topo_class *c, const char *name, int port)
{
    return port ? topo_find_port(c, name, port) >= 0 : topo_find_netdev(c, name) != NULL;
}

/* A port, or each port of what NCCL merged and calls "mlx5_0+mlx5_1". */
static void add_ports(struct import *in, struct topo_port p)
{
    int parts = 1, done = 0;
    for (const char *s = p.hca; (s = strchr(s, '+')); s++)
        parts++;
    for (const char *s = p.hca; done < parts; done++) {
        size_t n = strcspn(s, "+");
        struct topo_port one = p;
        one.hca = arena_strndup(in->t->arena, s, n);
        one.rate_Gbps /= parts;
        if (parts > 1)
            one.port = 1;
        if (n && !is_repeated(in->c, one.hca, one.port))
            build_port(in->t, in->c, one);
        s += n + (s[n] == '+');
    }
}

/* <net>, the k-th of its <nic>. NCCL numbers the ports of one PCI function on: what it calls port 2 of the function's
 * second device is port 1 of that device (net_ib: props.port = portNum + realPort). Its socket transport has port 0. */
static int add_net(struct import *in, int object, const struct xml_node *n, int k)
{
    struct topology *t = in->t;
    const char *name = arena_strdup(t->arena, xml_attribute(n, xml_is(n, "net") ? "name" : "id"));
    int port = (int)xml_int(n, "port", 0, 65535, xml_is(n, "net") ? 0 : 1);
    const double most_Gbps = 10000; /* some files give kb/s: not believed */
    double Gbps = (double)xml_int(n, "speed", 0, 1000000000000, 0) / 1000;
    uint32_t pci_class = in->c->objects[object].pci_class >> 8;
    if (!name) {
        build_note(t, in->c, "line %ld: <%s> without a name left out", n->line, n->name);
        return 0;
    }
    if (in->c->nports + in->c->nnetdevs >= IMPORT_MOST_PORTS)
        return err_at(in->e, in->file, n->line, 0, "more than %d ports", IMPORT_MOST_PORTS);
    if (Gbps > most_Gbps) {
        build_note(t, in->c, "line %ld: %s has a speed of %g Gb/s, taken as unknown", n->line, name, Gbps);
        Gbps = 0;
    }
    in->described = 1;
    if (!in->c->objects[object].name)
        in->c->objects[object].name = name;
    if (!port && is_repeated(in->c, name, 0))
        return 0;
    if (!port) {
        build_netdev(
            t, in->c,
            (struct topo_netdev){.object = object, .name = name, .state = TOPO_STATE_ACTIVE, .speed_Gbps = Gbps});
        return 0;
    }
    add_ports(in, (struct topo_port){
                      .object = object,
                      .hca = name,
                      .port = port > k ? port - k : port,
                      .state = TOPO_STATE_ACTIVE,
                      .layer = pci_class == CLASS_INFINIBAND ? TOPO_LINK_INFINIBAND
                               : pci_class == CLASS_ETHERNET ? TOPO_LINK_ETHERNET
                                                             : TOPO_LINK_UNKNOWN,
                      .rate_Gbps = Gbps,
                      .guid = guid_text(t->arena, n),
                  });
    return 0;
}

/* <nic> below `parent`: its nets belong to `parent` where that is a NIC, else to a new NIC of unknown address. */
static int add_nic(struct import *in, int parent, const struct xml_node *n)
{
    int object = parent, k = 0;
    if (++in->objects > IMPORT_MOST_OBJECTS)
        return err_at(in->e, in->file, n->line, 0, "more than %d devices", IMPORT_MOST_OBJECTS);
    if (in->c->objects[parent].kind != TOPO_NIC)
        object =
            build_object(in->t, in->c,
                         (struct topo_object){.kind = TOPO_NIC, .parent = parent, .numa = in->c->objects[parent].numa});
    if (xml_attribute(n, "id") && add_net(in, object, n, 0))
        return ERR_FAILED;
    for (const struct xml_node *net = n->first; net; net = net->next)
        if (xml_is(net, "net") && add_net(in, object, net, k++))
            return ERR_FAILED;
    return 0;
}

static int has_child(const struct xml_node *n, const char *child)
{
    for (const struct xml_node *i = n->first; i; i = i->next)
        if (xml_is(i, child))
            return 1;
    return 0;
}

static enum topo_kind kind_of(const struct xml_node *n, uint32_t pci_class, uint16_t vendor)
{
    if (!xml_attribute(n, "busid"))
        return TOPO_SWITCH;
    return has_child(n, "gpu")                               ? TOPO_GPU
           : has_child(n, "nic")                             ? TOPO_NIC
           : has_child(n, "pci") || pci_is_switch(pci_class) ? TOPO_SWITCH
           : pci_is_nvswitch(pci_class, vendor)              ? TOPO_NVSWITCH
           : pci_is_nic(pci_class)                           ? TOPO_NIC
           : pci_class && pci_is_gpu(pci_class, 0, 0)        ? TOPO_GPU
                                                             : TOPO_FUNCTION;
}

static int add_pci(struct import *in, int parent, const struct xml_node *n);

static int add_below(struct import *in, int object, const struct xml_node *n)
{
    for (const struct xml_node *i = n->first; i; i = i->next) {
        int rc = 0;
        if (xml_is(i, "pci")) {
            rc = add_pci(in, object, i);
        } else if (xml_is(i, "nic")) {
            rc = add_nic(in, object, i);
        } else if (xml_is(i, "gpu")) {
            int own = in->c->objects[object].kind == TOPO_GPU
                          ? object
                          : build_object(in->t, in->c,
                                         (struct topo_object){
                                             .kind = TOPO_GPU, .parent = object, .numa = in->c->objects[object].numa});
            rc = add_gpu(in, own, i);
        } else {
            build_note(in->t, in->c, "<%s> elements are not read", i->name);
        }
        if (rc)
            return rc;
    }
    return 0;
}

static int add_pci(struct import *in, int parent, const struct xml_node *n)
{
    struct topology *t = in->t;
    struct topo_object o = {.parent = parent, .numa = in->c->objects[parent].numa};
    const char *busid = xml_attribute(n, "busid");
    o.pci = pci_address(t->arena, busid);
    if (!o.pci && (busid || !in->in_group))
        return refuse_attribute(in, n, "busid", "a PCI address such as \"0000:17:00.0\"");
    if (++in->objects > IMPORT_MOST_OBJECTS)
        return err_at(in->e, in->file, n->line, 0, "more than %d devices", IMPORT_MOST_OBJECTS);
    if (build_find_pci(in->c, o.pci) >= 0)
        build_note(t, in->c, "line %ld: %s is there twice", n->line, o.pci);
    o.pci_class = (uint32_t)xml_int(n, "class", 0, 0xffffff, 0);
    o.vendor = (uint16_t)xml_int(n, "vendor", 0, 0xfffe, 0);
    o.device = (uint16_t)xml_int(n, "device", 0, 0xfffe, 0);
    o.subsystem_vendor = (uint16_t)xml_int(n, "subsystem_vendor", 0, 0xfffe, 0);
    o.subsystem_device = (uint16_t)xml_int(n, "subsystem_device", 0, 0xfffe, 0);
    o.link_GTps = pci_GTps(xml_attribute(n, "link_speed"));
    o.link_width = (int)xml_int(n, "link_width", 0, 32, 0);
    o.link_GBps = pci_GBps(o.link_GTps, o.link_width);
    o.kind = kind_of(n, o.pci_class, o.vendor);
    if (o.kind == TOPO_FUNCTION && o.pci_class)
        return 0; /* known to be of no interest */
    if (o.kind == TOPO_FUNCTION && !in->unknown++)
        in->unknown_example = o.pci;
    int object = build_object(t, in->c, o);
    if (o.kind == TOPO_GPU && !has_child(n, "gpu") && add_gpu(in, object, NULL))
        return ERR_FAILED;
    return add_below(in, object, n);
}

static int add_cpu(struct import *in, const struct xml_node *n)
{
    long long numa = xml_int(n, "numaid", -1, 65535, -2);
    const char *vendor = xml_attribute(n, "vendor"), *family = xml_attribute(n, "familyid");
    const char *model = xml_attribute(n, "modelid");
    if (numa == -2)
        return refuse_attribute(in, n, "numaid", "the number of a NUMA node");
    if (!in->c->arch)
        in->c->arch = arena_strdup(in->t->arena, xml_attribute(n, "arch"));
    if (!in->c->cpu && vendor && *vendor && family && model)
        in->c->cpu = arena_printf(in->t->arena, "%s %s/%s", vendor, family, model);
    return add_below(in, build_numa(in->t, in->c, (int)numa), n);
}

/* An address of two dies is that of both: each has its share of the links. */
static void share_link(struct import *in, struct topo_link l)
{
    struct topo_class *c = in->c;
    int dies = 0, all = l.count;
    for (int i = 0; i < c->ngpus && l.peer_gpu >= 0; i++)
        dies += c->gpus[i].object == c->gpus[l.peer_gpu].object;
    if (dies < 2) {
        build_link(in->t, c, l);
        return;
    }
    int object = c->gpus[l.peer_gpu].object;
    for (int i = 0, k = 0; i < c->ngpus; i++) {
        if (c->gpus[i].object != object)
            continue;
        l.peer_gpu = i;
        l.count = all / dies + (k++ < all % dies);
        if (l.count && i != l.gpu)
            build_link(in->t, c, l);
    }
}

/* <nvlink>, <xgmi> or <c2c> of a GPU. */
static int add_link(struct import *in, int gpu, const struct xml_node *n)
{
    struct topo_class *c = in->c;
    const char *target = pci_address(in->t->arena, xml_attribute(n, "target"));
    long long target_class = xml_int(n, "tclass", 0, 0xffffff, 0);
    struct topo_link l = {.gpu = gpu, .peer_gpu = -1, .peer_object = -1};
    if (c->nlinks >= IMPORT_MOST_PORTS)
        return err_at(in->e, in->file, n->line, 0, "more than %d links", IMPORT_MOST_PORTS);
    l.count = (int)xml_int(n, "count", 1, 1024, 1);
    l.link_kind = xml_is(n, "c2c") ? TOPO_C2C : xml_is(n, "xgmi") ? TOPO_XGMI : TOPO_NVLINK;
    int at = build_find_pci(c, target);
    l.peer_gpu = build_find_gpu(c, at);
    if (l.peer_gpu == gpu) {
        build_note(in->t, c, "line %ld: %s names its own GPU %s as the other end: left out", n->line, n->name, target);
        return 0;
    }
    if (l.link_kind == TOPO_C2C) {
        l.peer_object = topo_ancestor(c, c->gpus[gpu].object, TOPO_NUMA);
        l.GBps = (double)xml_int(n, "bw", 0, 1000000000, 0) * l.count / 1000;
    } else if (l.peer_gpu < 0 && target_class == CLASS_NPU) {
        l.peer_object = topo_ancestor(c, c->gpus[gpu].object, TOPO_NUMA);
    } else if (l.peer_gpu < 0 && target_class >> 8 == CLASS_NVSWITCH) {
        l.peer_object = build_nvswitch(in->t, c, target);
    } else if (l.peer_gpu < 0) {
        build_note(in->t, c, "line %ld: %s to %s, which the file does not show", n->line, n->name,
                   target ? target : "an unknown end");
    }
    share_link(in, l);
    return 0;
}

/* A class and a host from the <cpu> children of `parent` whose host_hash is `hash` (NULL: those without one). */
static int add_node(struct import *in, const struct xml_node *parent, const char *hash, const char *name)
{
    struct topology *t = in->t;
    in->c = build_class(t, NULL);
    in->ngpus = in->described = in->unknown = 0;
    build_host(t, name, t->nclasses - 1);
    for (const struct xml_node *n = parent->first; n; n = n->next) {
        const char *own = xml_attribute(n, "host_hash");
        if (xml_is(n, "cpu") && arena_same_text(own, hash) && add_cpu(in, n))
            return ERR_FAILED;
    }
    pci_tree_prune(in->c);
    for (int i = 0; i < in->ngpus; i++)
        for (const struct xml_node *n = in->gpus[i] ? in->gpus[i]->first : NULL; n; n = n->next)
            if ((xml_is(n, "nvlink") || xml_is(n, "xgmi") || xml_is(n, "c2c")) && add_link(in, i, n))
                return ERR_FAILED;
    build_order_devices(t, in->c);
    if (in->unknown)
        build_note(
            t, in->c,
            "%d PCI function%s without a class (%s%s): NCCL asks the machine what they are; here lspci or an hwloc "
            "file merged with this one tells",
            in->unknown, in->unknown == 1 ? "" : "s", in->unknown_example, in->unknown == 1 ? "" : ", ...");
    int devices = 0;
    for (int i = 0; i < in->c->nobjects; i++)
        devices += in->c->objects[i].kind != TOPO_NUMA;
    if (!in->described && devices)
        build_note(t, in->c, "the file has PCI classes only: no device names, NVLink, rates or ports");
    return 0;
}

/* Every host_hash once, in the order of the file. `*hosts` have had that name so far. */
static int add_nodes(struct import *in, const struct xml_node *parent, const char *name, int *hosts)
{
    int cpus = 0;
    for (const struct xml_node *n = parent->first; n; n = n->next) {
        const char *hash = xml_is(n, "cpu") ? xml_attribute(n, "host_hash") : NULL;
        int seen = !xml_is(n, "cpu");
        if (!seen && ++cpus > MOST_CPUS)
            return err_at(in->e, in->file, n->line, 0, "more than %d <cpu> elements", MOST_CPUS);
        for (const struct xml_node *i = parent->first; i != n && !seen; i = i->next) {
            const char *other = xml_attribute(i, "host_hash");
            seen = xml_is(i, "cpu") && arena_same_text(hash, other);
        }
        if (seen)
            continue;
        const char *own = (*hosts)++ ? arena_printf(in->t->arena, "%s-%d", name, *hosts) : name;
        if (add_node(in, parent, hash, own))
            return ERR_FAILED;
    }
    return 0;
}

int import_nccl_xml(struct topology *t, const struct xml_node *roots, const char *name, const char *file, struct err *e)
{
    struct import in = {.t = t, .file = file, .e = e};
    long line = roots->line;
    int before = t->nclasses, hosts = 0;
    for (const struct xml_node *n = roots; n; n = n->next) {
        if (!xml_is(n, "system"))
            continue;
        /* NCCL writes 1, RCCL 1 or 2; a file without one is read as NCCL's first releases wrote it. */
        if (xml_attribute(n, "version") && xml_int(n, "version", 1, 2, 0) == 0)
            return refuse_attribute(&in, n, "version", "1 (NCCL) or 2 (RCCL)");
        if (add_nodes(&in, n, name, &hosts))
            return ERR_FAILED;
        in.in_group = 1;
        for (const struct xml_node *g = n->first; g; g = g->next) {
            const char *own = xml_is(g, "group") ? xml_attribute(g, "name") : NULL;
            int same = 0;
            t->alternatives |= own && !before;
            if (xml_is(g, "group") && add_nodes(&in, g, own ? own : name, own ? &same : &hosts))
                return ERR_FAILED;
        }
        in.in_group = 0;
    }
    if (t->nclasses == before)
        return err_at(e, file, line, 0, "expected a <cpu> element in <system>, found none");
    return 0;
}
