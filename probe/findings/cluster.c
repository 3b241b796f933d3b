/* What can be wrong between the classes and nodes of a cluster. */
#include <string.h>

#include "probe/findings/findings_internal.h"

static void find_no_common_list(struct search *s)
{
    const char *why;
    int with_list = 0;
    for (int i = 0; i < s->t->nclasses; i++)
        with_list += roles_hca_list(&s->t->classes[i], s->verdicts[i], s->a) != NULL;
    if (with_list > 1 && !roles_hca_common(s->t, s->a, &why))
        found(s, why, "no NCCL_IB_HCA works on all %d classes of nodes", s->t->nclasses);
}

static int count_compute_ports(const struct search *s, int class_index)
{
    int n = 0;
    for (int i = 0; i < s->t->classes[class_index].nports; i++)
        n += s->verdicts[class_index][i].role == ROLE_COMPUTE && !s->verdicts[class_index][i].plugin;
    return n;
}

/* The common list is a list, but rails are lost to it. */
static void find_short_common_list(struct search *s)
{
    const char *why, *common = s->t->nclasses > 1 ? roles_hca_common(s->t, s->a, &why) : NULL;
    int shared = common != NULL, most = 0;
    for (const char *p = common; p && (p = strchr(p, ',')); p++)
        shared++;
    for (int i = 0; i < s->t->nclasses; i++) {
        int own = count_compute_ports(s, i);
        most = own > most ? own : most;
        if (own > shared)
            named(s, "%s: %d", s->t->classes[i].name, own);
    }
    if (common)
        found_named(s, "one NCCL_IB_HCA for all classes has %d of %d compute ports", shared, most);
}

/* Ports of one name that are beside other GPUs than in the class before. */
static void find_crossed_rails(struct search *s)
{
    const struct topology *t = s->t;
    const char *first = NULL;
    int n = 0;
    for (int i = 1; i < t->nclasses; i++)
        for (int k = 0; k < t->classes[0].nports; k++) {
            const struct topo_port *p = &t->classes[0].ports[k];
            int at = topo_find_port(&t->classes[i], p->hca, p->port);
            const struct port_verdict *v = &s->verdicts[0][k], *w = at < 0 ? v : &s->verdicts[i][at];
            int beside = v->nearest_gpu >= 0 && w->nearest_gpu >= 0 && v->nearest_class <= PATH_P2C &&
                         w->nearest_class <= PATH_P2C && v->role == ROLE_COMPUTE && w->role == ROLE_COMPUTE;
            if (!beside || v->nearest_gpu == w->nearest_gpu)
                continue;
            n++;
            if (!first)
                first = arena_printf(s->a, "%s:%d is beside GPU%d in %s and beside GPU%d in %s", p->hca, p->port,
                                     t->classes[0].gpus[v->nearest_gpu].index, t->classes[0].name,
                                     t->classes[i].gpus[w->nearest_gpu].index, t->classes[i].name);
        }
    if (n)
        found(s, first, "%d port%s the rail of another GPU in another class", n, n == 1 ? " is" : "s are");
}

/* "GenuineIntel" of "GenuineIntel 6/143, Intel(R) Xeon(R)". */
static const char *cpu_vendor(const struct search *s, int class_index)
{
    const char *cpu = s->t->classes[class_index].cpu;
    return cpu ? arena_strndup(s->a, cpu, strcspn(cpu, " ")) : NULL;
}

static const char *driver(const struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    return c->ngpus ? c->driver : NULL;
}

/* Names and versions without the paths. */
static const char *library_versions(const struct search *s, int class_index)
{
    const struct topo_class *c = &s->t->classes[class_index];
    const int most = 32;
    const char *all = NULL;
    for (int i = 0; i < c->nlibraries && i < most; i++) {
        const char *path = strstr(c->libraries[i], " /");
        const char *own = arena_strndup(s->a, c->libraries[i], path ? (size_t)(path - c->libraries[i]) : 64);
        if (!all || !strstr(all, own))
            all = all ? arena_printf(s->a, "%s, %s", all, own) : own;
    }
    return all;
}

static void find_missing_nodes(struct search *s)
{
    for (int i = 0; i < s->t->nmissing; i++)
        named(s, "%s (%s)", s->t->missing[i].name, s->t->missing[i].why);
    found_named(s, "%d node%s did not answer, or %s left out", s->n, s->n == 1 ? "" : "s", s->n == 1 ? "was" : "were");
}

static void find_differing_nodes(struct search *s)
{
    const int most = 64; /* findings; the hosts have them all */
    int n = 0;
    for (int i = 0; i < s->t->nhosts; i++) {
        const struct topo_host *h = &s->t->hosts[i];
        s->subject = h->name;
        if (h->ndiffers && n++ < most)
            found(s, found_names(s->a, h->differs, h->ndiffers), "it differs from the other nodes of its class");
    }
    s->subject = "cluster";
    if (n > most)
        found(s, arena_printf(s->a, "%d in all", n), "%d more nodes differ from their class", n - most);
}

const struct finding_rule findings_of_cluster[] = {
    {{"no-common-hcas", NULL, FINDING_ERROR,
      "Every class of nodes has a list of HCAs, but no entry is in all of them, so one NCCL_IB_HCA cannot serve a job "
      "that spans the classes. Confirm with ibv_devices on a node of each. Set the variable per class, or give the "
      "devices the same names (udev)."},
     .in_cluster = find_no_common_list},
    {{"common-hcas-partial", NULL, FINDING_WARNING,
      "The list of HCAs that serves every class is shorter than the classes' own: a job over all classes that sets one "
      "NCCL_IB_HCA loses rails. Confirm with ibdev2netdev on a node of each. Set the variable per class (nccl.d/ "
      "does), repair the ports that are down, or give the devices the same names (udev)."},
     .in_cluster = find_short_common_list},
    {{"rail-differs", NULL, FINDING_WARNING,
      "An HCA of the same name is beside another GPU in another class. NCCL pairs rails by the order of GPUs and NICs, "
      "so such nodes cross rails. Confirm with nvidia-smi topo -m on both kinds of node, and rename the devices alike "
      "(udev)."},
     .in_cluster = find_crossed_rails},
    {{"node-missing", NULL, FINDING_WARNING,
      "A node that was asked did not answer in time, or answered with something else, or tune has left it out, with "
      "the reason. Confirm with nccltune probe on that node; the result is complete for the others."},
     .in_cluster = find_missing_nodes},
    {{"cpu-differs", NULL, FINDING_WARNING,
      "The classes have CPUs of different vendors, on which NCCL's choices depend. Confirm with lscpu. Keep jobs "
      "within one class."},
     .differs = cpu_vendor,
     .sentence = "the classes have CPUs of different vendors"},
    {{"driver-differs", NULL, FINDING_WARNING,
      "The classes with GPUs have different GPU drivers. Confirm with nvidia-smi (Driver Version). Install the same "
      "one."},
     .differs = driver,
     .sentence = "the classes have different GPU drivers"},
    {{"library-differs", NULL, FINDING_WARNING,
      "The classes have different versions of NCCL or RCCL installed. Confirm with NCCL_DEBUG=VERSION. Install the "
      "same; ranks of one job must not mix versions."},
     .differs = library_versions,
     .sentence = "the classes have different versions of NCCL"},
    {{"node-differs", NULL, FINDING_WARNING,
      "A node of a class differs in what may change: VBIOS, firmware, kinds of GIDs by index, memlock, libraries, the "
      "way of GPUDirect RDMA. Confirm with nccltune probe on that node and on another. A fixed NCCL_IB_GID_INDEX, for "
      "example, is wrong where GID tables differ. Make the node like the others."},
     .in_cluster = find_differing_nodes},
    {{NULL}},
};
