/* AMD's GPUs and the XGMI between them, by the amdkfd driver's files: one node a CPU or GPU, with links to others
 * (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c). */
#include <stdlib.h>
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"

enum { VENDOR_AMD = 0x1002, LINK_XGMI = 11 };

/* Lines of "name value". */
struct properties {
    char text[4096];
};

static struct properties read_properties(const char *place)
{
    struct properties p;
    size_t n = sysfs_bytes((unsigned char *)p.text, sizeof p.text - 1, NODES "/%s/properties", place);
    p.text[n] = 0;
    return p;
}

static unsigned long long property(const struct properties *p, const char *name)
{
    size_t n = strlen(name);
    for (const char *line = p->text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, name, n) && line[n] == ' ')
            return strtoull(line + n + 1, NULL, 10);
    }
    return 0;
}

/* "gfx942" for 90402; the last two parts are hexadecimal digits ("gfx90a" for 90010). */
static const char *arch_of(struct arena *a, unsigned long long version)
{
    unsigned v = version < 1000000 ? (unsigned)version : 0;
    return v ? arena_printf(a, "gfx%u%x%x", v / 10000, v / 100 % 100, v % 100) : NULL;
}

/* The GPU's record, added where the PCI tree has not shown it. */
static int ensure_gpu(struct topology *t, struct topo_class *c, const struct properties *p)
{
    unsigned location = (unsigned)property(p, "location_id"), domain = (unsigned)property(p, "domain");
    const char *pci =
        arena_printf(t->arena, "%04x:%02x:%02x.%x", domain, location >> 8 & 0xff, location >> 3 & 0x1f, location & 7);
    uint16_t device = (uint16_t)property(p, "device_id");
    return build_gpu_at(t, c, (struct topo_object){.pci = pci, .vendor = VENDOR_AMD, .device = device}, "KFD");
}

static uint64_t memory_of(struct topology *t, const char *node, const struct properties *p)
{
    const char **banks;
    uint64_t bytes = property(p, "local_mem_size");
    int n = bytes ? 0 : sysfs_list(t->arena, &banks, NODES "/%s/mem_banks", node);
    for (int i = 0; i < n; i++) {
        struct properties bank = read_properties(arena_printf(t->arena, "%s/mem_banks/%s", node, banks[i]));
        bytes += property(&bank, "size_in_bytes");
    }
    return bytes < (1ull << 53) ? bytes : 0;
}

static void add_links(struct topology *t, struct topo_class *c, const char *node, int gpu, const int *gpu_of, int n)
{
    const char **links;
    int nlinks = sysfs_list(t->arena, &links, NODES "/%s/io_links", node);
    for (int i = 0; i < nlinks; i++) {
        struct properties p = read_properties(arena_printf(t->arena, "%s/io_links/%s", node, links[i]));
        unsigned long long to = property(&p, "node_to"), MBps = property(&p, "max_bandwidth");
        if (property(&p, "type") != LINK_XGMI || to >= (unsigned long long)n || gpu_of[to] < 0 || gpu_of[to] == gpu)
            continue;
        struct topo_link l = {TOPO_XGMI, .gpu = gpu, .peer_gpu = gpu_of[to], .peer_object = -1, .count = 1};
        l.GBps = MBps < 100000000 ? (double)MBps / 1000 : 0;
        build_link(t, c, l);
    }
}

void source_kfd(struct topology *t, struct topo_class *c)
{
    const char **nodes;
    int n = sysfs_list(t->arena, &nodes, NODES), most = 0, next = 0;
    for (int i = 0; i < n; i++) {
        int number = (int)strtol(nodes[i], NULL, 10);
        most = number > most && number < 4096 ? number : most;
    }
    /* All GPUs before the first link: a link may lead to any of them. */
    int *gpu_of = arena_alloc(t->arena, (size_t)(most + 1) * sizeof *gpu_of);
    memset(gpu_of, -1, (size_t)(most + 1) * sizeof *gpu_of);
    for (int i = 0; i < n; i++) {
        int number = (int)strtol(nodes[i], NULL, 10);
        if (number > most || sysfs_int(0, NODES "/%s/gpu_id", nodes[i]) == 0 || c->ngpus >= TOPO_MOST_GPUS)
            continue;
        struct properties p = read_properties(nodes[i]);
        unsigned long long id = property(&p, "unique_id");
        int at = gpu_of[number] = ensure_gpu(t, c, &p);
        struct topo_gpu *g = &c->gpus[at];
        g->index = next++;
        g->arch = arch_of(t->arena, property(&p, "gfx_target_version"));
        g->mem_bytes = memory_of(t, nodes[i], &p);
        g->uuid = id ? arena_printf(t->arena, "GPU-%016llx", id) : NULL;
    }
    for (int i = 0; i < n; i++) {
        int number = (int)strtol(nodes[i], NULL, 10);
        if (number <= most && gpu_of[number] >= 0)
            add_links(t, c, nodes[i], gpu_of[number], gpu_of, most + 1);
    }
}
