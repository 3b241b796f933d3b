/* Reading signs from /proc and /sys and from GPUs, and lists of them as text. */
#include "bench/noise/signs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "probe/topology/sysfs.h"

#define CPUS "/sys/devices/system/cpu"

static void add_sign(void *user, const char *kind, const char *subject, double value)
{
    struct signs *s = user;
    ARENA_ADD(s->arena, s->list, s->n) = (struct sign){kind, subject ? arena_strdup(s->arena, subject) : NULL, value};
}

static void read_load(struct signs *s, double cpus)
{
    const char *load = sysfs_line(s->arena, "/proc/loadavg"), *pressure = sysfs_line(s->arena, "/proc/pressure/cpu");
    const char *waits = pressure ? strstr(pressure, "avg10=") : NULL;
    if (load)
        add_sign(s, "load", NULL, strtod(load, NULL) / cpus);
    if (waits)
        add_sign(s, "cpu-pressure", NULL, strtod(waits + strlen("avg10="), NULL));
}

/* The eighth number behind "cpu" is the time that a hypervisor kept (proc(5)). */
static void read_stolen(struct signs *s, double cpus)
{
    const char *line = sysfs_line(s->arena, "/proc/stat");
    double ticks = (double)sysconf(_SC_CLK_TCK);
    for (int i = 0; line && i < 8; i++) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    if (line && *line)
        add_sign(s, "cpu-stolen", NULL, strtod(line, NULL) / ticks / cpus);
}

static void read_clocks(struct signs *s)
{
    const char **cpus;
    int n = sysfs_list(s->arena, &cpus, CPUS);
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
        add_sign(s, "cpu-throttled", NULL, throttled);
    if (limited >= 0)
        add_sign(s, "cpu-limited", NULL, limited);
}

/* Of what ports count, add only what is never well. */
static void add_port_errors(void *user, const char *kind, const char *port, const char *counter, double value)
{
    struct signs *s = user;
    if (!strcmp(kind, "port-errors") || !strcmp(kind, "port-flaps"))
        add_sign(s, "port-errors", arena_printf(s->arena, "%s, %s", port, counter), value);
}

void signs_read(struct signs *s, struct gpu_watch *gpus)
{
    double cpus = (double)sysconf(_SC_NPROCESSORS_ONLN);
    s->at_s = (double)clock_now_ns() * 1e-9;
    read_load(s, cpus);
    read_stolen(s, cpus);
    read_clocks(s);
    port_counters_read(s->arena, add_port_errors, s);
    if (gpus)
        gpu_watch_read(gpus, add_sign, s);
}

void signs_print(const struct signs *s, FILE *out)
{
    fprintf(out, "at %.3f\n", s->at_s);
    for (int i = 0; i < s->n; i++)
        fprintf(out, "%s %.17g %s\n", s->list[i].kind, s->list[i].value, s->list[i].subject ? s->list[i].subject : "");
}

/* Parse "KIND VALUE[ SUBJECT]", without its newline. -1: it is something else. */
static int parse_sign(struct arena *a, const char *line, size_t length, struct sign *out)
{
    char *copy = arena_strndup(a, line, length), *value = strchr(copy, ' '), *end = NULL;
    if (!value)
        return -1;
    *value++ = 0;
    double number = strtod(value, &end);
    if (end == value || (*end && *end != ' '))
        return -1;
    end += *end == ' ';
    *out = (struct sign){copy, *end ? end : NULL, number};
    return 0;
}

int signs_parse(const char *text, struct arena *a, struct signs lists[2])
{
    struct sign x;
    int n = 0;
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        if (parse_sign(a, text, length, &x))
            continue;
        if (!strcmp(x.kind, "at") && n == 2)
            break;
        if (!strcmp(x.kind, "at"))
            lists[n++] = (struct signs){.arena = a, .at_s = x.value};
        else if (n)
            add_sign(&lists[n - 1], x.kind, x.subject, x.value);
    }
    return n;
}
