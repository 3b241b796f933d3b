/* How decisions are written. */
#include "cli/writing.h"

#include "core/units.h"
#include "envgen/write/write.h"

static const char *formats(struct arena *a)
{
    const struct env_writer *w;
    const char *text = NULL;
    for (size_t n = 0; (w = env_writer_at(n)); n++)
        if (w->format)
            text = text ? arena_printf(a, "%s, %s", text, w->format) : w->format;
    return text;
}

static int take_format(const char *name, struct env_generate *g, struct arena *a, struct err *e)
{
    if (!env_format(name))
        return err_set(e, ERR_USAGE, "--format: '%s' is none of %s", name, formats(a));
    const char **list = arena_grow(a, (void *)g->formats, (size_t)g->nformats, sizeof *list);
    list[g->nformats++] = name;
    g->formats = list;
    return 0;
}

static int take_extrapolate(const char *nodes, struct env_generate *g, struct err *e)
{
    long n = ENV_ALL_NODES;
    int rc = nodes ? unit_parse_int(nodes, 2, 1000000, &n, "--extrapolate", e) : 0;
    g->extrapolate = (int)n;
    return rc;
}

int cli_writing_take(int c, const char *arg, struct env_generate *g, struct arena *a, struct err *e)
{
    switch (c) {
    case CLI_OPT_FORMAT:
        return take_format(arg, g, a, e);
    case CLI_OPT_EXTRAPOLATE:
        return take_extrapolate(arg, g, e);
    default:
        g->predicted = 1;
        return 0;
    }
}
