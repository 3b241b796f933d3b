/* The comments and lines that the writers share. */
#include <string.h>

#include "core/vars/catalogue.h"
#include "core/vars/text.h"
#include "envgen/write/write_internal.h"

void env_write_heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_print_comment(out, w->scratch, "#", what);
    fprintf(out, "# Written by nccltune %s. Evidence: decisions.json, or 'nccltune explain' on this directory.\n",
            w->decisions->tool);
}

void env_write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    const char *text = s->value ? arena_printf(w->scratch, "%s (%s): %s.", s->name, s->source, s->why)
                                : arena_printf(w->scratch, "%s is not set: %s.", s->name, s->why);
    env_print_comment(out, w->scratch, "#", text);
}

static int is_here(const struct env_writing *w, const struct env_setting *s)
{
    return !strcmp(s->family, "nccl") &&
           (w->node_class ? s->node_class && !strcmp(s->node_class, w->node_class) : !s->node_class);
}

int env_write_each(const struct env_writing *w, FILE *out, void (*print)(FILE *out, const struct env_setting *s),
                   struct err *e)
{
    for (int i = 0; i < w->decisions->nsettings; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        int rc = is_here(w, s) && s->value ? env_check(s->name, s->value, e) : 0;
        if (rc)
            return rc;
        if (!is_here(w, s))
            continue;
        fputc('\n', out);
        env_write_reason(w, out, s);
        if (s->value)
            print(out, s);
    }
    return 0;
}

/* "NCCL 2.19 to 2.31 (every release in use)" */
static const char *releases_text(const struct env_writing *w)
{
    const struct env_decisions *d = w->decisions;
    char low[ENV_VERSION], high[ENV_VERSION];
    if (!d->nccl_low)
        return "any release";
    env_version_text(low, d->nccl_low);
    env_version_text(high, d->nccl_high);
    if (d->nccl_low == d->nccl_high)
        return arena_printf(w->scratch, "%s %s (%s)", d->rccl ? "RCCL" : "NCCL", low, d->nccl_source);
    return arena_printf(w->scratch, "%s %s to %s (%s)", d->rccl ? "RCCL" : "NCCL", low, high, d->nccl_source);
}

void env_write_nccl_heading(const struct env_writing *w, FILE *out, const char *what)
{
    env_write_heading(w, out, what);
    env_print_comment(out, w->scratch, "#", arena_printf(w->scratch, "For %s.", releases_text(w)));
}
