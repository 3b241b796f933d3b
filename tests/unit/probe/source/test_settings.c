/* probe/source/settings.c and condition.c on a hand-made tree. */
#include "probe/source/source.h"
#include "tests/lib/unit.h"
#include "tests/unit/probe/matrix.h"
#include "tests/unit/probe/tree.h"

#define PORT "/sys/class/infiniband/mlx5_0/ports/1"

static struct topology *read_tree(void)
{
    struct topology *t = topo_new();
    struct topo_class *c = build_class(t, NULL);
    build_host(t, "node1", 0);
    struct topo_object o = {.kind = TOPO_GPU, .parent = -1, .numa = -1};
    build_gpu(t, c, (struct topo_gpu){.object = build_object(t, c, o), .index = 0, .gdr = -1, .clique = "ab.1"});
    source_settings(t, c);
    return t;
}

static int has(const struct topology *t, const char *sign)
{
    for (int i = 0; i < t->hosts[0].nsigns; i++)
        if (!strcmp(t->hosts[0].signs[i], sign))
            return 1;
    return 0;
}

static void expect(const struct topology *t, const char *const *signs)
{
    int n = 0;
    for (; signs[n]; n++)
        if (!has(t, signs[n]))
            fail_msg("no sign \"%s\"", signs[n]);
    for (int i = n; i < t->hosts[0].nsigns; i++)
        print_message("%s\n", t->hosts[0].signs[i]);
    assert_int_equal(t->hosts[0].nsigns, n);
}

/* Nothing to read: nothing is told but what is known not to be there. */
TEST_CASE(nothing)
{
    struct tree tree;
    tree_begin(&tree);
    struct topology *t = read_tree();
    expect(t, (const char *const[]){"imex-no-channel 1", NULL});
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(well_set)
{
    struct tree tree;
    tree_begin(&tree);
    tree_file(&tree, "/proc/sys/kernel/numa_balancing", "0\n");
    tree_file(&tree, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n");
    tree_file(&tree, "/dev/nvidia-caps-imex-channels/channel0", "");
    tree_file(&tree, PORT "/counters/symbol_error", "0\n");
    tree_file(&tree, "/var/log/dmesg", "[1.0] NVRM: loading\n");
    struct topology *t = read_tree();
    expect(t, (const char *const[]){NULL});
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(badly_set)
{
    struct tree tree;
    tree_begin(&tree);
    tree_file(&tree, "/proc/sys/kernel/numa_balancing", "1\n");
    tree_file(&tree, "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
    tree_file(&tree, "/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
    tree_file(&tree, "/sys/devices/system/cpu/cpufreq/policy2/scaling_governor", "performance\n");
    struct topology *t = read_tree();
    expect(t, (const char *const[]){"numa-balancing 1", "cpu-governor 2 powersave", "imex-no-channel 1", NULL});
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(counters)
{
    struct tree tree;
    tree_begin(&tree);
    tree_file(&tree, "/dev/nvidia-caps-imex-channels/channel0", "");
    tree_file(&tree, PORT "/counters/symbol_error", "12\n");
    tree_file(&tree, PORT "/counters/link_downed", "3\n");
    tree_file(&tree, PORT "/counters/port_rcv_errors", "no number\n");
    tree_file(&tree, PORT "/counters/port_rcv_packets", "4000000\n");
    tree_file(&tree, PORT "/counters/port_xmit_packets", "0\n");
    tree_file(&tree, PORT "/hw_counters/packet_seq_err", "100\n");
    tree_file(&tree, PORT "/hw_counters/rp_cnp_handled", "9\n"); /* of no packets: nothing can be told */
    tree_file(&tree, PORT "/hw_counters/local_ack_timeout_err", "7\n");
    struct topology *t = read_tree();
    expect(t, (const char *const[]){"port-errors 12 mlx5_0:1, symbol_error", "port-flaps 3 mlx5_0:1, link_downed",
                                    "port-resent 25 mlx5_0:1, packet_seq_err",
                                    "port-timeouts 7 mlx5_0:1, local_ack_timeout_err", NULL});
    topo_free(t);
    tree_end(&tree);
}

TEST_CASE(xids)
{
    struct tree tree;
    tree_begin(&tree);
    tree_file(&tree, "/dev/nvidia-caps-imex-channels/channel0", "");
    tree_file(&tree, "/var/log/dmesg",
              "[    9.1] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus.\n"
              "[    9.2] NVRM: Xid (PCI:0000:17:00): 79, again\n"
              "[    9.3] NVRM: Xid (PCI:0000:3d:00): 31, pid=4711, name=python, MMU fault\n"
              "[    9.4] NVRM: Xid (PCI:0000:3d:00)\n"
              "[    9.5] NVRM: Xid (PCI:): none\n"
              "[    9.6] NVRM: Xid (somewhere): 79, not of a PCI device\n"
              "[    9.7] NVRM: Xid (PCI:0000:17:00 and a name that is much longer than any address is): 79\n"
              "[    9.8] NVRM: Xid (PCI:0000:5d:00): 74");
    struct topology *t = read_tree();
    expect(t, (const char *const[]){"xid-hardware 2 0000:17:00, Xid 79", "xid-program 1 0000:3d:00, Xid 31",
                                    "xid-hardware 1 0000:5d:00, Xid 74", NULL});
    topo_free(t);
    tree_end(&tree);
}

TEST_CASES(test_settings)
