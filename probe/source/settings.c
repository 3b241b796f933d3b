/* How the system is set up for jobs that use GPUs, and what its log says of them: files that everybody may read,
 * mostly. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>

#include "probe/source/condition.h"
#include "probe/source/source.h"
#include "probe/topology/sysfs.h"

#define CPUFREQ "/sys/devices/system/cpu/cpufreq"

/* Processors whose clock is not kept high, by governor. */
static void tell_governors(struct topology *t)
{
    const char **policies, *governors[8];
    int cpus[8] = {0}, known = 0, n = sysfs_list(t->arena, &policies, CPUFREQ);
    for (int i = 0; i < n; i++) {
        const char *own = sysfs_line(t->arena, CPUFREQ "/%s/scaling_governor", policies[i]);
        int at = 0;
        while (own && at < known && strcmp(governors[at], own) != 0)
            at++;
        if (!own || !strcmp(own, "performance") || at == 8)
            continue;
        governors[at] = own;
        known += at == known;
        cpus[at]++;
    }
    for (int i = 0; i < known; i++)
        build_sign(t, "cpu-governor", governors[i], cpus[i]);
}

/* ---- the kernel's log -------------------------------------------------------------------------------------------- */

/* The log as text, up to `room` bytes; -1 when it is for root only. A copied tree has it in var/log/dmesg. */
static int read_log(char *text, int room)
{
    if (sysfs_root())
        return (int)sysfs_bytes((unsigned char *)text, (size_t)room, "/var/log/dmesg");
    enum { READ_ALL = 3 };
    return klogctl(READ_ALL, text, room);
}

/* Xid errors that tell of hardware rather than of a program (NVIDIA, "Xid Errors": 48, 63, 64 and 92 to 95 memory, 74
 * NVLink, 79 off the bus, 119 and 120 GSP, 140 unrecovered ECC, 143 and up links of Blackwell). */
static int is_hardware(long code)
{
    static const short codes[] = {48,  62,  63,  64,  74,  79,  92,  94,  95,  110, 119,
                                  120, 136, 140, 143, 144, 145, 146, 147, 148, 149, 150};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i] == code)
            return 1;
    return 0;
}

struct xid {
    char subject[64];
    int hardware, count;
};

/* "NVRM: Xid (PCI:0000:17:00): 79, …" counts once more for that GPU and code. */
static void count_xid(struct xid *xids, int *n, int most, const char *line)
{
    char pci[32] = "", subject[64], *end;
    const char *open = strchr(line, '('), *close = open ? strstr(open, "): ") : NULL;
    if (!close || strncmp(open, "(PCI:", 5) != 0 || close - open > 36)
        return;
    snprintf(pci, sizeof pci, "%.*s", (int)(close - open - 5), open + 5);
    long code = strtol(close + 3, &end, 10);
    snprintf(subject, sizeof subject, "%s, Xid %ld", pci, code);
    int at = 0;
    while (at < *n && strcmp(xids[at].subject, subject) != 0)
        at++;
    if (end == close + 3 || at == most)
        return;
    if (at == *n)
        memcpy(xids[(*n)++].subject, subject, sizeof subject);
    xids[at].hardware = is_hardware(code);
    xids[at].count++;
}

static void tell_xids(struct topology *t, struct topo_class *c)
{
    enum { ROOM = 1 << 20, MOST = 32 };
    struct xid xids[MOST] = {0};
    int n = 0;
    char *text = malloc(ROOM), *rest = text;
    int bytes = text ? read_log(text, ROOM - 1) : 0;
    if (bytes < 0 && c->ngpus)
        build_note(t, c, "Xid errors: the kernel's log is for root: %s", strerror(errno));
    if (bytes >= 0 && text)
        text[bytes] = 0;
    for (char *line; bytes > 0 && (line = strsep(&rest, "\n"));)
        if ((line = strstr(line, "NVRM: Xid (")))
            count_xid(xids, &n, MOST, line);
    for (int i = 0; i < n; i++)
        build_sign(t, xids[i].hardware ? "xid-hardware" : "xid-program", xids[i].subject, xids[i].count);
    free(text);
}

static void tell_port(void *user, const char *kind, const char *port, const char *counter, double value)
{
    struct topology *t = user;
    build_sign(t, kind, arena_printf(t->arena, "%s, %s", port, counter), value);
}

void source_settings(struct topology *t, struct topo_class *c)
{
    int clique = 0;
    for (int i = 0; i < c->ngpus; i++)
        clique |= c->gpus[i].clique != NULL;
    build_sign(t, "numa-balancing", "", sysfs_int(0, "/proc/sys/kernel/numa_balancing") > 0);
    tell_governors(t);
    /* Jobs of several nodes share GPU memory over NVLink only through a channel of the IMEX service (its guide). */
    build_sign(t, "imex-no-channel", "", clique && !sysfs_exists("/dev/nvidia-caps-imex-channels/channel0"));
    tell_xids(t, c);
    port_counters_read(t->arena, tell_port, t);
}
