/* Putting a finding into words. */
#include <stdarg.h>

#include "probe/findings/findings_internal.h"

static void add(struct search *s, const char *evidence, const char *fmt, va_list ap)
{
    struct finding *f = finding_vadd(&s->found, s->rule->kind.severity, s->rule->kind.id, s->subject, fmt, ap);
    f->evidence = evidence;
    f->advice = s->rule->advice;
}

void found(struct search *s, const char *evidence, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add(s, evidence, fmt, ap);
    va_end(ap);
}

void named(struct search *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    s->names = arena_grow(s->a, s->names, (size_t)s->n, sizeof *s->names);
    s->names[s->n++] = arena_vprintf(s->a, fmt, ap);
    va_end(ap);
}

void found_named(struct search *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (s->n)
        add(s, found_names(s->a, s->names, s->n), fmt, ap);
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

const char *found_port(struct arena *a, const struct topo_port *p)
{
    return arena_printf(a, "%s:%d", p->hca, p->port);
}
