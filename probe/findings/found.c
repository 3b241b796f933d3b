/* Putting a finding into words. */
#include <stdarg.h>
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

const char *threshold_text(const struct threshold *t, struct arena *a)
{
    char size[UNIT_TEXT];
    if (!t->unit)
        return NULL;
    if (!strncmp(t->unit, "bytes ", 6))
        return arena_printf(a, "Threshold: %s %s (%s).", unit_bytes(size, (uint64_t)t->least), t->unit + 6, t->source);
    return arena_printf(a, "Threshold: %g %s (%s).", t->least, t->unit, t->source);
}
