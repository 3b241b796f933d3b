/* The table of findings. Each kind has a code, a severity, an advice, and one function that looks for it, in
 * ports.c, node.c or cluster.c. */
#include "probe/findings/findings.h"

#include <stdarg.h>
#include <stdio.h>

#include "probe/findings/findings_internal.h"
#include "probe/source/probe.h"

static const struct {
    struct finding_kind kind;
    finding_in_class *in_class;
    finding_in_cluster *in_cluster;
} table[] = {
    {{"only-management-ports", NULL, FINDING_ERROR,
      "bring up the ports beside the GPUs; a job that uses these hangs or disturbs the NVLink switches"},
     finding_only_management,
     NULL},
    {{"no-compute-port", NULL, FINDING_ERROR,
      "look at the roles for what rules every port out; NCCL would use sockets"},
     finding_no_compute,
     NULL},
    {{"no-common-hcas", NULL, FINDING_ERROR, "set NCCL_IB_HCA per class of nodes, or rename devices alike (udev)"},
     NULL,
     finding_no_common},
    {{"no-gpudirect", NULL, FINDING_ERROR,
      "load nvidia_peermem, or use NVIDIA's open kernel module, which brings dma-buf"},
     finding_no_gdr,
     NULL},
    {{"memlock-low", NULL, FINDING_ERROR,
      "raise it to unlimited: /etc/security/limits.d, LimitMEMLOCK of slurmd, --ulimit memlock=-1 of a container"},
     finding_memlock,
     NULL},
    {{"node-missing", NULL, FINDING_WARNING, "look at that node; the others are complete"}, NULL, finding_missing},
    {{"port-down", NULL, FINDING_WARNING, "check the cable and the switch port"}, finding_down, NULL},
    {{"rate-differs", NULL, FINDING_WARNING, "check cable, optics and switch port of the slower ones"},
     finding_rates,
     finding_class_rates},
    {{"mtu-differs", NULL, FINDING_WARNING, "give all ports of the fabric the same MTU, also on the switches"},
     finding_mtus,
     NULL},
    {{"pcie-below-maximum", NULL, FINDING_WARNING, "reseat the card, check riser and BIOS settings of the slot"},
     finding_slow_links,
     NULL},
    {{"gpu-without-nic", NULL, FINDING_WARNING,
      "its traffic passes the CPU or another GPU (PXN); check that its own NIC is there and up"},
     finding_far_gpus,
     NULL},
    {{"nic-wrong-numa", NULL, FINDING_WARNING, "move the card to a slot of a NUMA node that has GPUs"},
     finding_wrong_numa,
     NULL},
    {{"acs-on", NULL, FINDING_WARNING,
      "switch ACS redirection off on the PCI switches of bare-metal nodes (setpci, or the BIOS): it sends GPU-NIC "
      "traffic "
      "through the CPU"},
     finding_acs,
     NULL},
    {{"no-roce-v2-ipv4", NULL, FINDING_WARNING,
      "give the port's interface an IPv4 address; NCCL looks for such a GID first"},
     finding_gids,
     NULL},
    {{"mig-on", NULL, FINDING_WARNING, "switch MIG off for multi-GPU jobs: no P2P and no NVLink between instances"},
     finding_mig,
     NULL},
    {{"shm-small", NULL, FINDING_WARNING, "give the container more: --shm-size=1g for each GPU, or --ipc=host"},
     finding_shm,
     NULL},
    {{"cpu-differs", NULL, FINDING_WARNING,
      "keep jobs within one kind of node: NCCL's choices depend on the CPU vendor"},
     NULL,
     finding_cpus},
    {{"driver-differs", NULL, FINDING_WARNING, "install the same GPU driver on every node"}, NULL, finding_drivers},
    {{"library-differs", NULL, FINDING_WARNING,
      "install the same NCCL everywhere: ranks of one job must not mix versions"},
     NULL,
     finding_libraries},
    {{"node-differs", NULL, FINDING_WARNING, "make the node like the others of its class"}, NULL, finding_differing},
    {{"tree-hidden", NULL, FINDING_NOTE,
      "take the provider's NCCL_TOPO_FILE: without it NCCL cannot tell which NIC is near which GPU"},
     finding_hidden,
     NULL},
    {{"nccl-xml-too-large", NULL, FINDING_NOTE, "NCCL's own parser refuses such a file; leave out what no job uses"},
     finding_large_xml,
     NULL},
};
#define KINDS ((int)(sizeof table / sizeof *table))

const struct finding_kind *findings_kind(int i)
{
    return i >= 0 && i < KINDS ? &table[i].kind : NULL;
}

void found(struct search *s, const char *subject, const char *evidence, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct finding *f = finding_vadd(&s->found, s->kind->severity, s->kind->id, subject, fmt, ap);
    va_end(ap);
    f->evidence = evidence;
    f->advice = s->kind->title;
}

const char *finding_names(struct arena *a, const char *const *names, int n)
{
    const int most = 8;
    const char *list = n ? names[0] : "";
    int shown = n <= most ? n : most;
    for (int i = 1; i < shown; i++)
        list = arena_printf(a, "%s%s%s", list, i == n - 1 ? " and " : ", ", names[i]);
    return n > shown ? arena_printf(a, "%s and %d more", list, n - shown) : list;
}

struct finding *findings_of(const struct topology *t, struct arena *a, int *n)
{
    struct search s = {.t = t, .a = a, .found = {.arena = a}};
    s.verdicts = arena_alloc(a, (size_t)t->nclasses * sizeof *s.verdicts);
    for (int i = 0; i < t->nclasses; i++)
        s.verdicts[i] = roles_of(&t->classes[i], a);
    for (int k = 0; k < KINDS; k++) {
        s.kind = &table[k].kind;
        for (int i = 0; i < t->nclasses && table[k].in_class; i++)
            table[k].in_class(&s, i);
        if (table[k].in_cluster)
            table[k].in_cluster(&s);
    }
    *n = s.found.n;
    return s.found.list;
}

int findings_have_error(const struct topology *t)
{
    struct arena *a = arena_new();
    int n;
    const struct finding *f = findings_of(t, a, &n);
    int errors = finding_count(f, n, FINDING_ERROR);
    arena_free(a);
    return errors > 0;
}
