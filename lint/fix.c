/* Corrections: the document with fixable findings' bytes replaced, from front to back. Of two corrections of the same
 * bytes the longer one counts, else the first; the next pass finds the other. */
#include <stdlib.h>
#include <string.h>

#include "lint/lint_internal.h"

struct edit {
    size_t at, bytes;
    const char *with;
};

static int by_offset(const void *x, const void *y)
{
    const struct edit *a = x, *b = y;
    return a->at != b->at ? (a->at < b->at ? -1 : 1) : (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* What takes a line's place when its setting goes: a remark in the document's own syntax, so that a block that holds
 * nothing else stays valid. */
static const char *remark_for(const struct lint *l, const struct lint_finding *f)
{
    const struct lint_setting *s = f->at;
    /* YAML's text blocks hold scripts, too. */
    const char *colon = word_in("shell|csh|yaml", WORD_IS, s->text->doc.kind, strlen(s->text->doc.kind)) ? ": " : "";
    return arena_printf(l->arena, "%s# nccltune lint, %s: %.*s", colon, f->kind->id, (int)s->line_bytes,
                        s->text->data + s->line_at);
}

static int edit_of(const struct lint *l, const struct lint_finding *f, struct edit *e)
{
    const struct lint_setting *s = f->at;
    *e = (struct edit){0};
    if (f->fix == LINT_FIX_VALUE)
        *e = (struct edit){s->value_at, s->value_bytes + f->behind,
                           s->is_bare ? arena_printf(l->arena, "\"%s\"", f->replacement) : f->replacement};
    else if (f->fix == LINT_FIX_NAME)
        *e = (struct edit){s->name_at, s->name_bytes + f->behind, f->replacement};
    else if (f->fix == LINT_FIX_LINE)
        *e = (struct edit){s->line_at, s->line_bytes, f->replacement ? f->replacement : remark_for(l, f)};
    return e->bytes > 0;
}

/* What stays in its shell does no harm there: with an export before it, it would, where another finding asks a person
 * to remove it. */
static int is_better_unread(const struct lint *l, const struct lint_finding *f)
{
    for (size_t i = 0; i < l->nfindings && f == f->at->not_exported; i++) {
        const struct lint_finding *o = l->findings[i];
        if (o != f && o->at == f->at && o->fix == LINT_FIX_NONE && o->severity != FINDING_NOTE)
            return 1;
    }
    return 0;
}

static size_t errors_in(const struct lint *l, const struct lint_text *t)
{
    size_t n = 0;
    for (size_t i = 0; i < l->nfindings; i++)
        n += l->findings[i]->at->text == t && l->findings[i]->severity == FINDING_ERROR;
    return n;
}

static int fix_text(const struct lint *l, size_t n, int all, int passes, struct lint_fixed *out, struct err *e);

/* Read the corrected text as the first one was read, and correct what shows only now, at most `passes` times. Error: it
 * cannot be read, or has more errors. */
static int read_again(const struct lint *l, const struct lint_text *t, int all, int passes, struct lint_fixed *out,
                      struct err *e)
{
    struct lint *again = lint_new(&l->options);
    again->read_sourced = l->follow;
    struct err why = {0};
    int rc = t->doc.error ? 0 : lint_read_text(again, t->doc.name, out->text, out->bytes, t->doc.kind, &why);
    lint_check(again);
    if (rc)
        rc = err_set(e, ERR_FAILED, "%s: unchanged: the corrected text would be unreadable: %s", t->doc.name, why.text);
    else if (again->ntexts && errors_in(again, again->texts[0]) > errors_in(l, t))
        rc = err_set(e, ERR_FAILED, "%s: unchanged: the corrected text would have more errors", t->doc.name);
    struct lint_fixed more = {0};
    if (!rc && passes && again->ntexts && !fix_text(again, 0, all, passes - 1, &more, NULL) && more.fixed) {
        free(out->text);
        out->text = more.text;
        out->bytes = more.bytes;
        out->fixed += more.fixed;
    } else {
        free(more.text);
    }
    lint_free(again);
    return rc;
}

static void apply_edits(const struct lint_text *t, const struct edit *edits, size_t count, struct lint_fixed *out)
{
    char *o = out->text;
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        if (edits[i].at < at)
            continue;
        memcpy(o, t->data + at, edits[i].at - at);
        o += edits[i].at - at;
        o = stpcpy(o, edits[i].with);
        at = edits[i].at + edits[i].bytes;
        out->fixed++;
    }
    memcpy(o, t->data + at, t->bytes - at);
    o += t->bytes - at;
    *o = '\0';
    out->bytes = (size_t)(o - out->text);
}

/* `list` with a finding that needs a person. */
static const char *name_open(const struct lint *l, const struct lint_finding *f, const char *list)
{
    long line, column;
    lint_place(f->at->text, f->at->name_at, &line, &column);
    return arena_printf(l->arena, "%s\n  line %ld: %s (%s)", list, line, f->at->name, f->kind->id);
}

static int fix_text(const struct lint *l, size_t n, int all, int passes, struct lint_fixed *out, struct err *e)
{
    *out = (struct lint_fixed){0};
    if (n >= l->ntexts)
        return err_set(e, ERR_USAGE, "there is no document %zu", n);
    const struct lint_text *t = l->texts[n];
    struct edit *edits = arena_alloc(l->arena, (l->nfindings + 1) * sizeof(*edits));
    size_t count = 0, size = t->bytes + 1;
    out->path = t->doc.name;
    out->open = "";
    for (size_t i = 0; i < l->nfindings; i++) {
        const struct lint_finding *f = l->findings[i];
        if (f->at->text != t || is_better_unread(l, f))
            continue;
        if (!edit_of(l, f, &edits[count])) {
            if (f->severity != FINDING_NOTE || !strcmp(f->kind->id, "NT108")) /* a successor means something else */
                out->open = name_open(l, f, out->open);
        } else if (all || !f->changes)
            size += strlen(edits[count++].with);
        else
            out->left++;
    }
    qsort(edits, count, sizeof(*edits), by_offset);
    out->text = malloc(size);
    if (!out->text)
        return err_set(e, ERR_FAILED, "no memory for a corrected copy");
    apply_edits(t, edits, count, out);
    int rc = out->fixed > 0 ? read_again(l, t, all, passes, out, e) : 0;
    if (rc) {
        free(out->text);
        out->text = NULL;
    }
    return rc;
}

int lint_fix(const struct lint *l, size_t n, int all, struct lint_fixed *out, struct err *e)
{
    const int most = 4; /* passes */
    return fix_text(l, n, all, most - 1, out, e);
}
