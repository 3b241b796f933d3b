/* NVML, loaded once for all that asks it (NVML API Reference Guide); the condition of GPUs through it, and that of RDMA
 * ports by the kernel's files. */

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/source/nvml.h"
#include "probe/topology/sysfs.h"

/* ---- the library ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *symbol;
    size_t at;
    int optional;
} functions[] = {
    {"nvmlInit_v2", offsetof(struct nvml, init)},
    {"nvmlShutdown", offsetof(struct nvml, shutdown)},
    {"nvmlErrorString", offsetof(struct nvml, error)},
    {"nvmlDeviceGetCount_v2", offsetof(struct nvml, count)},
    {"nvmlDeviceGetHandleByIndex_v2", offsetof(struct nvml, device)},
    {"nvmlDeviceGetPciInfo_v3", offsetof(struct nvml, pci)},
    {"nvmlDeviceGetName", offsetof(struct nvml, name)},
    {"nvmlDeviceGetUUID", offsetof(struct nvml, uuid)},
    {"nvmlDeviceGetCudaComputeCapability", offsetof(struct nvml, capability)},
    {"nvmlDeviceGetMemoryInfo", offsetof(struct nvml, memory)},
    {"nvmlDeviceGetNvLinkState", offsetof(struct nvml, link_state)},
    {"nvmlDeviceGetNvLinkRemotePciInfo_v2", offsetof(struct nvml, link_pci)},
    {"nvmlDeviceGetNvLinkRemoteDeviceType", offsetof(struct nvml, link_type), 1}, /* from driver 460 on */
    {"nvmlDeviceGetFieldValues", offsetof(struct nvml, fields), 1},
    {"nvmlSystemGetDriverVersion", offsetof(struct nvml, driver), 1},
    {"nvmlSystemGetCudaDriverVersion_v2", offsetof(struct nvml, cuda), 1},
    {"nvmlDeviceGetMigMode", offsetof(struct nvml, mig), 1},
    {"nvmlDeviceGetGpuFabricInfo", offsetof(struct nvml, fabric), 1},
    {"nvmlDeviceGetP2PStatus", offsetof(struct nvml, p2p), 1},
    {"nvmlDeviceGetVbiosVersion", offsetof(struct nvml, vbios), 1},
    {"nvmlDeviceGetUtilizationRates", offsetof(struct nvml, utilization), 1},
    {"nvmlDeviceGetTotalEccErrors", offsetof(struct nvml, ecc), 1},
    {"nvmlDeviceGetPcieReplayCounter", offsetof(struct nvml, replays), 1},
    {"nvmlDeviceGetNvLinkErrorCounter", offsetof(struct nvml, link_errors), 1},
    {"nvmlDeviceGetRemappedRows", offsetof(struct nvml, rows), 1},
    {"nvmlDeviceGetRetiredPagesPendingStatus", offsetof(struct nvml, pages_pending), 1},
    {"nvmlDeviceGetCurrentClocksThrottleReasons", offsetof(struct nvml, throttle), 1},
    {"nvmlDeviceGetTemperature", offsetof(struct nvml, temperature), 1},
    {"nvmlDeviceGetTemperatureThreshold", offsetof(struct nvml, threshold), 1},
    {"nvmlDeviceGetViolationStatus", offsetof(struct nvml, violation), 1},
    {"nvmlDeviceGetComputeRunningProcesses_v3", offsetof(struct nvml, processes), 1},
    {"nvmlEventSetCreate", offsetof(struct nvml, event_set), 1},
    {"nvmlDeviceRegisterEvents", offsetof(struct nvml, event_ask), 1},
    {"nvmlEventSetWait_v2", offsetof(struct nvml, event_wait), 1},
    {"nvmlEventSetFree", offsetof(struct nvml, event_free), 1},
};

static int start_library(struct nvml *n, struct err *e)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(n->library, functions[i].symbol);
        if (!function && !functions[i].optional)
            return err_set(e, ERR_LACKS, "the driver's library has no %s", functions[i].symbol);
        *(void **)((char *)n + functions[i].at) = function;
    }
    int result = n->init();
    return result == NVML_SUCCESS ? 0 : err_set(e, ERR_LACKS, "%s", n->error(result));
}

int nvml_open(struct nvml *n, struct err *e)
{
    const char *path = getenv("NCCLTUNE_NVML");
    n->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n->library)
        return err_set(e, ERR_LACKS, "%s", dlerror());
    int rc = start_library(n, e);
    if (rc)
        dlclose(n->library);
    return rc;
}

void nvml_close(struct nvml *n)
{
    n->shutdown();
    dlclose(n->library);
}

/* ---- errors of GPUs (NVML: Device Queries, NvLink Methods) ------------------------------------------------------- */

enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_SINCE_LOADED = 0, LINK_COUNTERS = 4 };

void gpu_errors_count(const struct nvml *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
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

void gpu_errors_state(const struct nvml *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    unsigned corrected, uncorrected, rows_pending = 0, failed = 0;
    unsigned long long reasons = 0;
    int pages_pending = 0;
    if (from->rows && from->rows(d, &corrected, &uncorrected, &rows_pending, &failed) != NVML_SUCCESS)
        rows_pending = failed = 0;
    if (from->pages_pending && from->pages_pending(d, &pages_pending) != NVML_SUCCESS)
        pages_pending = 0;
    tell(user, "rows-failed", gpu, failed != 0);
    tell(user, "rows-pending", gpu, rows_pending || pages_pending);
    if (from->throttle && from->throttle(d, &reasons) == NVML_SUCCESS)
        tell(user, "gpu-slowed", gpu, (reasons & NVML_THROTTLE_HW) != 0);
}

/* ---- watching GPUs ----------------------------------------------------------------------------------------------- */

enum { TEMPERATURE_NOW = 0, TEMPERATURE_SLOWDOWN = 1, VIOLATION_POWER = 0, VIOLATION_THERMAL = 1 };
#define THROTTLE_CLOCKS 0x2ull /* applications' clocks */
#define THROTTLE_HEAT   0x20ull
#define EVENT_XID       8ull
#define TOO_SMALL       7 /* NVML_ERROR_INSUFFICIENT_SIZE */

#define MOST_GPUS      64
#define MOST_XIDS      32
#define MOST_PROCESSES 64 /* that are looked at */

struct gpu_watch {
    struct nvml nvml;
    nvml_device devices[MOST_GPUS];
    unsigned gpus;
    void *events;
    struct {
        unsigned gpu, count;
        unsigned long long code;
    } xids[MOST_XIDS];
    int nxids;
};

static void listen_for_xids(struct gpu_watch *w)
{
    const struct nvml *n = &w->nvml;
    if (!n->event_set || !n->event_ask || !n->event_wait || n->event_set(&w->events) != NVML_SUCCESS)
        w->events = NULL;
    for (unsigned i = 0; w->events && i < w->gpus; i++)
        if (w->devices[i])
            n->event_ask(w->devices[i], EVENT_XID, w->events);
}

struct gpu_watch *gpu_watch_open(void)
{
    struct gpu_watch *w = calloc(1, sizeof *w);
    if (!w || nvml_open(&w->nvml, NULL)) {
        free(w);
        return NULL;
    }
    if (w->nvml.count(&w->gpus) != NVML_SUCCESS)
        w->gpus = 0;
    w->gpus = w->gpus < MOST_GPUS ? w->gpus : MOST_GPUS;
    for (unsigned i = 0; i < w->gpus; i++)
        if (w->nvml.device(i, &w->devices[i]) != NVML_SUCCESS)
            w->devices[i] = NULL;
    listen_for_xids(w);
    return w;
}

void gpu_watch_close(struct gpu_watch *w)
{
    if (!w)
        return;
    if (w->events && w->nvml.event_free)
        w->nvml.event_free(w->events);
    nvml_close(&w->nvml);
    free(w);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void note_xid(struct gpu_watch *w, const struct nvml_event *e)
{
    unsigned gpu = 0;
    int i = 0;
    while (gpu < w->gpus && w->devices[gpu] != e->device)
        gpu++;
    while (i < w->nxids && (w->xids[i].gpu != gpu || w->xids[i].code != e->data))
        i++;
    if (i == MOST_XIDS)
        return;
    w->xids[i].gpu = gpu;
    w->xids[i].code = e->data;
    w->xids[i].count++;
    w->nxids += i == w->nxids;
}

static void read_xids(struct gpu_watch *w, gpu_sign_fn *tell, void *user)
{
    struct nvml_event e = {0};
    char subject[64];
    for (int most = 1000; w->events && most && w->nvml.event_wait(w->events, &e, 0) == NVML_SUCCESS; most--)
        if (e.type == EVENT_XID)
            note_xid(w, &e);
    for (int i = 0; i < w->nxids; i++) {
        snprintf(subject, sizeof subject, "GPU %u, Xid %llu", w->xids[i].gpu, w->xids[i].code);
        tell(user, "xid", subject, w->xids[i].count);
    }
}

static void read_clocks(const struct nvml *n, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    static const char *const slowed[] = {[VIOLATION_POWER] = "gpu-power-time", [VIOLATION_THERMAL] = "gpu-heat-time"};
    unsigned long long reasons;
    unsigned now, limit;
    struct nvml_violation v;
    if (n->throttle && n->throttle(d, &reasons) == NVML_SUCCESS) {
        tell(user, "gpu-slowed", gpu, (reasons & NVML_THROTTLE_HW) != 0);
        tell(user, "gpu-heat", gpu, (reasons & THROTTLE_HEAT) != 0);
        tell(user, "gpu-clocks", gpu, (reasons & THROTTLE_CLOCKS) != 0);
    }
    if (n->temperature && n->threshold && n->temperature(d, TEMPERATURE_NOW, &now) == NVML_SUCCESS &&
        n->threshold(d, TEMPERATURE_SLOWDOWN, &limit) == NVML_SUCCESS)
        tell(user, "gpu-hot", gpu, (double)now - limit);
    for (int policy = VIOLATION_POWER; policy <= VIOLATION_THERMAL; policy++)
        if (n->violation && n->violation(d, policy, &v) == NVML_SUCCESS)
            tell(user, slowed[policy], gpu, (double)v.violation_ns * 1e-9);
}

/* NVIDIA's MPS server holds a GPU on behalf of others, and computes nothing itself. */
static int is_mps_server(unsigned pid)
{
    static const char server[] = "nvidia-cuda-mps";
    char path[48], name[32] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid); /* of this machine, whatever tree is looked at */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, name, sizeof name - 1) < 0)
        *name = 0;
    if (fd >= 0)
        close(fd);
    return !strncmp(name, server, strlen(server));
}

/* How many processes compute on it; -1 unknown. */
static int count_processes(const struct nvml *n, nvml_device d)
{
    struct nvml_process list[MOST_PROCESSES];
    unsigned count = MOST_PROCESSES;
    int result = n->processes ? n->processes(d, &count, list) : -1;
    if (result != NVML_SUCCESS)
        return result == TOO_SMALL ? (int)count : -1;
    int others = 0;
    for (unsigned i = 0; i < count; i++)
        others += !is_mps_server(list[i].pid);
    return others;
}

static void read_work(const struct nvml *n, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    unsigned percent[2];
    int processes = count_processes(n, d);
    if (processes >= 0)
        tell(user, "gpu-processes", gpu, processes);
    if (n->utilization && n->utilization(d, percent) == NVML_SUCCESS)
        tell(user, "gpu-busy", gpu, percent[0]);
}

void gpu_watch_read(struct gpu_watch *w, gpu_sign_fn *tell, void *user)
{
    char gpu[32];
    for (unsigned i = 0; i < w->gpus; i++) {
        if (!w->devices[i])
            continue;
        snprintf(gpu, sizeof gpu, "GPU %u", i);
        read_clocks(&w->nvml, w->devices[i], gpu, tell, user);
        read_work(&w->nvml, w->devices[i], gpu, tell, user);
        gpu_errors_count(&w->nvml, w->devices[i], gpu, tell, user);
    }
    read_xids(w, tell, user);
}

/* ---- counters of RDMA ports -------------------------------------------------------------------------------------- */

/* counters/ is the InfiniBand specification's, hw_counters/ the driver's own (mlx5: "Understanding mlx5 Linux
 * counters").
 */
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
