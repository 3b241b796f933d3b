/* What can be wrong with a class of nodes beside its RDMA ports. */
#include <stdio.h>
#include <string.h>

#include "core/units.h"
#include "probe/findings/findings_internal.h"
#include "probe/topology/paths.h"
#include "probe/topology/pci.h"

static const char *object_name(struct arena *a, const struct topo_object *o)
{
    return o->name && o->pci ? arena_printf(a, "%s (%s)", o->name, o->pci) : o->name ? o->name : o->pci ? o->pci : "?";
}

static int is_virtual(const struct topo_class *c)
{
    return c->hypervisor && strcmp(c->hypervisor, "none") != 0;
}

/* A link that says nothing: no width, or 2.5 GT/s × 1, which is what virtual switches and ports show in a guest. */
static int is_made_up(const struct topo_object *o)
{
    return o->link_width <= 0 || o->link_max_width <= 0 || (o->link_GTps <= 2.5 && o->link_width <= 1) ||
           (o->link_max_GTps <= 2.5 && o->link_max_width <= 1);
}

/* An idle GPU lowers its link's speed, so only its width tells. */
static void slow_links(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nobjects * sizeof *names);
    int n = 0;
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        if ((o->kind != TOPO_GPU && o->kind != TOPO_NIC && o->kind != TOPO_NVSWITCH) || o->pf || is_made_up(o))
            continue;
        int narrow = o->link_width < o->link_max_width;
        int slow = o->kind == TOPO_NIC && o->link_GTps > 0 && o->link_GTps < o->link_max_GTps;
        if (narrow || slow)
            names[n++] = arena_printf(s->a, "%s: %g GT/s x%d instead of %g GT/s x%d", object_name(s->a, o),
                                      o->link_GTps, o->link_width, o->link_max_GTps, o->link_max_width);
    }
    if (n)
        found(s, c->name, found_names(s->a, names, n), "%d PCIe link%s below what both ends can do", n,
              n == 1 ? " is" : "s are");
}

static int has_compute(const struct search *s, int class_index)
{
    for (int i = 0; i < s->t->classes[class_index].nports; i++)
        if (s->verdicts[class_index][i].role == ROLE_COMPUTE)
            return 1;
    return 0;
}

static void no_gdr(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    if (c->ngpus && has_compute(s, class_index) && c->gdr_route && !strcmp(c->gdr_route, "none"))
        found(s, c->name, arena_printf(s->a, "driver %s, no nvidia_peermem", c->driver ? c->driver : "unknown"),
              "NICs cannot reach GPU memory: every byte goes through host memory");
}

static void acs(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->nobjects * sizeof *names);
    int n = 0;
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        /* Right below a root port every request goes up anyway. */
        if (o->acs == TOPO_YES && o->parent >= 0 && c->objects[o->parent].kind == TOPO_SWITCH)
            names[n++] = object_name(s->a, o);
    }
    if (n && !is_virtual(c))
        found(s, c->name, found_names(s->a, names, n),
              "the PCI switch above %d device%s redirects peer-to-peer "
              "traffic to the CPU",
              n, n == 1 ? "" : "s");
}

static void memlock(struct search *s, int class_index)
{
    const uint64_t enough = 1ull << 30;
    const struct topo_class *c = &s->t->classes[class_index];
    char size[UNIT_TEXT];
    if (c->nports && c->memlock_bytes && c->memlock_bytes < enough)
        found(s, c->name, arena_printf(s->a, "RLIMIT_MEMLOCK is %s", unit_bytes(size, c->memlock_bytes)),
              "the limit of locked memory is too low for RDMA");
}

static void shm(struct search *s, int class_index)
{
    const uint64_t per_gpu = 64ull << 20;
    const struct topo_class *c = &s->t->classes[class_index];
    char size[UNIT_TEXT];
    if (c->ngpus > 1 && c->shm_bytes && c->shm_bytes < per_gpu * (uint64_t)c->ngpus)
        found(s, c->name, arena_printf(s->a, "%s for %d GPUs", unit_bytes(size, c->shm_bytes), c->ngpus),
              "/dev/shm is small for NCCL's shared memory");
}

static void mig(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const char **names = arena_alloc(s->a, (size_t)c->ngpus * sizeof *names);
    int n = 0;
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].mig == TOPO_YES)
            names[n++] = arena_printf(s->a, "GPU%d", c->gpus[i].index);
    if (n)
        found(s, c->name, found_names(s->a, names, n), "%d GPU%s in MIG mode", n, n == 1 ? " is" : "s are");
}

static void hidden(struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const struct path_matrix *m = path_matrix(c, s->a);
    int unknown = 0, far = 0, all = 0;
    for (int g = 0; g < m->ngpus; g++)
        for (int k = m->ngpus; k < m->n; k++) {
            enum path_class class_ = path_between(m, g, k)->class_;
            all++;
            unknown += class_ == PATH_UNKNOWN;
            far += class_ == PATH_PHB || class_ == PATH_SYS;
        }
    /* A guest without switches: everything hangs on the virtual root. */
    if (all && (unknown || (is_virtual(c) && far == all)))
        found(s, c->name,
              arena_printf(s->a, "%d of %d ways between GPUs and NICs are unknown%s%s", unknown, all,
                           is_virtual(c) ? "; hypervisor: " : "", is_virtual(c) ? c->hypervisor : ""),
              "which NIC is near which GPU is hidden here");
}

/* The file of that class would have an element for every object and two for a port (nic, net), and NCCL takes 256 (its
 * topo/xml.h, MAX_NODES). */
static void large_xml(struct search *s, int class_index)
{
    const int most = 256;
    const struct topo_class *c = &s->t->classes[class_index];
    int elements = 1 + c->nobjects + c->ngpus + 2 * c->nports + c->nlinks;
    for (int i = 0; i < c->nobjects; i++)
        elements -= c->objects[i].kind == TOPO_HOST_BRIDGE || c->objects[i].kind == TOPO_NVSWITCH;
    if (elements > most)
        found(s, c->name, arena_printf(s->a, "%d elements, at most %d", elements, most),
              "an NCCL topology file of this machine is above NCCL's limits");
}

const struct finding_rule findings_of_nodes[] = {
    {{"no-gpudirect", NULL, FINDING_ERROR,
      "NVIDIA's driver is loaded, but neither nvidia_peermem nor the open kernel module with dma-buf: every byte goes "
      "through host memory. Load nvidia_peermem, or change to the open kernel module."},
     "load nvidia_peermem, or use NVIDIA's open kernel module, which brings dma-buf",
     no_gdr},
    {{"memlock-low", NULL, FINDING_ERROR,
      "The limit of locked memory is below 1 GiB on a node with RDMA ports. It is that of the shell or daemon in which "
      "the probe ran. Set it to unlimited for jobs: limits.d, LimitMEMLOCK of slurmd, --ulimit of a container."},
     "raise it to unlimited: /etc/security/limits.d, LimitMEMLOCK of slurmd, --ulimit memlock=-1 of a container",
     memlock},
    {{"pcie-below-maximum", NULL, FINDING_WARNING,
      "The PCIe link of a GPU, NIC or NVSwitch is narrower, or that of a NIC slower, than both of its ends can do. The "
      "speed of a GPU's link is not judged, because an idle GPU lowers it; neither are links that say nothing: width "
      "0, or 2.5 GT/s with one lane, as virtual machines show. Reseat the card; check riser and BIOS."},
     "reseat the card, check riser and BIOS settings of the slot",
     slow_links},
    {{"acs-on", NULL, FINDING_WARNING,
      "On bare metal, the PCI switch above a GPU or NIC redirects requests between peers to the CPU (ACS P2P Request "
      "Redirect). Only root can read it. Switch it off with setpci or in the BIOS."},
     "switch ACS redirection off on the PCI switches of bare-metal nodes (setpci, or the BIOS): it sends GPU-NIC "
     "traffic through the CPU",
     acs},
    {{"mig-on", NULL, FINDING_WARNING,
      "A GPU is cut into instances (MIG), between which there is neither P2P nor NVLink. Switch MIG off for jobs of "
      "several GPUs."},
     "switch MIG off for multi-GPU jobs: no P2P and no NVLink between instances",
     mig},
    {{"shm-small", NULL, FINDING_WARNING,
      "/dev/shm holds less than 64 MiB for each GPU. Give the container more with --shm-size, or use --ipc=host."},
     "give the container more: --shm-size=1g for each GPU, or --ipc=host",
     shm},
    {{"tree-hidden", NULL, FINDING_NOTE,
      "The way between GPUs and NICs is unknown, or a virtual machine shows all of them on one virtual root. Use the "
      "provider's NCCL_TOPO_FILE."},
     "take the provider's NCCL_TOPO_FILE: without it NCCL cannot tell which NIC is near which GPU",
     hidden},
    {{"nccl-xml-too-large", NULL, FINDING_NOTE,
      "A topology file of this machine would have more elements than NCCL's reader takes (256). Leave out what no job "
      "uses."},
     "NCCL's own parser refuses such a file; leave out what no job uses",
     large_xml},
    {{NULL}},
};
