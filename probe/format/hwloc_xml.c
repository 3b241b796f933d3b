/* hwloc's XML, version 2.0, of one node: what hwloc_topology_set_xml and lstopo load. The model knows no cores: one
 * package with one processing unit stands in for every NUMA node. Of GPU links hwloc keeps bandwidths between GPUs. */
#include <hwloc.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/format/format.h"
#include "probe/topology/paths.h"

enum { VENDOR_AMD = 0x1002, IB_PORT_DOWN = 1, IB_PORT_ACTIVE = 4 };
#define MOST_OBJECTS 4096
#define MOST_NUMA    65535 /* the highest index that hwloc's bitmaps are asked to hold here */

struct writing {
    FILE *out;
    const struct topo_class *c;
    struct arena *a;
    int *gp_index; /* of every object */
    int next_gp_index;
};

/* ---- parts of XML ------------------------------------------------------------------------------------------------ */

/* A copy for an attribute: markup as entities, everything but printable ASCII as '?'. */
static const char *escaped(struct arena *a, const char *s)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}};
    const size_t longest = 6;
    char *copy = arena_alloc(a, strlen(s) * longest + 1), *to = copy;
    for (; *s; s++) {
        *to = '?';
        if (*s >= ' ' && *s <= '~')
            *to = *s;
        for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
            if (*s == entities[i].c)
                to = stpcpy(to, entities[i].entity) - 1;
        to++;
    }
    return copy;
}

static void indent(const struct writing *w, int depth)
{
    fprintf(w->out, "%*s", 2 * depth, "");
}

static void put_info(const struct writing *w, int depth, const char *name, const char *value)
{
    if (!value)
        return;
    indent(w, depth);
    fprintf(w->out, "<info name=\"%s\" value=\"%s\"/>\n", name, escaped(w->a, value));
}

static void open_object(struct writing *w, int depth, const char *type)
{
    indent(w, depth);
    fprintf(w->out, "<object type=\"%s\" gp_index=\"%d\"", type, w->next_gp_index++);
}

static void close_object(const struct writing *w, int depth)
{
    indent(w, depth);
    fputs("</object>\n", w->out);
}

/* The processing units or NUMA nodes of an object, with all that hwloc keeps of them. */
static void put_sets(const struct writing *w, const char *cpuset, const char *nodeset)
{
    fprintf(w->out, " cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"%s\" complete_nodeset=\"%s\"", cpuset, cpuset,
            nodeset, nodeset);
}

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static void put_osdev(struct writing *w, int depth, const char *name, const char *subtype, hwloc_obj_osdev_type_t type)
{
    open_object(w, depth, "OSDev");
    fprintf(w->out, " name=\"%s\"%s%s%s osdev_type=\"%d\">\n", escaped(w->a, name), subtype ? " subtype=\"" : "",
            subtype ? subtype : "", subtype ? "\"" : "", (int)type);
}

static void put_gpu(struct writing *w, int object, int depth)
{
    const struct topo_object *o = &w->c->objects[object];
    for (int i = 0; i < w->c->ngpus; i++) {
        const struct topo_gpu *g = &w->c->gpus[i];
        int amd = o->vendor == VENDOR_AMD;
        if (g->object != object || g->index < 0)
            continue;
        put_osdev(w, depth, arena_printf(w->a, "%s%d", amd ? "rsmi" : "nvml", g->index), amd ? "RSMI" : "NVML",
                  HWLOC_OBJ_OSDEV_GPU);
        put_info(w, depth + 1, "GPUModel", o->model);
        put_info(w, depth + 1, amd ? "AMDUUID" : "NVIDIAUUID", g->uuid);
        close_object(w, depth);
    }
}

/* "0xec0d9a0300462310" as "ec0d:9a03:0046:2310"; NULL is NULL. */
static const char *guid_text(struct arena *a, const char *guid)
{
    if (!guid || strlen(guid) != 18)
        return NULL;
    return arena_printf(a, "%.4s:%.4s:%.4s:%.4s", guid + 2, guid + 6, guid + 10, guid + 14);
}

static void put_nic(struct writing *w, int object, int depth)
{
    const struct topo_class *c = w->c;
    for (int i = 0; i < c->nports; i++) {
        const struct topo_port *p = &c->ports[i];
        /* Ports of one HCA follow one another. */
        if (p->object != object || (i && c->ports[i - 1].object == object && !strcmp(c->ports[i - 1].hca, p->hca)))
            continue;
        put_osdev(w, depth, p->hca, NULL, HWLOC_OBJ_OSDEV_OPENFABRICS);
        put_info(w, depth + 1, "NodeGUID", guid_text(w->a, p->guid));
        for (int k = i; k < c->nports && c->ports[k].object == object && !strcmp(c->ports[k].hca, p->hca); k++)
            if (c->ports[k].state != TOPO_STATE_UNKNOWN)
                put_info(
                    w, depth + 1, arena_printf(w->a, "Port%dState", c->ports[k].port),
                    arena_printf(w->a, "%d", c->ports[k].state == TOPO_STATE_ACTIVE ? IB_PORT_ACTIVE : IB_PORT_DOWN));
        close_object(w, depth);
    }
    for (int i = 0; i < c->nnetdevs; i++)
        if (c->netdevs[i].object == object) {
            put_osdev(w, depth, c->netdevs[i].name, NULL, HWLOC_OBJ_OSDEV_NETWORK);
            close_object(w, depth);
        }
}

/* ---- the PCI tree ------------------------------------------------------------------------------------------------ */

/* PCI buses that a bridge leads to. */
struct buses {
    unsigned domain, first, last;
    int known;
};

/* The domain and the bus of "0000:17:00.0" or "0000:17". */
static int read_bus(const char *s, unsigned *domain, unsigned *bus)
{
    char *colon, *end;
    *domain = (unsigned)strtoul(s, &colon, 16);
    if (colon == s || *colon != ':')
        return 0;
    *bus = (unsigned)strtoul(colon + 1, &end, 16);
    return end > colon + 1;
}

/* Devices of a virtual machine may each have a domain of their own: the first one's counts. */
static void add_buses(const struct topo_class *c, int object, struct buses *b)
{
    unsigned domain, bus;
    const struct topo_object *o = &c->objects[object];
    if (o->pci && read_bus(o->pci, &domain, &bus) && (!b->known || b->domain == domain)) {
        b->domain = domain;
        b->first = b->known && b->first < bus ? b->first : bus;
        b->last = b->known && b->last > bus ? b->last : bus;
        b->known = 1;
    }
    for (int i = object + 1; i < c->nobjects; i++)
        if (c->objects[i].parent == object)
            add_buses(c, i, b);
}

static void open_host_bridge(struct writing *w, struct buses b, int depth)
{
    open_object(w, depth, "Bridge");
    fprintf(w->out, " bridge_type=\"0-1\" depth=\"0\" bridge_pci=\"%04x:[%02x-%02x]\">\n", b.domain, b.first, b.last);
}

static unsigned class_of(const struct writing *w, int object)
{
    static const unsigned usual[TOPO_KIND_COUNT] = {
        [TOPO_SWITCH] = 0x0604, [TOPO_GPU] = 0x0302, [TOPO_NIC] = 0x0200, [TOPO_NVSWITCH] = 0x0680};
    const struct topo_object *o = &w->c->objects[object];
    for (int i = 0; i < w->c->nports && !o->pci_class; i++)
        if (w->c->ports[i].object == object && w->c->ports[i].layer == TOPO_LINK_INFINIBAND)
            return 0x0207;
    return o->pci_class ? o->pci_class >> 8 : usual[o->kind];
}

static void put_function(const struct writing *w, int object)
{
    const struct topo_object *o = &w->c->objects[object];
    fprintf(w->out, " pci_busid=\"%s\" pci_type=\"%04x [%04x:%04x] [%04x:%04x] 00\" pci_link_speed=\"%f\">\n",
            escaped(w->a, o->pci), class_of(w, object), o->vendor, o->device, o->subsystem_vendor, o->subsystem_device,
            o->link_GBps);
}

static void put_below(struct writing *w, int parent, int depth);

/* As hwloc sees a switch: the port above it, which the model has no record of and which gets the switch's address, and
 * its upstream port. */
static void put_switch(struct writing *w, int object, int depth)
{
    struct buses b = {0};
    add_buses(w->c, object, &b);
    for (int i = 0; i < 2; i++) {
        open_object(w, depth + i, "Bridge");
        fprintf(w->out, " bridge_type=\"1-1\" depth=\"%d\" bridge_pci=\"%04x:[%02x-%02x]\"", depth + i, b.domain,
                b.first, b.last);
        put_function(w, object);
    }
    put_below(w, object, depth + 2);
    close_object(w, depth + 1);
    close_object(w, depth);
}

static void put_object(struct writing *w, int object, int depth)
{
    const struct topo_object *o = &w->c->objects[object];
    struct buses b = {0};
    if (o->kind == TOPO_SWITCH) {
        put_switch(w, object, depth);
    } else if (o->kind == TOPO_HOST_BRIDGE) {
        unsigned domain, bus;
        add_buses(w->c, object, &b);
        if (b.known && o->name && !strncmp(o->name, "pci", 3) && read_bus(o->name + 3, &domain, &bus))
            b.first = bus;
        open_host_bridge(w, b, depth);
        put_below(w, object, depth + 1);
        close_object(w, depth);
    } else if (!o->pci) {
        put_nic(w, object, depth); /* nothing but its operating system devices */
    } else {
        w->gp_index[object] = w->next_gp_index;
        open_object(w, depth, "PCIDev");
        fputs(o->kind == TOPO_NVSWITCH ? " subtype=\"NVSwitch\"" : "", w->out);
        put_function(w, object);
        put_info(w, depth + 1, "PCIDevice", o->model);
        put_gpu(w, object, depth + 1);
        put_nic(w, object, depth + 1);
        put_below(w, object, depth + 1);
        close_object(w, depth);
    }
}

static void put_below(struct writing *w, int parent, int depth)
{
    for (int i = parent + 1; i < w->c->nobjects; i++)
        if (w->c->objects[i].parent == parent)
            put_object(w, i, depth);
}

static int is_outside_pci(const struct topo_object *o)
{
    return o->kind == TOPO_HOST_BRIDGE || !o->pci;
}

/* Devices whose host bridge is not known share one: hwloc has PCI nowhere else. */
static void put_node_devices(struct writing *w, int numa, int depth)
{
    struct buses b = {0};
    for (int i = numa + 1; i < w->c->nobjects; i++) {
        if (w->c->objects[i].parent != numa)
            continue;
        if (is_outside_pci(&w->c->objects[i]))
            put_object(w, i, depth);
        else
            add_buses(w->c, i, &b);
    }
    if (!b.known)
        return;
    open_host_bridge(w, b, depth);
    for (int i = numa + 1; i < w->c->nobjects; i++)
        if (w->c->objects[i].parent == numa && !is_outside_pci(&w->c->objects[i]))
            put_object(w, i, depth + 1);
    close_object(w, depth);
}

/* ---- NUMA nodes -------------------------------------------------------------------------------------------------- */

/* As hwloc writes sets. */
static const char *set_text(struct arena *a, hwloc_bitmap_t set)
{
    char *text = NULL;
    if (!set || hwloc_bitmap_asprintf(&text, set) < 0)
        abort();
    const char *copy = arena_strdup(a, text);
    free(text);
    return copy;
}

static const char *one_text(struct arena *a, unsigned bit)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set)
        abort();
    hwloc_bitmap_only(set, bit);
    const char *text = set_text(a, set);
    hwloc_bitmap_free(set);
    return text;
}

/* "GenuineIntel 6/143, name" taken apart. */
static void put_cpu(const struct writing *w, int depth)
{
    char vendor[64], family[16], model[16];
    int end = 0;
    const char *cpu = w->c->cpu;
    put_info(w, depth, "Architecture", w->c->arch);
    if (cpu && sscanf(cpu, "%63s %15[0-9]/%15[0-9]%n", vendor, family, model, &end) == 3) {
        put_info(w, depth, "CPUVendor", vendor);
        put_info(w, depth, "CPUFamilyNumber", family);
        put_info(w, depth, "CPUModelNumber", model);
        put_info(w, depth, "CPUModel", strncmp(cpu + end, ", ", 2) ? NULL : cpu + end + 2);
    } else {
        put_info(w, depth, "CPUModel", cpu);
    }
}

/* `numa`: the object, -1: a machine that tells of none, which is one node to hwloc. */
static void put_node(struct writing *w, int numa, int number, int depth)
{
    int os_index = numa < 0 ? 0 : w->c->objects[numa].numa;
    const char *cpuset = one_text(w->a, (unsigned)number), *nodeset = one_text(w->a, (unsigned)os_index);
    static const char *const types[] = {"Package", "NUMANode", "PU"};
    const int indices[] = {number, os_index, number};
    for (int i = 0; i < 3; i++) {
        open_object(w, depth + (i > 0), types[i]);
        fprintf(w->out, " os_index=\"%d\"", indices[i]);
        put_sets(w, cpuset, nodeset);
        fputs(i ? "/>\n" : ">\n", w->out);
    }
    if (numa >= 0)
        put_node_devices(w, numa, depth + 1);
    close_object(w, depth);
}

static int is_node(const struct topo_object *o)
{
    return o->kind == TOPO_NUMA && o->parent < 0;
}

static void put_machine(struct writing *w)
{
    int nodes = 0;
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), mems = hwloc_bitmap_alloc();
    if (!cpus || !mems)
        abort();
    for (int i = 0; i < w->c->nobjects; i++)
        if (is_node(&w->c->objects[i])) {
            hwloc_bitmap_set(cpus, (unsigned)nodes++);
            hwloc_bitmap_set(mems, (unsigned)w->c->objects[i].numa);
        }
    if (!nodes) {
        hwloc_bitmap_set(cpus, 0);
        hwloc_bitmap_set(mems, 0);
    }
    const char *cpuset = set_text(w->a, cpus), *nodeset = set_text(w->a, mems);
    hwloc_bitmap_free(cpus);
    hwloc_bitmap_free(mems);
    open_object(w, 1, "Machine");
    put_sets(w, cpuset, nodeset);
    fprintf(w->out, " os_index=\"0\" allowed_cpuset=\"%s\" allowed_nodeset=\"%s\">\n", cpuset, nodeset);
    put_cpu(w, 2);
    if (!nodes)
        put_node(w, -1, 0, 2);
    for (int i = 0, number = 0; i < w->c->nobjects; i++)
        if (is_node(&w->c->objects[i]))
            put_node(w, i, number++, 2);
    /* Of unknown place. */
    for (int i = 0; i < w->c->nobjects; i++)
        if (w->c->objects[i].parent < 0 && !is_node(&w->c->objects[i]))
            put_object(w, i, 2);
    put_nic(w, -1, 2);
    close_object(w, 1);
}

/* ---- GPU links --------------------------------------------------------------------------------------------------- */

/* hwloc keeps no number of links: where their speed is not known, each counts as 25 GB/s, which it is on V100 to H100,
 * so that the number can be told from the value. */
static uint64_t link_MBps(const struct path_matrix *m, int i, int k, enum topo_fabric fabric)
{
    const uint64_t usual_MBps = 25000;
    const struct path *p = path_between(m, i, k);
    if (p->word != WORD_LINKS || p->fabric != fabric)
        return 0;
    return p->GBps > 0 ? (uint64_t)(p->GBps * 1000 + 0.5) : (uint64_t)p->links * usual_MBps;
}

/* hwloc wants the length of the text beside it. */
static void put_numbers(const struct writing *w, const char *element, const char *text)
{
    fprintf(w->out, "    <%s length=\"%zu\">%s</%s>\n", element, strlen(text), text, element);
}

/* Bandwidths between all GPUs, NVSwitches passed, as hwloc's transitive closure shows them. */
static void put_links(const struct writing *w, const struct path_matrix *m, enum topo_fabric fabric, const char *name)
{
    int links = 0;
    for (int i = 0; i < m->ngpus; i++)
        for (int k = 0; k < m->ngpus; k++)
            links += link_MBps(m, i, k, fabric) > 0;
    if (!links)
        return;
    unsigned long kind = HWLOC_DISTANCES_KIND_FROM_USER | HWLOC_DISTANCES_KIND_MEANS_BANDWIDTH;
    fprintf(w->out, "  <distances2 type=\"PCIDev\" nbobjs=\"%d\" kind=\"%lu\" name=\"%s\" indexing=\"gp\">\n", m->ngpus,
            kind, name);
    const char *indexes = "";
    for (int i = 0; i < m->ngpus; i++)
        indexes = arena_printf(w->a, "%s%d ", indexes, w->gp_index[m->ends[i].object]);
    put_numbers(w, "indexes", indexes);
    for (int i = 0; i < m->ngpus; i++) {
        const char *row = "";
        for (int k = 0; k < m->ngpus; k++)
            row = arena_printf(w->a, "%s%" PRIu64 " ", row, link_MBps(m, i, k, fabric));
        put_numbers(w, "u64values", row);
    }
    fputs("  </distances2>\n", w->out);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static int check(const struct topology *t, struct arena *a, struct err *e)
{
    const struct topo_class *c = t->classes;
    if (c->nobjects > MOST_OBJECTS)
        return err_set(e, ERR_FAILED, "hwloc-xml: more than %d devices", MOST_OBJECTS);
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        if (is_node(o) && (o->numa < 0 || o->numa > MOST_NUMA))
            return err_set(e, ERR_FAILED, "hwloc-xml: NUMA node %d: expected a number from 0 to %d", o->numa,
                           MOST_NUMA);
        unsigned domain, bus;
        if (o->pci && !read_bus(o->pci, &domain, &bus))
            return err_set(e, ERR_FAILED, "hwloc-xml: '%s' is not a PCI address", escaped(a, o->pci));
        if (!o->pci && (o->kind == TOPO_GPU || o->kind == TOPO_SWITCH))
            return err_set(e, ERR_LACKS,
                           "hwloc-xml: a GPU or PCI switch has no PCI address, by which hwloc tells them");
    }
    return 0;
}

static int write_hwloc_xml(const struct topology *t, FILE *out, struct err *e)
{
    if (t->nclasses != 1)
        return err_set(e, ERR_USAGE, "hwloc-xml describes one node; here are %d classes of nodes", t->nclasses);
    struct writing w = {.out = out, .c = t->classes, .a = arena_new(), .next_gp_index = 1};
    const struct path_matrix *m = path_matrix(w.c, w.a);
    int rc = check(t, w.a, e);
    if (rc)
        goto done;
    w.gp_index = arena_alloc(w.a, (size_t)w.c->nobjects * sizeof *w.gp_index);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
          "<topology version=\"2.0\">\n",
          out);
    put_machine(&w);
    put_links(&w, m, TOPO_FABRIC_NVLINK, "NVLinkBandwidth");
    put_links(&w, m, TOPO_FABRIC_XGMI, "XGMIBandwidth");
    fputs("</topology>\n", out);
    if (ferror(out))
        rc = err_set(e, ERR_FAILED, "the file cannot be written");
done:
    arena_free(w.a);
    return rc;
}

const struct probe_format format_hwloc_xml = {"hwloc-xml", "hwloc's XML of one node, for lstopo", write_hwloc_xml};
