/* The machine as a whole: product, hypervisor, container, the version of its GPU driver, GPUDirect RDMA. */
#include <string.h>

#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define DMI "/sys/class/dmi/id/"

/* Hypervisors by what their virtual machines call their vendor. */
static const struct {
    const char *vendor, *hypervisor;
} hypervisors[] = {
    {"QEMU", "KVM"},      {"Amazon EC2", "Nitro"}, {"Microsoft Corporation", "Hyper-V"},
    {"Google", "KVM"},    {"VMware", "VMware"},    {"Xen", "Xen"},
    {"OpenStack", "KVM"}, {"Red Hat", "KVM"},
};

/* Oracle's bare metal is other makers'; its own mark is the chassis's asset tag. */
static const char *product_of(struct arena *a)
{
    const char *vendor = sysfs_line(a, DMI "sys_vendor"), *name = sysfs_line(a, DMI "product_name");
    const char *tag = sysfs_line(a, DMI "chassis_asset_tag");
    if (tag && !strcmp(tag, "OracleCloud.com"))
        return arena_printf(a, "OracleCloud %s %s", vendor ? vendor : "", name ? name : "");
    return vendor && name ? arena_printf(a, "%s %s", vendor, name) : name ? name : vendor;
}

/* x86 processors tell that they are virtual through a flag; others do not. */
static const char *hypervisor_of(struct arena *a)
{
    char text[16384];
    size_t n = sysfs_bytes((unsigned char *)text, sizeof text - 1, "/proc/cpuinfo");
    text[n] = 0;
    const char *flags = strstr(text, "\nflags");
    const char *end = flags ? strchr(flags + 1, '\n') : NULL, *found = flags ? strstr(flags, " hypervisor") : NULL;
    if (!flags || !end)
        return NULL;
    if (!found || found > end)
        return "none";
    const char *vendor = sysfs_line(a, DMI "sys_vendor");
    for (size_t i = 0; vendor && i < sizeof hypervisors / sizeof *hypervisors; i++)
        if (strstr(vendor, hypervisors[i].vendor))
            return hypervisors[i].hypervisor;
    return "unnamed";
}

static const char *container_of(void)
{
    static const struct {
        const char *file, *kind;
    } marks[] = {{"/.dockerenv", "docker"}, {"/run/.containerenv", "podman"}, {"/.singularity.d", "apptainer"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (sysfs_exists("%s", marks[i].file))
            return marks[i].kind;
    return "none";
}

/* dma-buf needs NVIDIA's open kernel module; nvidia_peermem, or AMD's part of amdgpu, does without. */
static const char *gdr_route_of(struct arena *a)
{
    char text[512];
    size_t n = sysfs_bytes((unsigned char *)text, sizeof text - 1, "/proc/driver/nvidia/version");
    text[n] = 0;
    if (sysfs_exists("/sys/module/nvidia_peermem") || sysfs_exists("/sys/module/nv_peer_mem"))
        return "nvidia_peermem";
    if (sysfs_exists("/sys/kernel/mm/memory_peers/amdkfd") || sysfs_exists("/sys/memory_peers/amdkfd"))
        return "amdkfd";
    if (strstr(text, "Open Kernel Module"))
        return "dma-buf";
    return sysfs_line(a, "/sys/module/nvidia/version") ? "none" : NULL;
}

void source_machine(struct topology *t, struct topo_class *c)
{
    struct arena *a = t->arena;
    c->product = product_of(a);
    c->hypervisor = hypervisor_of(a);
    c->container = container_of();
    if (!c->driver)
        c->driver = sysfs_line(a, "/sys/module/nvidia/version");
    if (!c->driver)
        c->driver = sysfs_line(a, "/sys/module/amdgpu/version");
    c->gdr_route = gdr_route_of(a);
}
