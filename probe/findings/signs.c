/* What the condition of the nodes says: a sign of a kind, at its threshold or above, is a finding of that name. */
#include <stdlib.h>
#include <string.h>

#include "core/hostlist.h"
#include "probe/findings/findings_internal.h"

/* What hosts have in common. */
struct entry {
    const char *text; /* "GPU3: 2, GPU5: 1" */
    const char **hosts;
    int nhosts;
};

/* Whether a sign of a host is of that kind; then its value, and its subject. */
static int read_sign(const char *sign, const char *kind, double *value, const char **subject)
{
    size_t n = strlen(kind);
    char *end;
    if (strncmp(sign, kind, n) != 0 || sign[n] != ' ')
        return 0;
    *value = strtod(sign + n, &end);
    *subject = end + strspn(end, " ");
    return end != sign + n;
}

/* The host's signs of the kind that is looked for; NULL none. */
static const char *join_signs(const struct search *s, const struct topo_host *h)
{
    const int most = 8;
    const char *text = NULL, *subject;
    double value;
    int n = 0;
    for (int i = 0; i < h->nsigns; i++) {
        if (!read_sign(h->signs[i], s->rule->kind.id, &value, &subject) || !(value >= s->rule->threshold.least) ||
            n++ >= most)
            continue;
        const char *own = *subject ? arena_printf(s->a, "%s: %g", subject, value) : arena_printf(s->a, "%g", value);
        text = text ? arena_printf(s->a, "%s, %s", text, own) : own;
    }
    return n > most ? arena_printf(s->a, "%s and %d more", text, n - most) : text;
}

static struct entry *group_hosts(const struct search *s, int *nentries, int *nhosts)
{
    struct entry *all = NULL;
    *nentries = *nhosts = 0;
    for (int i = 0; i < s->t->nhosts; i++) {
        const struct topo_host *h = &s->t->hosts[i];
        int applies = !s->rule->applies || s->rule->applies(&s->t->classes[h->class_index]);
        const char *text = applies ? join_signs(s, h) : NULL;
        int at = 0;
        if (!text)
            continue;
        while (at < *nentries && strcmp(all[at].text, text) != 0)
            at++;
        if (at == *nentries)
            ARENA_ADD(s->a, all, *nentries).text = text;
        ARENA_ADD(s->a, all[at].hosts, all[at].nhosts) = h->name;
        ++*nhosts;
    }
    return all;
}

/* One finding for all hosts. The sentence is the first of the manual's. */
static void find_signs(struct search *s)
{
    int n, hosts;
    struct entry *all = group_hosts(s, &n, &hosts);
    const char *title = s->rule->kind.title;
    const char *end = strstr(title, ". ");
    int length = end ? (int)(end - title) : (int)strlen(title);
    for (int i = 0; i < n; i++)
        if (s->t->nhosts == 1)
            named(s, "%s", all[i].text);
        else
            named(s, "%s (%s)", hostlist_fold(all[i].hosts, all[i].nhosts, s->a), all[i].text);
    s->subject = hosts == 1 ? all[0].hosts[0] : "cluster";
    found_named(s, "%.*s%s", length, title, hosts > 1 ? arena_printf(s->a, " (%d nodes)", hosts) : "");
}

static int has_gpus(const struct topo_class *c)
{
    return c->ngpus > 0;
}

/* A container is shown the GPUs that it was given. */
static int is_no_container(const struct topo_class *c)
{
    return !c->container || !strcmp(c->container, "none");
}

#define SIGN(id, severity, title, applies, ...)                                              \
    {                                                                                        \
        {id, NULL, severity, title}, NULL, find_signs, applies, .threshold = { __VA_ARGS__ } \
    }

const struct finding_rule findings_of_signs[] = {
    SIGN(
        "gpu-lost", FINDING_ERROR,
        "A GPU is there as a PCI device, but the driver does not show it. It has fallen off the bus, or did not start. "
        "Confirm with nvidia-smi -L and look for Xid 79 in the kernel's log. Reset or reboot the node; if it stays, "
        "have the board replaced.",
        is_no_container, 1, "GPU", "Azure NHC counts GPUs"),
    SIGN(
        "ecc-uncorrected", FINDING_ERROR,
        "A GPU had memory errors that ECC could not correct. Data may have been wrong, and programs end with Xid 48 or "
        "94. Confirm with nvidia-smi -q -d ECC. Drain the node and reset the GPU.",
        has_gpus, 1, "error since the driver was loaded", "DCGM"),
    SIGN("rows-failed", FINDING_ERROR,
         "A GPU could not replace a broken row of its memory. Confirm with nvidia-smi -q -d ROW_REMAPPER (Remapping "
         "Failure Occurred). Replace the board.",
         has_gpus, 1, "GPU", "DCGM"),
    SIGN("rows-pending", FINDING_WARNING,
         "A GPU will replace broken memory at its next reset. Until then it uses the broken memory. Confirm with "
         "nvidia-smi -q -d ROW_REMAPPER,PAGE_RETIREMENT (Pending). Reset the GPU when no job is on it.",
         has_gpus, 1, "GPU", "DCGM"),
    SIGN("xid-hardware", FINDING_WARNING,
         "The kernel's log has Xid errors of hardware. Confirm with dmesg | grep Xid; NVIDIA's list of Xid errors "
         "explains each code. Finding them needs access to the kernel's log. Reset the GPU, and watch whether they "
         "come back.",
         has_gpus, 1, "error in the kernel's log", "Azure NHC"),
    SIGN(
        "xid-program", FINDING_NOTE,
        "The kernel's log has many Xid errors of programs. Xid 13, 31, 43 and 45 are mostly a program's fault. Confirm "
        "with dmesg | grep Xid. One GPU alone with many of them is worth a test.",
        has_gpus, 10, "errors in the kernel's log", OURS),
    SIGN("gpu-slowed", FINDING_WARNING,
         "The hardware slows a GPU down for heat or power. Confirm with nvidia-smi -q -d PERFORMANCE,TEMPERATURE. "
         "Check fans, inlet temperature, power supplies and power limits.",
         has_gpus, 1, "GPU", "Azure NHC"),
    SIGN("pcie-replays", FINDING_WARNING,
         "A GPU's PCIe packets had to be sent again. Confirm with nvidia-smi -q (Replays Since Reset), twice, whether "
         "it still grows. Reseat the card; check riser and cables.",
         has_gpus, 1000, "packets since the driver was loaded", OURS),
    SIGN("pcie-slow-busy", FINDING_WARNING,
         "A GPU's PCIe link is slower than both ends can do although the GPU works. An idle GPU lowers its link's "
         "speed, and is not judged. Confirm with nvidia-smi -q (GPU Link Info) under load. Reseat the card, check the "
         "BIOS setting of the slot's generation.",
         has_gpus, 10, "percent below the maximum while the GPU works", OURS),
    SIGN("nvlink-errors", FINDING_WARNING,
         "A GPU's NVLinks counted errors. Confirm with nvidia-smi nvlink -e, twice, whether they still grow. Reset the "
         "GPUs; links that keep counting are the board's.",
         has_gpus, 100, "errors since the driver was loaded", OURS),
    SIGN(
        "imex-no-channel", FINDING_WARNING,
        "GPUs belong to an NVLink domain of several nodes, but there is no IMEX channel. NCCL then uses the network "
        "between the nodes instead of NVLink. Confirm with ls /dev/nvidia-caps-imex-channels. Start nvidia-imex on all "
        "nodes of the domain, and let the driver create a channel (NVreg_CreateImexChannel0=1).",
        has_gpus, 1, "node", OURS),
    SIGN("port-errors", FINDING_WARNING,
         "An RDMA port counted damaged packets or recovered links. Confirm with perfquery or the files in counters of "
         "/sys/class/infiniband, twice, whether they still grow. Clean or replace cable and optics.",
         NULL, 10, "errors since the counters were cleared", IBDIAG),
    SIGN("port-flaps", FINDING_WARNING,
         "An RDMA port's link went down repeatedly. Confirm with link_downed in /sys/class/infiniband, and the "
         "kernel's and the switch's log for when. Replace cable or optics; check the switch port.",
         NULL, 10, "times since the counters were cleared", IBDIAG),
    SIGN("port-discards", FINDING_WARNING,
         "An RDMA port discarded packets that it could not send. Confirm with port_xmit_discards in "
         "/sys/class/infiniband. The port was down or the fabric congested: look at the switch's counters.",
         NULL, 100, "packets since the counters were cleared", IBDIAG),
    SIGN("port-timeouts", FINDING_WARNING,
         "Packets of an RDMA port were not acknowledged in time. Confirm with local_ack_timeout_err in hw_counters of "
         "/sys/class/infiniband. Packets are lost: check PFC and ECN along the way, cables, and NCCL_IB_TIMEOUT.",
         NULL, 100, "packets since the counters were cleared", OURS),
    SIGN("port-resent", FINDING_WARNING,
         "An RDMA port had to send packets again. Confirm with packet_seq_err in hw_counters of /sys/class/infiniband. "
         "Packets are lost on the way: RoCE needs PFC or well-set ECN on every switch.",
         NULL, 10, "in a million packets", OURS),
    SIGN(
        "port-marked", FINDING_NOTE,
        "An RDMA port was often throttled, because the fabric is congested. Confirm with rp_cnp_handled in hw_counters "
        "of /sys/class/infiniband. Look for hot links: rails that cross, hashing of flows, a slow receiver.",
        NULL, 1000, "in a million packets", OURS),
    SIGN("numa-balancing", FINDING_WARNING,
         "The kernel moves memory between NUMA nodes by itself, which stalls ranks. Confirm with sysctl "
         "kernel.numa_balancing. Set it to 0 in /etc/sysctl.d.",
         has_gpus, 1, "node", OURS),
    SIGN("cpu-governor", FINDING_NOTE,
         "The clock of processors is not kept high. Confirm with cpupower frequency-info. Launches and NCCL's proxy "
         "threads wait for slow processors: cpupower frequency-set -g performance.",
         has_gpus, 1, "processor", OURS),
    {{NULL}},
};
