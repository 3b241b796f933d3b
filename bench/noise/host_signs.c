/* Signs of this node's condition, from /proc and /sys. */
#include "bench/noise/host_signs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/source/port_counters.h"
#include "probe/topology/sysfs.h"

#define CPUS "/sys/devices/system/cpu"

static void read_load(struct arena *a, double cpus, host_sign_fn *tell, void *user)
{
    const char *load = sysfs_line(a, "/proc/loadavg"), *pressure = sysfs_line(a, "/proc/pressure/cpu");
    const char *waits = pressure ? strstr(pressure, "avg10=") : NULL;
    if (load)
        tell(user, "load", NULL, strtod(load, NULL) / cpus);
    if (waits)
        tell(user, "cpu-pressure", NULL, strtod(waits + strlen("avg10="), NULL));
}

/* The eighth number behind "cpu" is the time that a hypervisor kept (proc(5)). */
static void read_stolen(struct arena *a, double cpus, host_sign_fn *tell, void *user)
{
    const char *line = sysfs_line(a, "/proc/stat");
    double ticks = (double)sysconf(_SC_CLK_TCK);
    for (int i = 0; line && i < 8; i++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    if (line && *line)
        tell(user, "cpu-stolen", NULL, strtod(line, NULL) / ticks / cpus);
}

static void read_clocks(struct arena *a, host_sign_fn *tell, void *user)
{
    const char **cpus;
    int n = sysfs_list(a, &cpus, CPUS);
    double throttled = -1, limited = -1;
    for (int i = 0; i < n; i++) {
        long count = sysfs_int(-1, CPUS "/%s/thermal_throttle/core_throttle_count", cpus[i]);
        long may = sysfs_int(0, CPUS "/%s/cpufreq/scaling_max_freq", cpus[i]);
        long can = sysfs_int(0, CPUS "/%s/cpufreq/cpuinfo_max_freq", cpus[i]);
        if (count >= 0)
            throttled = fmax(throttled, 0) + (double)count;
        if (may && can)
            limited = fmax(limited, 100 * (1 - (double)may / (double)can));
    }
    if (throttled >= 0)
        tell(user, "cpu-throttled", NULL, throttled);
    if (limited >= 0)
        tell(user, "cpu-limited", NULL, limited);
}

struct listener {
    struct arena *a;
    host_sign_fn *tell;
    void *user;
};

/* Of what ports count only what is never well. */
static void tell_errors(void *user, const char *kind, const char *port, const char *counter, double value)
{
    const struct listener *l = user;
    if (!strcmp(kind, "port-errors") || !strcmp(kind, "port-flaps"))
        l->tell(l->user, "port-errors", arena_printf(l->a, "%s, %s", port, counter), value);
}

void host_signs_read(struct arena *a, host_sign_fn *tell, void *user)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    read_load(a, cpus, tell, user);
    read_stolen(a, cpus, tell, user);
    read_clocks(a, tell, user);
    port_counters_read(a, tell_errors, &(struct listener){a, tell, user});
}
