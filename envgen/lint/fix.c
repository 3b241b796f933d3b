/* Corrections: the document with every fixable finding's bytes replaced, from front to back. Of two corrections of the
 * same bytes the first counts; running lint again finds the other. */
#include <stdlib.h>
#include <string.h>

#include "envgen/lint/lint_internal.h"

struct edit {
    size_t at, bytes;
    const char *with;
};

static int by_offset(const void *x, const void *y)
{
    const struct edit *a = x, *b = y;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* What takes a line's place when its setting goes: a remark in the document's own syntax, so that a block that holds
 * nothing else stays valid. */
static const char *removal(const struct lint *l, const struct lint_finding *f)
{
    const struct lint_setting *s = f->at;
    int lines_only = !strcmp(s->text->kind, "conf") || !strcmp(s->text->kind, "env");
    const char *colon = lines_only ? "" : ": ";
    return arena_printf(l->arena, "%s# nccltune lint, %s: %.*s", colon, f->kind->id, (int)s->line_bytes,
                        s->text->data + s->line_at);
}

static int edit_of(const struct lint *l, const struct lint_finding *f, struct edit *e)
{
    const struct lint_setting *s = f->at;
    switch (f->fix) {
    case LINT_FIX_VALUE:
        *e = (struct edit){s->value_at, s->value_bytes, f->replacement};
        break;
    case LINT_FIX_NAME:
        *e = (struct edit){s->name_at, s->name_bytes, f->replacement};
        break;
    case LINT_FIX_LINE:
        *e = (struct edit){s->line_at, s->line_bytes, NULL};
        if (s->line_bytes > 0)
            e->with = f->replacement ? f->replacement : removal(l, f);
        break;
    default:
        return 0;
    }
    return e->bytes > 0;
}

char *lint_fix(const struct lint *l, size_t n, const char **path, size_t *bytes, int *fixed)
{
    if (n >= l->ntexts)
        return NULL;
    const struct lint_text *t = l->texts[n];
    struct edit *edits = arena_alloc(l->arena, (l->nfindings + 1) * sizeof(*edits));
    size_t count = 0, size = t->bytes + 1;
    for (size_t i = 0; i < l->nfindings; i++)
        if (l->findings[i]->at->text == t && edit_of(l, l->findings[i], &edits[count]))
            size += strlen(edits[count++].with);
    qsort(edits, count, sizeof(*edits), by_offset);
    char *out = malloc(size), *o = out;
    size_t at = 0;
    *path = t->name;
    *fixed = 0;
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (edits[i].at < at)
            continue;
        memcpy(o, t->data + at, edits[i].at - at);
        o += edits[i].at - at;
        o = stpcpy(o, edits[i].with);
        at = edits[i].at + edits[i].bytes;
        ++*fixed;
    }
    memcpy(o, t->data + at, t->bytes - at);
    o += t->bytes - at;
    *o = '\0';
    *bytes = (size_t)(o - out);
    return out;
}
