/* What `nvidia-smi -q -x` prints: GPUs by address and number, driver, links to the CPU, the state of the fabric. */
#include <stdlib.h>
#include <string.h>

#include "probe/import/readers.h"

enum { VENDOR_NVIDIA = 0x10de, MIB = 1 << 20 };

/* The text of the first element of that name text_below `n`, however deep; NULL where it is "N/A". */
static const char *text_below(const struct xml_node *n, const char *name)
{
    for (const struct xml_node *i = n ? n->first : NULL; i; i = i->next) {
        if (xml_is(i, name) && i->text)
            return strcmp(i->text, "N/A") ? i->text : NULL;
        const char *found = text_below(i, name);
        if (found)
            return found;
    }
    return NULL;
}

static const struct xml_node *find_child(const struct xml_node *n, const char *name)
{
    for (const struct xml_node *i = n ? n->first : NULL; i; i = i->next)
        if (xml_is(i, name))
            return i;
    return NULL;
}

/* "5": 32 GT/s, from 2.5 for generation 1. */
static double generation_GTps(const char *s)
{
    static const double GTps[] = {0, 2.5, 5, 8, 16, 32, 64, 128};
    long g = s ? strtol(s, NULL, 10) : 0;
    return g > 0 && g < (long)(sizeof GTps / sizeof *GTps) ? GTps[g] : 0;
}

static int read_lanes(const char *s)
{
    long v = s ? strtol(s, NULL, 10) : 0;
    return v > 0 && v <= 32 ? (int)v : 0;
}

static const char *fabric_of(struct arena *a, const struct xml_node *gpu, const char **clique)
{
    const struct xml_node *f = find_child(gpu, "fabric");
    const char *state = text_below(f, "state"), *status = text_below(f, "status"), *uuid = text_below(f, "clusterUuid");
    const char *number = text_below(f, "cliqueId");
    if (!uuid)
        uuid = text_below(f, "cluster_uuid");
    if (!number)
        number = text_below(f, "clique_id");
    if (uuid && number && strspn(uuid, "0-") < strlen(uuid))
        *clique = arena_printf(a, "%s.%s", uuid, number);
    if (!state)
        return NULL;
    if (!strcmp(state, "Completed"))
        return status && strcmp(status, "Success") != 0 ? arena_printf(a, "failed: %s", status) : "completed";
    return !strcmp(state, "Not Supported") ? NULL : !strcmp(state, "In Progress") ? "in progress" : "not started";
}

static int add_gpu(struct topology *t, struct topo_class *c, const struct xml_node *n, const char *file, struct err *e)
{
    struct arena *a = t->arena;
    const char *pci = pci_address(a, xml_attribute(n, "id")),
               *memory = text_below(find_child(n, "fb_memory_usage"), "total");
    const char *mig = text_below(find_child(n, "mig_mode"), "current_mig"), *clique = NULL;
    const struct xml_node *link = find_child(find_child(n, "pci"), "pci_gpu_link_info");
    if (!pci)
        return err_at(e, file, n->line, 0, "<gpu> id: expected a PCI address such as \"00000000:17:00.0\"");
    if (c->ngpus >= TOPO_MOST_GPUS)
        return err_at(e, file, n->line, 0, "more than %d GPUs", TOPO_MOST_GPUS);
    struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .numa = -1, .pci = pci, .vendor = VENDOR_NVIDIA};
    o.model = arena_strdup(a, text_below(n, "product_name"));
    o.link_GTps = generation_GTps(text_below(link, "current_link_gen"));
    o.link_width = read_lanes(text_below(link, "current_link_width"));
    o.link_GBps = pci_GBps(o.link_GTps, o.link_width);
    o.link_max_GTps = generation_GTps(text_below(link, "max_link_gen"));
    o.link_max_width = read_lanes(text_below(link, "max_link_width"));
    struct topo_gpu g = {.object = build_object(t, c, o), .index = c->ngpus, .gdr = -1};
    g.uuid = arena_strdup(a, text_below(n, "uuid"));
    unsigned long long MiB = memory ? strtoull(memory, NULL, 10) : 0;
    g.mem_bytes = MiB < 1ull << 30 ? MiB * MIB : 0;
    g.mig = !mig ? TOPO_NOT_KNOWN : !strcmp(mig, "Enabled") ? TOPO_YES : TOPO_NO;
    g.fabric = fabric_of(a, n, &clique);
    g.clique = clique;
    build_gpu(t, c, g);
    return 0;
}

int import_smi_xml(struct topology *t, const struct xml_node *root, const char *name, const char *file, struct err *e)
{
    struct topo_class *c = build_class(t, NULL);
    build_host(t, name, t->nclasses - 1);
    c->driver = arena_strdup(t->arena, text_below(root, "driver_version"));
    c->cuda = arena_strdup(t->arena, text_below(root, "cuda_version"));
    for (const struct xml_node *n = root->first; n; n = n->next)
        if (xml_is(n, "gpu") && add_gpu(t, c, n, file, e))
            return ERR_FAILED;
    build_order_devices(t, c);
    build_note(t, c, "nvidia-smi -q -x has GPUs only, and not where they are");
    return 0;
}
