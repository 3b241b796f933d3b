/* PCI addresses, classes and link speeds. */
#include "probe/topology/topology.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLASS_NVSWITCH 0x0680u

enum { VENDOR_AMD = 0x1002, VENDOR_NVIDIA = 0x10de, VENDOR_HYGON = 0x1d94 };

/* Reads 1 to `most` hex digits; the number of digits. */
static int hex(const char **s, int most, uint32_t *value)
{
    int n = 0;
    *value = 0;
    for (; n < most && isxdigit((unsigned char)**s); n++, (*s)++)
        *value = *value * 16 + (uint32_t)(isdigit((unsigned char)**s) ? **s - '0' : tolower(**s) - 'a' + 10);
    return n;
}

const char *pci_address(struct arena *a, const char *s)
{
    uint32_t part[3] = {0};
    int n = 0;
    if (!s)
        return NULL;
    while (n < 3 && hex(&s, 8, &part[n])) {
        n++;
        if (*s != ':')
            break;
        s++;
    }
    if (n < 2)
        return NULL;
    uint32_t domain = n == 3 ? part[0] : 0, bus = part[n - 2], device = part[n - 1], function = 0;
    if (*s == '.') {
        s++;
        if (!hex(&s, 1, &function))
            return NULL;
    }
    if (*s || bus > 0xff || device > 0x1f || function > 7)
        return NULL;
    return arena_printf(a, "%04x:%02x:%02x.%x", domain, bus, device, function);
}

int pci_same_card(const char *a, const char *b)
{
    const char *dot = a ? strrchr(a, '.') : NULL;
    return dot && b && !strncmp(a, b, (size_t)(dot - a) + 1);
}

int pci_is_switch(uint32_t class_code)
{
    return class_code >> 8 == 0x0604;
}

int pci_is_nic(uint32_t class_code)
{
    return class_code >> 16 == 0x02 || class_code >> 8 == 0x0c06;
}

int topo_is_infiniband(const struct topo_object *o)
{
    return o->kind == TOPO_NIC && o->pci_class >> 8 == 0x0207;
}

int pci_is_nvswitch(uint32_t class_code, uint16_t vendor)
{
    return class_code >> 8 == CLASS_NVSWITCH && (vendor == VENDOR_NVIDIA || !vendor);
}

int pci_is_gpu(uint32_t class_code, uint16_t vendor, uint16_t device)
{
    /* ATI's consoles for servers: Rage XL, ES1000 twice (PCI ID database). */
    static const uint16_t consoles[] = {0x4752, 0x515e, 0x5969};
    for (size_t i = 0; i < sizeof consoles / sizeof *consoles; i++)
        if (vendor == VENDOR_AMD && device == consoles[i])
            return 0;
    if (class_code >> 16 == 0x12 || class_code >> 8 == 0x0302)
        return 1;
    return class_code >> 16 == 0x03 &&
           (vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD || vendor == VENDOR_HYGON || !vendor);
}

double pci_GTps(const char *s)
{
    char *end;
    double v = s ? strtod(s, &end) : 0;
    if (!(v > 0 && v <= 1024))
        return 0;
    while (*end == ' ')
        end++;
    return strncmp(end, "GT/s", 4) ? 0 : v;
}

double pci_GBps(double GTps, int width)
{
    double code = GTps <= 5 ? 8.0 / 10 : GTps <= 32 ? 128.0 / 130 : 1;
    if (!(GTps > 0) || width <= 0)
        return 0;
    return round(GTps * width * code / 8 * 1000) / 1000;
}
