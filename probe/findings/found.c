/* Putting a finding into words, and from when on something is one: every number that findings go by, in one table. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "probe/findings/findings_internal.h"

static void add_finding(struct search *s, const char *evidence, const char *fmt, va_list ap)
{
    struct finding *f = finding_vadd(&s->found, s->rule->kind.severity, s->rule->kind.id, s->subject, fmt, ap);
    f->evidence = evidence;
    f->advice = strstr(s->rule->kind.title, "Confirm with ");
}

void found(struct search *s, const char *evidence, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_finding(s, evidence, fmt, ap);
    va_end(ap);
}

void named(struct search *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ARENA_ADD(s->a, s->names, s->n) = arena_vprintf(s->a, fmt, ap);
    va_end(ap);
}

void found_named(struct search *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (s->n)
        add_finding(s, found_names(s->a, s->names, s->n), fmt, ap);
    va_end(ap);
}

const char *found_names(struct arena *a, const char *const *names, int n)
{
    const int most = 8;
    const char *list = n ? names[0] : "";
    int shown = n <= most ? n : most;
    for (int i = 1; i < shown; i++)
        list = arena_printf(a, "%s%s%s", list, i == n - 1 ? " and " : ", ", names[i]);
    return n > shown ? arena_printf(a, "%s and %d more", list, n - shown) : list;
}

const char *found_gpu(struct arena *a, const struct topo_class *c, int gpu)
{
    return arena_printf(a, "GPU%d", c->gpus[gpu].index);
}

/* ---- thresholds -------------------------------------------------------------------------------------------------- */

#define IBDIAG "the default of infiniband-diags"
#define OURS   "our choice"

const struct threshold finding_thresholds[] = {
    /* too low */
    {"memlock-low", 1 << 30, "bytes is enough", OURS},
    {"nofile-low", 4096, "files are enough", OURS},
    {"shm-small", 64 << 20, "bytes a GPU is enough", OURS},
    {"mtu-small", 2048, "bytes is enough", "what InfiniBand switches are delivered with"},
    {"switch-uplink-narrow", 0.9, "of what the widest device can take is enough", OURS},
    /* too high */
    {"ecc-uncorrected", 1, "error since the driver was loaded", "DCGM"},
    {"rows-failed", 1, "GPU", "DCGM"},
    {"rows-pending", 1, "GPU", "DCGM"},
    {"gpu-lost", 1, "GPU", "Azure NHC counts GPUs"},
    {"xid-hardware", 1, "error in the kernel's log", "Azure NHC"},
    {"xid-program", 10, "errors in the kernel's log", OURS},
    {"gpu-slowed", 1, "GPU", "Azure NHC"},
    {"pcie-replays", 1000, "packets since the driver was loaded", OURS},
    {"pcie-slow-busy", 10, "percent below the maximum while the GPU works", OURS},
    {"nvlink-errors", 100, "errors since the driver was loaded", OURS},
    {"imex-no-channel", 1, "node", OURS},
    {"port-errors", 10, "errors since the counters were cleared", IBDIAG},
    {"port-flaps", 10, "times since the counters were cleared", IBDIAG},
    {"port-discards", 100, "packets since the counters were cleared", IBDIAG},
    {"port-timeouts", 100, "packets since the counters were cleared", OURS},
    {"port-resent", 10, "in a million packets", OURS},
    {"port-marked", 1000, "in a million packets", OURS},
    {"numa-balancing", 1, "node", OURS},
    {"cpu-governor", 1, "processor", OURS},
    {NULL},
};

static const struct threshold *find_threshold(const char *id)
{
    for (const struct threshold *t = finding_thresholds; t->id; t++)
        if (!strcmp(t->id, id))
            return t;
    return NULL;
}

double threshold_of(const struct search *s)
{
    const struct threshold *t = find_threshold(s->rule->kind.id);
    if (!t)
        abort();
    return t->least;
}

const char *threshold_text(const char *id, struct arena *a)
{
    const struct threshold *t = find_threshold(id);
    char size[UNIT_TEXT];
    if (!t)
        return NULL;
    if (!strncmp(t->unit, "bytes ", 6))
        return arena_printf(a, "Threshold: %s %s (%s).", unit_bytes(size, (uint64_t)t->least), t->unit + 6, t->source);
    return arena_printf(a, "Threshold: %g %s (%s).", t->least, t->unit, t->source);
}
