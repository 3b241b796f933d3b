/* PCI addresses, classes and link speeds, as NCCL's files, hwloc and sysfs write them. */
#ifndef PROBE_TOPOLOGY_PCI_H
#define PROBE_TOPOLOGY_PCI_H

#include <stdint.h>

#include "core/arena.h"

/* The address in s as "0000:17:00.0", lower case: a missing domain is 0, a missing function is 0, domains have 4 to 8
 * digits. NULL when s is NULL or no address. */
const char *pci_address(struct arena *a, const char *s);

int pci_is_switch(uint32_t class_code); /* 0x0604xx */
int pci_is_nic(uint32_t class_code);    /* 0x02xxxx, and 0x0c06xx: InfiniBand before PCI 3.0 */
int pci_is_nvswitch(uint32_t class_code, uint16_t vendor);

/* Whether a function of that class computes: display controllers of NVIDIA, AMD and Hygon, 3D controllers and
 * accelerators of anyone, but no management console. Without a vendor (0) the class alone decides. */
int pci_is_gpu(uint32_t class_code, uint16_t vendor, uint16_t device);

/* "16.0 GT/s PCIe": 16; 0 unknown. */
double pci_GTps(const char *s);

/* GB/s in one direction behind the line code: 8b/10b up to 5 GT/s, 128b/130b to 32 GT/s, none that counts above
 * (PCI Express Base Specification 6.0, 4.2). 0 when either is unknown. */
double pci_GBps(double GTps, int width);

#endif
