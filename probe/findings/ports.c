/* What can be wrong with the RDMA ports of a class. */
#include <string.h>

#include "probe/findings/findings_internal.h"

static void name_ports_with(struct search *s, const struct topo_class *c, enum port_role role)
{
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].role == role)
            named(s, "%s", topo_port_name(s->a, &c->ports[i]));
}

static void find_ports_down(struct search *s, const struct topo_class *c)
{
    name_ports_with(s, c, ROLE_DOWN);
    found_named(s, "%d of %d RDMA ports %s down", s->n, c->nports, s->n == 1 ? "is" : "are");
}

/* Where none is known, the notes say so. */
static void find_unknown_states(struct search *s, const struct topo_class *c)
{
    int known = 0;
    for (int i = 0; i < c->nports; i++) {
        int unknown = c->ports[i].state == TOPO_STATE_UNKNOWN && s->roles[i].role == ROLE_UNKNOWN;
        known |= !unknown;
        if (unknown)
            named(s, "%s", topo_port_name(s->a, &c->ports[i]));
    }
    if (known)
        found_named(s, "%d of %d RDMA ports %s a state that is not known", s->n, c->nports, s->n == 1 ? "has" : "have");
}

static void find_only_management(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++) {
        enum port_role role = s->roles[i].role;
        if (role != ROLE_NVLINK_MANAGEMENT && role != ROLE_MANAGEMENT && role != ROLE_DOWN)
            return;
    }
    name_ports_with(s, c, ROLE_NVLINK_MANAGEMENT);
    found_named(s, "the only active ports are for management of NVLink switches");
}

static void find_no_compute(struct search *s, const struct topo_class *c)
{
    const struct topo_class *shown = roles_shown(c, s->a);
    if (!c->nports || !c->ngpus || roles_hca_list(shown, roles_of(shown, s->a), s->a))
        return;
    int known = 0, by_plugin = 0;
    for (int i = 0; i < c->nports; i++) {
        known += c->ports[i].state != TOPO_STATE_UNKNOWN;
        by_plugin += s->roles[i].plugin && s->roles[i].role == ROLE_COMPUTE;
    }
    if (!known || by_plugin)
        return;
    for (int i = 0; i < c->nports; i++)
        named(s, "%s: %s", topo_port_name(s->a, &c->ports[i]), role_name(s->roles[i].role));
    /* Left to itself, NCCL takes every active port that it can open. */
    const char *taken = NULL;
    for (int i = 0; i < c->nports; i++)
        if (c->ports[i].state == TOPO_STATE_ACTIVE && c->ports[i].opens != TOPO_NO && !s->roles[i].plugin)
            taken = taken ? arena_printf(s->a, "%s, %s", taken, topo_port_name(s->a, &c->ports[i]))
                          : topo_port_name(s->a, &c->ports[i]);
    found_named(s, "none of %d RDMA ports is one that NCCL should use; %s%s", c->nports,
                taken ? "by default it uses " : "it uses sockets", taken ? taken : "");
}

/* ---- rates and MTUs: ports of a class, and the best ports of the classes ---- */

static int is_of_mtus(const struct search *s)
{
    return !strcmp(s->rule->kind.id, "mtu-differs");
}

/* 0 is unknown. */
static double value_of(const struct search *s, const struct topo_port *p)
{
    return is_of_mtus(s) ? p->mtu_bytes : p->rate_Gbps;
}

static double best_value(const struct search *s, int class_index)
{
    double best = 0;
    const struct topo_class *c = &s->t->classes[class_index];
    for (int i = 0; i < c->nports; i++)
        if (s->verdicts[class_index][i].role == ROLE_COMPUTE && value_of(s, &c->ports[i]) > best)
            best = value_of(s, &c->ports[i]);
    return best;
}

static void find_different_ports(struct search *s, const struct topo_class *c)
{
    const char *unit = is_of_mtus(s) ? "bytes" : "Gb/s";
    double high = best_value(s, (int)(c - s->t->classes));
    int all = 0;
    for (int i = 0; i < c->nports; i++) {
        double own = s->roles[i].role == ROLE_COMPUTE ? value_of(s, &c->ports[i]) : 0;
        all += own > 0;
        if (own > 0 && own < high)
            named(s, "%s has %g %s", topo_port_name(s->a, &c->ports[i]), own, unit);
    }
    found_named(s, "%d of %d compute ports %s below the others' %g %s", s->n, all, s->n == 1 ? "is" : "are", high,
                unit);
}

static const char *best_text(const struct search *s, int class_index)
{
    double best = best_value(s, class_index);
    return best > 0 ? arena_printf(s->a, "%g %s", best, is_of_mtus(s) ? "bytes" : "Gb/s") : NULL;
}

/* An MTU of Ethernet's usual 1500 bytes leaves 1024 for RDMA. */
static void find_small_mtus(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].role == ROLE_COMPUTE && c->ports[i].mtu_bytes > 0 &&
            c->ports[i].mtu_bytes < s->rule->threshold.least)
            named(s, "%s: %d bytes", topo_port_name(s->a, &c->ports[i]), c->ports[i].mtu_bytes);
    found_named(s, "%d compute port%s a small MTU", s->n, s->n == 1 ? " has" : "s have");
}

/* The index of the first RoCE v2 entry with an IPv4 address; -1 none. */
static int index_of_ipv4(const struct topo_class *c, int port)
{
    for (int k = 0; k < c->ngids; k++)
        if (c->gids[k].port == port && c->gids[k].type == TOPO_GID_ROCE_V2 && !strncmp(c->gids[k].gid, "::ffff:", 7))
            return c->gids[k].index;
    return -1;
}

static void find_gid_indices(struct search *s, const struct topo_class *c)
{
    int first = -1, differ = 0;
    for (int i = 0; i < c->nports; i++) {
        int own = s->roles[i].role == ROLE_COMPUTE ? index_of_ipv4(c, i) : -1;
        if (own < 0)
            continue;
        differ |= first >= 0 && own != first;
        first = first < 0 ? own : first;
        named(s, "%s: %d", topo_port_name(s->a, &c->ports[i]), own);
    }
    if (differ)
        found_named(s, "no GID index is RoCE v2 with an IPv4 address on every port");
}

/* GPUs that must pass a CPU to every compute port, while others do not. */
static void find_far_gpus(struct search *s, const struct topo_class *c)
{
    const struct path_matrix *m = path_matrix(c, s->a);
    int served = 0;
    for (int g = 0; g < m->ngpus; g++) {
        const struct topo_path *nearest = NULL;
        for (int i = 0; i < c->nports; i++) {
            int end = path_end_of(m, c->ports[i].hca);
            const struct topo_path *own = end < 0 ? NULL : path_between(m, g, end);
            if (own && s->roles[i].role == ROLE_COMPUTE && own->class_ != PATH_UNKNOWN &&
                (!nearest || own->word < nearest->word))
                nearest = own;
        }
        served += nearest && nearest->class_ <= PATH_P2C;
        if (nearest && nearest->class_ > PATH_P2C)
            named(s, "GPU%d: %s", c->gpus[g].index, path_word(arena_alloc(s->a, PATH_WORD), nearest));
    }
    if (served)
        found_named(s, "%d of %d GPUs %s no compute port beside %s", s->n, c->ngpus, s->n == 1 ? "has" : "have",
                    s->n == 1 ? "it" : "them");
}

static void find_wrong_numa(struct search *s, const struct topo_class *c)
{
    int all_known = c->ngpus > 0;
    for (int g = 0; g < c->ngpus; g++)
        all_known &= c->objects[c->gpus[g].object].numa >= 0;
    for (int i = 0; i < c->nports && all_known; i++) {
        int numa = c->ports[i].object < 0 ? -1 : c->objects[c->ports[i].object].numa, shared = 0;
        for (int g = 0; g < c->ngpus; g++)
            shared |= c->objects[c->gpus[g].object].numa == numa;
        if (numa >= 0 && !shared && s->roles[i].role == ROLE_COMPUTE)
            named(s, "%s on NUMA node %d", topo_port_name(s->a, &c->ports[i]), numa);
    }
    found_named(s, "%d compute port%s on a NUMA node that has no GPU", s->n, s->n == 1 ? " is" : "s are");
}

/* Ethernet ports whose GID table was read and holds no RoCE v2 entry of an IPv4 address. */
static void find_no_ipv4_gid(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++) {
        int entries = 0;
        for (int k = 0; k < c->ngids; k++)
            entries += c->gids[k].port == i;
        if (entries && index_of_ipv4(c, i) < 0 && c->ports[i].layer == TOPO_LINK_ETHERNET &&
            s->roles[i].role == ROLE_COMPUTE)
            named(s, "%s", topo_port_name(s->a, &c->ports[i]));
    }
    found_named(s, "%d compute port%s no RoCE v2 GID with an IPv4 address", s->n, s->n == 1 ? " has" : "s have");
}

/* Half of the bandwidth of a bond is gone, and its RDMA device stays active. */
static void find_lost_slaves(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++) {
        const char *down = s->roles[i].role == ROLE_COMPUTE ? topo_slave_down(c, c->ports[i].netdev) : NULL;
        if (down)
            named(s, "%s: %s", topo_port_name(s->a, &c->ports[i]), down);
    }
    found_named(s, "%d bond%s lost an interface", s->n, s->n == 1 ? " has" : "s have");
}

/* The other list: with the open ports that are out, without those that are in; ports of another link layer alone. */
static const char *other_list(struct search *s, const struct topo_class *c)
{
    struct port_verdict *other = arena_alloc(s->a, (size_t)c->nports * sizeof *other);
    enum topo_link_layer layer = TOPO_LINK_UNKNOWN;
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].role == ROLE_COMPUTE)
            layer = c->ports[i].layer;
    int apart = 0;
    for (int i = 0; i < c->nports; i++)
        apart |= s->roles[i].open && c->ports[i].layer != layer;
    for (int i = 0; i < c->nports; i++) {
        other[i] = s->roles[i];
        if (other[i].open || apart)
            other[i].role = other[i].open && other[i].role != ROLE_COMPUTE ? ROLE_COMPUTE : ROLE_UNKNOWN;
    }
    return roles_hca_list(c, other, s->a);
}

static void find_open_list(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++) {
        int gpu = s->roles[i].nearest_gpu;
        if (!s->roles[i].open)
            continue;
        const char *beside = NULL;
        for (int k = 0; k < c->nports && gpu >= 0; k++)
            if (k != i && s->roles[k].nearest_gpu == gpu && s->roles[k].role == ROLE_COMPUTE)
                beside = topo_port_name(s->a, &c->ports[k]);
        named(s, "%s%s%s", beside ? beside : "", beside ? " and " : "", topo_port_name(s->a, &c->ports[i]));
    }
    const char *own = roles_hca_list(c, s->roles, s->a), *other = s->n && own ? other_list(s, c) : NULL;
    if (other)
        found_named(s, "what %d port%s for is unclear here: the list is %s, or %s", s->n, s->n == 1 ? " is" : "s are",
                    own, other);
}

static void find_slingshot(struct search *s, const struct topo_class *c)
{
    for (int i = 0; i < c->nports; i++)
        if (s->roles[i].role == ROLE_COMPUTE && s->roles[i].plugin && strstr(s->roles[i].plugin, "Slingshot"))
            named(s, "%s (%s)", topo_port_name(s->a, &c->ports[i]), c->ports[i].netdev ? c->ports[i].netdev : "?");
    found_named(s, "NCCL reaches %d Slingshot port%s through aws-ofi-nccl only", s->n, s->n == 1 ? "" : "s");
}

const struct finding_rule findings_of_ports[] = {
    {{"only-management-ports", NULL, FINDING_ERROR,
      "All active RDMA ports belong to NVLink switches (product data \"SW_MNG\") or to management, while others are "
      "down. A job that takes them hangs or disturbs the subnet manager of the NVLink switches. Confirm with ibstat "
      "and lspci -vvv (Vital Product Data). Bring up the ports beside the GPUs."},
     find_only_management},
    {{"no-compute-port", NULL, FINDING_ERROR,
      "There are GPUs and RDMA ports whose state is known, but none of the ports is one that NCCL should use. Unless "
      "NCCL_IB_HCA says otherwise NCCL takes every active port, also those that manage NVLink switches, which is worse "
      "than sockets. Confirm with probe --why PORT, rule by rule. Bring up a port beside the GPUs, or set "
      "NCCL_IB_DISABLE=1."},
     find_no_compute},
    {{"hca-list-open", NULL, FINDING_WARNING,
      "One GPU has more ports beside it than the others, or InfiniBand and Ethernet carry as much, so the machine's "
      "files allow two lists of HCAs. A port of another fabric in the list hangs jobs. Confirm with probe "
      "--ibnetdiscover FILE (or the switch's LLDP table) on which fabric each port is, or let nccltune bench --engine "
      "verbs connect every pair of ports. Set NCCL_IB_HCA to the list whose ports reach one another."},
     find_open_list},
    {{"bond-slave-down", NULL, FINDING_WARNING,
      "An interface of a bond whose RDMA device NCCL uses is down: the device stays active with part of its bandwidth. "
      "Confirm with cat /proc/net/bonding/BOND. Check the cable and the switch port."},
     find_lost_slaves},
    {{"network-plugin", NULL, FINDING_NOTE,
      "The network is Slingshot, which has no verbs: without the plugin aws-ofi-nccl (libnccl-net.so) NCCL uses "
      "sockets over its interfaces. Confirm with NCCL_DEBUG=INFO (NET/OFI Selected provider is cxi). Load the plugin "
      "in every job, and leave NCCL_IB_HCA unset."},
     find_slingshot},
    {{"port-down", NULL, FINDING_WARNING,
      "RDMA ports that are down. Confirm with ibstat (State, Physical state). Check cable and switch port; unused "
      "ports can stay down."},
     find_ports_down},
    {{"port-state-unknown", NULL, FINDING_NOTE,
      "The state of RDMA ports is not known, so they are not on the list for NCCL_IB_HCA. Confirm with ibstat (State): "
      "ibdev2netdev's (Down) on InfiniBand is the IPoIB interface, which NCCL does not need, not the port. Add "
      "ibstat's "
      "output with --from and --merge."},
     find_unknown_states},
    {{"rate-differs", NULL, FINDING_WARNING,
      "Compute ports of a class, or the fastest ports of the classes, have different rates. Confirm with ibstat "
      "(Rate). Check cable, optics and switch port of the slower ones."},
     find_different_ports,
     .differs = best_text,
     .sentence = "the compute ports of the classes have different rates"},
    {{"mtu-differs", NULL, FINDING_WARNING,
      "Compute ports of a class, or of the classes, have different active MTUs. Confirm with ibv_devinfo (active_mtu). "
      "Configure one MTU on all ports and switches of the fabric."},
     find_different_ports,
     .differs = best_text,
     .sentence = "the compute ports of the classes have different MTUs"},
    {{"mtu-small", NULL, FINDING_NOTE,
      "The active MTU of a compute port is small: more packets for the same data. Confirm with ibv_devinfo "
      "(active_mtu). On Ethernet give interface and switches an MTU of 4200 or more (jumbo frames), on InfiniBand set "
      "4096 in the subnet manager."},
     find_small_mtus,
     .threshold = {2048, "bytes is enough", "what InfiniBand switches are delivered with"}},
    {{"gid-index-differs", NULL, FINDING_WARNING,
      "The RoCE v2 GIDs with an IPv4 address have different indices in the ports' tables, so no NCCL_IB_GID_INDEX is "
      "right for all. Confirm with show_gids. Leave the variable unset (NCCL from 2.21 on finds the entry by itself), "
      "or give all interfaces the same kinds of addresses."},
     find_gid_indices},
    {{"gpu-without-nic", NULL, FINDING_WARNING,
      "Some GPUs have no compute port beside them (PXB or nearer), while others do. Confirm with nvidia-smi topo -m. "
      "Check that the GPU's own NIC is there and up."},
     find_far_gpus},
    {{"nic-wrong-numa", NULL, FINDING_WARNING,
      "A compute port is on a NUMA node on which there is no GPU. Confirm with nvidia-smi topo -m. Move the card to "
      "another slot."},
     find_wrong_numa},
    {{"no-roce-v2-ipv4", NULL, FINDING_WARNING,
      "The GID table of a compute port on Ethernet holds no RoCE v2 entry with an IPv4 address, which NCCL looks for "
      "first. Confirm with show_gids. Give the port's interface an IPv4 address."},
     find_no_ipv4_gid},
    {{NULL}},
};
