/* A double of NVML for machines without an NVIDIA driver: the functions that probing calls, for made-up machines that
 * FAKE_NVML names:
 *
 *   h100      eight H100 behind four NVSwitches, 18 NVLinks each (the default)
 *   guest     the same as a virtual machine sees it: NVSwitches without an address
 *   v100      eight V100 in the cube mesh of a DGX-1V: six NVLinks each
 *   pair      the first two of the h100, and single: the first alone
 *   none      a driver without a GPU
 *   broken    a library that does not start
 *   sick      two GPUs of which the second has fallen off the bus
 *   rack      the h100 with NVLink to other nodes: six GPUs in one clique, the others still being joined to it; GPU 1
 *             is cut into instances
 *   half      the h100 with a GPU 3 of which two links are down, and a GPU 5 without any; the fabric manager has not
 *             started with it
 *   nop2p     the v100 with P2P writes switched off, and GPUs 0 and 1 that refuse everything
 *
 * FAKE_NVML_SIGNS names what is wrong with GPU 3 while something is measured, joined by commas: slowed, heat, clocks,
 * hot, throttles, capped, neighbour, busy, uncorrected, corrected, replays, nvlink, xid, rows, unmended, pages,
 * oldbios. What is counted grows from one question to the next. FAKE_NVML_SIGNS_HOST:
 * on the node of this name alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/source/nvml.h"

#define GPUS 8

enum { NOT_FOUND = 6, INVALID = 2, NOT_SUPPORTED = 3, DRIVER_NOT_LOADED = 9, GPU_IS_LOST = 15 };

/* NVLinks between the GPUs of a DGX-1V (nvidia-smi topo -m of one). */
static const unsigned char mesh[GPUS][GPUS] = {
    {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0}, {2, 1, 2, 0, 0, 0, 0, 1},
    {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1}, {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
};

/* Links of an H100 to the four NVSwitches. */
static const unsigned char to_switch[] = {5, 4, 4, 5};

/* A device's handle is the address of its byte. */
static char handles[GPUS];

static int is(const char *machine)
{
    const char *name = getenv("FAKE_NVML");
    return !strcmp(name ? name : "h100", machine);
}

static int is_mesh(void)
{
    return is("v100") || is("nop2p");
}

static unsigned index_of(nvml_device d)
{
    return (unsigned)((char *)d - handles);
}

static void set_pci(struct nvml_pci *p, unsigned bus, unsigned pci_device_id)
{
    memset(p, 0, sizeof *p);
    p->bus = bus;
    p->pci_device_id = pci_device_id;
    p->pci_subsystem_id = 0x10de;
    snprintf(p->bus_id, sizeof p->bus_id, "%08X:%02X:00.0", p->domain, bus);
}

static unsigned bus_of(unsigned gpu)
{
    return 0x10 + 0x10 * gpu;
}

int nvmlInit_v2(void)
{
    return is("broken") ? DRIVER_NOT_LOADED : NVML_SUCCESS;
}

int nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
    return result == DRIVER_NOT_LOADED ? "Driver Not Loaded" : result == GPU_IS_LOST ? "GPU is lost" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = is("none") ? 0 : is("single") ? 1 : is("sick") || is("pair") ? 2 : GPUS;
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvml_device *d)
{
    if (is("sick") && index == 1)
        return GPU_IS_LOST;
    *d = &handles[index];
    return NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(nvml_device d, struct nvml_pci *pci)
{
    set_pci(pci, bus_of(index_of(d)), is_mesh() ? 0x1db110de : 0x233010de);
    return NVML_SUCCESS;
}

int nvmlDeviceGetName(nvml_device d, char *name, unsigned room)
{
    (void)d;
    snprintf(name, room, "%s", is_mesh() ? "Tesla V100-SXM2-16GB" : "NVIDIA H100 80GB HBM3");
    return NVML_SUCCESS;
}

int nvmlDeviceGetUUID(nvml_device d, char *uuid, unsigned room)
{
    snprintf(uuid, room, "GPU-00000000-0000-0000-0000-%012u", index_of(d));
    return NVML_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(nvml_device d, int *major, int *minor)
{
    (void)d;
    *major = is_mesh() ? 7 : 9;
    *minor = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(nvml_device d, struct nvml_memory *m)
{
    (void)d;
    m->total = is_mesh() ? 16ull << 30 : 80ull << 30;
    m->used = 0;
    m->free = m->total;
    return NVML_SUCCESS;
}

/* The remote end of a link: the GPU's index, or GPUS + the NVSwitch's; -1: no such link. */
static int remote(unsigned gpu, unsigned link)
{
    for (unsigned i = 0; is_mesh() && i < GPUS; i++) {
        if (link < mesh[gpu][i])
            return (int)i;
        link -= mesh[gpu][i];
    }
    for (unsigned i = 0; !is_mesh() && i < sizeof to_switch; i++) {
        if (link < to_switch[i])
            return (int)(GPUS + i);
        link -= to_switch[i];
    }
    return -1;
}

int nvmlDeviceGetNvLinkState(nvml_device d, unsigned link, int *active)
{
    if (link >= (is_mesh() ? 6 : NVML_MOST_LINKS))
        return INVALID;
    *active = remote(index_of(d), link) >= 0;
    if (is("half") && (index_of(d) == 5 || (index_of(d) == 3 && link >= 16)))
        *active = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device d, unsigned link, struct nvml_pci *pci)
{
    int end = remote(index_of(d), link);
    if (end < 0)
        return NOT_FOUND;
    if (end >= GPUS && is("guest"))
        set_pci(pci, 0, 0);
    else
        set_pci(pci, end < GPUS ? bus_of((unsigned)end) : 0xa0u + (unsigned)end, 0x22a310de);
    return NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device d, unsigned link, int *type)
{
    int end = remote(index_of(d), link);
    if (end < 0)
        return NOT_SUPPORTED;
    *type = end < GPUS ? NVML_REMOTE_GPU : NVML_REMOTE_SWITCH;
    return NVML_SUCCESS;
}

int nvmlDeviceGetFieldValues(nvml_device d, int n, struct nvml_field *fields)
{
    (void)d;
    for (int i = 0; i < n; i++) {
        fields[i].result = fields[i].id == NVML_FIELD_NVLINK_MBps ? NVML_SUCCESS : NOT_SUPPORTED;
        fields[i].type = 1;
        fields[i].value.u = 25000;
    }
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *version, unsigned room)
{
    snprintf(version, room, "%s", is_mesh() ? "470.82.01" : "550.54.15");
    return NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    *version = is_mesh() ? 11040 : 12040;
    return NVML_SUCCESS;
}

int nvmlDeviceGetMigMode(nvml_device d, unsigned *now, unsigned *pending)
{
    if (is_mesh())
        return NOT_SUPPORTED;
    *now = *pending = is("rack") && index_of(d) == 1;
    return NVML_SUCCESS;
}

/* A machine whose NVLink ends at its own NVSwitches answers with a cluster of zeros. */
int nvmlDeviceGetGpuFabricInfo(nvml_device d, struct nvml_fabric *f)
{
    if (is_mesh())
        return NOT_SUPPORTED;
    memset(f, 0, sizeof *f);
    f->state = is("half") && index_of(d) == 5 ? NVML_FABRIC_NOT_STARTED : NVML_FABRIC_COMPLETED;
    if (is("rack")) {
        f->cluster_uuid[0] = 0xab;
        f->cluster_uuid[15] = 0x01;
        f->clique = 7;
        if (index_of(d) >= 6)
            f->state = NVML_FABRIC_COMPLETED - 1;
    }
    return NVML_SUCCESS;
}

int nvmlDeviceGetP2PStatus(nvml_device d, nvml_device peer, int capability, int *status)
{
    unsigned i = index_of(d), k = index_of(peer);
    *status = NVML_P2P_OK;
    if (is_mesh() && capability == NVML_P2P_NVLINK && !mesh[i][k])
        *status = NVML_P2P_NOT_SUPPORTED;
    if (is("nop2p") && capability == NVML_P2P_WRITE)
        *status = NVML_P2P_REGKEY;
    if (is("nop2p") && i + k == 1)
        *status = NVML_P2P_CHIPSET;
    return NVML_SUCCESS;
}

/* ---- the condition of GPU 3 -------------------------------------------------------------------------------------- */

static int shows(nvml_device d, const char *sign)
{
    const char *signs = getenv("FAKE_NVML_SIGNS"), *only = getenv("FAKE_NVML_SIGNS_HOST"), *at = signs;
    size_t length = strlen(sign);
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    if (index_of(d) != 3 || !signs || (only && strcmp(only, host) != 0))
        return 0;
    while ((at = strstr(at, sign)) && ((at > signs && at[-1] != ',') || (at[length] && at[length] != ',')))
        at += length;
    return at != NULL;
}

/* A little, as on any GPU that has worked for a while: what nobody worries about. A GPU that shows the sign has 100,
 * and 7 more each time that it is asked. */
static unsigned counted(nvml_device d, const char *sign, unsigned little)
{
    static unsigned asked;
    return shows(d, sign) ? 100 + 7 * ++asked : little;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device d, unsigned long long *reasons)
{
    *reasons = 1; /* idle */
    if (shows(d, "slowed"))
        *reasons |= 0x8 | 0x40;
    if (shows(d, "heat"))
        *reasons |= 0x20;
    if (shows(d, "clocks"))
        *reasons |= 0x2;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTemperature(nvml_device d, int sensor, unsigned *celsius)
{
    *celsius = shows(d, "hot") ? 86 : 41;
    return sensor ? INVALID : NVML_SUCCESS;
}

int nvmlDeviceGetTemperatureThreshold(nvml_device d, int which, unsigned *celsius)
{
    (void)d;
    *celsius = which == 1 ? 89 : 92; /* slowdown, shutdown */
    return NVML_SUCCESS;
}

int nvmlDeviceGetViolationStatus(nvml_device d, int policy, unsigned long long *times)
{
    times[0] = 0;
    times[1] = counted(d, policy == 1 ? "throttles" : "capped", 100) * 1000000000ull;
    return NVML_SUCCESS;
}

/* A neighbour: two processes that are not there, as those of another container are. FAKE_NVML_PROCESS is one more. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device d, unsigned *count, void *infos)
{
    struct {
        unsigned pid;
        unsigned long long bytes;
        unsigned instances[2];
    } *list = infos;
    const char *one = getenv("FAKE_NVML_PROCESS");
    unsigned neighbours = shows(d, "neighbour") ? 2 : 0, n = neighbours + (one != NULL), room = infos ? *count : 0;
    *count = n;
    for (unsigned i = 0; i < n && n <= room; i++) {
        memset(&list[i], 0, sizeof list[i]);
        list[i].pid = i < neighbours ? 0 : (unsigned)strtoul(one, NULL, 10);
    }
    return n > room ? 7 : NVML_SUCCESS;
}

int nvmlDeviceGetUtilizationRates(nvml_device d, unsigned *rates)
{
    rates[0] = shows(d, "busy") ? 63 : 0;
    rates[1] = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTotalEccErrors(nvml_device d, int kind, int since, unsigned long long *count)
{
    *count = kind ? counted(d, "uncorrected", 0) : counted(d, "corrected", 100);
    return since ? INVALID : NVML_SUCCESS;
}

int nvmlDeviceGetPcieReplayCounter(nvml_device d, unsigned *count)
{
    *count = counted(d, "replays", 100);
    return NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkErrorCounter(nvml_device d, unsigned link, int counter, unsigned long long *count)
{
    if (link >= 4 || counter > 3)
        return NOT_SUPPORTED;
    *count = counted(d, "nvlink", 3);
    return NVML_SUCCESS;
}

/* Rows that could not be replaced, and that wait for a reset; older GPUs retire pages instead. */
int nvmlDeviceGetRemappedRows(nvml_device d, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                              unsigned *failed)
{
    if (is_mesh())
        return NOT_SUPPORTED;
    *corrected = 1;
    *uncorrected = shows(d, "rows") || shows(d, "unmended");
    *pending = shows(d, "rows");
    *failed = shows(d, "unmended");
    return NVML_SUCCESS;
}

int nvmlDeviceGetRetiredPagesPendingStatus(nvml_device d, int *pending)
{
    *pending = shows(d, "pages");
    return is_mesh() ? NVML_SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetVbiosVersion(nvml_device d, char *version, unsigned room)
{
    snprintf(version, room, "%s", shows(d, "oldbios") ? "96.00.61.00.01" : "96.00.74.00.01");
    return NVML_SUCCESS;
}

/* Three events of code 79 come while somebody listens, between the first question and the next. */
static int listening, events_left, waits;

int nvmlEventSetCreate(void **set)
{
    *set = &listening;
    return NVML_SUCCESS;
}

int nvmlDeviceRegisterEvents(nvml_device d, unsigned long long types, void *set)
{
    (void)set;
    if (types == 8 && shows(d, "xid"))
        events_left = 3;
    return NVML_SUCCESS;
}

int nvmlEventSetWait_v2(void *set, void *event, unsigned timeout_ms)
{
    struct {
        nvml_device device;
        unsigned long long type, data;
        unsigned instances[2];
    } e = {&handles[3], 8, 79, {0}};
    (void)set, (void)timeout_ms;
    if (!waits++ || !events_left)
        return 10; /* timeout */
    events_left--;
    memcpy(event, &e, sizeof e);
    return NVML_SUCCESS;
}

int nvmlEventSetFree(void *set)
{
    (void)set;
    waits = events_left = 0;
    return NVML_SUCCESS;
}
