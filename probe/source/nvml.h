/* The part of NVML's interface that probing needs, declared here so that building needs no CUDA (NVML API Reference
 * Guide, unchanged from driver 418 on). */
#pragma once

#include "core/err.h"
#include "probe/source/condition.h"

#define NVML_SUCCESS           0
#define NVML_MOST_LINKS        18      /* NVML_NVLINK_MAX_LINKS */
#define NVML_FIELD_NVLINK_MBps 90      /* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON */
#define NVML_THROTTLE_HW       0xc8ull /* nvmlClocksThrottleReasons: slowdown, thermal slowdown, power brake */
#define NVML_TEXT              96      /* names and UUIDs, as NVML's v2 buffers */

enum nvml_remote { NVML_REMOTE_GPU = 0, NVML_REMOTE_CPU = 1, NVML_REMOTE_SWITCH = 2, NVML_REMOTE_UNKNOWN = 255 };

typedef void *nvml_device;

/* Access between two GPUs (nvmlGpuP2PCapsIndex_t), and the answers (nvmlGpuP2PStatus_t). */
enum nvml_p2p { NVML_P2P_READ = 0, NVML_P2P_WRITE = 1, NVML_P2P_NVLINK = 2 };
enum nvml_p2p_status {
    NVML_P2P_OK = 0,
    NVML_P2P_CHIPSET = 1,
    NVML_P2P_GPU = 2,
    NVML_P2P_IOH_TOPOLOGY = 3,
    NVML_P2P_REGKEY = 4,
    NVML_P2P_NOT_SUPPORTED = 5,
    NVML_P2P_STATUS_UNKNOWN = 6
};

/* nvmlGpuFabricState_t */
enum nvml_fabric_state {
    NVML_FABRIC_NOT_SUPPORTED = 0,
    NVML_FABRIC_NOT_STARTED = 1,
    NVML_FABRIC_IN_PROGRESS = 2,
    NVML_FABRIC_COMPLETED = 3
};

/* Multi-node NVLink, as nvmlDeviceGetGpuFabricInfo fills it. */
struct nvml_fabric {
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique;
    unsigned char state;
};

struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device;
    unsigned pci_device_id;    /* device << 16 | vendor */
    unsigned pci_subsystem_id; /* the same */
    char bus_id[32];           /* "00000000:17:00.0" */
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    int type; /* 1: unsigned int */
    int result;
    union {
        double d;
        unsigned u;
        unsigned long long ull;
    } value;
};

struct nvml_violation {
    unsigned long long reference_us, violation_ns;
};

struct nvml_event {
    nvml_device device;
    unsigned long long type, data; /* data of an Xid: its code */
    unsigned gpu_instance, compute_instance;
};

/* As nvmlDeviceGetComputeRunningProcesses_v3 fills it. */
struct nvml_process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};

/* The library, and its functions; those below `link_pci` are NULL where the driver is too old for them. */
struct nvml {
    void *library;
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error)(int result);
    int (*count)(unsigned *n);
    int (*device)(unsigned index, nvml_device *d);
    int (*pci)(nvml_device d, struct nvml_pci *pci);
    int (*name)(nvml_device d, char *name, unsigned room);
    int (*uuid)(nvml_device d, char *uuid, unsigned room);
    int (*capability)(nvml_device d, int *major, int *minor);
    int (*memory)(nvml_device d, struct nvml_memory *m);
    int (*link_state)(nvml_device d, unsigned link, int *active);
    int (*link_pci)(nvml_device d, unsigned link, struct nvml_pci *remote);
    int (*link_type)(nvml_device d, unsigned link, int *type);
    int (*fields)(nvml_device d, int n, struct nvml_field *fields);
    int (*driver)(char *version, unsigned room);
    int (*cuda)(int *version);
    int (*mig)(nvml_device d, unsigned *now, unsigned *pending);
    int (*fabric)(nvml_device d, struct nvml_fabric *f);
    int (*p2p)(nvml_device d, nvml_device peer, int capability, int *status);
    int (*vbios)(nvml_device d, char *version, unsigned room);
    int (*utilization)(nvml_device d, unsigned percent[2]); /* of the GPU, of its memory */
    int (*ecc)(nvml_device d, int kind, int since, unsigned long long *count);
    int (*replays)(nvml_device d, unsigned *count);
    int (*link_errors)(nvml_device d, unsigned link, int counter, unsigned long long *count);
    int (*rows)(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
    int (*pages_pending)(nvml_device d, int *pending);
    int (*throttle)(nvml_device d, unsigned long long *reasons);
    int (*temperature)(nvml_device d, int sensor, unsigned *celsius);
    int (*threshold)(nvml_device d, int which, unsigned *celsius);
    int (*violation)(nvml_device d, int policy, struct nvml_violation *v);
    int (*processes)(nvml_device d, unsigned *count, struct nvml_process *list);
    int (*event_set)(void **set);
    int (*event_ask)(nvml_device d, unsigned long long types, void *set);
    int (*event_wait)(void *set, struct nvml_event *e, unsigned timeout_ms);
    int (*event_free)(void *set);
};

/* Load NVML (NCCLTUNE_NVML names another library) and start it. Errors: it is not there, it lacks a function, it does
 * not start; then nvml_close must not be called. */
int nvml_open(struct nvml *n, struct err *e);
void nvml_close(struct nvml *n);

/* Tells ecc-uncorrected, ecc-corrected, pcie-replays and nvlink-errors since the driver was loaded. */
void gpu_errors_count(const struct nvml *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);

/* Tells what is broken, 1 each: rows-failed (memory rows that could not be replaced), rows-pending (rows or pages that
 * are replaced at the next reset), gpu-slowed (for heat or power, just now). */
void gpu_errors_state(const struct nvml *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);
