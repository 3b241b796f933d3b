/* hwloc's XML, versions 1 to 3, read here and not by libhwloc: that refuses files of a later major version than its
 * own, and prints about or stops at what it does not like.
 *
 * topology > object, nested: Machine > Package > NUMANode; Bridge > PCIDev > OSDev. An object's find_info children say
 * more; NVLink and XGMI are matrices of bandwidth (distances2, distances2hetero) between objects named by gp_index. */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

#define MOST_ROWS 1024

/* What an operating system device is. Version 3 made the numbers a set of bits. */
enum device_kind { DEVICE_OTHER, DEVICE_GPU, DEVICE_NETWORK, DEVICE_RDMA };

/* Libraries that name a GPU they can use "nvml0", "cuda0". The first ones number them as nvidia-smi and rocm-smi do;
 * CUDA puts the fastest first. */
static const char *const gpu_names[] = {"nvml", "rsmi", "cuda", NULL};
#define NUMBERING 2

#define MOST_NUMA     1024
#define VENDOR_VIRTIO 0x1af4

/* What a row of a matrix is: a GPU, or an NVSwitch or NUMA node (the CPU of POWER machines); -1 for the other. */
struct matrix_end {
    int gpu, object;
};

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
    struct named_end {
        uint64_t gp_index;
        struct matrix_end end;
    } * ends; /* of matrices, by hwloc's gp_index */
    int nends;
};

static int is_object(const struct xml_node *n, const char *type)
{
    const char *own = xml_is(n, "object") ? xml_attribute(n, "type") : NULL;
    return own && !strcmp(own, type);
}

static const char *find_info(const struct xml_node *n, const char *name)
{
    for (const struct xml_node *i = n->first; i; i = i->next) {
        const char *own = xml_is(i, "info") ? xml_attribute(i, "name") : NULL;
        if (own && !strcmp(own, name))
            return xml_attribute(i, "value");
    }
    return NULL;
}

/* The first such find_info of the machine or of anything in it. */
static const char *info_anywhere(const struct xml_node *n, const char *name)
{
    const char *found = find_info(n, name);
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
    /* hwloc reads past the end of an empty string and aborts where the first character is a comma. */
    int readable = nodeset && *nodeset && *nodeset != ',';
    int several = !set || !readable || hwloc_bitmap_sscanf(set, nodeset) < 0;
    for (int i = 0; i < in->nnuma && !several; i++) {
        if (!hwloc_bitmap_isset(set, (unsigned)in->numa[i].os_index))
            continue;
        several = found && strcmp(found->cpuset, in->numa[i].cpuset) != 0;
        found = found ? found : &in->numa[i];
    }
    hwloc_bitmap_free(set);
    return found && !several ? found->os_index : -1;
}

/* Remember that the <object> `n` is that GPU or object. */
static void name_matrix_end(struct import *in, const struct xml_node *n, int gpu, int object)
{
    long long gp = xml_int(n, "gp_index", 0, INT64_MAX, -1);
    if (gp >= 0)
        ARENA_ADD(in->t->arena, in->ends, in->nends) = (struct named_end){(uint64_t)gp, {gpu, object}};
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

static int read_function(struct import *in, const struct xml_node *n, struct topo_object *o)
{
    const char *type = xml_attribute(n, "pci_type"), *speed = xml_attribute(n, "pci_link_speed");
    uint16_t id[5] = {0};
    double GBps = speed ? strtod(speed, NULL) : 0;
    *o = (struct topo_object){.pci = pci_address(in->t->arena, xml_attribute(n, "pci_busid"))};
    if (!o->pci)
        return err_at(in->e, in->file, n->line, 0, "pci_busid: expected a PCI address such as \"0000:17:00.0\"");
    if (!type || hex_numbers(type, id) < 3)
        return err_at(in->e, in->file, n->line, 0, "pci_type: expected \"CLASS [VENDOR:DEVICE] ...\" in hex");
    o->pci_class = (uint32_t)id[0] << 8;
    o->vendor = id[1];
    o->device = id[2];
    o->subsystem_vendor = id[3];
    o->subsystem_device = id[4];
    o->link_GBps = GBps > 0 && GBps < 1e6 ? GBps : 0;
    o->model = arena_strdup(in->t->arena, find_info(n, "PCIDevice"));
    return 0;
}

static void add_rdma(struct import *in, const struct xml_node *n, int object)
{
    struct arena *a = in->t->arena;
    const char *hca = arena_strdup(a, xml_attribute(n, "name"));
    uint32_t pci_class = in->c->objects[object].pci_class >> 8;
    struct topo_port p = {.object = object, .hca = hca, .guid = build_guid(a, find_info(n, "NodeGUID"))};
    p.layer = pci_class == 0x0200                          ? TOPO_LINK_ETHERNET
              : pci_class == 0x0207 || pci_class == 0x0c06 ? TOPO_LINK_INFINIBAND
                                                           : TOPO_LINK_UNKNOWN;
    int before = in->c->nports;
    for (int port = 1; port <= 4; port++) {
        char key[32];
        snprintf(key, sizeof key, "Port%dState", port);
        const char *state = find_info(n, key);
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

static uint64_t read_kib(const char *s)
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
        const char *model = find_info(i, "GPUModel"), *uuid = find_info(i, "NVIDIAUUID");
        const char *memory = find_info(i, "CUDAGlobalMemorySize");
        if (!is_object(i, "OSDev"))
            continue;
        if (model)
            in->c->objects[object].model = arena_strdup(a, model);
        if (uuid)
            g->uuid = arena_strdup(a, uuid);
        if (memory)
            g->mem_bytes = read_kib(memory);
        name_matrix_end(in, i, in->c->ngpus - 1, -1);
    }
    name_matrix_end(in, n, in->c->ngpus - 1, -1);
}

static int add_device(struct import *in, const struct xml_node *n, struct pci_place at)
{
    struct topo_object f;
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
        name_matrix_end(in, n, -1, object);
    if (in->c->objects[object].kind != TOPO_NIC)
        return 0;
    for (const struct xml_node *i = n->first; i; i = i->next) {
        enum device_kind kind = is_object(i, "OSDev") && xml_attribute(i, "name") ? device_kind(in, i) : DEVICE_OTHER;
        struct topo_netdev d = {.object = object, .name = arena_strdup(in->t->arena, xml_attribute(i, "name"))};
        d.kind = in->c->objects[object].vendor == VENDOR_VIRTIO ? TOPO_NET_VIRTUAL : TOPO_NET_PHYSICAL;
        if (kind == DEVICE_RDMA)
            add_rdma(in, i, object);
        else if (kind == DEVICE_NETWORK)
            build_netdev(in->t, in->c, d);
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
static int add_below(struct import *in, const struct xml_node *n, struct pci_place at)
{
    for (const struct xml_node *i = n->first; i; i = i->next) {
        int rc = 0;
        struct pci_place below = at;
        if (is_object(i, "PCIDev")) {
            rc = add_device(in, i, at);
        } else if (is_object(i, "Bridge")) {
            const char *type = xml_attribute(i, "bridge_type"), *range = xml_attribute(i, "bridge_pci");
            struct topo_object f;
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
                name_matrix_end(in, i, -1, build_numa(in->t, in->c, numa));
        }
        if (!rc && xml_is(i, "object") && !is_object(i, "PCIDev"))
            rc = add_below(in, i, below);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- GPU links out of bandwidth matrices ------------------------------------------------------------------------- */

static struct matrix_end find_matrix_end(const struct import *in, uint64_t gp_index)
{
    for (int i = 0; i < in->nends; i++)
        if (in->ends[i].gp_index == gp_index)
            return in->ends[i].end;
    return (struct matrix_end){-1, -1};
}

/* The words of all children called `element`, one after the other. */
struct words {
    const struct xml_node *next;
    const char *element, *at;
};

static const char *next_word(struct words *w)
{
    for (;;) {
        w->at += strspn(w->at, " \t\r\n");
        if (*w->at)
            break;
        while (w->next && !(xml_is(w->next, w->element) && w->next->text))
            w->next = w->next->next;
        if (!w->next)
            return NULL;
        w->at = w->next->text;
        w->next = w->next->next;
    }
    const char *word = w->at;
    w->at += strcspn(w->at, " \t\r\n");
    return word;
}

/* Links in a bandwidth of MB/s as hwloc derives it: 20,000 a link of the first NVLink generation, 25,000 after it.
 * Other values (XGMI) do not tell. */
static int count_links(uint64_t MBps, enum topo_link_kind link_kind)
{
    return link_kind == TOPO_XGMI ? 1
           : MBps % 25000 == 0    ? (int)(MBps / 25000)
           : MBps % 20000 == 0    ? (int)(MBps / 20000)
                                  : 1;
}

static void add_matrix_link(struct import *in, struct matrix_end from, struct matrix_end to, uint64_t MBps,
                            enum topo_link_kind link_kind)
{
    const uint64_t most_MBps = 10000000;
    if (from.gpu < 0 || from.gpu == to.gpu || (to.gpu < 0 && to.object < 0) || !MBps || MBps > most_MBps)
        return;
    struct topo_link l = {.link_kind = link_kind, .gpu = from.gpu, .peer_gpu = to.gpu, .peer_object = to.object};
    l.count = count_links(MBps, link_kind);
    l.GBps = (double)MBps / 1000;
    build_link(in->t, in->c, l);
}

static int read_matrix(struct import *in, const struct xml_node *n, enum topo_link_kind link_kind)
{
    struct words indexes = {n->first, "indexes", ""}, values = {n->first, "u64values", ""};
    int rows = (int)xml_int(n, "nbobjs", 1, MOST_ROWS, 0);
    struct matrix_end ends[MOST_ROWS];
    if (!rows)
        return err_at(in->e, in->file, n->line, 0, "nbobjs: expected a number from 1 to %d", MOST_ROWS);
    for (int i = 0; i < rows; i++) {
        /* "OSDev:802" or, where all are of one type, "802". */
        const char *word = next_word(&indexes), *colon = word ? strchr(word, ':') : NULL;
        if (!word)
            return err_at(in->e, in->file, n->line, 0, "<indexes>: expected %d objects, found %d", rows, i);
        ends[i] = find_matrix_end(in, strtoull(colon && colon < indexes.at ? colon + 1 : word, NULL, 10));
    }
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < rows; k++) {
            const char *word = next_word(&values);
            if (!word)
                return err_at(in->e, in->file, n->line, 0, "<u64values>: expected %d × %d numbers", rows, rows);
            if (in->c->nlinks >= IMPORT_MOST_PORTS)
                return err_at(in->e, in->file, n->line, 0, "more than %d links", IMPORT_MOST_PORTS);
            if (i != k)
                add_matrix_link(in, ends[i], ends[k], strtoull(word, NULL, 10), link_kind);
        }
    return 0;
}

/* Add a link for every pair for which one of the matrices below the root has a bandwidth. */
static int read_matrices(struct import *in, const struct xml_node *root)
{
    static const struct {
        const char *name;
        enum topo_link_kind link_kind;
    } known[] = {{"NVLinkBandwidth", TOPO_NVLINK}, {"XGMIBandwidth", TOPO_XGMI}};
    for (const struct xml_node *n = root->first; n; n = n->next) {
        const char *name = strncmp(n->name, "distances2", 10) ? NULL : xml_attribute(n, "name");
        for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
            if (!strcmp(name, known[i].name) && read_matrix(in, n, known[i].link_kind))
                return ERR_FAILED;
    }
    return 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static const char *cpu_name(struct import *in, const struct xml_node *root)
{
    const char *vendor = info_anywhere(root, "CPUVendor"), *family = info_anywhere(root, "CPUFamilyNumber");
    const char *number = info_anywhere(root, "CPUModelNumber"), *model = info_anywhere(root, "CPUModel");
    return build_cpu_name(in->t, vendor, family, number, model);
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
    if (add_below(in, root, (struct pci_place){-1, -1, 0}) || read_matrices(in, root))
        return ERR_FAILED;
    pci_tree_prune(in->c);
    pci_tree_drop_unused_nics(t, in->c);
    build_order_devices(t, in->c);
    return 0;
}
