/* Devices that speak no verbs that NCCL knows: Amazon's EFA, HPE's Slingshot, Cisco's usNIC. */
#include <fnmatch.h>

#include "probe/topology/topology_internal.h"

const char *topo_port_plugin(const struct topo_class *c, int port)
{
    static const struct {
        uint16_t vendor;
        const char *pattern, *plugin;
    } others[] = {
        {0x1d0f, "*", "aws-ofi-nccl (EFA)"},
        {0, "efa_[0-9]*", "aws-ofi-nccl (EFA)"},
        {0, "rdmap[0-9]*s[0-9]*", "aws-ofi-nccl (EFA)"}, /* rdma-core's name for what is neither InfiniBand nor RoCE */
        {0x17db, "*", "an OFI plugin (Slingshot)"},
        {0, "cxi[0-9]*", "an OFI plugin (Slingshot)"},
        {0, "usnic_*", "none that exists (usNIC)"},
    };
    const int at = c->ports[port].object;
    const struct topo_object *o = at < 0 || at >= c->nobjects ? NULL : &c->objects[at];
    uint16_t vendor = o ? o->vendor : 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        int named = !fnmatch(others[i].pattern, c->ports[port].hca, 0);
        /* A name alone tells where nothing else does. */
        if (named && (others[i].vendor ? others[i].vendor == vendor : !vendor))
            return others[i].plugin;
    }
    return NULL;
}
