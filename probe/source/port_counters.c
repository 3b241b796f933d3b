/* Counters of RDMA ports: counters/ is the InfiniBand specification's, hw_counters/ the driver's own (mlx5:
 * "Understanding mlx5 Linux counters"). */
#include "probe/source/port_counters.h"

#include "probe/topology/sysfs.h"

#define IB "/sys/class/infiniband"

static const struct {
    const char *kind, *folder, *file;
    const char *of; /* the counter that it is told of a million of; NULL: as it stands */
} counters[] = {
    {"port-errors", "counters", "symbol_error", NULL},
    {"port-errors", "counters", "link_error_recovery", NULL},
    {"port-errors", "counters", "port_rcv_errors", NULL},
    {"port-errors", "counters", "local_link_integrity_errors", NULL},
    {"port-errors", "counters", "excessive_buffer_overrun_errors", NULL},
    {"port-flaps", "counters", "link_downed", NULL},
    {"port-discards", "counters", "port_xmit_discards", NULL},
    {"port-timeouts", "hw_counters", "local_ack_timeout_err", NULL},
    {"port-resent", "hw_counters", "packet_seq_err", "port_rcv_packets"},
    {"port-marked", "hw_counters", "rp_cnp_handled", "port_xmit_packets"},
};

static void read_port(struct arena *a, const char *device, const char *port, port_counter_fn *tell, void *user)
{
    const char *name = arena_printf(a, "%s:%s", device, port);
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        long count = sysfs_int(-1, IB "/%s/ports/%s/%s/%s", device, port, counters[i].folder, counters[i].file);
        double value = (double)count;
        if (count > 0 && counters[i].of) {
            long all = sysfs_int(0, IB "/%s/ports/%s/counters/%s", device, port, counters[i].of);
            value = all > 0 ? 1e6 * (double)count / (double)all : 0;
        }
        if (count >= 0)
            tell(user, counters[i].kind, name, counters[i].file, value);
    }
}

void port_counters_read(struct arena *a, port_counter_fn *tell, void *user)
{
    const char **devices, **ports;
    int ndevices = sysfs_list(a, &devices, IB);
    for (int i = 0; i < ndevices; i++) {
        int nports = sysfs_list(a, &ports, IB "/%s/ports", devices[i]);
        for (int k = 0; k < nports; k++)
            read_port(a, devices[i], ports[k], tell, user);
    }
}
