/* hwloc's XML, versions 1 to 3, read here and not by libhwloc: that refuses files of a later major version than its
 * own, and prints about or stops at what it does not like.
 *
 * topology > object, nested: Machine > Package > NUMANode; Bridge > PCIDev > OSDev. An object's info children say more;
 * NVLink and XGMI are matrices of bandwidth (distances2, distances2hetero) between objects named by gp_index. */
#include <ctype.h>
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/hwloc_matrix.h"
#include "probe/import/import_internal.h"
#include "probe/topology/build.h"
#include "probe/topology/pci.h"
#include "probe/topology/pci_tree.h"

/* What an operating system device is. Version 3 made the numbers a set of bits. */
enum device_kind { DEVICE_OTHER, DEVICE_GPU, DEVICE_NETWORK, DEVICE_RDMA };

/* Libraries that name a GPU they can use "nvml0", "cuda0". The first ones number them as nvidia-smi and rocm-smi do;
 * CUDA puts the fastest first. */
static const char *const gpu_names[] = {"nvml", "rsmi", "cuda", NULL};
#define NUMBERING 2

#define MOST_NUMA 1024

struct numa_node {
    int os_index;
    const char *cpuset;
};

struct import {
    struct topology *t;
    struct topo_class *c;
    const char *file;
    struct err *e;
    int version; /* 1, 2, 3 */
    struct numa_node numa[MOST_NUMA];
    int nnuma;
    struct hwloc_matrix_names names;
};

static int is_object(const struct xml_node *n, const char *type)
{
    const char *own = xml_is(n, "object") ? xml_attribute(n, "type") : NULL;
    return own && !strcmp(own, type);
}

static const char *info(const struct xml_node *n, const char *name)
{
    for (const struct xml_node *i = n->first; i; i = i->next) {
        const char *own = xml_is(i, "info") ? xml_attribute(i, "name") : NULL;
        if (own && !strcmp(own, name))
            return xml_attribute(i, "value");
    }
    return NULL;
}

/* The first such info of the machine or of anything in it. */
static const char *info_anywhere(const struct xml_node *n, const char *name)
{
    const char *found = info(n, name);
    for (const struct xml_node *i = n->first; i && !found; i = i->next)
        if (xml_is(i, "object"))
            found = info_anywhere(i, name);
    return found;
}

static enum device_kind device_kind(const struct import *in, const struct xml_node *n)
{
    static const enum device_kind kinds[] = {DEVICE_OTHER, DEVICE_GPU,   DEVICE_NETWORK,
                                             DEVICE_RDMA,  DEVICE_OTHER, DEVICE_GPU};
    enum { BIT_GPU = 4, BIT_NETWORK = 16, BIT_OPENFABRICS = 32 };
    long long type = xml_int(n, "osdev_type", 0, 1 << 20, 0);
    if (in->version < 3)
        return type < (long long)(sizeof kinds / sizeof *kinds) ? kinds[type] : DEVICE_OTHER;
    return type & BIT_OPENFABRICS ? DEVICE_RDMA
           : type & BIT_NETWORK   ? DEVICE_NETWORK
           : type & BIT_GPU       ? DEVICE_GPU
                                  : DEVICE_OTHER;
}

/* ---- NUMA nodes -------------------------------------------------------------------------------------------------- */

/* Nodes with cores; not the memory of a GPU. */
static void find_numa(struct import *in, const struct xml_node *n)
{
    const char *cpuset = xml_attribute(n, "cpuset"), *subtype = xml_attribute(n, "subtype");
    int os_index = (int)xml_int(n, "os_index", 0, 65535, -1);
    if (is_object(n, "NUMANode") && os_index >= 0 && in->nnuma < MOST_NUMA &&
        !(subtype && !strcmp(subtype, "GPUMemory")) && cpuset && strspn(cpuset, "0x,") < strlen(cpuset)) {
        in->numa[in->nnuma++] = (struct numa_node){os_index, cpuset};
        build_numa(in->t, in->c, os_index);
    }
    for (const struct xml_node *i = n->first; i; i = i->next)
        if (xml_is(i, "object"))
            find_numa(in, i);
}

/* The node of an object by its nodeset; -1 when several with different cores could be. */
static int numa_of(const struct import *in, const struct xml_node *n)
{
    const char *nodeset = NULL;
    const struct numa_node *found = NULL;
    for (; n && !nodeset; n = n->parent)
        nodeset = xml_attribute(n, "nodeset");
    if (in->nnuma == 1)
        return in->numa[0].os_index;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int several = !set || !nodeset || hwloc_bitmap_sscanf(set, nodeset) < 0;
    for (int i = 0; i < in->nnuma && !several; i++) {
        if (!hwloc_bitmap_isset(set, (unsigned)in->numa[i].os_index))
            continue;
        several = found && strcmp(found->cpuset, in->numa[i].cpuset) != 0;
        found = found ? found : &in->numa[i];
    }
    hwloc_bitmap_free(set);
    return found && !several ? found->os_index : -1;
}

/* ---- PCI --------------------------------------------------------------------------------------------------------- */

/* The numbers of "0302 [10de:15f9] [10de:116b] a1": class, vendor, device and those of the subsystem; how many. */
static int hex_numbers(const char *s, uint16_t id[5])
{
    int n = 0;
    for (; n < 5; n++) {
        char *end;
        s += strspn(s, " []:");
        unsigned long v = strtoul(s, &end, 16);
        if (end == s || v > 0xffff)
            break;
        id[n] = (uint16_t)v;
        s = end;
    }
    return n;
}

static int read_function(struct import *in, const struct xml_node *n, struct pci_function *f)
{
    const char *type = xml_attribute(n, "pci_type"), *speed = xml_attribute(n, "pci_link_speed");
    uint16_t id[5] = {0};
    double GBps = speed ? strtod(speed, NULL) : 0;
    *f = (struct pci_function){.pci = pci_address(in->t->arena, xml_attribute(n, "pci_busid"))};
    if (!f->pci)
        return err_at(in->e, in->file, n->line, 0, "pci_busid: expected a PCI address such as \"0000:17:00.0\"");
    if (!type || hex_numbers(type, id) < 3)
        return err_at(in->e, in->file, n->line, 0, "pci_type: expected \"CLASS [VENDOR:DEVICE] ...\" in hex");
    f->class_code = (uint32_t)id[0] << 8;
    f->vendor = id[1];
    f->device = id[2];
    f->subsystem_vendor = id[3];
    f->subsystem_device = id[4];
    f->link_GBps = GBps > 0 && GBps < 1e6 ? GBps : 0;
    f->model = arena_strdup(in->t->arena, info(n, "PCIDevice"));
    return 0;
}

/* "ec0d:9a03:0046:2310" as "0xec0d9a0300462310". */
static const char *guid_text(struct arena *a, const char *s)
{
    char digits[17] = "";
    size_t n = 0;
    for (; s && *s; s++) {
        if (*s == ':')
            continue;
        if (n == 16 || !isxdigit((unsigned char)*s))
            return NULL;
        digits[n++] = *s;
    }
    return n == 16 ? arena_printf(a, "0x%s", digits) : NULL;
}

static void add_rdma(struct import *in, const struct xml_node *n, int object)
{
    struct arena *a = in->t->arena;
    const char *hca = arena_strdup(a, xml_attribute(n, "name"));
    uint32_t pci_class = in->c->objects[object].pci_class >> 8;
    struct topo_port p = {.object = object, .hca = hca, .guid = guid_text(a, info(n, "NodeGUID"))};
    p.layer = pci_class == 0x0200                          ? TOPO_LINK_ETHERNET
              : pci_class == 0x0207 || pci_class == 0x0c06 ? TOPO_LINK_INFINIBAND
                                                           : TOPO_LINK_UNKNOWN;
    int before = in->c->nports;
    for (int port = 1; port <= 4; port++) {
        char key[32];
        snprintf(key, sizeof key, "Port%dState", port);
        const char *state = info(n, key);
        if (!state)
            continue;
        p.port = port;
        p.state = strtol(state, NULL, 10) == 4 ? TOPO_STATE_ACTIVE : TOPO_STATE_DOWN; /* IBV_PORT_ACTIVE */
        build_port(in->t, in->c, p);
    }
    p.port = 1;
    if (in->c->nports == before)
        build_port(in->t, in->c, p);
}

static void add_network(struct import *in, const struct xml_node *n, int object)
{
    enum { VENDOR_VIRTIO = 0x1af4 };
    struct topo_netdev d = {.object = object, .name = arena_strdup(in->t->arena, xml_attribute(n, "name"))};
    int is_virtual = object < 0 || in->c->objects[object].vendor == VENDOR_VIRTIO;
    d.kind = is_virtual ? TOPO_NET_VIRTUAL : TOPO_NET_PHYSICAL;
    build_netdev(in->t, in->c, d);
}

static uint64_t kib(const char *s)
{
    unsigned long long v = s ? strtoull(s, NULL, 10) : 0;
    return v < (1ull << 43) ? v << 10 : 0;
}

/* The number in "nvml3"; -1 for another library's name. */
static int index_of(const char *name, const char *library)
{
    size_t n = strlen(library);
    char *end;
    if (strncmp(name, library, n) != 0 || name[n] < '0' || name[n] > '9')
        return -1;
    long v = strtol(name + n, &end, 10);
    return *end || v > 65535 ? -1 : (int)v;
}

static int named_by_gpu_library(const struct xml_node *device)
{
    const char *name = xml_attribute(device, "name");
    for (int i = 0; name && gpu_names[i]; i++)
        if (index_of(name, gpu_names[i]) >= 0)
            return 1;
    return 0;
}

/* What the operating system devices of a GPU tell about it. */
static void describe_gpu(struct import *in, const struct xml_node *n, int object)
{
    struct topo_gpu *g = &in->c->gpus[in->c->ngpus - 1];
    struct arena *a = in->t->arena;
    for (int k = 0; k < NUMBERING; k++)
        for (const struct xml_node *i = n->first; i; i = i->next) {
            const char *name = is_object(i, "OSDev") ? xml_attribute(i, "name") : NULL;
            if (name && g->index < 0)
                g->index = index_of(name, gpu_names[k]);
        }
    for (const struct xml_node *i = n->first; i; i = i->next) {
        const char *model = info(i, "GPUModel"), *uuid = info(i, "NVIDIAUUID");
        const char *memory = info(i, "CUDAGlobalMemorySize");
        if (!is_object(i, "OSDev"))
            continue;
        if (model)
            in->c->objects[object].model = arena_strdup(a, model);
        if (uuid)
            g->uuid = arena_strdup(a, uuid);
        if (memory)
            g->mem_bytes = kib(memory);
        hwloc_matrix_name(&in->names, a, i, (struct hwloc_matrix_end){in->c->ngpus - 1, -1});
    }
    hwloc_matrix_name(&in->names, a, n, (struct hwloc_matrix_end){in->c->ngpus - 1, -1});
}

static int add_device(struct import *in, const struct xml_node *n, struct pci_place at)
{
    struct pci_function f;
    const char *subtype = xml_attribute(n, "subtype");
    enum topo_kind claimed = subtype && !strcmp(subtype, "NVSwitch") ? TOPO_NVSWITCH : TOPO_KIND_COUNT;
    if (read_function(in, n, &f))
        return ERR_FAILED;
    if (in->c->nobjects >= IMPORT_MOST_OBJECTS || in->c->ngpus >= TOPO_MOST_GPUS ||
        in->c->nports + in->c->nnetdevs >= IMPORT_MOST_PORTS)
        return err_at(in->e, in->file, n->line, 0, "more than %d devices, %d GPUs or %d ports", IMPORT_MOST_OBJECTS,
                      TOPO_MOST_GPUS, IMPORT_MOST_PORTS);
    for (const struct xml_node *i = n->first; i; i = i->next) {
        enum device_kind kind = is_object(i, "OSDev") ? device_kind(in, i) : DEVICE_OTHER;
        if (named_by_gpu_library(i))
            claimed = TOPO_GPU;
        else if (kind == DEVICE_NETWORK || kind == DEVICE_RDMA)
            claimed = TOPO_NIC;
    }
    int object = pci_tree_device(in->t, in->c, at, f, claimed);
    if (object < 0)
        return 0;
    if (in->c->objects[object].kind == TOPO_GPU)
        describe_gpu(in, n, object);
    if (in->c->objects[object].kind == TOPO_NVSWITCH)
        hwloc_matrix_name(&in->names, in->t->arena, n, (struct hwloc_matrix_end){-1, object});
    if (in->c->objects[object].kind != TOPO_NIC)
        return 0;
    for (const struct xml_node *i = n->first; i; i = i->next) {
        enum device_kind kind = is_object(i, "OSDev") && xml_attribute(i, "name") ? device_kind(in, i) : DEVICE_OTHER;
        if (kind == DEVICE_RDMA)
            add_rdma(in, i, object);
        else if (kind == DEVICE_NETWORK)
            add_network(in, i, object);
    }
    return 0;
}

/* "0000:[80-8f]" as "pci0000:80". */
static const char *bridge_name(struct arena *a, const char *range)
{
    const char *open = range ? strchr(range, '[') : NULL;
    return open ? arena_printf(a, "pci%04lx:%02lx", strtoul(range, NULL, 16), strtoul(open + 1, NULL, 16)) : NULL;
}

/* Everything below `n`, which stands at `at` in the PCI tree (parent -1 and bridges -1: not in one). */
static int walk(struct import *in, const struct xml_node *n, struct pci_place at)
{
    for (const struct xml_node *i = n->first; i; i = i->next) {
        int rc = 0;
        struct pci_place below = at;
        if (is_object(i, "PCIDev")) {
            rc = add_device(in, i, at);
        } else if (is_object(i, "Bridge")) {
            const char *type = xml_attribute(i, "bridge_type"), *range = xml_attribute(i, "bridge_pci");
            struct pci_function f;
            if (in->c->nobjects >= IMPORT_MOST_OBJECTS)
                rc = err_at(in->e, in->file, i->line, 0, "more than %d devices", IMPORT_MOST_OBJECTS);
            else if (type && !strncmp(type, "0-", 2))
                below = pci_tree_host_bridge(in->t, in->c, numa_of(in, i), bridge_name(in->t->arena, range));
            else if (!(rc = read_function(in, i, &f)))
                below = pci_tree_bridge(in->t, in->c, at, f);
        }
        if (!rc && (is_object(i, "Package") || is_object(i, "Socket"))) {
            int numa = numa_of(in, i);
            if (numa >= 0)
                hwloc_matrix_name(&in->names, in->t->arena, i,
                                  (struct hwloc_matrix_end){-1, build_numa(in->t, in->c, numa)});
        }
        if (!rc && xml_is(i, "object") && !is_object(i, "PCIDev"))
            rc = walk(in, i, below);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const char *cpu_name(struct import *in, const struct xml_node *root)
{
    const char *vendor = info_anywhere(root, "CPUVendor"), *family = info_anywhere(root, "CPUFamilyNumber");
    const char *number = info_anywhere(root, "CPUModelNumber"), *model = info_anywhere(root, "CPUModel");
    if (vendor && family && number)
        return arena_printf(in->t->arena, "%s %s/%s%s%s", vendor, family, number, model ? ", " : "",
                            model ? model : "");
    return arena_strdup(in->t->arena, model);
}

int import_hwloc_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file, struct err *e)
{
    const char *version = xml_attribute(root, "version");
    struct import *in = ARENA_NEW(t->arena, struct import);
    in->t = t;
    in->c = build_class(t, NULL);
    in->file = file;
    in->e = e;
    in->version = version ? (int)strtol(version, NULL, 10) : 1;
    if (in->version < 1 || in->version > 3)
        return err_at(e, file, root->line, 0, "expected hwloc XML of version 1, 2 or 3, found %s", version);
    const struct xml_node *machine = root->first;
    while (machine && !xml_is(machine, "object"))
        machine = machine->next;
    if (!machine)
        return err_at(e, file, root->line, 0, "expected an <object> in <topology>, found none");
    build_host(t, name, t->nclasses - 1);
    find_numa(in, machine);
    if (!in->nnuma) {
        in->numa[in->nnuma++] = (struct numa_node){0, ""};
        build_numa(t, in->c, 0);
    }
    in->c->cpu = cpu_name(in, root);
    in->c->arch = arena_strdup(t->arena, info_anywhere(root, "Architecture"));
    if (walk(in, root, (struct pci_place){-1, -1, 0}) || hwloc_matrix_links(t, in->c, root, &in->names, file, e))
        return ERR_FAILED;
    pci_tree_prune(in->c);
    pci_tree_drop_unused_nics(t, in->c);
    build_order_gpus(t, in->c);
    build_order_ports(in->c);
    return 0;
}
