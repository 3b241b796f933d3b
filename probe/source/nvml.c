/* NVIDIA GPUs and NVLink, through NVML, where it is there. */
#include <string.h>

#include "probe/source/nvml.h"
#include "probe/source/source.h"

/* The GPU's record at that address; added, with an object of unknown place, when the PCI tree has not shown it. */
static int gpu_at(struct topology *t, struct topo_class *c, const struct nvml_pci *p)
{
    const struct topo_object seen = {.pci = pci_address(t->arena, p->bus_id),
                                     .pci_class = 0x030200,
                                     .vendor = (uint16_t)p->pci_device_id,
                                     .device = (uint16_t)(p->pci_device_id >> 16),
                                     .subsystem_vendor = (uint16_t)p->pci_subsystem_id,
                                     .subsystem_device = (uint16_t)(p->pci_subsystem_id >> 16)};
    int at = build_gpu_at(t, c, seen, "NVML");
    if (c->gpus[at].index < 0)
        return at;
    /* Another die of the same function. */
    return build_gpu(t, c, (struct topo_gpu){.object = c->gpus[at].object, .index = -1, .gdr = -1});
}

/* How far the fabric manager has come with the GPU, if it needs one; and "CLUSTER-UUID.CLIQUE" of a GPU whose NVLink
 * reaches other nodes: a cluster of zeros is none. */
static void add_fabric(const struct nvml *n, struct arena *a, nvml_device d, struct topo_gpu *g)
{
    static const char *const states[] = {NULL, "not started", "in progress", "completed"};
    struct nvml_fabric f = {.state = 0};
    const char *text = "";
    unsigned char any = 0;
    if (!n->fabric || n->fabric(d, &f) != NVML_SUCCESS || f.state > NVML_FABRIC_COMPLETED)
        return;
    g->fabric = f.state == NVML_FABRIC_COMPLETED && f.status != NVML_SUCCESS ? "failed" : states[f.state];
    for (size_t i = 0; i < sizeof f.cluster_uuid; i++) {
        any |= f.cluster_uuid[i];
        text = arena_printf(a, "%s%02x", text, f.cluster_uuid[i]);
    }
    if (any && f.state == NVML_FABRIC_COMPLETED && f.status == NVML_SUCCESS)
        g->clique = arena_printf(a, "%s.%u", text, f.clique);
}

static void add_versions(const struct nvml *n, struct topology *t, struct topo_class *c)
{
    char text[NVML_TEXT] = "";
    int cuda;
    if (n->driver && n->driver(text, sizeof text) == NVML_SUCCESS)
        c->driver = arena_strndup(t->arena, text, sizeof text);
    if (n->cuda && n->cuda(&cuda) == NVML_SUCCESS)
        c->cuda = arena_printf(t->arena, "%d.%d", cuda / 1000, cuda % 1000 / 10);
}

static int add_gpu(const struct nvml *n, struct topology *t, struct topo_class *c, nvml_device d, int index)
{
    char text[NVML_TEXT] = "";
    int major, minor;
    struct nvml_pci p = {0};
    struct nvml_memory m;
    int result = n->pci(d, &p);
    p.bus_id[sizeof p.bus_id - 1] = 0;
    if (result != NVML_SUCCESS || !pci_address(t->arena, p.bus_id)) {
        build_note(t, c, "NVML: GPU %d: PCI address: %s", index, n->error(result));
        return -1;
    }
    int at = gpu_at(t, c, &p);
    struct topo_gpu *g = &c->gpus[at];
    g->index = index;
    if (n->name(d, text, sizeof text) == NVML_SUCCESS)
        c->objects[g->object].model = arena_strndup(t->arena, text, sizeof text);
    if (n->uuid(d, text, sizeof text) == NVML_SUCCESS)
        g->uuid = arena_strndup(t->arena, text, sizeof text);
    if (n->vbios && n->vbios(d, text, sizeof text) == NVML_SUCCESS)
        g->vbios = arena_strndup(t->arena, text, sizeof text);
    if (n->capability(d, &major, &minor) == NVML_SUCCESS)
        g->sm = major * 10 + minor;
    if (n->memory(d, &m) == NVML_SUCCESS)
        g->mem_bytes = m.total;
    unsigned mig, pending;
    if (n->mig && n->mig(d, &mig, &pending) == NVML_SUCCESS)
        g->mig = mig ? TOPO_YES : TOPO_NO;
    add_fabric(n, t->arena, d, g);
    return at;
}

/* GB/s of one link in one direction; 0 unknown. */
static double link_GBps(const struct nvml *n, nvml_device d)
{
    struct nvml_field f = {.id = NVML_FIELD_NVLINK_MBps};
    if (!n->fields || n->fields(d, 1, &f) != NVML_SUCCESS || f.result != NVML_SUCCESS || f.type != 1)
        return 0;
    return (double)f.value.u / 1000;
}

/* Where one link leads, as a topo_link of one. A guest sees no address of an NVSwitch: zeros. */
static struct topo_link remote_of(const struct nvml *n, struct topology *t, struct topo_class *c, nvml_device d,
                                  unsigned link, int gpu)
{
    struct topo_link l = {.gpu = gpu, .peer_gpu = -1, .peer_object = -1, .count = 1};
    struct nvml_pci p = {0};
    int type = NVML_REMOTE_UNKNOWN;
    int known = n->link_pci(d, link, &p) == NVML_SUCCESS;
    p.bus_id[sizeof p.bus_id - 1] = 0;
    const char *address = known && (p.domain || p.bus || p.device) ? pci_address(t->arena, p.bus_id) : NULL;
    int object = build_find_pci(c, address);
    l.peer_gpu = build_find_gpu(c, object);
    if (n->link_type && n->link_type(d, link, &type) != NVML_SUCCESS)
        type = NVML_REMOTE_UNKNOWN;
    if (l.peer_gpu < 0 && type == NVML_REMOTE_CPU)
        l.peer_object = topo_ancestor(c, c->gpus[gpu].object, TOPO_NUMA);
    else if (l.peer_gpu < 0 &&
             (type == NVML_REMOTE_SWITCH || (object >= 0 && c->objects[object].kind == TOPO_NVSWITCH)))
        l.peer_object = build_nvswitch(t, c, address);
    return l;
}

static void add_links(const struct nvml *n, struct topology *t, struct topo_class *c, nvml_device d, int gpu)
{
    double GBps = link_GBps(n, d);
    int first = c->nlinks;
    for (unsigned link = 0; link < NVML_MOST_LINKS; link++) {
        int active = 0, i = first;
        if (n->link_state(d, link, &active) != NVML_SUCCESS)
            continue; /* there is no such link */
        if (!active) {
            c->gpus[gpu].links_down++;
            continue;
        }
        struct topo_link l = remote_of(n, t, c, d, link, gpu);
        while (i < c->nlinks && (c->links[i].peer_gpu != l.peer_gpu || c->links[i].peer_object != l.peer_object))
            i++;
        if (i == c->nlinks)
            build_link(t, c, l);
        else
            c->links[i].count++;
        c->links[i].GBps += GBps;
    }
}

/* What of reading, writing and NVLink the driver refuses between two GPUs: "read, write: not supported by the chipset",
 * with the reason of the last; NULL when nothing. An answer of unknown is none. */
static const char *p2p_problem(const struct nvml *n, struct arena *a, nvml_device d, nvml_device peer, int linked)
{
    static const char *const asked[] = {
        [NVML_P2P_READ] = "read", [NVML_P2P_WRITE] = "write", [NVML_P2P_NVLINK] = "NVLink"};
    static const char *const reasons[] = {
        [NVML_P2P_CHIPSET] = "not supported by the chipset",
        [NVML_P2P_GPU] = "not supported by the GPU",
        [NVML_P2P_IOH_TOPOLOGY] = "not supported between these I/O hubs",
        [NVML_P2P_REGKEY] = "disabled by a setting of the driver",
        [NVML_P2P_NOT_SUPPORTED] = "not supported",
    };
    const char *refused = NULL, *reason = NULL;
    for (int i = NVML_P2P_READ; i <= (linked ? NVML_P2P_NVLINK : NVML_P2P_WRITE); i++) {
        int status = NVML_P2P_OK;
        if (n->p2p(d, peer, i, &status) != NVML_SUCCESS || status <= NVML_P2P_OK || status >= NVML_P2P_STATUS_UNKNOWN)
            continue;
        refused = refused ? arena_printf(a, "%s, %s", refused, asked[i]) : asked[i];
        reason = reasons[status];
    }
    return refused ? arena_printf(a, "%s: %s", refused, reason) : NULL;
}

/* Of GPUs that no NVLink joins, NVML says that NVLink is not supported: no problem, and not asked for. */
static void add_p2p(const struct nvml *n, struct topology *t, struct topo_class *c, const nvml_device *devices,
                    const int *gpus, unsigned count)
{
    const struct path_matrix *m = path_matrix(c, t->arena);
    for (unsigned i = 0; n->p2p && i < count; i++)
        for (unsigned k = i + 1; k < count; k++) {
            if (gpus[i] < 0 || gpus[k] < 0)
                continue;
            int linked = path_between(m, gpus[i], gpus[k])->class_ == PATH_NVL;
            struct topo_gpu *g = &c->gpus[gpus[i]];
            const char *problem = p2p_problem(n, t->arena, devices[i], devices[k], linked);
            if (problem)
                build_text(t, &g->p2p_problems, &g->np2p_problems, arena_printf(t->arena, "GPU%u: %s", k, problem));
        }
}

/* ---- condition --------------------------------------------------------------------------------------------------- */

static void add_sign(void *user, const char *kind, const char *gpu, double value)
{
    build_sign(user, kind, gpu, value);
}

/* An idle GPU lowers the speed of its link; one that works does not: percent that its speed is below what it can be. */
static void tell_link(const struct nvml *n, struct topology *t, const struct topo_object *o, nvml_device d,
                      const char *gpu)
{
    const unsigned works = 50; /* percent of the last second */
    unsigned percent[2] = {0};
    if (n->utilization && n->utilization(d, percent) == NVML_SUCCESS && percent[0] >= works && o->link_GTps > 0 &&
        o->link_GTps < o->link_max_GTps)
        build_sign(t, "pcie-slow-busy", gpu, 100 * (1 - o->link_GTps / o->link_max_GTps));
}

static void read_gpus(const struct nvml *n, struct topology *t, struct topo_class *c)
{
    unsigned count = 0;
    int result = n->count(&count);
    add_versions(n, t, c);
    if (result != NVML_SUCCESS)
        build_note(t, c, "NVML: the GPUs cannot be counted: %s", n->error(result));
    /* All GPUs before the first link: a link may lead to any of them. */
    nvml_device *devices = arena_alloc(t->arena, (size_t)count * sizeof *devices);
    int *gpus = arena_alloc(t->arena, (size_t)count * sizeof *gpus);
    for (unsigned i = 0; i < count; i++) {
        gpus[i] = -1;
        result = n->device(i, &devices[i]);
        if (result != NVML_SUCCESS)
            build_note(t, c, "NVML: GPU %u: %s", i, n->error(result));
        else
            gpus[i] = add_gpu(n, t, c, devices[i], (int)i);
    }
    for (unsigned i = 0; i < count; i++)
        if (gpus[i] >= 0) {
            const char *gpu = arena_printf(t->arena, "GPU%d", c->gpus[gpus[i]].index);
            add_links(n, t, c, devices[i], gpus[i]);
            gpu_errors_count(n, devices[i], gpu, add_sign, t);
            gpu_errors_state(n, devices[i], gpu, add_sign, t);
            tell_link(n, t, &c->objects[c->gpus[gpus[i]].object], devices[i], gpu);
        }
    /* GPUs that the driver has taken but does not show: fallen off the bus. A container shows those that it was given.
     */
    for (int i = 0; i < c->ngpus; i++) {
        const struct topo_object *o = &c->objects[c->gpus[i].object];
        if (c->gpus[i].index < 0 && o->pci && o->driver && !strcmp(o->driver, "nvidia"))
            build_sign(t, "gpu-lost", o->pci, 1);
    }
    add_p2p(n, t, c, devices, gpus, count);
}

void source_nvml(struct topology *t, struct topo_class *c)
{
    struct nvml n;
    struct err e = {0};
    if (nvml_open(&n, &e)) {
        build_note(t, c, "NVML: %s", e.text);
        return;
    }
    read_gpus(&n, t, c);
    nvml_close(&n);
}
