/* What rules are made of: phases by name, what a rule found, the finding that it becomes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "advise/diagnose/rules.h"

int diag_hit(struct diag_hit *h, double weight, const char *place, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(h->text, sizeof h->text, fmt, ap);
    va_end(ap);
    h->weight = fmin(1, fmax(0, weight));
    h->place = place;
    h->command = NULL;
    return 1;
}

void diag_say(char to[DIAG_SENTENCE], const char *fmt, ...)
{
    size_t n = strlen(to);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to + n, DIAG_SENTENCE - n, fmt, ap);
    va_end(ap);
}

const struct diag_variable *diag_find_variable(const struct diagnosis *d, const char *name)
{
    for (int i = 0; i < d->nvariables; i++)
        if (!strcmp(d->variables[i].name, name))
            return &d->variables[i];
    return NULL;
}

const struct diag_phase *diag_phase_named(const struct diag_source *s, const char *name)
{
    for (int i = 0; s && i < s->nphases; i++)
        if (!strcmp(s->phases[i].name, name))
            return &s->phases[i];
    return NULL;
}

const struct diag_phase *diag_largest(const struct diag_source *s)
{
    const struct diag_phase *best = NULL;
    for (int i = 0; s && i < s->nphases; i++)
        if (s->phases[i].kind != DIAG_METRIC && (!best || s->phases[i].share > best->share))
            best = &s->phases[i];
    return best;
}

void diag_add_finding(struct diag_result *r, const struct diag_rule *rule, const struct diag_hit *h)
{
    if (r->nfindings == DIAG_FINDINGS)
        return;
    struct diag_finding *f = &r->findings[r->nfindings++];
    *f = (struct diag_finding){.id = rule->id,
                               .weight = h->weight,
                               .confidence = rule->confidence,
                               .advice = rule->advice,
                               .command = h->command      ? h->command
                                          : rule->command ? rule->command
                                                          : ""};
    snprintf(f->text, sizeof f->text, "%s", h->text);
    snprintf(f->place, sizeof f->place, "%s", h->place);
}
