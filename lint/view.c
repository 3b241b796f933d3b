/* Views: the text that a reader reads, and where each byte of it stands in the document. */
#include <string.h>

#include "core/tokens.h"
#include "lint/lint_internal.h"

size_t lint_at(const struct lint_view *v, size_t i)
{
    return v->map ? v->map[i] : i;
}

size_t *lint_index_lines(struct arena *a, const char *s, size_t from, size_t to, size_t *count)
{
    size_t *lines = NULL;
    *count = 0;
    for (size_t at = from; at <= to; at = source_line_end(s, at, to) + 1) {
        lines = arena_grow(a, lines, *count, sizeof *lines);
        lines[(*count)++] = at;
    }
    return lines;
}

struct builder {
    char *s;
    size_t *map, n;
};

static void put_byte(struct builder *b, char c, size_t at)
{
    b->s[b->n] = c;
    b->map[b->n++] = at;
}

static struct builder begin_view(struct lint *l, size_t bytes)
{
    return (struct builder){arena_alloc(l->arena, bytes + 1), arena_alloc(l->arena, (bytes + 1) * sizeof(size_t)), 0};
}

static struct lint_view end_view(struct builder *b, const struct lint_view *v, size_t at)
{
    b->map[b->n] = lint_at(v, at);
    return (struct lint_view){v->t, b->s, 0, b->n, b->map};
}

/* What a backslash and this letter stand for. */
static char unescape_letter(char c)
{
    static const char letters[] = "ntr0", meanings[] = "\n\t\r ";
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? meanings[found - letters] : c;
}

struct lint_view lint_unescape(struct lint *l, const struct lint_view *v, size_t from, size_t to, unsigned style)
{
    if (!(style & LINT_FOLDED ? memchr(v->s + from, '\n', to - from) : NULL) &&
        !(style & LINT_ESCAPES ? memchr(v->s + from, '\\', to - from) : NULL) &&
        !(style & LINT_DOLLARS ? memchr(v->s + from, '$', to - from) : NULL))
        return (struct lint_view){v->t, v->s, from, to, v->map};
    struct builder b = begin_view(l, to - from);
    for (size_t i = from; i < to; i++) {
        size_t at = lint_at(v, i);
        if (v->s[i] == '\\' && (style & LINT_ESCAPES) && i + 1 < to) {
            i++;
            if (v->s[i] != '\n')
                put_byte(&b, unescape_letter(v->s[i]), at);
        } else if (v->s[i] == '$' && (style & LINT_DOLLARS) && i + 1 < to && v->s[i + 1] == '$') {
            i++;
            put_byte(&b, '$', at);
        } else {
            put_byte(&b, v->s[i] == '\n' && (style & LINT_FOLDED) ? ' ' : v->s[i], at);
        }
    }
    return end_view(&b, v, to);
}

/* Walks both texts: where they differ, the source has an escape, an indentation or a fold. */
struct lint_view lint_aligned(struct lint *l, const struct lint_view *v, size_t from, size_t to, const char *decoded)
{
    size_t n = strlen(decoded), i = from;
    struct builder b = begin_view(l, n);
    for (size_t k = 0; k < n; k++) {
        char c = decoded[k];
        while (i < to && v->s[i] != c) {
            if (v->s[i] == '\\' && i + 1 < to && (c == '\n' || c == '\t' || c == '"' || (unsigned char)c >= 0x80)) {
                i++;
                break;
            }
            if (c == ' ' && v->s[i] == '\n')
                break;
            if (!strchr(" \t\r\n\\'", v->s[i]))
                break;
            i++;
        }
        put_byte(&b, c, lint_at(v, i < to ? i : to));
        i += i < to;
    }
    return end_view(&b, v, i < to ? i : to);
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

/* The end of the directive at `at`; 0: none begins here. `unclosed` has what no sign below ends. */
static size_t directive_end(const char *s, size_t at, size_t to, int unclosed[3])
{
    static const char *const pairs[3][2] = {{"{{", "}}"}, {"{%", "%}"}, {"{#", "#}"}};
    for (size_t i = 0; i < 3; i++)
        if (at + 2 <= to && !memcmp(s + at, pairs[i][0], 2) && !unclosed[i]) {
            const char *close = memmem(s + at + 2, to - at - 2, pairs[i][1], 2);
            unclosed[i] = !close;
            return close ? (size_t)(close - s) + 2 : 0;
        }
    return 0;
}

static int is_blank(const char *s, size_t from, size_t to)
{
    for (; from < to; from++)
        if (!strchr(" \t\r", s[from]))
            return 0;
    return 1;
}

/* Whether nothing else is on the lines of [from, to). */
static int fills_lines(const char *s, size_t start, size_t from, size_t end_at, size_t to)
{
    return is_blank(s, start, from) && is_blank(s, end_at, source_line_end(s, end_at, to));
}

struct lint_view lint_masked(struct lint *l, const struct lint_view *v)
{
    char *out = arena_strndup(l->arena, v->s, v->to);
    size_t line = v->from;
    int unclosed[3] = {0};
    for (size_t i = v->from; i < v->to;) {
        size_t stop = directive_end(v->s, i, v->to, unclosed);
        if (!stop) {
            line = v->s[i] == '\n' ? i + 1 : line;
            i++;
            continue;
        }
        int lines = fills_lines(out, line, i, stop, v->to);
        for (size_t k = i; k < stop; k++)
            out[k] = v->s[k] == '\n' ? '\n' : lines ? ' ' : 'Z';
        if (lines && out[line] == ' ' && stop - i > 2)
            out[i] = '#'; /* YAML ends a block at a line that is less indented, but not at a remark */
        i = stop;
    }
    return (struct lint_view){v->t, out, v->from, v->to, v->map};
}
