/* Machines that are described: bundled ones, recorded ones, a topology.json. */
#include "cli/machine.h"

#include <string.h>

#include "probe/import/import.h"
#include "probe/machines/hardware.h"
#include "probe/machines/machines.h"
#include "probe/topology/build.h"

static int take_count(const struct option_value *v, void *out, struct err *e)
{
    struct cli_node_counts *n = out;
    if (n->count == CLI_MOST_NODES)
        return err_set(e, ERR_USAGE, "%s: at most %d numbers", v->what, CLI_MOST_NODES);
    return option_int(v, &n->items[n->count++], e);
}

int cli_take_node_counts(const struct option_value *v, void *out, struct err *e)
{
    if (((struct cli_node_counts *)out)->count && !strcmp(v->what, "--nodes"))
        return err_set(e, ERR_USAGE, "--nodes is given twice: one list, such as 2,8,32");
    return option_each(v, take_count, out, e);
}

const char *cli_gpu_word(int i)
{
    return hw_gpus[i].name;
}

#define AT(member) offsetof(struct cli_machine, member)
const struct option_spec cli_machine_options[] = {
    {0, "machine", "NAME", "a bundled machine (nccltune probe --list-machines)", option_text, AT(name),
     .word = machine_name},
    {0, "topology", "FILE", "topology.json, from nccltune probe", option_text, AT(topology)},
    {0, "from", "FILE", "a recorded machine, in any format of nccltune probe --from; several files are several hosts",
     option_append, AT(from)},
    {0, "merge", NULL, "the files of --from describe one node", option_flag, AT(merge)},
    {0, "gpu", "NAME", "its GPUs, if the file does not name them, such as h100-sxm", option_text, AT(gpu),
     .word = cli_gpu_word},
    {0, "link-rate", "N", "Gb/s of each RDMA port or InfiniBand NIC whose rate the file does not say, such as 400",
     option_Gbps, AT(link_Gbps), .low = 1, .high = 10000},
    {0, "nodes", "LIST", "number of nodes to predict for: 32, or 2,8,32 (default: the topology's)",
     cli_take_node_counts, AT(nodes), .low = 1, .high = MACHINE_MOST},
    {0},
};

int cli_machine_named(const struct cli_machine *m)
{
    return m->name || m->topology || m->from.count;
}

/* Of ports without a rate; a file that has PCI classes only gets a port on each InfiniBand NIC, named as in the matrix.
 */
static void complete_rates(struct topology *t, double Gbps)
{
    for (int i = 0; i < t->nclasses && Gbps > 0; i++) {
        struct topo_class *c = &t->classes[i];
        for (int k = 0, named = c->nports, nic = 0; k < c->nobjects && !named; k++) {
            if (topo_is_infiniband(&c->objects[k]))
                build_port(t, c,
                           (struct topo_port){.object = k,
                                              .hca = arena_printf(t->arena, "NIC%d", nic),
                                              .port = 1,
                                              .state = TOPO_STATE_ACTIVE,
                                              .layer = TOPO_LINK_INFINIBAND});
            nic += c->objects[k].kind == TOPO_NIC;
        }
        for (int k = 0; k < c->nports; k++)
            if (!(c->ports[k].rate_Gbps > 0))
                c->ports[k].rate_Gbps = Gbps;
    }
}

void cli_warn_of_parts(const struct topology *t, struct log *log)
{
    const int most = 64; /* hosts that people write files of by hand */
    int with = 0, without = 0;
    for (int k = 0; k < t->nclasses; k++) {
        with += t->classes[k].ngpus > 0;
        without += !t->classes[k].ngpus && t->classes[k].nports;
    }
    for (int i = 0; i < t->nhosts && t->nhosts <= most; i++)
        for (int k = 0; k < i; k++)
            if (!strcmp(t->hosts[k].name, t->hosts[i].name)) {
                log_warn(log, "%s stands for two nodes: --merge reads the files as one", t->hosts[i].name);
                return;
            }
    if (with && without)
        log_warn(log, "several files are several hosts, one of them without GPUs: --merge reads them as one node");
}

struct topology *cli_machine_open(const struct cli_machine *m, struct log *log, struct err *e)
{
    struct topology *t;
    int most = 1;
    for (int i = 0; i < m->nodes.count; i++)
        most = m->nodes.items[i] > most ? m->nodes.items[i] : most;
    if ((m->name != NULL) + (m->topology != NULL) + (m->from.count > 0) > 1)
        return err_null(e, ERR_USAGE, "--machine, --topology and --from are mutually exclusive");
    if ((m->gpu || m->link_Gbps > 0) && !m->topology && !m->from.count)
        return err_null(e, ERR_USAGE, "%s completes what --topology or --from leaves out",
                        m->gpu ? "--gpu" : "--link-rate");
    if (m->merge && !m->from.count)
        return err_null(e, ERR_USAGE, "--merge needs --from");
    if (m->name)
        return machine_topology(m->name, most, e);
    t = m->topology ? topo_load(m->topology, e) : probe_files(m->from.items, m->from.count, log, e);
    if (t && m->merge)
        merge_nodes(t);
    if (t && !m->merge && m->from.count > 1)
        cli_warn_of_parts(t, log);
    if (t && m->gpu && machine_complete_gpus(t, m->gpu, e)) {
        topo_free(t);
        return NULL;
    }
    if (t)
        complete_rates(t, m->link_Gbps);
    if (t && m->from.count)
        classes_merge(t);
    return t;
}
