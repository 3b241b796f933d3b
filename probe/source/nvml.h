/* The part of NVML's interface that probing needs, declared here so that building needs no CUDA (NVML API Reference
 * Guide, unchanged from driver 418 on). */
#pragma once

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

/* The functions of NVML that tell it; each may be NULL in an old driver. */
struct gpu_errors {
    int (*ecc)(nvml_device d, int kind, int since, unsigned long long *count);
    int (*replays)(nvml_device d, unsigned *count);
    int (*link_errors)(nvml_device d, unsigned link, int counter, unsigned long long *count);
    int (*rows)(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed);
    int (*pages_pending)(nvml_device d, int *pending);
    int (*throttle)(nvml_device d, unsigned long long *reasons);
};
struct gpu_errors gpu_errors_of(void *library);

/* Tells ecc-uncorrected, ecc-corrected, pcie-replays and nvlink-errors since the driver was loaded. */
void gpu_errors_count(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);

/* Tells what is broken, 1 each: rows-failed (memory rows that could not be replaced), rows-pending (rows or pages that
 * are replaced at the next reset), gpu-slowed (for heat or power, just now). */
void gpu_errors_state(const struct gpu_errors *from, nvml_device d, const char *gpu, gpu_sign_fn *tell, void *user);
