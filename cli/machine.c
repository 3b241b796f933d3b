/* Machines that are described: bundled ones, recorded ones, a topology.json. */
#include "cli/machine.h"

#include <string.h>

#include "core/units.h"
#include "probe/import/import.h"
#include "probe/machines/machines.h"
#include "probe/topology/classes.h"

int cli_machine_nodes(const char *list, const char *what, struct cli_machine *m, struct err *e)
{
    char word[32];
    m->nnodes = 0;
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        long nodes;
        if (m->nnodes == CLI_MOST_NODES)
            return err_set(e, ERR_USAGE, "%s: at most %d numbers", what, CLI_MOST_NODES);
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word), p);
        int rc = unit_parse_int(word, 1, MACHINE_MOST, &nodes, what, e);
        if (rc)
            return rc;
        m->nodes[m->nnodes++] = (int)nodes;
        p += n;
        if (!*p)
            return 0;
    }
}

int cli_machine_take(int c, const char *arg, struct cli_machine *m, struct err *e)
{
    switch (c) {
    case CLI_OPT_MACHINE:
        m->name = arg;
        return 0;
    case CLI_OPT_TOPOLOGY:
        m->topology = arg;
        return 0;
    case CLI_OPT_FROM:
        if (m->nfrom == CLI_MOST_FILES)
            return err_set(e, ERR_USAGE, "--from: at most %d files", CLI_MOST_FILES);
        m->from[m->nfrom++] = arg;
        return 0;
    case CLI_OPT_GPU:
        m->gpu = arg;
        return 0;
    default:
        return cli_machine_nodes(arg, "--nodes", m, e);
    }
}

int cli_machine_named(const struct cli_machine *m)
{
    return m->name || m->topology || m->nfrom;
}

struct topology *cli_machine_open(const struct cli_machine *m, struct log *log, struct err *e)
{
    struct topology *t;
    int most = 1;
    for (int i = 0; i < m->nnodes; i++)
        most = m->nodes[i] > most ? m->nodes[i] : most;
    if ((m->name != NULL) + (m->topology != NULL) + (m->nfrom > 0) > 1 || (m->name && m->gpu)) {
        err_set(e, ERR_USAGE, "--machine, --topology and --from exclude one another, and --gpu completes files");
        return NULL;
    }
    if (m->name)
        return machine_topology(m->name, most, e);
    t = m->topology ? topo_load(m->topology, e) : probe_files(m->from, m->nfrom, log, e);
    if (t && m->gpu && machine_complete_gpus(t, m->gpu, e)) {
        topo_free(t);
        return NULL;
    }
    if (t && m->nfrom)
        classes_merge(t);
    return t;
}
