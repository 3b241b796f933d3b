/* The condition of GPUs, through NVML (NVML API Reference Guide; every function is optional), and of RDMA ports, by the
 * kernel's files. */

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/source/nvml.h"
#include "probe/topology/sysfs.h"

/* ---- errors of GPUs (NVML: Device Queries, NvLink Methods) ------------------------------------------------------- */

enum { ECC_CORRECTED = 0, ECC_UNCORRECTED = 1, ECC_SINCE_LOADED = 0, LINK_COUNTERS = 4 };

static const struct {
    size_t at;
    const char *symbol;
} error_symbols[] = {
    {offsetof(struct gpu_errors, ecc), "nvmlDeviceGetTotalEccErrors"},
    {offsetof(struct gpu_errors, replays), "nvmlDeviceGetPcieReplayCounter"},
    {offsetof(struct gpu_errors, link_errors), "nvmlDeviceGetNvLinkErrorCounter"},
    {offsetof(struct gpu_errors, rows), "nvmlDeviceGetRemappedRows"},
    {offsetof(struct gpu_errors, pages_pending), "nvmlDeviceGetRetiredPagesPendingStatus"},
    {offsetof(struct gpu_errors, throttle), "nvmlDeviceGetCurrentClocksThrottleReasons"},
};

struct gpu_errors gpu_errors_of(void *library)
{
    struct gpu_errors e = {0};
    for (size_t i = 0; i < sizeof error_symbols / sizeof *error_symbols; i++) {
        void *function = dlsym(library, error_symbols[i].symbol);
        memcpy((char *)&e + error_symbols[i].at, &function, sizeof function);
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

struct violation {
    unsigned long long reference_us, violation_ns;
};

struct utilization {
    unsigned gpu, memory;
};

struct event {
    nvml_device device;
    unsigned long long type, data; /* data of an Xid: its code */
    unsigned gpu_instance, compute_instance;
};

enum { TEMPERATURE_NOW = 0, TEMPERATURE_SLOWDOWN = 1, VIOLATION_POWER = 0, VIOLATION_THERMAL = 1 };
#define THROTTLE_CLOCKS 0x2ull /* applications' clocks */
#define THROTTLE_HEAT   0x20ull
#define EVENT_XID       8ull
#define TOO_SMALL       7 /* NVML_ERROR_INSUFFICIENT_SIZE */

/* What is filled by nvmlDeviceGetComputeRunningProcesses_v3. */
struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

#define MOST_GPUS      64
#define MOST_XIDS      32
#define MOST_PROCESSES 64 /* that are looked at */

struct gpu_watch {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    int (*count)(unsigned *n);
    int (*device)(unsigned index, nvml_device *d);
    int (*temperature)(nvml_device d, int sensor, unsigned *celsius);
    int (*threshold)(nvml_device d, int which, unsigned *celsius);
    int (*violation)(nvml_device d, int policy, struct violation *v);
    int (*processes)(nvml_device d, unsigned *count, struct process *list);
    int (*utilization)(nvml_device d, struct utilization *u);
    int (*event_set)(void **set);
    int (*event_ask)(nvml_device d, unsigned long long types, void *set);
    int (*event_wait)(void *set, struct event *e, unsigned timeout_ms);
    int (*event_free)(void *set);
    nvml_device devices[MOST_GPUS];
    unsigned gpus;
    struct gpu_errors errors;
    void *events;
    struct {
        unsigned gpu, count;
        unsigned long long code;
    } xids[MOST_XIDS];
    int nxids;
};

static const struct {
    size_t at;
    const char *symbol;
} watch_symbols[] = {
    {offsetof(struct gpu_watch, init), "nvmlInit_v2"},
    {offsetof(struct gpu_watch, shutdown), "nvmlShutdown"},
    {offsetof(struct gpu_watch, count), "nvmlDeviceGetCount_v2"},
    {offsetof(struct gpu_watch, device), "nvmlDeviceGetHandleByIndex_v2"},
    {offsetof(struct gpu_watch, temperature), "nvmlDeviceGetTemperature"},
    {offsetof(struct gpu_watch, threshold), "nvmlDeviceGetTemperatureThreshold"},
    {offsetof(struct gpu_watch, violation), "nvmlDeviceGetViolationStatus"},
    {offsetof(struct gpu_watch, processes), "nvmlDeviceGetComputeRunningProcesses_v3"},
    {offsetof(struct gpu_watch, utilization), "nvmlDeviceGetUtilizationRates"},
    {offsetof(struct gpu_watch, event_set), "nvmlEventSetCreate"},
    {offsetof(struct gpu_watch, event_ask), "nvmlDeviceRegisterEvents"},
    {offsetof(struct gpu_watch, event_wait), "nvmlEventSetWait_v2"},
    {offsetof(struct gpu_watch, event_free), "nvmlEventSetFree"},
};

static void listen_for_xids(struct gpu_watch *w)
{
    if (!w->event_set || !w->event_ask || !w->event_wait || w->event_set(&w->events) != NVML_SUCCESS)
        w->events = NULL;
    for (unsigned i = 0; w->events && i < w->gpus; i++)
        if (w->devices[i])
            w->event_ask(w->devices[i], EVENT_XID, w->events);
}

struct gpu_watch *gpu_watch_open(void)
{
    const char *path = getenv("NCCLTUNE_NVML");
    void *library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    struct gpu_watch *w = library ? calloc(1, sizeof *w) : NULL;
    for (size_t i = 0; w && i < sizeof watch_symbols / sizeof *watch_symbols; i++)
        *(void **)((char *)w + watch_symbols[i].at) = dlsym(library, watch_symbols[i].symbol);
    if (!w || !w->init || !w->shutdown || !w->count || !w->device || w->init() != NVML_SUCCESS) {
        if (library)
            dlclose(library);
        free(w);
        return NULL;
    }
    w->library = library;
    w->errors = gpu_errors_of(library);
    if (w->count(&w->gpus) != NVML_SUCCESS)
        w->gpus = 0;
    w->gpus = w->gpus < MOST_GPUS ? w->gpus : MOST_GPUS;
    for (unsigned i = 0; i < w->gpus; i++)
        if (w->device(i, &w->devices[i]) != NVML_SUCCESS)
            w->devices[i] = NULL;
    listen_for_xids(w);
    return w;
}

void gpu_watch_close(struct gpu_watch *w)
{
    if (!w)
        return;
    if (w->events && w->event_free)
        w->event_free(w->events);
    w->shutdown();
    dlclose(w->library);
    free(w);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void note_xid(struct gpu_watch *w, const struct event *e)
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
    struct event e = {0};
    char subject[64];
    for (int most = 1000; w->events && most && w->event_wait(w->events, &e, 0) == NVML_SUCCESS; most--)
        if (e.type == EVENT_XID)
            note_xid(w, &e);
    for (int i = 0; i < w->nxids; i++) {
        snprintf(subject, sizeof subject, "GPU %u, Xid %llu", w->xids[i].gpu, w->xids[i].code);
        tell(user, "xid", subject, w->xids[i].count);
    }
}

static void read_clocks(const struct gpu_watch *w, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    static const char *const slowed[] = {[VIOLATION_POWER] = "gpu-power-time", [VIOLATION_THERMAL] = "gpu-heat-time"};
    unsigned long long reasons;
    unsigned now, limit;
    struct violation v;
    if (w->errors.throttle && w->errors.throttle(d, &reasons) == NVML_SUCCESS) {
        tell(user, "gpu-slowed", gpu, (reasons & NVML_THROTTLE_HW) != 0);
        tell(user, "gpu-heat", gpu, (reasons & THROTTLE_HEAT) != 0);
        tell(user, "gpu-clocks", gpu, (reasons & THROTTLE_CLOCKS) != 0);
    }
    if (w->temperature && w->threshold && w->temperature(d, TEMPERATURE_NOW, &now) == NVML_SUCCESS &&
        w->threshold(d, TEMPERATURE_SLOWDOWN, &limit) == NVML_SUCCESS)
        tell(user, "gpu-hot", gpu, (double)now - limit);
    for (int policy = VIOLATION_POWER; policy <= VIOLATION_THERMAL; policy++)
        if (w->violation && w->violation(d, policy, &v) == NVML_SUCCESS)
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
static int count_processes(const struct gpu_watch *w, nvml_device d)
{
    struct process list[MOST_PROCESSES];
    unsigned n = MOST_PROCESSES;
    int result = w->processes ? w->processes(d, &n, list) : -1;
    if (result != NVML_SUCCESS)
        return result == TOO_SMALL ? (int)n : -1;
    int others = 0;
    for (unsigned i = 0; i < n; i++)
        others += !is_mps_server(list[i].pid);
    return others;
}

static void read_work(const struct gpu_watch *w, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user)
{
    struct utilization u;
    int n = count_processes(w, d);
    if (n >= 0)
        tell(user, "gpu-processes", gpu, n);
    if (w->utilization && w->utilization(d, &u) == NVML_SUCCESS)
        tell(user, "gpu-busy", gpu, u.gpu);
}

void gpu_watch_read(struct gpu_watch *w, gpu_sign_fn *tell, void *user)
{
    char gpu[32];
    for (unsigned i = 0; i < w->gpus; i++) {
        if (!w->devices[i])
            continue;
        snprintf(gpu, sizeof gpu, "GPU %u", i);
        read_clocks(w, w->devices[i], gpu, tell, user);
        read_work(w, w->devices[i], gpu, tell, user);
        gpu_errors_count(&w->errors, w->devices[i], gpu, tell, user);
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
