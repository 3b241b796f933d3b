/* What can be wrong with a class of nodes beside its RDMA ports: PCIe, limits, GPUs and the links between them. */
#include <stddef.h>
#include <string.h>

#include "core/units.h"
#include "probe/findings/findings_internal.h"

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
static void find_slow_pcie(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects; i++) {
        const struct topo_object *o = &c->objects[i];
        if ((o->kind != TOPO_GPU && o->kind != TOPO_NIC && o->kind != TOPO_NVSWITCH) || o->pf || is_made_up(o))
            continue;
        int narrow = o->link_width < o->link_max_width;
        int slow = o->kind == TOPO_NIC && o->link_GTps > 0 && o->link_GTps < o->link_max_GTps;
        if (narrow || slow)
            named(s, "%s: %g GT/s x%d instead of %g GT/s x%d", object_name(s->a, o), o->link_GTps, o->link_width,
                  o->link_max_GTps, o->link_max_width);
    }
    found_named(s, "%d PCIe link%s below what both ends can do", s->n, s->n == 1 ? " is" : "s are");
}

static int has_compute(const struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].role == ROLE_COMPUTE)
            return 1;
    return 0;
}

static void find_no_gdr(struct search *s, const struct topo_class *c)
{
    if (c->ngpus && has_compute(s, c) && c->gdr_route && !strcmp(c->gdr_route, "none"))
        found(s, arena_printf(s->a, "driver %s, no nvidia_peermem", c->driver ? c->driver : "unknown"),
              "NICs cannot reach GPU memory: every byte goes through host memory");
}

static void find_acs(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects && !is_virtual(c); i++) {
        const struct topo_object *o = &c->objects[i];
        /* Right below a root port every request goes up anyway. */
        if (o->acs == TOPO_YES && o->parent >= 0 && c->objects[o->parent].kind == TOPO_SWITCH)
            named(s, "%s", object_name(s->a, o));
    }
    found_named(s, "the PCI switch above %d device%s redirects peer-to-peer traffic to the CPU", s->n,
                s->n == 1 ? "" : "s");
}

static void find_low_memlock(struct search *s, const struct topo_class *c)
{
    char size[UNIT_TEXT];
    if (c->nports && c->memlock_bytes && (double)c->memlock_bytes < s->rule->threshold.least)
        found(s, arena_printf(s->a, "RLIMIT_MEMLOCK is %s", unit_bytes(size, c->memlock_bytes)),
              "the limit of locked memory is too low for RDMA");
}

static void find_small_shm(struct search *s, const struct topo_class *c)
{
    char size[UNIT_TEXT];
    if (c->ngpus > 1 && c->shm_bytes && (double)c->shm_bytes < s->rule->threshold.least * c->ngpus)
        found(s, arena_printf(s->a, "%s for %d GPUs", unit_bytes(size, c->shm_bytes), c->ngpus),
              "/dev/shm is small for NCCL's shared memory");
}

static void find_low_nofile(struct search *s, const struct topo_class *c)
{
    if (c->ngpus && c->nofile && (double)c->nofile < s->rule->threshold.least)
        found(s, arena_printf(s->a, "RLIMIT_NOFILE is %llu", (unsigned long long)c->nofile),
              "the limit of open files is low for NCCL's sockets and shared memory");
}

static void find_refused_p2p(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->ngpus; i++)
        for (int k = 0; k < c->gpus[i].np2p_problems && k < c->ngpus; k++)
            named(s, "GPU%d with %s", c->gpus[i].index, c->gpus[i].p2p_problems[k]);
    found_named(s, "the driver refuses peer-to-peer access between %d pair%s of GPUs", s->n, s->n == 1 ? "" : "s");
}

static void find_nouveau(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects; i++)
        if (c->objects[i].kind == TOPO_GPU && c->objects[i].driver && !strcmp(c->objects[i].driver, "nouveau"))
            named(s, "%s", object_name(s->a, &c->objects[i]));
    found_named(s, "the driver nouveau has taken %d GPU%s", s->n, s->n == 1 ? "" : "s");
}

/* On Grace the SMMU translates by design. */
static void find_iommu(struct search *s, const struct topo_class *c)
{
    int peers = c->ngpus > 1 || (c->ngpus && c->nports), arm = c->arch && !strcmp(c->arch, "aarch64");
    if (peers && !arm && !is_virtual(c) && c->iommu && !strcmp(c->iommu, "translated"))
        found(s, "/sys/kernel/iommu_groups/*/type is not identity",
              "the IOMMU translates what GPUs and NICs send to one another");
}

static void find_gdr_on_some(struct search *s, const struct topo_class *c)
{
    int with = 0;
    for (int i = 0; i < c->ngpus; i++) {
        with += c->gpus[i].gdr == 1;
        if (c->gpus[i].gdr == 0)
            named(s, "%s", found_gpu(s->a, c, i));
    }
    if (with)
        found_named(s, "GPUDirect RDMA is missing on %d of %d GPUs", s->n, c->ngpus);
}

/* NICs of compute ports of which a switch in configuration space was read to be off. */
static void find_switched_off(struct search *s, const struct topo_class *c, size_t at, const char *what)
{
    for (int i = 0; i < c->nports && c->ngpus; i++) {
        const struct topo_object *o = c->ports[i].object < 0 ? NULL : &c->objects[c->ports[i].object];
        if (o && s->roles[i].role == ROLE_COMPUTE && *(const enum topo_known *)((const char *)o + at) == TOPO_NO)
            named(s, "%s", topo_port_name(s->a, &c->ports[i]));
    }
    found_named(s, "%s is off on %d compute port%s", what, s->n, s->n == 1 ? "" : "s");
}

static void find_no_relaxed_ordering(struct search *s, const struct topo_class *c)
{
    find_switched_off(s, c, offsetof(struct topo_object, relaxed_ordering), "PCIe relaxed ordering");
}

/* Only a guest's NICs need it: their host's switches let translated requests pass directly. */
static void find_no_ats(struct search *s, const struct topo_class *c)
{
    if (is_virtual(c))
        find_switched_off(s, c, offsetof(struct topo_object, ats), "address translation by the NIC (ATS)");
}

/* What a link can do at most: GB/s less the encoding; 0 unknown. A switch counts the lanes that it has now: they do not
 * come and go with load, as the speed does. */
static double link_capability(const struct topo_object *o)
{
    int width = o->link_width > 0 && o->link_width < o->link_max_width ? o->link_width : o->link_max_width;
    return is_made_up(o) ? 0 : o->link_max_GTps * width;
}

/* Several devices share an uplink as a rule; that one device alone could take more is none. */
static void find_narrow_uplinks(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nobjects && !is_virtual(c); i++) {
        const struct topo_object *up = &c->objects[i], *widest = NULL;
        for (int k = i + 1; k < c->nobjects && up->kind == TOPO_SWITCH; k++) {
            const struct topo_object *o = &c->objects[k];
            if (o->parent == i && (o->kind == TOPO_GPU || o->kind == TOPO_NIC) &&
                (!widest || link_capability(o) > link_capability(widest)))
                widest = o;
        }
        if (widest && link_capability(up) > 0 &&
            link_capability(up) < link_capability(widest) * s->rule->threshold.least)
            named(s, "%s: %g GT/s x%d above %s with %g GT/s x%d", object_name(s->a, up), up->link_max_GTps,
                  up->link_width, object_name(s->a, widest), widest->link_max_GTps, widest->link_max_width);
    }
    found_named(s, "%d PCIe switch%s a narrower uplink than a device below needs", s->n,
                s->n == 1 ? " has" : "es have");
}

static void find_mig(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].mig == TOPO_YES)
            named(s, "GPU%d", c->gpus[i].index);
    found_named(s, "%d GPU%s in MIG mode", s->n, s->n == 1 ? " is" : "s are");
}

static void find_hidden_tree(struct search *s, const struct topo_class *c)
{
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
        found(s,
              unknown ? arena_printf(s->a, "%d of %d ways between GPUs and NICs are unknown%s%s", unknown, all,
                                     is_virtual(c) ? "; hypervisor: " : "", is_virtual(c) ? c->hypervisor : "")
                      : arena_printf(s->a, "all GPUs and NICs hang on one virtual root; hypervisor: %s", c->hypervisor),
              "which NIC is near which GPU is hidden here");
}

/* With one CPU for all, every way between devices of different switches is PHB. */
static void find_unknown_numa(struct search *s, const struct topo_class *c)
{
    int nodes = 0;
    for (int i = 0; i < c->nobjects; i++)
        nodes += c->objects[i].kind == TOPO_NUMA && c->objects[i].numa >= 0;
    for (int i = 0; i < c->nobjects && nodes > 1 && !is_virtual(c); i++) {
        const struct topo_object *root = &c->objects[topo_root(c, i)];
        if ((c->objects[i].kind == TOPO_GPU || c->objects[i].kind == TOPO_NIC) && root->kind == TOPO_NUMA &&
            root->numa < 0)
            named(s, "%s", object_name(s->a, &c->objects[i]));
    }
    found_named(s, "numa_node is -1 for %d device%s of a machine with %d NUMA nodes: NCCL puts them all on one CPU",
                s->n, s->n == 1 ? "" : "s", nodes);
}

/* The file of that class would have an element for every object and two for a port (nic, net), and NCCL takes 256 (its
 * topo/xml.h, MAX_NODES). */
static void find_large_xml(struct search *s, const struct topo_class *c)
{
    const int most = 256;
    int elements = 1 + c->nobjects + c->ngpus + 2 * c->nports + c->nlinks;
    for (int i = 0; i < c->nobjects; i++)
        elements -= c->objects[i].kind == TOPO_HOST_BRIDGE || c->objects[i].kind == TOPO_NVSWITCH;
    if (elements > most)
        found(s, arena_printf(s->a, "%d elements, at most %d", elements, most),
              "an NCCL topology file of this machine is above NCCL's limits");
}

/* ---- links between GPUs ------------------------------------------------------------------------------------------ */

/* A GPU cut into instances has no NVLink. */
static int has_nvlink(const struct topo_class *c, int gpu)
{
    return c->gpus[gpu].mig != TOPO_YES;
}

/* What more than half of the GPUs have, and no GPU more; 0 where there is no such number. */
static int usual_links(const struct topo_class *c)
{
    int most = 0, with = 0, all = 0;
    for (int i = 0; i < c->ngpus; i++) {
        int own = has_nvlink(c, i) ? topo_count_links(c, i) : 0;
        all += has_nvlink(c, i);
        with = own > most ? 1 : with + (own == most);
        most = own > most ? own : most;
    }
    return with * 2 > all ? most : 0;
}

static void find_missing_links(struct search *s, const struct topo_class *c)
{
    int usual = usual_links(c);
    for (int i = 0; i < c->ngpus; i++) {
        int own = topo_count_links(c, i), down = c->gpus[i].links_down;
        if (has_nvlink(c, i) && own < usual)
            named(s, "%s",
                  down ? arena_printf(s->a, "%s: %d active, %d inactive", found_gpu(s->a, c, i), own, down)
                       : arena_printf(s->a, "%s: %d", found_gpu(s->a, c, i), own));
    }
    found_named(s, "%d of %d GPUs %s fewer links than the others' %d", s->n, c->ngpus, s->n == 1 ? "has" : "have",
                usual);
}

static int is_behind_nvswitches(const struct topo_class *c, int gpu)
{
    for (int i = 0; i < c->nlinks; i++)
        if (c->links[i].gpu == gpu && c->links[i].peer_object >= 0 &&
            c->objects[c->links[i].peer_object].kind == TOPO_NVSWITCH)
            return 1;
    return 0;
}

/* Boards that bridges join leave some links free; behind NVSwitches all are in use. */
static void find_inactive_links(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].links_down && is_behind_nvswitches(c, i))
            named(s, "%s: %d of %d", found_gpu(s->a, c, i), c->gpus[i].links_down,
                  c->gpus[i].links_down + topo_count_links(c, i));
    found_named(s, "%d GPU%s NVLinks that are not active", s->n, s->n == 1 ? " has" : "s have");
}

static int count_links_between(const struct topo_class *c, int gpu, int peer)
{
    int n = 0;
    for (int i = 0; i < c->nlinks; i++)
        n += c->links[i].gpu == gpu && c->links[i].peer_gpu == peer ? c->links[i].count : 0;
    return n;
}

static void find_one_way_links(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nlinks; i++) {
        int gpu = c->links[i].gpu, peer = c->links[i].peer_gpu, there, back;
        if (peer < 0 || (there = count_links_between(c, gpu, peer)) <= (back = count_links_between(c, peer, gpu)))
            continue;
        named(s, "%s to %s: %d, back: %d", found_gpu(s->a, c, gpu), found_gpu(s->a, c, peer), there, back);
    }
    found_named(s, "%d pair%s of GPUs %s links in one direction only", s->n, s->n == 1 ? "" : "s",
                s->n == 1 ? "has" : "have");
}

static void find_unready_fabric(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->ngpus; i++)
        if (c->gpus[i].fabric && strcmp(c->gpus[i].fabric, "completed") != 0)
            named(s, "%s: %s", found_gpu(s->a, c, i), c->gpus[i].fabric);
    found_named(s, "%d GPU%s not registered with the fabric manager", s->n, s->n == 1 ? " is" : "s are");
}

const struct finding_rule findings_of_nodes[] = {
    {{"no-gpudirect", NULL, FINDING_ERROR,
      "NVIDIA's driver is loaded, but neither nvidia_peermem nor the open kernel module with dma-buf: every byte goes "
      "through host memory. Confirm with lsmod | grep peermem. Load nvidia_peermem, or change to the open kernel "
      "module."},
     find_no_gdr},
    {{"memlock-low", NULL, FINDING_ERROR,
      "The limit of locked memory is low on a node with RDMA ports. It is the limit of the probe's shell or daemon. "
      "Confirm with ulimit -l. Set it to unlimited for jobs: limits.d, LimitMEMLOCK of slurmd, --ulimit of a "
      "container."},
     find_low_memlock,
     .threshold = {1 << 30, "bytes is enough", OURS}},
    {{"pcie-below-maximum", NULL, FINDING_WARNING,
      "The PCIe link of a GPU, NIC or NVSwitch is narrower, or that of a NIC slower, than both of its ends can do. The "
      "speed of a GPU's link is not judged, because an idle GPU lowers it. Links without data (width 0, or 2.5 GT/s "
      "with one lane, in virtual machines) are not judged either. Confirm with lspci -vvv (LnkSta, LnkCap). Reseat the "
      "card; check riser and BIOS."},
     find_slow_pcie},
    {{"acs-on", NULL, FINDING_WARNING,
      "On bare metal, the PCI switch above a GPU or NIC redirects requests between peers to the CPU (ACS P2P Request "
      "Redirect). Only root can read it. Confirm with lspci -vvv (ACSCtl: ReqRedir+). Switch it off with setpci or in "
      "the BIOS."},
     find_acs},
    {{"mig-on", NULL, FINDING_WARNING,
      "A GPU is cut into instances (MIG), between which there is neither P2P nor NVLink. Confirm with nvidia-smi -L. "
      "Switch MIG off for jobs of several GPUs."},
     find_mig},
    {{"shm-small", NULL, FINDING_WARNING,
      "/dev/shm is small for the number of GPUs. Confirm with df /dev/shm. Give the container more with --shm-size, or "
      "use --ipc=host."},
     find_small_shm,
     .threshold = {64 << 20, "bytes a GPU is enough", OURS}},
    {{"wrong-driver", NULL, FINDING_ERROR,
      "The driver nouveau has taken a GPU, which CUDA then does not see. Confirm with lspci -k. Blacklist nouveau in "
      "/etc/modprobe.d, rebuild the initial RAM disk and reboot."},
     find_nouveau},
    {{"p2p-refused", NULL, FINDING_WARNING,
      "NVIDIA's driver refuses peer-to-peer access between GPUs, with the reason. Confirm with nvidia-smi topo -p2p "
      "rw. Where a setting disables it, look for NVreg_ and ForceP2P options of the module and for vGPU or MIG; where "
      "the chipset does not support it, keep such pairs apart."},
     find_refused_p2p},
    {{"iommu-translated", NULL, FINDING_WARNING,
      "On bare metal x86, the IOMMU translates the addresses of devices: traffic between GPUs and NICs goes up to the "
      "CPU, or fails. Confirm with cat /sys/kernel/iommu_groups/*/type (DMA rather than identity). Boot with iommu=pt, "
      "or switch the IOMMU off."},
     find_iommu},
    {{"gdr-on-some", NULL, FINDING_WARNING,
      "NCCL could use GPUDirect RDMA with some GPUs and not with others, which then go through host memory. Confirm "
      "with NCCL_DEBUG=INFO (GDRDMA behind the channels). Compare driver, IOMMU group and PCI place of those GPUs."},
     find_gdr_on_some},
    {{"relaxed-ordering-off", NULL, FINDING_WARNING,
      "PCIe relaxed ordering is switched off for a NIC, which costs bandwidth into memory, above all on AMD CPUs and "
      "in virtual machines. Only root can read it. Confirm with lspci -vvv (DevCtl: RlxdOrd-). Switch it on with "
      "mlxconfig (PCI_WR_ORDERING=1) or setpci."},
     find_no_relaxed_ordering},
    {{"ats-off", NULL, FINDING_NOTE,
      "In a virtual machine, a NIC does not translate addresses itself (ATS): traffic to a GPU then goes up to the CPU "
      "even where the host's switches would pass it. Only root can read it. Confirm with lspci -vvv (ATSCtl: Enable-). "
      "Switch it on with mlxconfig (ATS_ENABLED=1) on the host."},
     find_no_ats},
    {{"switch-uplink-narrow", NULL, FINDING_WARNING,
      "On bare metal, a PCIe switch has less towards the CPU than one device below it could take: lanes are missing, "
      "or the slot is of an older generation. Lanes are the current ones, speeds the maximum of both ends. Confirm "
      "with lspci -vvv (LnkSta and LnkCap of the upstream port). Reseat the board; check BIOS bifurcation."},
     find_narrow_uplinks,
     .threshold = {0.9, "of what the widest device can take is enough", OURS}},
    {{"nofile-low", NULL, FINDING_WARNING,
      "Few files may be open at once on a node with GPUs; NCCL needs several for each connection. It is the limit of "
      "the probe's shell or daemon. Confirm with ulimit -n. Raise it: limits.d, LimitNOFILE of slurmd, --ulimit of a "
      "container."},
     find_low_nofile,
     .threshold = {4096, "files are enough", OURS}},
    {{"tree-hidden", NULL, FINDING_NOTE,
      "The way between GPUs and NICs is unknown, or a virtual machine shows all of them on one virtual root. Confirm "
      "with nvidia-smi topo -m. Use the provider's NCCL_TOPO_FILE, or write one: probe --tree takes a bundled machine "
      "or measured bandwidths, --format nccl-xml prints the file."},
     find_hidden_tree},
    {{"numa-unknown", NULL, FINDING_WARNING,
      "On bare metal with several NUMA nodes, the firmware does not report the node of GPUs and NICs. NCCL then puts "
      "them on one CPU: it cannot prefer near NICs, or bind to the right cores. Confirm with cat "
      "/sys/bus/pci/devices/*/numa_node. Update the BIOS, switch its NUMA options (SRAT, SLIT, _PXM) on; until then "
      "set NCCL_TOPO_FILE to a file with the right numaid."},
     find_unknown_numa},
    {{"nccl-xml-too-large", NULL, FINDING_NOTE,
      "A topology file of this machine would have more elements than NCCL's reader takes (256). Confirm with probe "
      "--format nccl-xml. Leave out what no job uses."},
     find_large_xml},
    /* links between GPUs */
    {{"fabric-not-ready", NULL, FINDING_ERROR,
      "The fabric manager (on multi-node NVLink with the IMEX service) has not finished registering a GPU. NCCL "
      "then finds no NVLink on it, or hangs. Confirm with nvidia-smi -q (Fabric: State, Status). Start "
      "nvidia-fabricmanager, and look into its log."},
     find_unready_fabric},
    {{"nvlink-missing", NULL, FINDING_ERROR,
      "A GPU has fewer active NVLink or XGMI links than most others of the machine, or none. NCCL's rings and NVLS "
      "go by the weakest GPU. Confirm with nvidia-smi nvlink -s or rocm-smi --showtopo, and look for Xid 74 in "
      "the kernel's log. Reset the GPU; if that does not help, have the board replaced."},
     find_missing_links},
    {{"nvlink-one-way", NULL, FINDING_ERROR,
      "One GPU reports links to another that the other does not report back: one end is down. Confirm with nvidia-smi "
      "nvlink -s on both. Reset both GPUs."},
     find_one_way_links},
    {{"nvlink-inactive", NULL, FINDING_WARNING,
      "GPUs behind NVSwitches have links that are not active. Confirm with nvidia-smi nvlink -s. Restart the fabric "
      "manager or reset the GPUs; a link that stays down is the board's."},
     find_inactive_links},
    {{NULL}},
};
