/* What NVML has counted of a GPU's errors, and what of it is broken or switched off. */
#ifndef PROBE_SOURCE_GPU_ERRORS_H
#define PROBE_SOURCE_GPU_ERRORS_H

#include "probe/source/gpu_signs.h"
#include "probe/source/nvml.h"

/* The functions of NVML that tell it; each may be NULL in an old driver. */
struct gpu_errors {
    int (*ecc)(nvml_device d, int kind, int since, unsigned long long *count);
    int (*replays)(nvml_device d, unsigned *count);
    int (*link_errors)(nvml_device d, unsigned link, int counter, unsigned long long *count);
    int (*rows)(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
    int (*pages_pending)(nvml_device d, int *pending);
    int (*ecc_mode)(nvml_device d, int *now, int *pending);
    int (*persistence)(nvml_device d, int *on);
    int (*throttle)(nvml_device d, unsigned long long *reasons);
};
struct gpu_errors gpu_errors_of(void *library);

/* Tells ecc-uncorrected, ecc-corrected, pcie-replays and nvlink-errors since the driver was loaded. */
void gpu_errors_count(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);

/* Tells what is broken or switched off, 1 each: rows-failed (memory rows that could not be replaced), rows-pending
 * (rows or pages that are replaced at the next reset), ecc-off, persistence-off, gpu-slowed (for heat or power, just
 * now). */
void gpu_errors_state(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);

#endif
