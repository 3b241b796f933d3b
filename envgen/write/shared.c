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

/* Comment lines that say why a setting is written, or why it is not. */
static void write_reason(const struct env_writing *w, FILE *out, const struct env_setting *s)
{
    const char *text = s->value ? arena_printf(w->scratch, "%s (%s): %s.", s->name, s->source, s->why)
                                : arena_printf(w->scratch, "%s is not set: %s.", s->name, s->why);
    env_print_comment(out, w->scratch, "#", text);
}

static int is_here(const struct env_writing *w, const struct env_setting *s, const char *family, int which)
{
    return !strcmp(s->family, family) && which & (s->value ? ENV_SET : ENV_NOT_SET) &&
           (w->node_class ? s->node_class && !strcmp(s->node_class, w->node_class) : !s->node_class);
}

int env_write_each(const struct env_writing *w, FILE *out, const char *family, int which, env_print_setting *print,
                   struct err *e)
{
    int rc = 0;
    for (int i = 0; i < w->decisions->nsettings && !rc; i++) {
        const struct env_setting *s = &w->decisions->settings[i];
        if (!is_here(w, s, family, which))
            continue;
        fputc('\n', out);
        write_reason(w, out, s);
        rc = s->value ? env_check(s->name, s->value, e) : 0;
        if (s->value && !rc)
            print(w, out, s);
    }
    return rc;
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
