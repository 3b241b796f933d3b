/* This machine: every source fills one class. */
#include "probe/probe.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/progress.h"
#include "probe/pci_tree.h"
#include "probe/source.h"

static const struct probe_source *const sources[PROBE_SOURCES] = {&source_hwloc, &source_verbs, &source_netdev,
                                                                  &source_nvml};

struct topology *probe_machine_timed(struct log *log, struct probe_timing *timings, struct err *e)
{
    char name[256] = "localhost";
    struct utsname system;
    if (uname(&system)) {
        err_errno(e, "uname");
        return NULL;
    }
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    t->source = "this machine";
    c->arch = arena_strdup(t->arena, system.machine);
    if (!gethostname(name, sizeof name))
        name[sizeof name - 1] = 0;
    build_host(t, name, 0);
    for (int i = 0; i < PROBE_SOURCES; i++) {
        double before_s = progress_now_s();
        sources[i]->fill(t, c);
        if (timings)
            timings[i] = (struct probe_timing){sources[i]->name, (progress_now_s() - before_s) * 1e3};
    }
    pci_tree_drop_unused_nics(t, c);
    build_order_gpus(t, c);
    build_order_ports(c);
    log_info(log, "%s: %d GPU%s, %d RDMA port%s, %d network interface%s", name, c->ngpus, c->ngpus == 1 ? "" : "s",
             c->nports, c->nports == 1 ? "" : "s", c->nnetdevs, c->nnetdevs == 1 ? "" : "s");
    return t;
}

struct topology *probe_machine(struct log *log, struct err *e)
{
    return probe_machine_timed(log, NULL, e);
}
