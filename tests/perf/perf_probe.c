/* Probing this machine without NVML, next to a bare hwloc load with the same flags, alternating; medians. */
#include <stdio.h>
#include <stdlib.h>

#include <hwloc.h>

#include "core/progress.h"
#include "core/stats.h"
#include "probe/source/probe.h"
#include "probe/source/source.h"

#define RUNS 31

int main(void)
{
    double bare[RUNS], probed[RUNS];
    setenv("NCCLTUNE_NVML", "/nowhere/nvml.so", 1);
    for (int i = 0; i < RUNS; i++) {
        hwloc_topology_t h;
        double before_s = progress_now_s();
        if (probe_hwloc_load(&h))
            return 1;
        hwloc_topology_destroy(h);
        bare[i] = (progress_now_s() - before_s) * 1e3;

        struct err e;
        before_s = progress_now_s();
        struct topology *t = probe_machine(NULL, &e);
        probed[i] = (progress_now_s() - before_s) * 1e3;
        topo_free(t);
    }
    double floor_ms = stats_median(bare, RUNS), ours_ms = stats_median(probed, RUNS);
    printf("bare hwloc load          %8.3f ms (median of %d)\n", floor_ms, RUNS);
    printf("probe without NVML       %8.3f ms, %.2f x (target: at most 1.30 x)\n", ours_ms, ours_ms / floor_ms);
    return 0;
}
