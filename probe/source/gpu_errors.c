/* Errors of GPUs through NVML (NVML API Reference Guide: Device Queries, NvLink Methods; every function is optional).
 */
#include "probe/source/gpu_errors.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_SINCE_LOADED = 0, LINK_COUNTERS = 4 };

static const struct {
    size_t at;
    const char *symbol;
} symbols[] = {
    {offsetof(struct gpu_errors, ecc), "nvmlDeviceGetTotalEccErrors"},
    {offsetof(struct gpu_errors, replays), "nvmlDeviceGetPcieReplayCounter"},
    {offsetof(struct gpu_errors, link_errors), "nvmlDeviceGetNvLinkErrorCounter"},
    {offsetof(struct gpu_errors, rows), "nvmlDeviceGetRemappedRows"},
    {offsetof(struct gpu_errors, pages_pending), "nvmlDeviceGetRetiredPagesPendingStatus"},
    {offsetof(struct gpu_errors, ecc_mode), "nvmlDeviceGetEccMode"},
    {offsetof(struct gpu_errors, persistence), "nvmlDeviceGetPersistenceMode"},
    {offsetof(struct gpu_errors, throttle), "nvmlDeviceGetCurrentClocksThrottleReasons"},
};

struct gpu_errors gpu_errors_of(void *library)
{
    struct gpu_errors e = {0};
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *function = dlsym(library, symbols[i].symbol);
        memcpy((char *)&e + symbols[i].at, &function, sizeof function);
    }
    return e;
}

void gpu_errors_count(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    unsigned long long n, sum = 0;
    unsigned replays;
    int told = 0;
    if (from->ecc && from->ecc(d, ECC_UNCORRECTED, ECC_SINCE_LOADED, &n) == NVML_SUCCESS)
        tell(user, "ecc-uncorrected", gpu, (double)n);
    if (from->ecc && from->ecc(d, ECC_CORRECTED, ECC_SINCE_LOADED, &n) == NVML_SUCCESS)
        tell(user, "ecc-corrected", gpu, (double)n);
    if (from->replays && from->replays(d, &replays) == NVML_SUCCESS)
        tell(user, "pcie-replays", gpu, replays);
    for (unsigned link = 0; from->link_errors && link < NVML_MOST_LINKS; link++)
        for (int counter = 0; counter < LINK_COUNTERS; counter++)
            if (from->link_errors(d, link, counter, &n) == NVML_SUCCESS) {
                sum += n;
                told = 1;
            }
    if (told)
        tell(user, "nvlink-errors", gpu, (double)sum);
}

void gpu_errors_state(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    unsigned corrected, uncorrected, rows_pending = 0, failed = 0;
    unsigned long long reasons = 0;
    int pages_pending = 0, on = 1, later;
    if (from->rows && from->rows(d, &corrected, &uncorrected, &rows_pending, &failed) != NVML_SUCCESS)
        rows_pending = failed = 0;
    if (from->pages_pending && from->pages_pending(d, &pages_pending) != NVML_SUCCESS)
        pages_pending = 0;
    tell(user, "rows-failed", gpu, failed != 0);
    tell(user, "rows-pending", gpu, rows_pending || pages_pending);
    if (from->ecc_mode && from->ecc_mode(d, &on, &later) == NVML_SUCCESS)
        tell(user, "ecc-off", gpu, !on);
    if (from->persistence && from->persistence(d, &on) == NVML_SUCCESS)
        tell(user, "persistence-off", gpu, !on);
    if (from->throttle && from->throttle(d, &reasons) == NVML_SUCCESS)
        tell(user, "gpu-slowed", gpu, (reasons & NVML_THROTTLE_HW) != 0);
}
